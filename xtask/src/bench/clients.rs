//! `cargo xtask bench --clients [1,10,100]`: so many clients that each do one request after another, all begun at once, against Helenus, Cassandra
//! and MariaDB in turn, on one core. The published comparison of Cassandra with MySQL did that, with this table.

use super::load::{self, Measurement};
use super::subject::{Warm, start_helenus};
use super::table::median;
use super::verdict::{Bound, judge};
use super::{GENERATOR_CORE, SERVER_CORE};
use crate::peers::cassandra::Purpose;
use crate::peers::mariadb::{Durability, MariaDb};

const LEVELS: [u32; 3] = [1, 10, 100];
const ROUNDS: usize = 3;
/// Rows of the table.
const KEYS: u64 = 100_000;
/// Requests of one run, and the most of one client: runs are to take some seconds.
const REQUESTS: u64 = 100_000;
const REQUESTS_OF_CLIENT_MAX: u64 = 30_000;
/// The same of writes that wait for the disk.
const SYNCED_WRITES: u64 = 20_000;
const SYNCED_WRITES_OF_CLIENT_MAX: u64 = 3_000;
/// Clients that fill the table, each with its part of the rows.
const FILLING_CLIENTS: u32 = 100;
/// How often Cassandra does each load before it is measured.
const WARMING_ROUNDS: usize = 4;
const MARIADB_PORT: u16 = 9152;
const KEYSPACE: &str =
    "CREATE KEYSPACE IF NOT EXISTS clients WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': '1'}";
const TABLE: &str = "CREATE TABLE IF NOT EXISTS clients.pages (name text PRIMARY KEY, value text, timeuuid bigint)";
const WRITE: &str = "INSERT INTO clients.pages (name, value, timeuuid) VALUES (?, ?, ?)";
const READ: &str = "SELECT value, timeuuid FROM clients.pages WHERE name = ?";

/// What is run.
pub struct Settings<'a> {
    /// Numbers of clients, comma by comma, if others than 1, 10 and 100.
    pub levels: Option<&'a str>,
    /// Rounds, if others than three.
    pub rounds: Option<usize>,
    /// Whether writes are on the disk before they are acknowledged.
    pub is_synced: bool,
    /// Whether Cassandra takes its turn.
    pub has_cassandra: bool,
}

/// What each request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Write,
    Read,
    /// Reads of one row.
    ReadHot,
}

const WORKS: [Work; 3] = [Work::Write, Work::Read, Work::ReadHot];

impl Work {
    fn name(self) -> &'static str {
        match self {
            Work::Write => "write",
            Work::Read => "read",
            Work::ReadHot => "read of one row",
        }
    }
}

/// Who takes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Helenus,
    Cassandra,
    MariaDb,
}

impl System {
    fn name(self) -> &'static str {
        match self {
            System::Helenus => "Helenus",
            System::Cassandra => "Cassandra",
            System::MariaDb => "MariaDB",
        }
    }
}

/// Where a server listens, and its process.
struct Target<'a> {
    system: System,
    address: &'a str,
    pid: u32,
    is_synced: bool,
}

