//! Which answers count towards a level.

use topology::{HalfRequired, NodeIndex, Required, Ring};

/// True if the answers of `nodes` are enough for `needs`.
pub(crate) fn is_enough(needs: &Required, ring: &Ring, nodes: &[NodeIndex]) -> bool {
    count_towards(needs, ring, nodes).1
}

/// How many of the answers of `nodes` count for `needs`, and whether they are enough.
pub(crate) fn count_towards(needs: &Required, ring: &Ring, nodes: &[NodeIndex]) -> (u32, bool) {
    let count_in = |datacenter: &str| {
        let count = nodes.iter().filter(|&&node| ring.node(node).datacenter == datacenter).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    };
    match needs {
        Required::Total(needed) => {
            let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
            (count, count >= *needed)
        }
        Required::Local(needed) => {
            let count = count_in(&ring.local_node().datacenter);
            (count, count >= *needed)
        }
        Required::PerDatacenter(quotas) => {
            let counts = quotas.iter().map(|(datacenter, needed)| (count_in(datacenter), *needed));
            counts.fold((0, true), |(sum, is_enough), (count, needed)| {
                (sum + count.min(needed), is_enough && count >= needed)
            })
        }
        Required::Halves(halves) => {
            let of_half = |half: &HalfRequired| counted_in(half, nodes);
            let mut counted: Vec<NodeIndex> = halves.iter().flat_map(of_half).collect();
            counted.sort_unstable();
            counted.dedup();
            let count = u32::try_from(counted.len()).unwrap_or(u32::MAX);
            match needs.is_met(ring, nodes.iter().copied()) {
                true => (count, true),
                // As many answers as are needed of others.
                false => (count.min(needs.total() - 1), false),
            }
        }
    }
}

/// How much nearer an answer of `node` beside those of `counted` brings a request to what it needs; 0: not at all.
pub(crate) fn brings_nearer(needs: &Required, ring: &Ring, counted: &[NodeIndex], node: NodeIndex) -> u32 {
    let with: Vec<NodeIndex> = counted.iter().copied().chain([node]).collect();
    let towards = |needs: &Required, nodes: &[NodeIndex]| count_towards(needs, ring, nodes).0.min(needs.total());
    match needs {
        Required::Halves(halves) => {
            let gain = |half: &HalfRequired| {
                let (before, after) = (counted_in(half, counted), counted_in(half, &with));
                towards(&half.required, &after).saturating_sub(towards(&half.required, &before))
            };
            halves.iter().map(gain).sum()
        }
        needs => count_towards(needs, ring, &with).0.saturating_sub(count_towards(needs, ring, counted).0),
    }
}

fn counted_in(half: &HalfRequired, nodes: &[NodeIndex]) -> Vec<NodeIndex> {
    nodes.iter().copied().filter(|node| half.replicas.contains(node)).collect()
}
