//! The verbs of copies: registered for what other nodes' receivers ask, and called to ask sources.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use internode::{CallError, Caller, Malformed, Peer, Reply, Request, Verbs};
use planted::Bug;
use runtime::{Group, Runtime, ShardId, TaskHandle};
use topology::Epoch;

use super::codec::{answer_kind, decode_answer, decode_request, encode_answer, encode_request, kind, verb};
use super::message::{CopyAnswer, CopyRequest};
use crate::replica::{FAILED, ReplicaError, ReplicaShard, Shards, decode_failure, encode_failure, reach};

/// The most that an answer holds, bytes, unless one mutation is larger: memory is kept for it while it is made.
const ANSWER_BYTES: usize = 1 << 20;

impl Reply for CopyAnswer {
    fn kind(&self) -> u8 {
        answer_kind(self).unwrap_or(FAILED)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            CopyAnswer::Failed(error) => encode_failure(error, out),
            answer => encode_answer(answer, out),
        }
    }

    fn too_large(size: usize, max: usize) -> Self {
        CopyAnswer::Failed(ReplicaError::TooLarge { size, max })
    }
}

/// A task that ends with whoever waits for it.
pub(super) struct Bound<T>(Option<TaskHandle<T>>);

impl<T: 'static> Bound<T> {
    pub(super) fn spawn(runtime: &Runtime, work: impl Future<Output = T> + 'static) -> Bound<T> {
        Bound(Some(runtime.spawn(Group::Streaming, work)))
    }
}

impl<T> Future for Bound<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let task = self.0.as_mut().expect("a task is waited for until it ends");
        let output = Pin::new(task).poll(cx);
        if output.is_ready() {
            self.0 = None;
        }
        output
    }
}

impl<T> Drop for Bound<T> {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}

/// Answers what receivers of other nodes ask.
pub(crate) fn register(verbs: &mut Verbs, shards: &Rc<Shards>) {
    let names = [
        (kind::OPEN, "a copy that a node opens"),
        (kind::PAGE, "a page of a copy"),
        (kind::KEEP, "a copy that stays open"),
        (kind::CLOSE, "a copy's end"),
    ];
    for (verb, name) in names {
        let shards = Rc::clone(shards);
        verbs.register_cancellable_by_caller(verb, name, ANSWER_BYTES, move |caller: Caller, body: &[u8]| {
            let request = decode_request(verb, body).map_err(Malformed::new)?;
            Ok(answer(Rc::clone(&shards), caller, request))
        });
    }
}

async fn answer(shards: Rc<Shards>, caller: Caller, request: CopyRequest) -> CopyAnswer {
    let serves_old = shards.storage.planted().is(Bug::SourceServesOldEpoch);
    if !serves_old && let Err(error) = reach(&shards, caller).await {
        return CopyAnswer::Failed(error);
    }
    let (shard, planned) = (request.shard(), Epoch(caller.epoch));
    if shard >= shards.sharder.shards {
        let problem = format!("shard {shard} was asked for, and there are {}", shards.sharder.shards);
        return CopyAnswer::Failed(ReplicaError::Malformed { shard: shards.here().into(), problem });
    }
    if ShardId(shard) != shards.here() {
        stdx::sometimes!("a copy is asked of another shard than its connection's");
        let asked = shards.copy(ShardId(shard), caller.host_id, planned, request).await;
        return asked.unwrap_or_else(CopyAnswer::Failed);
    }
    let sources = Rc::clone(&shards.sources);
    Bound::spawn(&shards.runtime, async move { sources.answer(caller.host_id, planned, request).await }).await
}

/// Asks another node's shard, within a time. [`ReplicaError::Gone`]: there is no answer.
pub(super) async fn ask(
    runtime: &Runtime,
    peer: &Peer,
    request: &CopyRequest,
    (time, planned): (Duration, Epoch),
) -> Result<CopyAnswer, ReplicaError> {
    let gone = || ReplicaError::Gone { shard: ReplicaShard::of_node(peer.address()) };
    let terms = Request::of(verb(request)).within(time).planned_at(planned.0).cancelled_when_dropped().in_bulk();
    let decode = |kind: u8, body: Vec<u8>| {
        let answer = match kind {
            FAILED => decode_failure(body).map(CopyAnswer::Failed),
            kind => decode_answer(kind, &body),
        };
        answer.map_err(Malformed::new)
    };
    let called = async {
        let answer = peer.call(terms, |out| encode_request(request, out)).await;
        answer.and_then(|answer| answer.decode(decode))
    };
    match runtime.timeout(time, called).await {
        Ok(Ok(CopyAnswer::Failed(error))) => Err(error.of_node(peer.address())),
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(CallError::Gone)) | Err(_) => Err(gone()),
        Ok(Err(CallError::TooLarge { size, max })) => Err(ReplicaError::TooLarge { size, max }),
    }
}
