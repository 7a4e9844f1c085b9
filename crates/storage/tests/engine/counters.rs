//! Counters: what was added is there once, from wherever it was read, through flushes, compactions and starts.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use mutation::{ClusteringRef, CounterId, Deletion, LiveRow, MutationEncoder, ReadCommand};
use runtime::{Group, Runtime};
use schema::ColumnId;
use storage::reader::ReadDone;
use storage::{Ack, CopySource, CopyTarget, CountError, Flow, RowSink, Shard, TryOutcome, counters_unsynced};
use topology::{Token, TokenRange, token_of};

use crate::harness::*;

const ID: CounterId = CounterId([7; 16]);
/// The plan of what is counted holds.
const ALWAYS: &dyn Fn() -> bool = &|| true;
const N: ColumnId = ColumnId(1);
const M: ColumnId = ColumnId(2);
const TOTAL: ColumnId = ColumnId(3);
/// By then tasks have ended.
const AT_MOST: Duration = Duration::from_secs(60);

fn setup(folder: &Folder) -> Setup {
    let mut setup = Setup::new(folder, 1);
    setup.tables.push(COUNTERS);
    setup
}

/// What to add to the counters of one row; the static row where there is no clustering.
fn delta(partition: u32, row: Option<i32>, timestamp: i64, deltas: &[(ColumnId, i64)]) -> Vec<u8> {
    let key = key_of(partition);
    let mut out = Vec::new();
    let mut mutation = MutationEncoder::begin(&mut out, COUNTERS, token_of(&key), &key);
    let clustering = row.unwrap_or_default().to_be_bytes();
    let mut row = if row.is_some() { mutation.row([&clustering[..]]) } else { mutation.static_row() };
    for (column, delta) in deltas {
        row.cell(*column, timestamp, None, &delta.to_be_bytes());
    }
    mutation.finish();
    out
}

async fn synced(shard: &Shard, ack: Ack) {
    if let Ack::When(sequence) = ack {
        shard.wait_synced(sequence).await.expect("the disk works");
    }
}

/// Adds as a coordinator does: within the call if it can be.
async fn add(shard: &Shard, delta: &[u8]) {
    let ack = match shard.count_now(|_| ID, delta).expect("the shard takes it") {
        TryOutcome::Done(ack) => ack,
        TryOutcome::WouldBlock => shard.count(|_| ID, &[delta.to_vec()], ALWAYS).await.expect("the shard takes it").0,
    };
    synced(shard, ack).await;
}

/// (partition, row, column) → count.
type Counts = BTreeMap<(u32, Option<i32>, u16), i64>;

#[derive(Default)]
struct Reader {
    partition: u32,
    counts: Counts,
}

impl Reader {
    fn take(&mut self, place: Option<i32>, row: LiveRow<'_>) {
        for cell in row.cells() {
            let count = cell.value.try_into().map(i64::from_be_bytes).expect("a reader is shown the count");
            assert!(self.counts.insert((self.partition, place, cell.column.0), count).is_none());
        }
    }
}

impl RowSink for Reader {
    fn partition(&mut self, _: Token, key: &[u8], static_row: Option<LiveRow<'_>>) -> Flow {
        self.partition = u32::from_be_bytes(key.try_into().expect("a key of four bytes"));
        if let Some(row) = static_row {
            self.take(None, row);
        }
        Flow::Continue
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        let value = clustering.components().next().expect("a clustering column");
        self.take(Some(i32::from_be_bytes(value.try_into().expect("four bytes"))), row);
        Flow::Continue
    }
}

async fn counts(shard: &Shard) -> Counts {
    let mut reader = Reader::default();
    let done = shard.read_through(&ReadCommand::all(COUNTERS, 1), &mut reader).await;
    assert_eq!(done.expect("the files can be read"), ReadDone::Complete);
    reader.counts
}

