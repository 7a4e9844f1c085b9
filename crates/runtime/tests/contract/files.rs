//! Files and names.

use std::io::ErrorKind;
use std::time::Duration;

use runtime::{AlignedBuf, Group, OpenOptions, ReactorKind, Runtime};

use crate::{Folder, on_every_reactor, run_one};

on_every_reactor!(
    reads_what_was_written,
    writes_past_the_page_cache,
    a_read_ends_where_the_file_ends,
    a_refused_write_is_an_error_and_gives_the_buffer_back,
    many_operations_at_once,
    many_direct_operations_at_once,
    direct_writes_extend_and_fill,
    lengths_and_room,
    works_on_names,
    a_further_name_keeps_a_file,
    missing_files_are_errors,
    a_lock_is_held_by_one,
    whole_files_are_read_within_a_bound;
    kernel: a_full_disk_is_an_error, direct_errors_are_the_kernels, a_pipe_or_device_is_not_read_as_a_file,
);

const NEW: OpenOptions = OpenOptions {
    read: true,
    write: true,
    create_new: true,
    create: false,
    truncate: false,
    direct: false,
    dsync: false,
    is_private: false,
};

fn pattern(length: usize) -> AlignedBuf {
    let bytes: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
    AlignedBuf::from(&bytes[..])
}

fn reads_what_was_written(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        folder.make(&rt).await;
        let file = rt.open(&folder.path.join("file"), NEW).await.expect("the file is made");
        let buffer = pattern(100_000);
        let (result, buffer) = file.write_at(buffer, 10).await;
        result.expect("it is written");
        assert_eq!(buffer, pattern(100_000));
        file.sync_data().await.expect("it is synced");
        file.sync_all().await.expect("it is synced");
        let mut part = AlignedBuf::with_capacity(4096);
        part.extend_from_slice(b"before");
        let (result, part) = file.read_at(part, 10).await;
        assert_eq!(result.expect("it is read"), 4090);
        assert_eq!(&part[..6], b"before");
        assert_eq!(part[6..], buffer[..4090]);
        let (result, full) = file.read_at(part, 10).await;
        assert_eq!((result.expect("it is read"), full.len()), (0, 4096));
        let (result, _) = file.write_at(AlignedBuf::new(), 0).await;
        result.expect("nothing is written");
    });
}

fn writes_past_the_page_cache(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        let options = OpenOptions { direct: true, dsync: true, ..NEW };
        folder.make(&rt).await;
        let path = folder.path.join("log");
        let file = rt.open(&path, options).await.expect("the file is made");
        file.allocate(0, 1 << 20).await.expect("room is reserved");
        for block in 0..16u64 {
            let mut buffer = AlignedBuf::with_capacity(8192);
            buffer.resize(8192, block as u8);
            let (result, _) = file.write_at(buffer, block * 8192).await;
            result.expect("a block is written");
        }
        let (result, buffer) = file.read_at(AlignedBuf::with_capacity(1 << 20), 0).await;
        assert_eq!(result.expect("it is read"), 1 << 20);
        for block in 0..16usize {
            assert!(buffer[block * 8192..(block + 1) * 8192].iter().all(|byte| *byte == block as u8));
        }
        assert!(buffer[16 * 8192..].iter().all(|byte| *byte == 0));
        assert_eq!(rt.read_file(&path).await.expect("it is read").len(), 1 << 20);
    });
}

fn a_read_ends_where_the_file_ends(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        let path = folder.put(&rt, "short", &pattern(5000)).await;
        for direct in [false, true] {
            let options = OpenOptions { read: true, direct, ..OpenOptions::default() };
            let file = rt.open(&path, options).await.expect("it is opened");
            let (result, buffer) = file.read_at(AlignedBuf::with_capacity(64 << 10), 0).await;
            assert_eq!(result.expect("it is read"), 5000, "direct: {direct}");
            assert_eq!(buffer, pattern(5000));
            let (result, buffer) = file.read_at(AlignedBuf::with_capacity(4096), 4096).await;
            assert_eq!((result.expect("it is read"), buffer.len()), (904, 904));
            let (result, _) = file.read_at(AlignedBuf::with_capacity(4096), 1 << 20).await;
            assert_eq!(result.expect("it is read"), 0, "beyond the end");
        }
    });
}

