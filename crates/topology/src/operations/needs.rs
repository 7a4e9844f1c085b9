//! The answers that a request needs while its range moves.

use std::rc::Rc;

use crate::consistency::{HalfRequired, Required};
use crate::ring::{NodeIndex, Ring};

/// One half of a moving range, as a request counts in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Half<'a> {
    /// The replicas whose answers count.
    pub replicas: &'a [NodeIndex],
    /// How many of them must answer.
    pub required: &'a Required,
}

impl Half<'_> {
    /// True if the level is met in this half, where the coordinator is `ring`'s local node. `answers` are of any nodes, each once.
    pub fn is_met(&self, ring: &Ring, answers: &[NodeIndex]) -> bool {
        let counted = answers.iter().copied().filter(|node| self.replicas.contains(node));
        self.required.is_met(ring, counted)
    }
}

/// The answers that a request needs: its level is met when it is met in each half that counts. One half counts, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs<'a> {
    /// The half of the old set, if it counts.
    pub old: Option<Half<'a>>,
    /// The half of the new set, if it counts.
    pub new: Option<Half<'a>>,
}

impl<'a> Needs<'a> {
    /// The halves that count.
    pub fn halves(&self) -> impl Iterator<Item = Half<'a>> {
        self.old.into_iter().chain(self.new)
    }

    /// The same as a value of its own, which a request keeps.
    pub fn to_required(&self) -> Required {
        let half = |half: &Half<'_>| HalfRequired { replicas: half.replicas.to_vec(), required: half.required.clone() };
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => Required::Halves(Rc::new([half(old), half(new)])),
            (Some(only), None) | (None, Some(only)) => only.required.clone(),
            (None, None) => unreachable!("a half counts"),
        }
    }

    /// True if these answers are enough. An answer of a replica of both halves counts in both.
    pub fn is_met(&self, ring: &Ring, answers: &[NodeIndex]) -> bool {
        self.halves().all(|half| half.is_met(ring, answers))
    }

    /// True if the request can succeed where these nodes are alive.
    pub fn can_be_met(&self, ring: &Ring, is_alive: impl Fn(NodeIndex) -> bool) -> bool {
        self.halves().all(|half| {
            let alive = half.replicas.iter().copied().filter(|&node| is_alive(node));
            half.required.is_met(ring, alive)
        })
    }
}
