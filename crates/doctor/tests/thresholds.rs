//! One file of a good host after another says something else, and one finding after another changes its verdict: each limit from both sides.
#![allow(clippy::disallowed_methods, reason = "tests make faked hosts")]

mod folders;

use std::fs;
use std::path::Path;

use doctor::{Answers, Host, Verdict, examine};

use folders::copy;

use Verdict::{Advice, NotKnown, Ok, Problem, Warning};

const MOUNTS: &str = "/proc/self/mountinfo";
const LIMITS: &str = "/proc/self/limits";
const QUEUE: &str = "/sys/devices/pci0000:00/0000:00:1f.0/nvme/nvme1/nvme1n1/queue";

fn mounted(kind: &str, options: &str) -> String {
    format!(
        "29 1 259:1 / / rw,relatime - ext4 /dev/nvme0n1p1 rw\n90 29 259:5 / /var/lib/helenus {options} - {kind} /dev/nvme1n1 rw\n"
    )
}

fn files(soft: &str) -> String {
    format!("Max open files            {soft}                 1048576              files\n")
}

/// The verdict of `check` on the host `arm` when one of its files has another content, or, with none, is not there.
fn verdict(path: &str, content: Option<&str>, check: &str) -> (Verdict, String) {
    with_answers(path, content, check, |answers| answers.to_owned())
}

fn with_answers(path: &str, content: Option<&str>, check: &str, change: impl Fn(&str) -> String) -> (Verdict, String) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/hosts/arm");
    // Tests run beside each other, and none of them looks at the same check of the same file.
    let name =
        format!("helenus-doctor-{}-{}-{}", std::process::id(), path.replace('/', "-"), check.replace(['/', ' '], "-"));
    let folder = std::env::temp_dir().join(name);
    let _ = fs::remove_dir_all(&folder);
    copy(&source.join("root"), &folder);
    let place = folder.join(path.trim_start_matches('/'));
    match content {
        Some(content) => {
            fs::create_dir_all(place.parent().expect("a file is in a folder")).expect("a folder");
            fs::write(&place, content).expect("it is a copy");
        }
        None => fs::remove_file(&place).expect("the host has it"),
    }
    let answers = change(&fs::read_to_string(source.join("answers.txt")).expect("it has answers"));
    let findings = examine(&Host::faked(&folder, Answers::parse(&answers).expect("answers")));
    fs::remove_dir_all(&folder).expect("it is ours");
    let finding = findings.into_iter().find(|finding| finding.check == check).expect("there is such a check");
    (finding.verdict, finding.found)
}

#[test]
fn each_limit_from_both_sides() {
    let release = "/proc/sys/kernel/osrelease";
    let smt = "/sys/devices/system/cpu/smt/control";
    let policy = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let quota = "/sys/fs/cgroup/system.slice/cpu.max";
    let swap = "Filename Type Size Used Priority\n/swapfile file 1048576 0 -2\n";
    let texts: [(&str, &str, &str, Verdict); 58] = [
        (release, "6.1.0\n", "kernel", Ok),
        (release, "7.0.0-rc1\n", "kernel", Ok),
        (release, "6.0.9\n", "kernel", Advice),
        (release, "5.4.0-1-generic\n", "kernel", Advice),
        (release, "4.14.1\n", "kernel", Advice),
        (release, "4.13.0\n", "kernel", Warning),
        (release, "3.10.0-1160.el7\n", "kernel", Warning),
        (release, "six\n", "kernel", NotKnown),
        (smt, "off\n", "threads per core", Advice),
        (smt, "on\n", "threads per core", Ok),
        (policy, "performance\n", "frequency governor", Ok),
        (policy, "schedutil\n", "frequency governor", Advice),
        (policy, "ondemand\n", "frequency governor", Advice),
        (policy, "powersave\n", "frequency governor", Warning),
        (policy, "conservative\n", "frequency governor", Warning),
        ("/sys/devices/system/cpu/cpufreq/boost", "1\n", "turbo", Ok),
        ("/sys/devices/system/cpu/cpufreq/boost", "0\n", "turbo", Advice),
        (quota, "max 100000\n", "cpu quota", Ok),
        (quota, "400000 100000\n", "cpu quota", Ok),
        (quota, "399999 100000\n", "cpu quota", Warning),
        ("/proc/cpuinfo", "Features : fp asimd aes crc32\n", "instructions", Ok),
        ("/proc/cpuinfo", "Features : fp asimd aes\n", "instructions", Warning),
        ("/proc/swaps", swap, "swap", Warning),
        ("/proc/swaps", "Filename Type Size Used Priority\n", "swap", Ok),
        ("/proc/sys/vm/overcommit_memory", "1\n", "overcommit", Ok),
        ("/proc/sys/vm/overcommit_memory", "2\n", "overcommit", Warning),
        ("/proc/sys/kernel/numa_balancing", "1\n", "numa balancing", Ok),
        ("/proc/sys/vm/zone_reclaim_mode", "1\n", "zone reclaim", Warning),
        (MOUNTS, &mounted("xfs", "rw,noatime"), "file system", Ok),
        (MOUNTS, &mounted("tmpfs", "rw"), "file system", Problem),
        (MOUNTS, &mounted("overlay", "rw"), "file system", Warning),
        (MOUNTS, &mounted("nfs4", "rw"), "file system", Warning),
        (MOUNTS, &mounted("btrfs", "rw"), "file system", Advice),
        (MOUNTS, &mounted("minix", "rw"), "file system", Advice),
        (MOUNTS, &mounted("ext4", "rw,noatime"), "mount options", Ok),
        (MOUNTS, &mounted("ext4", "rw,relatime"), "mount options", Advice),
        (MOUNTS, &mounted("ext4", "rw"), "mount options", Warning),
        (MOUNTS, &mounted("ext4", "ro,noatime"), "mount options", Problem),
        (MOUNTS, &mounted("ext4", "rw,noatime,nobarrier"), "mount options", Problem),
        (MOUNTS, &mounted("nfs4", "rw,relatime"), "mount options", Ok),
        (MOUNTS, &mounted("tmpfs", "rw"), "synced writes", NotKnown),
        (&format!("{QUEUE}/rotational"), "1\n", "disk", Advice),
        (&format!("{QUEUE}/scheduler"), "none [mq-deadline]\n", "disk scheduler", Advice),
        (&format!("{QUEUE}/scheduler"), "none [bfq]\n", "disk scheduler", Warning),
        (&format!("{QUEUE}/scheduler"), "none\n", "disk scheduler", Ok),
        (&format!("{QUEUE}/write_cache"), "write sideways\n", "write cache", NotKnown),
        ("/proc/sys/net/core/somaxconn", "4096\n", "accept queue", Ok),
        ("/proc/sys/net/core/somaxconn", "4095\n", "accept queue", Advice),
        ("/proc/sys/net/core/somaxconn", "1023\n", "accept queue", Warning),
        ("/proc/sys/net/ipv4/tcp_max_syn_backlog", "1023\n", "half-open connections", Advice),
        ("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 1048575\n", "socket buffers", Advice),
        (LIMITS, &files("65536"), "open files", Ok),
        (LIMITS, &files("unlimited"), "open files", Ok),
        (LIMITS, &files("65535"), "open files", Advice),
        (LIMITS, &files("9999"), "open files", Warning),
        (clock, "kvm-clock\n", "clock source", Ok),
        (clock, "hpet\n", "clock source", Warning),
        (clock, "jiffies\n", "clock source", Warning),
    ];
    for (path, content, check, expected) in texts {
        let (found, text) = verdict(path, Some(content), check);
        assert_eq!(found, expected, "{check} with {content:?} in {path}: {text}");
    }
}

