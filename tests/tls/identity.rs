//! Logins by certificate: identities that are added and dropped, roles that may not log in, certificates without an identity, clients without a certificate, and
//! ScyllaDB's queries. The certificates are of one authority, so the handshake lets all of them in.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use cql_protocol::request::AuthResponse;
use cql_protocol::{Request, Version};
use helenus_tests::{Builder, Connection, Frame, Server, configurations, free_port, query_frame, startup_frame};
use scylla::client::session_builder::SessionBuilder;

use super::authority::{Authority, VALID};
use super::client::{Client, Tls};
use super::{IP, has, node};

const ERROR: u8 = 0x00;
const READY: u8 = 0x02;
const AUTHENTICATE: u8 = 0x03;
const RESULT: u8 = 0x08;
const AUTH_SUCCESS: u8 = 0x10;
const PROTOCOL_ERROR: [u8; 4] = [0, 0, 0, 0x0a];
const BAD_CREDENTIALS: [u8; 4] = [0, 0, 1, 0];
const UNAUTHORIZED: [u8; 4] = [0, 0, 0x21, 0];

const APP: &str = "spiffe://example.com/app";
const LISTED: &str = "SELECT username, connection_stage FROM system_views.clients";

fn authenticator(class: &str) -> String {
    format!(
        "authenticator:\n  class_name: {class}\n  parameters:\n    validator_class_name: org.apache.cassandra.auth.SpiffeCertificateValidator\n"
    )
}

fn builder(reactor: &str, shards: u16, authority: &Authority, before: &str, asked: &str) -> Builder {
    let asked = format!("require_client_auth: {asked}");
    node(Builder::new(reactor, shards), authority, before, &["enabled: true", &asked])
}

/// The owner of the process, who is a superuser without a login.
fn owner(builder: &Builder) -> Connection<UnixStream> {
    let path = builder.data().join("maintenance").join("cql.m");
    Connection::over(UnixStream::connect(path).expect("the socket listens")).greeted().expect("is served")
}

fn ask<S: Read + Write>(connection: &mut Connection<S>, text: &str) -> Frame {
    connection.ask(&query_frame(Version::V4, 4, text)).expect("is answered")
}

fn done(owner: &mut Connection<UnixStream>, text: &str) {
    let answer = ask(owner, text);
    assert_eq!(answer.opcode, RESULT, "{text}: {answer:?}");
}

/// A client of the authority with these names, or without a certificate.
fn client(authority: &Authority, uris: Option<&[&str]>) -> Client {
    let issued = uris.map(|uris| authority.issue_as("app", &[], uris, VALID));
    Client::new(authority, issued.as_ref())
}

/// The connection, and the answer to its STARTUP.
fn start(client: &Client, address: &str, version: Version) -> (Connection<Tls>, Frame) {
    let mut connection = Connection::over(client.dial(address).expect("connects"));
    let answer = connection.ask(&startup_frame(version, None)).expect("the handshake is done, and STARTUP answered");
    (connection, answer)
}

fn served(client: &Client, server: &Server) -> Connection<Tls> {
    let (connection, answer) = start(client, &server.address(), Version::V4);
    assert_eq!(answer.opcode, READY, "{answer:?}");
    connection
}

fn refused(answer: &Frame, code: [u8; 4], words: &str) {
    assert!(answer.opcode == ERROR && answer.body.starts_with(&code) && has(answer, words), "{words}: {answer:?}");
}

/// The answer to a client that may not log in.
fn hears(client: &Client, server: &Server, words: &str) -> Connection<Tls> {
    let (connection, answer) = start(client, &server.address(), Version::V4);
    refused(&answer, BAD_CREDENTIALS, words);
    connection
}

fn respond<S: Read + Write>(connection: &mut Connection<S>, name: &str, password: &str) -> Frame {
    let token = format!("\0{name}\0{password}");
    let mut frame = Vec::new();
    Request::AuthResponse(AuthResponse { token: Some(token.as_bytes()) }).encode_frame(Version::V4, 3, &mut frame);
    connection.ask(&frame).expect("is answered")
}

