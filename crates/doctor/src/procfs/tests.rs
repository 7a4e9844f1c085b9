//! The parsers on what kernels write, and on anything at all.

use std::path::Path;

use proptest::prelude::*;

use super::limits::Limit;
use super::*;

#[test]
fn lists_of_processors() {
    assert_eq!(cpu_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
    assert_eq!(cpu_list("4-175").map(|cpus| cpus.len()), Some(172));
    assert_eq!(cpu_list("\n"), Some(vec![]));
    for wrong in ["a", "3-1", "0-99999", "1,x", "-1", "18446744073709551616"] {
        assert_eq!(cpu_list(wrong), None, "{wrong:?} was taken");
    }
    assert_eq!(print_cpu_list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
    assert_eq!(print_cpu_list(&[]), "");
}

#[test]
fn fields() {
    let text = "MemTotal:       16384 kB\nMemFree: 1 kB\nflags\t\t: fpu aes\n";
    assert_eq!(colon_field(text, "MemTotal").and_then(kilobytes), Some(16 << 20));
    assert_eq!(colon_field(text, "flags"), Some("fpu aes"));
    assert_eq!(colon_field(text, "Mem"), None);
    assert_eq!(kilobytes("16384"), None, "a number without its unit");
    assert_eq!(kilobytes("18446744073709551615 kB"), None);
}

#[test]
fn interrupts_of_three_architectures() {
    let text = "           CPU0       CPU2\n  24:          1         30  IR-PCI-MSIX-0000:01:00.0   5-edge      nvme0q1\n\
                NMI:          0          7   Non-maskable interrupts\n  16:          5  XICS   2 Level     IPI\nERR:          0\n";
    let (columns, found) = interrupts(text).expect("a header");
    assert_eq!(columns, [0, 2]);
    assert_eq!(found[0], Interrupt { number: Some(24), action: "nvme0q1".into(), counts: vec![1, 30] });
    assert_eq!(found[1], Interrupt { number: None, action: "interrupts".into(), counts: vec![0, 7] });
    assert_eq!(found[2].counts, [5], "a line with fewer counts than there are columns");
    assert_eq!(found[3], Interrupt { number: None, action: String::new(), counts: vec![0] });
    assert_eq!(interrupts("no header\n 1: 2 3\n"), None);
    assert_eq!(interrupts(""), None);
}

#[test]
fn limits() {
    let text = "Limit                     Soft Limit           Hard Limit           Units\n\
                Max open files            1024                 524288               files\n\
                Max locked memory         unlimited            unlimited            bytes\n";
    assert_eq!(limit(text, "Max open files"), Some(Limit { soft: Some(1024), hard: Some(524_288) }));
    assert_eq!(limit(text, "Max locked memory"), Some(Limit { soft: None, hard: None }));
    assert_eq!(limit(text, "Max processes"), None);
    assert_eq!(limit("Max open files  lots", "Max open files"), None);
    assert_eq!(print_limit(None), "unlimited");
}

#[test]
fn the_mount_that_holds_a_folder() {
    let text = "22 27 0:21 / /proc rw,relatime - proc proc rw\n\
                27 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro\n\
                40 27 259:1 / /var/lib/helenus rw,noatime shared:2 master:1 - xfs /dev/nvme0n1p1 rw,attr2\n\
                41 27 0:40 / /with\\040space rw - tmpfs tmp\\040fs rw\n\
                42 27 259:9 / /var/lib/helenus rw,noatime - xfs /dev/over rw\n";
    let found = holder(text, Path::new("/var/lib/helenus/data")).expect("it is mounted");
    assert_eq!((found.device.as_str(), found.source.as_str()), ("259:9", "/dev/over"), "the last one mounted there");
    assert_eq!(found.options, ["rw", "noatime", "rw"]);
    // A folder whose name only begins like the mount's is not in it.
    assert_eq!(holder(text, Path::new("/var/lib/helenus2")).expect("the root").device, "8:2");
    let spaced = holder(text, Path::new("/with space")).expect("it is mounted");
    assert_eq!((spaced.file_system.as_str(), spaced.source.as_str()), ("tmpfs", "tmp fs"));
    assert_eq!(holder("garbage\n - \n1 2 3 - 4\n", Path::new("/")), None);
}

#[test]
fn cgroups_of_both_versions() {
    let second = |path: &str| (path.to_owned(), true);
    assert_eq!(
        folders("0::/a/b\n", Controller::Cpu),
        [second("/sys/fs/cgroup/a/b"), second("/sys/fs/cgroup/a"), second("/sys/fs/cgroup")]
    );
    let first = "5:cpu,cpuacct:/x\n4:memory:/\n3:cpuset:/y\n";
    assert_eq!(
        folders(first, Controller::Cpu),
        [("/sys/fs/cgroup/cpu/x".to_owned(), false), ("/sys/fs/cgroup/cpu".to_owned(), false)]
    );
    assert_eq!(folders(first, Controller::Memory), [("/sys/fs/cgroup/memory".to_owned(), false)]);
    assert_eq!(folders("0::/../../host\n", Controller::Cpu), [second("/sys/fs/cgroup")]);
    assert!(folders(&format!("0::{}\n", "/x".repeat(100_000)), Controller::Cpu).len() <= 65);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_list_is_what_was_printed(mut cpus in prop::collection::vec(0_usize..500, 0..60)) {
        cpus.sort_unstable();
        cpus.dedup();
        prop_assert_eq!(cpu_list(&print_cpu_list(&cpus)), Some(cpus));
    }

    #[test]
    fn nothing_panics(text in any::<String>(), lines in "([0-9CPU:/, .\\-a-z\\\\]{0,40}\n){0,12}") {
        for text in [&text, &lines] {
            let _ = cpu_list(text);
            let _ = colon_field(text, "MemTotal").and_then(kilobytes);
            let _ = kilobytes(text);
            let _ = interrupts(text);
            let _ = interrupts(&format!("CPU0 CPU1\n{text}"));
            let _ = limit(&format!("Max open files{text}"), "Max open files");
            let _ = holder(&format!("1 2 3:4 / /\\{text} rw - a b c\n{text}"), Path::new("/"));
            let _ = folders(text, Controller::Memory);
        }
    }
}
