//! The roles of Cassandra's own files, `system_auth`, as JSON for a node's administrative port. `nodetool import-roles` sends it.
//!
//! The rows are those that a server would read of these files now: merged, without what is deleted or expired. Rows that the server has in memory alone are in
//! no file, so it is flushed or drained before. `role_members` and `resource_role_permissons_index` say nothing that the others do not.

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use auth::PasswordHash;
use runtime::Runtime;
use serde_json::{Value, json};
use stdx::Reader;

use crate::error::ToolError;
use table::{Row, rows_of};

/// The superuser that each Cassandra makes, and the password that it has at first.
const DEFAULT_SUPERUSER: &str = "cassandra";
/// The table that there must be.
const ROLES: &str = "roles";

/// Reads the roles of a folder: that of keyspace `system_auth`, or one that has it, or a server's with `data/system_auth`.
///
/// # Errors
/// It has no such folder, or two of one table, or a file that is damaged or that no reader knows.
pub fn read_roles(folder: &Path) -> Result<String, ToolError> {
    let folder = folder.to_owned();
    let main = move |runtime: Runtime| async move { read(&runtime, &folder).await.map(|roles| roles.to_string()) };
    let mut read = runtime::run(runtime::Options::default(), vec![main])?;
    read.pop().expect("one shard gives one result")
}

async fn read(runtime: &Runtime, folder: &Path) -> Result<Value, ToolError> {
    let tables = tables_of(runtime, folder).await?;
    let mut all = BTreeMap::new();
    for name in
        [ROLES, "role_permissions", "network_permissions", "cidr_permissions", "cidr_groups", "identity_to_role"]
    {
        let rows = match tables.get(name) {
            Some(path) => rows_of(runtime, path).await?,
            None => Vec::new(),
        };
        if name == ROLES && rows.is_empty() {
            return Err(ToolError::NoRoles { path: folder.to_owned() });
        }
        all.insert(name, rows);
    }
    let of = |name: &str| all.get(name).map(Vec::as_slice).unwrap_or_default();
    let restrictions = |table: &str, column: &str| -> BTreeMap<String, Vec<String>> {
        of(table).iter().map(|row| (row.key_text(), row.texts(column))).collect()
    };
    let (datacenters, groups) =
        (restrictions("network_permissions", "dcs"), restrictions("cidr_permissions", "cidr_groups"));
    let (mut roles, mut left_out) = (Vec::new(), Vec::new());
    for row in of(ROLES) {
        let name = row.key_text();
        let hash = row.text("salted_hash").filter(|hash| !hash.is_empty());
        if name == DEFAULT_SUPERUSER && hash.as_deref().is_some_and(is_default) {
            let reason = "it has Cassandra's default password, which everybody knows";
            left_out.push(json!({"name": name, "reason": reason}));
            continue;
        }
        roles.push(json!({
            "is_superuser": row.flag("is_superuser"),
            "can_login": row.flag("can_login"),
            "hash": hash,
            "member_of": row.texts("member_of"),
            // This table alone names a role as a resource.
            "datacenters": datacenters.get(&format!("roles/{name}")).cloned().unwrap_or_default(),
            "cidr_groups": groups.get(&name).cloned().unwrap_or_default(),
            "name": name,
        }));
    }
    let grant = |row: &Row| {
        let permissions = row.texts("permissions");
        json!({"role": row.key_text(), "resource": row.clustering_text(), "permissions": permissions})
    };
    let identity = |row: &Row| json!({"identity": row.key_text(), "role": row.text("role").unwrap_or_default()});
    let group = |row: &Row| json!({"name": row.key_text(), "ranges": ranges(row)});
    Ok(json!({
        "roles": roles,
        "grants": of("role_permissions").iter().map(grant).collect::<Vec<_>>(),
        "identities": of("identity_to_role").iter().map(identity).collect::<Vec<_>>(),
        "cidr_groups": of("cidr_groups").iter().map(group).collect::<Vec<_>>(),
        "left_out": left_out,
    }))
}

/// The folders of the tables, by name.
async fn tables_of(runtime: &Runtime, folder: &Path) -> Result<BTreeMap<String, PathBuf>, ToolError> {
    for candidate in [folder.to_owned(), folder.join("system_auth"), folder.join("data").join("system_auth")] {
        let Ok(entries) = runtime.read_dir(&candidate).await else { continue };
        let mut tables = BTreeMap::new();
        let mut twice = BTreeSet::new();
        for entry in entries.iter().filter(|entry| entry.is_dir) {
            // A server's folder is called as the table, a hyphen, and its id.
            let name = entry.name.rsplit_once('-').map_or(&*entry.name, |(name, _)| name).to_owned();
            if tables.insert(name.clone(), candidate.join(&entry.name)).is_some() {
                twice.insert(name);
            }
        }
        if let Some(table) = twice.into_iter().find(|_| tables.contains_key(ROLES)) {
            return Err(ToolError::TwoFolders { path: candidate, table });
        }
        if tables.contains_key(ROLES) {
            return Ok(tables);
        }
    }
    Err(ToolError::NoRoles { path: folder.to_owned() })
}

fn is_default(hash: &str) -> bool {
    PasswordHash::parse(hash).is_ok_and(|hash| hash.is_of(DEFAULT_SUPERUSER))
}

/// The ranges of a CIDR group: a set of addresses with the lengths of their prefixes.
fn ranges(row: &Row) -> Vec<String> {
    row.values("cidrs").iter().filter_map(|value| range(value)).collect()
}

fn range(value: &[u8]) -> Option<String> {
    let mut reader = Reader::new(value);
    let mut field = || {
        let length = usize::try_from(reader.i32().ok()?).ok()?;
        reader.bytes(length).ok()
    };
    let (address, prefix) = (field()?, field()?);
    let address = match *address {
        [a, b, c, d] => IpAddr::from([a, b, c, d]),
        _ => IpAddr::from(<[u8; 16]>::try_from(address).ok()?),
    };
    Some(format!("{address}/{}", i16::from_be_bytes(prefix.try_into().ok()?)))
}

#[cfg(test)]
mod tests;
