//! Operations as they are asked for: from the request to their end, on a state to which all changes are applied.

use std::collections::BTreeSet;
use std::rc::Rc;

use topology::nodes::{Boot, RegisteredNode};
use topology::{TokenRanges, token_of};

use super::*;
use crate::examples::{host, put, registration};
use crate::leave::{Departure, Leave};
use crate::replace::{Replaced, is_replaceable};
use crate::{Alteration, Registration};

mod waiting;

mod departures;

mod doubts;

const BOOT: Boot = Boot { number: 1, word: 10 };

/// A cluster's state, with the nodes 1 to 3, and one keyspace of three replicas with a table.
#[derive(Clone)]
struct Site {
    registry: Registry,
    operations: Operations,
    settings: BTreeSet<ReplicationStrategy>,
    strategies: Strategies,
}

impl Site {
    fn new(replication_factor: u32) -> Site {
        let registry = Registry::default().apply([put(1, BOOT), put(2, BOOT), put(3, BOOT)]);
        let settings = [ReplicationStrategy::Simple { replication_factor }].into();
        Site { registry, operations: Operations::default(), settings, strategies: Strategies::default() }
    }

    fn planning(&self) -> Planning<'_> {
        let Site { registry, operations, settings, strategies } = self;
        Planning { registry, operations, settings, strategies, planted: crate::planted_by_test() }
    }

    fn apply(&mut self, changes: PlannedChanges) {
        self.registry = self.registry.apply(changes.nodes);
        self.operations = self.operations.apply(changes.operations);
    }

    fn request(&mut self, request: OperationRequest) -> Result<(), String> {
        let changes = self.planning().plan(&request).map_err(|error| error.to_string())?;
        self.apply(changes);
        let again = self.planning().plan(&request);
        assert!(again.is_err() || again == Ok(PlannedChanges::default()), "sent again it changes nothing: {again:?}");
        Ok(())
    }

    fn step(&mut self, id: u64) -> Result<(), String> {
        let phase = self.operations.operation(OperationId(id)).expect("it is there").phase;
        self.request(OperationRequest::Step(OperationId(id), phase))
    }

    fn phase(&self, id: u64) -> Option<Phase> {
        self.operations.operation(OperationId(id)).map(|operation| operation.phase)
    }

    fn run(&mut self, id: u64) {
        while self.phase(id).is_some() {
            self.step(id).expect("it goes on");
        }
    }

    fn state(&self, number: u8) -> Option<NodeState> {
        self.registry.node(host(number)).map(|node| node.state)
    }

    fn tokens(&self, number: u8) -> usize {
        self.registry.node(host(number)).map_or(0, |node| node.tokens.len())
    }
}

fn of_many(number: u8, count: u8) -> Registration {
    let tokens = (0..count).map(|of| token_of(&[number, of])).collect();
    Registration { tokens, ..registration(number, BOOT) }
}

fn decommission(number: u8) -> Leave {
    Leave { host_id: host(number), departure: Departure::Decommission, is_forced: false }
}

#[test]
fn a_node_joins_at_once_where_nothing_moves() {
    let mut site = Site::new(3);
    site.settings.clear();
    site.apply(site.planning().join(&of_many(4, 16)).expect("it may"));
    assert_eq!((site.state(4), site.tokens(4), site.operations.all().len()), (Some(NodeState::Normal), 16, 0));
}

#[test]
fn a_node_joins_by_an_operation_where_there_are_tables() {
    let mut site = Site::new(3);
    site.apply(site.planning().join(&of_many(4, 16)).expect("it may"));
    assert_eq!((site.state(4), site.tokens(4), site.phase(1)), (Some(NodeState::Joining), 0, Some(Phase::Queued)));
    for phase in [Phase::Planned, Phase::WriteBoth, Phase::Copy, Phase::ReadNew] {
        site.step(1).expect("it goes on");
        assert_eq!((site.phase(1), site.tokens(4)), (Some(phase), 0));
    }
    site.step(1).expect("it ends");
    assert_eq!((site.state(4), site.tokens(4), site.phase(1)), (Some(NodeState::Normal), 16, None));
    let unclean: Vec<HostId> = site.operations.unclean().collect();
    assert_eq!(unclean, [host(1), host(2), host(3)], "each has lost something");
    // Leftovers keep a node from gaining ranges, until they are gone.
    site.apply(PlannedChanges {
        nodes: vec![NodeChange::SetState(host(4), NodeState::Leaving)],
        operations: vec![site.planning().leave(&decommission(4), BTreeSet::new())],
        ..PlannedChanges::default()
    });
    assert!(site.step(2).expect_err("they would gain it back").contains("has data of ranges that it does not own"));
    for number in 1..=3 {
        site.request(OperationRequest::Cleaned(host(number), EndNumber(1))).expect("it may");
    }
    assert_eq!(
        [1, 2, 3, 4].map(|node| site.operations.tenure(host(node))),
        [0; 4],
        "who joins has an id that no part has"
    );
    site.run(2);
    assert_eq!((site.state(4), site.tokens(4)), (Some(NodeState::Leaving), 0), "it is removed when it does not vote");
    assert_eq!([1, 2, 3, 4].map(|node| site.operations.tenure(host(node))), [2, 2, 2, 0], "each gains something back");
    assert_eq!(site.operations.unclean().len(), 0, "the node that leaves is not asked to clean up");
}

