//! Starts after something was done to the files.
#![allow(clippy::disallowed_methods)]

use std::path::Path;

use storage::OpenError;

use crate::harness::*;

const BLOCK: usize = 4096;

/// Writes rows 0..count, one group each, and gives the only segment's content.
fn one_segment(folder: &Folder, count: u32) -> Vec<u8> {
    with_shard(&Setup::new(folder, 1), async move |_, shard| {
        for number in 0..count {
            write_rows(&shard, TABLE, number..number + 1, &[5; 300]).await;
        }
    })
    .expect("the shard opens");
    let segments = folder.segments(0);
    assert_eq!(segments.len(), 1);
    std::fs::read(&segments[0]).expect("the segment can be read")
}

fn reopen(folder: &Folder, boot: u64) -> Result<Vec<u32>, OpenError> {
    with_shard(&Setup::new(folder, boot), async |_, shard| read_rows(&shard, TABLE))
}

fn rewrite(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("the segment can be written");
}

#[test]
fn a_torn_last_group_is_dropped() {
    let folder = Folder::new("torn");
    let bytes = one_segment(&folder, 10);
    let path = folder.segments(0).remove(0);
    let last = BLOCK * 10;
    assert!(bytes[last..last + 4] != [0; 4] && bytes[last + BLOCK..].iter().all(|&byte| byte == 0));
    for kept in [0, 20, 60, 200, 300] {
        let mut torn = bytes.clone();
        torn[last + kept..last + BLOCK].fill(0);
        rewrite(&path, &torn);
        assert_eq!(reopen(&folder, 2).expect("a torn end is no damage"), (0..9).collect::<Vec<_>>(), "{kept}");
        // What was cut stays away, and what is written then stays.
        assert_eq!(reopen(&folder, 3).expect("the shard opens"), (0..9).collect::<Vec<_>>());
    }
    rewrite(&path, &bytes);
    assert_eq!(reopen(&folder, 4).expect("the shard opens"), (0..10).collect::<Vec<_>>());
}

#[test]
fn damage_in_the_middle_is_refused_with_file_and_offset() {
    let folder = Folder::new("damage");
    let bytes = one_segment(&folder, 10);
    let path = folder.segments(0).remove(0);
    for at in [0, 9, 17, 33, 45, 100, 300] {
        let mut damaged = bytes.clone();
        damaged[BLOCK * 4 + at] ^= 0x10;
        rewrite(&path, &damaged);
        match reopen(&folder, 2) {
            Err(OpenError::Corrupt { path: named, offset, .. }) => {
                assert_eq!((named.as_path(), offset), (path.as_path(), BLOCK as u64 * 4), "byte {at}");
            }
            other => panic!("byte {at} was changed, and the start gave {other:?}"),
        }
        assert_eq!(std::fs::read(&path).expect("it is still there"), damaged, "a refused start changes nothing");
    }
    let mut without_one = bytes.clone();
    without_one.drain(BLOCK * 4..BLOCK * 5);
    rewrite(&path, &without_one);
    assert!(matches!(reopen(&folder, 2), Err(OpenError::Corrupt { .. })));
}

#[test]
fn a_newer_format_is_refused_in_words() {
    let folder = Folder::new("newer");
    let mut bytes = one_segment(&folder, 1);
    bytes[8..10].copy_from_slice(&9u16.to_be_bytes());
    let crc = crc32fast::hash(&bytes[..60]);
    bytes[60..64].copy_from_slice(&crc.to_be_bytes());
    rewrite(&folder.segments(0)[0], &bytes);
    let error = reopen(&folder, 2).expect_err("it cannot be read").to_string();
    assert!(error.contains("written by a newer Helenus"), "{error}");
}

#[test]
fn a_damaged_head_is_refused() {
    let folder = Folder::new("head");
    let mut bytes = one_segment(&folder, 1);
    bytes[20] ^= 1;
    rewrite(&folder.segments(0)[0], &bytes);
    assert!(matches!(reopen(&folder, 2), Err(OpenError::Corrupt { offset: 0, .. })));
}

/// No crash leaves such a file under a segment's name.
#[test]
fn a_head_that_is_gone_is_damage() {
    let folder = Folder::new("no-head");
    let bytes = one_segment(&folder, 3);
    let path = folder.segments(0).remove(0);
    let blank = [&[0; BLOCK], &bytes[BLOCK..]].concat();
    rewrite(&path, &blank);
    let error = reopen(&folder, 2).expect_err("acknowledged rows are gone");
    assert!(matches!(error, OpenError::Corrupt { offset: 0, .. }), "{error}");
    assert!(error.to_string().contains("groups follow"), "{error}");
    assert_eq!(std::fs::read(&path).expect("it is there"), blank, "nothing is touched");
    rewrite(&path, &bytes);
    assert_eq!(reopen(&folder, 3).expect("the shard opens"), [0, 1, 2]);
}

