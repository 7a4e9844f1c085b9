//! The answers of the product's functions for one range, as tables by sets of nodes, so that a search asks each once; and the same with one rule broken.

use std::collections::BTreeSet;

use topology::ConsistencyLevel::{self, *};
use topology::operations::{Answer, Halves, Phase, RangeMove};
use topology::{NodeIndex, Required, Ring};

use crate::sets::{Mask, Sets, datacenter, indices};

/// One rule that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// A level counts in the old set alone while a range moves.
    NewSetNotCounted,
    /// Pending replicas are not written before they are read.
    PendingNotWritten,
    /// Losing replicas are not written from ReadNew on.
    LosingNotWrittenAfterFlip,
    /// The new replicas are read before they have confirmed their copies.
    ReadsFlipBeforeCopy,
    /// A source serves a copy before it has applied WriteBoth.
    SourceServesOldEpoch,
    /// Where the counterpart is gone, any one replica is copied from.
    OneSourceForTheDead,
    /// Sources may be of any datacenter.
    NoNearSources,
    /// Staying replicas copy nothing, and counterparts are enough, however small the new set is.
    LoweredCopiesNothing,
    /// The same where the datacenter's part becomes small, and the whole set does not.
    DatacenterNotLowered,
    /// An answer to a read counts at a later placement.
    ReadCarriedOver,
    /// A read counts in the old set alone before ReadNew.
    ReadsOldAlone,
    /// A level counts in the union of both sets.
    UnionInPlaceOfBoth,
    /// A replica serves a request that was planned before the phase that it has applied.
    StalePlanServed,
    /// An operation is aborted in ReadNew.
    AbortedAfterFlip,
    /// An operation is done before ReadNew is applied.
    ReadNewNotAwaited,
}

/// All of them.
pub const ALL_BROKEN: [Broken; 15] = [
    Broken::NewSetNotCounted,
    Broken::PendingNotWritten,
    Broken::LosingNotWrittenAfterFlip,
    Broken::ReadsFlipBeforeCopy,
    Broken::SourceServesOldEpoch,
    Broken::OneSourceForTheDead,
    Broken::NoNearSources,
    Broken::LoweredCopiesNothing,
    Broken::DatacenterNotLowered,
    Broken::ReadCarriedOver,
    Broken::ReadsOldAlone,
    Broken::UnionInPlaceOfBoth,
    Broken::StalePlanServed,
    Broken::AbortedAfterFlip,
    Broken::ReadNewNotAwaited,
];

/// The placements of an operation, in the order in which replicas apply them: Copy has that of WriteBoth. The last one follows WriteBoth, too.
pub const PLANS: [Phase; 5] = [Phase::Planned, Phase::WriteBoth, Phase::ReadNew, Phase::Done, Phase::Aborted];
pub const PLANNED: usize = 0;
pub const BOTH: usize = 1;
pub const READ_NEW: usize = 2;
pub const DONE: usize = 3;
pub const ABORTED: usize = 4;

/// True if a replica that has applied the plan `later` has applied `plan` before, or it is the same.
pub fn is_not_after(plan: usize, later: usize) -> bool {
    plan == later || plan < if later == ABORTED { READ_NEW } else { later }
}

const LEVELS: [ConsistencyLevel; 10] =
    [One, Two, Three, Quorum, All, LocalQuorum, EachQuorum, Serial, LocalSerial, LocalOne];

/// Levels of coordinators, by the bit of their place in [`Rules::levels`].
pub type LevelMask = u32;

/// One level, as a coordinator of one datacenter counts it.
pub struct Counted {
    pub level: ConsistencyLevel,
    pub coordinator: usize,
    /// By plan and mask of answers: these are enough.
    writes: Vec<Vec<bool>>,
    reads: Vec<Vec<bool>>,
    /// The groups (all replicas, and those of each datacenter) of which it has a majority on both sides.
    majorities: BTreeSet<Option<usize>>,
}

impl Counted {
    fn is_serial(&self) -> bool {
        self.level.is_serial()
    }

    /// True if what meets this level must be seen by a read at `read`: both are majorities of the same replicas, before and afterwards.
    fn overlaps(&self, read: &Counted) -> bool {
        self.is_serial() == read.is_serial() && !self.majorities.is_disjoint(&read.majorities)
    }
}

