//! The power goes in the middle of a load, fifty times over: what was acknowledged is there when it comes back.
//!
//! The real binary, on ext4, on a loop device, on a disk that forgets what was not flushed. A kill keeps the kernel's page cache and
//! proves nothing about syncs; here a missing one loses acknowledged writes, schema or truncations within a few cuts.
//!
//! Needs root, /dev/fuse and loop devices. `HELENUS_PLANT` names a planted bug that a binary built for it is started with.

mod directed;
mod disk;
mod faults;
mod machine;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use helenus_tests::{Builder, Random, Server, configurations, pick};
use scylla::client::session::Session;

use self::machine::Machine;
use crate::crash::load::{Promises, check, connect, create, write};

const TASKS: i32 = 24;
const KEYS_PER_TASK: i32 = 40;
/// Cuts before a new disk is put in: the log of one only grows.
const CUTS_PER_DISK: usize = 5;
/// In `periodic`, what is acknowledged this long before a cut must be there: the period, and some time for a busy machine to sync.
const PERIOD_MS: u64 = 100;
const PERIODIC_LOSS_MAX: Duration = Duration::from_millis(PERIOD_MS + 900);

/// How many cuts; `HELENUS_CUTS` says otherwise.
fn cuts() -> usize {
    let given = std::env::var("HELENUS_CUTS").ok().and_then(|text| text.parse().ok());
    given.unwrap_or(pick(50, 1000))
}

fn tokio() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio starts")
}

/// How the server is started: small segments and few of them, so that they are made, filled, written to files and left behind all
/// the time.
fn builder(machine: &Machine) -> Builder {
    builder_with(machine, "")
}

/// The same with more lines in its configuration file.
fn builder_with(machine: &Machine, lines: &str) -> Builder {
    builder_of(machine, &format!("commitlog_total_space: 2MiB\n{lines}"))
}

fn builder_of(machine: &Machine, lines: &str) -> Builder {
    let lines = format!("commitlog_segment_size: 1MiB\n{lines}");
    let builder = Builder::new("uring", 1).with_data_in(machine.data()).configured(&lines);
    let builder = builder.with(&["--memory", "1G"]);
    match std::env::var("HELENUS_PLANT") {
        Ok(plant) => builder.with(&["--plant", &plant]),
        Err(_) => builder,
    }
}

/// A load that goes on until it is ended.
struct Load {
    over: Arc<AtomicBool>,
    tasks: Vec<tokio::task::JoinHandle<Promises>>,
}

impl Load {
    fn start(session: &Arc<Session>, promises: &Promises, tasks: i32) -> Load {
        let over = Arc::new(AtomicBool::new(false));
        let tasks = (0..tasks)
            .map(|task| {
                let first = task * KEYS_PER_TASK;
                let own = promises.range(first..first + KEYS_PER_TASK).map(|(key, promise)| (*key, *promise)).collect();
                tokio::spawn(write(Arc::clone(session), own, first, KEYS_PER_TASK, Arc::clone(&over)))
            })
            .collect();
        Load { over, tasks }
    }

    /// Ends it when the writes under way are answered, or failed. Gives the promises of the keys that it wrote.
    async fn end(self) -> Promises {
        self.over.store(true, Ordering::Relaxed);
        let mut promises = Promises::new();
        for task in self.tasks {
            promises.extend(task.await.expect("a task does not panic"));
        }
        promises
    }
}

/// What a disk's data must be after a cut.
#[derive(Default)]
struct Expected {
    promises: Promises,
    /// Tables whose CREATE was acknowledged.
    tables: usize,
    /// The numbers in the table that each round truncates, if that and they were acknowledged.
    emptied: BTreeSet<i32>,
}

