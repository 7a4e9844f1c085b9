//! What a replica remembers of a partition, and what it answers by that.

use super::ballot::Ballot;

/// What an attempt wants to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The attempt.
    pub ballot: Ballot,
    /// Encoded mutations, all of one partition.
    pub mutations: Vec<Vec<u8>>,
}

/// One replica's memory of one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    pub(crate) promised: Option<Ballot>,
    pub(crate) accepted: Option<Proposal>,
    pub(crate) committed: Option<Ballot>,
}

/// The replica has promised a later ballot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a later ballot was promised")]
pub(crate) struct Outrun;

impl State {
    /// The latest ballot that it knows of: the next attempt's must be later.
    pub fn latest(&self) -> Option<Ballot> {
        let accepted = self.accepted.as_ref().map(|proposal| proposal.ballot);
        [self.promised, accepted, self.committed].into_iter().flatten().max()
    }

    /// The proposal that was accepted and is not known to be committed: whoever comes next finishes it first.
    pub(crate) fn unfinished(&self) -> Option<&Proposal> {
        self.accepted.as_ref().filter(|proposal| self.committed < Some(proposal.ballot))
    }

    /// Promises to take part in nothing earlier.
    pub(crate) fn promise(&mut self, ballot: Ballot) -> Result<(), Outrun> {
        if self.latest().is_some_and(|latest| latest >= ballot) {
            return Err(Outrun);
        }
        self.promised = Some(ballot);
        Ok(())
    }

    /// Accepts a proposal, unless a later attempt was promised something.
    pub(crate) fn accept(&mut self, proposal: Proposal) -> Result<(), Outrun> {
        if self.latest().is_some_and(|latest| latest > proposal.ballot) {
            return Err(Outrun);
        }
        self.promised = Some(proposal.ballot);
        self.accepted = Some(proposal);
        Ok(())
    }

    /// The proposal of that ballot is in the partition. To be told twice, or of an earlier one, changes nothing.
    pub(crate) fn commit(&mut self, ballot: Ballot) {
        self.committed = self.committed.max(Some(ballot));
        if self.unfinished().is_none() {
            self.accepted = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use cql_types::timeuuid;

    use super::*;

    fn ballot(at: u64) -> Ballot {
        Ballot(timeuuid::build(0x01b2_1dd2_1381_4000 + at * 10, 0, [1; 6]))
    }

    fn proposal(at: u64) -> Proposal {
        Proposal { ballot: ballot(at), mutations: vec![vec![at as u8]] }
    }

    #[test]
    fn an_earlier_ballot_is_outrun_by_a_promise_a_proposal_and_a_commit() {
        let mut state = State::default();
        state.promise(ballot(5)).unwrap();
        assert_eq!(state.promise(ballot(5)), Err(Outrun), "a ballot is used once");
        assert_eq!(state.promise(ballot(4)), Err(Outrun));
        assert_eq!(state.accept(proposal(4)), Err(Outrun));
        state.accept(proposal(5)).unwrap();
        state.commit(ballot(9));
        assert_eq!(state.promise(ballot(8)), Err(Outrun));
        assert_eq!(state.latest(), Some(ballot(9)));
    }

    #[test]
    fn an_accepted_proposal_is_unfinished_until_it_or_a_later_one_is_committed() {
        let mut state = State::default();
        state.promise(ballot(1)).unwrap();
        assert_eq!(state.unfinished(), None);
        state.accept(proposal(1)).unwrap();
        state.promise(ballot(2)).unwrap();
        assert_eq!(state.unfinished(), Some(&proposal(1)), "the next attempt finds it");
        state.commit(ballot(1));
        assert_eq!((state.unfinished(), state.accepted.as_ref()), (None, None));
        state.accept(proposal(2)).unwrap();
        state.commit(ballot(1));
        assert_eq!(state.unfinished(), Some(&proposal(2)), "a commit of an earlier one says nothing of it");
    }
}
