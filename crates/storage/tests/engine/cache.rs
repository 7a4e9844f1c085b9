//! A read through the row cache gives what it gives without one, whatever is done to the table.
#![allow(clippy::disallowed_methods)]

mod large;
mod twins;

use mutation::{ClusteringRef, Deletion, LiveRow, MutationEncoder, ReadCommand};
use runtime::{Group, Runtime};
use schema::{ColumnId, Schema, SchemaChange, Table};
use storage::reader::ReadDone;
use storage::{CacheCounters, Flow, RowSink, Shard};
use topology::{Token, token_of};

use crate::harness::{Folder, Setup, TABLE, apply, key_of, mutation, truncate, with_shard, write_rows};

/// A setup whose tables are cached.
fn setup(folder: &Folder) -> Setup {
    let mut setup = Setup::new(folder, 1);
    setup.caching = true;
    setup
}

#[derive(Default)]
struct Values(Vec<Vec<u8>>);

impl RowSink for Values {
    fn partition(&mut self, _: Token, _: &[u8], _: Option<LiveRow<'_>>) -> Flow {
        Flow::Continue
    }

    fn row(&mut self, _: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        self.0.push(row.cell(ColumnId(1)).map_or(Vec::new(), |cell| cell.value.to_vec()));
        Flow::Continue
    }
}

/// The value of a row, if it lives; read as a server reads: in one call, or by a task.
async fn value_of(shard: &Shard, number: u32) -> Option<Vec<u8>> {
    let key = key_of(number);
    let command = ReadCommand::partition(TABLE, token_of(&key), &key, 1);
    let mut values = Values::default();
    if shard.read(&command, &mut values).would_block() {
        let done = shard.read_through(&command, &mut values).await.expect("the files can be read");
        assert_eq!(done, ReadDone::Complete);
    }
    assert!(values.0.len() <= 1);
    values.0.pop()
}

fn change(before: &CacheCounters, after: &CacheCounters) -> (u64, u64, u64) {
    (after.hits - before.hits, after.misses - before.misses, after.inserts - before.inserts)
}

#[test]
fn a_second_read_asks_no_file() {
    let folder = Folder::new("cache-second");
    with_shard(&setup(&folder), |_, shard| async move {
        write_rows(&shard, TABLE, 0..100, b"value").await;
        shard.flush(TABLE).await.expect("it can be written");
        let before = shard.cache_counters();
        for _ in 0..3 {
            for number in 0..100 {
                assert_eq!(value_of(&shard, number).await.as_deref(), Some(&b"value"[..]));
            }
        }
        assert_eq!(change(&before, &shard.cache_counters()), (200, 100, 100));
    })
    .expect("the shard opens");
}

#[test]
fn a_table_that_is_not_to_be_cached_is_not() {
    let folder = Folder::new("cache-none");
    with_shard(&Setup::new(&folder, 1), |_, shard| async move {
        write_rows(&shard, TABLE, 0..10, b"value").await;
        shard.flush(TABLE).await.expect("it can be written");
        let before = shard.cache_counters();
        for _ in 0..3 {
            assert!(value_of(&shard, 1).await.is_some());
        }
        assert_eq!(change(&before, &shard.cache_counters()), (0, 0, 0));
    })
    .expect("the shard opens");
}

#[test]
fn a_flush_brings_entries_up_to_date() {
    let folder = Folder::new("cache-flush");
    with_shard(&setup(&folder), |_, shard| async move {
        write_rows(&shard, TABLE, 0..50, b"first").await;
        shard.flush(TABLE).await.expect("it can be written");
        for number in 0..50 {
            assert!(value_of(&shard, number).await.is_some());
        }
        for round in 2..5i64 {
            let value = format!("value {round}");
            for number in 0..50 {
                apply(&shard, &mutation(TABLE, number, round, value.as_bytes())).await;
            }
            // Memtable and entry together.
            assert_eq!(value_of(&shard, 7).await, Some(value.clone().into_bytes()));
            shard.flush(TABLE).await.expect("it can be written");
            let before = shard.cache_counters();
            for number in 0..50 {
                assert_eq!(value_of(&shard, number).await, Some(value.clone().into_bytes()));
            }
            assert_eq!(change(&before, &shard.cache_counters()), (50, 0, 0), "no file is asked");
        }
    })
    .expect("the shard opens");
}

#[test]
fn a_fill_under_way_is_dropped_when_the_files_change() {
    let folder = Folder::new("cache-fill");
    with_shard(&setup(&folder), |runtime, shard| async move {
        write_rows(&shard, TABLE, 0..60, &[5; 2000]).await;
        shard.flush(TABLE).await.expect("it can be written");
        let tasks: Vec<_> = (0..60)
            .map(|number| {
                let shard = shard.clone();
                runtime.spawn(Group::Query, async move { value_of(&shard, number).await })
            })
            .collect();
        for _ in 0..10_000 {
            if shard.cache_counters().misses > 0 {
                break;
            }
            runtime.yield_now().await;
        }
        // Some have begun, and wait for the device.
        let position = truncate(&shard, TABLE);
        for task in tasks {
            task.await;
        }
        for number in 0..60 {
            assert_eq!(value_of(&shard, number).await, None, "row {number} was truncated");
        }
        assert!(shard.cache_counters().refused > 0, "a fill was under way");
        shard.discard_truncated(TABLE, position, "1").await;
    })
    .expect("the shard opens");
}

