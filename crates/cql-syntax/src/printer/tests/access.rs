//! Statements about roles, permissions and identities.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::{literal, name, table, ty};
use crate::ast::*;

fn password() -> impl Strategy<Value = RolePassword> {
    prop_oneof![
        text().prop_map(RolePassword::Plain),
        text().prop_map(RolePassword::Hashed),
        Just(RolePassword::Generated),
    ]
}

/// Names, and what is none.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => name(), 1 => Just(String::new()), 1 => Just("it's $$".to_owned())]
}

fn restriction() -> impl Strategy<Value = Restriction> {
    prop_oneof![Just(Restriction::All), vec(text(), 1..3).prop_map(Restriction::Only)]
}

fn options() -> impl Strategy<Value = RoleOptions> {
    let own = option::of(vec((literal(), literal()), 0..3)).prop_filter("a name stands once", |options| {
        let mut names: Vec<_> = options.iter().flatten().map(|(name, _)| name.text.clone()).collect();
        names.sort_unstable();
        names.windows(2).all(|pair| pair[0] != pair[1])
    });
    let access = (option::of(restriction()), option::of(restriction()));
    (option::of(password()), any::<Option<bool>>(), any::<Option<bool>>(), own, access).prop_map(
        |(password, superuser, login, options, (datacenters, cidr_groups))| RoleOptions {
            password,
            superuser,
            login,
            options,
            datacenters,
            cidr_groups,
        },
    )
}

fn permissions() -> impl Strategy<Value = Permissions> {
    let one = proptest::sample::select(PermissionName::ALL.to_vec());
    prop_oneof![Just(Permissions::All), vec(one, 1..4).prop_map(Permissions::Listed)]
}

fn resource() -> impl Strategy<Value = AccessResource> {
    let mbeans = ["a:b=c", "a:b=*,c=\"\\n'\",*", "*:type=Tables"];
    prop_oneof![
        Just(AccessResource::AllKeyspaces),
        name().prop_map(AccessResource::Keyspace),
        name().prop_map(AccessResource::AllTables),
        table().prop_map(AccessResource::Table),
        Just(AccessResource::AllRoles),
        text().prop_map(AccessResource::Role),
        Just(AccessResource::AllFunctions),
        name().prop_map(AccessResource::KeyspaceFunctions),
        (name(), name(), vec(ty(), 0..3)).prop_map(|(keyspace, name, arguments)| AccessResource::Function {
            keyspace,
            name,
            arguments
        }),
        Just(AccessResource::AllMBeans),
        proptest::sample::select(mbeans.to_vec()).prop_map(|name| AccessResource::MBean(name.to_owned())),
    ]
}

pub(super) fn access() -> impl Strategy<Value = Statement> {
    use AccessStatement as S;
    let users = || (text(), any::<bool>(), option::of(password()), any::<Option<bool>>());
    let list = || (option::of(text()), any::<bool>());
    let granted = || (permissions(), resource(), text());
    prop_oneof![
        (text(), any::<bool>(), options()).prop_map(|(role, if_not_exists, options)| S::CreateRole {
            role,
            if_not_exists,
            options
        }),
        (text(), any::<bool>(), options()).prop_map(|(role, if_exists, options)| S::AlterRole {
            role,
            if_exists,
            options
        }),
        (text(), any::<bool>()).prop_map(|(role, if_exists)| S::DropRole { role, if_exists }),
        users().prop_map(|(user, if_not_exists, password, superuser)| S::CreateUser {
            user,
            if_not_exists,
            password,
            superuser
        }),
        users().prop_map(|(user, if_exists, password, superuser)| S::AlterUser {
            user,
            if_exists,
            password,
            superuser
        }),
        (text(), any::<bool>()).prop_map(|(user, if_exists)| S::DropUser { user, if_exists }),
        list().prop_map(|(of, is_recursive)| S::ListRoles { of, is_recursive }),
        Just(S::ListUsers),
        (permissions(), option::of(resource()), list()).prop_map(|(permissions, on, (of, is_recursive))| {
            S::ListPermissions { permissions, on, of, is_recursive }
        }),
        (text(), text()).prop_map(|(role, grantee)| S::GrantRole { role, grantee }),
        (text(), text()).prop_map(|(role, revokee)| S::RevokeRole { role, revokee }),
        granted().prop_map(|(permissions, on, grantee)| S::Grant { permissions, on, grantee }),
        granted().prop_map(|(permissions, on, revokee)| S::Revoke { permissions, on, revokee }),
        (text(), text(), any::<bool>()).prop_map(|(identity, role, if_not_exists)| S::AddIdentity {
            identity,
            role,
            if_not_exists
        }),
        (text(), any::<bool>()).prop_map(|(identity, if_exists)| S::DropIdentity { identity, if_exists }),
    ]
    .prop_map(Statement::Access)
}
