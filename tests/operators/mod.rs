//! What operators are answered: REST by a script of expectations, metrics by a strict reader, and who is kept out.

mod access;
mod cql;
mod roles;
mod script;
mod secure;
mod watching;

use std::collections::BTreeSet;
use std::path::Path;

use helenus_tests::{
    Builder, Connection, HttpAnswer, Server, configurations, http, http_json, http_raw, http_with, pick, prometheus,
    share_of_a_core, tell_share,
};

/// What a scrape or a pulse of the console a second may cost of a core.
const SCRAPE_SHARE_AIM: f64 = 0.01;

fn get(port: u16, path: &str) -> String {
    let answer = http(port, "GET", path).unwrap_or_else(|error| panic!("GET {path}: {error}"));
    assert_eq!(answer.status, 200, "GET {path}: {}", answer.body);
    answer.body
}

#[test]
fn rest_answers_as_the_script_says() {
    for reactor in ["uring", "epoll"] {
        let server = Builder::new(reactor, 2).for_operators().start();
        let mut connection = Connection::start(&server.address()).expect("connects");
        script::run(include_str!("rest.txt"), &server, &mut connection);
        drop(connection);
        server.stop();
    }
}

#[test]
fn metrics_are_prometheus_text_on_both_ports() {
    let server = Builder::new("uring", 2).for_operators().start();
    let mut connection = Connection::start(&server.address()).expect("connects");
    for statement in [
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE k.\"odd\\\"\"name\" (p int PRIMARY KEY)",
        "INSERT INTO k.t (p) VALUES (1)",
    ] {
        // The name is refused, and so is the INSERT: errors are counted too.
        let _ = connection.query(statement);
    }
    connection.query("CREATE TABLE k.t (p int PRIMARY KEY)").expect("a table");
    connection.query("INSERT INTO k.t (p) VALUES (1)").expect("a row");
    connection.query("SELECT * FROM k.t").expect("it is read");
    for port in [server.api_port, server.metrics_port] {
        let answer = http(port, "GET", "/metrics").expect("answers");
        assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);
        let families = prometheus::read(&answer.body).unwrap_or_else(|error| panic!("{error}"));
        let sum = |name: &str, label: (&str, &str)| -> f64 {
            let family = families.values().flat_map(|family| &family.samples).filter(|(sample, _)| sample == name);
            let meant = family.filter(|(_, (labels, _))| {
                label.0.is_empty() || labels.get(label.0).is_some_and(|value| value == label.1)
            });
            meant.map(|(_, (_, value))| value).sum()
        };
        let any = ("", "");
        assert_eq!(sum("helenus_build_info", ("shards", "2")), 1.0);
        assert_eq!(sum("helenus_transport_current_connections", any), 1.0);
        assert_eq!(sum("helenus_memtables_mutations_total", any), 1.0);
        assert_eq!(sum("helenus_table_mutations_total", ("table", "t")), 1.0);
        assert_eq!(sum("helenus_transport_request_latency_seconds_count", ("kind", "range")), 1.0);
        assert_eq!(sum("helenus_transport_request_latency_seconds_count", ("kind", "write")), 1.0);
        assert!(sum("helenus_transport_request_latency_seconds_sum", ("kind", "write")) > 0.0);
        assert!(sum("helenus_transport_errors_total", any) >= 1.0);
        assert!(sum("helenus_reactor_polls_total", ("shard", "1")) > 0.0);
        assert!(sum("process_resident_memory_bytes", any) > 1e6);
        assert_eq!(families.values().filter(|family| family.samples.is_empty()).count(), 0, "families of nothing");
    }
    drop(connection);
    server.stop();
}

