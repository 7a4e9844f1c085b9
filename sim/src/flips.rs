//! Bits that turn over on the disk: the node refuses to start and says which file is damaged, or drops what it cannot tell
//! from an unfinished write; it does not panic or hang, and it never gives out what nobody wrote.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use runtime::sim::{Disk, Keep};

use crate::checker::{self, Promises};
use crate::cluster::{Cluster, NodeOptions, StartFailure};
use crate::run::{ask, read_all};
use crate::workload::{History, RowsOptions, Shared, prepare, work};

/// By then the workload has ended.
const WORKLOAD_AT_MOST: Duration = Duration::from_secs(300);

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Flips {
    /// Starts from a damaged disk.
    pub runs: u64,
    /// Those that were refused.
    pub refused: u64,
    /// Those that lost something that had been acknowledged and could not be told from an unfinished write.
    pub shortened: u64,
    /// Real time.
    pub real: Duration,
    /// Seed, and what does not hold.
    pub failures: Vec<(u64, Vec<String>)>,
}

/// Starts nodes from disks with one to three bits turned over, `count` times from `first_seed` on.
pub fn flips(first_seed: u64, count: u64) -> Flips {
    let began = Instant::now();
    let mut all = Flips::default();
    for seed in first_seed..first_seed + count {
        all.runs += 1;
        match std::panic::catch_unwind(AssertUnwindSafe(|| flip(seed))) {
            Ok(Ok(Met::Refused)) => all.refused += 1,
            Ok(Ok(Met::Started { is_shortened })) => all.shortened += u64::from(is_shortened),
            Ok(Err(violations)) => all.failures.push((seed, violations)),
            Err(_) => all.failures.push((seed, vec!["a panic".to_owned()])),
        }
    }
    all.real = began.elapsed();
    all
}

enum Met {
    Refused,
    Started { is_shortened: bool },
}

fn options() -> NodeOptions {
    NodeOptions { segment_bytes: 64 << 10, log_bytes: Some(64 << 10), ..NodeOptions::default() }
}

/// A disk with acknowledged rows, and what clients know of them.
fn written(seed: u64) -> Result<(Disk, History), String> {
    let mut cluster = Cluster::new(seed, options(), None);
    cluster.start(2).map_err(|error| error.to_string())?;
    ask(&mut cluster, prepare).ok_or("no answer")?.map_err(|error| error.to_string())?;
    let history = Shared::default();
    let (rows, shared) = (RowsOptions { clients: 2, requests: 25, ..RowsOptions::default() }, history.clone());
    let working = cluster.world.start(cluster.clients, false, vec![move |runtime| work(runtime, rows, shared)]);
    cluster.run_until(|_| working.is_over(), WORKLOAD_AT_MOST);
    let disk = cluster.world.fork_disk(cluster.node).after_power_cut(Keep::Everything);
    drop(cluster);
    Ok((disk, history.take()))
}

fn flip(seed: u64) -> Result<Met, Vec<String>> {
    let (disk, mut history) = written(seed).map_err(|what| vec![what])?;
    let mut cluster = Cluster::new(seed, options(), Some(disk));
    let (files, bits) = (["commitlog", "metadata.log", ""][seed as usize % 3], 1 + seed as usize % 3);
    let mut random = (0..).map(|n: u64| (seed ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
    cluster.world.with_disk(cluster.node, |disk| disk.flip_bits(files, bits, || random.next().unwrap_or(0)));
    match cluster.start(1 + seed as u16 % 3) {
        Ok(_) => {}
        Err(StartFailure::Refused(sentence)) if sentence.contains("/data") => return Ok(Met::Refused),
        Err(other) => return Err(vec![format!("it should say which file is damaged: {other}")]),
    }
    // Another world, whose time is not the history's: all of that has been.
    let as_of = u64::MAX;
    // A table that the damaged log does not know any more is nothing invented.
    let Ok(rows) = read_all(&mut cluster) else { return Ok(Met::Started { is_shortened: true }) };
    let is_shortened = !checker::check(&history, &rows, as_of, Promises::TODAY).is_empty();
    // Nothing counts as acknowledged: what is left to check is that nothing is invented, and batches of one log are whole. A damaged
    // end is taken for a torn one, and another shard's log may say that what lay there was delivered.
    for write in &mut history.writes {
        write.acknowledged = None;
        write.batch = write.batch.filter(|batch| batch.is_one_partition);
    }
    let violations = checker::check(&history, &rows, as_of, Promises::TODAY);
    if violations.is_empty() { Ok(Met::Started { is_shortened }) } else { Err(violations) }
}
