//! Each product crate denies the calls and types that clippy.toml bans.
//!
//! The workspace's lints allow them, so that one pass of clippy covers tests too; the line in each crate's root takes that back.

use super::finding::Finding;
use crate::source::Tree;

const LINE: &str = "#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]";

/// Crates that reach the outside world themselves, with an attribute and a reason in their root.
const EXEMPT: [&str; 2] = ["crates/study/src/lib.rs", "crates/local-cluster/src/lib.rs"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let roots = tree.rust().filter(|file| is_root(&file.path));
    roots
        .filter(|file| file.text.lines().any(|line| line == LINE) == EXEMPT.contains(&file.path.as_str()))
        .map(|file| match EXEMPT.contains(&file.path.as_str()) {
            true => Finding::new(&file.path, 1, "denies what clippy.toml bans: take it off the list of exempt crates"),
            false => Finding::new(&file.path, 1, format!("does not deny what clippy.toml bans: add {LINE}")),
        })
        .collect()
}

/// The root of a product crate: `crates/NAME/src/lib.rs` or `main.rs`.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts[..], ["crates", _, "src", "lib.rs" | "main.rs"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_without_the_line_is_found_and_so_is_an_exemption_without_need() {
        let denies = format!("//! Docs.\n\n{LINE}\n");
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", &denies),
            ("crates/b/src/lib.rs", "//! Docs.\n"),
            ("crates/b/src/other.rs", "//! Docs.\n"),
            ("crates/b/tests/lib.rs", "//! Docs.\n"),
            (EXEMPT[0], &denies),
        ]);
        let paths: Vec<String> = check(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["crates/b/src/lib.rs", EXEMPT[0]]);
    }
}
