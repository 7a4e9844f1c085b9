//! Small rooms: no file over 1,000 lines, tests and generated code aside.

use super::Finding;
use crate::source::{SourceFile, Tree};

const LINES_MAX: usize = 1000;

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter(|file| !file.is_test() && !is_generated(file)).filter_map(too_long).collect()
}

fn is_generated(file: &SourceFile) -> bool {
    file.text.lines().take(5).any(|line| line.contains(concat!("@", "generated")))
}

fn too_long(file: &SourceFile) -> Option<Finding> {
    let lines = file.text.lines().count();
    if lines <= LINES_MAX {
        return None;
    }
    let tests = file.code().lines().zip(file.product_code().lines()).filter(|(before, after)| before != after).count();
    let product = lines.saturating_sub(tests);
    (product > LINES_MAX).then(|| {
        Finding::new(&file.path, 0, format!("{product} lines; split it along the data's way (limit {LINES_MAX})"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_found_and_long_tests_are_not() {
        let long = "fn f() {}\n".repeat(LINES_MAX + 1);
        let tests = format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{long}}}\n");
        let tree = Tree::of(&[
            ("crates/a/src/a.rs", &long),
            ("crates/a/src/b.rs", &tests),
            ("crates/a/src/b/tests.rs", &long),
        ]);
        let paths: Vec<String> = check(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["crates/a/src/a.rs"]);
    }
}