impl Target<'_> {
    /// Makes the table and writes each row once.
    fn fill(&self) -> Result<(), String> {
        self.generate(Work::Write, FILLING_CLIENTS, KEYS / u64::from(FILLING_CLIENTS)).map(drop)
    }

    /// Each load, with each number of clients.
    fn measure(&self, levels: &[u32]) -> Result<Vec<Sample>, String> {
        let mut samples = Vec::new();
        for &clients in levels {
            for work in WORKS {
                let measurement = self.generate(work, clients, self.requests_of_each(work, clients))?;
                println!("{:<10} {clients:>4} clients, {:<16} {measurement}", self.system.name(), work.name());
                samples.push(Sample { clients, work, system: self.system, measurement });
            }
        }
        Ok(samples)
    }

    fn requests_of_each(&self, work: Work, clients: u32) -> u64 {
        requests_of_each(clients, self.is_synced && work == Work::Write)
    }

    fn generate(&self, work: Work, clients: u32, requests: u64) -> Result<Measurement, String> {
        match self.system {
            System::Helenus | System::Cassandra => self.generate_cql(work, u64::from(clients), requests),
            System::MariaDb => self.generate_sql(work, clients, requests),
        }
    }

    fn generate_cql(&self, work: Work, clients: u64, requests: u64) -> Result<Measurement, String> {
        let (connections, operations, keys) = (clients.to_string(), (clients * requests).to_string(), KEYS.to_string());
        let core = GENERATOR_CORE.to_string();
        let mut arguments = vec!["statement", "--setup", KEYSPACE, "--setup", TABLE, "--consistency", "ONE"];
        arguments.extend(match work {
            Work::Write => ["--statement", WRITE, "--expect", "0", "--distribution", "seq"],
            Work::Read | Work::ReadHot => ["--statement", READ, "--expect", "1", "--distribution", "uniform"],
        });
        arguments.extend(["--bind", "{row}"]);
        if work == Work::Write {
            arguments.extend(["--bind", "{text:60}", "--bind", "{row}"]);
        }
        arguments.extend(["--rows", if work == Work::ReadHot { "1" } else { &keys }, "--operations", &operations]);
        arguments.extend(["--connections", &connections, "--depth", "1", "--cpu", &core]);
        load::generate(self.address, self.pid, &arguments)
    }

    fn generate_sql(&self, work: Work, clients: u32, requests: u64) -> Result<Measurement, String> {
        let (clients, requests, keys) = (clients.to_string(), requests.to_string(), KEYS.to_string());
        let core = GENERATOR_CORE.to_string();
        let mut arguments = vec![if work == Work::Write { "write" } else { "read" }];
        arguments.extend(["--clients", &clients, "--requests", &requests, "--keys", &keys, "--cpu", &core]);
        if work == Work::ReadHot {
            arguments.push("--hot");
        }
        load::generate_sql(self.address, self.pid, &arguments)
    }
}

/// What was measured once.
struct Sample {
    clients: u32,
    work: Work,
    system: System,
    measurement: Measurement,
}

/// Runs it; an error if Helenus is not ahead of one of the others somewhere.
pub fn run(settings: &Settings<'_>) -> Result<(), String> {
    let levels = levels(settings.levels)?;
    let cassandra = match settings.has_cassandra {
        true => Some(warm_cassandra(settings.is_synced)?),
        false => None,
    };
    println!("the server under test has core {SERVER_CORE}, the generator core {GENERATOR_CORE}");
    let mut samples = Vec::new();
    for round in 1..=settings.rounds.unwrap_or(ROUNDS) {
        println!("round {round}");
        samples.extend(measure_helenus(&levels, settings.is_synced)?);
        if let Some(cassandra) = &cassandra {
            samples.extend(cassandra.wake(|| target_of(cassandra, settings.is_synced).measure(&levels))?);
        }
        samples.extend(measure_mariadb(&levels, settings.is_synced)?);
    }
    tell(&samples, &levels);
    judge(&bounds(&samples, &levels))
}

fn levels(given: Option<&str>) -> Result<Vec<u32>, String> {
    let Some(given) = given else { return Ok(LEVELS.to_vec()) };
    let level = |word: &str| word.parse().ok().filter(|level| (1..=1000).contains(level));
    given.split(',').map(|word| level(word).ok_or(format!("`{word}` is no number of clients from 1 to 1000"))).collect()
}

/// Requests of each client; those that wait for the disk are fewer.
fn requests_of_each(clients: u32, wait: bool) -> u64 {
    let (all, most) =
        if wait { (SYNCED_WRITES, SYNCED_WRITES_OF_CLIENT_MAX) } else { (REQUESTS, REQUESTS_OF_CLIENT_MAX) };
    (all / u64::from(clients)).clamp(1, most)
}

fn warm_cassandra(is_synced: bool) -> Result<Warm, String> {
    let purpose = if is_synced { Purpose::SpeedSynced } else { Purpose::Speed };
    Warm::start(purpose, |started| {
        let target = target_of(started, is_synced);
        target.fill()?;
        let mut loads = WORKS.iter().cycle().take(WARMING_ROUNDS * WORKS.len());
        loads.try_for_each(|work| target.generate(*work, 100, target.requests_of_each(*work, 100)).map(drop))
    })
}

fn target_of(cassandra: &Warm, is_synced: bool) -> Target<'_> {
    Target { system: System::Cassandra, address: cassandra.address(), pid: cassandra.pid(), is_synced }
}

