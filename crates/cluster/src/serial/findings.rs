//! Findings of a majority that has promised: is something unfinished, does a replica lack the latest commit, and the fate of proposals in doubt.
//!
//! It sends no message and knows no time. See the page's table of the attempt.

use planted::{Bug, Planted};
use topology::NodeIndex;

use crate::paxos::{Ballot, Commit, Proposal};
use crate::replica::Promised;

/// The registers of one acceptor, as they were before it promised.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub(super) node: NodeIndex,
    /// The last promise to a write.
    pub(super) earlier: Option<Ballot>,
    pub(super) accepted: Option<Proposal>,
    /// The accepted proposal is committed, and its mutations were not sent.
    pub(super) is_left_out: bool,
    pub(super) committed: Option<Commit>,
}

impl Finding {
    /// The registers in a node's answer.
    pub(super) fn of(node: NodeIndex, promised: &mut Promised) -> Finding {
        let accepted = promised.accepted.take();
        let Promised { earlier, is_left_out, committed, .. } = *promised;
        Finding { node, earlier, accepted, is_left_out, committed }
    }

    fn has_accepted(&self, ballot: Ballot) -> bool {
        self.accepted.as_ref().is_some_and(|accepted| accepted.ballot == ballot)
    }

    /// True if it has a commit, or a later one.
    fn has(&self, commit: Commit) -> bool {
        self.committed.is_some_and(|known| known.original == commit.original || known.ballot >= commit.ballot)
    }
}

/// The step before the partition's data counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// This proposal is to be finished.
    Finish(Proposal),
    /// These nodes are to be sent the latest commit; `None`: its mutations are to be asked for.
    Commit(Option<Proposal>, Vec<NodeIndex>),
    /// Nothing.
    Go {
        /// A promise to a write is later than the last commit: an answer without a proposal takes an empty one.
        is_pending: bool,
    },
}

/// The fate of a statement's proposals that some may have accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The one of this original is chosen.
    Chosen(Ballot),
    /// One may be chosen: it is the latest accepted.
    Open,
    /// None is chosen so far.
    NotChosen,
    /// Others came after it: it is not known.
    Unknown,
}

/// The proposals of one statement of which it does not know whether they are chosen, or will be.
///
/// One that a majority knows nothing of may still be found at the rest by an attempt with a later ballot, and be finished. So it is remembered until
/// something is chosen under a later ballot.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    proposals: Vec<Proposal>,
    /// Up to this ballot none of them is chosen but by what the next findings show.
    cleared: Option<Ballot>,
}

impl Doubts {
    /// A proposal is sent, under the ballot that made it.
    pub(super) fn push(&mut self, proposal: Proposal) {
        assert!(proposal.ballot == proposal.original, "a statement makes its proposal under its own ballot");
        assert!(self.cleared <= Some(proposal.ballot), "the ballots of an attempt ascend");
        self.cleared = Some(proposal.ballot);
        self.proposals.push(proposal);
    }

    /// No replica has accepted the last one.
    pub(super) fn pop(&mut self) {
        self.proposals.pop();
    }

    /// True if there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.proposals.is_empty()
    }

    /// True if a proposal is one of them.
    pub(super) fn has(&self, proposal: &Proposal) -> bool {
        self.proposals.iter().any(|own| own.original == proposal.original)
    }

    /// Removes all, and gives the one of that original.
    pub(super) fn take(&mut self, original: Ballot) -> Option<Proposal> {
        std::mem::take(&mut self.proposals).into_iter().find(|own| own.original == original)
    }

    /// Something is chosen under a later ballot, so that none of them can be.
    pub(super) fn clear(&mut self) {
        self.proposals.clear();
    }

    /// Their fate, by what a majority has shown that promised `ballot`.
    pub(super) fn fate(&mut self, findings: &[Finding], ballot: Ballot) -> Fate {
        if self.proposals.is_empty() {
            return Fate::NotChosen;
        }
        let committed = latest_commit(findings);
        let is_own = |original: Ballot| self.proposals.iter().any(|own| own.original == original);
        let commits = findings.iter().filter_map(|finding| finding.committed);
        if let Some(own) = commits.map(|commit| commit.original).find(|original| is_own(*original)) {
            return Fate::Chosen(own);
        }
        let accepted = latest_accepted(findings).and_then(|finding| finding.accepted.as_ref());
        if accepted.is_some_and(|accepted| is_own(accepted.original) && accepted.is_beyond(committed)) {
            return Fate::Open;
        }
        let latest = accepted.map(|accepted| accepted.ballot).max(committed.map(|commit| commit.ballot));
        if latest > self.cleared {
            return Fate::Unknown;
        }
        self.cleared = Some(ballot);
        Fate::NotChosen
    }
}

