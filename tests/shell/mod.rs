//! `helenus cql` as a person or a script runs it: exit codes, logins, sockets, COPY, Ctrl-C, and what does not get out. What it prints is compared with cqlsh by the Python suite.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::authority::{Authority, VALID};
use helenus_tests::{Builder, Server};

const IP: &str = "127.0.0.1";
const PASSWORD: &str = "a password of the tests";
/// The hash of it.
const HASH: &str = "$2b$04$abcdefghijklmnopqrstuuzzjWYX9ziq/z9PGEfqaY.69BPe06tMC";

/// The end of a run.
#[derive(Debug)]
struct Ran {
    code: i32,
    output: String,
    errors: String,
}

/// A shell that is to be run: without the settings of whoever runs the tests.
fn shell(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(Builder::binary());
    // Tests share their cores with others.
    command
        .args(["cql", "--connect-timeout=60"])
        .args(arguments)
        .env("HOME", home)
        .env_remove("HELENUS_PASSWORD")
        .env_remove("CQLSH_HOST");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs it to its end, with a text on standard input.
fn ended(command: &mut Command, text: &str) -> Ran {
    let mut child = command.spawn().expect("the binary can be run");
    let mut input = child.stdin.take().expect("it is piped");
    // A shell that does not read ends before all is written.
    let _ = input.write_all(text.as_bytes());
    drop(input);
    let run = child.wait_with_output().expect("it ends");
    Ran {
        code: run.status.code().expect("it ends by itself"),
        output: String::from_utf8(run.stdout).expect("it prints text"),
        errors: String::from_utf8(run.stderr).expect("it prints text"),
    }
}

fn run(server: &Server, arguments: &[&str], text: &str) -> Ran {
    let port = server.port.to_string();
    let line: Vec<&str> = [IP, port.as_str()].iter().chain(arguments).copied().collect();
    ended(&mut shell(Path::new("/nonexistent"), &line), text)
}

fn file(builder: &Builder, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = builder.folder().join(name);
    std::fs::write(&path, text).expect("the temporary folder can be written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("it is the test's own");
    path
}

fn passwords() -> Builder {
    Builder::new("epoll", 1).with(&["--authenticator", "PasswordAuthenticator"]).with(&[
        "--auth-superuser-name",
        "admin",
        "--auth-superuser-salted-password",
        HASH,
    ])
}

#[test]
fn a_script_that_fails_ends_with_2_and_names_the_place() {
    let builder = Builder::new("uring", 1);
    let server = builder.start();
    let good = run(&server, &["-e", "SELECT cluster_name FROM system.local"], "");
    assert!((good.code, good.errors.as_str()) == (0, "") && good.output.contains("Test Cluster"), "{good:?}");
    let script = file(&builder, "script.cql", "SELECT key FROM system.local;\nSELEKT;\nSHOW HOST\n", 0o644);
    let script = script.to_str().expect("UTF-8");
    for (arguments, text) in [
        (vec!["-e", "SELEKT; SHOW HOST"], ""),
        (vec!["-f", script], ""),
        (vec![], "SELEKT;\nSHOW HOST\n"),
        (vec!["-e", "SELECT 'not complete"], ""),
        (vec![], "SHOW HOST\nSELECT key FROM system.local"),
        (vec![], "SOURCE '/nonexistent.cql'\nSHOW HOST\n"),
        (vec!["--no-such-option"], ""),
        (vec!["--encoding", "utf8", "--protocol-version", "x"], ""),
    ] {
        let ran = run(&server, &arguments, text);
        assert!(ran.code == 2 && !ran.errors.is_empty(), "{arguments:?} {text}: {ran:?}");
    }
    let ran = run(&server, &["-f", script], "");
    assert!(ran.errors.starts_with(&format!("{script}:3:SyntaxException: line 1:0")), "{ran:?}");
    assert!(ran.output.contains("Connected to Test Cluster"), "errors do not end a script: {ran:?}");
    for arguments in
        [["-f", "/nonexistent.cql"], ["-k", "nowhere"], ["--encoding", "latin1"], ["--protocol-version", "2"]]
    {
        let ran = run(&server, &arguments, "");
        assert!(ran.code == 1 && !ran.errors.is_empty(), "{arguments:?}: {ran:?}");
    }
    let port = server.port.to_string();
    server.stop();
    let gone = ended(&mut shell(Path::new("/nonexistent"), &[IP, &port, "-e", "SELECT 1"]), "");
    assert!(gone.code == 1 && gone.errors.contains("Connection error: cannot connect"), "{gone:?}");
}

#[test]
fn logins_come_from_files_and_the_environment_and_no_process_shows_one() {
    let builder = passwords();
    let server = builder.start();
    let port = server.port.to_string();
    let line = [IP, port.as_str()];
    let home = builder.folder().join("home");
    std::fs::create_dir_all(home.join(".cassandra")).expect("a folder");
    let text = "LIST ROLES;";
    assert_eq!(ended(&mut shell(&home, &line), text).code, 1, "no login was given");
    let with = |more: &[&str]| shell(&home, &line.iter().chain(more).copied().collect::<Vec<_>>());
    let of_variable = ended(with(&["-u", "admin"]).env("HELENUS_PASSWORD", PASSWORD), text);
    assert!(of_variable.code == 0 && of_variable.output.contains("admin"), "{of_variable:?}");
    let secret = file(&builder, "secret", &format!("{PASSWORD}\n"), 0o600);
    let of_file = ended(&mut with(&["-u", "admin", "--password-file", secret.to_str().expect("UTF-8")]), text);
    assert_eq!(of_file.code, 0, "{of_file:?}");
    let wrong = ended(&mut with(&["-u", "admin", "-p", "wrong"]), text);
    assert!(wrong.code == 1 && wrong.errors.contains("Bad credentials"), "{wrong:?}");

    let credentials = format!("[plain_text_auth]\nusername = admin\npassword = {PASSWORD}\n");
    for (mode, code) in [(0o600, 0), (0o644, 1)] {
        file(&builder, "home/.cassandra/credentials", &credentials, mode);
        let ran = ended(&mut shell(&home, &line), text);
        assert_eq!(ran.code, code, "{mode:o}: {ran:?}");
        assert_eq!(ran.errors.contains("chmod 600"), code == 1, "{ran:?}");
    }

    file(&builder, "home/.cassandra/credentials", &credentials, 0o600);
    let mut child = shell(&home, &line).spawn().expect("the binary can be run");
    let mut input = child.stdin.take().expect("it is piped");
    // A hash that is quick to verify: tests share their cores.
    let begin = format!(
        "CREATE ROLE bob WITH LOGIN = true AND HASHED PASSWORD = '{HASH}';\nLOGIN bob '{PASSWORD}'\nLIST ROLES;\n"
    );
    input.write_all(begin.as_bytes()).expect("it reads");
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    until(&mut output, "(1 rows)");
    let process = format!("/proc/{}", child.id());
    let own = std::fs::read_to_string(format!("{process}/cmdline")).expect("it runs");
    assert!(!own.contains(PASSWORD), "{own}");
    let children = std::fs::read_to_string(format!("{process}/task/{}/children", child.id())).unwrap_or_default();
    assert_eq!(children.trim(), "", "it starts no process that could show one");
    input.write_all(b"LOGIN bob 'wrong'\nLIST ROLES;\nexit\n").expect("it reads");
    drop(input);
    until(&mut output, "bob");
    assert_eq!(
        child.wait().expect("it ends").code(),
        Some(2),
        "a login that failed is a failure, and the session goes on"
    );
    let log = server.lines().join("\n");
    assert!(!log.contains(PASSWORD), "a password is in the log");
    server.stop();
}

/// Reads lines until one has the text.
fn until(lines: &mut impl BufRead, text: &str) {
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        assert!(lines.read_line(&mut line).expect("it prints text") > 0, "it ended without {text}");
    }
}

#[test]
fn the_owner_of_the_node_is_served_on_the_maintenance_socket() {
    let builder = passwords();
    let server = builder.start();
    let socket = builder.data().join("maintenance/cql.m");
    let socket = socket.to_str().expect("UTF-8");
    let ran = ended(&mut shell(Path::new("/nonexistent"), &[socket, "-e", "LIST ROLES; SHOW HOST"]), "");
    assert!(ran.code == 0 && ran.output.contains("admin") && ran.output.contains(socket), "{ran:?}");
    server.stop();
}

#[test]
fn certificates_are_judged_and_shown() {
    let (authority, other) = (Authority::new("cluster"), Authority::new("other"));
    let builder = Builder::new("epoll", 1);
    let issued = authority.issue(&[IP], VALID);
    let node = file(&builder, "node.pem", &format!("{}{}", issued.key, issued.certificate), 0o600);
    let trusted = file(&builder, "ca.crt", &authority.pem, 0o644);
    let strange = file(&builder, "other.crt", &other.pem, 0o644);
    let own = authority.issue(&[IP], VALID);
    let (certificate, key) =
        (file(&builder, "own.crt", &own.certificate, 0o644), file(&builder, "own.key", &own.key, 0o600));
    let server = builder
        .clone()
        .configured(&format!(
            "client_encryption_options:\n  enabled: true\n  require_client_auth: true\n  keystore: {}\n  truststore: {}\n",
            node.display(),
            trusted.display()
        ))
        .start();
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let (trusted, strange, certificate, key) = (text(&trusted), text(&strange), text(&certificate), text(&key));
    let statement = ["-e", "SELECT cluster_name FROM system.local"];
    let with = |more: &[&str]| run(&server, &more.iter().chain(&statement).copied().collect::<Vec<_>>(), "");
    let served = with(&["--cacert", &trusted, "--cert", &certificate, "--key", &key]);
    assert!(served.code == 0 && served.output.contains("Test Cluster"), "{served:?}");
    for refused in [
        vec![],
        vec!["--ssl"],
        vec!["--cacert", &trusted],
        vec!["--cacert", &strange, "--cert", &certificate, "--key", &key],
    ] {
        let ran = with(&refused);
        assert!(
            ran.code == 1 && !ran.errors.is_empty() && !ran.output.contains("Test Cluster"),
            "{refused:?}: {ran:?}"
        );
    }
    let settings = format!(
        "[connection]\nhostname = {IP}\nport = {}\nssl = true\n[ssl]\ncertfile = {trusted}\nusercert = {certificate}\nuserkey = {key}\n",
        server.port
    );
    let settings = text(&file(&builder, "cqlshrc", &settings, 0o600));
    let arguments: Vec<&str> = ["--cqlshrc", &settings].iter().chain(&statement).copied().collect();
    let of_settings = ended(&mut shell(Path::new("/nonexistent"), &arguments), "");
    assert!(of_settings.code == 0 && of_settings.output.contains("Test Cluster"), "{of_settings:?}");
    server.stop();
}

#[test]
fn rows_are_copied_through_streams_and_rejected_rows_into_a_file() {
    let builder = Builder::new("uring", 2);
    let server = builder.start();
    let rejected = builder.folder().join("rejected.csv");
    let made = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}; USE ks;\n\
                CREATE TABLE t (k int PRIMARY KEY, v text, \"Big\" counter);\nCREATE TABLE t (k int PRIMARY KEY, v text);\n\
                CREATE TABLE c (k int PRIMARY KEY, n counter);\n";
    run(&server, &[], made);
    let text = format!(
        "COPY t FROM STDIN WITH ERRFILE = '{}' AND SKIPROWS = 1 AND MAXROWS = 5;\nskipped,x\n1,one\ntwo,2\n3,\"a \\\"b\\\"\nc\"\n4,\n5,five\n\\.\n\
         COPY t TO STDOUT;\nCOPY t (k) TO STDOUT WITH BEGINTOKEN = '9223372036854775806';\nCOPY c FROM STDIN;\n7,1\n7,2\n8,\n.\nSELECT * FROM c;\n",
        rejected.display()
    );
    let ran = run(&server, &["-k", "ks"], &text);
    assert_eq!(ran.code, 2, "a row was rejected: {ran:?}");
    assert!(ran.output.contains("3 rows imported from 1 files") && ran.output.contains("(1 skipped)"), "{ran:?}");
    assert!(ran.errors.contains("ParseError - Failed to parse two"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&rejected).expect("it was written"), "two,2\r\n");
    for row in ["1,one\r\n", "3,\"a \\\"b\\\"\nc\"\r\n", "4,\r\n"] {
        assert!(ran.output.contains(row), "no {row:?} in {ran:?}");
    }
    assert!(!ran.output.contains("5,five"), "{ran:?}");
    assert!(ran.output.contains(" 7 | 3\n"), "counters are added to: {ran:?}");
    let wrong = run(
        &server,
        &["-e", "COPY ks.none TO STDOUT; COPY ks.t (x) TO STDOUT; COPY t TO STDOUT; COPY ks.t TO STDOUT WITH NOPE = 1"],
        "",
    );
    for part in ["not found", "Invalid column name x", "Not in any keyspace.", "Unrecognized COPY TO options: nope"] {
        assert!(wrong.errors.contains(part), "no {part} in {wrong:?}");
    }
    server.stop();
}

#[test]
fn files_of_copy_are_split_kept_and_configured() {
    let builder = Builder::new("uring", 1);
    let server = builder.start();
    let folder = builder.folder().display().to_string();
    run(
        &server,
        &[],
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}; USE ks; CREATE TABLE t (k int PRIMARY KEY, v text);",
    );
    file(&builder, "in1.csv", "k,v\n1,one\n2,two\n3,three\n", 0o644);
    file(&builder, "in2.csv", "k,v\r4,four\r\"5\",\"fi\rve\"\r", 0o644);
    file(&builder, "rejected.csv", "of before\n", 0o644);
    file(&builder, "settings", "[copy]\nheader = true\n[copy-from:ks.t]\nskipcols = v\n", 0o644);
    let text = format!(
        "COPY t FROM '{folder}/in[12].csv' WITH CONFIGFILE = '{folder}/settings' AND SKIPCOLS = '' AND ERRFILE = '{folder}/rejected.csv';\n\
         COPY t TO '{folder}/out.csv' WITH HEADER = true AND MAXOUTPUTSIZE = 2 AND PAGESIZE = 3;\nSELECT v FROM t WHERE k = 5;\n\
         COPY t FROM '{folder}/in1.csv' WITH CONFIGFILE = '{folder}/none';\nCOPY t FROM '{folder}/none*/x.csv';\n"
    );
    let ran = run(&server, &["-k", "ks"], &text);
    assert!(ran.output.contains("5 rows imported from 2 files") && ran.output.contains(" fi\\rve\n"), "{ran:?}");
    assert!(ran.output.contains("5 rows exported to 3 files"), "{ran:?}");
    let read = |name: &str| std::fs::read_to_string(builder.folder().join(name)).expect("it was written");
    let rows = ["out.csv", "out.csv.1", "out.csv.2"].map(|name| read(name).matches("\r\n").count());
    assert!(rows == [3, 2, 1] && read("out.csv").starts_with("k,v\r\n"), "a file begins with the names: {rows:?}");
    let names =
        std::fs::read_dir(builder.folder()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let kept: Vec<String> =
        names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with("rejected")).collect();
    assert!(kept.len() == 1 && kept[0] != "rejected.csv" && read(&kept[0]) == "of before\n", "{kept:?}");
    let long = format!("{0}\n{0}\n", "x".repeat(70_000));
    file(&builder, "long.csv", &long, 0o644);
    run(&server, &["-k", "ks"], "CREATE TABLE long (k text PRIMARY KEY);");
    let text =
        format!("COPY long FROM '{folder}/long.csv' WITH MAXINSERTERRORS = 1 AND ERRFILE = '{folder}/long.err';");
    let refused = run(&server, &["-k", "ks"], &text);
    assert!(refused.errors.contains("Exceeded maximum number of insert errors 1\n"), "{refused:?}");
    assert_eq!(read("long.err"), long.replace('\n', "\r\n"));
    assert!(ran.code == 2 && ran.errors.contains("none: No such file"), "{ran:?}");
    assert!(ran.errors.contains("none*/x.csv' for reading: no matching file found"), "{ran:?}");
    server.stop();
}

