//! ALTER KEYSPACE and `rebuild` as operations, from the request to their end, on a state to which all changes are applied.

use planted::Planted;
use topology::nodes::{Boot, NodeChange, Registry};
use topology::operations::{EndNumber, OperationId, Operations};
use topology::{Strategies, operations::placed_by};

use super::*;
use crate::examples::{host, put};
use crate::operations::OperationRequest;

const BOOT: Boot = Boot { number: 1, word: 10 };
const KEYSPACE: &str = "ks";

/// The nodes 1 to 3, and a keyspace with a table.
struct Site {
    registry: Registry,
    operations: Operations,
    /// The schema has it.
    replication: ReplicationStrategy,
    has_tables: bool,
    settings: BTreeSet<ReplicationStrategy>,
    strategies: Strategies,
}

fn simple(replication_factor: u32) -> ReplicationStrategy {
    ReplicationStrategy::Simple { replication_factor }
}

impl Site {
    fn new(factor: u32) -> Site {
        Site {
            registry: Registry::default().apply([put(1, BOOT), put(2, BOOT), put(3, BOOT)]),
            operations: Operations::default(),
            replication: simple(factor),
            has_tables: true,
            settings: BTreeSet::new(),
            strategies: Strategies::default(),
        }
    }

    fn planning(&mut self) -> Planning<'_> {
        self.settings = [self.placed_by()].into();
        let Site { registry, operations, settings, strategies, .. } = self;
        Planning { registry, operations, settings, strategies, planted: Planted::NONE }
    }

    /// The replication by which requests are planned, but for an operation that runs.
    fn placed_by(&self) -> ReplicationStrategy {
        placed_by(self.operations.all(), KEYSPACE, &self.replication).clone()
    }

    fn apply(&mut self, changes: PlannedChanges) {
        self.registry = self.registry.apply(changes.nodes);
        self.operations = self.operations.apply(changes.operations);
        if let Some((keyspace, strategy)) = changes.replication {
            assert_eq!(keyspace, KEYSPACE);
            self.replication = strategy;
        }
    }

    fn alter(&mut self, factor: u32) {
        let (now, after, has_tables) = (self.replication.clone(), simple(factor), self.has_tables);
        let altered = Alteration { keyspace: KEYSPACE, now: &now, after: &after, has_tables };
        let operations = self.planning().alter(&altered).expect("its rules are known");
        self.replication = after;
        self.apply(PlannedChanges { operations, ..PlannedChanges::default() });
    }

    fn request(&mut self, request: OperationRequest) -> Result<(), String> {
        let changes = self.planning().plan(&request).map_err(|error| error.to_string())?;
        self.apply(changes);
        Ok(())
    }

    fn step(&mut self, id: u64) {
        let phase = self.operations.operation(OperationId(id)).expect("it is there").phase;
        self.request(OperationRequest::Step(OperationId(id), phase)).expect("it goes on");
    }

    fn run(&mut self, id: u64) {
        while self.operations.operation(OperationId(id)).is_some() {
            self.step(id);
        }
    }

    fn abort(&mut self, id: u64) -> Result<(), String> {
        self.request(OperationRequest::Abort(OperationId(id)))
    }

    /// The operations: number, phase, factors before and after.
    fn operations(&self) -> Vec<(u64, Phase, u32, u32)> {
        let of = |strategy: &ReplicationStrategy| match strategy {
            ReplicationStrategy::Simple { replication_factor } => *replication_factor,
            other => panic!("{other:?}"),
        };
        let facts = |operation: &Operation| match &operation.target {
            Target::Replication { before, after, .. } => (operation.id.0, operation.phase, of(before), of(after)),
            other => panic!("{other:?}"),
        };
        self.operations.all().map(facts).collect()
    }
}

