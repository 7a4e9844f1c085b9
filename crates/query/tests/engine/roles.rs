//! Statements about roles and permissions of clients that have logged in.

use std::path::Path;

use auth::{AccessChange, Actor, Attributes, PasswordHash, Permission, Resource};
use cql_protocol::request::{Prepare, Request};
use cql_protocol::{ErrorCode, QueryParams, Response, ResultBody};

use query::{AccessChangesError, propose_access_changes, propose_first_superuser};

use crate::harness::{Client, Folder, run_node, run_secured};
use crate::requests::{KEYSPACE, must};

/// The answer as text: `void`, columns and rows, or the error; then warnings.
async fn answer(client: &Client, text: &str) -> String {
    shown(&client.query(text).await)
}

fn shown(reply: &crate::harness::Reply) -> String {
    let (prefix, response) = reply.response();
    let mut lines = match response {
        Response::Error(error) => vec![format!("{:?}: {}", error.code(), error.message)],
        Response::Result(ResultBody::Rows(rows)) => {
            assert!(rows.columns.iter().all(|column| column.keyspace == "system_auth"));
            let names = rows.columns.iter().map(|column| &*column.name).collect::<Vec<_>>().join(" | ");
            let head = format!("{}: {names}", rows.columns[0].table);
            let value = |value: Option<&[u8]>| match value {
                None => "null".to_owned(),
                Some([0]) => "False".to_owned(),
                Some([1]) => "True".to_owned(),
                Some([0, 0, 0, 0]) => "{}".to_owned(),
                Some(text) => String::from_utf8_lossy(text).into_owned(),
            };
            let lines = rows.iter().map(|row| row.map(value).collect::<Vec<_>>().join(" | "));
            std::iter::once(head).chain(lines).collect()
        }
        Response::Result(ResultBody::Void) => vec!["void".to_owned()],
        other => panic!("an answer was expected, not {other:?}"),
    };
    lines.extend(prefix.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines.join("\n")
}

const NO_PRIVILEGE: &str =
    "Unauthorized: User ada does not have sufficient privileges to perform the requested operation";

#[test]
fn roles_are_made_granted_listed_and_dropped_on_all_shards() {
    for shards in [1, 2] {
        let folder = Folder::new(&format!("made-{shards}"));
        run_secured(folder.path(), shards, |client| async move {
            let owner = client.as_owner();
            must(&owner, KEYSPACE).await;
            must(&owner, "CREATE TABLE ks.t (k int PRIMARY KEY)").await;
            assert_eq!(answer(&owner, "LIST ROLES").await, "void", "there are none");
            must(&owner, "CREATE ROLE root WITH LOGIN = true AND SUPERUSER = true AND PASSWORD = 'secret'").await;
            let root = client.as_role("root");
            must(&root, "CREATE USER ada").await;
            must(&root, "CREATE ROLE team WITH ACCESS TO ALL DATACENTERS").await;
            must(&root, "GRANT team TO ada").await;
            let ada = client.as_role("ada");
            assert_eq!(
                answer(&ada, "LIST ROLES").await,
                "roles: role | super | login | options | datacenters\nada | False | True | {} | ALL\nteam | False | False | {} | ALL"
            );
            assert_eq!(
                answer(&root, "LIST USERS").await,
                "users: name | super | datacenters\nada | False | ALL\nroot | True | ALL"
            );
            assert_eq!(answer(&ada, "CREATE ROLE other").await, NO_PRIVILEGE);
            assert_eq!(answer(&ada, "ALTER ROLE root WITH PASSWORD = 'busy'").await, NO_PRIVILEGE, "it costs no hash");
            let busy = "Overloaded: Too many passwords are being hashed";
            assert_eq!(answer(&ada, "ALTER ROLE ada WITH PASSWORD = 'busy'").await, busy);
            assert_eq!(answer(&root, "CREATE ROLE team").await, "Invalid: team already exists");
            assert_eq!(answer(&root, "CREATE ROLE IF NOT EXISTS team").await, "void");
            // A table without a keyspace is in the session's.
            must(&root, "USE ks").await;
            assert_eq!(answer(&root, "GRANT SELECT, MODIFY ON t TO team").await, "void");
            let again = "void\nwarning: Role 'team' was already granted SELECT on <table ks.t>";
            assert_eq!(answer(&root, "GRANT SELECT ON t TO team").await, again);
            let listed = "permissions: role | username | resource | permission\nteam | team | <table ks.t> | SELECT\nteam | team | <table ks.t> | MODIFY";
            assert_eq!(answer(&ada, "LIST ALL PERMISSIONS OF ada").await, listed);
            let access = client.engine.access();
            assert!(access.subject(ada.session.actor()).has(Permission::Select, &Resource::table("ks", "t")));
            must(&root, "REVOKE ALL ON ks.t FROM team").await;
            assert!(client.engine.access().epoch() > access.epoch());
            assert_eq!(answer(&ada, "LIST ALL PERMISSIONS OF ada").await, "void");
            must(&root, "REVOKE team FROM ada").await;
            must(&root, "DROP ROLE team").await;
            let own = "roles: role | super | login | options | datacenters\nada | False | True | {} | ALL";
            assert_eq!(answer(&ada, "LIST ROLES").await, own);
            must(&root, "DROP USER ada").await;
            let gone = client.engine.access();
            assert!(gone.state().role("ada").is_none());
        });
    }
}

#[test]
fn a_grant_is_there_after_the_next_start_and_no_password_is_in_the_log() {
    let folder = Folder::new("kept");
    run_secured(folder.path(), 2, |client| async move {
        let owner = client.as_owner();
        must(&owner, KEYSPACE).await;
        must(&owner, "CREATE USER ada WITH PASSWORD 'correct horse'").await;
        must(&owner, "GRANT MODIFY ON KEYSPACE ks TO ada").await;
    });
    for shards in [1, 2] {
        run_secured(folder.path(), shards, |client| async move {
            let access = client.engine.access();
            let ada = client.as_role("ada");
            assert!(access.subject(ada.session.actor()).has(Permission::Modify, &Resource::table("ks", "t")));
            let hash = access.state().role("ada").and_then(|role| role.attributes().hash.clone());
            assert_eq!(hash, Some(PasswordHash::of_password("correct horse", [7; 16])));
        });
    }
    for file in std::fs::read_dir(folder.path()).expect("the folder can be read") {
        let path = file.expect("an entry").path();
        let bytes = if path.is_file() { std::fs::read(&path).expect("it can be read") } else { Vec::new() };
        assert!(!bytes.windows(13).any(|window| window == b"correct horse"), "{path:?}");
    }
}

/// Copies a folder as it is on the disk now.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the folder can be made");
    for entry in std::fs::read_dir(from).expect("the folder can be read") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("it has a name"));
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(std::fs::copy(&path, &target).expect("it can be copied")),
        }
    }
}

