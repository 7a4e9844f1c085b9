//! One witness for each planted bug of a group's nodes.

use raft::{Index, NodeId};

use super::members::{BACK, Names, OPTIONS, World};
use crate::group::{Answer, GroupMessage};

/// The reply to a proposal is lost. Before its asker sends it again the name is given back, so that it could be taken again.
#[test]
fn a_proposal_that_is_sent_again_is_applied_once() {
    let mut world = World::new(2, 1);
    world.settle(2);
    world.propose(NodeId(1), b'x');
    world.settle(1);
    let id = world.propose(NodeId(2), b'a');
    world.work(NodeId(2), None);
    while world.proposals[&id].1.is_none() {
        let to = world.deliver(0);
        world.work(to, None);
    }
    world.stop(NodeId(1));
    world.start(NodeId(1));
    world.propose(NodeId(1), b'a' | BACK);
    world.settle(OPTIONS.resend_ticks + 2);
    let epoch = world.proposals[&id].1.expect("it was applied");
    assert_eq!(world.answer_of(id), Some(&Answer::Applied { epoch, lagging: Vec::new() }));
    let names = world.member(NodeId(1)).expect("it runs").state().cluster().of::<Names>();
    assert_eq!(names, &[b'x', b'a', b'a' | BACK]);
}

/// Several entries are committed by one sync.
#[test]
fn shards_get_each_epoch_in_order() {
    let mut world = World::new(1, 1);
    for name in b'a'..b'e' {
        world.propose(NodeId(1), name);
    }
    world.work(NodeId(1), None);
    assert_eq!(world.epochs(), [Index(5)].into());
    assert!(world.proposals.values().all(|(_, applied)| applied.is_some()), "the shards got all of them");
}

/// A node that is up hears nothing of a change.
#[test]
fn a_change_waits_for_all_nodes_that_are_up() {
    let mut world = World::new(3, 1);
    world.settle(2);
    world.stop(NodeId(3));
    let id = world.propose(NodeId(1), b'a');
    world.settle(OPTIONS.apply_ticks_max - 1);
    assert_eq!(world.answer_of(id), None);
    world.start(NodeId(3));
    world.settle(2);
    let epoch = world.proposals[&id].1.expect("it was applied");
    assert_eq!(world.answer_of(id), Some(&Answer::Applied { epoch, lagging: Vec::new() }));
}

/// A node was away while the voters changed, and the log of all others begins after that.
#[test]
fn a_snapshot_names_the_voters() {
    let mut world = World::new(4, 1);
    world.settle(2);
    world.stop(NodeId(4));
    world.vote_by(&[1, 2, 3]);
    let all: Vec<NodeId> = (1..=3).map(NodeId).collect();
    all.iter().for_each(|id| world.member(*id).expect("it runs").compact());
    let voters = world.member(NodeId(1)).expect("it runs").raft().configuration().clone();
    assert_eq!(voters.voters().collect::<Vec<_>>(), all);
    world.start(NodeId(4));
    world.settle(3);
    let late = world.member(NodeId(4)).expect("it runs").raft();
    assert_eq!((late.log().origin().index, late.configuration()), (late.commit_index(), &voters), "it got a snapshot");
}

/// A voter ends with an entry that is not committed, after others that are.
#[test]
fn a_start_has_what_was_committed_and_no_more() {
    let mut world = World::new(3, 1);
    world.settle(2);
    world.vote_by(&[1, 2, 3]);
    let leader = world.leader().expect("a node leads");
    let follower = world.nodes.keys().copied().find(|id| *id != leader).expect("there are three");
    world.propose(leader, b'a');
    world.settle(2);
    let epoch = world.member(follower).expect("it runs").state().epoch();
    world.propose(leader, b'b');
    world.work(leader, None);
    // It gets the entry, and its acknowledgement is lost.
    world.messages.retain(|(_, to, message)| *to == follower && matches!(message, GroupMessage::Raft(_)));
    while !world.messages.is_empty() {
        world.deliver(0);
    }
    world.work(follower, None);
    world.stop(follower);
    world.start(follower);
    let member = world.member(follower).expect("it runs");
    assert_eq!(member.raft().log().last_index(), epoch.next(), "it has the entry");
    assert_eq!((member.state().epoch(), member.state().cluster().of::<Names>()), (epoch, &b"a".to_vec()));
}

/// A voter restarts after it has voted for the next leader.
#[test]
fn a_vote_outlives_a_restart() {
    let mut world = World::new(3, 1);
    world.settle(2);
    world.vote_by(&[1, 2, 3]);
    let before = world.leader().expect("a node leads");
    world.stop(before);
    world.settle(40);
    let leader = world.leader().expect("another node leads");
    let voter = world.nodes.keys().copied().find(|id| *id != leader && *id != before).expect("there are three");
    let vote = world.member(voter).expect("it runs").raft().vote();
    assert_eq!(vote.voted_for, Some(leader), "the third one is down");
    world.stop(voter);
    world.start(voter);
    assert_eq!(world.member(voter).expect("it runs").raft().vote(), vote);
}
