//! The audit log of a node: what is in it, what never is, and what happens when its queue is full or its disk fails.

use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cql_protocol::request::{BatchBuilder, BatchKind, BatchQuery, ValuesBuffer};
use cql_protocol::{Consistency, QueryParams, Request, Version};
use helenus_tests::{Builder, Connection, Server, http, nodetool, query_frame};
use serde_json::Value;

use super::password;

const ALL: &str = "QUERY,DML,DDL,DCL,AUTH,ERROR,PREPARE,OTHER";

fn configured(shards: u16, authenticator: &str, options: &str) -> Builder {
    let options: String = options.lines().map(|line| format!("  {}\n", line.trim())).collect();
    let file = format!("authenticator: {authenticator}\naudit_logging_options:\n  enabled: true\n{options}");
    Builder::new("uring", shards).configured(&file)
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let Ok(found) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut files: Vec<PathBuf> = found.map(|entry| entry.expect("it is there").path()).collect();
    files.sort();
    files
}

fn text(dir: &Path) -> String {
    files(dir).iter().map(|file| std::fs::read_to_string(file).expect("it is UTF-8")).collect()
}

/// The entries, each of which must be an object with the keys that all have.
fn entries(dir: &Path) -> Vec<Value> {
    let entry = |line: &str| {
        let entry: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for key in ["timestamp", "type", "category", "user", "host"] {
            assert!(entry[key].is_string(), "{line}");
        }
        entry
    };
    text(dir).lines().map(entry).collect()
}

/// Waits for so many entries that the condition holds for.
fn wait_for(dir: &Path, count: usize, is_one: impl Fn(&Value) -> bool) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        // The last line may be half written.
        let text = text(dir);
        let whole = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        let found: Vec<Value> = whole.filter(|entry| is_one(entry)).collect();
        if found.len() >= count {
            return found;
        }
        assert!(Instant::now() < deadline, "{} of {count} entries came:\n{text}", found.len());
        std::thread::yield_now();
    }
}

fn of<'e>(entry: &'e Value, key: &str) -> &'e str {
    entry[key].as_str().unwrap_or_default()
}

fn described(entry: &Value) -> String {
    let keys = ["type", "user", "keyspace", "scope", "operation"];
    keys.map(|key| of(entry, key).to_owned()).join("|")
}

fn batch(texts: &[&str], id: &[u8], values: &ValuesBuffer) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for text in texts {
        builder.push(BatchQuery::Text(text), ValuesBuffer::new().values()).expect("a few");
    }
    builder.push(BatchQuery::Prepared(id), values.values()).expect("a few");
    let params = QueryParams::new(Consistency::One);
    let mut frame = Vec::new();
    Request::Batch(builder.batch(BatchKind::Unlogged, params)).encode_frame(Version::V4, 1, &mut frame);
    frame
}

