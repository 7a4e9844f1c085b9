//! `cargo xtask bench --statements`: what statements cost that are more than a row written or read by its key: conditional insertions, counters,
//! slices, groups and JSON, on one core beside a real Cassandra.

use super::cores::{GENERATOR_CORE, SERVER_CORE};
use super::load::{self, Measurement};
use super::subject::{Warm, start_helenus};
use super::table::median;
use super::verdict::{Bound, judge};

const ROUNDS: usize = 5;
/// Helenus' CPU per operation, of Cassandra's.
const CPU_RATIO_MAX: f64 = 0.2;
/// Cassandra does the operations of so many rounds before it is measured.
const WARMING_ROUNDS: u64 = 4;
const KEYSPACE: &str =
    "CREATE KEYSPACE IF NOT EXISTS spoken WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': '1'}";

/// A statement, with what must be there for it.
struct Work {
    name: &'static str,
    table: &'static str,
    /// The rows that are there before.
    fill: Option<Load>,
    measured: Load,
    /// Whether each operation falls on a row that none before it fell on.
    is_of_new_rows: bool,
}

/// One run of the generator.
struct Load {
    statement: &'static str,
    binds: &'static [&'static str],
    expect: &'static str,
    rows: u64,
    operations: u64,
    distribution: &'static str,
}

const WORKS: [Work; 5] = [
    Work {
        name: "INSERT … IF NOT EXISTS",
        table: "CREATE TABLE IF NOT EXISTS spoken.conditional (k bigint PRIMARY KEY, v text)",
        fill: None,
        measured: Load {
            statement: "INSERT INTO spoken.conditional (k, v) VALUES (?, ?) IF NOT EXISTS",
            binds: &["{row}", "{text:60}"],
            expect: "applied",
            rows: 40_000,
            operations: 40_000,
            distribution: "seq",
        },
        is_of_new_rows: true,
    },
    Work {
        name: "counter + 1",
        table: "CREATE TABLE IF NOT EXISTS spoken.counted (k bigint PRIMARY KEY, n counter)",
        fill: None,
        measured: Load {
            statement: "UPDATE spoken.counted SET n = n + 1 WHERE k = ?",
            binds: &["{row}"],
            expect: "0",
            rows: 10_000,
            operations: 100_000,
            distribution: "uniform",
        },
        is_of_new_rows: false,
    },
    Work {
        name: "slice of 100 rows",
        table: "CREATE TABLE IF NOT EXISTS spoken.sliced (p bigint, c int, v text, PRIMARY KEY (p, c))",
        fill: Some(Load {
            statement: "INSERT INTO spoken.sliced (p, c, v) VALUES (?, ?, ?)",
            binds: &["{row/1000}", "{row%1000}", "{text:60}"],
            expect: "0",
            rows: 100_000,
            operations: 100_000,
            distribution: "seq",
        }),
        measured: Load {
            statement: "SELECT c, v FROM spoken.sliced WHERE p = ? AND c >= ? LIMIT 100",
            binds: &["{row/900}", "{row%900}"],
            expect: "100",
            rows: 90_000,
            operations: 30_000,
            distribution: "uniform",
        },
        is_of_new_rows: false,
    },
    Work {
        name: "GROUP BY over 10,000 rows",
        table: "CREATE TABLE IF NOT EXISTS spoken.grouped (p bigint, g int, c int, v bigint, PRIMARY KEY (p, g, c))",
        fill: Some(Load {
            statement: "INSERT INTO spoken.grouped (p, g, c, v) VALUES (?, ?, ?, ?)",
            binds: &["{row/10000}", "{row/100%100}", "{row%100}", "{row}"],
            expect: "0",
            rows: 100_000,
            operations: 100_000,
            distribution: "seq",
        }),
        measured: Load {
            statement: "SELECT g, count(v), sum(v), max(v) FROM spoken.grouped WHERE p = ? GROUP BY g",
            binds: &["{row}"],
            expect: "100",
            rows: 10,
            operations: 500,
            distribution: "uniform",
        },
        is_of_new_rows: false,
    },
    Work {
        name: "INSERT JSON",
        table: "CREATE TABLE IF NOT EXISTS spoken.written (k bigint PRIMARY KEY, name text, score int, tags set<text>)",
        fill: None,
        measured: Load {
            statement: "INSERT INTO spoken.written JSON ?",
            binds: &[r#"{"k": {row}, "name": "{text:40}", "score": {row%1000}, "tags": ["a{row%7}", "b{row%5}"]}"#],
            expect: "0",
            rows: 100_000,
            operations: 100_000,
            distribution: "uniform",
        },
        is_of_new_rows: false,
    },
];

/// Where a server listens, and its process.
struct Target<'a> {
    address: &'a str,
    pid: u32,
}

