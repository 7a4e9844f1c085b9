//! Logged batches that a crash left logged and delivered in part, or not at all, are whole after the next start.

use std::path::Path;

use cql_protocol::Consistency;
use metadata::{Domains, Fact, MetadataLog};
use mutation::MutationEncoder;
use query::{SchemaDomain, TruncationsDomain};
use runtime::{Options, Runtime};
use schema::{ColumnId, Schema, SchemaChange, TableId};
use storage::{BatchHead, Shard, StorageOptions, Truncations};
use topology::{Sharder, token_of};

use crate::harness::Ring;
use crate::levels::{KEYSPACE, TABLE};

const ID: TableId = TableId([0x6f, 0x2b, 0x1c, 0x90, 0, 0, 0x11, 0xf0, 0x80, 0, 0, 0, 0, 0, 0, 1]);

/// `INSERT INTO ks.t (k, c, v) VALUES (key, 0, 'batched')`.
fn insert(key: i32) -> Vec<u8> {
    let key = key.to_be_bytes();
    let mut out = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut out, ID, token_of(&key), &key);
    encoder.row([&0i32.to_be_bytes()[..]]).liveness(1, None).cell(ColumnId(2), 1, None, b"batched");
    encoder.finish();
    out
}

/// Counts one more start in the metadata log; gives its number and the changes of the schema.
pub fn next_boot(dir: &Path) -> (u64, Vec<SchemaChange>) {
    let main = async move |runtime: Runtime| {
        let domains = Domains::none().with::<SchemaDomain>().with::<TruncationsDomain>();
        let opened = MetadataLog::open(&runtime, dir, &domains).await.expect("the metadata log opens");
        let boot = opened.state.local.boot.map_or(0, |number| number + 1);
        let changes = opened.state.cluster.of::<SchemaDomain>().as_changes();
        opened.log.append(&Fact::Boot(boot).into()).await.expect("the log takes a record");
        (boot, changes)
    };
    let mut results = runtime::run(Options::default(), vec![main]).expect("a shard starts");
    results.pop().expect("one shard, one result")
}

/// What a node does that is killed after it logged a batch of `keys` on each shard and delivered those below `delivered`.
fn log_and_crash(dir: &Path, shards: u16, keys: std::ops::Range<i32>, delivered: i32) {
    let (boot, changes) = next_boot(dir);
    let mains: Vec<_> = (0..shards)
        .map(|_| {
            let (keys, changes) = (keys.clone(), changes.clone());
            move |runtime: Runtime| async move {
                let sharder = Sharder::new(runtime.shard_count());
                let options = StorageOptions::new(dir, boot, 32 << 20);
                let schema = Schema::empty().with_all(&changes);
                let shard = Shard::open(&runtime, options, sharder, &schema, &Truncations::new()).await;
                let shard = shard.expect("the shard opens");
                let own = i32::from(runtime.shard().0) * 1000;
                let batch: Vec<Vec<u8>> = keys.clone().map(|key| insert(own + key)).collect();
                let slices: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
                let head = BatchHead { created: runtime.wall_clock_micros(), copy_of: None };
                let (_, sequence) = shard.log_batch(&head, &slices).expect("there is room");
                shard.wait_synced(sequence).await.expect("the disk works");
                for key in (own + keys.start)..(own + delivered) {
                    if sharder.shard_of(token_of(&key.to_be_bytes())) == runtime.shard().0 {
                        shard.apply(&insert(key)).expect("the shard takes its own");
                    }
                }
                shard.drain().await.expect("the disk works");
            }
        })
        .collect();
    runtime::run(Options::default(), mains).expect("the shards start");
}

