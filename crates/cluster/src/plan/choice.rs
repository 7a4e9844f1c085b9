//! The order in which a token's replicas are read: this node, its rack, its datacenter, the others.
//!
//! Among equals comes first the one that was preferred before, until another is twice as good: the measure of a node is
//! (this shard's requests in flight + 1) × the smoothed time of its answers. A node that has just started takes a growing share, for its caches are cold; one that
//! is suspect of being silent comes last. A preference that followed each measurement was rejected: it would follow noise, and two
//! replicas would each have cold caches for half of what is read. See `docs/internals/reads.md`.

use std::collections::BTreeMap;

use topology::NodeIndex;

use super::nodes::Nodes;

/// Parts of a replica's class: the least class is read first.
mod class {
    pub const OTHER_NODE: u8 = 1;
    pub const OTHER_RACK: u8 = 2;
    pub const COLD: u8 = 4;
    pub const OTHER_DATACENTER: u8 = 8;
    pub const SUSPECT: u8 = 16;
}

/// A live replica, as the order sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Reader {
    class: u8,
    /// Among equals of a class, the place in the order so far.
    rank: u16,
    node: NodeIndex,
    in_flight: u64,
    /// The smoothed time of its answers.
    nanos: Option<u64>,
}

impl Reader {
    fn of(nodes: &Nodes, node: NodeIndex) -> Reader {
        let (ring, rank) = (nodes.ring(), nodes.rank(node));
        let Some(peer) = nodes.peer(node) else {
            return Reader { class: 0, rank, node, in_flight: 0, nanos: None };
        };
        let (here, there) = (ring.local_node(), ring.node(node));
        let is_near = here.datacenter == there.datacenter;
        let parts = [
            (true, class::OTHER_NODE),
            (!is_near || here.rack != there.rack, class::OTHER_RACK),
            (!peer.takes_turn(), class::COLD),
            (!is_near, class::OTHER_DATACENTER),
            (peer.is_suspect(), class::SUSPECT),
        ];
        let class = parts.iter().filter(|(holds, _)| *holds).map(|(_, part)| part).sum();
        Reader { class, rank, node, in_flight: peer.in_flight() as u64, nanos: peer.answer_nanos() }
    }

    /// True if it is `times` as good as another. Of what is not known is assumed that it is as with the other.
    fn is_better(&self, times: u64, than: &Reader) -> bool {
        let (own, other) = (self.nanos.or(than.nanos).unwrap_or(1), than.nanos.or(self.nanos).unwrap_or(1));
        let cost = |in_flight: u64, nanos: u64| u128::from(in_flight + 1) * u128::from(nanos.max(1));
        cost(self.in_flight, own) * u128::from(times) < cost(than.in_flight, other)
    }
}

/// The live ones of a token's replicas, in the order in which they are to be read.
pub(crate) fn order(nodes: &Nodes, replicas: &[NodeIndex]) -> Vec<NodeIndex> {
    let live = replicas.iter().copied().filter(|&node| nodes.is_alive(node));
    let mut readers: Vec<Reader> = live.map(|node| Reader::of(nodes, node)).collect();
    arrange(&mut readers, |better, than| nodes.prefer(better, than));
    readers.into_iter().map(|reader| reader.node).collect()
}

/// The order of the readers of many tokens, as the nodes are at one moment: neighbouring ranges are read from the same nodes.
pub(crate) struct Choice<'n> {
    nodes: &'n Nodes,
    seen: BTreeMap<NodeIndex, Reader>,
}

impl<'n> Choice<'n> {
    /// Nothing is looked at yet.
    pub(crate) fn new(nodes: &'n Nodes) -> Self {
        Choice { nodes, seen: BTreeMap::new() }
    }

    /// The live ones of a token's replicas, in the order in which they are to be read.
    pub(crate) fn order(&mut self, replicas: &[NodeIndex]) -> Vec<NodeIndex> {
        let live = replicas.iter().copied().filter(|&node| self.nodes.is_alive(node));
        let mut readers: Vec<Reader> =
            live.map(|node| *self.seen.entry(node).or_insert_with(|| Reader::of(self.nodes, node))).collect();
        arrange(&mut readers, |_, _| {});
        readers.into_iter().map(|reader| reader.node).collect()
    }
}

/// Puts readers into order. `prefer` receives each that has become the better of two.
fn arrange(readers: &mut [Reader], mut prefer: impl FnMut(NodeIndex, NodeIndex)) {
    readers.sort_unstable();
    for first in 0..readers.len() {
        let of_class = readers[first..].iter().take_while(|reader| reader.class == readers[first].class).count();
        let mut best = first;
        for other in first + 1..first + of_class {
            if readers[other].is_better(1, &readers[best]) {
                best = other;
            }
        }
        if readers[best].is_better(2, &readers[first]) {
            prefer(readers[best].node, readers[first].node);
            readers[first..=best].rotate_right(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(node: u16, class: u8, in_flight: u64, micros: Option<u64>) -> Reader {
        Reader { class, rank: node, node: NodeIndex(node), in_flight, nanos: micros.map(|micros| micros * 1_000) }
    }

    fn arranged(mut readers: Vec<Reader>) -> (Vec<u16>, Vec<(u16, u16)>) {
        let mut preferred = Vec::new();
        arrange(&mut readers, |better, than| preferred.push((better.0, than.0)));
        (readers.iter().map(|reader| reader.node.0).collect(), preferred)
    }

    #[test]
    fn nearer_ones_come_first_whatever_their_times() {
        let far = reader(0, class::OTHER_NODE | class::OTHER_DATACENTER | class::OTHER_RACK, 0, Some(1));
        let rack = reader(1, class::OTHER_NODE | class::OTHER_RACK, 0, Some(1));
        let cold = reader(2, class::OTHER_NODE | class::COLD, 0, Some(1));
        let near = reader(3, class::OTHER_NODE, 9, Some(9_000));
        let suspect = reader(4, class::OTHER_NODE | class::SUSPECT, 0, Some(1));
        let here = reader(5, 0, 0, None);
        let (order, preferred) = arranged(vec![far, rack, cold, near, suspect, here]);
        assert_eq!(order, [5, 3, 1, 2, 0, 4]);
        assert!(preferred.is_empty());
    }

    #[test]
    fn the_order_changes_when_another_is_twice_as_good() {
        let of = |micros: [u64; 3]| {
            arranged((0..3).map(|node| reader(node, 1, 0, Some(micros[usize::from(node)]))).collect())
        };
        assert_eq!(of([190, 100, 120]), (vec![0, 1, 2], vec![]), "not twice as good");
        assert_eq!(of([210, 100, 120]), (vec![1, 0, 2], vec![(1, 0)]));
        assert_eq!(of([210, 120, 100]), (vec![2, 0, 1], vec![(2, 0)]));
        assert_eq!(of([900, 300, 100]), (vec![2, 1, 0], vec![(2, 0), (1, 0)]));
    }

    #[test]
    fn requests_in_flight_count_and_what_is_unknown_is_assumed_to_be_the_same() {
        assert_eq!(arranged(vec![reader(0, 1, 1, Some(100)), reader(1, 1, 0, None)]).0, [0, 1]);
        assert_eq!(arranged(vec![reader(0, 1, 2, Some(100)), reader(1, 1, 0, None)]).0, [1, 0]);
        assert_eq!(arranged(vec![reader(0, 1, 2, None), reader(1, 1, 0, None)]).0, [1, 0]);
        assert_eq!(
            arranged(vec![reader(0, 1, 0, None), reader(1, 1, 0, Some(1))]).0,
            [0, 1],
            "nothing speaks against it"
        );
    }
}
