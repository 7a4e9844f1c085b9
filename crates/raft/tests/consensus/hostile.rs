//! Inputs that no sound peer or disk gives: a node neither panics nor does harm.

use raft::{Envelope, Index, Message, NodeId, Options, RoleName, Term, Vote};

use crate::world::{Node, World, voters};

const LAST_TERM: Term = Term(u64::MAX);

fn message(term: Term, message: Message) -> Envelope {
    Envelope { from: NodeId(2), to: NodeId(1), term, message }
}

/// A group whose leader is node 1; node 3 was not asked for its vote.
fn elected() -> World {
    let mut world = World::new(&voters([1, 2, 3]), &[], Options::default());
    while world.raft(NodeId(1)).role() != RoleName::PreCandidate {
        world.raft(NodeId(1)).elapse();
    }
    world.settle(|envelope| envelope.to != NodeId(3) || !matches!(envelope.message, Message::Vote { .. }));
    world
}

/// After the last term there is none to stand in: a node that stood there might vote twice in it.
#[test]
fn no_node_stands_after_the_last_term() {
    let mut world = World::new(&voters([1, 2, 3]), &[], Options::default());
    let vote = Message::Vote { pre: false, transfer: true, last_index: Index(9), last_term: Term(9) };
    let heartbeat = Message::Heartbeat { commit: Index(0), commit_term: Term(0), round: u64::MAX };
    for order in [vote, heartbeat, Message::TransferNow] {
        world.raft(NodeId(1)).step(message(LAST_TERM, order));
        world.work(NodeId(1));
    }
    (0..100).for_each(|_| world.raft(NodeId(1)).elapse());
    let node = world.raft(NodeId(1));
    assert_eq!((node.role(), node.term()), (RoleName::Follower, LAST_TERM));
    assert_eq!(node.vote().voted_for, Some(NodeId(2)));
}

/// Answers to messages that were never sent.
#[test]
fn a_leader_bears_answers_of_any_content() {
    let mut world = elected();
    let leader = world.raft(NodeId(1));
    let (term, commit) = (leader.term(), leader.commit_index());
    let numbers = [0, 1, 2, 3, u64::MAX - 1, u64::MAX];
    for (a, b) in numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))) {
        for answer in [
            Message::Appended { matched: Index(a) },
            Message::Diverged { previous_index: Index(a), hint: Index(b), hint_term: Term(a ^ b) },
            Message::HeartbeatReply { round: a, commit: Index(b), lost: false },
            Message::VoteReply { pre: a > b, granted: a != b },
        ] {
            leader.step(message(term, answer));
        }
    }
    assert_eq!((leader.role(), leader.commit_index()), (RoleName::Leader, commit));
}

/// A disk has the entries of a `Ready`, and not the vote: the process ended between the two.
#[test]
fn a_log_of_a_later_term_than_the_vote_is_started_in_that_term() {
    let mut world = elected();
    let Node { disk, .. } = world.node(NodeId(3));
    let (term, log) = (disk.vote.term, disk.entries.len());
    disk.vote = Vote::default();
    world.stop(NodeId(3));
    world.start(NodeId(3));
    let node = world.raft(NodeId(3));
    assert_eq!((node.term(), node.vote().voted_for, node.log().entries().len()), (term, None, log));
    world.work(NodeId(3));
    assert_eq!(world.node(NodeId(3)).disk.vote.term, term, "it is written");
}
