//! From a SELECT's clustering restrictions and values to slices in byte-comparable form.

use cql_protocol::Value;
use mutation::{Bound, Slice};
use schema::Column;

use super::bounds::{Place, is_mixed, pieces};
use super::key::cut;
use super::modify::clustering_combinations;
use crate::error::{QueryError, invalid};
use crate::plan::{Binds, ClusteringChoice, Select, SliceEnd};

/// What all ends of slices may take. Each combination of values that IN gives has two of them, with all values before.
const SLICE_BYTES_MAX: usize = 4 << 20;

/// The byte-comparable ends of slices, and where each slice's are in them. Kept by the shard and used again.
#[derive(Debug, Default)]
pub(crate) struct SliceBuffer {
    bytes: Vec<u8>,
    slices: Vec<SlicePlace>,
}

/// One slice.
#[derive(Debug, Clone, Copy)]
struct SlicePlace {
    start: EndPlace,
    end: EndPlace,
}

/// One end of a slice: its place in the bytes.
#[derive(Debug, Clone, Copy)]
struct EndPlace {
    bytes: (u32, u32),
    is_inclusive: bool,
}

impl SliceBuffer {
    /// Works out the slices of one execution, in the order of rows.
    pub(crate) fn fill(&mut self, select: &Select, binds: &Binds<'_>) -> Result<(), QueryError> {
        self.bytes.clear();
        self.slices.clear();
        let columns = select.table.clustering();
        if select.clustering.iter().all(ClusteringChoice::is_single) {
            let start = self.mark();
            for (choice, column) in select.clustering.iter().zip(columns) {
                let ClusteringChoice::One(operand) = choice else { continue };
                push(operand.key_value(&column.name, binds)?, column, &mut self.bytes)?;
            }
            let prefix = (start, self.mark());
            return self.push_slice(select, prefix, binds);
        }
        for combination in clustering_combinations(columns, &select.clustering, binds)? {
            let start = self.mark();
            for (value, column) in combination.iter().zip(columns) {
                push(value, column, &mut self.bytes)?;
            }
            let prefix = (start, self.mark());
            self.push_slice(select, prefix, binds)?;
        }
        Ok(())
    }

    fn mark(&self) -> u32 {
        u32::try_from(self.bytes.len()).expect("the ends of slices are bounded")
    }

    /// Adds the slice behind the prefix.
    fn push_slice(&mut self, select: &Select, prefix: (u32, u32), binds: &Binds<'_>) -> Result<(), QueryError> {
        let width: usize = select.clustering.iter().map(ClusteringChoice::width).sum();
        let columns = select.table.clustering().get(width..).unwrap_or_default();
        if is_mixed(columns, select.slice_start.as_ref(), select.slice_end.as_ref()) {
            return self.push_pieces(select, prefix, columns, binds);
        }
        // What is smallest by value comes last where the column is stored the other way round.
        let is_reversed = columns.first().is_some_and(Column::is_reversed);
        let (first, last) = match is_reversed {
            true => (&select.slice_end, &select.slice_start),
            false => (&select.slice_start, &select.slice_end),
        };
        let start = self.push_end(first.as_ref(), true, prefix, columns, binds)?;
        let end = self.push_end(last.as_ref(), false, prefix, columns, binds)?;
        let (Some(start), Some(end)) = (start, end) else { return Ok(()) };
        self.slices.push(SlicePlace { start, end });
        Ok(())
    }

    /// Adds the slices behind the prefix, where columns are stored in different orders.
    fn push_pieces(
        &mut self,
        select: &Select,
        prefix: (u32, u32),
        columns: &[Column],
        binds: &Binds<'_>,
    ) -> Result<(), QueryError> {
        let pieces = pieces(columns, select.slice_start.as_ref(), select.slice_end.as_ref(), binds)?;
        for (from, to) in &pieces {
            // A slice that begins behind some values does not hold them; one that ends there does.
            let start = EndPlace { bytes: self.push_place(from, prefix)?, is_inclusive: !from.is_after };
            let end = EndPlace { bytes: self.push_place(to, prefix)?, is_inclusive: to.is_after };
            self.slices.push(SlicePlace { start, end });
        }
        Ok(())
    }

    fn push_place(&mut self, place: &Place<'_>, prefix: (u32, u32)) -> Result<(u32, u32), QueryError> {
        if self.bytes.len().saturating_add(place.bytes.len()) > SLICE_BYTES_MAX {
            return Err(too_long());
        }
        let start = self.mark();
        self.bytes.extend_from_within(prefix.0 as usize..prefix.1 as usize);
        self.bytes.extend_from_slice(&place.bytes);
        Ok((start, self.mark()))
    }

    /// Adds one end. A null comes before all values, in whichever order they are stored: it begins a slice of all, and ends none.
    fn push_end(
        &mut self,
        end: Option<&SliceEnd>,
        is_first: bool,
        prefix: (u32, u32),
        columns: &[Column],
        binds: &Binds<'_>,
    ) -> Result<Option<EndPlace>, QueryError> {
        let whole = EndPlace { bytes: prefix, is_inclusive: true };
        let Some(end) = end else { return Ok(Some(whole)) };
        if let [operand] = &end.operands[..]
            && operand.unchecked(binds).is_none()
            && operand.value(binds)? == Value::Null
        {
            return Ok(is_first.then_some(whole));
        }
        let start = self.mark();
        self.bytes.extend_from_within(prefix.0 as usize..prefix.1 as usize);
        for (operand, column) in end.operands.iter().zip(columns) {
            push(operand.key_value(&column.name, binds)?, column, &mut self.bytes)?;
        }
        Ok(Some(EndPlace { bytes: (start, self.mark()), is_inclusive: end.is_inclusive }))
    }

    /// The slice, if there is exactly one: the common case, which takes no list.
    #[inline]
    pub(crate) fn only(&self) -> Option<Slice<'_>> {
        match self.slices.as_slice() {
            [place] => Some(self.slice(place)),
            _ => None,
        }
    }

    /// All slices.
    pub(crate) fn all(&self) -> Vec<Slice<'_>> {
        self.slices.iter().map(|place| self.slice(place)).collect()
    }

    /// Whether a row is in one of them; its clustering is in byte-comparable form.
    pub(crate) fn has(&self, clustering: &[u8]) -> bool {
        let at = self.slices.partition_point(|place| self.slice(place).ends_before(clustering));
        self.slices.get(at).is_some_and(|place| self.slice(place).has(clustering))
    }

    #[inline]
    fn slice(&self, place: &SlicePlace) -> Slice<'_> {
        let bound = |EndPlace { bytes: (start, end), is_inclusive }: EndPlace| Bound {
            prefix: &self.bytes[start as usize..end as usize],
            inclusive: is_inclusive,
        };
        Slice { start: bound(place.start), end: bound(place.end) }
    }
}

#[inline]
fn push(value: &[u8], column: &Column, out: &mut Vec<u8>) -> Result<(), QueryError> {
    let value = cut(&column.ty, value);
    if out.len().saturating_add(value.len()) > SLICE_BYTES_MAX {
        return Err(too_long());
    }
    cql_types::comparable::encode(&column.ty, value, column.is_reversed(), out);
    Ok(())
}

#[cold]
fn too_long() -> QueryError {
    invalid(format!(
        "The values that the statement gives for clustering columns come to more than {SLICE_BYTES_MAX} bytes"
    ))
}