#[test]
fn what_a_scrape_a_second_costs() {
    for (reactor, shards) in configurations() {
        let server = Builder::new(reactor, shards).for_operators().start();
        let mut connection = Connection::start(&server.address()).expect("connects");
        connection
            .query("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
            .expect("a keyspace");
        for table in 0..20 {
            connection.query(&format!("CREATE TABLE k.t{table} (p int PRIMARY KEY, v text)")).expect("a table");
            connection.query(&format!("INSERT INTO k.t{table} (p, v) VALUES (1, 'v')")).expect("a row");
        }
        assert_eq!(http(server.api_port, "POST", "/storage_service/flush").expect("answers").status, 200);
        let mut asked = vec![(server.metrics_port, "/metrics")];
        if shards == 2 {
            asked.push((server.api_port, "/helenus/console"));
        }
        for (port, path) in asked {
            get(port, path);
            let share = share_of_a_core(server.pid(), SCRAPE_SHARE_AIM, pick(2, 60), || drop(get(port, path)));
            tell_share(&format!("{path} once a second, {reactor}, {shards} shards"), share, SCRAPE_SHARE_AIM);
        }
        drop(connection);
        server.stop();
    }
}

#[test]
fn the_console_is_whole_and_lets_nothing_else_in() {
    let server = Builder::new("epoll", 1).for_operators().start();
    let api = server.api_port;
    let asset = |path: &str| -> HttpAnswer {
        let answer = http(api, "GET", path).unwrap_or_else(|error| panic!("GET {path}: {error}"));
        assert_eq!(answer.status, 200, "GET {path}: {}", answer.body);
        for line in [
            "content-security-policy: default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
        ] {
            assert!(answer.head.contains(line), "{path} lacks {line}: {}", answer.head);
        }
        answer
    };
    let page = asset("/");
    assert!(page.head.contains("content-type: text/html"), "{}", page.head);
    assert_eq!(page.body, asset("/console").body);
    let named = |text: &str, before: &str| -> Vec<String> {
        let names = text.split(['"', '\'']).filter_map(|part| part.strip_prefix(before));
        names.filter(|name| !name.contains(char::is_whitespace)).map(str::to_owned).collect()
    };
    let (mut files, mut found) = (named(&page.body, "/console/"), BTreeSet::new());
    let (mut bytes, mut scripts) = (page.body.len(), 0);
    while let Some(file) = files.pop() {
        if !found.insert(file.clone()) {
            continue;
        }
        let answer = asset(&format!("/console/{file}"));
        bytes += answer.body.len();
        let is_script = file.ends_with(".js");
        let kind = if is_script { "content-type: text/javascript" } else { "content-type: " };
        assert!(answer.head.contains(kind), "{file}: {}", answer.head);
        scripts += usize::from(is_script);
        // A module names those that it imports.
        files.extend(if is_script { named(&answer.body, "./") } else { Vec::new() });
    }
    println!("the console is {bytes} bytes");
    assert_eq!(scripts, 11, "theme, uPlot, and the page's nine modules");
    assert!(bytes < 128 << 10, "{bytes} bytes");
    // The port for metrics has none of it.
    assert_eq!(http(server.metrics_port, "GET", "/").expect("answers").status, 404);
    assert_eq!(http_json(server.metrics_port, "POST", "/helenus/cql", "{}").expect("answers").status, 404);
    server.stop();
}

#[test]
fn statements_of_strangers_are_not_run() {
    let server = Builder::new("uring", 1).for_operators().start();
    let api = server.api_port;
    let body = r#"{"statement": "SELECT key FROM system.local"}"#;
    let post = |lines: &[&str], body: &str| {
        let length = format!("Content-Length: {}", body.len());
        let mut head = format!("POST /helenus/cql HTTP/1.1\r\nConnection: close\r\n{length}\r\n");
        lines.iter().for_each(|line| head.push_str(&format!("{line}\r\n")));
        http_raw(api, format!("{head}\r\n{body}").as_bytes()).expect("answers")
    };
    let (host, json) = (format!("Host: 127.0.0.1:{api}"), "Content-Type: application/json");
    let own = format!("Origin: http://127.0.0.1:{api}");
    let answer = post(&[&host, json, &own], body);
    assert!(answer.status == 200 && answer.body.contains(r#""rows":[["local"]]"#), "{}", answer.body);
    // A form can send these types without being asked, and no other.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        assert_eq!(post(&[&host, &format!("Content-Type: {kind}")], body).status, 415, "{kind}");
    }
    assert_eq!(post(&[&host], body).status, 415);
    assert_eq!(post(&[&host, json, "Origin: http://evil.example"], body).status, 403);
    assert_eq!(post(&[&host, json, "Origin: null"], body).status, 403);
    assert_eq!(post(&[&host, json, "Sec-Fetch-Site: cross-site"], body).status, 403);
    assert_eq!(post(&["Host: evil.example", json], body).status, 403);
    // A browser that asks whether it may is not told that it may.
    let asked = ["Origin: http://evil.example", "Access-Control-Request-Method: POST"];
    let preflight = http_with(api, "OPTIONS", "/helenus/cql", &asked).expect("answers");
    assert!(preflight.status >= 400 && !preflight.head.contains("access-control-allow"), "{}", preflight.head);
    // Bounded, whether the length is told or not.
    let statement = format!(r#"{{"statement": "{}"}}"#, "x".repeat(100_000));
    assert_eq!(post(&[&host, json], &statement).status, 400, "longer than a statement may be");
    let head = format!("POST /helenus/cql HTTP/1.1\r\nConnection: close\r\n{host}\r\n{json}\r\n");
    let told = format!("{head}Content-Length: 200000\r\n\r\n");
    assert_eq!(http_raw(api, told.as_bytes()).expect("answers").status, 413);
    // One byte more than a body may have, in a chunk that nothing comes after.
    let untold = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}", 0x20001, "x".repeat(0x20001));
    assert_eq!(http_raw(api, untold.as_bytes()).expect("answers").status, 413);
    server.stop();
}

#[test]
fn slow_and_large_requests_are_told() {
    const INSERT: &str = "INSERT INTO k.t (p, v) VALUES (?, ?)";
    const ROWS: i32 = 8;
    const KEYSPACE: &str = "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
    // What waits for the disk takes longer than a microsecond.
    let server = Builder::new("uring", 2).for_operators().configured("slow_query_log_timeout: 1us\n").start();
    let mut connection = Connection::start(&server.address()).expect("connects");
    connection.query(KEYSPACE).expect("a keyspace");
    connection.query("CREATE TABLE k.t (p int PRIMARY KEY, v text)").expect("a table");
    let insert = connection.prepare(INSERT).expect("prepared");
    let long = "hidden".repeat(1 << 18);
    for row in 0..ROWS {
        // Some of these partitions are of the connection's shard, some are not.
        let value = if row == 0 { long.as_str() } else { "hidden" };
        connection.execute(&insert, &[&row.to_be_bytes(), value.as_bytes()]).expect("a row");
    }
    connection.query("SELECT v FROM k.t").expect("rows");
    let told = get(server.api_port, "/helenus/slow_queries");
    assert!(!told.contains("hidden"), "a bound value is told");
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let told = told.as_array().expect("a list");
    let number = |query: &serde_json::Value, key: &str| query[key].as_u64().unwrap_or_else(|| panic!("{key}: {query}"));
    assert!(told.windows(2).all(|pair| number(&pair[0], "when") >= number(&pair[1], "when")), "newest first: {told:?}");
    for query in told {
        assert!(query["client"].as_str().is_some_and(|client| client.starts_with("127.0.0.1:")), "{query}");
        assert!(number(query, "shard") < 2 && number(query, "micros") > 0 && number(query, "bytes") >= 9, "{query}");
    }
    let count = |kind: &str, statement: &str| {
        let is_it = |query: &&serde_json::Value| {
            query["kind"] == kind && query["statement"] == statement && query["keyspace"] == "k"
        };
        told.iter().filter(is_it).count()
    };
    assert_eq!((count("write", INSERT), count("other", INSERT)), (ROWS as usize, 1), "{told:?}");
    assert_eq!(count("range", "SELECT v FROM k.t"), 1, "{told:?}");
    let large: Vec<_> = told.iter().filter(|query| number(query, "bytes") >= 1 << 20).collect();
    assert_eq!((large.len(), &large[0]["kind"]), (1, &"range".into()), "{told:?}");
    let metrics = get(server.metrics_port, "/metrics");
    let sum = |name: &str| -> f64 {
        let samples = metrics.lines().filter(|line| line.starts_with(&format!("{name}{{")));
        samples.map(|line| line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok()).expect("a value")).sum()
    };
    assert_eq!(sum("helenus_transport_replies_large_total"), 1.0);
    assert!(sum("helenus_transport_requests_slow_total") >= f64::from(ROWS));
    drop(connection);
    server.stop();

    let server = Builder::new("epoll", 1).for_operators().configured("slow_query_log_timeout: 0ms\n").start();
    let mut connection = Connection::start(&server.address()).expect("connects");
    connection.query(KEYSPACE).expect("a keyspace");
    assert_eq!(get(server.api_port, "/helenus/slow_queries"), "[]", "0 is for none");
    drop(connection);
    server.stop();
}

#[test]
fn partitions_are_sampled_while_somebody_looks() {
    let server = Builder::new("uring", 2).for_operators().start();
    let mut connection = Connection::start(&server.address()).expect("connects");
    for statement in [
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE k.t (p text, q int, v int, PRIMARY KEY ((p, q)))",
        "CREATE TABLE k.u (p date PRIMARY KEY)",
    ] {
        connection.query(statement).expect("it is made");
    }
    let port = server.api_port;
    // Looks for as long as requests are made, and not much longer.
    let look = move |filters: &str| {
        let target = format!("/storage_service/toppartitions/?duration=1500&list_size=2&capacity=16{filters}");
        std::thread::spawn(move || serde_json::from_str::<serde_json::Value>(&get(port, &target)).expect("JSON"))
    };
    let use_it = |connection: &mut Connection, looking: &std::thread::JoinHandle<serde_json::Value>| {
        let mut rounds = 0;
        while !looking.is_finished() {
            for statement in [
                "INSERT INTO k.t (p, q, v) VALUES ('much', 1, 1)",
                "INSERT INTO k.t (p, q, v) VALUES ('much', 1, 2)",
                "INSERT INTO k.t (p, q, v) VALUES ('less', 2, 1)",
                "SELECT * FROM k.t WHERE p = 'less' AND q = 2",
                "INSERT INTO k.u (p) VALUES ('2020-02-02')",
            ] {
                connection.query(statement).expect("it is done");
            }
            rounds += 1;
        }
        assert!(rounds > 3, "{rounds} rounds");
    };
    let looking = look("&table_filters=k:t");
    use_it(&mut connection, &looking);
    let found = looking.join().expect("an answer");
    assert_eq!((&found["write_cardinality"], &found["read_cardinality"]), (&2.into(), &1.into()), "{found}");
    let (most, less) = (&found["write"][0], &found["write"][1]);
    assert_eq!((&most["partition"], &less["partition"]), (&"much:1".into(), &"less:2".into()), "{found}");
    assert!(most["count"].as_u64() > less["count"].as_u64() && most["error"] == 0, "{found}");
    assert_eq!(found["read"][0]["partition"], "less:2", "{found}");

    let looking = look("");
    use_it(&mut connection, &looking);
    let found = looking.join().expect("an answer");
    assert_eq!((&found["write_cardinality"], found["write"].as_array().map(Vec::len)), (&3.into(), Some(2)), "{found}");
    assert_eq!(found["write"][0]["partition"], "(k:t) much:1", "{found}");
    // Nobody looks any more.
    let looking = look("&keyspace_filters=k");
    let found = looking.join().expect("an answer");
    assert_eq!(found, serde_json::json!({"read_cardinality": 0, "read": [], "write_cardinality": 0, "write": []}));
    drop(connection);
    server.stop();
}

#[test]
fn strangers_are_kept_out() {
    let server = Builder::new("uring", 1).for_operators().start();
    let (api, port) = (server.api_port, format!("{}", server.api_port));
    let status = |method: &str, lines: &[&str]| {
        let target = if method == "POST" { "/storage_service/flush" } else { "/health" };
        http_with(api, method, target, lines).expect("answers").status
    };
    assert_eq!(status("GET", &[&format!("Host: localhost:{port}")]), 200);
    assert_eq!(status("GET", &["Host: [::1]"]), 200);
    for host in ["evil.example", "localhost.evil.example", "10.0.0.1", ""] {
        assert_eq!(status("GET", &[&format!("Host: {host}")]), 403, "{host:?}");
        assert_eq!(status("POST", &[&format!("Host: {host}")]), 403, "{host:?}");
    }
    assert_eq!(status("POST", &["Origin: http://evil.example"]), 403);
    assert_eq!(status("POST", &["Sec-Fetch-Site: cross-site"]), 403);
    assert_eq!(status("POST", &[&format!("Origin: http://127.0.0.1:{port}")]), 200);
    assert_eq!(status("POST", &["Content-Length: 1000000"]), 413);
    assert_eq!(http_raw(api, b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n").expect("answers").status, 400);
    // Heads are bounded, and what is no HTTP is hung up on.
    let long = format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    assert!(http_raw(api, long.as_bytes()).map_or(true, |answer| answer.status >= 400));
    assert!(
        http_raw(api, &[0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3, b'\r', b'\n', b'\r', b'\n'])
            .map_or(true, |answer| answer.status >= 400)
    );
    // A host that has its share of connections, idle, is refused further ones for no longer than a head may take.
    let idle: Vec<_> = (0..100).map(|_| std::net::TcpStream::connect(("127.0.0.1", api)).expect("connects")).collect();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while http_raw(api, b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").is_err() {
        assert!(std::time::Instant::now() < deadline, "idle connections are ended");
        std::thread::yield_now();
    }
    drop(idle);
    server.stop();
}

#[test]
fn a_taken_port_stops_only_who_asked_for_it() {
    let first = Builder::new("uring", 1).for_operators().start();
    let taken = first.api_port.to_string();
    for (flag, other) in [("--api-port", "--prometheus-port"), ("--prometheus-port", "--api-port")] {
        let folder = std::env::temp_dir().join(format!("helenus-test-taken-{}", std::process::id()));
        let output = std::process::Command::new(Builder::binary())
            .args([
                "serve",
                "--port",
                "0",
                "--smp",
                "1",
                "--overprovisioned",
                "1",
                other,
                "0",
                flag,
                &taken,
                "--data-dir",
            ])
            .arg(&folder)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let last = said.lines().last().unwrap_or_default();
        assert!(last.starts_with("helenus: cannot listen on 127.0.0.1:") && last.contains(flag), "{said}");
        assert!(!folder.exists(), "a start that was refused has touched the data folder");
    }
    first.stop();
}

/// The folder of the only table of keyspace `k`.
fn table_folder(builder: &Builder) -> std::path::PathBuf {
    let mut tables = std::fs::read_dir(builder.data().join("data/k")).expect("there is a keyspace");
    tables.next().expect("there is a table").expect("it can be read").path()
}

#[test]
fn a_snapshot_is_what_was_there_and_starts_a_table_elsewhere() {
    const SCHEMA: [&str; 2] = [
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE k.t (p int PRIMARY KEY, v text)",
    ];
    let builder = Builder::new("uring", 2).for_operators();
    let server = builder.start();
    let mut connection = Connection::start(&server.address()).expect("connects");
    let prepare = |connection: &mut Connection| {
        SCHEMA.iter().for_each(|statement| drop(connection.query(statement).expect("it is made")));
    };
    prepare(&mut connection);
    let insert = |connection: &mut Connection, rows: std::ops::Range<i32>, value: &str| {
        for row in rows {
            connection.query(&format!("INSERT INTO k.t (p, v) VALUES ({row}, '{value}')")).expect("a row");
        }
    };
    insert(&mut connection, 0..50, "before");
    let post = |server: &Server, target: &str| {
        let answer = http(server.api_port, "POST", target).expect("answers");
        assert_eq!(answer.status, 200, "{target}: {}", answer.body);
    };
    post(&server, "/storage_service/snapshots?tag=kept&kn=k&cf=t");
    // What comes after is not in it, and what takes its files away leaves it whole.
    insert(&mut connection, 0..100, "after");
    post(&server, "/storage_service/keyspace_compaction/k?cf=t");
    connection.query("TRUNCATE k.t").expect("emptied");
    drop(connection);
    server.stop();
    let snapshot = table_folder(&builder).join("snapshots/kept");
    for name in ["manifest.json", "schema.cql"] {
        assert!(snapshot.join(name).exists(), "{name} is missing");
    }

    let elsewhere = Builder::new("uring", 1);
    let server = elsewhere.start();
    let mut connection = Connection::start(&server.address()).expect("connects");
    prepare(&mut connection);
    insert(&mut connection, 1000..1001, "own");
    drop(connection);
    server.stop();
    let folder = elsewhere.data().join("data/k");
    let definition = std::fs::read_to_string(snapshot.join("schema.cql")).expect("text");
    assert!(definition.contains("CREATE TABLE IF NOT EXISTS k.t"), "{definition}");
    // A table that nothing was flushed of has no folder yet.
    let server = elsewhere.clone().with(&["--flush-on-drain"]).start();
    server.stop();
    assert!(folder.exists());
    let upload = table_folder(&elsewhere).join("upload");
    std::fs::create_dir_all(&upload).expect("made");
    lay_into_upload(&snapshot, &upload);
    let counts = |server: &Server| {
        let mut connection = Connection::start(&server.address()).expect("connects");
        let rows = connection.query("SELECT v FROM k.t").expect("read").body;
        let count = |word: &[u8]| rows.windows(word.len()).filter(|window| window == &word).count();
        (count(b"before"), count(b"after"), count(b"own"))
    };
    let server = elsewhere.clone().with(&["--import-sstables"]).start();
    assert_eq!(counts(&server), (50, 0, 1));
    // The same while the node runs, of several shards.
    let mut connection = Connection::start(&server.address()).expect("connects");
    connection.query("TRUNCATE k.t").expect("emptied");
    drop(connection);
    server.stop();
    let refreshed = Builder::new("uring", 2).for_operators().with_data_in(elsewhere.data());
    let server = refreshed.start();
    assert_eq!(counts(&server), (0, 0, 0));
    lay_into_upload(&snapshot, &upload);
    let mut laid = std::fs::read_dir(&upload).expect("a folder").map(|entry| entry.expect("an entry").path());
    let broken = laid.find(|path| path.to_string_lossy().ends_with("-Data.db")).expect("a file");
    let whole = std::fs::read(&broken).expect("it can be read");
    std::fs::write(&broken, &whole[1..]).expect("it can be written");
    let answer = http(server.api_port, "POST", "/storage_service/sstables/k?cf=t").expect("answers");
    assert_eq!(answer.status, 500, "{}", answer.body);
    assert!(answer.body.contains("Data.db does not match its checksum in Helenus.db"), "{}", answer.body);
    std::fs::write(&broken, &whole).expect("it can be written");
    post(&server, "/storage_service/sstables/k?cf=t");
    assert_eq!(counts(&server), (50, 0, 0));
    post(&server, "/storage_service/keyspace_compaction/k?cf=t");
    server.kill();
    let server = refreshed.start();
    assert_eq!(counts(&server), (50, 0, 0));
    server.stop();
}

#[test]
fn requests_are_traced_as_likely_as_an_operator_says() {
    let server = Builder::new("uring", 2).for_operators().start();
    let mut connection = Connection::start(&server.address()).expect("connects");
    let set = |probability: &str| {
        let target = format!("/storage_service/trace_probability?probability={probability}");
        assert_eq!(http(server.api_port, "POST", &target).expect("answers").status, 200);
    };
    let traced = |connection: &mut Connection| {
        let rows = connection.query("SELECT parameters FROM system_traces.sessions").expect("read").body;
        rows.windows(5).filter(|window| window == b"listi").count()
    };
    connection.query("SELECT listen_address FROM system.local").expect("read");
    assert_eq!(traced(&mut connection), 0);
    set("1");
    let plain = connection.query("SELECT listen_address AS listing FROM system.local").expect("read");
    set("0");
    assert_eq!(plain.body[..4], [0, 0, 0, 2], "who did not ask is told no id: rows come first");
    assert_eq!(traced(&mut connection), 1);
    set("0.5");
    for _ in 0..200 {
        connection.query("SELECT listen_address AS listing FROM system.local").expect("read");
    }
    set("0");
    let count = traced(&mut connection) - 1;
    assert!((50..=150).contains(&count), "{count} of 200");
    drop(connection);
    server.stop();
}

/// Copies a snapshot's files, as a person does.
fn lay_into_upload(snapshot: &Path, upload: &Path) {
    for entry in std::fs::read_dir(snapshot).expect("there is a snapshot") {
        let path = entry.expect("it can be read").path();
        std::fs::copy(&path, upload.join(path.file_name().expect("it has a name"))).expect("copied");
    }
}
