//! A cut as a question: does anything pass from one end to another?

use super::{Cut, Shape};

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Node(usize),
    Clients,
}

impl Cut {
    /// True if nothing passes from one node to another.
    pub fn parts(&self, from: usize, to: usize, datacenter: &impl Fn(usize) -> usize) -> bool {
        self.holds(End::Node(from), End::Node(to), datacenter)
    }

    /// True if nothing passes from `from` to `to`. `datacenter` gives that of a node.
    pub(super) fn holds(&self, from: End, to: End, datacenter: &impl Fn(usize) -> usize) -> bool {
        match (from, to) {
            (End::Node(from), End::Node(to)) => from != to && self.shape.parts(from, to, datacenter),
            (End::Node(from), End::Clients) => self.parts_clients && self.shape.silences(from, datacenter),
            (End::Clients, End::Node(to)) => self.parts_clients && self.shape.deafens(to, datacenter),
            (End::Clients, End::Clients) => false,
        }
    }
}

impl Shape {
    /// The mark of this shape's effect.
    pub(super) fn mark(&self) -> &'static str {
        match self {
            Shape::OneWay { .. } => "cut of one direction held",
            Shape::Mute { .. } => "mute node held",
            Shape::Deaf { .. } => "deaf node held",
            Shape::Isolated { .. } => "isolated node held",
            Shape::Datacenter { .. } => "isolated datacenter held",
            Shape::Halves { .. } => "halves held",
            Shape::Chain { .. } => "chain held",
        }
    }

    fn parts(&self, from: usize, to: usize, datacenter: &impl Fn(usize) -> usize) -> bool {
        match self {
            Shape::OneWay { from: sender, to: receiver } => (from, to) == (*sender, *receiver),
            Shape::Mute { node } => from == *node,
            Shape::Deaf { node } => to == *node,
            Shape::Isolated { node } => from == *node || to == *node,
            Shape::Datacenter { number } => (datacenter(from) == *number) != (datacenter(to) == *number),
            Shape::Halves { first } => first.contains(&from) != first.contains(&to),
            Shape::Chain { order } => {
                let place = |node| order.iter().position(|other| *other == node);
                matches!((place(from), place(to)), (Some(from), Some(to)) if from.abs_diff(to) > 1)
            }
        }
    }

    /// True if clients do not hear the node, where they are parted too.
    fn silences(&self, node: usize, datacenter: &impl Fn(usize) -> usize) -> bool {
        match self {
            Shape::Deaf { .. } => false,
            _ => self.is_of(node, datacenter),
        }
    }

    /// True if the node does not hear clients, where they are parted too.
    fn deafens(&self, node: usize, datacenter: &impl Fn(usize) -> usize) -> bool {
        match self {
            Shape::OneWay { .. } | Shape::Mute { .. } => false,
            _ => self.is_of(node, datacenter),
        }
    }

    fn is_of(&self, node: usize, datacenter: &impl Fn(usize) -> usize) -> bool {
        match self {
            Shape::OneWay { from: named, .. }
            | Shape::Mute { node: named }
            | Shape::Deaf { node: named }
            | Shape::Isolated { node: named } => node == *named,
            Shape::Datacenter { number } => datacenter(node) == *number,
            Shape::Halves { first } => first.contains(&node),
            Shape::Chain { order } => order.first() == Some(&node),
        }
    }
}
