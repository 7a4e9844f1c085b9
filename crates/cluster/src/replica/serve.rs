//! The replica's side: what a shard does when another asks for data that it owns.

use std::cell::OnceCell;
use std::rc::Rc;

use mutation::{Position, ReadCommandBuf};
use runtime::{Group, Mesh, MeshSeat, Responder, Runtime};
use schema::TableId;
use storage::reader::{DataPageLimits, DataPageWriter, Page, ReadDone};
use storage::{Ack, ApplyError, BatchId, LogSequence, ReadEnd, Shard, SyncError, TryOutcome};
use topology::Epoch;

use super::acceptor::Acceptor;
use super::apply::{apply_all, apply_error, apply_planned, count_here, is_small, needed_ack, unreadable};
use super::error::ReplicaError;
use super::message::{
    CopyOrder, CopyReply, JobReply, PageLimits, ReadRequest, ReplicaReply, ReplicaRequest, WriteTerms,
};
use super::page::{PageSink, PageWriter};
use super::shards::Obey;
use super::unsynced::Unsynced;
use crate::batches::{BatchName, Copies, Fate};
use crate::fence::{Fence, Gate};
use crate::streaming::{JobOrder, Sources};

/// Of a page of data everything counts as a row.
fn data_limits(limits: PageLimits) -> DataPageLimits {
    DataPageLimits { items: limits.rows, bytes: limits.bytes }
}

/// Takes the seat; requests are served from now on.
pub(crate) fn serve(
    seat: MeshSeat<ReplicaRequest, ReplicaReply>,
    acceptor: &Rc<Acceptor>,
    copies: &Rc<Copies>,
    (sources, jobs): (&Rc<Sources>, &Rc<OnceCell<Obey>>),
) -> Mesh<ReplicaRequest, ReplicaReply> {
    let Acceptor { runtime, storage, fence, .. } = &**acceptor;
    let shard = runtime.shard().0;
    let acknowledge = move |responder: Responder<ReplicaReply>, synced: Result<(), SyncError>| {
        responder.reply(match synced {
            Ok(()) => ReplicaReply::Written,
            Err(reason) => ReplicaReply::Failed(ReplicaError::NotSynced { shard: shard.into(), reason }),
        });
    };
    let unsynced = Unsynced::new(runtime, storage.clone(), acknowledge);
    let replica = Rc::new(Replica {
        runtime: runtime.clone(),
        storage: storage.clone(),
        fence: Rc::clone(fence),
        copies: Rc::clone(copies),
        acceptor: Rc::clone(acceptor),
        sources: Rc::clone(sources),
        jobs: Rc::clone(jobs),
        unsynced,
    });
    seat.open(runtime, move |_, request, responder| replica.handle(request, responder))
}

struct Replica {
    runtime: Runtime,
    storage: Shard,
    fence: Rc<Fence>,
    copies: Rc<Copies>,
    acceptor: Rc<Acceptor>,
    sources: Rc<Sources>,
    jobs: Rc<OnceCell<Obey>>,
    /// Applied writes whose record is not yet on the disk. Bounded by the mesh's credits.
    unsynced: Unsynced<Responder<ReplicaReply>>,
}

impl Replica {
    fn handle(self: &Rc<Self>, request: ReplicaRequest, responder: Responder<ReplicaReply>) {
        self.runtime.label(request.label());
        match request {
            ReplicaRequest::Write { mutation, planned } => {
                self.write(vec![mutation], WriteTerms { durable: false, planned }, responder);
            }
            ReplicaRequest::WriteBatch { mutations, terms } => self.write(mutations, terms, responder),
            ReplicaRequest::Count { deltas, wants_states, planned } => {
                let gate = self.gate(planned);
                if let ([delta], false, false) = (deltas.as_slice(), wants_states, gate.is_ahead())
                    && gate.check_mutations(&deltas).is_ok()
                    && let Ok(TryOutcome::Done(ack)) =
                        self.storage.count_now(|table| self.fence.counter_id(table), delta)
                {
                    return self.answer(Ok(ack), false, responder);
                }
                let replica = Rc::clone(self);
                self.runtime.spawn(Group::Query, async move {
                    let counted = count_here(replica.gate(planned), &replica.storage, &replica.fence, &deltas).await;
                    responder.reply(match counted {
                        Ok(states) => ReplicaReply::Counted { states },
                        Err(error) => ReplicaReply::Failed(error),
                    });
                });
            }
            ReplicaRequest::Prepare { prepare, planned } => {
                let acceptor = Rc::clone(&self.acceptor);
                self.runtime.spawn(Group::Query, async move {
                    let prepared = acceptor.prepare(&prepare, planned).await;
                    let reply = |prepared| ReplicaReply::Prepared(Box::new(prepared));
                    responder.reply(prepared.map_or_else(ReplicaReply::Failed, reply));
                });
            }
            ReplicaRequest::Accept { accept, planned } => {
                let acceptor = Rc::clone(&self.acceptor);
                self.runtime.spawn(Group::Query, async move {
                    let accepted = acceptor.accept(*accept, planned).await;
                    responder.reply(accepted.map_or_else(ReplicaReply::Failed, ReplicaReply::Accepted));
                });
            }
            ReplicaRequest::Fates { names } => {
                responder.reply(ReplicaReply::Fates(names.into_iter().map(|name| self.fate(name)).collect()));
            }
            ReplicaRequest::Copy(order) => {
                let (sources, CopyOrder { from, planned, request }) = (Rc::clone(&self.sources), *order);
                self.runtime.spawn(Group::Streaming, async move {
                    let answer = sources.answer(from, planned, request).await;
                    responder.reply(ReplicaReply::Copy(Box::new(CopyReply(answer))));
                });
            }
            ReplicaRequest::Job(order) => responder.reply(self.obey(order.0)),
            ReplicaRequest::Read(request) => {
                let page = PageWriter::new(request.limits);
                self.read(request, page, responder);
            }
            ReplicaRequest::ReadData(request) => {
                let page = DataPageWriter::new(data_limits(request.limits));
                self.read(request, page, responder);
            }
        }
    }

