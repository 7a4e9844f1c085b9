//! DDL against recordings of Cassandra 5.0.6: `testdata/*.txt`.

use std::collections::BTreeMap;

use super::*;
use crate::describe;
use crate::ids::TableId;

/// A schema that statements are run on.
struct Session {
    schema: Schema,
    datacenters: BTreeMap<String, usize>,
    strategies: Strategies,
    tables_made: u8,
}

impl Session {
    fn new() -> Self {
        Session::on([("datacenter1", 1)], Strategies::default())
    }

    /// A schema of a cluster with so many nodes in each datacenter.
    fn on<const N: usize>(datacenters: [(&str, usize); N], strategies: Strategies) -> Self {
        let datacenters = datacenters.map(|(name, nodes)| (name.to_owned(), nodes)).into();
        Session { schema: Schema::empty(), datacenters, strategies, tables_made: 0 }
    }

    /// Runs a statement and says what came of it in the recordings' words.
    fn run(&mut self, text: &str) -> String {
        let statement = match cql_syntax::parse(text) {
            Ok(statement) => statement,
            Err(error) => return format!("syntax: {error}"),
        };
        self.tables_made += 1;
        let context = DdlContext {
            current_keyspace: None,
            new_id: TableId([self.tables_made; 16]),
            datacenters: &self.datacenters,
            strategies: &self.strategies,
            now_micros: 1_700_000_000_000_000,
            masks_enabled: false,
        };
        match plan_ddl(&self.schema, &statement, &context) {
            Ok(plan) => {
                assert_eq!(plan.changes.is_empty(), plan.event.is_none(), "{text}");
                let told: Vec<SchemaEvent> =
                    plan.changes.iter().map(|change| SchemaEvent::of(&self.schema, change)).collect();
                assert_eq!(
                    told,
                    Vec::from_iter(plan.event.clone()),
                    "{text}: all nodes tell their clients what this one does"
                );
                if let Some(event) = told.first() {
                    assert_eq!(SchemaEvent::of_statement(&statement, None).as_ref(), Some(event), "{text}");
                }
                assert_changes_survive_encoding(&plan.changes);
                self.schema = self.schema.with_all(&plan.changes);
                let mut lines = vec!["ok".to_owned()];
                lines.extend(plan.warnings.iter().map(|warning| format!("warning: {warning}")));
                lines.join("\n")
            }
            Err(error) => {
                let kind = match error {
                    SchemaError::Syntax { .. } => "syntax",
                    SchemaError::Invalid { .. } => "invalid",
                    SchemaError::Configuration { .. } => "configuration",
                    SchemaError::AlreadyExists { .. } => "already exists",
                    SchemaError::Unauthorized { .. } => "unauthorized",
                };
                format!("{kind}: {error}")
            }
        }
    }

    /// Runs statements that each end a line, all of which must be done.
    fn run_all(&mut self, text: &str) {
        for statement in text.split_terminator(";\n") {
            assert_eq!(self.run(statement), "ok", "{statement}");
        }
    }

    /// The types of the table's dropped columns, as the schema's tables show them.
    fn dropped_types(&self, keyspace: &str, table: &str) -> Vec<String> {
        let table = self.schema.table(keyspace, table).expect("the table is there");
        table.dropped.values().map(|dropped| dropped.shown().ty.to_string()).collect()
    }

    /// DESCRIBE's text of what `text` (`DESCRIBE TABLE k.t`) names.
    fn describe(&self, text: &str) -> String {
        let name = text.split_whitespace().nth(2).expect("DESCRIBE names something").replace('"', "");
        match name.split_once('.') {
            Some((keyspace, table)) => match self.schema.table(keyspace, table) {
                Some(table) => describe::table(table),
                None => format!("invalid: Table '{table}' not found in keyspace '{keyspace}'"),
            },
            None => match self.schema.keyspace(&name) {
                Some(keyspace) => describe::keyspace(keyspace),
                None => format!("invalid: '{name}' not found in keyspaces"),
            },
        }
    }
}

