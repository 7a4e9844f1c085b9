//! Old and new sets of one range, up to the names of nodes.

use std::collections::BTreeMap;

use topology::operations::{Placements, RangeMove, RingChange};
use topology::{Epoch, Factor, HostId, Node, NodeIndex, Ring, Strategy, Token, TokenRange};

/// Nodes, by the bit of their index.
pub type Mask = u8;
/// The most nodes of both sets.
pub const NODES_MAX: usize = 7;

/// How many replicas of one datacenter there are before, afterwards, and in both sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub old: usize,
    pub new: usize,
    pub stay: usize,
}

impl Part {
    pub fn nodes(self) -> usize {
        self.old + self.new - self.stay
    }
}

/// The old and the new set of a range. Nodes of a datacenter have indices in a row: staying ones, losing ones, pending ones.
#[derive(Debug, Clone)]
pub struct Sets {
    pub parts: Vec<Part>,
    pub old: Mask,
    pub new: Mask,
    pub nodes: usize,
    /// The replication factors of both sides by datacenter: the sizes of the sets, or more where the cluster has too few nodes.
    pub factors: [Vec<u32>; 2],
}

/// The sets that a strategy gives, whatever the range.
struct Fixed {
    set: Vec<NodeIndex>,
    factor: Factor,
}

impl Strategy for Fixed {
    fn factor(&self) -> Factor {
        self.factor.clone()
    }

    fn place(&self, _: TokenRange, _: &Ring) -> Vec<NodeIndex> {
        self.set.clone()
    }
}

pub fn datacenter(number: usize) -> String {
    format!("dc{number}")
}

pub fn indices(mask: Mask) -> Vec<NodeIndex> {
    (0..8u16).filter(|index| mask >> index & 1 == 1).map(NodeIndex).collect()
}

impl Sets {
    /// `is_short`: each side has the larger factor of the two.
    pub fn new(parts: &[Part], is_short: bool) -> Sets {
        let (mut old, mut new, mut nodes) = (0, 0, 0);
        for part in parts {
            for (count, is_old, is_new) in
                [(part.stay, true, true), (part.old - part.stay, true, false), (part.new - part.stay, false, true)]
            {
                for _ in 0..count {
                    old |= Mask::from(is_old) << nodes;
                    new |= Mask::from(is_new) << nodes;
                    nodes += 1;
                }
            }
        }
        let factor = |of: fn(&Part) -> usize| {
            let count = |part: &Part| if is_short { part.old.max(part.new) } else { of(part) };
            parts.iter().map(|part| u32::try_from(count(part)).expect("few")).collect::<Vec<_>>()
        };
        Sets { parts: parts.to_vec(), old, new, nodes, factors: [factor(|part| part.old), factor(|part| part.new)] }
    }

    /// As in `ABC→AD`, by datacenter.
    pub fn name(&self) -> String {
        let name = |mask: Mask| indices(mask).iter().map(|node| char::from(b'A' + node.0 as u8)).collect::<String>();
        let of = |number: usize, set: Mask| name(set & self.of_datacenter(number));
        let parts: Vec<String> =
            (0..self.parts.len()).map(|number| format!("{}→{}", of(number, self.old), of(number, self.new))).collect();
        format!("{}{}", parts.join(" + "), if self.is_short() { " (short of nodes)" } else { "" })
    }

    /// True if a side has fewer replicas than it should have.
    pub fn is_short(&self) -> bool {
        let count = |set: Mask| set.count_ones();
        self.factors[0].iter().sum::<u32>() > count(self.old) || self.factors[1].iter().sum::<u32>() > count(self.new)
    }

    pub fn of_datacenter(&self, number: usize) -> Mask {
        let before: usize = self.parts[..number].iter().map(|part| part.nodes()).sum();
        (((1u16 << self.parts[number].nodes()) - 1) << before) as Mask
    }