#[test]
fn what_was_added_is_there_once_after_flushes_compactions_and_starts() {
    let folder = Folder::new("counters");
    let expected: Counts =
        [((1, None, 3), 100), ((1, Some(5), 1), 60), ((1, Some(5), 2), -3), ((2, Some(0), 1), 7)].into();
    let first = |times: i64| -> Counts { expected.iter().map(|(place, count)| (*place, count * times)).collect() };
    let some = [
        delta(1, Some(5), 10, &[(N, 50), (M, -3)]),
        delta(1, Some(5), 11, &[(N, 10)]),
        delta(1, None, 12, &[(TOTAL, 100)]),
        delta(2, Some(0), 13, &[(N, 7)]),
    ];
    with_shard(&setup(&folder), async |_, shard| {
        for delta in &some {
            assert!(shard.count_now(|_| ID, delta).expect("taken").done().is_some(), "all there is lies in memory");
        }
        assert_eq!(counts(&shard).await, first(1));
        shard.flush(COUNTERS).await.expect("the disk works");
        assert_eq!(counts(&shard).await, first(1));
        assert_eq!(shard.count_now(|_| ID, &some[0]), Ok(TryOutcome::WouldBlock), "what is there lies in a file");
        for delta in &some {
            add(&shard, delta).await;
        }
        assert_eq!(counts(&shard).await, first(2));
        assert!(
            shard.count_now(|_| ID, &delta(1, Some(5), 14, &[(N, 0)])).expect("taken").done().is_some(),
            "the memtable knows"
        );
        shard.drain().await.expect("the disk works");
    })
    .expect("the shard opens");
    // Replayed once more: the log has states.
    for boot in [2, 3] {
        with_shard(&setup(&folder).boot(boot), async |_, shard| {
            assert_eq!(counts(&shard).await, first(2));
        })
        .expect("the shard opens");
    }
    with_shard(&setup(&folder).boot(4), async |_, shard| {
        shard.flush(COUNTERS).await.expect("the disk works");
        assert_eq!(counts(&shard).await, first(2));
        for delta in &some {
            add(&shard, delta).await;
        }
        shard.flush(COUNTERS).await.expect("the disk works");
        shard.compact(COUNTERS).await.expect("the files can be compacted");
        assert_eq!(counts(&shard).await, first(3));
        add(&shard, &some[3]).await;
        assert_eq!(counts(&shard).await[&(2, Some(0), 1)], 28);
    })
    .expect("the shard opens");
    with_shard(&setup(&folder).boot(5), async |_, shard| {
        assert_eq!(counts(&shard).await[&(2, Some(0), 1)], 28);
    })
    .expect("the shard opens");
}

/// The coordinator of an addition sends its state back when the next addition's is in a file already; a read repairs with as old a one.
#[test]
fn a_part_that_comes_back_late_is_not_counted_on() {
    let folder = Folder::new("counters-late");
    let added = |timestamp: i64, amount: i64| vec![delta(1, Some(1), timestamp, &[(N, amount), (M, 1)])];
    with_shard(&setup(&folder), async |_, shard| {
        let (ack, first) = shard.count(|_| ID, &added(10, 1), ALWAYS).await.expect("the shard takes it");
        synced(&shard, ack).await;
        add(&shard, &added(11, 20)[0]).await;
        shard.flush(COUNTERS).await.expect("the disk works");
        shard.apply(&first[0]).expect("the shard takes it");
        for (timestamp, amount) in [(12, 300), (13, 4000)] {
            add(&shard, &added(timestamp, amount)[0]).await;
        }
        assert_eq!(counts(&shard).await, [((1, Some(1), 1), 4321), ((1, Some(1), 2), 4)].into());
        let now = shard.count_now(|_| ID, &added(14, 50_000)[0]);
        assert!(
            matches!(now, Ok(TryOutcome::Done(_))),
            "what was counted in this memtable is not read from files: {now:?}"
        );
        assert_eq!(counts(&shard).await[&(1, Some(1), 1)], 54_321);
    })
    .expect("the shard opens");
}

/// Two counters of one row in one batch, of which one was counted since the flush: each mutation finds other parts.
#[test]
fn counters_of_one_row_in_one_batch_are_each_counted_on() {
    let add_to = |column: ColumnId, timestamp: i64, amount: i64| delta(1, Some(1), timestamp, &[(column, amount)]);
    for order in [[N, M], [M, N]] {
        let folder = Folder::new("counters-of-one-row");
        with_shard(&setup(&folder), async |_, shard| {
            add(&shard, &delta(1, Some(1), 10, &[(N, 1000), (M, 5)])).await;
            shard.flush(COUNTERS).await.expect("the disk works");
            add(&shard, &add_to(M, 11, 1)).await;
            let both = order.map(|column| add_to(column, 12, 1));
            let (ack, _) = shard.count(|_| ID, &both, ALWAYS).await.expect("the shard takes it");
            synced(&shard, ack).await;
            assert_eq!(counts(&shard).await, [((1, Some(1), 1), 1001), ((1, Some(1), 2), 7)].into());
        })
        .expect("the shard opens");
    }
}