fn a_refused_write_is_an_error_and_gives_the_buffer_back(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        let path = folder.put(&rt, "file", b"text").await;
        let options = OpenOptions { read: true, ..OpenOptions::default() };
        let file = rt.open(&path, options).await.expect("it is opened");
        let (result, buffer) = file.write_at(pattern(100), 0).await;
        assert!(result.is_err(), "it is open for reading");
        assert_eq!(buffer, pattern(100));
        let (result, _) = file.write_at(pattern(100), u64::MAX - 50).await;
        assert!(result.is_err(), "no file is that long");
    });
}

fn a_full_disk_is_an_error(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        // A device that is always full: what a full disk looks like.
        let full = rt.open("/dev/full".as_ref(), OpenOptions { write: true, ..OpenOptions::default() }).await;
        let (result, _) = full.expect("it is opened").write_at(pattern(100), 0).await;
        assert_eq!(result.expect_err("there is no room").kind(), ErrorKind::StorageFull);
    });
}

fn many_operations_at_once(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        folder.make(&rt).await;
        let file = rt.open(&folder.path.join("file"), NEW).await.expect("the file is made");
        let write = |n: u64| {
            let file = file.clone();
            async move {
                let mut buffer = AlignedBuf::with_capacity(4096);
                buffer.resize(4096, (n % 256) as u8);
                let (result, buffer) = file.write_at(buffer, n * 4096).await;
                result.expect("it is written");
                let (result, read) = file.read_at(AlignedBuf::with_capacity(4096), n * 4096).await;
                assert_eq!(result.expect("it is read"), 4096);
                assert_eq!(read, buffer);
            }
        };
        let handles: Vec<_> = (0..600).map(|n| rt.spawn(Group::Flush, write(n))).collect();
        for handle in handles {
            handle.await;
        }
        assert_eq!(file.len().await.expect("it has a length"), 600 * 4096);
    });
}

/// More than linux-aio is given room for at once, each with its own bytes.
fn many_direct_operations_at_once(kind: ReactorKind) {
    const COUNT: u64 = 400;
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        folder.make(&rt).await;
        let file = rt.open(&folder.path.join("file"), OpenOptions { direct: true, ..NEW }).await.expect("it is made");
        let (result, _) = file.write_at(AlignedBuf::zeroed(COUNT as usize * 4096), 0).await;
        result.expect("it is filled");
        let block = |number: u64| {
            let mut block = AlignedBuf::zeroed(4096);
            block[..8].copy_from_slice(&number.to_be_bytes());
            block
        };
        let write = |number: u64| {
            let file = file.clone();
            rt.spawn(Group::Flush, async move { file.write_at(block(number), number * 4096).await })
        };
        let writes: Vec<_> = (0..COUNT).map(write).collect();
        for (number, write) in writes.into_iter().enumerate() {
            let (result, buffer) = write.await;
            result.expect("a block is written");
            assert_eq!(buffer, block(number as u64));
        }
        let read = |number: u64| {
            let file = file.clone();
            rt.spawn(Group::Flush, async move { file.read_at(AlignedBuf::with_capacity(4096), number * 4096).await })
        };
        let reads: Vec<_> = (0..COUNT).map(read).collect();
        for (number, read) in reads.into_iter().enumerate() {
            let (result, buffer) = read.await;
            assert_eq!(result.expect("a block is read"), 4096);
            assert_eq!(buffer, block(number as u64));
        }
        // Dropped at once: they end by themselves, and their buffers live until then.
        for number in 0..COUNT {
            let _ = rt.timeout(Duration::ZERO, file.write_at(block(COUNT + number), number * 4096)).await;
            let _ = rt.timeout(Duration::ZERO, file.read_at(AlignedBuf::with_capacity(4096), 0)).await;
        }
        let all = async {
            while rt.stats().operations > 0 {
                rt.sleep(Duration::from_millis(1)).await;
            }
        };
        rt.timeout(Duration::from_secs(60), all).await.expect("orphaned operations end");
        let (_, buffer) = file.read_at(AlignedBuf::with_capacity(COUNT as usize * 4096), 0).await;
        for number in 0..COUNT {
            let at = number as usize * 4096;
            assert_eq!(buffer[at..at + 4096], block(COUNT + number)[..], "a dropped write was done");
        }
    });
}