/// A leader that has not heard of its step asks for it again, and so does one that another has followed. Planted: lead-forgets-phase.
#[test]
fn a_step_that_is_asked_for_twice_is_taken_once() {
    let mut site = Site::new(3);
    site.apply(site.planning().join(&of_many(4, 16)).expect("it may"));
    let phases = [Phase::Queued, Phase::Planned, Phase::WriteBoth, Phase::Copy, Phase::ReadNew];
    for (phase, next) in phases.iter().zip(&phases[1..]) {
        let step = OperationRequest::Step(OperationId(1), *phase);
        for _ in 0..2 {
            let changes = site.planning().plan(&step).expect("it may");
            site.apply(changes);
            assert_eq!(site.phase(1), Some(*next), "the condition of the phase after it was looked at by no leader");
        }
    }
}

/// It may have kept rows whose deletions were purged since. Planted: leftovers-come-back.
#[test]
fn a_node_with_leftovers_gains_no_range() {
    let mut site = Site::new(2);
    site.apply(site.planning().join(&of_many(4, 16)).expect("it may"));
    site.run(1);
    assert!(site.operations.unclean().len() > 0, "some lost a range to the new node");
    site.apply(PlannedChanges {
        nodes: vec![NodeChange::SetState(host(4), NodeState::Leaving)],
        operations: vec![site.planning().leave(&decommission(4), BTreeSet::new())],
        ..PlannedChanges::default()
    });
    let unclean: Vec<HostId> = site.operations.unclean().collect();
    for node in unclean {
        assert!(site.step(2).is_err(), "{node} would gain back what it has not dropped");
        site.request(OperationRequest::Cleaned(node, EndNumber(1))).expect("it may");
    }
    site.step(2).expect("all are clean");
    assert_eq!(site.phase(2), Some(Phase::Planned));
}

/// It had gone over those tables before. Planted: cleaned-of-later-leftovers.
#[test]
fn a_node_that_loses_ranges_while_it_cleans_up_stays_unclean() {
    let mut site = Site::new(3);
    let setting = |replication_factor| ReplicationStrategy::Simple { replication_factor };
    for keyspace in ["first", "second"] {
        let (now, after, has_tables) = (setting(3), setting(1), true);
        let operations =
            site.planning().alter(&Alteration { keyspace, now: &now, after: &after, has_tables }).expect("it may");
        site.apply(PlannedChanges { operations, ..PlannedChanges::default() });
    }
    (0..4).for_each(|_| site.step(1).expect("it goes on"));
    site.run(2);
    let begun = site.operations.unclean_since(host(1)).expect("it has lost ranges of the second keyspace");
    site.step(1).expect("it is done");
    let cleaned = site.planning().plan(&OperationRequest::Cleaned(host(1), begun)).expect("it is asked for");
    site.apply(cleaned);
    assert!(site.operations.is_unclean(host(1)), "it has rows of the first keyspace");
    let last = site.operations.unclean_since(host(1)).expect("it is unclean");
    site.request(OperationRequest::Cleaned(host(1), last)).expect("it may");
    assert!(!site.operations.is_unclean(host(1)));
}

/// Each may have received rows that it will not hear of again. Planted: abort-leaves-pending.
#[test]
fn replicas_that_were_pending_are_unclean_after_an_abort() {
    for (steps, pending) in [(1, vec![]), (2, vec![host(2), host(3)]), (3, vec![host(2), host(3)])] {
        let mut site = Site::new(2);
        site.apply(PlannedChanges {
            nodes: vec![NodeChange::SetState(host(1), NodeState::Leaving)],
            operations: vec![site.planning().leave(&decommission(1), BTreeSet::new())],
            ..PlannedChanges::default()
        });
        (0..steps).for_each(|_| site.step(1).expect("it goes on"));
        site.request(OperationRequest::Abort(OperationId(1))).expect("it may");
        assert!(site.operations.unclean().eq(pending), "after {steps} steps");
    }
}

