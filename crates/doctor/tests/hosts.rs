//! Faked hosts: `testdata/hosts/<name>/` has the host's files in `root`, what its kernel answers in `answers.txt`, and the whole report that is
//! expected of it in `findings.txt`, which `UPDATE_TESTDATA=1 cargo test -p helenus-doctor` writes anew. Then each of their files is
//! replaced by garbage: the doctor says what it does not know, and nothing else changes but what follows from that file.
#![allow(clippy::disallowed_methods, reason = "tests read faked hosts and make broken ones")]

mod folders;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use doctor::{Answers, Finding, Host, Verdict, examine, exit_code, json, text};

use folders::copy;

fn hosts_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/hosts")
}

fn answers(folder: &Path) -> Answers {
    let text = fs::read_to_string(folder.join("answers.txt")).expect("each host has answers.txt");
    Answers::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
}

fn host(name: &str) -> Host {
    let folder = hosts_folder().join(name);
    Host::faked(&folder.join("root"), answers(&folder))
}

fn found<'f>(findings: &'f [Finding], check: &str) -> &'f Finding {
    findings.iter().find(|finding| finding.check == check).unwrap_or_else(|| panic!("there is no check '{check}'"))
}

#[test]
fn each_host_has_the_findings_that_are_expected() {
    let updates = std::env::var_os("UPDATE_TESTDATA").is_some();
    let mut names: Vec<String> = fs::read_dir(hosts_folder())
        .expect("the faked hosts")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    assert_eq!(names.len(), 7, "{names:?}");
    for name in names {
        let actual = text(&examine(&host(&name)), true);
        let path = hosts_folder().join(&name).join("findings.txt");
        if updates {
            fs::write(&path, &actual).expect("the expectation is written");
            continue;
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            actual == expected,
            "{name}: the findings differ from {}:\n{}\nIf they are right, run with UPDATE_TESTDATA=1.",
            path.display(),
            difference(&expected, &actual)
        );
    }
}

/// The lines that only one of them has.
fn difference(expected: &str, actual: &str) -> String {
    let only = |sign: char, these: &str, those: &str| {
        let missing = these.lines().filter(|line| !those.lines().any(|other| other == *line));
        missing.map(|line| format!("{sign} {line}\n")).collect::<String>()
    };
    only('-', expected, actual) + &only('+', actual, expected)
}

#[test]
fn verdicts_that_the_hosts_were_made_for() {
    let good = examine(&host("well-tuned-server"));
    let not_ok: Vec<&str> =
        good.iter().filter(|finding| finding.verdict != Verdict::Ok).map(|finding| finding.check).collect();
    assert!(not_ok.is_empty(), "a well-tuned server needs nothing, but: {not_ok:?}");

    let bad = examine(&host("badly-tuned-server"));
    for check in [
        "kernel",
        "frequency governor",
        "instructions",
        "memory",
        "swap",
        "numa balancing",
        "zone reclaim",
        "overcommit",
        "disk",
        "disk scheduler",
        "network interrupts",
        "accept queue",
        "half-open connections",
        "open files",
        "linux-aio",
        "clock source",
        "time synchronisation",
    ] {
        let finding = found(&bad, check);
        assert_eq!(finding.verdict, Verdict::Warning, "{check}: {}", finding.found);
        assert!(finding.mend.is_some(), "{check} has no command");
    }
    assert_eq!(
        found(&bad, "mount options").verdict,
        Verdict::Problem,
        "without barriers what was acknowledged is lost"
    );
    assert_eq!(found(&bad, "free space").verdict, Verdict::Problem);

    let container = examine(&host("container"));
    assert_eq!(found(&container, "cpu quota").verdict, Verdict::Warning);
    assert_eq!(found(&container, "file system").verdict, Verdict::Warning);
    assert_eq!(found(&container, "disk").verdict, Verdict::NotKnown);
    let writes = found(&container, "synced writes");
    assert_eq!(writes.verdict, Verdict::NotKnown, "a busy host is not its disk's fault: {}", writes.found);

    let laptop = examine(&host("laptop"));
    assert!(laptop.iter().all(|finding| finding.verdict != Verdict::Problem), "a laptop is no problem");

    assert_eq!(exit_code(&bad), ExitCode::FAILURE);
    for fit in [&good, &container, &laptop] {
        assert_eq!(exit_code(fit), ExitCode::SUCCESS);
    }

    let garbage = examine(&host("garbage"));
    let unknown = garbage.iter().filter(|finding| finding.verdict == Verdict::NotKnown).count();
    assert!(unknown > garbage.len() * 3 / 4, "{unknown} of {}: of garbage next to nothing can be known", garbage.len());
}

#[test]
fn a_host_without_any_file_is_not_known() {
    let folder = scratch("empty");
    let findings = examine(&Host::faked(&folder, answers(&hosts_folder().join("arm"))));
    // What is left is what the kernel answered, and files whose absence says something.
    let known: Vec<&str> =
        findings.iter().filter(|finding| finding.verdict != Verdict::NotKnown).map(|finding| finding.check).collect();
    assert_eq!(known, ["free space", "direct i/o", "synced writes", "io_uring", "time synchronisation"]);
    assert_eq!(findings.len(), examine(&host("arm")).len());
    fs::remove_dir_all(folder).expect("it is ours");
}

