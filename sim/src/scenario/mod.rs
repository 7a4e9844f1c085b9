//! Scenarios: small text files that compose the workload with faults.
//!
//! A line is a word and its values; `#` begins a comment. Unknown words are errors.
//!
//! ```text
//! about     a sentence
//! shards    2 1 3 2              the shard counts of successive starts, over and over
//! clients   3                    requests 60      partitions 12       pause 2ms
//! unlogged  150                  logged 100       truncate 5          register 200     (of 1,000 requests)
//! counts    300                  amounts added to counters (of 1,000 requests)
//! batch     7                    rows of a batch at most
//! sync      group                or batch, periodic
//! period    50ms                 how often periodic syncs
//! conditional                    conditional statements and SERIAL reads alone
//! nodes     2                    a ring of so many, all replicas; their workload is another
//! segment   128                  KiB
//! log       64                   KiB of segments that a shard keeps before it flushes for their sake
//! snapshots                      what TRUNCATE takes away is put aside
//! flush-on-drain                 an orderly end writes all tables to files
//! fault     crash 50ms 400ms     the fault, and the least and the most time from one to the next
//! fault     crash at-mark disk full 2   once, when a node reaches that mark for the second time (a first time needs no number)
//! fault     kill at-ack 20       once, when so many rows or requests are acknowledged. Such faults come in the order in which they are written
//! keep      nothing              or everything: what each power cut leaves of what is pending; by the seed where nothing is said
//! slow      1ms 20ms             the time that each disk operation takes while clients work
//! in-turn                        the faults come one after the other as they are written, each its time after the one before
//! ```

use std::time::Duration;

use helenus::config::CommitLogSync;
use runtime::sim::{DiskSpeed, Keep};

use crate::cluster::NodeOptions;
use crate::fault::{Fault, Moment, Once, Recurring};
use crate::workload::RowsOptions;

/// The scenarios that are built in, by name.
pub const BUILT_IN: [(&str, &str); 23] = [
    ("calm", include_str!("../../scenarios/calm.txt")),
    ("crash", include_str!("../../scenarios/crash.txt")),
    ("kill", include_str!("../../scenarios/kill.txt")),
    ("restart", include_str!("../../scenarios/restart.txt")),
    ("network", include_str!("../../scenarios/network.txt")),
    ("disk", include_str!("../../scenarios/disk.txt")),
    ("full", include_str!("../../scenarios/full.txt")),
    ("full-periodic", include_str!("../../scenarios/full-periodic.txt")),
    ("flush", include_str!("../../scenarios/flush.txt")),
    ("flush-full", include_str!("../../scenarios/flush-full.txt")),
    ("reshard", include_str!("../../scenarios/reshard.txt")),
    ("batches", include_str!("../../scenarios/batches.txt")),
    ("crowd", include_str!("../../scenarios/crowd.txt")),
    ("storm", include_str!("../../scenarios/storm.txt")),
    ("steps", include_str!("../../scenarios/steps.txt")),
    ("counters", include_str!("../../scenarios/counters.txt")),
    ("periodic", include_str!("../../scenarios/periodic.txt")),
    ("conditional", include_str!("../../scenarios/conditional.txt")),
    ("conditional-periodic", include_str!("../../scenarios/conditional-periodic.txt")),
    ("ring", include_str!("../../scenarios/ring.txt")),
    ("ring-crash", include_str!("../../scenarios/ring-crash.txt")),
    ("ring-network", include_str!("../../scenarios/ring-network.txt")),
    ("ring-storm", include_str!("../../scenarios/ring-storm.txt")),
];

/// A workload composed with faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// Shard counts of successive starts.
    pub shards: Vec<u16>,
    /// What clients do.
    pub rows: RowsOptions,
    /// How the node is set up.
    pub node: NodeOptions,
    /// What happens meanwhile.
    pub faults: Vec<Recurring>,
    /// Faults that come once each, one after the other.
    pub once: Vec<Once>,
    /// The policy of power cuts; `None`: by the seed.
    pub keep: Option<Keep>,
    /// The disks' speed while clients work.
    pub speed: DiskSpeed,
    /// Whether the faults come in the order in which they are written.
    pub is_in_turn: bool,
    /// Whether clients do conditional statements.
    pub is_conditional: bool,
}

