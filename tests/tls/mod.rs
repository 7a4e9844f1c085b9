//! Clients under TLS: logins by certificate, who is served on which port, what others read, how connections end, and certificates exchanged under load.

#[path = "../../crates/tls/src/tests/authority.rs"]
pub(crate) mod authority;
pub(crate) mod client;
mod half_open;
mod identity;

use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use authority::{Authority, Issued, VALID};
use client::Client;
use cql_protocol::Version;
use helenus_tests::{Builder, Connection, Frame, Server, configurations, free_port, nodetool, query_frame};

const IP: &str = "127.0.0.1";
const EXPIRED: (i32, i32) = (2000, 2001);

/// Puts a node's files where its configuration has them; each takes its place at once.
fn write_files(folder: &Path, issued: &Issued, trusted: &str) {
    let keystore = format!("{}{}", issued.key, issued.certificate);
    for (name, text) in [("node.pem", keystore.as_str()), ("ca.crt", trusted)] {
        let part = folder.join(format!("{name}.part"));
        std::fs::write(&part, text).expect("the temporary folder can be written");
        std::fs::rename(part, folder.join(name)).expect("the temporary folder can be written");
    }
}

/// A node with a certificate of the authority, which is the one that it trusts, and these lines among its options; `before` comes before them.
pub(crate) fn node(builder: Builder, authority: &Authority, before: &str, options: &[&str]) -> Builder {
    let folder = builder.folder();
    write_files(&folder, &authority.issue(&[IP], VALID), &authority.pem);
    let options: String = options.iter().map(|line| format!("  {line}\n")).collect();
    let (keystore, truststore) = (folder.join("node.pem"), folder.join("ca.crt"));
    builder.configured(&format!(
        "{before}client_encryption_options:\n  keystore: {}\n  truststore: {}\n{options}",
        keystore.display(),
        truststore.display()
    ))
}

fn start(reactor: &str, shards: u16, authority: &Authority, options: &[&str]) -> Server {
    node(Builder::new(reactor, shards), authority, "", options).start()
}

