//! The registers of a partition at one replica, and the answers by them. See the page's table of the acceptor.

use super::ballot::Ballot;

/// What an attempt wants to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The attempt that proposes it.
    pub ballot: Ballot,
    /// The attempt that made it: its mutations have that ballot's timestamp.
    pub original: Ballot,
    /// Encoded mutations, all of one partition. None: it is empty, or a truncation of the table has made it void.
    pub mutations: Vec<Vec<u8>>,
}

/// A proposal that is in the partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    /// The attempt that proposed it.
    pub ballot: Ballot,
    /// The attempt that made it.
    pub original: Ballot,
}

/// The purpose of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It reads, and proposes only to finish what others have left.
    Read,
    /// It may write.
    Write,
    /// It looks at the registers, and is promised nothing.
    Look,
}

/// The answer of a replica that is not outrun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// It takes part in nothing earlier.
    Made,
    /// The attempt may read. A later read has a promise, so it may propose nothing.
    Readable,
}

/// One replica's registers of one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// The last promise to a write.
    pub promised: Option<Ballot>,
    /// The last promise to a read.
    pub read_promised: Option<Ballot>,
    /// The last proposal that was accepted, committed or not.
    pub accepted: Option<Proposal>,
    /// The last commit.
    pub committed: Option<Commit>,
    /// Ballots up to this time are refused, microseconds since 1970.
    pub low_bound: i64,
}

/// The replica has promised or accepted something later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a later ballot was promised")]
pub(crate) struct Outrun(pub(crate) Ballot);

impl State {
    /// The latest ballot that it knows of: the next attempt's must be later.
    pub fn latest(&self) -> Option<Ballot> {
        let bound = (self.low_bound > 0).then(|| Ballot::last_of(self.low_bound));
        self.written().max(self.read_promised).max(bound)
    }

    /// The latest ballot of a write.
    fn written(&self) -> Option<Ballot> {
        let accepted = self.accepted.as_ref().map(|proposal| proposal.ballot);
        let committed = self.committed.map(|commit| commit.ballot);
        [self.promised, accepted, committed].into_iter().flatten().max()
    }

    /// The proposal that was accepted and is not known to be committed: whoever comes next finishes it first.
    pub(crate) fn unfinished(&self) -> Option<&Proposal> {
        let accepted = self.accepted.as_ref().filter(|proposal| !proposal.mutations.is_empty())?;
        accepted.is_beyond(self.committed).then_some(accepted)
    }

    /// The accepted proposal as it is shown to an attempt. True: its mutations are left out, since it is committed here and they are not wanted.
    pub(crate) fn shown(mut self, wants_committed: bool) -> (Option<Proposal>, bool) {
        let is_left_out = self.accepted.is_some() && self.unfinished().is_none() && !wants_committed;
        if let Some(proposal) = self.accepted.as_mut().filter(|_| is_left_out) {
            proposal.mutations.clear();
        }
        (self.accepted, is_left_out)
    }

    /// The same registers without those up to a time, which all replicas ignore.
    pub(crate) fn without(mut self, closed: i64) -> State {
        let is_later = |ballot: &Ballot| ballot.micros() > closed;
        self.promised = self.promised.filter(is_later);
        self.read_promised = self.read_promised.filter(is_later);
        self.accepted = self.accepted.filter(|proposal| is_later(&proposal.ballot));
        self.committed = self.committed.filter(|commit| is_later(&commit.ballot));
        self
    }

    /// Refuses a ballot that is not later than the low bound.
    fn check_bound(&self, ballot: Ballot) -> Result<(), Outrun> {
        match ballot.micros() <= self.low_bound {
            true => Err(Outrun(Ballot::last_of(self.low_bound))),
            false => Ok(()),
        }
    }

    /// Promises to take part in nothing earlier.
    pub(crate) fn prepare(&mut self, purpose: Purpose, ballot: Ballot) -> Result<Promise, Outrun> {
        self.check_bound(ballot)?;
        match purpose {
            Purpose::Look => Ok(Promise::Readable),
            Purpose::Write => {
                if let Some(latest) = self.latest().filter(|latest| latest.micros() >= ballot.micros()) {
                    return Err(Outrun(latest));
                }
                self.promised = Some(ballot);
                Ok(Promise::Made)
            }
            Purpose::Read => {
                if let Some(latest) = self.written().filter(|latest| *latest >= ballot) {
                    return Err(Outrun(latest));
                }
                if self.read_promised.is_some_and(|promised| promised >= ballot) {
                    return Ok(Promise::Readable);
                }
                self.read_promised = Some(ballot);
                Ok(Promise::Made)
            }
        }
    }

    /// Accepts a proposal, unless a later attempt was promised something.
    pub(crate) fn accept(&mut self, proposal: Proposal) -> Result<(), Outrun> {
        self.check_bound(proposal.ballot)?;
        if let Some(latest) = self.latest().filter(|latest| *latest > proposal.ballot) {
            return Err(Outrun(latest));
        }
        self.accepted = Some(proposal);
        Ok(())
    }

    /// The proposal of that ballot is in the partition. To be told twice, or of an earlier one, changes nothing.
    pub(crate) fn commit(&mut self, commit: Commit) {
        if self.committed.is_none_or(|known| known.ballot < commit.ballot) {
            self.committed = Some(commit);
        }
    }
}

impl Proposal {
    /// The mark of its commit.
    pub(crate) fn commit(&self) -> Commit {
        Commit { ballot: self.ballot, original: self.original }
    }

