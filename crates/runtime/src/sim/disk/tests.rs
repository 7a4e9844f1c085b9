//! What syncs keep, and what power cuts leave.

use super::*;

const WRITE: OpenOptions = OpenOptions {
    read: true,
    write: true,
    create: true,
    create_new: false,
    truncate: false,
    direct: false,
    dsync: false,
    is_private: false,
};

fn with_file() -> (Disk, Inode) {
    let mut disk = Disk::default();
    disk.prepare_directory("/data");
    let (inode, change) = disk.open("/data/file", WRITE).expect("it is made");
    disk.ended(change.expect("it is new"));
    (disk, inode)
}

/// With its name and as many of the byte on the disk.
fn with_synced_file(byte: u8, length: usize) -> (Disk, Inode) {
    let (mut disk, inode) = with_file();
    write(&mut disk, inode, 0, byte, length);
    let mark = disk.mark();
    disk.sync_directory("/data", &mark);
    disk.sync_file(inode, &mark);
    (disk, inode)
}

fn write(disk: &mut Disk, inode: Inode, offset: u64, byte: u8, length: usize) -> ChangeId {
    let id = disk.write(inode, offset, vec![byte; length].into()).expect("there is room");
    disk.ended(id);
    id
}

fn bytes(disk: &Disk, path: &str) -> Option<Vec<u8>> {
    match disk.find(path) {
        Ok(Some(Node::File(inode))) => Some(disk.read(inode, 0, 1 << 20)),
        _ => None,
    }
}

#[test]
fn a_file_needs_its_name_synced_and_its_bytes() {
    let (mut disk, inode) = with_file();
    write(&mut disk, inode, 0, 7, 600);
    assert_eq!(bytes(&disk.after_power_cut(Keep::Nothing), "/data/file"), None);
    let mark = disk.mark();
    disk.sync_directory("/data", &mark);
    assert_eq!(bytes(&disk.after_power_cut(Keep::Nothing), "/data/file"), Some(vec![]), "the name alone");
    disk.sync_file(inode, &mark);
    assert_eq!(bytes(&disk.after_power_cut(Keep::Nothing), "/data/file"), Some(vec![7; 600]));
    assert_eq!(disk.pending_count(), 0);
}

#[test]
fn a_sync_covers_what_had_ended_when_it_began() {
    let (mut disk, inode) = with_file();
    let running = disk.write(inode, 0, vec![1; 512].into()).expect("there is room");
    let mark = disk.mark();
    disk.ended(running);
    write(&mut disk, inode, 512, 2, 512);
    disk.sync_directory("/data", &mark);
    disk.sync_file(inode, &mark);
    assert_eq!(bytes(&disk.after_power_cut(Keep::Nothing), "/data/file"), Some(vec![]));
    assert_eq!(bytes(&disk.after_power_cut(Keep::Everything), "/data/file").map(|bytes| bytes.len()), Some(1024));
}

#[test]
fn a_synced_write_is_not_undone_by_one_before_it() {
    let (mut disk, inode) = with_file();
    let mark = disk.mark();
    disk.sync_directory("/data", &mark);
    write(&mut disk, inode, 0, 1, 1024);
    let last = write(&mut disk, inode, 512, 2, 512);
    disk.sync_write(last);
    for seed in 0..50 {
        let after = bytes(&disk.after_power_cut(Keep::Reordered { seed }), "/data/file").expect("it has its name");
        assert_eq!(after[512..], [2; 512]);
    }
}

#[test]
fn tears_at_sectors() {
    let (mut disk, inode) = with_synced_file(1, 4096);
    write(&mut disk, inode, 100, 2, 3000);
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let after = bytes(&disk.after_power_cut(Keep::Torn { seed }), "/data/file").expect("it is there");
        assert!(after[..100].iter().all(|byte| *byte == 1) && after[3100..].iter().all(|byte| *byte == 1));
        for sector in after[512..3072].chunks(SECTOR) {
            assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector is whole");
        }
        kinds.insert(after);
    }
    assert!(kinds.len() > 20, "{} kinds of torn writes", kinds.len());
}

#[test]
fn a_rename_is_whole_and_pending_until_its_directory_is_synced() {
    let (mut disk, _) = with_synced_file(9, 10);
    let renamed = disk.rename("/data/file", "/data/new").expect("it is there");
    disk.ended(renamed);
    for seed in 0..20 {
        let after = disk.after_power_cut(Keep::Reordered { seed });
        let found = (bytes(&after, "/data/file"), bytes(&after, "/data/new"));
        assert!(found == (Some(vec![9; 10]), None) || found == (None, Some(vec![9; 10])), "{found:?}");
    }
    let mark = disk.mark();
    disk.sync_directory("/data", &mark);
    assert_eq!(bytes(&disk.after_power_cut(Keep::Nothing), "/data/new"), Some(vec![9; 10]));
}

