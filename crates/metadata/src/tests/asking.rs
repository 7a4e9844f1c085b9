//! Directed histories of askers: copies that arrive late, leaders that are gone or full, and the truth of each answer.

use raft::{Message, NodeId};

use super::members::{BACK, Names, OPTIONS, World};
use crate::group::{Answer, GroupMessage, ProposalId, Reply};

/// Takes the first copy of a proposal that is under way out of the network.
fn hold_copy(world: &mut World) -> (NodeId, NodeId, GroupMessage) {
    let is_copy = |message: &GroupMessage| matches!(message, GroupMessage::Propose { .. });
    let place = world.messages.iter().position(|(_, _, message)| is_copy(message)).expect("it was sent");
    world.messages.remove(place)
}

/// Three voters, of which one leads.
fn voters() -> (World, NodeId, Vec<NodeId>) {
    let mut world = World::new(3, 1);
    world.settle(2);
    world.vote_by(&[1, 2, 3]);
    let leader = world.leader().expect("a node leads");
    let others = world.nodes.keys().copied().filter(|id| *id != leader).collect();
    (world, leader, others)
}

fn names(world: &mut World, at: NodeId) -> Vec<u8> {
    world.member(at).expect("it runs").state().cluster().of::<Names>().clone()
}

/// Two copies of one proposal are under way, and the state changes between their arrivals.
#[test]
fn a_refusal_holds_although_another_copy_arrives_later() {
    let mut world = World::new(2, 1);
    world.propose(NodeId(1), b'a');
    world.settle(2);
    let id = world.propose(NodeId(2), b'a');
    world.work(NodeId(2), None);
    let held = hold_copy(&mut world);
    world.settle(OPTIONS.resend_ticks + 2);
    assert!(matches!(world.answer_of(id), Some(Answer::Refused { .. })), "{:?}", world.answers);
    world.propose(NodeId(1), b'a' | BACK);
    world.settle(2);
    world.messages.push(held);
    world.settle(2);
    assert_eq!(names(&mut world, NodeId(2)), [b'a', b'a' | BACK]);
    world.check_answers();
}

/// The only copy was refused: nothing is logged for that.
#[test]
fn a_refusal_of_the_only_copy_is_an_answer_at_once() {
    let mut world = World::new(2, 1);
    world.propose(NodeId(1), b'a');
    world.settle(2);
    let before = world.epochs();
    let id = world.propose(NodeId(2), b'a');
    world.settle(1);
    assert!(matches!(world.answer_of(id), Some(Answer::Refused { .. })), "{:?}", world.answers);
    assert_eq!(world.epochs(), before);
}

/// A copy was applied while another one was refused by a leader that did not know of it.
#[test]
fn a_copy_that_was_applied_is_the_answer_although_another_was_refused() {
    let mut world = World::new(2, 1);
    world.propose(NodeId(1), b'a');
    world.settle(2);
    let id = world.propose(NodeId(2), b'a');
    world.work(NodeId(2), None);
    let held = hold_copy(&mut world);
    for _ in 0..OPTIONS.resend_ticks {
        world.elapse(NodeId(2));
    }
    // The second copy is refused; then the name is given back, and the first copy arrives before the order to cancel.
    let is_refused =
        |message: &GroupMessage| matches!(message, GroupMessage::Reply { reply: Reply::Refused { .. }, .. });
    while !world.messages.iter().any(|(_, _, message)| is_refused(message)) {
        let to = world.deliver(0);
        world.work(to, None);
    }
    world.propose(NodeId(1), b'a' | BACK);
    world.work(NodeId(1), None);
    world.messages.insert(0, held);
    world.settle(3);
    assert!(matches!(world.answer_of(id), Some(Answer::Applied { .. })), "{:?}", world.answers);
    world.check_answers();
}

#[test]
fn without_a_leader_no_copy_is_sent_and_nothing_can_be_logged() {
    let (mut world, leader, others) = voters();
    [leader, others[0]].into_iter().for_each(|id| world.stop(id));
    world.settle(20);
    let asker = others[1];
    let id = world.propose(asker, b'z');
    world.settle(OPTIONS.give_up_ticks);
    assert_eq!(world.answer_of(id), Some(&Answer::NoLeader));
    [leader, others[0]].into_iter().for_each(|id| world.start(id));
    world.settle(60);
    assert!(world.leader().is_some() && names(&mut world, asker).is_empty(), "it is not logged later");
    world.check_answers();
}

