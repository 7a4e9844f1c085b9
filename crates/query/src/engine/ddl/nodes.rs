//! Requests of nodes and operators for the registry of nodes, as the leader plans them: with the schema, which decides if a node may join or leave.
//!
//! A node joins and leaves while there is no table only: no data is moved yet. All of it is planned on one state, so a table that is created in the same
//! log is before a removal or after it.

use membership::{Conditions, Leave, Request, TopologyDomain, plan_leave};
use metadata::Entry;
use metadata::group::{Configuration, Plan, node_id};
use schema::Schema;
use topology::nodes::{NodeChange, NodeState, Registry};
use topology::{HostId, Strategies};

const JOINS_TOO_LATE: &str =
    "a node can join only while the cluster has no table: copying data to new nodes is not supported yet";

const VOTES_STILL: &str = "the node to be removed votes still in the metadata group";

/// Plans a request of a node. A refusal has its sentence; none if all is so already.
pub(super) fn plan_membership(
    (registry, schema): (&Registry, &Schema),
    voters: &Configuration,
    request: &[u8],
) -> Plan {
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
    let has_table = schema.tables().next().is_some();
    match membership::plan(registry, &request) {
        // After the fences: a wiped member needs the sentence that names `--replace`.
        Ok(changes) if has_table && !changes.is_empty() && joins(registry, &request) => refused(&JOINS_TOO_LATE),
        Ok(changes) => change(with_table(changes, has_table)),
        Err(error) => refused(&error),
    }
}

/// True if the request is of a node that is to be one.
fn joins(registry: &Registry, request: &Request) -> bool {
    let is_new = |id: HostId| registry.nodes().len() > 0 && registry.node(id).is_none() && !registry.has_left(id);
    matches!(request, Request::Register(of) if is_new(of.host_id))
}

/// Removals are called off where there is a table by now.
fn with_table(changes: Vec<NodeChange>, has_table: bool) -> Vec<NodeChange> {
    let called_off = |change| match change {
        NodeChange::Remove(id) if has_table => NodeChange::SetState(id, NodeState::Normal),
        change => change,
    };
    changes.into_iter().map(called_off).collect()
}

/// Plans a request that a node leaves.
pub(super) fn plan_leaving(
    (registry, schema): (&Registry, &Schema),
    request: &[u8],
    (is_up, strategies): (&dyn Fn(HostId) -> bool, &Strategies),
) -> Plan {
    let leave = match Leave::decode(request) {
        Ok(leave) => leave,
        Err(error) => return refused(&error),
    };
    match plan_leave(registry, &leave, &conditions(schema, is_up, strategies)) {
        Ok(changes) => change(changes),
        Err(error) => refused(&error),
    }
}

fn conditions<'a>(schema: &'a Schema, is_up: &'a dyn Fn(HostId) -> bool, strategies: &Strategies) -> Conditions<'a> {
    let table = schema.tables().next().map(|table| format!("{}.{}", table.keyspace, table.name));
    // Where a strategy is unknown here, so is the number of replicas; there is no table for them.
    let keyspaces = schema.keyspaces().values().filter_map(|keyspace| {
        let rules = strategies.rules(keyspace.strategy()).ok()?;
        Some((keyspace.name(), rules.factor()))
    });
    Conditions { is_up, table, keyspaces: keyspaces.collect() }
}

fn change(changes: Vec<NodeChange>) -> Plan {
    match changes.is_empty() {
        true => Plan::Refused(Vec::new()),
        false => Plan::Change(Entry::of(TopologyDomain::part(&changes))),
    }
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
    use topology::nodes::{Address, Boot, Features, RegisteredNode, Release, Start};

    use super::*;

    const LEAVES: HostId = HostId([2; 16]);

    /// Nodes 1 and 2, of which the second one is to leave, and a schema that these statements make.
    fn state(statements: &[&str]) -> (Registry, Schema) {
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
        let nodes = [put(1), put(2), NodeChange::SetState(LEAVES, NodeState::Leaving)];
        let mut schema = Schema::empty();
        for text in statements {
            let context = DdlContext {
                current_keyspace: None,
                new_id: TableId([7; 16]),
                datacenters: &[("datacenter1".to_owned(), 2)].into(),
                strategies: &Strategies::default(),
                now_micros: 1,
            };
            let plan = plan_ddl(&schema, &parse(text).expect("a statement"), &context).expect("it can be done");
            schema = schema.with_all(&plan.changes);
        }
        (Registry::default().apply(nodes), schema)
    }

    fn voters(numbers: &[u8]) -> Configuration {
        Configuration::new(numbers.iter().map(|number| node_id(HostId([*number; 16])))).expect("there is a voter")
    }

    fn changes(plan: Plan) -> Result<Vec<NodeChange>, String> {
        match plan {
            Plan::Refused(reason) => Err(String::from_utf8(reason).expect("a sentence")),
            Plan::Change(entry) => {
                let [part] = entry.parts() else { panic!("one domain changes") };
                Ok(TopologyDomain::decode(part.version, &part.bytes).expect("its own part"))
            }
        }
    }

    const KEYSPACE: &str = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
    const TABLE: &str = "CREATE TABLE ks.t (k int PRIMARY KEY)";

    #[test]
    fn a_node_is_removed_when_it_votes_in_no_half() {
        let remove = Request::Remove(LEAVES).to_bytes();
        let (registry, schema) = state(&[KEYSPACE]);
        let planned = |voters| changes(plan_membership((&registry, &schema), &voters, &remove));
        assert_eq!(planned(voters(&[1])), Ok(vec![NodeChange::Remove(LEAVES)]));
        assert_eq!(planned(voters(&[1, 2])), Err(VOTES_STILL.to_owned()));
        let joint = voters(&[2]).towards([node_id(HostId([1; 16]))]).expect("they differ");
        assert_eq!(planned(joint), Err(VOTES_STILL.to_owned()));
    }

    #[test]
    fn a_removal_is_called_off_where_there_is_a_table_by_now() {
        let (registry, schema) = state(&[KEYSPACE, TABLE]);
        let remove = Request::Remove(LEAVES).to_bytes();
        let planned = changes(plan_membership((&registry, &schema), &voters(&[1]), &remove));
        assert_eq!(planned, Ok(vec![NodeChange::SetState(LEAVES, NodeState::Normal)]));
    }

    #[test]
    fn a_request_to_leave_is_judged_by_tables_and_by_who_is_up() {
        let leave = membership::Leave {
            host_id: HostId([1; 16]),
            departure: membership::Departure::Decommission,
            is_forced: false,
        };
        let (registry, schema) = state(&[]);
        let planned = |registry: &Registry| {
            changes(plan_leaving((registry, &schema), &leave.to_bytes(), (&|_| true, &Strategies::default())))
        };
        let both = registry.apply([NodeChange::SetState(LEAVES, NodeState::Normal)]);
        assert_eq!(planned(&both), Ok(vec![NodeChange::SetState(HostId([1; 16]), NodeState::Leaving)]));
        let last = planned(&registry).expect_err("the other one leaves");
        assert_eq!(last, "no other normal nodes in the ring; decommission would be pointless");
        let with_table = state(&[KEYSPACE, TABLE]).1;
        let refused =
            changes(plan_leaving((&both, &with_table), &leave.to_bytes(), (&|_| true, &Strategies::default())));
        assert!(refused.expect_err("there is a table").ends_with("(there is table ks.t)"));
        let malformed = changes(plan_leaving((&both, &schema), &[9], (&|_| true, &Strategies::default())))
            .expect_err("it is no request");
        assert!(malformed.contains('9'), "{malformed}");
    }
}
