//! Types and objects of statements, and the parser's opinion of them.

use cql_syntax::Statement;

use super::*;

fn of(text: &str) -> (Option<EntryType>, String) {
    let Target { keyspace, scope, is_of_session } = target(text);
    let session = if is_of_session { "*" } else { "" };
    (kind_of(text), format!("{}/{}{session}", keyspace.unwrap_or_default(), scope.unwrap_or_default()))
}

#[test]
fn statements_have_a_type_and_an_object() {
    use EntryType::*;
    for (text, kind, object) in [
        ("SELECT a, \"from\", 'FROM x.y' FROM ks.t WHERE k = 1", Select, "ks/t"),
        (" -- x\nselect json * /* from z */ from \"T\"", Select, "/T*"),
        ("SELECT aaaaaaaaaaaaaaaa…", Select, "/*"),
        ("INSERT INTO ks.t (k) VALUES (1)", Update, "ks/t"),
        ("UPDATE t USING TTL 1 SET v = 1 WHERE k = 1", Update, "/t*"),
        ("DELETE v[1], w FROM Ks.T WHERE k = 1", Delete, "ks/t"),
        ("BEGIN UNLOGGED BATCH INSERT INTO ks.t (k) VALUES (1) APPLY BATCH", Batch, "/"),
        ("TRUNCATE TABLE ks.t", Truncate, "ks/t"),
        ("TRUNCATE t", Truncate, "/t*"),
        ("USE \"Ks\"", UseKeyspace, "Ks/"),
        ("CREATE KEYSPACE IF NOT EXISTS ks WITH REPLICATION = {}", CreateKeyspace, "ks/"),
        ("DROP SCHEMA IF EXISTS ks", DropKeyspace, "ks/"),
        ("CREATE TABLE IF NOT EXISTS ks.t (k int PRIMARY KEY)", CreateTable, "ks/t"),
        ("ALTER COLUMNFAMILY t ADD v int", AlterTable, "/t*"),
        ("CREATE TYPE ks.u (a int)", CreateType, "ks/u"),
        ("CREATE CUSTOM INDEX IF NOT EXISTS i ON ks.t (v) USING 'sai'", CreateIndex, "ks/i"),
        ("CREATE INDEX ON t (v)", CreateIndex, "/*"),
        ("DROP INDEX IF EXISTS ks.i", DropIndex, "ks/i"),
        ("CREATE MATERIALIZED VIEW ks.v AS SELECT * FROM other.t", CreateView, "ks/v"),
        ("DROP MATERIALIZED VIEW v", DropView, "/v*"),
        ("CREATE OR REPLACE FUNCTION ks.f (a int) RETURNS NULL ON NULL INPUT", CreateFunction, "ks/f"),
        ("DROP AGGREGATE IF EXISTS ks.a(int)", DropAggregate, "ks/a"),
        ("CREATE TRIGGER tr ON ks.t USING 'x'", CreateTrigger, "ks/tr"),
        ("CREATE USER u WITH PASSWORD '*******'", CreateRole, "/"),
        ("ALTER ROLE r WITH LOGIN = true", AlterRole, "/"),
        ("DROP IDENTITY 'x'", DropIdentity, "/"),
        ("ADD IDENTITY 'x' TO ROLE 'r'", CreateIdentity, "/"),
        ("GRANT SELECT ON ks.t TO r", Grant, "/"),
        ("REVOKE r FROM q", Revoke, "/"),
        ("LIST ROLES OF r", ListRoles, "/"),
        ("LIST USERS", ListUsers, "/"),
        ("LIST ALL PERMISSIONS", ListPermissions, "/"),
        ("DESC KEYSPACES", Describe, "/"),
    ] {
        assert_eq!(of(text), (Some(kind), object.to_owned()), "{text}");
    }
    for text in ["", "SELEC * FROM t", "ALTER INDEX i", "CREATE", "'SELECT'", "ADD x", "…"] {
        assert_eq!(of(text), (None, "/".to_owned()), "{text}");
    }
}

/// The parser's opinion of the same texts, where it has one.
#[test]
fn the_parser_sees_the_same_tables() {
    for text in [
        "SELECT a, b FROM \"Ks\".t WHERE k = 'FROM x.y'",
        "SELECT JSON * FROM t",
        "INSERT INTO ks.\"T\" JSON '{}'",
        "UPDATE t SET v = 1 WHERE k = 1",
        "DELETE FROM ks.t WHERE k = 1",
        "TRUNCATE ks.t",
        "DROP TABLE ks.t",
    ] {
        let table = match cql_syntax::parse(text).expect("the text is right") {
            Statement::Select(select) => select.table,
            Statement::Insert(insert) => insert.table,
            Statement::Update(update) => update.table,
            Statement::Delete(delete) => delete.table,
            Statement::Truncate(table) => table,
            Statement::DropTable(drop) => drop.table,
            other => unreachable!("{other:?}"),
        };
        let target = target(text);
        assert_eq!((target.keyspace, target.scope), (table.keyspace, Some(table.table)), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "(select|create|table|from|on|if|not|\\.|'|\"|\\$\\$|/\\*|\\*/|--|\n| |é|x){0,14}") {
        let _ = of(&text);
    }
}
