//! A leader's view of one follower: up to where their logs agree, what is sent next, and when it was heard.
//!
//! Invariants: `matched < next`, and neither passes the end of the leader's log. One `Append` is under way at a time. A follower that lost its log is
//! heard no more, is sent no entries, and counts in no majority. Here is neither the log nor the other followers.

use crate::entry::{Entry, Index};
use crate::message::Message;
use crate::replicated_log::ReplicatedLog;

/// A follower, as its leader knows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Progress {
    /// The follower's log is the leader's up to here, durably.
    matched: Index,
    /// The first index that is sent next.
    next: Index,
    /// The highest commit index that it was sent, for what it has.
    commit_sent: Index,
    /// An `Append` is under way. A heartbeat's answer ends the wait: the message may be lost.
    is_under_way: bool,
    /// It was heard since the quorum was last checked.
    is_active: bool,
    /// It answered a heartbeat of this round.
    round: u64,
    /// It said that it lost its log.
    is_lost: bool,
}

/// The entries that a follower is sent next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextAppend {
    /// This `Append`, which is under way from now on.
    Message(Message),
    /// None: the follower has all, or its answer is due, or it counts no more.
    Nothing,
    /// The leader's log begins after them.
    Compacted,
}

impl Progress {
    /// Nothing is known yet of a follower whose log may end at `last`.
    pub(crate) fn new(last: Index) -> Progress {
        Progress {
            matched: Index(0),
            next: last.next(),
            commit_sent: Index(0),
            is_under_way: false,
            is_active: true,
            round: 0,
            is_lost: false,
        }
    }

    /// The index up to which it counts as having the leader's log.
    pub(crate) fn matched(&self) -> Index {
        if self.is_lost { Index(0) } else { self.matched }
    }

    /// True if it lost its log.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// True if it was heard since the quorum was last checked.
    pub(crate) fn is_heard(&self) -> bool {
        self.is_active && !self.is_lost
    }

    /// True if it answered a heartbeat of that round or a later one.
    pub(crate) fn confirms(&self, round: u64) -> bool {
        self.round >= round && !self.is_lost
    }

    /// The place that it is known to have of what is committed.
    pub(crate) fn committed(&self, commit: Index) -> Index {
        commit.min(self.matched)
    }

    /// True if it has more of what is committed than it was sent word of.
    pub(crate) fn is_owed_commit(&self, commit: Index) -> bool {
        self.committed(commit) > self.commit_sent
    }

    /// It is sent the commit index, for what it has.
    pub(crate) fn commit_sent(&mut self, commit: Index) {
        self.commit_sent = self.commit_sent.max(self.committed(commit));
    }

    /// The quorum was checked: it is to be heard again.
    pub(crate) fn checked(&mut self) {
        self.is_active = false;
    }

    /// Its log was lost.
    pub(crate) fn lost(&mut self) {
        self.is_lost = true;
    }

    /// It has the leader's log up to `matched`.
    pub(crate) fn appended(&mut self, matched: Index) {
        self.is_active = true;
        self.has(matched);
    }

    /// Its log differs at `previous`; it may agree at `hint`. An old answer changes nothing. One that denies what the follower acknowledged does not
    /// either: it would be sent the same again and again, where a heartbeat's answer lets it be sent once.
    pub(crate) fn diverged(&mut self, previous: Index, hint: Index) {
        self.is_active = true;
        if previous <= self.matched || previous.next() != self.next {
            return;
        }
        self.is_under_way = false;
        self.next = hint.next().min(previous).max(self.matched.next());
    }

    /// It answered a heartbeat of a round. An `Append` that was under way is answered before this, or lost.
    pub(crate) fn answered(&mut self, round: u64) {
        self.is_active = true;
        self.round = self.round.max(round);
        self.is_under_way = false;
    }

    /// Its log is the leader's up to there, by an `Append` or by other means.
    pub(crate) fn has(&mut self, matched: Index) {
        self.is_under_way = false;
        self.matched = self.matched.max(matched);
        self.next = self.next.max(self.matched.next());
    }

    /// The entries that it lacks, as many as fit into `bytes_max`, but at least one.
    pub(crate) fn next_append(&mut self, log: &ReplicatedLog, bytes_max: usize) -> NextAppend {
        if self.matched >= log.last_index() || self.is_under_way || self.is_lost {
            return NextAppend::Nothing;
        }
        let previous_index = self.next.previous();
        let (Some(previous_term), Some(following)) = (log.log().term(previous_index), log.log().from(self.next)) else {
            return NextAppend::Compacted;
        };
        let mut bytes = 0;
        let fits = |entry: &&Entry| {
            let is_first = bytes == 0;
            bytes += entry.bytes();
            is_first || bytes <= bytes_max
        };
        let entries: Vec<Entry> = following.iter().take_while(fits).cloned().collect();
        let (commit, end) = (log.commit(), entries.last().map_or(previous_index, |entry| entry.index));
        self.is_under_way = true;
        self.commit_sent = self.commit_sent.max(commit.min(end));
        NextAppend::Message(Message::Append { previous_index, previous_term, entries, commit })
    }

    /// The invariants, after every step.
    pub(crate) fn check(&self, last: Index) {
        assert!(self.matched < self.next && self.matched <= last, "what it has is in the log, and not sent again");
        assert!(self.next <= last.next(), "it is sent what there is");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_three(matched: u64) -> Progress {
        let mut progress = Progress::new(Index(3));
        progress.has(Index(matched));
        progress
    }

    #[test]
    fn a_diverging_follower_is_sent_earlier_entries_until_they_fit() {
        let mut progress = of_three(0);
        progress.diverged(Index(3), Index(1));
        assert_eq!(progress.next, Index(2));
        progress.diverged(Index(3), Index(0));
        assert_eq!(progress.next, Index(2), "an old answer");
        progress.diverged(Index(1), Index(9));
        assert_eq!(progress.next, Index(1), "each answer leads to an earlier place");
    }

    #[test]
    fn a_follower_that_denies_what_it_acknowledged_is_not_sent_it_at_once() {
        let mut progress = of_three(2);
        (progress.next, progress.is_under_way) = (Index(3), true);
        progress.diverged(Index(2), Index(1));
        assert!(progress.is_under_way && progress.next == Index(3));
        progress.answered(1);
        assert!(!progress.is_under_way);
    }

    #[test]
    fn a_follower_that_lost_its_log_counts_in_no_majority() {
        let mut progress = of_three(2);
        progress.answered(4);
        assert!(progress.confirms(4) && !progress.confirms(5) && progress.is_heard());
        progress.lost();
        assert!(!progress.confirms(4) && !progress.is_heard() && progress.matched() == Index(0));
    }
}
