//! Files, owners, modes and times; the unit; man pages and completions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use super::{Entry, Root, entries, package, said};

/// Files that the Debian package must have, and their modes.
const INSTALLED: &[(&str, &str)] = &[
    ("./usr/bin/helenus", "-rwxr-xr-x"),
    ("./lib/systemd/system/helenus.service", "-rw-r--r--"),
    ("./etc/helenus/cassandra.yaml", "-rw-r--r--"),
    ("./usr/share/doc/helenus/copyright", "-rw-r--r--"),
    ("./usr/share/doc/helenus/changelog.gz", "-rw-r--r--"),
    ("./usr/share/helenus/grafana/alerts.yaml", "-rw-r--r--"),
    ("./usr/share/man/man1/helenus.1.gz", "-rw-r--r--"),
    ("./usr/share/man/man1/helenus-serve.1.gz", "-rw-r--r--"),
    ("./usr/share/man/man1/helenus-cql.1.gz", "-rw-r--r--"),
    ("./usr/share/man/man1/helenus-nodetool-status.1.gz", "-rw-r--r--"),
    ("./usr/share/bash-completion/completions/helenus", "-rw-r--r--"),
    ("./usr/share/zsh/vendor-completions/_helenus", "-rw-r--r--"),
    ("./usr/share/fish/vendor_completions.d/helenus.fish", "-rw-r--r--"),
];

/// Owners, modes and times that every entry must have.
fn assert_plain(listing: &[Entry]) {
    let times: BTreeSet<&str> = listing.iter().map(|entry| entry.time.as_str()).collect();
    assert_eq!(times.len(), 1, "times differ: {times:?}");
    for entry in listing {
        assert_eq!(entry.owner, "root/root", "{entry:?}");
        let is_plain = ["drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--"].contains(&entry.mode.as_str());
        assert!(is_plain, "{entry:?}");
    }
}

#[test]
fn the_debian_package_has_what_it_should_and_root_owns_it() {
    let deb = package(".deb");
    let deb = deb.to_string_lossy();
    let listing = entries(&said("dpkg-deb", &["-c", &deb]));
    assert_plain(&listing);
    let modes: BTreeMap<&str, &str> = listing.iter().map(|entry| (entry.path.as_str(), entry.mode.as_str())).collect();
    for (path, mode) in INSTALLED {
        assert_eq!(modes.get(path), Some(mode), "{path}");
    }
    let programs = listing.iter().filter(|entry| entry.mode == "-rwxr-xr-x").count();
    assert_eq!(programs, 1, "only the binary is a program");
    assert_eq!(said("dpkg-deb", &["-I", &deb, "conffiles"]), "/etc/helenus/cassandra.yaml\n");
    assert_eq!(said("dpkg-deb", &["-f", &deb, "Package"]).trim(), "helenus");
    assert!(said("dpkg-deb", &["-f", &deb, "Depends"]).contains("adduser"));
}

