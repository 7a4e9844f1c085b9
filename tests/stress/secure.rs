//! Loads with a login, and under TLS: through the driver by `-transport`, and `--raw`, both with a certificate of the client; and what is refused without.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::authority::{Authority, VALID};
use helenus_tests::{Builder, Connection, Server};

use super::{is_done, run};

const IP: &str = "127.0.0.1";

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the temporary folder can be written");
    path.display().to_string()
}

/// A node that requires certificates of clients, and the files of one: trusted certificates, and a pair.
fn start() -> (Server, String, String) {
    let authority = Authority::new("cluster");
    let builder = Builder::new("uring", 2);
    let folder = builder.folder();
    let (node, own) = (authority.issue(&[IP], VALID), authority.issue(&["127.0.0.9"], VALID));
    let keystore = write(&folder, "node.pem", &format!("{}{}", node.key, node.certificate));
    let trusted = write(&folder, "ca.crt", &authority.pem);
    let pair = write(&folder, "client.pem", &format!("{}{}", own.key, own.certificate));
    let options =
        format!("  enabled: true\n  keystore: {keystore}\n  truststore: {trusted}\n  require_client_auth: true\n");
    (builder.configured(&format!("client_encryption_options:\n{options}")).start(), trusted, pair)
}

fn raw(server: &Server, words: &[&str]) -> (bool, String) {
    let mut command = Command::new(Builder::binary());
    command.args(["stress", "--raw", "write", "--rows", "2000", "--connections", "4", "--node", &server.address()]);
    let run = command.args(words).stdin(Stdio::null()).output().expect("the binary can be run");
    (run.status.success(), String::from_utf8(run.stderr).expect("it prints text"))
}

#[test]
fn the_driver_and_the_raw_client_load_a_node_that_requires_certificates() {
    let (server, trusted, pair) = start();
    let transport = [format!("truststore={trusted}"), format!("keystore={pair}")];
    let load = ["write", "no-warmup", "n=2000", "-rate", "threads=20", "-transport"];
    let words: Vec<&str> = load.into_iter().chain(transport.iter().map(String::as_str)).collect();
    is_done("write under TLS", 2000, run(&server, &words));
    for protocol in ["4", "5"] {
        let done = raw(&server, &["--cacert", &trusted, "--cert", &pair, "--protocol", protocol]);
        assert_eq!(done, (true, String::new()));
    }
    let refused = run(&server, &words[..7]);
    assert!(refused.code != 0 && refused.errors.contains("cannot connect"), "{}", refused.errors);
    let (is_done, errors) = raw(&server, &["--ssl", "--cacert", &trusted]);
    assert!(!is_done && !errors.is_empty(), "{errors}");
    let (is_done, errors) = raw(&server, &[]);
    assert!(!is_done && errors.contains("requires TLS"), "{errors}");
    server.stop();
}

/// The certificate of the client is its login: no user, no password.
#[test]
fn loads_log_in_by_their_certificate() {
    let authority = Authority::new("cluster");
    let builder = Builder::new("uring", 2);
    let (folder, data) = (builder.folder(), builder.data());
    let (node, own) =
        (authority.issue(&[IP], VALID), authority.issue_as("load", &[], &["spiffe://example.com/load"], VALID));
    let keystore = write(&folder, "node.pem", &format!("{}{}", node.key, node.certificate));
    let trusted = write(&folder, "ca.crt", &authority.pem);
    let pair = write(&folder, "client.pem", &format!("{}{}", own.key, own.certificate));
    let server = builder
        .configured(&format!(
            "authenticator:\n  class_name: MutualTlsAuthenticator\n  parameters:\n    validator_class_name: SpiffeCertificateValidator\n\
             client_encryption_options:\n  enabled: true\n  keystore: {keystore}\n  truststore: {trusted}\n  require_client_auth: true\n"
        ))
        .start();
    let words = ["--cacert", &trusted, "--cert", &pair];
    let (is_loaded, errors) = raw(&server, &words);
    assert!(!is_loaded && errors.contains("not authorized"), "{errors}");
    let socket = std::os::unix::net::UnixStream::connect(data.join("maintenance").join("cql.m"));
    let mut owner = Connection::over(socket.expect("the socket listens")).greeted().expect("is served");
    for text in [
        "CREATE ROLE load WITH LOGIN = true AND SUPERUSER = true",
        "ADD IDENTITY 'spiffe://example.com/load' TO ROLE 'load'",
    ] {
        assert_eq!(owner.query(text).expect("is answered").opcode, 8, "{text}");
    }
    assert_eq!(raw(&server, &words), (true, String::new()));
    let transport = [format!("truststore={trusted}"), format!("keystore={pair}")];
    let load = ["write", "no-warmup", "n=2000", "-rate", "threads=20", "-transport"];
    let words: Vec<&str> = load.into_iter().chain(transport.iter().map(String::as_str)).collect();
    is_done("write by a certificate", 2000, run(&server, &words));
    server.stop();
}

#[test]
fn loads_log_in_by_files_and_by_the_environment() {
    let builder = Builder::new("uring", 2).configured("authenticator: PasswordAuthenticator\n");
    let (folder, data) = (builder.folder(), builder.data());
    let server = builder.start();
    let text = std::fs::read_to_string(data.join("initial-superuser")).expect("the first superuser has a password");
    let password = text.lines().find_map(|line| line.strip_prefix("password: ")).expect("a line with the password");
    let file = write(&folder, "password", &format!("{password}\n"));
    for protocol in ["4", "5"] {
        let done = raw(&server, &["-u", "cassandra", "--password-file", &file, "--protocol", protocol]);
        assert_eq!(done, (true, String::new()));
    }
    let (is_done, errors) = raw(&server, &[]);
    assert!(!is_done && errors.contains("requires a login"), "{errors}");
    let wrong = write(&folder, "wrong", "cassandra");
    let (is_done, errors) = raw(&server, &["-u", "cassandra", "--password-file", &wrong]);
    assert!(!is_done && errors.contains("are incorrect"), "{errors}");
    let properties = write(&folder, "c.properties", &format!("cql.username=cassandra\ncql.password={password}\n"));
    let load = ["write", "no-warmup", "n=2000", "-rate", "threads=20"];
    let words: Vec<&str> = load.into_iter().chain(["-credentials-file", &properties]).collect();
    self::is_done("write with a login", 2000, run(&server, &words));
    let refused = run(&server, &load);
    assert!(refused.code != 0 && !refused.errors.contains(password), "{}", refused.errors);
    let mut command = Command::new(Builder::binary());
    command.args(["stress", "--raw", "write", "--rows", "100", "--node", &server.address(), "-u", "cassandra"]);
    let by_environment = command.env("HELENUS_PASSWORD", password).stdin(Stdio::null()).output();
    assert!(by_environment.expect("the binary can be run").status.success());
    server.stop();
}
