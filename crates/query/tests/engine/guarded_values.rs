//! Guardrails on values: what Cassandra 5.0.6, asked by a user who is no superuser, said of each statement under the same thresholds.

use cql_protocol::Value;
use cql_protocol::request::{BatchKind, BatchQuery};
use query::{Guardrails, Threshold};

use crate::guardrails::said;
use crate::harness::{Client, Folder, run_guarded};
use crate::requests::{KEYSPACE, ints, must};

/// 17 bytes: more than what is warned of.
const WARNED: &str = "xxxxxxxxxxxxxxxxx";
/// 33 bytes: more than what is refused.
const REFUSED: &str = "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy";

fn rails() -> Guardrails {
    Guardrails {
        column_value_size: Threshold { warn: Some(16), fail: Some(32) },
        collection_size: Threshold { warn: Some(64), fail: Some(128) },
        items_per_collection: Threshold { warn: Some(3), fail: Some(6) },
        ..Guardrails::default()
    }
}

async fn tables(client: &Client) {
    must(client, KEYSPACE).await;
    must(client, "CREATE TYPE ks.u (a text, b int)").await;
    must(
        client,
        "CREATE TABLE ks.t (k text, c text, s text static, ss set<text> static, v text, b blob, st set<text>, l list<text>, m map<text, text>, fs frozen<set<text>>, fl frozen<list<text>>, fm frozen<map<text, text>>, u u, fu frozen<u>, tu tuple<text, text>, ve vector<float, 5>, n int, PRIMARY KEY (k, c))",
    )
    .await;
    must(client, "CREATE TABLE ks.counts (k text PRIMARY KEY, v counter)").await;
}

/// What is said of a value, a collection's size and its items; `!` before the name: it is a refusal.
fn words(short: &str) -> String {
    let (is_refusal, short) = short.strip_prefix('!').map_or((false, short), |short| (true, short));
    let mut parts = short.split(' ');
    let (column, what, number) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let which = if is_refusal { "failure" } else { "warning" };
    let end = |warn, fail| if is_refusal { fail } else { warn };
    match what {
        "value" => format!(
            "Guardrail column_value_size violated: Value of column '{column}' has size {number}, this exceeds the {which} threshold of {}.",
            end(16, 32)
        ),
        "size" => format!(
            "Guardrail collection_size violated: Detected collection {column} of size {number}, this exceeds the {which} threshold of {}.",
            end(64, 128)
        ),
        "items" => format!(
            "Guardrail items_per_collection violated: Detected collection {column} with {number} items, this exceeds the {which} threshold of {}.",
            end(3, 6)
        ),
        other => panic!("{other} is no guardrail on values"),
    }
}

/// The whole of what is said: a refusal is the error too.
fn all_words(short: &[&str]) -> Vec<String> {
    let error = short.iter().find(|short| short.starts_with('!')).map(|short| format!("! {}", words(short)));
    error.into_iter().chain(short.iter().map(|short| words(short))).collect()
}

/// Asks statements; `W` and `R` in them stand for a long and a longer text.
async fn check(client: &Client, statements: &[(&str, &[&str])]) {
    for (text, expected) in statements {
        let text = text.replace("'W", &format!("'{WARNED}")).replace("'R", &format!("'{REFUSED}"));
        assert_eq!(said(&client.query(&text).await), all_words(expected), "{text}");
    }
}

