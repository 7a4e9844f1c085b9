//! The disks of the nodes, with the fence against one that is older than it was. A node reports in each heartbeat how far its disk has the cluster's log and its own commit
//! logs. The others keep that, on disk too. One that later reports less was started on a copy of its disk.
//!
//! States and bytes: `docs/internals/membership.md`.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};

use membership::{Finding, Heard};
use metadata::Position;
use metadata::group::Heartbeat;
use planted::{Bug, Planted};
use runtime::{AlignedBuf, OpenOptions, Runtime};
use topology::HostId;
use topology::nodes::{NodeState, Registry};

/// The reports of the other nodes, in the data folder.
const FILE_NAME: &str = "peer-positions";
/// The name it has until all of it is on the disk.
const NEW_FILE_NAME: &str = "peer-positions.new";

/// Knowledge of the nodes' disks, this one's too.
pub(super) struct Disks {
    dir: PathBuf,
    planted: Planted,
    heard: RefCell<Heard>,
    /// Ends of this node's commit logs on its disk, a moment ago.
    ends: RefCell<Vec<Position>>,
    /// Another node has heard more of this one than its disk has.
    own_is_older: Cell<bool>,
    is_writing: Cell<bool>,
}

impl Disks {
    /// Knows nothing yet. `dir` is this node's data folder.
    pub(super) fn new(dir: &Path, planted: Planted) -> Disks {
        Disks {
            dir: dir.to_owned(),
            planted,
            heard: RefCell::default(),
            ends: RefCell::default(),
            own_is_older: Cell::new(false),
            is_writing: Cell::new(false),
        }
    }

    /// Reads what an earlier start heard. Before another node is dialled.
    pub(super) async fn load(&self, runtime: &Runtime, group: u128) {
        let path = self.dir.join(FILE_NAME);
        match read(runtime, &path, group).await {
            Ok(heard) => _ = self.heard.replace(heard),
            Err(error) => tracing::error!(
                path = %path.display(), %error,
                "cannot read the positions that other nodes reported; a disk that is older than it was may go undetected"
            ),
        }
    }

    /// Takes note of where this node's commit logs end.
    pub(super) fn note_ends(&self, ends: Vec<storage::ReplayPosition>) {
        let position = |at: storage::ReplayPosition| Position { boot: at.boot, shard: at.shard, sequence: at.sequence };
        self.ends.replace(ends.into_iter().map(position).collect());
    }

    /// True if the node has reported less than before: its votes and acknowledgements do not count.
    pub(super) fn is_older(&self, host_id: HostId) -> bool {
        self.heard.borrow().is_older(host_id)
    }

    /// Completes a heartbeat to `to`, by this node's disk and the receiver's.
    pub(super) fn describe(&self, to: HostId, is_whole: bool, heartbeat: &mut Heartbeat) {
        let (heard, ends) = (self.heard.borrow(), self.ends.borrow());
        let is_reported = |at: &&Position| is_whole || at.boot == heartbeat.boot;
        heartbeat.positions = ends.iter().filter(is_reported).copied().collect();
        heartbeat.is_whole = is_whole;
        heartbeat.older = heard.is_older(to).then(|| heard.epoch(to));
    }

    /// Judges a heartbeat of a node of the cluster, and keeps it. `doubted_since`: its boot that is noted to have begun on an older disk. False if it says nothing of its sender's disk.
    pub(super) fn hear(&self, from: HostId, doubted_since: Option<u64>, heartbeat: &Heartbeat) -> bool {
        let was_older = self.is_older(from);
        let finding = self.heard.borrow_mut().hear(from, doubted_since, heartbeat);
        if finding == Finding::Older && !was_older {
            tracing::error!(
                host = %from, boot = heartbeat.boot,
                "the disk of a node is older than it was: it has less than it reported before; its votes do not count"
            );
        }
        if heartbeat.older.is_some() && !self.own_is_older.replace(true) {
            tracing::error!(
                by = %from,
                "the disk of this node is older than it was: another node has heard more of it; this node stops voting in the metadata group"
            );
        }
        finding != Finding::Unknown
    }

    /// True if another node has heard more of this one than its disk has.
    pub(super) fn own_is_older(&self) -> bool {
        self.own_is_older.get()
    }