#[test]
fn a_node_that_leaves_takes_its_leftovers_along() {
    let mut site = Site::new(3);
    site.apply(site.planning().join(&of_many(4, 16)).expect("it may"));
    site.run(1);
    for number in [2, 3] {
        site.request(OperationRequest::Cleaned(host(number), EndNumber(1))).expect("it may");
    }
    assert!(site.operations.unclean().eq([host(1)]));
    site.apply(PlannedChanges {
        nodes: vec![NodeChange::SetState(host(1), NodeState::Leaving)],
        operations: vec![site.planning().leave(&decommission(1), BTreeSet::new())],
        ..PlannedChanges::default()
    });
    site.run(2);
    assert_eq!(site.operations.unclean().len(), 0, "it would be unclean for ever");
}

/// Planted: token-given-twice.
#[test]
fn nodes_join_one_after_the_other_on_the_ring_that_they_find() {
    let mut site = Site::new(3);
    site.apply(site.planning().join(&of_many(4, 16)).expect("it may"));
    site.step(1).expect("it is planned");
    site.apply(site.planning().join(&of_many(5, 16)).expect("it may"));
    assert_eq!(site.operations.all().len(), 2);
    site.step(2).expect("it waits");
    assert_eq!(site.phase(2), Some(Phase::Queued));
    site.run(1);
    for node in [1, 2, 3] {
        site.request(OperationRequest::Cleaned(host(node), EndNumber(1))).expect("it may");
    }
    site.run(2);
    assert_eq!((site.state(5), site.tokens(5)), (Some(NodeState::Normal), 16), "none was given to the other before");
}

/// The one that waits after it would be refused for good.
#[test]
fn a_token_that_an_operator_has_given_to_a_node_that_waits_is_chosen_for_no_other() {
    let mut site = Site::new(3);
    site.apply(site.planning().join(&of_many(4, 16)).expect("it may"));
    site.step(1).expect("it is planned");
    site.apply(site.planning().join(&of_many(5, 16)).expect("it may"));
    let clean = |site: &mut Site| {
        for node in site.operations.unclean().collect::<Vec<_>>() {
            let last = site.operations.unclean_since(node).expect("it has leftovers");
            site.request(OperationRequest::Cleaned(node, last)).expect("it may");
        }
    };
    let mut alone = site.clone();
    alone.run(1);
    clean(&mut alone);
    alone.run(2);
    let planned = Tokens(&site.planning()).planned();
    let later = alone.registry.node(host(5)).expect("it has joined").tokens.clone();
    let token = later.into_iter().find(|token| !planned.contains(token)).expect("they are chosen on another ring");
    let given = Registration { tokens: vec![token], has_given_tokens: true, ..registration(6, BOOT) };
    site.apply(site.planning().join(&given).expect("no node has it"));
    for id in 1..=3 {
        site.run(id);
        clean(&mut site);
    }
    assert_eq!((site.tokens(5), site.registry.owner(token)), (16, Some(host(6))));
}

/// Nodes 4, 5 and 6 wait together; 7 has tokens of its operator's choice.
fn three_wait(site: &mut Site) {
    for number in 4..=6 {
        site.apply(site.planning().join(&of_many(number, 16)).expect("it may"));
    }
    let given = Registration { tokens: vec![Token(4711)], has_given_tokens: true, ..registration(7, BOOT) };
    site.apply(site.planning().join(&given).expect("it may"));
    assert_eq!(site.operations.all().len(), 4);
}

#[test]
fn nodes_that_wait_join_together_and_no_token_is_given_twice() {
    let mut site = Site::new(3);
    three_wait(&mut site);
    site.step(1).expect("it is planned");
    assert_eq!([1, 2, 3, 4].map(|id| site.phase(id)), [Some(Phase::Planned), None, None, Some(Phase::Queued)]);
    site.run(1);
    let all: Vec<Token> = site.registry.nodes().flat_map(|(_, node)| node.tokens.clone()).collect();
    let distinct: BTreeSet<Token> = all.iter().copied().collect();
    assert_eq!((all.len(), distinct.len()), (3 * 2 + 3 * 16, 3 * 2 + 3 * 16));
    assert_eq!([4, 5, 6, 7].map(|number| site.tokens(number)), [16, 16, 16, 0]);
    assert_eq!([4, 5, 6].map(|number| site.state(number)), [Some(NodeState::Normal); 3]);
}

