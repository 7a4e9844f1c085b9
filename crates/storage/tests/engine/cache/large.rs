//! Partitions that are too long for an entry: single rows of them are kept.

use cql_types::CqlType;
use mutation::{ClusteringBound, Deletion, MutationEncoder, ReadCommand, Slice};
use runtime::{Options, Runtime};
use storage::Shard;
use storage::reader::ReadDone;
use topology::token_of;

use super::twins::{Sink, TABLE, VALUE, key_of, open};
use crate::harness::Folder;

const PARTITION: u64 = 1;

fn place(a: i32, b: i32) -> Vec<u8> {
    let mut place = Vec::new();
    for (value, is_reversed) in [(a, false), (b, true)] {
        cql_types::comparable::encode(&CqlType::Int, &value.to_be_bytes(), is_reversed, &mut place);
    }
    place
}

async fn write(shard: &Shard, a: i32, b: i32, timestamp: i64, value: &[u8]) {
    let key = key_of(PARTITION);
    let mut bytes = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut bytes, TABLE, token_of(&key), &key);
    let clustering = [a.to_be_bytes(), b.to_be_bytes()];
    encoder
        .row(clustering.iter().map(|value| &value[..]))
        .liveness(timestamp, None)
        .cell(VALUE, timestamp, None, value);
    encoder.finish();
    crate::harness::apply(shard, &bytes).await;
}

/// Deletes the rows whose first clustering column is `a`.
async fn delete(shard: &Shard, a: i32, timestamp: i64) {
    let key = key_of(PARTITION);
    let mut bytes = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut bytes, TABLE, token_of(&key), &key);
    let bound = a.to_be_bytes();
    let prefix = ClusteringBound { prefix: &[&bound], inclusive: true };
    encoder.range_tombstone(prefix, prefix, Deletion { timestamp, local_deletion_time: 1_000 });
    encoder.finish();
    crate::harness::apply(shard, &bytes).await;
}

/// Whether the row has the value; and how often the cache was hit and missed for that.
async fn has(shard: &Shard, a: i32, b: i32, value: &[u8]) -> (bool, u64, u64) {
    let (before, key, place) = (shard.cache_counters(), key_of(PARTITION), place(a, b));
    let slices = [Slice::of_prefix(&place)];
    let command = ReadCommand { slices: &slices, ..ReadCommand::partition(TABLE, token_of(&key), &key, 1) };
    let mut sink = Sink::new(usize::MAX);
    let done = shard.read_through(&command, &mut sink).await.expect("the files can be read");
    assert_eq!(done, ReadDone::Complete);
    let after = shard.cache_counters();
    let has = sink.told.last().is_some_and(|row| row.contains(&format!("{value:?}")));
    (has, after.hits - before.hits, after.misses - before.misses)
}

async fn carry_out(runtime: Runtime, folder: &Folder) {
    let shard = open(&runtime, folder, 2 << 20).await;
    for a in 0..20 {
        for b in 0..10 {
            write(&shard, a, b, 1, &[7; 1000]).await;
        }
    }
    shard.flush(TABLE).await.expect("it can be written");
    // Asked for once; then it is found to be large, and the row is kept.
    for _ in 0..2 {
        assert_eq!(has(&shard, 3, 4, &[7; 1000]).await, (true, 0, 1));
    }
    assert_eq!(has(&shard, 3, 4, &[7; 1000]).await, (true, 1, 0));
    // A row that is not there is kept as such.
    assert_eq!(has(&shard, 3, 40, &[7; 1000]).await, (false, 0, 1));
    assert_eq!(has(&shard, 3, 40, &[7; 1000]).await, (false, 1, 0));
    assert_eq!(has(&shard, 4, 4, &[7; 1000]).await, (true, 0, 1));
    // In the memtable and in the cache; then a flush brings the entries up to date.
    write(&shard, 3, 4, 2, b"second").await;
    write(&shard, 3, 40, 2, b"new").await;
    assert_eq!(has(&shard, 3, 4, b"second").await, (true, 1, 0));
    shard.flush(TABLE).await.expect("it can be written");
    assert_eq!(has(&shard, 3, 4, b"second").await, (true, 1, 0));
    assert_eq!(has(&shard, 3, 40, b"new").await, (true, 1, 0));
    assert_eq!(has(&shard, 4, 4, &[7; 1000]).await, (true, 1, 0));
    // A range deletion ends the row entries when it is flushed, and not before.
    delete(&shard, 3, 3).await;
    assert_eq!(has(&shard, 3, 4, b"second").await, (false, 1, 0));
    shard.flush(TABLE).await.expect("it can be written");
    assert_eq!(has(&shard, 3, 4, b"second").await, (false, 0, 1));
    assert_eq!(has(&shard, 3, 4, b"second").await, (false, 1, 0));
    assert_eq!(has(&shard, 4, 4, &[7; 1000]).await, (true, 0, 1));
    assert_eq!(has(&shard, 4, 4, &[7; 1000]).await, (true, 1, 0));
}

#[test]
fn rows_of_a_large_partition_are_kept_one_by_one() {
    let folder = Folder::new("cache-large");
    let folder = &folder;
    let main = move |runtime: Runtime| async move { carry_out(runtime, folder).await };
    runtime::run(Options::default(), vec![main]).expect("a shard starts");
}