#[test]
fn what_a_power_cut_took_in_periodic_is_no_damage() {
    let folder = Folder::new("unsynced");
    let setup = Setup::new(&folder, 1).periodic();
    with_shard(&setup, async |runtime, shard| {
        write_rows(&shard, TABLE, 0..3, &[5; 300]).await;
        for number in 3..8 {
            let before = shard.stats().log_groups;
            apply(&shard, &mutation(TABLE, number, 1, &[5; 300])).await;
            until(&runtime, "a group is written", || shard.stats().log_groups > before).await;
        }
    })
    .expect("the shard opens");
    let path = folder.segments(0).remove(0);
    let bytes = std::fs::read(&path).expect("the segment can be read");
    let mut cut = bytes.clone();
    let groups = bytes.chunks(BLOCK).skip(1).take_while(|block| block[..4] == *b"hgrp").count();
    assert!(groups >= 6, "{groups} groups");
    // A group that was never synced is gone while later ones are there.
    let third_from_last = BLOCK * (groups - 2);
    cut[third_from_last..third_from_last + BLOCK].fill(0);
    rewrite(&path, &cut);
    let rows = reopen(&folder, 2).expect("unsynced groups may be gone");
    assert!(rows.starts_with(&[0, 1, 2]) && rows.len() < 8, "{rows:?}");
    assert_eq!(rows, (0..rows.len() as u32).collect::<Vec<_>>(), "nothing behind what is missing");
    assert_eq!(reopen(&folder, 3).expect("the shard opens"), rows);
    // One that was synced may not.
    let mut damaged = bytes.clone();
    damaged[BLOCK..2 * BLOCK].fill(0);
    rewrite(&path, &damaged);
    assert!(matches!(reopen(&folder, 4), Err(OpenError::Corrupt { .. })));
}

#[test]
fn unfinished_segments_are_cleared_away() {
    let folder = Folder::new("unfinished");
    one_segment(&folder, 3);
    let shard = folder.path.join("commitlog/shard-0");
    std::fs::write(shard.join("0000000000000007.new"), [1; 10]).expect("a file can be made");
    std::fs::write(shard.join("0000000000000008.log"), [0; 8192]).expect("a file can be made");
    assert_eq!(reopen(&folder, 2).expect("the shard opens"), [0, 1, 2]);
    assert!(!shard.join("0000000000000007.new").exists());
}

/// A spare's new head reaches the disk before its new name does.
#[test]
fn a_spare_with_its_next_head_under_its_earlier_name_is_cleared_away() {
    let folder = Folder::new("earlier-name");
    let bytes = one_segment(&folder, 3);
    let path = folder.segments(0).remove(0);
    let shard = folder.path.join("commitlog/shard-0");
    // The head of the segment that is there, under the name of an earlier one, which held other groups.
    let earlier = shard.join("0000000000000000.log");
    let mut spare = bytes.clone();
    spare[BLOCK..].fill(7);
    std::fs::write(&earlier, &spare).expect("a file can be made");
    assert_eq!(reopen(&folder, 2).expect("the shard opens"), [0, 1, 2]);
    assert!(!earlier.exists() && path.exists());
    // With groups of that head it is no spare, nor is it one under a later name: something is wrong, and nothing is touched.
    for name in [earlier, shard.join("00000000000000ff.log")] {
        std::fs::write(&name, &bytes).expect("a file can be made");
        let error = reopen(&folder, 3).expect_err("the head is another segment's").to_string();
        assert!(error.contains("the segment's header names segment 0000000000000001"), "{error}");
        assert!(name.exists() && path.exists());
        std::fs::remove_file(&name).expect("it is there");
    }
    assert_eq!(reopen(&folder, 4).expect("the shard opens"), [0, 1, 2]);
}

