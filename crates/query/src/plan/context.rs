//! The context that a statement is planned in, and the number that names a plan.

use std::num::NonZeroU64;

use planted::Planted;

use crate::Guardrails;
use crate::catalog::Catalog;

/// The context that a statement is planned in.
#[derive(Clone, Copy)]
pub(crate) struct PlanContext<'a> {
    /// The schema.
    pub(crate) catalog: &'a Catalog,
    /// The keyspace for names without one.
    pub(crate) keyspace: Option<&'a str>,
    /// The guardrails for statements.
    pub(crate) guardrails: &'a Guardrails,
    /// The plan's number, of no other plan.
    pub(crate) number: PlanNumber,
    /// True if permissions are checked.
    pub(crate) checks_access: bool,
    /// True for a client without UNMASK on the table: values of masked columns are shown as their masks show them.
    pub(crate) masked: bool,
    /// A bug that was planted on purpose.
    pub(crate) planted: Planted,
}

/// The name of a plan, by which a session remembers that it may run it: no two plans of a shard have the same number, and a plan that is made again has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlanNumber(NonZeroU64);

impl PlanNumber {
    /// The number of a shard's first plan.
    pub(crate) const FIRST: PlanNumber = PlanNumber(NonZeroU64::MIN);

    /// The next number.
    pub(crate) fn next(self) -> PlanNumber {
        PlanNumber(self.0.checked_add(1).expect("no shard makes as many plans"))
    }

    /// The number of all plans of a text, wherever its names lead: a mistake that is made on purpose alone.
    pub(crate) fn of_text(text: &str) -> PlanNumber {
        let hash = text
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        PlanNumber(NonZeroU64::MIN | hash)
    }

    /// As an integer, which is not 0.
    #[inline]
    pub(crate) fn get(self) -> u64 {
        self.0.get()
    }
}
