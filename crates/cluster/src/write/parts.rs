//! The parts of a write: what each shard of this node, and each other node, is to have of it.

use super::missed::Missed;
use super::place::Place;
use super::planned::PlannedMutation;
use crate::plan::Nodes;

/// The mutations of a write for one place, one record of one log where it is a shard of this node.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) place: Place,
    /// Their places in the write: each is encoded once, when it is planned, and all parts are sent from there.
    pub(super) indices: Vec<usize>,
}

impl Part {
    /// Its mutations' bytes.
    pub(super) fn mutations<'w>(&self, write: &'w [PlannedMutation]) -> Vec<&'w [u8]> {
        self.indices.iter().map(|&index| write[index].mutation.as_slice()).collect()
    }

    /// Has it hinted. What this node itself refused is no hint, and no register is: who lacks a commit is sent it when it next promises.
    pub(super) fn is_missed(&self, missed: &Missed, nodes: &Nodes, write: &[PlannedMutation]) {
        if let Place::There(node) = self.place {
            let hinted: Vec<usize> =
                self.indices.iter().copied().filter(|&index| !write[index].is_register()).collect();
            let mutations: Vec<&[u8]> = hinted.iter().map(|&index| write[index].mutation.as_slice()).collect();
            missed.keep(nodes.ring().node(node), &hinted, &mutations);
        }
    }
}

/// Adds a mutation to the part of its place.
pub(super) fn put(parts: &mut Vec<Part>, place: Place, index: usize) {
    match parts.iter_mut().find(|part| part.place == place) {
        Some(part) => part.indices.push(index),
        None => parts.push(Part { place, indices: vec![index] }),
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use runtime::ShardId;
    use topology::{Epoch, HostId, Node, NodeIndex, ReplicationStrategy, Ring, Strategies, Token};

    use super::*;
    use crate::plan::Placement;

    #[test]
    fn all_replicas_are_sent_the_bytes_that_were_encoded_once() {
        let node = |number: u8| Node {
            host_id: HostId([number; 16]),
            address: ([10, 0, 0, number], 9042).into(),
            internode: ([10, 0, 0, number], 7000).into(),
            datacenter: "datacenter1".into(),
            rack: "rack1".into(),
            tokens: vec![Token(i64::from(number))],
        };
        let ring = Ring::new(Epoch::FIRST, (0..3).map(node).collect(), NodeIndex(0));
        let placement =
            Placement::new((Rc::new(ring), Vec::new()), None, Strategies::default(), planted::Planted::NONE);
        let replication = placement.replication(&ReplicationStrategy::Simple { replication_factor: 3 });
        let planned = |token, bytes: &[u8]| PlannedMutation {
            replication: Rc::clone(&replication),
            token: Token(token),
            shard: ShardId(u16::from(token > 1)),
            mutation: bytes.to_vec(),
            moment: Epoch::FIRST,
        };
        let write = vec![planned(1, b"first"), planned(2, b"second")];
        let encoded: Vec<*const u8> = write.iter().map(|planned| planned.mutation.as_ptr()).collect();
        let write = Rc::new(write);

        let mut parts = Vec::new();
        for (index, planned) in write.iter().enumerate() {
            for &node in replication.replicas(planned.token) {
                put(&mut parts, Place::of(node, planned.shard, &placement.nodes()), index);
            }
        }
        let both = |place| Part { place, indices: vec![0, 1] };
        let here = |shard, index| Part { place: Place::Here(ShardId(shard)), indices: vec![index] };
        let there = |node| both(Place::There(NodeIndex(node)));
        for part in [here(0, 0), here(1, 1), there(1), there(2)] {
            assert!(parts.contains(&part), "{part:?} of {parts:?}");
        }
        assert_eq!(parts.len(), 4);
        for part in parts {
            let sent: Vec<*const u8> = part.mutations(&write).iter().map(|bytes| bytes.as_ptr()).collect();
            let expected: Vec<*const u8> = part.indices.iter().map(|&index| encoded[index]).collect();
            assert_eq!(sent, expected, "the bytes of {part:?} are those that were planned");
        }
    }
}