impl Expected {
    /// Schema, truncation and rows, after the power came back.
    async fn check(&mut self, session: &Session, cut: usize) {
        // A new disk.
        if self.tables == 0 {
            return;
        }
        for table in 0..self.tables {
            let text = format!("SELECT key FROM crashed.made_{table}");
            session.query_unpaged(text, ()).await.unwrap_or_else(|error| panic!("cut {cut}: a table is lost: {error}"));
        }
        let rows = session.query_unpaged("SELECT key FROM crashed.emptied", ()).await.expect("rows");
        let rows = rows.into_rows_result().expect("rows");
        let found: BTreeSet<i32> = rows.rows::<(i32,)>().expect("typed").map(|row| row.expect("a row").0).collect();
        assert_eq!(found, self.emptied, "cut {cut}: the truncated table");
        let found = check(session, &self.promises, cut).await;
        // What was read after the cut must not vanish either.
        for (key, version) in found {
            self.promises.get_mut(&key).expect("the check knows it").acknowledged = version;
        }
    }

    /// Acknowledged changes of the schema, and a truncation between rows.
    async fn change(&mut self, session: &Session, cut: usize) {
        if self.tables == 0 {
            create(session).await;
            run(session, "CREATE TABLE crashed.emptied (key int PRIMARY KEY)").await;
        }
        let number = i32::try_from(cut * 100 + self.tables).expect("few cuts") * 10;
        for (from, to) in [(0, 5), (5, 8)] {
            for key in number + from..number + to {
                run(session, &format!("INSERT INTO crashed.emptied (key) VALUES ({key})")).await;
            }
            if from == 0 {
                run(session, "TRUNCATE crashed.emptied").await;
            }
        }
        self.emptied = (number + 5..number + 8).collect();
        run(session, &format!("CREATE TABLE crashed.made_{} (key int PRIMARY KEY)", self.tables)).await;
        self.tables += 1;
    }
}

async fn run(session: &Session, text: &str) {
    session.query_unpaged(text, ()).await.unwrap_or_else(|error| panic!("{text}: {error}"));
}

/// How long a round loads before the cut.
enum Length {
    /// Under a mode that acknowledges after the sync: any time.
    Synced(Duration),
    /// Under `periodic`: what is old enough at the cut must be there. The changes of schema are synced in every mode.
    Periodic,
}

/// A round: everything expected is there, then changes and a load that the cut ends. Gives how many writes were acknowledged.
async fn round(
    machine: &Machine,
    server: Server,
    expected: &mut Expected,
    random: &mut Random,
    length: Length,
    cut: usize,
) -> i64 {
    let session = connect(&server).await;
    expected.check(&session, cut).await;
    expected.change(&session, cut).await;
    let before = acknowledged(&expected.promises);
    let mut old = None;
    let load = Load::start(&session, &expected.promises, TASKS);
    let load = match length {
        Length::Synced(time) => {
            tokio::time::sleep(time).await;
            load
        }
        Length::Periodic => {
            tokio::time::sleep(Duration::from_millis(100)).await;
            expected.promises.extend(load.end().await);
            old = Some(expected.promises.clone());
            // Nothing else may flush the disk's cache, least of all a segment that is made.
            tokio::time::sleep(PERIODIC_LOSS_MAX).await;
            let load = Load::start(&session, &expected.promises, 1);
            tokio::time::sleep(Duration::from_millis(30)).await;
            load
        }
    };
    machine.cut(random);
    server.kill_without_judging();
    expected.promises.extend(load.end().await);
    let count = acknowledged(&expected.promises) - before;
    if let Some(old) = old {
        for (key, promise) in &mut expected.promises {
            promise.acknowledged = old.get(key).map_or(0, |old| old.acknowledged);
        }
    }
    count
}

/// A short load that a kill ends, with everything in flight that there can be.
async fn killed_round(server: Server, expected: &mut Expected, cut: usize) {
    let session = connect(&server).await;
    expected.check(&session, cut).await;
    expected.change(&session, cut).await;
    let load = Load::start(&session, &expected.promises, TASKS);
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.kill_without_judging();
    expected.promises.extend(load.end().await);
}

fn acknowledged(promises: &Promises) -> i64 {
    promises.values().map(|promise| promise.acknowledged).sum()
}

