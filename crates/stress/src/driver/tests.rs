//! Whole command lines against a server that answers late and fails as it is told: what was planted must be found in the report.
//!
//! The machine's speed judges nothing: times are held from below only, by what was planted, and against other figures of the same run.

mod server;

use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::session::drive;
use super::settings::Settings;
use crate::StressError;
use server::{Habits, Server};

/// Runs command lines, one after another, against one server. Gives the first failure, the last report and the server.
fn run(habits: Habits, lines: &[&str]) -> (Result<(), StressError>, Value, Server) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio starts");
    let folder = tempfile();
    let outcome = runtime.block_on(async {
        let server = Server::start(habits).await;
        let mut outcome = Ok(());
        for line in lines {
            let node = format!("-node {} --json={folder} -log no-settings level=minimal", server.address);
            let words: Vec<String> =
                line.split_whitespace().chain(node.split_whitespace()).map(str::to_owned).collect();
            outcome = drive(&Settings::parse(&words).expect("is a command line"), &words[0]).await;
            if outcome.is_err() {
                break;
            }
        }
        (outcome, server)
    });
    let json =
        std::fs::read_to_string(&folder).map_or(Value::Null, |text| serde_json::from_str(&text).expect("is JSON"));
    let _ = std::fs::remove_file(&folder);
    (outcome.0, json, outcome.1)
}

/// A file's name that no other test has.
fn tempfile() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("helenus-stress-{}-{number}.json", std::process::id())).display().to_string()
}