#[test]
fn each_request_and_login_has_its_entry() {
    let builder = configured(2, "PasswordAuthenticator", &format!("included_categories: {ALL}"));
    let server = builder.start();
    let (address, secret) = (server.address(), password(&builder));
    assert!(Connection::open(&address).expect("connects").logged_in("cassandra", "wrong").is_err());
    let mut ada = Connection::open(&address).expect("connects").logged_in("cassandra", &secret).expect("it is right");
    for statement in [
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "USE ks",
        "CREATE TABLE t (k int PRIMARY KEY, v int)",
        "INSERT INTO ks.t (k, v) VALUES (1, 2)",
        "SELECT * FROM t WHERE k = 1",
        "SELECT * FROM system.local",
        "BEGIN BATCH INSERT INTO t (k) VALUES (3) APPLY BATCH",
        "CREATE ROLE bob WITH LOGIN = true AND PASSWORD = 'secret-of-bob'",
        "LIST ROLES",
    ] {
        ada.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    let id = ada.prepare("UPDATE t SET v = 1 WHERE k = ?").expect("it is right");
    ada.execute(&id, &[&[0, 0, 0, 7]]).expect("it is right");
    let mut values = ValuesBuffer::new();
    values.push(cql_protocol::request::Value::Bytes(&[0, 0, 0, 8])).expect("one");
    let answer = ada.ask(&batch(&["DELETE FROM ks.t WHERE k = 1"], &id, &values)).expect("is answered");
    assert_eq!(answer.opcode, 0x08, "{answer:?}");
    assert!(ada.query("SELECT FROM").is_err() && ada.execute(&[7; 16], &[]).is_err());
    let mut bob = Connection::open(&address).expect("connects").logged_in("bob", "secret-of-bob").expect("it is right");
    assert!(bob.query("SELECT * FROM ks.t").is_err());
    let socket = UnixStream::connect(builder.data().join("maintenance").join("cql.m")).expect("it listens");
    let mut owner = Connection::over(socket).greeted().expect("is served");
    owner.query("TRUNCATE ks.t").expect("the owner may");
    drop((ada, bob, owner));
    server.stop();

    let dir = builder.data().join("audit");
    let entries = entries(&dir);
    let found: Vec<String> = entries.iter().map(described).collect();
    let expected = [
        "LOGIN_ERROR|cassandra|||LOGIN FAILURE",
        "LOGIN_SUCCESS|cassandra|||LOGIN SUCCESSFUL",
        "CREATE_KEYSPACE|cassandra|ks||CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "USE_KEYSPACE|cassandra|ks||USE ks",
        "CREATE_TABLE|cassandra|ks|t|CREATE TABLE t (k int PRIMARY KEY, v int)",
        "UPDATE|cassandra|ks|t|INSERT INTO ks.t (k, v) VALUES (1, 2)",
        "SELECT|cassandra|ks|t|SELECT * FROM t WHERE k = 1",
        "BATCH|cassandra|||BEGIN BATCH INSERT INTO t (k) VALUES (3) APPLY BATCH",
        "CREATE_ROLE|cassandra|||CREATE ROLE bob WITH LOGIN = true AND PASSWORD = '*******'",
        "LIST_ROLES|cassandra|||LIST ROLES",
        "PREPARE_STATEMENT|cassandra|ks|t|UPDATE t SET v = 1 WHERE k = ?",
        "UPDATE|cassandra|ks|t|UPDATE t SET v = 1 WHERE k = ?",
        "BATCH|cassandra|||BATCH of [2] statements",
        "DELETE|cassandra|ks|t|DELETE FROM ks.t WHERE k = 1",
        "UPDATE|cassandra|ks|t|UPDATE t SET v = 1 WHERE k = ?",
        "REQUEST_FAILURE|cassandra|ks||SELECT FROM",
        "REQUEST_FAILURE|cassandra|||",
        "LOGIN_SUCCESS|bob|||LOGIN SUCCESSFUL",
        "UNAUTHORIZED_ATTEMPT|bob|ks|t|SELECT * FROM ks.t",
        "LOGIN_SUCCESS|system|||LOGIN SUCCESSFUL",
        "TRUNCATE|system|ks|t|TRUNCATE ks.t",
    ];
    assert_eq!(found, expected);
    let batched: Vec<&str> = entries.iter().map(|entry| of(entry, "batch")).filter(|batch| !batch.is_empty()).collect();
    assert!(batched.len() == 3 && batched.iter().all(|batch| *batch == batched[0]), "{batched:?}");
    let prepared = entries.iter().filter(|entry| !of(entry, "prepared").is_empty()).count();
    assert_eq!(prepared, 4, "PREPARE, EXECUTE, the batch's, and the unknown one");
    assert!(of(&entries[0], "error").contains("are incorrect") && of(&entries[18], "error").contains("SELECT"));
    assert!(entries[1]["source_port"].is_u64() && entries[19]["source"].is_null());
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").mode() & 0o7777;
    assert_eq!((mode(&dir), mode(&files(&dir)[0])), (0o700, 0o600));
}

#[test]
fn a_prepared_statement_has_its_whole_text() {
    let builder = configured(1, "PasswordAuthenticator", &format!("included_categories: {ALL}"));
    let server = builder.start();
    let secret = password(&builder);
    let mut client =
        Connection::open(&server.address()).expect("connects").logged_in("cassandra", &secret).expect("it is right");
    client
        .query("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        .expect("made");
    client.query("CREATE TABLE ks.t (k text PRIMARY KEY)").expect("made");
    let of_length = |length: usize| format!("SELECT k FROM ks.t /* {} */ WHERE k = ?", "x".repeat(length));
    let (long, longer) = (of_length(3000), of_length(70_000));
    for text in [&long, &longer] {
        let id = client.prepare(text).expect("it is right");
        client.execute(&id, &[b"local"]).expect("it is right");
    }
    drop(client);
    server.stop();
    let entries = entries(&builder.data().join("audit"));
    let executed: Vec<&serde_json::Value> = entries.iter().filter(|entry| of(entry, "type") == "SELECT").collect();
    assert_eq!(executed.len(), 2, "{executed:?}");
    assert_eq!(of(executed[0], "operation"), long);
    assert!(executed[0]["operation_bytes"].is_null());
    assert_eq!(of(executed[1], "operation"), &longer[..64 << 10]);
    assert_eq!(executed[1]["operation_bytes"].as_u64(), u64::try_from(longer.len()).ok());
}

#[test]
fn no_password_is_in_it_in_any_form() {
    const SECRET: &str = "Tr0ub4dor";
    let builder = configured(1, "PasswordAuthenticator", &format!("included_categories: {ALL}"));
    let server = builder.start();
    let secret = password(&builder);
    let mut client =
        Connection::open(&server.address()).expect("connects").logged_in("cassandra", &secret).expect("it is right");
    let hash = format!("$2a$10${SECRET}{}", "x".repeat(53 - SECRET.len()));
    let mut roles = 0;
    let mut role = || {
        roles += 1;
        format!("r{roles}")
    };
    for statement in [
        format!("CREATE ROLE {} WITH PASSWORD = '{SECRET}' AND LOGIN = true", role()),
        format!("CREATE USER {} WITH PASSWORD '{SECRET}' NOSUPERUSER", role()),
        format!("ALTER ROLE r1 WITH PASSWORD = $${SECRET}$$"),
        format!("ALTER USER r2 WITH PASSWORD '{SECRET}'"),
        format!("ALTER ROLE r1 WITH HASHED PASSWORD = '{hash}'"),
        format!("ALTER ROLE missing WITH PASSWORD = '{SECRET}'"),
        format!("CREATE ROLE x WITH PASSWORD = '{SECRET}' AND AND"),
        format!("CREATE ROLE x WITH PASSWORD = '{SECRET}"),
        format!("CREATE ROLE x WITH PASSWORD '{SECRET}'"),
        format!("CREATE ROLE x WITH PASSWORD = \"{SECRET}\""),
        format!("CREATE ROLE x WITH PASSWORD = {SECRET}"),
        format!("BEGIN BATCH ALTER USER r2 WITH PASSWORD '{SECRET}'; APPLY BATCH"),
        format!("CREATE ROLE x WITH OPTIONS = {{'password': '{SECRET}'}} AND LOGIN = true"),
        format!("ALTER ROLE r1 WITH OPTIONS = {{'key': '{SECRET}' AND"),
    ] {
        let _ = client.query(&statement);
        let mut frame = Vec::new();
        let prepare = cql_protocol::request::Prepare { text: &statement, keyspace: None };
        Request::Prepare(prepare).encode_frame(Version::V4, 1, &mut frame);
        let _ = client.ask(&frame).expect("is answered");
        let _ = client.ask(&batch(&[&statement], &[1; 16], &ValuesBuffer::new())).expect("is answered");
    }
    let id = client.prepare(&format!("ALTER ROLE r1 WITH PASSWORD = '{SECRET}'")).expect("it is right");
    client.execute(&id, &[]).expect("it is right");
    drop(client);
    let lines = server.lines_after_stop();
    assert!(lines.iter().all(|line| !line.contains(SECRET)));
    let dir = builder.data().join("audit");
    let text = text(&dir);
    assert!(!text.contains(SECRET) && !text.contains(&secret), "{text}");
    let entries = entries(&dir);
    let altered = entries.iter().filter(|entry| of(entry, "type") == "ALTER_ROLE").count();
    assert!(altered >= 3, "of both roles, and the prepared one:\n{text}");
}

#[test]
fn names_and_texts_of_clients_make_no_lines() {
    let builder = configured(1, "PasswordAuthenticator", &format!("included_categories: {ALL}"));
    let server = builder.start();
    let forged = "x\"}\n{\"type\":\"LOGIN_SUCCESS\",\"user\":\"cassandra\"}\r\n\u{85}\u{2028}\u{1b}[2J\0";
    let name = forged.replace('\0', "");
    assert!(Connection::open(&server.address()).expect("connects").logged_in(&name, "y").is_err());
    let mut client = Connection::open(&server.address())
        .expect("connects")
        .logged_in("cassandra", &password(&builder))
        .expect("it is right");
    assert!(client.query(&format!("SELECT {forged}")).is_err());
    client.query(&format!("SELECT key FROM system.local WHERE key = '{}'", forged.replace('\'', ""))).expect("no row");
    assert!(client.query(&format!("SELECT * FROM \"{}\"", forged.replace('"', "\"\""))).is_err());
    drop(client);
    server.stop();
    let entries = entries(&builder.data().join("audit"));
    let kinds: Vec<&str> = entries.iter().map(|entry| of(entry, "type")).collect();
    assert_eq!(kinds, ["LOGIN_ERROR", "LOGIN_SUCCESS", "REQUEST_FAILURE", "REQUEST_FAILURE"], "system is left out");
    assert_eq!(of(&entries[0], "user"), name);
    assert_eq!(of(&entries[2], "operation"), format!("SELECT {forged}"));
}

/// A node without logins that audits what its clients write, and a table.
fn flooded(options: &str) -> (Builder, Server) {
    let builder =
        configured(2, "AllowAllAuthenticator", &format!("included_categories: DML\n{options}")).for_operators();
    let server = builder.start();
    let mut client = Connection::start(&server.address()).expect("connects");
    for statement in [
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE ks.t (k int PRIMARY KEY)",
    ] {
        client.query(statement).expect("it is right");
    }
    (builder, server)
}

/// Sends so many INSERTs at once on each of some connections, and reads all answers.
fn flood(server: &Server, connections: usize, each: usize) {
    std::thread::scope(|scope| {
        for number in 0..connections {
            scope.spawn(move || {
                let mut client = Connection::start(&server.address()).expect("connects");
                let frame = |at: usize| {
                    let text = format!("INSERT INTO ks.t (k) VALUES ({})", number * each + at);
                    query_frame(Version::V4, i16::try_from(at % 1000).expect("small"), &text)
                };
                let frames: Vec<u8> = (0..each).flat_map(frame).collect();
                client.send(&frames).expect("is sent");
                for _ in 0..each {
                    assert_eq!(client.receive().expect("is answered").opcode, 0x08);
                }
            });
        }
    });
}

fn metric(server: &Server, name: &str) -> u64 {
    let body = http(server.metrics_port, "GET", "/metrics").expect("is answered").body;
    let line = body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.expect("the metric is there").parse().expect("a count")
}

fn is_update(entry: &Value) -> bool {
    of(entry, "type") == "UPDATE"
}

#[test]
fn with_block_a_flood_over_a_tiny_queue_loses_nothing_and_files_roll() {
    let (builder, server) = flooded("max_queue_weight: 2000\nmax_log_size: 100000000");
    flood(&server, 4, 400);
    server.stop();
    let dir = builder.data().join("audit");
    let entries = entries(&dir);
    let mut texts: Vec<&str> = entries.iter().map(|entry| of(entry, "operation")).collect();
    assert_eq!(texts.len(), 1600);
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), 1600, "each once");

    // The next start keeps them, and those of a smaller log go, the oldest first.
    let before = files(&dir);
    let server = builder.start();
    flood(&server, 1, 10);
    server.stop();
    let after = files(&dir);
    assert!(after.starts_with(&before) && after.len() == before.len() + 1, "{after:?}");
    let smaller = "authenticator: AllowAllAuthenticator\naudit_logging_options:\n  enabled: true\n  included_categories: DML\n  max_log_size: 80000\n";
    let server = builder
        .clone()
        .configured(smaller)
        .with_only(&["--config", builder.folder().join("helenus.yaml").to_str().expect("a path")])
        .start();
    flood(&server, 1, 1000);
    // Of those that were sent at once some may have waited for others.
    let mut client = Connection::start(&server.address()).expect("connects");
    client.query("INSERT INTO ks.t (k) VALUES (4711)").expect("it is right");
    server.stop();
    let left = files(&dir);
    let bytes: u64 = left.iter().map(|file| std::fs::metadata(file).expect("it is there").len()).sum();
    assert!(bytes <= 80_000 && left.len() > 4 && !left.contains(&before[0]), "{bytes} {left:?}");
    assert!(text(&dir).contains("VALUES (4711)"), "the newest is there");
}

