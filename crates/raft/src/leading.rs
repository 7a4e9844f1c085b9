//! A leader's part: it appends, sends its followers what they lack, commits what a majority of each half has, and answers barriers.
//!
//! It lasts for one term of one leader, whose log never shrinks. An index is committed only if its entry is of this term (Raft §5.4.2). One change of
//! the voters is under way at a time. It sends nothing itself: each step gives its [`Orders`], which the state machine carries out before it does
//! anything else. It knows neither votes nor other leaders.

use std::collections::BTreeSet;

use planted::Bug;

use crate::barriers::{BarrierId, Barriers};
use crate::entry::{Index, NodeId, Payload, Term};
use crate::followers::Followers;
use crate::message::Message;
use crate::options::Options;
use crate::orders::Orders;
use crate::progress::NextAppend;
use crate::ready::{ProposeError, Trouble};
use crate::replicated_log::ReplicatedLog;

/// A leader's view of its group.
#[derive(Debug, Clone)]
pub(crate) struct Leading {
    own: NodeId,
    term: Term,
    options: Options,
    followers: Followers,
    barriers: Barriers,
    /// The node that is to lead, and ticks since.
    transfer: Option<(NodeId, u32)>,
    /// Ticks since the last heartbeat.
    heartbeat_elapsed: u32,
    /// Ticks since the quorum was last checked.
    quorum_elapsed: u32,
}

impl Leading {
    /// Leads a term. A lone voter that led it before its start goes on; all others append the term's lead entry.
    pub(crate) fn begin(own: NodeId, term: Term, options: Options, log: &mut ReplicatedLog) -> (Leading, Orders) {
        let mut orders = Orders::default();
        let mut leading = Leading {
            own,
            term,
            options,
            followers: Followers::new(own, log),
            barriers: Barriers::default(),
            transfer: None,
            heartbeat_elapsed: 0,
            quorum_elapsed: 0,
        };
        match log.is_of_lone_leader(own, term) {
            true => leading.commit_matched(log, &mut orders),
            false => drop(leading.append(Payload::Lead(own), log, &mut orders)),
        }
        (leading, orders)
    }

    pub(crate) fn followers(&self) -> &Followers {
        &self.followers
    }

    pub(crate) fn barriers(&self) -> &Barriers {
        &self.barriers
    }

    /// The node that is to lead.
    pub(crate) fn heir(&self) -> Option<NodeId> {
        self.transfer.map(|(to, _)| to)
    }

    /// Appends a change.
    pub(crate) fn propose(
        &mut self,
        change: &[u8],
        log: &mut ReplicatedLog,
        orders: &mut Orders,
    ) -> Result<(Term, Index), ProposeError> {
        self.may_append()?;
        Ok(self.append(Payload::Change(change.into()), log, orders))
    }

    /// Appends the joint configuration on the way to these voters.
    pub(crate) fn change_voters(
        &mut self,
        voters: &BTreeSet<NodeId>,
        log: &mut ReplicatedLog,
        orders: &mut Orders,
    ) -> Result<(Term, Index), ProposeError> {
        self.may_append()?;
        let present = log.configuration();
        if present.is_joint() || !log.is_configuration_committed() || !log.has_committed_of(self.term) {
            return Err(ProposeError::ChangeUnderWay);
        }
        if present.incoming() == voters {
            return Err(ProposeError::NoChange);
        }
        let joint = present.towards(voters.iter().copied()).map_err(|_| ProposeError::NoChange)?;
        Ok(self.append(Payload::Voters(joint), log, orders))
    }

    fn may_append(&self) -> Result<(), ProposeError> {
        if self.transfer.is_some() { Err(ProposeError::Transferring) } else { Ok(()) }
    }

