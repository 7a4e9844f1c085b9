//! The time before a node's end of which it may not have synced what it has shown, from the plan's steps.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::nemesis::Step;

/// By then a node that runs on a disk that answers has synced what it has shown, also on a slow one.
const SYNCED_AFTER: Duration = Duration::from_secs(15);

/// A trouble that keeps a node from syncing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hindrance {
    Full,
    Failing,
    Slow,
    Paused,
}

impl Hindrance {
    /// The hindrance that begins or ends with a step.
    fn of(step: &Step) -> Option<(usize, Hindrance, bool)> {
        match step {
            Step::FillDisk(node, _) => Some((*node, Hindrance::Full, true)),
            Step::FreeDisk(node) => Some((*node, Hindrance::Full, false)),
            Step::FailDisk(node, _) => Some((*node, Hindrance::Failing, true)),
            Step::MendDisk(node) => Some((*node, Hindrance::Failing, false)),
            Step::SlowDisk(node) => Some((*node, Hindrance::Slow, true)),
            Step::FastDisk(node) => Some((*node, Hindrance::Slow, false)),
            Step::Pause(node) => Some((*node, Hindrance::Paused, true)),
            Step::Resume(node) => Some((*node, Hindrance::Paused, false)),
            _ => None,
        }
    }
}

/// The hindrances of a node, since when, and until when.
#[derive(Debug, Default)]
struct Hindered {
    by: BTreeSet<Hindrance>,
    since: u64,
    until: u64,
}

impl Hindered {
    /// True if something may not have been synced since.
    fn lasts(&self, now: u64) -> bool {
        !self.by.is_empty() || (self.until > 0 && now - self.until < SYNCED_AFTER.as_nanos() as u64)
    }
}

/// The ends of nodes, and what kept them from syncing before.
#[derive(Debug, Default)]
pub(super) struct Ends {
    hindered: BTreeMap<usize, Hindered>,
    /// Each with its node, its moment, and true if its power was cut.
    pub(super) ends: Vec<(usize, u64, bool)>,
}

impl Ends {
    /// Takes note of a step that was just done. Gives for how long what its node has shown may be lost with it, if it ended.
    pub(super) fn note(&mut self, step: &Step, now: u64) -> Option<Duration> {
        if let Some((node, hindrance, begins)) = Hindrance::of(step) {
            let hindered = self.hindered.entry(node).or_default();
            if begins && !hindered.lasts(now) {
                hindered.since = now;
            }
            match begins {
                true => _ = hindered.by.insert(hindrance),
                false => _ = hindered.by.remove(&hindrance),
            }
            hindered.until = now;
        }
        match step {
            Step::Kill(node) | Step::PowerCut(node, _) | Step::Terminate(node) => {
                Some(self.ended(*node, now, matches!(step, Step::PowerCut(..))))
            }
            _ => None,
        }
    }

    /// A node ended. Gives for how long what it has shown may be lost.
    pub(super) fn ended(&mut self, node: usize, now: u64, is_power_cut: bool) -> Duration {
        self.ends.push((node, now, is_power_cut));
        let hindered = self.hindered.get(&node).filter(|hindered| hindered.lasts(now));
        SYNCED_AFTER + Duration::from_nanos(hindered.map_or(0, |hindered| now - hindered.since))
    }
}

#[cfg(test)]
mod tests {
    use runtime::sim::Keep;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_node_that_could_not_sync_loses_more() {
        let mut ends = Ends::default();
        let cut = Step::PowerCut(1, Keep::Nothing);
        assert_eq!(ends.note(&cut, 100 * SECOND), Some(SYNCED_AFTER));
        assert_eq!(ends.note(&Step::Pause(1), 100 * SECOND), None);
        assert_eq!(ends.note(&Step::Kill(1), 120 * SECOND), Some(Duration::from_secs(35)), "it is still paused");
        ends.note(&Step::Resume(1), 130 * SECOND);
        ends.note(&Step::FillDisk(1, 0), 140 * SECOND);
        ends.note(&Step::FreeDisk(1), 150 * SECOND);
        assert_eq!(ends.note(&Step::Kill(1), 155 * SECOND), Some(Duration::from_secs(70)), "since the first of both");
        assert_eq!(ends.note(&Step::Kill(1), 170 * SECOND), Some(SYNCED_AFTER));
        assert_eq!(ends.note(&Step::Kill(2), 155 * SECOND), Some(SYNCED_AFTER), "another node");
        ends.note(&Step::SlowDisk(1), 190 * SECOND);
        ends.note(&Step::Pause(1), 200 * SECOND);
        ends.note(&Step::Resume(1), 201 * SECOND);
        assert_eq!(ends.note(&Step::Kill(1), 290 * SECOND), Some(Duration::from_secs(115)), "its disk is still slow");
        assert_eq!(ends.ends.iter().filter(|(_, _, is_power_cut)| *is_power_cut).count(), 1);
    }
}
