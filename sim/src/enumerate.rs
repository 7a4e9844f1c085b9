//! Crash enumeration: a small course is run once; at each boundary, that is wherever what a power cut leaves has changed, the node is
//! started from every kind of image, and the rows are checked.
//!
//! There are five courses: clients that write, over several starts with other shard counts; the [`upkeep`]: compactions, a
//! snapshot, and its way back by a start; a refresh, by which a snapshot comes back to a running node; a few logged batches over
//! two shards, of which every boundary is looked at; and [`operations`] of a cluster, of which one node ends while the others go on.

mod cut_short;
mod operations;
mod upkeep;

pub use cut_short::{refresh_cut_short, snapshot_cut_short};

use std::collections::BTreeSet;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use planted::Planted;
use runtime::sim::{Disk, Keep, Started};

use crate::checker::{self, Promises};
use crate::cluster::{Boundary, Cluster, NodeOptions};
use crate::fault;
use crate::run::{ask, read_all};
use crate::workload::{History, RowsOptions, Shared, prepare, work};

/// Shard counts of the recorded starts.
const SHARDS: [u16; 4] = [2, 1, 3, 2];
/// Of each boundary: everything, nothing, torn, and so many orders.
const REORDERS: u64 = 8;
const KEEPS: usize = 3 + REORDERS as usize;
/// Of a boundary of [`Course::Batches`] nothing is kept, the second of the ways: what is wrong there is wrong in whole groups.
const KEPT_OF_BATCHES: std::ops::Range<usize> = 1..2;
/// Images that are made for each one that is wanted: some are like others.
const CANDIDATES_PER_IMAGE: u64 = 4;
/// One image of so many loses its power again right after its start.
const TWICE_EVERY: usize = 8;
/// By then a recorded workload has ended.
const WORKLOAD_AT_MOST: Duration = Duration::from_secs(300);

/// What happens before power is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Course {
    /// Clients write, and the node is started again and again.
    #[default]
    Writes,
    /// An operator compacts, makes a snapshot and brings it back.
    Upkeep,
    /// An operator has a running node take in a snapshot's files.
    Refresh,
    /// Clients send logged batches over two shards.
    Batches,
    /// A cluster's nodes join and leave.
    Operations,
}

impl Course {
    /// All of them.
    pub const ALL: [Course; 5] = [Course::Writes, Course::Upkeep, Course::Refresh, Course::Batches, Course::Operations];
}

impl fmt::Display for Course {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Course::Writes => "writes",
            Course::Upkeep => "upkeep",
            Course::Refresh => "refresh",
            Course::Batches => "batches",
            Course::Operations => "operations",
        })
    }
}

impl FromStr for Course {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Course::ALL.into_iter().find(|course| course.to_string() == name);
        found.ok_or_else(|| {
            format!("there is no course '{name}'; there are writes, upkeep, refresh, batches and operations")
        })
    }
}