/// All that is decided of one range.
pub struct Rules {
    pub sets: Sets,
    pub broken: Option<Broken>,
    /// By plan: who is written.
    pub write_sets: [Mask; PLANS.len()],
    pub levels: Vec<Counted>,
    /// By plan and mask of answers: the levels at which these are enough.
    pub acknowledged: Vec<Vec<LevelMask>>,
    pub answered: Vec<Vec<LevelMask>>,
    /// By level: the reads that must see what meets it.
    pub overlapping: Vec<LevelMask>,
    /// Levels that count acknowledgements of plain writes, and of Paxos.
    pub of_writes: [LevelMask; 2],
    /// Levels at which reads never go back.
    pub of_a_quorum: LevelMask,
    pub receivers: Mask,
    /// By receiver and the mask of those that it has copied from.
    pub copied: Vec<Vec<bool>>,
    /// By the mask of those that have applied a phase.
    pub barrier: Vec<bool>,
    /// By plan: a replica that has applied it serves copies.
    pub serves: [bool; PLANS.len()],
    /// By answer, the plan that it was given at, and the coordinator's plan.
    carries_over: [[[bool; PLANS.len()]; PLANS.len()]; 2],
    pub alike: Vec<Vec<Vec<usize>>>,
}

impl Rules {
    pub fn new(sets: &Sets, broken: Option<Broken>) -> Rules {
        let is = |rule| broken == Some(rule);
        let (ring, range_move) = (sets.ring(0), sets.range_move());
        let placements = sets.placements(&ring);
        let placement = placements.of(topology::Token(0));
        let mask_of = |nodes: &mut dyn Iterator<Item = NodeIndex>| nodes.fold(0, |mask, node| mask | 1 << node.0);
        let write_set = |phase: Phase| match phase {
            Phase::WriteBoth if is(Broken::PendingNotWritten) => sets.old,
            Phase::ReadNew if is(Broken::LosingNotWrittenAfterFlip) => sets.new,
            _ => mask_of(&mut placement.write_set(phase)),
        };
        let masks = 0..1 << sets.nodes;
        let receivers = match broken {
            Some(Broken::LoweredCopiesNothing) => sets.new & !sets.old,
            Some(Broken::DatacenterNotLowered) if !is_lowered(sets) => sets.new & !sets.old,
            _ => mask_of(&mut range_move.receivers(&ring)),
        };
        let copied = |receiver: usize| {
            let of = |mask| is_copied(sets, &range_move, &ring, receiver, mask, broken);
            masks.clone().map(|mask| of(mask as Mask)).collect::<Vec<_>>()
        };
        let carries = |answer: Answer, given: Phase, at: Phase| {
            (answer == Answer::Read && is(Broken::ReadCarriedOver)) || given.carries_over(answer, at)
        };
        let barrier = |mask: u16| range_move.is_one_in_every_quorum(&ring, |node| mask >> node.0 & 1 == 1);
        let coordinators = 0..sets.parts.len();
        let levels = LEVELS.iter().flat_map(|&level| coordinators.clone().map(move |of| (level, of)));
        let levels: Vec<Counted> = levels.map(|(level, of)| counted(sets, level, of, broken)).collect();
        let those = |is: &dyn Fn(&Counted) -> bool| {
            levels.iter().enumerate().fold(0, |mask, (place, level)| mask | LevelMask::from(is(level)) << place)
        };
        let by_plan = |is: &dyn Fn(&Counted, usize, usize) -> bool| {
            let of_plan = |plan| (0..1 << sets.nodes).map(|mask| those(&|level| is(level, plan, mask))).collect();
            (0..PLANS.len()).map(of_plan).collect::<Vec<Vec<LevelMask>>>()
        };
        Rules {
            broken,
            acknowledged: by_plan(&|level, plan, mask| level.writes[plan][mask]),
            answered: by_plan(&|level, plan, mask| level.reads[plan][mask]),
            overlapping: levels.iter().map(|level| those(&|read| level.overlaps(read))).collect(),
            of_writes: [those(&|level| !level.is_serial()), those(&|level| level.is_serial())],
            of_a_quorum: those(&|level| level.level.is_of_a_quorum() && !level.is_serial()),
            write_sets: PLANS.map(write_set),
            receivers,
            copied: (0..sets.nodes).map(copied).collect(),
            barrier: masks.clone().map(|mask| barrier(mask as u16)).collect(),
            serves: PLANS
                .map(|phase| phase.serves_copies() || (is(Broken::SourceServesOldEpoch) && phase == Phase::Planned)),
            carries_over: [Answer::Written, Answer::Read]
                .map(|answer| PLANS.map(|given| PLANS.map(|at| carries(answer, given, at)))),
            alike: sets.alike(),
            levels,
            sets: sets.clone(),
        }
    }

    /// True if an acknowledgement, or for Paxos an acceptance, that was given at a plan counts at another one.
    pub fn is_acknowledged(&self, is_serial: bool, given: usize, at: usize) -> bool {
        is_not_after(given, at) && self.carries_over[usize::from(is_serial)][given][at]
    }

    /// True if a read's answer that was given at a plan counts at another one.
    pub fn is_answered(&self, given: usize, at: usize) -> bool {
        is_not_after(given, at) && self.carries_over[1][given][at]
    }

    /// True if a replica that has applied a plan serves what was planned at another one.
    pub fn serves_plan(&self, applied: usize, plan: usize) -> bool {
        applied == plan || (self.broken == Some(Broken::StalePlanServed) && is_not_after(plan, applied))
    }
}

