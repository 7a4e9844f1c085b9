//! The token ranges that an operation moves, as requests see them in its present phase. See `docs/internals/operations.md`.

use std::cell::OnceCell;

use planted::{Bug, Planted};
use topology::operations::{Halves, Levels, Needs, Operation, Phase, Placements, RangeMove, RingChange, Target};
use topology::{ConsistencyLevel, NodeIndex, ReplicaMap, Required, Ring, Strategy, Token};

use super::replication::LEVELS;

/// The answers that each level needs, in the order of [`LEVELS`].
pub(super) type ByLevel = [Required; LEVELS.len()];

/// The moving ranges of one strategy.
#[derive(Debug)]
pub(super) struct Moving {
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

impl Moving {
    /// The ranges that an operation moves of a strategy, and the replicas before it. `None`: in its phase each request goes where it went before.
    pub(super) fn of(
        ring: &Ring,
        (operation, planted): (&Operation, Planted),
        rules: &dyn Strategy,
    ) -> Option<(Moving, ReplicaMap)> {
        let Target::Tokens(tokens) = &operation.target else { return None };
        let change = RingChange::new(ring, tokens);
        let placements = Placements::new(&change, rules, rules);
        let before = placements.before().clone();
        let ranges = match operation.phase.places_as(Phase::Planned) {
            true => Vec::new(),
            false => placements.moves().into_iter().map(MovingRange::new).collect(),
        };
        let levels = LEVELS.map(|level| placements.levels(level, ring));
        Some((Moving { phase: operation.phase, planted, levels, ranges }, before))
    }

    /// The ends of its ranges.
    pub(super) fn ends(&self) -> impl Iterator<Item = Token> {
        self.ranges.iter().flat_map(|moving| [moving.range.range.after, moving.range.range.end])
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
            Halves::Both => (&moving.both, &moving.needs(&self.levels, self.phase, self.planted)[at]),
        }
    }
}

impl MovingRange {
    fn new(range: RangeMove) -> MovingRange {
        let both = range.placement().replicas(Halves::Both).collect();
        MovingRange { range, both, needs: OnceCell::new() }
    }

    fn needs(&self, levels: &[Levels; LEVELS.len()], phase: Phase, planted: Planted) -> &ByLevel {
        self.needs.get_or_init(|| {
            let placement = self.range.placement();
            let of_level = |at: usize| {
                let needs = placement.write_needs(phase, &levels[at]);
                let needs = if planted.is(Bug::NewSetNotCounted) { Needs { new: needs.old, ..needs } } else { needs };
                needs.to_required()
            };
            Box::new(std::array::from_fn(of_level))
        })
    }
}

#[cfg(test)]
mod tests;