/// Many tasks that must all read a file before they can add.
#[test]
fn tasks_that_add_to_one_partition_take_turns() {
    let folder = Folder::new("counters-turns");
    with_shard(&setup(&folder), async |runtime: Runtime, shard| {
        let mut expected = 0;
        for round in 0..5 {
            let mut tasks = Vec::new();
            for task in 0..40_i64 {
                let shard = shard.clone();
                expected += task;
                tasks.push(runtime.spawn(Group::Query, async move {
                    let other = delta(9, Some(1), 10 + round, &[(N, 1)]);
                    let deltas = [delta(1, Some(1), 10 + round, &[(N, task)]), other];
                    let (ack, states) = shard.count(|_| ID, &deltas, ALWAYS).await.expect("the shard takes it");
                    assert_eq!(states.len(), 2);
                    synced(&shard, ack).await;
                }));
            }
            // Within calls, between the tasks.
            for _ in 0..20 {
                expected += 1000;
                add(&shard, &delta(1, Some(1), 10 + round, &[(N, 1000)])).await;
            }
            let all = async {
                for task in tasks {
                    task.await;
                }
            };
            runtime.timeout(AT_MOST, all).await.expect("tasks end");
            shard.flush(COUNTERS).await.expect("the disk works");
        }
        let counts = counts(&shard).await;
        assert_eq!((counts[&(1, Some(1), 1)], counts[&(9, Some(1), 1)]), (expected, 200));
    })
    .expect("the shard opens");
}

#[test]
fn deltas_of_one_counter_in_one_batch_add_up() {
    let folder = Folder::new("counters-batch");
    with_shard(&setup(&folder), async |_, shard| {
        let mut deltas: Vec<Vec<u8>> = (0..300).map(|row| delta(1, Some(row % 100), 10, &[(N, 1), (M, 2)])).collect();
        deltas.push(delta(2, None, 10, &[(TOTAL, 5)]));
        let (ack, states) = shard.count(|_| ID, &deltas, ALWAYS).await.expect("the shard takes it");
        assert_eq!(states.len(), 301);
        synced(&shard, ack).await;
        let counts = counts(&shard).await;
        assert_eq!(counts.len(), 201);
        assert!(counts.iter().all(|((_, row, column), count)| match (row, column) {
            (None, _) => *count == 5,
            (Some(_), column) => *count == 3 * i64::from(*column),
        }));
    })
    .expect("the shard opens");
}

#[test]
fn after_a_deletion_a_counter_begins_anew_and_a_deleted_column_stays_so() {
    let folder = Folder::new("counters-deleted");
    let delete_row = |timestamp: i64| {
        let key = key_of(1);
        let mut out = Vec::new();
        let mut mutation = MutationEncoder::begin(&mut out, COUNTERS, token_of(&key), &key);
        mutation.row([&1_i32.to_be_bytes()[..]]).deletion(Deletion { timestamp, local_deletion_time: 1 });
        mutation.finish();
        out
    };
    let delete_column = |timestamp: i64| {
        let key = key_of(1);
        let mut out = Vec::new();
        let mut mutation = MutationEncoder::begin(&mut out, COUNTERS, token_of(&key), &key);
        mutation.row([&1_i32.to_be_bytes()[..]]).tombstone(M, timestamp, 1);
        mutation.finish();
        out
    };
    for (boot, is_flushed) in [(1, false), (2, true)] {
        with_shard(&setup(&folder).boot(boot), async |_, shard| {
            let flush = async || {
                if is_flushed {
                    shard.flush(COUNTERS).await.expect("the disk works");
                }
            };
            let times = if is_flushed { 100 } else { 0 };
            add(&shard, &delta(1, Some(1), times + 10, &[(N, 5), (M, 5)])).await;
            flush().await;
            add(&shard, &delete_row(times + 20)).await;
            assert_eq!(counts(&shard).await, Counts::new());
            flush().await;
            add(&shard, &delta(1, Some(1), times + 30, &[(N, 3), (M, 1)])).await;
            flush().await;
            assert_eq!(counts(&shard).await, [((1, Some(1), 1), 3), ((1, Some(1), 2), 1)].into());
            add(&shard, &delete_column(times + 40)).await;
            flush().await;
            add(&shard, &delta(1, Some(1), times + 50, &[(N, 1), (M, 9)])).await;
            assert_eq!(counts(&shard).await, [((1, Some(1), 1), 4)].into(), "what follows a tombstone is swallowed");
            add(&shard, &delete_row(times + 60)).await;
        })
        .expect("the shard opens");
    }
}

