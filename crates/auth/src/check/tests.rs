//! Verdicts by roles and through roles, in users' keyspaces and the system's.

use super::*;
use crate::change::AccessChange;
use crate::samples::{grant, login, member, superuser};
use crate::{Attributes, PermissionSet};

const STRICT: Settings = Settings { authenticates: true, has_passwords: true, authorizes: true };
const OPEN: Settings = Settings { authenticates: false, has_passwords: false, authorizes: false };

fn of(changes: &[AccessChange]) -> Access {
    let base =
        [login("user"), login("team"), login("all"), superuser("root"), login("deputy"), member("root", "deputy")];
    let inherits = [member("team", "user"), member("all", "team")];
    Access::default().with_all(&base).with_all(&inherits).with_all(changes)
}

fn refusal(access: &Access, actor: Actor<'_>, permission: Permission, resource: Resource) -> Option<String> {
    let requirement = Requirement::Permission(permission, resource);
    Subject::new(access, actor, STRICT).check(&requirement).err().map(|error| error.to_string())
}

fn user(access: &Access, permission: Permission, resource: Resource) -> bool {
    refusal(access, Actor::Role("user"), permission, resource).is_none()
}

#[test]
fn a_permission_holds_below_its_level_and_through_roles() {
    let table = Resource::table("ks", "t");
    for holder in ["user", "team", "all"] {
        for level in table.chain() {
            let access = of(&[grant(holder, Permission::Select, level.clone())]);
            assert!(user(&access, Permission::Select, table.clone()), "{holder} on {level}");
            assert!(!user(&access, Permission::Modify, table.clone()));
            assert_eq!(
                user(&access, Permission::Select, Resource::table("ks", "u")),
                level != table,
                "{holder} on {level}"
            );
            assert_eq!(
                user(&access, Permission::Select, Resource::table("other", "t")),
                level == Resource::AllKeyspaces
            );
        }
    }
    // Roles that inherit a role give it nothing.
    let access = of(&[grant("user", Permission::Select, table.clone())]);
    assert!(refusal(&access, Actor::Role("team"), Permission::Select, table).is_some());
}

#[test]
fn a_pattern_of_mbeans_allows_what_is_done_with_those_that_it_applies_to() {
    let mbean = |name: &str| Resource::MBean(name.to_owned());
    let service = mbean("org.apache.cassandra.db:type=StorageService");
    for holder in ["user", "team", "all"] {
        let access = of(&[grant(holder, Permission::Execute, mbean("org.apache.cassandra.db:*"))]);
        assert!(user(&access, Permission::Execute, service.clone()), "{holder}");
        assert!(!user(&access, Permission::Select, service.clone()), "another permission");
        assert!(!user(&access, Permission::Execute, mbean("org.apache.cassandra.net:type=Gossiper")));
        assert!(!user(&access, Permission::Execute, Resource::AllMBeans));
        // What a role may grant is on the resource that it names.
        let subject = Subject::new(&access, Actor::Role("user"), STRICT);
        assert!(!subject.has(Permission::Execute, &service));
        assert!(subject.has(Permission::Execute, &mbean("org.apache.cassandra.db:*")));
        // Words of a pattern are no pattern of tables.
        assert!(!user(&access, Permission::Execute, Resource::table("org.apache.cassandra.db", "t")));
    }
}

#[test]
fn refusals_have_cassandras_words() {
    let access = of(&[]);
    let words = |actor, permission, resource| refusal(&access, actor, permission, resource).expect("it is refused");
    assert_eq!(
        words(Actor::Role("user"), Permission::Select, Resource::table("ks", "t")),
        "User user has no SELECT permission on <table ks.t> or any of its parents"
    );
    assert_eq!(
        words(Actor::Role("gone"), Permission::Execute, Resource::MBean("x".into())),
        "User gone has no EXECUTE permission on <mbean x> or any of its parents"
    );
    assert_eq!(
        words(Actor::Anonymous, Permission::Create, Resource::AllKeyspaces),
        "User anonymous has no CREATE permission on <all keyspaces> or any of its parents"
    );
    for actor in [Actor::Role("root"), Actor::Maintenance] {
        assert_eq!(
            words(actor, Permission::Drop, Resource::Keyspace("system".into())),
            "system keyspace is not user-modifiable."
        );
        assert_eq!(
            words(actor, Permission::Drop, Resource::table("system_views", "clients")),
            "system_views keyspace is not user-modifiable.",
            "a virtual keyspace is one of each node's own"
        );
        assert_eq!(
            words(actor, Permission::Alter, Resource::table("system_auth", "roles")),
            "Cannot ALTER <table system_auth.roles>"
        );
        assert_eq!(
            words(actor, Permission::Create, Resource::Keyspace("system_traces".into())),
            "Cannot CREATE <keyspace system_traces>"
        );
    }
}

#[test]
fn superusers_have_all_permissions_also_through_a_role() {
    let access = of(&[]);
    let each = [Resource::AllRoles, Resource::table("ks", "t"), Resource::table("system_auth", "roles")];
    for actor in [Actor::Role("root"), Actor::Role("deputy"), Actor::Maintenance] {
        assert!(Subject::new(&access, actor, STRICT).is_superuser());
        for resource in &each {
            assert_eq!(refusal(&access, actor, Permission::Select, resource.clone()), None);
        }
        let alter = Resource::Keyspace("system_auth".into());
        assert_eq!(refusal(&access, actor, Permission::Alter, alter), None);
    }
    assert!(!Subject::new(&access, Actor::Role("user"), STRICT).is_superuser());
    assert_eq!(access.permissions_on("root", &Resource::AllRoles), Resource::AllRoles.applicable());
}

