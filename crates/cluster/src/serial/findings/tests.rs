//! The judgement of findings, case by case.

use cql_types::timeuuid;

use super::*;

fn ballot(at: u64) -> Ballot {
    Ballot(timeuuid::build(0x01b2_1dd2_1381_4000 + at * 10, 0, [1; 6]))
}

fn proposal(at: u64) -> Proposal {
    Proposal { ballot: ballot(at), original: ballot(at), mutations: vec![vec![at as u8]] }
}

fn empty(at: u64) -> Proposal {
    Proposal { mutations: Vec::new(), ..proposal(at) }
}

fn again(original: u64, at: u64) -> Proposal {
    Proposal { ballot: ballot(at), ..proposal(original) }
}

fn finding(node: u16, earlier: u64, accepted: Option<Proposal>, committed: Option<Commit>) -> Finding {
    let earlier = (earlier > 0).then(|| ballot(earlier));
    Finding { node: NodeIndex(node), earlier, accepted, is_left_out: false, committed }
}

fn judged(findings: &[Finding]) -> Next {
    judge(findings, Planted::NONE)
}

const CLEAR: Next = Next::Go { is_pending: false };
const PENDING: Next = Next::Go { is_pending: true };

#[test]
fn a_partition_without_registers_is_clear() {
    assert_eq!(judged(&[finding(0, 0, None, None), finding(1, 0, None, None)]), CLEAR);
    assert_eq!(judged(&[finding(0, 0, None, None), finding(1, 3, None, None)]), PENDING, "a write has a promise");
}

#[test]
fn the_latest_accepted_proposal_is_finished() {
    let findings = [finding(0, 7, Some(proposal(3)), None), finding(1, 7, Some(proposal(7)), None)];
    assert_eq!(judged(&findings), Next::Finish(proposal(7)));
    let findings = [finding(0, 7, Some(proposal(7)), None), finding(1, 3, None, Some(proposal(3).commit()))];
    assert_eq!(judged(&findings), Next::Finish(proposal(7)), "the commit before it is at a majority");
}

#[test]
fn an_empty_proposal_takes_the_place_of_what_came_before_it() {
    let findings = [finding(0, 5, Some(empty(7)), None), finding(1, 5, Some(empty(7)), None)];
    assert_eq!(judged(&findings), CLEAR, "it is chosen");
    let findings = [finding(0, 5, Some(empty(7)), None), finding(1, 9, Some(empty(7)), None)];
    assert_eq!(judged(&findings), PENDING, "a later write has a promise");
    let findings = [finding(0, 5, Some(proposal(5)), None), finding(1, 5, Some(empty(7)), None)];
    assert_eq!(judged(&findings), PENDING, "it may not be chosen: another majority may find what came before it");
}

#[test]
fn who_lacks_the_latest_commit_is_sent_it() {
    let commit = proposal(3).commit();
    let findings = [finding(0, 3, Some(proposal(3)), Some(commit)), finding(1, 0, None, None)];
    assert_eq!(judged(&findings), Next::Commit(Some(proposal(3)), vec![NodeIndex(1)]));
    let accepted_alone = [finding(0, 3, None, Some(commit)), finding(1, 3, Some(proposal(3)), None)];
    assert_eq!(judged(&accepted_alone), Next::Commit(Some(proposal(3)), vec![NodeIndex(1)]));
    let mut left_out = finding(0, 3, Some(proposal(3)), Some(commit));
    left_out.is_left_out = true;
    let findings = [left_out, finding(1, 0, None, None)];
    assert_eq!(judged(&findings), Next::Commit(None, vec![NodeIndex(1)]), "its mutations are asked for");
    let both = [finding(0, 3, None, Some(commit)), finding(1, 3, Some(proposal(3)), Some(commit))];
    assert_eq!(judged(&both), CLEAR);
    let promised = [finding(0, 4, None, Some(commit)), finding(1, 3, Some(proposal(3)), Some(commit))];
    assert_eq!(judged(&promised), PENDING);
}