#[test]
fn bytes_that_are_no_text_are_neither_run_nor_copied() {
    let builder = Builder::new("uring", 1);
    let server = builder.start();
    let path = |name: &str, bytes: &[u8]| {
        let path = builder.folder().join(name);
        std::fs::write(&path, bytes).expect("the temporary folder can be written");
        path.display().to_string()
    };
    run(
        &server,
        &[],
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}; USE ks; CREATE TABLE t (k int PRIMARY KEY, v text);",
    );
    let script =
        path("latin.cql", b"INSERT INTO ks.t (k) VALUES (1);\nINSERT INTO ks.t (k, v) VALUES (2, 'caf\xe9');\n");
    let run_file = run(&server, &["-f", &script], "");
    assert!(
        run_file.code == 1 && run_file.errors.contains("line 2 is not UTF-8: it has the byte 0xe9"),
        "{run_file:?}"
    );
    let sourced = run(&server, &[], &format!("SOURCE '{script}'\n"));
    assert!(sourced.code == 2 && sourced.errors.contains("line 2 is not UTF-8"), "{sourced:?}");
    let port = server.port.to_string();
    let mut piped = shell(Path::new("/nonexistent"), &[IP, &port]);
    piped.stdin(std::fs::File::open(&script).expect("it was written"));
    let piped = piped.output().expect("it ends");
    assert_eq!(piped.status.code(), Some(2), "{piped:?}");
    assert!(String::from_utf8_lossy(&piped.stderr).contains("<stdin>:3:the line is not UTF-8"), "{piped:?}");
    let (rows, rejected) = (path("rows.csv", b"3,three\n4,\"caf\xe9\nx\"\n5,f\xc3\xbcnf\n"), path("rejected.csv", b""));
    let copied =
        run(&server, &["-k", "ks"], &format!("COPY t FROM '{rows}' WITH ERRFILE = '{rejected}';\nSELECT * FROM t;\n"));
    assert!(copied.errors.contains("ParseError - the row is not UTF-8,"), "{copied:?}");
    assert!(copied.output.contains("2 rows imported"), "{copied:?}");
    assert!(
        copied.output.contains("f\u{fc}nf") && copied.output.contains("(3 rows)"),
        "the first of the piped lines ran: {copied:?}"
    );
    assert_eq!(std::fs::read(rejected).expect("it was written"), b"4,\"caf\xe9\nx\"\n", "as the file had it");
    server.stop();
}

