//! Several processes that begin at one instant, by the script that studies use, and what they measured as one report.

use std::process::{Command, Output};

use helenus_tests::{Builder, Server};
use serde_json::Value;

use super::{ATTEMPTS_MAX, NOT_KEPT};

const PROCESSES: u64 = 3;
const ROWS: u64 = 4_000;

/// Runs a load as so many processes, each on a keyspace of its own. Gives the report, if there is one.
fn together(server: &Server, words: &str) -> (Output, Option<Value>) {
    let report = std::env::temp_dir().join(format!("helenus-together-{}.json", std::process::id()));
    let _ = std::fs::remove_file(&report);
    let mut command = Command::new("../studies/together.sh");
    command.env("LEAD", "2").arg(Builder::binary()).arg(PROCESSES.to_string()).arg(&report).args(words.split(' '));
    command.args(["-node", "127.0.0.1", "-port", &format!("native={}", server.port)]);
    let output = command.output().expect("the script can be run");
    let text = std::fs::read_to_string(&report).ok();
    let _ = std::fs::remove_file(&report);
    (output, text.map(|text| serde_json::from_str(&text).expect("is JSON")))
}

#[test]
fn several_processes_begin_at_one_instant_and_make_one_report() {
    let server = Builder::new("uring", 1).start();
    let write = format!("write no-warmup n={ROWS} -rate threads=20 -pop seq=1..{ROWS}");
    let (output, report) = together(&server, &write);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = report.expect("there is a report");
    assert_eq!((&report["processes"], &report["total"]["operations"]), (&PROCESSES.into(), &(PROCESSES * ROWS).into()));
    let within = report["began_within_seconds"].as_f64().expect("a number");
    assert!(within < 0.5, "began within {within} s");
    let mixed = format!("mixed no-warmup n={ROWS} -rate threads=20 fixed=2000/s -pop seq=1..{ROWS}");
    let is_kept = |(output, _): &(Output, _)| !String::from_utf8_lossy(&output.stderr).contains(NOT_KEPT);
    let mut attempts = (0..ATTEMPTS_MAX).map(|_| together(&server, &mixed));
    let (output, report) = attempts.find(is_kept).expect("the rate is kept at last");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = report.expect("there is a report");
    let operations = |kind: &str| report["kinds"][kind]["operations"].as_u64().expect("a number");
    assert_eq!(operations("READ") + operations("WRITE"), PROCESSES * ROWS);
    assert!(report["total"]["response_time_ms"]["p99"].is_number(), "{report:#}");
    // Rows that nobody wrote: each process fails, and so do they together.
    let (output, report) = together(&server, "read no-warmup n=100 -rate threads=5 -pop seq=900001..900100");
    assert!(!output.status.success() && report.is_none(), "{report:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("the row is missing"), "{output:?}");
}
