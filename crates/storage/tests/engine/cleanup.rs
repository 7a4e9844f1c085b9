//! A cleanup drops the tokens that a node does not keep, and nothing else: what is kept stays byte for byte, and what is dropped stays so.
#![allow(clippy::disallowed_methods)]

mod crashes;
mod meanwhile;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;

use mutation::{ClusteringRef, CounterId, Deletion, LiveRow, MutationEncoder, MutationRef, ReadCommand};
use schema::{ColumnId, TableId};
use storage::reader::ReadDone;
use storage::{Cleaned, CopySource, Flow, RowSink, Shard};
use topology::{Token, TokenRange, TokenRanges, token_of};

use crate::harness::*;

/// The tokens that are kept: some 60 of 100, in two ranges, one of which wraps.
fn kept() -> TokenRanges {
    let part = i64::MAX / 10;
    TokenRanges::of([
        TokenRange { after: Token(part * 5), end: Token(-part * 5) },
        TokenRange { after: Token(-part), end: Token(part) },
    ])
}

fn is_kept(number: u32) -> bool {
    kept().contains(token_of(&key_of(number)))
}

/// Those of some rows that are kept.
fn kept_of(numbers: impl IntoIterator<Item = u32>) -> Vec<u32> {
    numbers.into_iter().filter(|number| is_kept(*number)).collect()
}

async fn clean_up(shard: &Shard, table: TableId, kept: TokenRanges) -> Cleaned {
    let kept = Rc::new(kept);
    storage::clean_up(shard, table, || Rc::clone(&kept)).await.expect("the disk works")
}

/// All that a table's files have, as mutations: what was deleted too.
async fn all_of(shard: &Shard, table: TableId) -> Vec<Vec<u8>> {
    let source = CopySource::open(shard, table).await.expect("the disk works");
    let mut scan = source.scan(TokenRange { after: Token::MIN, end: Token::MAX });
    let mut all = Vec::new();
    loop {
        let page = scan.page(100_000, PAGE_TIME).await.expect("the disk works");
        all.extend(page.mutations);
        if page.is_last {
            return all;
        }
    }
}

fn token_in(mutation: &[u8]) -> Token {
    MutationRef::decode(mutation).expect("a mutation").token()
}

/// The deletion of a partition, long before grace.
fn deletion(number: u32, timestamp: i64, local_deletion_time: u32) -> Vec<u8> {
    let (mut bytes, key) = (Vec::new(), key_of(number));
    let mut encoder = MutationEncoder::begin(&mut bytes, TABLE, token_of(&key), &key);
    encoder.partition_deletion(Deletion { timestamp, local_deletion_time });
    encoder.finish();
    bytes
}

/// The data files of the tables, by name.
fn data_files(folder: &Folder) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for table in std::fs::read_dir(folder.path.join("data/ks")).into_iter().flatten() {
        let entries = std::fs::read_dir(table.expect("an entry").path()).expect("a table's folder");
        found.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    found.retain(|path| path.to_string_lossy().ends_with("-Data.db"));
    found
}

/// Rows in three files and in memory, some of them deleted.
async fn fill(shard: &Shard) {
    for round in 0..4u32 {
        for number in round * 150..round * 150 + 250 {
            let value = vec![number as u8; 20 + number as usize % 90];
            apply(shard, &mutation(TABLE, number, i64::from(round) + 1, &value)).await;
        }
        for number in round * 150 + 40..round * 150 + 60 {
            apply(shard, &deletion(number, 100, u32::MAX - 2)).await;
        }
        shard.drain().await.expect("the disk works");
        if round < 3 {
            shard.flush(TABLE).await.expect("the disk works");
        }
    }
}

#[test]
fn what_is_kept_stays_byte_for_byte_and_the_rest_is_gone_for_good() {
    let folder = Folder::new("cleanup");
    let setup = Setup::new(&folder, 1);
    let expected = with_shard(&setup, async |_, shard| {
        fill(&shard).await;
        let rows = read_all_rows(&shard, TABLE).await;
        write_rows(&shard, OTHER, 0..50, b"of another table").await;
        let cleaned = clean_up(&shard, TABLE, kept()).await;
        assert_eq!(cleaned, Cleaned { removed: 0, rewritten: 4 });
        let found = read_all_rows(&shard, TABLE).await;
        assert_eq!(found, kept_of(rows.iter().copied()));
        assert!(found.len() > 200 && found.len() < rows.len() - 100, "{} of {}", found.len(), rows.len());
        assert_eq!(clean_up(&shard, TABLE, kept()).await, Cleaned::default(), "it is clean");
        assert_eq!(read_rows(&shard, OTHER).len(), 50);
        found
    })
    .expect("the shard opens");
    with_shard(&setup.boot(2), async |_, shard| {
        assert_eq!(read_all_rows(&shard, TABLE).await, expected, "the log brings nothing back");
        assert_eq!(read_rows(&shard, OTHER).len(), 50);
        shard.compact(TABLE).await.expect("the disk works");
        assert_eq!(read_all_rows(&shard, TABLE).await, expected);
    })
    .expect("the shard opens");
}

