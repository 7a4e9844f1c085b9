//! Effects of changes on the state; none breaks it.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::bounds;
use crate::permission::Permission;
use crate::resource::Resource;
use crate::samples::{any_change, grant, login, member, superuser};
use crate::{Attributes, codec, domain};

fn identity(identity: &str, role: &str) -> AccessChange {
    AccessChange::PutIdentity { identity: identity.into(), role: role.into() }
}

/// Everything that the type's documentation states, of the whole state.
fn assert_sound(access: &Access) {
    let (mut grants, mut bytes) = (0, 0);
    for (name, role) in access.roles() {
        for other in role.member_of() {
            let other = access.role(other).expect("a role that is granted exists");
            assert!(other.members.contains(name));
        }
        for other in role.members() {
            assert!(access.role(other).expect("a member exists").member_of.contains(name));
        }
        for (resource, set) in role.grants() {
            assert!(!set.is_empty() && resource.applicable().contains_all(*set));
            if let Resource::Role(other) = resource {
                assert!(access.role(other).is_some(), "{other} has grants");
            }
        }
        assert!(access.height(name) <= bounds::NESTING_MAX);
        let others = role.member_of().flat_map(|other| access.roles_of(other)).collect::<Vec<_>>();
        assert!(!others.contains(&name), "{name} inherits itself");
        grants += role.grants().len();
        let grant_bytes = role.grants().keys().map(Role::grant_bytes).sum::<usize>();
        bytes += name.len() + role.bytes() + grant_bytes;
    }
    for (identity, role) in access.identities() {
        assert!(access.role(role).is_some());
        bytes += identity.len() + role.len();
    }
    bytes += access.cidr_groups().map(|(name, cidrs)| draft::group_bytes(name, cidrs)).sum::<usize>();
    assert_eq!((access.grants(), access.bytes()), (grants, bytes));
}

