//! Findings of a majority that has promised: is something unfinished, does a replica lack the latest commit, and the fate of a proposal in doubt.
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
    /// The registers that a node has told.
    pub(super) fn of(node: NodeIndex, promised: &mut Promised) -> Finding {
        let accepted = promised.accepted.take();
        let Promised { earlier, is_left_out, committed, .. } = *promised;
        Finding { node, earlier, accepted, is_left_out, committed }
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

/// The fate of a proposal that some may have accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is chosen.
    Chosen,
    /// It may be chosen: it is the latest accepted.
    Open,
    /// It is not chosen, and cannot be.
    NotChosen,
    /// Others came after it: it is not known.
    Unknown,
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

/// Judges the findings of a majority.
pub(super) fn judge(findings: &[Finding], planted: Planted) -> Next {
    let committed = latest_commit(findings);
    let latest = latest_accepted(findings).and_then(|finding| finding.accepted.as_ref());
    let beyond = latest.filter(|latest| latest.is_beyond(committed));
    let promised = findings.iter().filter_map(|finding| finding.earlier).max();
    if let Some(latest) = beyond {
        // Whoever made it had sent the commit before it to a majority.
        let is_empty = latest.mutations.is_empty();
        return match is_empty || planted.is(Bug::UnfinishedNotFinished) {
            true => Next::Go { is_pending: promised > Some(latest.ballot) },
            false => Next::Finish(latest.clone()),
        };
    }
    let Some(committed) = committed else { return Next::Go { is_pending: promised.is_some() } };
    // The same proposal may have been accepted again after it was committed.
    let settled = latest.map_or(committed.ballot, |latest| latest.ballot.max(committed.ballot));
    let has_it = |finding: &Finding| {
        finding.committed.is_some_and(|known| known.original == committed.original || known.ballot >= committed.ballot)
    };
    let lacking: Vec<NodeIndex> =
        findings.iter().filter(|finding| !has_it(finding)).map(|finding| finding.node).collect();
    let accepted = findings.iter().filter_map(|finding| Some((finding, finding.accepted.as_ref()?)));
    let of_commit: Vec<(&Finding, &Proposal)> =
        accepted.filter(|(_, proposal)| proposal.original == committed.original).collect();
    // None has accepted it where another electorate has chosen it.
    if lacking.is_empty() || of_commit.is_empty() {
        return Next::Go { is_pending: promised > Some(settled) };
    }
    let whole = of_commit.iter().find(|(finding, _)| !finding.is_left_out);
    let proposal = whole.map(|(_, proposal)| Proposal { ballot: committed.ballot, ..(*proposal).clone() });
    Next::Commit(proposal, lacking)
}

/// The fate of a proposal, by what a majority has shown that promised later.
pub(super) fn fate(findings: &[Finding], original: Ballot) -> Fate {
    let (committed, accepted) = (latest_commit(findings), latest_accepted(findings));
    let accepted = accepted.and_then(|finding| finding.accepted.as_ref());
    let is_own = |commit: Commit| commit.original == original;
    if findings.iter().filter_map(|finding| finding.committed).any(is_own) {
        return Fate::Chosen;
    }
    let is_later = |ballot: Option<Ballot>| ballot.is_some_and(|ballot| ballot >= original);
    match accepted {
        Some(accepted) if accepted.original == original && accepted.is_beyond(committed) => Fate::Open,
        accepted => {
            let accepted = accepted.map(|proposal| proposal.ballot);
            let is_overtaken = is_later(accepted) || is_later(committed.map(|commit| commit.ballot));
            if is_overtaken { Fate::Unknown } else { Fate::NotChosen }
        }
    }
}

#[cfg(test)]
mod tests;