#[test]
fn an_identity_is_a_role_from_its_addition_until_it_is_dropped() {
    let authority = Authority::new("cluster");
    for (reactor, shards) in configurations() {
        let builder = builder(reactor, shards, &authority, &authenticator("MutualTlsAuthenticator"), "true");
        let server = builder.start();
        let mut owner = owner(&builder);
        let app = client(&authority, Some(&["https://example.com", APP]));
        let unknown = format!("Certificate identity '{APP}' not authorized");
        let mut early = hears(&app, &server, &unknown);
        refused(&ask(&mut early, LISTED), PROTOCOL_ERROR, "expecting STARTUP or OPTIONS");
        done(&mut owner, "CREATE ROLE app WITH LOGIN = true");
        done(&mut owner, &format!("ADD IDENTITY '{APP}' TO ROLE 'app'"));
        // The same connection may try again.
        assert_eq!(early.ask(&startup_frame(Version::V4, None)).expect("is answered").opcode, READY);
        for version in [Version::V3, Version::V4, Version::V5] {
            assert_eq!(start(&app, &server.address(), version).1.opcode, READY, "{version:?}");
        }
        let mut live = served(&app, &server);
        let listed = ask(&mut live, LISTED);
        refused(&listed, UNAUTHORIZED, "User app has no SELECT permission");
        done(&mut owner, "GRANT SELECT ON TABLE system_views.clients TO app");
        let listed = ask(&mut live, LISTED);
        assert!(listed.opcode == RESULT && has(&listed, "app") && has(&listed, "ready"), "{listed:?}");
        let create = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
        refused(&ask(&mut live, create), UNAUTHORIZED, "User app has no CREATE permission");

        done(&mut owner, "ALTER ROLE app WITH LOGIN = false");
        hears(&app, &server, "app is not permitted to log in");
        assert_eq!(ask(&mut live, LISTED).opcode, RESULT, "a live session goes on");
        done(&mut owner, "ALTER ROLE app WITH LOGIN = true");
        served(&app, &server);

        done(&mut owner, &format!("DROP IDENTITY '{APP}'"));
        hears(&app, &server, &unknown);
        assert_eq!(ask(&mut live, LISTED).opcode, RESULT, "a live session goes on");
        done(&mut owner, "DROP ROLE app");
        refused(&ask(&mut live, LISTED), UNAUTHORIZED, "User app has no SELECT permission");

        let nameless = client(&authority, Some(&["https://example.com"]));
        hears(&nameless, &server, "Unable to extract Spiffe from the certificate");
        assert!(client(&authority, None).connect(&server.address()).is_err(), "a certificate is required");
        drop((live, early, owner));
        server.stop();
    }
}

#[test]
fn without_a_certificate_a_client_logs_in_by_password_and_with_one_never() {
    let authority = Authority::new("cluster");
    for asked in ["true", "optional"] {
        let class = "org.apache.cassandra.auth.MutualTlsWithPasswordFallbackAuthenticator";
        let builder = builder("uring", 2, &authority, &authenticator(class), asked);
        let server = builder.start();
        let mut owner = owner(&builder);
        done(&mut owner, "CREATE ROLE app WITH LOGIN = true AND PASSWORD = 'secret'");
        let app = client(&authority, Some(&[APP]));
        // Its certificate is of no role: no password is asked for, and none is taken.
        let mut stranger = hears(&app, &server, "not authorized");
        refused(&respond(&mut stranger, "app", "secret"), PROTOCOL_ERROR, "expecting STARTUP or OPTIONS");
        done(&mut owner, &format!("ADD IDENTITY '{APP}' TO ROLE 'app'"));
        served(&app, &server);
        if asked == "optional" {
            let without = client(&authority, None);
            let (mut connection, answer) = start(&without, &server.address(), Version::V4);
            assert!(answer.opcode == AUTHENTICATE && has(&answer, "org.apache.cassandra.auth.PasswordAuthenticator"));
            refused(&respond(&mut connection, "app", "wrong"), BAD_CREDENTIALS, "are incorrect");
            assert_eq!(respond(&mut connection, "app", "secret").opcode, AUTH_SUCCESS);
        }
        server.stop();
    }
}