/// The leader knows that no majority is up, before the core has noticed it.
#[test]
fn a_leader_logs_nothing_while_no_majority_is_up_and_its_own_asker_is_answered_early() {
    let (mut world, leader, others) = voters();
    let up = |is_up: bool| others.iter().map(move |id| (*id, is_up)).collect::<Vec<_>>();
    others.iter().for_each(|id| world.stop(*id));
    world.member(leader).expect("it runs").set_peers(up(false));
    let last = world.member(leader).expect("it runs").raft().log().last_index();
    let id = world.propose(leader, b'z');
    world.settle(OPTIONS.give_up_ticks / 4 + 1);
    assert_eq!(world.answer_of(id), Some(&Answer::NoLeader));
    assert_eq!(world.member(leader).expect("it runs").raft().log().last_index(), last);
    others.iter().for_each(|id| world.start(*id));
    world.member(leader).expect("it runs").set_peers(up(true));
    world.settle(60);
    assert!(names(&mut world, leader).is_empty(), "nor later");
    world.check_answers();
}

/// The leader has the proposal in its log, and hears no majority.
#[test]
fn what_may_be_in_a_log_is_given_up_as_unknown() {
    for is_kept in [true, false] {
        let (mut world, leader, others) = voters();
        others.iter().for_each(|id| world.stop(*id));
        let id = world.propose(leader, b'z');
        world.work(leader, None);
        world.settle(OPTIONS.give_up_ticks);
        assert_eq!(world.answer_of(id), Some(&Answer::Unknown));
        if !is_kept {
            world.stop(leader);
        }
        others.iter().for_each(|id| world.start(*id));
        world.settle(60);
        let at = world.leader().expect("a node leads");
        assert_eq!(names(&mut world, at).len(), usize::from(is_kept), "either may come of it");
        world.check_answers();
    }
}

/// The barrier of a refusal fails with the leader's part; the next leader refuses it.
#[test]
fn a_refusal_whose_barrier_fails_is_asked_for_again() {
    let (mut world, leader, others) = voters();
    world.propose(leader, b'a');
    world.settle(2);
    others.iter().for_each(|id| world.stop(*id));
    let id = world.propose(leader, b'a');
    world.settle(30);
    assert_eq!((world.answer_of(id), world.leader()), (None, None));
    others.iter().for_each(|id| world.start(*id));
    world.settle(40);
    assert!(matches!(world.answer_of(id), Some(Answer::Refused { .. })), "{:?}", world.answers);
    world.check_answers();
}

/// The leader is confirmed by a majority, and the entry for which it refuses is in its log alone: another leader may replace that.
#[test]
fn a_refusal_waits_for_the_entries_that_its_plan_saw() {
    let (mut world, leader, others) = voters();
    let (taken, id) = (world.propose(leader, b'a'), world.propose(leader, b'a'));
    world.work(leader, None);
    let is_append = |message: &GroupMessage| matches!(message, GroupMessage::Raft(envelope) if matches!(envelope.message, Message::Append { .. }));
    for _ in 0..6 {
        world.elapse(leader);
        while !world.messages.is_empty() {
            world.messages.retain(|(_, _, message)| !is_append(message));
            if !world.messages.is_empty() {
                let to = world.deliver(0);
                world.work(to, None);
            }
        }
    }
    assert_eq!((world.leader(), world.answer_of(id)), (Some(leader), None), "it leads, and may not say so");
    world.stop(leader);
    world.settle(40);
    assert_eq!(names(&mut world, others[0]), [], "the entry is gone");
    world.start(leader);
    world.settle(20);
    assert_eq!((world.answer_of(taken), world.answer_of(id)), (None, None), "they ended with their asker");
    world.check_answers();
}

#[test]
fn an_asker_has_room_for_so_many_proposals() {
    let (mut world, leader, others) = voters();
    [leader, others[0]].into_iter().for_each(|id| world.stop(id));
    world.settle(20);
    let ids: Vec<ProposalId> = (0..1025).map(|_| world.propose(others[1], b'z')).collect();
    world.work(others[1], None);
    assert_eq!(world.answers, [(ids[1024], Answer::Busy)]);
    // Each that is given up makes room.
    world.settle(OPTIONS.give_up_ticks);
    assert_eq!(world.answers.len(), ids.len());
    world.propose(others[1], b'z');
    world.work(others[1], None);
    assert_eq!(world.answers.len(), ids.len());
}

#[test]
fn a_leader_has_room_for_so_many_proposals() {
    let (mut world, leader, others) = voters();
    world.stop(others[1]);
    let ids: Vec<ProposalId> = (0..1024).map(|_| world.propose(leader, b'z')).collect();
    // The other voter's acknowledgement is still under way when it asks, too.
    let id = world.propose(others[0], b'y');
    world.work(others[0], None);
    let place = world.messages.len() - 1;
    world.deliver(place);
    world.settle(1);
    assert_eq!(world.answer_of(id), Some(&Answer::Busy));
    world.settle(OPTIONS.apply_ticks_max + 2);
    assert!(ids.iter().all(|id| world.answer_of(*id).is_some()) && !names(&mut world, leader).contains(&b'y'));
    world.check_answers();
}
