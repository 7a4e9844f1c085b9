//! Permissions, and grants that follow objects.

use super::*;

fn set(permissions: &[Permission]) -> PermissionSet {
    PermissionSet::of(permissions)
}

fn on(name: &str) -> AccessResource {
    named(Resource::of_name(name).expect(name))
}

fn grant_on(permissions: PermissionSet, name: &str, grantee: &str) -> AccessStatement {
    AccessStatement::Grant { permissions: written(permissions), on: on(name), grantee: grantee.into() }
}

fn revoke_on(permissions: PermissionSet, name: &str, revokee: &str) -> AccessStatement {
    AccessStatement::Revoke { permissions: written(permissions), on: on(name), revokee: revokee.into() }
}

#[test]
fn all_grants_what_applies_to_the_resource() {
    for name in
        ["data", "data/ks", "data/ks/*", "data/ks/t", "roles", "roles/user", "functions", "functions/ks", "mbean"]
    {
        let resource = Resource::of_name(name).expect(name);
        let planned = changes(&base(), ROOT, grant_on(PermissionSet::ALL, name, "user"));
        assert_eq!(planned, [grant("user", resource.applicable(), resource)], "{name}");
    }
    let table = AccessStatement::Grant {
        permissions: written(Permission::Select.into()),
        on: AccessResource::Table(TableName { keyspace: None, table: "t".into() }),
        grantee: "user".into(),
    };
    let expected = grant("user", Permission::Select, Resource::table("ks", "t"));
    assert_eq!(changes(&base(), ROOT, table), [expected]);
}

#[test]
fn permissions_are_refused_as_in_cassandra() {
    let access = base();
    let select = Permission::Select.into();
    for (statement, words) in [
        (grant_on(select, "data/ks/t", "gone"), "Role gone doesn't exist"),
        (grant_on(select, "data/ks/none", "user"), "Resource <table ks.none> doesn't exist"),
        (grant_on(select, "data/none", "user"), "Resource <keyspace none> doesn't exist"),
        (grant_on(select, "data/none/*", "user"), "Resource <all tables in none> doesn't exist"),
        (grant_on(PermissionSet::ALL, "roles/gone", "user"), "Resource <role gone> doesn't exist"),
        (grant_on(PermissionSet::ALL, "functions/ks/f[]", "user"), "Resource <function ks.f()> doesn't exist"),
        (
            revoke_on(PermissionSet::ALL, "functions/system/now[]", "user"),
            "Altering permissions on builtin functions is not supported",
        ),
    ] {
        assert_eq!(refusal(&access, ROOT, statement), invalid(words));
    }
    for (permission, name, of) in [
        (Permission::Execute, "data/ks/t", "DataResource"),
        (Permission::Create, "data/ks/t", "DataResource"),
        (Permission::Select, "roles", "RoleResource"),
        (Permission::Select, "functions", "FunctionResource"),
        (Permission::Create, "mbean", "JMXResource"),
    ] {
        let words = format!("Resource type {of} does not support any of the requested permissions");
        // Before anything else.
        let refused = refusal(&access, USER, grant_on(permission.into(), name, "gone"));
        assert_eq!(refused, AccessError::Syntax(words));
    }
}

#[test]
fn who_grants_needs_authorize_and_what_it_grants() {
    let words = |permission, on: &str| {
        unauthorized(format!("User user has no {permission} permission on {on} or any of its parents"))
    };
    let both = set(&[Permission::Select, Permission::Modify]);
    let give = || grant_on(both, "data/ks/t", "other");
    let take = || revoke_on(both, "data/ks/t", "other");
    let select = with(&[grant("user", Permission::Select, Resource::AllKeyspaces)]);
    for statement in [give(), take()] {
        assert_eq!(refusal(&select, USER, statement), words("AUTHORIZE", "<table ks.t>"));
    }
    let authorize = select.with(&grant("user", Permission::Authorize, Resource::Keyspace("ks".into())));
    assert_eq!(refusal(&authorize, USER, give()), words("MODIFY", "<table ks.t>"));
    let all = authorize.with(&grant("user", Permission::Modify, Resource::table("ks", "t")));
    assert_eq!(changes(&all, USER, give()).len(), 1);
    assert_eq!(refusal(&all, USER, grant_on(both, "data/ks", "other")), words("MODIFY", "<keyspace ks>"));
}

#[test]
fn system_keyspaces_allow_few_permissions() {
    let words = "Granting permissions on system keyspaces is strictly limited, this operation is not permitted";
    for name in ["data/system", "data/system/t", "data/system_auth", "data/system_auth/*", "data/system_traces/t"] {
        let resource = Resource::of_name(name).expect(name);
        for permission in resource.applicable().iter() {
            let planned = run(&base(), ROOT, grant_on(permission.into(), name, "user"));
            match permission {
                Permission::Select | Permission::Alter => assert!(planned.is_ok(), "{permission} on {name}"),
                _ => assert_eq!(planned, Err(unauthorized(words)), "{permission} on {name}"),
            }
        }
        assert_eq!(refusal(&base(), ROOT, grant_on(PermissionSet::ALL, name, "user")), unauthorized(words));
    }
    // What was granted may be revoked, whatever it is.
    assert!(run(&base(), ROOT, revoke_on(PermissionSet::ALL, "data/system", "user")).is_ok());
}

