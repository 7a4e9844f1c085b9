//! Operations as they are asked for: from the request to their end, on a state to which all changes are applied.

use std::collections::BTreeSet;

use topology::nodes::Boot;
use topology::token_of;

use super::*;
use crate::examples::{host, put, registration};

const BOOT: Boot = Boot { number: 1, word: 10 };

/// A cluster's state, with the nodes 1 to 3, and one keyspace of three replicas with a table.
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
        Planning { registry, operations, settings, strategies }
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
    });
    assert!(site.step(2).expect_err("they would gain it back").contains("has data of ranges that it does not own"));
    for number in 1..=3 {
        site.request(OperationRequest::Cleaned(host(number), OperationId(1))).expect("it may");
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

#[test]
fn a_node_that_leaves_takes_its_leftovers_along() {
    let mut site = Site::new(3);
    site.apply(site.planning().join(&of_many(4, 16)).expect("it may"));
    site.run(1);
    for number in [2, 3] {
        site.request(OperationRequest::Cleaned(host(number), OperationId(1))).expect("it may");
    }
    assert!(site.operations.unclean().eq([host(1)]));
    site.apply(PlannedChanges {
        nodes: vec![NodeChange::SetState(host(1), NodeState::Leaving)],
        operations: vec![site.planning().leave(&decommission(1), BTreeSet::new())],
    });
    site.run(2);
    assert_eq!(site.operations.unclean().len(), 0, "it would be unclean for ever");
}

#[test]
fn nodes_join_one_after_the_other_on_the_ring_that_they_find() {
    let mut site = Site::new(3);
    site.apply(site.planning().join(&of_many(4, 16)).expect("it may"));
    site.apply(site.planning().join(&of_many(5, 16)).expect("it may"));
    assert_eq!(site.operations.all().len(), 2);
    site.step(2).expect("it waits");
    assert_eq!(site.phase(2), Some(Phase::Queued));
    site.run(1);
    for node in [1, 2, 3] {
        site.request(OperationRequest::Cleaned(host(node), OperationId(1))).expect("it may");
    }
    site.run(2);
    assert_eq!((site.state(5), site.tokens(5)), (Some(NodeState::Normal), 16));
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
    });
    (0..3).for_each(|_| site.step(1).expect("it goes on"));
    site.request(OperationRequest::Abort(OperationId(1))).expect("it may");
    assert_eq!((site.state(1), site.tokens(1)), (Some(NodeState::Normal), 2));
    assert!(site.operations.unclean().len() > 0, "the others may have copied something");
    let unknown = site.request(OperationRequest::Abort(OperationId(1)));
    assert_eq!(unknown, Err("there is no operation 1: it has ended, or never was".to_owned()));
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
        OperationRequest::Cleaned(host(7), id),
        OperationRequest::Abort(id),
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
