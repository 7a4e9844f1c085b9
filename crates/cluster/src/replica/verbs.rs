//! This crate's verbs: registered for what other nodes ask, and called to ask them.

use std::future::Future;
use std::time::Duration;

use internode::{CallError, Caller, Malformed, Peer, Reply, Request, Verbs};
use storage::reader::Page;
use topology::Epoch;

use super::answer::PAGE_BYTES_MAX;
use super::codec::{
    self, MUTATIONS_MAX, VERBS, decode_answer, decode_request, encode_answer, encode_request, kind, push_copy,
    push_mutations,
};
use super::digest::Digest;
use super::error::{ReplicaError, ReplicaShard};
use super::paxos_message::{Accept, Accepted, Prepare, Prepared};
use super::peer_message::{PeerAnswer, PeerRead, PeerRequest};
use crate::batches::{BatchName, Fate};
use crate::fence::NO_EPOCH;

impl Reply for PeerAnswer {
    fn kind(&self) -> u8 {
        codec::answer_kind(self)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        encode_answer(self, out);
    }

    fn too_large(size: usize, max: usize) -> Self {
        PeerAnswer::Failed(ReplicaError::TooLarge { size, max })
    }
}

/// Has `serve` answer what other nodes ask about data.
pub(crate) fn register<F, Fut>(verbs: &mut Verbs, serve: F)
where
    F: Fn(Caller, PeerRequest) -> Fut + Clone + 'static,
    Fut: Future<Output = PeerAnswer> + 'static,
{
    for (verb, name) in VERBS {
        let serve = serve.clone();
        let handle =
            move |caller: Caller, body: &[u8]| Ok(serve(caller, decode_request(verb, body).map_err(Malformed::new)?));
        match verb {
            // A write that has begun is applied as a whole, whoever still waits for it; a promise is one call.
            kind::READ | kind::DIGEST | kind::PREPARE => {
                verbs.register_cancellable_by_caller(verb, name, PAGE_BYTES_MAX as usize, handle);
            }
            _ => verbs.register_by_caller(verb, name, handle),
        }
    }
}

/// Asks another node to apply mutations within a time, whose bytes are written into the frame from where they lie. `Ok`: it has.
pub(crate) async fn ask_to_write(
    peer: &Peer,
    mutations: &[&[u8]],
    (time, planned): (Duration, Epoch),
) -> Result<(), ReplicaError> {
    for mutations in mutations.chunks(MUTATIONS_MAX) {
        let terms = of_mutations(kind::WRITE, mutations, (time, planned));
        match call(peer, terms, |out| push_mutations(mutations, out)).await? {
            PeerAnswer::Written => {}
            _ => return Err(wrong_answer(peer)),
        }
    }
    Ok(())
}

/// Asks another node to apply a commit. `Ok`: it is on its disk.
pub(crate) async fn ask_to_commit(
    peer: &Peer,
    mutations: &[&[u8]],
    (time, planned): (Duration, Epoch),
) -> Result<(), ReplicaError> {
    if mutations.len() > MUTATIONS_MAX {
        return Err(ReplicaError::TooLarge { size: mutations.len(), max: MUTATIONS_MAX });
    }
    let terms = of_mutations(kind::COMMIT, mutations, (time, planned));
    match call(peer, terms, |out| push_mutations(mutations, out)).await? {
        PeerAnswer::Written => Ok(()),
        _ => Err(wrong_answer(peer)),
    }
}

/// Asks another node to promise, and for a page of a partition.
pub(crate) async fn ask_to_prepare(
    peer: &Peer,
    prepare: Prepare,
    (time, planned): (Duration, Epoch),
) -> Result<Prepared, ReplicaError> {
    let request = PeerRequest::Prepare(prepare);
    let terms = Request::of(kind::PREPARE).within(time).planned_at(planned.0);
    match call(peer, terms, |out| _ = encode_request(&request, out)).await? {
        PeerAnswer::Prepared(prepared) => Ok(prepared),
        _ => Err(wrong_answer(peer)),
    }
}

/// Asks another node to accept a proposal.
pub(crate) async fn ask_to_accept(
    peer: &Peer,
    accept: Accept,
    (time, planned): (Duration, Epoch),
) -> Result<Accepted, ReplicaError> {
    let bytes = accept.proposal.mutations.iter().map(Vec::len).sum();
    let request = PeerRequest::Accept(accept);
    let terms = Request::of(kind::ACCEPT).within(time).planned_at(planned.0).of_size(bytes);
    match call(peer, terms, |out| _ = encode_request(&request, out)).await? {
        PeerAnswer::Accepted(accepted) => Ok(accepted),
        _ => Err(wrong_answer(peer)),
    }
}

/// Asks another node to apply mutations on the connection for bulk, so that it stands in front of no client's request.
pub(crate) async fn ask_to_write_in_bulk(
    peer: &Peer,
    mutations: &[&[u8]],
    (time, planned): (Duration, Epoch),
) -> Result<(), ReplicaError> {
    for mutations in mutations.chunks(MUTATIONS_MAX) {
        let terms = of_mutations(kind::WRITE, mutations, (time, planned)).in_bulk();
        match call(peer, terms, |out| push_mutations(mutations, out)).await? {
            PeerAnswer::Written => {}
            _ => return Err(wrong_answer(peer)),
        }
    }
    Ok(())
}

