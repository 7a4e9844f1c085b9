//! Roles, resources and changes for tests.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use schema::change::SchemaChange;
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Schema, Table, TableId, TableOptions};
use topology::ReplicationStrategy;

use crate::{AccessChange, Attributes, Cidr, PasswordHash, PermissionSet, Resource};

/// A role that may log in.
pub fn login(name: &str) -> AccessChange {
    AccessChange::PutRole(name.to_owned(), Attributes { may_log_in: true, ..Attributes::default() })
}

/// A superuser that may log in.
pub fn superuser(name: &str) -> AccessChange {
    let attributes = Attributes { is_superuser: true, may_log_in: true, ..Attributes::default() };
    AccessChange::PutRole(name.to_owned(), attributes)
}

/// `role` granted to `member`.
pub fn member(role: &str, member: &str) -> AccessChange {
    AccessChange::AddMember { role: role.to_owned(), member: member.to_owned() }
}

/// Permissions on one resource.
pub fn grant(role: &str, set: impl Into<PermissionSet>, resource: Resource) -> AccessChange {
    AccessChange::Grant(role.to_owned(), vec![(resource, set.into())])
}

/// A schema with keyspaces `ks` and `other`, each with tables `t` and `u`, and the system's own.
pub fn schema() -> Schema {
    let keyspaces = ["ks", "other", "system", "system_auth", "system_traces", "system_distributed", "system_schema"];
    let mut changes = Vec::new();
    for (at, keyspace) in (0..).zip(keyspaces) {
        changes.push(SchemaChange::PutKeyspace(KeyspaceDef {
            name: keyspace.to_owned(),
            replication: BTreeMap::from([
                ("class".to_owned(), "org.apache.cassandra.locator.SimpleStrategy".to_owned()),
                ("replication_factor".to_owned(), "1".to_owned()),
            ]),
            strategy: ReplicationStrategy::Simple { replication_factor: 1 },
            durable_writes: true,
            tenure: 0,
        }));
        for (number, table) in [(0u8, "t"), (1, "u")] {
            let column = Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", cql_types::CqlType::Int);
            let id = TableId([2 * at + number + 1; 16]);
            let table = Table::new(id, keyspace, table, vec![column], TableOptions::default());
            changes.push(SchemaChange::PutTable(Box::new(table)));
        }
    }
    Schema::empty().with_all(&changes)
}

/// The same where one part of it has all.
pub fn schemas() -> crate::Schemas<'static> {
    let schema: &'static Schema = Box::leak(Box::new(schema()));
    crate::Schemas { users: schema, system: schema }
}

fn any_name() -> impl Strategy<Value = String> {
    "[a-e]"
}

fn any_attributes() -> impl Strategy<Value = Attributes> {
    let hash = proptest::option::of(Just(PasswordHash::dummy()));
    let options = btree_map("[a-b]{1,2}", ".{0,2}", 0..2);
    (any::<bool>(), any::<bool>(), hash, options).prop_map(|(is_superuser, may_log_in, hash, options)| Attributes {
        is_superuser,
        may_log_in,
        hash,
        options,
    })
}

pub fn any_resource() -> impl Strategy<Value = Resource> {
    let text = || "[a-b]";
    let types = vec(prop_oneof![Just(cql_types::CqlType::Int), Just(cql_types::CqlType::Text)], 0..3);
    prop_oneof![
        Just(Resource::AllKeyspaces),
        text().prop_map(Resource::Keyspace),
        text().prop_map(Resource::AllTables),
        (text(), text()).prop_map(|(keyspace, table)| Resource::Table(keyspace, table)),
        Just(Resource::AllRoles),
        any_name().prop_map(Resource::Role),
        Just(Resource::AllFunctions),
        text().prop_map(Resource::KeyspaceFunctions),
        (text(), text(), types).prop_map(|(keyspace, name, types)| Resource::function(&keyspace, &name, &types)),
        Just(Resource::AllMBeans),
        text().prop_map(Resource::MBean),
    ]
}

/// Grants as their bytes have them: by resource, of permissions that apply.
fn any_grants() -> impl Strategy<Value = Vec<(Resource, PermissionSet)>> {
    let grant = (any_resource(), 1u16..0x400).prop_map(|(resource, bits)| {
        let set = PermissionSet::of_bits(bits).expect("ten bits").intersection(resource.applicable());
        (resource, set)
    });
    vec(grant, 0..3).prop_map(|grants| {
        let grants: BTreeMap<_, _> = grants.into_iter().filter(|(_, set)| !set.is_empty()).collect();
        grants.into_iter().collect()
    })
}

fn any_cidr() -> impl Strategy<Value = Cidr> {
    prop_oneof![
        (any::<[u8; 4]>(), 0u8..=32).prop_map(|(address, length)| Cidr::new(address.into(), length).expect("it fits")),
        (any::<[u8; 16]>(), 0u8..=128)
            .prop_map(|(address, length)| Cidr::new(address.into(), length).expect("it fits")),
    ]
}

fn any_set() -> impl Strategy<Value = BTreeSet<String>> {
    btree_set("[a-b]{1,2}", 0..3)
}

/// Few names, so that changes are of the same roles.
pub fn any_change() -> impl Strategy<Value = AccessChange> {
    let name = any_name;
    prop_oneof![
        4 => (name(), any_attributes()).prop_map(|(name, attributes)| AccessChange::PutRole(name, attributes)),
        1 => name().prop_map(AccessChange::DropRole),
        4 => (name(), name()).prop_map(|(role, member)| AccessChange::AddMember { role, member }),
        1 => (name(), name()).prop_map(|(role, member)| AccessChange::RemoveMember { role, member }),
        4 => (name(), any_grants()).prop_map(|(name, grants)| AccessChange::Grant(name, grants)),
        2 => (name(), any_grants()).prop_map(|(name, grants)| AccessChange::Revoke(name, grants)),
        1 => (name(), any_set()).prop_map(|(name, set)| AccessChange::PutDatacenters(name, set)),
        1 => (name(), any_set()).prop_map(|(name, set)| AccessChange::PutCidrGroups(name, set)),
        1 => (name(), btree_set(any_cidr(), 0..3)).prop_map(|(name, cidrs)| AccessChange::PutCidrGroup(name, cidrs)),
        2 => (name(), name()).prop_map(|(identity, role)| AccessChange::PutIdentity { identity, role }),
        1 => name().prop_map(AccessChange::DropIdentity),
        1 => Just(AccessChange::BootstrapDone),
    ]
}
