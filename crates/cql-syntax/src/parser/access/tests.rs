//! Statements about roles, permissions and identities: what they mean, and what is refused in Cassandra 5.0.6's words.

use crate::ast::*;
use crate::parse;

/// The canonical text tells roles from permissions, and users from roles.
#[test]
fn statements_mean_what_they_do_in_cassandra() {
    for (text, canonical) in [
        ("CREATE ROLE Rr", "CREATE ROLE 'rr'"),
        ("CREATE ROLE IF NOT EXISTS \"Rr\"", "CREATE ROLE IF NOT EXISTS 'Rr'"),
        ("CREATE ROLE 'it''s'", "CREATE ROLE 'it''s'"),
        ("CREATE ROLE ''", "CREATE ROLE ''"),
        ("CREATE ROLE password", "CREATE ROLE 'password'"),
        ("create role int with login = TRUE", "CREATE ROLE 'int' WITH LOGIN = true"),
        (
            "CREATE ROLE r WITH LOGIN = false AND PASSWORD = $$it's$$ AND SUPERUSER = true",
            "CREATE ROLE 'r' WITH PASSWORD = 'it''s' AND SUPERUSER = true AND LOGIN = false",
        ),
        ("CREATE ROLE r WITH PASSWORD = ''", "CREATE ROLE 'r' WITH PASSWORD = ''"),
        ("ALTER ROLE r WITH HASHED PASSWORD = 'x'", "ALTER ROLE 'r' WITH HASHED PASSWORD = 'x'"),
        ("ALTER ROLE r WITH GENERATED PASSWORD", "ALTER ROLE 'r' WITH GENERATED PASSWORD"),
        ("ALTER ROLE r", "ALTER ROLE 'r'"),
        ("ALTER ROLE r WITH OPTIONS = {}", "ALTER ROLE 'r' WITH OPTIONS = {}"),
        (
            "ALTER ROLE IF EXISTS r WITH OPTIONS = {'b': 1, 'a': TRUE, 1: 0xab}",
            "ALTER ROLE IF EXISTS 'r' WITH OPTIONS = {'b': 1, 'a': TRUE, 1: 0xab}",
        ),
        (
            "ALTER ROLE r WITH ACCESS FROM ALL CIDRS AND ACCESS TO DATACENTERS {'b', 'a'}",
            "ALTER ROLE 'r' WITH ACCESS TO DATACENTERS {'b', 'a'} AND ACCESS FROM ALL CIDRS",
        ),
        (
            "CREATE ROLE r WITH ACCESS TO DATACENTERS {'a'} AND ACCESS TO DATACENTERS {'b'}",
            "CREATE ROLE 'r' WITH ACCESS TO DATACENTERS {'a', 'b'}",
        ),
        (
            "CREATE ROLE r WITH ACCESS TO ALL DATACENTERS AND ACCESS TO ALL DATACENTERS AND ACCESS FROM CIDRS {'g'}",
            "CREATE ROLE 'r' WITH ACCESS TO ALL DATACENTERS AND ACCESS FROM CIDRS {'g'}",
        ),
        ("DROP ROLE IF EXISTS r", "DROP ROLE IF EXISTS 'r'"),
        // Users keep their letters' case.
        ("CREATE USER Uu", "CREATE USER 'Uu'"),
        (
            "CREATE USER IF NOT EXISTS u WITH HASHED PASSWORD 'x' SUPERUSER",
            "CREATE USER IF NOT EXISTS 'u' WITH HASHED PASSWORD 'x' SUPERUSER",
        ),
        ("ALTER USER IF EXISTS u WITH PASSWORD 'x'", "ALTER USER IF EXISTS 'u' WITH PASSWORD 'x'"),
        ("ALTER USER u NOSUPERUSER", "ALTER USER 'u' NOSUPERUSER"),
        ("DROP USER 'U'", "DROP USER 'U'"),
        ("GRANT R TO \"S\"", "GRANT 'r' TO 'S'"),
        ("REVOKE all FROM s", "REVOKE 'all' FROM 's'"),
        ("GRANT unmask TO select_masked", "GRANT 'unmask' TO 'select_masked'"),
        ("GRANT permissions TO r", "GRANT 'permissions' TO 'r'"),
        ("GRANT ALL ON t TO r", "GRANT ALL PERMISSIONS ON TABLE t TO 'r'"),
        ("REVOKE ALL PERMISSIONS ON TABLE ks.t FROM r", "REVOKE ALL PERMISSIONS ON TABLE ks.t FROM 'r'"),
        (
            "GRANT SELECT PERMISSION, modify, unmask permission ON COLUMNFAMILY t TO r",
            "GRANT SELECT, MODIFY, UNMASK ON TABLE t TO 'r'",
        ),
        (
            "GRANT CREATE, ALTER, DROP, SELECT, MODIFY, AUTHORIZE, DESCRIBE, EXECUTE, UNMASK, SELECT_MASKED ON ALL KEYSPACES TO r",
            "GRANT CREATE, ALTER, DROP, SELECT, MODIFY, AUTHORIZE, DESCRIBE, EXECUTE, UNMASK, SELECT_MASKED ON ALL KEYSPACES TO 'r'",
        ),
        ("GRANT SELECT ON KEYSPACE \"K\" TO r", "GRANT SELECT ON KEYSPACE \"K\" TO 'r'"),
        ("GRANT SELECT ON ALL TABLES IN KEYSPACE k TO r", "GRANT SELECT ON ALL TABLES IN KEYSPACE k TO 'r'"),
        ("GRANT CREATE ON ALL ROLES TO r", "GRANT CREATE ON ALL ROLES TO 'r'"),
        ("GRANT ALTER ON ROLE X TO r", "GRANT ALTER ON ROLE 'x' TO 'r'"),
        ("GRANT ALTER ON ROLE 'X' TO r", "GRANT ALTER ON ROLE 'X' TO 'r'"),
        ("GRANT EXECUTE ON ALL FUNCTIONS TO r", "GRANT EXECUTE ON ALL FUNCTIONS TO 'r'"),
        ("GRANT EXECUTE ON ALL FUNCTIONS IN KEYSPACE k TO r", "GRANT EXECUTE ON ALL FUNCTIONS IN KEYSPACE k TO 'r'"),
        ("GRANT EXECUTE ON FUNCTION ks.f() TO r", "GRANT EXECUTE ON FUNCTION ks.f() TO 'r'"),
        (
            "GRANT EXECUTE ON FUNCTION ks.\"F\"(int, frozen<list<u>>) TO r",
            "GRANT EXECUTE ON FUNCTION ks.\"F\"(int, frozen<list<u>>) TO 'r'",
        ),
        ("GRANT EXECUTE ON FUNCTION ks.token(int) TO r", "GRANT EXECUTE ON FUNCTION ks.\"token\"(int) TO 'r'"),
        ("GRANT SELECT ON ALL MBEANS TO r", "GRANT SELECT ON ALL MBEANS TO 'r'"),
        ("GRANT SELECT ON MBEAN 'a:z=1,b=2' TO r", "GRANT SELECT ON MBEAN 'a:b=2,z=1' TO 'r'"),
        ("GRANT SELECT ON MBEANS 'a:*,b=c' TO r", "GRANT SELECT ON MBEAN 'a:b=c,*' TO 'r'"),
        // Tables that are called so.
        ("GRANT SELECT ON all TO r", "GRANT SELECT ON TABLE all TO 'r'"),
        ("GRANT SELECT ON all.t TO r", "GRANT SELECT ON TABLE all.t TO 'r'"),
        ("GRANT SELECT ON role TO r", "GRANT SELECT ON TABLE role TO 'r'"),
        ("GRANT SELECT ON role.t TO r", "GRANT SELECT ON TABLE role.t TO 'r'"),
        ("GRANT SELECT ON function.t TO r", "GRANT SELECT ON TABLE function.t TO 'r'"),
        ("GRANT SELECT ON function TO r", "GRANT SELECT ON TABLE function TO 'r'"),
        ("GRANT SELECT ON mbean TO r", "GRANT SELECT ON TABLE mbean TO 'r'"),
        ("GRANT SELECT ON mbeans TO r", "GRANT SELECT ON TABLE mbeans TO 'r'"),
        ("GRANT SELECT ON keyspaces.roles TO r", "GRANT SELECT ON TABLE keyspaces.roles TO 'r'"),
        ("LIST ROLES", "LIST ROLES"),
        ("LIST ROLES OF R NORECURSIVE", "LIST ROLES OF 'r' NORECURSIVE"),
        ("LIST USERS", "LIST USERS"),
        ("LIST ALL", "LIST ALL PERMISSIONS"),
        ("LIST UNMASK", "LIST UNMASK"),
        ("LIST SELECT, MODIFY PERMISSION ON t OF r NORECURSIVE", "LIST SELECT, MODIFY ON TABLE t OF 'r' NORECURSIVE"),
        ("LIST ALL PERMISSIONS ON role OF r", "LIST ALL PERMISSIONS ON TABLE role OF 'r'"),
        ("ADD IDENTITY X TO ROLE R", "ADD IDENTITY 'X' TO ROLE 'R'"),
        ("ADD IDENTITY IF NOT EXISTS 'x' TO ROLE 'r'", "ADD IDENTITY IF NOT EXISTS 'x' TO ROLE 'r'"),
        ("DROP IDENTITY IF EXISTS 'x'", "DROP IDENTITY IF EXISTS 'x'"),
    ] {
        let statement = parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert!(matches!(statement, Statement::Access(_)), "{text}");
        assert_eq!(statement.to_string(), canonical, "{text}");
        assert_eq!(parse(canonical), Ok(statement), "{text}");
    }
}

