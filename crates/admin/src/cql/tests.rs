//! Statements against a server that is not one: each answer that it may give, and none.

use std::future::Future;

use cql_protocol::response::ErrorBody;
use cql_protocol::{
    ColumnSpec, FrameHeader, HEADER_LENGTH, RowsHead, RowsWriter, SchemaChangeKind, Specs, Version, write_auth_success,
    write_authenticate, write_error, write_ready, write_schema_change, write_set_keyspace, write_void,
};
use cql_types::CqlType;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net;

use super::*;

/// What a fake server answers to a request, which it has as opcode and body.
type Answers = fn(u8, &[u8], &mut Vec<u8>);

const STARTUP: u8 = 0x01;
const QUERY: u8 = 0x07;
const AUTH_RESPONSE: u8 = 0x0f;

async fn read_request(stream: &mut net::UnixStream) -> Option<(u8, Vec<u8>)> {
    let mut header = [0; HEADER_LENGTH];
    stream.read_exact(&mut header).await.ok()?;
    let header = FrameHeader::decode(&header).expect("the console writes headers");
    assert_eq!(header.version, Version::V4);
    let mut body = vec![0; header.length as usize];
    stream.read_exact(&mut body).await.ok()?;
    Some((header.opcode as u8, body))
}

async fn serve(mut stream: net::UnixStream, answers: Answers) {
    while let Some((opcode, body)) = read_request(&mut stream).await {
        let mut out = Vec::new();
        answers(opcode, &body, &mut out);
        if stream.write_all(&out).await.is_err() {
            return;
        }
    }
}

/// Runs what is asked against a server that answers so.
async fn asked_of(answers: Answers, asked: &str) -> Value {
    let (native, server) = UnixStream::pair().expect("a pair");
    server.set_nonblocking(true).expect("it is open");
    let server = net::UnixStream::from_std(server).expect("it is nonblocking");
    let server = tokio::spawn(serve(server, answers));
    let asked = Asked::read(asked.as_bytes()).unwrap_or_else(|problem| panic!("{asked}: {problem}"));
    let answer = run(native, &asked).await;
    server.abort();
    answer
}

fn in_tokio(body: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(body);
}

fn ready_then(opcode: u8, out: &mut Vec<u8>, answer: fn(&mut Vec<u8>)) {
    match opcode {
        STARTUP => write_ready(out, Version::V4, 0),
        QUERY => answer(out),
        other => panic!("opcode {other} was not expected"),
    }
}

fn write_rows(out: &mut Vec<u8>, paging_state: Option<&[u8]>) {
    let [int, text] = [CqlType::Int, CqlType::Text];
    let spec = |name, ty| ColumnSpec { keyspace: "k", table: "t", name, ty };
    let columns = [spec("p", &int), spec("v", &text)];
    let head = RowsHead { columns: Specs::Columns(&columns), new_metadata_id: None };
    let mut rows = RowsWriter::begin(out, Version::V4, 0, &head);
    for (p, v) in [(1_i32, Some("one")), (2, None)] {
        rows.value(out, Some(&p.to_be_bytes()));
        rows.value(out, v.map(str::as_bytes));
        rows.end_row();
    }
    rows.finish(out, paging_state);
}

#[test]
fn rows_are_text_and_pages_go_on() {
    in_tokio(async {
        let answer = asked_of(
            |opcode, _, out| ready_then(opcode, out, |out| write_rows(out, Some(&[0xca, 0xfe]))),
            r#"{"statement": "SELECT * FROM k.t"}"#,
        )
        .await;
        assert_eq!(answer["columns"], json!([{"name": "p", "type": "int"}, {"name": "v", "type": "text"}]));
        assert_eq!(answer["rows"], json!([["1", "one"], ["2", null]]));
        assert_eq!((&answer["more"], &answer["page"]), (&json!(true), &json!("cafe")));
        assert_eq!(answer["error"], Value::Null);

        // The page that was named is asked for.
        let answer = asked_of(
            |opcode, body, out| {
                assert!(opcode == STARTUP || body.ends_with(&[0, 0, 0, 2, 0xca, 0xfe]), "{body:?}");
                ready_then(opcode, out, |out| write_rows(out, None));
            },
            r#"{"statement": "SELECT * FROM k.t", "page": "cafe"}"#,
        )
        .await;
        assert_eq!((&answer["more"], &answer["page"]), (&json!(false), &Value::Null));
    });
}

