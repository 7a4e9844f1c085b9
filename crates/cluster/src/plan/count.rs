//! Which answers count towards a level.

use topology::{NodeIndex, Required, Ring};

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
    }
}
