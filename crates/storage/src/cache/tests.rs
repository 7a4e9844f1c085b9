//! Bodies read as memtables do; the cache keeps within its bounds, and what is hot in it.

mod bodies;

use std::rc::Rc;

use mutation::ReadCommand;
use schema::{Column, ColumnId, ColumnKind, Table, TableId, TableOptions};
use topology::{Token, token_of};

use super::lookup::{Found, Wanted};
use super::store::{CACHE_BYTES_MIN, CacheLimits, RowCache};
use super::{Body, BodyBuilder, Marks};
use crate::sink::DataSink;

const TABLE: TableId = TableId([7; 16]);
const MARKS: u64 = 3;

/// xorshift64*: the same from the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit
    }
}

fn table() -> Rc<Table> {
    let columns = vec![
        Column::new(ColumnKind::PartitionKey, ColumnId(0), "key", cql_types::CqlType::Blob),
        Column::new(ColumnKind::Regular, ColumnId(1), "value", cql_types::CqlType::Blob),
    ];
    Rc::new(Table::new(TABLE, "ks", "t", columns, TableOptions::default()))
}

fn body_of(table: &Rc<Table>, key: &[u8], bytes: usize) -> Body {
    let mut row = Vec::new();
    let mut builder = mutation::RowBuilder::begin(&row);
    builder.liveness(mutation::Liveness { timestamp: 1, expiry: None });
    let value = vec![7; bytes];
    let cell = mutation::CellRef {
        column: ColumnId(1),
        timestamp: 1,
        expiry: None,
        tombstone: None,
        path: &[],
        value: &value,
        is_counter: false,
    };
    builder.cell(&mut row, &cell);
    builder.finish(&mut row);
    let mut body = BodyBuilder::new(table, key, &[]);
    body.partition(token_of(key), key, None, None);
    body.row(mutation::ClusteringRef::EMPTY, mutation::RowRef::trusted(&row));
    body.finish().expect("a short key")
}

/// A cache that a test reads through.
struct Tried {
    cache: RowCache,
    marks: Marks,
    table: Rc<Table>,
    bytes_max: usize,
}

impl Tried {
    fn new(bytes_max: usize) -> Self {
        let cache = RowCache::new(CacheLimits { bytes_max, shared_bytes_max: usize::MAX }, 99);
        Tried { cache, marks: Marks::new(MARKS, true), table: table(), bytes_max }
    }

    fn has(&self, key: &[u8]) -> bool {
        let command = ReadCommand::partition(TABLE, token_of(key), key, 1);
        match self.cache.find(&self.marks, &command) {
            Found::Nothing => false,
            Found::Absent(_) => panic!("no such entry was put in"),
            Found::Body(body, hit) => {
                assert_eq!(body.key(), key);
                self.cache.hit(hit);
                true
            }
        }
    }

    /// Reads a key, and fills if it is not there. Gives whether it was.
    fn read(&mut self, key: &[u8], bytes: usize) -> bool {
        let is_hit = self.has(key);
        if !is_hit {
            let body = body_of(&self.table, key, bytes);
            self.cache.keep(&self.marks, token_of(key), &Wanted::Whole, body, None, 0);
            assert!(self.cache.bytes() <= self.bytes_max, "{} of {}", self.cache.bytes(), self.bytes_max);
        }
        is_hit
    }
}