/// What a kernel may not do without waiting: growing a file, and writing to room that is only reserved.
fn direct_writes_extend_and_fill(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        folder.make(&rt).await;
        for dsync in [false, true] {
            let path = folder.path.join(format!("dsync-{dsync}"));
            let file = rt.open(&path, OpenOptions { direct: true, dsync, ..NEW }).await.expect("it is made");
            file.allocate(0, 64 << 10).await.expect("room is reserved");
            for (number, length) in [(0, 4096), (1, 60 << 10), (2, 1 << 20), (3, 4096)] {
                let mut buffer = AlignedBuf::with_capacity(length);
                buffer.resize(length, number + 1);
                let at = file.len().await.expect("it has a length");
                let at = if number < 2 { u64::from(number) * 4096 } else { at };
                file.write_at(buffer, at).await.0.expect("it is written");
            }
            let (result, buffer) = file.read_at(AlignedBuf::with_capacity(4 << 20), 0).await;
            assert_eq!(result.expect("it is read"), (64 << 10) + (1 << 20) + 4096);
            for (byte, at) in [(1, 0), (1, 4095), (2, 4096), (2, 65_535), (3, 65_536), (4, buffer.len() - 1)] {
                assert_eq!(buffer[at], byte, "at {at}");
            }
        }
    });
}

fn direct_errors_are_the_kernels(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        let path = folder.put(&rt, "file", &pattern(8192)).await;
        let options = OpenOptions { read: true, direct: true, ..OpenOptions::default() };
        let file = rt.open(&path, options).await.expect("it is opened");
        let (result, buffer) = file.write_at(pattern(4096), 0).await;
        assert_eq!(result.expect_err("it is open for reading").raw_os_error(), Some(9), "EBADF");
        assert_eq!(buffer, pattern(4096));
        let (result, buffer) = file.read_at(AlignedBuf::with_capacity(4096), 100).await;
        // Some file systems read off the blocks' grid through the page cache.
        if let Err(error) = result {
            assert_eq!((error.kind(), buffer.len()), (ErrorKind::InvalidInput, 0));
        }
        let (result, _) = file.read_at(AlignedBuf::with_capacity(4096), u64::MAX - 4095).await;
        assert_eq!(result.expect_err("no file is that long").kind(), ErrorKind::InvalidInput);
    });
}

fn lengths_and_room(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        folder.make(&rt).await;
        let file = rt.open(&folder.path.join("file"), NEW).await.expect("the file is made");
        assert!(file.is_empty().await.expect("it has a length"));
        file.allocate(4096, 8192).await.expect("room is reserved");
        assert_eq!(file.len().await.expect("it has a length"), 12288);
        file.set_len(100).await.expect("it is cut");
        assert_eq!(file.len().await.expect("it has a length"), 100);
        file.set_len(5000).await.expect("it is extended");
        let (result, buffer) = file.read_at(AlignedBuf::with_capacity(8192), 0).await;
        assert_eq!(result.expect("it is read"), 5000);
        assert!(buffer.iter().all(|byte| *byte == 0));
    });
}

async fn names(rt: &Runtime, folder: &Folder) -> Vec<String> {
    let entries = rt.read_dir(&folder.path).await.expect("it is listed");
    entries.into_iter().map(|entry| format!("{} {} {}", entry.name, entry.is_dir, entry.len)).collect()
}