#[test]
fn the_others_begin_again_if_one_of_those_that_join_together_is_removed() {
    for steps in 1..=4 {
        let mut site = Site::new(3);
        three_wait(&mut site);
        (0..steps).for_each(|_| site.step(1).expect("it goes on"));
        let removed = site.planning().remove_joining(host(5)).expect("it joins");
        if steps == 4 {
            assert!(matches!(removed, Err(OperationError::TooFar(_))));
            continue;
        }
        site.apply(removed.expect("it may"));
        assert!(site.registry.has_left(host(5)) && site.phase(1).is_none());
        assert_eq!([4, 6].map(|number| site.state(number)), [Some(NodeState::Joining); 2]);
        // The one that waited before goes first.
        site.run(4);
        let unclean: Vec<HostId> = site.operations.unclean().collect();
        assert_eq!(unclean.contains(&host(4)), steps > 1, "it has copied something: {unclean:?}");
        assert_eq!(site.step(5).is_err(), unclean.contains(&host(4)));
        for node in unclean {
            site.request(OperationRequest::Cleaned(node, EndNumber(4))).expect("it may");
        }
        site.run(5);
        assert_eq!([4, 6].map(|number| site.tokens(number)), [16, 16]);
    }
}

/// The one that is left begins again with leftovers, and dies before it has dropped them.
#[test]
fn a_node_that_is_removed_while_it_joins_is_not_unclean() {
    let mut site = Site::new(3);
    three_wait(&mut site);
    (0..3).for_each(|_| site.step(1).expect("it goes on"));
    for (number, others) in [(5, vec![host(4), host(6)]), (4, vec![host(6)]), (6, Vec::new())] {
        site.apply(site.planning().remove_joining(host(number)).expect("it joins").expect("it may"));
        assert!(site.registry.has_left(host(number)));
        assert!(site.operations.unclean().eq(others), "nothing else would say so after it has left");
    }
}

#[test]
fn a_node_exchanges_its_only_token() {
    let mut site = Site::new(1);
    let one = Registration { tokens: vec![Token(4711)], has_given_tokens: true, ..registration(4, BOOT) };
    site.apply(site.planning().join(&one).expect("it may"));
    let moves =
        |site: &mut Site, number: u8, token: i64| site.request(OperationRequest::Move(host(number), Token(token)));
    assert!(moves(&mut site, 4, 5).is_err_and(|words| words.contains("not in state NORMAL")));
    site.run(1);
    for node in [1, 2, 3] {
        site.request(OperationRequest::Cleaned(host(node), EndNumber(1))).expect("it may");
    }
    assert!(moves(&mut site, 1, 5).is_err_and(|words| words.contains("cannot be moved thusly")));
    let taken = "target token 10 is already owned by another node.";
    assert_eq!(moves(&mut site, 4, 10), Err(taken.to_owned()));
    assert_eq!(moves(&mut site, 4, 4711), Ok(()), "it is there");
    assert_eq!(site.operations.all().len(), 0);
    moves(&mut site, 4, 5).expect("it may");
    assert!(moves(&mut site, 4, 6).is_err_and(|words| words.contains("operation 2 changes the tokens")));
    site.run(2);
    assert_eq!(site.registry.node(host(4)).map(|node| node.tokens.clone()), Some(vec![Token(5)]));
    site.settings.clear();
    moves(&mut site, 4, 6).expect("it may");
    assert_eq!(site.registry.node(host(4)).map(|node| node.tokens.clone()), Some(vec![Token(6)]), "nothing moves");
}

#[test]
fn a_node_gets_another_number_of_tokens() {
    let mut site = Site::new(2);
    let count = |site: &mut Site, count: u32| site.request(OperationRequest::TokenCount(host(1), count));
    count(&mut site, 2).expect("it has them");
    assert_eq!(site.operations.all().len(), 0);
    assert!(count(&mut site, 0).is_err() && count(&mut site, 1537).is_err());
    count(&mut site, 8).expect("it may");
    assert!(count(&mut site, 9).is_err_and(|words| words.contains("operation 1 changes the tokens")));
    site.run(1);
    assert_eq!((site.state(1), site.tokens(1)), (Some(NodeState::Normal), 8));
}

