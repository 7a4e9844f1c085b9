//! Filters as long as Cassandra's, which let through what they should.

use super::*;

#[test]
fn sizes_are_cassandras() {
    for (chance, sizes_of_it) in [
        (0.01, (5, 10)),
        (0.1, (3, 5)),
        (0.001, (7, 15)),
        (0.0001, (10, 20)),
        (6.71e-5, (14, 20)),
        (0.5, (2, 1)),
        (1.0, (2, 1)),
    ] {
        assert_eq!(sizes(chance), sizes_of_it, "{chance}");
    }
}

fn key(number: u32) -> KeyHash {
    KeyHash::of(&number.to_be_bytes())
}

/// A filter of the first `count` keys.
fn filter(count: u32, chance: f64) -> Filter {
    let mut builder = FilterBuilder::new(u64::from(count), chance);
    (0..count).for_each(|number| builder.add(key(number)));
    builder.finish()
}

#[test]
fn what_was_added_is_found_and_others_are_seldom() {
    let filter = filter(100_000, 0.01);
    assert!((0..100_000).all(|number| filter.may_contain(key(number))));
    let let_through = (100_000..200_000).filter(|&number| filter.may_contain(key(number))).count();
    assert!((500..1_500).contains(&let_through), "{let_through} of 100,000, where 1 % is expected");
}

#[test]
fn bytes_are_read_back_in_either_order_of_bits() {
    let filter = filter(1_000, 0.1);
    let mut bytes = Vec::new();
    filter.encode(&mut bytes);
    for version in [Version::DA, Version::OA, Version::NB, Version::NA] {
        assert_eq!(Filter::decode(&bytes, version).as_ref(), Ok(&filter), "{version}");
    }
    for word in bytes[8..].as_chunks_mut::<WORD_LENGTH>().0 {
        word.reverse();
    }
    let version = Version::parse("me").expect("a version");
    assert_eq!(Filter::decode(&bytes, version).as_ref(), Ok(&filter));
}

#[test]
fn a_filter_of_several_pieces_comes_in_steps_of_any_length() {
    let filter = filter(300_000, 0.01);
    assert!(filter.pieces().count() > 1, "else this shows nothing");
    assert!((0..300_000).all(|number| filter.may_contain(key(number))));
    let mut bytes = filter.head().to_vec();
    filter.pieces().for_each(|piece| bytes.extend_from_slice(piece));
    let mut old = bytes.clone();
    old[HEAD_LENGTH..].as_chunks_mut::<WORD_LENGTH>().0.iter_mut().for_each(|word| word.reverse());
    for (version, bytes) in [(Version::DA, &bytes), (Version::parse("me").expect("a version"), &old)] {
        for step in [3, 4096, PIECE_BYTES, PIECE_BYTES + 5, bytes.len()] {
            let decode = |bytes: &[u8], length: usize| {
                let mut decoder = FilterDecoder::new(length as u64, version);
                bytes.chunks(step).try_for_each(|piece| decoder.push(piece))?;
                decoder.finish()
            };
            assert_eq!(decode(bytes, bytes.len()).as_ref(), Ok(&filter), "{version} in steps of {step}");
            assert!(decode(&bytes[..bytes.len() - 1], bytes.len()).is_err(), "{version} in steps of {step}");
            assert!(decode(&[bytes, &[0][..]].concat(), bytes.len()).is_err(), "{version} in steps of {step}");
        }
    }
}

#[test]
fn bytes_that_are_no_filter_are_refused() {
    let mut bytes = Vec::new();
    filter(100, 0.1).encode(&mut bytes);
    for length in 0..bytes.len() {
        assert!(Filter::decode(&bytes[..length], Version::DA).is_err(), "{length}");
    }
    for (at, byte) in [(0, 1), (3, 0), (3, 200), (4, 1), (7, 0)] {
        let mut other = bytes.clone();
        other[at] = byte;
        assert!(Filter::decode(&other, Version::DA).is_err(), "{at}: {byte}");
    }
}