#[test]
fn a_dropped_role_leaves_nothing() {
    let changes = [
        login("a"),
        login("b"),
        login("c"),
        member("b", "a"),
        member("c", "b"),
        grant("a", Permission::Alter, Resource::Role("b".into())),
        grant("b", Permission::Select, Resource::AllKeyspaces),
        identity("spiffe://b", "b"),
        identity("spiffe://a", "a"),
    ];
    let access = Access::default().with_all(&changes);
    assert_eq!(access.roles_of("a").into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(access.grants(), 2);
    let without = access.with(&AccessChange::DropRole("b".into()));
    assert_sound(&without);
    assert_eq!(without.roles().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(without.roles_of("a").into_iter().collect::<Vec<_>>(), ["a"]);
    assert_eq!((without.grants(), without.identities().collect::<Vec<_>>()), (0, vec![("spiffe://a", "a")]));
    // A role of the same name has nothing of the one before.
    let again = without.with(&login("b"));
    assert!(again.role("b").expect("it is there").grants().is_empty());
    assert_eq!(again.role("b").expect("it is there").members().count(), 0);
}

#[test]
fn attributes_are_replaced_and_all_else_stays() {
    let changes = [superuser("a"), login("b"), member("b", "a"), grant("a", Permission::Alter, Resource::AllRoles)];
    let access = Access::default().with_all(&changes).with(&login("a"));
    let role = access.role("a").expect("it is there");
    assert!(!role.attributes().is_superuser);
    assert_eq!((role.member_of().count(), role.grants().len()), (1, 1));
}

#[test]
fn circles_and_too_long_ways_change_nothing() {
    let name = |at: usize| format!("r{at:03}");
    let roles = (0..=bounds::NESTING_MAX + 1).map(|at| login(&name(at)));
    let chain = (0..bounds::NESTING_MAX).map(|at| member(&name(at), &name(at + 1)));
    let access = Access::default().with_all(&roles.chain(chain).collect::<Vec<_>>());
    let (first, last) = (name(0), name(bounds::NESTING_MAX));
    assert_eq!(access.height(&last), bounds::NESTING_MAX);
    assert_eq!(access.depth(&first), bounds::NESTING_MAX);
    let more = name(bounds::NESTING_MAX + 1);
    for change in [member(&last, &more), member(&more, &first), member(&last, &first), member(&first, &first)] {
        assert_eq!(access.with(&change), access, "{change:?}");
    }
    assert_ne!(access.with(&member(&first, &more)), access);
    assert_sound(&access);
    assert_eq!(access.roles_of(&last).len(), bounds::NESTING_MAX + 1);
    let granted = access.with(&grant(&first, Permission::Alter, Resource::AllRoles));
    assert_eq!(granted.permissions_on(&last, &Resource::AllRoles), Permission::Alter.into());
}

#[test]
fn a_role_does_not_inherit_itself_through_few_others() {
    let roles = ["a", "b", "c"].map(login);
    let access = Access::default().with_all(&roles).with_all(&[member("a", "b"), member("b", "c")]);
    for change in [member("b", "a"), member("c", "a"), member("a", "a")] {
        assert_eq!(access.with(&change), access, "{change:?}");
    }
    // By another way it is no circle.
    assert_sound(&access.with(&member("a", "c")));
}

#[test]
fn changes_of_what_is_not_there_change_nothing() {
    let access = Access::default().with_all(&[login("a"), identity("i", "a")]);
    let set: BTreeSet<String> = ["dc".to_owned()].into();
    for change in [
        AccessChange::DropRole("x".into()),
        member("a", "x"),
        member("x", "a"),
        grant("x", Permission::Select, Resource::AllKeyspaces),
        grant("a", Permission::Select, Resource::AllRoles),
        grant("a", Permission::Alter, Resource::Role("x".into())),
        AccessChange::Revoke("a".into(), vec![(Resource::AllKeyspaces, Permission::Select.into())]),
        AccessChange::PutDatacenters("x".into(), set.clone()),
        AccessChange::PutCidrGroups("x".into(), set),
        AccessChange::PutCidrGroup("g".into(), BTreeSet::new()),
        identity("j", "x"),
        identity("i", "a"),
        AccessChange::DropIdentity("j".into()),
        AccessChange::PutRole(String::new(), Attributes::default()),
    ] {
        assert_eq!(access.with(&change), access, "{change:?}");
    }
}

#[test]
fn counts_are_bounded() {
    let roles: Vec<_> = (0..=bounds::ROLES_MAX).map(|at| login(&at.to_string())).collect();
    let access = Access::default().with_all(&roles);
    assert_eq!(access.roles().len(), bounds::ROLES_MAX);
    let grants = (0..=bounds::GRANTS_MAX / 2).map(|at| Resource::table("ks", &at.to_string()));
    let grants: Vec<_> = grants.map(|table| (table, Permission::Select.into())).collect();
    let full = access.with_all(&["0", "1"].map(|role| AccessChange::Grant(role.into(), grants.clone())));
    assert_eq!(full.grants(), bounds::GRANTS_MAX);
    // A known grant may have more permissions all the same.
    let more = full.with(&grant("0", Permission::Modify, Resource::table("ks", "0")));
    assert_ne!(more, full);
    assert_eq!(more.grants(), bounds::GRANTS_MAX);
}

#[test]
fn the_default_state_has_no_snapshot_and_another_has_one() {
    assert_eq!(domain::snapshot(&Access::default()), None);
    let access = Access::default().with(&AccessChange::BootstrapDone);
    let bytes = domain::snapshot(&access).expect("it is not the default");
    let changes = codec::decode(&bytes).expect("it is a change");
    assert!(Access::default().with_all(&changes).is_bootstrap_done());
}

#[test]
fn only_what_takes_away_gives_room_back() {
    let gives = [AccessChange::DropRole("a".into()), AccessChange::PutCidrGroup("g".into(), BTreeSet::new())];
    assert!(domain::gives_room_back(&gives));
    assert!(!domain::gives_room_back(&[gives[0].clone(), login("a")]));
}

#[test]
fn a_snapshot_shares_the_roles_that_a_change_leaves() {
    let access = Access::default().with_all(&[login("a"), login("b")]);
    let next = access.with(&superuser("a"));
    assert!(std::ptr::eq(access.role("b").expect("b"), next.role("b").expect("b")));
    assert!(!access.role("a").expect("a").attributes().is_superuser);
}

proptest! {
    #[test]
    fn no_changes_break_the_state(changes in vec(any_change(), 0..60)) {
        let mut access = Access::default();
        for change in &changes {
            access = access.with(change);
            assert_sound(&access);
        }
        prop_assert_eq!(&Access::default().with_all(&changes), &access);
        let snapshot = domain::snapshot(&access).map_or_else(Vec::new, |bytes| codec::decode(&bytes).unwrap());
        prop_assert_eq!(Access::default().with_all(&snapshot), access);
    }
}