/// A disk of the audit log that fails: the path of its folder is a file.
#[test]
fn without_block_what_finds_the_queue_full_is_dropped_and_counted() {
    let (builder, server) = flooded("max_queue_weight: 1\nblock: false");
    let dir = builder.data().join("audit");
    std::fs::write(&dir, "in the way").expect("the folder can be written");
    flood(&server, 1, 100);
    assert_eq!(metric(&server, "helenus_audit_log_entries_dropped_total"), 99, "one waits");
    assert_eq!(metric(&server, "helenus_audit_log_entries_total"), 0);
    std::fs::remove_file(&dir).expect("it is ours");
    wait_for(&dir, 1, is_update);
    let lines = server.kill_without_judging();
    let of_log = |words: &str| lines.iter().filter(|line| line.contains(words)).count();
    assert_eq!(of_log("cannot write the audit log"), 1, "one line a minute");
}

#[test]
fn with_block_a_disk_that_fails_holds_up_who_is_audited_and_no_other() {
    let (builder, server) = flooded("max_queue_weight: 1");
    let dir = builder.data().join("audit");
    std::fs::write(&dir, "in the way").expect("the folder can be written");
    let mut writer = Connection::start(&server.address()).expect("connects");
    writer.query("INSERT INTO ks.t (k) VALUES (0)").expect("its entry waits");
    writer.send(&query_frame(Version::V4, 1, "INSERT INTO ks.t (k) VALUES (1)")).expect("is sent");
    let mut reader = Connection::start(&server.address()).expect("connects");
    let deadline = Instant::now() + Duration::from_secs(60);
    while metric(&server, "helenus_audit_log_write_failures_total") < 2 {
        assert!(Instant::now() < deadline, "writing is tried again");
        std::thread::yield_now();
    }
    for _ in 0..20 {
        reader.query("SELECT key FROM system.local").expect("a SELECT is not audited");
    }
    let rows = reader.query("SELECT count(*) FROM ks.t").expect("a SELECT is not audited");
    assert!(rows.body.ends_with(&1u64.to_be_bytes()), "the second INSERT is not read: {rows:?}");
    std::fs::remove_file(&dir).expect("it is ours");
    assert_eq!(writer.receive().expect("goes on").opcode, 0x08);
    assert_eq!(wait_for(&dir, 2, is_update).len(), 2, "nothing is lost");
    server.kill_without_judging();
}

