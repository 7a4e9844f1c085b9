//! Files on a real folder: roll, retention, starts, and a folder that cannot be made.

use std::os::unix::fs::MetadataExt;

use super::*;

/// A folder that goes with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("helenus-audit-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Scratch(dir)
    }

    fn names(&self) -> Vec<String> {
        Folder::new(&self.0).files().expect("it is there").into_iter().map(|(name, _)| name).collect()
    }

    fn text(&self) -> String {
        let read = |name: &String| std::fs::read_to_string(self.0.join(name)).expect("it is there");
        self.names().iter().map(read).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn limits() -> Limits {
    Limits { cycle: RollCycle::named("HOURLY").expect("it is one"), file_bytes_max: 100, log_bytes_max: 800 }
}

fn lines(from: usize, to: usize) -> Lines {
    let mut lines = Lines::default();
    (from..to).for_each(|number| lines.push(format!("line {number:05}\n")));
    lines
}

fn write(folder: &mut Folder, mut lines: Lines, now_ms: i64) -> Written {
    let mut written = Written::default();
    folder.write(&mut lines, limits(), now_ms, &mut written).expect("the disk is well");
    assert_eq!(lines.len(), 0);
    written
}

#[test]
fn files_roll_by_size_and_by_the_clock_and_the_oldest_go() {
    let scratch = Scratch::new("roll");
    let mut folder = Folder::new(&scratch.0);
    assert_eq!(write(&mut folder, lines(0, 5), 1000), Written { lines: 5, bytes: 55 });
    assert_eq!(scratch.names(), ["audit-19700101T000001.000Z.log"]);
    write(&mut folder, lines(5, 15), 2000);
    assert_eq!(scratch.names().len(), 2, "nine lines fit in one");
    write(&mut folder, lines(15, 16), 3_600_000);
    assert_eq!(scratch.names().len(), 3, "another hour");
    assert_eq!(scratch.text(), (0..16).map(|number| format!("line {number:05}\n")).collect::<String>());
    for number in 16..200 {
        write(&mut folder, lines(number, number + 1), 3_600_000);
        let bytes: u64 = folder.files().expect("it is there").iter().map(|(_, bytes)| bytes).sum();
        assert!(bytes <= limits().log_bytes_max, "{bytes}");
    }
    let text = scratch.text();
    assert!(text.ends_with("line 00199\n") && !text.contains("line 00050"), "the oldest went first");
    let newest = text.lines().count();
    assert!(newest * 11 > 600, "no more go than must: {newest}");
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").mode() & 0o7777;
    assert_eq!((mode(&scratch.0), mode(&scratch.0.join(&scratch.names()[0]))), (0o700, 0o600));
}

#[test]
fn a_start_begins_a_file_of_its_own_and_names_ascend_when_the_clock_goes_back() {
    let scratch = Scratch::new("start");
    for (number, now_ms) in [5000, 5000, 4000, 6000].into_iter().enumerate() {
        write(&mut Folder::new(&scratch.0), lines(number, number + 1), now_ms);
    }
    let of = ["05.000Z", "05.000Z_000001", "05.000Z_000002", "06.000Z"];
    assert_eq!(scratch.names(), of.map(|moment| format!("audit-19700101T0000{moment}.log")));
    assert_eq!(scratch.text(), "line 00000\nline 00001\nline 00002\nline 00003\n");
}

#[test]
fn files_of_others_are_left_alone() {
    let scratch = Scratch::new("others");
    std::fs::create_dir_all(&scratch.0).expect("the temporary folder can be written");
    std::fs::write(scratch.0.join("notes.txt"), vec![b'x'; 5000]).expect("the temporary folder can be written");
    let mut folder = Folder::new(&scratch.0);
    for number in 0..100 {
        write(&mut folder, lines(number, number + 1), 1000);
    }
    assert!(scratch.0.join("notes.txt").exists() && scratch.text().ends_with("line 00099\n"));
}

#[test]
fn a_write_that_failed_amid_a_line_goes_on_where_it_was() {
    let mut lines = lines(0, 3);
    assert_eq!(lines.next(1000).len(), 33);
    assert_eq!(lines.advance(14), 1);
    assert_eq!(lines.next(1000), b"e 00001\nline 00002\n");
    assert_eq!(lines.next(0), b"e 00001\n", "the first line is written whole, whatever room there is");
    assert_eq!(lines.advance(19), 2);
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error_and_nothing_is_lost() {
    let scratch = Scratch::new("error");
    std::fs::write(&scratch.0, "a file").expect("the temporary folder can be written");
    let mut folder = Folder::new(&scratch.0);
    let (mut lines, mut written) = (lines(0, 3), Written::default());
    assert!(folder.write(&mut lines, limits(), 1000, &mut written).is_err());
    assert_eq!((lines.len(), written), (3, Written::default()));
    std::fs::remove_file(&scratch.0).expect("it is ours");
    folder.write(&mut lines, limits(), 1000, &mut written).expect("the disk is well again");
    assert_eq!((lines.len(), written.lines), (0, 3));
}