#[test]
fn tombstones_and_times_of_what_is_kept_stay() {
    let folder = Folder::new("cleanup-bytes");
    with_shard(&Setup::new(&folder, 1), async |_, shard| {
        fill(&shard).await;
        let before = all_of(&shard, TABLE).await;
        let kept = kept();
        let expected: Vec<Vec<u8>> =
            before.iter().filter(|mutation| kept.contains(token_in(mutation))).cloned().collect();
        assert!(expected.len() > 200 && expected.len() < before.len() - 100);
        clean_up(&shard, TABLE, kept.clone()).await;
        assert_eq!(all_of(&shard, TABLE).await, expected);
        clean_up(&shard, TABLE, TokenRanges::none()).await;
        assert_eq!((all_of(&shard, TABLE).await.len(), shard.stats().files), (0, 0));
    })
    .expect("the shard opens");
    assert_eq!(data_files(&folder), BTreeSet::new());
}

/// Numbers whose tokens are from one to another.
fn between(first: i64, last: i64) -> impl Iterator<Item = u32> {
    (0..20_000).filter(move |number| (first..=last).contains(&token_of(&key_of(*number)).0))
}

#[test]
fn files_that_are_kept_whole_or_not_at_all_are_not_read() {
    let folder = Folder::new("cleanup-unread");
    let quarter = i64::MAX / 2;
    let laid = &folder;
    let body = async |_, shard: Shard| {
        // One below zero, one above, one of both, and one whose tokens lie on either side of what is not kept.
        let below = between(i64::MIN, -1).take(50);
        let above = between(0, i64::MAX).take(50);
        let both = 20_000..20_100;
        let around =
            between(i64::MIN, -quarter).skip(100).take(50).chain(between(quarter, i64::MAX).skip(100).take(50));
        let mut named = Vec::new();
        let sets: [Vec<u32>; 4] = [below.collect(), above.collect(), both.collect(), around.collect()];
        for set in &sets {
            let before = data_files(laid);
            write_rows(&shard, TABLE, set.iter().copied(), b"value").await;
            shard.flush(TABLE).await.expect("the disk works");
            named.extend(data_files(laid).difference(&before).cloned());
        }
        // Whoever reads them fails.
        for unread in &named[..2] {
            let mut bytes = std::fs::read(unread).expect("it is there");
            let middle = bytes.len() / 2;
            bytes[middle..].fill(0xee);
            std::fs::write(unread, bytes).expect("it can be written");
        }
        let kept = TokenRanges::of([TokenRange { after: Token(i64::MIN), end: Token(-1) }]);
        let cleaned = clean_up(&shard, TABLE, kept).await;
        assert_eq!(cleaned, Cleaned { removed: 1, rewritten: 2 });
        let left = data_files(laid);
        assert!(left.contains(&named[0]) && named[1..].iter().all(|name| !left.contains(name)));
        assert_eq!(left.len(), 3);
        let cleaned = clean_up(&shard, TABLE, TokenRanges::none()).await;
        assert_eq!(cleaned, Cleaned { removed: 3, rewritten: 0 });

        // Between its tokens lies much that is not kept, and it has none of that.
        write_rows(&shard, TABLE, sets[3].iter().copied(), b"value").await;
        shard.flush(TABLE).await.expect("the disk works");
        let kept = TokenRanges::of([TokenRange { after: Token(quarter - 1), end: Token(-quarter) }]);
        assert_eq!(clean_up(&shard, TABLE, kept.clone()).await, Cleaned::default());
        // One token there is enough.
        let other = between(-quarter + 1, quarter - 1).next().expect("there is one");
        write_rows(&shard, TABLE, sets[3].iter().copied().chain([other]), b"value").await;
        assert_eq!(clean_up(&shard, TABLE, kept).await, Cleaned { removed: 0, rewritten: 1 });
        let mut rest = sets[3].clone();
        rest.sort_unstable();
        assert_eq!(read_all_rows(&shard, TABLE).await, rest);
    };
    with_shard(&Setup::new(&folder, 1), body).expect("the shard opens");
}