/// It may wait for the copy of a node that is dead.
#[test]
fn a_departure_ends_the_node_s_own_change_of_tokens() {
    for steps in 0..=4 {
        let mut site = Site::new(2);
        site.request(OperationRequest::TokenCount(host(1), 8)).expect("it may");
        (0..steps).for_each(|_| site.step(1).expect("it goes on"));
        let own = site.planning().without_own_of(host(1));
        assert_eq!(own.len(), usize::from(steps < 4), "new replicas are read already: {own:?}");
        assert_eq!(site.planning().without_own_of(host(2)), []);
        let removal = Leave { host_id: host(1), departure: Departure::Removal, is_forced: true };
        let forced = site.planning().leave_again(&removal, [host(1)].into());
        assert_eq!(forced, None, "no departure is queued yet");
    }
}

#[test]
fn given_tokens_are_kept_as_they_are_and_taken_once() {
    let mut site = Site::new(1);
    let given = |number: u8, tokens: &[i64]| Registration {
        tokens: tokens.iter().copied().map(Token).collect(),
        has_given_tokens: true,
        ..registration(number, BOOT)
    };
    site.apply(site.planning().join(&given(4, &[77, 55])).expect("it may"));
    let taken = |site: &Site, tokens: &[i64]| site.planning().join(&given(5, tokens)).is_err();
    assert!(taken(&site, &[10]) && taken(&site, &[55]) && !taken(&site, &[56]));
    site.run(1);
    let tokens = site.registry.node(host(4)).map(|node| node.tokens.clone());
    assert_eq!(tokens, Some(vec![Token(55), Token(77)]));
}

/// The usual formula for even tokens gives it to the first node.
#[test]
fn a_node_may_own_the_ring_s_start() {
    let mut site = Site::new(2);
    let at_start = |number: u8| {
        let (start, replaces) = (registration(number, BOOT).start, (number == 5).then(|| Replaced::Host(host(4))));
        let tokens = vec![Token::MIN, Token(77)];
        Registration { tokens, has_given_tokens: true, start, replaces, ..registration(number, BOOT) }
    };
    site.apply(site.planning().join(&at_start(4)).expect("it may"));
    let moves = site.planning().moves(site.operations.operation(OperationId(1)).expect("it is queued"));
    let ranges = TokenRanges::of(moves.expect("the rules are known").into_iter().map(|moved| moved.range));
    assert!(ranges.contains(Token::MIN) && ranges.contains(Token::MAX) && ranges.contains(Token(32)));
    assert!(!ranges.contains(Token(-1)) && !ranges.contains(Token(12)), "{ranges:?}");
    site.run(1);
    for node in site.operations.unclean().collect::<Vec<_>>() {
        site.request(OperationRequest::Cleaned(node, site.operations.unclean_since(node).expect("it is unclean")))
            .expect("it may");
    }
    site.apply(site.planning().join(&at_start(5)).expect("it may"));
    site.run(2);
    assert_eq!([4, 5].map(|number| site.tokens(number)), [0, 2]);
    let leaves = PlannedChanges {
        nodes: vec![NodeChange::SetState(host(5), NodeState::Leaving)],
        operations: vec![site.planning().leave(&decommission(5), BTreeSet::new())],
        ..PlannedChanges::default()
    };
    site.apply(leaves);
    site.run(3);
    assert_eq!(site.tokens(5), 0);
}

#[test]
fn a_join_that_the_operations_would_not_take_is_refused() {
    let mut site = Site::new(2);
    let twice = Registration { tokens: vec![Token(5), Token(5)], has_given_tokens: true, ..registration(4, BOOT) };
    assert_eq!(site.planning().join(&twice), Err(OperationError::NotWhole(Kind::Bootstrap)));
    // One without an operation is removed all the same.
    let node = site.registry.node(host(3)).expect("it is there").clone();
    let joining = RegisteredNode { state: NodeState::Joining, tokens: Vec::new(), ..node };
    site.registry = site.registry.apply([NodeChange::Put(host(3), Rc::new(joining))]);
    site.apply(site.planning().remove_joining(host(3)).expect("it joins").expect("it may"));
    assert!(site.registry.has_left(host(3)));
}

