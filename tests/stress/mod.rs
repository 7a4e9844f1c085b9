//! `helenus stress` in cassandra-stress's words against a running node: the published command lines, on a node that has the table and on one that
//! has not, and what the reports say; profiles and YCSB's workloads; several processes at one time. And `helenus study`, which runs such lines.

mod profiles;
mod secure;
mod study;
mod together;
mod ycsb;

use std::process::{Command, Stdio};

use helenus_tests::{Builder, Server, configurations};
use serde_json::Value;

const ROWS: u64 = 10_000;

/// The end of the published command lines, as a shell hands it over.
const SCHEMA: [&str; 4] =
    ["-schema", "keyspace=ksx", "replication(strategy=NetworkTopologyStrategy,", "datacenter1=1)"];

struct Printed {
    code: i32,
    output: String,
    errors: String,
    report: Value,
}

/// Runs one command line of cassandra-stress' own tables: `line`, words apart at blanks, the node and the schema.
fn stress(server: &Server, line: &str) -> Printed {
    let words: Vec<&str> = line.split(' ').chain(SCHEMA).collect();
    run(server, &words)
}

/// Runs one command line, which the node is added to.
fn run(server: &Server, words: &[&str]) -> Printed {
    let report = std::env::temp_dir().join(format!("helenus-stress-{}-{}.json", std::process::id(), server.port));
    let mut command = Command::new(Builder::binary());
    command.arg("stress").args(words).args(["-node", "127.0.0.1", "-port", &format!("native={}", server.port)]);
    command.arg("--json").arg(&report);
    let run = command.stdin(Stdio::null()).output().expect("the binary can be run");
    let text = std::fs::read_to_string(&report);
    let _ = std::fs::remove_file(&report);
    Printed {
        code: run.status.code().expect("it ends by itself"),
        output: String::from_utf8(run.stdout).expect("it prints text"),
        errors: String::from_utf8(run.stderr).expect("it prints text"),
        report: text.map_or(Value::Null, |text| serde_json::from_str(&text).expect("is JSON")),
    }
}

/// A run that must do that many operations without an error. Its report.
#[track_caller]
fn done(server: &Server, line: &str, operations: u64) -> Printed {
    is_done(line, operations, at_its_rate(|| stress(server, line)))
}

/// How often a load is run whose rate is not kept: a machine that is busy with other things may not keep it, and no test fails by the clock.
const ATTEMPTS_MAX: u32 = 8;
/// The beginning of the sentence that says so.
const NOT_KEPT: &str = "helenus: the rate was not kept";

/// Runs a load again until its rate is kept, if it has one.
fn at_its_rate(mut run: impl FnMut() -> Printed) -> Printed {
    for _ in 1..ATTEMPTS_MAX {
        let printed = run();
        if !printed.errors.starts_with(NOT_KEPT) {
            return printed;
        }
    }
    run()
}

#[track_caller]
fn is_done(line: &str, operations: u64, printed: Printed) -> Printed {
    assert_eq!((printed.code, printed.errors.as_str()), (0, ""), "{line}\n{}", printed.output);
    let total = &printed.report["total"];
    assert_eq!((&total["operations"], &total["errors"]), (&operations.into(), &0.into()), "{line}\n{}", printed.output);
    printed
}

#[test]
fn the_published_lines_run_with_a_table_and_without() {
    for (reactor, shards) in configurations() {
        println!("{reactor}, {shards} shards");
        let server = Builder::new(reactor, shards).start();
        let drawn = "-pop dist=gaussian(1..10000,5000,1000)";
        let write = format!("write no-warmup n={ROWS} -rate threads=100 -mode native cql3 -pop seq=1..{ROWS}");
        let printed = done(&server, &write, ROWS);
        for word in ["Op rate  ", "Partition rate  ", "Latency 99.9th percentile :", "Total errors  ", "END\n"] {
            assert!(printed.output.contains(word), "no `{word}` in:\n{}", printed.output);
        }
        let read = format!("read no-warmup n={ROWS} -rate threads=400 -mode native cql3 {drawn}");
        let printed = done(&server, &read, ROWS);
        assert_eq!(printed.report["kinds"]["READ"]["rows"], ROWS);
        let mixed =
            format!("mixed ratio(write=2,read=8) no-warmup n={ROWS} -rate threads=400 -mode native cql3 {drawn}");
        let printed = done(&server, &mixed, ROWS);
        assert!(printed.report["kinds"]["WRITE"]["rows"].as_u64() > Some(ROWS / 10), "{}", printed.output);
        done(&server, &write, ROWS);
        server.stop();
    }
}

#[test]
fn counters_warmups_and_truncation_do_what_they_say() {
    let server = Builder::new("uring", 2).start();
    done(&server, "counter_write n=1000 -rate threads=20 -pop seq=1..500", 1000);
    done(&server, "counter_read n=1000 -rate threads=20 -pop seq=1..500", 1000);
    done(
        &server,
        "write n=1000 cl=quorum -rate threads=20 -col size=uniform(0..300) n=fixed(12) -mode native cql3 compression=lz4",
        1000,
    );
    // A warm-up reads the rows; that which empties the table comes after it.
    let emptied = stress(
        &server,
        "read n=1000 truncate=once -rate threads=20 -pop seq=1..1000 -col size=uniform(0..300) n=fixed(12)",
    );
    assert_eq!(emptied.code, 1, "{}", emptied.output);
    assert!(
        emptied.errors.contains("the row is missing") && emptied.output.ends_with("FAILURE\n"),
        "{}",
        emptied.errors
    );
    server.stop();
}

#[test]
fn a_rate_that_is_kept_is_well_and_what_is_not_there_is_told() {
    let server = Builder::new("uring", 1).start();
    let missing = stress(&server, "read no-warmup n=10 -rate threads=1");
    assert_eq!(missing.code, 1);
    assert!(missing.errors.starts_with("helenus: cannot prepare the statement of READ"), "{}", missing.errors);
    let kept = done(&server, "write no-warmup n=1000 -rate threads=50 fixed=500/s", 1000);
    assert_eq!(kept.report["rate_kept"], true, "{}", kept.output);
    assert!(kept.report["total"]["response_time_ms"]["p50"].as_f64() > Some(0.0), "{}", kept.output);
    // One at a time cannot do that many.
    let late = stress(&server, "write no-warmup n=20000 -rate threads=1 fixed=100000/s");
    assert_eq!(late.code, 1, "{}", late.output);
    let is_told = late.errors.starts_with("helenus: the rate was not kept: ")
        && late.errors.contains(" of 100000 operations a second");
    assert!(is_told, "{}", late.errors);
    server.stop();
}