#[test]
fn where_all_is_kept_or_the_table_is_not_there_nothing_is_done() {
    let folder = Folder::new("cleanup-nothing");
    with_shard(&Setup::new(&folder, 1), async |_, shard| {
        write_rows(&shard, TABLE, 0..10, b"value").await;
        assert_eq!(clean_up(&shard, TABLE, TokenRanges::all()).await, Cleaned::default());
        assert_eq!(shard.stats().files, 0, "not even a flush");
        assert_eq!(clean_up(&shard, TableId([9; 16]), TokenRanges::none()).await, Cleaned::default());
        assert_eq!(read_rows(&shard, TABLE).len(), 10);
    })
    .expect("the shard opens");
}

#[test]
fn the_row_cache_forgets_what_is_dropped() {
    let folder = Folder::new("cleanup-cache");
    let mut setup = Setup::new(&folder, 1);
    setup.caching = true;
    with_shard(&setup, async |_, shard| {
        write_rows(&shard, TABLE, 0..200, b"value").await;
        shard.flush(TABLE).await.expect("the disk works");
        let read = async |number: u32| {
            let key = key_of(number);
            let command = ReadCommand::partition(TABLE, token_of(&key), &key, 1);
            let mut found = Found::default();
            if shard.read(&command, &mut found).would_block() {
                let done = shard.read_through(&command, &mut found).await;
                assert_eq!(done.expect("the files can be read"), ReadDone::Complete);
            }
            found.rows == 1
        };
        for _ in 0..2 {
            for number in 0..200 {
                assert!(read(number).await);
            }
        }
        assert!(shard.cache_counters().hits >= 200, "they are cached");
        clean_up(&shard, TABLE, kept()).await;
        for number in 0..200 {
            assert_eq!(read(number).await, is_kept(number), "row {number}");
        }
    })
    .expect("the shard opens");
}

#[derive(Default)]
struct Found {
    rows: usize,
}

impl RowSink for Found {
    fn partition(&mut self, _: Token, _: &[u8], _: Option<LiveRow<'_>>) -> Flow {
        Flow::Continue
    }

    fn row(&mut self, _: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        self.rows += usize::from(row.cell(ColumnId(1)).is_some());
        Flow::Continue
    }
}

#[test]
fn a_snapshot_keeps_what_a_cleanup_drops() {
    let folder = Folder::new("cleanup-snapshot");
    let laid = &folder;
    with_shard(&Setup::new(&folder, 1), async |_, shard| {
        fill(&shard).await;
        shard.flush(TABLE).await.expect("the disk works");
        let names = data_files(laid);
        shard.begin_snapshot("kept", &[TABLE]).await.expect("it is made");
        shard.name_for_snapshot("kept", TABLE).await.expect("it is made");
        shard.end_snapshot("kept", TABLE, "CREATE TABLE").await.expect("it is made");
        clean_up(&shard, TABLE, TokenRanges::none()).await;
        assert_eq!(data_files(laid), BTreeSet::new());
        for name in names {
            let snapshot = name.parent().expect("a folder").join("snapshots/kept");
            assert!(snapshot.join(name.file_name().expect("a name")).exists(), "{}", name.display());
        }
    })
    .expect("the shard opens");
}

#[test]
fn nothing_that_may_hide_something_is_purged_and_what_hides_nothing_is() {
    let folder = Folder::new("cleanup-purge");
    let mut setup = Setup::new(&folder, 1);
    setup.gc_grace_seconds = Some(0);
    with_shard(&setup, async |_, shard| {
        let numbers = kept_of(0..100);
        write_rows(&shard, TABLE, 0..100, b"value").await;
        shard.flush(TABLE).await.expect("the disk works");
        // Half of them hide rows of the first file, and half hide nothing.
        for number in 50..150 {
            apply(&shard, &deletion(number, 5, 1_000)).await;
        }
        shard.drain().await.expect("the disk works");
        clean_up(&shard, TABLE, kept()).await;
        let expected: Vec<u32> = numbers.into_iter().filter(|number| *number < 50).collect();
        assert_eq!(read_all_rows(&shard, TABLE).await, expected);
        let partitions = shard.table_figures(TABLE, true).expect("the table is here").partitions;
        let [rows, hiding] = [kept_of(0..100).len(), kept_of(50..100).len()];
        assert_eq!(partitions, (rows + hiding) as u64, "tombstones of nothing are purged");
    })
    .expect("the shard opens");
}

