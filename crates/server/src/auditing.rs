//! A shard's part of the audit log: its way to the queue, and the types of prepared statements that it has met. Entries are made by `audited.rs`.

use std::cell::{OnceCell, RefCell};

use audit::{Audit, EntryType};
use cql_protocol::FrameHeader;
use planted::Planted;

/// Prepared statements whose types a shard remembers.
const KNOWN: usize = 256;

/// A prepared statement's id, and its type.
type Known = ([u8; 16], EntryType);

/// A shard's part of the audit log.
#[derive(Default)]
pub(crate) struct Auditing {
    audit: OnceCell<Audit>,
    planted: OnceCell<Planted>,
    known: RefCell<Vec<Option<Known>>>,
}

impl Auditing {
    /// True if no entry is written.
    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        self.audit.get().is_none_or(Audit::is_off)
    }

    /// The shard's way to the log; `None`: it has none.
    pub(crate) fn audit(&self) -> Option<&Audit> {
        self.audit.get()
    }

    /// Takes the shard's way to the log, once.
    pub(crate) fn open(&self, audit: Audit, planted: Planted) {
        assert!(self.audit.set(audit).is_ok(), "the audit log is opened once");
        let _ = self.planted.set(planted);
    }

    /// The bug that was planted on purpose.
    pub(crate) fn planted(&self) -> Planted {
        self.planted.get().copied().unwrap_or_default()
    }

    /// The type of a prepared statement, if it is remembered. An id is its text's, so it never gets another type.
    #[inline]
    pub(crate) fn known(&self, id: &[u8; 16]) -> Option<EntryType> {
        let known = self.known.borrow();
        let (found, kind) = (*known.get(usize::from(id[0]) % KNOWN)?)?;
        (found == *id).then_some(kind)
    }

    pub(crate) fn remember(&self, id: [u8; 16], kind: EntryType) {
        let mut known = self.known.borrow_mut();
        known.resize(KNOWN, None);
        known[usize::from(id[0]) % KNOWN] = Some((id, kind));
    }
}

/// A request that is answered.
#[derive(Clone, Copy)]
pub(crate) struct Audited<'a> {
    pub(crate) header: &'a FrameHeader,
    pub(crate) body: &'a [u8],
    pub(crate) reply: &'a [u8],
    /// The session's keyspace when it came.
    pub(crate) keyspace: Option<&'a str>,
    /// Its arrival, by the shard's clock.
    pub(crate) arrived: runtime::Instant,
}
