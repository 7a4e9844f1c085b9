//! Runs the scripts in `testdata/` on nodes of one and of two shards and compares what they give with what they say.
//!
//! A script is blocks with blank lines between: a statement up to a line that ends in a semicolon (of a batch, `APPLY
//! BATCH;`), then the expected answer. Before the statement there may be lines of directives:
//!
//! - `@page N`: asks for pages of N rows, and for all pages
//! - `@bind a, b`: prepares the statement and runs it with these values, CQL constants, `null` or `unset`
//! - `@consistency NAME`
//! - `@v5`: speaks version 5
//!
//! `UPDATE_EXPECT=1` rewrites the answers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::harness::{Client, Folder, Reply, buffer, run_node_with};
use cql_protocol::request::Request;
use cql_protocol::response::{DecodedSpec, Rows, SchemaTarget};
use cql_protocol::{Consistency, Prepared, QueryParams, Response, ResultBody, Value, Version};
use cql_syntax::{Statement, Term};
use cql_types::CqlType;

#[test]
fn scripts_on_one_shard() {
    run_all(1, 0);
}

#[test]
fn scripts_on_two_shards() {
    run_all(2, 0);
}

/// What lies in files, and in memory too, gives the same answers.
#[test]
fn scripts_over_files() {
    run_all(1, 2);
}

/// With `flush_every` all tables are flushed before each so many statements.
fn run_all(shards: u16, flush_every: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut scripts: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the scripts are there")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cql"))
        .collect();
    scripts.sort();
    assert!(!scripts.is_empty());
    let mut wrong = Vec::new();
    for script in &scripts {
        let text = std::fs::read_to_string(script).expect("the script can be read");
        let name = script.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let data = Folder::new(&format!("{name}-{shards}-{flush_every}"));
        let (given, expected) = run_script(data.path(), shards, flush_every, &text);
        if given != expected {
            if std::env::var_os("UPDATE_EXPECT").is_some() && shards == 1 && flush_every == 0 {
                std::fs::write(script, &given).expect("the script can be written");
            } else {
                wrong.push(format!("{}:\n{}", script.display(), difference(&expected, &given)));
            }
        }
    }
    assert!(wrong.is_empty(), "scripts gave other answers (UPDATE_EXPECT=1 rewrites them):\n{}", wrong.join("\n"));
}

fn difference(expected: &str, given: &str) -> String {
    let mut out = String::new();
    let (expected, given): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), given.lines().collect());
    let first = expected.iter().zip(&given).position(|(a, b)| a != b).unwrap_or(expected.len().min(given.len()));
    let around = first.saturating_sub(6);
    for line in given.iter().skip(around).take(12) {
        let _ = writeln!(out, "  given    {line}");
    }
    for line in expected.iter().skip(first).take(4) {
        let _ = writeln!(out, "  expected {line}");
    }
    out
}

/// A statement with its directives, as written, and the answer that is expected.
struct Block {
    head: String,
    comments_only: bool,
    expected: String,
}

fn blocks(text: &str) -> Vec<Block> {
    let split = |block: &str| {
        let mut head = String::new();
        let mut expected = String::new();
        let mut is_ended = false;
        for line in block.lines() {
            let part = if is_ended { &mut expected } else { &mut head };
            let _ = writeln!(part, "{line}");
            let is_open_batch = head.contains(" BATCH") && head.contains("BEGIN") && !line.contains("APPLY BATCH;");
            is_ended |= line.trim_end().ends_with(';') && !is_open_batch;
        }
        Block { head, comments_only: !is_ended, expected }
    };
    text.split("\n\n").map(|block| block.trim_matches('\n')).filter(|block| !block.is_empty()).map(split).collect()
}

/// Runs a script. Gives it with the answers as they are, and as it was.
fn run_script(data: &Path, shards: u16, flush_every: usize, text: &str) -> (String, String) {
    let blocks = blocks(text);
    let given = std::sync::Mutex::new(String::new());
    let expected = blocks.iter().map(|block| format!("{}{}", block.head, block.expected));
    let expected = expected.collect::<Vec<_>>().join("\n");
    run_node_with(data, shards, |client, _, storage| {
        let (blocks, given) = (&blocks, &given);
        async move {
            let mut answers = Vec::new();
            for (index, block) in blocks.iter().enumerate() {
                if flush_every > 0 && index % flush_every == 0 {
                    storage.flush_at_end(true).await.expect("all is flushed");
                }
                let answer = if block.comments_only { String::new() } else { run_block(&client, &block.head).await };
                answers.push(format!("{}{answer}", block.head));
            }
            *given.lock().expect("one writer") = answers.join("\n");
        }
    });
    (given.into_inner().expect("one writer"), expected)
}

