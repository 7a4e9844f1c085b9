//! The replica's side: what a shard does when another asks for data that it owns.

use std::rc::Rc;

use mutation::{ReadCommand, ReadCommandBuf};
use runtime::{Group, Mesh, MeshSeat, Responder, Runtime};
use storage::reader::{DataPageLimits, DataPageWriter, Page, ReadDone};
use storage::{Ack, ApplyError, DataSink, ReadEnd, ReadError, Shard, SyncError};

use super::count::count_here;
use super::message::{PageLimits, ReadRequest, ReplicaError, ReplicaReply, ReplicaRequest};
use super::page::PageWriter;
use super::unsynced::Unsynced;

/// What a read fills until it is full.
pub(super) trait PageSink {
    /// Reads for as long as one call may take. `None`: it must be waited for.
    fn read(&mut self, storage: &Shard, command: &ReadCommand<'_>) -> Option<ReadEnd>;

    /// Reads until it is full or the data ends, from wherever the data lies.
    fn read_through(
        &mut self,
        storage: &Shard,
        command: &ReadCommand<'_>,
    ) -> impl Future<Output = Result<ReadDone, ReadError>>;

    /// Whether it holds as much as it may.
    fn is_full(&self) -> bool;

    /// The memory that it must have for a long row. What it holds then is of no use.
    fn wanted(&self) -> Option<usize>;

    /// Begins again with memory as [`Runtime::touched`] makes it.
    fn begin_again(&mut self, memory: Vec<u8>);

    /// What it holds.
    fn into_items(self) -> Vec<u8>;
}

impl PageSink for DataPageWriter {
    fn read(&mut self, storage: &Shard, command: &ReadCommand<'_>) -> Option<ReadEnd> {
        storage.read_data(command, self)
    }

    async fn read_through(&mut self, storage: &Shard, command: &ReadCommand<'_>) -> Result<ReadDone, ReadError> {
        storage.read_data_through(command, self).await
    }

    fn is_full(&self) -> bool {
        DataSink::is_full(self)
    }

    fn wanted(&self) -> Option<usize> {
        DataPageWriter::wanted(self)
    }

    fn begin_again(&mut self, memory: Vec<u8>) {
        DataPageWriter::begin_again(self, memory);
    }

