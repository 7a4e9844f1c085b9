//! The rows of `system_auth`: roles, permissions and networks as this shard sees them. No table keeps them, so none can be written to.

use std::collections::{BTreeMap, BTreeSet};

use auth::{Access, Cidr, Role};
use schema::Table;

use super::rows::{PartitionOrder, Rows};
use super::{Parts, part, value};

/// The rows of `table`, a part for each partition; with the key of one, those of that.
pub(super) fn parts<'a>(table: &'a Table, access: &'a Access, partition: Option<&'a [u8]>) -> Parts<'a> {
    let by_role = |push| of_keys(table, access.roles(), partition, push);
    match table.name.as_str() {
        "roles" => by_role(push_role),
        "role_members" => by_role(push_members),
        "role_permissions" => by_role(push_permissions),
        "network_permissions" => {
            // Cassandra's table has the resource's name where the others have the role's.
            let roles = access.roles().map(|(name, role)| (format!("roles/{name}"), role));
            of_keys(table, roles, partition, |rows, name: &String, role| push_datacenters(rows, &name.as_str(), role))
        }
        "cidr_permissions" => by_role(push_cidr_permissions),
        "resource_role_permissons_index" => {
            let mut holders: BTreeMap<String, Vec<&str>> = BTreeMap::new();
            for (role, resource) in
                access.roles().flat_map(|(name, role)| role.grants().keys().map(move |of| (name, of)))
            {
                holders.entry(resource.name()).or_default().push(role);
            }
            of_keys(table, holders.into_iter(), partition, |rows, resource: &String, roles| {
                for role in roles {
                    rows.push([("resource", value::text(resource)), ("role", value::text(role))]);
                }
            })
        }
        "cidr_groups" => of_keys(table, access.cidr_groups(), partition, |rows, group: &&str, cidrs| {
            rows.push([("cidr_group", value::text(group)), ("cidrs", ranges(cidrs))]);
        }),
        "identity_to_role" => of_keys(table, access.identities(), partition, |rows, identity: &&str, role| {
            rows.push([("identity", value::text(identity)), ("role", value::text(role))]);
        }),
        name => panic!("system_auth has no table {name}"),
    }
}

/// A part for each key, in the order of partitions. The keys are texts, and the first column is a partition's key.
fn of_keys<'a, K: AsRef<str> + 'a, T: 'a>(
    table: &'a Table,
    keys: impl Iterator<Item = (K, T)>,
    partition: Option<&[u8]>,
    push: fn(&mut Rows<'_>, &K, &T),
) -> Parts<'a> {
    let wanted = |(key, _): &(K, T)| partition.is_none_or(|partition| partition == key.as_ref().as_bytes());
    let mut keys: Vec<(K, T)> = keys.filter(wanted).collect();
    let order = PartitionOrder::of(table);
    keys.sort_by_cached_key(|(key, _)| order.place(table, key.as_ref().as_bytes()));
    Box::new(keys.into_iter().map(move |(key, of)| part(table, |rows| push(rows, &key, &of))))
}

fn push_role(rows: &mut Rows<'_>, name: &&str, role: &&Role) {
    let attributes = role.attributes();
    let member_of = Some(role.member_of()).filter(|roles| roles.len() > 0).and_then(value::texts);
    rows.push([
        ("role", value::text(name)),
        ("can_login", value::boolean(attributes.may_log_in)),
        ("is_superuser", value::boolean(attributes.is_superuser)),
        ("member_of", member_of),
        ("salted_hash", attributes.hash.as_ref().and_then(|hash| value::text(hash.as_str()))),
    ]);
}

fn push_members(rows: &mut Rows<'_>, name: &&str, role: &&Role) {
    for member in role.members() {
        rows.push([("role", value::text(name)), ("member", value::text(member))]);
    }
}

fn push_permissions(rows: &mut Rows<'_>, name: &&str, role: &&Role) {
    for (resource, permissions) in role.grants() {
        let names: BTreeSet<&str> = permissions.iter().map(|permission| permission.name()).collect();
        rows.push([
            ("role", value::text(name)),
            ("resource", value::text(&resource.name())),
            ("permissions", value::texts(names)),
        ]);
    }
}

/// Of a role that may use all datacenters there is no row.
fn push_datacenters(rows: &mut Rows<'_>, name: &&str, role: &&Role) {
    if !role.datacenters().is_empty() {
        let dcs = value::texts(role.datacenters().iter().map(String::as_str));
        rows.push([("role", value::text(name)), ("dcs", dcs)]);
    }
}

fn push_cidr_permissions(rows: &mut Rows<'_>, name: &&str, role: &&Role) {
    if !role.cidr_groups().is_empty() {
        let groups = value::texts(role.cidr_groups().iter().map(String::as_str));
        rows.push([("role", value::text(name)), ("cidr_groups", groups)]);
    }
}

/// A set of tuples of an address and the length of its prefix, in the order of such a set.
fn ranges(cidrs: &BTreeSet<Cidr>) -> value::Value {
    let pairs =
        cidrs.iter().map(|cidr| (value::inet(cidr.first()).unwrap_or_default(), i16::from(cidr.prefix_length())));
    let pairs: BTreeSet<(Vec<u8>, i16)> = pairs.collect();
    let tuples = pairs.iter().map(|(address, length)| value::tuple([address, &length.to_be_bytes()]));
    value::blobs(tuples)
}
