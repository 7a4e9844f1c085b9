//! Roles, memberships, identities.

use super::*;

fn all(resource: Resource) -> (Resource, PermissionSet) {
    let set = resource.applicable();
    (resource, set)
}

#[test]
fn create_role_makes_a_role_and_its_creator_receives_all_permissions_on_it() {
    let access = with(&[grant("user", Permission::Create, Resource::AllRoles)]);
    let options =
        RoleOptions { login: Some(true), datacenters: only(&["dc1"]), cidr_groups: Some(Restriction::All), ..hashed() };
    let planned = changes(&access, USER, create("new", options));
    let attributes = crate::Attributes {
        may_log_in: true,
        hash: Some(crate::PasswordHash::dummy()),
        ..crate::Attributes::default()
    };
    assert_eq!(
        planned,
        [
            AccessChange::PutRole("new".into(), attributes),
            AccessChange::PutDatacenters("new".into(), ["dc1".to_owned()].into()),
            AccessChange::Grant("user".into(), vec![all(Resource::Role("new".into()))]),
        ]
    );
    // Who is no role receives none.
    assert_eq!(changes(&access, Actor::Maintenance, create("new", RoleOptions::default())).len(), 1);
}

#[test]
fn if_not_exists_of_an_existing_role_gives_nothing() {
    let access = with(&[grant("user", Permission::Create, Resource::AllRoles)]);
    let statement =
        AccessStatement::CreateRole { role: "other".into(), if_not_exists: true, options: RoleOptions::default() };
    assert_eq!(run(&access, USER, statement), Ok(AccessPlan::default()));
}

#[test]
fn create_role_is_refused_as_in_cassandra() {
    let access = with(&[grant("user", Permission::Create, Resource::AllRoles)]);
    let of = |options| create("new", options);
    let dcs = |name: &str| RoleOptions { datacenters: only(&[name]), ..RoleOptions::default() };
    let cidrs = RoleOptions { cidr_groups: only(&["g"]), ..RoleOptions::default() };
    let own = RoleOptions { options: Some(Vec::new()), ..RoleOptions::default() };
    assert_eq!(refusal(&access, Actor::Role("other"), of(RoleOptions::default())), no_privilege("other"));
    assert_eq!(refusal(&access, Actor::Anonymous, of(RoleOptions::default())), no_privilege("anonymous"));
    assert_eq!(
        refusal(&access, USER, of(super_option(true))),
        unauthorized("Only superusers can create a role with superuser status")
    );
    for (statement, words) in [
        (create("", RoleOptions::default()), "Role name can't be an empty string"),
        (create("other", RoleOptions::default()), "other already exists"),
        (of(dcs("dc9")), "Invalid value(s) for DATACENTERS '[dc9]',All values must be valid datacenters"),
        (of(cidrs), "Invalid CIDR group(s): [g]. Available CIDR Groups are: []"),
        (of(own), "org.apache.cassandra.auth.CassandraRoleManager doesn't support OPTIONS"),
        (of(password(RolePassword::Hashed("x".into()))), "Invalid hashed password value. Please use jBcrypt."),
        (create(&"x".repeat(256), RoleOptions::default()), "a role's name may have 255 bytes at most"),
    ] {
        assert_eq!(refusal(&access, USER, statement), invalid(words));
    }
}

#[test]
fn a_plain_password_is_checked_before_it_is_hashed_and_no_change_has_it() {
    let (access, datacenters) = (base(), BTreeSet::new());
    let context = AccessContext { current_keyspace: None, datacenters: &datacenters, settings: STRICT };
    let mut statement = create("new", password(RolePassword::Plain("geheim".into())));
    assert_eq!(check_access(&access, schemas(), &statement, ROOT, &context), Ok(()));
    assert_eq!(check_access(&access, schemas(), &statement, USER, &context), Err(no_privilege("user")));
    let long = create("new", password(RolePassword::Plain("x".repeat(73))));
    let words = "A password may have 72 bytes at most";
    assert_eq!(check_access(&access, schemas(), &long, ROOT, &context), Err(invalid(words)));
    assert!(!format!("{statement:?}").contains("geheim"));
    assert_eq!(crate::plain_password(&statement), Some("geheim"));
    crate::set_hash(&mut statement, &crate::PasswordHash::dummy());
    assert_eq!(crate::plain_password(&statement), None);
    assert!(plan_access(&access, schemas(), &statement, ROOT, &context).is_ok());
}

