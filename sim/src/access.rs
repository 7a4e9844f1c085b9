//! Power cuts beside statements about roles: what was acknowledged of CREATE, ALTER and DROP ROLE, GRANT and REVOKE is there afterwards, and nothing else is.
//!
//! ```text
//! nodes ready ─▶ clients log in and change roles, each its own ─▶ at a moment power of a node, or of all, is cut ─▶ the others and their clients go on
//!   ─▶ start ─▶ a role is made ─▶ each node shows what the model has ─▶ power of all is cut, start ─▶ each node shows the same
//! ```
//!
//! A seed runs once without a cut, which counts the operations of each node's disk and the answers; then once for each moment that is looked at: an operation of a disk has begun, or an answer
//! has just come. Runs of a seed are equal up to their moment. One client's statements come one after the other and name roles that no other client names, so that its roles are exactly those
//! of its [model]: after its last answer, or after the statement that it had no answer to.

mod clients;
mod course;
pub(crate) mod login;
pub mod model;
mod view;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use planted::Planted;

pub use course::{Cut, Moment, Outcome, run_on};

/// Nodes of the two clusters of a seed.
const SHAPES: [usize; 2] = [1, 3];
/// Marks that the runs of a seed reach.
pub const MARKS: [&str; 3] = [
    "power cut right after a statement about roles",
    "statement about roles without an answer is done",
    "statement about roles refused as its model refuses it",
];

/// The seed, and how many of its moments are looked at.
#[derive(Debug, Clone, Copy)]
pub struct AccessOptions {
    /// The seed.
    pub seed: u64,
    /// Power cuts, spread over the moments of both clusters.
    pub cuts: usize,
    /// Only the cut of this number.
    pub only: Option<usize>,
    /// Threads.
    pub threads: usize,
    /// A bug planted on purpose, in builds for that.
    pub planted: Planted,
}

/// The outcome of a seed.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Moments that there were.
    pub moments: usize,
    /// Runs with a power cut.
    pub runs: u64,
    /// Statements that were acknowledged, GRANT and REVOKE among them.
    pub acknowledged: u64,
    /// GRANT and REVOKE.
    pub granted_or_revoked: u64,
    /// Real time.
    pub real: Duration,
    /// Marks that were reached.
    pub marks: BTreeMap<&'static str, u64>,
    /// The cut's number, what it was, and what does not hold.
    pub failures: Vec<(usize, String, Vec<String>)>,
}

/// Runs it.
pub fn run(options: &AccessOptions) -> Totals {
    let began = Instant::now();
    let mut all = Totals::default();
    let mut cuts = Vec::new();
    for nodes in SHAPES {
        stdx::marks::take();
        let counted = guarded(|| course::run_on(options.seed, nodes, None, options.planted));
        note(&mut all, usize::MAX, format!("{nodes} nodes, without a cut"), &counted);
        let moments = moments(options.seed, nodes, &counted);
        all.moments += moments.len();
        cuts.extend(spread(&moments, options.cuts / SHAPES.len()).map(|cut| (nodes, cut)));
    }
    let (next, results) = (AtomicUsize::new(0), Mutex::new(&mut all));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some((nodes, cut)) = cuts.get(number) else { break };
            if options.only.is_some_and(|only| only != number) {
                continue;
            }
            stdx::marks::take();
            let outcome = guarded(|| course::run_on(options.seed, *nodes, Some(*cut), options.planted));
            let mut all = results.lock().expect("runs catch their panics");
            all.runs += 1;
            note(&mut all, number, format!("{nodes} nodes, {cut:?}"), &outcome);
        }
    };
    std::thread::scope(|scope| (0..options.threads.max(1)).for_each(|_| drop(scope.spawn(work))));
    all.real = began.elapsed();
    all
}

fn guarded(run: impl FnOnce() -> Outcome) -> Outcome {
    std::panic::catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Outcome { violations: vec!["a panic".to_owned()], ..Outcome::default() })
}

fn note(all: &mut Totals, number: usize, what: String, outcome: &Outcome) {
    all.acknowledged += outcome.acknowledged;
    all.granted_or_revoked += outcome.granted_or_revoked;
    stdx::marks::take().into_iter().for_each(|(name, count)| *all.marks.entry(name).or_default() += count);
    if !outcome.violations.is_empty() {
        all.failures.push((number, what, outcome.violations.clone()));
    }
}

/// All moments of a cluster.
fn moments(seed: u64, nodes: usize, counted: &Outcome) -> Vec<Cut> {
    let calls = counted.disk_calls.iter().enumerate();
    let calls = calls.flat_map(|(node, calls)| (0..*calls).map(move |call| (Moment::DiskCall { node, call }, node)));
    let answers = (1..=counted.acknowledged).map(|count| (Moment::Acknowledged(count), count as usize % nodes));
    let cut = |(number, (moment, node)): (usize, (Moment, usize))| {
        // A number of the moment's own decides what the disk keeps, and whether one of several nodes loses its power or all do.
        let random = (seed ^ (number as u64) << 17).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
        Cut { moment, victim: Some(node).filter(|_| nodes > 1 && random.is_multiple_of(2)), random: random >> 1 }
    };
    calls.chain(answers).enumerate().map(cut).collect()
}

/// As many of them as are wanted, evenly.
fn spread(cuts: &[Cut], wanted: usize) -> impl Iterator<Item = Cut> {
    let step = cuts.len().div_ceil(wanted.max(1)).max(1);
    cuts.iter().copied().step_by(step)
}
