//! A course: a schema, and changes and questions in turn, all of them made of a seed.

use std::path::PathBuf;

use cql_types::CqlType;

use crate::Random;
use crate::oracle::random::constant::constant;
use crate::oracle::random::table::{CREATE_TYPE, Kind, Table};
use crate::oracle::random::{chance, modify, select};
use crate::oracle::script::{Block, Script};

/// The second and the microsecond at which courses begin, in 2023.
const BEGIN_SECONDS: u64 = 1_700_000_000;

/// A statement in the making: its values are constants in its text, or bound.
pub struct Writer<'r> {
    pub random: &'r mut Random,
    /// The values of its markers, as `@bind` takes them.
    binds: Vec<String>,
    is_bound: bool,
    /// Whether statements of this course say timestamps.
    pub has_timestamps: bool,
    /// Whether statements of this course have IF. Then none says a timestamp or a TTL, and none asks for them: a conditional write has
    /// the server's time.
    pub is_conditional: bool,
    /// Whether there is to be a mistake in it. There is one at most, since which of two is told first says little.
    has_mistake: bool,
}

impl Writer<'_> {
    /// Whether the mistake is made here.
    pub fn errs(&mut self, one_in: usize) -> bool {
        let errs = self.has_mistake && chance(self.random, one_in);
        self.has_mistake &= !errs;
        errs
    }

    /// A value of that type for a key or a condition.
    pub fn key_value(&mut self, ty: &CqlType) -> String {
        match self.errs(12) {
            true => self.value_or_null(ty),
            false => self.value(ty),
        }
    }

    /// A value of that type for one end of a slice. It is not null: on a DELETE with such an end Cassandra stumbles.
    pub fn end(&mut self, ty: &CqlType) -> String {
        self.value(ty)
    }

    /// The same as [`Writer::key_value`] for a column of the partition key, which may not be empty.
    pub fn partition_value(&mut self, ty: &CqlType) -> String {
        if self.errs(12) { self.value(ty) } else { self.value_with_bytes(ty) }
    }

    /// A value of that type that is not empty.
    pub fn value_with_bytes(&mut self, ty: &CqlType) -> String {
        loop {
            let value = constant(self.random, ty);
            if !matches!(value.as_str(), "''" | "0x") {
                return self.put(value);
            }
        }
    }

    /// A value of that type that is there.
    pub fn value(&mut self, ty: &CqlType) -> String {
        let value = constant(self.random, ty);
        self.put(value)
    }

    /// A collection that is not empty.
    pub fn value_with_parts(&mut self, ty: &CqlType) -> String {
        loop {
            let value = constant(self.random, ty);
            if !matches!(value.as_str(), "{}" | "[]") {
                return self.put(value);
            }
        }
    }

    /// A value of that type, or null, or nothing at all.
    pub fn value_or_null(&mut self, ty: &CqlType) -> String {
        match self.random.below(16) {
            0 => self.put("null".into()),
            1 if self.is_bound => self.put("unset".into()),
            _ => self.value(ty),
        }
    }

    /// A marker for the value, or the value. A set of several is not bound: the real server keeps the order in which a client gives it.
    pub fn put(&mut self, value: String) -> String {
        let is_several = value.contains('{') && value.contains(", ");
        if !self.is_bound || is_several || chance(self.random, 3) && value != "unset" {
            return value;
        }
        self.binds.push(value);
        "?".into()
    }
}

/// The course of that seed.
pub fn generate(seed: u64) -> Script {
    let mut random = Random::new(seed);
    let table = Table::generate(&mut random, "t");
    let mut blocks = vec![block(&[], CREATE_TYPE.into()), block(&[], table.create())];
    let is_conditional = chance(&mut random, 4);
    let has_timestamps = !is_conditional && chance(&mut random, 2);
    let mut clock = Clock { micros: 0, ties: chance(&mut random, 2) };
    for _ in 0..30 + random.below(60) {
        let is_bound = chance(&mut random, 3);
        let has_mistake = chance(&mut random, 5);
        let mut writer =
            Writer { random: &mut random, binds: Vec::new(), is_bound, has_timestamps, is_conditional, has_mistake };
        let (text, page) = match writer.random.below(100) {
            0..45 => (modify::statement(&mut writer, &table), None),
            45..52 => (modify::batch(&mut writer, &table), None),
            52 if chance(writer.random, 3) => (format!("TRUNCATE {}", table.name), None),
            _ => {
                let text = select::statement(&mut writer, &table);
                let page = chance(writer.random, 4).then(|| *writer.random.choose(&[1, 2, 3, 5, 100]));
                let page = page.filter(|page| !has_odd_pages(&table, &text, *page));
                (text, page)
            }
        };
        let binds = std::mem::take(&mut writer.binds);
        let (now, timestamp) = clock.next(&mut random);
        let mut directives = vec![format!("@now {now}"), format!("@timestamp {timestamp}")];
        directives.extend(page.map(|page: u32| format!("@page {page}")));
        if !binds.is_empty() {
            directives.push(format!("@bind {}", binds.join(", ")));
        }
        blocks.push(block(&directives, format!("{text};")));
    }
    Script {
        path: PathBuf::from(format!("course-{seed}.cql")),
        about: vec![format!("-- Random statements, course {seed}.")],
        recorded: String::new(),
        blocks,
    }
}

/// Whether the real server's pages of that question are of a size that nobody asks for (COMPAT.md: pages of groups in a table without clustering
/// columns and of groups of DISTINCT partitions, pages of rows where IN names none).
fn has_odd_pages(table: &Table, text: &str, page: u32) -> bool {
    // Groups of single rows come all in a page of one.
    let is_single = page == 1 && (table.clustering().is_empty() || text.contains("SELECT DISTINCT "));
    let has_single_groups = is_single && text.contains(" GROUP BY ");
    // Partitions with static rows fill pages though nothing of them is shown, so that there are empty ones.
    let names_no_row = text.contains(" IN ()") && !table.of(|kind| kind == Kind::Static).is_empty();
    has_single_groups || names_no_row
}

fn block(directives: &[String], text: String) -> Block {
    let mut head = directives.to_vec();
    head.extend(text.lines().map(String::from));
    Block { head, ..Block::default() }
}

/// The time of a course's requests: it goes on by seconds, or hardly at all, so that writes meet at one timestamp.
struct Clock {
    micros: u64,
    ties: bool,
}

impl Clock {
    /// The second of the next request, and its timestamp.
    fn next(&mut self, random: &mut Random) -> (u64, u64) {
        let step = match self.ties {
            true if chance(random, 6) => random.below(20) * 1_000_000 + 1,
            true => usize::from(chance(random, 3)),
            false => 1 + random.below(5_000_000),
        };
        self.micros += step as u64;
        (BEGIN_SECONDS + self.micros / 1_000_000, BEGIN_SECONDS * 1_000_000 + self.micros)
    }
}