    fn into_items(self) -> Vec<u8> {
        self.into_bytes()
    }
}

/// Of a page of data everything counts as a row.
fn data_limits(limits: PageLimits) -> DataPageLimits {
    DataPageLimits { items: limits.rows, bytes: limits.bytes }
}

/// Takes the seat; requests are served from now on.
pub(super) fn serve(
    runtime: &Runtime,
    seat: MeshSeat<ReplicaRequest, ReplicaReply>,
    storage: Shard,
) -> Mesh<ReplicaRequest, ReplicaReply> {
    let shard = runtime.shard().0;
    let acknowledge = move |responder: Responder<ReplicaReply>, synced: Result<(), SyncError>| {
        responder.reply(match synced {
            Ok(()) => ReplicaReply::Written,
            Err(reason) => ReplicaReply::Failed(ReplicaError::NotSynced { shard, reason }),
        });
    };
    let unsynced = Unsynced::new(runtime, storage.clone(), acknowledge);
    let replica = Rc::new(Replica { runtime: runtime.clone(), storage, unsynced });
    seat.open(runtime, move |_, request, responder| replica.handle(request, responder))
}

struct Replica {
    runtime: Runtime,
    storage: Shard,
    /// Applied writes whose record is not yet on the disk. Bounded by the mesh's credits.
    unsynced: Unsynced<Responder<ReplicaReply>>,
}

impl Replica {
    fn handle(self: &Rc<Self>, request: ReplicaRequest, responder: Responder<ReplicaReply>) {
        self.runtime.label(request.label());
        match request {
            ReplicaRequest::Write { mutation } => self.write(vec![mutation], false, responder),
            ReplicaRequest::WriteBatch { mutations, durable } => self.write(mutations, durable, responder),
            ReplicaRequest::Count { id, deltas, wants_states } => {
                if let ([delta], false) = (deltas.as_slice(), wants_states)
                    && let Ok(Some(ack)) = self.storage.count_now(id, delta)
                {
                    return self.answer(Ok(ack), false, responder);
                }
                let replica = Rc::clone(self);
                self.runtime.spawn(Group::Query, async move {
                    let shard = replica.runtime.shard();
                    let counted = count_here(&replica.storage, id, shard, &deltas).await;
                    responder.reply(match counted {
                        Ok(states) => ReplicaReply::Counted { states },
                        Err(error) => ReplicaReply::Failed(error),
                    });
                });
            }
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

    fn write(self: &Rc<Self>, mutations: Vec<Vec<u8>>, durable: bool, responder: Responder<ReplicaReply>) {
        // What is long is written in steps, by a task as what must wait is.
        let applied = if is_small(&mutations) { Some(apply_all(&self.storage, &mutations)) } else { None };
        match applied {
            None | Some(Err(ApplyError::LogBusy | ApplyError::MemoryBusy)) => {
                let replica = Rc::clone(self);
                self.runtime.spawn(Group::Query, async move {
                    let applied = apply_when_there_is_room(&replica.storage, &mutations).await;
                    replica.answer(applied, durable, responder);
                });
            }
            Some(applied) => self.answer(applied, durable, responder),
        }
    }

    fn answer(&self, applied: Result<Ack, ApplyError>, durable: bool, responder: Responder<ReplicaReply>) {
        match applied.map(|ack| needed_ack(&self.storage, ack, durable)) {
            Ok(Ack::Now) => responder.reply(ReplicaReply::Written),
            Ok(Ack::When(sequence)) => self.unsynced.push(sequence, responder),
            Err(error) => responder.reply(ReplicaReply::Failed(self.error(error))),
        }
    }

    fn read(
        self: &Rc<Self>,
        request: ReadRequest,
        mut page: impl PageSink + 'static,
        responder: Responder<ReplicaReply>,
    ) {
        // Up to 128 requests are handled between two turns of the loop: long ones must not add up.
        if self.runtime.should_yield() {
            let replica = Rc::clone(self);
            self.runtime.spawn(Group::Query, async move {
                let reply = replica.read_on(&request.command, None, page).await;
                responder.reply(reply);
            });
            return;
        }
        let end = match ReadCommandBuf::decode(&request.command) {
            Ok(decoded) => page.read(&self.storage, &decoded.command()),
            Err(problem) => return responder.reply(ReplicaReply::Failed(self.malformed(problem))),
        };
        let position = match end {
            None => None,
            Some(_) if page.wanted().is_some() => None,
            Some(ReadEnd::Paused(position)) if !page.is_full() => Some(position),
            Some(ReadEnd::Complete) => return responder.reply(page_reply(page, None)),
            Some(ReadEnd::Stopped(position) | ReadEnd::Paused(position)) => {
                return responder.reply(page_reply(page, Some(position)));
            }
        };
        let replica = Rc::clone(self);
        self.runtime.spawn(Group::Query, async move {
            let reply = replica.read_on(&request.command, position, page).await;
            responder.reply(reply);
        });
    }

    /// Goes on with a read behind `position`, until the page is full or the data ends.
    async fn read_on(
        &self,
        command: &[u8],
        position: Option<mutation::Position>,
        mut page: impl PageSink,
    ) -> ReplicaReply {
        self.runtime.maybe_yield().await;
        let decoded = match ReadCommandBuf::decode(command) {
            Ok(decoded) => decoded,
            Err(problem) => return ReplicaReply::Failed(self.malformed(problem)),
        };
        let mut command = decoded.command();
        if let Some(position) = &position {
            command.after = Some(position.as_ref());
        }
        loop {
            if let Some(bytes) = page.wanted() {
                page.begin_again(self.runtime.touched(bytes).await);
                command = decoded.command();
            }
            let done = page.read_through(&self.storage, &command).await;
            if page.wanted().is_some() {
                continue;
            }
            return match done {
                Ok(ReadDone::Complete) => page_reply(page, None),
                Ok(ReadDone::Stopped(position)) => page_reply(page, Some(position)),
                Err(error) => ReplicaReply::Failed(unreadable(self.runtime.shard().0, error)),
            };
        }
    }

    fn error(&self, error: ApplyError) -> ReplicaError {
        apply_error(self.runtime.shard().0, error)
    }

    fn malformed(&self, problem: mutation::DecodeError) -> ReplicaError {
        ReplicaError::Malformed { shard: self.runtime.shard().0, problem: problem.to_string() }
    }
}

fn page_reply(page: impl PageSink, more_after: Option<mutation::Position>) -> ReplicaReply {
    ReplicaReply::Page(Page { items: page.into_items(), more_after })
}

/// What it is called that a file cannot be read. Which one and where stands in the log, since clients are not to know.
pub(super) fn unreadable(shard: u16, error: ReadError) -> ReplicaError {
    tracing::error!(shard, %error, "a read failed: a file of the data is damaged or cannot be read");
    ReplicaError::Unreadable { shard }
}

/// Applies mutations as one record.
pub(super) fn apply_all(storage: &Shard, mutations: &[Vec<u8>]) -> Result<Ack, ApplyError> {
    match mutations {
        [mutation] => storage.apply(mutation),
        mutations => {
            let slices: Vec<&[u8]> = mutations.iter().map(Vec::as_slice).collect();
            storage.apply_batch(&slices)
        }
    }
}

fn is_small(mutations: &[Vec<u8>]) -> bool {
    storage::is_small(mutations.len(), mutations.iter().map(Vec::len).sum())
}

/// Applies mutations as one record, waiting for room as often as it takes and is of use; many or long ones in steps.
pub(super) async fn apply_when_there_is_room(storage: &Shard, mutations: &[Vec<u8>]) -> Result<Ack, ApplyError> {
    if !is_small(mutations) {
        return storage.apply_in_steps(mutations).await;
    }
    let mut waiting = storage.waiting();
    loop {
        match apply_all(storage, mutations) {
            Ok(ack) => return Ok(ack),
            Err(error) => waiting.after(error).await?,
        }
    }
}

/// When a write may be acknowledged that is perhaps to be synced whatever the mode.
pub(super) fn needed_ack(storage: &Shard, ack: Ack, durable: bool) -> Ack {
    if ack == Ack::Now && durable { Ack::When(storage.appended()) } else { ack }
}

/// What a storage's refusal on `shard` is called by the coordinator.
pub(super) fn apply_error(shard: u16, error: ApplyError) -> ReplicaError {
    match error {
        // Whoever waits for room does not come here with the latter two.
        ApplyError::Overloaded { .. } | ApplyError::LogBusy | ApplyError::MemoryBusy => {
            ReplicaError::Overloaded { shard, problem: error.to_string() }
        }
        ApplyError::DiskFull => ReplicaError::DiskFull { shard },
        ApplyError::TooLarge { length, length_max } => ReplicaError::TooLarge { size: length, max: length_max },
        ApplyError::Poisoned => ReplicaError::Poisoned { shard },
        ApplyError::UnknownTable(_) => ReplicaError::UnknownTable { shard },
        ApplyError::Malformed(problem) => ReplicaError::Malformed { shard, problem: problem.to_string() },
        ApplyError::Mismatch(problem) => ReplicaError::Malformed { shard, problem: problem.to_owned() },
    }
}
