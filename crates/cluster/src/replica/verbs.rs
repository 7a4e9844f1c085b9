//! This crate's verbs: registered for what other nodes ask, and called to ask them.

use std::future::Future;

use internode::{CallError, Malformed, Peer, Reply, Verbs};

use super::codec::{self, VERBS, decode_answer, decode_request, encode_answer, encode_request};
use super::message::ReplicaError;
use super::peer_message::{PeerAnswer, PeerRequest};

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
    F: Fn(PeerRequest) -> Fut + Clone + 'static,
    Fut: Future<Output = PeerAnswer> + 'static,
{
    for (verb, name) in VERBS {
        let serve = serve.clone();
        verbs.register(verb, name, move |body| Ok(serve(decode_request(verb, body).map_err(Malformed::new)?)));
    }
}

/// Asks another node, and turns its refusal into an error.
pub(crate) async fn ask(peer: &Peer, request: &PeerRequest) -> Result<PeerAnswer, ReplicaError> {
    let answer = peer.call(codec::verb(request), |out| _ = encode_request(request, out)).await;
    let decode = |kind: u8, body: Vec<u8>| decode_answer(kind, body).map_err(Malformed::new);
    match answer.and_then(|answer| answer.decode(decode)) {
        Ok(PeerAnswer::Failed(error)) => Err(error),
        Ok(answer) => Ok(answer),
        Err(CallError::Gone) => Err(ReplicaError::Gone { shard: peer.shard().0 }),
        Err(CallError::TooLarge { size, max }) => Err(ReplicaError::TooLarge { size, max }),
    }
}

/// The error of an answer to another kind of request.
pub(crate) fn wrong_answer() -> ReplicaError {
    ReplicaError::Malformed { shard: 0, problem: "the answer is to another kind of request".to_owned() }
}
