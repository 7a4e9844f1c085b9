//! Readable histories: what the lanes hold, and what a client gets. `testdata/merge.txt`; `UPDATE_EXPECT=1` rewrites it.
//!
//! Blocks stand apart by blank lines. A block is a title after `#`, perhaps the words `reversed` and `limit N` or
//! `per partition N`, then lanes: `lane`, and its items one to a line,
//!
//! ```text
//! partition KEY [deleted TIME] [static VALUE TIME]
//! range PLACE|start deleted TIME|none
//! row PLACE [deleted TIME] [live TIME] [v VALUE TIME] [v gone TIME]
//! ```
//!
//! and after `----` the rows as a client gets them. Each block is run with whole pages and with pages of one and of two
//! items, which must not matter.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use cql_types::CqlType;
use mutation::{CellRef, ClusteringRef, LiveRow, Liveness, RowBuilder};
use schema::{Column, ColumnId, ColumnKind, TableId, TableOptions};

use super::*;
use crate::reader::{DataPageLimits, DataPageWriter, Page};
use crate::sink::DataSink;

const STATIC: ColumnId = ColumnId(2);
const VALUE: ColumnId = ColumnId(3);
const ENDLESS: DataPageLimits = DataPageLimits { items: u32::MAX, bytes: u32::MAX };

fn table() -> Table {
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", CqlType::Int),
        Column::new(ColumnKind::Clustering, ColumnId(1), "c", CqlType::Int),
        Column::new(ColumnKind::Static, STATIC, "s", CqlType::Text),
        Column::new(ColumnKind::Regular, VALUE, "v", CqlType::Text),
    ];
    Table::new(TableId([1; 16]), "ks", "t", columns, TableOptions::default())
}

/// One item in a page of its own; a page of several is their concatenation.
struct Item {
    bytes: Vec<u8>,
    key: i32,
}

struct Pages {
    items: Vec<Item>,
    page_items: usize,
    next: RefCell<usize>,
}

impl Pages {
    fn page(&self) -> Page {
        let start = *self.next.borrow();
        let end = self.items.len().min(start.saturating_add(self.page_items));
        *self.next.borrow_mut() = end;
        let items = self.items[start..end].iter().flat_map(|item| item.bytes.iter().copied()).collect();
        let more_after = (end < self.items.len()).then(|| {
            // The place within the partition does not matter here: the next page is the next items.
            let key = self.items[end - 1].key;
            Position { token: Token(i64::from(key)), key: key.to_be_bytes().to_vec(), row: Some(Vec::new()) }
        });
        Page { items, more_after }
    }
}

impl Source for Rc<Pages> {
    type Error = String;

    async fn fetch(&mut self, after: Option<&Position>) -> Result<Page, String> {
        // A lane that skips the rest of a partition asks for what is behind it.
        if let Some(after) = after
            && after.row.is_none()
        {
            let mut next = self.next.borrow_mut();
            while self.items.get(*next).is_some_and(|item| item.key.to_be_bytes() == after.key[..]) {
                *next += 1;
            }
        }
        Ok(self.page())
    }

    fn malformed(&self, problem: DecodeError) -> String {
        problem.to_string()
    }
}

/// What a client gets, as text.
#[derive(Default)]
struct Shown {
    text: String,
    key: i32,
    rows_left: Option<u32>,
    per_partition: Option<u32>,
    rows_in_partition: u32,
}

fn text_of(row: LiveRow<'_>, column: ColumnId) -> String {
    match row.cell(column) {
        Some(cell) => format!("{}@{}", String::from_utf8_lossy(cell.value), cell.timestamp),
        None => "null".to_owned(),
    }
}

impl RowSink for Shown {
    fn partition(&mut self, _: Token, key: &[u8], static_row: Option<LiveRow<'_>>) -> Flow {
        self.key = i32::from_be_bytes(*key.first_chunk().expect("a key has four bytes"));
        self.rows_in_partition = 0;
        if let Some(row) = static_row {
            let _ = writeln!(self.text, "{} static {}", self.key, text_of(row, STATIC));
        }
        Flow::Continue
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        let place =
            clustering.components().next().and_then(|value| value.first_chunk()).map(|v| i32::from_be_bytes(*v));
        let _ = writeln!(self.text, "{} row {} {}", self.key, place.unwrap_or(-1), text_of(row, VALUE));
        self.rows_in_partition += 1;
        if let Some(left) = &mut self.rows_left {
            *left -= 1;
            if *left == 0 {
                return Flow::Stop;
            }
        }
        match self.per_partition {
            Some(most) if self.rows_in_partition >= most => Flow::SkipPartition,
            _ => Flow::Continue,
        }
    }
}

fn number<T: std::str::FromStr>(word: Option<&str>) -> T {
    let word = word.expect("a number follows");
    word.parse().unwrap_or_else(|_| panic!("`{word}` is no number"))
}

fn deletion(timestamp: i64) -> Deletion {
    Deletion { timestamp, local_deletion_time: 1 }
}

/// The byte-comparable form of an int.
fn place(value: i32) -> Vec<u8> {
    let mut out = Vec::new();
    cql_types::comparable::encode(&CqlType::Int, &value.to_be_bytes(), false, &mut out);
    out
}

