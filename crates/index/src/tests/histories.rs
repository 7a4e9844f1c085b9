//! Random histories by seeds: what a component answers is what the model does.

use std::ops::Bound;

use super::model::{Both, Model, Random, open};
use super::reading::Cache;
use crate::{Posting, TermRange};

/// A file's rows.
#[derive(Clone, Copy)]
struct Shape {
    rows: u64,
    /// Rows of a partition, at most.
    partition_rows: u64,
    /// Terms of a row, at most.
    row_terms: u64,
    segments: u64,
    /// Pages that are in memory at once.
    pages: usize,
}

const SMALL: Shape = Shape { rows: 5_000, partition_rows: 4, row_terms: 1, segments: 3, pages: 8 };

fn build(shape: Shape, random: &mut Random, mut term: impl FnMut(&mut Random, u64) -> Vec<u8>) -> (Model, Vec<u8>) {
    let mut both = Both::new(1 + random.below(1_000) as usize);
    let (mut partition, mut row, mut token_head, mut left) = (0, 0, 0, 0);
    for number in 0..shape.rows {
        if left == 0 {
            left = 1 + random.below(shape.partition_rows);
            partition += row + 20 + random.below(500);
            row = 0;
            // Some partitions have one head.
            token_head += random.below(3) as u32 * 1_000;
        } else {
            row += 1 + random.below(100);
        }
        left -= 1;
        for _ in 0..1 + random.below(shape.row_terms) {
            both.add(&term(random, number), Posting { partition, row, token_head });
        }
        if (number + 1) % (shape.rows / shape.segments) == 0 {
            both.end_segment();
        }
    }
    both.finish()
}

/// A term of the model, or one near it.
fn near(terms: &[&[u8]], random: &mut Random) -> Vec<u8> {
    let mut term = terms[random.below(terms.len() as u64) as usize].to_vec();
    match random.below(5) {
        0 => {
            term.pop();
        }
        1 => term.push(random.below(256) as u8),
        2 => {
            if let Some(last) = term.last_mut() {
                *last = last.wrapping_add(1);
            }
        }
        _ => {}
    }
    term
}

fn bound(terms: &[&[u8]], random: &mut Random) -> Bound<Vec<u8>> {
    match random.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(near(terms, random)),
        _ => Bound::Excluded(near(terms, random)),
    }
}

fn check(model: &Model, file: &[u8], shape: Shape, ranges: usize, random: &mut Random) {
    let component = open(file);
    let mut cache = Cache::new(file, &component, shape.pages);
    cache.check_terms(model);
    let terms = model.terms();
    cache.check_range(model, &TermRange::ALL);
    cache.check_seeks(model, &TermRange::ALL, random);
    for _ in 0..ranges {
        let range = match random.below(4) {
            0 => TermRange::equal(&near(&terms, random)),
            1 => {
                let term = near(&terms, random);
                TermRange::prefix(&term[..random.below(term.len() as u64 + 1) as usize])
            }
            // Some of them are empty, their bounds being crossed.
            _ => TermRange { from: bound(&terms, random), to: bound(&terms, random) },
        };
        cache.check_range(model, &range);
        cache.check_seeks(model, &range, random);
    }
}

#[test]
fn few_small_terms() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let (model, file) = build(SMALL, &mut random, |random, _| {
            let length = random.below(3) as usize;
            (0..length).map(|_| random.below(2) as u8).collect()
        });
        check(&model, &file, SMALL, 40, &mut random);
    }
}

#[test]
fn a_term_for_each_row() {
    let shape = Shape { rows: 12_000, ..SMALL };
    for seed in 0..3 {
        let mut random = Random::new(seed);
        let (model, file) =
            build(shape, &mut random, |_, number| (number.wrapping_mul(0x9e37_79b9) as u32).to_be_bytes().to_vec());
        check(&model, &file, shape, 60, &mut random);
    }
}

#[test]
fn skewed_terms_and_wide_partitions() {
    let shape = Shape { rows: 30_000, partition_rows: 4_000, ..SMALL };
    for seed in 0..3 {
        let mut random = Random::new(seed);
        let (model, file) = build(shape, &mut random, |random, _| {
            let scale = 1 << random.below(12);
            (random.below(scale) as u16).to_be_bytes().to_vec()
        });
        check(&model, &file, shape, 40, &mut random);
    }
}

#[test]
fn rows_with_several_terms_some_of_them_twice() {
    let shape = Shape { row_terms: 20, segments: 2, ..SMALL };
    for seed in 0..3 {
        let mut random = Random::new(seed);
        let (model, file) = build(shape, &mut random, |random, _| {
            let length = 1 + random.below(9) as usize;
            (0..length).map(|_| b'a' + random.below(3) as u8).collect()
        });
        check(&model, &file, shape, 30, &mut random);
    }
}

#[test]
fn long_terms_with_one_beginning() {
    let shape = Shape { rows: 150, segments: 1, pages: 128, ..SMALL };
    for seed in 0..3 {
        let mut random = Random::new(seed);
        let (model, file) = build(shape, &mut random, |random, _| {
            let mut term = vec![7; [10, 300, 65_535][random.below(3) as usize]];
            let at = random.below(term.len() as u64) as usize;
            term[at] = random.below(3) as u8 + 6;
            term
        });
        assert!(model.terms().iter().any(|term| term.len() == 65_535));
        check(&model, &file, shape, 30, &mut random);
    }
}

#[test]
fn one_term_has_most_rows() {
    let shape = Shape { rows: 210_000, partition_rows: 60_000, segments: 1, ..SMALL };
    let mut random = Random::new(5);
    let (model, file) =
        build(
            shape,
            &mut random,
            |_, number| {
                if number % 21 == 0 { number.to_be_bytes().to_vec() } else { b"most".to_vec() }
            },
        );
    assert_eq!(model.count(&TermRange::equal(b"most")), 200_000);
    check(&model, &file, shape, 12, &mut random);
    // A look-up of a place reads a path of the skip table and a block, however long the list is.
    let component = open(&file);
    let mut cache = Cache::new(&file, &component, 64);
    let mut union = crate::Union::new(&component, TermRange::equal(b"most"));
    let last = *model.union(&TermRange::equal(b"most")).last().expect("there are 200,000");
    union.seek(last.partition, last.row);
    assert_eq!(cache.run(|pages| union.next(pages)), Some(last));
    assert!(cache.loads < 20, "{}", cache.loads);
}

#[test]
fn a_component_without_postings_is_whole() {
    let (model, file) = Both::new(1).finish();
    let component = open(&file);
    let mut cache = Cache::new(&file, &component, 1);
    cache.check_terms(&model);
    cache.check_range(&model, &TermRange::ALL);
    assert_eq!((component.totals().rows, component.totals().skipped), (5, 6));
    assert_eq!(component.memory_bytes(), 4);
}