#[test]
fn columns_of_one_cell() {
    let folder = Folder::new("guarded-values");
    run_guarded(folder.path(), 2, &rails(), |client| async move {
        tables(&client).await;
        let statements: &[(&str, &[&str])] = &[
            ("INSERT INTO ks.t (k, c) VALUES ('W', 'R')", &[]),
            ("INSERT INTO ks.t (k, c, v) VALUES ('a', 'b', 'xxxxxxxxxxxxxxxx')", &[]),
            ("INSERT INTO ks.t (k, c, v) VALUES ('a', 'b', 'W')", &["v value 17"]),
            ("INSERT INTO ks.t (k, c, v) VALUES ('a', 'b', 'R')", &["!v value 33"]),
            ("INSERT INTO ks.t (k, c, s, v) VALUES ('a', 'b', 'W', 'W')", &["v value 17", "s value 17"]),
            ("INSERT INTO ks.t (k, c, v, s) VALUES ('a', 'b', 'W', 'R')", &["v value 17", "!s value 33"]),
            ("INSERT INTO ks.t (k, c, s, v) VALUES ('a', 'b', 'R', 'R')", &["!v value 33"]),
            (
                "INSERT INTO ks.t (k, c, v, b) VALUES ('a', 'b', 'W', 0x0000000000000000000000000000000000)",
                &["v value 17", "b value 17"],
            ),
            (
                "UPDATE ks.t SET b = 0x0000000000000000000000000000000000, v = 'W' WHERE k IN ('a', 'b') AND c IN ('b', 'c')",
                &[
                    "b value 17",
                    "v value 17",
                    "b value 17",
                    "v value 17",
                    "b value 17",
                    "v value 17",
                    "b value 17",
                    "v value 17",
                ],
            ),
            (
                "UPDATE ks.t SET s = 'Ws', v = 'W' WHERE k = 'a' AND c IN ('a', 'b')",
                &["v value 17", "s value 18", "v value 17", "s value 18"],
            ),
            ("INSERT INTO ks.t (k, c, fs) VALUES ('a', 'b', {'1'})", &[]),
            ("INSERT INTO ks.t (k, c, fs) VALUES ('a', 'b', {'1', '2', '3', '4'})", &["fs items 4", "fs value 24"]),
            ("INSERT INTO ks.t (k, c, fs) VALUES ('a', 'b', {'1', '2', '3', '4', '5', '6', '7'})", &["!fs items 7"]),
            ("INSERT INTO ks.t (k, c, fl) VALUES ('a', 'b', ['1', '2', '3', '4'])", &["fl items 4", "fl value 24"]),
            ("INSERT INTO ks.t (k, c, fm) VALUES ('a', 'b', {'1': '1', '2': '2'})", &["fm value 24"]),
            ("INSERT INTO ks.t (k, c, fm) VALUES ('a', 'b', {})", &[]),
            ("INSERT INTO ks.t (k, c, fu) VALUES ('a', 'b', {a: 'W', b: 1})", &["fu value 29"]),
            ("INSERT INTO ks.t (k, c, tu) VALUES ('a', 'b', ('12345', '1234'))", &["tu value 17"]),
            ("INSERT INTO ks.t (k, c, ve) VALUES ('a', 'b', [1, 2, 3, 4, 5])", &["ve value 20"]),
            ("INSERT INTO ks.t (k, c, n, v) VALUES ('a', 'b', 5, null)", &[]),
            ("UPDATE ks.counts SET v = v + 1 WHERE k = 'a'", &[]),
            ("DELETE v FROM ks.t WHERE k = 'a' AND c = 'b'", &[]),
            (
                "INSERT INTO ks.t JSON '{\"k\": \"a\", \"c\": \"b\", \"v\": \"xxxxxxxxxxxxxxxxx\", \"b\": \"0x0000000000000000000000000000000000\", \"l\": [\"1\"]}'",
                &["b value 17", "v value 17"],
            ),
        ];
        check(&client, statements).await;
        let ttl = format!("INSERT INTO ks.t (k, c, v) VALUES ('a', 'b', '{REFUSED}') USING TTL -5");
        assert_eq!(said(&client.query(&ttl).await), ["! A TTL must be greater or equal to 0, but was -5"]);
    });
}

