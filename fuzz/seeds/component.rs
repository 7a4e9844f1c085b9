//! Good components of indexes.

use index::{Builder, Posting, Totals};
use planted::Planted;

use crate::targets::index_identity;

/// Without postings; of few terms; with three segments; with lists of several blocks and merged ones.
pub fn seeds() -> Vec<Vec<u8>> {
    vec![component(0, 1), component(20, 1), component(60, 3), component(500, 1)]
}

fn component(rows: u64, segments: u64) -> Vec<u8> {
    let mut builder = Builder::new(Planted::NONE);
    let mut out = Vec::new();
    for row in 0..rows {
        let posting = Posting { partition: row / 4 * 90, row: row % 4 * 20, token_head: row as u32 / 4 * 77 };
        builder.add(if row % 3 == 0 { b"third" } else { b"other" }, posting);
        builder.add(&(row / 2).to_be_bytes()[6..], posting);
        if (row + 1) % (rows / segments) == 0 {
            while !builder.end_segment(64, &mut out) {}
        }
    }
    while !builder.end_segment(64, &mut out) {}
    builder.finish(index_identity(), Totals { rows, skipped: 0 }, &mut out);
    out
}
