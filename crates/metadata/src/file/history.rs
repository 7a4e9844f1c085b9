//! The records of a log, applied in order: what they state of this node, and of the cluster.

use super::record::Record;
use crate::cluster::{ClusterState, Domains, Replay};
use crate::error::DecodeError;
use crate::local::LocalState;

/// The records of a log so far.
pub(crate) struct History {
    local: LocalState,
    cluster: Replay,
    count: u64,
}

impl History {
    pub(crate) fn new(domains: &Domains) -> History {
        History { local: LocalState::default(), cluster: Replay::new(domains), count: 0 }
    }

    /// Takes the next record; after an error it is not taken.
    pub(crate) fn push(&mut self, record: Record) -> Result<(), DecodeError> {
        match record {
            Record::Local(fact) => self.local.push(fact),
            Record::Entry(entry) => {
                self.cluster.push(&entry)?;
                self.local.pass_entry();
            }
        }
        self.count += 1;
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

    /// What all records state.
    pub(crate) fn finish(self) -> (LocalState, ClusterState) {
        (self.local, self.cluster.finish())
    }
}
