//! `cargo xtask tidy`: the house rules that no compiler checks, one file per rule.
//!
//! Each check is a function from the tree to findings, and each has a test that shows that it can fail.

mod banned_calls;
mod coverage;
mod file_size;
mod finding;
mod glossary;
mod layering;
mod links;
mod markers;
mod module_docs;
mod names;
mod unsafe_list;

use self::finding::Finding;
use crate::source::Tree;
use crate::workspace;

type Check = fn(&Tree) -> Vec<Finding>;

const CHECKS: [(&str, Check); 10] = [
    ("file size", file_size::check),
    ("module docs", module_docs::check),
    ("layering", layering::check),
    ("banned calls", banned_calls::check),
    ("glossary", glossary::check),
    ("unsafe list", unsafe_list::check),
    ("links", links::check),
    ("markers", markers::check),
    ("names", names::check),
    ("coverage", coverage::check),
];

/// Runs every check on the work tree.
pub fn run() -> Result<(), String> {
    let tree = Tree::read(&workspace::root())?;
    let mut count = 0;
    for (name, check) in CHECKS {
        for finding in check(&tree) {
            count += 1;
            println!("{}:{}: {} [{name}]", finding.path, finding.line, finding.message);
        }
    }
    if count > 0 {
        return Err(format!("tidy: {count} findings in {} files read", tree.files.len()));
    }
    println!("tidy: {} files, {} checks, nothing found", tree.files.len(), CHECKS.len());
    Ok(())
}