    /// True if it is later than a commit, and another proposal than the committed one.
    pub(crate) fn is_beyond(&self, committed: Option<Commit>) -> bool {
        committed.is_none_or(|committed| self.ballot > committed.ballot && self.original != committed.original)
    }
}

#[cfg(test)]
mod tests {
    use cql_types::timeuuid;

    use super::*;

    fn ballot(at: u64) -> Ballot {
        Ballot(timeuuid::build(0x01b2_1dd2_1381_4000 + at * 10, 0, [1; 6]))
    }

    /// The ballot of another coordinator at the same time, which is later.
    fn later_at(at: u64) -> Ballot {
        Ballot(timeuuid::build(0x01b2_1dd2_1381_4000 + at * 10, 0, [2; 6]))
    }

    fn proposal(at: u64) -> Proposal {
        let ballot = ballot(at);
        Proposal { ballot, original: ballot, mutations: vec![vec![at as u8]] }
    }

    fn promised(at: u64) -> State {
        let mut state = State::default();
        assert_eq!(state.prepare(Purpose::Write, ballot(at)), Ok(Promise::Made));
        state
    }

    #[test]
    fn an_earlier_ballot_is_outrun_by_a_promise_a_proposal_and_a_commit() {
        let mut state = promised(5);
        let outrun = Err(Outrun(ballot(5)));
        assert_eq!(state.prepare(Purpose::Write, ballot(5)), outrun, "a ballot is used once");
        assert_eq!(state.prepare(Purpose::Write, ballot(4)), outrun);
        assert_eq!(state.prepare(Purpose::Write, later_at(5)), outrun, "timestamps would be the same");
        assert_eq!(state.accept(proposal(4)), Err(Outrun(ballot(5))));
        state.accept(proposal(5)).unwrap();
        state.accept(proposal(5)).expect("it was sent twice");
        state.commit(proposal(9).commit());
        assert_eq!(state.prepare(Purpose::Write, ballot(8)), Err(Outrun(ballot(9))));
        assert_eq!(state.latest(), Some(ballot(9)));
    }

    #[test]
    fn reads_outrun_earlier_writes_and_not_each_other() {
        let mut state = promised(5);
        assert_eq!(state.prepare(Purpose::Read, ballot(4)), Err(Outrun(ballot(5))));
        assert_eq!(state.prepare(Purpose::Read, ballot(9)), Ok(Promise::Made));
        assert_eq!(state.prepare(Purpose::Read, ballot(7)), Ok(Promise::Readable));
        assert_eq!(state.accept(proposal(5)), Err(Outrun(ballot(9))), "the read has not seen it");
        assert_eq!(state.prepare(Purpose::Write, ballot(8)), Err(Outrun(ballot(9))));
        assert_eq!(state.prepare(Purpose::Write, ballot(10)), Ok(Promise::Made));
    }

    #[test]
    fn an_accepted_proposal_is_unfinished_until_it_or_a_later_one_is_committed() {
        let mut state = promised(1);
        assert_eq!(state.unfinished(), None);
        state.accept(proposal(1)).unwrap();
        state.prepare(Purpose::Write, ballot(2)).unwrap();
        assert_eq!(state.unfinished(), Some(&proposal(1)), "the next attempt finds it");
        state.commit(proposal(1).commit());
        assert_eq!(state.unfinished(), None);
        state.accept(proposal(2)).unwrap();
        state.commit(proposal(1).commit());
        assert_eq!(state.unfinished(), Some(&proposal(2)), "a commit of an earlier one says nothing of it");
    }

    #[test]
    fn a_proposal_that_was_proposed_again_is_known_to_be_committed() {
        let mut state = promised(1);
        state.accept(Proposal { ballot: ballot(7), ..proposal(1) }).unwrap();
        state.commit(proposal(1).commit());
        assert_eq!(state.unfinished(), None, "its first coordinator has committed it");
        state.accept(Proposal { mutations: Vec::new(), ..proposal(8) }).unwrap();
        assert_eq!(state.unfinished(), None, "an empty one is never committed");
    }

    #[test]
    fn nothing_up_to_the_low_bound_is_promised_or_accepted() {
        let mut state = State { low_bound: ballot(5).micros(), ..State::default() };
        for purpose in [Purpose::Read, Purpose::Write, Purpose::Look] {
            let Err(Outrun(latest)) = state.prepare(purpose, later_at(5)) else {
                panic!("it is not later than the bound")
            };
            assert!(latest >= later_at(5) && latest < ballot(6), "the next attempt may be in the next microsecond");
        }
        assert!(state.accept(proposal(5)).is_err());
        assert_eq!(state.prepare(Purpose::Look, ballot(6)), Ok(Promise::Readable));
        assert_eq!((state.promised, state.read_promised), (None, None), "who looks is promised nothing");
        assert_eq!(state.prepare(Purpose::Write, ballot(6)), Ok(Promise::Made));
        state.accept(proposal(6)).expect("it is later than the bound");
    }

    #[test]
    fn registers_up_to_a_time_are_ignored() {
        let mut state = promised(3);
        state.accept(proposal(3)).unwrap();
        state.commit(proposal(2).commit());
        state.prepare(Purpose::Read, ballot(7)).unwrap();
        assert_eq!(state.clone().without(ballot(1).micros()), state);
        let left = state.clone().without(ballot(3).micros());
        assert_eq!(left, State { read_promised: Some(ballot(7)), ..State::default() });
        assert_eq!(state.without(ballot(7).micros()), State::default());
    }
}
