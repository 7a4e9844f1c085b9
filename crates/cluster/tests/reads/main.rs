//! Reads over three simulated nodes: through replicas that are silent, gone or refuse, and over replicas that differ.

mod world;

use std::cell::RefCell;
use std::rc::Rc;

use cluster::coordinator::{Failure, ReadCounters};
use runtime::sim::{DiskError, DiskFault};
use topology::ConsistencyLevel;
use world::{Client, Row, Rows, mutation, on_three_nodes, table};

const QUORUM: ConsistencyLevel = ConsistencyLevel::Quorum;
const ALL: ConsistencyLevel = ConsistencyLevel::All;
const ONE: ConsistencyLevel = ConsistencyLevel::One;

fn value(rows: &[Row]) -> &[u8] {
    let [(_, _, value)] = rows else { panic!("there is one row, not {}", rows.len()) };
    value
}

#[test]
fn a_silent_replica_fails_no_read() {
    for victim in [1, 2] {
        on_three_nodes(async move |client| {
            let (three, table) = (client.replication(3), table("99p"));
            client.write(&three, b"k", mutation(b"k", 1, 1, b"v")).await;
            client.to_world(move |world, hosts| world.pause(hosts[victim])).await;
            for _ in 0..20 {
                let rows = client.read((&three, QUORUM), &table, b"k").await;
                assert_eq!(rows.as_deref().map(value), Ok(&b"v"[..]));
            }
            let counters = client.counters();
            assert!(counters.speculative_retries < 5, "the silent one is not preferred for long: {counters:?}");
            assert_eq!(counters.speculative_failed_retries, 0);
        });
    }
}

#[test]
fn some_read_of_a_silent_replica_is_speculated() {
    let seen = Rc::new(RefCell::new(ReadCounters::default()));
    for victim in [1, 2] {
        let seen = Rc::clone(&seen);
        on_three_nodes(async move |client| {
            let (three, table) = (client.replication(3), table("20ms"));
            client.write(&three, b"k", mutation(b"k", 1, 1, b"v")).await;
            client.to_world(move |world, hosts| world.pause(hosts[victim])).await;
            assert_eq!(client.read((&three, QUORUM), &table, b"k").await.as_deref().map(value), Ok(&b"v"[..]));
            seen.borrow_mut().speculative_retries += client.counters().speculative_retries;
        });
    }
    assert_eq!(seen.borrow().speculative_retries, 1, "of the one that is asked first");
}

#[test]
fn without_speculation_a_silent_replica_is_a_time_out_and_one_that_is_gone_is_replaced() {
    let outcomes = Rc::new(RefCell::new(Vec::new()));
    for (victim, is_killed) in [(1, false), (2, false), (1, true), (2, true)] {
        let outcomes = Rc::clone(&outcomes);
        on_three_nodes(async move |client| {
            let (three, table) = (client.replication(3), table("NEVER"));
            client.write(&three, b"k", mutation(b"k", 1, 1, b"v")).await;
            client.to_world(move |world, hosts| world.pause(hosts[victim])).await;
            if is_killed {
                let (killer, runtime) = (client.clone(), client.runtime.clone());
                runtime.clone().spawn(runtime::Group::Query, async move {
                    runtime.sleep(std::time::Duration::from_millis(100)).await;
                    killer.to_world(move |world, hosts| world.kill(hosts[victim])).await;
                });
            }
            let outcome = client.read((&three, QUORUM), &table, b"k").await;
            let counters = client.counters();
            assert_eq!(counters.speculative_retries, 0);
            let is_read = outcome.as_deref().map(value) == Ok(b"v");
            assert!(is_read || outcome == Err(Failure::Timeout { received: 1 }), "{outcome:?}");
            outcomes.borrow_mut().push((is_killed, is_read, counters.replaced_replicas));
        });
    }
    let outcomes = outcomes.borrow();
    let of = |is_killed: bool, is_read: bool, replaced: u64| {
        outcomes.iter().filter(|outcome| **outcome == (is_killed, is_read, replaced)).count()
    };
    assert_eq!((of(false, true, 0), of(false, false, 0)), (1, 1), "{outcomes:?}");
    assert_eq!((of(true, true, 0), of(true, true, 1)), (1, 1), "{outcomes:?}");
}