#[test]
fn what_is_wrong_is_said_in_cassandras_words() {
    let quoted_user = "Quoted strings are are not supported for user names and USER is deprecated, please use ROLE";
    let quoted_identity = "Quoted strings are are not supported for identity";
    for (text, error) in [
        (
            "CREATE ROLE r WITH PASSWORD = 'x' AND HASHED PASSWORD = 'y'",
            "Options 'password' and 'hashed password' are mutually exclusive",
        ),
        (
            "ALTER ROLE r WITH GENERATED PASSWORD AND PASSWORD = 'x'",
            "Options 'password' and 'generated password' are mutually exclusive",
        ),
        ("CREATE ROLE r WITH PASSWORD = 'x' AND PASSWORD = 'y'", "Multiple definition for property 'PASSWORD'"),
        (
            "CREATE ROLE r WITH HASHED PASSWORD = 'x' AND HASHED PASSWORD = 'y'",
            "Multiple definition for property 'HASHED_PASSWORD'",
        ),
        ("CREATE ROLE r WITH LOGIN = true AND LOGIN = true", "Multiple definition for property 'LOGIN'"),
        ("CREATE ROLE r WITH SUPERUSER = true AND SUPERUSER = true", "Multiple definition for property 'SUPERUSER'"),
        ("CREATE ROLE r WITH OPTIONS = {} AND OPTIONS = {}", "Multiple definition for property 'OPTIONS'"),
        ("CREATE ROLE r WITH OPTIONS = {'a': 1, 'a': 2}", "Multiple definition for property a"),
        (
            "CREATE ROLE r WITH OPTIONS = {'a': ?}",
            "Invalid property value: ? for property: 'a' (bind variables are not supported in DDL queries)",
        ),
        ("CREATE ROLE r WITH OPTIONS = {'a': [1]}", "Invalid property value: [1] for property: 'a'"),
        ("CREATE ROLE r WITH OPTIONS = {'a': null}", "Invalid property value: NULL for property: 'a'"),
        (
            "CREATE ROLE r WITH OPTIONS = {?: 1}",
            "Invalid property name: ? (bind variables are not supported in DDL queries)",
        ),
        ("CREATE ROLE r WITH OPTIONS = {'a'}", "line 1:33 mismatched input '}' expecting ':'"),
        ("CREATE ROLE r WITH LOGIN = 1", "line 1:27 mismatched input '1' expecting BOOLEAN"),
        ("CREATE ROLE r WITH PASSWORD 'x'", "line 1:28 mismatched input ''x'' expecting '='"),
        ("CREATE ROLE r WITH PASSWORD = x", "line 1:30 mismatched input 'x' expecting STRING_LITERAL"),
        ("CREATE ROLE r LOGIN = true", "line 1:14 mismatched input 'LOGIN' expecting EOF"),
        ("CREATE ROLE r WITH x = 1", "line 1:19 no viable alternative at input 'x'"),
        ("CREATE ROLE r WITH ACCESS TO ALL DATACENTERS AND ACCESS TO DATACENTERS {'a'}", "All has been set"),
        ("CREATE ROLE r WITH ACCESS FROM CIDRS {'a'} AND ACCESS FROM ALL CIDRS", "CIDR Groups have already been set"),
        ("CREATE ROLE r WITH ACCESS TO DATACENTERS {}", "line 1:42 mismatched input '}' expecting STRING_LITERAL"),
        ("CREATE ROLE r WITH ACCESS TO CIDRS {'a'}", "line 1:29 no viable alternative at input 'CIDRS'"),
        ("CREATE ROLE ?", "Bind variables cannot be used for role names"),
        ("CREATE ROLE :r", "line 1:12 no viable alternative at input ':'"),
        ("CREATE ROLE \"\"", "line 1:12 no viable alternative at input '\"\"'"),
        ("CREATE ROLE select", "line 1:12 no viable alternative at input 'select'"),
        ("CREATE ROLE a.b", "line 1:13 mismatched input '.' expecting EOF"),
        ("CREATE ROLE IF EXISTS r", "line 1:15 mismatched input 'EXISTS' expecting K_NOT"),
        ("CREATE OR REPLACE ROLE r", "line 1:18 no viable alternative at input 'ROLE'"),
        ("CREATE IDENTITY 'x'", "line 1:7 no viable alternative at input 'IDENTITY'"),
        ("CREATE USER \"u\"", quoted_user),
        ("ALTER USER \"u\" SUPERUSER", quoted_user),
        ("DROP USER \"u\"", quoted_user),
        ("CREATE USER users", "line 1:12 no viable alternative at input 'users'"),
        ("CREATE USER ?", "line 1:12 no viable alternative at input '?'"),
        ("CREATE USER u WITH SUPERUSER", "line 1:19 no viable alternative at input 'SUPERUSER'"),
        ("CREATE USER u SUPERUSER NOSUPERUSER", "line 1:24 mismatched input 'NOSUPERUSER' expecting EOF"),
        ("CREATE USER u WITH PASSWORD = 'x'", "line 1:28 mismatched input '=' expecting STRING_LITERAL"),
        ("GRANT r FROM s", "line 1:8 mismatched input 'FROM' expecting K_TO"),
        ("REVOKE r TO s", "line 1:9 mismatched input 'TO' expecting K_FROM"),
        ("GRANT r TO ?", "Bind variables cannot be used for role names"),
        ("GRANT SELECT TO r", "line 1:13 mismatched input 'TO' expecting K_ON"),
        ("GRANT SELECT PERMISSIONS ON t TO r", "line 1:13 mismatched input 'PERMISSIONS' expecting K_ON"),
        ("GRANT ALL PERMISSION ON t TO r", "line 1:10 no viable alternative at input 'PERMISSION'"),
        ("GRANT ALL, SELECT ON t TO r", "line 1:9 no viable alternative at input ','"),
        ("GRANT SELECT, ALL ON t TO r", "line 1:14 no viable alternative at input 'ALL'"),
        ("GRANT READ ON t TO r", "line 1:11 mismatched input 'ON' expecting K_TO"),
        ("GRANT SELECT ON KEYSPACE ? TO r", "Bind variables cannot be used for keyspace names"),
        ("GRANT SELECT ON ks.? TO r", "Bind variables cannot be used for table names"),
        ("GRANT EXECUTE ON FUNCTION ?.f() TO r", "Bind variables cannot be used for keyspace names"),
        ("GRANT SELECT ON ROLE ? TO r", "Bind variables cannot be used for role names"),
        ("GRANT SELECT ON ALL TABLES TO r", "line 1:27 mismatched input 'TO' expecting K_IN"),
        ("GRANT SELECT ON ALL TABLES IN ks TO r", "line 1:30 mismatched input 'ks' expecting K_KEYSPACE"),
        ("GRANT SELECT ON TABLE table TO r", "line 1:22 no viable alternative at input 'table'"),
        ("GRANT SELECT ON t FROM r", "line 1:18 mismatched input 'FROM' expecting K_TO"),
        ("GRANT EXECUTE ON FUNCTION ks.f TO r", "line 1:31 mismatched input 'TO' expecting '('"),
        (
            "GRANT EXECUTE ON FUNCTION f(int) TO r",
            "In this context function name must be explictly qualified by a keyspace",
        ),
        ("LIST ROLES ON t", "line 1:11 mismatched input 'ON' expecting EOF"),
        ("LIST USERS OF r", "line 1:11 mismatched input 'OF' expecting EOF"),
        ("LIST PERMISSIONS", "line 1:5 no viable alternative at input 'PERMISSIONS'"),
        ("LIST x", "line 1:5 no viable alternative at input 'x'"),
        ("LIST ALL NORECURSIVE OF r", "line 1:21 mismatched input 'OF' expecting EOF"),
        ("ADD x", "line 1:4 mismatched input 'x' expecting K_IDENTITY"),
        ("ADD IDENTITY 'x' TO r", "line 1:20 mismatched input 'r' expecting K_ROLE"),
        ("ADD IDENTITY \"x\" TO ROLE r", quoted_identity),
        ("ADD IDENTITY 'x' TO ROLE \"r\"", quoted_identity),
        ("DROP IDENTITY identity", "line 1:14 no viable alternative at input 'identity'"),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), error, "{text}");
    }
    let function = parse("GRANT EXECUTE ON FUNCTION f() TO r").unwrap_err();
    assert!(function.is_invalid, "the text can be read");
}

