//! The packages that `cargo xtask package` makes: what is in them, whose it is, and that a node runs from them as they are.
//!
//! `HELENUS_PACKAGES` names the folder that has them; `cargo xtask packages` makes it. Nothing is installed on this machine.

mod contents;
mod running;

use std::path::PathBuf;
use std::process::Command;

/// The folder of the packages.
fn folder() -> PathBuf {
    let folder = std::env::var_os("HELENUS_PACKAGES");
    PathBuf::from(folder.expect("HELENUS_PACKAGES names a folder with packages; `cargo xtask packages` makes one"))
}

/// The one file in it of that ending.
fn package(ending: &str) -> PathBuf {
    let entries = std::fs::read_dir(folder()).expect("the folder of packages");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let found: Vec<PathBuf> = paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    let [only] = &found[..] else { panic!("packages that end in {ending}: {found:?}") };
    only.clone()
}

/// Runs a tool that must succeed, and gives its standard output.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).env("LC_ALL", "C").env("TZ", "UTC").output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?}:\n{out}{err}");
    out.into_owned()
}

/// A root into which the Debian package is unpacked; deleted when it is dropped.
struct Root(PathBuf);

impl Root {
    fn unpacked(name: &str) -> Root {
        let path = std::env::temp_dir().join(format!("helenus-package-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        said("dpkg-deb", &["-x", &package(".deb").to_string_lossy(), &path.to_string_lossy()]);
        Root(path)
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.join(below)
    }

    fn text(&self, below: &str) -> String {
        std::fs::read_to_string(self.path(below)).unwrap_or_else(|error| panic!("{below}: {error}"))
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An entry of a listing by tar or dpkg-deb: mode, owner, time, path.
#[derive(Debug)]
struct Entry {
    mode: String,
    owner: String,
    time: String,
    path: String,
}

/// Reads lines like `-rw-r--r-- root/root 1234 2026-01-01 00:00 ./path`.
fn entries(listing: &str) -> Vec<Entry> {
    let entry = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [mode, owner, _, day, time, path] = words[..] else { panic!("a line of a listing: {line}") };
        Entry { mode: mode.to_owned(), owner: owner.to_owned(), time: format!("{day} {time}"), path: path.to_owned() }
    };
    listing.lines().map(entry).collect()
}
