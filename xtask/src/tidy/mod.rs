//! `cargo xtask tidy`: the house rules that no compiler checks, one file per rule.
//!
//! Each check is a function from the tree to findings, and each has a test that shows that it can fail.

mod banned_calls;
mod circles;
mod coverage;
mod denials;
mod file_size;
mod finding;
mod glossary;
mod impls;
mod layering;
mod links;
mod markers;
mod module_docs;
mod modules;
mod names;
mod pages;
mod plain_words;
mod records;
mod unsafe_list;

use self::finding::Finding;
use self::records::Record;
use crate::source::Tree;
use crate::workspace;

type Check = fn(&Tree) -> Vec<Finding>;

const CHECKS: [(&str, Check); 15] = [
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
    ("pages", pages::check),
    ("plain words", plain_words::check),
    ("circles", circles::check),
    ("impls", impls::check),
];

/// A rule's record with each number lowered to what is counted now.
type Recorded = fn(&Tree) -> Result<String, Finding>;

const RECORDS: [(&Record, Recorded); 3] = [
    (&plain_words::RECORD, plain_words::recorded),
    (&circles::RECORD, circles::recorded),
    (&impls::RECORD, impls::recorded),
];

/// Lowers the numbers on record to what is counted now, and then runs every check: what has grown stays a finding.
pub fn record() -> Result<(), String> {
    let root = workspace::root();
    let tree = Tree::read(&root)?;
    for (record, recorded) in RECORDS {
        let text =
            recorded(&tree).map_err(|finding| format!("{}:{}: {}", finding.path, finding.line, finding.message))?;
        workspace::write(&root.join(record.path), &text)?;
    }
    run()
}

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