#[derive(Default)]
struct Directives {
    page: Option<i32>,
    bind: Option<String>,
    consistency: Option<Consistency>,
    v5: bool,
}

async fn run_block(client: &Client, head: &str) -> String {
    let mut directives = Directives::default();
    let mut statement = String::new();
    for line in head.lines() {
        match line.strip_prefix('@').map(|directive| directive.split_once(' ').unwrap_or((directive, ""))) {
            Some(("page", size)) => directives.page = Some(size.parse().expect("a page's size is a number")),
            Some(("bind", values)) => directives.bind = Some(values.to_owned()),
            Some(("consistency", name)) => directives.consistency = Consistency::of_name(name),
            Some(("v5", _)) => directives.v5 = true,
            Some((other, _)) => panic!("there is no directive {other}"),
            None if line.starts_with("--") => {}
            None => {
                let _ = writeln!(statement, "{line}");
            }
        }
    }
    let mut client = client.clone();
    if directives.v5 {
        client.version = Version::V5;
    }
    let statement = statement.trim_end().trim_end_matches(';').to_owned();
    answer(&client, &statement, &directives).await
}

async fn answer(client: &Client, statement: &str, directives: &Directives) -> String {
    let params = QueryParams::new(directives.consistency.unwrap_or(Consistency::One));
    let params = QueryParams { page_size: directives.page, ..params };
    let prepared = match &directives.bind {
        None => None,
        Some(values) => {
            let reply = client.send(&Request::Prepare(cql_protocol::Prepare { text: statement, keyspace: None })).await;
            match reply.response().1 {
                Response::Result(ResultBody::Prepared(prepared)) => Some((bind(&prepared, values), prepared)),
                _ => return show(&reply),
            }
        }
    };
    let mut out = String::new();
    let mut state: Option<Vec<u8>> = None;
    loop {
        let params = QueryParams { paging_state: state.as_deref(), ..params };
        let reply = match &prepared {
            None => client.query_with(statement, params).await,
            Some((values, prepared)) => {
                let owned: Vec<Value<'_>> = values.iter().map(Bound::value).collect();
                let values = buffer(&owned);
                client.execute(&prepared.id, QueryParams { values: values.values(), ..params }).await
            }
        };
        out.push_str(&show(&reply));
        let next = match reply.response().1 {
            Response::Result(ResultBody::Rows(rows)) => rows.paging_state.map(<[u8]>::to_vec),
            _ => None,
        };
        if next.is_none() {
            return out;
        }
        state = next;
        out.push_str("(next page)\n");
    }
}

enum Bound {
    Null,
    Unset,
    Bytes(Vec<u8>),
}