#[test]
#[should_panic(expected = "a password is hashed before it is planned")]
fn a_plain_password_is_not_planned() {
    let _ = run(&base(), ROOT, create("new", password(RolePassword::Plain("geheim".into()))));
}

#[test]
fn users_are_roles_that_may_log_in() {
    let statement =
        AccessStatement::CreateUser { user: "new".into(), if_not_exists: false, password: None, superuser: Some(true) };
    let root = crate::Attributes { is_superuser: true, may_log_in: true, ..crate::Attributes::default() };
    assert_eq!(changes(&base(), ROOT, statement)[0], AccessChange::PutRole("new".into(), root));
    let statement =
        AccessStatement::AlterUser { user: "user".into(), if_exists: false, password: None, superuser: Some(true) };
    assert_eq!(changes(&base(), ROOT, statement), [superuser("user")]);
    let statement = AccessStatement::DropUser { user: "user".into(), if_exists: true };
    assert_eq!(changes(&base(), ROOT, statement), [AccessChange::DropRole("user".into())]);
}

#[test]
fn the_first_superuser_that_may_log_in_ends_the_bootstrap() {
    let made = |access: &Access, options| changes(access, ROOT, create("new", options));
    let ends = |changes: &[AccessChange]| changes.contains(&AccessChange::BootstrapDone);
    let both = RoleOptions { login: Some(true), ..super_option(true) };
    let new = Access::default().with(&superuser("root"));
    assert!(ends(&made(&new, both.clone())));
    assert!(!ends(&made(&new, super_option(true))));
    assert!(!ends(&made(&new, RoleOptions { login: Some(true), ..RoleOptions::default() })));
    assert!(!ends(&made(&base(), both)));
}

#[test]
fn alter_role_replaces_what_is_given() {
    let access = with(&[AccessChange::PutDatacenters("user".into(), ["dc1".to_owned()].into())]);
    let login = RoleOptions { login: Some(false), ..RoleOptions::default() };
    let group = AccessChange::PutRole("user".into(), crate::Attributes::default());
    assert_eq!(changes(&access, ROOT, alter("user", login.clone())), [group]);
    let everywhere = RoleOptions { datacenters: Some(Restriction::All), ..RoleOptions::default() };
    let put = AccessChange::PutDatacenters("user".into(), [].into());
    assert_eq!(changes(&access, ROOT, alter("user", everywhere)), [put]);
    let missing = AccessStatement::AlterRole { role: "gone".into(), if_exists: true, options: login };
    assert_eq!(run(&access, ROOT, missing), Ok(AccessPlan::default()));
}

#[test]
fn alter_role_is_refused_as_in_cassandra() {
    let access = with(&[member("group", "user")]);
    let login = RoleOptions { login: Some(true), ..RoleOptions::default() };
    let dcs = RoleOptions { datacenters: Some(Restriction::All), ..RoleOptions::default() };
    let cidrs = RoleOptions { cidr_groups: Some(Restriction::All), ..RoleOptions::default() };
    let own = "You aren't allowed to alter your own superuser status or that of a role granted to you";
    for (actor, statement, words) in [
        (ROOT, alter("root", super_option(false)), own),
        (Actor::Role("deputy"), alter("root", super_option(false)), own),
        (Actor::Role("deputy"), alter("deputy", super_option(true)), own),
        (USER, alter("group", super_option(true)), own),
        (USER, alter("other", super_option(true)), "Only superusers are allowed to alter superuser status"),
        (USER, alter("user", dcs), "Only superusers are allowed to alter access to datacenters."),
        (USER, alter("user", cidrs), "Only superusers are allowed to alter access from CIDR groups."),
        (USER, alter("user", login.clone()), "You aren't allowed to alter LOGIN"),
    ] {
        assert_eq!(refusal(&access, actor, statement), unauthorized(words));
    }
    assert_eq!(refusal(&access, USER, alter("other", login.clone())), no_privilege("user"));
    assert_eq!(
        refusal(&access, ROOT, alter("user", RoleOptions::default())),
        invalid("ALTER [ROLE|USER] can't be empty")
    );
    assert_eq!(refusal(&access, ROOT, alter("gone", login)), invalid("Role gone doesn't exist"));
}

