//! What the index says of keys that are here, that are not, and that were left out.

use super::*;

/// Numbers without an order, as tokens are.
fn scrambled(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

struct Made {
    index: HashIndex,
    arena: Arena,
    pool: ChunkPool,
}

impl Made {
    fn new() -> Self {
        let (mut arena, mut pool) = (Arena::new(), ChunkPool::new(usize::MAX));
        let index = HashIndex::new(&mut arena, &mut pool);
        Made { index, arena, pool }
    }

    fn create(&mut self, number: u64) -> Handle {
        entry::create(&mut self.arena, &mut self.pool, &number.to_be_bytes(), &[], &[])
    }

    fn insert(&mut self, prefix: u64, number: u64) -> Handle {
        let entry = self.create(number);
        self.index.insert(&mut self.arena, &mut self.pool, prefix, entry);
        entry
    }

    fn get(&self, prefix: u64, number: u64) -> Lookup {
        self.index.get(&self.arena, Key { prefix, bytes: &number.to_be_bytes() })
    }
}

#[test]
fn each_of_many_is_found_wherever_it_was_moved_to() {
    const COUNT: u64 = 20_000;
    let mut made = Made::new();
    let mut entries = Vec::new();
    for number in 0..COUNT {
        entries.push(made.insert(scrambled(number), number));
        if number % 3 == 0 {
            let moved = made.create(number);
            made.index.replace(&mut made.arena, scrambled(number), entries[number as usize], moved);
            entries[number as usize] = moved;
        }
        if number % 1000 == 7 {
            for known in 0..=number {
                assert_eq!(made.get(scrambled(known), known), Lookup::Found(entries[known as usize]));
            }
        }
    }
    for other in COUNT..2 * COUNT {
        assert_eq!(made.get(scrambled(other), other), Lookup::Absent);
    }
    let candidate = |number| made.index.candidate(&made.arena, scrambled(number)) == Some(entries[number as usize]);
    let candidates = (0..COUNT).filter(|&number| candidate(number)).count();
    assert!(candidates as u64 > COUNT * 9 / 10, "only {candidates} were in their first bucket");
}

#[test]
fn an_entry_takes_some_16_bytes() {
    let (mut arena, mut pool) = (Arena::new(), ChunkPool::new(usize::MAX));
    let entry = entry::create(&mut arena, &mut pool, &[], &[], &[]);
    let before = pool.used();
    let mut index = HashIndex::new(&mut arena, &mut pool);
    for number in 0..300_000 {
        index.insert(&mut arena, &mut pool, scrambled(number), entry);
    }
    let each = (pool.used() - before) / 300_000;
    assert!((12..20).contains(&each), "{each} bytes");
}

#[test]
fn keys_that_were_made_to_collide_fill_few_blocks_and_are_never_said_to_be_absent() {
    const COLLIDING: u64 = 1000;
    let mut made = Made::new();
    let prefix = |number: u64| number << 32 | 77;
    let entries: Vec<Handle> = (0..COLLIDING).map(|number| made.insert(prefix(number), number)).collect();
    let look = |made: &Made| {
        let mut found = 0;
        for number in 0..COLLIDING {
            match made.get(prefix(number), number) {
                Lookup::Found(entry) => {
                    assert_eq!(entry, entries[number as usize]);
                    found += 1;
                }
                Lookup::NotKnown => {}
                Lookup::Absent => panic!("{number} is there"),
            }
        }
        found
    };
    assert_eq!(look(&made), SLOTS * CHAIN_MAX);
    for number in COLLIDING..20 * COLLIDING {
        made.insert(scrambled(number), number);
    }
    assert_eq!(look(&made), SLOTS * CHAIN_MAX, "splits lose none, and find none that was left out");
    assert_eq!(made.get(prefix(COLLIDING), COLLIDING), Lookup::NotKnown);
    let left_out = made.create(COLLIDING - 1);
    made.index.replace(&mut made.arena, prefix(COLLIDING - 1), entries[COLLIDING as usize - 1], left_out);
    assert_eq!(made.get(prefix(COLLIDING - 1), COLLIDING - 1), Lookup::NotKnown);
}
