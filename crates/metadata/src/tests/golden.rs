//! A log of the first format with all its kinds of records, whose bytes never change: read to the same meaning, and written identically.

use cql_types::{CqlType, Field};
use schema::{Column, ColumnId, ColumnKind, Table, TableId, TableOptions, UserType};

use super::*;

/// The log's blocks, one a line, in hexadecimal digits without the zeros at their end.
const GOLDEN: &str = include_str!("../../testdata/log-1.hex");

fn table(name: &str) -> SchemaChange {
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", CqlType::Int),
        Column::new(ColumnKind::Regular, ColumnId(1), "v", CqlType::Text),
    ];
    let options = TableOptions { comment: "as it was".to_owned(), ..TableOptions::default() };
    SchemaChange::PutTable(Box::new(Table::new(TableId(TABLE), "k", name, columns, options)))
}

fn golden_records() -> Vec<Record> {
    let fields = vec![Field { name: "f".to_owned(), ty: CqlType::Int }];
    let put_type = SchemaChange::PutType(UserType { keyspace: "k".to_owned(), name: "u".to_owned(), fields });
    let drop_type = SchemaChange::DropType { keyspace: "k".to_owned(), name: "u".to_owned() };
    let drop_table =
        SchemaChange::DropTable { keyspace: "k".to_owned(), name: "gone".to_owned(), id: TableId([8; 16]) };
    let position = |boot, shard, sequence| Position { boot, shard, sequence };
    vec![
        host_id(),
        boot(1),
        schema_record(vec![keyspace("k"), put_type]),
        schema_record(vec![table("t")]),
        schema_record(vec![drop_table, drop_type, SchemaChange::DropKeyspace("old".to_owned())]),
        truncated(vec![position(1, 0, 77), position(1, 3, 1 << 40)]),
        boot(2),
    ]
}

fn as_text(file: &[u8]) -> String {
    let mut text = String::new();
    for block in file.chunks(BLOCK) {
        let used = block.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        text.extend(block[..used].iter().map(|byte| format!("{byte:02x}")));
        text.push('\n');
    }
    text
}

fn from_text(text: &str) -> Vec<u8> {
    let mut file = Vec::new();
    for line in text.lines() {
        let digits: Vec<u8> =
            line.bytes().map(|digit| char::from(digit).to_digit(16).expect("a digit") as u8).collect();
        file.extend(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]));
        file.resize(file.len().next_multiple_of(BLOCK), 0);
    }
    file
}

#[test]
fn the_first_format_is_written_identically() {
    let folder = Folder::new("golden-written");
    write(&folder.0, &golden_records());
    assert_eq!(as_text(&records_of(&folder)), GOLDEN);
}

#[test]
fn the_first_format_is_read_to_the_same_meaning() {
    let folder = Folder::new("golden-read");
    std::fs::write(folder.log(), from_text(GOLDEN)).expect("the log can be written");
    assert_eq!(open(&folder.0), Ok(golden_records()));
    let (local, schema) = on_runtime(|rt| async move {
        let opened = MetadataLog::open(&rt, &folder.0, &domains()).await.expect("the log opens");
        let schema = opened.state.cluster.of::<SchemaDomain>();
        let keyspaces: Vec<_> = schema.keyspaces().keys().map(|name| name.to_string()).collect();
        let comment = schema.table("k", "t").map(|table| table.options.comment.clone());
        (opened.state.local, (keyspaces, comment))
    });
    assert_eq!((local.host_id, local.boot), (Some(HostId([7; 16])), Some(2)));
    let positions =
        vec![Position { boot: 1, shard: 0, sequence: 77 }, Position { boot: 1, shard: 3, sequence: 1 << 40 }];
    assert_eq!(local.truncations().collect::<Vec<_>>(), [Truncation { table: TABLE, positions, mark: None }]);
    assert_eq!(schema, (vec!["k".to_owned()], Some("as it was".to_owned())));
}