#[test]
fn states_and_deltas_are_not_taken_for_each_other() {
    let folder = Folder::new("counters-refused");
    with_shard(&setup(&folder), async |_, shard| {
        let some = delta(1, Some(1), 10, &[(N, 5)]);
        assert!(shard.apply(&some).is_err(), "a delta would be added again by each replay");
        let (_, states) = shard.count(|_| ID, &[some], ALWAYS).await.expect("the shard takes it");
        assert!(shard.apply(&states[0]).is_ok());
        assert!(shard.count_now(|_| ID, &states[0]).is_err());
        assert!(shard.count(|_| ID, &states, ALWAYS).await.is_err());
        assert_eq!(counts(&shard).await, [((1, Some(1), 1), 5)].into(), "applied twice, counted once");
    })
    .expect("the shard opens");
}

/// A TRUNCATE while a task reads what is there: it adds to nothing.
#[test]
fn what_was_truncated_meanwhile_is_not_counted_on() {
    let folder = Folder::new("counters-truncated");
    with_shard(&setup(&folder), async |runtime: Runtime, shard| {
        for _ in 0..20 {
            add(&shard, &delta(1, Some(1), 10, &[(N, 1000)])).await;
            shard.flush(COUNTERS).await.expect("the disk works");
            let adding = {
                let shard = shard.clone();
                runtime.spawn(Group::Query, async move {
                    shard.count(|_| ID, &[delta(1, Some(1), 11, &[(N, 1)])], ALWAYS).await.expect("the shard takes it");
                })
            };
            let turns = runtime.random_u64() % 4;
            for _ in 0..turns {
                runtime.sleep(Duration::from_micros(50)).await;
            }
            let position = truncate(&shard, COUNTERS);
            runtime.timeout(AT_MOST, adding).await.expect("the task ends");
            let left = counts(&shard).await.get(&(1, Some(1), 1)).copied();
            assert!(matches!(left, None | Some(1)), "{left:?}");
            shard.discard_truncated(COUNTERS, position, "test").await;
            let position = truncate(&shard, COUNTERS);
            shard.discard_truncated(COUNTERS, position, "test").await;
        }
    })
    .expect("the shard opens");
}

/// Between a truncation's position and its end: what is counted waits, and is counted from nothing.
#[test]
fn what_is_about_to_be_truncated_is_not_counted_on() {
    let folder = Folder::new("counters-truncation-open");
    with_shard(&setup(&folder), async |runtime: Runtime, shard| {
        add(&shard, &delta(1, Some(1), 10, &[(N, 1000)])).await;
        let position = shard.begin_truncation(COUNTERS);
        let now = shard.count_now(|_| ID, &delta(1, Some(1), 11, &[(N, 1)]));
        assert!(matches!(now, Ok(TryOutcome::WouldBlock)), "{now:?}");
        let counting = shard.clone();
        let adding = runtime.spawn(Group::Query, async move {
            counting.count(|_| ID, &[delta(1, Some(1), 11, &[(N, 1)])], ALWAYS).await.expect("the shard takes it");
        });
        runtime.sleep(Duration::from_millis(2)).await;
        assert_eq!(counts(&shard).await.get(&(1, Some(1), 1)), Some(&1000));
        shard.truncation_is_durable(COUNTERS, position);
        runtime.timeout(AT_MOST, adding).await.expect("the task ends");
        assert_eq!(counts(&shard).await.get(&(1, Some(1), 1)), Some(&1));
        let now = shard.count_now(|_| ID, &delta(1, Some(1), 12, &[(N, 1)]));
        assert!(matches!(now, Ok(TryOutcome::Done(_))), "{now:?}");
    })
    .expect("the shard opens");
}

/// A change of the cluster while a task waits: what the plan of before has not counted yet, it does not count.
#[test]
fn what_is_overtaken_is_counted_no_further() {
    let folder = Folder::new("counters-overtaken");
    with_shard(&setup(&folder), async |_, shard| {
        let deltas: Vec<Vec<u8>> = (0..200).map(|row| delta(row, Some(1), 10, &[(N, 1)])).collect();
        let counted = shard.count(|_| ID, &deltas, &|| false).await;
        assert!(matches!(counted, Err(CountError::Overtaken { is_begun: false })), "{counted:?}");
        assert_eq!(counts(&shard).await.len(), 0);
        let calls = Cell::new(0);
        let counted = shard.count(|_| ID, &deltas, &|| calls.replace(calls.get() + 1) == 0).await;
        assert!(matches!(counted, Err(CountError::Overtaken { is_begun: true })), "{counted:?}");
        let left = counts(&shard).await.len();
        assert!(left > 0 && left < deltas.len(), "the first of two records: {left}");
    })
    .expect("the shard opens");
}