#[test]
fn an_aborted_join_removes_the_node_and_an_aborted_departure_keeps_it() {
    for steps in 0..=4 {
        let mut site = Site::new(2);
        site.apply(site.planning().join(&of_many(4, 8)).expect("it may"));
        (0..steps).for_each(|_| site.step(1).expect("it goes on"));
        let aborted = site.request(OperationRequest::Abort(OperationId(1)));
        if steps == 4 {
            let words = "operation 1 cannot be aborted any more: its new replicas are read";
            assert_eq!(aborted, Err(words.to_owned()));
            continue;
        }
        assert_eq!(aborted, Ok(()));
        assert!(site.registry.has_left(host(4)) && site.operations.all().len() == 0);
        assert_eq!(site.operations.unclean().len(), 0, "the joining node is gone");
    }
    let mut site = Site::new(2);
    site.apply(PlannedChanges {
        nodes: vec![NodeChange::SetState(host(1), NodeState::Leaving)],
        operations: vec![site.planning().leave(&decommission(1), BTreeSet::new())],
        ..PlannedChanges::default()
    });
    (0..3).for_each(|_| site.step(1).expect("it goes on"));
    site.request(OperationRequest::Abort(OperationId(1))).expect("it may");
    assert_eq!((site.state(1), site.tokens(1)), (Some(NodeState::Normal), 2));
    assert!(site.operations.unclean().len() > 0, "the others may have copied something");
    let unknown = site.request(OperationRequest::Abort(OperationId(1)));
    assert_eq!(unknown, Err("there is no operation 1: it has ended, or never was".to_owned()));
}

/// Node 4, which takes the place of node 2 at that node's address.
fn in_the_place_of_2() -> Registration {
    let replaced = registration(2, BOOT);
    Registration { replaces: Some(Replaced::At(replaced.start.internode)), start: replaced.start, ..of_many(4, 16) }
}

#[test]
fn a_node_takes_the_place_of_another_with_its_tokens() {
    for has_tables in [false, true] {
        let mut site = Site::new(2);
        let tokens = site.registry.node(host(2)).expect("it is there").tokens.clone();
        if !has_tables {
            site.settings.clear();
        }
        site.apply(site.planning().join(&in_the_place_of_2()).expect("it may"));
        assert_eq!(site.state(2), Some(NodeState::Leaving));
        if has_tables {
            assert_eq!((site.state(4), site.tokens(4)), (Some(NodeState::Joining), 0));
            let moves = site.planning().moves(site.operations.operation(OperationId(1)).expect("it is queued"));
            let moves = moves.expect("the rules are known");
            let ring = site.planning().ring().expect("there are nodes");
            let of = |node| ring.node(node).host_id;
            assert!(!moves.is_empty());
            for moved in moves {
                assert!(moved.losing().map(of).eq([host(2)]) && moved.pending().map(of).eq([host(4)]));
            }
            site.run(1);
        }
        let replacing = site.registry.node(host(4)).expect("it is there");
        assert_eq!((replacing.state, &replacing.tokens), (NodeState::Normal, &tokens));
        assert_eq!((site.state(2), site.tokens(2)), (Some(NodeState::Leaving), 0), "removed when it does not vote");
        assert_eq!(site.operations.unclean().len(), 0);
    }
}

#[test]
fn an_aborted_replacement_leaves_the_nodes_as_they_were() {
    for steps in 0..=3 {
        let mut site = Site::new(2);
        site.apply(site.planning().join(&in_the_place_of_2()).expect("it may"));
        (0..steps).for_each(|_| site.step(1).expect("it goes on"));
        site.request(OperationRequest::Abort(OperationId(1))).expect("it may");
        assert!(site.registry.has_left(host(4)) && site.operations.unclean().len() == 0);
        assert_eq!((site.state(2), site.tokens(2)), (Some(NodeState::Normal), 2));
    }
}

/// Its change of tokens waits for its copy.
#[test]
fn a_replacement_ends_the_replaced_node_s_own_change_of_tokens() {
    for steps in 0..=4 {
        let mut site = Site::new(2);
        site.request(OperationRequest::TokenCount(host(2), 8)).expect("it may");
        (0..steps).for_each(|_| site.step(1).expect("it goes on"));
        site.apply(site.planning().join(&in_the_place_of_2()).expect("it may"));
        assert_eq!((site.phase(1).is_some(), site.phase(2)), (steps == 4, Some(Phase::Queued)));
        let aborted = site.request(OperationRequest::Abort(OperationId(1)));
        assert!(aborted.is_err(), "it has ended, or its new replicas are read");
        if steps == 4 {
            site.run(1);
        }
        for node in site.operations.unclean().collect::<Vec<_>>() {
            site.request(OperationRequest::Cleaned(node, site.operations.unclean_since(node).expect("it is unclean")))
                .expect("it may");
        }
        site.run(2);
        let states = [2, 4].map(|number| site.state(number));
        assert_eq!(states, [Some(NodeState::Leaving), Some(NodeState::Normal)], "after {steps} steps");
        assert_eq!((site.tokens(2), site.tokens(4)), (0, 2));
    }
}

