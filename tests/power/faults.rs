//! Faults of a disk that has power: it fails, or it is full.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use helenus_tests::Random;
use scylla::client::session::Session;

use super::machine::Machine;
use super::{Load, TASKS, acknowledged, builder, builder_with, files_of, tokio};
use crate::crash::load::{Promises, check, connect, create};

/// Schema changes for which there is room on a full disk: less than as many blocks as the metadata log writes ahead.
const MADE_MAX: usize = 32;
/// How long a state may take to come about.
const PATIENCE: Duration = Duration::from_secs(60);

pub async fn load_for(session: &Arc<Session>, promises: &Promises, time: Duration) -> Promises {
    let load = Load::start(session, promises, TASKS);
    tokio::time::sleep(time).await;
    load.end().await
}

/// The disk fails under a load: from then on no write is acknowledged, each gets an error and none hangs, reads go on; and what was
/// acknowledged before is there when the disk works again.
fn a_failed_disk_ends_acknowledgements(reactor: &str) {
    let mut machine = Machine::new();
    machine.start();
    let tokio = tokio();
    let builder = builder(&machine).dealt_to(reactor, 2);
    let server = builder.start();
    let promises = tokio.block_on(async {
        let session = connect(&server).await;
        create(&session).await;
        let promises = load_for(&session, &Promises::new(), Duration::from_millis(200)).await;
        let load = Load::start(&session, &promises, TASKS);
        tokio::time::sleep(Duration::from_millis(100)).await;
        machine.disk.fail();
        // Each shard learns of it with its next write. What was on its way to the disk before may still be acknowledged.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let promises = load.end().await;
        let after = tokio::time::timeout(PATIENCE, load_for(&session, &promises, Duration::from_millis(200)));
        let after = after.await.expect("a write to a failed disk is answered");
        assert_eq!(acknowledged(&after), acknowledged(&promises), "{reactor}: acknowledged by a failed disk");
        let attempts = |promises: &Promises| promises.values().map(|promise| promise.sent).sum::<i64>();
        assert!(attempts(&after) > attempts(&promises), "{reactor}: writes were tried");
        // The metadata log is on the same disk; once it has failed, a truncation is refused before it empties anything.
        for text in ["CREATE TABLE crashed.second (key int PRIMARY KEY)", "TRUNCATE crashed.kept"] {
            assert!(session.query_unpaged(text, ()).await.is_err(), "{reactor}: {text}");
        }
        check(&session, &after, 0).await;
        after
    });
    machine.cut(&mut Random::new(1));
    let said = server.kill_without_judging();
    assert!(
        said.iter().any(|line| line.contains("refuses writes until the process restarts")),
        "{reactor}: the failure is named in the log"
    );
    machine.restart();
    let server = builder.start();
    tokio.block_on(async { check(&*connect(&server).await, &promises, 1).await });
    server.stop();
    machine.unmount();
}

#[test]
fn a_failed_disk_ends_acknowledgements_on_uring() {
    a_failed_disk_ends_acknowledgements("uring");
}

#[test]
fn a_failed_disk_ends_acknowledgements_on_epoll() {
    a_failed_disk_ends_acknowledgements("epoll");
}

