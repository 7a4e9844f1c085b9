//! Long requests of honest clients: whatever one asks for, no poll of the shard takes over 5 ms, and others are answered meanwhile.

mod client;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use client::{BATCH, Client, EXECUTE, QUERY, Wire};
use helenus_tests::{Builder, Connection, Random, Server, tell_time};

/// What a neighbour's request may take in the middle: the machine has two cores, of which the test's client takes one and a half.
const NEIGHBOUR_MEDIAN_AIM: Duration = Duration::from_millis(5);

/// So many shards, and a schema.
fn start(shards: u16) -> Server {
    // As a Cassandra must be configured that takes batches of tens of thousands of partitions.
    let batches = "batch_size_fail_threshold: 64MiB\n";
    let server = Builder::new("uring", shards).configured(batches).with(&["--memory", "2G"]).start();
    let mut client = Client::connect(&server.address(), Wire::V4);
    for text in [
        "CREATE KEYSPACE long WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE long.t (k int PRIMARY KEY, v blob, s text)",
        "CREATE TABLE long.r (k int, c int, v text, PRIMARY KEY (k, c))",
        "CREATE TABLE long.s (k int, a int, b blob, PRIMARY KEY (k, a, b))",
        "CREATE TABLE long.d (k int, c decimal, PRIMARY KEY (k, c))",
    ] {
        client.query(text);
    }
    server
}

/// [`long_on`] one shard, so that whatever is long stands in everybody's way.
fn long(what: &str, work: impl FnOnce(&str)) {
    long_on(1, what, work);
}

/// Runs `work` against a server while a neighbour asks for small things all along. Then the server's log must be clean.
fn long_on(shards: u16, what: &str, work: impl FnOnce(&str)) {
    let server = start(shards);
    let address = server.address();
    let over = AtomicBool::new(false);
    let mut times = std::thread::scope(|scope| {
        let neighbour = scope.spawn(|| neighbour(&address, &over));
        // The neighbour must be heard before anything long begins.
        std::thread::sleep(Duration::from_millis(50));
        let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&address)));
        over.store(true, Ordering::Relaxed);
        let times = neighbour.join().expect("the neighbour is served throughout");
        worked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        times
    });
    times.sort_unstable();
    let (median, slowest) = (times[times.len() / 2], times[times.len() - 1]);
    println!("{what}: {} requests of the neighbour, the slowest {slowest:?}", times.len());
    tell_time(&format!("a neighbour's requests, median, beside: {what}"), median, NEIGHBOUR_MEDIAN_AIM);
    println!("  {}", stopped(server));
}

/// Stops the server, judges its log, and gives the line about its longest poll.
fn stopped(server: Server) -> String {
    let lines = server.lines_after_stop();
    let served = lines.into_iter().find(|line| line.contains("longest_poll_micros"));
    let served = served.expect("a shard tells at its end how long its polls were");
    served.split_once("stalls_over_1ms").map_or(served.clone(), |(_, rest)| format!("stalls_over_1ms{rest}"))
}

fn neighbour(address: &str, over: &AtomicBool) -> Vec<Duration> {
    let mut connection = Connection::start(address).expect("a neighbour gets in");
    let mut times = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        connection.query("SELECT v FROM long.t WHERE k = 0").expect("a small request is answered");
        times.push(began.elapsed());
        std::thread::sleep(Duration::from_millis(1));
    }
    times
}

/// The blob of a result with one row of one column.
fn only_value(reply: &[u8], length: usize) -> &[u8] {
    let (head, value) = reply.split_at(reply.len() - length);
    assert!(head.ends_with(&u32::try_from(length).expect("a value").to_be_bytes()), "one value of {length} bytes");
    value
}

#[test]
fn values_of_many_mebibytes() {
    for wire in Wire::ALL {
        long(&format!("values, {wire:?}"), |address| {
            let mut client = Client::connect(address, wire);
            let insert = client.prepare("INSERT INTO long.t (k, v) VALUES (?, ?)");
            let text = client.prepare("INSERT INTO long.t (k, s) VALUES (?, ?)");
            let select = client.prepare("SELECT v FROM long.t WHERE k = ?");
            let mut random = Random::new(7);
            for (key, mebibytes) in [(1i32, 1usize), (2, 3), (3, 8), (2, 8), (2, 1)] {
                // Half of it compresses.
                let mut value = random.bytes(mebibytes << 19);
                value.resize(mebibytes << 20, 7);
                let body = client.execute_body(&insert, &[&key.to_be_bytes(), &value]);
                client.must(EXECUTE, &body);
                let body = client.execute_body(&select, &[&key.to_be_bytes()]);
                let reply = client.must(EXECUTE, &body);
                assert!(only_value(&reply, value.len()) == value, "{mebibytes} MiB come back as they were");
                let letters = "ü".repeat(mebibytes << 18);
                // Another row: what is merged with a row of many mebibytes copies it.
                let body = client.execute_body(&text, &[&(key + 100).to_be_bytes(), letters.as_bytes()]);
                client.must(EXECUTE, &body);
            }
            // More than the log takes: refused, and nothing else happens.
            let value = vec![7; 40 << 20];
            let body = client.execute_body(&insert, &[&1i32.to_be_bytes(), &value]);
            assert_eq!(client.ask(EXECUTE, &body).opcode, 0);
        });
    }
}

