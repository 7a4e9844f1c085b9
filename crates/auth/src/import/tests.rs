//! The plan of an import: what it takes over, and what it leaves out.

use super::*;
use crate::samples::{grant, login, schemas, superuser};
use crate::{Settings, plan_changes};

const SETTINGS: Settings = Settings { authenticates: true, has_passwords: true, authorizes: true };

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn planned(access: &Access, foreign: &ForeignRoles, replaces: bool) -> RolesImport {
    let datacenters = names(&["dc1"]);
    let context = AccessContext { current_keyspace: None, datacenters: &datacenters, settings: SETTINGS };
    let import =
        plan_import(access, schemas(), (foreign, replaces), Actor::Role("root"), &context).expect("a superuser");
    let plan = plan_changes(access, schemas(), &import.changes, Actor::Role("root"), &context);
    assert_eq!(plan.expect("the leader makes it whole").changes, import.changes);
    import
}

fn role(name: &str) -> ForeignRole {
    ForeignRole { name: name.to_owned(), may_log_in: true, ..ForeignRole::default() }
}

fn on(role: &str, resource: &str, permissions: &[&str]) -> ForeignGrant {
    let permissions = permissions.iter().map(|name| (*name).to_owned()).collect();
    ForeignGrant { role: role.to_owned(), resource: resource.to_owned(), permissions }
}

fn sample() -> ForeignRoles {
    let hash = Some(PasswordHash::dummy().as_str().to_owned());
    ForeignRoles {
        roles: vec![
            ForeignRole {
                hash,
                member_of: vec!["team".into(), "gone".into()],
                datacenters: names(&["dc1"]),
                ..role("ada")
            },
            role("team"),
            ForeignRole { hash: Some("secret-md5".into()), ..role("old") },
            ForeignRole { datacenters: names(&["far"]), ..role("abroad") },
        ],
        grants: vec![
            on("team", "data/ks/t", &["SELECT", "MODIFY", "EXECUTE", "FLY"]),
            on("team", "data/lost", &["SELECT"]),
            on("team", "nonsense", &["SELECT"]),
            on("cassandra", "data", &["SELECT"]),
            on("orphan", "data", &["SELECT"]),
            on("abroad", "data", &["SELECT"]),
        ],
        identities: vec![("spiffe://ada".into(), "ada".into())],
        cidr_groups: vec![("office".into(), vec!["10.0.0.0/8".into()])],
        left_out: vec![("cassandra".into(), "it has its default password".into())],
    }
}

fn root() -> Access {
    Access::default().with_all(&[superuser("root"), AccessChange::BootstrapDone])
}

#[test]
fn what_fits_is_taken_over_and_the_rest_is_named_with_its_reason() {
    let import = planned(&root(), &sample(), false);
    let after = root().with_all(&import.changes);
    let ada = after.role("ada").expect("it is imported");
    assert_eq!(ada.attributes().hash, Some(PasswordHash::dummy()));
    assert_eq!(ada.member_of().collect::<Vec<_>>(), ["team"]);
    assert_eq!(*ada.datacenters(), names(&["dc1"]));
    assert_eq!(after.role("old").expect("it is imported").attributes().hash, None);
    assert!(after.role("cassandra").is_none() && after.role("abroad").is_none());
    let held = after.role("team").expect("it is imported").grants().clone();
    let both = PermissionSet::of(&[Permission::Select, Permission::Modify]);
    assert_eq!(held.into_iter().collect::<Vec<_>>(), [(Resource::table("ks", "t"), both)]);
    assert_eq!(after.role_of_identity("spiffe://ada"), Some("ada"));
    assert_eq!(
        import.skipped,
        [
            "role cassandra: it has its default password",
            "password of old: its hash is of no form that is verified here; it is imported without a password",
            "role abroad: Invalid value(s) for DATACENTERS '[far]',All values must be valid datacenters",
            "role ada: member of gone: Role gone doesn't exist",
            "role team: permissions on data/ks/t: EXECUTE does not apply",
            "role team: permissions on data/ks/t: FLY is no permission",
            "role team: permissions on nonsense: Name nonsense is not valid for any resource type",
            "role orphan: permissions on data: the files have no such role",
            "role team: SELECT on <keyspace lost>: Resource <keyspace lost> doesn't exist",
        ]
    );
    let lines = format!("{import:?}{:?}", sample()).replace("secret-md5", "shown");
    assert!(!lines.contains("shown") && !import.imported.concat().contains("$2a$"), "no hash is shown");
}

#[test]
fn an_import_that_is_done_twice_changes_nothing_the_second_time() {
    let after = root().with_all(&planned(&root(), &sample(), false).changes);
    assert_eq!(planned(&after, &sample(), false).changes, []);
    assert_eq!(planned(&after, &sample(), true).changes, []);
}

#[test]
fn roles_that_exist_stay_unless_they_are_replaced() {
    let before = root().with_all(&[
        login("ada"),
        grant("ada", Permission::Alter, Resource::AllKeyspaces),
        login("boss"),
        AccessChange::AddMember { role: "boss".into(), member: "ada".into() },
    ]);
    let kept = before.with_all(&planned(&before, &sample(), false).changes);
    assert_eq!(kept.role("ada"), before.role("ada"));
    let replaced = before.with_all(&planned(&before, &sample(), true).changes);
    let ada = replaced.role("ada").expect("it exists");
    assert!(ada.grants().is_empty() && ada.attributes().hash.is_some());
    assert_eq!(ada.member_of().collect::<Vec<_>>(), ["team"]);
    // Who imports does not lose the right to.
    let foreign = ForeignRoles { roles: vec![role("root")], ..ForeignRoles::default() };
    let import = planned(&before, &foreign, true);
    assert!(import.changes.is_empty() && import.skipped[0].starts_with("role root: You aren't allowed"), "{import:?}");
}

#[test]
fn only_superusers_import() {
    let datacenters = BTreeSet::new();
    let context = AccessContext { current_keyspace: None, datacenters: &datacenters, settings: SETTINGS };
    let access = root().with(&login("user"));
    for actor in [Actor::Role("user"), Actor::Anonymous] {
        assert!(plan_import(&access, schemas(), (&sample(), false), actor, &context).is_err());
    }
}