/// The file system is full: writes and schema changes are refused, and taken again when there is room; what gives room back is taken
/// at once. What was acknowledged before, in between and after survives the next cut.
#[test]
fn a_full_disk_refuses_and_recovers() {
    let mut machine = Machine::new();
    machine.start();
    let tokio = tokio();
    // A snapshot before TRUNCATE needs room for what was in memory.
    let builder = builder_with(&machine, "auto_snapshot: false\n");
    let server = builder.start();
    let ballast = machine.data().join("ballast");
    let promises = tokio.block_on(async {
        let session = connect(&server).await;
        create(&session).await;
        for text in [
            "CREATE TABLE crashed.emptied (key int PRIMARY KEY)",
            "INSERT INTO crashed.emptied (key) VALUES (1)",
            "CREATE TABLE crashed.dropped (key int PRIMARY KEY)",
        ] {
            session.query_unpaged(text, ()).await.expect("there is room");
        }
        let mut promises = load_for(&session, &Promises::new(), Duration::from_millis(100)).await;
        fill(&ballast);
        until("a full disk refuses writes", &session, &mut promises, |count| count == 0).await;
        let mut made = 0;
        let create_more = |number| format!("CREATE TABLE crashed.more_{number} (key int PRIMARY KEY)");
        while session.query_unpaged(create_more(made), ()).await.is_ok() {
            made += 1;
            assert!(made < MADE_MAX, "a schema change without room");
        }
        for text in ["TRUNCATE crashed.emptied", "DROP TABLE crashed.dropped"] {
            session.query_unpaged(text, ()).await.expect("what gives room back needs none");
        }
        check(&session, &promises, 0).await;
        std::fs::remove_file(&ballast).expect("the ballast is there");
        until("there is room, and writes are taken", &session, &mut promises, |count| count > 100).await;
        let made = session.query_unpaged("CREATE TABLE crashed.second (key int PRIMARY KEY)", ()).await;
        made.expect("there is room, and schema changes are taken");
        promises
    });
    machine.cut(&mut Random::new(1));
    let said = server.kill_without_judging();
    assert!(said.iter().any(|line| line.contains("refusing writes")), "the log says so");
    machine.restart();
    let server = builder.start();
    tokio.block_on(async {
        let session = connect(&server).await;
        check(&session, &promises, 1).await;
        session.query_unpaged("SELECT key FROM crashed.second", ()).await.expect("the second table is there");
        let rows = session.query_unpaged("SELECT key FROM crashed.emptied", ()).await.expect("the table is there");
        assert_eq!(rows.into_rows_result().expect("there are rows").rows_num(), 0, "the emptied table stays empty");
        let dropped = session.query_unpaged("SELECT key FROM crashed.dropped", ()).await;
        assert!(dropped.is_err(), "the dropped table stays away");
    });
    server.stop();
    machine.unmount();
}

/// What is kept of the nearly full disk, MiB.
const RESERVE: u64 = 16;

/// Compactions stop when the disk has less than three reserves left, writes are refused below two, reads go on, and each resumes when
/// its room is there again.
#[test]
fn a_nearly_full_disk_keeps_its_reserve() {
    let mut machine = Machine::new();
    machine.start();
    let tokio = tokio();
    let builder = builder_with(&machine, &format!("min_free_space_per_drive: {RESERVE}MiB\n"));
    let server = builder.start();
    let ballast = machine.data().join("ballast");
    let files = || files_of(&machine.data());
    let promises = tokio.block_on(async {
        let session = connect(&server).await;
        create(&session).await;
        let mut promises = load_for(&session, &Promises::new(), Duration::from_millis(100)).await;
        fill(&ballast);
        leave(&ballast, RESERVE * 3 / 2);
        until("writes are refused before the disk is full", &session, &mut promises, |count| count == 0).await;
        check(&session, &promises, 0).await;
        leave(&ballast, RESERVE);
        until("writes are taken again", &session, &mut promises, |count| count > 100).await;
        // Each flush leaves a file, and with four a table is compacted where there is room.
        until("files gather", &session, &mut promises, |_| files() > 8).await;
        std::fs::remove_file(&ballast).expect("the ballast is there");
        until("they are compacted", &session, &mut promises, |_| files() < 8).await;
        promises
    });
    machine.cut(&mut Random::new(1));
    let said = server.kill_without_judging();
    for words in ["refusing writes", "compaction failed", "disk nearly full"] {
        assert!(said.iter().any(|line| line.contains(words)), "the log says '{words}'");
    }
    machine.restart();
    let server = builder.start();
    tokio.block_on(async { check(&*connect(&server).await, &promises, 1).await });
    server.stop();
    machine.unmount();
}

/// Makes the ballast smaller by so many MiB.
fn leave(ballast: &std::path::Path, mebibytes: u64) {
    let file = std::fs::File::options().write(true).open(ballast).expect("the ballast is there");
    let length = file.metadata().expect("it has a length").len();
    file.set_len(length - (mebibytes << 20)).and_then(|()| file.sync_all()).expect("it can be cut");
}

/// Loads until the count of acknowledged writes of a while is as wished.
async fn until(what: &str, session: &Arc<Session>, promises: &mut Promises, is_so: impl Fn(i64) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let before = acknowledged(promises);
        *promises = load_for(session, promises, Duration::from_millis(200)).await;
        if is_so(acknowledged(promises) - before) {
            return;
        }
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
    }
}

/// Takes all room that is left.
fn fill(path: &std::path::Path) {
    let mut file = std::fs::File::create(path).expect("a file can be made");
    let mut piece = 1 << 20;
    while piece >= 4096 {
        if file.write_all(&vec![1; piece]).and_then(|()| file.sync_data()).is_err() {
            piece /= 2;
        }
    }
}