fn keys_read(ring: &Ring) -> Vec<i32> {
    let node = ring.start_among(0, &[0]);
    let rows = node.client().run("SELECT k FROM ks.t", Consistency::One);
    let key = |row: &Vec<Option<Vec<u8>>>| {
        i32::from_be_bytes(*row[0].as_ref().and_then(|bytes| bytes.first_chunk()).expect("an int has four bytes"))
    };
    let mut keys: Vec<i32> = rows.iter().map(key).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn a_batch_is_whole_after_a_crash_on_as_many_shards_as_before_or_others() {
    for (before, after) in [(2, 2), (2, 1), (1, 3), (3, 2)] {
        let mut ring = Ring::new(&[before]);
        let node = ring.start_among(0, &[0]);
        let mut client = node.client();
        for text in [KEYSPACE, TABLE] {
            client.run(text, Consistency::One);
        }
        drop(node);
        log_and_crash(&ring.data_dir(0), before, 0..20, 7);
        ring.shards[0] = after;
        let expected: Vec<i32> = (0..i32::from(before)).flat_map(|shard| shard * 1000..shard * 1000 + 20).collect();
        assert_eq!(keys_read(&ring), expected, "from {before} shards to {after}");
        ring.shards[0] = before;
        assert_eq!(keys_read(&ring), expected, "and back");
    }
}

#[test]
fn a_batch_stays_away_when_its_table_was_truncated_after_it() {
    let mut ring = Ring::new(&[2]);
    let node = ring.start_among(0, &[0]);
    for text in [KEYSPACE, TABLE] {
        node.client().run(text, Consistency::One);
    }
    drop(node);
    log_and_crash(&ring.data_dir(0), 2, 0..20, 0);
    assert_eq!(unfinished(&ring.data_dir(0), 2), 2, "each shard logged one");
    {
        let node = ring.start_among(0, &[0]);
        let mut client = node.client();
        assert_eq!(client.run("SELECT k FROM ks.t", Consistency::One).len(), 40);
        client.run("TRUNCATE ks.t", Consistency::One);
        client.run("INSERT INTO ks.t (k, c, v) VALUES (5, 0, 'later')", Consistency::One);
    }
    for shards in [2, 1, 3] {
        ring.shards[0] = shards;
        assert_eq!(keys_read(&ring), [5], "on {shards} shards");
    }
}

#[test]
fn a_logged_batch_over_shards_and_nodes_is_written_and_leaves_nothing_unfinished() {
    let mut ring = Ring::new(&[2, 2]);
    {
        let nodes: Vec<_> = (0..2).map(|index| ring.start(index)).collect();
        let mut clients: Vec<_> = nodes.iter().map(|node| node.client()).collect();
        crate::levels::create(&mut clients);
        let inserts: Vec<String> =
            (0..50).map(|key| format!("INSERT INTO ks.t (k, c, v) VALUES ({key}, 0, 'x');")).collect();
        let batch = format!("BEGIN BATCH {} APPLY BATCH", inserts.concat());
        clients[0].run_when_met(&batch, Consistency::All);
        for client in &mut clients {
            assert_eq!(client.run_when_met("SELECT k FROM ks.t", Consistency::All).len(), 50);
        }
        // The notes that the batch is delivered are on the disk when later records of the same logs are.
        for key in 100..150 {
            clients[0].run(&format!("INSERT INTO ks.t (k, c, v) VALUES ({key}, 0, 'later')"), Consistency::All);
        }
    }
    for index in 0..2 {
        assert_eq!(unfinished(&ring.data_dir(index), 2), 0, "node {index} has nothing left to deliver");
    }
    ring.shards = vec![1, 3];
    let nodes: Vec<_> = (0..2).map(|index| ring.start(index)).collect();
    for node in &nodes {
        assert_eq!(node.client().run_when_met("SELECT k FROM ks.t", Consistency::All).len(), 100);
    }
}

#[test]
fn a_logged_batch_that_another_node_splits_between_its_shards_is_logged() {
    const VALUE: &str = "of the batch";
    // All of it goes to one shard here, and to two there.
    let ring = Ring::new(&[1, 2]);
    let nodes: Vec<_> = (0..2).map(|index| ring.start(index)).collect();
    let mut clients: Vec<_> = nodes.iter().map(|node| node.client()).collect();
    crate::levels::create(&mut clients);
    let inserts: Vec<String> =
        (0..50).map(|key| format!("INSERT INTO ks.t (k, c, v) VALUES ({key}, 0, '{VALUE}');")).collect();
    clients[0].run_when_met(&format!("BEGIN BATCH {} APPLY BATCH", inserts.concat()), Consistency::All);
    let folder = ring.data_dir(0).join("commitlog/shard-0");
    let segments = std::fs::read_dir(folder).expect("a folder of segments");
    let logged: usize = segments
        .map(|segment| std::fs::read(segment.expect("an entry").path()).expect("it can be read"))
        .map(|bytes| bytes.windows(VALUE.len()).filter(|window| *window == VALUE.as_bytes()).count())
        .sum();
    assert_eq!(logged, 100, "each row is in the batch's record and in that of the part that is applied here");
}

/// How many batches the logs of a stopped node hold that were not delivered.
fn unfinished(dir: &Path, shards: u16) -> usize {
    let (boot, changes) = next_boot(dir);
    let mains: Vec<_> = (0..shards)
        .map(|_| {
            let changes = changes.clone();
            move |runtime: Runtime| async move {
                let sharder = Sharder::new(runtime.shard_count());
                let schema = Schema::empty().with_all(&changes);
                let options = StorageOptions::new(dir, boot, 32 << 20);
                let shard = Shard::open(&runtime, options, sharder, &schema, &Truncations::new()).await;
                shard.expect("the shard opens").take_unfinished_batches().len()
            }
        })
        .collect();
    runtime::run(Options::default(), mains).expect("the shards start").into_iter().sum()
}
