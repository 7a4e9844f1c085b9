//! Requests of nodes and operators for the registry of nodes and for operations, as the leader plans them: with the schema, which says what moves.
//!
//! All of it is planned on one state, so a table that is created in the same log is before an operation's step or after it.

use std::collections::BTreeSet;

use membership::{
    Alteration, Conditions, Departure, Leave, OperationError, OperationRequest, OperationsDomain, PlannedChanges,
    Planning, Rebuild, Request, TopologyDomain, give_up, is_replaceable, plan_leave,
};
use metadata::group::{Configuration, Plan, node_id};
use metadata::{ClusterState, Entry, Part};
use planted::Planted;
use schema::{KeyspaceDef, Schema, SchemaChange};
use topology::nodes::{NodeChange, Registry};
use topology::operations::{Operation, OperationChange, Operations, may_be_placed_by, placed_by};
use topology::{HostId, ReplicationStrategy, Strategies};

use crate::domain::SchemaDomain;

const VOTES_STILL: &str = "the node to be removed votes still in the metadata group";

/// The state that requests about nodes are planned on.
pub(super) struct NodesPlanner<'a> {
    pub(super) registry: &'a Registry,
    pub(super) operations: &'a Operations,
    pub(super) schema: &'a Schema,
    pub(super) strategies: &'a Strategies,
    pub(super) planted: Planted,
}