fn measure_helenus(levels: &[u32], is_synced: bool) -> Result<Vec<Sample>, String> {
    let server = start_helenus(if is_synced { "group" } else { "periodic" })?;
    let target = Target { system: System::Helenus, address: &server.address, pid: server.child.id(), is_synced };
    target.fill()?;
    target.measure(levels)
}

fn measure_mariadb(levels: &[u32], is_synced: bool) -> Result<Vec<Sample>, String> {
    let durability = if is_synced { Durability::Synced } else { Durability::Periodic };
    let server = MariaDb::start(MARIADB_PORT, SERVER_CORE, durability)?;
    let target = Target { system: System::MariaDb, address: &server.address, pid: server.pid(), is_synced };
    target.fill()?;
    target.measure(levels)
}

/// The medians of the rounds, if it was measured.
fn medians(samples: &[Sample], clients: u32, work: Work, system: System) -> Option<Measurement> {
    let is_asked = |sample: &&Sample| (sample.clients, sample.work, sample.system) == (clients, work, system);
    let measured: Vec<Measurement> = samples.iter().filter(is_asked).map(|sample| sample.measurement).collect();
    if measured.is_empty() { None } else { Some(median(&measured)) }
}

fn tell(samples: &[Sample], levels: &[u32]) {
    println!("\n| clients | load | server | requests/s | server CPU µs | generator CPU µs | p50 µs | p99 µs |");
    println!("|---|---|---|---|---|---|---|---|");
    for (work, clients) in WORKS.into_iter().flat_map(|work| levels.iter().map(move |clients| (work, *clients))) {
        for system in [System::Helenus, System::Cassandra, System::MariaDb] {
            let Some(found) = medians(samples, clients, work, system) else { continue };
            println!(
                "| {clients} | {} | {} | {:.0} | {:.1} | {:.1} | {:.0} | {:.0} |",
                work.name(),
                system.name(),
                found.per_second,
                found.server_micros,
                found.generator_micros,
                found.p50,
                found.p99
            );
        }
    }
}

/// Helenus is to do more requests a second than either, at each level.
fn bounds(samples: &[Sample], levels: &[u32]) -> Vec<Bound> {
    let mut bounds = Vec::new();
    for (work, clients) in WORKS.into_iter().flat_map(|work| levels.iter().map(move |clients| (work, *clients))) {
        let rate = |system| medians(samples, clients, work, system).map(|found| found.per_second);
        for system in [System::Cassandra, System::MariaDb] {
            if let (Some(ours), Some(theirs)) = (rate(System::Helenus), rate(system)) {
                let what = format!("{clients} clients, {}: {} ÷ Helenus", work.name(), system.name());
                bounds.push(Bound::at_most(what, theirs / ours, 1.0));
            }
        }
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(clients: u32, system: System, per_second: f64) -> Sample {
        let measurement = Measurement { per_second, ..Measurement::default() };
        Sample { clients, work: Work::Read, system, measurement }
    }

    #[test]
    fn levels_are_numbers_of_clients() {
        assert_eq!(levels(None), Ok(vec![1, 10, 100]));
        assert_eq!(levels(Some("5,70")), Ok(vec![5, 70]));
        for wrong in ["0", "5,", "1001", "many"] {
            assert!(levels(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_run_takes_some_seconds_however_many_clients_there_are() {
        assert_eq!([1, 10, 100].map(|clients| requests_of_each(clients, false)), [30_000, 10_000, 1_000]);
        assert_eq!([1, 10, 100].map(|clients| requests_of_each(clients, true)), [3_000, 2_000, 200]);
    }

    #[test]
    fn whoever_is_behind_one_other_at_one_level_fails() {
        let ahead = vec![
            sample(1, System::Helenus, 9.0),
            sample(1, System::MariaDb, 8.0),
            sample(10, System::Helenus, 9.0),
            sample(10, System::Cassandra, 7.0),
        ];
        assert_eq!(bounds(&ahead, &[1, 10]).len(), 2);
        assert!(judge(&bounds(&ahead, &[1, 10])).is_ok());
        let mut behind = ahead;
        behind.push(sample(10, System::MariaDb, 9.5));
        assert!(judge(&bounds(&behind, &[1, 10])).is_err());
    }
}
