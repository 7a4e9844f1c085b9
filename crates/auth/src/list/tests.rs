//! Rows of lists, and who may see them.

use super::*;
use crate::change::AccessChange;
use crate::check::Settings;
use crate::samples::{grant, login, member, schemas, superuser};

const STRICT: Settings = Settings { authenticates: true, has_passwords: true, authorizes: true };

/// `user` inherits `team`, which inherits `all`; `deputy` inherits `root`.
fn access() -> Access {
    let changes = [
        superuser("root"),
        login("deputy"),
        member("root", "deputy"),
        login("user"),
        login("other"),
        AccessChange::PutRole("team".into(), crate::Attributes::default()),
        AccessChange::PutRole("all".into(), crate::Attributes::default()),
        member("team", "user"),
        member("all", "team"),
        AccessChange::PutDatacenters("user".into(), ["dc2".to_owned(), "dc1".to_owned()].into()),
        AccessChange::PutDatacenters("team".into(), ["dc1".to_owned()].into()),
        AccessChange::PutDatacenters("deputy".into(), ["dc1".to_owned()].into()),
        grant("user", PermissionSet::of(&[Permission::Modify, Permission::Select]), Resource::table("ks", "t")),
        grant("team", Permission::Select, Resource::Keyspace("ks".into())),
        grant("other", Permission::Describe, Resource::Role("user".into())),
    ];
    Access::default().with_all(&changes)
}

fn subject<'a>(access: &'a Access, name: &'a str) -> Subject<'a> {
    Subject::new(access, Actor::Role(name), STRICT)
}

fn names(access: &Access, who: &str, of: Option<&str>, is_recursive: bool) -> Result<Vec<String>, String> {
    let rows = list_roles(&subject(access, who), of, is_recursive).map_err(|error| error.to_string())?;
    Ok(rows.into_iter().map(|row| row.role).collect())
}

