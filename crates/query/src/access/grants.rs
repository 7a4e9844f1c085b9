//! Grants that follow objects: what a schema change makes is its creator's, and no grants of what it drops are left.

use auth::{Access, AccessChange, Actor, Resource, Settings, Subject};
use schema::{Schema, SchemaChange};

/// The changes of access that take effect with changes of the schema. A creator is a role where permissions are checked. Where IF NOT EXISTS made nothing there
/// is no change, and so no grant.
pub(crate) fn grants_beside(
    (before, access): (&Schema, &Access),
    changes: &[SchemaChange],
    creator: Option<&str>,
) -> Vec<AccessChange> {
    let mut made = Vec::new();
    let mut grants = Vec::new();
    for change in changes {
        match change {
            SchemaChange::PutKeyspace(keyspace) if before.keyspace(&keyspace.name).is_none() => {
                made.extend(auth::made_with_keyspace(&keyspace.name));
            }
            SchemaChange::PutTable(table) if before.table(&table.keyspace, &table.name).is_none() => {
                made.push(Resource::table(&table.keyspace, &table.name));
            }
            SchemaChange::DropKeyspace(keyspace) => {
                grants.extend(auth::dropped(access, &Resource::Keyspace(keyspace.clone())));
            }
            SchemaChange::DropTable { keyspace, name, .. } => {
                grants.extend(auth::dropped(access, &Resource::table(keyspace, name)));
            }
            _ => {}
        }
    }
    if let Some(creator) = creator {
        let settings = Settings { authenticates: true, has_passwords: true, authorizes: true };
        grants.extend(auth::created(access, &Subject::new(access, Actor::Role(creator), settings), &made));
    }
    grants
}

#[cfg(test)]
mod tests {
    use auth::{Attributes, Permission};
    use cql_syntax::parse;
    use schema::{DdlContext, TableId, plan_ddl};

    use super::*;

    fn planned(schema: &Schema, text: &str) -> Vec<SchemaChange> {
        let context = DdlContext {
            current_keyspace: None,
            new_id: TableId([1; 16]),
            datacenters: &[("datacenter1".to_owned(), 1)].into(),
            strategies: &topology::Strategies::default(),
            now_micros: 1,
            masks_enabled: false,
        };
        plan_ddl(schema, &parse(text).expect("a statement"), &context).expect("it can be done").changes
    }

    #[test]
    fn creators_receive_what_they_made_and_nobody_keeps_what_is_dropped() {
        let put = |name: &str| AccessChange::PutRole(name.to_owned(), Attributes::default());
        let mut access = Access::default().with_all(&[put("ada"), put("bob")]);
        let mut schema = Schema::empty();
        let mut run = |creator: &str, text: &str| {
            let changes = planned(&schema, text);
            access = access.with_all(&grants_beside((&schema, &access), &changes, Some(creator)));
            schema = schema.with_all(&changes);
            let names = |name: &str| {
                let grants = access.role(name).expect("a role").grants().keys();
                grants.map(Resource::name).collect::<Vec<_>>()
            };
            let is_full = |role: &auth::Role| role.grants().iter().all(|(resource, set)| *set == resource.applicable());
            assert!(access.roles().all(|(_, role)| is_full(role)));
            (names("ada"), names("bob"))
        };
        let keyspace =
            "CREATE KEYSPACE IF NOT EXISTS ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
        let own = ["data/ks", "functions/ks"].map(str::to_owned).to_vec();
        assert_eq!(run("ada", keyspace), (own.clone(), vec![]));
        assert_eq!(run("bob", keyspace), (own.clone(), vec![]), "it made nothing");
        let table = "CREATE TABLE IF NOT EXISTS ks.t (k int PRIMARY KEY)";
        assert_eq!(run("bob", table), (own.clone(), vec!["data/ks/t".to_owned()]));
        assert_eq!(run("ada", "ALTER TABLE ks.t ADD v int"), (own.clone(), vec!["data/ks/t".to_owned()]));
        assert_eq!(run("ada", "CREATE TYPE ks.u (f int)"), (own.clone(), vec!["data/ks/t".to_owned()]));
        assert_eq!(run("ada", "DROP TABLE ks.t"), (own.clone(), vec![]));
        assert_eq!(run("bob", table).1, ["data/ks/t"]);
        assert_eq!(run("bob", "DROP KEYSPACE ks"), (vec![], vec![]));
    }

    #[test]
    fn without_a_creator_only_what_is_dropped_goes() {
        let changes = [AccessChange::PutRole("ada".to_owned(), Attributes::default())];
        let access = Access::default().with_all(&changes);
        let text = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
        let schema = Schema::empty();
        let changes = planned(&schema, text);
        assert_eq!(grants_beside((&schema, &access), &changes, None), []);
        let grant = vec![(Resource::Keyspace("ks".to_owned()), Permission::Select.into())];
        let access = access.with(&AccessChange::Grant("ada".to_owned(), grant.clone()));
        let schema = schema.with_all(&changes);
        let dropped = planned(&schema, "DROP KEYSPACE ks");
        let revoked = [AccessChange::Revoke("ada".to_owned(), grant)];
        assert_eq!(grants_beside((&schema, &access), &dropped, None), revoked);
    }
}
