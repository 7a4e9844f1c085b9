//! The scenarios `quorum`, `counters`, `batches`, `hints`, `truncate`, `map`, `serial` and `operations`: requests on a ring of whole nodes that agree by their metadata group, under troubles
//! of links, nodes, disks and clocks.
//!
//! ```text
//! all nodes ready ─▶ tables ─▶ clients send requests, a plan goes on beside them and heals ─▶ all nodes ready again ─▶ clients go on until enough is acknowledged
//!   ─▶ quiet ─▶ reads of all replicas; each node alone gives the same ─▶ power cut of all, start ─▶ each node alone gives the same
//! ```
//!
//! Each answer is [judged](crate::checker::requests) as it comes. A seed with fewer than 200 acknowledged changes or three troubles, or whose unknown outcomes
//! are a third or more, shows nothing, and counts as failed.

mod course;
mod ends;
mod judgement;
mod operating;
mod operations;
mod ownership;
mod replacing;
mod rest;
mod scenario;
mod serial;
mod totals;

use std::collections::BTreeMap;

use planted::Planted;

use crate::cluster::NodeOptions;
use crate::group_site::GroupSite;
use crate::site::Site;

pub use scenario::{Expected, LANDED, Part, SCENARIOS, SHAPES, Scenario, Shape, WORKLOADS};
pub use totals::{Seeds, Totals, random};

/// The fewest changes that clients know to be acknowledged, and the fewest troubles, of each seed.
const ACKNOWLEDGED_MIN: usize = 200;
const TROUBLES_MIN: usize = 3;

/// Marks that many runs of all scenarios reach each, beside [those of one scenario](Scenario::marks).
pub const MARKS: [&str; 21] = [
    "a request that is late is dropped",
    "batch delivered later",
    "chain held",
    "connection reset on the way",
    "cut of one direction held",
    "deaf node held",
    "disk full",
    "disk operation failed",
    "halves held",
    "hint delivered",
    "hint kept",
    "hints of an earlier start",
    "isolated datacenter held",
    "isolated node held",
    "mute node held",
    "paused process late",
    "read repair",
    "segment lost",
    "slow disk used",
    "timer at another rate",
    "wall clock jumped under a process",
];

/// The outcome of a seed.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Sentences about what does not hold.
    pub violations: Vec<String>,
    /// Why the run shows nothing, if it does not.
    pub shows_nothing: Option<String>,
    /// Equal for equal seeds.
    pub trace_hash: u64,
    /// Changes, additions and truncations that were acknowledged.
    pub acknowledged: usize,
    /// Those whose outcome no client knows.
    pub unknown: usize,
    /// All that were sent.
    pub sent: usize,
    /// Reads that were judged.
    pub reads: u64,
    /// Truncations that were acknowledged.
    pub truncated: usize,
    /// Steps of the plan that begin a trouble.
    pub troubles: usize,
    /// Requests that were answered with an error, by the error's code.
    pub refused: BTreeMap<String, u64>,
    /// The marks that were reached.
    pub marks: BTreeMap<&'static str, u64>,
}

/// Runs one seed of a scenario.
pub fn run(scenario: &Scenario, seed: u64, expected: &Expected, planted: Planted) -> Outcome {
    stdx::marks::take();
    // All seeds of a shape and all of a scenario meet, also where scenarios take turns.
    let round = seed / SCENARIOS.len() as u64;
    let shape = scenario.shape(round, expected);
    let shards = 1 + (round / SHAPES.len() as u64 % 2) as u16;
    let mut site = GroupSite::new(seed, shape.nodes, shards, NodeOptions { planted, ..NodeOptions::default() });
    site.set_racks(shape.racks);
    shape.spares.iter().for_each(|datacenter| _ = site.add_node(*datacenter));
    let mut outcome = course::run(&mut site, scenario, shape, seed, expected);
    let unknown_max = outcome.sent / 3;
    if outcome.acknowledged < ACKNOWLEDGED_MIN
        || outcome.troubles < TROUBLES_MIN
        || outcome.unknown > unknown_max
        || outcome.truncated < scenario.truncations_min
        || (scenario.has_operations && stdx::marks::count("an operation is done") == 0)
    {
        let Outcome { acknowledged, unknown, sent, troubles, truncated, .. } = &outcome;
        let ended = stdx::marks::count("an operation is done");
        outcome.shows_nothing = Some(format!(
            "{acknowledged} acknowledged of {sent}, {unknown} unknown, {truncated} truncations, {troubles} troubles and {ended} ends of operations show nothing"
        ));
    }
    outcome.trace_hash = site.world().trace_hash();
    outcome.marks = stdx::marks::take();
    outcome
}