#[test]
fn what_the_kernel_answers_decides_too() {
    let loadavg = |load: &str| format!("{load} 0.10 0.10 1/100 4711\n");
    for (line, instead, load, check, expected) in [
        ("900000000000", "449000000000", "0.1", "free space", Advice),
        ("900000000000", "180000000000", "0.1", "free space", Warning),
        ("900000000000", "46000000000", "0.1", "free space", Problem),
        ("200 25 29 150", "200 2 4 90", "0.1", "synced writes", Warning),
        ("200 25 29 150", "200 900 1999 90000", "0.1", "synced writes", Ok),
        ("200 25 29 150", "200 900 2000 90000", "0.1", "synced writes", Advice),
        ("200 25 29 150", "90 18000 20000 90000", "0.1", "synced writes", Warning),
        ("200 25 29 150", "200 60 4000 90000", "4.00", "synced writes", NotKnown),
        ("200 25 29 150", "200 60 4000 90000", "3.99", "synced writes", Advice),
        ("200 25 29 150", "90 18000 20000 90000", "9.00", "synced writes", Warning),
        ("direct = works", "direct = refused: Invalid argument", "0.1", "direct i/o", Warning),
        ("io_uring = works", "io_uring = refused: Operation not permitted", "0.1", "io_uring", Advice),
        ("linux-aio = works", "linux-aio = refused: Operation not permitted", "0.1", "linux-aio", Ok),
        ("= 1 310", "= 0 310", "0.1", "time synchronisation", Warning),
        ("= 1 310", "= 1 100001", "0.1", "time synchronisation", Advice),
    ] {
        let change = |answers: &str| {
            assert!(answers.contains(line), "the answers of the host have {line:?}");
            answers.replace(line, instead)
        };
        let (found, text) = with_answers("/proc/loadavg", Some(&loadavg(load)), check, change);
        assert_eq!(found, expected, "{check} with {instead:?}, load {load} on 4 processors: {text}");
    }
}

#[test]
fn what_is_absent_is_not_known_or_says_something() {
    for (path, check, expected) in [
        ("/proc/meminfo", "memory", NotKnown),
        ("/proc/swaps", "swap", NotKnown),
        ("/proc/self/limits", "open files", NotKnown),
        ("/proc/sys/vm/zone_reclaim_mode", "zone reclaim", Ok),
        ("/proc/interrupts", "network interrupts", NotKnown),
        ("/proc/stat", "virtual machine", NotKnown),
        ("/proc/self/cgroup", "cpu quota", NotKnown),
    ] {
        let (found, text) = verdict(path, None, check);
        assert_eq!(found, expected, "{check} without {path}: {text}");
    }
}