#[test]
fn roles_are_listed_to_those_who_may_see_them() {
    let access = access();
    let list = |who, of, is_recursive| names(&access, who, of, is_recursive);
    let rows = |names: &[&str]| Ok(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    for who in ["root", "deputy"] {
        assert_eq!(list(who, None, true), rows(&["all", "deputy", "other", "root", "team", "user"]));
        assert_eq!(list(who, Some("user"), true), rows(&["all", "team", "user"]));
        assert_eq!(list(who, Some("user"), false), rows(&["team", "user"]));
    }
    assert_eq!(list("user", None, true), rows(&["all", "team", "user"]));
    assert_eq!(list("user", None, false), rows(&["team", "user"]));
    assert_eq!(list("user", Some("team"), true), rows(&["all", "team"]));
    let refused = Err("You are not authorized to view roles granted to user ".to_owned());
    // DESCRIBE on the role alone is not enough here.
    assert_eq!(list("other", Some("user"), true), refused);
    assert_eq!(list("root", Some("gone"), true), Err("<role gone> doesn't exist".to_owned()));
    let describes = access.with(&grant("other", Permission::Describe, Resource::AllRoles));
    assert_eq!(names(&describes, "other", None, true).map(|names| names.len()), Ok(6));
    let anonymous = list_roles(&Subject::new(&access, Actor::Anonymous, STRICT), None, true);
    let words = "You have to be logged in and not anonymous to perform this request";
    assert_eq!(anonymous, Err(unauthorized(words)));
}

#[test]
fn rows_of_roles_and_users_are_cassandras() {
    let access = access();
    let row = |rows: &[RoleRow], name: &str| {
        let row = rows.iter().find(|row| row.role == name).expect(name);
        (row.is_superuser, row.may_log_in, row.datacenters.clone())
    };
    let roles = list_roles(&subject(&access, "root"), None, true).expect("it is listed");
    assert_eq!(row(&roles, "root"), (true, true, "ALL".into()));
    assert_eq!(row(&roles, "deputy"), (false, true, "ALL".into()));
    assert_eq!(row(&roles, "user"), (false, true, "dc1, dc2".into()));
    assert_eq!(row(&roles, "team"), (false, false, "n/a".into()));
    let users = list_users(&subject(&access, "root")).expect("it is listed");
    assert_eq!(users.iter().map(|row| &*row.role).collect::<Vec<_>>(), ["deputy", "other", "root", "user"]);
    assert_eq!(row(&users, "deputy"), (true, true, "ALL".into()));
}

fn permissions(who: &str, on: Option<&str>, of: Option<&str>, is_recursive: bool) -> Result<Vec<String>, String> {
    let access = access();
    let on = on.map(|name| Resource::of_name(name).expect(name));
    let rows = list_permissions(&subject(&access, who), schemas(), PermissionSet::ALL, on.as_ref(), of, is_recursive);
    let rows = rows.map_err(|error| error.to_string())?;
    Ok(rows.into_iter().map(|row| format!("{} {} {}", row.role, row.resource, row.permission)).collect())
}

#[test]
fn permissions_are_listed_to_those_who_may_see_them() {
    let of_user =
        ["team <keyspace ks> SELECT", "user <table ks.t> SELECT", "user <table ks.t> MODIFY"].map(str::to_owned);
    for who in ["user", "root", "deputy", "other"] {
        assert_eq!(permissions(who, None, Some("user"), true), Ok(of_user.to_vec()), "{who}");
    }
    assert_eq!(permissions("user", Some("data/ks/t"), Some("user"), true), Ok(of_user.to_vec()));
    assert_eq!(permissions("user", Some("data/ks/t"), Some("user"), false), Ok(of_user[1..].to_vec()));
    assert_eq!(permissions("user", Some("data/ks/u"), Some("user"), true), Ok(of_user[..1].to_vec()));
    let of_all = permissions("root", None, None, true).expect("it is listed");
    assert_eq!((of_all.len(), &*of_all[0]), (4, "other <role user> DESCRIBE"));
    for (who, on, of, words) in [
        ("user", None, None, "You are not authorized to view everyone's permissions"),
        ("user", None, Some("other"), "You are not authorized to view other's permissions"),
        ("user", Some("data/none"), None, "<keyspace none> doesn't exist"),
        ("user", None, Some("gone"), "<role gone> doesn't exist"),
    ] {
        assert_eq!(permissions(who, on, of, true), Err(words.to_owned()));
    }
    let (access, open) = (access(), Settings { authorizes: false, ..STRICT });
    let user = Subject::new(&access, Actor::Role("user"), open);
    let words = "LIST PERMISSIONS operation is not supported by AllowAllAuthorizer";
    let listed = list_permissions(&user, schemas(), PermissionSet::ALL, None, None, true);
    assert_eq!(listed, Err(invalid(words)));
}

#[test]
fn all_datacenters_are_listed_where_roles_are_not_restricted_to_any() {
    let access = access();
    let datacenters = |text: &str, checks_datacenters| {
        let Ok(cql_syntax::Statement::Access(statement)) = cql_syntax::parse(text) else { panic!("it is a LIST") };
        let rules = NetworkRules { checks_datacenters, ..NetworkRules::default() };
        let listed = list(&subject(&access, "root"), schemas(), &statement, None, rules).expect("it is listed");
        let (Listed::Roles(rows) | Listed::Users(rows)) = listed else { panic!("these are roles") };
        rows.into_iter().map(|row| row.datacenters).collect::<Vec<_>>()
    };
    assert_eq!(datacenters("LIST ROLES OF user", true), ["n/a", "n/a", "dc1, dc2"]);
    assert_eq!(datacenters("LIST ROLES OF user", false), ["ALL", "ALL", "ALL"]);
    assert_eq!(datacenters("LIST USERS", true), ["ALL", "ALL", "ALL", "dc1, dc2"]);
    assert_eq!(datacenters("LIST USERS", false), ["ALL"; 4]);
}
