//! The receiver's side: one shard copies what it owns of some ranges of a table, unit by unit.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use internode::Peer;
use planted::Bug;
use runtime::Runtime;
use storage::{CopyTarget, PurgeHold};
use topology::{HostId, Token, TokenRange};

use super::ending::Ending;
use super::error::CopyFailed;
use super::figures::Progress;
use super::job::{CopyJob, units_of};
use super::message::{Owner, RANGES_MAX};
use super::pull::Pull;
use super::verbs::Bound;
use crate::plan::Placement;
use crate::replica::{ReplicaError, Shards};

/// The longest that a source may take until it is greeted.
const GREETED_MAX: Duration = Duration::from_secs(10);
/// The rest between two looks whether it is.
const LOOK: Duration = Duration::from_millis(50);

/// The rest between two times that sources hear that their copies are in use: those that are not pulled at the moment too.
const KEEP_EVERY: Duration = Duration::from_secs(15);

/// A shard that copies.
pub(crate) struct Receiver {
    pub(crate) shards: Rc<Shards>,
    pub(crate) placement: Rc<Placement>,
}

impl Receiver {
    /// Copies all units of a job, one after the other. An error leaves whole units, and nothing of the one that it was at.
    /// Ordered to end, it does so at its next step: a unit that is being written or named goes on until that is done.
    pub(super) async fn copy(&self, job: &CopyJob, progress: &Progress, ending: &Ending) -> Result<(), CopyFailed> {
        let gate = self.shards.fence.gate(self.shards.here(), job.planned);
        gate.reach().await.map_err(|lags| CopyFailed::Refused(ReplicaError::from(lags)))?;
        self.check(job)?;
        // Before the first source is opened: what that holds may be older than a tombstone that is written here meanwhile.
        let _hold = PurgeHold::begin(&self.shards.storage, job.table).map_err(|_| CopyFailed::Changed)?;
        let ranges = Rc::new(self.ranges_left(job));
        if ranges.is_empty() {
            return Ok(());
        }
        let mut sources: Vec<HostId> = job.sources.clone();
        // All receivers take their places at sources in the same order, so that none waits for another one in a circle.
        sources.sort_unstable();
        let mut pulls = Vec::new();
        for host in sources {
            pulls.extend(ending.or(self.pulls_of(host, job, &ranges)).await??);
        }
        let _keeper = Bound::spawn(&self.shards.runtime, keep_open(self.shards.runtime.clone(), pulls.clone()));
        let mut cuts: Vec<Vec<Token>> = vec![Vec::new(); ranges.len()];
        for pull in &pulls {
            for (most, cuts) in cuts.iter_mut().zip(ending.or(pull.open()).await??) {
                if cuts.len() > most.len() {
                    *most = cuts;
                }
            }
        }
        let units = ranges.iter().zip(&cuts).flat_map(|(range, cuts)| units_of(*range, cuts));
        let units: Vec<TokenRange> = units.collect();
        progress.change(|figures| figures.units = units.len() as u64);
        // Units that had nothing are confirmed with the next one.
        let mut empty: Option<TokenRange> = None;
        for unit in units {
            let after = empty.filter(|empty| empty.end == unit.after).map_or(unit.after, |empty| empty.after);
            let confirmed = TokenRange { after, end: unit.end };
            let files = self.copy_unit(job, (unit, confirmed), &pulls, (progress, ending)).await?;
            empty = (files == 0).then_some(confirmed);
        }
        Ok(())
    }

    /// The ranges of a job without those that are confirmed. These need no second copy: later writes were sent to this node too.
    fn ranges_left(&self, job: &CopyJob) -> Vec<TokenRange> {
        let Some(name) = job.confirms else { return job.ranges.clone() };
        let confirmed = storage::confirmed(&self.shards.storage, name);
        let mut left: Vec<TokenRange> = job.ranges.iter().flat_map(|range| confirmed.lacks_of(*range)).collect();
        if left == job.ranges {
            return left;
        }
        stdx::sometimes!("a copy goes on where it was");
        if self.shards.storage.planted().is(Bug::UnitSkippedAtResume) {
            left.pop();
        }
        // In pieces they may be more than sources take.
        if left.len() > RANGES_MAX { job.ranges.clone() } else { left }
    }

    /// Copies a unit, by which a range of the job is confirmed. Gives its files.
    async fn copy_unit(
        &self,
        job: &CopyJob,
        (unit, confirmed): (TokenRange, TokenRange),
        pulls: &[Rc<Pull>],
        (progress, ending): (&Progress, &Ending),
    ) -> Result<usize, CopyFailed> {
        let storage = |error: storage::CopyError| CopyFailed::of_storage(unit, &error);
        let mut target = CopyTarget::begin(&self.shards.storage, job.table, unit).map_err(storage)?;
        if let Some(name) = job.confirms {
            target.confirm(name, confirmed);
        }
        for pull in pulls {
            pull.unit(unit, &mut target, (progress, ending)).await?;
        }
        ending.check()?;
        if !self.shards.storage.planted().is(Bug::LateCopyApplied) {
            self.check(job)?;
        }
        // From here on storage sees to it that a truncation is not undone.
        let copied = target.finish().await.map_err(storage)?;
        progress.change(|figures| {
            figures.units_done += 1;
            figures.files += copied.files as u64;
        });
        Ok(copied.files)
    }

    /// The ring and the table are as they were when the job was planned.
    fn check(&self, job: &CopyJob) -> Result<(), CopyFailed> {
        let gate = self.shards.fence.gate(self.shards.here(), job.planned);
        gate.check_table(job.table).map_err(|_| CopyFailed::Changed)
    }

    /// Copies from the shards of a source that may have what this shard owns.
    async fn pulls_of(
        &self,
        host: HostId,
        job: &CopyJob,
        ranges: &Rc<Vec<TokenRange>>,
    ) -> Result<Vec<Rc<Pull>>, CopyFailed> {
        let (peer, count) = self.greeted(host).await?;
        let (own, sharder) = (self.shards.here().0, self.shards.sharder);
        let owner = Owner { shard: own, sharder };
        // Where the counts are the same so are the owners: nodes do not choose their ignored bits.
        let asked = if count == sharder.shards { own..own + 1 } else { 0..count };
        let pull = |shard: u16| {
            Rc::new(Pull {
                runtime: self.shards.runtime.clone(),
                storage: self.shards.storage.clone(),
                peer: peer.clone(),
                shard: (shard, count),
                own: owner,
                table: job.table,
                planned: job.planned,
                ranges: Rc::clone(ranges),
                copy: Cell::new(None),
            })
        };
        Ok(asked.map(pull).collect())
    }

    /// The connection to a node, once it was greeted, and how many shards it has.
    async fn greeted(&self, host: HostId) -> Result<(Peer, u16), CopyFailed> {
        let runtime = &self.shards.runtime;
        let began = runtime.now();
        loop {
            let peer = self.placement.peer(host).ok_or(CopyFailed::NoNode { host })?;
            match peer.shard_count() {
                count if count > 0 && peer.is_up() => return Ok((peer, count)),
                _ if runtime.now() - began >= GREETED_MAX => {
                    return Err(CopyFailed::Silent { node: peer.address() });
                }
                _ => runtime.sleep(LOOK).await,
            }
        }
    }
}

/// Tells the sources again and again that their copies are in use.
async fn keep_open(runtime: Runtime, pulls: Vec<Rc<Pull>>) {
    loop {
        runtime.sleep(KEEP_EVERY).await;
        for pull in &pulls {
            pull.keep().await;
        }
    }
}
