//! Requests that are traced: those that ask for it, and as many of the others as an operator wants. They are run as tasks, whatever they are, so that
//! the synchronous way knows nothing of it.

use std::cell::Cell;
use std::rc::Rc;

use cluster::coordinator::{Failure, PlannedMutation, ReplicaError, are_local};
use cql_protocol::request::Request;
use cql_protocol::response::insert_tracing_id;
use cql_protocol::{Flags, FrameHeader};
use mutation::ReadCommand;
use runtime::ShardId;
use storage::{Ack, TryOutcome};
use topology::ConsistencyLevel;

use super::reply::replace_by_error;
use super::run::{Ran, run_planning_again};
use super::{Engine, count};
use crate::Session;
use crate::control::{ControlReply, ControlRequest};
use crate::error::QueryError;
use crate::trace::{Trace, Traced};

/// Bytes of a statement in which passwords are looked for that a message might quote.
const STATEMENT_BYTES_MAX: usize = 64 << 10;

impl Engine {
    /// Whether a request is to be traced that does not ask for it.
    #[inline]
    pub fn is_traced_by_chance(&self) -> bool {
        let probability = self.inner.trace_probability.get();
        probability > 0.0 && self.draw(probability)
    }

    #[cold]
    fn draw(&self, probability: f64) -> bool {
        const STEPS: f64 = (1u64 << 53) as f64;
        ((self.inner.runtime.random_u64() >> 11) as f64) < probability * STEPS
    }

    /// How likely a request of this shard's clients is traced that does not ask for it, from 0 to 1.
    pub fn trace_probability(&self) -> f64 {
        self.inner.trace_probability.get()
    }

    /// Changes that, until the process ends.
    pub fn set_trace_probability(&self, probability: f64) {
        self.inner.trace_probability.set(probability);
    }

    /// [`Engine::run`] for a request that is traced. `system_traces` has its steps from then on, under an id that the reply has if it was asked
    /// for.
    pub async fn run_traced(&self, session: &Session, header: &FrameHeader, body: &[u8]) -> Ran {
        let inner = &*self.inner;
        count(&inner.counters.requests_run);
        let client = session.client().map(|address| address.ip());
        let trace = Trace::begin(&inner.runtime, &inner.clock, client);
        let mut out = Vec::with_capacity(256);
        let is_scan = Cell::new(false);
        let request = run_planning_again(self, session, (header, body), (Some(&trace), &is_scan), &mut out);
        if let Err(error) = inner.runtime.tracing().under(Rc::clone(trace.steps()), request).await {
            trace.step(refused(&error, header, body));
            replace_by_error(&mut out, 0, header, error);
        }
        let (traced, steps) = trace.finish();
        if header.flags.contains(Flags::TRACING) {
            insert_tracing_id(&mut out, 0, traced.id);
        }
        inner.traces.borrow_mut().push(inner.runtime.now(), traced, steps);
        Ran { frame: out, is_scan: is_scan.get() }
    }

    /// What this shard keeps of traced requests, or of the one with this id.
    pub(super) fn traces(&self, id: Option<&[u8]>) -> Vec<Traced> {
        let uuid = |micros, last: &mut u64| self.inner.clock.uuid_after(micros, last);
        self.inner.traces.borrow_mut().find(self.inner.runtime.now(), id, uuid)
    }

    /// The same of all shards.
    pub(super) async fn all_traces(&self, id: Option<&[u8]>) -> Result<Vec<Traced>, QueryError> {
        let replies = self.on_all_shards(|| ControlRequest::Traces { id: id.map(<[u8]>::to_vec) }).await?;
        let traces = replies.into_iter().filter_map(|(_, reply)| match reply {
            ControlReply::Traces(traces) => Some(traces),
            _ => None,
        });
        Ok(traces.flatten().collect())
    }

    /// Writes, noting what is done where: on this shard the log's record and its sync each for itself.
    pub(super) async fn write_traced(
        &self,
        trace: &Trace<'_>,
        planned: Vec<PlannedMutation>,
        level: ConsistencyLevel,
    ) -> Result<(), Failure> {
        let coordinator = &self.inner.coordinator;
        let mut shards: Vec<ShardId> = planned.iter().map(|planned| planned.shard).collect();
        shards.sort_unstable();
        shards.dedup();
        let is_here = shards == [coordinator.shard()] && are_local(&planned, level);
        if is_here {
            trace.step(format!("Writing {} mutations on this shard", planned.len()));
            let mutations: Vec<&[u8]> = planned.iter().map(|planned| planned.mutation.as_slice()).collect();
            if let TryOutcome::Done(ack) = coordinator.write_batch_now(&mutations)? {
                trace.step("Appended to the commit log and merged into the memtable".to_owned());
                if let Ack::When(sequence) = ack {
                    let shard = coordinator.shard().0;
                    let synced = coordinator.storage().wait_synced(sequence).await;
                    synced.map_err(|reason| ReplicaError::NotSynced { shard: shard.into(), reason })?;
                    trace.step("The commit log is synced".to_owned());
                }
                return Ok(());
            }
            trace.step("Waiting for room in the commit log or in memory".to_owned());
        } else {
            let shards: Vec<String> = shards.iter().map(|shard| shard.0.to_string()).collect();
            trace.step(format!("Sending {} mutations to the shards {}", planned.len(), shards.join(", ")));
        }
        coordinator.write_batch(planned, level).await?;
        trace.step("All have written and synced".to_owned());
        Ok(())
    }

    /// Notes what a read of one partition reads.
    pub(super) fn trace_read(&self, trace: &Trace<'_>, shard: ShardId, table: &str, command: &ReadCommand<'_>) {
        trace.step(format!("Executing single-partition query on {table}"));
        let coordinator = &self.inner.coordinator;
        if shard != coordinator.shard() {
            trace.step(format!("Asking shard {}, which owns the partition", shard.0));
            return;
        }
        let sources = coordinator.storage().sources(command);
        trace.step(format!(
            "Merging {} memtables and {} of {} SSTables, or what the row cache has of them",
            sources.memtables, sources.files, sources.files_of_table
        ));
    }
}

/// The last step of a request that is refused. The message may quote a piece of the statement, which may be a password.
#[cold]
fn refused(error: &QueryError, header: &FrameHeader, body: &[u8]) -> String {
    let text = match Request::decode(header, body) {
        Ok(Request::Query(request)) => request.text,
        Ok(Request::Prepare(request)) => request.text,
        _ => "",
    };
    // A longer text takes long to look through, and no message quotes a constant as long as that.
    let end = (0..=STATEMENT_BYTES_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("Refused: {}", auth::redact_message(&error.to_string(), &text[..end]))
}