#[test]
fn the_debian_package_depends_on_the_glibc_that_the_binary_asks_for() {
    let root = Root::unpacked("needs");
    let binary = root.path("usr/bin/helenus");
    let needs = said("readelf", &["--wide", "--version-info", &binary.to_string_lossy()]);
    let version = |text: &str| -> Option<(u32, u32)> {
        let mut numbers = text.split([' ', '.']).map(|number| number.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    };
    let depends = said("dpkg-deb", &["-f", &package(".deb").to_string_lossy(), "Depends"]);
    match needs.split("Name: GLIBC_").skip(1).filter_map(version).max() {
        Some((major, minor)) => assert!(depends.contains(&format!("libc6 (>= {major}.{minor})")), "{depends}"),
        None => assert_eq!(depends.trim(), "adduser"),
    }
}

#[test]
fn sums_of_the_debian_package_are_right() {
    let root = Root::unpacked("sums");
    let sums = said("dpkg-deb", &["-I", &package(".deb").to_string_lossy(), "md5sums"]);
    let file = root.path("md5sums");
    std::fs::write(&file, &sums).expect("the root can be written");
    let mut check = Command::new("md5sum");
    let output = check.args(["--check", "--quiet", "md5sums"]).current_dir(root.path("")).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(sums.lines().count() > 100 && !sums.contains("cassandra.yaml"), "{sums}");
    let mut check = Command::new("sha256sum");
    let output = check.args(["--check", "SHA256SUMS"]).current_dir(super::folder()).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_archive_lies_in_one_folder_and_root_owns_it() {
    let archive = package(".tar.gz");
    let listing = entries(&said("tar", &["-tvzf", &archive.to_string_lossy()]));
    assert_plain(&listing);
    let paths: Vec<&str> = listing.iter().map(|entry| entry.path.as_str()).collect();
    assert!(paths.is_sorted(), "{paths:?}");
    let name = archive.file_name().expect("a name").to_string_lossy();
    let top = name.strip_suffix(".tar.gz").expect("its ending");
    assert!(paths.iter().all(|path| path.starts_with(&format!("{top}/"))), "{paths:?}");
    for below in ["bin/helenus", "LICENSE", "README.md", "etc/helenus.service", "etc/cassandra.yaml"] {
        assert!(paths.contains(&format!("{top}/{below}").as_str()), "{below} is missing");
    }
}

#[test]
fn systemd_takes_the_unit_and_finds_it_confined() {
    let root = Root::unpacked("unit");
    // systemd wants the units that it names itself; those of this machine will do.
    let unit = root.path("lib/systemd/system/helenus.service");
    let text = root.text("lib/systemd/system/helenus.service");
    // The program of the unpacked package takes the place of the installed one, which this machine need not have.
    let binary = root.path("usr/bin/helenus");
    std::fs::write(&unit, text.replace("/usr/bin/helenus", &binary.to_string_lossy()))
        .expect("the root can be written");
    let unit = unit.to_string_lossy();
    let output = Command::new("systemd-analyze").args(["verify", "--man=no", "--recursive-errors=no", &unit]).output();
    let output = output.expect("systemd-analyze runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.trim().is_empty(), "{words}");
    // From 0, confined, to 100, in tenths of what it prints. Below 50 it says OK.
    said("systemd-analyze", &["security", "--offline=true", "--threshold=40", "--no-pager", &unit]);
}

#[test]
fn shells_take_the_scripts_and_complete_commands_of_nodetool() {
    let root = Root::unpacked("shells");
    let bash = root.path("usr/share/bash-completion/completions/helenus");
    let complete = |words: &str, last: &str| {
        let script = format!(
            "source '{}'; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _helenus helenus '{last}' ''; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            bash.display()
        );
        said("bash", &["-c", &script]).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(complete("helenus no", "no").contains(&"nodetool".to_owned()));
    assert!(complete("helenus nodetool stat", "stat").contains(&"status".to_owned()));
    assert!(complete("helenus serve --conf", "--conf").contains(&"--config".to_owned()));
    let scripts = root.path("control");
    let deb = package(".deb");
    said("dpkg-deb", &["-e", &deb.to_string_lossy(), &scripts.to_string_lossy()]);
    for script in ["postinst", "prerm", "postrm"] {
        let script = scripts.join(script);
        said("sh", &["-n", &script.to_string_lossy()]);
        assert!(is_refused(&script), "{} takes any word", script.display());
    }
    let fish = root.text("usr/share/fish/vendor_completions.d/helenus.fish");
    assert!(fish.contains("complete -c helenus") && fish.contains("status"));
    assert!(root.text("usr/share/zsh/vendor-completions/_helenus").starts_with("#compdef helenus"));
}

/// A maintainer script that is called with a word that dpkg does not have.
fn is_refused(script: &Path) -> bool {
    let output = Command::new(script).arg("nonsense").output().expect("it runs");
    output.status.code() == Some(1) && String::from_utf8_lossy(&output.stderr).contains("nonsense")
}

#[test]
fn man_pages_say_what_help_says() {
    let root = Root::unpacked("pages");
    let page = |name: &str| {
        let path = root.path(&format!("usr/share/man/man1/{name}.1.gz"));
        said("gzip", &["-dc", &path.to_string_lossy()]).replace("\\-", "-")
    };
    assert!(page("helenus").contains("speaks CQL"));
    assert!(page("helenus-serve").contains("--internode-secret-file"));
    assert!(page("helenus-cql").contains("--execute"));
    assert!(page("helenus-stress").contains("cassandra-stress"));
    assert!(page("helenus-nodetool").contains("--password-file"));
    assert!(page("helenus-nodetool-status").contains("helenus nodetool status"));
}