#[test]
fn a_keyspace_gets_its_new_replicas_by_an_operation_and_its_old_ones_clean_up() {
    let mut site = Site::new(3);
    site.alter(1);
    assert_eq!(site.operations(), [(1, Phase::Queued, 3, 1)]);
    for phase in [Phase::Planned, Phase::WriteBoth, Phase::Copy, Phase::ReadNew] {
        assert_eq!((site.placed_by(), &site.replication), (simple(3), &simple(1)), "the schema alone has it");
        site.step(1);
        assert_eq!(site.operations(), [(1, phase, 3, 1)]);
    }
    site.step(1);
    assert_eq!((site.operations(), site.placed_by()), (Vec::new(), simple(1)));
    assert!(site.operations.unclean().eq([host(1), host(2), host(3)]), "each has lost something");
    // Leftovers keep a node from gaining ranges.
    site.alter(2);
    let refused = site.request(OperationRequest::Step(OperationId(2), Phase::Queued)).expect_err("it is unclean");
    assert!(refused.contains("has data of ranges that it does not own"), "{refused}");
    for number in 1..=3 {
        site.request(OperationRequest::Cleaned(host(number), EndNumber(1))).expect("it may");
    }
    site.run(2);
    assert_eq!([1, 2, 3].map(|number| site.operations.tenure(host(number))), [2; 3], "each gains something back");
}

#[test]
fn nothing_is_queued_where_nothing_moves() {
    let mut site = Site::new(3);
    for factor in [5, 3, 7] {
        site.alter(factor);
        assert_eq!((site.operations(), site.placed_by()), (Vec::new(), simple(factor)), "three nodes have all");
    }
    site.has_tables = false;
    site.alter(1);
    assert_eq!((site.operations(), site.placed_by()), (Vec::new(), simple(1)));
    let mut alone = Site { registry: Registry::default().apply([put(1, BOOT)]), ..Site::new(1) };
    alone.alter(3);
    assert_eq!(alone.operations(), []);
    // While tokens move, which may be of other replicas afterwards, it waits for its turn.
    let mut site = Site::new(3);
    let target = Target::Tokens([(host(3), Vec::new())].into());
    let queued = site.planning().queued(Kind::Decommission, target);
    site.operations = site.operations.apply([OperationChange::Queue(Rc::new(queued))]);
    site.alter(5);
    assert_eq!((site.operations.all().len(), site.placed_by()), (2, simple(3)));
    assert!(!site.operations.may_plan(OperationId(2)));
}

#[test]
fn a_later_alter_replaces_a_queued_operation_and_waits_for_one_that_runs() {
    let mut site = Site::new(1);
    site.alter(3);
    site.alter(2);
    assert_eq!(site.operations(), [(2, Phase::Queued, 1, 2)]);
    site.alter(1);
    assert_eq!((site.operations(), site.placed_by()), (Vec::new(), simple(1)), "all is as it was");
    site.alter(3);
    site.step(3);
    site.alter(2);
    assert_eq!(site.operations(), [(3, Phase::Planned, 1, 3), (4, Phase::Queued, 3, 2)]);
    assert!(!site.operations.may_plan(OperationId(4)) && site.placed_by() == simple(1));
    site.alter(1);
    assert_eq!(site.operations(), [(3, Phase::Planned, 1, 3), (5, Phase::Queued, 3, 1)]);
    site.alter(3);
    assert_eq!(site.operations(), [(3, Phase::Planned, 1, 3)], "it brings that itself");
    site.alter(2);
    site.run(3);
    assert_eq!((site.operations(), site.placed_by()), (vec![(6, Phase::Queued, 3, 2)], simple(3)));
    site.run(6);
    assert_eq!(site.placed_by(), simple(2));
}

#[test]
fn an_abort_gives_the_schema_the_replication_from_before() {
    for steps in 0..=4 {
        let mut site = Site::new(1);
        site.alter(3);
        (0..steps).for_each(|_| site.step(1));
        let aborted = site.abort(1);
        if steps == 4 {
            assert!(aborted.expect_err("it is read").contains("cannot be aborted any more"));
            continue;
        }
        assert_eq!((aborted, site.operations()), (Ok(()), Vec::new()));
        assert_eq!((&site.replication, site.placed_by()), (&simple(1), simple(1)));
        let unclean = if steps < 2 { 0 } else { 3 };
        assert_eq!(site.operations.unclean().len(), unclean, "after {steps} steps: they may have been written");
    }
}

#[test]
fn an_operation_that_waits_for_an_aborted_one_begins_where_that_began() {
    for (factor, queued) in [(2, vec![(3, Phase::Queued, 1, 2)]), (1, Vec::new())] {
        let mut site = Site::new(1);
        site.alter(3);
        (0..3).for_each(|_| site.step(1));
        site.alter(factor);
        assert_eq!(site.abort(1), Ok(()));
        assert_eq!((site.operations(), site.placed_by()), (queued, simple(1)));
        assert_eq!(site.replication, simple(factor), "it was asked for last");
    }
    let mut site = Site::new(1);
    site.alter(3);
    site.step(1);
    site.alter(2);
    assert_eq!(site.abort(2), Ok(()));
    assert_eq!((site.operations(), &site.replication), (vec![(1, Phase::Planned, 1, 3)], &simple(3)));
}

