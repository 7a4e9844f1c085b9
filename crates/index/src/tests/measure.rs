//! A measurement by hand: bytes of a posting, and the CPU time of a collected term, of the segment's writing and of a look-up, with a million of terms.
//!
//! `cargo test --release -p helenus-index -- --ignored --nocapture measure`

use planted::Planted;

use super::model::{Random, identity, open};
use crate::{Builder, Component, Count, Posting, TermRange, Totals, Union};

const ROWS: u64 = 1_000_000;

/// Nanoseconds that this thread has run, which others on the machine do not make longer.
fn ran() -> u64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    times.split(' ').next().and_then(|time| time.parse().ok()).expect("a number")
}

fn timed<T>(each: u64, what: &str, call: impl FnOnce() -> T) -> T {
    let began = ran();
    let value = call();
    println!("{what}: {} ns each", (ran() - began) / each);
    value
}

fn measure(name: &str, mut term: impl FnMut(u64, &mut Vec<u8>)) {
    let (mut builder, mut file, mut bytes) = (Builder::new(Planted::NONE), Vec::new(), Vec::new());
    let mut writing = 0;
    let began = ran();
    for row in 0..ROWS {
        bytes.clear();
        term(row, &mut bytes);
        builder.add(&bytes, Posting { partition: row * 130 + row % 50, row: 24, token_head: (row * 4294) as u32 });
        if builder.memory_bytes() > 32 << 20 {
            let began = ran();
            while !builder.end_segment(10_000, &mut file) {}
            writing += ran() - began;
        }
    }
    println!("{name}: collected, with its making: {} ns each", (ran() - began - writing) / ROWS);
    let began = ran();
    while !builder.end_segment(10_000, &mut file) {}
    println!("{name}: written: {} ns each", (writing + ran() - began) / ROWS);
    builder.finish(identity(), Totals::default(), &mut file);
    let component = open(&file);
    let bytes_each = file.len() as f64 / ROWS as f64;
    println!("{name}: {bytes_each:.1} bytes a posting, {} segments", component.segments());
    read(name, &component, &file, term);
}

fn read(name: &str, component: &Component, file: &[u8], mut term: impl FnMut(u64, &mut Vec<u8>)) {
    const LOOKUPS: u64 = 20_000;
    let mut random = Random::new(1);
    let mut asked = Vec::new();
    let mut found = 0;
    timed(LOOKUPS, &format!("{name}: look-up of one term"), || {
        for _ in 0..LOOKUPS {
            asked.clear();
            term(random.below(ROWS), &mut asked);
            let mut union = Union::new(component, TermRange::equal(&asked));
            while union.next(file).expect("it is whole").is_some() {
                found += 1;
            }
        }
    });
    assert!(found >= LOOKUPS);
    timed(LOOKUPS, &format!("{name}: count of a range"), || {
        for _ in 0..LOOKUPS {
            asked.clear();
            term(random.below(ROWS), &mut asked);
            let range = TermRange { from: std::ops::Bound::Excluded(asked.clone()), to: std::ops::Bound::Unbounded };
            found += Count::new(component, range).run(file).expect("it is whole");
        }
    });
    timed(ROWS, &format!("{name}: posting of all"), || {
        let mut union = Union::new(component, TermRange::ALL);
        let mut all = 0;
        while union.next(file).expect("it is whole").is_some() {
            all += 1;
        }
        assert_eq!(all, ROWS);
    });
}

#[test]
#[ignore = "a measurement by hand"]
fn measure_a_million_terms() {
    let scattered = |row: u64| row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    measure("int, unique", |row, out| {
        out.push(1);
        out.extend_from_slice(&((scattered(row) >> 32) as u32).to_be_bytes());
    });
    measure("text, unique", |row, out| {
        out.extend_from_slice(format!("user-{:016x}@example.com", scattered(row)).as_bytes());
    });
    measure("int, 1,000 terms", |row, out| {
        out.push(1);
        out.extend_from_slice(&((scattered(row) >> 32) as u32 % 1_000).to_be_bytes());
    });
}
