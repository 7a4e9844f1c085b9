//! YCSB's workloads by name: what was loaded is there, what a run inserts comes to it, and everything that is read is right.

use helenus_tests::{Builder, Server, configurations};

use super::profiles::rows;
use super::{Printed, at_its_rate, is_done, run};

const RECORDS: u64 = 2_000;
const OPERATIONS: u64 = 4_000;

#[track_caller]
fn ycsb(server: &Server, line: &str, operations: u64) -> Printed {
    let words: Vec<&str> = std::iter::once("ycsb").chain(line.split(' ')).collect();
    is_done(line, operations, at_its_rate(|| run(server, &words)))
}

/// Records in the table, counted by CQL.
fn record_count(server: &Server) -> u64 {
    let counted = rows(server, "SELECT count(*) FROM ycsb.usertable");
    counted[0].columns[0].as_ref().and_then(|count| count.as_bigint()).expect("a count") as u64
}

#[test]
fn each_workload_runs_on_what_was_loaded() {
    for (reactor, shards) in configurations() {
        println!("{reactor}, {shards} shards");
        let server = Builder::new(reactor, shards).start();
        let count = format!("recordcount={RECORDS} operationcount={OPERATIONS}");
        ycsb(&server, &format!("load workload=a {count} -rate threads=50"), RECORDS);
        assert_eq!(record_count(&server), RECORDS);
        let first = rows(&server, "SELECT * FROM ycsb.usertable WHERE y_id = 'user6284781860667377211'");
        let texts: Vec<&str> =
            first[0].columns.iter().flatten().filter_map(|value| value.as_text()).map(String::as_str).collect();
        assert_eq!(texts.len(), 11);
        assert!(texts[1..].iter().all(|text| text.len() == 100), "{texts:?}");

        let mut records = RECORDS;
        for (workload, kinds) in [
            ("a", &["READ", "UPDATE"][..]),
            ("b", &["READ", "UPDATE"]),
            ("c", &["READ"]),
            ("d", &["INSERT", "READ"]),
            ("f", &["READ", "READ-MODIFY-WRITE"]),
            ("e", &["INSERT", "SCAN"]),
        ] {
            // What D has inserted is known to the runs after it.
            let count = format!("recordcount={records} operationcount={OPERATIONS}");
            let printed = ycsb(&server, &format!("run workload={workload} {count} -rate threads=20"), OPERATIONS);
            let found = &printed.report["kinds"];
            let names: Vec<&String> = found.as_object().expect("kinds").keys().collect();
            assert_eq!(names, kinds, "{workload}");
            if let Some(inserted) = found["INSERT"]["operations"].as_u64() {
                assert!((100..300).contains(&inserted), "{workload}: {inserted} of {OPERATIONS}");
                records += inserted;
            }
            if let Some(scanned) = found["SCAN"]["rows"].as_u64() {
                let of_each = scanned / found["SCAN"]["operations"].as_u64().expect("a number");
                assert!((40..60).contains(&of_each), "{of_each} rows of a scan of 1 to 100");
            }
            assert_eq!(record_count(&server), records, "{workload}");
        }
        server.stop();
    }
}

#[test]
fn properties_rates_and_failures_are_as_they_are_said() {
    let server = Builder::new("uring", 2).start();
    let missing = run(&server, &["ycsb", "run", "workload=c"]);
    assert!(missing.code == 1 && missing.errors.contains("ycsb load makes the table"), "{}", missing.errors);
    let fields = "recordcount=500 fieldcount=12 fieldlength=300 minfieldlength=10 fieldlengthdistribution=uniform";
    ycsb(&server, &format!("load workload=f {fields} -rate threads=10"), 500);
    let one = format!(
        "run workload=f {fields} operationcount=1000 readallfields=false updateproportion=0.2 requestdistribution=latest -rate threads=10 fixed=1000/s"
    );
    let printed = ycsb(&server, &one, 1_000);
    assert_eq!(printed.report["rate_kept"], true, "{}", printed.output);
    assert!(printed.report["kinds"]["UPDATE"]["operations"].as_u64() > Some(50), "{}", printed.output);
    ycsb(
        &server,
        &format!(
            "run workload=a {fields} operationcount=500 writeallfields=true requestdistribution=uniform -rate threads=10"
        ),
        500,
    );
    assert_eq!(record_count(&server), 500);
    // Other values than were written are noticed, and records that are not there.
    let wrong = run(&server, &["ycsb", "run", "workload=c", "recordcount=500", "fieldcount=12", "fieldlength=20"]);
    assert!(wrong.code == 1 && wrong.errors.contains("the row has other values"), "{}", wrong.errors);
    let beyond = format!("{fields} insertstart=0").replace("recordcount=500", "recordcount=5000");
    let words: Vec<&str> = ["ycsb", "run", "workload=c"].into_iter().chain(beyond.split(' ')).collect();
    let missing = run(&server, &words);
    assert!(missing.code == 1 && missing.errors.contains("the row is missing"), "{}", missing.errors);
    server.stop();
}