/// The node has no time to end in order: what it has answered is in the files.
#[test]
fn a_revoke_is_kept_by_a_node_that_is_killed_right_after_it() {
    let (folder, killed) = (Folder::new("killed"), Folder::new("killed-copy"));
    let (from, to) = (folder.path(), killed.path());
    run_secured(from, 2, |client| async move {
        let owner = client.as_owner();
        must(&owner, KEYSPACE).await;
        must(&owner, "CREATE USER ada").await;
        must(&owner, "GRANT SELECT, MODIFY ON KEYSPACE ks TO ada").await;
        must(&owner, "REVOKE SELECT ON KEYSPACE ks FROM ada").await;
        copy(from, to);
    });
    run_secured(to, 2, |client| async move {
        let listed = "permissions: role | username | resource | permission\nada | ada | <keyspace ks> | MODIFY";
        assert_eq!(answer(&client.as_owner(), "LIST ALL PERMISSIONS OF ada").await, listed);
    });
}

#[test]
fn creators_receive_all_permissions_in_the_entry_that_makes_the_object() {
    let folder = Folder::new("creators");
    run_secured(folder.path(), 2, |client| async move {
        let owner = client.as_owner();
        for role in ["ada", "bob"] {
            must(&owner, &format!("CREATE USER {role}")).await;
            must(&owner, &format!("GRANT CREATE ON ALL KEYSPACES TO {role}")).await;
        }
        let grants = |client: &Client, role: &str| {
            let access = client.engine.access();
            let role = access.state().role(role).expect("the role is there");
            role.grants().keys().map(Resource::name).collect::<Vec<_>>()
        };
        let (ada, bob) = (client.as_role("ada"), client.as_role("bob"));
        must(&ada, KEYSPACE).await;
        assert_eq!(grants(&client, "ada"), ["data", "data/ks", "functions/ks"]);
        must(&bob, "CREATE TABLE ks.t (k int PRIMARY KEY)").await;
        must(&ada, "CREATE TABLE IF NOT EXISTS ks.t (k int PRIMARY KEY)").await;
        assert_eq!(grants(&client, "bob"), ["data", "data/ks/t"]);
        assert_eq!(grants(&client, "ada"), ["data", "data/ks", "functions/ks"], "it made nothing");
        must(&owner, "CREATE TABLE ks.own (k int PRIMARY KEY)").await;
        must(&bob, "DROP TABLE ks.t").await;
        assert_eq!(grants(&client, "bob"), ["data"]);
        must(&bob, "CREATE TABLE ks.t (k int PRIMARY KEY)").await;
        must(&owner, "DROP KEYSPACE ks").await;
        for role in ["ada", "bob"] {
            assert_eq!(grants(&client, role), ["data"]);
        }
    });
}

