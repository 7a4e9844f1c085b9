//! Which answers count towards a level.

use topology::{HalfRequired, NodeIndex, Required, Ring};

/// True if the answers of `nodes`, each once, are enough for `needs`.
pub(crate) fn is_enough(needs: &Required, ring: &Ring, nodes: &[NodeIndex]) -> bool {
    match needs {
        Required::Halves(halves) => halves.iter().all(|half| tally(&half.required, ring, in_half(half, nodes)).1),
        needs => tally(needs, ring, nodes.iter().copied()).1,
    }
}

/// How many of the answers of `nodes` count for `needs`, and whether they are enough.
pub(crate) fn count_towards(needs: &Required, ring: &Ring, nodes: &[NodeIndex]) -> (u32, bool) {
    let Required::Halves(halves) = needs else { return tally(needs, ring, nodes.iter().copied()) };
    let counts = |node: &&NodeIndex| halves.iter().any(|half| half.replicas.contains(*node));
    let count = u32::try_from(nodes.iter().filter(counts).count()).unwrap_or(u32::MAX);
    match is_enough(needs, ring, nodes) {
        true => (count, true),
        // As many answers as are needed of others.
        false => (count.min(needs.total().saturating_sub(1)), false),
    }
}

/// The most that an answer brings a request nearer to what it needs: it counts in both halves.
pub(crate) const NEARER_MAX: u32 = 2;

/// How much nearer an answer of `node` beside those of `counted`, which has none of it, brings a request to what it needs: in so many halves it counts; 0: not at all.
pub(crate) fn brings_nearer(needs: &Required, ring: &Ring, counted: &[NodeIndex], node: NodeIndex) -> u32 {
    match needs {
        Required::Halves(halves) => {
            let counts = |half: &HalfRequired| {
                half.replicas.contains(&node) && is_lacking(&half.required, ring, in_half(half, counted), node)
            };
            halves.iter().map(|half| u32::from(counts(half))).sum()
        }
        needs => u32::from(is_lacking(needs, ring, counted.iter().copied(), node)),
    }
}

/// The same as [`count_towards`] where one set of replicas counts.
fn tally(needs: &Required, ring: &Ring, nodes: impl Iterator<Item = NodeIndex> + Clone) -> (u32, bool) {
    let counted = |count: u32, needed: u32| (count, count >= needed);
    match needs {
        Required::Total(needed) => counted(u32::try_from(nodes.count()).unwrap_or(u32::MAX), *needed),
        Required::Local(needed) => counted(count_in(&ring.local_node().datacenter, ring, nodes), *needed),
        Required::PerDatacenter(quotas) => {
            let counts = quotas.iter().map(|(datacenter, needed)| (count_in(datacenter, ring, nodes.clone()), *needed));
            counts.fold((0, true), |(sum, is_enough), (count, needed)| {
                (sum + count.min(needed), is_enough && count >= needed)
            })
        }
        Required::Halves(_) => unreachable!("a half has no halves"),
    }
}

/// True if an answer of `node` counts, and is needed beside those of `nodes`.
fn is_lacking(needs: &Required, ring: &Ring, nodes: impl Iterator<Item = NodeIndex> + Clone, node: NodeIndex) -> bool {
    let datacenter = &ring.node(node).datacenter;
    let quota = match needs {
        Required::Total(_) => return !tally(needs, ring, nodes).1,
        Required::Local(needed) => (ring.local_node().datacenter == *datacenter).then_some(*needed),
        Required::PerDatacenter(quotas) => {
            quotas.iter().find(|(name, _)| name == datacenter).map(|(_, needed)| *needed)
        }
        Required::Halves(_) => unreachable!("a half has no halves"),
    };
    quota.is_some_and(|needed| count_in(datacenter, ring, nodes) < needed)
}

fn count_in(datacenter: &str, ring: &Ring, nodes: impl Iterator<Item = NodeIndex>) -> u32 {
    u32::try_from(nodes.filter(|node| ring.node(*node).datacenter == datacenter).count()).unwrap_or(u32::MAX)
}

fn in_half<'h>(half: &'h HalfRequired, nodes: &'h [NodeIndex]) -> impl Iterator<Item = NodeIndex> + Clone + 'h {
    nodes.iter().copied().filter(|node| half.replicas.contains(node))
}
