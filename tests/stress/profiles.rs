//! Loads of user profiles: what they wrote is there, is the same when it is written again, and is found by their queries.

use std::path::{Path, PathBuf};

use helenus_tests::{Builder, Server, configurations};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::value::Row;

use super::{Printed, is_done, run};

const PARTITIONS: u64 = 500;

/// A table with a column of each type that values are made for.
const TYPES: &str = "
keyspace: types
keyspace_definition: |
  CREATE KEYSPACE types WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}
table: all_types
table_definition: |
  CREATE TABLE all_types (
    k1 text, k2 int, c1 uuid, c2 ascii, s int static,
    v_bigint bigint, v_blob blob, v_boolean boolean, v_date date, v_decimal decimal, v_double double, v_float float, v_inet inet,
    v_int int, v_smallint smallint, v_text varchar, v_time time, v_timestamp timestamp, v_timeuuid timeuuid, v_tinyint tinyint, v_varint varint,
    v_set set<int>, v_frozen frozen<list<text>>, \"V_upper\" blob,
    PRIMARY KEY ((k1, k2), c1, c2)
  )
extra_definitions:
  - CREATE TABLE beside (id int PRIMARY KEY, l list<int>)
columnspec:
  - {name: k1, size: fixed(12)}
  - {name: c1, cluster: fixed(2)}
  - {name: c2, cluster: fixed(3), size: fixed(10)}
  - {name: V_upper, size: uniform(1..2000)}
insert: {partitions: uniform(1..3), batchtype: UNLOGGED}
queries:
  one: {cql: 'select * from all_types where k1 = ? and k2 = ? and c1 = ? and c2 = ?', fields: samerow}
";

/// A list and a counter are added to each time.
const COUNTED: &str = "
keyspace: types
table: counted
table_definition: CREATE TABLE counted (id int PRIMARY KEY, n counter)
columnspec: [{name: id, population: seq(1..50)}, {name: n, population: fixed(3)}]
insert: {batchtype: COUNTER}
";

/// The profile that the guide shows.
fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/stress-profile.yaml")
}

fn written(server: &Server, name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("helenus-profile-{}-{}-{name}.yaml", std::process::id(), server.port));
    std::fs::write(&path, text).expect("the temporary folder can be written");
    path
}

#[track_caller]
fn user(server: &Server, profile: &Path, line: &str, operations: u64) -> Printed {
    let profile = format!("profile={}", profile.display());
    let words: Vec<&str> = ["user", &profile, "no-warmup"].into_iter().chain(line.split(' ')).collect();
    is_done(line, operations, run(server, &words))
}

/// The rows of a statement, as a driver tells them.
pub(crate) fn rows(server: &Server, statement: &str) -> Vec<Row> {
    let runtime = tokio::runtime::Runtime::new().expect("tokio starts");
    runtime.block_on(async {
        let node = format!("127.0.0.1:{}", server.port);
        let session: Session = SessionBuilder::new().known_node(node).build().await.expect("the server is there");
        let result = session.query_unpaged(statement, ()).await.expect("the statement is right");
        let rows = result.into_rows_result().expect("it reads");
        rows.rows::<Row>().expect("any row").collect::<Result<Vec<Row>, _>>().expect("rows are well formed")
    })
}

#[test]
fn the_profile_of_the_guide_writes_and_asks() {
    for (reactor, shards) in configurations() {
        println!("{reactor}, {shards} shards");
        let server = Builder::new(reactor, shards).start();
        let insert = format!("ops(insert=1) n={PARTITIONS} -rate threads=20 -pop seq=1..{PARTITIONS}");
        let printed = user(&server, &example(), &insert, PARTITIONS);
        let inserted = printed.report["kinds"]["insert"]["rows"].as_u64().expect("rows are counted");
        assert_eq!(printed.report["total"]["partitions"], PARTITIONS);
        let found = rows(&server, "SELECT room, day, at, author, body, likes, tags FROM stress_profile.messages");
        // Some rooms may come twice, of a million.
        assert!(
            found.len() as u64 <= inserted && found.len() as u64 > inserted * 9 / 10,
            "{} of {inserted}",
            found.len()
        );
        assert!((3 * PARTITIONS..=27 * PARTITIONS).contains(&inserted), "{inserted}");
        assert!(found.iter().all(|row| row.columns.iter().all(Option::is_some)), "a column is empty");
        user(&server, &example(), &insert, PARTITIONS);
        let again = rows(&server, "SELECT room, day, at, author, body, likes, tags FROM stress_profile.messages");
        assert!(found == again, "what is written again is the same");

        let mixed = format!(
            "ops(insert=1,latest=3,day=1) clustering=fixed(4) n=4000 -rate threads=50 -pop dist=uniform(1..{PARTITIONS})"
        );
        let printed = user(&server, &example(), &mixed, 4000);
        let kinds = &printed.report["kinds"];
        for kind in ["latest", "day"] {
            let operations = kinds[kind]["operations"].as_u64().expect("it took place");
            assert_eq!(kinds[kind]["partitions"], operations, "each finds its partition");
            assert!(kinds[kind]["rows"].as_u64() >= Some(operations), "{kinds:#}");
        }
        assert!(kinds["latest"]["operations"].as_u64() > kinds["day"]["operations"].as_u64(), "{kinds:#}");
        assert_eq!(rows(&server, "SELECT room FROM stress_profile.messages").len(), found.len());
        server.stop();
    }
}