#[test]
fn a_keyspace_that_is_dropped_has_no_operation() {
    for steps in 0..=4 {
        let mut site = Site::new(3);
        site.alter(1);
        (0..steps).for_each(|_| site.step(1));
        site.alter(2);
        let operations = site.planning().drop_keyspace(KEYSPACE);
        assert!(site.planning().drop_keyspace("other").is_empty());
        site.apply(PlannedChanges { operations, ..PlannedChanges::default() });
        assert_eq!(site.operations(), [], "after {steps} steps");
    }
}

#[test]
fn an_operation_of_a_keyspace_moves_what_it_moves_once() {
    let mut site = Site::new(3);
    site.alter(1);
    let operation = site.operations.all().next().expect("it is queued").clone();
    site.settings.extend([simple(2), simple(3)]);
    let Site { registry, operations, settings, strategies, .. } = &site;
    let several = Planning { registry, operations, settings, strategies, planted: Planted::NONE }
        .moves(&operation)
        .expect("rules are known");
    let none = BTreeSet::new();
    let without =
        Planning { registry, operations, settings: &none, strategies, planted: Planted::NONE }.moves(&operation);
    assert_eq!(Ok(&several), without.as_ref(), "whatever the replication of others, and with its last table gone");
    assert!(!several.is_empty());
}

#[test]
fn a_node_copies_its_ranges_again() {
    let mut site = Site::new(2);
    let rebuild =
        |number, datacenter: Option<&str>| Rebuild { host_id: host(number), datacenter: datacenter.map(str::to_owned) };
    let here = site.registry.node(host(1)).expect("it is there").datacenter.clone();
    for request in [rebuild(1, None), rebuild(2, Some("dc9"))] {
        assert_eq!(Rebuild::decode(&request.to_bytes()), Ok(request));
    }
    let newer = Rebuild::decode(&[&[2][..], &[0; 16]].concat());
    assert_eq!(newer, Err(DecodeError::NewerVersion { version: 2, supported: 1 }));
    assert!(Rebuild::decode(&[1, 2, 3]).is_err() && Rebuild::decode(&[&[1][..], &[0; 16], &[0xff]].concat()).is_err());

    let unknown = site.planning().rebuild(&rebuild(1, Some("dc9"))).expect_err("there is none").to_string();
    let words = format!("Provided datacenter 'dc9' is not a valid datacenter, available datacenters are: {here}");
    assert_eq!(unknown, words);
    assert_eq!(site.planning().rebuild(&rebuild(4, None)), Err(RebuildError::NotNormal));
    let changes = site.planning().rebuild(&rebuild(1, Some(&here))).expect("it may");
    site.apply(changes);
    let again = site.planning().rebuild(&rebuild(1, None));
    assert_eq!(again, Err(RebuildError::UnderWay(1)));
    site.run(1);
    assert_eq!((site.operations.unclean().len(), site.operations.tenure(host(1))), (0, 0), "nothing moves");

    // An older disk is what it is for.
    site.registry = site.registry.apply([NodeChange::SetState(host(3), NodeState::Regressed)]);
    assert!(site.planning().rebuild(&rebuild(3, None)).is_ok_and(|changes| changes.operations.len() == 1));

    // Nothing begins before it ends: a node that leaves ends it.
    let changes = site.planning().rebuild(&rebuild(2, None)).expect("it may");
    site.apply(changes);
    site.step(2);
    assert_eq!(site.planning().without_own_of(host(1)), []);
    let ended = site.planning().without_own_of(host(2));
    site.operations = site.operations.apply(ended);
    assert_eq!(site.operations.all().len(), 0);

    let mut empty = Site::new(1);
    empty.settings.clear();
    let Site { registry, operations, settings, strategies, .. } = &empty;
    let planning = Planning { registry, operations, settings, strategies, planted: Planted::NONE };
    assert_eq!(planning.rebuild(&rebuild(1, None)), Ok(PlannedChanges::default()), "there is no table");
}