impl<'a> NodesPlanner<'a> {
    /// The state of a cluster, with the strategies that keyspaces may name.
    pub(super) fn of(state: &'a ClusterState, strategies: &'a Strategies) -> NodesPlanner<'a> {
        NodesPlanner {
            registry: state.of::<TopologyDomain>(),
            operations: state.of::<OperationsDomain>(),
            schema: state.of::<SchemaDomain>(),
            strategies,
            planted: Planted::NONE,
        }
    }

    /// Plans a request of a node. A refusal has its sentence; none if all is so already.
    pub(super) fn membership(&self, voters: &Configuration, request: &[u8], is_up: &dyn Fn(HostId) -> bool) -> Plan {
        let request = match Request::decode(request) {
            Ok(request) => request,
            Err(error) => return refused(&error),
        };
        // The leader that asked for it may have been followed by one whose log has the node as a voter still.
        if let Request::Remove(id) = request
            && voters.has(node_id(id))
        {
            return refused(&VOTES_STILL);
        }
        let nodes = match membership::plan(self.registry, &request) {
            Ok(nodes) => nodes,
            Err(error) => return refused(&error),
        };
        if let Request::Remove(id) = request
            && let Some(operation) = self.operations.all().find(|operation| operation.names(id))
        {
            return refused(&OperationError::Removed { node: id, operation: operation.id });
        }
        match &request {
            // After the fences: a wiped member needs the sentence that names `--replace`.
            Request::Register(registration) if !nodes.is_empty() && self.is_new(registration.host_id) => {
                if let Err(error) = is_replaceable(self.registry, registration, is_up) {
                    return refused(&error);
                }
                self.answer(self.with_planning(|planning| planning.join(registration)))
            }
            Request::SetState(host, _) if nodes.iter().any(|change| matches!(change, NodeChange::Doubted(..))) => {
                let operations = self.with_planning(|planning| planning.without_copies_of(*host));
                self.answer(operations.map(|operations| PlannedChanges { nodes, operations, ..Default::default() }))
            }
            _ => {
                let removed = nodes.iter().filter_map(|change| match change {
                    NodeChange::Remove(host) => self.with_planning(|planning| planning.forgotten(*host)),
                    _ => None,
                });
                let operations = removed.collect();
                self.answer::<OperationError>(Ok(PlannedChanges { nodes, operations, ..PlannedChanges::default() }))
            }
        }
    }

    /// True if the host id is no node's, and others are there.
    fn is_new(&self, id: HostId) -> bool {
        self.registry.nodes().len() > 0 && self.registry.node(id).is_none() && !self.registry.has_left(id)
    }

    /// Plans a request that a node leaves.
    pub(super) fn leaving(&self, request: &[u8], is_up: &dyn Fn(HostId) -> bool) -> Plan {
        let leave = match Leave::decode(request) {
            Ok(leave) => leave,
            Err(error) => return refused(&error),
        };
        if leave.departure == Departure::Removal && !is_up(leave.host_id) {
            let removed = self.with_planning(|planning| planning.remove_joining(leave.host_id));
            if let Some(removed) = removed {
                let given_up = self.given_up(&leave);
                // Its new replicas are read, and it is a member at the end: it is removed then.
                return match removed {
                    Err(OperationError::TooFar(_)) if leave.is_forced => {
                        self.answer::<OperationError>(Ok(PlannedChanges {
                            operations: given_up,
                            ..PlannedChanges::default()
                        }))
                    }
                    removed => self.answer(removed),
                };
            }
        }
        // Where a strategy is unknown here, so is the number of replicas; its ranges do not move either.
        let keyspaces = self.schema.keyspaces().values().flat_map(|keyspace| {
            let strategies = may_be_placed_by(self.operations.all(), keyspace.name(), keyspace.strategy());
            strategies.filter_map(|strategy| Some((keyspace.name(), self.strategies.rules(strategy).ok()?.factor())))
        });
        let conditions = Conditions { is_up, keyspaces: keyspaces.collect() };
        let nodes = match plan_leave(self.registry, &leave, &conditions) {
            Ok(nodes) => nodes,
            Err(error) => return refused(&error),
        };
        let down: BTreeSet<HostId> = self.registry.nodes().map(|(id, _)| id).filter(|id| !is_up(*id)).collect();
        if nodes.is_empty() {
            let is_lost = leave.departure == Departure::Removal && down.contains(&leave.host_id);
            let again = |planning: &Planning<'_>| {
                let given_up = planning.give_up_hints(leave.host_id).map(Ok);
                given_up.or_else(|| planning.leave_again(&leave, down))
            };
            let changes = is_lost.then(|| self.with_planning(again)).flatten();
            let mut changes = changes.unwrap_or_else(|| Ok(PlannedChanges::default()));
            if let (Ok(changes), true) = (&mut changes, is_lost) {
                changes.operations.extend(self.given_up(&leave));
            }
            return self.answer(changes);
        }
        let operations = self.with_planning(|planning| {
            let own = planning.without_own_of(leave.host_id);
            let departure = planning.leave_together(&leave, down)?;
            Ok::<_, OperationError>(own.into_iter().chain(departure).chain(self.given_up(&leave)).collect())
        });
        self.answer(operations.map(|operations| PlannedChanges { nodes, operations, ..PlannedChanges::default() }))
    }

    /// The changes by which operations that only go forward do not wait for a node that is removed by force.
    fn given_up(&self, leave: &Leave) -> Vec<OperationChange> {
        let is_given_up = leave.is_forced && leave.departure == Departure::Removal;
        let given_up = is_given_up.then(|| self.with_planning(|planning| give_up(planning, leave.host_id)));
        given_up.unwrap_or_default()
    }

    /// Plans a request about an operation.
    pub(super) fn operation(&self, request: &[u8]) -> Plan {
        let request = match OperationRequest::decode(request) {
            Ok(request) => request,
            Err(error) => return refused(&error),
        };
        self.answer(self.with_planning(|planning| planning.plan(&request)))
    }

    /// Plans a request of a node to copy its ranges again.
    pub(super) fn rebuilding(&self, request: &[u8]) -> Plan {
        match Rebuild::decode(request) {
            Ok(request) => self.answer(self.with_planning(|planning| planning.rebuild(&request))),
            Err(error) => refused(&error),
        }
    }

    /// The changes of operations that go with changes of the schema: a keyspace's data is copied to other replicas, or it is gone.
    pub(super) fn beside(&self, changes: &[SchemaChange]) -> Result<Vec<OperationChange>, OperationError> {
        let mut all = Vec::new();
        for change in changes {
            match change {
                SchemaChange::PutKeyspace(def) => {
                    let known = self.schema.keyspace(&def.name).filter(|known| *known.strategy() != def.strategy);
                    let Some(known) = known else { continue };
                    let altered = Alteration {
                        keyspace: &def.name,
                        now: known.strategy(),
                        after: &def.strategy,
                        has_tables: !known.tables.is_empty(),
                    };
                    all.extend(self.with_planning(|planning| planning.alter(&altered))?);
                }
                SchemaChange::DropKeyspace(name) => {
                    all.extend(self.with_planning(|planning| planning.drop_keyspace(name)));
                }
                _ => {}
            }
        }
        Ok(all)
    }

    fn answer<E: std::fmt::Display>(&self, changes: Result<PlannedChanges, E>) -> Plan {
        let PlannedChanges { nodes, operations, replication } = match changes {
            Ok(changes) => changes,
            Err(error) => return refused(&error),
        };
        let replication = replication.and_then(|(keyspace, strategy)| self.replicated(&keyspace, strategy));
        let parts = [
            (!nodes.is_empty()).then(|| TopologyDomain::part(&nodes)),
            replication.map(|change| SchemaDomain::part(&[change])),
            (!operations.is_empty()).then(|| OperationsDomain::part(&operations)),
        ];
        let parts: Vec<Part> = parts.into_iter().flatten().collect();
        match parts.is_empty() {
            true => Plan::Refused(Vec::new()),
            false => Plan::Change(Entry::new(parts)),
        }
    }

    /// The change of the schema by which a keyspace has a replication again that it had before.
    fn replicated(&self, keyspace: &str, strategy: ReplicationStrategy) -> Option<SchemaChange> {
        let known = self.schema.keyspace(keyspace).filter(|known| *known.strategy() != strategy)?;
        let (replication, tenure) = (strategy.as_stored(), known.def.tenure + 1);
        Some(SchemaChange::PutKeyspace(KeyspaceDef { replication, strategy, tenure, ..known.def.clone() }))
    }

    fn with_planning<T>(&self, plan: impl FnOnce(&Planning<'_>) -> T) -> T {
        let settings = settings(self.schema, self.operations);
        plan(&Planning {
            registry: self.registry,
            operations: self.operations,
            settings: &settings,
            strategies: self.strategies,
            planted: self.planted,
        })
    }
}