    fn obey(&self, order: JobOrder) -> ReplicaReply {
        let report = match self.jobs.get() {
            Some(obey) => obey(order),
            None => Err(ReplicaError::Gone { shard: self.runtime.shard().into() }),
        };
        report.map_or_else(ReplicaReply::Failed, |report| ReplicaReply::Job(Box::new(JobReply(report))))
    }

    /// A batch as this shard knows it: its own, or a copy. An own one of this start is unfinished or done; of an earlier start the log may be lost.
    fn fate(&self, name: BatchName) -> Fate {
        if name.host_id != self.copies.own() {
            return self.copies.fate(name);
        }
        let id = BatchId::new(name.boot, name.sequence);
        let is_of_here = name.shard == self.runtime.shard().0;
        let is_of_now = name.boot == storage::boot(&self.storage) && name.sequence < self.storage.appended().0;
        match is_of_here {
            true if storage::is_batch_unfinished(&self.storage, id) => Fate::Unfinished,
            true if is_of_now => Fate::Done,
            _ => Fate::Unknown,
        }
    }

    fn gate(&self, planned: Epoch) -> Gate<'_> {
        self.fence.gate(self.runtime.shard(), planned)
    }

    fn write(self: &Rc<Self>, mutations: Vec<Vec<u8>>, terms: WriteTerms, responder: Responder<ReplicaReply>) {
        let WriteTerms { durable, planned } = terms;
        let gate = self.gate(planned);
        // What is long is written in steps, by a task as what must wait is.
        let applied = if is_small(&mutations) && !gate.is_ahead() {
            match gate.check_mutations(&mutations) {
                Ok(()) => Some(apply_all(&self.storage, &mutations)),
                Err(stale) => return self.answer(Err(stale.into()), durable, responder),
            }
        } else {
            None
        };
        match applied {
            None | Some(Err(ApplyError::LogBusy | ApplyError::MemoryBusy)) => {
                let replica = Rc::clone(self);
                self.runtime.spawn(Group::Query, async move {
                    let applied = apply_planned(replica.gate(planned), &replica.storage, &mutations).await;
                    replica.answer(applied, durable, responder);
                });
            }
            Some(applied) => self.answer(applied.map_err(|error| self.error(error)), durable, responder),
        }
    }

    fn answer(&self, applied: Result<Ack, ReplicaError>, durable: bool, responder: Responder<ReplicaReply>) {
        match applied.map(|ack| needed_ack(&self.storage, ack, durable)) {
            Ok(Ack::Now) => responder.reply(ReplicaReply::Written),
            Ok(Ack::When(sequence)) => self.unsynced.push(sequence, responder),
            Err(error) => responder.reply(ReplicaReply::Failed(error)),
        }
    }

    fn read(
        self: &Rc<Self>,
        request: ReadRequest,
        mut page: impl PageSink + 'static,
        responder: Responder<ReplicaReply>,
    ) {
        let planned = request.limits.planned;
        let gate = self.gate(planned);
        // Up to 128 requests are handled between two turns of the loop: long ones must not add up.
        if self.runtime.should_yield() || gate.is_ahead() {
            let replica = Rc::clone(self);
            self.runtime.spawn(Group::Query, async move {
                let gate = replica.gate(planned);
                let read = read_on(&replica.runtime, (&replica.storage, gate), &request.command, None, page).await;
                responder.reply(reply_of(read));
            });
            return;
        }
        let end = match ReadCommandBuf::decode(&request.command) {
            Ok(decoded) => {
                let command = decoded.command();
                let end = gate.check_read(&command).map(|()| page.read(&self.storage, &command));
                end.map(|end| (end, command.table)).map_err(ReplicaError::from)
            }
            Err(problem) => Err(malformed(&self.runtime, &problem)),
        };
        let (end, table) = match end {
            Ok(end) => end,
            Err(error) => return responder.reply(ReplicaReply::Failed(error)),
        };
        let position = match end {
            None => None,
            Some(_) if page.wanted().is_some() => None,
            Some(ReadEnd::Paused(position)) if !page.is_full() => Some(position),
            Some(ReadEnd::Complete) => return self.show(page, table, None, responder),
            Some(ReadEnd::Stopped(position) | ReadEnd::Paused(position)) => {
                return self.show(page, table, Some(position), responder);
            }
        };
        let replica = Rc::clone(self);
        self.runtime.spawn(Group::Query, async move {
            let gate = replica.gate(planned);
            let read = read_on(&replica.runtime, (&replica.storage, gate), &request.command, position, page).await;
            responder.reply(reply_of(read));
        });
    }

    /// Replies with a page as soon as what it shows may be shown.
    fn show<P: PageSink>(
        self: &Rc<Self>,
        page: P,
        table: TableId,
        more_after: Option<Position>,
        responder: Responder<ReplicaReply>,
    ) {
        let unsynced = unsynced::<P>(&self.storage, table);
        let page = page_of(page, more_after);
        let Some(sequence) = unsynced else { return responder.reply(ReplicaReply::Page(page)) };
        let replica = Rc::clone(self);
        self.runtime.spawn(Group::Query, async move {
            let synced = synced(&replica.runtime, &replica.storage, sequence).await;
            responder.reply(reply_of(synced.map(|()| page)));
        });
    }

    fn error(&self, error: ApplyError) -> ReplicaError {
        apply_error(self.runtime.shard().0, error)
    }
}

