//! Readable histories: `testdata/*.txt`. Each names writes to one row and what they come to, in every order, and what a
//! reader sees. `UPDATE_TESTDATA=1 cargo test -p helenus-mutation` rewrites the outcomes.
//!
//! ```text
//! == what the case shows
//! write insert@5 a=x@5 b=y@5        a row's liveness, and cells with their timestamps
//! write insert@5/ttl=10:100         expires at 100
//! write -a@6:90                     a cell's tombstone, made at 90; the deletion of a column of several cells
//! write a[x]=1@5 -a[y]@6:90         an element of a column of several cells, and the tombstone of one
//! write delete@7:90                 the row's deletion
//! read 50                           a reader at 50
//! read 50 shadow=6                  the same, under a deletion of the partition at 6
//! (four dashes)
//! the merged row, then one line for each reader
//! ```
#![allow(clippy::disallowed_methods, reason = "tests rewrite their expectations")]

use std::path::Path;

use super::*;

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text} is a number"))
}

/// The column and the path of `a` or `a[path]`.
fn parse_place(text: &str) -> (u16, Vec<u8>) {
    let (name, path) = text.split_once('[').unwrap_or((text, ""));
    (column(name), path.trim_end_matches(']').as_bytes().to_vec())
}

/// `5`, or `5/ttl=10:100`.
fn parse_time(text: &str) -> (i64, Option<Expiry>) {
    let Some((timestamp, expiry)) = text.split_once("/ttl=") else { return (number(text), None) };
    let (ttl, over) = expiry.split_once(':').expect("a ttl has its end");
    (number(timestamp), Some(Expiry { ttl: number(ttl), local_deletion_time: number(over) }))
}

fn column(name: &str) -> u16 {
    let letter = name.bytes().next().expect("a column has a letter");
    u16::from(letter - b'a')
}

fn parse_write(line: &str) -> Vec<u8> {
    let (mut deletion, mut liveness, mut cells) = (None, None, Vec::new());
    for token in line.split_whitespace() {
        let (what, time) = token.split_once('@').expect("everything has a timestamp");
        if what == "insert" {
            let (timestamp, expiry) = parse_time(time);
            liveness = Some(Liveness { timestamp, expiry });
        } else if what == "delete" {
            let (timestamp, local_deletion_time) = time.split_once(':').expect("a deletion has its time");
            deletion =
                Some(Deletion { timestamp: number(timestamp), local_deletion_time: number(local_deletion_time) });
        } else if let Some(name) = what.strip_prefix('-') {
            let (timestamp, made) = time.split_once(':').expect("a tombstone has its time");
            let (column, path) = parse_place(name);
            cells.push(OwnedCell {
                column,
                timestamp: number(timestamp),
                expiry: None,
                tombstone: Some(number(made)),
                path,
                value: Vec::new(),
            });
        } else {
            let (name, value) = what.split_once('=').expect("a cell has a value");
            let (timestamp, expiry) = parse_time(time);
            let value = value.as_bytes().to_vec();
            let (column, path) = parse_place(name);
            cells.push(OwnedCell { column, timestamp, expiry, tombstone: None, path, value });
        }
    }
    build(deletion, liveness, &cells)
}

fn print_time(timestamp: i64, expiry: Option<Expiry>) -> String {
    match expiry {
        None => format!("{timestamp}"),
        Some(expiry) => format!("{timestamp}/ttl={}:{}", expiry.ttl, expiry.local_deletion_time),
    }
}

fn print_cell(cell: &CellRef<'_>) -> String {
    let mut name = char::from(b'a' + cell.column.0 as u8).to_string();
    if !cell.path.is_empty() {
        name.push_str(&format!("[{}]", String::from_utf8_lossy(cell.path)));
    }
    match cell.tombstone {
        Some(made) => format!("-{name}@{}:{made}", cell.timestamp),
        None => {
            let value = String::from_utf8_lossy(cell.value);
            format!("{name}={value}@{}", print_time(cell.timestamp, cell.expiry))
        }
    }
}

fn print_parts(deletion: Option<Deletion>, liveness: Option<Liveness>, cells: Vec<String>) -> String {
    let mut parts = Vec::new();
    parts.extend(deletion.map(|d| format!("delete@{}:{}", d.timestamp, d.local_deletion_time)));
    parts.extend(liveness.map(|l| format!("insert@{}", print_time(l.timestamp, l.expiry))));
    parts.extend(cells);
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(" ") }
}

/// Merges in the order given, which must come to the same as every rotation of it and of its reverse.
fn merge_all(writes: &[Vec<u8>]) -> Vec<u8> {
    let fold = |writes: &[Vec<u8>]| writes[1..].iter().fold(writes[0].clone(), |all, write| merge(&all, write));
    let merged = fold(writes);
    let mut order = writes.to_vec();
    for _ in 0..2 {
        order.reverse();
        for _ in 0..order.len() {
            order.rotate_left(1);
            assert_eq!(fold(&order), merged, "the order of the writes decides");
        }
    }
    merged
}

fn read(merged: &[u8], line: &str) -> String {
    let mut words = line.split_whitespace();
    let now = number(words.next().expect("a read has a time"));
    let shadow = words
        .next()
        .and_then(|word| word.strip_prefix("shadow="))
        .map(|timestamp| Deletion { timestamp: number(timestamp), local_deletion_time: 0 });
    let row = LiveRow::new(RowRef::trusted(merged), shadow, now);
    let parts = print_parts(None, row.liveness(), row.cells().map(|cell| print_cell(&cell)).collect());
    assert_eq!(row.is_live(), parts != "nothing");
    format!("{now}: {parts}")
}

fn run_case(input: &str) -> String {
    let writes: Vec<Vec<u8>> = input.lines().filter_map(|line| line.strip_prefix("write ")).map(parse_write).collect();
    assert!(!writes.is_empty(), "a case has a write:\n{input}");
    let merged = merge_all(&writes);
    let row = RowRef::trusted(&merged);
    let cells = row.cells().map(|cell| print_cell(&cell)).collect();
    let mut lines = vec![print_parts(row.deletion(), row.liveness(), cells)];
    lines.extend(input.lines().filter_map(|line| line.strip_prefix("read ")).map(|line| read(&merged, line)));
    lines.join("\n")
}

#[test]
fn histories_come_out_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    for entry in std::fs::read_dir(&folder).expect("testdata is there") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a text file");
        let (head, cases) = text.split_once("\n== ").expect("a file has a case");
        let mut rewritten = head.to_owned();
        for case in cases.split("\n== ") {
            let (input, _) = case.split_once("----\n").expect("a case has an outcome");
            rewritten.push_str(&format!("\n== {input}----\n{}\n", run_case(input)));
        }
        if std::env::var_os("UPDATE_TESTDATA").is_some() {
            std::fs::write(&path, &rewritten).expect("testdata can be written");
        } else {
            assert_eq!(rewritten, text, "{}", path.display());
        }
    }
}