/// What is wrong with a scenario's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}, line {line}: {what}")]
pub struct ScenarioError {
    name: String,
    line: usize,
    what: String,
}

impl Scenario {
    /// The built-in scenario of that name.
    pub fn built_in(name: &str) -> Option<Scenario> {
        let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(Scenario::parse(name, text).unwrap_or_else(|error| panic!("{error}")))
    }

    /// Reads a scenario.
    pub fn parse(name: &str, text: &str) -> Result<Scenario, ScenarioError> {
        let mut scenario = Scenario {
            name: name.to_owned(),
            about: String::new(),
            shards: vec![2],
            rows: RowsOptions::default(),
            node: NodeOptions::default(),
            faults: Vec::new(),
            once: Vec::new(),
            keep: None,
            speed: DiskSpeed::default(),
            is_in_turn: false,
            is_conditional: false,
        };
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if !line.is_empty() {
                let failed = |what| ScenarioError { name: name.to_owned(), line: index + 1, what };
                scenario.take(line).map_err(failed)?;
            }
        }
        Ok(scenario)
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let rows = &mut self.rows;
        match word {
            "about" => rest.clone_into(&mut self.about),
            "shards" => self.shards = rest.split_whitespace().map(number).collect::<Result<_, _>>()?,
            "clients" => rows.clients = number(rest)?,
            "requests" => rows.requests = number(rest)?,
            "partitions" => rows.partitions = number(rest)?,
            "pause" => rows.pause_micros = u64::try_from(duration(rest)?.as_micros()).unwrap_or(u64::MAX),
            "unlogged" => rows.unlogged_per_mille = number(rest)?,
            "logged" => rows.logged_per_mille = number(rest)?,
            "truncate" => rows.truncate_per_mille = number(rest)?,
            "register" => rows.register_per_mille = number(rest)?,
            "counts" => rows.count_per_mille = number(rest)?,
            "batch" => rows.batch_rows_max = number::<u64>(rest)?.max(2),
            "nodes" => self.node.nodes = number(rest)?,
            "period" => self.node.sync_period = duration(rest)?,
            "sync" => self.node.sync = rest.parse::<CommitLogSync>()?,
            "log" => self.node.log_bytes = Some(number::<u64>(rest)? << 10),
            "snapshots" => self.node.auto_snapshot = true,
            "flush-on-drain" => self.node.flush_on_drain = true,
            "segment" => self.node.segment_bytes = number::<u64>(rest)? << 10,
            "reserve" => self.node.disk_reserve = number::<u64>(rest)? << 10,
            "in-turn" => self.is_in_turn = true,
            "conditional" => self.is_conditional = true,
            "fault" => match once(rest)? {
                Some(once) => self.once.push(once),
                None => self.faults.push(recurring(rest)?),
            },
            "keep" => self.keep = Some(keep(rest)?),
            "slow" => self.speed = speed(rest)?,
            _ => return Err(format!("'{word}' is not a word of scenarios")),
        }
        if self.shards.is_empty() || self.rows.partitions == 0 || !(1..=4).contains(&self.node.nodes) {
            return Err("there is at least one shard count, one partition, and one node to four".to_owned());
        }
        Ok(())
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{text}' is not a fitting number"))
}

fn duration(text: &str) -> Result<Duration, String> {
    let units = [("us", 1), ("ms", 1_000), ("s", 1_000_000)];
    let unit = units.into_iter().find_map(|(unit, micros)| Some((text.strip_suffix(unit)?, micros)));
    let (digits, micros) = unit.ok_or_else(|| format!("'{text}' is not a time such as 20ms"))?;
    Ok(Duration::from_micros(number::<u64>(digits)? * micros))
}

