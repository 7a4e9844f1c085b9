//! Whole command lines against a server that answers late and fails as it is told: what was planted must be found in the report.

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
    let median = figure(&json, "/total/service_time_ms/p50");
    assert!((60.0..120.0).contains(&median), "{json:#}");
    // Each task does no more than one operation in that time.
    assert!(figure(&json, "/total/operations_per_second") <= 40.0 / 0.06, "{json:#}");
    assert_eq!(json["total"]["response_time_ms"], Value::Null);
}

/// Of 1200 operations in three seconds, those due within the 400 ms of the stall wait for what is left of it: 160 that are due evenly, so a
/// fifteenth of all waits longer than 200 ms, a thirtieth longer than 300. In service time only the eight that are under way see it.
#[test]
fn a_planted_stall_is_in_the_response_time_of_all_that_it_kept_waiting_and_in_the_service_time_of_few() {
    let habits = Habits { stall: Some((400, Duration::from_millis(400))), ..Habits::default() };
    let (outcome, json, server) = run(habits, &["write no-warmup n=1200 -rate threads=8 fixed=400/s"]);
    outcome.unwrap();
    assert_eq!(server.operation_count(), 1200);
    assert_eq!(json["rate"], Value::from(400));
    // 5 % wait longer than 400 - 60 / 0.4 = 250 ms, 1 % longer than 370; a busy machine adds to that.
    let p95 = figure(&json, "/total/response_time_ms/p95");
    let p99 = figure(&json, "/total/response_time_ms/p99");
    assert!((240.0..400.0).contains(&p95) && (360.0..600.0).contains(&p99), "{json:#}");
    assert!(figure(&json, "/total/response_time_ms/p50") < 200.0, "{json:#}");
    assert!(figure(&json, "/total/service_time_ms/p95") < 200.0, "{json:#}");
    assert!(figure(&json, "/total/service_time_ms/max") >= 380.0, "{json:#}");
    assert!(figure(&json, "/total/wait_time_ms/p95") > 150.0, "{json:#}");
}

/// A second's 400 operations, of which the last twenty or so are due in a stall that outlasts the run: eight are under way then, and the others
/// never begin.
#[test]
fn what_was_due_and_never_began_is_in_the_response_times() {
    let habits = Habits { stall: Some((380, Duration::from_millis(600))), ..Habits::default() };
    let (outcome, json, server) = run(habits, &["write no-warmup duration=1s -rate threads=8 fixed=400/s"]);
    outcome.unwrap();
    let (done, not_begun) = (figure(&json, "/total/operations"), figure(&json, "/total/not_begun"));
    assert_eq!((done, done + not_begun), (server.operation_count() as f64, 400.0), "{json:#}");
    assert!((1.0..=20.0).contains(&not_begun), "{json:#}");
    // Four of a hundred waited for the whole stall, but for the time in which they became due.
    assert!(figure(&json, "/total/response_time_ms/p99") > 500.0, "{json:#}");
    assert!(figure(&json, "/total/wait_time_ms/p99") > 450.0, "{json:#}");
}

#[test]
fn a_closed_loop_hides_the_same_stall() {
    let habits = Habits { stall: Some((400, Duration::from_millis(400))), ..Habits::default() };
    let (outcome, json, _) = run(habits, &["write no-warmup n=1200 -rate threads=8 throttle=800/s"]);
    outcome.unwrap();
    assert!(figure(&json, "/total/service_time_ms/p95") < 200.0, "{json:#}");
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
    assert!(error.to_string().contains("the rate was not kept: 400 operations a second were asked for"), "{error}");
    assert_eq!(json["rate_kept"], Value::from(false));
    assert_eq!(json["total"]["operations"], 400, "all are done, late");
    assert!(figure(&json, "/total/response_time_ms/max") > 500.0, "{json:#}");
}

/// Two at a time, each 5 ms: 400 a second at most.
#[test]
fn a_sweep_finds_the_best_rate_below_a_bound() {
    let habits = Habits { delay: Duration::from_millis(5), ..Habits::default() };
    let (outcome, json, _) = run(habits, &["write no-warmup duration=300ms -rate threads=2 --sweep p95<100ms"]);
    outcome.unwrap();
    let (saturation, best) = (figure(&json, "/sweep/saturation"), figure(&json, "/sweep/best"));
    assert!((150.0..=400.0).contains(&saturation) && (0.2..=1.0).contains(&(best / saturation)), "{json:#}");
    let runs = json["runs"].as_array().expect("there are several");
    assert!(runs.len() > 5 && runs[0]["rate"].is_null(), "{json:#}");
    for run in runs.iter().filter(|run| run["rate"].as_f64().is_some_and(|rate| rate <= best)) {
        assert!(figure(run, "/total/response_time_ms/p95") < 100.0 && run["rate_kept"] == true, "{run:#}");
    }
    let (outcome, json, _) = run(habits, &["write no-warmup duration=100ms -rate threads=2 --sweep p50<1us"]);
    assert_eq!(outcome.unwrap_err().to_string(), "p50 < 0.001 ms was held at no rate");
    assert!(json["sweep"]["best"].is_null() && figure(&json, "/sweep/saturation") > 0.0, "{json:#}");
}

#[test]
fn a_run_begins_at_the_instant_that_is_said() {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let line = |at: Duration| format!("write n=40 -rate threads=4 --start-at {:.3}", at.as_secs_f64());
    let at = since + Duration::from_millis(1500);
    let (outcome, json, server) = run(Habits::default(), &[&line(at)]);
    outcome.unwrap();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    assert!(now >= at && figure(&json, "/seconds") < 1.0, "the waiting is not measured: {json:#}");
    assert_eq!(server.operation_count(), 50, "the warm-up comes before");
    let (outcome, ..) = run(Habits::default(), &[&line(since)]);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("when this process was ready: say a later time"), "{error}");
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
    assert!(outcome.unwrap_err().to_string().contains("was held at no rate"), "{json:#}");
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