/// Every file of every host is replaced, one at a time, by things that it should not be.
#[test]
fn garbage_in_any_file_is_told_and_harms_nothing() {
    for name in ["well-tuned-server", "container", "power9"] {
        let original = hosts_folder().join(name);
        let answers = answers(&original);
        let folder = scratch(name);
        copy(&original.join("root"), &folder);
        let clean = examine(&Host::faked(&folder, answers.clone()));
        let mut files = Vec::new();
        collect(&folder, &mut files);
        let mut noticed = 0;
        for (number, file) in files.iter().enumerate() {
            let content = fs::read(file).expect("it was copied");
            for replacement in replacements(number as u64, &content) {
                fs::write(file, &replacement).expect("it is a copy");
                let findings = examine(&Host::faked(&folder, answers.clone()));
                assert_eq!(findings.len(), clean.len());
                noticed += usize::from(findings != clean);
                for finding in &findings {
                    assert!(finding.found.len() < 600, "{} is shown at length: {}", file.display(), finding.found);
                    assert!(!finding.found.contains(char::is_control), "{}: {:?}", file.display(), finding.found);
                }
                serde_json::from_str::<serde_json::Value>(&json(&findings)).expect("the report is JSON");
            }
            fs::write(file, &content).expect("it is a copy");
        }
        assert!(
            noticed > files.len(),
            "{name}: only {noticed} replacements of {} files made a difference",
            files.len()
        );
        assert_eq!(examine(&Host::faked(&folder, answers.clone())), clean, "the copy is as it was");
        fs::remove_dir_all(folder).expect("it is ours");
    }
}

#[test]
fn a_file_without_end_is_not_read_to_its_end() {
    let folder = scratch("endless");
    copy(&hosts_folder().join("arm/root"), &folder);
    // 1 TB that takes no room: a reader without a bound would not come back.
    for path in
        ["proc/cpuinfo", "proc/interrupts", "proc/meminfo", "proc/self/mountinfo", "proc/sys/net/core/somaxconn"]
    {
        let file = fs::OpenOptions::new().write(true).open(folder.join(path)).expect("it was copied");
        file.set_len(1 << 40).expect("a sparse file");
    }
    let findings = examine(&Host::faked(&folder, answers(&hosts_folder().join("arm"))));
    for check in ["instructions", "network interrupts", "memory", "file system", "accept queue"] {
        let finding = found(&findings, check);
        assert!(
            finding.verdict == Verdict::NotKnown && finding.found.contains("is longer than"),
            "{check}: {}",
            finding.found
        );
    }
    fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn a_link_out_of_the_root_leads_nowhere() {
    let folder = scratch("outwards");
    copy(&hosts_folder().join("arm/root"), &folder);
    let path = folder.join("proc/sys/kernel/osrelease");
    fs::remove_file(&path).expect("it was copied");
    std::os::unix::fs::symlink("/proc/sys/kernel/osrelease", &path).expect("a link");
    let findings = examine(&Host::faked(&folder, answers(&hosts_folder().join("arm"))));
    assert_eq!(found(&findings, "kernel").found, "/proc/sys/kernel/osrelease does not exist");
    fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn this_host_is_examined() {
    let folder = scratch("data");
    let findings = examine(&Host::this(&folder.join("not made yet")));
    assert!(findings.len() > 30);
    assert_ne!(found(&findings, "kernel").verdict, Verdict::NotKnown, "{}", found(&findings, "kernel").found);
    // On a busy host the verdict is open, but it was measured.
    let writes = &found(&findings, "synced writes").found;
    assert!(writes.contains("writes of 4 KiB"), "{writes}");
    assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 0, "nothing is left behind");
    fs::remove_dir_all(folder).expect("it is ours");
}

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("helenus-doctor-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("a type");
        if kind.is_dir() {
            collect(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}

/// Nothing, noise, a part, a number that no counter holds, a terminal's commands, and the content with some bytes changed.
fn replacements(seed: u64, content: &[u8]) -> Vec<Vec<u8>> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let noise: Vec<u8> = (0..700).map(|_| random() as u8).collect();
    let mut changed = content.to_vec();
    for _ in 0..8 {
        let at = random() as usize % changed.len().max(1);
        if let Some(byte) = changed.get_mut(at) {
            *byte = random() as u8;
        }
    }
    let digits: Vec<u8> = content.iter().map(|byte| if byte.is_ascii_digit() { b'9' } else { *byte }).collect();
    vec![
        Vec::new(),
        noise,
        content[..content.len() / 2].to_vec(),
        b"99999999999999999999999999999999\n".to_vec(),
        b"18446744073709551615\n".to_vec(),
        b"-1\n".to_vec(),
        b"\x1b[2J\x1b]0;title\x07 \xff\xfe\n".to_vec(),
        vec![b'['; 5000],
        digits,
        changed,
    ]
}
