//! The client against a server that answers, refuses, dawdles and babbles.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::ToolError;
use crate::http::Client;
use crate::surroundings::{Request, Surroundings};

/// A certificate to trust, whose key was not kept.
const TRUSTED: &str = "-----BEGIN CERTIFICATE-----\n\
MIIBezCCASGgAwIBAgIUWdOTaGt4UpgedWB8TisrDODk1HUwCgYIKoZIzj0EAwIw\n\
EjEQMA4GA1UEAwwHdHJ1c3RlZDAgFw0yNjExMzAyMDU2MzFaGA8yMTI2MTEwNjIw\n\
NTYzMVowEjEQMA4GA1UEAwwHdHJ1c3RlZDBZMBMGByqGSM49AgEGCCqGSM49AwEH\n\
A0IABK+FF4iEub5Uafh9IDluQSWlh1hgQyBbwycGe7CEz6K2DU7BozlILRYkGBJd\n\
p04S2sx2JH1Sfqei5739z7oCtSKjUzBRMB0GA1UdDgQWBBRY2vDQaX+lkdVcb1ZD\n\
63bO/7kmcTAfBgNVHSMEGDAWgBRY2vDQaX+lkdVcb1ZD63bO/7kmcTAPBgNVHRMB\n\
Af8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQDYNNq3CXDTHTS9Hu2KJItViyWL\n\
j1mxdEj8M7BUbiV7egIgF9DTmHzjsrwnJ9FhdjEQX+w1YCOY2e/e7mC6lBjYDvY=\n\
-----END CERTIFICATE-----\n";

/// A server for one connection. It reads a request's head and hands the connection over; what it read is its outcome.
fn server(answer: impl FnOnce(TcpStream) + Send + 'static) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client comes");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout can be set");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read(&mut byte).unwrap_or(0) == 0 {
                break;
            }
            head.push(byte[0]);
        }
        answer(stream);
        String::from_utf8(head).expect("a head is text")
    });
    (port, thread)
}

fn says(bytes: &'static str) -> (u16, JoinHandle<String>) {
    server(move |mut stream| {
        let _ = stream.write_all(bytes.as_bytes());
    })
}

/// A server that answers the first bytes, whatever they are.
fn server_of_anything(answer: &'static str) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client comes");
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(answer.as_bytes());
        // Until the client goes: a close with bytes unread would reset the connection.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    (port, thread)
}

fn client(port: u16) -> Client {
    client_at("127.0.0.1", port, "60")
}

/// A client that waits for a second, where it is to be seen that it does not wait for ever, or does for what takes long.
fn impatient(port: u16) -> Client {
    client_at("127.0.0.1", port, "1")
}

fn client_at(host: &str, port: u16, timeout: &str) -> Client {
    let port = port.to_string();
    let arguments = ["-h", host, "-p", &port, "--timeout", timeout, "version"].map(std::ffi::OsString::from);
    Client::new(&crate::parsed(arguments.to_vec()).expect("a command line"), |_| Err("there are no files".to_owned()))
        .expect("there are no files to read")
}

fn ask(port: u16, request: &Request) -> Result<String, ToolError> {
    client(port).ask(request)
}

#[test]
fn an_answer_is_its_body() {
    let (port, server) = says("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n\"5.0.6\"rest");
    let request = Request::delete("/storage_service/snapshots").with("tag", "a b");
    assert_eq!(ask(port, &request).expect("an answer"), "\"5.0.6\"");
    let head = server.join().expect("the server ends");
    assert!(head.starts_with("DELETE /storage_service/snapshots?tag=a%20b HTTP/1.1\r\n"), "{head}");
    assert!(head.to_ascii_lowercase().contains(&format!("host: 127.0.0.1:{port}\r\n")), "{head}");
    // An API that refuses other pages' requests would refuse it.
    assert!(!head.to_ascii_lowercase().contains("origin:"), "{head}");
}

#[test]
fn pieces_are_put_together_and_void_is_empty() {
    let (port, _) = says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n12\r\n1\r\n3\r\n0\r\n\r\n");
    assert_eq!(ask(port, &Request::get("/x")).expect("an answer"), "123");
    let (port, _) = says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(ask(port, &Request::post("/x")).expect("an answer"), "");
}

#[test]
fn a_refusal_is_the_nodes_sentence() {
    for (answer, code, expected) in [
        (
            "HTTP/1.1 404 Not Found\r\nContent-Length: 52\r\n\r\n{\"message\": \"there is no keyspace shop\", \"code\":404}",
            1,
            "there is no keyspace shop",
        ),
        ("HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\ntoo busy\x1b[2J\n", 2, "too busy [2J"),
        ("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", 2, "the node answered GET /x with status 500 and no message"),
        // No redirection is followed.
        (
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
            1,
            "the node answered GET /x with status 302 and no message",
        ),
    ] {
        let (port, _) = says(answer);
        let error = ask(port, &Request::get("/x")).expect_err("a refusal");
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.exit_code(), code, "{error}");
    }
}

