//! The synchronous way: a prepared write of one row, a read of one partition, answered within the call.

use cql_protocol::request::{Batch, BatchQuery, Execute, Query};
use cql_protocol::{FrameHeader, write_set_keyspace};
use cql_syntax::Statement;

use super::call::Call;
use super::failed::FailedKind;
use super::prepare::TEXT_NOW_BYTES_MAX;
use super::read::check_page_size;
use super::reply::{ReplyTo, replace_by_error, warn_of_use};
use super::{Engine, count, masks};
use crate::error::QueryError;
use crate::execute::bind::{check_count_of_text, with_ordered, with_values};
use crate::plan::{Action, Binds, Plan};
use crate::prepared::{StatementId, statement_id};
use crate::{Outcome, Session};

impl Engine {
    /// Answers an EXECUTE if that takes no waiting. The reply is a whole frame, header included, uncompressed.
    #[inline]
    pub fn try_execute(
        &self,
        session: &Session,
        header: &FrameHeader,
        request: &Execute<'_>,
        out: &mut Vec<u8>,
    ) -> Outcome {
        let start = out.len();
        let outcome = self.prepared(request.id).and_then(|prepared| {
            self.inner.authorizer.authorize(session, &prepared.plan, &request.params)?;
            let masked = masks::reads_masked(self, session, &prepared.plan);
            let reply = ReplyTo::new(header, &request.params, request.result_metadata_id).masked(masked);
            let Some(plan) = masks::plan_now(self, &prepared, masked)? else { return Ok(Outcome::MustWait) };
            let call = Call { plan, id: prepared.id, params: &request.params, reply, trace: None };
            let outcome = self.try_call(session, &call, out);
            // Not by `inspect_err`, which would copy each outcome.
            if let Err(error) = &outcome {
                self.inner.failed.note(call.failed_kind(), error);
            }
            let outcome = match outcome? {
                // The session is known here alone, so a task reads from the other shard, or tells it.
                Outcome::OfShard(_) if masked => Outcome::MustWait,
                outcome => outcome,
            };
            if prepared.plan.is_qualified {
                return Ok(outcome);
            }
            match outcome {
                Outcome::MustWait => {}
                // Whoever is to be warned is so by a task, which writes to the reply.
                Outcome::OfShard(_) if session.is_to_be_warned_of_use(&prepared) => return Ok(Outcome::MustWait),
                Outcome::OfShard(_) => {}
                Outcome::Ready | Outcome::AfterSync(_) => warn_of_use(session, &prepared, start, out),
            }
            Ok(outcome)
        });
        self.outcome(outcome, header, start, out)
    }

    /// Answers a QUERY if that takes no waiting.
    pub fn try_query(
        &self,
        session: &Session,
        header: &FrameHeader,
        request: &Query<'_>,
        out: &mut Vec<u8>,
    ) -> Outcome {
        if request.text.len() > TEXT_NOW_BYTES_MAX {
            return Outcome::MustWait;
        }
        let start = out.len();
        let keyspace = session.keyspace();
        let keyspace = request.params.keyspace.or(keyspace.as_deref());
        let plan = self.check_keyspace(request.params.keyspace).and_then(|()| self.plan_text(request.text, keyspace));
        let plan = plan.map_err(|error| self.inner.authorizer.unplanned(session, error));
        let outcome = plan.and_then(|plan| {
            let masked = masks::reads_masked(self, session, &plan);
            let reply = ReplyTo::new(header, &request.params, None).masked(masked);
            let id = statement_id(keyspace, request.text);
            check_count_of_text(&plan.markers, request.params.values)?;
            self.inner.authorizer.authorize(session, &plan, &request.params)?;
            let of_masked = if masked { masks::masked_text(self, &plan, request.text, keyspace)? } else { None };
            let call =
                Call { plan: of_masked.as_ref().unwrap_or(&plan), id, params: &request.params, reply, trace: None };
            let outcome = self.try_call(session, &call, out);
            if let Err(error) = &outcome {
                self.inner.failed.note(call.failed_kind(), error);
            }
            match outcome? {
                // The shard that it is of would plan the text again. The plan that is kept is that of the values themselves: another client may take it.
                Outcome::MustWait | Outcome::OfShard(_) => {
                    self.keep_planned(id, plan);
                    Ok(Outcome::MustWait)
                }
                outcome => Ok(outcome),
            }
        });
        self.outcome(outcome, header, start, out)
    }