fn keep(text: &str) -> Result<Keep, String> {
    match text {
        "nothing" => Ok(Keep::Nothing),
        "everything" => Ok(Keep::Everything),
        _ => Err(format!("a power cut keeps nothing or everything, not '{text}'")),
    }
}

fn speed(text: &str) -> Result<DiskSpeed, String> {
    let (least, most) = text.split_once(' ').ok_or_else(|| format!("'{text}' is not two times"))?;
    let nanos = |text: &str| duration(text.trim()).map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let (latency_min_nanos, latency_max_nanos) = (nanos(least)?, nanos(most)?);
    if latency_min_nanos > latency_max_nanos {
        return Err(format!("from {least} to {most} is no time"));
    }
    Ok(DiskSpeed { latency_min_nanos, latency_max_nanos })
}

fn fault_named(name: &str) -> Result<Fault, String> {
    let fault = Fault::ALL.into_iter().find(|(known, _)| *known == name);
    fault.map(|(_, fault)| fault).ok_or_else(|| format!("'{name}' is not a fault"))
}

/// A fault that comes once; `None`: the text says another kind of time.
fn once(text: &str) -> Result<Option<Once>, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let moment = match words[..] {
        [_, "at-ack", count] => Moment::Acknowledged(number(count)?),
        [_, "at-mark", ref mark @ .., last] => match last.parse() {
            Ok(nth) => Moment::Mark { name: mark.join(" "), nth },
            Err(_) => Moment::Mark { name: words[2..].join(" "), nth: 1 },
        },
        _ => return Ok(None),
    };
    if matches!(&moment, Moment::Mark { name, .. } if name.is_empty()) {
        return Err(format!("'{text}' names no mark"));
    }
    Ok(Some(Once { fault: fault_named(words[0])?, moment }))
}

fn recurring(text: &str) -> Result<Recurring, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [name, least, most] = words[..] else { return Err(format!("'{text}' is not a fault and two times")) };
    let fault = fault_named(name)?;
    let (every_min, every_max) = (duration(least)?, duration(most)?);
    if every_min > every_max {
        return Err(format!("from {least} to {most} is no time"));
    }
    Ok(Recurring { fault, every_min, every_max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_ones_can_be_read() {
        for (name, _) in BUILT_IN {
            let scenario = Scenario::built_in(name).expect("it is built in");
            assert!(!scenario.about.is_empty(), "{name} says what it is for");
        }
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let error = |text| Scenario::parse("x", text).expect_err("it is wrong").to_string();
        assert_eq!(error("shards 2\nclint 3"), "x, line 2: 'clint' is not a word of scenarios");
        assert_eq!(error("fault flood 1ms 2ms"), "x, line 1: 'flood' is not a fault");
        assert_eq!(error("fault kill 5ms 2ms"), "x, line 1: from 5ms to 2ms is no time");
        assert_eq!(error("fault flood at-mark disk full"), "x, line 1: 'flood' is not a fault");
        assert_eq!(error("fault kill at-mark 3"), "x, line 1: 'kill at-mark 3' names no mark");
        assert_eq!(error("slow 5ms 2ms"), "x, line 1: from 5ms to 2ms is no time");
        assert_eq!(error("keep half"), "x, line 1: a power cut keeps nothing or everything, not 'half'");
        assert_eq!(error("clients many"), "x, line 1: 'many' is not a fitting number");
    }

    #[test]
    fn faults_that_come_once_are_read_with_their_moment() {
        let text = "fault crash at-mark flush for the log's sake\nfault kill at-mark disk full 2\nfault crash at-ack 7";
        let scenario = Scenario::parse("x", text).expect("it is right");
        let moments: Vec<String> = scenario.once.iter().map(|once| once.moment.to_string()).collect();
        assert_eq!(moments, ["at-mark flush for the log's sake 1", "at-mark disk full 2", "at-ack 7"]);
        assert!(scenario.faults.is_empty());
    }
}