fn assert_changes_survive_encoding(changes: &[SchemaChange]) {
    for change in changes {
        let mut bytes = Vec::new();
        change.encode(&mut bytes);
        let mut reader = stdx::Reader::new(&bytes);
        assert_eq!(SchemaChange::decode(&mut reader).as_ref(), Ok(change));
        assert!(reader.is_empty());
    }
}

/// The recording's entries: what stands behind `>`, and the answer.
fn entries(recording: &str) -> impl Iterator<Item = (&str, &str)> {
    recording.split("\n> ").skip(1).map(|entry| {
        let (statement, answer) = entry.split_once('\n').expect("an entry has an answer");
        (statement, answer.trim_end())
    })
}

fn replay(recording: &str) {
    let mut session = Session::new();
    let mut differences = Vec::new();
    for (statement, recorded) in entries(recording) {
        let answer = match statement.starts_with("DESCRIBE") {
            true => session.describe(statement),
            false => session.run(statement),
        };
        if answer != recorded {
            differences.push(format!("> {statement}\nCassandra: {recorded}\nhere:      {answer}"));
        }
    }
    assert!(differences.is_empty(), "{} answers differ:\n{}", differences.len(), differences.join("\n\n"));
}

/// Cassandra's `maybeWarnOnOptions`: NetworkTopologyStrategy compares with the datacenter's nodes, SimpleStrategy with all.
#[test]
fn a_factor_above_the_nodes_of_its_datacenter_is_warned_of() {
    let mut session = Session::on([("dc1", 3), ("dc2", 1)], Strategies::default());
    let mut run = |replication: &str| session.run(&format!("CREATE KEYSPACE {replication}"));
    let network =
        |name, factors| format!("{name} WITH replication = {{'class': 'NetworkTopologyStrategy', {factors}}}");
    assert_eq!(run(&network("a", "'dc1': 3, 'dc2': 1")), "ok");
    let one =
        "ok\nwarning: Your replication factor 2 for keyspace b is higher than the number of nodes 1 for datacenter dc2";
    assert_eq!(run(&network("b", "'dc1': 3, 'dc2': 2")), one, "there are as many in all");
    let both = "ok\nwarning: Your replication factor 4 for keyspace c is higher than the number of nodes 3 for datacenter dc1\n\
                warning: Your replication factor 4 for keyspace c is higher than the number of nodes 1 for datacenter dc2";
    assert_eq!(run(&network("c", "'replication_factor': 4")), both);
    let simple = |name, factor| {
        format!("{name} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {factor}}}")
    };
    assert_eq!(run(&simple("d", 4)), "ok");
    let all = "ok\nwarning: Your replication factor 5 for keyspace e is higher than the number of nodes 4";
    assert_eq!(run(&simple("e", 5)), all);
}

/// A strategy with so many copies.
struct Copies(u32);

impl topology::Strategy for Copies {
    fn factor(&self) -> topology::Factor {
        topology::Factor::Total(self.0)
    }

    fn place(&self, _: topology::TokenRange, _: &topology::Ring) -> Vec<topology::NodeIndex> {
        Vec::new()
    }
}

#[test]
fn a_registered_strategy_is_stored_with_its_options() {
    let mut strategies = Strategies::default();
    strategies.register("org.example.Copies", |options| match options.get("copies") {
        Some(copies) => Ok(Box::new(Copies(topology::strategy::parse_factor(copies)?))),
        None => Err(topology::OptionsError::invalid("Copies needs copies")),
    });
    let mut session = Session::on([("dc1", 2)], strategies);
    let replication = |options| format!("WITH replication = {{'class': 'org.example.Copies'{options}}}");
    let create = session.run(&format!("CREATE KEYSPACE k {}", replication(", 'copies': 2, 'colour': 'red'")));
    assert_eq!(create, "ok");
    let replication_option = &session.schema.keyspace("k").expect("it is there").def.replication;
    let stored: Vec<_> = replication_option.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(stored, [("class", "org.example.Copies"), ("colour", "red"), ("copies", "2")]);
    let refused = session.run(&format!("ALTER KEYSPACE k {}", replication("")));
    assert_eq!(refused, "configuration: Copies needs copies");
    assert_eq!(
        session.run(&format!("ALTER KEYSPACE k {}", replication(", 'copies': 3"))),
        "ok\nwarning: Your replication factor 3 for keyspace k is higher than the number of nodes 2\n\
         warning: When increasing replication factor you need to run a full (-full) repair to distribute the data."
    );
}