impl Bound {
    fn value(&self) -> Value<'_> {
        match self {
            Bound::Null => Value::Null,
            Bound::Unset => Value::Unset,
            Bound::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

/// Values from their text, each of its marker's type. `raw 0x..` gives bytes as they are.
fn bind(prepared: &Prepared, text: &str) -> Vec<Bound> {
    if text.is_empty() {
        return Vec::new();
    }
    let types = prepared.markers.iter().map(|marker| &marker.ty);
    top_level_pieces(text)
        .into_iter()
        .zip(types.map(Some).chain(std::iter::repeat(None)))
        .map(|(text, ty)| match (text, text.strip_prefix("raw ")) {
            ("null", _) => Bound::Null,
            ("unset", _) => Bound::Unset,
            (_, Some(raw)) => Bound::Bytes(constant(raw, &CqlType::Blob)),
            (text, None) => Bound::Bytes(constant(text, ty.unwrap_or(&CqlType::Int))),
        })
        .collect()
}

/// The text's pieces between commas that stand in no brackets.
fn top_level_pieces(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut pieces) = (0, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(text[start..].trim());
    pieces
}

fn constant(text: &str, ty: &CqlType) -> Vec<u8> {
    let statement = cql_syntax::parse(&format!("INSERT INTO t (c) VALUES ({text})"));
    let Ok(Statement::Insert(insert)) = statement else { panic!("{text} is no constant") };
    term_value(&insert.values[0], ty).expect("a constant is not null")
}

/// A term's value. A set's elements and a map's entries stay as they are written.
fn term_value(term: &Term, ty: &CqlType) -> Option<Vec<u8>> {
    let parts: Vec<Option<Vec<u8>>> = match (term, ty) {
        (Term::Null, _) => return None,
        (Term::Literal(literal), ty) => {
            return Some(cql_types::parse_literal(ty, literal).expect("the constant is of its type"));
        }
        (Term::List(terms), CqlType::List { element, .. } | CqlType::Vector { element, .. })
        | (Term::Set(terms), CqlType::Set { element, .. }) => {
            terms.iter().map(|term| term_value(term, element)).collect()
        }
        (Term::Map(entries), CqlType::Map { key, value, .. }) => {
            entries.iter().flat_map(|entry| [term_value(&entry.0, key), term_value(&entry.1, value)]).collect()
        }
        (Term::Set(_), CqlType::Map { .. }) => Vec::new(),
        (Term::Tuple(terms), CqlType::Tuple(types)) => {
            terms.iter().zip(types).map(|(term, ty)| term_value(term, ty)).collect()
        }
        (Term::Udt(given), CqlType::Udt { fields, .. }) => {
            let of = |name: &str| given.iter().find(|(given, _)| given == name).map(|(_, term)| term);
            fields.iter().map(|field| of(&field.name).and_then(|term| term_value(term, &field.ty))).collect()
        }
        (term, ty) => panic!("{term} is no {ty}"),
    };
    let parts: Vec<Option<&[u8]>> = parts.iter().map(Option::as_deref).collect();
    // As a list is, so that what a client sends out of order can be tried.
    let written = match ty {
        CqlType::Set { element, .. } => CqlType::List { element: element.clone(), frozen: true },
        other => other.clone(),
    };
    Some(cql_types::compose(&written, &parts).expect("the parts make a value"))
}

/// A reply as text.
fn show(reply: &Reply) -> String {
    let (prefix, response) = reply.response();
    let mut out = String::new();
    for warning in prefix.warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    match response {
        Response::Error(error) => {
            let _ = writeln!(out, "! {:?}: {}", error.code(), error.message);
        }
        Response::Result(ResultBody::Void) => out.push_str("OK\n"),
        Response::Result(ResultBody::SetKeyspace(keyspace)) => {
            let _ = writeln!(out, "in keyspace {keyspace}");
        }
        Response::Result(ResultBody::SchemaChange(change)) => {
            let _ = match change.target {
                SchemaTarget::Keyspace => writeln!(out, "{:?} keyspace {}", change.kind, change.keyspace),
                SchemaTarget::Table { name } => writeln!(out, "{:?} table {}.{name}", change.kind, change.keyspace),
                SchemaTarget::Type { name } => writeln!(out, "{:?} type {}.{name}", change.kind, change.keyspace),
                other => writeln!(out, "{:?} {other:?} in {}", change.kind, change.keyspace),
            };
        }
        Response::Result(ResultBody::Rows(rows)) => show_rows(&rows, &mut out),
        other => {
            let _ = writeln!(out, "{other:?}");
        }
    }
    out
}

fn show_rows(rows: &Rows<'_>, out: &mut String) {
    let names: Vec<&str> = rows.columns.iter().map(|column| column.name.as_str()).collect();
    let _ = writeln!(out, "{}", names.join(" | "));
    for row in rows.iter() {
        let value = |(column, value): (&DecodedSpec, Option<&[u8]>)| match value {
            Some(bytes) => cql_types::print(&column.ty, bytes),
            None => "null".to_owned(),
        };
        let values: Vec<String> = rows.columns.iter().zip(row).map(value).collect();
        let _ = writeln!(out, "{}", values.join(" | "));
    }
    let _ = writeln!(out, "({} rows)", rows.row_count);
}