#[test]
fn elements() {
    let folder = Folder::new("guarded-elements");
    run_guarded(folder.path(), 2, &rails(), |client| async move {
        tables(&client).await;
        let statements: &[(&str, &[&str])] = &[
            ("INSERT INTO ks.t (k, c, st) VALUES ('a', 'b', {'1', '2', '3'})", &[]),
            ("INSERT INTO ks.t (k, c, st) VALUES ('a', 'b', {})", &[]),
            ("INSERT INTO ks.t (k, c, st) VALUES ('a', 'b', {'1', '2', '3', '4'})", &["st items 4", "st size 84"]),
            ("INSERT INTO ks.t (k, c, st) VALUES ('a', 'b', {'1', '2', '3', '4', '5', '6', '7'})", &["!st items 7"]),
            (
                "INSERT INTO ks.t (k, c, st) VALUES ('a', 'b', {'1', '2', 'W', 'Wz'})",
                &["st items 4", "st value 17", "st value 18", "st size 117"],
            ),
            ("UPDATE ks.t SET st = st + {'1', '2'} WHERE k = 'a' AND c = 'b'", &[]),
            ("UPDATE ks.t SET st = st + {'1', '2', '3', '4'} WHERE k = 'a' AND c = 'b'", &["st items 4", "st size 84"]),
            ("UPDATE ks.t SET st = st - {'1', '2', '3', '4', 'W'} WHERE k = 'a' AND c = 'b'", &["st value 17"]),
            ("UPDATE ks.t SET st = st - {'R'} WHERE k = 'a' AND c = 'b'", &["!st value 33"]),
            ("DELETE st['W'] FROM ks.t WHERE k = 'a' AND c = 'b'", &["st value 17"]),
            (
                "INSERT INTO ks.t (k, c, ss, st) VALUES ('a', 'b', {'1', '2', '3', '4'}, {'1', '2', '3', '4'})",
                &["st items 4", "st size 84", "ss items 4", "ss size 84"],
            ),
            ("INSERT INTO ks.t (k, c, l) VALUES ('a', 'b', ['1', '2'])", &["l size 74"]),
            ("INSERT INTO ks.t (k, c, l) VALUES ('a', 'b', ['1', '2', '3', '4'])", &["l items 4", "!l size 148"]),
            ("INSERT INTO ks.t (k, c, l) VALUES ('a', 'b', ['1', 'W'])", &["l value 17", "l size 90"]),
            ("UPDATE ks.t SET l = l + ['1', '2', '3', '4'] WHERE k = 'a' AND c = 'b'", &["l items 4", "!l size 148"]),
            ("UPDATE ks.t SET l = ['1', '2', '3', '4', '5', '6', '7'] + l WHERE k = 'a' AND c = 'b'", &[]),
            ("UPDATE ks.t SET l = ['W'] + l WHERE k = 'a' AND c = 'b'", &["l value 17"]),
            ("UPDATE ks.t SET l[0] = 'W' WHERE k = 'a' AND c = 'b'", &["l value 17"]),
            ("UPDATE ks.t SET l = l - ['1'] WHERE k = 'a' AND c = 'b'", &[]),
            (
                "UPDATE ks.t SET l = l + ['1', '2'], l = l + ['3', '4'] WHERE k = 'a' AND c = 'b'",
                &["l size 74", "l size 74"],
            ),
            (
                "INSERT INTO ks.t (k, c, m) VALUES ('a', 'b', {'1': '1', '2': '2', '3': '3', '4': '4'})",
                &["m items 4", "m size 88"],
            ),
            ("INSERT INTO ks.t (k, c, m) VALUES ('a', 'b', {'W': 'Wz'})", &["m value 18", "m value 17"]),
            (
                "INSERT INTO ks.t (k, c, m) VALUES ('a', 'b', {'W': '1', 'a': 'W'})",
                &["m value 17", "m value 17", "m size 76"],
            ),
            ("UPDATE ks.t SET m['W'] = 'Wz' WHERE k = 'a' AND c = 'b'", &["m value 18", "m value 17"]),
            ("UPDATE ks.t SET m['W'] = null WHERE k = 'a' AND c = 'b'", &["m value 17"]),
            ("UPDATE ks.t SET m = m - {'W'} WHERE k = 'a' AND c = 'b'", &["m value 17"]),
            ("DELETE m['W'] FROM ks.t WHERE k = 'a' AND c = 'b'", &["m value 17"]),
            ("INSERT INTO ks.t (k, c, u) VALUES ('a', 'b', {a: 'W', b: 1})", &["u value 17"]),
            ("INSERT INTO ks.t (k, c, u) VALUES ('a', 'b', {a: null, b: 1})", &[]),
            ("UPDATE ks.t SET u.a = 'W' WHERE k = 'a' AND c = 'b'", &["u value 17"]),
        ];
        check(&client, statements).await;
    });
}

