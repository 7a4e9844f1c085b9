//! A body reads as the memtable of which it was made.

use std::rc::Rc;

use cql_types::CqlType;
use mutation::{KeyRange, MutationRef, Position, ReadCommand, Slice};
use proptest::prelude::*;
use schema::{Column, ColumnId, ColumnKind, Order, Table, TableOptions};
use topology::token_of;

use crate::cache::{Body, BodyBuilder, CachedPartition};
use crate::memtable::tests::data::Reader;
use crate::memtable::tests::{
    Collected, Collector, NOW, TABLE, comparable_bounds, encode, op, read_all, shape, slices, slices_between,
};
use crate::memtable::{ChunkPool, Memtable, Scratch};
use crate::sink::ReadEnd;

fn table() -> Rc<Table> {
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(100), "k", CqlType::Blob),
        Column::new(ColumnKind::Clustering, ColumnId(101), "c", CqlType::Int),
        Column::new(ColumnKind::Clustering, ColumnId(102), "d", CqlType::Int).at(1).ordered(Order::Desc),
    ];
    Rc::new(Table::new(TABLE, "ks", "t", columns, TableOptions::default()))
}

fn body_of(memtable: &Memtable, key: &[u8]) -> Body {
    let mut builder = BodyBuilder::new(&table(), key, &[]);
    let mut after: Option<Position> = None;
    let command = ReadCommand::partition(TABLE, token_of(key), key, NOW);
    loop {
        let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..command };
        match memtable.read_data(&command, &mut builder) {
            ReadEnd::Complete => return builder.finish().expect("a short key"),
            ReadEnd::Paused(position) | ReadEnd::Stopped(position) => after = Some(position),
        }
    }
}

fn live(body: &Body, command: &ReadCommand<'_>, stop_after: usize) -> Collected {
    let mut collector = Collector::new(stop_after);
    let mut after: Option<Position> = None;
    let cached = CachedPartition::new(body, token_of(body.key()));
    loop {
        collector.stop_after = stop_after;
        let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..*command };
        match cached.read(&command, &mut collector) {
            ReadEnd::Complete => return collector.collected,
            ReadEnd::Stopped(position) | ReadEnd::Paused(position) => after = Some(position),
        }
    }
}

fn data(body: &Body, command: &ReadCommand<'_>, items_max: usize) -> Collected {
    let mut reader = Reader::new(items_max);
    let mut after: Option<Position> = None;
    let cached = CachedPartition::new(body, token_of(body.key()));
    loop {
        reader.items = 0;
        let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..*command };
        match cached.read_data(&command, &mut reader) {
            ReadEnd::Complete => return reader.collected,
            ReadEnd::Stopped(position) | ReadEnd::Paused(position) => {
                assert_ne!(Some(&position), after.as_ref(), "each page gets further");
                after = Some(position);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn a_body_reads_as_its_memtable(
        ops in prop::collection::vec(op(), 0..160),
        slices in slices(),
        reversed in any::<bool>(),
        stop_after in 1usize..20,
    ) {
        let mut pool = ChunkPool::new(1 << 30);
        let mut scratch = Scratch::default();
        let mut memtable = Memtable::new(shape());
        for op in &ops {
            let bytes = encode(op);
            memtable.apply(&mut pool, &mut scratch, &MutationRef::decode(&bytes).expect("what was encoded decodes"));
        }
        let bounds = comparable_bounds(&slices);
        let slices: Vec<Slice<'_>> = slices_between(&slices, &bounds);
        for key in 0..4u8 {
            let body = body_of(&memtable, &[key]);
            let keys = KeyRange::Partition { token: token_of(&[key]), key: &[key] };
            let command =
                ReadCommand { table: TABLE, keys, slices: &slices, reversed, now_in_seconds: NOW, after: None };
            let expected = read_all(&memtable, &command, usize::MAX);
            prop_assert_eq!(live(&body, &command, stop_after), expected.clone(), "what lives, pages of {}", stop_after);
            prop_assert_eq!(data(&body, &command, stop_after), expected, "data, pages of {}", stop_after);
        }
        memtable.clear(&mut pool);
    }
}