/// A page for other replicas waits for that: they must not have more of this node's parts than its disk.
#[test]
fn a_counter_is_unsynced_until_its_last_group_is_on_the_disk() {
    let folder = Folder::new("counters-unsynced");
    with_shard(&setup(&folder), async |_, shard| {
        assert_eq!(counters_unsynced(&shard, COUNTERS), None, "nothing was counted");
        for turn in 0..3u32 {
            let counted = shard.count_now(|_| ID, &delta(1, Some(5), turn.into(), &[(N, 1)])).expect("taken");
            let TryOutcome::Done(Ack::When(sequence)) = counted else {
                panic!("it is to be waited for, not {counted:?}")
            };
            assert_eq!(counters_unsynced(&shard, COUNTERS), Some(sequence));
            shard.wait_synced(sequence).await.expect("the disk works");
            assert_eq!(counters_unsynced(&shard, COUNTERS), None);
            let other = shard.apply(&mutation(TABLE, turn, 1, b"value")).expect("taken");
            assert!(matches!(other, Ack::When(_)), "{other:?}");
            assert_eq!(counters_unsynced(&shard, COUNTERS), None, "other tables' records are not waited for");
            assert_eq!(counters_unsynced(&shard, TABLE), None, "that is no table of counters");
            synced(&shard, other).await;
        }
    })
    .expect("it opens");
}

#[test]
fn what_is_acknowledged_before_it_is_synced_is_shown_before() {
    let folders = ["counters-not-logged", "counters-periodic"].map(Folder::new);
    let not_logged = Setup { durable_writes: false, ..setup(&folders[0]) };
    for case in [not_logged, setup(&folders[1]).periodic()] {
        with_shard(&case, async |_, shard| {
            let counted = shard.count_now(|_| ID, &delta(1, Some(5), 1, &[(N, 1)])).expect("taken");
            assert!(counted.done().is_some(), "all there is lies in memory");
            assert_eq!(counters_unsynced(&shard, COUNTERS), None);
        })
        .expect("it opens");
    }
}

/// Two nodes that count with parts of their own have the sum when each has copied what the other had, however often; and count on from there.
#[test]
fn copied_counters_are_counted_once() {
    const OTHER_ID: CounterId = CounterId([8; 16]);
    let folders = ["counters-copied", "counters-copied-other"].map(Folder::new);
    let place = (1, Some(5), 1);
    let copied = async |shard: &Shard| {
        let source = CopySource::open(shard, COUNTERS).await.expect("the disk works");
        let mut scan = source.scan(TokenRange { after: Token::MIN, end: Token::MAX });
        scan.page(1 << 20, PAGE_TIME).await.expect("the disk works").mutations
    };
    let others = with_shard(&setup(&folders[1]), async |_, shard| {
        let delta = delta(1, Some(5), 10, &[(N, 7)]);
        shard.count(|_| OTHER_ID, &[delta], ALWAYS).await.expect("taken");
        copied(&shard).await
    });
    let others = others.expect("the shard opens");
    with_shard(&setup(&folders[0]), async |_, shard| {
        add(&shard, &delta(1, Some(5), 10, &[(N, 50)])).await;
        let own = copied(&shard).await;
        add(&shard, &delta(1, Some(5), 11, &[(N, 3)])).await;
        for round in 0..3 {
            // What this shard has counted since is later than its own older part.
            let mut target = CopyTarget::begin(&shard, COUNTERS, TokenRange::ALL).expect("the table is there");
            for mutation in own.iter().chain(&others) {
                target.put(mutation).await.expect("it belongs there");
            }
            target.finish().await.expect("the disk works");
            assert_eq!(counts(&shard).await, [(place, 60 + round)].into());
            add(&shard, &delta(1, Some(5), 12, &[(N, 1)])).await;
            shard.compact(COUNTERS).await.expect("the disk works");
            assert_eq!(counts(&shard).await, [(place, 61 + round)].into());
        }
    })
    .expect("the shard opens");
}
