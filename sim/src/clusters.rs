//! The scenario `group`: clusters of three to seven nodes in one to three datacenters, whose schema changes under troubles of links, nodes and clocks.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use planted::Planted;

use crate::cluster::NodeOptions;
use crate::group::{GroupOptions, run_group};
use crate::group_site::GroupSite;
use crate::nemesis::{Kind, PlanOptions, generate};
use crate::site::Site;
use crate::workload::SchemaOptions;

/// Nodes of each datacenter.
const SHAPES: [&[usize]; 6] = [&[3], &[5], &[2, 2], &[3, 2], &[1, 1, 1], &[3, 2, 2]];
/// Shapes of clusters, of which each seed has the next.
pub const SHAPE_COUNT: u64 = SHAPES.len() as u64;
/// In one round of so many over the shapes the last node joins while the plan goes on, beside changes of keyspaces alone.
const JOINED_EVERY: u64 = 4;
/// The fewest nodes where a disk is exchanged.
const NODES_MIN_OF_EXCHANGE: usize = 3;
/// The fewest changes that clients know of, and the fewest troubles, of each seed: a run with fewer shows nothing.
const CHANGES_MIN: usize = 20;
const TROUBLES_MIN: usize = 3;

/// The outcome of a seed.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Sentences about what does not hold.
    pub violations: Vec<String>,
    /// Equal for equal seeds.
    pub trace_hash: u64,
    /// Changes of the schema, as clients know.
    pub changed: usize,
    /// Steps of the plan that begin a trouble.
    pub troubles: usize,
    /// The world's time from the end of the plan until a change worked.
    pub healed_after: Duration,
    /// Nodes that were refused since their disk had been exchanged.
    pub out: usize,
    /// Refusals, each sentence with its count.
    pub refused: BTreeMap<String, u64>,
    /// The marks that were reached.
    pub marks: BTreeMap<&'static str, u64>,
}

/// Runs one seed.
pub fn run(seed: u64, planted: Planted) -> Outcome {
    stdx::marks::take();
    let shape = SHAPES[(seed % SHAPE_COUNT) as usize];
    let mut site = GroupSite::new(seed, shape, 1, NodeOptions { planted, ..NodeOptions::default() });
    let nodes = site.nodes().len();
    let round = seed / SHAPE_COUNT;
    let joins = round.is_multiple_of(JOINED_EVERY) && nodes > NODES_MIN_OF_EXCHANGE;
    let absent: BTreeSet<usize> = if joins { [nodes - 1].into() } else { BTreeSet::new() };
    let other_disk = if round.is_multiple_of(2) { Kind::OlderDisk } else { Kind::EmptyDisk };
    let plan = generate(
        &PlanOptions {
            datacenters: (0..site.nodes().len()).map(|node| site.datacenter(node)).collect(),
            steps: 20,
            // One disk is exchanged at most, and an empty one is at hand sooner.
            kinds: Kind::ALL.into_iter().filter(|kind| *kind != other_disk).collect(),
            gap_min: Duration::from_millis(50),
            gap_max: Duration::from_secs(4),
            down_max: 2,
            absent: absent.clone(),
            // Its node has no vote any more, and a majority must be left.
            exchanged_max: usize::from(nodes >= NODES_MIN_OF_EXCHANGE),
        },
        seed,
    );
    let troubles = plan.steps.iter().filter(|timed| timed.step.is_trouble()).count();
    let schema = SchemaOptions { without_tables: joins, changes_min: CHANGES_MIN, ..SchemaOptions::default() };
    let group = run_group(&mut site, &GroupOptions { schema, plan, absent });
    let mut violations = group.violations;
    if group.changed < CHANGES_MIN || troubles < TROUBLES_MIN {
        violations.push(format!("{} changes and {troubles} troubles show nothing", group.changed));
    }
    Outcome {
        violations,
        trace_hash: site.world().trace_hash(),
        changed: group.changed,
        troubles,
        healed_after: group.healed_after,
        out: group.out.len(),
        refused: group.refused,
        marks: stdx::marks::take(),
    }
}

/// The outcome of many seeds.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Seeds that were run, and those of them that were run twice.
    pub seeds: u64,
    /// Those that were run twice.
    pub twice: u64,
    /// Changes of all.
    pub changed: usize,
    /// Troubles of all.
    pub troubles: usize,
    /// Nodes that were refused since their disk had been exchanged.
    pub out: usize,
    /// The longest from the end of a plan until a change worked.
    pub healed_at_most: Duration,
    /// Refusals of all.
    pub refused: BTreeMap<String, u64>,
    /// Marks of all.
    pub marks: BTreeMap<&'static str, u64>,
    /// Seeds that failed, with their sentences.
    pub failures: Vec<(u64, Vec<String>)>,
}

/// Runs seeds from `first` on, until `count` of them are done or the time is over; one of `twice_every` twice.
pub fn random(first: u64, count: u64, at_most: Duration, twice_every: u64, planted: Planted) -> Totals {
    let began = Instant::now();
    let mut totals = Totals::default();
    for seed in first..first.saturating_add(count) {
        if began.elapsed() >= at_most || totals.failures.len() >= 3 {
            break;
        }
        let mut outcome = run(seed, planted);
        if seed.is_multiple_of(twice_every) {
            totals.twice += 1;
            let again = run(seed, planted).trace_hash;
            if again != outcome.trace_hash {
                outcome.violations.push(format!("two runs differ: {:x} and {again:x}", outcome.trace_hash));
            }
        }
        totals.seeds += 1;
        totals.changed += outcome.changed;
        totals.troubles += outcome.troubles;
        totals.out += outcome.out;
        totals.healed_at_most = totals.healed_at_most.max(outcome.healed_after);
        outcome.refused.into_iter().for_each(|(name, count)| *totals.refused.entry(name).or_default() += count);
        outcome.marks.into_iter().for_each(|(name, count)| *totals.marks.entry(name).or_default() += count);
        if !outcome.violations.is_empty() {
            totals.failures.push((seed, outcome.violations));
        }
    }
    totals
}
