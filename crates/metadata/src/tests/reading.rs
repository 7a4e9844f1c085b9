//! Records read back, and the log's bytes cut, flipped and forged.

use proptest::prelude::*;

use super::*;

#[test]
fn records_come_back_in_order_and_more_can_follow() {
    let folder = Folder::new("order");
    write(&folder.0, &some_records());
    assert_eq!(open(&folder.0), Ok(some_records()));
    let again = on_runtime(|rt| async move {
        let (log, mut records) = open_log(&rt, &folder.0).await.expect("the log opens");
        log.append(&boot(2)).await.expect("a record is appended");
        records.push(boot(2));
        let (_, found) = open_log(&rt, &folder.0).await.expect("the log opens");
        assert_eq!(found, records);
        found.len()
    });
    assert_eq!(again, some_records().len() + 1);
}

#[test]
fn appends_at_once_take_turns() {
    let folder = Folder::new("turns");
    on_runtime(|rt| async {
        let rt = rt;
        let (log, _) = open_log(&rt, &folder.0).await.expect("the log opens");
        let tasks: Vec<_> = (0..20)
            .map(|number| {
                let log = log.clone();
                rt.spawn(runtime::Group::Query, async move { log.append(&boot(number)).await })
            })
            .collect();
        for task in tasks {
            task.await.expect("a record is appended");
        }
    });
    let mut found = open(&folder.0).expect("the log opens");
    found.sort_by_key(|record| boots(std::slice::from_ref(record)));
    assert_eq!(found, (0..20).map(boot).collect::<Vec<_>>());
}

#[test]
fn a_torn_end_is_dropped_and_written_over() {
    let folder = Folder::new("torn");
    write(&folder.0, &some_records());
    let whole = records_of(&folder);
    let last = whole.len() - BLOCK;
    // Cut anywhere in the last record, or its bytes never written.
    for cut in [last + 1, last + 20, last + 30] {
        std::fs::write(folder.log(), &whole[..cut]).expect("the log can be written");
        assert_eq!(open(&folder.0).as_deref(), Ok(&some_records()[..4]), "cut at {cut}");
        assert_eq!(records_of(&folder), whole[..last], "cut at {cut}");
    }
    let mut zeroed = whole.clone();
    zeroed[last..].fill(0);
    std::fs::write(folder.log(), &zeroed).expect("the log can be written");
    assert_eq!(open(&folder.0).as_deref(), Ok(&some_records()[..4]));
}

#[test]
fn damage_before_the_last_record_is_refused_with_its_place() {
    let folder = Folder::new("damage");
    write(&folder.0, &some_records());
    let whole = std::fs::read(folder.log()).expect("the log can be read");
    for flipped in [BLOCK + 3, BLOCK + 17, BLOCK + 25, 2 * BLOCK + 1, 4 * BLOCK + 100, 5 * BLOCK] {
        let mut bytes = whole.clone();
        bytes[flipped] ^= 0x40;
        std::fs::write(folder.log(), &bytes).expect("the log can be written");
        let error = open(&folder.0).expect_err("damage is refused");
        // The fourth record takes several blocks.
        let offset = if flipped >= 4 * BLOCK { 4 * BLOCK } else { flipped / BLOCK * BLOCK };
        assert!(error.contains(&format!("is damaged at byte {offset}")), "flipped {flipped}: {error}");
        assert!(error.contains("metadata.log"), "{error}");
    }
}

#[test]
fn another_format_is_refused_in_one_sentence() {
    let folder = Folder::new("format");
    write(&folder.0, &some_records());
    let mut bytes = std::fs::read(folder.log()).expect("the log can be read");
    bytes[..BLOCK].copy_from_slice(&layout::file_header_of(2));
    std::fs::write(folder.log(), &bytes).expect("the log can be written");
    let error = open(&folder.0).expect_err("a newer format is refused");
    assert!(error.ends_with("was written in format version 2 by a newer Helenus, and this one reads up to version 1"));
    std::fs::write(folder.log(), b"something else").expect("the log can be written");
    assert!(open(&folder.0).expect_err("another file is refused").contains("is not a metadata log"));
}

#[test]
fn a_start_that_was_cut_short_leaves_no_log() {
    let folder = Folder::new("unnamed");
    std::fs::write(folder.0.join("metadata.log.new"), b"HEL").expect("the file can be written");
    write(&folder.0, &some_records());
    assert_eq!(open(&folder.0), Ok(some_records()));
}

proptest! {
    #[test]
    fn no_bytes_make_a_record_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Record::decode(&bytes);
    }

    #[test]
    fn a_flipped_bit_is_never_read_as_a_record(place in 0usize..BLOCK, bit in 0u8..8) {
        let mut payload = Vec::new();
        some_records()[2].encode(&mut payload);
        let mut file = vec![0; BLOCK];
        file.extend(layout::frame_record(0, &payload));
        file[BLOCK + place] ^= 1 << bit;
        match layout::find(&file, BLOCK, 0) {
            layout::Found::Record(record) => prop_assert_eq!(record.payload, payload),
            layout::Found::TornTail => {}
            layout::Found::End | layout::Found::Damage => prop_assert!(false, "one record alone is whole or torn"),
        }
    }
}