fn figure(json: &Value, path: &str) -> f64 {
    json.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {json:#}"))
}

#[test]
fn rows_are_written_and_read_back_and_mixed() {
    let pop = "-pop dist=gaussian(1..1000,500,100)";
    let (outcome, json, server) = run(
        Habits::default(),
        &[
            "write no-warmup n=1000 -rate threads=20 -schema keyspace=ksx replication(strategy=NetworkTopologyStrategy, datacenter1=1)",
            &format!("read n=2000 -rate threads=20 -schema keyspace=ksx {pop}"),
            &format!("mixed ratio(write=2,read=8) no-warmup n=3000 -rate threads=50 -schema keyspace=ksx {pop}"),
        ],
    );
    outcome.unwrap();
    assert_eq!(server.row_count(), 1000);
    // The warm-up is a quarter.
    assert_eq!(server.operation_count(), 1000 + 2000 + 500 + 3000);
    assert_eq!(json["total"]["operations"], 3000);
    assert_eq!((&json["total"]["rows"], &json["total"]["errors"]), (&Value::from(3000), &Value::from(0)));
    let writes = figure(&json, "/kinds/WRITE/operations");
    assert!((300.0..900.0).contains(&writes), "{json:#}");
    let made = server.statements();
    assert!(made[0].starts_with("CREATE KEYSPACE IF NOT EXISTS \"ksx\" WITH replication"), "{made:?}");
    assert_eq!(made.len(), 2, "only a write makes tables: {made:?}");
}

#[test]
fn a_run_lasts_as_long_as_it_was_told_to() {
    let (outcome, json, _) = run(Habits::default(), &["write no-warmup duration=1s -rate threads=4"]);
    outcome.unwrap();
    assert!(figure(&json, "/seconds") >= 1.0 && figure(&json, "/total/operations") > 0.0, "{json:#}");
    let (outcome, json, server) =
        run(Habits::default(), &["write no-warmup n=50 -rate threads=4 -pop seq=1..20 no-wrap"]);
    outcome.unwrap();
    assert_eq!((server.row_count(), figure(&json, "/total/operations")), (20, 20.0));
    let (outcome, ..) = run(Habits::default(), &["write n=0"]);
    outcome.unwrap();
}

#[test]
fn a_search_tries_more_and_more() {
    let line = "read no-warmup n=200 -rate threads>=2 threads<=8 -errors ignore";
    let (outcome, json, _) = run(Habits::default(), &["write no-warmup n=200 -rate threads=9", line]);
    outcome.unwrap();
    let threads: Vec<&Value> = json.as_array().unwrap().iter().map(|report| &report["threads"]).collect();
    assert_eq!(threads, [2, 4, 8]);
}

#[test]
fn a_planted_delay_is_found() {
    let habits = Habits { delay: Duration::from_millis(60), ..Habits::default() };
    let (outcome, json, _) = run(habits, &["write no-warmup n=400 -rate threads=40"]);
    outcome.unwrap();
    assert!(figure(&json, "/total/service_time_ms/p50") >= 59.9, "{json:#}");
    // Each task does no more than one operation in that time.
    assert!(figure(&json, "/total/operations_per_second") <= 40.0 / 0.06, "{json:#}");
    assert_eq!(json["total"]["response_time_ms"], Value::Null);
}

/// An operation's response time is its waiting and its service.
fn assert_times_add_up(json: &Value) {
    let mean = |time: &str| figure(json, &format!("/total/{time}_time_ms/mean"));
    let (response, wait, service) = (mean("response"), mean("wait"), mean("service"));
    assert!((response - wait - service).abs() <= response / 100.0, "{json:#}");
}

/// The rate was kept, or the run says that it was not: which of them is up to the machine.
fn assert_kept_or_late(outcome: Result<(), StressError>, json: &Value) {
    match outcome {
        Ok(()) => assert_eq!(json["rate_kept"], true, "{json:#}"),
        Err(StressError::Late { .. }) => assert_eq!(json["rate_kept"], false, "{json:#}"),
        Err(error) => panic!("{error}"),
    }
}

/// Of 1200 operations in three seconds, the 400th arrives after 997.5 ms at the earliest, and up to seven later ones before it. From the 408th on,
/// which is due after 1020 ms, none is answered before the 400 ms of the stall are over: it waits for 377.5 ms, and each one after it for
/// 2.5 ms less, however fast the machine is. In service time only the eight that are under way see the stall.
#[test]
fn a_planted_stall_is_in_the_response_time_of_all_that_it_kept_waiting_and_in_the_service_time_of_few() {
    let habits = Habits { stall: Some((400, Duration::from_millis(400))), ..Habits::default() };
    let (outcome, json, server) = run(habits, &["write no-warmup n=1200 -rate threads=8 fixed=400/s"]);
    assert_kept_or_late(outcome, &json);
    assert_eq!(server.operation_count(), 1200);
    assert_eq!(json["rate"], Value::from(400));
    // Sixty operations wait longer than p95, twelve longer than p99.
    let p95 = figure(&json, "/total/response_time_ms/p95");
    let p99 = figure(&json, "/total/response_time_ms/p99");
    assert!(p95 >= 225.0 && p99 >= 340.0, "{json:#}");
    assert!(figure(&json, "/total/service_time_ms/max") >= 399.0, "{json:#}");
    // Eight of them may have begun before.
    assert!(figure(&json, "/total/wait_time_ms/p95") >= 200.0, "{json:#}");
    assert!(figure(&json, "/total/wait_time_ms/mean") >= 20.0, "{json:#}");
    assert_times_add_up(&json);
    assert!((1..=8).contains(&server.stalled_count()), "{}", server.stalled_count());
}

/// Of 400 operations a second the first twenty or so are done when a stall begins that outlasts the run by half a second: eight are under way then,
/// and the others never begin.
#[test]
fn what_was_due_and_never_began_is_in_the_response_times() {
    // A machine that has not begun twenty when the run ends, or ends it half a second late, is given longer.
    let stalls = |seconds: u64| {
        let habits = Habits { stall: Some((20, Duration::from_millis(seconds * 1000 + 500))), ..Habits::default() };
        let line = format!("write no-warmup duration={seconds}s -rate threads=8 fixed=400/s");
        let (outcome, json, server) = run(habits, &[&line]);
        ((20..28).contains(&server.operation_count()) && figure(&json, "/total/not_begun") > 100.0).then_some((
            outcome,
            json,
            server,
            seconds as f64,
        ))
    };
    let (outcome, json, server, seconds) =
        [1, 5, 25].into_iter().find_map(stalls).expect("eight are under way, and no more begin");
    let Err(StressError::Late { asked: 400, reason, .. }) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("had not started when the last was due"), "{reason}");
    let (done, not_begun) = (figure(&json, "/total/operations"), figure(&json, "/total/not_begun"));
    assert_eq!(done, server.operation_count() as f64, "{json:#}");
    assert!(done + not_begun <= 400.0 * seconds, "{json:#}");
    // More than half never began: the last of them was due half a second before the stall was over.
    assert!(figure(&json, "/total/response_time_ms/p50") > 540.0, "{json:#}");
    assert!(figure(&json, "/total/wait_time_ms/p50") > 540.0, "{json:#}");
    // The first of them was due after a fifteenth of a second.
    assert!(figure(&json, "/total/wait_time_ms/max") > 400.0 + 1000.0 * seconds, "{json:#}");
}