#[test]
fn what_is_granted_already_is_warned_of() {
    let access = with(&[grant("user", Permission::Select, Resource::table("ks", "t"))]);
    let both = set(&[Permission::Select, Permission::Modify]);
    let plan = run(&access, ROOT, grant_on(both, "data/ks/t", "user")).expect("it is planned");
    assert_eq!(plan.changes, [grant("user", Permission::Modify, Resource::table("ks", "t"))]);
    assert_eq!(plan.warnings, ["Role 'user' was already granted SELECT on <table ks.t>"]);
    let plan = run(&access, ROOT, revoke_on(both, "data/ks/t", "user")).expect("it is planned");
    let gone = (Resource::table("ks", "t"), Permission::Select.into());
    assert_eq!(plan.changes, [AccessChange::Revoke("user".into(), vec![gone])]);
    assert_eq!(plan.warnings, ["Role 'user' was not granted MODIFY on <table ks.t>"]);
    let plan = run(&base(), ROOT, revoke_on(both, "data/ks/t", "user")).expect("it is planned");
    assert_eq!(plan.changes, []);
    assert_eq!(plan.warnings, ["Role 'user' was not granted SELECT, MODIFY on <table ks.t>"]);
}

#[test]
fn a_table_without_a_keyspace_needs_the_sessions() {
    let datacenters = BTreeSet::new();
    let context = AccessContext { current_keyspace: None, datacenters: &datacenters, settings: STRICT };
    let statement = AccessStatement::Grant {
        permissions: written(Permission::Select.into()),
        on: AccessResource::Table(TableName { keyspace: None, table: "t".into() }),
        grantee: "user".into(),
    };
    let words = "No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename";
    assert_eq!(plan_access(&base(), schemas(), &statement, ROOT, &context), Err(invalid(words)));
}

#[test]
fn without_an_authorizer_no_permission_is_granted_to_anyone() {
    let settings = Settings { authorizes: false, ..STRICT };
    let run = |statement| run_with(&base(), USER, statement, settings);
    let words = "GRANT operation is not supported by AllowAllAuthorizer";
    assert_eq!(run(grant_on(PermissionSet::ALL, "data", "user")), Err(invalid(words)));
    let words = "REVOKE operation is not supported by AllowAllAuthorizer";
    assert_eq!(run(revoke_on(PermissionSet::ALL, "data", "user")), Err(invalid(words)));
    // The creator of a role receives none either.
    assert_eq!(run(create("new", RoleOptions::default())).expect("it is planned").changes.len(), 1);
}

#[test]
fn the_creator_of_objects_receives_all_permissions_on_them() {
    let access = base();
    let subject = |actor| Subject::new(&access, actor, STRICT);
    let resources = made_with_keyspace("ks");
    assert_eq!(resources.each_ref().map(Resource::name), ["data/ks", "functions/ks"]);
    let grants = resources.iter().map(|resource| (resource.clone(), resource.applicable())).collect();
    assert_eq!(created(&access, &subject(USER), &resources), [AccessChange::Grant("user".into(), grants)]);
    assert_eq!(created(&access, &subject(USER), &[]), []);
    for actor in [Actor::Anonymous, Actor::Maintenance, Actor::Role("gone")] {
        assert_eq!(created(&access, &subject(actor), &resources), []);
    }
}

#[test]
fn permissions_on_dropped_objects_go_with_all_below_them() {
    let names =
        ["data", "data/ks", "data/ks/*", "data/ks/t", "data/ks/u", "data/other/t", "functions/ks", "roles/user"];
    let grants = names.map(|name| {
        let resource = Resource::of_name(name).expect(name);
        grant("user", resource.applicable(), resource)
    });
    let access = with(&grants).with(&grant("other", Permission::Alter, Resource::table("ks", "t")));
    let left = |resource: Resource| {
        let after = access.with_all(&dropped(&access, &resource));
        let names = |role| {
            let grants = after.role(role).expect("a role").grants().keys();
            grants.map(Resource::name).collect::<Vec<_>>()
        };
        (names("user"), names("other"))
    };
    let (user, other) = left(Resource::Keyspace("ks".into()));
    assert_eq!(user, ["data", "data/other/t", "roles/user"]);
    assert_eq!(other, [""; 0]);
    let (user, other) = left(Resource::table("ks", "t"));
    assert_eq!(user.len(), names.len() - 1);
    assert!(!user.contains(&"data/ks/t".to_owned()));
    assert_eq!(other, [""; 0]);
    assert_eq!(left(Resource::table("ks", "none")).0.len(), names.len());
}

#[test]
fn a_cluster_with_as_many_grants_as_it_may_have_refuses_more_but_allows_revokes() {
    let tables = (0..bounds::GRANTS_MAX).map(|at| Resource::table("many", &format!("t{at}")));
    let grants = tables.map(|table| (table, Permission::Select.into())).collect();
    let access = with(&[AccessChange::Grant("other".into(), grants)]);
    let words = "a cluster may have 100000 grants at most";
    let select = Permission::Select.into();
    assert_eq!(refusal(&access, ROOT, grant_on(select, "data/ks/t", "user")), invalid(words));
    assert!(run(&access, ROOT, revoke_on(select, "data/ks/t", "other")).is_ok());
}
