//! Every Rust file says at its top what it is for.

use super::Finding;
use crate::source::Tree;

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| !opens_with_docs(&file.text))
        .map(|file| {
            Finding::new(&file.path, 1, "begins without `//!`: say its role, its invariants, what it does not do")
        })
        .collect()
}

/// A test file's inner attribute (`#![cfg(test)]`) and a script's first line may stand before the docs.
fn opens_with_docs(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with("#!"))
        .is_some_and(|line| line.starts_with("//!"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_docs_is_found() {
        let tree = Tree::of(&[("a.rs", "//! Good.\n"), ("b.rs", "use a;\n//! Late.\n"), ("c.rs", "")]);
        let paths: Vec<String> = check(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["b.rs", "c.rs"]);
    }
}