fn is_lowered(sets: &Sets) -> bool {
    sets.new.count_ones().div_ceil(2) < sets.old.count_ones().div_ceil(2)
}

fn is_copied(
    sets: &Sets,
    range_move: &RangeMove,
    ring: &Ring,
    receiver: usize,
    from: Mask,
    broken: Option<Broken>,
) -> bool {
    let node = NodeIndex(u16::try_from(receiver).expect("few"));
    let counterpart = range_move.counterpart(ring, node).is_some_and(|of| from >> of.0 & 1 == 1);
    let is_alone_enough = match broken {
        Some(Broken::OneSourceForTheDead) => from & sets.old & !(1 << receiver) != 0,
        Some(Broken::LoweredCopiesNothing) => counterpart,
        Some(Broken::DatacenterNotLowered) => counterpart && !is_lowered(sets),
        // One in every quorum of the whole set.
        Some(Broken::NoNearSources) => {
            let own = sets.old & 1 << receiver;
            ((from | own) & sets.old).count_ones() >= sets.old.count_ones().div_ceil(2)
        }
        _ => false,
    };
    is_alone_enough || range_move.is_copied(ring, node, &indices(from))
}

fn counted(sets: &Sets, level: ConsistencyLevel, coordinator: usize, broken: Option<Broken>) -> Counted {
    let ring = sets.ring(coordinator);
    let placements = sets.placements(&ring);
    let placement = placements.of(topology::Token(0));
    let levels = placements.levels(level, &ring);
    let is_met = |halves: Halves, needs: topology::operations::Needs<'_>, mask: Mask| {
        let answers = indices(mask);
        match broken {
            Some(Broken::NewSetNotCounted) if halves == Halves::Both => {
                needs.old.expect("it counts").is_met(&ring, &answers)
            }
            Some(Broken::UnionInPlaceOfBoth) if halves == Halves::Both => {
                let union = indices(sets.old | sets.new);
                let half = |half: topology::operations::Half<'_>| {
                    topology::operations::Half { replicas: &union, ..half }.is_met(&ring, &answers)
                };
                half(needs.old.expect("it counts")) && half(needs.new.expect("it counts"))
            }
            _ => needs.is_met(&ring, &answers),
        }
    };
    let masks = 0..1u16 << sets.nodes;
    let writes = |phase: Phase| {
        let needs = placement.write_needs(phase, &levels);
        let is_met = |mask: Mask| match (broken, phase) {
            (Some(Broken::PendingNotWritten), Phase::WriteBoth) => {
                needs.old.expect("it counts").is_met(&ring, &indices(mask))
            }
            (Some(Broken::LosingNotWrittenAfterFlip), Phase::ReadNew) => {
                needs.new.expect("it counts").is_met(&ring, &indices(mask))
            }
            _ => is_met(phase.writes(), needs, mask),
        };
        masks.clone().map(|mask| is_met(mask as Mask)).collect::<Vec<_>>()
    };
    let reads = |phase: Phase| {
        let needs = placement.read_needs(phase, level, &levels);
        let is_met = |mask: Mask| match (broken, needs.old, needs.new) {
            (Some(Broken::ReadsOldAlone), Some(old), Some(_)) if !level.is_serial() => {
                old.is_met(&ring, &indices(mask))
            }
            _ => is_met(phase.reads(level), needs, mask),
        };
        masks.clone().map(|mask| is_met(mask as Mask)).collect::<Vec<_>>()
    };
    let sides = [&levels.old, &levels.new].into_iter().zip(&sets.factors);
    let majorities = sides.map(|(required, factors)| majorities(required, factors, coordinator));
    Counted {
        level,
        coordinator,
        writes: PLANS.iter().map(|&phase| writes(phase)).collect(),
        reads: PLANS.iter().map(|&phase| reads(phase)).collect(),
        majorities: majorities.reduce(|one, other| &one & &other).expect("two sides"),
    }
}

/// The groups of which a level has a majority, however its answers fall.
fn majorities(required: &Required, factors: &[u32], coordinator: usize) -> BTreeSet<Option<usize>> {
    let all: u32 = factors.iter().sum();
    let forced_in = |number: usize| match required {
        Required::Total(count) => count.saturating_sub(all - factors[number]),
        Required::Local(count) => {
            if number == coordinator {
                *count
            } else {
                0
            }
        }
        Required::PerDatacenter(quotas) => {
            quotas.iter().find(|(name, _)| *name == datacenter(number)).map_or(0, |(_, count)| *count)
        }
        Required::Halves(_) => unreachable!("of one half"),
    };
    let of_all = (None, required.total(), all);
    let of_each = (0..factors.len()).map(|number| (Some(number), forced_in(number), factors[number]));
    let is_majority = |(_, forced, of): &(_, u32, u32)| 2 * forced > *of;
    std::iter::once(of_all).chain(of_each).filter(is_majority).map(|(group, ..)| group).collect()
}