#[test]
fn a_sourced_file_leaves_the_login_the_keyspace_and_the_capture_as_they_were() {
    let builder = passwords();
    let server = builder.start();
    let captured = builder.folder().join("captured");
    let text = format!(
        "CREATE ROLE bob WITH LOGIN = true AND HASHED PASSWORD = '{HASH}';\nLOGIN bob '{PASSWORD}'\nUSE system_schema;\n\
         CAPTURE '{}'\nSELECT table_name FROM tables WHERE keyspace_name = 'system' AND table_name = 'local';\n\
         CREATE ROLE of_bob WITH SUPERUSER = true;\n",
        captured.display()
    );
    let sourced = file(&builder, "sourced.cql", &text, 0o644);
    let secret = file(&builder, "secret", PASSWORD, 0o600);
    let login = ["-u", "admin", "--password-file", secret.to_str().expect("UTF-8")];
    let text = format!(
        "SOURCE '{}'\nCAPTURE\nCREATE ROLE of_admin WITH SUPERUSER = true;\nSELECT table_name FROM tables;\nUSE system;\nSOURCE '{0}'\n\
         SELECT key FROM local;\nLIST ROLES;\n",
        sourced.display()
    );
    let ran = run(&server, &login, &text);
    assert!(ran.output.contains("Currently not capturing query output."), "{ran:?}");
    assert!(
        ran.output.contains(" of_admin ") && !ran.output.contains(" of_bob "),
        "the login is that of before: {ran:?}"
    );
    assert!(ran.errors.contains("No keyspace has been specified"), "the connection had none: {ran:?}");
    assert!(ran.output.contains("\n key\n"), "the connection has its keyspace again: {ran:?}");
    let captured = std::fs::read_to_string(captured).expect("it was captured");
    assert_eq!(captured.matches("(1 rows)").count(), 2, "{captured}");
    server.stop();
}