#[test]
fn nobody_there_is_said_with_host_and_port() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    drop(listener);
    let error = ask(port, &Request::get("/x")).expect_err("nobody listens");
    assert_eq!(
        error.to_string(),
        format!(
            "cannot connect to the admin API at 127.0.0.1:{port} (--host, --port): Connection refused (os error 111); the node may be down, or its admin API be closed or elsewhere (its own --api-address, --api-port)"
        )
    );
    assert_eq!(error.exit_code(), 1);
    let error = client_at("host.invalid", port, "60").ask(&Request::get("/x")).expect_err("no such host");
    assert!(
        error
            .to_string()
            .starts_with(&format!("cannot connect to the admin API at host.invalid:{port} (--host, --port): ")),
        "{error}"
    );
    let error = client_at("a host", port, "1").ask(&Request::get("/x")).expect_err("no host");
    assert_eq!(error.to_string(), "`a host` is not a host name");
}

#[test]
fn who_does_not_answer_is_not_waited_for() {
    let (port, server) = server(|mut stream| {
        // Until the client goes.
        let _ = stream.read(&mut [0]);
    });
    let error = impatient(port).ask(&Request::get("/x")).expect_err("no answer");
    assert_eq!(
        error.to_string(),
        format!(
            "GET /x to 127.0.0.1:{port} timed out after 1 s; the node may be too busy, or hang: --timeout waits longer"
        )
    );
    assert_eq!(error.exit_code(), 2);
    server.join().expect("the server ends");
}

#[test]
fn what_is_known_to_take_long_is_waited_for() {
    let (port, _) = server(|mut stream| {
        std::thread::sleep(Duration::from_millis(1500));
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
    });
    assert_eq!(impatient(port).ask(&Request::post("/x")).expect("an answer"), "1");
}

#[test]
fn an_answer_without_end_is_cut() {
    let (port, _) = server(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        while stream.write_all(&[b'x'; 4096]).is_ok() {}
    });
    let error = client(port).with_bytes_max(100_000).ask(&Request::get("/x")).expect_err("too much");
    assert_eq!(error.to_string(), "response to GET /x exceeds 100000 bytes");
}

#[test]
fn what_is_no_http_is_an_error() {
    for babble in [
        "",
        "\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1\r\n\r\n",
        "HTTP/1.1 99999 x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "\u{84}\0\0\0\0\0\0\0",
    ] {
        let (port, _) = says(babble);
        let error = ask(port, &Request::get("/x")).expect_err(babble);
        assert_eq!(error.exit_code(), 2, "{babble:?}: {error}");
        assert!(error.to_string().contains(&format!("127.0.0.1:{port}")), "{babble:?}: {error}");
    }
}

#[test]
fn plain_text_to_a_port_of_tls_says_so() {
    // The alert by which a server of TLS answers what is none, and a server that only closes.
    for answer in ["\u{15}\u{3}\u{3}\0\u{2}\u{2}\u{32}", ""] {
        let (port, _) = says(answer);
        let error = ask(port, &Request::get("/x")).expect_err("no HTTP").to_string();
        assert!(error.ends_with("; if the node's admin API has TLS (api_tls), give --ssl and --cacert"), "{error}");
    }
}

#[test]
fn tls_to_a_plain_port_says_so() {
    let file = std::env::temp_dir().join(format!("nodetool-trusted-{}.pem", std::process::id()));
    std::fs::write(&file, TRUSTED).expect("the file can be written");
    let (port, _) = server_of_anything("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    let line = format!("-p {port} --ssl --cacert {} version", file.display());
    let arguments = crate::parsed(line.split(' ').map(std::ffi::OsString::from).collect()).expect("a command line");
    let mut client = Client::new(&arguments, |_| Err("there are no files".to_owned())).expect("the file is used");
    std::fs::remove_file(&file).expect("it is there");
    let error = client.ask(&Request::get("/x")).expect_err("no TLS").to_string();
    assert!(error.contains("may have no TLS"), "{error}");
}

#[test]
fn an_answer_of_another_form_is_not_understood() {
    let (port, _) = says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    let mut client = client(port);
    let node: &mut dyn Surroundings = &mut client;
    let error = node.get::<String>(Request::get("/x")).expect_err("no text");
    assert!(error.to_string().starts_with("invalid response to GET /x: "), "{error}");
    assert_eq!(error.exit_code(), 2);
}