#[test]
fn what_has_no_rows_says_what_was_done() {
    in_tokio(async {
        let done = async |answers: Answers| asked_of(answers, r#"{"statement": "x"}"#).await;
        let answer = done(|opcode, _, out| ready_then(opcode, out, |out| write_void(out, Version::V4, 0))).await;
        assert_eq!((&answer["done"], &answer["error"]), (&json!("done"), &Value::Null));
        let answer = done(|opcode, _, out| {
            ready_then(opcode, out, |out| {
                let target = SchemaTarget::Table { name: "t".to_owned() };
                let change = SchemaChange { kind: SchemaChangeKind::Created, target, keyspace: "k".to_owned() };
                write_schema_change(out, Version::V4, 0, &change);
            });
        })
        .await;
        assert_eq!(answer["done"], "created table k.t");
        let used: Answers =
            |opcode, _, out| ready_then(opcode, out, |out| write_set_keyspace(out, Version::V4, 0, "k"));
        assert_eq!(done(used).await["keyspace"], "k");
    });
}

#[test]
fn a_keyspace_is_used_first_and_quoted() {
    const USED: &[u8] = b"USE \"a\"\"; DROP\"";
    in_tokio(async {
        let answers: Answers = |opcode, body, out| {
            let is_use = body.windows(USED.len()).any(|part| part == USED);
            let is_statement = body.windows(8).any(|part| part == b"SELECT 1");
            assert!(opcode != QUERY || is_use || is_statement, "{}", String::from_utf8_lossy(body));
            match is_use {
                true => write_set_keyspace(out, Version::V4, 0, "a"),
                false => ready_then(opcode, out, |out| write_rows(out, None)),
            }
        };
        let answer = asked_of(answers, r#"{"statement": "SELECT 1", "keyspace": "a\"; DROP"}"#).await;
        assert_eq!(answer["rows"].as_array().map(Vec::len), Some(2));
    });
}

#[test]
fn errors_are_answers() {
    in_tokio(async {
        let answer = asked_of(
            |opcode, _, out| {
                ready_then(opcode, out, |out| {
                    write_error(out, Version::V4, 0, &ErrorBody::invalid("no such table"));
                });
            },
            r#"{"statement": "x"}"#,
        )
        .await;
        let error = json!({"code": "Invalid", "message": "no such table", "asks_login": false});
        assert_eq!(answer["error"], error);
        assert_eq!(answer["rows"], json!([]));
    });
}

#[test]
fn a_login_is_asked_for_and_given() {
    const AUTHENTICATOR: &str = "org.apache.cassandra.auth.PasswordAuthenticator";
    let answers: Answers = |opcode, body, out| match opcode {
        STARTUP => write_authenticate(out, Version::V4, 0, AUTHENTICATOR),
        AUTH_RESPONSE if body.ends_with(b"\0ada\0secret") => write_auth_success(out, Version::V4, 0, None),
        AUTH_RESPONSE => {
            let error = ErrorBody::new(cql_protocol::ErrorKind::BadCredentials, "wrong");
            write_error(out, Version::V4, 0, &error);
        }
        _ => write_void(out, Version::V4, 0),
    };
    in_tokio(async move {
        let answer = asked_of(answers, r#"{"statement": "x"}"#).await;
        assert_eq!((&answer["error"]["code"], &answer["error"]["asks_login"]), (&json!("Login"), &json!(true)));
        let answer = asked_of(answers, r#"{"statement": "x", "user": "ada", "password": "guess"}"#).await;
        assert_eq!((&answer["error"]["message"], &answer["error"]["asks_login"]), (&json!("wrong"), &json!(true)));
        let answer = asked_of(answers, r#"{"statement": "x", "user": "ada", "password": "secret"}"#).await;
        assert_eq!((&answer["done"], &answer["error"]), (&json!("done"), &Value::Null));
    });
}

/// The clock jumps to the next deadline as soon as nothing else is to be done.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn silence_ends() {
    let answer = asked_of(|_, _, _| {}, r#"{"statement": "x"}"#).await;
    assert_eq!(answer["error"]["code"], "Timeout");
}

#[test]
fn garbage_and_a_closed_connection_are_errors() {
    in_tokio(async {
        let code = async |answers: Answers| asked_of(answers, r#"{"statement": "x"}"#).await["error"]["code"].clone();
        assert_eq!(code(|_, _, out| out.extend([0xff; 100])).await, "Protocol");
        // A result of rows that ends in the middle of their columns.
        let cut: Answers = |opcode, _, out| {
            ready_then(opcode, out, |out| out.extend([0x84, 0, 0, 0, 8, 0, 0, 0, 4, 0, 0, 0, 2]));
        };
        assert_eq!(code(cut).await, "Protocol");
        // Longer than is taken, by its word alone.
        let long: Answers = |opcode, _, out| {
            ready_then(opcode, out, |out| out.extend([0x84, 0, 0, 0, 8, 0x40, 0, 0, 0]));
        };
        assert_eq!(code(long).await, "TooLong");
        let asked = Asked::read(br#"{"statement": "x"}"#).unwrap_or_else(|problem| panic!("{problem}"));
        let (native, server) = UnixStream::pair().expect("a pair");
        drop(server);
        assert_eq!(run(native, &asked).await["error"]["code"], "Connection");
    });
}

#[test]
fn what_is_no_question_is_refused() {
    for wrong in [
        "",
        "[]",
        "{}",
        r#"{"statement": ""}"#,
        r#"{"statement": 1}"#,
        r#"{"statement": "x", "page": "0"}"#,
        r#"{"statement": "x", "page": "zz"}"#,
        r#"{"statement": "x", "pages": "00"}"#,
    ] {
        assert!(Asked::read(wrong.as_bytes()).is_err(), "{wrong}");
    }
    assert!(Asked::read(&[0xff, 0xfe]).is_err());
    let of_length = |length: usize| Asked::read(json!({"statement": "x".repeat(length)}).to_string().as_bytes());
    assert!(of_length(STATEMENT_BYTES_MAX).is_ok() && of_length(STATEMENT_BYTES_MAX + 1).is_err());
    assert!(Asked::read(br#"{"statement": "x", "user": null, "keyspace": "", "page": null}"#).is_ok());
}
