//! The records of a log, applied in order: what they state of this node, of the cluster, and of this node's part in a group.

use super::record::Record;
use crate::cluster::{ClusterState, Domains, Replay};
use crate::error::{DecodeError, invalid};
use crate::group::{FoundGroup, GroupState};
use crate::local::LocalState;

/// The records of a log so far.
pub(crate) struct History {
    domains: Domains,
    local: LocalState,
    cluster: Replay,
    group: FoundGroup,
    entries: u64,
    count: u64,
}

/// The state that all records of a log result in.
pub struct LogState {
    /// Facts of this node.
    pub local: LocalState,
    /// States of all registered domains.
    pub cluster: ClusterState,
    /// This node's part in a group. Without one, the cluster's state is this node's alone.
    pub group: FoundGroup,
    /// Entries from before the node was of a group.
    pub(crate) entries: u64,
    /// The same state as the group has it.
    pub(crate) group_state: Option<GroupState>,
}

impl History {
    pub(crate) fn new(domains: &Domains) -> History {
        let (local, cluster, group) = (LocalState::default(), Replay::new(domains), FoundGroup::default());
        History { domains: domains.clone(), local, cluster, group, entries: 0, count: 0 }
    }

    /// Takes the next record. After an error it is not to be used any more.
    pub(crate) fn push(&mut self, record: Record) -> Result<(), DecodeError> {
        self.take(record)?;
        self.count += 1;
        Ok(())
    }

    fn take(&mut self, record: Record) -> Result<(), DecodeError> {
        match record {
            Record::Several(records) => return records.into_iter().try_for_each(|record| self.take(record)),
            Record::Local(fact) => self.local.push(fact),
            Record::Entry(_) if self.group.group.is_some() => {
                return Err(invalid("an entry without a place in the group's log"));
            }
            Record::Entry(entry) => {
                self.cluster.push(&entry)?;
                self.entries += 1;
                self.local.pass_entry();
            }
            Record::Group(record) => {
                record.check(&self.domains)?;
                self.group.push(record)?;
                self.local.pass_entry();
            }
        }
        Ok(())
    }

    /// Number of records.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Number of the last start so far.
    pub(crate) fn boot(&self) -> Option<u64> {
        self.local.boot
    }

    /// The state that all records result in.
    pub(crate) fn finish(self) -> Result<LogState, DecodeError> {
        let History { domains, local, cluster, group, entries, .. } = self;
        let group_state = group.state(&domains)?;
        let cluster = match &group_state {
            Some(state) => state.cluster().clone(),
            None => cluster.finish(),
        };
        Ok(LogState { local, cluster, group, entries, group_state })
    }
}