/// As `javax.management.ObjectName` takes and writes them.
#[test]
fn names_of_mbeans_are_canonical() {
    let mbean = |word: &str, name: &str| {
        let text = format!("LIST ALL ON {word} '{name}'");
        match parse(&text) {
            Ok(Statement::Access(AccessStatement::ListPermissions {
                on: Some(AccessResource::MBean(name)), ..
            })) => Ok(name),
            Ok(other) => panic!("{text}: {other:?}"),
            Err(error) => Err(error.to_string()),
        }
    };
    for (name, canonical) in [
        ("a:b=c", "a:b=c"),
        (":b=c", ":b=c"),
        ("a:b=", "a:b="),
        ("a=b:c=d", "a=b:c=d"),
        ("o.a.db:type=Tables,keyspace=ks,*", "o.a.db:keyspace=ks,type=Tables,*"),
        ("a:*", "a:*"),
        ("a:b=c,*,", "a:b=c,*"),
        ("a:z=*,y=?,*", "a:y=?,z=*,*"),
        ("a:b=\"x,=:\\n\\\"\",a=1", "a:a=1,b=\"x,=:\\n\\\"\""),
    ] {
        assert_eq!(mbean("MBEAN", name).as_deref(), Ok(canonical));
        assert_eq!(mbean("MBEAN", canonical).as_deref(), Ok(canonical));
    }
    for name in [
        "a",
        "a:",
        "a:b",
        "a:=c",
        "a:b=c,",
        "a:b=c,b=d",
        "a:*,*",
        "a:*x",
        "a:b=c=d",
        "a:b=c:d",
        "a:b?=c",
        "a:b=\"c",
        "a:b=\"c\"d",
        "a:b=\"\\x\"",
        "a:b=x\"y",
        "a\n:b=c",
        "a:b=c\n",
    ] {
        assert_eq!(mbean("MBEAN", name), Err(format!("{name} is not a valid JMX object name")));
    }
    for name in ["a:b=c", "a:b=\"\\*\""] {
        let words = format!("Plural form used, but non-pattern JMX object name specified ({name})");
        assert_eq!(mbean("MBEANS", name), Err(words));
    }
    for name in ["a:*", "a*:b=c", "a:b=?", "a:b=\"*\""] {
        assert!(mbean("MBEANS", name).is_ok(), "{name}");
    }
    assert_eq!(mbean("MBEAN", "").unwrap_err(), "Empty JMX object name supplied");
    assert_eq!(mbean("MBEANS", "*:*").unwrap_err(), "Please use ALL MBEANS instead of wildcard pattern");
}