#[test]
fn all_keyspaces_does_not_hold_in_those_of_the_system() {
    let everything = Resource::AllKeyspaces.applicable();
    let access = of(&[grant("all", everything, Resource::AllKeyspaces)]);
    for keyspace in ["system_auth", "system_distributed", "system_views", "system"] {
        for permission in [Permission::Select, Permission::Modify] {
            assert!(!user(&access, permission, Resource::table(keyspace, "t")), "{permission} in {keyspace}");
        }
    }
    assert!(user(&access, Permission::Modify, Resource::table("ks", "t")));
    assert!(user(&access, Permission::Create, Resource::AllKeyspaces));
    // A grant in the keyspace itself does.
    let within = of(&[
        grant("all", Permission::Select, Resource::Keyspace("system_auth".into())),
        grant("all", Permission::Alter, Resource::Keyspace("system_auth".into())),
    ]);
    assert!(user(&within, Permission::Select, Resource::table("system_auth", "roles")));
    assert!(user(&within, Permission::Alter, Resource::Keyspace("system_auth".into())));
    assert!(!user(&within, Permission::Alter, Resource::table("system_auth", "roles")));
}

#[test]
fn tables_that_drivers_need_are_readable_by_all_roles() {
    let access = of(&[]);
    for (keyspace, table) in [
        ("system", "local"),
        ("system", "peers"),
        ("system", "peers_v2"),
        ("system", "size_estimates"),
        ("system", "table_estimates"),
        ("system_schema", "columns"),
        ("system_traces", "events"),
        ("system_virtual_schema", "tables"),
    ] {
        assert!(user(&access, Permission::Select, Resource::table(keyspace, table)), "{keyspace}.{table}");
        assert!(!user(&access, Permission::Modify, Resource::table(keyspace, table)), "{keyspace}.{table}");
    }
    for (keyspace, table) in [("system", "paxos"), ("system_auth", "roles"), ("system_views", "clients")] {
        assert!(!user(&access, Permission::Select, Resource::table(keyspace, table)), "{keyspace}.{table}");
    }
    // The keyspace as a whole is not.
    assert!(!user(&access, Permission::Select, Resource::Keyspace("system_schema".into())));
}

#[test]
fn masked_columns_need_one_of_two_permissions() {
    let masked =
        Requirement::Masked { keyspace: "ks".into(), table: "t".into(), columns: vec!["a".into(), "b".into()] };
    let check = |access: &Access| Subject::new(access, Actor::Role("user"), STRICT).check(&masked);
    assert_eq!(
        check(&of(&[])).expect_err("it is refused").to_string(),
        "User user has no UNMASK nor SELECT_MASKED permission on table ks.t, cannot query masked columns [a, b]"
    );
    for permission in Permission::ALL {
        let set = Resource::AllKeyspaces.applicable().intersection(permission.into());
        let access = of(&[grant("user", set, Resource::AllKeyspaces)]);
        let expected = matches!(permission, Permission::Unmask | Permission::SelectMasked);
        assert_eq!(check(&access).is_ok(), expected, "{permission}");
    }
}

#[test]
fn native_functions_are_for_all_and_without_an_authorizer_everything_is() {
    let access = of(&[]);
    let native = Resource::function("system", "now", &[]);
    assert!(user(&access, Permission::Execute, native));
    assert!(!user(&access, Permission::Execute, Resource::function("ks", "f", &[])));
    let open = Subject::new(&access, Actor::Anonymous, OPEN);
    assert_eq!(open.check(&Requirement::Permission(Permission::Drop, Resource::AllRoles)), Ok(()));
    assert_eq!(open.check(&Requirement::Superuser("no")), Ok(()));
    // The system's keyspaces are protected all the same.
    let drop = Requirement::Permission(Permission::Drop, Resource::Keyspace("system".into()));
    assert!(open.check(&drop).is_err());
    let strict = Subject::new(&access, Actor::Role("user"), STRICT);
    assert_eq!(strict.check(&Requirement::Superuser("no")), Err(unauthorized("no")));
}

#[test]
fn revoke_takes_away_what_it_names_alone() {
    let both = PermissionSet::of(&[Permission::Select, Permission::Modify]);
    let table = Resource::table("ks", "t");
    let access = of(&[
        grant("user", both, table.clone()),
        AccessChange::Revoke("user".into(), vec![(table.clone(), Permission::Select.into())]),
    ]);
    assert!(user(&access, Permission::Modify, table.clone()) && !user(&access, Permission::Select, table));
}

#[test]
fn a_role_that_stops_being_a_superuser_has_what_was_granted_to_it_alone() {
    let access = of(&[grant("root", Permission::Select, Resource::AllKeyspaces)]);
    let plain = access.with(&AccessChange::PutRole("root".into(), Attributes::default()));
    let root = Actor::Role("root");
    assert!(refusal(&plain, root, Permission::Select, Resource::table("ks", "t")).is_none());
    assert!(refusal(&plain, root, Permission::Modify, Resource::table("ks", "t")).is_some());
}