fn works_on_names(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        let at = |name: &str| folder.path.join(name);
        folder.make(&rt).await;
        rt.create_dir_all(&at("a/b/c")).await.expect("they are made");
        rt.create_dir_all(&at("a/b/c")).await.expect("they are there");
        folder.put(&rt, "z", b"12345").await;
        folder.put(&rt, "a/b/file", b"").await;
        assert_eq!(names(&rt, &folder).await, ["a true 0", "z false 5"]);
        rt.rename(&at("z"), &at("y")).await.expect("it is renamed");
        rt.sync_dir(&folder.path).await.expect("it is synced");
        assert!(rt.exists(&at("y")).await.expect("it can be seen"));
        assert!(!rt.exists(&at("z")).await.expect("it can be seen"));
        rt.remove_file(&at("y")).await.expect("it is removed");
        rt.remove_dir_all(&at("a")).await.expect("it is removed");
        assert!(names(&rt, &folder).await.is_empty());
        let truncated = OpenOptions { write: true, create: true, truncate: true, ..OpenOptions::default() };
        folder.put(&rt, "t", b"12345").await;
        drop(rt.open(&at("t"), truncated).await.expect("it is opened"));
        assert_eq!(names(&rt, &folder).await, ["t false 0"]);
    });
}

fn a_further_name_keeps_a_file(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        let first = folder.put(&rt, "first", b"bytes").await;
        let (second, third) = (folder.path.join("second"), folder.path.join("third"));
        rt.link(&first, &second).await.expect("a second name");
        assert_eq!(rt.link(&first, &second).await.map_err(|e| e.kind()), Err(ErrorKind::AlreadyExists));
        assert_eq!(rt.link(&third, &third).await.map_err(|e| e.kind()), Err(ErrorKind::NotFound));
        rt.remove_file(&first).await.expect("the first name goes");
        assert!(!rt.exists(&first).await.expect("the folder can be read"));
        assert_eq!(rt.read_file(&second).await.expect("the second stays"), b"bytes");
    });
}

fn missing_files_are_errors(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        let missing = folder.path.join("missing");
        folder.make(&rt).await;
        let read = OpenOptions { read: true, ..OpenOptions::default() };
        let error = rt.open(&missing, read).await.err().expect("it is not there");
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(rt.read_file(&missing).await.expect_err("it is not there").kind(), ErrorKind::NotFound);
        assert_eq!(rt.remove_file(&missing).await.expect_err("it is not there").kind(), ErrorKind::NotFound);
        assert_eq!(rt.read_dir(&missing).await.expect_err("it is not there").kind(), ErrorKind::NotFound);
        folder.put(&rt, "missing", b"").await;
        let error = rt.open(&missing, NEW).await.err().expect("it is there");
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    });
}

fn a_lock_is_held_by_one(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        folder.make(&rt).await;
        let path = folder.path.join("lock");
        let held = rt.lock_file(&path).await.expect("it can be locked").expect("nobody holds it");
        assert!(rt.lock_file(&path).await.expect("it can be tried").is_none());
        drop(held);
        // A process that another test has just begun may hold it until it runs its own program.
        while rt.lock_file(&path).await.expect("it can be locked").is_none() {
            rt.sleep(Duration::from_millis(1)).await;
        }
    });
}

fn whole_files_are_read_within_a_bound(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        let path = folder.put(&rt, "file", &pattern(70_000)).await;
        assert_eq!(rt.read_file(&path).await.expect("it is read"), pattern(70_000)[..]);
        let large = rt.open(&path, OpenOptions { write: true, ..OpenOptions::default() }).await.expect("it is there");
        large.set_len(runtime::READ_FILE_BYTES_MAX + 1).await.expect("it is extended");
        assert_eq!(rt.read_file(&path).await.expect_err("it is too large").kind(), ErrorKind::FileTooLarge);
        large.set_len(70_000).await.expect("it is cut");
        assert_eq!(rt.read_file_at_most(&path, 70_000).await.expect("it is read").len(), 70_000);
        let error = rt.read_file_at_most(&path, 69_999).await.expect_err("it has one byte more");
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    });
}

fn a_pipe_or_device_is_not_read_as_a_file(kind: ReactorKind) {
    let folder = Folder::new();
    run_one(kind, |rt| async move {
        folder.make(&rt).await;
        // A pipe without a writer, whose reader would wait for ever.
        let pipe = folder.path.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
        assert!(made.success(), "the folder can be written");
        for path in [pipe.as_path(), std::path::Path::new("/dev/zero")] {
            let error = rt.read_file(path).await.expect_err("it has no end");
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{}", path.display());
        }
    });
}