fn reply_of(read: Result<Page, ReplicaError>) -> ReplicaReply {
    read.map_or_else(ReplicaReply::Failed, ReplicaReply::Page)
}

/// One page with all that reconciliation needs, of this shard. The read ends with the future.
pub(super) async fn page_of_data(
    runtime: &Runtime,
    (storage, fence): (&Shard, &Fence),
    command: &[u8],
    limits: PageLimits,
) -> Result<Page, ReplicaError> {
    let gate = fence.gate(runtime.shard(), limits.planned);
    read_on(runtime, (storage, gate), command, None, DataPageWriter::new(data_limits(limits))).await
}

/// Goes on with a read after `position`, until the page is full or the data ends.
async fn read_on<P: PageSink>(
    runtime: &Runtime,
    (storage, gate): (&Shard, Gate<'_>),
    command: &[u8],
    position: Option<Position>,
    mut page: P,
) -> Result<Page, ReplicaError> {
    runtime.maybe_yield().await;
    gate.reach().await?;
    let decoded = ReadCommandBuf::decode(command).map_err(|problem| malformed(runtime, &problem))?;
    let mut command = decoded.command();
    if let Some(position) = &position {
        command.after = Some(position.as_ref());
    }
    loop {
        if let Some(bytes) = page.wanted() {
            page.begin_again(runtime.touched(bytes).await);
            command = decoded.command();
        }
        gate.check_read(&command)?;
        let done = page.read_through(storage, &command).await;
        if page.wanted().is_some() {
            continue;
        }
        let more_after = match done {
            Ok(ReadDone::Complete) => None,
            Ok(ReadDone::Stopped(position)) => Some(position),
            Err(error) => return Err(unreadable(runtime.shard().0, error)),
        };
        if let Some(sequence) = unsynced::<P>(storage, command.table) {
            synced(runtime, storage, sequence).await?;
        }
        return Ok(page_of(page, more_after));
    }
}

/// The sequence that must be synced before a page of a table leaves this shard: of counters that others may be repaired with.
fn unsynced<P: PageSink>(storage: &Shard, table: TableId) -> Option<LogSequence> {
    if P::IS_FOR_OTHERS { storage::counters_unsynced(storage, table) } else { None }
}

/// Waits until the log is synced up to there.
async fn synced(runtime: &Runtime, storage: &Shard, sequence: LogSequence) -> Result<(), ReplicaError> {
    stdx::sometimes!("counters shown when they were synced");
    let synced = storage.wait_synced(sequence).await;
    synced.map_err(|reason| ReplicaError::NotSynced { shard: runtime.shard().into(), reason })
}

fn malformed(runtime: &Runtime, problem: &mutation::DecodeError) -> ReplicaError {
    ReplicaError::Malformed { shard: runtime.shard().into(), problem: problem.to_string() }
}

fn page_of(page: impl PageSink, more_after: Option<Position>) -> Page {
    Page { items: page.into_items(), more_after }
}