/// Adds to counters of a partition's row and of its static row.
fn delta(partition: u32, timestamp: i64) -> Vec<u8> {
    let (key, mut out) = (key_of(partition), Vec::new());
    let mut mutation = MutationEncoder::begin(&mut out, COUNTERS, token_of(&key), &key);
    mutation.static_row().cell(ColumnId(3), timestamp, None, &1i64.to_be_bytes());
    mutation.row([&7i32.to_be_bytes()[..]]).cell(ColumnId(1), timestamp, None, &i64::from(partition).to_be_bytes());
    mutation.finish();
    out
}

#[test]
fn counters_and_static_rows_that_are_kept_count_on_and_others_begin_again() {
    let folder = Folder::new("cleanup-counters");
    let mut setup = Setup::new(&folder, 1);
    setup.tables.push(COUNTERS);
    let add = async |shard: &Shard, timestamp: i64| {
        for partition in 0..60 {
            let deltas = [delta(partition, timestamp)];
            let id = CounterId([7; 16]);
            shard.count(|_| id, &deltas, &|| true).await.expect("the shard takes it");
        }
        shard.drain().await.expect("the disk works");
    };
    let counted = |times: i64, of_dropped: i64| -> Vec<(u32, i64, i64)> {
        let times_of = |partition| if is_kept(partition) { times } else { of_dropped };
        let all = (0..60).map(|partition| (partition, times_of(partition), times_of(partition) * i64::from(partition)));
        all.filter(|(_, total, _)| *total > 0).collect()
    };
    with_shard(&setup, async |_, shard| {
        add(&shard, 10).await;
        shard.flush(COUNTERS).await.expect("the disk works");
        add(&shard, 20).await;
        clean_up(&shard, COUNTERS, kept()).await;
        assert_eq!(counts(&shard).await, counted(2, 0));
        add(&shard, 30).await;
        assert_eq!(counts(&shard).await, counted(3, 1));
    })
    .expect("the shard opens");
    with_shard(&setup.boot(2), async |_, shard| assert_eq!(counts(&shard).await, counted(3, 1)))
        .expect("the shard opens");
}

/// Of each partition its number, the static row's count and the row's.
async fn counts(shard: &Shard) -> Vec<(u32, i64, i64)> {
    #[derive(Default)]
    struct Counts(Vec<(u32, i64, i64)>);
    impl RowSink for Counts {
        fn partition(&mut self, _: Token, key: &[u8], row: Option<LiveRow<'_>>) -> Flow {
            let total = row.and_then(|row| row.cell(ColumnId(3)).map(|cell| cell.value.to_vec())).expect("a total");
            let total = i64::from_be_bytes(total.try_into().expect("eight bytes"));
            self.0.push((u32::from_be_bytes(key.try_into().expect("four bytes")), total, 0));
            Flow::Continue
        }

        fn row(&mut self, _: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
            let cell = row.cell(ColumnId(1)).expect("it was counted").value.to_vec();
            self.0.last_mut().expect("a partition").2 = i64::from_be_bytes(cell.try_into().expect("eight bytes"));
            Flow::Continue
        }
    }
    let mut found = Counts::default();
    let command = ReadCommand::all(COUNTERS, 1);
    let done = shard.read_through(&command, &mut found).await;
    assert_eq!(done.expect("the files can be read"), ReadDone::Complete);
    found.0.sort_unstable();
    found.0
}

#[test]
fn shards_of_another_count_clean_shared_files_and_none_comes_back() {
    let folder = Folder::new("cleanup-shared");
    let mut setup = Setup::new(&folder, 1);
    setup.options.auto_snapshot = false;
    let rows = with_shard(&setup, async |_, shard| {
        fill(&shard).await;
        // A file of two tokens, one of which is not kept: of one shard alone all or nothing is.
        shard.flush(TABLE).await.expect("the disk works");
        let other = (10_000..).find(|number| !is_kept(*number)).expect("there is one");
        let own = (10_000..).find(|number| is_kept(*number)).expect("there is one");
        write_rows(&shard, TABLE, [own, other].into_iter(), b"value").await;
        shard.flush(TABLE).await.expect("the disk works");
        read_all_rows(&shard, TABLE).await
    })
    .expect("the shard opens");
    let expected = kept_of(rows);
    let shared = data_files(&folder);
    let found = with_shards(&setup.boot(2), 2, true, async |_, shard: Shard| {
        clean_up(&shard, TABLE, kept()).await;
        read_all_rows(&shard, TABLE).await
    });
    let mut all = found.concat();
    all.sort_unstable();
    assert_eq!(all, expected);
    let body = async |_, shard: Shard| read_all_rows(&shard, TABLE).await;
    assert_eq!(with_shard(&setup.boot(3), body).expect("the shard opens"), expected, "no shared file is live again");
    assert!(data_files(&folder).is_disjoint(&shared));
}
