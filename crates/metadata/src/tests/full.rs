//! A log at its bounds, and a full disk.

use super::*;

#[test]
fn a_schema_that_would_fill_the_log_is_refused_and_what_gives_room_back_is_not() {
    let folder = Folder::new("fills");
    on_runtime(|rt| async {
        let rt = rt;
        let (log, _) = open_small(&rt, &folder.0).await;
        let mut taken = 0;
        let refusal = loop {
            assert!(taken < 100, "a thousand blocks are taken, and a start reads as many");
            match log.append(&large(&format!("k{taken}"), 10)).await {
                Ok(()) => taken += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refusal, MetadataError::Full { bytes_max, .. } if bytes_max == SMALL.log_bytes_max / 2));
        assert!(refusal.to_string().ends_with("drop unused tables"), "{refusal}");
        // 128 blocks, and nine and a half a keyspace when they are one record.
        assert_eq!(taken, 13);
        log.check().expect("it takes records");
        for number in 0..1000 {
            log.append(&truncation(number)).await.expect("a truncation is taken");
        }
        assert!(matches!(log.append(&large("more", 10)).await, Err(MetadataError::Full { .. })));
        let (_, records) = open_small(&rt, &folder.0).await;
        assert_eq!(keyspaces(&records).len(), taken);
        let dropped = keyspaces(&records)[0].clone();
        let drop = schema_record(vec![SchemaChange::DropKeyspace(dropped)]);
        log.append(&drop).await.expect("a drop is taken");
        log.append(&large("more", 10)).await.expect("there is room again");
        let (_, records) = open_small(&rt, &folder.0).await;
        assert_eq!(keyspaces(&records).len(), taken);
    });
}

#[test]
fn a_record_too_large_is_refused_and_the_next_one_taken() {
    let folder = Folder::new("too-large");
    on_runtime(|rt| async {
        let rt = rt;
        let (log, _) = open_log(&rt, &folder.0).await.expect("the log opens");
        let refused = log.append(&schema_record(vec![keyspace(&"x".repeat(65 << 20))])).await;
        let sentence = refused.expect_err("it is longer than 64 MiB").to_string();
        assert!(sentence.contains("exceed the limit of 67108864"), "{sentence}");
        log.append(&schema_record(vec![keyspace("b")])).await.expect("it is small");
        assert_eq!(records_on(&rt, &folder.0).await, [schema_record(vec![keyspace("b")])]);
    });
}

#[test]
fn starts_are_taken_and_read_past_all_bounds() {
    let folder = Folder::new("starts");
    // As a log that no version may write any more.
    let records = (0..3 * 256).map(boot).chain([large("k", 250)]);
    std::fs::write(folder.log(), layout::file_of(records.map(|record| record.to_bytes()))).expect("it can be written");
    for number in 0..3 {
        on_runtime(|rt| async {
            let rt = rt;
            let (log, records) = open_small(&rt, &folder.0).await;
            assert_eq!(keyspaces(&records).len(), 1);
            log.append(&boot(1000 + number)).await.expect("a start is taken");
        });
    }
}

/// Has compaction fail for lack of room.
fn fill_disk(folder: &Folder) {
    std::os::unix::fs::symlink("/dev/full", folder.0.join("metadata.log.new")).expect("a link can be made");
}

/// True if there is something where compaction writes; a link that leads nowhere counts.
fn has_new(folder: &Folder) -> bool {
    folder.0.join("metadata.log.new").symlink_metadata().is_ok()
}

#[test]
fn a_long_log_opens_as_it_is_on_a_full_disk() {
    let folder = Folder::new("long-full");
    let long = long_log(400);
    std::fs::write(folder.log(), &long).expect("the log can be written");
    fill_disk(&folder);
    let more = on_runtime(|rt| async {
        let rt = rt;
        let (log, records) = open_log(&rt, &folder.0).await.expect("the log opens");
        assert_eq!(records.len(), some_records().len() + 3 * 400);
        assert_eq!(records[..5], some_records());
        log.append(&boot(400)).await.expect("a record is appended");
        records.len() + 1
    });
    assert!(!has_new(&folder), "what was begun is removed");
    assert!(records_of(&folder).starts_with(&long));
    assert_eq!(records_of(&folder).len() - long.len(), BLOCK);
    // With room it is compacted.
    assert!(open(&folder.0).expect("the log opens").len() < more);
}

#[test]
fn an_open_log_stays_as_it_is_on_a_full_disk() {
    let folder = Folder::new("grows-full");
    on_runtime(|rt| async {
        let rt = rt;
        let (log, _) = open_small(&rt, &folder.0).await;
        fill_disk(&folder);
        let mut number = 0;
        while has_new(&folder) {
            number += 1;
            assert!(number < 100, "compaction fails");
            log.append(&boot(number)).await.expect("a record is appended");
        }
        let all: Vec<_> = (1..=number).map(boot).collect();
        assert_eq!(open_log(&rt, &folder.0).await.expect("the log opens").1, all);
        // It is tried again when the log has grown further.
        for more in 1..=number + 1 {
            log.append(&boot(number + more)).await.expect("a record is appended");
        }
        let (_, records) = open_log(&rt, &folder.0).await.expect("the log opens");
        assert_eq!(records.last(), Some(&boot(2 * number + 1)));
        assert!(records.len() < all.len(), "{} records", records.len());
    });
}
