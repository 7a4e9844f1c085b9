//! Each kind of statement without the permission that it needs, with it, and without it again: as a text and prepared.

use cql_protocol::Response;

use super::{assert_refused, lacks, run_with_roles};
use crate::harness::Client;
use crate::requests::must;

/// A statement that can be repeated, the permission that it needs and on what, as GRANT spells it and as the refusal does.
struct Case {
    text: &'static str,
    permission: &'static str,
    on: &'static str,
    resource: &'static str,
}

const fn case(text: &'static str, permission: &'static str, on: &'static str, resource: &'static str) -> Case {
    Case { text, permission, on, resource }
}

const CASES: [Case; 22] = [
    case("SELECT * FROM ks.t", "SELECT", "ks.t", "<table ks.t>"),
    case("SELECT count(*) FROM ks.t WHERE k = 1", "SELECT", "ks.t", "<table ks.t>"),
    case("SELECT JSON v FROM ks.t WHERE k = 1 AND c = 1", "SELECT", "KEYSPACE ks", "<table ks.t>"),
    case("SELECT * FROM system_views.clients", "SELECT", "system_views.clients", "<table system_views.clients>"),
    case("INSERT INTO ks.t (k, c, v) VALUES (1, 1, 1)", "MODIFY", "ks.t", "<table ks.t>"),
    case("INSERT INTO ks.t JSON '{\"k\": 1, \"c\": 2}'", "MODIFY", "ks.t", "<table ks.t>"),
    case("UPDATE ks.t SET v = 1 WHERE k = 2 AND c = 1", "MODIFY", "ks.t", "<table ks.t>"),
    case("DELETE FROM ks.t WHERE k = 3", "MODIFY", "ALL KEYSPACES", "<table ks.t>"),
    case("BEGIN BATCH DELETE FROM ks.t WHERE k = 3; APPLY BATCH", "MODIFY", "ks.t", "<table ks.t>"),
    case("TRUNCATE ks.t", "MODIFY", "ks.t", "<table ks.t>"),
    case(
        "CREATE KEYSPACE IF NOT EXISTS ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE",
        "ALL KEYSPACES",
        "<all keyspaces>",
    ),
    case("ALTER KEYSPACE ks WITH durable_writes = true", "ALTER", "KEYSPACE ks", "<keyspace ks>"),
    case("DROP KEYSPACE IF EXISTS nothere", "DROP", "ALL KEYSPACES", "<keyspace nothere>"),
    case("CREATE TABLE IF NOT EXISTS ks.t (k int PRIMARY KEY)", "CREATE", "KEYSPACE ks", "<all tables in ks>"),
    case("ALTER TABLE ks.t WITH comment = 'x'", "ALTER", "ks.t", "<table ks.t>"),
    case("ALTER TABLE IF EXISTS ks.nothere ADD x int", "ALTER", "KEYSPACE ks", "<table ks.nothere>"),
    case("DROP TABLE IF EXISTS ks.nothere", "DROP", "KEYSPACE ks", "<table ks.nothere>"),
    case("CREATE TYPE IF NOT EXISTS ks.udt (f int)", "CREATE", "KEYSPACE ks", "<all tables in ks>"),
    case("ALTER TYPE IF EXISTS ks.nothere ADD g int", "ALTER", "KEYSPACE ks", "<all tables in ks>"),
    case("DROP TYPE IF EXISTS ks.nothere", "DROP", "KEYSPACE ks", "<all tables in ks>"),
    case("DROP TABLE IF EXISTS other.nothere", "DROP", "ALL KEYSPACES", "<table other.nothere>"),
    case("CREATE TABLE IF NOT EXISTS ks.t (k int PRIMARY KEY)", "CREATE", "ALL KEYSPACES", "<all tables in ks>"),
];

/// The errors of a statement as a text and prepared.
async fn errors(client: &Client, text: &str) -> [Option<cql_protocol::ErrorBody>; 2] {
    let prepared = client.prepare(text).await;
    let error = |reply: &crate::harness::Reply| match reply.response().1 {
        Response::Error(error) => Some(error),
        _ => None,
    };
    [error(&client.query(text).await), error(&client.execute_values(&prepared.id, &[]).await)]
}

#[test]
fn each_kind_of_statement_needs_its_permission() {
    run_with_roles("statements", 2, |root| async move {
        let alice = root.as_role("alice");
        must(&root, "CREATE TYPE ks.udt (f int)").await;
        for Case { text, permission, on, resource } in CASES {
            let sentence = lacks("alice", permission, resource);
            let refused = async || {
                for error in errors(&alice, text).await {
                    assert_refused(&error.unwrap_or_else(|| panic!("{text} is done")), &sentence);
                }
            };
            refused().await;
            for grantee in ["alice", "team"] {
                must(&root, &format!("GRANT {permission} ON {on} TO {grantee}")).await;
                assert_eq!(errors(&alice, text).await, [None, None], "{text}");
                must(&root, &format!("REVOKE {permission} ON {on} FROM {grantee}")).await;
                refused().await;
            }
            // Another permission, and the same one elsewhere, do not do.
            must(&root, &format!("GRANT AUTHORIZE ON {on} TO alice")).await;
            must(&root, &format!("GRANT {permission} ON {on} TO bob")).await;
            refused().await;
            must(&root, &format!("REVOKE AUTHORIZE ON {on} FROM alice")).await;
            must(&root, &format!("REVOKE {permission} ON {on} FROM bob")).await;
        }
    });
}

#[test]
fn each_kind_of_statement_is_a_superusers() {
    run_with_roles("superuser", 2, |root| async move {
        must(&root, "CREATE TYPE ks.udt (f int)").await;
        for Case { text, .. } in CASES {
            assert_eq!(errors(&root, text).await, [None, None], "{text}");
        }
        // Through a role it is one too.
        let alice = root.as_role("alice");
        must(&root, "GRANT root TO team").await;
        for Case { text, .. } in CASES {
            assert_eq!(errors(&alice, text).await, [None, None], "{text}");
        }
        must(&root, "REVOKE root FROM team").await;
        assert!(errors(&alice, CASES[0].text).await.iter().all(Option::is_some));
    });
}

#[test]
fn the_systems_keyspaces_are_changed_by_none() {
    run_with_roles("system", 1, |root| async move {
        let alice = root.as_role("alice");
        for (text, sentence) in [
            ("CREATE TABLE system.t (k int PRIMARY KEY)", "system keyspace is not user-modifiable."),
            ("DROP TABLE system_schema.tables", "system_schema keyspace is not user-modifiable."),
            ("DROP KEYSPACE system_virtual_schema", "system_virtual_schema keyspace is not user-modifiable."),
            ("CREATE TYPE system_views.u (f int)", "system_views keyspace is not user-modifiable."),
            ("DROP TABLE system_auth.roles", "Cannot DROP <table system_auth.roles>"),
            ("CREATE TABLE system_traces.t (k int PRIMARY KEY)", "Cannot CREATE <all tables in system_traces>"),
        ] {
            for client in [&root, &alice] {
                for error in errors(client, text).await {
                    assert_refused(&error.unwrap_or_else(|| panic!("{text} is done")), sentence);
                }
            }
        }
    });
}

#[test]
fn some_statements_need_a_login_alone() {
    run_with_roles("login-alone", 1, |root| async move {
        let alice = root.as_role("alice");
        for text in ["USE ks", "DESCRIBE KEYSPACE ks", "DESCRIBE TABLES", "SELECT * FROM system_schema.columns"] {
            assert_eq!(errors(&alice, text).await, [None, None], "{text}");
        }
    });
}