#[test]
fn keyspaces_as_recorded() {
    replay(include_str!("../../testdata/keyspaces.txt"));
}

#[test]
fn tables_as_recorded() {
    replay(include_str!("../../testdata/tables.txt"));
}

/// Statements that ScyllaDB has and Cassandra has not. The answers are ours.
#[test]
fn properties_of_scylla() {
    replay(include_str!("../../testdata/scylla.txt"));
}

#[test]
fn alterations_as_recorded() {
    replay(include_str!("../../testdata/alter.txt"));
}

#[test]
fn options_as_recorded() {
    let mut session = Session::new();
    session.run("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    let mut differences = Vec::new();
    for (option, recorded) in entries(include_str!("../../testdata/options.txt")) {
        let mut answer = session.run(&format!("CREATE TABLE k.t (a int PRIMARY KEY) WITH {option}"));
        if answer.lines().next() == Some("ok") {
            let name = option.split(' ').next().unwrap_or_default().to_ascii_lowercase();
            let text = session.describe("DESCRIBE TABLE k.t");
            let lines = text.lines().map(|line| line.trim().trim_start_matches(") WITH ").trim_start_matches("AND "));
            let mut lines = lines.map(|line| line.trim_end_matches(';'));
            answer = lines.find(|line| line.starts_with(&format!("{name} ="))).unwrap_or_default().to_owned();
            session.run("DROP TABLE k.t");
        }
        // An option of ScyllaDB's that Cassandra refuses: `scylla.txt` says what it does here.
        const SCYLLAS: [&str; 6] = [
            "'sstable_compression'",
            "'IncrementalCompactionStrategy'",
            "scylla_encryption_options",
            "synchronous_updates",
            "paxos_grace_seconds",
            "tombstone_gc",
        ];
        let is_scyllas = SCYLLAS.iter().any(|word| option.contains(word));
        assert!(!is_scyllas || answer != recorded, "{option} is refused as in Cassandra");
        if answer != recorded && !is_scyllas {
            differences.push(format!("> {option}\nCassandra: {recorded}\nhere:      {answer}"));
        }
    }
    assert!(differences.is_empty(), "{} answers differ:\n{}", differences.len(), differences.join("\n\n"));
}

/// The table of the published comparisons: what Cassandra 5.0 refuses in it is accepted with a warning.
#[test]
fn the_published_table_is_accepted_with_warnings() {
    let mut session = Session::new();
    session.run(
        "CREATE KEYSPACE ks1 WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': '1'} \
         AND durable_writes = true",
    );
    let answer = session.run(
        "CREATE TABLE ks1.standard1 (key blob PRIMARY KEY, \"C0\" blob, \"C1\" blob, \"C2\" blob, \"C3\" blob, \"C4\" blob) \
         WITH COMPACT STORAGE AND bloom_filter_fp_chance = 0.01 AND caching = {'keys': 'ALL', 'rows_per_partition': 'ALL'} \
         AND comment = '' AND compaction = {'class': 'SizeTieredCompactionStrategy'} AND compression = {} \
         AND crc_check_chance = 1.0 AND dclocal_read_repair_chance = 0.1 AND default_time_to_live = 0 \
         AND gc_grace_seconds = 864000 AND max_index_interval = 2048 AND memtable_flush_period_in_ms = 0 \
         AND min_index_interval = 128 AND read_repair_chance = 0.0 AND speculative_retry = '99.0PERCENTILE'",
    );
    expect_test::expect![[r#"
        ok
        warning: The table property 'dclocal_read_repair_chance' has no effect: it was removed in Cassandra 4.0
        warning: The table property 'read_repair_chance' has no effect: it was removed in Cassandra 4.0"#]]
    .assert_eq(&answer);
    let text = session.describe("DESCRIBE TABLE ks1.standard1");
    assert!(
        text.contains(
            ") WITH COMPACT STORAGE\n    AND CLUSTERING ORDER BY (column1 ASC)\n    AND additional_write_policy = '99p'"
        ),
        "{text}"
    );
    assert!(text.contains("AND compression = {'enabled': 'false'}"), "{text}");
    recreates(&session, "ks1", "standard1");
}

#[test]
fn compact_storage_is_bounded_as_cassandra_bounds_it() {
    let mut session = Session::new();
    session.run("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    for (columns, answer) in [
        ("a int, b int, c int, PRIMARY KEY (a, b)", "ok"),
        (
            "a int, b int, c int, d text, PRIMARY KEY (a, b)",
            "invalid: COMPACT STORAGE with composite PRIMARY KEY allows no more than one column not part of the \
             PRIMARY KEY (got: c, d)",
        ),
        (
            "a int, b int, s int static, c int, PRIMARY KEY (a, b)",
            "invalid: Static columns are not supported in COMPACT STORAGE tables",
        ),
        (
            "a int PRIMARY KEY, b list<int>",
            "invalid: Non-frozen collections and UDTs are not supported with COMPACT STORAGE",
        ),
        ("a int PRIMARY KEY, s int static", "invalid: Static columns are not supported in COMPACT STORAGE tables"),
        ("a int PRIMARY KEY", "invalid: No definition found that is not part of the PRIMARY KEY"),
    ] {
        assert_eq!(session.run(&format!("CREATE TABLE k.t ({columns}) WITH COMPACT STORAGE")), answer, "{columns}");
        session.run("DROP TABLE IF EXISTS k.t");
    }
}

#[test]
fn the_columns_of_a_compact_table_stay() {
    let mut session = Session::new();
    session.run("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    session.run("CREATE TABLE k.t (a int PRIMARY KEY, value int, v int) WITH COMPACT STORAGE");
    for (change, answer) in [
        ("ADD w int", "invalid: Cannot add new column to a COMPACT STORAGE table"),
        ("ADD column1 int", "invalid: Column with name 'column1' already exists"),
        (
            "RENAME a TO value1",
            "invalid: Cannot rename column a to value1 in table 'k.t'; another column with that name already exists",
        ),
        ("DROP value", "ok"),
        ("RENAME a TO b", "ok"),
    ] {
        assert_eq!(session.run(&format!("ALTER TABLE k.t {change}")), answer, "{change}");
    }
    let table = session.schema.table("k", "t").expect("the table is there");
    let hidden: Vec<String> = table.hidden_columns().into_iter().map(|hidden| hidden.name).collect();
    assert_eq!(hidden, ["column1", "value1"], "what was dropped keeps its name");
}

/// That the statements that tell of a table make an equal one.
fn recreates(session: &Session, keyspace: &str, table: &str) {
    let original = session.schema.table(keyspace, table).expect("the table is there");
    let mut other = Session::new();
    other.schema = session.schema.with(&SchemaChange::DropTable {
        keyspace: keyspace.to_owned(),
        name: table.to_owned(),
        id: original.id,
    });
    other.run_all(&describe::statements(&session.schema, original));
    let made = other.schema.table(keyspace, table).expect("the table is there");
    assert_eq!(made.columns(), original.columns());
    // What the server decides when nothing is said is said by DESCRIBE.
    let mut options = original.options.clone();
    options.allow_auto_snapshot = Some(options.allow_auto_snapshot.unwrap_or(true));
    options.incremental_backups = Some(options.incremental_backups.unwrap_or(true));
    assert_eq!(made.options, options);
}

#[test]
fn the_statements_of_a_table_recreate_it() {
    let mut session = Session::new();
    session.run("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    let made = session.run(
        "CREATE TABLE k.\"T\" (\"A b\" int, c frozen<list<int>>, d timeuuid, s map<text, int> static, \"select\" vector<float, 3>, \
         PRIMARY KEY ((\"A b\", c), d)) WITH CLUSTERING ORDER BY (d DESC) AND comment = 'it''s' AND cdc = true \
         AND compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 160} AND bloom_filter_fp_chance = 0.0001",
    );
    assert_eq!(made, "ok");
    recreates(&session, "k", "T");
}

#[test]
fn a_column_id_is_given_again_to_none_but_the_same_column() {
    let mut session = Session::new();
    session.run("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    session.run("CREATE TABLE k.t (a int PRIMARY KEY, v int)");
    let table = |session: &Session| session.schema.table("k", "t").expect("the table is there").clone();
    let first = table(&session).column("v").expect("the column is there").id;
    session.run("ALTER TABLE k.t DROP v USING TIMESTAMP 50");
    assert!(table(&session).hides(first, i64::MAX), "what is dropped is hidden, however new");
    session.run("ALTER TABLE k.t ADD w int");
    assert_ne!(table(&session).column("w").expect("the column is there").id, first);
    assert_eq!(session.run("ALTER TABLE k.t ADD v bigint").split(':').next(), Some("invalid"));
    session.run("ALTER TABLE k.t ADD v int");
    let again = table(&session);
    assert_eq!(again.column("v").expect("the column is there").id, first);
    assert_eq!(again.dropped["v"].dropped_at_micros, 50);
    assert!(again.hides(first, 50) && !again.hides(first, 51));
    session.run("ALTER TABLE k.t DROP v");
    assert_eq!(table(&session).dropped["v"].dropped_at_micros, 1_700_000_000_000_000);
}

#[test]
fn what_internals_describe_makes_the_table_with_its_dropped_columns() {
    let mut session = Session::new();
    session.run("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    session.run("CREATE TABLE k.t (a int, c int, v int, \"W\" list<text>, s text static, PRIMARY KEY (a, c))");
    for text in ["DROP v USING TIMESTAMP 17", "DROP \"W\"", "DROP s", "ADD v int"] {
        session.run(&format!("ALTER TABLE k.t {text}"));
    }
    let describe = |session: &Session| {
        let table = session.schema.table("k", "t").expect("the table is there");
        crate::describe::table_with_internals(table)
    };
    let text = describe(&session);
    assert!(text.contains("ALTER TABLE k.t DROP v USING TIMESTAMP 17;\nALTER TABLE k.t ADD v int;"), "{text}");
    session.run("DROP TABLE k.t");
    for statement in text.split_inclusive(';') {
        session.run(statement.trim_end_matches(';'));
    }
    assert_eq!(describe(&session), text);
}

const KEYSPACE: &str = "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";

#[test]
fn the_statements_of_a_table_make_the_types_that_it_needs() {
    let mut session = Session::new();
    session.run_all(&format!(
        "{KEYSPACE};\nCREATE TYPE k.z (a int);\nCREATE TYPE k.\"M m\" (z frozen<z>, l list<int>);\nCREATE TYPE k.a (m frozen<\"M m\">);\n\
         CREATE TYPE k.other (a int);\nCREATE TYPE k.gone (a int, b text);\n\
         CREATE TABLE k.t (k int, c int, a frozen<a>, v vector<frozen<z>, 2>, g list<frozen<gone>>, w vector<frozen<gone>, 2>, s a static, PRIMARY KEY (k, c));\n\
         ALTER TABLE k.t DROP (g, w) USING TIMESTAMP 17;\nALTER TABLE k.t DROP v;\nALTER TABLE k.t ADD v vector<frozen<z>, 2>;\n\
         DROP TYPE k.gone;\n"
    ));
    let table = session.schema.table("k", "t").expect("the table is there");
    let text = describe::statements(&session.schema, table);
    let heads: Vec<&str> = text.lines().filter(|line| line.contains(" k.")).collect();
    assert_eq!(
        heads,
        [
            "CREATE TYPE IF NOT EXISTS k.z (",
            "CREATE TYPE IF NOT EXISTS k.\"M m\" (",
            "CREATE TYPE IF NOT EXISTS k.a (",
            "CREATE TABLE IF NOT EXISTS k.t (",
            "ALTER TABLE k.t DROP g USING TIMESTAMP 17;",
            "ALTER TABLE k.t DROP v USING TIMESTAMP 1700000000000000;",
            "ALTER TABLE k.t ADD v vector<frozen<z>, 2>;",
            "ALTER TABLE k.t DROP w USING TIMESTAMP 17;",
        ]
    );
    // They make the table where there is nothing, and say nothing where all is there.
    let mut other = Session::new();
    other.run(KEYSPACE);
    other.run_all(&text);
    for create in text.split_terminator(";\n").filter(|statement| statement.starts_with("CREATE")) {
        assert_eq!(other.run(create), "ok", "{create}");
    }
    let made = other.schema.table("k", "t").expect("the table is there");
    assert_eq!(describe::statements(&other.schema, made), text);
    assert_eq!(made.id, table.id);
}

#[test]
fn a_dropped_column_names_no_user_type() {
    let mut session = Session::new();
    session.run_all(&format!(
        "{KEYSPACE};\nCREATE TYPE k.u (a int, b text);\nCREATE TYPE k.w (x frozen<u>, l list<frozen<u>>);\n\
         CREATE TABLE k.t (k int, c int, a frozen<u>, b frozen<w> static, d list<frozen<u>>, e frozen<map<frozen<u>, int>>, \
         f tuple<int, frozen<u>>, g vector<frozen<list<frozen<u>>>, 2>, h vector<u, 2>, PRIMARY KEY (k, c));\n\
         ALTER TABLE k.t DROP (a, b, d, e, f, g, h);\nDROP TYPE k.w;\nDROP TYPE k.u;\n"
    ));
    let u = "frozen<tuple<int, text>>";
    let types = [
        u.to_owned(),
        format!("frozen<tuple<{u}, frozen<list<{u}>>>>"),
        format!("list<{u}>"),
        format!("frozen<map<{u}, int>>"),
        format!("frozen<tuple<int, {u}>>"),
        format!("vector<frozen<list<{u}>>, 2>"),
        format!("vector<{u}, 2>"),
    ];
    assert_eq!(session.dropped_types("k", "t"), types);
    session.schema = Schema::empty().with_all(&session.schema.as_changes());
    assert_eq!(session.dropped_types("k", "t"), types, "a log that is read again has the same");
}

#[test]
fn a_column_of_a_user_type_that_is_not_frozen_stays() {
    let mut session = Session::new();
    session.run_all(&format!(
        "{KEYSPACE};\nCREATE TYPE k.\"U x\" (a int);\nCREATE TABLE k.t (k int, c int, v int, n \"U x\", s \"U x\" static, PRIMARY KEY (k, c));\n"
    ));
    for (columns, name) in [("n", "n"), ("s", "s"), ("(v, n)", "n"), ("IF EXISTS (nothere, s)", "s")] {
        assert_eq!(
            session.run(&format!("ALTER TABLE k.t DROP {columns}")),
            format!("invalid: Cannot drop non-frozen column {name} of user type \"U x\"")
        );
    }
    assert!(session.dropped_types("k", "t").is_empty());
}

/// A node may gain by it what it had before and has lost: what it counts from then on is another part.
#[test]
fn a_keyspace_that_is_placed_otherwise_begins_another_tenure() {
    let mut session = Session::new();
    let replication =
        |factor: u8| format!("replication = {{'class': 'SimpleStrategy', 'replication_factor': {factor}}}");
    let steps = [
        (format!("CREATE KEYSPACE k WITH {}", replication(3)), 0),
        ("ALTER KEYSPACE k WITH durable_writes = false".to_owned(), 0),
        (format!("ALTER KEYSPACE k WITH {}", replication(3)), 0),
        (format!("ALTER KEYSPACE k WITH {}", replication(1)), 1),
        ("CREATE TABLE k.t (k int PRIMARY KEY)".to_owned(), 1),
        (format!("ALTER KEYSPACE k WITH {}", replication(3)), 2),
        ("ALTER KEYSPACE k WITH durable_writes = true".to_owned(), 2),
    ];
    for (text, tenure) in steps {
        session.run(&text);
        let known = session.schema.keyspace("k").expect("it is there").def.tenure;
        assert_eq!(known, tenure, "{text}");
        let restored = Schema::empty().with_all(&session.schema.as_changes());
        assert_eq!(restored.keyspace("k").expect("it is there").def.tenure, tenure, "from a snapshot");
    }
}