impl Target<'_> {
    /// Makes the tables, and fills those that must not be empty.
    fn prepare(&self) -> Result<(), String> {
        let mut fills = WORKS.iter().filter_map(|work| Some((work, work.fill.as_ref()?)));
        fills.try_for_each(|(work, fill)| self.generate(work, fill, 0).map(drop))
    }

    /// All statements, one after another.
    fn measure(&self, round: u64) -> Result<Vec<Measurement>, String> {
        let first = |work: &Work| if work.is_of_new_rows { round * work.measured.rows } else { 0 };
        WORKS.iter().map(|work| self.generate(work, &work.measured, first(work))).collect()
    }

    fn generate(&self, work: &Work, load: &Load, first: u64) -> Result<Measurement, String> {
        let (core, rows, operations) = (GENERATOR_CORE.to_string(), load.rows.to_string(), load.operations.to_string());
        let first = first.to_string();
        let mut arguments =
            vec!["statement", "--statement", load.statement, "--setup", KEYSPACE, "--setup", work.table];
        arguments.extend(load.binds.iter().flat_map(|bind| ["--bind", bind]));
        arguments.extend(["--expect", load.expect, "--rows", &rows, "--first", &first, "--operations", &operations]);
        arguments.extend(["--distribution", load.distribution, "--depth", "32", "--cpu", &core]);
        load::generate(self.address, self.pid, &arguments)
    }
}

/// Runs it; an error if a statement costs more than a fifth of Cassandra's CPU.
pub fn run(rounds: Option<usize>, has_cassandra: bool) -> Result<(), String> {
    let cassandra = match has_cassandra {
        true => Some(Warm::start(|started| {
            let target = Target { address: started.address(), pid: started.pid() };
            target.prepare()?;
            (0..WARMING_ROUNDS).try_for_each(|round| target.measure(round).map(drop))
        })?),
        false => None,
    };
    println!("the server under test has core {SERVER_CORE}");
    let (mut ours, mut theirs) = (vec![Vec::new(); WORKS.len()], vec![Vec::new(); WORKS.len()]);
    for round in 1..=rounds.unwrap_or(ROUNDS) {
        let server = start_helenus("periodic")?;
        let target = Target { address: &server.address, pid: server.child.id() };
        target.prepare()?;
        // Round 0 warms.
        target.measure(0)?;
        keep(&mut ours, "helenus", round, target.measure(1)?);
        drop(server);
        if let Some(cassandra) = &cassandra {
            let target = Target { address: cassandra.address(), pid: cassandra.pid() };
            let measured = cassandra.wake(|| target.measure(WARMING_ROUNDS + round as u64))?;
            keep(&mut theirs, "cassandra", round, measured);
        }
    }
    println!(
        "\n| statement | Helenus µs/op | Cassandra µs/op | Cassandra ÷ Helenus | Helenus ops/s | Cassandra ops/s |"
    );
    println!("|---|---|---|---|---|---|");
    let mut bounds = Vec::new();
    for ((work, ours), theirs) in WORKS.iter().zip(&ours).zip(&theirs) {
        let ours = median(ours);
        if theirs.is_empty() {
            println!("| {} | {:.2} | – | – | {:.0} | – |", work.name, ours.server_micros, ours.per_second);
            continue;
        }
        let theirs = median(theirs);
        println!(
            "| {} | {:.2} | {:.2} | {:.1} | {:.0} | {:.0} |",
            work.name,
            ours.server_micros,
            theirs.server_micros,
            theirs.server_micros / ours.server_micros,
            ours.per_second,
            theirs.per_second
        );
        bounds.push(Bound::at_most(work.name, ours.server_micros / theirs.server_micros, CPU_RATIO_MAX));
    }
    judge(&bounds)
}

/// Tells a round's figures, and keeps them.
fn keep(samples: &mut [Vec<Measurement>], name: &str, round: usize, measured: Vec<Measurement>) {
    for ((work, samples), measurement) in WORKS.iter().zip(samples).zip(measured) {
        println!("round {round}: {name:<10} {:<26} {measurement}", work.name);
        samples.push(measurement);
    }
}
