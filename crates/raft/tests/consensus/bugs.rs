//! One witness for each planted bug of the core.

use std::collections::BTreeSet;

use planted::Planted;
use raft::{Entry, Envelope, Index, Message, NodeId, Options, Payload, Term};

use crate::world::{World, voters};

/// The bug that `HELENUS_PLANT` names, where bugs are compiled in.
pub fn planted() -> Planted {
    #[cfg(feature = "planted")]
    if let Ok(name) = std::env::var("HELENUS_PLANT") {
        return Planted::named(&name).expect("a bug of the list");
    }
    Planted::NONE
}

fn options() -> Options {
    Options { election_ticks: 5, planted: planted(), ..Options::default() }
}

fn is_append(envelope: &Envelope) -> bool {
    matches!(envelope.message, Message::Append { .. })
}

/// Has the node elected by those that run, who have not heard a leader for a time. Its lead entry stays with it where `quietly`.
fn elect(world: &mut World, id: u128, quietly: bool) {
    for _ in 0..3 {
        let others: Vec<NodeId> =
            world.nodes.iter().filter(|(_, node)| node.raft.is_some()).map(|(id, _)| *id).collect();
        for other in others.into_iter().filter(|other| *other != NodeId(id)) {
            (0..5).for_each(|_| world.raft(other).elapse());
        }
        while world.raft(NodeId(id)).role() == raft::RoleName::Follower {
            world.raft(NodeId(id)).elapse();
        }
        // What the others ask meanwhile is lost.
        let is_question = |envelope: &Envelope| matches!(envelope.message, Message::Vote { .. });
        let passes = |envelope: &Envelope| envelope.from == NodeId(id) || !is_question(envelope);
        world.settle(|envelope| passes(envelope) && (!quietly || !is_append(envelope)));
        if world.raft(NodeId(id)).role() == raft::RoleName::Leader {
            return;
        }
    }
    panic!("{id} was not elected:\n{}", world.status());
}

/// Raft's figure 8: a leader finds its entry of an earlier term on a majority, and another leader may still replace it.
#[test]
fn an_entry_of_an_earlier_term_is_not_committed_by_its_copies() {
    let mut world = World::new(&voters([1, 2, 3]), &[], options());
    elect(&mut world, 1, false);
    // Node 1 has an entry of its first term alone.
    world.raft(NodeId(1)).propose(b"old").expect("it leads");
    world.settle(|envelope| !is_append(envelope));
    // Node 3 leads meanwhile, by 2's vote, and has an entry alone, too.
    world.stop(NodeId(1));
    elect(&mut world, 3, true);
    world.stop(NodeId(3));
    // Node 1 comes back, leads, and 2 gets the old entry, but not the lead entry of the new term.
    world.start(NodeId(1));
    elect(&mut world, 1, true);
    let old = Index(2);
    let (term, previous) = (world.raft(NodeId(1)).term(), world.raft(NodeId(1)).log().entry(old).cloned());
    let message = Message::Append {
        previous_index: Index(1),
        previous_term: Term(1),
        entries: previous.into_iter().collect(),
        commit: Index(1),
    };
    world.raft(NodeId(2)).step(Envelope { from: NodeId(1), to: NodeId(2), term, message });
    world.settle(|envelope| !is_append(envelope));
    assert_eq!(world.raft(NodeId(2)).log().last_index(), old);
    assert!(world.raft(NodeId(1)).commit_index() < old, "node 3 may replace it");
}

/// The new voters have an entry, the old ones do not.
#[test]
fn a_joint_configuration_commits_by_both_halves() {
    let mut world = World::new(&voters([1, 2, 3]), &[4, 5], options());
    elect(&mut world, 1, false);
    let wanted = BTreeSet::from([1, 4, 5].map(NodeId));
    let (_, index) = world.raft(NodeId(1)).change_voters(&wanted).expect("nothing is under way");
    let is_of_old = |envelope: &Envelope| [2, 3].contains(&envelope.to.0);
    world.settle(|envelope| !is_of_old(envelope));
    for _ in 0..3 {
        world.raft(NodeId(1)).elapse();
        world.settle(|envelope| !is_of_old(envelope));
    }
    assert!(world.raft(NodeId(4)).log().last_index() >= index, "the new ones have it");
    assert!(world.raft(NodeId(1)).commit_index() < index, "2 and 3 may elect another");
}

/// A leader of another group, or with a damaged log.
#[test]
fn what_is_committed_is_not_cut_off() {
    let mut world = World::new(&voters([1, 2, 3]), &[], options());
    elect(&mut world, 1, false);
    world.raft(NodeId(1)).propose(b"kept").expect("it leads");
    world.settle(|_| true);
    let follower = world.raft(NodeId(2));
    let (commit, kept) = (follower.commit_index(), follower.log().clone());
    assert_eq!(commit, Index(2));
    let entry = Entry { term: Term(9), index: Index(2), payload: Payload::Change((*b"other").into()) };
    let message =
        Message::Append { previous_index: Index(1), previous_term: Term(1), entries: vec![entry], commit: Index(1) };
    let stepped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        follower.step(Envelope { from: NodeId(3), to: NodeId(2), term: Term(9), message });
    }));
    assert!(stepped.is_ok(), "nothing that a peer sends makes a node panic");
    assert_eq!(world.raft(NodeId(2)).log(), &kept);
}
