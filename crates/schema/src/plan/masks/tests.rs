//! Masks in statements: what is kept, what is refused in whose words, and what DESCRIBE shows.

use std::collections::BTreeMap;

use topology::Strategies;

use crate::{DdlContext, Schema, SchemaChange, SchemaError, Table, TableId, describe, plan_ddl};

/// A schema with a keyspace `k`.
struct Masking {
    schema: Schema,
    is_enabled: bool,
}

impl Masking {
    fn new() -> Self {
        let mut masking = Masking { schema: Schema::empty(), is_enabled: true };
        let keyspace = "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
        masking.run(keyspace).expect("it can be made");
        masking
    }

    /// Runs a statement; each change is encoded and decoded on its way. Gives how many there were.
    fn run(&mut self, text: &str) -> Result<usize, SchemaError> {
        let context = DdlContext {
            current_keyspace: Some("k"),
            new_id: TableId([u8::try_from(self.schema.tables().count()).expect("few") + 1; 16]),
            datacenters: &BTreeMap::from([("datacenter1".to_owned(), 1)]),
            strategies: &Strategies::default(),
            now_micros: 1,
            masks_enabled: self.is_enabled,
        };
        let statement = cql_syntax::parse(text).expect("it can be parsed");
        let plan = plan_ddl(&self.schema, &statement, &context)?;
        for change in &plan.changes {
            let mut bytes = Vec::new();
            change.encode(&mut bytes);
            let decoded = SchemaChange::decode(&mut stdx::Reader::new(&bytes)).expect("it was encoded");
            assert_eq!(decoded, *change, "{text}");
            self.schema = self.schema.with(&decoded);
        }
        Ok(plan.changes.len())
    }

    fn refusal(&mut self, text: &str) -> String {
        self.run(text).expect_err(text).to_string()
    }

    fn table(&self, name: &str) -> &Table {
        self.schema.table("k", name).expect("the table is there")
    }

    /// A column's mask, as DESCRIBE shows it.
    fn mask(&self, table: &str, column: &str) -> Option<String> {
        let column = self.table(table).column(column).expect("the column is there");
        let mask = column.mask.as_ref()?;
        assert!(mask.call(&column.ty).is_some(), "{mask} can be called");
        Some(mask.to_string())
    }
}

#[test]
fn masks_are_kept_as_they_were_said() {
    let mut masking = Masking::new();
    masking
        .run(
            "CREATE TABLE t (k int MASKED WITH mask_null() PRIMARY KEY, a text MASKED WITH DEFAULT, b text MASKED WITH mask_inner(1, null), \
             c ascii MASKED WITH mask_outer(2, 1, '#'), d int MASKED WITH mask_replace(-7), e blob MASKED WITH mask_hash('MD5'), \
             f set<int> MASKED WITH mask_replace({3, 1}), g tuple<int, text> MASKED WITH mask_replace((1, 'it''s')), \
             h frozen<list<text>> MASKED WITH system.mask_default(), i int)",
        )
        .expect("all are masks");
    for (column, mask) in [
        ("k", Some("system.mask_null()")),
        ("a", Some("system.mask_default()")),
        ("b", Some("system.mask_inner(1, null)")),
        ("c", Some("system.mask_outer(2, 1, '#')")),
        ("d", Some("system.mask_replace(-7)")),
        ("e", Some("system.mask_hash('MD5')")),
        ("f", Some("system.mask_replace({1, 3})")),
        ("g", Some("system.mask_replace((1, 'it''s'))")),
        ("h", Some("system.mask_default()")),
        ("i", None),
    ] {
        assert_eq!(masking.mask("t", column).as_deref(), mask, "{column}");
    }
    assert!(masking.table("t").has_masks());
    let text = describe::table(masking.table("t"));
    assert!(text.contains("    k int MASKED WITH system.mask_null() PRIMARY KEY,\n"), "{text}");
    assert!(text.contains("    c ascii MASKED WITH system.mask_outer(2, 1, '#'),\n"), "{text}");
}

#[test]
fn a_description_makes_the_table_again() {
    let mut masking = Masking::new();
    let create = "CREATE TABLE t (k int, c text MASKED WITH mask_outer(1, 1), s int STATIC MASKED WITH DEFAULT, v map<int, text> \
                  MASKED WITH mask_replace({1: 'x'}), PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC)";
    masking.run(create).expect("it can be made");
    masking.run("ALTER TABLE t DROP v").expect("it can be dropped");
    masking.run("ALTER TABLE t ADD v map<int, text> MASKED WITH mask_null()").expect("it can come back");
    let before = masking.table("t").clone();
    let text = describe::statements(&masking.schema, &before);
    masking.run("DROP TABLE t").expect("it is there");
    for statement in text.split_terminator('\n').collect::<Vec<_>>().join(" ").split_terminator(';') {
        masking.run(statement.trim()).expect(statement);
    }
    let after = masking.table("t");
    assert_eq!((after.columns(), &after.dropped), (before.columns(), &before.dropped));
}

