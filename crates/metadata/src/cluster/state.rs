//! The cluster's state at one moment: each domain's own.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};

use super::domain::{Domain, DomainId};
use super::domains::{Domains, Opaque};
use super::entry::Entry;
use crate::local::TableKey;

/// The states of all registered domains.
pub struct ClusterState {
    domains: Domains,
    states: BTreeMap<DomainId, Opaque>,
}

impl ClusterState {
    pub(super) fn new(domains: Domains, states: BTreeMap<DomainId, Opaque>) -> ClusterState {
        ClusterState { domains, states }
    }

    /// The state of domain `D`. Panics if it was not registered.
    pub fn of<D: Domain>(&self) -> &D::State {
        let state = self.states.get(&D::ID).and_then(|state| state.downcast_ref());
        state.unwrap_or_else(|| panic!("domain {} was not registered when the log was opened", D::NAME))
    }

    /// The tables that exist by any domain.
    pub(crate) fn live_tables(&self) -> BTreeSet<TableKey> {
        self.each().flat_map(|(id, state)| self.domains.live_tables(id, state)).collect()
    }

    /// The fewest entries that make this state of a new cluster's: one a domain, none for a domain in its default state.
    pub(crate) fn snapshot(&self) -> Vec<Entry> {
        self.each().filter_map(|(id, state)| self.domains.snapshot(id, state)).map(Entry::of).collect()
    }

    fn each(&self) -> impl Iterator<Item = (DomainId, &dyn Any)> {
        self.states.iter().map(|(id, state)| (*id, &**state))
    }
}