/// The replication by which the keyspaces that have a table are placed, each once, of those whose data is shared.
pub fn settings(schema: &Schema, operations: &Operations) -> BTreeSet<ReplicationStrategy> {
    let with_tables = schema.keyspaces().values().filter(|keyspace| !keyspace.tables.is_empty());
    let strategies =
        with_tables.map(|keyspace| placed_by(operations.all(), keyspace.name(), keyspace.strategy()).clone());
    strategies.filter(|strategy| *strategy != ReplicationStrategy::Local).collect()
}

/// The keyspaces of which some range has no replica after an operation, and has one now.
pub fn unplaced(schema: &Schema, planning: &Planning<'_>, operation: &Operation) -> Vec<String> {
    let with_tables = schema.keyspaces().values().filter(|keyspace| !keyspace.tables.is_empty());
    let shared = with_tables.filter(|keyspace| *keyspace.strategy() != ReplicationStrategy::Local);
    let is_unplaced = |keyspace: &&std::rc::Rc<schema::Keyspace>| {
        let strategy = placed_by(planning.operations.all(), keyspace.name(), keyspace.strategy());
        planning.unplaces(operation, (keyspace.name(), strategy))
    };
    shared.filter(is_unplaced).map(|keyspace| keyspace.name().to_owned()).collect()
}