#[test]
fn a_closed_loop_hides_the_same_stall() {
    let habits = Habits { stall: Some((400, Duration::from_millis(400))), ..Habits::default() };
    let (outcome, json, server) = run(habits, &["write no-warmup n=1200 -rate threads=8 throttle=800/s"]);
    outcome.unwrap();
    assert!(server.stalled_count() <= 8, "{} of 1200 saw it", server.stalled_count());
    assert_eq!(json["total"]["response_time_ms"], Value::Null, "who sets no times cannot know: {json:#}");
    assert_eq!((&json["rate"], &json["rate_kept"]), (&Value::from(800), &Value::Null));
    // What the stall has cost is not made up for: 1200 at 800 a second, and its 400 ms.
    assert!(figure(&json, "/seconds") >= 1.8, "{json:#}");
}

#[test]
fn a_rate_that_is_not_kept_is_a_loud_failure() {
    // Four at a time, each 20 ms: 200 a second.
    let habits = Habits { delay: Duration::from_millis(20), ..Habits::default() };
    let (outcome, json, _) = run(habits, &["write no-warmup n=400 -rate threads=4 fixed=400/s"]);
    let error = outcome.unwrap_err();
    assert!(matches!(error, StressError::Late { asked: 400, .. }), "{error}");
    assert!(error.to_string().contains("of 400 operations a second"), "{error}");
    assert_eq!(json["rate_kept"], Value::from(false));
    assert_eq!(json["total"]["operations"], 400, "all are done, late");
    assert!(figure(&json, "/total/response_time_ms/max") > 500.0, "{json:#}");
}

/// Two at a time, each 5 ms: 400 a second at most. Which rates are kept is up to the machine; the best follows from them.
#[test]
fn a_sweep_finds_the_best_rate_below_a_bound() {
    let habits = Habits { delay: Duration::from_millis(5), ..Habits::default() };
    let (outcome, json, _) = run(habits, &["write no-warmup duration=300ms -rate threads=2 --sweep p95<100ms"]);
    let saturation = figure(&json, "/sweep/saturation");
    assert!(saturation > 0.0 && saturation <= 400.0, "{json:#}");
    let runs = json["runs"].as_array().expect("there are several");
    assert!(runs[0]["rate"].is_null(), "{json:#}");
    let rate = |run: &Value| run["rate"].as_u64();
    let holds = |run: &Value| {
        run["rate_kept"] == true
            && figure(run, "/total/operations") > 0.0
            && figure(run, "/total/response_time_ms/p95") < 100.0
    };
    let lowest = runs.iter().filter(|run| !holds(run)).filter_map(rate).min().unwrap_or(u64::MAX);
    let best = runs.iter().filter_map(rate).filter(|rate| *rate < lowest).max();
    assert_eq!(json["sweep"]["best"].as_u64(), best, "{json:#}");
    assert!(runs.iter().filter_map(rate).all(|rate| rate as f64 <= saturation), "{json:#}");
    match outcome {
        Ok(()) => assert!(best.is_some(), "{json:#}"),
        Err(error) => assert!(best.is_none() && error.to_string().contains("no rate met the target"), "{error}"),
    }
    let (outcome, json, _) = run(habits, &["write no-warmup duration=100ms -rate threads=2 --sweep p50<1us"]);
    assert_eq!(outcome.unwrap_err().to_string(), "no rate met the target p50 < 0.001 ms");
    assert!(json["sweep"]["best"].is_null() && figure(&json, "/sweep/saturation") > 0.0, "{json:#}");
}