#[test]
fn batches_conditions_and_prepared_statements() {
    let folder = Folder::new("guarded-batched-values");
    run_guarded(folder.path(), 2, &rails(), |client| async move {
        tables(&client).await;
        let statements: &[(&str, &[&str])] = &[
            (
                "BEGIN BATCH INSERT INTO ks.t (k, c, v) VALUES ('a', 'b', 'W'); INSERT INTO ks.t (k, c, v) VALUES ('a', 'c', 'Wz') USING TIMESTAMP 5; APPLY BATCH",
                &["v value 17", "v value 18"],
            ),
            (
                "BEGIN BATCH INSERT INTO ks.t (k, c, v) VALUES ('z', 'b', 'W'); INSERT INTO ks.t (k, c, v) VALUES ('z', 'c', 'R'); APPLY BATCH",
                &["v value 17", "!v value 33"],
            ),
            (
                "BEGIN BATCH INSERT INTO ks.t (k, c, v) VALUES ('y', 'b', 'W') IF NOT EXISTS; INSERT INTO ks.t (k, c, v) VALUES ('y', 'c', 'Wz'); APPLY BATCH",
                &["v value 17", "v value 18"],
            ),
            (
                "BEGIN BATCH INSERT INTO ks.t (k, c, v) VALUES ('y', 'b', 'W') IF NOT EXISTS; INSERT INTO ks.t (k, c, v) VALUES ('y', 'c', 'Wz'); APPLY BATCH",
                &[],
            ),
            ("INSERT INTO ks.t (k, c, v) VALUES ('q', 'q', 'W') IF NOT EXISTS", &["v value 17"]),
            ("INSERT INTO ks.t (k, c, v) VALUES ('q', 'q', 'W') IF NOT EXISTS", &[]),
            ("UPDATE ks.t SET v = 'R' WHERE k = 'q' AND c = 'q' IF v = 'W'", &["!v value 33"]),
            ("UPDATE ks.t SET v = '1' WHERE k = 'q' AND c = 'q' IF v = 'R'", &[]),
        ];
        check(&client, statements).await;
        let written = client.query("SELECT n FROM ks.t WHERE k = 'z'").await;
        assert_eq!(ints(&written), [0; 0], "a batch that is refused writes nothing");

        let text = format!(
            "BEGIN BATCH INSERT INTO ks.t (k, c, v) VALUES ('z', 'b', '{WARNED}'); INSERT INTO ks.t (k, c, v) VALUES ('z', 'c', 'b') USING TTL -3; APPLY BATCH"
        );
        let mut expected = vec!["! A TTL must be greater or equal to 0, but was -3".to_owned()];
        expected.extend(all_words(&["v value 17"]));
        assert_eq!(said(&client.query(&text).await), expected, "what goes wrong later is warned of too");

        let insert = client.prepare("INSERT INTO ks.t (k, c, v) VALUES (?, ?, ?)").await;
        let ask = async |value: &str| {
            let values = [Value::Bytes(b"a"), Value::Bytes(b"b"), Value::Bytes(value.as_bytes())];
            said(&client.execute_values(&insert.id, &values).await)
        };
        assert_eq!(ask("short").await, [""; 0]);
        assert_eq!(ask(WARNED).await, all_words(&["v value 17"]));
        assert_eq!(ask(REFUSED).await, all_words(&["!v value 33"]));

        // The same in a batch message, of which the second statement is wrong or conditional.
        let timed = client.prepare("INSERT INTO ks.t (k, c, v) VALUES ('z', 'd', ?) USING TTL ?").await;
        let conditional = client.prepare("UPDATE ks.t SET v = ? WHERE k = 'a' AND c = ? IF v = 'short'").await;
        let (a, b, long) = (Value::Bytes(b"a"), Value::Bytes(b"b"), Value::Bytes(WARNED.as_bytes()));
        let batch = async |second: &[u8], values: [Value<'_>; 2]| {
            let statements =
                [(BatchQuery::Prepared(&insert.id), &[a, b, long][..]), (BatchQuery::Prepared(second), &values[..])];
            said(&client.batch(BatchKind::Logged, &statements).await)
        };
        assert_eq!(batch(&timed.id, [long, Value::Bytes(&(-3i32).to_be_bytes())]).await, expected);
        assert_eq!(ask("short").await, [""; 0]);
        assert_eq!(batch(&conditional.id, [long, b]).await, all_words(&["v value 17", "v value 17"]));
        assert_eq!(batch(&conditional.id, [long, b]).await, [""; 0], "what does not hold writes nothing");
    });
}

