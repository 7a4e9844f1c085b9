//! Replication: what a leader sends, what a follower takes, and what is committed by it.

use planted::Bug;

use crate::entry::{Entry, Index, NodeId, Payload, Term};
use crate::message::Message;
use crate::progress::Progress;
use crate::raft::{Raft, Role};
use crate::ready::Trouble;

impl Raft {
    /// Sorts a message by its term, then by its kind.
    pub(crate) fn receive(&mut self, from: NodeId, term: Term, message: Message) {
        if let Message::Vote { .. } = message {
            return match term < self.vote.term {
                true => self.send(from, Message::Outdated),
                false => self.vote_for(from, term, &message),
            };
        }
        if term < self.vote.term {
            // A leader that was cut off makes way; late answers to it say nothing.
            if matches!(message, Message::Append { .. } | Message::Heartbeat { .. }) {
                self.send(from, Message::Outdated);
            }
            return;
        }
        // A granted pre-vote carries the term that has not begun.
        let is_grant_of_pre = matches!(message, Message::VoteReply { pre: true, granted: true });
        if term > self.vote.term && !is_grant_of_pre {
            let leads =
                matches!(message, Message::Append { .. } | Message::Committed { .. } | Message::Heartbeat { .. });
            self.become_follower(term, leads.then_some(from));
        }
        match message {
            Message::VoteReply { pre, granted } => self.voted(from, term, pre, granted),
            Message::Append { previous_index, previous_term, entries, commit } => {
                if self.follow(from) {
                    self.append_of_leader(from, (previous_index, previous_term), entries, commit);
                }
            }
            Message::Committed { commit, commit_term } => {
                if self.follow(from) {
                    self.commit_what_was_acknowledged(commit, commit_term);
                }
            }
            Message::Heartbeat { commit, commit_term, round } => {
                if self.follow(from) {
                    self.commit_what_was_acknowledged(commit, commit_term);
                    let (commit, lost) = (self.commit_index(), self.is_lost);
                    self.send(from, Message::HeartbeatReply { round, commit, lost });
                }
            }
            Message::Appended { matched } => self.appended(from, matched),
            Message::Diverged { previous_index, hint, hint_term } => {
                self.diverged(from, previous_index, (hint, hint_term));
            }
            Message::HeartbeatReply { round, commit, lost } => self.heartbeat_answered(from, round, commit, lost),
            Message::TransferNow if !matches!(self.role, Role::Leader(_)) && self.leader() == Some(from) => {
                self.stand(true);
            }
            Message::TransferNow | Message::Outdated | Message::Vote { .. } => {}
        }
    }

    /// Follows the leader of the present term. False where this node leads itself: then the other is no leader of this group.
    fn follow(&mut self, leader: NodeId) -> bool {
        if matches!(self.role, Role::Leader(_)) || self.leader().is_some_and(|known| known != leader) {
            return false;
        }
        if matches!(self.role, Role::Follower) {
            self.elapsed = 0;
            self.set_leader(Some(leader));
        } else {
            self.become_follower(self.vote.term, Some(leader));
        }
        self.attempts = 0;
        true
    }

    fn append_of_leader(&mut self, from: NodeId, previous: (Index, Term), entries: Vec<Entry>, commit: Index) {
        let (previous_index, previous_term) = previous;
        if self.is_lost {
            return;
        }
        let committed = self.commit_index();
        if previous_index < committed && self.log.term(previous_index).is_none() {
            // A snapshot stands for it here: what is committed is the same everywhere.
            return self.send(from, Message::Appended { matched: committed });
        }
        if self.log.term(previous_index) != Some(previous_term) {
            let (hint, hint_term) = self.hint(previous_index, previous_term);
            return self.send(from, Message::Diverged { previous_index, hint, hint_term });
        }
        let mut expected = previous_index;
        for entry in &entries {
            expected = expected.next();
            if entry.index != expected || entry.term > self.vote.term {
                return;
            }
        }
        let differs = |entry: &&Entry| self.log.term(entry.index) != Some(entry.term);
        if let Some(first) = entries.iter().find(differs).map(|entry| (entry.index, entry.term)) {
            let (index, term) = first;
            if index <= committed && !self.options.planted.is(Bug::CommittedCutOff) {
                return self.trouble(Trouble::Conflict { leader: from, index, term });
            }
            if index <= self.log.last_index() {
                self.cut(index);
            }
            for entry in entries.iter().filter(|entry| entry.index >= index) {
                if self.log.push(entry.clone()).is_err() {
                    return;
                }
            }
        }
        self.commit_to(commit.min(expected));
        self.send(from, Message::Appended { matched: expected });
    }