    /// The ring as seen by a coordinator in a datacenter.
    pub fn ring(&self, coordinator: usize) -> Ring {
        let mut nodes = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            for _ in 0..part.nodes() {
                nodes.push(node(nodes.len(), number));
            }
        }
        // The coordinator is a node of its own, which has no replica: which one coordinates makes no difference to who answers.
        nodes.push(node(nodes.len(), coordinator));
        let local = NodeIndex(u16::try_from(nodes.len() - 1).expect("few"));
        Ring::new(Epoch::FIRST, nodes, local)
    }

    pub fn placements(&self, ring: &Ring) -> Placements {
        let side = |set: Mask, factors: &[u32]| {
            let factors: BTreeMap<String, u32> =
                factors.iter().enumerate().map(|(number, factor)| (datacenter(number), *factor)).collect();
            Fixed { set: indices(set), factor: Factor::PerDatacenter(factors) }
        };
        let [old, new] = [side(self.old, &self.factors[0]), side(self.new, &self.factors[1])];
        Placements::new(&RingChange::none(ring), &old, &new)
    }

    pub fn range_move(&self) -> RangeMove {
        let moves = self.placements(&self.ring(0)).moves();
        let [only] = &moves[..] else { panic!("one range moves: {moves:?}") };
        only.clone()
    }

    /// Places of nodes that differ by their names alone, as groups of groups: the inner ones are exchanged as wholes. A losing replica goes with its
    /// counterpart.
    pub fn alike(&self) -> Vec<Vec<Vec<usize>>> {
        let mut alike = Vec::new();
        let mut first = 0;
        for part in &self.parts {
            let losing = first + part.stay;
            let pending = first + part.old;
            let (lost, gained) = (part.old - part.stay, part.new - part.stay);
            let pairs = lost.min(gained);
            alike.push((first..losing).map(|node| vec![node]).collect());
            alike.push((0..pairs).map(|pair| vec![losing + pair, pending + pair]).collect());
            alike.push((pairs..lost).map(|node| vec![losing + node]).collect());
            alike.push((pairs..gained).map(|node| vec![pending + node]).collect());
            first += part.nodes();
        }
        alike.retain(|group: &Vec<Vec<usize>>| group.len() > 1);
        alike
    }
}

fn node(number: usize, of: usize) -> Node {
    let byte = u8::try_from(number).expect("few");
    Node {
        host_id: HostId([byte; 16]),
        address: ([127, 0, 0, byte + 1], 9042).into(),
        internode: ([127, 0, 0, byte + 1], 7000).into(),
        datacenter: datacenter(of),
        rack: "rack1".into(),
        tokens: vec![Token(i64::from(byte))],
    }
}

/// All parts in which some replica is, or is to be, with so many nodes at most.
fn parts(nodes_max: usize) -> Vec<Part> {
    let mut all = Vec::new();
    for old in 0..=nodes_max {
        for new in 0..=nodes_max {
            for stay in 0..=old.min(new) {
                let part = Part { old, new, stay };
                if (1..=nodes_max).contains(&part.nodes()) {
                    all.push(part);
                }
            }
        }
    }
    all
}

/// All sets of one datacenter in which something changes, of sizes up to `size_max`.
pub fn of_one_datacenter(nodes_max: usize, size_max: usize) -> Vec<Sets> {
    let is_moving = |part: &Part| part.old > 0 && part.new > 0 && (part.stay < part.old || part.stay < part.new);
    let fits = |part: &Part| part.old <= size_max && part.new <= size_max;
    let moving = parts(nodes_max).into_iter().filter(|part| is_moving(part) && fits(part));
    moving.flat_map(|part| both_factors(&[part])).collect()
}

/// All sets of two datacenters in which something changes.
pub fn of_two_datacenters(nodes_max: usize) -> Vec<Sets> {
    let mut all = Vec::new();
    for one in parts(nodes_max - 1) {
        for two in parts(nodes_max - one.nodes()) {
            let is_some = |of: fn(&Part) -> usize| of(&one) + of(&two) > 0;
            let is_moving = |part: Part| part.stay < part.old || part.stay < part.new;
            // The two datacenters are alike: the first is the one that sorts first.
            let key = |part: Part| (part.old, part.new, part.stay);
            let (is_ordered, is_moved) = (key(one) >= key(two), is_moving(one) || is_moving(two));
            if is_ordered && is_moved && is_some(|part| part.old) && is_some(|part| part.new) {
                all.extend(both_factors(&[one, two]));
            }
        }
    }
    all
}

/// With factors of the sets' sizes, and as a cluster that has too few nodes before or afterwards.
fn both_factors(parts: &[Part]) -> Vec<Sets> {
    let is_short = parts.iter().any(|part| part.old != part.new && part.old > 0 && part.new > 0);
    let all = [false, true].into_iter().filter(|&short| !short || is_short);
    all.map(|short| Sets::new(parts, short)).collect()
}