#[test]
fn a_mask_is_altered_and_dropped() {
    let mut masking = Masking::new();
    masking.run("CREATE TABLE t (k int PRIMARY KEY, v text)").expect("it can be made");
    assert_eq!(masking.run("ALTER TABLE t ALTER v DROP MASKED"), Ok(0), "there is none");
    assert_eq!(masking.run("ALTER TABLE t ALTER v MASKED WITH mask_inner(1, 1)"), Ok(1));
    assert_eq!(masking.run("ALTER TABLE t ALTER v MASKED WITH mask_inner(1, 1)"), Ok(0), "it is so already");
    assert_eq!(masking.run("ALTER TABLE t ALTER k MASKED WITH DEFAULT"), Ok(1));
    assert_eq!(masking.mask("t", "v").as_deref(), Some("system.mask_inner(1, 1)"));
    // A renamed column keeps its mask.
    assert_eq!(masking.run("ALTER TABLE t RENAME k TO key"), Ok(1));
    assert_eq!(masking.mask("t", "key").as_deref(), Some("system.mask_default()"));
    assert_eq!(masking.run("ALTER TABLE t ALTER v DROP MASKED"), Ok(1));
    assert_eq!(masking.mask("t", "v"), None);
    assert_eq!(masking.run("ALTER TABLE t ALTER IF EXISTS nothere MASKED WITH DEFAULT"), Ok(0));
    assert_eq!(masking.run("ALTER TABLE t ALTER IF EXISTS nothere DROP MASKED"), Ok(0));
    let missing = "Column with name 'nothere' doesn't exist on table 't'";
    assert_eq!(masking.refusal("ALTER TABLE t ALTER nothere MASKED WITH DEFAULT"), missing);
    assert_eq!(masking.refusal("ALTER TABLE t ALTER nothere DROP MASKED"), missing);
}

#[test]
fn a_mask_must_be_one_of_the_columns_type() {
    let mut masking = Masking::new();
    masking.run("CREATE TABLE t (k int PRIMARY KEY, v text, n int)").expect("it can be made");
    for (column, mask, sentence) in [
        (
            "v",
            "mask_missing()",
            "Unable to find masking function for v, no declared function matches the signature mask_missing()",
        ),
        (
            "v",
            "other.mask_default()",
            "Unable to find masking function for v, no declared function matches the signature other.mask_default()",
        ),
        ("v", "mask_default(1)", "Invalid number of arguments for function system.mask_default(any)"),
        (
            "v",
            "mask_inner('a', 'b')",
            "Function system.mask_inner requires an argument of type int, but found argument 'a' of type ascii",
        ),
        ("v", "to_json()", "Not-masking function to_json() cannot be used for masking table columns"),
        (
            "n",
            "mask_inner(1, 1)",
            "Function system.mask_inner requires an argument of type [text|varchar|ascii], but found argument \
             org.apache.cassandra.db.marshal.Int32Type of type int",
        ),
        (
            "n",
            "mask_replace('a')",
            "Type error: 'a' cannot be passed as argument 1 of function system.mask_replace of type int",
        ),
        ("n", "mask_replace([1])", "Unexpected receiver type 'int'; only list and vector are expected"),
        ("n", "mask_replace()", "Invalid number of arguments for function system.mask_replace(any, any)"),
        ("v", "max()", "Aggregate function max() cannot be used for masking table columns"),
        (
            "v",
            "mask_hash()",
            "Masking function mask_hash() return type is blob. This is different to the type of the masked column v of type text. \
             Masking functions can only be attached to table columns if they return the same data type as the masked column.",
        ),
    ] {
        assert_eq!(masking.refusal(&format!("ALTER TABLE t ALTER {column} MASKED WITH {mask}")), sentence);
        let ty = if column == "n" { "int" } else { "text" };
        let create = format!("CREATE TABLE u (k int PRIMARY KEY, {column} {ty} MASKED WITH {mask})");
        assert_eq!(masking.refusal(&create), sentence);
    }
    let call = masking.refusal("ALTER TABLE t ALTER n MASKED WITH mask_replace(abs(-1))");
    assert_eq!(call, "The arguments of a mask are constants, which abs(-1) is not");
    assert_eq!(masking.run("ALTER TABLE t ALTER n MASKED WITH mask_replace((int)1)"), Ok(1), "a hint is no call");
}

#[test]
fn masks_that_are_not_enabled_are_dropped_alone() {
    let mut masking = Masking::new();
    masking.run("CREATE TABLE t (k int PRIMARY KEY, v text MASKED WITH DEFAULT)").expect("it can be made");
    masking.is_enabled = false;
    for statement in [
        "CREATE TABLE u (k int PRIMARY KEY, v text MASKED WITH DEFAULT)",
        "ALTER TABLE t ADD w text MASKED WITH nothere()",
        "ALTER TABLE t ALTER v MASKED WITH mask_null()",
    ] {
        assert!(super::sets_mask(&cql_syntax::parse(statement).expect("it can be parsed")));
        assert!(masking.refusal(statement).starts_with("Cannot mask columns because"), "{statement}");
    }
    assert_eq!(masking.run("ALTER TABLE t ALTER v DROP MASKED"), Ok(1));
}

#[test]
fn the_fields_of_a_masks_type_follow_the_type() {
    let mut masking = Masking::new();
    masking.run("CREATE TYPE u (a int, b text)").expect("it can be made");
    masking
        .run("CREATE TABLE t (k int PRIMARY KEY, v frozen<u> MASKED WITH mask_replace({a: 1, b: 'x'}), w u MASKED WITH DEFAULT)")
        .expect("both are masks");
    assert_eq!(masking.mask("t", "v").as_deref(), Some("system.mask_replace({a: 1, b: 'x'})"));
    masking.run("ALTER TYPE u ADD c int").expect("it can be altered");
    assert_eq!(masking.mask("t", "v").as_deref(), Some("system.mask_replace({a: 1, b: 'x', c: null})"));
    assert_eq!(masking.mask("t", "w").as_deref(), Some("system.mask_default()"));
}