fn has(frame: &Frame, text: &str) -> bool {
    frame.body.windows(text.len()).any(|window| window == text.as_bytes())
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The value of a key in SUPPORTED.
fn supported<S: Read + Write>(connection: &mut Connection<S>, key: &str) -> Option<String> {
    let answer = connection.ask(&[4, 0, 0, 1, 5, 0, 0, 0, 0]).expect("OPTIONS is answered");
    let at = answer.body.windows(key.len()).position(|window| window == key.as_bytes())?;
    // The key's length stands before it; after it the list's length, and that of its first string.
    let is_whole = at >= 2 && answer.body[at - 2..at] == (key.len() as u16).to_be_bytes();
    let rest = is_whole.then(|| &answer.body[at + key.len() + 2..])?;
    let length = usize::from(u16::from_be_bytes([rest[0], rest[1]]));
    Some(String::from_utf8(rest[2..2 + length].to_vec()).expect("UTF-8"))
}

#[test]
fn a_client_under_tls_is_served_and_listed_on_each_reactor_and_shard() {
    let authority = Authority::new("cluster");
    for (reactor, shards) in configurations() {
        let server = start(reactor, shards, &authority, &["enabled: true"]);
        for client in [Client::new(&authority, None), Client::of_tls12(&authority)] {
            let connections: Vec<_> = (0..4).map(|_| client.connect(&server.address()).expect("is served")).collect();
            for mut connection in connections {
                let local = connection.query("SELECT cluster_name FROM system.local").expect("is answered");
                assert!(has(&local, "Test Cluster"));
                let port = server.shard_aware_port.to_string();
                assert_eq!(supported(&mut connection, "SCYLLA_SHARD_AWARE_PORT_SSL"), Some(port));
                assert_eq!(supported(&mut connection, "SCYLLA_SHARD_AWARE_PORT"), None);
            }
        }
        let client = Client::new(&authority, None);
        let mut connection =
            client.connect(&format!("{IP}:{}", server.shard_aware_port)).expect("the other port speaks TLS too");
        let select = "SELECT ssl_enabled, ssl_protocol, ssl_cipher_suite FROM system_views.clients";
        let listed = connection.query(select).expect("is answered");
        assert!(has(&listed, "TLSv1.3") && has(&listed, "TLS_AES_"), "{listed:?}");
        server.stop();
    }
}

#[test]
fn large_requests_and_pipelines_go_through_whole() {
    let authority = Authority::new("cluster");
    for (reactor, shards) in [("uring", 2), ("epoll", 1)] {
        let server = start(reactor, shards, &authority, &["enabled: true"]);
        let mut connection = Client::new(&authority, None).connect(&server.address()).expect("is served");
        for text in [
            "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "CREATE TABLE ks.t (k int PRIMARY KEY, v text)",
        ] {
            connection.query(text).expect("is set up");
        }
        let long: String = ('a'..='z').cycle().take(3_000_000).collect();
        connection.query(&format!("INSERT INTO ks.t (k, v) VALUES (1, '{long}')")).expect("is written");
        let read = connection.query("SELECT v FROM ks.t WHERE k = 1").expect("is read");
        assert!(has(&read, &long));
        // 500 requests before the first answer is read, most of them in records of many.
        let mut frames = Vec::new();
        for stream in 0..500 {
            frames.extend(query_frame(Version::V4, stream, &format!("SELECT k FROM ks.t WHERE k = {stream}")));
        }
        connection.send(&frames).expect("is sent");
        let mut streams: Vec<_> = (0..500).map(|_| connection.receive().expect("is answered").stream).collect();
        streams.sort_unstable();
        assert!(streams.into_iter().eq(0..500), "each request has one answer");
        server.stop();
    }
}

#[test]
fn a_plain_client_is_told_that_the_port_requires_tls() {
    let authority = Authority::new("cluster");
    let mut server = start("uring", 2, &authority, &["enabled: true"]);
    for version in [Version::V3, Version::V4, Version::V5] {
        let mut plain = Connection::open(&server.address()).expect("connects");
        let answer = plain.ask(&helenus_tests::startup_frame(version, None)).expect("is answered");
        assert!(answer.opcode == 0 && has(&answer, "This port requires TLS"), "{answer:?}");
        let end = plain.receive().expect_err("the connection is closed");
        assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
    }
    let mut other = Connection::open(&server.address()).expect("connects");
    other.send(b"GET / HTTP/1.1\r\n\r\n").expect("is sent");
    assert!(other.receive().is_err(), "no protocol that is known: no word");
    server.wait_for_line(&["WARN", "rejected client connection", "the client does not use TLS"]);
    Client::new(&authority, None).connect(&server.address()).expect("others are served");
    server.stop();
}

#[test]
fn with_optional_the_first_byte_decides() {
    let authority = Authority::new("cluster");
    for (reactor, shards) in [("uring", 1), ("epoll", 2)] {
        let server = start(reactor, shards, &authority, &["enabled: true", "optional: true"]);
        let select = "SELECT cluster_name FROM system.local";
        let port = Some(server.shard_aware_port.to_string());
        let mut plain = Connection::start(&server.address()).expect("is served");
        assert!(has(&plain.query(select).expect("is answered"), "Test Cluster"));
        assert_eq!(supported(&mut plain, "SCYLLA_SHARD_AWARE_PORT"), port);
        assert_eq!(supported(&mut plain, "SCYLLA_SHARD_AWARE_PORT_SSL"), None);
        let mut secret = Client::new(&authority, None).connect(&server.address()).expect("is served");
        assert!(has(&secret.query(select).expect("is answered"), "Test Cluster"));
        // The first frame by single bytes.
        let mut slow = Connection::open(&server.address()).expect("connects");
        let frame = helenus_tests::startup_frame(Version::V4, None);
        for byte in &frame[..frame.len() - 1] {
            slow.send(std::slice::from_ref(byte)).expect("is sent");
        }
        assert_eq!(slow.ask(&frame[frame.len() - 1..]).expect("is answered").opcode, 2);
        server.stop();
    }
}

#[test]
fn a_port_for_tls_stands_beside_a_plain_one() {
    let authority = Authority::new("cluster");
    let (tls, shard_aware) = (free_port(), free_port());
    let before = format!("native_transport_port_ssl: {tls}\nnative_shard_aware_transport_port_ssl: {shard_aware}\n");
    let server = node(Builder::new("epoll", 2), &authority, &before, &["enabled: true"]).start();
    let client = Client::new(&authority, None);
    let mut plain = Connection::start(&server.address()).expect("is served");
    assert_eq!(supported(&mut plain, "SCYLLA_SHARD_AWARE_PORT"), Some(server.shard_aware_port.to_string()));
    let mut secret = client.connect(&format!("{IP}:{tls}")).expect("is served");
    assert_eq!(supported(&mut secret, "SCYLLA_SHARD_AWARE_PORT_SSL"), Some(shard_aware.to_string()));
    client.connect(&format!("{IP}:{shard_aware}")).expect("is served");
    assert!(client.connect(&server.address()).is_err(), "the plain port speaks no TLS");
    assert!(Connection::start(&format!("{IP}:{tls}")).is_err(), "the port for TLS serves no plain client");
    server.stop();
}

#[test]
fn certificates_of_clients_are_required_optional_or_ignored() {
    let (authority, other) = (Authority::new("cluster"), Authority::new("other"));
    let member = Client::new(&authority, Some(&authority.issue(&[IP], VALID)));
    let stranger = Client::new(&authority, Some(&other.issue(&[IP], VALID)));
    let late = Client::new(&authority, Some(&authority.issue(&[IP], EXPIRED)));
    let nameless = Client::new(&authority, None);
    for (value, serves) in [
        ("true", [true, false, false, false]),
        ("optional", [true, true, false, false]),
        ("false", [true, true, true, true]),
    ] {
        let auth = format!("require_client_auth: {value}");
        let mut server = start("uring", 2, &authority, &["enabled: true", &auth]);
        let clients = [&member, &nameless, &stranger, &late];
        let served = clients.map(|client| client.connect(&server.address()).is_ok());
        assert_eq!(served, serves, "require_client_auth: {value}");
        if value == "true" {
            server.wait_for_line(&["WARN", "rejected client connection", "TLS handshake failed"]);
        }
        server.stop();
    }
}

#[test]
fn each_side_ends_a_connection_in_order() {
    let authority = Authority::new("cluster");
    for (reactor, shards) in [("uring", 2), ("epoll", 1)] {
        let server = start(reactor, shards, &authority, &["enabled: true"]);
        let client = Client::new(&authority, None);
        // The client says that it sends nothing more, and reads what it asked for before.
        let mut connection = client.connect(&server.address()).expect("is served");
        connection.send(&query_frame(Version::V4, 7, "SELECT cluster_name FROM system.local")).expect("is sent");
        connection.stream().conn.send_close_notify();
        connection.stream().flush().expect("is sent");
        connection.stream().sock.shutdown(std::net::Shutdown::Write).expect("the socket is open");
        let answer = connection.receive().expect("is answered");
        assert!(answer.stream == 7 && has(&answer, "Test Cluster"));
        assert_eq!(connection.stream().read(&mut [0]).expect("the server ends the session in order"), 0);
        // The same where the client's session ends with its socket alone.
        let mut connection = client.connect(&server.address()).expect("is served");
        connection.send(&query_frame(Version::V4, 8, "SELECT cluster_name FROM system.local")).expect("is sent");
        connection.stream().sock.shutdown(std::net::Shutdown::Write).expect("the socket is open");
        assert_eq!(connection.receive().expect("is answered").stream, 8);
        assert_eq!(connection.stream().read(&mut [0]).expect("the server ends the session in order"), 0);
        // A protocol error ends the connection after its answer.
        let mut connection = client.connect(&server.address()).expect("is served");
        connection.send(&[0x42, 0, 0, 1, 5, 0, 0, 0, 0]).expect("is sent");
        assert!(has(&connection.receive().expect("is answered"), "Invalid or unsupported protocol version"));
        assert_eq!(connection.stream().read(&mut [0]).expect("the server ends the session in order"), 0);
        // The node ends.
        let mut idle = client.connect(&server.address()).expect("is served");
        let reader = std::thread::spawn(move || idle.stream().read(&mut [0]));
        server.stop();
        assert_eq!(reader.join().expect("it does not panic").expect("the server ends the session in order"), 0);
    }
}

#[test]
fn certificates_are_exchanged_under_load_and_no_request_fails() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let passwords = "authenticator: PasswordAuthenticator\n";
    let builder = node(Builder::new("uring", 2), &old, passwords, &["enabled: true", "require_client_auth: true"]);
    let (folder, data) = (builder.folder(), builder.data());
    let mut server = builder.for_operators().start();
    let written = std::fs::read_to_string(data.join("initial-superuser")).expect("the first start wrote it");
    let password = written.lines().find_map(|line| line.strip_prefix("password: ")).expect("it has the password");
    let (is_over, requests, connects) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let address = server.address();
    std::thread::scope(|scope| {
        let (is_over, requests, connects, address) = (&is_over, &requests, &connects, address.as_str());
        let client = Client::trusting([&old, &new], &old.issue(&[IP], VALID));
        let mut kept = client.log_in(address, password).expect("is served");
        for text in [
            "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "CREATE TABLE ks.t (k int PRIMARY KEY, v int)",
        ] {
            kept.query(text).expect("is set up");
        }
        // Five clients: each writes on a connection that it keeps, and reads that on one that logs in for it.
        for number in 0..5 {
            let client = client.clone();
            let mut kept = client.log_in(address, password).expect("is served");
            scope.spawn(move || {
                for k in number * 10_000_000_i32.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    kept.query(&format!("INSERT INTO ks.t (k, v) VALUES ({k}, {k})")).expect("no write fails");
                    let mut fresh = client.log_in(address, password).expect("no connect and no login fails");
                    connects.fetch_add(1, Ordering::Relaxed);
                    let read = fresh.query(&format!("SELECT v FROM ks.t WHERE k = {k}")).expect("no read fails");
                    assert!(read.body.ends_with(&k.to_be_bytes()), "{read:?}");
                    requests.fetch_add(2, Ordering::Relaxed);
                }
            });
        }
        let go_on = || {
            let before = [requests.load(Ordering::Relaxed), connects.load(Ordering::Relaxed)];
            until("requests and connects go on", || {
                requests.load(Ordering::Relaxed) > before[0] + 30 && connects.load(Ordering::Relaxed) > before[1] + 15
            });
        };
        go_on();
        let both = format!("{}{}", old.pem, new.pem);
        for (round, (authority, trusted)) in [(&old, &both), (&new, &both)].into_iter().enumerate() {
            write_files(&folder, &authority.issue(&[IP], VALID), trusted);
            // By themselves in the first round, and when the operator says so in the second.
            if round == 1 {
                assert_eq!(nodetool(&server, &format!("-u cassandra -pw {password} reloadssl")).code, 0);
            }
            until("certificates are reloaded", || {
                let lines = server.lines();
                let reloaded = |line: &&String| line.contains("TLS certificates reloaded") && line.contains("clients");
                lines.iter().filter(reloaded).count() > round
            });
            go_on();
        }
        let of_new = Client::new(&new, Some(&new.issue(&[IP], VALID)));
        of_new.log_in(address, password).expect("both ends are of the new authority");
        // A bad pair changes nothing.
        std::fs::write(folder.join("node.pem"), "no PEM").expect("the temporary folder can be written");
        server.wait_for_line(&["ERROR", "cannot reload TLS certificates; keeping those in use", "is not PEM"]);
        go_on();
        of_new.log_in(address, password).expect("the pair in use stays");
        is_over.store(true, Ordering::Relaxed);
    });
    let said = server.kill_without_judging();
    assert!(!said.iter().any(|line| line.contains("panicked")), "{said:?}");
}