fn refused(error: &dyn std::fmt::Display) -> Plan {
    Plan::Refused(error.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use cql_syntax::parse;
    use metadata::Domain;
    use schema::{DdlContext, TableId, plan_ddl};
    use topology::Token;
    use topology::nodes::{Address, Boot, Features, NodeState, RegisteredNode, Release, Start};
    use topology::operations::{OperationChange, Phase};

    use super::*;

    const LEAVES: HostId = HostId([2; 16]);
    const JOINS: HostId = HostId([4; 16]);

    struct Site {
        registry: Registry,
        operations: Operations,
        schema: Schema,
        strategies: Strategies,
    }

    impl Site {
        /// Nodes 1 to 3, and a schema that these statements make.
        fn new(statements: &[&str]) -> Site {
            let put = |number: u8| {
                let address = Address::new([10, 0, 0, number].into(), 7000);
                let start = Start {
                    boot: Boot { number: 1, word: 1 },
                    internode: address,
                    native: address,
                    shard_count: 1,
                    release: Release { major: 0, minor: 1, patch: 0 },
                    features: Features(0),
                };
                let (datacenter, rack) = ("datacenter1".to_owned(), "rack1".to_owned());
                let tokens = vec![Token(i64::from(number))];
                let node = RegisteredNode { state: NodeState::Normal, datacenter, rack, tokens, start };
                NodeChange::Put(HostId([number; 16]), Rc::new(node))
            };
            let mut site = Site {
                registry: Registry::default().apply([put(1), put(2), put(3)]),
                operations: Operations::default(),
                schema: Schema::empty(),
                strategies: Strategies::default(),
            };
            for text in statements {
                let changes = site.plan(text);
                site.schema = site.schema.with_all(&changes);
            }
            site
        }

        fn plan(&self, text: &str) -> Vec<SchemaChange> {
            let context = DdlContext {
                current_keyspace: None,
                new_id: TableId([7; 16]),
                datacenters: &[("datacenter1".to_owned(), 2)].into(),
                strategies: &self.strategies,
                now_micros: 1,
                masks_enabled: false,
            };
            plan_ddl(&self.schema, &parse(text).expect("a statement"), &context).expect("it can be done").changes
        }

        fn planner(&self) -> NodesPlanner<'_> {
            let Site { registry, operations, schema, strategies } = self;
            NodesPlanner { registry, operations, schema, strategies, planted: Planted::NONE }
        }

        /// Applies a plan; the error is its refusal.
        fn apply(&mut self, plan: Plan) -> Result<(), String> {
            let entry = match plan {
                Plan::Refused(reason) => return Err(String::from_utf8(reason).expect("a sentence")),
                Plan::Change(entry) => entry,
            };
            for part in entry.parts() {
                match part.domain {
                    TopologyDomain::ID => {
                        let changes = TopologyDomain::decode(part.version, &part.bytes).expect("its own part");
                        self.registry = self.registry.apply(changes);
                    }
                    OperationsDomain::ID => {
                        let changes = OperationsDomain::decode(part.version, &part.bytes).expect("its own part");
                        self.operations = self.operations.apply(changes);
                    }
                    SchemaDomain::ID => {
                        let changes = SchemaDomain::decode(part.version, &part.bytes).expect("its own part");
                        self.schema = self.schema.with_all(&changes);
                    }
                    domain => panic!("domain {domain} changes"),
                }
            }
            Ok(())
        }

        fn decommission(&mut self, number: u8) -> Result<(), String> {
            let (host_id, departure) = (HostId([number; 16]), membership::Departure::Decommission);
            let leave = Leave { host_id, departure, is_forced: false };
            let plan = self.planner().leaving(&leave.to_bytes(), &|_| true);
            self.apply(plan)
        }

        /// Node 4, which has no tokens yet.
        fn join(&mut self) {
            let Some((_, node)) = self.registry.nodes().next() else { panic!("three nodes") };
            let registration = membership::Registration {
                host_id: JOINS,
                datacenter: node.datacenter.clone(),
                rack: node.rack.clone(),
                tokens: vec![Token(4)],
                has_given_tokens: false,
                is_without_copy: false,
                replaces: None,
                start: Start { internode: Address::new([10, 0, 0, 4].into(), 7000), ..node.start },
            };
            let plan = self.planner().membership(&voters(&[1]), &Request::Register(registration).to_bytes(), &|_| true);
            self.apply(plan).expect("it may join");
        }

        /// Asks for a way out for node 4.
        fn leaves(&mut self, departure: Departure, is_up: bool) -> Result<(), String> {
            let leave = Leave { host_id: JOINS, departure, is_forced: false };
            let plan = self.planner().leaving(&leave.to_bytes(), &|id| is_up || id != JOINS);
            self.apply(plan)
        }

        fn remove(&mut self, voters: &Configuration) -> Result<(), String> {
            let plan = self.planner().membership(voters, &Request::Remove(LEAVES).to_bytes(), &|_| true);
            self.apply(plan)
        }

        fn step(&mut self) {
            let operation = self.operations.all().next().expect("there is one");
            let step = OperationRequest::Step(operation.id, operation.phase);
            let plan = self.planner().operation(&step.to_bytes());
            self.apply(plan).expect("it goes on");
        }
    }

    fn voters(numbers: &[u8]) -> Configuration {
        Configuration::new(numbers.iter().map(|number| node_id(HostId([*number; 16])))).expect("there is a voter")
    }

    const KEYSPACE: &str = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
    const TABLE: &str = "CREATE TABLE ks.t (k int PRIMARY KEY)";

    #[test]
    fn a_node_is_removed_when_its_ranges_have_moved_and_it_votes_in_no_half() {
        let mut site = Site::new(&[KEYSPACE, TABLE]);
        site.decommission(2).expect("it may");
        assert_eq!(site.registry.node(LEAVES).map(|node| node.state), Some(NodeState::Leaving));
        let owns = site.remove(&voters(&[1])).expect_err("its ranges have not moved");
        assert!(owns.contains("owns tokens"), "{owns}");
        while site.operations.all().len() > 0 {
            site.step();
        }
        assert_eq!(site.remove(&voters(&[1, 2])), Err(VOTES_STILL.to_owned()));
        let joint = voters(&[2]).towards([node_id(HostId([1; 16]))]).expect("they differ");
        assert_eq!(site.remove(&joint), Err(VOTES_STILL.to_owned()));
        site.remove(&voters(&[1])).expect("it may");
        assert!(site.registry.has_left(LEAVES));
        let malformed = site.planner().leaving(&[9], &|_| true);
        assert!(matches!(malformed, Plan::Refused(words) if words.contains(&b'9')));
    }

    /// A ring without it is none that the operation can be carried out on.
    #[test]
    fn a_node_is_not_removed_while_an_operation_names_it() {
        let mut site = Site::new(&[KEYSPACE, TABLE]);
        site.decommission(2).expect("it may");
        site.registry = site.registry.apply([NodeChange::SetTokens(LEAVES, Vec::new())]);
        let refused = site.remove(&voters(&[1])).expect_err("an operation names it");
        assert!(refused.contains("operation 1 is of node"), "{refused}");
        let id = site.operations.all().next().expect("it waits").id;
        site.operations = site.operations.apply([OperationChange::Abort(id, BTreeSet::new())]);
        site.remove(&voters(&[1])).expect("it may");
    }

    /// Its disk may be gone, and nothing else begins before its operation ends.
    #[test]
    fn a_node_that_is_down_while_it_joins_is_removed_with_its_operation() {
        for steps in 0..=4 {
            let mut site = Site::new(&[KEYSPACE, TABLE]);
            site.join();
            (0..steps).for_each(|_| site.step());
            let not_yet = site.leaves(Departure::Decommission, true).expect_err("it owns nothing yet");
            assert_eq!(not_yet, "local node is not a member of the token ring yet");
            let alive = site.leaves(Departure::Removal, true).expect_err("it is up");
            assert!(alive.contains("is joining and alive. End its process first"), "{alive}");
            let removed = site.leaves(Departure::Removal, false);
            if steps == 4 {
                let read = removed.expect_err("its new replicas are read");
                assert!(read.contains("operation 1 cannot be aborted any more"), "{read}");
                continue;
            }
            removed.expect("it is down");
            assert!(site.registry.has_left(JOINS) && site.operations.all().len() == 0);
            site.decommission(2).expect("others may leave");
        }
    }

    /// It has the only replica of its ranges, and dies for good while it leaves.
    #[test]
    fn a_removal_by_force_replaces_an_operation_that_waits_for_a_dead_node() {
        for steps in 0..=4 {
            let mut site = Site::new(&[KEYSPACE, TABLE]);
            site.decommission(2).expect("it may");
            (0..steps).for_each(|_| site.step());
            let removal = |site: &mut Site, is_forced| {
                let leave = Leave { host_id: LEAVES, departure: Departure::Removal, is_forced };
                let plan = site.planner().leaving(&leave.to_bytes(), &|id| id != LEAVES);
                site.apply(plan)
            };
            let number = |site: &Site| site.operations.all().next().map(|operation| operation.id.0);
            if steps == 4 {
                removal(&mut site, false).expect("its hints are given up");
                let given_up = site.operations.all().next().map(|operation| operation.lost.clone());
                assert_eq!(given_up, Some(BTreeSet::new()), "its ranges are waited for");
                removal(&mut site, true).expect("they are given up too");
                assert_eq!(removal(&mut site, true), Err(String::new()), "it goes on without the node");
                let given_up = site.operations.all().next().map(|operation| operation.copied.clone());
                assert_eq!((number(&site), given_up), (Some(1), Some(BTreeSet::from([LEAVES]))));
                continue;
            }
            assert_eq!(removal(&mut site, false), Err(String::new()), "it waits");
            removal(&mut site, true).expect("its data is given up");
            assert_eq!((number(&site), site.operations.all().len()), (Some(2), 1));
            assert_eq!(site.registry.node(LEAVES).map(|node| node.state), Some(NodeState::Leaving));
            let lost = site.operations.all().next().map(|operation| operation.lost.clone());
            assert_eq!(lost, Some(BTreeSet::from([LEAVES])));
            assert_eq!(removal(&mut site, true), Err(String::new()), "once");
        }
    }

    /// A statement of the schema with what goes with it, as the leader plans it.
    fn change(site: &mut Site, text: &str) -> Vec<OperationChange> {
        let changes = site.plan(text);
        let beside = site.planner().beside(&changes).expect("the rules are known");
        site.schema = site.schema.with_all(&changes);
        site.operations = site.operations.apply(beside.clone());
        beside
    }

    #[test]
    fn a_new_replication_is_in_the_schema_at_once_and_gone_from_it_when_its_operation_is_aborted() {
        let alter = |keyspace: &str, factor: u32| {
            format!(
                "ALTER KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {factor}}}"
            )
        };
        let mut site = Site::new(&[KEYSPACE, TABLE, &KEYSPACE.replace("ks", "empty")]);
        let simple = |replication_factor| ReplicationStrategy::Simple { replication_factor };
        let (tenure, replication) = {
            let known = site.schema.keyspace("ks").expect("it is there");
            (known.def.tenure, known.def.replication.clone())
        };
        assert_eq!(change(&mut site, &alter("empty", 2)), []);
        assert_eq!(change(&mut site, "ALTER KEYSPACE ks WITH durable_writes = false"), []);
        assert_eq!(change(&mut site, &alter("ks", 2)).len(), 1);
        assert_eq!(site.schema.keyspace("ks").map(|known| known.strategy().clone()), Some(simple(2)));
        assert_eq!(settings(&site.schema, &site.operations), [simple(1)].into(), "requests use the one before");
        assert_eq!(change(&mut site, "ALTER KEYSPACE ks WITH durable_writes = true"), []);
        site.step();

        let abort = OperationRequest::Abort(site.operations.all().next().expect("it runs").id);
        let Plan::Change(entry) = site.planner().operation(&abort.to_bytes()) else { panic!("it is aborted") };
        let domains: Vec<_> = entry.parts().iter().map(|part| part.domain).collect();
        assert_eq!(domains, [SchemaDomain::ID, OperationsDomain::ID], "both in one entry");
        site.apply(Plan::Change(entry)).expect("it changes");
        let known = site.schema.keyspace("ks").expect("it is there");
        assert_eq!((&known.def.replication, known.strategy()), (&replication, &simple(1)));
        assert_eq!(known.def.tenure, tenure + 2, "a tenure does not come again");
        assert!(known.def.durable_writes && !known.tables.is_empty());

        change(&mut site, &alter("ks", 2));
        assert_eq!(change(&mut site, "DROP KEYSPACE ks").len(), 1);
        assert_eq!(site.operations.all().len(), 0);
        assert_eq!(change(&mut site, KEYSPACE), []);
        // A node leaves, and a keyspace's replication waits for that.
        change(&mut site, TABLE);
        site.decommission(2).expect("it may");
        change(&mut site, &alter("ks", 2));
        assert_eq!(settings(&site.schema, &site.operations), [simple(1)].into());
        let [leaves, altered] = [0, 1].map(|at| site.operations.all().nth(at).expect("two").id);
        assert!(site.operations.may_plan(leaves) && !site.operations.may_plan(altered));
    }

    #[test]
    fn a_node_is_given_up_by_force_where_nothing_can_be_aborted() {
        let removal = |site: &mut Site, host_id: HostId, is_forced: bool| {
            let leave = Leave { host_id, departure: Departure::Removal, is_forced };
            let plan = site.planner().leaving(&leave.to_bytes(), &|id| id != host_id);
            site.apply(plan)
        };
        let lost = |site: &Site| site.operations.all().next().expect("it runs").lost.clone();
        // One that joins is a member first, and removed then.
        let mut site = Site::new(&[KEYSPACE, TABLE]);
        site.join();
        (0..4).for_each(|_| site.step());
        let too_far = removal(&mut site, JOINS, false).expect_err("its new replicas are read");
        assert!(too_far.contains("cannot be aborted"), "{too_far}");
        removal(&mut site, JOINS, true).expect("it is given up");
        assert_eq!(lost(&site), [JOINS].into());
        assert_eq!(removal(&mut site, JOINS, true), Err(String::new()), "it is so already");
        site.step();
        removal(&mut site, JOINS, true).expect("it is a member now");
        assert_eq!(site.registry.node(JOINS).map(|node| node.state), Some(NodeState::Leaving));
        // The node that gains another one's range, and the other one itself.
        for (number, queued) in [(3, 1), (2, 0)] {
            let mut site = Site::new(&[KEYSPACE, TABLE]);
            site.decommission(2).expect("it may");
            (0..4).for_each(|_| site.step());
            removal(&mut site, HostId([number; 16]), true).expect("it is given up");
            assert_eq!((lost(&site), site.operations.all().len()), ([HostId([number; 16])].into(), 1 + queued));
        }
    }

    /// The operation may be aborted, and then all of them are replicas again.
    #[test]
    fn a_node_stays_that_an_altered_keyspace_has_replicas_on_until_its_operation_ends() {
        let keyspace = KEYSPACE.replace("'replication_factor': 1", "'replication_factor': 3");
        let mut site = Site::new(&[&keyspace, TABLE]);
        let alter = "ALTER KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
        let changes = site.plan(alter);
        site.operations = site.operations.apply(site.planner().beside(&changes).expect("its rules are known"));
        site.schema = site.schema.with_all(&changes);
        let refused = site.decommission(2).expect_err("its ranges are on all three still");
        assert!(refused.contains("in keyspace ks (RF = 3, N = 3)"), "{refused}");
        (0..5).for_each(|_| site.step());
        assert_eq!(site.operations.all().len(), 0);
        site.decommission(2).expect("one replica is enough");
    }

    #[test]
    fn a_step_is_one_entry_of_both_domains_at_the_end() {
        let mut site = Site::new(&[KEYSPACE, TABLE]);
        site.decommission(2).expect("it may");
        for phase in [Phase::Planned, Phase::WriteBoth, Phase::Copy, Phase::ReadNew] {
            site.step();
            assert_eq!(site.operations.all().next().map(|operation| operation.phase), Some(phase));
        }
        let id = site.operations.all().next().expect("it runs").id;
        let step = OperationRequest::Step(id, Phase::ReadNew).to_bytes();
        let Plan::Change(entry) = site.planner().operation(&step) else { panic!("it ends") };
        let domains: Vec<_> = entry.parts().iter().map(|part| part.domain).collect();
        assert_eq!(domains, [TopologyDomain::ID, OperationsDomain::ID]);
        let finish = OperationsDomain::decode(1, &entry.parts()[1].bytes).expect("its own part");
        assert_eq!(finish, [OperationChange::Finish(id, BTreeSet::new())], "who gains is clean");
    }
}