/// Cut anywhere, a log gives the writes up to the cut, in their order, and batches whole.
#[test]
fn a_log_cut_anywhere_gives_a_prefix_and_whole_batches() {
    let folder = Folder::new("cut");
    with_shard(&Setup::new(&folder, 1), async |runtime, shard| {
        for number in 0..12u32 {
            let (one, other) = (mutation(TABLE, number, 1, &[5; 3000]), mutation(OTHER, number, 1, &[5; 3000]));
            shard.apply_batch(&[&one, &other]).expect("there is room");
            shard.drain().await.expect("the disk works");
            runtime.sleep(std::time::Duration::from_millis(2)).await;
        }
        shard.drain().await.expect("the disk works");
    })
    .expect("the shard opens");
    let path = folder.segments(0).remove(0);
    let bytes = std::fs::read(&path).expect("the segment can be read");
    let end = bytes.iter().rposition(|&byte| byte != 0).expect("groups") + 1;
    let mut before = 0;
    for cut in (BLOCK..=end.next_multiple_of(BLOCK)).step_by(512) {
        let mut torn = bytes.clone();
        torn[cut..].fill(0);
        rewrite(&path, &torn);
        let found =
            with_shard(&Setup::new(&folder, 2), async |_, shard| (read_rows(&shard, TABLE), read_rows(&shard, OTHER)));
        let (one, other) = found.expect("a torn end is no damage");
        assert_eq!(one, other, "cut at {cut}: half of a batch");
        assert_eq!(one, (0..one.len() as u32).collect::<Vec<_>>(), "cut at {cut}");
        assert!(one.len() >= before, "cut at {cut}: a longer log holds fewer rows");
        before = one.len();
    }
    assert_eq!(before, 12);
}

/// Opens with leave to lose what cannot be read.
fn salvage(folder: &Folder, boot: u64) -> Vec<u32> {
    let mut setup = Setup::new(folder, boot);
    setup.options.salvage = true;
    with_shards(&setup, 1, true, async |_, shard| read_rows(&shard, TABLE)).remove(0)
}

fn put_aside(folder: &Folder) -> usize {
    let entries = std::fs::read_dir(folder.path.join("commitlog/shard-0")).expect("the folder is there");
    entries
        .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().extension().is_some_and(|it| it == "damaged")))
        .count()
}

#[test]
fn a_damaged_log_is_salvaged_when_asked_to() {
    let folder = Folder::new("salvage");
    let bytes = one_segment(&folder, 10);
    let path = folder.segments(0).remove(0);
    // A group's head and a record, far apart.
    let mut damaged = bytes.clone();
    damaged[BLOCK * 4 + 17] ^= 0x10;
    damaged[BLOCK * 7 + 100] ^= 0x10;
    rewrite(&path, &damaged);
    let left = [0, 1, 2, 4, 5, 7, 8, 9];
    assert!(matches!(reopen(&folder, 2), Err(OpenError::Corrupt { .. })));
    assert_eq!(salvage(&folder, 3), left);
    assert_eq!(put_aside(&folder), 1, "the damaged segment is kept for a person to look at");
    assert_eq!(reopen(&folder, 4).expect("it is whole now"), left);
    // Where nothing is damaged nothing is lost, and nothing put aside.
    assert_eq!(salvage(&folder, 5), left);
    assert_eq!(put_aside(&folder), 1);
    assert_eq!(reopen(&folder, 6).expect("the shard opens"), left);
}

#[test]
fn a_segment_without_a_readable_head_is_put_aside_when_asked_to() {
    let folder = Folder::new("salvage-head");
    let mut bytes = one_segment(&folder, 3);
    bytes[20] ^= 1;
    rewrite(&folder.segments(0)[0], &bytes);
    assert_eq!(salvage(&folder, 2), []);
    assert_eq!(put_aside(&folder), 1);
    assert_eq!(reopen(&folder, 3).expect("the shard opens"), []);
    // The next segment has the same id. When it is damaged too, both are kept.
    with_shard(&Setup::new(&folder, 4), async |_, shard| write_rows(&shard, TABLE, 0..1, b"v").await)
        .expect("the shard opens");
    rewrite(&folder.segments(0)[0], &bytes);
    assert_eq!(salvage(&folder, 5), []);
    assert_eq!(put_aside(&folder), 2);
}

/// A start cuts old segments to what counts. One that is used again must have its whole room back before groups go there: on a full disk
/// a group that finds none would be a failed disk.
#[test]
fn a_segment_of_an_earlier_start_has_its_whole_room_when_it_is_used_again() {
    let folder = Folder::new("cut-and-used-again");
    let setup = Setup::new(&folder, 1);
    with_shard(&setup, async |_, shard| write_rows(&shard, TABLE, 0..10, b"v").await).expect("the shard opens");
    with_shard(&setup.boot(2), async |runtime, shard| {
        shard.update_schema(&schema_of(&[OTHER], true));
        until(&runtime, "the segment is put aside", || folder.segments(0).is_empty()).await;
        write_rows(&shard, OTHER, 0..10, b"v").await;
    })
    .expect("the shard opens");
    let lengths: Vec<u64> =
        folder.segments(0).iter().map(|path| std::fs::metadata(path).expect("it is there").len()).collect();
    assert_eq!(lengths, [setup.options.segment_bytes]);
}
