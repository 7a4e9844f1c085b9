//! The registered domains, by number, with their types erased: the log knows bytes alone.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

use super::domain::{Domain, DomainId};
use super::entry::{Entry, Part};
use crate::error::{DecodeError, invalid};
use crate::local::TableKey;

/// A change or a state of some domain.
pub(super) type Opaque = Box<dyn Any>;

/// The domains of a process, registered at its start. Clones are the same domains.
#[derive(Clone, Default)]
pub struct Domains {
    by_id: Rc<BTreeMap<DomainId, Registered>>,
}

/// A domain's functions without its types. Each takes what another of the same domain gave.
#[derive(Clone, Copy)]
pub(super) struct Registered {
    name: &'static str,
    version: u8,
    decode: fn(u8, &[u8]) -> Result<Opaque, DecodeError>,
    pub(super) empty: fn() -> Opaque,
    pub(super) apply: fn(&dyn Any, Vec<Opaque>) -> Opaque,
    snapshot: fn(&dyn Any) -> Option<Vec<u8>>,
    gives_room_back: fn(&dyn Any) -> bool,
    live_tables: fn(&dyn Any) -> BTreeSet<TableKey>,
}

const OWN: &str = "a domain's functions are given the domain's own values";

impl Registered {
    fn of<D: Domain>() -> Registered {
        Registered {
            name: D::NAME,
            version: D::VERSION,
            decode: |version, bytes| Ok(Box::new(D::decode(version, bytes)?)),
            empty: || Box::new(D::State::default()),
            apply: |state, changes| {
                let changes = changes.into_iter().map(|change| *change.downcast::<D::Change>().expect(OWN));
                Box::new(D::apply(state.downcast_ref().expect(OWN), changes.collect()))
            },
            snapshot: |state| D::snapshot(state.downcast_ref().expect(OWN)),
            gives_room_back: |change| D::gives_room_back(change.downcast_ref().expect(OWN)),
            live_tables: |state| D::live_tables(state.downcast_ref().expect(OWN)),
        }
    }
}

impl Domains {
    /// No domain: a log that holds entries cannot be opened with it.
    pub fn none() -> Domains {
        Domains::default()
    }

    /// These domains and `D`. Panics if its number is registered.
    #[must_use]
    pub fn with<D: Domain>(self) -> Domains {
        assert!(D::VERSION > 0, "version 0 of domain {} is none", D::NAME);
        let mut by_id = Rc::unwrap_or_clone(self.by_id);
        if let Some(other) = by_id.insert(D::ID, Registered::of::<D>()) {
            panic!("domains {} and {} have the same number, {}", other.name, D::NAME, D::ID);
        }
        Domains { by_id: Rc::new(by_id) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (DomainId, &Registered)> {
        self.by_id.iter().map(|(id, domain)| (*id, domain))
    }

    /// The change that a part is.
    pub(super) fn decode(&self, part: &Part) -> Result<Opaque, DecodeError> {
        let domain = self.by_id.get(&part.domain).ok_or(DecodeError::UnknownDomain { domain: part.domain.0 })?;
        if part.version > domain.version {
            return Err(DecodeError::NewerVersion { version: part.version, supported: domain.version });
        }
        if part.version == 0 {
            return Err(invalid(format!("a change of domain {} has format version 0", domain.name)));
        }
        (domain.decode)(part.version, &part.bytes)
    }

    /// A domain's state after changes that [`Domains::decode`] gave.
    pub(super) fn apply(&self, id: DomainId, state: &dyn Any, changes: Vec<Opaque>) -> Opaque {
        let domain = self.by_id.get(&id).expect("what decodes a change is registered");
        (domain.apply)(state, changes)
    }

    /// True if all parts of the entry give room back.
    ///
    /// Panics if a part is no change of a registered domain: what is proposed was encoded by its domain.
    pub(crate) fn gives_room_back(&self, entry: &Entry) -> bool {
        let mut parts = entry.parts().iter();
        parts.all(|part| match (self.decode(part), self.by_id.get(&part.domain)) {
            (Ok(change), Some(domain)) => (domain.gives_room_back)(&*change),
            (Err(error), _) => panic!("a proposed change of domain {} cannot be decoded: {error}", part.domain),
            (Ok(_), None) => panic!("domain {} is not registered", part.domain),
        })
    }

    /// Fails if the part is no change of its domain.
    pub(crate) fn check(&self, part: &Part) -> Result<(), DecodeError> {
        self.decode(part).map(drop)
    }

    /// The part that makes a domain's `state` of its default state.
    pub(super) fn snapshot(&self, id: DomainId, state: &dyn Any) -> Option<Part> {
        let domain = self.by_id.get(&id)?;
        (domain.snapshot)(state).map(|bytes| Part { domain: id, version: domain.version, bytes })
    }

    /// The tables that exist by a domain's `state`.
    pub(super) fn live_tables(&self, id: DomainId, state: &dyn Any) -> BTreeSet<TableKey> {
        self.by_id.get(&id).map(|domain| (domain.live_tables)(state)).unwrap_or_default()
    }
}

impl fmt::Debug for Domains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.by_id.iter().map(|(id, domain)| (id, domain.name))).finish()
    }
}
