//! `nodetool import-roles`, of the files that a Cassandra 5.0.6 has written: `crates/filetools/testdata/system_auth`.

use cql_protocol::request::AuthResponse;
use cql_protocol::{Request, Version};
use helenus_tests::{Builder, Connection, Printed, Server, nodetool, query_frame, startup_frame};

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/filetools/testdata/system_auth");
const RESULT: u8 = 0x08;
const AUTH_SUCCESS: u8 = 0x10;
const VERSION: Version = Version::V4;

/// A node with passwords and permissions, and the password of its first superuser.
fn start() -> (Server, String) {
    let file = "authenticator: PasswordAuthenticator\nauthorizer: CassandraAuthorizer\n";
    let builder = Builder::new("uring", 2).configured(file).for_operators();
    let data = builder.data();
    let server = builder.start();
    let text = std::fs::read_to_string(data.join("initial-superuser")).expect("the first superuser has a password");
    let password = text.lines().find_map(|line| line.strip_prefix("password: "));
    (server, password.expect("a line with the password").to_owned())
}

/// A client that has logged in, or the refusal.
fn log_in(server: &Server, name: &str, password: &str) -> Result<Connection, String> {
    let mut connection = Connection::open(&server.address()).expect("connects");
    connection.ask(&startup_frame(VERSION, None)).expect("is answered");
    let token = format!("\0{name}\0{password}");
    let mut frame = Vec::new();
    Request::AuthResponse(AuthResponse { token: Some(token.as_bytes()) }).encode_frame(VERSION, 3, &mut frame);
    let answer = connection.ask(&frame).expect("is answered");
    match answer.opcode {
        AUTH_SUCCESS => Ok(connection),
        _ => Err(String::from_utf8_lossy(&answer.body).into_owned()),
    }
}

fn run(connection: &mut Connection, text: &str) -> Result<Vec<u8>, String> {
    let answer = connection.ask(&query_frame(VERSION, 4, text)).expect("is answered");
    match answer.opcode {
        RESULT => Ok(answer.body.clone()),
        _ => Err(String::from_utf8_lossy(&answer.body).into_owned()),
    }
}

fn import(server: &Server, password: &str, options: &str) -> Printed {
    let printed = nodetool(server, &format!("-u cassandra -pw {password} import-roles {FILES}{options}"));
    assert!(!printed.output.contains("$2a$") && !printed.errors.contains("$2a$"), "no hash is printed: {printed:?}");
    printed
}

fn done(printed: &Printed) -> &str {
    assert_eq!((printed.code, &*printed.errors), (0, ""), "{printed:?}");
    printed.output.lines().last().expect("a line")
}

#[test]
fn roles_of_a_cassandra_log_in_with_their_passwords_and_have_their_permissions() {
    let (server, password) = start();
    let mut root = log_in(&server, "cassandra", &password).expect("it logs in");
    for text in [
        "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE shop.orders (id int PRIMARY KEY, what text)",
        "CREATE TABLE shop.secrets (id int PRIMARY KEY)",
    ] {
        run(&mut root, text).expect("it is done");
    }
    let dry = import(&server, &password, " --dry-run");
    assert!(dry.output.contains("would import: role ada\n"), "{}", dry.output);
    assert!(dry.output.contains("skipped: role cassandra: it has Cassandra's default password"), "{}", dry.output);
    let planned = done(&dry).replace("would import", "imported");
    assert!(log_in(&server, "ada", "ada-secret").is_err(), "a dry run changes nothing");

    let first = import(&server, &password, "");
    assert_eq!(done(&first), planned, "the dry run said what came");
    assert!(first.output.contains("imported: role lead: SELECT, MODIFY on <table shop.orders>\n"), "{}", first.output);
    assert!(log_in(&server, "ada", "old-secret").is_err() && log_in(&server, "gone", "x").is_err());
    let mut ada = log_in(&server, "ada", "ada-secret").expect("the password is the one of the files");
    run(&mut ada, "INSERT INTO shop.orders (id, what) VALUES (1, 'tea')").expect("lead may");
    run(&mut ada, "SELECT * FROM shop.orders").expect("team may");
    let refused = run(&mut ada, "SELECT * FROM shop.secrets").expect_err("it was not granted");
    assert!(refused.contains("no SELECT permission on <table shop.secrets>"), "{refused}");
    let mut old_root = log_in(&server, "root", "root-secret").expect("a superuser is imported too");
    run(&mut old_root, "SELECT * FROM shop.secrets").expect("it may do all");
    log_in(&server, "local", "x").expect("its datacenter is this one");
    log_in(&server, "cassandra", &password).expect("the superuser of this cluster has the password that it had");
    assert!(log_in(&server, "cassandra", "cassandra").is_err());

    // Another time nothing is changed: not the first time's roles, nor what was changed since.
    run(&mut root, "ALTER ROLE ada WITH PASSWORD = 'new-secret'").expect("it is changed");
    let again = import(&server, &password, "");
    assert!(done(&again).starts_with("imported 0, "), "{}", again.output);
    assert!(again.output.contains("skipped: role ada: it exists\n"), "{}", again.output);
    log_in(&server, "ada", "new-secret").expect("the password is the new one");
    let replaced = import(&server, &password, " --replace");
    assert_eq!(replaced.output.matches("imported: ").count(), 1, "ada alone is others: {}", replaced.output);
    log_in(&server, "ada", "ada-secret").expect("the password is the one of the files");

    // Roles are a superuser's to import.
    run(&mut root, "CREATE ROLE op WITH PASSWORD = 'op' AND LOGIN = true").expect("it is made");
    run(&mut root, "GRANT MODIFY ON ALL MBEANS TO op").expect("it is granted");
    let refused = nodetool(&server, &format!("-u op -pw op import-roles {FILES} --replace"));
    assert!(refused.code == 1 && refused.errors.contains("Only superusers may"), "{refused:?}");
    server.stop();
}

#[test]
fn a_node_that_asks_for_no_login_and_a_folder_without_roles_are_refused() {
    let server = Builder::new("uring", 1).for_operators().start();
    let refused = nodetool(&server, &format!("import-roles {FILES}"));
    assert!(refused.code == 1 && refused.errors.contains("set authenticator first"), "{refused:?}");
    let refused = nodetool(&server, "import-roles /nonexistent");
    assert!(refused.code == 1 && refused.errors.contains("no SSTables of system_auth.roles"), "{refused:?}");
    server.stop();
}