/// A plain port beside the one for TLS: its clients have no certificates.
#[test]
fn a_plain_client_has_no_certificate_to_log_in_by() {
    let authority = Authority::new("cluster");
    let tls = free_port();
    let before = format!("native_transport_port_ssl: {tls}\n{}", authenticator("MutualTlsAuthenticator"));
    let builder = builder("epoll", 2, &authority, &before, "true");
    let server = builder.start();
    let mut owner = owner(&builder);
    done(&mut owner, "CREATE ROLE app WITH LOGIN = true AND PASSWORD = 'secret'");
    done(&mut owner, &format!("ADD IDENTITY '{APP}' TO ROLE 'app'"));
    let mut plain = Connection::open(&server.address()).expect("connects");
    let answer = plain.ask(&startup_frame(Version::V4, None)).expect("is answered");
    assert!(answer.opcode == AUTHENTICATE && has(&answer, "org.apache.cassandra.auth.MutualTlsAuthenticator"));
    // The password is right, and counts for operators alone.
    refused(&respond(&mut plain, "app", "secret"), BAD_CREDENTIALS, "No certificate present on connection");
    refused(&ask(&mut plain, LISTED), PROTOCOL_ERROR, "SASL_RESPONSE");
    let app = client(&authority, Some(&[APP]));
    assert_eq!(start(&app, &format!("{IP}:{tls}"), Version::V5).1.opcode, READY);
    server.stop();
}

#[test]
fn queries_find_the_role_in_the_names() {
    let authority = Authority::new("cluster");
    let queries = "auth_certificate_role_queries:\n  - source: ALTNAME\n    query: URI=urn:([^,]+)\n  - source: SUBJECT\n    query: CN=([^,\\s]+)\n";
    let before = format!("authenticator: com.scylladb.auth.CertificateAuthenticator\n{queries}");
    let builder = builder("uring", 1, &authority, &before, "true");
    let server = builder.start();
    let mut owner = owner(&builder);
    let (by_subject, by_name) = (client(&authority, Some(&[])), client(&authority, Some(&["urn:other"])));
    hears(&by_subject, &server, "app is not permitted to log in");
    done(&mut owner, "CREATE ROLE app WITH LOGIN = true");
    served(&by_subject, &server);
    hears(&by_name, &server, "other is not permitted to log in");
    let forged = authority.issue_as("x,CN=app", &[], &[], VALID);
    hears(&Client::new(&authority, Some(&forged)), &server, "x\\2CCN\\3Dapp is not permitted to log in");
    let superuser = authority.issue_as("cassandra", &[], &[], VALID);
    let mut superuser = served(&Client::new(&authority, Some(&superuser)), &server);
    let listed = ask(&mut superuser, LISTED);
    assert!(listed.opcode == RESULT && has(&listed, "cassandra"), "the first superuser needs no password: {listed:?}");
    server.stop();
}

/// Drivers need no user and no password: the certificate is all.
#[test]
fn the_rust_driver_logs_in_by_its_certificate() {
    let tokio =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio starts");
    let authority = Authority::new("cluster");
    let builder = builder("uring", 2, &authority, &authenticator("MutualTlsAuthenticator"), "true");
    let server = builder.start();
    let mut owner = owner(&builder);
    done(&mut owner, "CREATE ROLE app WITH LOGIN = true AND SUPERUSER = true");
    done(&mut owner, &format!("ADD IDENTITY '{APP}' TO ROLE 'app'"));
    tokio.block_on(async {
        let connect = |client: Client| {
            let builder = SessionBuilder::new().known_node(server.address());
            async move { builder.tls_context(Some(client.settings())).build().await }
        };
        let session = connect(client(&authority, Some(&[APP]))).await.expect("it logs in");
        let listed = session.query_unpaged("SELECT username FROM system_views.clients", ()).await;
        let listed = listed.expect("is answered").into_rows_result().expect("rows");
        let names: Vec<String> = listed.rows::<(String,)>().expect("names").map(|row| row.expect("a name").0).collect();
        assert!(!names.is_empty() && names.iter().all(|name| name == "app"), "{names:?}");
        let issued = authority.issue(&[IP], VALID);
        let refused = connect(Client::new(&authority, Some(&issued))).await.map(drop).expect_err("it has no identity");
        assert!(refused.to_string().contains("Unable to extract Spiffe"), "{refused}");
    });
    server.stop();
}
