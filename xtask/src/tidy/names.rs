//! Files and crates are named after things, not after the lack of a better place.

use super::Finding;
use crate::source::Tree;

const VAGUE: [&str; 9] = ["utils", "util", "common", "helpers", "helper", "misc", "manager", "impl", "ext"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter_map(|file| {
            vague_part(&file.path)
                .map(|part| Finding::new(&file.path, 0, format!("`{part}` names nothing: call it by what it holds")))
        })
        .collect()
}

fn vague_part(path: &str) -> Option<&str> {
    path.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part)).find(|part| {
        VAGUE.contains(part)
            || VAGUE.iter().any(|vague| part.ends_with(&format!("_{vague}")) || part.ends_with(&format!("-{vague}")))
            || part.ends_with("_v2")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vague_names_are_found() {
        let tree = Tree::of(&[
            ("crates/a/src/utils.rs", ""),
            ("crates/a/src/helpers/x.rs", ""),
            ("crates/a/src/frame_v2.rs", ""),
            ("crates/a/src/frame.rs", ""),
        ]);
        assert_eq!(check(&tree).len(), 3);
    }
}