#[test]
fn a_role_may_change_its_own_password_and_with_alter_anothers() {
    let access = base();
    assert_eq!(changes(&access, USER, alter("user", hashed())).len(), 1);
    let given = password(RolePassword::Hashed(crate::PasswordHash::dummy().as_str().to_owned()));
    assert_eq!(changes(&access, USER, alter("user", given)).len(), 1);
    // Each of its logins would take the turns of others.
    let costs = |cost: &str| {
        let text = crate::PasswordHash::dummy().as_str().replacen("$10$", cost, 1);
        alter("user", password(RolePassword::Hashed(text)))
    };
    assert_eq!(changes(&access, USER, costs("$12$")).len(), 1);
    let words = "Only superusers are allowed to set a hash of a cost over 12";
    assert_eq!(refusal(&access, USER, costs("$13$")), unauthorized(words));
    assert_eq!(changes(&access, ROOT, costs("$16$")).len(), 1);
    assert_eq!(refusal(&access, USER, alter("other", hashed())), no_privilege("user"));
    let access = with(&[grant("user", Permission::Alter, Resource::Role("other".into()))]);
    assert_eq!(changes(&access, USER, alter("other", hashed())).len(), 1);
    // Kept as in Cassandra, and stated in the guide.
    let access = with(&[grant("user", Permission::Alter, Resource::AllRoles)]);
    assert_eq!(changes(&access, USER, alter("root", hashed())).len(), 1);
}

#[test]
fn without_password_logins_no_password_can_be_set() {
    let settings = Settings { has_passwords: false, ..STRICT };
    let run = |actor, role| run_with(&base(), actor, alter(role, hashed()), settings);
    let words = "org.apache.cassandra.auth.CassandraRoleManager doesn't support HASHED_PASSWORD";
    assert_eq!(run(ROOT, "user"), Err(invalid(words)));
    assert_eq!(run(USER, "user"), Err(unauthorized("You aren't allowed to alter HASHED_PASSWORD")));
    let datacenters = BTreeSet::new();
    let context = AccessContext { current_keyspace: None, datacenters: &datacenters, settings };
    let plain = alter("user", password(RolePassword::Plain("x".into())));
    let words = "org.apache.cassandra.auth.CassandraRoleManager doesn't support PASSWORD";
    assert_eq!(check_access(&base(), schemas(), &plain, ROOT, &context), Err(invalid(words)));
}

#[test]
fn drop_role_is_refused_as_in_cassandra() {
    let access = with(&[grant("user", Permission::Drop, Resource::AllRoles)]);
    assert_eq!(changes(&access, USER, drop_role("other")), [AccessChange::DropRole("other".into())]);
    assert_eq!(refusal(&access, Actor::Role("other"), drop_role("group")), no_privilege("other"));
    let words = "Only superusers can drop a role with superuser status";
    assert_eq!(refusal(&access, USER, drop_role("root")), unauthorized(words));
    assert_eq!(refusal(&access, USER, drop_role("deputy")), unauthorized(words));
    assert_eq!(refusal(&access, USER, drop_role("gone")), invalid("gone doesn't exist"));
    assert_eq!(refusal(&access, USER, drop_role("user")), invalid("Cannot DROP primary role for current login"));
    assert_eq!(refusal(&access, ROOT, drop_role("root")), invalid("Cannot DROP primary role for current login"));
    let missing = AccessStatement::DropRole { role: "gone".into(), if_exists: true };
    assert_eq!(run(&access, USER, missing), Ok(AccessPlan::default()));
}

#[test]
fn anonymous_clients_are_refused_after_what_the_authorizer_allows() {
    let words = "You have to be logged in and not anonymous to perform this request";
    let table = AccessResource::AllKeyspaces;
    for statement in [
        create("new", RoleOptions::default()),
        drop_role("user"),
        AccessStatement::GrantRole { role: "group".into(), grantee: "user".into() },
        AccessStatement::Grant { permissions: Permissions::All, on: table, grantee: "user".into() },
        AccessStatement::DropIdentity { identity: "i".into(), if_exists: false },
    ] {
        let refused = run_with(&base(), Actor::Anonymous, statement, OPEN);
        assert_eq!(refused, Err(unauthorized(words)));
    }
    let superuser = run_with(&base(), Actor::Anonymous, create("new", super_option(true)), OPEN);
    assert_eq!(superuser, Err(unauthorized("Only superusers can create a role with superuser status")));
}

