//! A leader's view of another voter.

use crate::entry::Index;

/// What a leader knows of a follower.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Progress {
    /// The follower's log is the leader's up to here, durably.
    pub(crate) matched: Index,
    /// The first index that is sent next. Above `matched`.
    pub(crate) next: Index,
    /// The highest commit index that it was sent, for what it has.
    pub(crate) told: Index,
    /// An `Append` is under way. A heartbeat's answer ends the wait: the message may be lost.
    pub(crate) is_under_way: bool,
    /// It was heard since the quorum was last checked.
    pub(crate) is_active: bool,
    /// It answered a heartbeat of this round.
    pub(crate) round: u64,
    /// It said that it lost its log: it counts no more.
    pub(crate) is_lost: bool,
}

impl Progress {
    /// Nothing is known yet of a follower whose log may end where the leader's does.
    pub(crate) fn new(last: Index, round: u64) -> Progress {
        let (matched, next, told) = (Index(0), last.next(), Index(0));
        Progress { matched, next, told, is_under_way: false, is_active: true, round, is_lost: false }
    }

    /// The follower has the log up to `matched`.
    pub(crate) fn has(&mut self, matched: Index) {
        self.is_under_way = false;
        self.matched = self.matched.max(matched);
        self.next = self.next.max(self.matched.next());
    }

    /// The logs differ at `previous`; they may agree at `hint`. An old answer changes nothing.
    pub(crate) fn diverged(&mut self, previous: Index, hint: Index) {
        if previous < self.matched || previous.next() != self.next {
            return;
        }
        self.is_under_way = false;
        self.next = hint.next().min(previous).max(self.matched.next());
    }
}
