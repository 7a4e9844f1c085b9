//! `cargo xtask tidy`: the house rules that no compiler checks, one file per rule.
//!
//! Each check is a function from the tree to findings, and each has a test that shows that it can fail.

mod banned_calls;
mod coverage;
mod denials;
mod file_size;
mod glossary;
mod layering;
mod links;
mod markers;
mod module_docs;
mod names;
mod unsafe_list;

use crate::source::Tree;
use crate::workspace;

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// Path below the root.
    pub path: String,
    /// One-based line, 0 for the whole file.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_string(), line, message: message.into() }
    }
}

type Check = fn(&Tree) -> Vec<Finding>;

const CHECKS: [(&str, Check); 11] = [
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
    ("denials", denials::check),
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
