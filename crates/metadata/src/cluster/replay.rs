//! Entries applied in order: decoded one by one, so that a bad one is found at its place, and applied by each domain in one call, so that a long
//! log copies no state once per entry.

use std::collections::BTreeMap;

use super::domain::DomainId;
use super::domains::{Domains, Opaque};
use super::entry::Entry;
use super::state::ClusterState;
use crate::error::DecodeError;

/// The entries of a log so far.
pub(crate) struct Replay {
    domains: Domains,
    changes: BTreeMap<DomainId, Vec<Opaque>>,
}

impl Replay {
    pub(crate) fn new(domains: &Domains) -> Replay {
        Replay { domains: domains.clone(), changes: BTreeMap::new() }
    }

    /// Takes the next entry: all of its parts, or none of them and an error.
    pub(crate) fn push(&mut self, entry: &Entry) -> Result<(), DecodeError> {
        let decoded = entry.parts().iter().map(|part| Ok((part.domain, self.domains.decode(part)?)));
        for (domain, change) in decoded.collect::<Result<Vec<_>, DecodeError>>()? {
            self.changes.entry(domain).or_default().push(change);
        }
        Ok(())
    }

    /// The state after all entries.
    pub(crate) fn finish(mut self) -> ClusterState {
        let states = self.domains.iter().map(|(id, domain)| {
            let (empty, changes) = ((domain.empty)(), self.changes.remove(&id).unwrap_or_default());
            let is_default = changes.is_empty();
            (id, if is_default { empty } else { (domain.apply)(&*empty, changes) })
        });
        let states = states.collect();
        ClusterState::new(self.domains.clone(), states)
    }
}