/// It leaves by another operation.
#[test]
fn an_abort_of_an_operation_that_gives_a_node_tokens_does_not_keep_it() {
    let mut site = Site::new(2);
    site.request(OperationRequest::TokenCount(host(2), 8)).expect("it may");
    site.apply(PlannedChanges {
        nodes: vec![NodeChange::SetState(host(2), NodeState::Leaving)],
        operations: vec![site.planning().leave(&decommission(2), BTreeSet::new())],
        ..PlannedChanges::default()
    });
    site.request(OperationRequest::Abort(OperationId(1))).expect("it may");
    assert_eq!(site.state(2), Some(NodeState::Leaving));
    site.request(OperationRequest::Abort(OperationId(2))).expect("it may");
    assert_eq!(site.state(2), Some(NodeState::Normal));
}

/// The joining node has some of the data by then, and drops it before it is given the ranges again.
#[test]
fn a_replacement_that_waits_for_the_dead_begins_again_without_them() {
    let mut site = Site::new(2);
    site.apply(site.planning().join(&in_the_place_of_2()).expect("it may"));
    (0..3).for_each(|_| site.step(1).expect("it goes on"));
    let removal = Leave { host_id: host(2), departure: Departure::Removal, is_forced: true };
    let down = BTreeSet::from([host(2), host(3)]);
    let again = site.planning().leave_again(&removal, down.clone()).expect("it waits").expect("it may");
    site.apply(again);
    assert_eq!((site.phase(1), site.phase(2), site.state(4)), (None, Some(Phase::Queued), Some(NodeState::Joining)));
    assert_eq!(site.operations.operation(OperationId(2)).map(|operation| &operation.lost), Some(&down));
    assert!(site.step(2).is_err(), "it has leftovers");
    site.request(OperationRequest::Cleaned(host(4), EndNumber(1))).expect("it may");
    site.run(2);
    assert_eq!((site.state(4), site.tokens(4), site.tokens(2)), (Some(NodeState::Normal), 2, 0));
}

/// With one replica a range of the first would go to the second, which is dead too.
#[test]
fn nodes_that_are_removed_by_force_leave_together() {
    for steps in 0..=4 {
        let mut site = Site::new(1);
        let down = BTreeSet::from([host(2), host(3)]);
        for (number, steps) in [(2, steps), (3, 0)] {
            let removal = Leave { host_id: host(number), departure: Departure::Removal, is_forced: true };
            site.apply(PlannedChanges {
                nodes: vec![NodeChange::SetState(host(number), NodeState::Leaving)],
                operations: site.planning().leave_together(&removal, down.clone()).expect("it may"),
                ..PlannedChanges::default()
            });
            (0..steps).for_each(|_| site.step(1).expect("it goes on"));
        }
        // The new replicas of the first may have been read by then.
        assert_eq!((site.phase(1).is_some(), site.phase(2)), (steps == 4, Some(Phase::Queued)));
        let second = site.operations.operation(OperationId(2)).expect("it is queued").clone();
        let receivers: BTreeSet<HostId> = {
            let moves = site.planning().moves(&second).expect("the rules are known");
            site.planning().hosts_of(moves.iter().flat_map(RangeMove::pending))
        };
        if steps < 4 {
            assert_eq!(receivers, [host(1)].into());
            for node in site.operations.unclean().collect::<Vec<_>>() {
                site.request(OperationRequest::Cleaned(node, EndNumber(1))).expect("it may");
            }
            site.run(2);
            assert_eq!([2, 3].map(|number| site.tokens(number)), [0, 0]);
        }
    }
}

