//! ORDER BY over several partitions: rows are put in order when all are there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use runtime::Runtime;

use crate::plan::Select;

/// The rows of a result so far, in the order in which they were read.
#[derive(Default)]
pub(super) struct UnsortedRows(Vec<UnsortedRow>);

struct UnsortedRow {
    /// Its place in the order, in byte-comparable form.
    order: Vec<u8>,
    /// Where its values lie in the reply.
    bytes: Range<usize>,
    /// The partition, counted from 0. Each partition's rows are in order.
    partition: usize,
}

impl UnsortedRows {
    /// Adds a row whose values lie at `bytes` of the reply.
    pub(super) fn add(&mut self, order: Vec<u8>, bytes: Range<usize>, partition: usize) {
        self.0.push(UnsortedRow { order, bytes, partition });
    }

    /// Puts the first `limit` rows of all partitions in order, in `out`, and gives their number; `None` if there is no row. Each
    /// partition's are in order, so they are merged.
    pub(super) async fn merge(self, out: &mut Vec<u8>, limit: u32, runtime: &Runtime) -> Option<u32> {
        let rows = self.0;
        let rows_start = rows.first()?.bytes.start;
        let mut next = BinaryHeap::new();
        for (index, row) in rows.iter().enumerate() {
            if index == 0 || rows[index - 1].partition != row.partition {
                next.push(Reverse((row.order.as_slice(), index)));
            }
        }
        let mut sorted = Vec::with_capacity(out.len());
        sorted.extend_from_slice(&out[..rows_start]);
        let mut count = 0;
        while let (Some(Reverse((_, index))), true) = (next.pop(), count < limit) {
            let row = &rows[index];
            sorted.extend_from_slice(&out[row.bytes.clone()]);
            count += 1;
            if let Some(following) = rows.get(index + 1).filter(|following| following.partition == row.partition) {
                next.push(Reverse((following.order.as_slice(), index + 1)));
            }
            runtime.maybe_yield().await;
        }
        *out = sorted;
        Some(count)
    }
}

/// A row's place in the order of ORDER BY, by its clustering. Null, which only a partition without rows has, comes first in the table's own order.
pub(crate) fn place_in_order<'c>(select: &Select, clustering: impl Fn(usize) -> Option<&'c [u8]>) -> Vec<u8> {
    let mut order = Vec::new();
    for &(position, is_descending) in &select.sort {
        let position = usize::from(position);
        let start = order.len();
        let value = clustering(position);
        order.push(u8::from(value.is_some()));
        let Some(column) = select.table.clustering().get(position) else { continue };
        if let Some(value) = value {
            cql_types::comparable::encode(&column.ty, value, false, &mut order);
        }
        let is_null_last = is_descending != column.is_reversed();
        let flip = |bytes: &mut [u8]| bytes.iter_mut().for_each(|byte| *byte = !*byte);
        let (presence, value) = order[start..].split_at_mut(1);
        if is_null_last {
            flip(presence);
        }
        if is_descending {
            flip(value);
        }
    }
    order
}