#[test]
fn roles_are_granted_and_revoked_as_in_cassandra() {
    let grant_role =
        |role: &str, grantee: &str| AccessStatement::GrantRole { role: role.into(), grantee: grantee.into() };
    let revoke_role =
        |role: &str, revokee: &str| AccessStatement::RevokeRole { role: role.into(), revokee: revokee.into() };
    let access = with(&[
        grant("user", Permission::Authorize, Resource::Role("group".into())),
        member("group", "other"),
        member("other", "user"),
    ]);
    assert_eq!(changes(&base(), ROOT, grant_role("group", "other")), [member("group", "other")]);
    assert_eq!(changes(&access, USER, grant_role("group", "deputy")), [member("group", "deputy")]);
    assert_eq!(refusal(&access, USER, grant_role("other", "deputy")), no_privilege("user"));
    for (statement, words) in [
        (grant_role("gone", "user"), "gone doesn't exist"),
        (grant_role("group", "gone"), "gone doesn't exist"),
        (grant_role("group", "user"), "user is a member of group"),
        (grant_role("group", "group"), "group is a member of group"),
        (grant_role("user", "group"), "user is a member of group"),
        (revoke_role("group", "gone"), "gone doesn't exist"),
        // Not directly.
        (revoke_role("group", "user"), "user is not a member of group"),
    ] {
        assert_eq!(refusal(&access, ROOT, statement), invalid(words));
    }
    let removed = AccessChange::RemoveMember { role: "group".into(), member: "other".into() };
    assert_eq!(changes(&access, USER, revoke_role("group", "other")), [removed]);
    assert_eq!(run(&access, ROOT, revoke_role("group", "group")), Ok(AccessPlan::default()));
}

#[test]
fn nesting_is_bounded() {
    let name = |at: usize| format!("r{at}");
    let roles = (0..=bounds::NESTING_MAX).map(|at| login(&name(at)));
    let chain = (0..bounds::NESTING_MAX).map(|at| member(&name(at), &name(at + 1)));
    let access = base().with_all(&roles.chain(chain).collect::<Vec<_>>());
    let deeper = AccessStatement::GrantRole { role: name(bounds::NESTING_MAX), grantee: "user".into() };
    assert_eq!(refusal(&access, ROOT, deeper), invalid("roles may be nested 64 deep at most"));
}

#[test]
fn identities_need_rights_on_the_role() {
    let add = |role: &str| AccessStatement::AddIdentity {
        identity: "spiffe://x".into(),
        role: role.into(),
        if_not_exists: false,
    };
    let drop = || AccessStatement::DropIdentity { identity: "spiffe://x".into(), if_exists: false };
    let put = |role: &str| AccessChange::PutIdentity { identity: "spiffe://x".into(), role: role.into() };
    // CREATE on one's own role, which is all that Cassandra 5.0.6 needs, cannot even be granted.
    let all_roles = [Permission::Create, Permission::Drop];
    let half = with(&[grant("user", PermissionSet::of(&all_roles), Resource::AllRoles)]);
    assert_eq!(refusal(&half, USER, add("other")), no_privilege("user"));
    let access = half.with(&grant("user", Permission::Authorize, Resource::AllRoles));
    assert_eq!(changes(&access, USER, add("other")), [put("other")]);
    let words = "Only superusers can change identities of a role with superuser status";
    assert_eq!(refusal(&access, USER, add("root")), unauthorized(words));
    assert_eq!(refusal(&access, USER, add("deputy")), unauthorized(words));
    assert_eq!(changes(&access, ROOT, add("deputy")), [put("deputy")]);
    assert_eq!(refusal(&access, USER, add("gone")), invalid("Can not add identity for non-existent role 'gone'"));
    assert_eq!(refusal(&access, USER, drop()), invalid("identity 'spiffe://x' doesn't exist"));
    let known = access.with(&put("root"));
    assert_eq!(refusal(&known, ROOT, add("user")), invalid("spiffe://x already exists"));
    assert_eq!(refusal(&known, USER, drop()), unauthorized(words));
    assert_eq!(changes(&known, ROOT, drop()), [AccessChange::DropIdentity("spiffe://x".into())]);
    let others = half.with(&put("other"));
    assert_eq!(refusal(&others, USER, drop()), no_privilege("user"));
}

#[test]
fn a_cluster_with_as_many_roles_as_it_may_have_refuses_more() {
    let roles: Vec<_> = (0..bounds::ROLES_MAX).map(|at| login(&at.to_string())).collect();
    let access = base().with_all(&roles);
    let words = "a cluster may have 10000 roles at most";
    assert_eq!(refusal(&access, ROOT, create("new", RoleOptions::default())), invalid(words));
}