/// What Cassandra says of windows whose rows have no end; the blank at the end is its own.
fn windows(which: &str) -> String {
    format!(
        "Guardrail zero_ttl_on_twcs violated: 0 default_time_to_live on a table with TimeWindowCompactionStrategy compaction strategy is not {which}. It is suspicious to use default_time_to_live set to 0 with such compaction strategy. Please keep in mind that data will not start to automatically expire after they are older than a respective compaction window unit of a certain size. Please set TTL for your INSERT or UPDATE statements if you expect data to be expired as table settings will not do it. "
    )
}

#[test]
fn windows_without_an_end() {
    let folder = Folder::new("guarded-windows");
    let rails = Guardrails { zero_ttl_on_twcs_warned: true, ..Guardrails::default() };
    run_guarded(folder.path(), 1, &rails, |client| async move {
        must(&client, KEYSPACE).await;
        let with = "WITH compaction = {'class': 'TimeWindowCompactionStrategy'}";
        let full = "WITH compaction = {'class': 'org.apache.cassandra.db.compaction.TimeWindowCompactionStrategy'}";
        for (text, error, is_warned) in [
            (format!("CREATE TABLE ks.a (k int PRIMARY KEY) {with}"), None, true),
            (
                format!("CREATE TABLE ks.a (k int PRIMARY KEY) {with}"),
                Some("Cannot add already existing table \"a\" to keyspace \"ks\""),
                true,
            ),
            (format!("CREATE TABLE IF NOT EXISTS ks.a (k int PRIMARY KEY) {full}"), None, true),
            (format!("CREATE TABLE ks.b (k int PRIMARY KEY) {with} AND default_time_to_live = 60"), None, false),
            ("CREATE TABLE ks.c (k int PRIMARY KEY)".to_owned(), None, false),
            ("ALTER TABLE ks.a WITH comment = 'x'".to_owned(), None, false),
            ("ALTER TABLE ks.b WITH default_time_to_live = 0".to_owned(), None, false),
            ("ALTER TABLE ks.a WITH default_time_to_live = 60".to_owned(), None, false),
            (format!("ALTER TABLE ks.a {with}"), None, true),
            (format!("ALTER TABLE ks.a {with} AND default_time_to_live = 60"), None, false),
            (format!("ALTER TABLE ks.c {with} AND default_time_to_live = 0"), None, true),
            (format!("ALTER TABLE ks.nono {with}"), Some("Table 'ks.nono' doesn't exist"), true),
            (
                format!("CREATE TABLE ks.d (k int PRIMARY KEY) {with} AND default_time_to_live = -3"),
                Some("default_time_to_live must be greater than or equal to 0 (got -3)"),
                false,
            ),
        ] {
            let error = error.map(|error| format!("! {error}"));
            let warning = is_warned.then(|| windows("recommended"));
            let expected: Vec<String> = error.into_iter().chain(warning).collect();
            assert_eq!(said(&client.query(&text).await), expected, "{text}");
        }
    });
    let folder = Folder::new("guarded-windows-off");
    let rails = Guardrails { zero_ttl_on_twcs_enabled: false, ..Guardrails::default() };
    run_guarded(folder.path(), 1, &rails, |client| async move {
        must(&client, KEYSPACE).await;
        let text = "CREATE TABLE ks.a (k int PRIMARY KEY) WITH compaction = {'class': 'TimeWindowCompactionStrategy'}";
        let refused = windows("allowed");
        assert_eq!(said(&client.query(text).await), [format!("! {refused}"), refused]);
    });
}