#[test]
fn values_of_many_mebibytes_from_other_shards() {
    long_on(2, "values from other shards", |address| {
        let mut client = Client::connect(address, Wire::V5);
        let insert = client.prepare("INSERT INTO long.t (k, v) VALUES (?, ?)");
        let by_key = client.prepare("SELECT v FROM long.t WHERE k = ?");
        let value = Random::new(7).bytes(14 << 20);
        // Of four keys each shard has some, whichever shard the client is on.
        for key in 1i32..5 {
            let body = client.execute_body(&insert, &[&key.to_be_bytes(), &value]);
            client.must(EXECUTE, &body);
        }
        for key in 1i32..5 {
            let body = client.execute_body(&by_key, &[&key.to_be_bytes()]);
            let reply = client.must(EXECUTE, &body);
            assert!(only_value(&reply, value.len()) == value, "it comes back as it was");
        }
        // A scan asks both shards for pages, its own too.
        let scan = client.prepare("SELECT v FROM long.t LIMIT 1");
        let body = client.execute_body(&scan, &[]);
        let reply = client.must(EXECUTE, &body);
        assert!(only_value(&reply, value.len()) == value, "it comes back as it was");
    });
}

#[test]
fn batches_of_many_rows() {
    long("batches", |address| {
        let mut client = Client::connect(address, Wire::V5);
        let partitions = client.prepare("INSERT INTO long.t (k, v) VALUES (?, ?)");
        let rows = client.prepare("INSERT INTO long.r (k, c, v) VALUES (?, ?, ?)");
        let number = |number: usize| i32::try_from(number).expect("small").to_be_bytes().to_vec();
        for round in 0..3 {
            let batch: Vec<_> =
                (0..60_000).map(|row| vec![number(row + round), b"a value of some bytes".to_vec()]).collect();
            let body = client.batch_body(&partitions.0, &batch);
            client.must(BATCH, &body);
            let batch: Vec<_> = (0..60_000).map(|row| vec![number(1), number(row), b"a value".to_vec()]).collect();
            let body = client.batch_body(&rows.0, &batch);
            client.must(BATCH, &body);
        }
        let reply = client.query("SELECT COUNT(*) FROM long.r WHERE k = 1");
        assert!(reply.ends_with(&60_000u64.to_be_bytes()), "all rows of a batch are there");
    });
}

#[test]
fn texts_of_many_terms() {
    long("texts", |address| {
        let mut client = Client::connect(address, Wire::V4);
        let list = |count: usize| (0..count).map(|n| (n % 10).to_string()).collect::<Vec<_>>().join(",");
        for count in [1_000, 9_000, 50_000, 500_000] {
            let text = format!("SELECT v FROM long.t WHERE k IN ({})", list(count));
            let body = client.query_body(&text, &[]);
            client.ask(QUERY, &body);
            let text = format!("INSERT INTO long.t (k, v) VALUES (1, {{{}}})", list(count));
            let body = client.query_body(&text, &[]);
            client.ask(QUERY, &body);
            let text = format!("SELECT {} FROM long.t", vec!["v"; count].join(","));
            let body = client.query_body(&text, &[]);
            client.ask(QUERY, &body);
            let relations = vec!["k = 1"; count].join(" AND ");
            let body = client.query_body(&format!("SELECT v FROM long.t WHERE {relations}"), &[]);
            client.ask(QUERY, &body);
        }
        let inserts: String =
            (0..10_000).map(|n| format!("INSERT INTO long.r (k, c, v) VALUES (5, {n}, 'v{n}');")).collect();
        client.query(&format!("BEGIN UNLOGGED BATCH {inserts} APPLY BATCH"));
        let reply = client.query("SELECT COUNT(*) FROM long.r WHERE k = 5");
        assert!(reply.ends_with(&10_000u64.to_be_bytes()), "all rows of the text are there");
        for (length, is_taken) in [(500_000, true), (7_000_000, true), (9_000_000, false)] {
            let hex =
                client.query_body(&format!("INSERT INTO long.t (k, v) VALUES (9, 0x{})", "ab".repeat(length)), &[]);
            assert_eq!(client.ask(QUERY, &hex).opcode != 0, is_taken);
            let text =
                client.query_body(&format!("INSERT INTO long.t (k, s) VALUES (9, '{}')", "ü".repeat(length)), &[]);
            assert_eq!(client.ask(QUERY, &text).opcode != 0, is_taken);
        }
    });
}

