//! One cut at the moment at which most could be lost, where the load of many rounds finds the same by and by: what shows quickly that a planted
//! bug is noticed.

use std::time::Duration;

use scylla::client::session::Session;

use super::faults::load_for;
use super::machine::Machine;
use super::{Load, PERIOD_MS, PERIODIC_LOSS_MAX, TASKS, builder_of, run, tokio};
use crate::crash::load::{Promises, check, connect, create};

/// Long enough for every task to write some rows.
const A_WHILE: Duration = Duration::from_millis(100);
/// Long beside what a server that does not wait for it needs for an answer.
const FLUSH_TIME: Duration = Duration::from_millis(20);
/// The rows that TRUNCATE takes away are in the log only, and nothing is flushed, which would sync what nothing else did. Little of the small disk is kept
/// in reserve.
const UNFLUSHED: &str = "commitlog_total_space: 1GiB\nauto_snapshot: false\nmin_free_space_per_drive: 1MiB\n";

/// How many rows the table that is emptied has.
async fn emptied(session: &Session) -> usize {
    let rows = session.query_unpaged("SELECT key FROM crashed.emptied", ()).await.expect("the table is there");
    rows.into_rows_result().expect("rows").rows_num()
}

async fn fill_again(session: &Session, rows: i32) {
    for key in 0..rows {
        run(session, &format!("INSERT INTO crashed.emptied (key) VALUES ({key})")).await;
    }
}

/// A schema change and a truncation are the last that is answered before a cut; then, before the next one, some rows of the truncated table
/// and a load.
#[test]
fn the_last_answers_survive_a_cut() {
    let mut machine = Machine::small();
    machine.start();
    let tokio = tokio();
    let builder = builder_of(&machine, UNFLUSHED).dealt_to("uring", 2);
    let server = builder.start();
    tokio.block_on(async {
        let session = connect(&server).await;
        create(&session).await;
        run(&session, "CREATE TABLE crashed.emptied (key int PRIMARY KEY)").await;
        fill_again(&session, 30).await;
        run(&session, "TRUNCATE crashed.emptied").await;
        run(&session, "CREATE TABLE crashed.made (key int PRIMARY KEY)").await;
    });
    machine.cut_losing_all();
    server.kill_without_judging();
    machine.restart();

    let server = builder.start();
    let load = tokio.block_on(async {
        let session = connect(&server).await;
        run(&session, "SELECT key FROM crashed.made").await;
        assert_eq!(emptied(&session).await, 0, "what was truncated");
        // Fewer than were truncated: no count may take them for those.
        fill_again(&session, 5).await;
        // Answers that came before a flush are many when the power goes.
        machine.disk.slow_down(FLUSH_TIME);
        let load = Load::start(&session, &Promises::new(), TASKS);
        tokio::time::sleep(3 * A_WHILE).await;
        machine.cut_losing_all();
        load
    });
    server.kill_without_judging();
    let promises = tokio.block_on(load.end());
    machine.restart();

    let server = builder.start();
    tokio.block_on(async {
        let session = connect(&server).await;
        assert_eq!(emptied(&session).await, 5, "what was written after the truncation");
        check(&session, &promises, 1).await;
    });
    server.stop();
    machine.unmount();
}

/// In `periodic`, what is older than a period survives a cut.
#[test]
fn a_period_later_all_survives_a_cut() {
    let mut machine = Machine::small();
    machine.start();
    let tokio = tokio();
    let period = format!("{PERIOD_MS}ms");
    let builder = builder_of(&machine, UNFLUSHED).dealt_to("uring", 2);
    let builder = builder.with(&["--commitlog-sync", "periodic", "--commitlog-sync-period", &period]);
    let server = builder.start();
    let promises = tokio.block_on(async {
        let session = connect(&server).await;
        create(&session).await;
        let promises = load_for(&session, &Promises::new(), A_WHILE).await;
        tokio::time::sleep(PERIODIC_LOSS_MAX).await;
        promises
    });
    machine.cut_losing_all();
    server.kill_without_judging();
    machine.restart();
    let server = builder.start();
    tokio.block_on(async { check(&*connect(&server).await, &promises, 1).await });
    server.stop();
    machine.unmount();
}

/// A write that is acknowledged where no segment can be made, since there is no more room than is kept in reserve, survives a cut: none is acknowledged.
#[test]
fn what_a_full_disk_acknowledges_survives_a_cut() {
    let mut machine = Machine::small();
    machine.start();
    let tokio = tokio();
    let full = UNFLUSHED.replace("1MiB", "64MiB");
    let server = builder_of(&machine, &full).dealt_to("uring", 2).start();
    let load = tokio.block_on(async {
        let session = connect(&server).await;
        create(&session).await;
        let load = Load::start(&session, &Promises::new(), TASKS);
        tokio::time::sleep(3 * A_WHILE).await;
        machine.cut_losing_all();
        load
    });
    let said = server.kill_without_judging();
    assert!(said.iter().any(|line| line.contains("refusing writes")), "the disk counts as full");
    let promises = tokio.block_on(load.end());
    assert!(!promises.is_empty(), "writes were tried");
    machine.restart();
    let server = builder_of(&machine, UNFLUSHED).dealt_to("uring", 2).start();
    tokio.block_on(async { check(&*connect(&server).await, &promises, 1).await });
    server.stop();
    machine.unmount();
}
