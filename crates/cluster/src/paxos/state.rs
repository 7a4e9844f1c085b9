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
}

/// The replica has promised or accepted something later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a later ballot was promised")]
pub(crate) struct Outrun(pub(crate) Ballot);

impl State {
    /// The latest ballot that it knows of: the next attempt's must be later.
    pub fn latest(&self) -> Option<Ballot> {
        self.written().max(self.read_promised)
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

    /// Promises to take part in nothing earlier.
    pub(crate) fn prepare(&mut self, purpose: Purpose, ballot: Ballot) -> Result<Promise, Outrun> {
        match purpose {
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
}