/// All replicas have a row; the first has another write of it.
async fn differing(client: &Client, length: usize, timestamps: [i64; 2]) {
    let three = client.replication(3);
    client.write(&three, b"k", mutation(b"k", 1, timestamps[0], &vec![1; length])).await;
    client.apply_on(0, mutation(b"k", 1, timestamps[1], &vec![2; length])).await;
}

#[test]
fn replicas_that_differ_are_reconciled_and_repaired() {
    // Below and above the size from which on digests are sent.
    for length in [10, 5_000] {
        on_three_nodes(async move |client| {
            let (three, table) = (client.replication(3), table("NEVER"));
            differing(&client, length, [1, 2]).await;
            assert_eq!(client.read((&three, ALL), &table, b"k").await.as_deref().map(value), Ok(&vec![2; length][..]));
            let counters = client.counters();
            assert_eq!((counters.digest_mismatches, counters.repaired_blocking), (1, 1), "{counters:?}");
            assert_eq!(client.read((&three, ALL), &table, b"k").await.as_deref().map(value), Ok(&vec![2; length][..]));
            assert_eq!(client.counters(), counters, "they are the same by now");
        });
    }
}

#[test]
fn the_same_value_with_another_timestamp_is_repaired() {
    for length in [10, 5_000] {
        on_three_nodes(async move |client| {
            let (three, table) = (client.replication(3), table("NEVER"));
            client.write(&three, b"k", mutation(b"k", 1, 1, &vec![1; length])).await;
            client.apply_on(1, mutation(b"k", 1, 5, &vec![1; length])).await;
            client.read((&three, ALL), &table, b"k").await.expect("all are up");
            assert_eq!(client.counters().repaired_blocking, 1);
            // Older than the later write, which all have by now.
            client.write(&three, b"k", mutation(b"k", 1, 3, b"older")).await;
            for _ in 0..2 {
                let rows = client.read((&three, ALL), &table, b"k").await;
                assert_eq!(rows.as_deref().map(value), Ok(&vec![1; length][..]));
            }
            assert_eq!(client.counters().digest_mismatches, 1);
        });
    }
}

#[test]
fn read_repair_none_writes_nothing() {
    on_three_nodes(async move |client| {
        let three = client.replication(3);
        let mut table = table("NEVER");
        table.options.read_repair = "NONE".to_owned();
        differing(&client, 10, [1, 2]).await;
        for reads in 1..4 {
            assert_eq!(client.read((&three, ALL), &table, b"k").await.as_deref().map(value), Ok(&[2; 10][..]));
            let counters = client.counters();
            assert_eq!((counters.digest_mismatches, counters.repaired_blocking), (reads, 0));
        }
    });
}

#[test]
fn scans_repair_as_reads_do() {
    on_three_nodes(async move |client| {
        let (three, table) = (client.replication(3), table("NEVER"));
        for key in [b"a", b"b", b"c", b"d"] {
            client.write(&three, key, mutation(key, 1, 1, b"old")).await;
        }
        client.apply_on(0, mutation(b"a", 1, 2, b"new")).await;
        client.apply_on(1, mutation(b"b", 2, 2, b"new")).await;
        client.apply_on(2, mutation(b"e", 1, 2, b"new")).await;
        for _ in 0..2 {
            let mut rows = Rows::default();
            client.scan_into((&three, ALL), &table, &mut rows).await.expect("all are up");
            assert_eq!(rows.rows.iter().filter(|(_, _, value)| value == b"new").count(), 3);
            assert_eq!(rows.rows.len(), 6);
            assert_eq!(client.counters().repaired_blocking, 3, "by the first scan");
        }
    });
}

