//! The page that says what of CQL the oracle's scripts show is the one that the scripts make.

use super::Finding;
use crate::reference::{self, PAGE};
use crate::source::Tree;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let wanted = match reference::page(tree) {
        Ok(page) => page,
        Err(message) => return vec![Finding::new(PAGE, 0, message)],
    };
    let is_same = tree.file(PAGE).is_some_and(|file| file.text == wanted);
    let finding =
        || Finding::new(PAGE, 0, "is not what the scripts show: `cargo xtask oracle reference` makes it anew");
    if is_same { Vec::new() } else { vec![finding()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_behind_the_scripts_is_found() {
        let list = ("tests/oracle/reference.txt", "# Statements\n\nSELECT *\n");
        let script = ("tests/oracle/select/a.cql", "-- About it.\n\nSELECT * FROM t;\n> done\n");
        let page = reference::page(&Tree::of(&[list, script])).expect("a page");
        assert!(check(&Tree::of(&[list, script, (PAGE, &page)])).is_empty());
        assert_eq!(check(&Tree::of(&[list, (PAGE, &page)])).len(), 1);
    }
}