#[test]
fn all_types_are_written_the_same_each_time_and_several_partitions_at_a_time() {
    let server = Builder::new("uring", 2).start();
    let profile = written(&server, "types", TYPES);
    let insert = "ops(insert=1) n=100 -rate threads=8 -pop seq=1..100";
    let words = format!("profile={}", profile.display());
    let words: Vec<&str> = ["user", &words, "no-warmup"].into_iter().chain(insert.split(' ')).collect();
    let printed = run(&server, &words);
    assert_eq!((printed.code, printed.errors.as_str()), (0, ""), "{}", printed.output);
    // n= counts partitions, of which an insert takes up to three.
    let total = &printed.report["total"];
    assert_eq!((&total["partitions"], &total["rows"]), (&100.into(), &600.into()), "{}", printed.output);
    assert!(total["operations"].as_u64() < Some(90), "{}", printed.output);
    let found = rows(&server, "SELECT * FROM types.all_types");
    assert_eq!(found.len(), 600);
    assert!(found.iter().all(|row| row.columns.iter().all(Option::is_some)), "a column is empty");
    run(&server, &words);
    assert!(found == rows(&server, "SELECT * FROM types.all_types"), "what is written again is the same");
    let read = user(&server, &profile, "ops(one=1) n=300 -rate threads=8 -pop seq=1..100", 300);
    assert_eq!(read.report["total"]["rows"], 300, "each row is found by its key");

    // A share of the columns; and each partition in three visits.
    let share = "ops(insert=1) n=20 truncate=once -rate threads=1 -pop seq=1..20 -insert partitions=fixed(1) row-population-ratio=fixed(1)/2";
    user(&server, &profile, share, 20);
    let halves = rows(&server, "SELECT * FROM types.all_types");
    let empty = |row: &Row| row.columns.iter().filter(|value| value.is_none()).count();
    assert!(halves.len() == 120 && halves.iter().all(|row| empty(row) == 10), "{:?}", halves[0]);
    let visits = "ops(insert=1) n=30 truncate=once -rate threads=1 -pop seq=1..100 -insert partitions=fixed(1) visits=fixed(3) revisit=fixed(1)";
    user(&server, &profile, visits, 30);
    assert_eq!(rows(&server, "SELECT k1 FROM types.all_types").len(), 60);

    let counted = written(&server, "counted", COUNTED);
    user(&server, &counted, "ops(insert=1) n=100 -rate threads=4 -pop seq=1..50", 100);
    let counters = rows(&server, "SELECT n FROM types.counted");
    assert_eq!(counters.len(), 50);
    let counter = |row: &Row| format!("{:?}", row.columns[0]);
    assert!(counters.iter().all(|row| counter(row).contains('6')), "{:?}", counters[0]);
    std::fs::remove_file(profile).and_then(|()| std::fs::remove_file(counted)).expect("they were written");
    server.stop();
}

#[test]
fn what_a_table_has_not_is_told_by_name() {
    let server = Builder::new("uring", 1).start();
    let base = "keyspace: types\nkeyspace_definition: |\n  CREATE KEYSPACE IF NOT EXISTS types WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}\n";
    let table = |columns: &str| format!("table: t\ntable_definition: CREATE TABLE t ({columns})\n");
    for (text, told) in [
        ("table: t".to_owned(), "table \"types\".\"t\" does not exist"),
        (table("id int PRIMARY KEY, m duration"), "column m: cannot generate values of its type"),
    ] {
        let profile = written(&server, "wrong", &format!("{base}{text}"));
        let words = format!("profile={}", profile.display());
        let printed = run(&server, &["user", &words, "ops(insert=1)", "n=1", "-rate", "threads=1"]);
        assert!(printed.code == 1 && printed.errors.contains(told), "{text}: {}", printed.errors);
        std::fs::remove_file(profile).expect("it was written");
    }
    rows_of_nothing(&server, "DROP TABLE types.t");
    let query = |cql: &str| format!("{base}{}queries: {{q: {{cql: '{cql}'}}}}\n", table("id int PRIMARY KEY, v int"));
    for (text, told) in [
        (query("select * from t where id = ? limit ?"), "bind marker [limit] matches no column"),
        (query("select * from nowhere"), "prepare the statement of q"),
        (query("select * from t") + "columnspec: [{name: x, size: fixed(1)}]", "has no column x"),
        (query("select * from t") + "columnspec: [{name: v, cluster: fixed(1)}]", "cluster is for clustering columns"),
    ] {
        let profile = written(&server, "wrong", &text);
        let words = format!("profile={}", profile.display());
        let printed = run(&server, &["user", &words, "ops(q=1)", "n=1", "-rate", "threads=1"]);
        assert!(printed.code == 1 && printed.errors.contains(told), "{text}: {}", printed.errors);
        std::fs::remove_file(profile).expect("it was written");
    }
    server.stop();
}

fn rows_of_nothing(server: &Server, statement: &str) {
    let mut connection = helenus_tests::Connection::start(&format!("127.0.0.1:{}", server.port)).expect("it is there");
    connection.query(statement).expect("the statement is right");
}