/// The latest accepted proposal of all.
fn latest_accepted(findings: &[Finding]) -> Option<&Finding> {
    let accepted = findings.iter().filter(|finding| finding.accepted.is_some());
    accepted.max_by_key(|finding| finding.accepted.as_ref().map(|proposal| proposal.ballot))
}

/// The latest commit of all.
fn latest_commit(findings: &[Finding]) -> Option<Commit> {
    findings.iter().filter_map(|finding| finding.committed).max_by_key(|commit| commit.ballot)
}

/// The latest point up to which all that was chosen is known to be written at a majority: the last commit, or an empty proposal beyond it. True: all have it, so pages that were read after
/// these registers hold all that was chosen before it. The page of one that lacks it may be from before some of that was written there.
pub(super) fn settled_up_to(findings: &[Finding]) -> (Option<Ballot>, bool) {
    let committed = latest_commit(findings);
    let latest = latest_accepted(findings).and_then(|finding| finding.accepted.as_ref());
    let empty = latest.filter(|latest| latest.is_beyond(committed) && latest.mutations.is_empty());
    match (empty, committed) {
        (Some(empty), _) => (Some(empty.ballot), findings.iter().all(|finding| finding.has_accepted(empty.ballot))),
        (None, Some(committed)) => (Some(committed.ballot), findings.iter().all(|finding| finding.has(committed))),
        (None, None) => (None, true),
    }
}

/// Judges the findings of a majority.
pub(super) fn judge(findings: &[Finding], planted: Planted) -> Next {
    let committed = latest_commit(findings);
    let latest = latest_accepted(findings).and_then(|finding| finding.accepted.as_ref());
    let beyond = latest.filter(|latest| latest.is_beyond(committed));
    let promised = findings.iter().filter_map(|finding| finding.earlier).max();
    if let Some(latest) = beyond {
        // Whoever made it had sent the commit before it to a majority.
        let is_empty = latest.mutations.is_empty();
        // What came before an empty proposal may be chosen until that one is.
        let is_settled = is_empty && findings.iter().all(|finding| finding.has_accepted(latest.ballot));
        return match is_empty || planted.is(Bug::UnfinishedNotFinished) {
            true => Next::Go { is_pending: !is_settled || promised > Some(latest.ballot) },
            false => Next::Finish(latest.clone()),
        };
    }
    let Some(committed) = committed else { return Next::Go { is_pending: promised.is_some() } };
    let lacking: Vec<NodeIndex> =
        findings.iter().filter(|finding| !finding.has(committed)).map(|finding| finding.node).collect();
    let accepted = findings.iter().filter_map(|finding| Some((finding, finding.accepted.as_ref()?)));
    let of_commit: Vec<(&Finding, &Proposal)> =
        accepted.filter(|(_, proposal)| proposal.original == committed.original).collect();
    // None has accepted it where another electorate has chosen it.
    if lacking.is_empty() || of_commit.is_empty() {
        return Next::Go { is_pending: promised > Some(committed.ballot) };
    }
    let whole = of_commit.iter().find(|(finding, _)| !finding.is_left_out);
    let proposal = whole.map(|(_, proposal)| Proposal { ballot: committed.ballot, ..(*proposal).clone() });
    Next::Commit(proposal, lacking)
}

/// True if a majority shows something that is not settled for good: unfinished, lacked by some, a promise beyond the last commit, or the committed proposal accepted again
/// under a later ballot, which would be taken for another one once the commit is forgotten.
pub(super) fn has_left(findings: &[Finding], planted: Planted) -> bool {
    let is_again = |commit: Commit| {
        let mut accepted = findings.iter().filter_map(|finding| finding.accepted.as_ref());
        accepted.any(|accepted| accepted.original == commit.original && accepted.ballot > commit.ballot)
    };
    let is_settled = matches!(judge(findings, planted), Next::Go { is_pending: false });
    !is_settled || latest_commit(findings).is_some_and(is_again)
}

#[cfg(test)]
mod tests;
