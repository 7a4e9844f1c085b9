//! Compaction, at a start and while the log is open.

use super::*;
use crate::file::{History, compact};

#[test]
fn a_long_log_is_compacted_at_a_start() {
    let folder = Folder::new("long");
    let long = long_log(400);
    std::fs::write(folder.log(), &long).expect("the log can be written");
    let records = open(&folder.0).expect("the log opens");
    assert_eq!(records[..2], [host_id(), boot(399)]);
    // The truncated table is not in the schema, and the rest is one record.
    assert_eq!(records.len(), 3);
    let length = records_of(&folder).len();
    assert!(length < long.len() / 100, "{length}");
    assert_eq!(open(&folder.0).as_ref(), Ok(&records));
    let more = on_runtime(|rt| async move {
        let (log, _) = open_log(&rt, &folder.0).await.expect("the log opens");
        log.append(&boot(400)).await.expect("a record is appended");
        open_log(&rt, &folder.0).await.map(|(_, records)| records).expect("the log opens")
    });
    assert_eq!(more.last(), Some(&boot(400)));
    assert_eq!(more[..3], records);
}

/// What a log of these records is compacted to.
fn compacted(records: &[Record]) -> Vec<Record> {
    let mut history = History::new(&domains());
    for record in records {
        history.push(record.clone()).expect("a good record");
    }
    compact(&history.finish().expect("good records"))
}

#[test]
fn compaction_keeps_the_schema_and_the_last_truncations() {
    let position = |boot, shard, sequence| Position { boot, shard, sequence };
    let table = schema::Table::new(
        schema::TableId(TABLE),
        "k",
        "t",
        vec![schema::Column::new(schema::ColumnKind::PartitionKey, schema::ColumnId(0), "k", cql_types::CqlType::Int)],
        schema::TableOptions::default(),
    );
    let mut records = some_records();
    records.push(schema_record(vec![SchemaChange::PutTable(Box::new(table))]));
    records.push(truncated(vec![position(2, 3, 1), position(2, 0, 5)]));
    let compacted_once = compacted(&records);
    assert_eq!(schema_of(&compacted_once).version(), schema_of(&records).version());
    assert_eq!(compacted_once.last(), Some(&truncated(vec![position(2, 0, 5), position(2, 3, 1)])));
    assert_eq!(compacted(&compacted_once), compacted_once);
}

#[test]
fn an_open_log_never_grows_past_what_a_start_reads() {
    let folder = Folder::new("grows");
    let blocks = on_runtime(|rt| async {
        let rt = rt;
        let (log, _) = open_small(&rt, &folder.0).await;
        for record in some_records() {
            log.append(&record).await.expect("a record is appended");
        }
        let mut blocks_max = 0;
        // Twice as many as are read.
        for number in 0..2 * 4 * 256 {
            let record = match number % 3 {
                0 => schema_record(vec![keyspace("again")]),
                1 => truncation(number),
                _ => schema_record(vec![SchemaChange::DropKeyspace("again".to_owned())]),
            };
            log.append(&record).await.expect("a record is appended");
            blocks_max = blocks_max.max(std::fs::metadata(folder.log()).expect("it is there").len() / BLOCK as u64);
        }
        log.append(&boot(2)).await.expect("a record is appended");
        blocks_max
    });
    assert!(blocks < 100, "{blocks} blocks, of which up to 32 are reserve");
    let records = on_runtime(|rt| async move { open_small(&rt, &folder.0).await.1 });
    assert_eq!(records[0], host_id());
    assert_eq!(records.last(), Some(&boot(2)));
    assert_eq!(keyspaces(&records), ["again".to_owned(), "k".to_owned(), "long".repeat(3000)]);
}

#[test]
fn compaction_keeps_the_truncation_before_a_table_that_is_made_again() {
    let [before, after] = [truncation(1), truncation(2)];
    let schema = schema_record(vec![keyspace("k")]);
    assert_eq!(compacted(&[before.clone(), schema.clone(), after.clone()]), [schema.clone(), after]);
    assert_eq!(compacted(&[before, schema.clone()]), [schema]);
}

/// The mark of a table's last truncation is kept, whichever shards had it, and a truncation from before there were marks takes none away.
#[test]
fn compaction_keeps_the_mark_of_the_last_truncation() {
    let position = |shard, sequence| Position { boot: 1, shard, sequence };
    let of = |shard, mark: Option<u8>| -> Record {
        let mark = mark.map(|mark| Mark([mark; 16]));
        Fact::Truncated(Truncation { table: TABLE, positions: vec![position(shard, 7)], mark }).into()
    };
    let both = |mark| -> Record {
        let positions = vec![position(0, 7), position(1, 7)];
        Fact::Truncated(Truncation { table: TABLE, positions, mark: Some(Mark([mark; 16])) }).into()
    };
    assert_eq!(compacted(&[of(0, Some(1)), of(1, Some(2))]), [both(2)]);
    assert_eq!(compacted(&[of(0, Some(1)), of(1, None)]), [both(1)]);
    for record in [of(0, None), both(9)] {
        let bytes = record.to_bytes();
        assert_eq!(Record::decode(&bytes), Ok(record));
        (0..bytes.len()).for_each(|length| assert!(Record::decode(&bytes[..length]).is_err(), "cut to {length}"));
    }
    let mut newer = both(9).to_bytes();
    newer[1] = 2;
    assert_eq!(Record::decode(&newer), Err(DecodeError::NewerVersion { version: 2, supported: 1 }));
}