#[test]
fn no_control_character_of_a_value_is_printed() {
    let server = Builder::new("uring", 1).start();
    let script = "SELECT (text) 'a\x1b[31mb\u{9b}2J\rc\x07' AS \"n\x1bm\" FROM system.local;\nEXPAND ON\n\
                  SELECT (text) 'a\x1b[31m' AS x FROM system.local;\n";
    for colours in ["-C", "--no-color"] {
        let ran = run(&server, &[colours], script);
        let own: Vec<String> =
            ["0;1;31", "0;1;33", "0;1;35", "0;35", "0"].iter().map(|code| format!("\x1b[{code}m")).collect();
        let left = own.iter().fold(ran.output.clone(), |text, sequence| text.replace(sequence, ""));
        assert!(ran.code == 0 && left.contains("a\\x1b[31mb\\x9b2J\\rc\\x07"), "{ran:?}");
        assert!(!left.chars().any(|character| character.is_control() && character != '\n'), "{left:?}");
    }
    server.stop();
}

/// A server that takes connections and refuses each statement but one with `WAIT`, which it does not answer.
fn deaf_server(listener: TcpListener) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the shell connects");
        while let Some((opcode, streams, body)) = frame(&mut stream) {
            let answer = match opcode {
                1 => vec![0x84, 0, streams[0], streams[1], 2, 0, 0, 0, 0],
                _ if body.windows(4).any(|window| window == b"WAIT") => {
                    mark_arrival(&mut stream);
                    continue;
                }
                _ => vec![0x84, 0, streams[0], streams[1], 0, 0, 0, 0, 8, 0, 0, 0x22, 0, 0, 2, b'n', b'o'],
            };
            stream.write_all(&answer).expect("the shell reads");
        }
    })
}