    /// True if the cluster is to note that this node's disk is older than it was: one in state Normal loses that, any other one is in doubt once for each start that
    /// another node has heard more of. `has_lost_log`: it has lost its part of the cluster's log, in this start or an earlier one.
    pub(super) fn is_to_be_noted(&self, registry: &Registry, own: HostId, boot: u64, has_lost_log: bool) -> bool {
        // The note names the registered start.
        let Some(node) = registry.node(own).filter(|node| node.start.boot.number == boot) else { return false };
        match (node.state, registry.doubted_since(own)) {
            (NodeState::Normal, _) | (_, None) => self.own_is_older() || has_lost_log,
            (_, Some(noted)) => self.own_is_older() && noted < boot,
        }
    }

    /// Writes what was heard since the last time of the nodes that `is_kept` names.
    pub(super) async fn keep(&self, runtime: &Runtime, group: u128, is_kept: impl Fn(HostId) -> bool) {
        if self.planted.is(Bug::PositionsNotPersisted) || self.is_writing.get() {
            return;
        }
        self.heard.borrow_mut().retain(is_kept);
        let Some(bytes) = self.heard.borrow_mut().take_changes(group) else { return };
        self.is_writing.set(true);
        if let Err(error) = write(runtime, &self.dir, &bytes).await {
            tracing::warn!(%error, "cannot write the positions that other nodes reported; retrying");
            self.heard.borrow_mut().put_back();
        }
        self.is_writing.set(false);
    }
}

async fn read(runtime: &Runtime, path: &Path, group: u128) -> io::Result<Heard> {
    let bytes = match runtime.read_file(path).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Heard::default()),
        bytes => bytes?,
    };
    Heard::decode(group, &bytes).map_err(io::Error::other)
}

/// Replaces the file by one with these bytes, durably.
async fn write(runtime: &Runtime, dir: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = dir.join(NEW_FILE_NAME);
    let mut buffer = AlignedBuf::with_capacity(bytes.len());
    buffer.extend_from_slice(bytes);
    let options = OpenOptions { write: true, create: true, truncate: true, is_private: true, ..OpenOptions::default() };
    let file = runtime.open(&new, options).await?;
    file.write_at(buffer, 0).await.0?;
    file.sync_all().await?;
    drop(file);
    runtime.rename(&new, &dir.join(FILE_NAME)).await?;
    runtime.sync_dir(dir).await
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use topology::nodes::{Address, Boot, Features, NodeChange, RegisteredNode, Release, Start};

    use super::*;

    const OWN: HostId = HostId([1; 16]);

    /// The registry has this node in such a state, in its boot 2.
    fn registry(state: NodeState) -> Registry {
        let address = Address::new([10, 0, 0, 1].into(), 7000);
        let start = Start {
            boot: Boot { number: 2, word: 1 },
            internode: address,
            native: address,
            shard_count: 1,
            release: Release { major: 0, minor: 1, patch: 0 },
            features: Features(0),
        };
        let (datacenter, rack, tokens) = ("datacenter1".to_owned(), "rack1".to_owned(), Vec::new());
        let node = RegisteredNode { state, datacenter, rack, tokens, start };
        Registry::default().apply([NodeChange::Put(OWN, Rc::new(node))])
    }

    #[test]
    fn an_older_disk_is_to_be_noted_once_for_each_start_in_whatever_state_the_node_is() {
        let disks = Disks::new(Path::new("nowhere"), Planted::NONE);
        let is_due = |registry: &Registry, boot| disks.is_to_be_noted(registry, OWN, boot, false);
        let states = [NodeState::Joining, NodeState::Normal, NodeState::Leaving, NodeState::Regressed];
        assert!(!states.into_iter().any(|state| is_due(&registry(state), 2)), "nothing was heard");
        // An earlier start has lost it.
        let has_lost = |registry: &Registry| disks.is_to_be_noted(registry, OWN, 2, true);
        assert!(
            [NodeState::Joining, NodeState::Normal, NodeState::Leaving].into_iter().all(|of| has_lost(&registry(of)))
        );
        disks.own_is_older.set(true);
        for state in states {
            let unknown = registry(state);
            assert!(is_due(&unknown, 2), "{state:?}");
            assert!(!is_due(&unknown, 3), "{state:?}: the start is not registered yet");
            let earlier = unknown.apply([NodeChange::Doubted(OWN, 1), NodeChange::Renewed(OWN)]);
            assert!(is_due(&earlier, 2), "{state:?}: it was another disk");
            let noted = earlier.apply([NodeChange::Doubted(OWN, 2)]);
            let renewed = noted.apply([NodeChange::Renewed(OWN)]);
            // In state Normal it would be asked to vote.
            let is_normal = state == NodeState::Normal;
            assert!([noted, renewed].iter().all(|known| is_due(known, 2) == is_normal && has_lost(known) == is_normal));
        }
    }
}
