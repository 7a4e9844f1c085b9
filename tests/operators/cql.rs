//! The console's statements on nodes whose ports for clients speak TLS alone: they need no port, a login counts as it does there, and a certificate that clients need is needed here too.

use std::path::Path;

use super::access::{log_in, post};
use super::secure::{Client, ask as ask_under_tls, write};
use crate::authority::{Authority, VALID};
use helenus_tests::{Builder, Connection, HttpAnswer, Server, http_json, nodetool};

const IP: &str = "127.0.0.1";
const CLIENTS: &str =
    "{\"statement\": \"SELECT address, username, driver_name, ssl_enabled FROM system_views.clients\"}";
const SPIFFE: &str = "authenticator:\n  class_name: MutualTlsAuthenticator\n  parameters:\n    validator_class_name: org.apache.cassandra.auth.SpiffeCertificateValidator\n";

/// The node's certificate, and the options that name it.
fn encryption(folder: &Path, authority: &Authority, options: &str) -> String {
    let issued = authority.issue(&[IP], VALID);
    let keystore = write(folder.join("node.pem"), &format!("{}{}", issued.key, issued.certificate));
    let truststore = write(folder.join("ca.crt"), &authority.pem);
    format!(
        "client_encryption_options:\n  enabled: true\n  keystore: {keystore}\n  truststore: {truststore}\n{options}"
    )
}

/// A node with TLS for clients, and these lines before that; no plain client is served.
fn start(reactor: &str, before: &str, options: &str) -> (Builder, Server) {
    let builder = Builder::new(reactor, 2);
    let lines = encryption(&builder.folder(), &Authority::new("cluster"), options);
    let builder = builder.configured(&format!("{before}{lines}")).for_operators();
    let server = builder.start();
    let plain = Connection::open(&server.address()).and_then(|connection| connection.greeted());
    assert!(plain.is_err(), "the port speaks TLS alone");
    (builder, server)
}

fn is_done(answer: &HttpAnswer) -> bool {
    answer.status == 200 && answer.body.contains("\"error\":null")
}

#[test]
fn a_login_counts_for_statements_where_the_port_speaks_tls_alone() {
    let passwords = "authenticator: PasswordAuthenticator\n";
    let (required, both) = ("  require_client_auth: true\n", ["uring", "epoll"]);
    for (reactor, authenticator, options, are_passwords) in
        [(both[0], passwords, "", true), (both[1], passwords, required, true), (both[0], SPIFFE, required, false)]
    {
        let (builder, server) = start(reactor, authenticator, options);
        let file = builder.data().join("initial-superuser");
        let text = std::fs::read_to_string(file).expect("the first superuser has a password");
        let password = text.lines().find_map(|line| line.strip_prefix("password: ")).expect("a line with the password");
        assert_eq!(http_json(server.api_port, "POST", "/helenus/cql", CLIENTS).expect("is answered").status, 401);
        assert_eq!(log_in(&server, "wrong").status, 401);
        let answer = log_in(&server, password);
        let set = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        let cookie = format!("Cookie: {}", set.split(';').next().expect("a pair"));
        let lines = [&*cookie, "Content-Type: application/json", "Sec-Fetch-Site: same-origin"];
        let run = |body: &str| post(&server, "/helenus/cql", &lines, body);
        let answer = run(CLIENTS);
        // The operator's address, and a connection that is not encrypted since it does not leave the process.
        let row = "[\"127.0.0.1\",\"cassandra\",\"Helenus console\",\"false\"]";
        assert!(is_done(&answer) && answer.body.contains(row), "{}", answer.body);
        let typed = |password: &str| {
            run(&format!(
                "{{\"statement\": \"SELECT key FROM system.local\", \"user\": \"cassandra\", \"password\": \"{password}\"}}"
            ))
        };
        let answer = typed(password);
        match are_passwords {
            true => assert!(is_done(&answer), "{}", answer.body),
            false => assert!(answer.body.contains("No certificate present on connection"), "{}", answer.body),
        }
        let answer = typed("wrong");
        assert!(answer.body.contains("\"code\":\"Login\"") && answer.body.contains("\"rows\":[]"), "{}", answer.body);
        server.stop();
    }
}

#[test]
fn without_a_login_statements_run_unless_clients_need_a_certificate() {
    let run = |server: &Server| http_json(server.api_port, "POST", "/helenus/cql", CLIENTS).expect("is answered");
    let (_builder, server) = start("epoll", "", "");
    let answer = run(&server);
    assert!(is_done(&answer) && answer.body.contains("\"Helenus console\""), "{}", answer.body);
    assert_eq!(nodetool(&server, "drain").code, 0);
    let answer = run(&server);
    assert!(answer.status == 503 && answer.body.contains("CQL is not available"), "{}", answer.body);
    server.stop();

    let (_builder, server) = start("uring", "", "  require_client_auth: true\n");
    let answer = run(&server);
    assert!(answer.status == 403 && answer.body.contains("clients need a certificate"), "{}", answer.body);
    server.stop();
}

#[test]
fn operators_with_a_certificate_run_statements_where_clients_need_one() {
    let authority = Authority::new("cluster");
    let builder = Builder::new("uring", 1);
    let lines = encryption(&builder.folder(), &authority, "  require_client_auth: true\n");
    let server = super::secure::start_with(builder, &authority, "  require_client_auth: true\n", &lines);
    let own = authority.issue(&["127.0.0.9"], VALID);
    let client = Client::new(&authority, Some(&own));
    let head = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", CLIENTS.len());
    let answer = ask_under_tls(&client, server.api_port, "POST", "/helenus/cql", &head, CLIENTS).expect("is answered");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"Helenus console\""), "{answer}");
    assert!(
        ask_under_tls(&Client::new(&authority, None), server.api_port, "POST", "/helenus/cql", &head, CLIENTS)
            .is_none()
    );
    server.stop();
}
