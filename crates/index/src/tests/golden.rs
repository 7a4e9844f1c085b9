//! The bytes of a small component, which are kept: a change of the format is a decision, with another version.

use std::path::Path;

use super::model::{Both, open};
use super::reading::Cache;
use crate::{Posting, TermRange};

/// Written once by the code that made version 1.
const FILE: &str = "testdata/component-1.db";

#[test]
fn the_format_is_as_it_was() {
    let mut both = Both::new(usize::MAX);
    for number in 0..400_u64 {
        let posting = Posting { partition: number / 2 * 70, row: number % 2 * 33, token_head: number as u32 / 2 * 9 };
        both.add(b"all", posting);
        both.add(format!("number {number}").as_bytes(), posting);
        both.add(if number < 300 { b"third" } else { b"rest" }, posting);
        if number == 200 {
            both.end_segment();
        }
    }
    let (model, file) = both.finish();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if std::env::var_os("HELENUS_REWRITE").is_some() {
        std::fs::write(&path, &file).expect("is written");
    }
    let kept = std::fs::read(&path).expect("HELENUS_REWRITE=1 writes it");
    assert!(
        kept == file,
        "{} bytes are kept and {} were written: a new format has a new version",
        kept.len(),
        file.len()
    );
    let component = open(&kept);
    let mut cache = Cache::new(&kept, &component, 4);
    cache.check_range(&model, &TermRange::ALL);
    cache.check_terms(&model);
}