    /// Appends an entry, and sends it to all.
    fn append(&mut self, payload: Payload, log: &mut ReplicatedLog, orders: &mut Orders) -> (Term, Index) {
        let index = log.append(self.term, payload);
        self.followers.change(log);
        self.transfer = self.transfer.filter(|(to, _)| log.configuration().has(*to));
        for to in self.followers.nodes() {
            self.send_append(to, log, orders);
        }
        (self.term, index)
    }

    /// Sends the follower the entries that it lacks, if nothing is under way to it.
    fn send_append(&mut self, to: NodeId, log: &ReplicatedLog, orders: &mut Orders) {
        let Some(progress) = self.followers.get_mut(to) else { return };
        match progress.next_append(log, self.options.append_bytes_max) {
            NextAppend::Message(message) => orders.send(to, message),
            NextAppend::Compacted => orders.troubles.push(Trouble::Behind(to)),
            NextAppend::Nothing => {}
        }
    }

    /// A follower has the log up to `matched`. An answer with more than the leader has is not to this leader's messages.
    pub(crate) fn appended(&mut self, from: NodeId, matched: Index, log: &mut ReplicatedLog, orders: &mut Orders) {
        if matched > log.last_index() {
            return;
        }
        let Some(progress) = self.followers.intact_mut(from) else { return };
        progress.appended(matched);
        self.commit_matched(log, orders);
        if orders.makes_way {
            return;
        }
        self.send_commits(log, orders);
        self.hand_over(from, log, orders);
        self.send_append(from, log, orders);
    }

    /// A follower's log differs at `previous`; by its hint it may agree at `hint`, unless the leader's term there is a later one.
    pub(crate) fn diverged(
        &mut self,
        from: NodeId,
        previous: Index,
        (hint, hint_term): (Index, Term),
        log: &ReplicatedLog,
        orders: &mut Orders,
    ) {
        let Some(progress) = self.followers.intact_mut(from) else { return };
        let mut hint = hint.min(previous.previous());
        while hint > log.log().origin().index && log.log().term(hint).is_some_and(|at| at > hint_term) {
            hint = hint.previous();
        }
        progress.diverged(previous, hint);
        self.send_append(from, log, orders);
    }

    /// A follower answered a heartbeat.
    pub(crate) fn heartbeat_answered(
        &mut self,
        from: NodeId,
        round: u64,
        commit: Index,
        log: &ReplicatedLog,
        orders: &mut Orders,
    ) {
        let begun = self.barriers.round();
        let Some(progress) = self.followers.intact_mut(from) else { return };
        progress.answered(round.min(begun));
        // What is committed is the same everywhere: a follower whose log has a new beginning goes on from there.
        if commit <= log.commit() {
            progress.has(commit);
        }
        self.pass_barriers(log, orders);
        self.send_append(from, log, orders);
    }

    /// A follower says that it lost its log: it counts no more.
    pub(crate) fn log_lost(&mut self, from: NodeId, orders: &mut Orders) {
        let Some(progress) = self.followers.get_mut(from) else { return };
        progress.lost();
        orders.troubles.push(Trouble::LostItsLog(from));
    }

    /// Commits what a majority of each half has, if it ends in an entry of this term, and goes on with what waits for that.
    pub(crate) fn commit_matched(&mut self, log: &mut ReplicatedLog, orders: &mut Orders) {
        let planted = self.options.planted;
        let matched = self.followers.matched(log, planted.is(Bug::OneMajorityOfJoint));
        let is_of_this_term = log.log().term(matched) == Some(self.term) || planted.is(Bug::OldTermCommittedByCount);
        if is_of_this_term && log.commit_to(matched) {
            self.committed(log, orders);
        }
    }

    /// The commit index rose: followers hear of it, barriers are passed, and a change of the voters goes on.
    pub(crate) fn committed(&mut self, log: &mut ReplicatedLog, orders: &mut Orders) {
        self.send_commits(log, orders);
        self.pass_barriers(log, orders);
        if !log.is_configuration_committed() {
            return;
        }
        if log.configuration().is_joint() {
            let settled = log.configuration().settled();
            self.append(Payload::Voters(settled), log, orders);
        } else if !log.configuration().has(self.own) {
            orders.makes_way = true;
        }
    }

