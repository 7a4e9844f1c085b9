//! Partitions against the standard library's ordered map, before, while and after they are indexed.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

type Model = BTreeMap<(u64, Vec<u8>), Handle>;

struct Made {
    partitions: Partitions,
    arena: Arena,
    pool: ChunkPool,
    model: Model,
}

impl Made {
    fn new() -> Self {
        let (arena, pool) = (Arena::new(), ChunkPool::new(usize::MAX));
        Made { partitions: Partitions::new(), arena, pool, model: Model::new() }
    }

    /// Puts a partition, or another entry for it, whose block is free by then.
    fn put(&mut self, prefix: u64, bytes: &[u8]) {
        let Made { partitions, arena, pool, model } = self;
        let key = Key { prefix, bytes };
        let prefetch_path = partitions.prefetch_path(arena, key);
        let place = partitions.locate_from(arena, prefetch_path, key);
        assert_eq!(place.found(), model.get(&(prefix, bytes.to_vec())).copied());
        let entry = match place.found() {
            None => {
                let entry = entry::create(arena, pool, bytes, &[], &[]);
                partitions.insert(arena, pool, &place, key, entry);
                entry
            }
            Some(found) => {
                let length = if entry::entry(arena, found).body.is_empty() { 1000 } else { 0 };
                let moved = entry::replace_body(arena, pool, found, &vec![1; length]);
                assert_ne!(moved, found);
                partitions.replace(arena, &place, key, moved);
                moved
            }
        };
        model.insert((prefix, bytes.to_vec()), entry);
    }

    /// What a request does before it reads.
    fn get(&mut self, prefix: u64, bytes: &[u8]) -> Option<Handle> {
        let Made { partitions, arena, pool, .. } = self;
        if partitions.is_to_be_indexed() {
            partitions.index_some(arena, pool);
        }
        partitions.prefetch_partition(arena, prefix);
        partitions.prefetch_entry(arena, prefix);
        partitions.get(arena, Key { prefix, bytes })
    }

    fn check(&mut self) {
        for ((prefix, bytes), entry) in self.model.clone() {
            assert_eq!(self.get(prefix, &bytes), Some(entry));
            assert_eq!(self.get(prefix, b"another"), None);
            assert_eq!(self.partitions.tree.get(&self.arena, Key { prefix, bytes: &bytes }), Some(entry));
        }
        assert_eq!(self.partitions.tree().count() as usize, self.model.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Few tokens for many keys, and few tags for many tokens.
    #[test]
    fn each_is_found_as_what_it_was_last_replaced_by(
        writes in prop::collection::vec((0u64..40, 0u64..40, 0u8..8), 2000..4000),
    ) {
        let mut made = Made::new();
        let (mut parts, mut wholes) = (0, 0);
        for (high, low, number) in writes {
            let prefix = high << 32 | low.pow(5);
            let bytes = [prefix.to_be_bytes().as_slice(), &[number]].concat();
            made.put(prefix, &bytes);
            prop_assert_eq!(made.get(prefix, &bytes), made.model.get(&(prefix, bytes)).copied());
            match made.partitions.index {
                Index::Below(..) => parts += 1,
                Index::All(_) => wholes += 1,
                Index::Nothing { .. } => {}
                Index::Never => panic!("no token has so many keys"),
            }
        }
        made.check();
        prop_assert!(parts > 0 && wholes > 0, "{parts} requests met a part of an index, {wholes} all of it");
    }
}

#[test]
fn what_is_only_filled_has_no_index() {
    let mut made = Made::new();
    for number in 0..10_000u64 {
        made.put(number.wrapping_mul(0x9e37_79b9_7f4a_7c15), &number.to_be_bytes());
        assert!(!made.partitions.is_to_be_indexed());
    }
    for number in 0..10_000u64 {
        assert!(!made.partitions.is_to_be_indexed(), "{number} lookups");
        let prefix = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bytes = number.to_be_bytes();
        assert!(made.partitions.get(&made.arena, Key { prefix, bytes: &bytes }).is_some());
    }
    made.check();
    assert!(matches!(made.partitions.index, Index::All(_)));
}

/// A memtable of no partitions is never flushed, so its index would stay.
#[test]
fn few_partitions_have_no_index() {
    let mut made = Made::new();
    for number in 0..u64::from(INDEXED_MIN) {
        let before = made.pool.used();
        for absent in 0..u64::from(2 * INDEXED_MIN) {
            assert_eq!(made.get(absent, b"absent"), None);
        }
        assert_eq!(made.pool.used(), before, "{number} partitions");
        made.put(number, &number.to_be_bytes());
    }
    made.check();
    assert!(matches!(made.partitions.index, Index::All(_)));
}

#[test]
fn an_approach_to_another_of_the_same_tag_goes_through_the_tree() {
    let mut made = Made::new();
    for number in 0..3000u64 {
        made.put(number, &number.to_be_bytes());
    }
    made.check();
    let key = Key { prefix: 5 | 1 << 32, bytes: b"one more" };
    assert!(matches!(made.partitions.prefetch_path(&made.arena, key), Descent::Entry(_)));
    made.put(key.prefix, key.bytes);
    made.check();
}

#[test]
fn more_keys_of_one_token_than_a_step_takes_are_left_to_the_tree() {
    let mut made = Made::new();
    for number in 0..3000u64 {
        made.put(if number % 2 == 0 { 7 } else { number }, &number.to_be_bytes());
    }
    made.check();
    assert!(matches!(made.partitions.index, Index::Never));
    assert!(!made.partitions.is_to_be_indexed());
}

#[test]
fn nothing_is_indexed_where_there_is_no_room() {
    let mut made = Made::new();
    for number in 0..3000u64 {
        made.put(number, &number.to_be_bytes());
    }
    made.pool.keep_back(usize::MAX - made.pool.used());
    made.check();
    assert!(made.partitions.is_to_be_indexed());
    made.pool.keep_back(0);
    made.check();
    assert!(matches!(made.partitions.index, Index::All(_)));
}
