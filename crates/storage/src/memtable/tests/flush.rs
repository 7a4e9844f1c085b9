//! A walk for a flush gives all that a memtable holds: written to another memtable, it reads the same.

use std::rc::Rc;

use super::*;
use crate::memtable::{FlushItem, FlushWalk};

/// Encodes what the walk gives as mutations, one for each partition, and checks the order of places.
fn mutations_of(table: &Rc<Memtable>, limit: usize) -> Vec<Vec<u8>> {
    let mut walk = FlushWalk::over(table.clone());
    let mut mutations: Vec<Vec<u8>> = Vec::new();
    let mut items = 0;
    // The deletion that is open, and the bound that it began with.
    let mut open: Option<(Deletion, Vec<Vec<u8>>, bool)> = None;
    let mut ranges: Vec<RangeOf> = Vec::new();
    let mut rows: Vec<(Vec<Vec<u8>>, Vec<u8>)> = Vec::new();
    let mut head: Option<PartitionOf> = None;
    let mut last_place: Option<(Vec<u8>, bool)> = None;
    while let Some(item) = walk.next() {
        items += 1;
        assert!(items <= limit, "the walk ends");
        match item {
            FlushItem::Partition { token, key, deletion, static_row } => {
                assert_eq!(token, token_of(key));
                assert!(head.is_none(), "the partition before has ended");
                head = Some((key.to_vec(), deletion, static_row.map(|row| row.bytes().to_vec())));
                last_place = None;
            }
            FlushItem::Row(clustering, row) => {
                let components: Vec<Vec<u8>> = clustering.components().map(<[u8]>::to_vec).collect();
                let mut place = Vec::new();
                table.shape().comparable(clustering, &mut place);
                assert!(last_place.as_ref().is_none_or(|(last, _)| *last <= place), "rows stand in order");
                last_place = Some((place, false));
                assert!(!row.is_empty());
                rows.push((components, row.bytes().to_vec()));
            }
            FlushItem::Marker(marker) => {
                let components: Vec<Vec<u8>> = marker.prefix.components().map(<[u8]>::to_vec).collect();
                assert_eq!(open.as_ref().map(|open| open.0), marker.closes, "what closes was open");
                assert_ne!(marker.closes, marker.opens);
                if let Some((deletion, start, is_after)) = open.take() {
                    ranges.push((start, !is_after, components.clone(), marker.after, deletion));
                }
                open = marker.opens.map(|deletion| (deletion, components, marker.after));
            }
            FlushItem::PartitionEnd => {
                assert!(open.is_none(), "no range stays open");
                let (key, deletion, static_row) = head.take().expect("a partition has begun");
                let mut out = Vec::new();
                let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(&key), &key);
                deletion.into_iter().for_each(|deletion| encoder.partition_deletion(deletion));
                static_row.iter().for_each(|row| encoder.static_row_blob(RowRef::trusted(row)));
                for (start, start_inclusive, end, end_inclusive, deletion) in ranges.drain(..) {
                    let slices = |parts: &[Vec<u8>]| parts.to_vec();
                    let (start, end) = (slices(&start), slices(&end));
                    let start: Vec<&[u8]> = start.iter().map(Vec::as_slice).collect();
                    let end: Vec<&[u8]> = end.iter().map(Vec::as_slice).collect();
                    encoder.range_tombstone(
                        ClusteringBound { prefix: &start, inclusive: start_inclusive },
                        ClusteringBound { prefix: &end, inclusive: end_inclusive },
                        deletion,
                    );
                }
                encoder.finish();
                mutations.push(out);
                for (components, row) in rows.drain(..) {
                    let mut encoded = vec![components.len() as u8];
                    for component in &components {
                        stdx::varint::encode(component.len() as u64, &mut encoded);
                        encoded.extend_from_slice(component);
                    }
                    let mut out = Vec::new();
                    let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(&key), &key);
                    encoder.row_blob(ClusteringRef::decode(&encoded).expect("a clustering"), RowRef::trusted(&row));
                    encoder.finish();
                    mutations.push(out);
                }
            }
        }
    }
    assert!(head.is_none(), "the last partition has ended");
    mutations
}

/// Start, whether it is inside, end, whether it is inside, deletion.
type RangeOf = (Vec<Vec<u8>>, bool, Vec<Vec<u8>>, bool, Deletion);
/// Key, deletion, static row.
type PartitionOf = (Vec<u8>, Option<Deletion>, Option<Vec<u8>>);

fn filled(shape: &TableShape, mutations: &[Vec<u8>]) -> Memtable {
    let (mut pool, mut scratch) = (ChunkPool::new(1 << 30), Scratch::default());
    let mut table = Memtable::new(shape.clone());
    for mutation in mutations {
        let mutation = MutationRef::decode(mutation).expect("a mutation");
        table.shape().check(&mutation).expect("it fits");
        table.apply(&mut pool, &mut scratch, &mutation);
    }
    table
}

proptest! {
    #[test]
    fn a_flush_gives_all_that_is_there(ops in prop::collection::vec(op(), 0..60)) {
        let mutations: Vec<Vec<u8>> = ops.iter().map(encode).collect();
        let table = Rc::new(filled(&shape(), &mutations));
        let again = filled(&shape(), &mutations_of(&table, 10_000));
        let command = ReadCommand::all(TABLE, NOW);
        prop_assert_eq!(data::read_data(&again, &command, 7), data::read_data(&table, &command, 1000));
    }

    #[test]
    fn a_row_without_clustering_keeps_its_deletion(ops in prop::collection::vec(op(), 0..40)) {
        let single = TableShape::default();
        let fits = |op: &&Op| matches!(op, Op::Row(..) | Op::Partition(..));
        let mutations: Vec<Vec<u8>> = ops.iter().filter(fits).map(|op| match op {
            Op::Row(partition, _, write) => {
                let mut out = Vec::new();
                let key = [*partition];
                let mut encoder = MutationEncoder::begin(&mut out, TABLE, token_of(&key), &key);
                write_row(encoder.row([]), write);
                encoder.finish();
                out
            }
            op => encode(op),
        }).collect();
        let table = Rc::new(filled(&single, &mutations));
        let again = filled(&single, &mutations_of(&table, 10_000));
        let command = ReadCommand::all(TABLE, NOW);
        prop_assert_eq!(read_all(&again, &command, 1000), read_all(&table, &command, 1000));
        prop_assert_eq!(data::read_data(&again, &command, 7), data::read_data(&table, &command, 1000));
    }
}