    /// Keeps the plan of a text whose task is about to begin, so that the text is not planned twice.
    fn keep_planned(&self, id: StatementId, plan: Plan) {
        /// Tasks begin soon. What is not taken by then is planned again.
        const PLANNED_MAX: usize = 32;
        let mut planned = self.inner.planned.borrow_mut();
        if planned.len() >= PLANNED_MAX {
            planned.pop_front();
        }
        planned.push_back((id, self.inner.catalog.borrow().epoch, plan));
    }

    /// The plan that [`Engine::try_query`] made of a text, if it is still of the present schema.
    pub(super) fn take_planned(&self, id: StatementId) -> Option<Plan> {
        let mut planned = self.inner.planned.borrow_mut();
        let index = planned.iter().position(|(known, _, _)| *known == id)?;
        let (_, epoch, plan) = planned.remove(index)?;
        (epoch == self.inner.catalog.borrow().epoch).then_some(plan)
    }

    /// Answers a BATCH if that takes no waiting.
    pub fn try_batch(
        &self,
        session: &Session,
        header: &FrameHeader,
        request: &Batch<'_>,
        out: &mut Vec<u8>,
    ) -> Outcome {
        let start = out.len();
        // Texts are parsed where there is time for it.
        if request.statements().any(|statement| matches!(statement.query, BatchQuery::Text(_))) {
            return Outcome::MustWait;
        }
        let outcome = self.batch_now(session, header, request, out);
        if let Err(error) = &outcome {
            self.inner.failed.note(Some(FailedKind::Write), error);
        }
        self.outcome(outcome, header, start, out)
    }

    #[inline]
    fn outcome(
        &self,
        outcome: Result<Outcome, QueryError>,
        header: &FrameHeader,
        start: usize,
        out: &mut Vec<u8>,
    ) -> Outcome {
        match outcome {
            Ok(outcome @ (Outcome::MustWait | Outcome::OfShard(_))) => {
                out.truncate(start);
                outcome
            }
            Ok(outcome) => {
                count(&self.inner.counters.requests_now);
                outcome
            }
            Err(error) => {
                replace_by_error(out, start, header, error);
                Outcome::Ready
            }
        }
    }

    #[inline]
    fn try_call(&self, session: &Session, call: &Call<'_>, out: &mut Vec<u8>) -> Result<Outcome, QueryError> {
        check_page_size(call.params)?;
        let plan = call.plan;
        match &plan.action {
            Action::Modify(modification) if plan.is_quick => with_values(&plan.markers, call.params.values, |values| {
                with_ordered(plan, values, |values| {
                    let binds = Binds { values, generated: &[], long_texts_checked: false };
                    if self.is_guarded(&plan.action) && self.is_warned(call, &binds)? {
                        return Ok(Outcome::MustWait);
                    }
                    self.modify_now(modification, &binds, call, out)
                })
            }),
            Action::Select(select) if plan.is_quick => with_values(&plan.markers, call.params.values, |values| {
                with_ordered(plan, values, |values| {
                    let binds = Binds { values, generated: &[], long_texts_checked: false };
                    // Whom guardrails warn is answered where there is time for it.
                    if self.is_guarded(&plan.action) && self.is_warned(call, &binds)? {
                        return Ok(Outcome::MustWait);
                    }
                    self.select_now(select, binds, call, out)
                })
            }),
            Action::Modify(_) if self.is_guarded(&plan.action) => Ok(Outcome::MustWait),
            Action::Modify(modification) if modification.conditions.is_some() => {
                with_values(&plan.markers, call.params.values, |values| {
                    with_ordered(plan, values, |values| self.conditional_now(modification, values, call, out))
                })
            }
            Action::Other(statement) => match &**statement {
                Statement::Use { keyspace } => {
                    self.use_keyspace(session, keyspace)?;
                    write_set_keyspace(out, call.reply.version, call.reply.stream, keyspace);
                    Ok(Outcome::Ready)
                }
                _ => Ok(Outcome::MustWait),
            },
            _ => Ok(Outcome::MustWait),
        }
    }
}