#[test]
fn in_relations_of_ten_thousand_values() {
    long("IN", |address| {
        let mut client = Client::connect(address, Wire::V5);
        let select = client.prepare("SELECT v FROM long.t WHERE k IN ?");
        let rows = client.prepare("SELECT v FROM long.r WHERE k = 1 AND c IN ?");
        let delete = client.prepare("DELETE FROM long.t WHERE k IN ?");
        let slices = client.prepare("UPDATE long.r SET v = 'x' WHERE k = 1 AND c IN ?");
        // Each of ten thousand range tombstones would repeat a bound of 60 kB.
        let ranges = client.prepare("DELETE FROM long.s WHERE k = 1 AND a IN ? AND b > ?");
        let list = |count: i32| -> Vec<u8> {
            let numbers = (0..count).flat_map(|number| [4, number * 7 % count].map(i32::to_be_bytes)).flatten();
            count.to_be_bytes().into_iter().chain(numbers).collect()
        };
        for (bound, is_refused) in [(100, false), (60_000, true)] {
            let body = client.execute_body(&ranges, &[&list(10_000), &vec![7; bound]]);
            assert_eq!(client.ask(EXECUTE, &body).opcode == 0, is_refused, "a bound of {bound} bytes");
        }
        for count in [10_000i32, 50_000, 2_000_000] {
            let list = list(count);
            for id in [&select, &rows, &delete, &slices] {
                let body = client.execute_body(id, &[&list]);
                assert_eq!(client.ask(EXECUTE, &body).opcode == 0, count > 10_000, "{count} values");
            }
        }
    });
}

#[test]
fn numbers_of_many_digits() {
    long("decimals", |address| {
        let mut client = Client::connect(address, Wire::V4);
        let insert = client.prepare("INSERT INTO long.d (k, c) VALUES (1, ?)");
        let mut random = Random::new(3);
        for length in [1_000, 4_000, 65_000] {
            let mut value = 5i32.to_be_bytes().to_vec();
            value.extend(random.bytes(length));
            let body = client.execute_body(&insert, &[&value]);
            assert_eq!(client.ask(EXECUTE, &body).opcode == 0, length > 4_000, "{length} bytes");
            client.query("SELECT c FROM long.d WHERE k = 1");
        }
    });
}

#[test]
fn schemas_of_many_tables() {
    long("system tables", |address| {
        let mut client = Client::connect(address, Wire::V4);
        let columns: String = (0..100).map(|n| format!(", column_with_a_long_name_{n} int")).collect();
        for table in 0..60 {
            client.query(&format!("CREATE TABLE long.many{table} (k int PRIMARY KEY{columns})"));
        }
        for table in ["keyspaces", "tables", "columns"] {
            client.query(&format!("SELECT * FROM system_schema.{table}"));
            client.query(&format!("SELECT * FROM system_schema.{table} WHERE keyspace_name = 'long'"));
        }
        client.query("DESCRIBE SCHEMA");
    });
}

#[test]
fn replies_that_were_sent_are_read_although_the_server_ends() {
    const REPLIES: usize = 10;
    let server = start(1);
    let mut connection = Connection::start(&server.address()).expect("connects");
    let value = "ab".repeat(100 << 10);
    connection.query(&format!("INSERT INTO long.t (k, v) VALUES (1, 0x{value})")).expect("is written");
    let ask = helenus_tests::query_frame(cql_protocol::Version::V4, 1, "SELECT v FROM long.t WHERE k = 1");
    for _ in 0..REPLIES {
        connection.send(&ask).expect("is taken");
    }
    // The replies lie in the sockets' buffers, and nobody reads them yet.
    std::thread::sleep(Duration::from_millis(300));
    let ending = std::thread::spawn(move || server.stop());
    let until = Instant::now() + Duration::from_millis(300);
    while Instant::now() < until {
        // Refused while the server drains, dropped after; a socket that is gone would say so below.
        let _ = connection.send(&ask);
        std::thread::sleep(Duration::from_millis(1));
    }
    let (mut large, mut end) = (0, None);
    while end.is_none() {
        match connection.receive() {
            Ok(frame) => large += usize::from(frame.body.len() > value.len() / 2),
            Err(error) => end = Some(error.kind()),
        }
    }
    drop(connection);
    ending.join().expect("the server ends well");
    assert!(large >= REPLIES, "{large} of {REPLIES} replies came");
    assert_eq!(end, Some(std::io::ErrorKind::UnexpectedEof), "the end is an end, not a reset");
}
