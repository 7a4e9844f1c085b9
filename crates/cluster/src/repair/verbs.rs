//! The verbs of repairs: registered for what leaders of other nodes order, and called to give orders.

use std::rc::Rc;
use std::time::Duration;

use internode::{CallError, Caller, Malformed, Peer, Reply, Request, Verbs};
use topology::Epoch;

use super::codec::{decode_order, decode_report, encode_order, encode_report, kind, verb};
use super::participant::Participant;
use crate::replica::{FAILED, ReplicaError, ReplicaShard, Shards, decode_failure, encode_failure, reach};
use crate::streaming::{JobOrder, JobReport};

/// A participant's answer to an order.
struct Obeyed(Result<JobReport, ReplicaError>);

impl Reply for Obeyed {
    fn kind(&self) -> u8 {
        if self.0.is_ok() { kind::STATE } else { FAILED }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Ok(report) => encode_report(report, out),
            Err(error) => encode_failure(error, out),
        }
    }

    fn too_large(size: usize, max: usize) -> Self {
        Obeyed(Err(ReplicaError::TooLarge { size, max }))
    }
}

/// Obeys what leaders of other nodes order.
pub(crate) fn register(verbs: &mut Verbs, shards: &Rc<Shards>) {
    let names = [
        (kind::BEGIN, "a repair that a node begins"),
        (kind::ASK, "a repair that a node asks about"),
        (kind::END, "a repair that a node ends"),
    ];
    for (verb, name) in names {
        let shards = Rc::clone(shards);
        verbs.register_by_caller(verb, name, move |caller: Caller, body: &[u8]| {
            let order = decode_order(verb, body, Epoch(caller.epoch)).map_err(Malformed::new)?;
            let participant = Participant { shards: Rc::clone(&shards) };
            Ok(async move {
                if let Err(error) = reach(&participant.shards, caller).await {
                    return Obeyed(Err(error));
                }
                Obeyed(participant.obey(order).await)
            })
        });
    }
}

/// Gives another node an order, within a time. [`ReplicaError::Gone`]: there is no answer.
pub(super) async fn order(
    peer: &Peer,
    order: &JobOrder,
    (time, planned): (Duration, Epoch),
) -> Result<JobReport, ReplicaError> {
    let decode = |kind: u8, body: Vec<u8>| {
        let obeyed = match kind {
            FAILED => decode_failure(body).map(Err),
            kind => decode_report(kind, &body).map(Ok),
        };
        obeyed.map_err(Malformed::new)
    };
    let terms = Request::of(verb(order)).within(time).planned_at(planned.0).in_bulk();
    let answer = peer.call(terms, |out| encode_order(order, out)).await;
    match answer.and_then(|answer| answer.decode(decode)) {
        Ok(obeyed) => obeyed.map_err(|error| error.of_node(peer.address())),
        Err(CallError::Gone) => Err(ReplicaError::Gone { shard: ReplicaShard::of_node(peer.address()) }),
        Err(CallError::TooLarge { size, max }) => Err(ReplicaError::TooLarge { size, max }),
    }
}
