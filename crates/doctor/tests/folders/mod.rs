//! Folders of faked hosts, for the tests that change one.

use std::fs;
use std::path::Path;

/// Copies what a folder holds, links as links, into another, which is made.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (kind, target) = (entry.file_type().expect("a type"), to.join(entry.file_name()));
        if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path()).expect("a link"), &target).expect("a link");
        } else if kind.is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("a file");
        }
    }
}