    /// Has followers hear at once what is committed of what they have.
    fn send_commits(&mut self, log: &ReplicatedLog, orders: &mut Orders) {
        for (to, commit, commit_term) in self.followers.committed_places(log, true) {
            orders.send(to, Message::Committed { commit, commit_term });
        }
    }

    /// Sends a heartbeat to each follower.
    fn send_heartbeats(&mut self, log: &ReplicatedLog, orders: &mut Orders) {
        self.heartbeat_elapsed = 0;
        let round = self.barriers.round();
        for (to, commit, commit_term) in self.followers.committed_places(log, false) {
            orders.send(to, Message::Heartbeat { commit, commit_term, round });
        }
    }

    /// A unit of time has passed: heartbeats, the check of the quorum, a hand-over that takes too long.
    pub(crate) fn elapse(&mut self, log: &ReplicatedLog, orders: &mut Orders) {
        let (heartbeat, election) = (self.options.heartbeat_ticks.max(1), self.options.election_ticks.max(1));
        let waited = self.transfer.map(|(to, ticks)| (to, ticks.saturating_add(1)));
        self.transfer = waited.filter(|(_, ticks)| *ticks < election);
        self.heartbeat_elapsed = self.heartbeat_elapsed.saturating_add(1);
        self.quorum_elapsed = self.quorum_elapsed.saturating_add(1);
        if self.quorum_elapsed >= election {
            self.quorum_elapsed = 0;
            if !self.followers.check_quorum(log.configuration()) {
                orders.makes_way = true;
                return;
            }
        }
        if self.heartbeat_elapsed >= heartbeat {
            self.send_heartbeats(log, orders);
        }
    }

    /// Asks for a barrier by a new round of heartbeats.
    pub(crate) fn barrier(&mut self, id: BarrierId, log: &ReplicatedLog, orders: &mut Orders) {
        self.barriers.ask(id, log.has_committed_of(self.term).then_some(log.commit()));
        self.send_heartbeats(log, orders);
        self.pass_barriers(log, orders);
    }

    /// Passes the barriers that are confirmed. Without a committed entry of the term all wait.
    fn pass_barriers(&mut self, log: &ReplicatedLog, orders: &mut Orders) {
        if log.has_committed_of(self.term) {
            let is_confirmed = |round| self.followers.confirm(round, log.configuration());
            orders.passed.extend(self.barriers.pass(log.commit(), is_confirmed));
        }
    }

    /// Fails the barriers that wait, at the end of the leadership.
    pub(crate) fn fail_barriers(&mut self) -> impl Iterator<Item = BarrierId> + '_ {
        self.barriers.drain()
    }

    /// Begins to hand leadership over.
    pub(crate) fn transfer(
        &mut self,
        to: NodeId,
        log: &ReplicatedLog,
        orders: &mut Orders,
    ) -> Result<(), ProposeError> {
        if !self.followers.is_intact(to) {
            return Err(ProposeError::NotAVoter);
        }
        self.transfer = Some((to, 0));
        self.hand_over(to, log, orders);
        self.send_append(to, log, orders);
        Ok(())
    }

    /// Has the node stand, if it is to lead and has the log.
    fn hand_over(&self, node: NodeId, log: &ReplicatedLog, orders: &mut Orders) {
        if self.heir() == Some(node) && self.followers.has_all(node, log.last_index()) {
            orders.send(node, Message::TransferNow);
        }
    }

    /// The invariants, after every step. `term`: the node's latest.
    pub(crate) fn check(&self, term: Term, log: &ReplicatedLog) {
        assert_eq!(self.term, term, "a leader leads the latest term that it knows");
        assert!(!log.is_lost(), "a node that lost its log does not lead");
        assert_eq!(log.log().last_term(), self.term, "a leader's log ends in its term");
        self.followers.check(log);
    }
}
