//! The time before a node's end of which it may not have synced what it has shown, from the plan's steps.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::nemesis::Step;
use crate::workload::requests::Change;

/// By then a node that runs on a disk that answers has synced what it has shown, also on a slow one.
const SYNCED_AFTER: Duration = Duration::from_secs(15);
/// By then a node that has answered a client has written the hints of that request to files: a replica is silent for 2 s at most.
const HINT_WRITTEN_AFTER: Duration = Duration::from_secs(5);
/// The same, and synced them: `hints_flush_period` later.
const HINT_SYNCED_AFTER: Duration = Duration::from_secs(18);
/// By then a coordinator that runs has given a request an answer that its client does not know: a client waits no longer, and a coordinator not as long.
const ANSWERED_WITHIN: Duration = Duration::from_secs(8);
/// By then a coordinator that runs on a disk that answers has ended its later tries of a logged batch: they come 5 s and 10 s after the one before, replicas are
/// silent for 2 s at most, and a try ends the batch that leaves hints where it reaches no replica. The second is for a ring that changes during the first.
const TRIED_AGAIN_WITHIN: Duration = Duration::from_secs(5 + 2 + 10 + 2);
/// By then a node whose disk was full has looked at its room again.
const ROOM_SEEN_AFTER: Duration = Duration::from_secs(65);

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

/// The end of a node.
#[derive(Debug, Clone, Copy)]
struct End {
    node: usize,
    at: u64,
    /// Hints of requests that were answered before are in files, and on the disk if power was cut.
    hinted_before: u64,
}

/// A time in which a node's disk is full, fails or is gone: it drops hints.
#[derive(Debug, Clone, Copy)]
struct Broken {
    node: usize,
    since: u64,
    /// `u64::MAX`: it is so still.
    until: u64,
    /// True if it fails, or is gone: a file that cannot be read three times is put aside with its hints.
    fails: bool,
}

/// The ends of nodes, and what kept them from syncing before.
#[derive(Debug, Default)]
pub(super) struct Ends {
    hindered: BTreeMap<usize, Hindered>,
    ends: Vec<End>,
    broken: Vec<Broken>,
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
            if matches!(hindrance, Hindrance::Full | Hindrance::Failing) {
                self.note_broken(node, now, hindrance == Hindrance::Failing, begins);
            }
        }
        match step {
            Step::Kill(node) | Step::PowerCut(node, _) | Step::Terminate(node) => {
                Some(self.ended(*node, now, matches!(step, Step::PowerCut(..))))
            }
            _ => None,
        }
    }

    fn note_broken(&mut self, node: usize, now: u64, fails: bool, begins: bool) {
        if begins {
            self.broken.push(Broken { node, since: now, until: u64::MAX, fails });
            return;
        }
        let is_it = |broken: &&mut Broken| (broken.node, broken.fails, broken.until) == (node, fails, u64::MAX);
        for broken in self.broken.iter_mut().filter(is_it) {
            broken.until = now + ROOM_SEEN_AFTER.as_nanos() as u64;
        }
    }

    /// A node that has ended is never started again, or has another disk: all hints that it had not delivered are lost.
    pub(super) fn disk_lost(&mut self, node: usize) {
        let last = self.ends.iter().filter(|end| end.node == node).map(|end| end.at).max();
        self.broken.extend(last.map(|at| Broken { node, since: at, until: at, fails: true }));
    }

    /// A node ended. Gives for how long what it has shown may be lost.
    pub(super) fn ended(&mut self, node: usize, now: u64, is_power_cut: bool) -> Duration {
        let hindered = self.hindered.get(&node).filter(|hindered| hindered.lasts(now));
        let longer = Duration::from_nanos(hindered.map_or(0, |hindered| now - hindered.since));
        let hinted = longer + if is_power_cut { HINT_SYNCED_AFTER } else { HINT_WRITTEN_AFTER };
        self.ends.push(End { node, at: now, hinted_before: now.saturating_sub(hinted.as_nanos() as u64) });
        SYNCED_AFTER + longer
    }

    /// True if hints of a change may be lost, of its first try or of a later one.
    pub(super) fn may_lose_hints_of(&self, change: &Change) -> bool {
        self.may_lose_hints(change.node, change.start, last_try(change))
    }

    /// True if hints of a request may be lost that a node has coordinated, from its start to the end of its last try.
    fn may_lose_hints(&self, node: usize, start: u64, tried: u64) -> bool {
        let by_end = |end: &End| end.node == node && start <= end.at && tried >= end.hinted_before;
        let latest = tried.saturating_add(HINT_WRITTEN_AFTER.as_nanos() as u64);
        let by_disk = |broken: &Broken| broken.node == node && start <= broken.until && broken.since <= latest;
        self.ends.iter().any(by_end) || self.broken.iter().any(by_disk) || self.may_lose_files(node, start)
    }

    /// True if hints may be lost that were on that node's disk when a request, which began at `start`, was answered.
    pub(super) fn may_lose_files(&self, node: usize, start: u64) -> bool {
        self.broken.iter().any(|broken| broken.node == node && broken.fails && start <= broken.until)
    }
}