#[test]
fn a_rename_is_of_the_file_that_had_the_name() {
    let (mut disk, _) = with_synced_file(1, 10);
    // The name goes to another file before that one is renamed.
    let removed = disk.remove_file("/data/file").expect("it is there");
    disk.ended(removed);
    let (other, made) = disk.open("/data/file", WRITE).expect("it is made");
    disk.ended(made.expect("it is new"));
    write(&mut disk, other, 0, 2, 10);
    let mark = disk.mark();
    disk.sync_file(other, &mark);
    let renamed = disk.rename("/data/file", "/data/new").expect("it is there");
    disk.ended(renamed);
    for seed in 0..50 {
        let after = disk.after_power_cut(Keep::Reordered { seed });
        assert_ne!(bytes(&after, "/data/new"), Some(vec![1; 10]), "seed {seed}");
    }
}

#[test]
fn folders_may_be_synced_in_any_order() {
    for order in [["/data/a", "/data"], ["/data", "/data/a"]] {
        let mut disk = Disk::default();
        disk.prepare_directory("/data");
        for change in disk.create_directories("/data/a/b").expect("they are made") {
            disk.ended(change);
        }
        let mark = disk.mark();
        disk.sync_directory(order[0], &mark);
        let early = disk.after_power_cut(Keep::Nothing);
        assert_eq!(early.find("/data/a/b").ok().flatten(), None, "its folder has no name yet");
        disk.sync_directory(order[1], &mark);
        for seed in 0..10 {
            let after = disk.after_power_cut(Keep::Reordered { seed });
            assert_eq!(after.find("/data/a/b"), Ok(Some(Node::Directory)));
        }
        assert_eq!(disk.pending_count(), 0);
    }
}

#[test]
fn a_full_disk_refuses_growth_only() {
    let (mut disk, inode) = with_file();
    disk.set_capacity(Some(1000));
    write(&mut disk, inode, 0, 1, 1000);
    assert_eq!(disk.write(inode, 1000, vec![1].into()), Err(libc::ENOSPC));
    write(&mut disk, inode, 500, 2, 500);
    assert_eq!(disk.allocate(inode, 0, 1001), Err(libc::ENOSPC));
    let removed = disk.remove_file("/data/file").expect("it is there");
    disk.ended(removed);
    disk.forget_unreachable(|_| false);
    let mark = disk.mark();
    disk.sync_directory("/data", &mark);
    disk.forget_unreachable(|_| false);
    assert_eq!(disk.used(), 0);
}

#[test]
fn works_on_names() {
    let mut disk = Disk::default();
    assert_eq!(disk.create_directories("/a/b/c").expect("they are made").len(), 3);
    disk.open("/a/b/file", WRITE).expect("it is made");
    assert_eq!(disk.open("/a/x/file", WRITE).err(), Some(libc::ENOENT));
    assert_eq!(disk.open("/a/b/file/below", WRITE).err(), Some(libc::ENOTDIR));
    let names = |disk: &Disk, path| disk.list(path).map(|list| list.into_iter().map(|e| e.name).collect::<Vec<_>>());
    assert_eq!(names(&disk, "/a/b"), Ok(vec!["c".to_owned(), "file".to_owned()]));
    assert_eq!(names(&disk, ""), Ok(vec!["a".to_owned()]));
    disk.rename("/a/b", "/a/z").expect("it is there");
    assert_eq!(names(&disk, "/a/z"), Ok(vec!["c".to_owned(), "file".to_owned()]));
    assert_eq!(disk.remove_tree("/a").expect("it is there").len(), 4);
    assert_eq!(names(&disk, ""), Ok(vec![]));
}

#[test]
fn a_further_name_is_durable_with_its_directory_and_shares_the_bytes() {
    let (mut disk, _) = with_synced_file(7, 600);
    let linked = disk.link("/data/file", "/data/other").expect("a second name");
    disk.ended(linked);
    assert_eq!(disk.link("/data/file", "/data/other"), Err(libc::EEXIST));
    assert_eq!(disk.used(), 600, "a file counts once");
    assert_eq!(bytes(&disk.after_power_cut(Keep::Nothing), "/data/other"), None);
    let mark = disk.mark();
    disk.sync_directory("/data", &mark);
    let removed = disk.remove_file("/data/file").expect("the first name goes");
    disk.ended(removed);
    assert_eq!(bytes(&disk.after_power_cut(Keep::Everything), "/data/other"), Some(vec![7; 600]));
}