/// Asks another node to count deltas. Gives the states.
pub(crate) async fn ask_to_count(
    peer: &Peer,
    deltas: &[&[u8]],
    (time, planned): (Duration, Epoch),
) -> Result<Vec<Vec<u8>>, ReplicaError> {
    let mut all = Vec::with_capacity(deltas.len());
    for deltas in deltas.chunks(MUTATIONS_MAX) {
        let terms = of_mutations(kind::COUNT, deltas, (time, planned));
        match call(peer, terms, |out| push_mutations(deltas, out)).await {
            Ok(PeerAnswer::Counted { states }) => all.extend(states),
            Ok(_) => return Err(wrong_answer(peer)),
            // What was counted before must not be counted again: so it is not known what was.
            Err(ReplicaError::Stale { shard, .. }) if !all.is_empty() => return Err(ReplicaError::Gone { shard }),
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Asks another node for one page of data. Dropped, it lets the other node end the read.
pub(crate) async fn ask_to_read(
    peer: &Peer,
    read: PeerRead,
    (time, planned): (Duration, Epoch),
) -> Result<Page, ReplicaError> {
    let request = PeerRequest::Read(read);
    let terms = of_read(kind::READ, (time, planned));
    match call(peer, terms, |out| _ = encode_request(&request, out)).await? {
        PeerAnswer::Page(page) => Ok(page),
        _ => Err(wrong_answer(peer)),
    }
}

/// A replica's answer, to be compared with that of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Compared {
    /// The data itself.
    Page(Page),
    /// Its digest.
    Digest(Digest),
}

/// Asks another node for the digest of one page of data. Dropped, it lets the other node end the read.
pub(crate) async fn ask_for_digest(
    peer: &Peer,
    read: PeerRead,
    gc_before: u32,
    (time, planned): (Duration, Epoch),
) -> Result<Compared, ReplicaError> {
    let request = PeerRequest::Digest { read, gc_before };
    let terms = of_read(kind::DIGEST, (time, planned));
    match call(peer, terms, |out| _ = encode_request(&request, out)).await? {
        PeerAnswer::Page(page) => Ok(Compared::Page(page)),
        PeerAnswer::Digest(digest) => Ok(Compared::Digest(digest)),
        _ => Err(wrong_answer(peer)),
    }
}

/// Asks another node to keep a copy of a batch, whose write began at the time given, by the wall clock. `Ok`: it is on its disk.
pub(crate) async fn ask_to_copy(
    peer: &Peer,
    batch: (BatchName, i64),
    mutations: &[Vec<u8>],
    (time, planned): (Duration, Epoch),
) -> Result<(), ReplicaError> {
    if mutations.len() > MUTATIONS_MAX {
        return Err(ReplicaError::TooLarge { size: mutations.len(), max: MUTATIONS_MAX });
    }
    let bytes = mutations.iter().map(Vec::len).sum();
    let terms = Request::of(kind::BATCH_COPY).within(time).planned_at(planned.0).of_size(bytes);
    match call(peer, terms, |out| push_copy(batch, mutations, out)).await? {
        PeerAnswer::Written => Ok(()),
        _ => Err(wrong_answer(peer)),
    }
}

/// Tells another node that batches need no copies any more.
pub(crate) async fn tell_batches_done(peer: &Peer, names: &[BatchName], time: Duration) -> Result<(), ReplicaError> {
    let request = PeerRequest::BatchDone { names: names.to_vec() };
    let terms = Request::of(kind::BATCH_DONE).within(time).planned_at(NO_EPOCH.0);
    match call(peer, terms, |out| _ = encode_request(&request, out)).await? {
        PeerAnswer::Written => Ok(()),
        _ => Err(wrong_answer(peer)),
    }
}

/// Asks another node what it knows of batches.
pub(crate) async fn ask_about_batches(
    peer: &Peer,
    names: &[BatchName],
    time: Duration,
) -> Result<Vec<Fate>, ReplicaError> {
    let request = PeerRequest::BatchAsk { names: names.to_vec() };
    let terms = Request::of(kind::BATCH_ASK).within(time).planned_at(NO_EPOCH.0);
    match call(peer, terms, |out| _ = encode_request(&request, out)).await? {
        PeerAnswer::Fates(fates) if fates.len() == names.len() => Ok(fates),
        _ => Err(wrong_answer(peer)),
    }
}

/// The time of its answer is measured.
fn of_read(verb: u8, (time, planned): (Duration, Epoch)) -> Request {
    Request::of(verb).within(time).planned_at(planned.0).cancelled_when_dropped().measured()
}

fn of_mutations(verb: u8, mutations: &[&[u8]], (time, planned): (Duration, Epoch)) -> Request {
    let bytes = mutations.iter().map(|mutation| mutation.len()).sum();
    Request::of(verb).within(time).planned_at(planned.0).of_size(bytes)
}

/// Calls another node, and turns its refusal into an error.
async fn call(peer: &Peer, request: Request, encode: impl FnOnce(&mut Vec<u8>)) -> Result<PeerAnswer, ReplicaError> {
    let answer = peer.call(request, encode).await;
    let decode = |kind: u8, body: Vec<u8>| decode_answer(kind, body).map_err(Malformed::new);
    match answer.and_then(|answer| answer.decode(decode)) {
        Ok(PeerAnswer::Failed(error)) => Err(error.of_node(peer.address())),
        Ok(answer) => Ok(answer),
        Err(CallError::Gone) => Err(ReplicaError::Gone { shard: ReplicaShard::of_node(peer.address()) }),
        Err(CallError::TooLarge { size, max }) => Err(ReplicaError::TooLarge { size, max }),
    }
}

/// The error of an answer to another kind of request.
fn wrong_answer(peer: &Peer) -> ReplicaError {
    let shard = ReplicaShard::of_node(peer.address());
    ReplicaError::Malformed { shard, problem: "the answer is to another kind of request".to_owned() }
}