    /// Where this log may agree with one that has `term` at `index`: the last place here at or before it whose term is not later.
    fn hint(&self, index: Index, term: Term) -> (Index, Term) {
        let mut hint = index.previous().min(self.log.last_index());
        while hint > self.commit_index() && self.log.term(hint).is_some_and(|at| at > term) {
            hint = hint.previous();
        }
        (hint, self.log.term(hint).unwrap_or_default())
    }

    /// Commits up to a place that this node acknowledged to its leader. Where its log has another entry there, or none, the log was lost since, or is
    /// an older one.
    fn commit_what_was_acknowledged(&mut self, commit: Index, commit_term: Term) {
        if self.is_lost || commit == Index(0) {
            return;
        }
        let is_in_snapshot = commit < self.log.origin().index;
        if is_in_snapshot || self.log.term(commit) == Some(commit_term) {
            return self.commit_to(commit);
        }
        self.is_lost = true;
        self.trouble(Trouble::LostOwnLog { last: self.log.last_index(), acknowledged: commit });
    }

    fn progress_of(&mut self, node: NodeId) -> Option<&mut Progress> {
        match &mut self.role {
            Role::Leader(leading) => leading.progress.get_mut(&node),
            _ => None,
        }
    }

    fn appended(&mut self, from: NodeId, matched: Index) {
        // No more than the leader has: an answer that says otherwise is not to this leader's messages.
        if matched > self.log.last_index() {
            return;
        }
        let Some(progress) = self.progress_of(from).filter(|of| !of.is_lost) else { return };
        progress.is_active = true;
        progress.has(matched);
        self.commit_what_is_matched();
        self.tell_commits();
        self.go_on_with_transfer(from);
        self.send_append_if_behind(from);
    }

    /// For each other voter, the place up to which it is known to have what is committed. Counts as told.
    pub(crate) fn commits_to_tell(&mut self) -> Vec<(NodeId, Index, Term)> {
        let (commit, log) = (self.commit, &self.log);
        let Role::Leader(leading) = &mut self.role else { return Vec::new() };
        let place = |(node, of): (&NodeId, &mut Progress)| {
            let index = commit.min(of.matched);
            of.told = of.told.max(index);
            // Of a follower that is far behind the leader's snapshot nothing can be said.
            log.term(index).map_or((*node, Index(0), Term(0)), |term| (*node, index, term))
        };
        leading.progress.iter_mut().map(place).collect()
    }

    /// Has followers hear at once what is committed of what they have.
    fn tell_commits(&mut self) {
        let commit = self.commit;
        let Role::Leader(leading) = &self.role else { return };
        let news = leading.progress.iter().filter(|(_, of)| commit.min(of.matched) > of.told);
        let news: Vec<NodeId> = news.map(|(node, _)| *node).collect();
        if news.is_empty() {
            return;
        }
        for (to, commit, commit_term) in self.commits_to_tell().into_iter().filter(|(to, ..)| news.contains(to)) {
            self.send(to, Message::Committed { commit, commit_term });
        }
    }

    fn diverged(&mut self, from: NodeId, previous: Index, (hint, hint_term): (Index, Term)) {
        // The leader's own log may say that the place of the hint does not fit either.
        let mut hint = hint.min(previous.previous());
        while hint > self.log.origin().index && self.log.term(hint).is_some_and(|at| at > hint_term) {
            hint = hint.previous();
        }
        let Some(progress) = self.progress_of(from).filter(|of| !of.is_lost) else { return };
        progress.is_active = true;
        progress.diverged(previous, hint);
        self.send_append(from);
    }

    fn heartbeat_answered(&mut self, from: NodeId, round: u64, commit: Index, lost: bool) {
        let own_commit = self.commit_index();
        let Role::Leader(leading) = &mut self.role else { return };
        let begun = leading.barriers.round();
        let Some(progress) = leading.progress.get_mut(&from) else { return };
        if lost {
            progress.is_lost = true;
            return self.trouble(Trouble::LostItsLog(from));
        }
        if progress.is_lost {
            return;
        }
        progress.is_active = true;
        progress.round = progress.round.max(round.min(begun));
        // An `Append` that was under way is answered before this, or lost.
        progress.is_under_way = false;
        // What is committed is the same everywhere: a follower whose log has a new beginning goes on from there.
        if commit <= own_commit {
            progress.has(commit);
        }
        self.pass_barriers();
        self.send_append_if_behind(from);
    }