/// How many SSTables of the load's table are in the data folder.
fn files_of(data: &Path) -> usize {
    // A new disk has no folder for the keyspace yet.
    let Ok(tables) = std::fs::read_dir(data.join("data/crashed")) else { return 0 };
    let kept = tables.flatten().filter(|table| table.file_name().to_string_lossy().starts_with("kept-"));
    let files = kept.flat_map(|table| std::fs::read_dir(table.path()).expect("it can be read").flatten());
    files.filter(|file| file.file_name().to_string_lossy().ends_with("-Data.db")).count()
}

/// The last look at a disk.
fn look(tokio: &tokio::runtime::Runtime, builder: &Builder, expected: &mut Expected, cut: usize) {
    let server = builder.start();
    tokio.block_on(async { expected.check(&*connect(&server).await, cut).await });
    server.stop();
}

#[test]
fn what_was_acknowledged_survives_power_cuts() {
    let cuts = cuts();
    let mut random = Random::from_environment(1);
    let tokio = tokio();
    let mut machine = Machine::new();
    let builder = builder(&machine);
    // Where nothing is put aside, what TRUNCATE takes away has been in the log only.
    let builders = [builder_with(&machine, "auto_snapshot: false\n"), builder.clone()];
    // A flush syncs: it would hide that nothing else did.
    let unflushed = builder_of(&machine, "commitlog_total_space: 1GiB\n");
    let mut expected = Expected::default();
    let (mut writes, mut flushed) = (0, 0);
    machine.start();
    for cut in 0..cuts {
        let began = Instant::now();
        let (reactor, shards) = *random.choose(&configurations());
        let mode =
            if cut % CUTS_PER_DISK == CUTS_PER_DISK - 2 { "periodic" } else { *random.choose(&["group", "batch"]) };
        let (starting, length) = match mode {
            "periodic" => {
                let period = format!("{PERIOD_MS}ms");
                let given = ["--commitlog-sync", mode, "--commitlog-sync-period", &period];
                (unflushed.clone().dealt_to(reactor, shards).with(&given), Length::Periodic)
            }
            _ => (
                builders[cut % 2].clone().dealt_to(reactor, shards).with(&["--commitlog-sync", mode]),
                Length::Synced(Duration::from_millis(20 + random.below(400) as u64)),
            ),
        };
        let mut server = starting.start();
        if mode != "periodic" && random.below(3) == 0 {
            // A kill first: what the next start reads may be in the disk's cache only. Then a cut with nothing written in between.
            tokio.block_on(killed_round(server, &mut expected, cut));
            server = starting.start();
            tokio.block_on(async { expected.check(&*connect(&server).await, cut).await });
            machine.cut(&mut random);
            server.kill_without_judging();
            machine.restart();
            server = starting.start();
        }
        let ready = server.ready_after.as_millis();
        let count = tokio.block_on(round(&machine, server, &mut expected, &mut random, length, cut));
        writes += count;
        machine.restart();
        println!(
            "cut {cut}: {reactor}, {shards} shards, {mode}, ready after {ready} ms, {count} writes, {} ms in all",
            began.elapsed().as_millis()
        );
        if cut % CUTS_PER_DISK == CUTS_PER_DISK - 1 {
            look(&tokio, &builder, &mut expected, cut + 1);
            flushed += files_of(&machine.data());
            machine.unmount();
            machine.replace_disk();
            machine.start();
            expected = Expected::default();
        }
    }
    look(&tokio, &builder, &mut expected, cuts);
    flushed += files_of(&machine.data());
    machine.unmount();
    let counts = machine.disk.counts();
    println!("{cuts} cuts, {writes} acknowledged writes, all there, {flushed} files; {counts:?}");
    // Compactions make one of several, and a slow machine writes less between two cuts.
    assert!(2 * flushed >= cuts / CUTS_PER_DISK, "the load was too small for flushes");
    assert!(writes > 50 * cuts as i64, "the load was too small to prove anything");
    assert!(counts.lost > 0 && counts.lost < counts.unflushed, "the cuts must meet unflushed writes: {counts:?}");
}
