//! The needs of statements that are worked out when they run. Those of others have a table, and are tested with the engine.

use cql_syntax::parse;

use super::*;

/// The needs as text: `CREATE on <all tables in ks>`.
fn needs_of(text: &str, current: Option<&str>) -> Vec<String> {
    let statement = parse(text).expect(text);
    let shown = |need: Requirement| match need {
        Requirement::Permission(permission, resource) => format!("{permission} on {resource}"),
        Requirement::Superuser(sentence) => sentence.to_owned(),
        Requirement::Masked { .. } => panic!("it restricts no column"),
    };
    let needs = needs_of_statement(&statement, current);
    needs.unwrap_or_else(|error| panic!("{text}: {error}")).into_iter().map(shown).collect()
}

const REPLICATION: &str = "WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";

#[test]
fn each_statement_needs_what_the_matrix_says_of_what_it_names() {
    for (text, need) in [
        (format!("CREATE KEYSPACE k {REPLICATION}"), "CREATE on <all keyspaces>"),
        (format!("CREATE KEYSPACE IF NOT EXISTS k {REPLICATION}"), "CREATE on <all keyspaces>"),
        (format!("ALTER KEYSPACE k {REPLICATION}"), "ALTER on <keyspace k>"),
        ("DROP KEYSPACE IF EXISTS k".into(), "DROP on <keyspace k>"),
        ("CREATE TABLE k.t (a int PRIMARY KEY)".into(), "CREATE on <all tables in k>"),
        ("CREATE TABLE IF NOT EXISTS t (a int PRIMARY KEY)".into(), "CREATE on <all tables in used>"),
        ("ALTER TABLE k.t ADD b int".into(), "ALTER on <table k.t>"),
        ("ALTER TABLE t RENAME a TO b".into(), "ALTER on <table used.t>"),
        ("DROP TABLE IF EXISTS k.\"T\"".into(), "DROP on <table k.T>"),
        ("CREATE TYPE u (f int)".into(), "CREATE on <all tables in used>"),
        ("ALTER TYPE k.u ADD g int".into(), "ALTER on <all tables in k>"),
        ("DROP TYPE k.u".into(), "DROP on <all tables in k>"),
        ("TRUNCATE k.t".into(), "MODIFY on <table k.t>"),
        ("TRUNCATE TABLE t".into(), "MODIFY on <table used.t>"),
        ("DROP TRIGGER x ON k.t".into(), "Only superusers are allowed to perfrom DROP TRIGGER queries"),
    ] {
        assert_eq!(needs_of(&text, Some("used")), [need], "{text}");
    }
}

#[test]
fn some_need_a_login_alone() {
    for text in [
        "USE k",
        "DESCRIBE KEYSPACES",
        "DESCRIBE TABLE k.t",
        "DROP INDEX k.i",
        "DROP MATERIALIZED VIEW k.v",
        "DROP FUNCTION k.f",
        "DROP AGGREGATE IF EXISTS k.a",
    ] {
        assert_eq!(needs_of(text, None), [""; 0], "{text}");
    }
}

#[test]
fn a_name_without_a_keyspace_has_no_needs_but_a_refusal() {
    for text in
        ["DROP TABLE t", "TRUNCATE t", "CREATE TYPE u (f int)", "ALTER TABLE t ADD b int", "DROP TRIGGER x ON t"]
    {
        let statement = parse(text).expect(text);
        assert_eq!(needs_of_statement(&statement, None), Err(no_keyspace()), "{text}");
    }
}