/// What to enumerate.
#[derive(Debug, Clone, Copy)]
pub struct EnumerateOptions {
    /// What happens.
    pub course: Course,
    /// At least so many images; workloads of further seeds are recorded until there are.
    pub images: u64,
    /// The first workload's seed.
    pub first_seed: u64,
    /// Threads.
    pub threads: usize,
    /// No further workload is begun after so long.
    pub at_most: Duration,
    /// At most so many workloads.
    pub workloads_max: u64,
    /// Only the image of this number of the first seed.
    pub only: Option<usize>,
    /// After so many failures no further image is started.
    pub failures_max: usize,
    /// A bug planted on purpose, in builds for that.
    pub planted: Planted,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Enumerated {
    /// What happened.
    pub course: Course,
    /// Recorded workloads.
    pub workloads: u64,
    /// Boundaries.
    pub boundaries: u64,
    /// Images that were started; none was like another with as much acknowledged.
    pub images: u64,
    /// Images that were like one before, and left out.
    pub repeated: u64,
    /// Real time.
    pub real: Duration,
    /// Marks that were reached.
    pub marks: std::collections::BTreeMap<&'static str, u64>,
    /// Seed, image, what it is, and what does not hold.
    pub failures: Vec<(u64, usize, String, Vec<String>)>,
}

/// What a node says that has no such table, or not even its keyspace.
const NO_TABLE: &str = "does not exist";

/// Runs it.
pub fn enumerate(options: &EnumerateOptions) -> Enumerated {
    let began = Instant::now();
    let mut all = Enumerated { course: options.course, ..Enumerated::default() };
    let mut seed = options.first_seed;
    while all.images < options.images && all.failures.len() < options.failures_max && began.elapsed() < options.at_most
    {
        stdx::marks::take();
        let recorded = match options.course {
            Course::Writes => record(seed, options.planted).map(Some),
            Course::Upkeep => upkeep::record(seed, options.planted).map(Some),
            Course::Refresh => upkeep::record_refresh(seed, options.planted).map(Some),
            Course::Batches => record_batches(seed, options.planted).map(Some),
            Course::Operations => operations::enumerate(seed, options, &mut all).map(|()| None),
        };
        match recorded {
            Ok(recorded) => {
                stdx::marks::take().into_iter().for_each(|(name, count)| *all.marks.entry(name).or_default() += count);
                recorded.iter().for_each(|recorded| check_images(recorded, options, &mut all));
            }
            Err(what) => all.failures.push((seed, 0, "the recording".to_owned(), vec![what])),
        }
        all.workloads += 1;
        seed += 1;
        if options.only.is_some() || all.workloads >= options.workloads_max {
            break;
        }
    }
    all.real = began.elapsed();
    all
}

/// A recorded workload.
struct Recorded {
    seed: u64,
    history: History,
    boundaries: Vec<Boundary>,
    /// When the table had been made; before, it may be missing.
    table_made: u64,
    /// Of the upkeep: the snapshots, which each image is asked for.
    snapshots: Vec<upkeep::Taken>,
}

fn rows_options() -> RowsOptions {
    RowsOptions {
        clients: 2,
        requests: 12,
        partitions: 6,
        truncate_per_mille: 60,
        unlogged_per_mille: 200,
        logged_per_mille: 150,
        register_per_mille: 200,
        pause_micros: 300,
        ..RowsOptions::default()
    }
}

/// Small segments, of which one is enough: flushes for the log's sake. Every second workload also has those before a truncation.
fn node_options(seed: u64, planted: Planted) -> NodeOptions {
    let auto_snapshot = !seed.is_multiple_of(2);
    NodeOptions { segment_bytes: 64 << 10, log_bytes: Some(64 << 10), auto_snapshot, planted, ..NodeOptions::default() }
}

fn record(seed: u64, planted: Planted) -> Result<Recorded, String> {
    let mut cluster = Cluster::new(seed, node_options(seed, planted), None);
    let history = Shared::default();
    let mut table_made = 0;
    cluster.keep_boundaries();
    for (place, shards) in SHARDS.into_iter().enumerate() {
        cluster.start(shards).map_err(|error| format!("start {place} failed: {error}"))?;
        if place == 0 {
            let made = ask(&mut cluster, prepare).ok_or("the table was not made in time")?;
            made.map_err(|error| error.to_string())?;
            table_made = cluster.world.now().as_nanos();
        }
        load(&mut cluster, &history, rows_options())?;
        let now = cluster.world.now().as_nanos();
        history.borrow_mut().ends.push(now);
        cluster.world.kill(cluster.node);
    }
    let boundaries = cluster.take_boundaries();
    drop(cluster);
    let history = history.take();
    Ok(Recorded { seed, history, boundaries, table_made, snapshots: Vec::new() })
}

/// A few logged batches, each over two shards, with boundaries of them alone.
fn record_batches(seed: u64, planted: Planted) -> Result<Recorded, String> {
    let mut cluster = Cluster::new(seed, node_options(seed, planted), None);
    let history = Shared::default();
    cluster.start(2).map_err(|error| format!("the start failed: {error}"))?;
    let made = ask(&mut cluster, prepare).ok_or("the table was not made in time")?;
    made.map_err(|error| error.to_string())?;
    let table_made = cluster.world.now().as_nanos();
    cluster.keep_boundaries();
    let rows = RowsOptions {
        clients: 1,
        requests: 12,
        truncate_per_mille: 0,
        unlogged_per_mille: 0,
        logged_per_mille: 1000,
        register_per_mille: 0,
        ..rows_options()
    };
    load(&mut cluster, &history, rows)?;
    history.borrow_mut().ends.push(cluster.world.now().as_nanos());
    let boundaries = cluster.take_boundaries();
    drop(cluster);
    Ok(Recorded { seed, history: history.take(), boundaries, table_made, snapshots: Vec::new() })
}

/// Has clients begin to work.
fn begin_load(cluster: &mut Cluster, history: &Shared, options: RowsOptions) -> Started<()> {
    let history = history.clone();
    cluster.world.start(cluster.clients, false, vec![move |runtime| work(runtime, options, history)])
}

fn load(cluster: &mut Cluster, history: &Shared, options: RowsOptions) -> Result<(), String> {
    let working = begin_load(cluster, history, options);
    cluster.run_until(|_| working.is_over(), WORKLOAD_AT_MOST);
    if working.is_over() { Ok(()) } else { Err("the workload did not end".to_owned()) }
}

/// The ways to keep what was pending at boundary `number`.
fn keeps(seed: u64, number: usize) -> Vec<Keep> {
    let base = seed.wrapping_mul(0x9e37_79b9).wrapping_add(number as u64 * 64);
    let reorders = (0..REORDERS).map(|order| Keep::Reordered { seed: base + order });
    [Keep::Everything, Keep::Nothing, Keep::Torn { seed: base }].into_iter().chain(reorders).collect()
}

/// An image to start from.
struct Image {
    number: usize,
    boundary: usize,
    keep: Keep,
    disk: Disk,
}

/// The images of all boundaries, without those like one before; of many boundaries, of so many that some `wanted` images come of
/// them: telling which are alike costs more than starting from one. An image's number says its boundary and what is kept.
fn images(recorded: &Recorded, wanted: u64, only: Option<usize>, all: &mut Enumerated) -> Vec<Image> {
    let course = all.course;
    let mut seen = BTreeSet::new();
    let mut images = Vec::new();
    let looked_at = (CANDIDATES_PER_IMAGE * wanted / KEEPS as u64).max(1) as usize;
    let (step, kept) = match course {
        Course::Batches => (1, KEPT_OF_BATCHES),
        _ => (recorded.boundaries.len().div_ceil(looked_at), 0..KEEPS),
    };
    for (boundary, Boundary { disk, as_of }) in recorded.boundaries.iter().enumerate() {
        let is_looked_at =
            only.map_or(boundary % step == recorded.seed as usize % step, |only| only / KEEPS == boundary);
        if !is_looked_at {
            continue;
        }
        let history = &recorded.history;
        let told = |at: Option<u64>| at.is_some_and(|at| at <= *as_of);
        let acknowledged = history.writes.iter().filter(|write| told(write.acknowledged)).count()
            + history.truncates.iter().filter(|truncate| told(truncate.acknowledged)).count();
        let ways = keeps(recorded.seed, boundary).into_iter().enumerate();
        for (place, keep) in ways.filter(|(place, _)| kept.contains(place)) {
            let disk = disk.after_power_cut(keep);
            if seen.insert((disk.digest(), acknowledged)) || only.is_some() {
                images.push(Image { number: boundary * KEEPS + place, boundary, keep, disk });
            } else {
                all.repeated += 1;
            }
        }
    }
    images
}

fn check_images(recorded: &Recorded, options: &EnumerateOptions, all: &mut Enumerated) {
    all.boundaries += recorded.boundaries.len() as u64;
    let wanted = options.images.saturating_sub(all.images);
    let mut images = images(recorded, wanted, options.only, all);
    if let Some(only) = options.only {
        images.retain(|image| image.number == only);
    }
    if (images.len() as u64) > wanted && options.only.is_none() {
        // A sample over the whole of it, not its beginning.
        let (step, rest) = (images.len() as u64 / wanted.max(1), wanted as usize);
        images = images.into_iter().step_by(step.max(1) as usize).take(rest).collect();
    }
    let next = AtomicUsize::new(0);
    let results = Mutex::new(all);
    let work = || {
        stdx::marks::take();
        while let Some(image) = images.get(next.fetch_add(1, Ordering::Relaxed)) {
            let run = AssertUnwindSafe(|| check_image(recorded, image, options.planted));
            let violations = std::panic::catch_unwind(run).unwrap_or_else(|_| vec!["a panic".to_owned()]);
            let mut all = results.lock().expect("checks catch their panics");
            all.images += 1;
            if !violations.is_empty() {
                let what = format!("boundary {} of {}, {:?}", image.boundary, recorded.boundaries.len(), image.keep);
                all.failures.push((recorded.seed, image.number, what, violations));
            }
            if all.failures.len() >= options.failures_max {
                break;
            }
        }
        let mut all = results.lock().expect("checks catch their panics");
        stdx::marks::take().into_iter().for_each(|(name, count)| *all.marks.entry(name).or_default() += count);
    };
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(work);
        }
    });
}