#[test]
fn a_repair_that_a_reader_refuses_is_written_to_another_replica() {
    let repaired = Rc::new(RefCell::new(Vec::new()));
    for victim in [1, 2] {
        let repaired = Rc::clone(&repaired);
        on_three_nodes(async move |client| {
            let (three, table) = (client.replication(3), table("NEVER"));
            differing(&client, 10, [1, 2]).await;
            let medium = DiskFault { call: None, at: None, per_million: 1_000_000, error: DiskError::Medium };
            client.to_world(move |world, hosts| world.set_disk_faults(hosts[victim], vec![medium])).await;
            assert_eq!(client.read((&three, QUORUM), &table, b"k").await.as_deref().map(value), Ok(&[2; 10][..]));
            repaired.borrow_mut().push(client.counters().speculated_repair_writes);
        });
    }
    let mut repaired = repaired.take();
    repaired.sort_unstable();
    assert_eq!(repaired, [0, 1], "one of the two is the reader");
}

/// Rows enough for several pages.
const ROWS: u32 = 400;

#[test]
fn a_partition_is_read_on_at_another_replica_when_its_reader_ends() {
    let replaced = Rc::new(RefCell::new(0));
    for victim in [1, 2] {
        let replaced = Rc::clone(&replaced);
        on_three_nodes(async move |client| {
            let (two, table) = (client.replication(2), table("NEVER"));
            // A key that this node has no copy of.
            let key = (0..1_000_u16).map(u16::to_be_bytes).find(|key| {
                let replicas = two.replicas(topology::token_of(key));
                !replicas.contains(&topology::NodeIndex(0))
            });
            let key = key.expect("there is one");
            for clustering in 0..ROWS {
                client.write(&two, &key, mutation(&key, clustering, 1, b"v")).await;
            }
            let mut rows = Rows::default();
            rows.at = Some((10, Box::new(move |world, hosts| world.kill(hosts[victim]))));
            rows.client = Some(client.clone());
            client.read_into((&two, ONE), &table, &key, &mut rows).await.expect("another goes on");
            let places: Vec<&Vec<u8>> = rows.rows.iter().map(|(_, clustering, _)| clustering).collect();
            assert_eq!(places.len(), ROWS as usize);
            assert!(places.is_sorted_by(|a, b| a < b), "each row once, and in order");
            *replaced.borrow_mut() += client.counters().replaced_replicas;
        });
    }
    assert_eq!(*replaced.borrow(), 1, "of the one that is asked first");
}

#[test]
fn a_scan_goes_on_at_another_replica_when_a_reader_ends() {
    let replaced = Rc::new(RefCell::new(0));
    for victim in [1, 2] {
        let replaced = Rc::clone(&replaced);
        on_three_nodes(async move |client| {
            let (two, table) = (client.replication(2), table("NEVER"));
            let keys: Vec<[u8; 2]> = (0..ROWS as u16).map(u16::to_be_bytes).collect();
            for key in &keys {
                for clustering in 0..3 {
                    client.write(&two, key, mutation(key, clustering, 1, b"v")).await;
                }
            }
            let mut rows = Rows::default();
            rows.at = Some((ROWS as usize, Box::new(move |world, hosts| world.kill(hosts[victim]))));
            rows.client = Some(client.clone());
            client.scan_into((&two, ONE), &table, &mut rows).await.expect("another goes on");
            assert_eq!(rows.rows.len(), ROWS as usize * 3);
            let mut places: Vec<(&Vec<u8>, &Vec<u8>)> = rows.rows.iter().map(|(key, place, _)| (key, place)).collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), ROWS as usize * 3, "each row once");
            *replaced.borrow_mut() += client.counters().replaced_replicas;
        });
    }
    assert!(*replaced.borrow() > 0, "some reader was in the middle of its piece");
}