/// Makes the file that says that the statement is under way.
fn mark_arrival(stream: &mut TcpStream) {
    let port = stream.local_addr().expect("it is bound").port();
    std::fs::write(std::env::temp_dir().join(format!("helenus-test-deaf-{port}")), "").expect("a file");
}

fn frame(stream: &mut TcpStream) -> Option<(u8, [u8; 2], Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).ok()?;
    let mut body = vec![0; u32::from_be_bytes([head[5], head[6], head[7], head[8]]) as usize];
    stream.read_exact(&mut body).ok()?;
    Some((head[4], [head[2], head[3]], body))
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
}

#[test]
fn an_interrupt_gives_up_the_statement_and_not_the_session() {
    let listener = TcpListener::bind((IP, 0)).expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    let mark = std::env::temp_dir().join(format!("helenus-test-deaf-{port}"));
    let server = deaf_server(listener);
    let line =
        [IP, &port.to_string(), "--tty", "--protocol-version", "4", "--request-timeout", "0", "--disable-history"];
    let mut child = shell(Path::new("/nonexistent"), &line).spawn().expect("the binary can be run");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(b"SELECT WAIT;\n").expect("it reads");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !mark.exists() {
        assert!(std::time::Instant::now() < deadline, "the statement did not arrive");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    interrupt(&child);
    input.write_all(b"CONSISTENCY ALL\nSELECT something;\nexit\n").expect("it reads");
    drop(input);
    let run = child.wait_with_output().expect("it ends");
    let _ = std::fs::remove_file(mark);
    let output = String::from_utf8_lossy(&run.stdout);
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    assert!(output.contains("Consistency level set to ALL."), "{output}");
    assert!(String::from_utf8_lossy(&run.stderr).contains("message=\"no\""), "the next statement is answered: {run:?}");
    server.join().expect("the server ended with the connection");
}

#[test]
fn output_that_is_closed_ends_the_shell() {
    let server = Builder::new("uring", 1).start();
    let port = server.port.to_string();
    let mut child = shell(Path::new("/nonexistent"), &[IP, &port]).spawn().expect("the binary can be run");
    drop(child.stdout.take());
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(b"SHOW HOST\n").expect("it reads");
    // Standard input stays open: only its output ends it.
    let mut errors = String::new();
    let mut stderr = child.stderr.take().expect("it is piped");
    let code = child.wait().expect("it ends").code();
    stderr.read_to_string(&mut errors).expect("text");
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    drop(input);
    server.stop();
}