#[test]
fn operators_turn_it_on_and_off_and_choose() {
    let builder = Builder::new("uring", 2).for_operators();
    let server = builder.start();
    let dir = builder.data().join("audit");
    let shown = nodetool(&server, "getauditlog").output;
    let has = |shown: &str, name: &str, value: &str| {
        let line = shown.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map(str::trim) == Some(value)
    };
    assert!(has(&shown, "enabled", "false") && has(&shown, "logger", "BinAuditLogger"), "{shown}");
    assert!(has(&shown, "excluded_keyspaces", "system,system_schema,system_virtual_schema"), "{shown}");
    assert!(has(&shown, "max_log_size", "17179869184") && has(&shown, "max_queue_weight", "268435456"), "{shown}");
    let mut client = Connection::start(&server.address()).expect("connects");
    let mut run = |statement: &str| drop(client.query(statement));
    run("CREATE KEYSPACE a WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    run("CREATE KEYSPACE b WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    run("CREATE TABLE a.t (k int PRIMARY KEY)");
    run("CREATE TABLE b.t (k int PRIMARY KEY)");
    assert!(files(&dir).is_empty(), "it is off");
    let printed = nodetool(&server, "enableauditlog --included-categories DML --included-keyspaces a --blocking true");
    assert_eq!((printed.code, printed.errors.as_str()), (0, ""));
    for statement in [
        "INSERT INTO a.t (k) VALUES (1)",
        "INSERT INTO b.t (k) VALUES (2)",
        "SELECT * FROM a.t",
        "USE a",
        "INSERT INTO t (k) VALUES (3)",
    ] {
        run(statement);
    }
    assert_eq!(wait_for(&dir, 2, is_update).len(), 2);
    let shown = nodetool(&server, "getauditlog").output;
    assert!(has(&shown, "enabled", "true") && has(&shown, "included_keyspaces", "a"), "{shown}");
    for (wrong, words) in [
        ("enableauditlog --included-categories JMX", "JMX"),
        ("enableauditlog --roll-cycle NEVER", "NEVER"),
        ("enableauditlog --blocking perhaps", "only accepts"),
        ("enableauditlog --archive-command /bin/x", "not supported"),
    ] {
        let printed = nodetool(&server, wrong);
        assert!(printed.code == 1 && printed.errors.contains(words), "{wrong}: {}", printed.errors);
    }
    assert_eq!(nodetool(&server, "disableauditlog").code, 0);
    run("INSERT INTO a.t (k) VALUES (4)");
    assert_eq!(nodetool(&server, "enableauditlog --excluded-categories QUERY,DML,OTHER --excluded-users ada").code, 0);
    run("INSERT INTO a.t (k) VALUES (5)");
    run("TRUNCATE a.t");
    drop(client);
    server.stop();
    let found: Vec<String> = entries(&dir).iter().map(described).collect();
    let expected = [
        "UPDATE|anonymous|a|t|INSERT INTO a.t (k) VALUES (1)",
        "UPDATE|anonymous|a|t|INSERT INTO t (k) VALUES (3)",
        "TRUNCATE|anonymous|a|t|TRUNCATE a.t",
    ];
    assert_eq!(found, expected);
}