#[test]
fn a_proposal_that_was_proposed_again_is_one_with_the_first() {
    let first = proposal(3).commit();
    let findings = [finding(0, 3, None, Some(first)), finding(1, 9, Some(again(3, 9)), None)];
    let Next::Commit(Some(sent), lacking) = judged(&findings) else { panic!("it is committed, and one lacks it") };
    assert_eq!((sent.ballot, sent.original, lacking), (ballot(3), ballot(3), vec![NodeIndex(1)]));
    let both = [finding(0, 3, None, Some(first)), finding(1, 9, Some(again(3, 9)), Some(again(3, 9).commit()))];
    assert_eq!(judged(&both), CLEAR, "whatever the ballot of the commit");
    let between = [finding(0, 7, Some(again(3, 9)), Some(first)), finding(1, 7, None, Some(first))];
    assert_eq!(judged(&between), PENDING, "another may find what was accepted between the commit and the last time");
}

fn in_doubt(at: &[u64]) -> Doubts {
    let mut doubts = Doubts::default();
    at.iter().for_each(|at| doubts.push(proposal(*at)));
    doubts
}

#[test]
fn the_fate_of_a_proposal_is_known_where_no_other_came_after_it() {
    let of = |findings: &[Finding]| in_doubt(&[5]).fate(findings, ballot(20));
    let (none, before) = (finding(0, 5, None, None), finding(1, 3, Some(proposal(3)), Some(proposal(3).commit())));
    assert_eq!(of(&[none.clone(), before.clone()]), Fate::NotChosen);
    assert_eq!(of(&[none.clone(), finding(1, 5, Some(proposal(5)), None)]), Fate::Open);
    assert_eq!(of(&[none.clone(), finding(1, 8, Some(again(5, 8)), None)]), Fate::Open);
    assert_eq!(of(&[none.clone(), finding(1, 8, None, Some(again(5, 8).commit()))]), Fate::Chosen(ballot(5)));
    assert_eq!(of(&[none.clone(), finding(1, 8, Some(proposal(8)), None)]), Fate::Unknown);
    assert_eq!(of(&[finding(0, 5, Some(proposal(5)), None), finding(1, 8, Some(empty(8)), None)]), Fate::Unknown);
    assert_eq!(of(&[none, finding(1, 8, None, Some(proposal(8).commit()))]), Fate::Unknown);
}

#[test]
fn a_proposal_that_a_majority_knows_nothing_of_may_be_found_later() {
    let none = || [finding(0, 5, None, None), finding(1, 5, None, None)];
    let mut doubts = in_doubt(&[5]);
    assert_eq!(doubts.fate(&none(), ballot(8)), Fate::NotChosen);
    let found = [finding(0, 8, None, None), finding(2, 5, Some(proposal(5)), None)];
    assert_eq!(doubts.fate(&found, ballot(10)), Fate::Open, "the third has it");
    let own = [finding(0, 8, None, None), finding(2, 8, Some(empty(8)), None)];
    assert_eq!(doubts.fate(&own, ballot(11)), Fate::NotChosen, "the own empty proposal under the ballot of then");
    let finished = [finding(0, 10, Some(again(5, 9)), Some(again(5, 9).commit())), finding(1, 8, None, None)];
    assert_eq!(doubts.fate(&finished, ballot(12)), Fate::Chosen(ballot(5)), "another has finished it");
    let others = [finding(0, 14, Some(proposal(14)), Some(proposal(14).commit())), finding(1, 8, None, None)];
    assert_eq!(doubts.fate(&others, ballot(15)), Fate::Unknown, "it may be below what another has written");
    doubts.clear();
    assert_eq!(doubts.fate(&others, ballot(16)), Fate::NotChosen, "there is none");
}

#[test]
fn a_second_proposal_of_a_statement_does_not_hide_the_first() {
    let mut doubts = in_doubt(&[5]);
    assert_eq!(doubts.fate(&[finding(0, 5, None, None), finding(1, 5, None, None)], ballot(8)), Fate::NotChosen);
    doubts.push(proposal(8));
    let second = [finding(0, 8, Some(proposal(8)), None), finding(2, 5, Some(proposal(5)), None)];
    assert_eq!(doubts.fate(&second, ballot(9)), Fate::Open);
    doubts.pop();
    let first = [finding(0, 8, None, None), finding(2, 5, Some(proposal(5)), None)];
    assert_eq!(doubts.fate(&first, ballot(10)), Fate::Open);
    assert_eq!(doubts.take(ballot(5)), Some(proposal(5)));
    assert!(doubts.is_empty());
}