#[test]
fn debug_text_shows_no_password() {
    for text in [
        "CREATE ROLE r WITH PASSWORD = 'tiger'",
        "ALTER ROLE r WITH HASHED PASSWORD = 'tiger'",
        "CREATE USER u WITH PASSWORD 'tiger'",
        "ALTER USER u WITH HASHED PASSWORD 'tiger'",
    ] {
        let statement = parse(text).unwrap();
        assert!(!format!("{statement:?}").contains("tiger"), "{text}");
        assert!(statement.to_string().contains("'tiger'"), "{text}");
    }
}

#[test]
fn lists_are_bounded() {
    let list = |item: &str, count: usize| vec![item; count].join(", ");
    for text in [
        format!("GRANT {} ON t TO r", list("SELECT", 20_000)),
        format!("CREATE ROLE r WITH ACCESS TO DATACENTERS {{{}}}", list("'a'", 20_000)),
        format!("CREATE ROLE r WITH OPTIONS = {{{}}}", list("'a': 1", 20_000)),
        format!("GRANT EXECUTE ON FUNCTION ks.f({}) TO r", list("int", 20_000)),
    ] {
        assert!(parse(&text).unwrap_err().to_string().contains("a statement has at most 10240"));
    }
}

/// Each text is of words that these statements have.
const WORDS: [&str; 60] = [
    "CREATE",
    "ALTER",
    "DROP",
    "GRANT",
    "REVOKE",
    "LIST",
    "ADD",
    "ROLE",
    "ROLES",
    "USER",
    "USERS",
    "IDENTITY",
    "IF",
    "NOT",
    "EXISTS",
    "WITH",
    "AND",
    "PASSWORD",
    "HASHED",
    "GENERATED",
    "LOGIN",
    "SUPERUSER",
    "NOSUPERUSER",
    "OPTIONS",
    "ACCESS",
    "TO",
    "FROM",
    "DATACENTERS",
    "CIDRS",
    "ALL",
    "PERMISSIONS",
    "PERMISSION",
    "ON",
    "OF",
    "NORECURSIVE",
    "SELECT",
    "UNMASK",
    "KEYSPACE",
    "KEYSPACES",
    "TABLES",
    "IN",
    "FUNCTION",
    "FUNCTIONS",
    "MBEAN",
    "MBEANS",
    "'a:b=*'",
    "''",
    "'it''s'",
    "r",
    "\"R\"",
    "?",
    "=",
    "true",
    "{",
    "}",
    ":",
    ",",
    "(",
    ")",
    ".",
];

/// The first words of each statement.
const HEADS: [&str; 13] = [
    "CREATE ROLE r WITH",
    "ALTER ROLE r WITH",
    "CREATE USER u",
    "ALTER USER u",
    "DROP ROLE",
    "DROP USER",
    "GRANT",
    "GRANT SELECT ON",
    "REVOKE ALL ON",
    "LIST",
    "LIST ALL",
    "ADD IDENTITY",
    "DROP IDENTITY",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(4_000))]

    /// No text panics, and what parses round-trips.
    #[test]
    fn any_text_is_safe(head in 0..HEADS.len(), words in proptest::collection::vec(0..WORDS.len(), 0..9)) {
        let words: Vec<&str> = words.iter().map(|&word| WORDS[word]).collect();
        let text = format!("{} {}", HEADS[head], words.join(" "));
        if let Ok(statement) = parse(&text) {
            let printed = statement.to_string();
            proptest::prop_assert_eq!(parse(&printed), Ok(statement), "{}", printed);
        }
    }
}
