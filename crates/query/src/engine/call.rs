//! A statement with the request that calls it.

use cql_protocol::QueryParams;

use super::failed::FailedKind;
use super::reply::ReplyTo;
use crate::plan::Plan;
use crate::prepared::StatementId;
use crate::trace::Trace;

/// A statement on its way through the engine: what it is and how it was called.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) plan: &'a Plan,
    pub(super) id: StatementId,
    pub(super) params: &'a QueryParams<'a>,
    pub(super) reply: ReplyTo<'a>,
    /// Set where the request asked to be traced, which is never tried on the synchronous way.
    pub(super) trace: Option<&'a Trace<'a>>,
}

impl Call<'_> {
    /// The kind that it is counted as, should it fail.
    #[cold]
    pub(super) fn failed_kind(&self) -> Option<FailedKind> {
        FailedKind::of(&self.plan.action, self.params.consistency.is_serial())
    }

    /// Notes a step, if the request is traced.
    #[inline]
    pub(super) fn step(&self, activity: impl FnOnce() -> String) {
        if let Some(trace) = self.trace {
            trace.step(activity());
        }
    }
}
