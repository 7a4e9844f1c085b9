//! Profiles as cassandra-stress has them, and what is refused of them.

use super::*;

const PROFILE: &str = "
# A comment.
specname: example
keyspace: ks
keyspace_definition: |
  CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
table: t
table_definition: |
  CREATE TABLE t (id int, at timeuuid, v text, PRIMARY KEY (id, at))
extra_definitions:
  - CREATE INDEX ON t (v);
columnspec:
  - name: id
    population: uniform(1..10M)
  - Name: at
    Cluster: gaussian(1..100, 50, 10)
  - name: v
    size: fixed(64)
insert:
  partitions: fixed(1)
  BatchType: UNLOGGED
  select: uniform(1..5)/10
  row-population: fixed(1)/2
queries:
  read1:
    cql: select * from t where id = ? LIMIT 10
    fields: samerow
  Read2:
    cql: select v from t where id = ? and at >= ?
    fields: multirow
  read3:
    cql: select v from t where id = ?
";

fn refused(text: &str) -> String {
    parse(text).expect_err(text)
}

#[test]
fn a_profile_is_read() {
    let (profile, name) = parse(PROFILE).unwrap();
    assert_eq!((name.as_str(), profile.keyspace.as_str(), profile.table.as_str()), ("example", "ks", "t"));
    let begins: Vec<&str> = profile.definitions.iter().map(|text| &text[..12]).collect();
    assert_eq!(begins, ["CREATE KEYSP", "CREATE TABLE", "CREATE INDEX"]);
    let shown = |distribution: &Option<Distribution>| distribution.as_ref().map(ToString::to_string);
    assert_eq!(shown(&profile.columns["id"].population).as_deref(), Some("UNIFORM(1..10000000)"));
    assert_eq!(shown(&profile.columns["at"].cluster).as_deref(), Some("GAUSSIAN(1..100,50,10)"));
    assert_eq!(shown(&profile.columns["v"].size).as_deref(), Some("FIXED(64)"));
    assert_eq!(profile.columns["v"].population, None);
    assert_eq!(profile.insert.batch, scylla::statement::batch::BatchType::Unlogged);
    assert_eq!((profile.insert.select.most(), profile.insert.population.draw(1)), (0.5, 0.5));
    let rows: Vec<_> = profile.queries.iter().map(|(name, query)| (name.as_str(), query.rows)).collect();
    let (same, each) = (ArgumentRows::Same, ArgumentRows::Each);
    assert_eq!(rows, [("read1", same), ("read2", each), ("read3", each)]);
    assert_eq!(profile.full_table(), "\"ks\".\"t\"");
}

#[test]
fn operations_are_known_by_their_names() {
    let (profile, name) = parse(PROFILE).unwrap();
    let kind = |operation: &str| profile.kind(&name, operation);
    assert_eq!(
        (kind("insert"), kind("Insert"), kind("example.insert")),
        (Some(Kind::Insert), Some(Kind::Insert), Some(Kind::Insert))
    );
    assert_eq!((kind("READ2"), kind("example.read1")), (Some(Kind::Query("read2")), Some(Kind::Query("read1"))));
    assert_eq!((kind("read9"), kind("other.insert")), (None, None));
    let (unnamed, name) = parse("{keyspace: a, table: b}").unwrap();
    assert_eq!((name.as_str(), unnamed.insert), ("a.b", InsertSettings::default()));
}

#[test]
fn what_a_profile_cannot_say_is_refused_by_name() {
    let base = "keyspace: a\ntable: b\n";
    for (text, told) in [
        ("table: b", "keyspace"),
        ("keyspace: a", "table"),
        ("keyspace: a\ntable: b\nqueriess: {}", "queriess"),
        ("keyspace: [a", "line"),
    ] {
        let reason = refused(text);
        assert!(reason.contains(told), "{text}: {reason}");
    }
    for (text, told) in [
        ("columnspec: [{name: c, width: fixed(1)}]", "width"),
        ("columnspec: [{size: fixed(1)}]", "no name"),
        ("columnspec: [{name: c}, {name: c}]", "duplicate"),
        ("columnspec: [{name: c, population: zipf(1..2)}]", "zipf"),
        ("columnspec: [{name: c, size: fixed(1B)}]", "bytes"),
        ("columnspec: [{name: c, cluster: uniform(0..2)}]", "from 1"),
        ("insert: {visits: fixed(1)}", "visits"),
        ("insert: {condition: v = 1}", "conditional"),
        ("insert: {select: fixed(1)}", "divisor"),
        ("insert: {select: fixed(1)/0}", "divisor"),
        ("insert: {batchtype: loud}", "loud"),
        ("queries: {q: {cql: select, rows: 1}}", "rows"),
        ("queries: {q: {fields: samerow}}", "cql"),
        ("queries: {q: {cql: select, fields: allrows}}", "allrows"),
        ("queries: {insert: {cql: select}}", "insert"),
        ("queries: {q: {cql: select}, Q: {cql: select}}", "duplicate"),
        ("token_range_queries: {all: {columns: '*', page_size: 10}}", "token_range_queries"),
    ] {
        let reason = refused(&format!("{base}{text}"));
        assert!(reason.contains(told), "{text}: {reason}");
    }
}