#[test]
fn a_node_that_cannot_be_replaced_is_refused_with_the_reason() {
    let site = Site::new(2);
    let refusal = |registry: &Registry, registration: &Registration, is_up: bool| {
        is_replaceable(registry, registration, &|_| is_up).map_err(|error| error.to_string())
    };
    assert_eq!(refusal(&site.registry, &in_the_place_of_2(), false), Ok(()));
    let unnamed = Registration { replaces: None, ..in_the_place_of_2() };
    assert_eq!(refusal(&site.registry, &unnamed, true), Ok(()));
    let says = |registry: &Registry, registration: &Registration, is_up: bool, words: &str| {
        let said = refusal(registry, registration, is_up).expect_err(words);
        assert!(said.contains(words), "{said}");
    };
    says(&site.registry, &in_the_place_of_2(), true, "cannot replace a live node");
    let unknown = Registration { replaces: Some(Replaced::Host(host(9))), ..in_the_place_of_2() };
    says(&site.registry, &unknown, false, "it is not a node of this cluster");
    let elsewhere = Registration { rack: "rack2".to_owned(), ..in_the_place_of_2() };
    says(&site.registry, &elsewhere, false, "with a node in datacenter datacenter1 and rack rack2");
    for (state, words) in [(NodeState::Leaving, "leaving the cluster already"), (NodeState::Joining, "joining still")] {
        let node = site.registry.node(host(2)).expect("it is there").clone();
        let registry = site.registry.apply([NodeChange::Put(host(2), Rc::new(RegisteredNode { state, ..node }))]);
        says(&registry, &in_the_place_of_2(), false, words);
    }
}

#[test]
fn a_receiver_confirms_once() {
    let mut site = Site::new(2);
    site.apply(site.planning().join(&of_many(4, 8)).expect("it may"));
    site.request(OperationRequest::Copied(OperationId(1), host(4))).expect("it is nothing");
    assert_eq!(site.operations.operation(OperationId(1)).map(|operation| operation.copied.len()), Some(0));
    (0..3).for_each(|_| site.step(1).expect("it goes on"));
    site.request(OperationRequest::Copied(OperationId(1), host(4))).expect("it may");
    let copied = site.operations.operation(OperationId(1)).map(|operation| operation.copied.clone());
    assert_eq!(copied, Some([host(4)].into()));
}

/// The leader waits for it in ReadNew; an operator gives it up where the node is lost.
#[test]
fn a_node_that_leaves_confirms_that_it_has_handed_on_its_hints() {
    for is_lost in [false, true] {
        let mut site = Site::new(2);
        site.apply(PlannedChanges {
            nodes: vec![NodeChange::SetState(host(1), NodeState::Leaving)],
            operations: vec![site.planning().leave(&decommission(1), BTreeSet::new())],
            ..PlannedChanges::default()
        });
        let copied = |site: &Site| site.operations.operation(OperationId(1)).map(|operation| operation.copied.clone());
        (0..4).for_each(|_| {
            assert_eq!(site.planning().give_up_hints(host(1)), None, "it waits for none yet");
            site.step(1).expect("it goes on");
        });
        site.request(OperationRequest::Copied(OperationId(1), host(2))).expect("it is nothing");
        assert_eq!(copied(&site), Some(BTreeSet::new()), "another node has nothing to hand on");
        assert_eq!(site.planning().give_up_hints(host(2)), None);
        match is_lost {
            true => site.apply(site.planning().give_up_hints(host(1)).expect("it waits for it")),
            false => site.request(OperationRequest::Copied(OperationId(1), host(1))).expect("it may"),
        }
        assert_eq!(copied(&site), Some([host(1)].into()));
        assert_eq!(site.planning().give_up_hints(host(1)), None, "it does not wait any more");
        site.step(1).expect("it goes on");
        assert_eq!(copied(&site), None, "it is done");
    }
}

#[test]
fn a_request_comes_back_from_its_bytes() {
    let id = OperationId(300);
    let requests = [
        OperationRequest::Step(id, Phase::Copy),
        OperationRequest::Copied(id, host(7)),
        OperationRequest::Cleaned(host(7), EndNumber(301)),
        OperationRequest::Abort(id),
        OperationRequest::Move(host(7), Token(-5)),
        OperationRequest::TokenCount(host(7), 300),
    ];
    for request in requests {
        let bytes = request.to_bytes();
        assert_eq!(OperationRequest::decode(&bytes), Ok(request));
        (0..bytes.len()).for_each(|length| assert!(OperationRequest::decode(&bytes[..length]).is_err()));
        assert!(OperationRequest::decode(&[&bytes[..], &[0]].concat()).is_err());
    }
    assert_eq!(OperationRequest::decode(&[2, 1, 1, 1]), Err(DecodeError::NewerVersion { version: 2, supported: 1 }));
    assert!(OperationRequest::decode(&[1, 9, 1]).is_err());
}