fn check_image(recorded: &Recorded, image: &Image, planted: Planted) -> Vec<String> {
    let as_of = recorded.boundaries[image.boundary].as_of;
    let seed = recorded.seed ^ (image.number as u64) << 20;
    let options = node_options(recorded.seed, planted);
    let mut cluster = Cluster::new(seed, options, Some(image.disk.clone()));
    let mut violations = Vec::new();
    let restoring = recorded.history.restores.iter().find(|restore| restore.start <= as_of);
    let is_restoring = restoring.is_some();
    let is_refreshing = restoring.is_some_and(|restore| restore.by_refresh);
    let rounds = if is_restoring || image.number.is_multiple_of(TWICE_EVERY) { 2 } else { 1 };
    let mut rows_before = None;
    for round in 0..rounds {
        let shards = SHARDS[(image.number + round) % SHARDS.len()];
        // Who brings a snapshot back tells the next start to do so again. A refresh goes on by itself, or has done nothing.
        cluster.set_takes_in_sstables(is_restoring && !is_refreshing && round == 0);
        if let Err(error) = cluster.start(shards) {
            violations.push(format!("start {round} with {shards} shards failed: {error}"));
            break;
        }
        match read_all(&mut cluster) {
            Ok(rows) => {
                violations.extend(checker::check(&recorded.history, &rows, as_of, Promises::TODAY));
                if let Some(restore) = restoring.filter(|_| is_refreshing) {
                    violations.extend(checker::check_refresh(&recorded.history, &rows, restore));
                }
                if rows_before.as_ref().is_some_and(|before| *before != rows) {
                    violations.push(format!("start {round} gave other rows than the one before it"));
                }
                rows_before = Some(rows);
            }
            Err(what) if as_of < recorded.table_made && what.contains(NO_TABLE) => {}
            Err(what) => violations.push(format!("the rows cannot be read: {what}")),
        }
        let keep = fault::any_keep(cluster.world.random());
        cluster.world.crash(cluster.node, keep);
    }
    if violations.is_empty() {
        for taken in recorded.snapshots.iter().filter(|taken| taken.began <= as_of) {
            violations.extend(taken.check(&mut cluster, recorded, as_of));
        }
    }
    violations
}