#[test]
fn a_run_begins_at_the_instant_that_is_said() {
    let since_epoch = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let line = |at: Duration| format!("write n=40 -rate threads=4 --start-at {:.3}", at.as_secs_f64());
    // A machine that is not ready by then is given longer.
    let begins = |seconds: f64| {
        let at = since_epoch() + Duration::from_secs_f64(seconds);
        let (outcome, json, server) = run(Habits::default(), &[&line(at)]);
        match outcome {
            Err(StressError::TooLate { .. }) => None,
            other => Some((other, at, json, server)),
        }
    };
    let (outcome, at, json, server) = [1.5, 6.0, 60.0].into_iter().find_map(begins).expect("it is ready in a minute");
    outcome.unwrap();
    let now = since_epoch();
    // To the millisecond, as the line has it.
    let since_begin = (now + Duration::from_millis(1)).saturating_sub(at).as_secs_f64();
    assert!(now >= at && figure(&json, "/seconds") <= since_begin, "the waiting is not measured: {json:#}");
    assert_eq!(server.operation_count(), 50, "the warm-up comes before");
    let (outcome, ..) = run(Habits::default(), &[&line(since_epoch())]);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("when this process was ready; use a later time"), "{error}");
}

#[test]
fn what_is_missing_or_wrong_ends_the_run_unless_errors_are_ignored() {
    let lines = ["write no-warmup n=100 -rate threads=5", "read no-warmup n=100 -rate threads=5 -pop seq=1..100"];
    let loses = Habits { loses: Some(b"0000000017"), ..Habits::default() };
    let (outcome, json, _) = run(loses, &lines);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("READ x1 on row 17: the row is missing"), "{error}");
    assert_eq!(json["total"]["errors"], 1);
    let (outcome, json, _) = run(loses, &[lines[0], &lines[1].replace("threads=5", "threads=5 fixed=50/s")]);
    assert!(outcome.unwrap_err().to_string().contains("the row is missing"));
    assert!(json["rate_kept"].is_null(), "of a run that was stopped nobody knows: {json:#}");
    let sweep = "read no-warmup duration=100ms -rate threads=5 -pop seq=200..300 -errors ignore --sweep p99<1s";
    let (outcome, json, _) = run(Habits::default(), &[lines[0], sweep]);
    assert!(outcome.unwrap_err().to_string().contains("no rate met the target"), "{json:#}");
    let changes = Habits { changes: Some(b"0000000099"), ..Habits::default() };
    let (outcome, ..) = run(changes, &lines);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("row 99: the row has other values"), "{error}");
    let (outcome, json, _) = run(changes, &[lines[0], &format!("{} -errors ignore", lines[1])]);
    outcome.unwrap();
    assert_eq!((&json["total"]["errors"], &json["total"]["rows"]), (&Value::from(1), &Value::from(99)));
    let (outcome, ..) = run(changes, &[lines[0], &format!("{} -errors skip-read-validation", lines[1])]);
    outcome.unwrap();
}

#[test]
fn what_is_refused_is_tried_again() {
    let habits = Habits { refuses_each: Some(7), ..Habits::default() };
    let (outcome, json, server) = run(habits, &["write no-warmup n=600 -rate threads=3"]);
    outcome.unwrap();
    assert_eq!((json["total"]["errors"].as_u64(), server.row_count(), server.operation_count()), (Some(0), 600, 699));
    let never = Habits { refuses_each: Some(1), ..Habits::default() };
    let (outcome, _, server) = run(never, &["write no-warmup n=600 -rate threads=1 -errors retries=4"]);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("WRITE x5 on row 1") && error.contains("full"), "{error}");
    assert_eq!(server.operation_count(), 5);
}

#[test]
fn nobody_there_is_told_in_a_sentence() {
    let words = ["write", "n=1", "-node", "127.0.0.1:1"].map(str::to_owned);
    let error = super::run(&words).unwrap_err().to_string();
    assert!(error.starts_with("cannot connect to 127.0.0.1:1"), "{error}");
}