/// The moment by which the last try of a change has ended that its coordinator makes. It is the answer of what was acknowledged: a logged batch is finished then. One that
/// failed, or has no answer, is tried again, and each try makes hints. If the coordinator ends meanwhile, it or the keepers of copies try later: that end is one with
/// which hints may be lost.
fn last_try(change: &Change) -> u64 {
    let later = |moment: u64, by: Duration| moment.saturating_add(by.as_nanos() as u64);
    let answered = change.ended.unwrap_or_else(|| later(change.start, ANSWERED_WITHIN));
    match change.is_logged && change.acknowledged.is_none() {
        true => later(answered, TRIED_AGAIN_WITHIN),
        false => answered,
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use runtime::sim::Keep;

    use super::*;
    use crate::workload::requests::{Effect, Extent, Reach};

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
    }

    #[test]
    fn hints_may_be_lost_with_their_node_or_its_disk() {
        let mut ends = Ends::default();
        let lost = |ends: &Ends, node, from: u64, to: u64| ends.may_lose_hints(node, from * SECOND, to * SECOND);
        ends.note(&Step::Kill(1), 100 * SECOND);
        assert_eq!([(94, 96), (93, 94), (101, 101)].map(|(from, to)| lost(&ends, 1, from, to)), [true, false, false]);
        ends.note(&Step::PowerCut(2, Keep::Nothing), 100 * SECOND);
        assert_eq!([(82, 83), (80, 81), (99, 104)].map(|(from, to)| lost(&ends, 2, from, to)), [true, false, true]);
        ends.note(&Step::FillDisk(3, 0), 200 * SECOND);
        ends.note(&Step::FreeDisk(3), 210 * SECOND);
        let full = [(190, 194), (190, 196), (270, 270), (276, 276)];
        assert_eq!(full.map(|(from, to)| lost(&ends, 3, from, to)), [false, true, true, false]);
        assert!(!ends.may_lose_files(3, 205 * SECOND), "a full disk keeps what it has");
        ends.note(&Step::FailDisk(4, 0), 200 * SECOND);
        assert!(lost(&ends, 4, 1, 2) && ends.may_lose_files(4, SECOND), "of any age");
        ends.note(&Step::MendDisk(4), 210 * SECOND);
        assert!(!lost(&ends, 4, 276, 276) && !ends.may_lose_files(4, 276 * SECOND));
        assert!(!lost(&ends, 0, 100, 100), "another node");
    }

    /// A batch that timed out, a second try 5 s later that leaves its rows and the hint of them on the coordinator's disk alone, and a replacement of that node.
    #[test]
    fn hints_are_lost_with_a_disk_that_is_exchanged() {
        let mut ends = Ends::default();
        let lost = |ends: &Ends, from: u64, to: u64| ends.may_lose_hints(1, from * SECOND, to * SECOND);
        ends.note(&Step::Kill(1), 19 * SECOND);
        assert!(!lost(&ends, 10, 12), "the disk is there");
        ends.disk_lost(1);
        assert!(lost(&ends, 10, 12) && lost(&ends, 1, 2), "of any age");
        assert!(!lost(&ends, 20, 21), "of the node that has its place");
        assert!(!ends.may_lose_hints(2, 10 * SECOND, 12 * SECOND), "another node");
    }

    /// A logged batch that timed out is tried again after 5 s, and the hints of that try are as young as it.
    #[test]
    fn hints_of_later_tries_are_lost_too() {
        let mut ends = Ends::default();
        ends.note(&Step::Kill(1), 19 * SECOND);
        let rows = Extent::Rows(Rc::from([]));
        let single = Change::of(rows, Effect::Write, Reach::Some(1), 1, 10 * SECOND);
        let failed = |change: &Change, at: u64| Change { ended: Some(at * SECOND), ..change.clone() };
        let batch = Change { is_logged: true, ..single.clone() };
        assert!(ends.may_lose_hints_of(&failed(&batch, 12)), "the second try was at 17 s");
        assert!(!ends.may_lose_hints_of(&failed(&single, 12)), "what is no batch is not tried again");
        let acknowledged = Change { acknowledged: Some(12 * SECOND), ..failed(&batch, 12) };
        assert!(!ends.may_lose_hints_of(&acknowledged), "it was finished");
        assert!(ends.may_lose_hints_of(&single), "it may have been tried for longer than its client knows");
        ends.note(&Step::Kill(2), 60 * SECOND);
        assert!(!ends.may_lose_hints_of(&Change { node: 2, ..failed(&batch, 12) }), "long after its last try");
    }
}