#[test]
fn statements_about_roles_can_be_prepared() {
    let folder = Folder::new("prepared-roles");
    run_secured(folder.path(), 2, |client| async move {
        let (owner, one) = (client.as_owner(), QueryParams::new(cql_protocol::Consistency::One));
        let list = owner.prepare("LIST USERS").await;
        assert!(list.columns.is_empty(), "as in Cassandra");
        let create = owner.prepare("CREATE USER ada WITH PASSWORD 'secret'").await;
        assert_eq!(shown(&owner.execute(&create.id, one).await), "void");
        assert_eq!(shown(&owner.execute(&create.id, one).await), "Invalid: ada already exists");
        // The right is that of the session which executes it.
        let ada = client.as_role("ada");
        assert_eq!(shown(&ada.execute(&create.id, one).await), NO_PRIVILEGE);
        let users = "users: name | super | datacenters\nada | False | ALL";
        assert_eq!(shown(&owner.execute(&list.id, one).await), users);
        let refused = Request::Prepare(Prepare { text: "DROP ROLE nothere", keyspace: None });
        assert_eq!(shown(&owner.send(&refused).await), "Invalid: nothere doesn't exist");
    });
}

#[test]
fn the_first_superuser_is_made_once() {
    let folder = Folder::new("first");
    let hash = || PasswordHash::of_password("first", [1; 16]);
    run_secured(folder.path(), 1, |client| async move {
        assert!(propose_first_superuser(&client.engine, "cassandra", &hash()).await);
        let root = client.as_role("cassandra");
        must(&root, "CREATE ROLE root WITH LOGIN = true AND SUPERUSER = true").await;
        let other = PasswordHash::of_password("other", [1; 16]);
        assert!(!propose_first_superuser(&client.engine, "cassandra", &other).await);
        assert_eq!(client.engine.access().state().hash_to_verify("cassandra"), hash());
        must(&client.as_role("root"), "DROP ROLE cassandra").await;
    });
    run_secured(folder.path(), 1, |client| async move {
        assert!(!propose_first_superuser(&client.engine, "cassandra", &hash()).await, "it was dropped");
        assert!(client.engine.access().state().role("cassandra").is_none());
    });
}

