//! The cluster's state at one moment: each domain's own.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::domain::{Domain, DomainId};
use super::domains::{Domains, Opaque};
use super::entry::{Entry, Part};
use crate::error::DecodeError;
use crate::local::TableKey;

/// The states of all registered domains. A clone shares them until one of the two is changed.
#[derive(Clone)]
pub struct ClusterState {
    domains: Domains,
    states: BTreeMap<DomainId, Rc<dyn Any>>,
}

impl ClusterState {
    pub(super) fn new(domains: Domains, states: BTreeMap<DomainId, Opaque>) -> ClusterState {
        let states = states.into_iter().map(|(id, state)| (id, Rc::from(state))).collect();
        ClusterState { domains, states }
    }

    /// The state of a new cluster.
    pub fn empty(domains: &Domains) -> ClusterState {
        ClusterState::new(domains.clone(), domains.iter().map(|(id, domain)| (id, (domain.empty)())).collect())
    }

    /// The state that a snapshot's parts make of a new cluster's.
    pub(crate) fn of_parts(domains: &Domains, parts: Vec<Part>) -> Result<ClusterState, DecodeError> {
        let mut state = ClusterState::empty(domains);
        let snapshot = (!parts.is_empty()).then(|| Entry::new(parts));
        state.apply_all(snapshot.iter())?;
        Ok(state)
    }

    /// Applies entries in order, each domain's changes in one call: all of them, or none and an error.
    pub(crate) fn apply_all<'e>(&mut self, entries: impl Iterator<Item = &'e Entry>) -> Result<(), DecodeError> {
        let mut changes: BTreeMap<DomainId, Vec<Opaque>> = BTreeMap::new();
        for part in entries.flat_map(Entry::parts) {
            changes.entry(part.domain).or_default().push(self.domains.decode(part)?);
        }
        for (domain, changes) in changes {
            let state = self.states.get_mut(&domain).expect("what decodes a part is registered");
            *state = Rc::from(self.domains.apply(domain, &**state, changes));
        }
        Ok(())
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
        self.snapshot_parts().into_iter().map(Entry::of).collect()
    }

    /// The same as parts, in the order of their domains.
    pub(crate) fn snapshot_parts(&self) -> Vec<Part> {
        self.each().filter_map(|(id, state)| self.domains.snapshot(id, state)).collect()
    }

    fn each(&self) -> impl Iterator<Item = (DomainId, &dyn Any)> {
        self.states.iter().map(|(id, state)| (*id, &**state))
    }
}