    fn send_append_if_behind(&mut self, to: NodeId) {
        let last = self.log.last_index();
        if self.progress_of(to).is_some_and(|of| of.matched < last && !of.is_under_way) {
            self.send_append(to);
        }
    }

    /// Sends the follower what comes next, if nothing is under way to it.
    pub(crate) fn send_append(&mut self, to: NodeId) {
        let (log, max) = (&self.log, self.options.append_bytes_max);
        let Role::Leader(leading) = &mut self.role else { return };
        let Some(progress) = leading.progress.get_mut(&to).filter(|of| !of.is_under_way && !of.is_lost) else { return };
        let previous_index = progress.next.previous();
        let (Some(previous_term), Some(following)) = (log.term(previous_index), log.from(progress.next)) else {
            return self.trouble(Trouble::Behind(to));
        };
        let mut bytes = 0;
        let fits = |entry: &&Entry| {
            let is_first = bytes == 0;
            bytes += entry.bytes();
            is_first || bytes <= max
        };
        let entries: Vec<Entry> = following.iter().take_while(fits).cloned().collect();
        progress.is_under_way = true;
        let end = entries.last().map_or(previous_index, |entry| entry.index);
        progress.told = progress.told.max(self.commit.min(end));
        let commit = self.commit;
        self.send(to, Message::Append { previous_index, previous_term, entries, commit });
    }

    /// Appends an entry of this leader's, and sends it to all.
    pub(crate) fn append_own(&mut self, payload: Payload) -> (Term, Index) {
        let (term, index) = (self.vote.term, self.log.last_index().next());
        self.log.push(Entry { term, index, payload }).expect("it is the next of the latest term");
        self.follow_configuration();
        let Role::Leader(leading) = &self.role else { panic!("only a leader appends") };
        let others: Vec<NodeId> = leading.progress.keys().copied().collect();
        others.into_iter().for_each(|to| self.send_append(to));
        (term, index)
    }

    /// Has the leader's view follow the voters in force.
    fn follow_configuration(&mut self) {
        let (own, last) = (self.id(), self.log.last_index());
        let configuration = self.configuration().clone();
        let Role::Leader(leading) = &mut self.role else { return };
        leading.progress.retain(|node, _| configuration.has(*node));
        let round = leading.barriers.round();
        for node in configuration.voters().filter(|node| *node != own) {
            // It confirms no barrier that was asked for before it voted.
            leading.progress.entry(node).or_insert_with(|| Progress::new(last.previous(), round));
        }
        leading.transfer = leading.transfer.filter(|(to, _)| configuration.has(*to));
    }

    /// Commits what a majority of each half has, if it ends in an entry of this term, and goes on with what waits for that.
    pub(crate) fn commit_what_is_matched(&mut self) {
        let (own, own_durable) = (self.id(), self.durable_index());
        let Role::Leader(leading) = &self.role else { return };
        let matched_of = |node| match node == own {
            true => own_durable,
            false => leading.progress.get(&node).filter(|of| !of.is_lost).map_or(Index(0), |of| of.matched),
        };
        let planted = self.options.planted;
        let matched = self.configuration().matched(matched_of, planted.is(Bug::OneMajorityOfJoint));
        let is_of_this_term =
            self.log.term(matched) == Some(self.vote.term) || planted.is(Bug::OldTermCommittedByCount);
        if matched <= self.commit_index() || !is_of_this_term {
            return;
        }
        self.commit_to(matched);
        self.tell_commits();
        self.pass_barriers();
        self.settle_configuration();
    }

    /// Ends a joint configuration that is committed; and leads no more where the voters are without this node.
    fn settle_configuration(&mut self) {
        if self.log.configuration_index() > self.commit_index() {
            return;
        }
        if self.configuration().is_joint() {
            let settled = self.configuration().settled();
            self.append_own(Payload::Voters(settled));
        } else if !self.configuration().has(self.id()) {
            self.become_follower(self.vote.term, None);
        }
    }
}
