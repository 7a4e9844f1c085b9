//! Clients that log in by password: the messages in each version, what comes before a login and what does not, the maintenance socket, and strangers.

mod audit;
mod changes;
mod strangers;

use std::os::unix::net::UnixStream;

use cql_protocol::request::AuthResponse;
use cql_protocol::{Codec, Request, Version, segment};
use helenus_tests::{Builder, Connection, Frame, Server, configurations, query_frame, startup_frame};

const ERROR: u8 = 0x00;
const AUTHENTICATE: u8 = 0x03;
const SUPPORTED: u8 = 0x06;
const RESULT: u8 = 0x08;
const AUTH_SUCCESS: u8 = 0x10;
const PROTOCOL_ERROR: [u8; 4] = [0, 0, 0, 0x0a];
const BAD_CREDENTIALS: [u8; 4] = [0, 0, 1, 0];
const INVALID: [u8; 4] = [0, 0, 0x22, 0];

const LISTED: &str = "SELECT username FROM system_views.clients";

fn builder(reactor: &str, shards: u16) -> Builder {
    Builder::new(reactor, shards).with(&["--authenticator", "PasswordAuthenticator"])
}

/// The first superuser's password, as the node has written it.
fn password(builder: &Builder) -> String {
    let text = std::fs::read_to_string(builder.data().join("initial-superuser")).expect("the first start wrote it");
    let line = text.lines().find_map(|line| line.strip_prefix("password: "));
    line.expect("it has the password").to_owned()
}

fn has(frame: &Frame, text: &str) -> bool {
    frame.body.windows(text.len()).any(|window| window == text.as_bytes())
}

/// A client of one version.
struct Client {
    connection: Connection,
    version: Version,
}

impl Client {
    /// One that was answered AUTHENTICATE.
    fn start(server: &Server, version: Version, compression: Option<&str>) -> Client {
        let mut connection = Connection::open(&server.address()).expect("connects");
        let answer = connection.ask(&startup_frame(version, compression)).expect("is answered");
        assert_eq!(answer.opcode, AUTHENTICATE, "{answer:?}");
        assert!(has(&answer, "org.apache.cassandra.auth.PasswordAuthenticator"));
        Client { connection, version }
    }

    fn ask(&mut self, frame: &[u8]) -> Frame {
        if self.version < Version::V5 {
            return self.connection.ask(frame).expect("is answered");
        }
        let mut sealed = Vec::new();
        segment::encode_frames(frame, Codec::Plain, &mut sealed);
        self.connection.send(&sealed).expect("is sent");
        self.connection.receive_segment().expect("is answered")
    }

    fn respond(&mut self, token: &[u8]) -> Frame {
        let mut frame = Vec::new();
        Request::AuthResponse(AuthResponse { token: Some(token) }).encode_frame(self.version, 3, &mut frame);
        self.ask(&frame)
    }

    fn log_in(&mut self, name: &str, password: &str) -> Frame {
        let answer = self.respond(format!("\0{name}\0{password}").as_bytes());
        assert_eq!(answer.stream, 3);
        answer
    }

    fn query(&mut self, text: &str) -> Frame {
        let frame = query_frame(self.version, 4, text);
        self.ask(&frame)
    }
}

fn refused(answer: &Frame, code: [u8; 4], words: &str) {
    assert!(answer.opcode == ERROR && answer.body.starts_with(&code) && has(answer, words), "{words}: {answer:?}");
}

#[test]
fn a_client_logs_in_in_each_version_and_tries_again_after_an_error() {
    for (reactor, shards) in configurations() {
        let builder = builder(reactor, shards);
        let server = builder.start();
        let password = password(&builder);
        for (version, compression) in [
            (Version::V3, None),
            (Version::V4, None),
            (Version::V4, Some("lz4")),
            (Version::V3, Some("snappy")),
            (Version::V5, None),
        ] {
            let mut client = Client::start(&server, version, compression);
            refused(&client.query(LISTED), PROTOCOL_ERROR, "Unexpected message QUERY, expecting SASL_RESPONSE");
            refused(&client.respond(b"no SASL"), BAD_CREDENTIALS, "Password must not be null");
            let words = "Provided username cassandra and/or password are incorrect";
            refused(&client.log_in("cassandra", "wrong"), BAD_CREDENTIALS, words);
            let words = "Provided username nobody and/or password are incorrect";
            refused(&client.log_in("nobody", &password), BAD_CREDENTIALS, words);
            let answer = client.log_in("cassandra", &password);
            assert_eq!((answer.opcode, &answer.body[..]), (AUTH_SUCCESS, &[0xff; 4][..]), "{answer:?}");
            let listed = client.query(LISTED);
            assert!(listed.opcode == RESULT && has(&listed, "cassandra"), "{listed:?}");
            let words = "the connection is already initialized";
            refused(&client.ask(&startup_frame(version, None)), PROTOCOL_ERROR, words);
            // A success forgets the failures of its role, so the next client waits for none of those.
        }
        server.stop();
    }
}