fn key_of(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// The share of hits, in percent, of reads of a hot set, with `strangers` reads of keys that never come again beside each.
fn hit_rate(hot_keys: u64, strangers: u64) -> f64 {
    let mut tried = Tried::new(4 << 20);
    let (mut random, mut stranger) = (Random(5), 1 << 40);
    let (mut hits, mut reads) = (0u64, 0u64);
    for round in 0..200_000u64 {
        // Some of the hot keys are hotter than others.
        let key = random.below(hot_keys).min(random.below(hot_keys));
        let is_hit = tried.read(&key_of(key), 300);
        if round >= 100_000 {
            (hits, reads) = (hits + u64::from(is_hit), reads + 1);
            for _ in 0..strangers {
                stranger += 1;
                tried.read(&key_of(stranger), 300);
            }
        }
    }
    hits as f64 * 100.0 / reads as f64
}

#[test]
fn keys_that_are_read_once_leave_the_hot_ones_alone() {
    // Hot sets that fill half of the memory, most of it, and more than it.
    for hot_keys in [4_000, 7_000, 12_000] {
        let (alone, beside_one, beside_ten) = (hit_rate(hot_keys, 0), hit_rate(hot_keys, 1), hit_rate(hot_keys, 10));
        println!("{hot_keys} hot keys: {alone:.1} % alone, {beside_one:.1} % and {beside_ten:.1} % beside strangers");
        assert!(beside_one >= alone - 5.0, "{hot_keys} hot keys: {alone} alone, {beside_one} beside as many strangers");
        assert!(beside_ten >= alone - 5.0, "{hot_keys} hot keys: {alone} alone, {beside_ten} beside ten times as many");
    }
}

#[test]
fn a_hot_set_that_fits_is_hit() {
    let rate = hit_rate(4_000, 0);
    assert!(rate > 99.0, "{rate}");
}

#[test]
fn memory_is_bounded_whatever_is_put_in() {
    let mut random = Random(11);
    for bytes_max in [CACHE_BYTES_MIN, 2 << 20, 8 << 20] {
        let mut tried = Tried::new(bytes_max);
        for _ in 0..20_000 {
            let long = if random.below(20) == 0 { 60_000 } else { 200 };
            let bytes = random.below(long) as usize;
            tried.read(&key_of(random.below(15_000)), bytes);
        }
        let counters = tried.cache.counters();
        assert!(counters.entries > 10 && counters.evictions > 1000, "{counters:?}");
        assert_eq!(counters.bytes, tried.cache.bytes() as u64);
    }
}

#[test]
fn memtables_come_first() {
    let limits = CacheLimits { bytes_max: 4 << 20, shared_bytes_max: 6 << 20 };
    let mut cache = RowCache::new(limits, 1);
    let (marks, table) = (Marks::new(MARKS, true), table());
    let fill = |cache: &mut RowCache, used: usize| {
        for number in 0..20_000 {
            let key = key_of(number);
            cache.keep(&marks, token_of(&key), &Wanted::Whole, body_of(&table, &key, 300), None, used);
        }
    };
    fill(&mut cache, 0);
    assert!(cache.bytes() > 3 << 20 && cache.bytes() <= 4 << 20);
    assert!(!cache.is_to_shrink(2 << 20));
    let used = 4 << 20;
    assert!(cache.is_to_shrink(used));
    let mut steps = 0;
    while cache.shrink(used) {
        steps += 1;
    }
    assert!(steps > 10, "in steps");
    assert!(cache.bytes() <= 2 << 20);
    fill(&mut cache, used);
    assert!(cache.bytes() <= 2 << 20);
    // Nothing is left for the cache.
    while cache.shrink(6 << 20) {}
    assert_eq!(cache.counters().entries, 0);
    assert!(!cache.is_to_shrink(6 << 20), "there is nothing more to give");
}

#[test]
fn too_little_is_none() {
    for bytes_max in [0, CACHE_BYTES_MIN - 1] {
        let mut tried = Tried::new(bytes_max);
        assert!(!tried.cache.is_on());
        assert!(!tried.read(&key_of(1), 10) && !tried.read(&key_of(1), 10));
        assert_eq!(tried.cache.counters().bytes, 0);
    }
}

#[test]
fn keys_of_one_hash_are_few_and_told_apart() {
    let mut tried = Tried::new(1 << 20);
    let commands = |key| ReadCommand::partition(TABLE, Token(5), key, 1);
    let keys: Vec<[u8; 8]> = (0..100).map(key_of).collect();
    for key in &keys {
        let mut builder = BodyBuilder::new(&tried.table, key, &[]);
        builder.partition(Token(5), key, None, None);
        let body = builder.finish().expect("a short key");
        tried.cache.keep(&tried.marks, Token(5), &Wanted::Whole, body, None, 0);
    }
    let found = keys.iter().filter(|key| match tried.cache.find(&tried.marks, &commands(&key[..])) {
        Found::Body(body, _) => body.key() == &key[..],
        _ => false,
    });
    assert_eq!(found.count(), 8);
}

#[test]
fn what_does_not_count_is_not_found() {
    let mut tried = Tried::new(1 << 20);
    let key = key_of(1);
    tried.read(&key, 10);
    assert!(tried.has(&key));
    // There is no tombstone in it.
    tried.marks.compacted(true);
    assert!(tried.has(&key));
    tried.marks.flushed(0);
    assert!(tried.has(&key), "the memtable had nothing of it");
    tried.marks.all_changed();
    assert!(!tried.has(&key));
    assert!(!tried.read(&key, 10) && tried.has(&key));
    // A table that is another under the same id.
    tried.marks.table += 1;
    assert!(!tried.has(&key));
}

#[test]
fn an_entry_filled_beside_a_flush_ends_with_it() {
    let mut tried = Tried::new(1 << 20);
    let key = key_of(1);
    let body = body_of(&tried.table, &key, 10);
    tried.cache.keep(&tried.marks, token_of(&key), &Wanted::Whole, body, Some(7), 0);
    assert!(tried.has(&key));
    tried.marks.flushed(6);
    assert!(tried.has(&key));
    tried.marks.flushed(7);
    assert!(!tried.has(&key));
}
