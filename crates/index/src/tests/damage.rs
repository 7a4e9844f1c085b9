//! Damage: a flipped bit of any byte is an error or changes no answer, and bytes that pass for whole neither panic nor go on for ever.

use planted::Planted;
use sstable::{LookupError, PAGE_LENGTH, Pages};

use super::model::{Both, Random, identity, open};
use crate::{Component, Count, OpenError, Opened, Posting, TermRange, TermWalk, Union};

/// Long lists, single postings and merged lists, in two segments and a few pages.
fn sample() -> Vec<u8> {
    let mut both = Both::new(1_000);
    for number in 0..3_000_u64 {
        let posting = Posting { partition: number / 3 * 50, row: number % 3 * 10, token_head: number as u32 / 3 };
        both.add(if number % 2 == 0 { b"even" } else { b"odd" }, posting);
        both.add(&(number / 2).to_be_bytes(), posting);
        if number == 1_000 {
            both.end_segment();
        }
    }
    both.finish().1
}

/// All that a reader does, until it ends or fails.
fn read(component: &Component, pages: &[u8]) -> Result<(Vec<Posting>, u64, u64), LookupError> {
    let mut all = Vec::new();
    let equal = TermRange::equal(b"odd");
    for range in [TermRange::ALL, equal.clone(), TermRange::prefix(&[0, 0, 0, 0, 0, 0, 2])] {
        let mut union = Union::new(component, range);
        while let Some(posting) = union.next(pages)? {
            all.push(posting);
        }
    }
    let mut union = Union::new(component, equal.clone());
    union.seek(20_000, 0);
    all.extend(union.next(pages)?);
    union.seek_token_head(900);
    all.extend(union.next(pages)?);
    let mut terms = 0;
    let mut walk = TermWalk::new(component, TermRange::ALL);
    while walk.step(pages, |_, _| terms += 1)? {}
    Ok((all, Count::new(component, equal).run(pages)?, terms))
}

#[test]
fn a_flipped_bit_of_any_byte_is_an_error() {
    let file = sample();
    let whole = open(&file);
    let mut damaged = file.clone();
    for at in 0..file.len() {
        let bit = 1 << (at % 8);
        damaged[at] ^= bit;
        let page = at / PAGE_LENGTH;
        let bytes = damaged[..].page(page as u32).expect("the file is in memory");
        let is_found = whole.check_page(page as u32, bytes).is_err()
            || !matches!(
                Component::open(&damaged, file.len() as u64, &identity(), Planted::NONE),
                Ok(Opened::Whole(_))
            );
        assert!(is_found, "byte {at}");
        damaged[at] ^= bit;
    }
    assert_eq!(damaged, file);
}

#[test]
fn what_no_checksum_finds_neither_panics_nor_goes_on() {
    let file = sample();
    let component = open(&file);
    let (all, _, terms) = read(&component, &file).expect("it is whole");
    let mut random = Random::new(1);
    for at in (0..file.len()).step_by(29) {
        let mut damaged = file.clone();
        damaged[at] = random.below(256) as u8;
        if let Ok((found, _, walked)) = read(&component, &damaged) {
            // Damage can name other nodes and lists, each of which is finite.
            assert!(found.len() <= 40 * all.len() && walked <= 40 * terms, "byte {at}: {} {walked}", found.len());
        }
    }
}

#[test]
fn a_file_that_ends_early_is_an_error() {
    let file = sample();
    for length in (0..file.len()).step_by(7).chain(file.len() - 200..file.len()) {
        let opened = Component::open(&file[..length], length as u64, &identity(), Planted::NONE);
        assert!(!matches!(opened, Ok(Opened::Whole(_))), "{length}");
    }
    // Pages beyond the end are an error too, if the trailer of a longer file is believed.
    assert!(matches!(read(&open(&file), &file[..100]), Err(LookupError::Corrupt(_))));
    assert!(open(&file).check_page(1 << 20, &[]).is_err());
    assert!(file[..].page(1 << 20).expect("is empty").is_empty());
}

#[test]
fn a_newer_version_is_refused_in_one_sentence() {
    let mut file = sample();
    let trailer = file.windows(7).rposition(|bytes| bytes == b"HELENIX").expect("it has a trailer");
    file[trailer + 7] = 2;
    let error = Component::open(&file, file.len() as u64, &identity(), Planted::NONE).expect_err("it is newer");
    assert_eq!(error, OpenError::Newer { version: 2, known: 1 });
    assert_eq!(error.to_string(), "version 2 was written by a newer Helenus; this one reads up to 1");
}