#[test]
fn a_client_that_has_not_logged_in_is_no_client_and_sends_short_frames() {
    let builder = builder("uring", 2);
    let server = builder.start();
    let mut strangers: Vec<_> = (0..8).map(|_| Client::start(&server, Version::V4, None)).collect();
    let options = strangers[0].ask(&[4, 0, 0, 9, 5, 0, 0, 0, 0]);
    assert_eq!(options.opcode, SUPPORTED);
    let mut known = Client::start(&server, Version::V4, None);
    assert_eq!(known.log_in("cassandra", &password(&builder)).opcode, AUTH_SUCCESS);
    let listed = known.query("SELECT count(*) FROM system_views.clients");
    assert!(listed.opcode == RESULT && listed.body.ends_with(&1u64.to_be_bytes()), "{listed:?}");
    let long = "x".repeat(20_000);
    let answer = strangers[0].log_in("cassandra", &long);
    refused(&answer, INVALID, "exceeds maximum allowed length 16384");
    refused(&strangers[0].log_in("cassandra", "short"), BAD_CREDENTIALS, "are incorrect");
    // A segment that would gather more is refused by its header.
    let mut stranger = Client::start(&server, Version::V5, None);
    let mut sealed = Vec::new();
    segment::encode(&vec![0; 60_000], true, Codec::Plain, &mut sealed);
    stranger.connection.send(&sealed[..100]).expect("is sent");
    refused(&stranger.connection.receive_segment().expect("is answered"), PROTOCOL_ERROR, "Segment is too big");
    // Afterwards frames are as long as usual.
    let text = format!("SELECT cluster_name FROM system.local WHERE key = '{long}'");
    assert_eq!(known.query(&text).opcode, RESULT);
    server.stop();
}

#[test]
fn the_superuser_is_made_once_and_its_file_goes_when_it_is_not_valid() {
    let builder = builder("uring", 1);
    let server = builder.start();
    let first = password(&builder);
    let mode = std::os::unix::fs::MetadataExt::mode(
        &std::fs::metadata(builder.data().join("initial-superuser")).expect("it is there"),
    );
    assert_eq!(mode & 0o7777, 0o600);
    server.kill();
    let server = builder.start();
    assert_eq!(password(&builder), first, "no other superuser");
    let mut client = Client::start(&server, Version::V4, None);
    assert_eq!(client.log_in("cassandra", &first).opcode, AUTH_SUCCESS);
    drop(client);
    assert!(server.lines().iter().all(|line| !line.contains(&first)), "no line has the password");
    server.stop();
    let file = builder.data().join("initial-superuser");
    std::fs::write(&file, "role: cassandra\npassword: abcdefghijkmnpqrstuvwxyz\n").expect("it is ours");
    let server = builder.start();
    assert!(!file.exists(), "a password that is not the superuser's");
    let mut client = Client::start(&server, Version::V4, None);
    refused(&client.log_in("cassandra", "abcdefghijkmnpqrstuvwxyz"), BAD_CREDENTIALS, "are incorrect");
    assert_eq!(client.log_in("cassandra", &first).opcode, AUTH_SUCCESS);
    drop(client);
    server.stop();
}

/// A start that crashed after it had written the password and before it had proposed its hash, and one that crashed while it wrote.
#[test]
fn a_password_that_was_written_before_a_crash_is_the_superusers_and_half_of_one_is_not() {
    for (text, is_used) in [
        ("role: cassandra\npassword: abcdefghijkmnpqrstuvwxyz\n", true),
        ("role: cassandra\npassword: abcdefghijkm", false),
    ] {
        let builder = builder("uring", 1);
        std::fs::create_dir_all(builder.data()).expect("the temporary folder can be written");
        std::fs::write(builder.data().join("initial-superuser"), text).expect("the temporary folder can be written");
        let server = builder.start();
        let password = password(&builder);
        assert_eq!(password == "abcdefghijkmnpqrstuvwxyz", is_used);
        let mut client = Client::start(&server, Version::V4, None);
        assert_eq!(client.log_in("cassandra", &password).opcode, AUTH_SUCCESS);
        drop(client);
        server.stop();
    }
}

#[test]
fn the_owner_of_the_process_needs_no_password() {
    for (reactor, shards) in [("uring", 2), ("epoll", 1)] {
        let builder = builder(reactor, shards);
        let server = builder.start();
        let path = builder.data().join("maintenance").join("cql.m");
        let open = || Connection::over(UnixStream::connect(&path).expect("the socket listens")).greeted();
        let mut clients: Vec<_> = (0..16).map(|_| open().expect("is served without a login")).collect();
        for client in &mut clients {
            let local = client.query("SELECT cluster_name FROM system.local").expect("is answered");
            assert!(has(&local, "Test Cluster"));
        }
        assert!(open().is_err(), "it has so many places");
        drop(clients.pop());
        // The place is free when the server has seen the end.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while open().is_err() {
            assert!(std::time::Instant::now() < deadline, "a place that was left is given again");
            std::thread::yield_now();
        }
        drop(clients);
        server.stop();
        let server = builder.start();
        open().expect("the stale socket was replaced");
        server.stop();
    }
}
