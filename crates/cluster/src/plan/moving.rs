//! The token ranges that an operation moves, as requests see them in its present phase. See `docs/internals/operations.md`.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use planted::{Bug, Planted};
use topology::operations::{Halves, Levels, Needs, Phase, Placements, RangeMove, RingChange};
use topology::{ConsistencyLevel, HalfRequired, NodeIndex, ReplicaMap, Required, Ring, Strategy, Token};

use super::replication::LEVELS;
use super::transition::{Course, Transition};

/// The answers that each level needs, in the order of [`LEVELS`].
pub(super) type ByLevel = [Required; LEVELS.len()];

/// A strategy's replicas while nodes join or an operation moves ranges.
pub(super) struct Changing {
    /// The replicas before.
    pub(super) before: ReplicaMap,
    /// The answers that each level needs of them.
    pub(super) required: ByLevel,
    /// The ranges to whose tokens requests go elsewhere than before, if there are some.
    pub(super) moving: Option<Moving>,
}

/// The moving ranges of one strategy.
#[derive(Debug)]
pub(super) struct Moving {
    ring: Rc<Ring>,
    phase: Phase,
    planted: Planted,
    /// In each half, by level.
    levels: [Levels; LEVELS.len()],
    /// Ascending by their ends.
    ranges: Vec<MovingRange>,
}

/// One of them.
#[derive(Debug)]
struct MovingRange {
    range: RangeMove,
    /// The replicas of both sets, the staying ones first.
    both: Vec<NodeIndex>,
    /// The answers that each level needs where both sets count, when they were asked for.
    needs: OnceCell<Box<ByLevel>>,
}

impl Changing {
    /// The replicas of a strategy with these rules now, and with those after the operation. `None`: no node joins, and nothing moves them.
    pub(super) fn of(
        ring: &Rc<Ring>,
        (transition, course): (&Transition, Course<'_>),
        [now, after]: [&dyn Strategy; 2],
        planted: Planted,
    ) -> Option<Changing> {
        if transition.joining().is_empty() && course.phase.is_none() {
            return None;
        }
        let mut tokens = course.tokens.cloned().unwrap_or_else(BTreeMap::new);
        // Those of operations that are queued are on neither side.
        transition.joining().iter().for_each(|host| _ = tokens.entry(*host).or_default());
        let change = RingChange::new(ring, &tokens);
        let placements = Placements::new(&change, now, after);
        let levels = LEVELS.map(|level| placements.levels(level, ring));
        let required = std::array::from_fn(|at| levels[at].old.clone());
        let moving = course.phase.filter(|phase| !phase.places_as(Phase::Planned)).and_then(|phase| {
            let ranges: Vec<MovingRange> = placements.moves().into_iter().map(MovingRange::new).collect();
            let is_empty = ranges.is_empty();
            (!is_empty).then(|| Moving { ring: Rc::clone(ring), phase, planted, levels, ranges })
        });
        Some(Changing { before: placements.before().clone(), required, moving })
    }
}

impl Moving {
    /// The ends of its ranges.
    pub(super) fn ends(&self) -> impl Iterator<Item = Token> {
        self.ranges.iter().flat_map(|moving| [moving.range.range.after, moving.range.range.end])
    }

    /// True if the token is in one of them.
    pub(super) fn is_moving(&self, token: Token) -> bool {
        self.of_token(token).is_some()
    }

    /// True if the token's range is taken from the node.
    pub(super) fn is_taken_from(&self, node: NodeIndex, token: Token) -> bool {
        let moving = self.of_token(token).map(|moving| moving.range.placement());
        moving.is_some_and(|sets| sets.old.contains(&node) && !sets.new.contains(&node))
    }

    fn of_token(&self, token: Token) -> Option<&MovingRange> {
        let at = self.ranges.partition_point(|moving| moving.range.range.end < token);
        // The last one may go on at the ring's start, and the first one may have begun before its end.
        let near = self.ranges.get(at).into_iter().chain(self.ranges.first()).chain(self.ranges.last());
        near.into_iter().find(|moving| moving.range.range.contains(token))
    }

    /// The replicas that a write of the token is sent to, and the answers that it needs. `None`: the token does not move.
    pub(super) fn written(&self, token: Token, level: ConsistencyLevel) -> Option<(&[NodeIndex], &Required)> {
        let moving = self.of_token(token)?;
        let halves = match self.phase {
            _ if self.planted.is(Bug::PendingNotWritten) && self.phase < Phase::ReadNew => Halves::Old,
            Phase::ReadNew if self.planted.is(Bug::LosingNotWrittenAfterFlip) => Halves::New,
            phase => phase.writes(),
        };
        Some(self.half(moving, halves, level))
    }

    /// The same of a read, or of a round of Paxos at a serial level.
    pub(super) fn read(&self, token: Token, level: ConsistencyLevel) -> Option<(&[NodeIndex], &Required)> {
        let halves = match self.planted.is(Bug::ReadsFlipBeforeCopy) && self.phase < Phase::ReadNew {
            true => Halves::New,
            false => self.phase.reads(level),
        };
        Some(self.half(self.of_token(token)?, halves, level))
    }

    fn half<'m>(
        &'m self,
        moving: &'m MovingRange,
        halves: Halves,
        level: ConsistencyLevel,
    ) -> (&'m [NodeIndex], &'m Required) {
        let at = level as usize;
        match halves {
            Halves::Old => (moving.range.old_replicas(), &self.levels[at].old),
            Halves::New => (moving.range.new_replicas(), &self.levels[at].new),
            Halves::Both => (&moving.both, &moving.needs(self)[at]),
        }
    }
}

impl MovingRange {
    fn new(range: RangeMove) -> MovingRange {
        let both = range.placement().replicas(Halves::Both).collect();
        MovingRange { range, both, needs: OnceCell::new() }
    }

    fn needs(&self, Moving { ring, phase, planted, levels, .. }: &Moving) -> &ByLevel {
        self.needs.get_or_init(|| {
            let placement = self.range.placement();
            let of_level = |at: usize| {
                let needs = placement.write_needs(*phase, &levels[at]);
                let needs = if planted.is(Bug::NewSetNotCounted) { Needs { new: needs.old, ..needs } } else { needs };
                local(needs.to_required(), ring)
            };
            Box::new(std::array::from_fn(of_level))
        })
    }
}

/// The same answers, where only those of this datacenter count: its replicas alone are in the halves, and it is one set where they stay. So numbers in errors are
/// of this datacenter, as in Cassandra.
fn local(needs: Required, ring: &Ring) -> Required {
    let Required::Halves(halves) = &needs else { return needs };
    if !needs.is_local() {
        return needs;
    }
    let is_near = |node: &NodeIndex| ring.node(*node).datacenter == ring.local_node().datacenter;
    let near = |half: &HalfRequired| HalfRequired {
        replicas: half.replicas.iter().copied().filter(is_near).collect(),
        required: half.required.clone(),
    };
    let [old, new] = &**halves;
    let (old, new) = (near(old), near(new));
    let stays = old.replicas.len() == new.replicas.len() && old.replicas.iter().all(|node| new.replicas.contains(node));
    match stays && old.required == new.required {
        true => old.required,
        false => Required::Halves(Rc::new([old, new])),
    }
}

#[cfg(test)]
mod tests;