/// Reads `deleted TIME`, `live TIME`, `v VALUE TIME`, `v gone TIME` and `static VALUE TIME` into a row.
fn row_of<'w>(words: &mut impl Iterator<Item = &'w str>) -> (Option<Deletion>, Vec<u8>) {
    let mut out = Vec::new();
    let mut builder = RowBuilder::begin(&out);
    let mut deleted = None;
    while let Some(word) = words.next() {
        match word {
            "deleted" => {
                let made = deletion(number(words.next()));
                builder.deletion(made);
                deleted = Some(made);
            }
            "live" => builder.liveness(Liveness { timestamp: number(words.next()), expiry: None }),
            "v" | "static" => {
                let column = if word == "v" { VALUE } else { STATIC };
                let value = words.next().expect("a value follows");
                let tombstone = (value == "gone").then_some(1);
                let value = if tombstone.is_some() { "" } else { value };
                let timestamp = number(words.next());
                let cell = CellRef {
                    column,
                    timestamp,
                    expiry: None,
                    tombstone,
                    path: &[],
                    value: value.as_bytes(),
                    is_counter: false,
                };
                builder.cell(&mut out, &cell);
            }
            other => panic!("`{other}` is nothing that a row has"),
        }
    }
    builder.finish(&mut out);
    (deleted, out)
}

fn item(line: &str, key: &mut i32) -> Item {
    let mut words = line.split_whitespace();
    let mut page = DataPageWriter::new(ENDLESS);
    match words.next() {
        Some("partition") => {
            *key = number(words.next());
            let words: Vec<&str> = words.collect();
            // The deletion is the partition's own, not its static row's.
            let split = words.iter().position(|word| *word == "static").unwrap_or(words.len());
            let (before, after) = words.split_at(split);
            let (deleted, _) = row_of(&mut before.iter().copied());
            let (_, row) = row_of(&mut after.iter().copied());
            let static_row = (!after.is_empty()).then(|| RowRef::trusted(&row));
            page.partition(Token(i64::from(*key)), &key.to_be_bytes(), deleted, static_row);
        }
        Some("range") => {
            let at = match words.next() {
                Some("start") => None,
                word => Some(place(number(word))),
            };
            let deleted = match words.next() {
                Some("none") => None,
                _ => Some(deletion(number(words.next()))),
            };
            page.range(at.as_deref(), deleted);
        }
        Some("row") => {
            let value: i32 = number(words.next());
            let (_, row) = row_of(&mut words);
            let clustering = [&[1, 4][..], &value.to_be_bytes()].concat();
            page.row(ClusteringRef::trusted(&clustering), RowRef::trusted(&row));
        }
        other => panic!("{other:?} begins no item"),
    }
    Item { bytes: page.into_bytes(), key: *key }
}

/// Runs what never waits.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the merge waits for its sources only, and these never make it wait"),
    }
}

fn run(block: &str, page_items: usize) -> String {
    let table = table();
    let mut command = ReadCommand::all(table.id, 100);
    let mut shown = Shown::default();
    let mut lanes: Vec<Vec<Item>> = Vec::new();
    let mut key = 0;
    for line in block.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("reversed") => command.reversed = true,
            Some("limit") => shown.rows_left = Some(number(words.next())),
            Some("per") => shown.per_partition = Some(number(words.nth(1))),
            Some("lane") => lanes.push(Vec::new()),
            _ => lanes.last_mut().expect("items stand in a lane").push(item(line, &mut key)),
        }
    }
    let lane = |items| {
        let pages = Rc::new(Pages { items, page_items, next: RefCell::default() });
        let page = pages.page();
        Lane::new(pages, page, &table).expect("the items are right")
    };
    let mut lanes: Vec<Lane<Rc<Pages>>> = lanes.into_iter().map(lane).collect();
    let done = ready(merge(&mut lanes, &table, &command, async || (), None, &mut None, &mut shown))
        .expect("the items are right");
    if let ReadDone::Stopped(position) = done {
        let _ = writeln!(shown.text, "stopped in {}", i32::from_be_bytes(*position.key.first_chunk().expect("a key")));
    }
    shown.text
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its histories without a shard")]
fn histories() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/merge.txt");
    let text = std::fs::read_to_string(&path).expect("the histories are there");
    let mut given = Vec::new();
    for block in text.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
        let (head, _) = block.split_once("----").unwrap_or((block, ""));
        let head = head.trim_end();
        let whole = run(head, usize::MAX);
        for page_items in [1, 2] {
            assert_eq!(run(head, page_items), whole, "pages of {page_items} items give something else:\n{head}");
        }
        given.push(format!("{head}\n----\n{}", whole.trim_end()));
    }
    let given = given.iter().map(|block| format!("{}\n", block.trim_end())).collect::<Vec<_>>().join("\n");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &given).expect("the histories can be written");
    } else {
        assert_eq!(given, text, "the histories come out otherwise; UPDATE_EXPECT=1 rewrites them");
    }
}

#[test]
fn items_in_no_partition_are_an_error() {
    let table = table();
    let mut key = 0;
    let pages = Rc::new(Pages { items: vec![item("row 1 live 5", &mut key)], page_items: 9, next: RefCell::default() });
    let page = pages.page();
    let mut lanes = vec![Lane::new(pages, page, &table).expect("the row itself is right")];
    let command = ReadCommand::all(table.id, 100);
    assert!(ready(merge(&mut lanes, &table, &command, async || (), None, &mut None, &mut Shown::default())).is_err());
    let garbage = Page { items: vec![9, 9, 9], more_after: None };
    let pages = Rc::new(Pages { items: Vec::new(), page_items: 9, next: RefCell::default() });
    assert!(Lane::new(pages, garbage, &table).is_err());
}