#[test]
fn a_list_of_changes_is_made_whole_on_all_shards_or_not_at_all() {
    let folder = Folder::new("changes");
    run_secured(folder.path(), 2, |client| async move {
        let owner = client.as_owner();
        must(&owner, KEYSPACE).await;
        must(&owner, "CREATE TABLE ks.t (k int PRIMARY KEY)").await;
        must(&owner, "CREATE ROLE user").await;
        let put = |name: &str| AccessChange::PutRole(name.to_owned(), Attributes::default());
        let grant = |table: &str| {
            AccessChange::Grant("ada".to_owned(), vec![(Resource::table("ks", table), Permission::Select.into())])
        };
        let ask = |actor, changes| propose_access_changes(&client.engine, actor, changes);
        let gone = ask(Actor::Maintenance, vec![put("ada"), grant("gone")]).await;
        let words = "Resource <table ks.gone> doesn't exist".to_owned();
        assert_eq!(gone, Err(AccessChangesError::Refused(words)));
        let words = "Only superusers may change roles, permissions and networks as a list of changes".to_owned();
        assert_eq!(ask(Actor::Role("user"), vec![put("ada")]).await, Err(AccessChangesError::Refused(words)));
        assert!(client.engine.access().state().role("ada").is_none());
        for _ in 0..2 {
            assert_eq!(ask(Actor::Maintenance, vec![put("ada"), grant("t")]).await, Ok(Vec::new()));
        }
        let listed = "permissions: role | username | resource | permission\nada | ada | <table ks.t> | SELECT";
        assert_eq!(answer(&owner, "LIST ALL PERMISSIONS OF ada").await, listed);
        must(&client.as_role("ada"), "SELECT * FROM ks.t").await;
    });
}

#[test]
fn an_anonymous_client_has_no_rights_where_permissions_are_checked() {
    let folder = Folder::new("no-rights");
    run_secured(folder.path(), 1, |client| async move {
        let error = client.query("CREATE ROLE r").await.error();
        assert_eq!((error.code(), &*error.message), (ErrorCode::Unauthorized, "You have not logged in"));
    });
    // The owner of the process may put right what an open node lacks.
    run_node(folder.path(), 1, |client| async move {
        must(&client.as_owner(), "CREATE ROLE r").await;
        let refused = "Invalid: GRANT operation is not supported by AllowAllAuthorizer";
        assert_eq!(answer(&client.as_owner(), "GRANT SELECT ON ALL KEYSPACES TO r").await, refused);
    });
}

#[test]
fn system_auth_shows_the_state_and_takes_no_writes() {
    let folder = Folder::new("system-auth");
    run_secured(folder.path(), 2, |client| async move {
        let owner = client.as_owner();
        must(&owner, "CREATE USER ada").await;
        must(&owner, "GRANT SELECT ON system_auth.roles TO ada").await;
        let refused = "Unauthorized: Granting permissions on system keyspaces is strictly limited, this operation is not permitted";
        assert_eq!(answer(&owner, "GRANT MODIFY ON system_auth.roles TO ada").await, refused);
        let rows = "roles: role | can_login | is_superuser\nada | True | False";
        assert_eq!(answer(&owner, "SELECT role, can_login, is_superuser FROM system_auth.roles").await, rows);
        let of_ada = "SELECT resource FROM system_auth.role_permissions WHERE role = 'ada'";
        assert_eq!(answer(&owner, of_ada).await, "role_permissions: resource\ndata/system_auth/roles");
        let unwritable = "Invalid: the tables of keyspace system_auth cannot be written to";
        for (text, refused) in [
            ("INSERT INTO system_auth.roles (role, is_superuser) VALUES ('ada', true)", unwritable),
            ("UPDATE system_auth.roles SET is_superuser = true WHERE role = 'ada'", unwritable),
            ("DELETE FROM system_auth.roles WHERE role = 'ada'", unwritable),
            ("TRUNCATE system_auth.roles", "Invalid: the tables of keyspace system_auth cannot be truncated"),
            ("DROP TABLE system_auth.roles", "Unauthorized: Cannot DROP <table system_auth.roles>"),
            ("ALTER TABLE system_auth.roles ADD x int", "Unauthorized: Cannot ALTER <table system_auth.roles>"),
            (
                "CREATE TABLE system_auth.t (k int PRIMARY KEY)",
                "Unauthorized: Cannot CREATE <all tables in system_auth>",
            ),
            ("DROP KEYSPACE system_auth", "Unauthorized: Cannot DROP <keyspace system_auth>"),
        ] {
            assert_eq!(answer(&owner, text).await, refused, "{text}");
        }
        assert_eq!(answer(&owner, of_ada).await, "role_permissions: resource\ndata/system_auth/roles");
    });
}
