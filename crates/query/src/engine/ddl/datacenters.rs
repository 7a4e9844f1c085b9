//! ALTER KEYSPACE that takes the replicas of a datacenter away while none of its nodes is up.
//!
//! The copies would wait for that datacenter for good: a quorum of its replicas may have what no other node has. Each node judges by itself which nodes are up, so
//! the node that is asked refuses it, not the leader.

use schema::{Schema, SchemaChange};
use topology::{Factor, HostId, ReplicationStrategy, Ring, Strategies};

use crate::error::{QueryError, invalid};

/// Fails if a keyspace with tables is to have no replica any more in a datacenter of which no node is up.
pub(super) fn check_datacenters(
    schema: &Schema,
    changes: &[SchemaChange],
    (ring, strategies): (&Ring, &Strategies),
    is_up: impl Fn(HostId) -> bool,
) -> Result<(), QueryError> {
    for change in changes {
        let SchemaChange::PutKeyspace(def) = change else { continue };
        let known = schema.keyspace(&def.name).filter(|known| !known.tables.is_empty());
        let Some(known) = known.filter(|known| *known.strategy() != def.strategy) else { continue };
        let after = datacenters(&def.strategy, strategies);
        for name in datacenters(known.strategy(), strategies) {
            let mut nodes = ring.nodes().iter().filter(|node| node.datacenter == name && !node.tokens.is_empty());
            let Some(first) = nodes.clone().next().filter(|_| !after.contains(&name)) else { continue };
            if !nodes.any(|node| is_up(node.host_id)) {
                return Err(invalid(format!(
                    "Datacenter {name} cannot be taken out of the replication of keyspace {}: none of its nodes is up, so its data cannot be copied. \
                     Remove its nodes first (nodetool removenode --force {}), and give up what only they have.",
                    def.name, first.host_id
                )));
            }
        }
    }
    Ok(())
}

/// The datacenters that a strategy names with a replica at least; none for one that counts nodes of all.
fn datacenters(strategy: &ReplicationStrategy, strategies: &Strategies) -> Vec<String> {
    match strategies.rules(strategy).map(|rules| rules.factor()) {
        Ok(Factor::PerDatacenter(factors)) => {
            factors.into_iter().filter(|(_, factor)| *factor > 0).map(|(name, _)| name).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use cql_syntax::parse;
    use schema::{DdlContext, TableId, plan_ddl};
    use topology::{Epoch, Node, NodeIndex, Token};

    use super::*;

    fn plan(schema: &Schema, text: &str) -> Vec<SchemaChange> {
        let context = DdlContext {
            current_keyspace: None,
            new_id: TableId([7; 16]),
            datacenters: &[("near".to_owned(), 1), ("far".to_owned(), 2)].into(),
            strategies: &Strategies::default(),
            now_micros: 1,
            masks_enabled: false,
        };
        plan_ddl(schema, &parse(text).expect("a statement"), &context).expect("it can be done").changes
    }

    #[test]
    fn a_datacenter_that_is_down_is_not_taken_out_of_a_replication() {
        let replication = |names: &[&str]| {
            let factors: Vec<String> = names.iter().map(|name| format!("'{name}': 1")).collect();
            format!("replication = {{'class': 'NetworkTopologyStrategy', {}}}", factors.join(", "))
        };
        let mut schema = Schema::empty();
        for name in ["ks", "empty"] {
            let text = format!("CREATE KEYSPACE {name} WITH {}", replication(&["near", "far"]));
            schema = schema.with_all(&plan(&schema, &text));
        }
        schema = schema.with_all(&plan(&schema, "CREATE TABLE ks.t (k int PRIMARY KEY)"));
        let node = |number: u8, datacenter: &str| Node {
            host_id: HostId([number; 16]),
            address: ([10, 0, 0, number], 9042).into(),
            internode: ([10, 0, 0, number], 7000).into(),
            datacenter: datacenter.into(),
            rack: "rack1".into(),
            tokens: vec![Token(i64::from(number))],
        };
        let nodes = vec![node(1, "near"), node(2, "far"), node(3, "far")];
        let ring = Ring::new(Epoch(1), nodes, NodeIndex(0));
        let judged = |keyspace: &str, names: &[&str], up: &[u8]| {
            let changes = plan(&schema, &format!("ALTER KEYSPACE {keyspace} WITH {}", replication(names)));
            let is_up = |host: HostId| up.contains(&host.0[0]);
            check_datacenters(&schema, &changes, (&ring, &Strategies::default()), is_up)
                .map_err(|error| error.to_string())
        };
        let refused = judged("ks", &["near"], &[1]).expect_err("it is down");
        assert!(refused.contains("Datacenter far cannot be taken out of the replication of keyspace ks"), "{refused}");
        assert!(refused.contains(&format!("nodetool removenode --force {}", HostId([2; 16]))), "{refused}");
        assert_eq!(judged("ks", &["near"], &[1, 3]), Ok(()), "one of it is up");
        assert_eq!(judged("ks", &["far"], &[1]), Ok(()), "that one stays");
        assert_eq!(judged("empty", &["near"], &[1]), Ok(()), "there is nothing to copy");
    }
}