#[test]
fn a_purged_tombstone_hides_nothing_any_more() {
    let folder = Folder::new("cache-purge");
    let mut setup = setup(&folder);
    setup.gc_grace_seconds = Some(0);
    with_shard(&setup, |_, shard| async move {
        write_rows(&shard, TABLE, 0..10, b"value").await;
        let key = key_of(3);
        let mut bytes = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut bytes, TABLE, token_of(&key), &key);
        encoder.partition_deletion(Deletion { timestamp: 10, local_deletion_time: 1_000 });
        encoder.finish();
        apply(&shard, &bytes).await;
        shard.flush(TABLE).await.expect("it can be written");
        assert_eq!(value_of(&shard, 3).await, None);
        shard.compact(TABLE).await.expect("it can be compacted");
        assert_eq!(value_of(&shard, 3).await, None);
        // Older than the tombstone, which is nowhere any more.
        apply(&shard, &mutation(TABLE, 3, 5, b"late")).await;
        assert_eq!(value_of(&shard, 3).await.as_deref(), Some(&b"late"[..]));
        let before = shard.cache_counters();
        assert!(value_of(&shard, 4).await.is_some());
        assert_eq!(change(&before, &shard.cache_counters()).0, 0);
        assert!(value_of(&shard, 4).await.is_some());
        assert_eq!(change(&before, &shard.cache_counters()).0, 1);
    })
    .expect("the shard opens");
}

/// The schema with the table's value under another id, as a column that was dropped and came back may have.
fn altered(schema: &Schema, id: ColumnId) -> Schema {
    let table = schema.table_by_id(TABLE).expect("it is there");
    let mut columns = table.columns().to_vec();
    columns.iter_mut().filter(|column| column.id == ColumnId(1)).for_each(|column| column.id = id);
    let altered = Table::new(TABLE, &table.keyspace, &table.name, columns, table.options.clone());
    schema.with_all(&[SchemaChange::PutTable(Box::new(altered))])
}

#[test]
fn an_altered_table_is_read_anew() {
    let folder = Folder::new("cache-altered");
    let setup = setup(&folder);
    let schema_of = setup.clone();
    with_shard(&setup, |_, shard| async move {
        let schema = schema_of.schema();
        write_rows(&shard, TABLE, 0..10, b"value").await;
        shard.flush(TABLE).await.expect("it can be written");
        assert_eq!(value_of(&shard, 3).await.as_deref(), Some(&b"value"[..]));
        shard.update_schema(&altered(&schema, ColumnId(7)));
        assert_eq!(value_of(&shard, 3).await.as_deref(), Some(&b""[..]), "there is no such column any more");
    })
    .expect("the shard opens");
}

#[test]
fn a_table_of_the_same_id_begins_anew() {
    let folder = Folder::new("cache-again");
    let setup = setup(&folder);
    let (with, without) = (setup.clone(), Setup { tables: Vec::new(), ..setup.clone() });
    with_shard(&setup, |_: Runtime, shard| async move {
        write_rows(&shard, TABLE, 0..10, b"value").await;
        shard.flush(TABLE).await.expect("it can be written");
        assert!(value_of(&shard, 3).await.is_some());
        shard.update_schema(&without.schema());
        shard.discard_dropped("1").await;
        shard.update_schema(&with.schema());
        assert_eq!(value_of(&shard, 3).await, None);
    })
    .expect("the shard opens");
}

#[test]
fn memory_stays_within_what_there_is() {
    let folder = Folder::new("cache-memory");
    let mut setup = setup(&folder);
    setup.options.memory_bytes = 8 << 20;
    setup.options.row_cache_bytes = 4 << 20;
    setup.options.memtables_and_cache_bytes = 9 << 20;
    with_shard(&setup, |runtime, shard| async move {
        let value = vec![7; 1000];
        write_rows(&shard, TABLE, 0..3_000, &value).await;
        shard.flush(TABLE).await.expect("it can be written");
        for number in 0..3_000 {
            assert!(value_of(&shard, number).await.is_some());
        }
        let full = shard.cache_counters();
        assert!(full.bytes > 3 << 20 && full.bytes <= full.bytes_max, "{full:?}");
        let (mut most, mut least) = (0, u64::MAX);
        for number in 0..40_000 {
            apply(&shard, &mutation(TABLE, 10_000 + number, 1, &value)).await;
            if number % 16 == 0 {
                value_of(&shard, number % 3_000).await;
                runtime.yield_now().await;
            }
            let (stats, cache) = (shard.stats(), shard.cache_counters());
            most = most.max(stats.memory_used as u64 + cache.bytes);
            least = least.min(cache.bytes);
        }
        // The cache gives way within the turns that follow; a memtable grows by chunks of a mebibyte.
        assert!(most <= (9 << 20) + (2 << 20), "{most}");
        assert!(least < full.bytes, "it gave way: {least}");
        assert!(shard.cache_counters().evictions > full.evictions);
    })
    .expect("the shard opens");
}
