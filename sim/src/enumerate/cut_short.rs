//! An operator's work that a power cut ends at a mark: the state in which it is half done, whatever the seed.

use planted::Planted;
use runtime::sim::Keep;

use super::upkeep::{self, FILES, STEP_AT_MOST, Taken};
use super::{Recorded, SHARDS};
use crate::checker::{self, Promises};
use crate::cluster::Cluster;
use crate::run::read_all;
use crate::workload::Shared;

/// More files than any refresh here names.
const NAMED_MAX: u64 = 100;

/// Runs until the mark is reached for the `nth` time from now on. False: the work ended before.
fn until_mark(
    cluster: &mut Cluster,
    mark: &str,
    nth: u64,
    work: impl Future<Output = Result<(), String>>,
) -> Result<bool, String> {
    let due = stdx::marks::count(mark) + nth;
    let mut work = std::pin::pin!(work);
    let either = std::future::poll_fn(|context| match work.as_mut().poll(context) {
        _ if stdx::marks::count(mark) >= due => std::task::Poll::Ready(Ok(true)),
        std::task::Poll::Ready(done) => std::task::Poll::Ready(done.map(|()| false)),
        std::task::Poll::Pending => std::task::Poll::Pending,
    });
    cluster.run_beside(either, STEP_AT_MOST).unwrap_or_else(|| Err(format!("'{mark}' was not reached in time")))
}

/// A power cut when a snapshot has the first of its files: it must not say that it is whole.
pub fn snapshot_cut_short(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    let (mut cluster, history) = (upkeep::new_cluster(seed, planted), Shared::default());
    let table_made = upkeep::begin(&mut cluster)?;
    upkeep::fill(&mut cluster, &history, FILES)?;
    let began = cluster.world.now().as_nanos();
    let questions = cluster.questions();
    if !until_mark(&mut cluster, "file named for a snapshot", 1, upkeep::snapshot(&questions))? {
        return Err("the snapshot named no file".to_owned());
    }
    let as_of = cluster.world.now().as_nanos();
    cluster.world.crash(cluster.node, Keep::Everything);
    let recorded =
        Recorded { seed, history: history.take(), boundaries: Vec::new(), table_made, snapshots: Vec::new() };
    Ok(Taken { began, ended: u64::MAX }.check(&mut cluster, &recorded, as_of))
}

/// A power cut when a refresh has named its first file for a shard, then its second, and so on to the last: the rows are back, or none is.
pub fn refresh_cut_short(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    for nth in 1..NAMED_MAX {
        let (mut cluster, history) = (upkeep::new_cluster(seed, planted), Shared::default());
        upkeep::ready_to_refresh(&mut cluster, &history, 2)?;
        let questions = cluster.questions();
        if !until_mark(&mut cluster, "file named by a refresh", nth, upkeep::refresh(&questions))? {
            return if nth > 2 { Ok(Vec::new()) } else { Err("the refresh named too few files".to_owned()) };
        }
        let as_of = cluster.world.now().as_nanos();
        cluster.world.crash(cluster.node, Keep::Nothing);
        history.borrow_mut().ends.push(as_of);
        if let Err(what) = upkeep::start(&mut cluster, SHARDS[0]) {
            return Ok(vec![what]);
        }
        let (rows, history) = (read_all(&mut cluster)?, history.take());
        let mut violations = checker::check(&history, &rows, as_of, Promises::TODAY);
        violations
            .extend(history.restores.first().and_then(|restore| checker::check_refresh(&history, &rows, restore)));
        if !violations.is_empty() {
            return Ok(violations);
        }
    }
    Err(format!("a refresh named {NAMED_MAX} files"))
}
