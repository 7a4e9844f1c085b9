//! Lists of changes: all or none, and each refusal names what it is of.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::samples::any_change;
use crate::{Attributes, bounds};

fn asked(access: &Access, actor: Actor<'_>, changes: &[AccessChange]) -> Result<AccessPlan, AccessError> {
    let datacenters = ["dc1", "dc2"].map(str::to_owned).into();
    let context = AccessContext { current_keyspace: None, datacenters: &datacenters, settings: STRICT };
    plan_changes(access, schemas(), changes, actor, &context)
}

fn words(changes: &[AccessChange]) -> String {
    asked(&base(), ROOT, changes).expect_err("it is refused").to_string()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn superusers_and_the_owner_may_ask_and_no_other_role() {
    let list = [login("ada")];
    for actor in [ROOT, Actor::Role("deputy"), Actor::Maintenance] {
        assert_eq!(asked(&base(), actor, &list).expect("it is planned").changes, list);
    }
    let words = "Only superusers may change roles, permissions and networks as a list of changes";
    assert_eq!(asked(&base(), USER, &list), Err(unauthorized(words)));
    let anonymous = asked(&base(), Actor::Anonymous, &list).expect_err("it is refused").to_string();
    assert_eq!(anonymous, "You have to be logged in and not anonymous to perform this request");
}

#[test]
fn each_change_is_judged_on_the_state_that_those_before_it_make() {
    let ranges = ["10.0.0.0/8".parse().expect("a range")].into();
    let list = [
        AccessChange::PutCidrGroup("office".into(), ranges),
        login("ada"),
        login("team"),
        member("team", "ada"),
        grant("team", Permission::Select, Resource::table("ks", "t")),
        grant("ada", Permission::Alter, Resource::Role("team".into())),
        AccessChange::PutDatacenters("ada".into(), set(&["dc1"])),
        AccessChange::PutCidrGroups("ada".into(), set(&["office"])),
        AccessChange::PutIdentity { identity: "spiffe://ada".into(), role: "ada".into() },
    ];
    let after = base().with_all(&asked(&base(), ROOT, &list).expect("it is planned").changes);
    assert_eq!(after, base().with_all(&list));
    // Once more they change nothing.
    assert_eq!(asked(&after, ROOT, &list).expect("it is planned").changes, []);
    let back = [
        AccessChange::DropIdentity("spiffe://ada".into()),
        AccessChange::RemoveMember { role: "team".into(), member: "ada".into() },
        AccessChange::Revoke("team".into(), vec![(Resource::table("ks", "t"), Permission::Select.into())]),
        AccessChange::DropRole("ada".into()),
        AccessChange::DropRole("team".into()),
        AccessChange::PutCidrGroup("office".into(), BTreeSet::new()),
    ];
    assert_eq!(after.with_all(&asked(&after, ROOT, &back).expect("it is planned").changes), base());
}

#[test]
fn one_change_that_does_not_fit_refuses_all_and_is_named() {
    let ada = || login("ada");
    let on = |resource: Resource, permission: Permission| words(&[ada(), grant("ada", permission, resource)]);
    assert_eq!(on(Resource::table("ks", "gone"), Permission::Select), "Resource <table ks.gone> doesn't exist");
    assert_eq!(on(Resource::Keyspace("gone".into()), Permission::Select), "Resource <keyspace gone> doesn't exist");
    assert_eq!(on(Resource::Role("gone".into()), Permission::Alter), "Resource <role gone> doesn't exist");
    let system = on(Resource::Keyspace("system_auth".into()), Permission::Modify);
    assert!(system.contains("strictly limited") && system.ends_with("MODIFY on <keyspace system_auth>"), "{system}");
    let functions = on(Resource::AllFunctions, Permission::Select);
    assert_eq!(functions, "permissions [SELECT] do not apply to <all functions>");
    let circle = [ada(), member("ada", "other"), member("other", "ada")];
    assert_eq!(words(&circle), "other is a member of ada");
    assert_eq!(words(&[member("gone", "user")]), "Role gone doesn't exist");
    assert_eq!(words(&[member("user", "gone")]), "Role gone doesn't exist");
    assert_eq!(words(&[AccessChange::DropRole("gone".into())]), "Role gone doesn't exist");
    assert_eq!(words(&[AccessChange::DropRole("root".into())]), "Cannot DROP primary role for current login");
    assert_eq!(
        words(&[login("root")]),
        "You aren't allowed to alter your own superuser status or that of a role granted to you"
    );
    assert_eq!(words(&[login("")]), "Role name can't be an empty string");
    assert_eq!(words(&[login(&"x".repeat(256))]), "a role's name may have 255 bytes at most");
    let datacenters = words(&[AccessChange::PutDatacenters("user".into(), set(&["dc9"]))]);
    assert_eq!(datacenters, "Invalid value(s) for DATACENTERS '[dc9]',All values must be valid datacenters");
    let groups = words(&[AccessChange::PutCidrGroups("user".into(), set(&["home"]))]);
    assert_eq!(groups, "Invalid CIDR group(s): [home]. Available CIDR Groups are: []");
    let identity = |role: &str| AccessChange::PutIdentity { identity: "i".into(), role: role.into() };
    assert_eq!(words(&[identity("user"), identity("other")]), "i already exists");
    assert_eq!(words(&[identity("gone")]), "Can not add identity for non-existent role 'gone'");
    assert_eq!(words(&[AccessChange::DropIdentity("i".into())]), "identity 'i' doesn't exist");
    assert_eq!(words(&[AccessChange::BootstrapDone]), "the end of the bootstrap is no change that is asked for");
    let options = BTreeMap::from([("x".repeat(256), String::new())]);
    let role = AccessChange::PutRole("r".into(), Attributes { options, ..Attributes::default() });
    assert_eq!(words(&[role]), "an option of a role may have 255 bytes at most");
}

#[test]
fn bounds_hold_within_a_list() {
    let chain: Vec<_> = (0..=bounds::NESTING_MAX + 1).map(|at| login(&format!("r{at:02}"))).collect();
    let links = (0..=bounds::NESTING_MAX).map(|at| member(&format!("r{:02}", at + 1), &format!("r{at:02}")));
    let list: Vec<_> = chain.into_iter().chain(links).collect();
    assert_eq!(words(&list), "r64 cannot be a member of r65: roles may be nested 64 deep at most");
    let roles: Vec<_> = (0..bounds::ROLES_MAX).map(|at| login(&at.to_string())).collect();
    assert_eq!(words(&roles), "a cluster may have 10000 roles at most");
}

#[test]
fn the_first_superuser_of_a_list_ends_the_bootstrap() {
    let plan =
        asked(&Access::default(), Actor::Maintenance, &[login("ada"), superuser("root")]).expect("it is planned");
    assert_eq!(plan.changes, [login("ada"), superuser("root"), AccessChange::BootstrapDone]);
}

proptest::proptest! {
    #[test]
    fn whatever_is_planned_has_the_effect_of_the_whole_list(
        before in proptest::collection::vec(any_change(), 0..12),
        list in proptest::collection::vec(any_change(), 0..6),
    ) {
        let access = base().with_all(&before);
        if let Ok(plan) = asked(&access, Actor::Maintenance, &list) {
            let after = access.with_all(&plan.changes);
            proptest::prop_assert_eq!(&after, &access.with_all(&list));
        }
    }
}
