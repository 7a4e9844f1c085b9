//! Witnesses of planted bugs: each fails where its bug is planted.

use planted::{Bug, Planted};

use super::model::{Both, identity, open};
use super::planted_by_test;
use super::reading::Cache;
use crate::{Builder, Component, Identity, OpenError, Posting, TermRange, Totals};

fn posting(number: u64) -> Posting {
    Posting { partition: number * 100, row: 20, token_head: number as u32 }
}

#[test]
fn every_posting_is_in_some_segment() {
    let mut both = Both::new(100);
    for number in 0..3_000_u64 {
        both.add(&number.to_be_bytes(), posting(number));
        if number % 1_000 == 999 {
            both.end_segment();
        }
    }
    let (model, file) = both.finish();
    let component = open(&file);
    Cache::new(&file, &component, 8).check_range(&model, &TermRange::ALL);
}

#[test]
fn a_range_over_whole_nodes_has_every_posting() {
    let mut both = Both::new(100);
    for number in 0..10_000_u64 {
        both.add(&number.to_be_bytes(), posting(number));
    }
    let (model, file) = both.finish();
    let component = open(&file);
    Cache::new(&file, &component, 8).check_range(&model, &TermRange::ALL);
}

#[test]
fn a_component_of_another_file_is_refused() {
    let mut file = Vec::new();
    Builder::new(Planted::NONE).finish(identity(), Totals::default(), &mut file);
    let refused = |expected: Identity| {
        let opened = Component::open(&file, file.len() as u64, &expected, planted_by_test());
        match opened.expect_err("it is another's") {
            OpenError::Other { what, .. } => what,
            error => panic!("{error}"),
        }
    };
    assert_eq!(refused(Identity { generation: "2".to_owned(), ..identity() }), "generation");
    assert_eq!(refused(Identity { data_length: 5, ..identity() }), "length of Data.db");
    assert_eq!(refused(Identity { table: [9; 16], ..identity() }), "table");
    assert_eq!(refused(Identity { index: [9; 16], ..identity() }), "index");
    assert_eq!(refused(Identity { definition: 9, ..identity() }), "definition");
}

/// The sentence is what a person reads in the log.
#[test]
fn errors_are_sentences() {
    let mut file = Vec::new();
    Builder::new(Planted::NONE).finish(identity(), Totals::default(), &mut file);
    let other = Identity { definition: 9, ..identity() };
    let error = Component::open(&file, file.len() as u64, &other, Planted::NONE).expect_err("it is another's");
    let sentence = "made for another definition: 0000000000000003, expected 0000000000000009";
    assert_eq!(error.to_string(), sentence);
    assert!(!Planted::NONE.is(Bug::ComponentOfAnotherGeneration));
}
