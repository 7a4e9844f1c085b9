//! The tree against the standard library's ordered map.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn collect_forward(tree: &Tree, arena: &Arena, from: Cursor) -> Vec<Vec<u8>> {
    let _ = tree;
    let mut keys = Vec::new();
    let mut cursor = from;
    while let Some((_, handle, next)) = cursor.next(arena) {
        keys.push(entry::key(arena, handle).to_vec());
        cursor = next;
    }
    keys
}

fn collect_backward(arena: &Arena, from: Cursor) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut cursor = from;
    while let Some((_, handle, next)) = cursor.previous(arena) {
        keys.push(entry::key(arena, handle).to_vec());
        cursor = next;
    }
    keys
}

fn insert_all(keys: impl IntoIterator<Item = Vec<u8>>) -> (Tree, Arena, BTreeMap<Vec<u8>, Handle>) {
    let mut pool = ChunkPool::new(usize::MAX);
    let (mut tree, mut arena, mut model) = (Tree::EMPTY, Arena::new(), BTreeMap::new());
    for bytes in keys {
        let key = Key::of_comparable(&bytes);
        let place = tree.locate(&arena, key);
        assert_eq!(place.found, model.get(&bytes).copied());
        assert_eq!(tree.get(&arena, key), place.found);
        if place.found.is_none() {
            let handle = entry::create(&mut arena, &mut pool, &bytes, &[], &[]);
            tree.insert(&mut arena, &mut pool, &place, key, handle);
            model.insert(bytes, handle);
        }
    }
    (tree, arena, model)
}

fn check(tree: &Tree, arena: &Arena, model: &BTreeMap<Vec<u8>, Handle>, probes: &[Vec<u8>]) {
    let all: Vec<Vec<u8>> = model.keys().cloned().collect();
    assert_eq!(tree.count() as usize, all.len());
    assert_eq!(collect_forward(tree, arena, tree.first(arena)), all);
    assert_eq!(collect_backward(arena, tree.end(arena)), all.iter().rev().cloned().collect::<Vec<_>>());
    for probe in probes {
        let cursor = tree.seek(arena, Key::of_comparable(probe));
        let above: Vec<Vec<u8>> = model.range(probe.clone()..).map(|(key, _)| key.clone()).collect();
        let below: Vec<Vec<u8>> = model.range(..probe.clone()).rev().map(|(key, _)| key.clone()).collect();
        assert_eq!(collect_forward(tree, arena, cursor), above);
        assert_eq!(collect_backward(arena, cursor), below);
    }
}

#[test]
fn an_approach_outlives_what_replaces_an_entry() {
    let (tree, mut arena, model) = insert_all((0..100u8).map(|number| vec![number; 3]));
    let mut pool = ChunkPool::new(usize::MAX);
    let bytes = [7; 3];
    let key = Key::of_comparable(&bytes);
    let prefetch_path = tree.prefetch_path(&arena, key);
    let other = entry::create(&mut arena, &mut pool, &bytes, &[], &[1]);
    tree.locate(&arena, key).set(&mut arena, other);
    assert_ne!(Some(other), model.get(&bytes[..]).copied());
    assert_eq!(tree.locate_from(&arena, prefetch_path, key).found, Some(other));
}

#[test]
#[should_panic(expected = "left alone until the arrival")]
fn an_approach_ends_with_an_insertion() {
    let (mut tree, mut arena, _) = insert_all((0..100u8).map(|number| vec![number; 3]));
    let mut pool = ChunkPool::new(usize::MAX);
    let (sought, new) = (Key::of_comparable(&[7; 3]), Key::of_comparable(&[7; 4]));
    let prefetch_path = tree.prefetch_path(&arena, sought);
    let handle = entry::create(&mut arena, &mut pool, new.bytes, &[], &[]);
    let place = tree.locate(&arena, new);
    tree.insert(&mut arena, &mut pool, &place, new, handle);
    tree.locate_from(&arena, prefetch_path, sought);
}

proptest! {
    /// Short alphabets make shared prefixes, and so ties, common.
    #[test]
    fn behaves_as_an_ordered_map(
        keys in prop::collection::vec(prop::collection::vec(0u8..3, 0..14), 0..700),
        probes in prop::collection::vec(prop::collection::vec(0u8..3, 0..14), 8),
    ) {
        let (tree, arena, model) = insert_all(keys);
        check(&tree, &arena, &model, &probes);
    }
}

#[test]
fn many_keys_in_every_order() {
    let count = 40_000u64;
    let key = |number: u64| [b"prefix".as_slice(), &number.to_be_bytes()].concat();
    let probes = [key(0), key(17), key(count / 2), key(count), vec![]];
    let orders: [Box<dyn Fn(u64) -> u64>; 3] = [
        Box::new(|index| index),
        Box::new(move |index| count - 1 - index),
        Box::new(move |index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15) % count),
    ];
    for order in orders {
        let (tree, arena, model) = insert_all((0..count).map(|index| key(order(index))));
        check(&tree, &arena, &model, &probes[..1]);
        for probe in &probes {
            let found = tree.seek(&arena, Key::of_comparable(probe)).next(&arena).map(|(_, handle, _)| handle);
            assert_eq!(found, model.range(probe.clone()..).next().map(|(_, handle)| *handle));
        }
    }
}
