//! Guardrails that are not on by default: each with what it warns of and what it refuses, in Cassandra's words.

use cql_protocol::request::{BatchBuilder, BatchKind, BatchQuery, Request};
use cql_protocol::{Consistency, QueryParams, Response};
use query::{Guardrails, Threshold};

use crate::harness::{Client, Folder, Reply, buffer, run_guarded};
use crate::requests::{KEYSPACE, must};

/// What a reply says beside its result: `! ` and the error, then each warning.
pub fn said(reply: &Reply) -> Vec<String> {
    let (prefix, response) = reply.response();
    let error = match response {
        Response::Error(error) => Some(format!("! {}", error.message)),
        _ => None,
    };
    error.into_iter().chain(prefix.warnings).collect()
}

/// The statement is accepted, with this warning of a guardrail alone.
async fn warns(client: &Client, text: &str, guardrail: &str, words: &str) {
    let said = said(&client.query(text).await);
    assert_eq!(said, [format!("Guardrail {guardrail} violated: {words}")], "{text}");
}

/// The statement is refused by a guardrail; the client is told so as a warning too.
async fn refuses(client: &Client, text: &str, guardrail: &str, words: &str) {
    let message = format!("Guardrail {guardrail} violated: {words}");
    assert_eq!(said(&client.query(text).await), [format!("! {message}"), message], "{text}");
}

async fn passes(client: &Client, text: &str) {
    assert_eq!(said(&client.query(text).await), [""; 0], "{text}");
}

fn warn_above(limit: i64) -> Threshold {
    Threshold { warn: Some(limit), fail: Some(2 * limit) }
}

#[test]
fn reads() {
    let folder = Folder::new("guarded-reads");
    let mut rails = Guardrails { allow_filtering_enabled: false, group_by_enabled: false, ..Guardrails::default() };
    rails.page_size = warn_above(10);
    rails.partition_keys_in_select = warn_above(2);
    rails.in_select_cartesian_product = warn_above(5);
    rails.read_consistency_levels.warned = vec![Consistency::Two];
    rails.read_consistency_levels.disallowed = vec![Consistency::One, Consistency::Quorum];
    run_guarded(folder.path(), 1, &rails, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int, c int, v int, PRIMARY KEY (k, c))").await;
        let at = |consistency| QueryParams { page_size: None, ..QueryParams::new(consistency) };
        let level = Consistency::LocalOne;
        let ask = async |text: &str, params: QueryParams<'_>| said(&client.query_with(text, params).await);
        let text = "SELECT v FROM ks.t WHERE k = 1";
        let none: [&str; 0] = [];
        assert_eq!(ask(text, at(level)).await, none);
        let refused = "Guardrail read_consistency_levels violated: Provided values [QUORUM] are not allowed for read consistency levels (disallowed values are: [ONE, QUORUM])";
        assert_eq!(ask(text, at(Consistency::Quorum)).await, [format!("! {refused}"), refused.to_owned()]);

        let page = |size| QueryParams { page_size: Some(size), ..QueryParams::new(level) };
        assert_eq!(ask(text, page(10)).await, none);
        assert_eq!(
            ask(text, page(11)).await,
            ["Guardrail page_size violated: Query for table t with page size 11 exceeds warning threshold of 10."]
        );
        let refused =
            "Guardrail page_size violated: Aborting query for table t, page size 21 exceeds fail threshold of 20.";
        assert_eq!(ask(text, page(21)).await, [format!("! {refused}"), refused.to_owned()]);
        assert_eq!(ask("SELECT v FROM ks.t WHERE k = 1 LIMIT 21", page(21)).await, none);

        assert_eq!(ask("SELECT v FROM ks.t WHERE k IN (1, 2)", at(level)).await, none);
        assert_eq!(ask("SELECT v FROM ks.t WHERE k IN (1, 1, 2, 2)", at(level)).await, none);
        assert_eq!(
            ask("SELECT v FROM ks.t WHERE k IN (1, 2, 3)", at(level)).await,
            [
                "Guardrail partition_keys_in_select violated: Query with partition keys in IN clause on table t, with number of partition keys 3 exceeds warning threshold of 2."
            ]
        );
        let refused = "Guardrail partition_keys_in_select violated: Aborting query with partition keys in IN clause on table t, number of partition keys 5 exceeds fail threshold of 4.";
        assert_eq!(
            ask("SELECT v FROM ks.t WHERE k IN (1, 2, 3, 4, 5)", at(level)).await,
            [format!("! {refused}"), refused.to_owned()]
        );
        assert_eq!(
            ask("SELECT v FROM ks.t WHERE k = 1 AND c IN (1, 2, 3, 4, 5, 6)", at(level)).await,
            [
                "Guardrail in_select_cartesian_product violated: The cartesian product of the IN restrictions on clustering key produces 6 values, this exceeds warning threshold of 5."
            ]
        );
        let refused = "Guardrail in_select_cartesian_product violated: Aborting query because the cartesian product of the IN restrictions on clustering key produces 11 values, this exceeds fail threshold of 10.";
        assert_eq!(
            ask("SELECT v FROM ks.t WHERE k = 1 AND c IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)", at(level)).await,
            [format!("! {refused}"), refused.to_owned()]
        );

        let refused = "Guardrail allow_filtering violated: Querying with ALLOW FILTERING is not allowed. ALLOW FILTERING can potentially visit all the data in the table and have unpredictable performance.";
        assert_eq!(
            ask("SELECT v FROM ks.t WHERE v = 1 ALLOW FILTERING", at(level)).await,
            [format!("! {refused}"), refused.to_owned()]
        );
        assert_eq!(
            ask("SELECT v FROM ks.t WHERE v = 1", at(level)).await,
            [
                "! Cannot execute this query as it might involve data filtering and thus may have unpredictable performance. Executing this query despite the performance unpredictability with ALLOW FILTERING has been disabled by the allow_filtering_enabled property in cassandra.yaml"
            ]
        );
        let refused = "Guardrail group_by violated: GROUP BY functionality is not allowed";
        assert_eq!(
            ask("SELECT count(*) FROM ks.t GROUP BY k", at(level)).await,
            [format!("! {refused}"), refused.to_owned()]
        );
    });
}

#[test]
fn filters_by_several_columns() {
    let folder = Folder::new("guarded-filters");
    let rails = Guardrails { intersect_filtering_query_warned: true, ..Guardrails::default() };
    run_guarded(folder.path(), 1, &rails, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, a int, b int)").await;
        let ask = async |text: &str, level| said(&client.query_with(text, QueryParams::new(level)).await);
        let several = "SELECT k FROM ks.t WHERE a = 1 AND b = 2 ALLOW FILTERING";
        let none: [&str; 0] = [];
        assert_eq!(ask(several, Consistency::One).await, none);
        assert_eq!(ask("SELECT k FROM ks.t WHERE a > 1 AND a < 3 ALLOW FILTERING", Consistency::Quorum).await, none);
        let warning = "Guardrail intersect_filtering_query violated: Filtering query with intersection on mutable columns at consistency level requiring coordinator reconciliation is not recommended. Filtering queries involving an intersection on multiple mutable (i.e. non-key) columns over unrepaired data at read consistency levels that would require coordinator reconciliation may violate the guarantees of those consistency levels.";
        assert_eq!(ask(several, Consistency::Quorum).await, none, "there is one replica");
        let replicated = KEYSPACE.replace("ks", "two").replace(": 1", ": 2");
        must(&client, &replicated).await;
        must(&client, "CREATE TABLE two.t (k int PRIMARY KEY, a int, b int)").await;
        let several = several.replace("ks.t", "two.t");
        assert_eq!(ask(&several, Consistency::One).await, none);
        let said = ask(&several, Consistency::Quorum).await;
        assert_eq!((said.len(), said[1].as_str()), (2, warning), "what goes wrong later is warned of too");
    });
}

#[test]
fn writes() {
    let folder = Folder::new("guarded-writes");
    let mut rails = Guardrails { read_before_write_list_operations_enabled: false, ..Guardrails::default() };
    rails.write_consistency_levels.warned = vec![Consistency::All];
    rails.write_consistency_levels.disallowed = vec![Consistency::Any, Consistency::LocalSerial];
    rails.maximum_timestamp = Threshold { warn: Some(1_000_000), fail: Some(3_600_000_000) };
    rails.minimum_timestamp = Threshold { warn: Some(3_600_000_000), fail: Some(86_400_000_000) };
    run_guarded(folder.path(), 1, &rails, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, l list<int>)").await;
        passes(&client, "INSERT INTO ks.t (k, l) VALUES (1, [1])").await;
        let prefix = "Guardrail maximum_timestamp violated: The modification to table t has a timestamp 9000000000000000 after the maximum allowable failure threshold ";
        let far = said(&client.query("INSERT INTO ks.t (k) VALUES (1) USING TIMESTAMP 9000000000000000").await);
        assert!(far[1].starts_with(prefix), "{far:?}");
        assert!(
            far[1].ends_with(". Timestamps too far in the future can lead to data that can't be easily overwritten")
        );
        let prefix = "Guardrail minimum_timestamp violated: The modification to table t has a timestamp 1 before the minimum allowable failure threshold ";
        let past =
            said(&client.query("BEGIN BATCH INSERT INTO ks.t (k) VALUES (1) USING TIMESTAMP 1; APPLY BATCH").await);
        assert!(past[1].starts_with(prefix), "{past:?}");
        for (text, words) in [
            (
                "UPDATE ks.t SET l[0] = 2 WHERE k = 1",
                "Setting of list items by index requiring read before write is not allowed",
            ),
            (
                "DELETE l[0] FROM ks.t WHERE k = 1",
                "Removal of list items by index requiring read before write is not allowed",
            ),
            (
                "UPDATE ks.t SET l = l - [1] WHERE k = 1",
                "Removal of list items requiring read before write is not allowed",
            ),
        ] {
            refuses(&client, text, "read_before_write_list_operations", words).await;
        }
        let text = "INSERT INTO ks.t (k) VALUES (2)";
        let ask = async |level| said(&client.query_with(text, QueryParams::new(level)).await);
        let warning = "Guardrail write_consistency_levels violated: Provided values [ALL] are not recommended for write consistency levels (warned values are: [ALL])";
        assert_eq!(ask(Consistency::All).await, [warning]);
        let refused = "Guardrail write_consistency_levels violated: Provided values [ANY] are not allowed for write consistency levels (disallowed values are: [ANY, LOCAL_SERIAL])";
        assert_eq!(ask(Consistency::Any).await, [format!("! {refused}"), refused.to_owned()]);
        // A prepared statement in a batch message is looked at as one alone.
        let insert = client.prepare(text).await;
        let mut batch = BatchBuilder::new();
        batch.push(BatchQuery::Prepared(&insert.id), buffer(&[]).values()).expect("one statement");
        let batch = batch.batch(BatchKind::Logged, QueryParams::new(Consistency::All));
        assert_eq!(said(&client.send(&Request::Batch(batch)).await), [warning]);
    });
    let folder = Folder::new("guarded-timestamps");
    let rails = Guardrails { user_timestamps_enabled: false, ..Guardrails::default() };
    run_guarded(folder.path(), 1, &rails, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v int)").await;
        passes(&client, "INSERT INTO ks.t (k) VALUES (1)").await;
        let words = "User provided timestamps (USING TIMESTAMP) is not allowed";
        refuses(&client, "INSERT INTO ks.t (k) VALUES (1) USING TIMESTAMP 5", "user_timestamps", words).await;
    });
}

#[test]
fn batches() {
    let folder = Folder::new("guarded-batches");
    let mut rails = Guardrails { batch_size: Threshold { warn: Some(100), fail: Some(200) }, ..Guardrails::default() };
    rails.unlogged_batch_across_partitions.warn = None;
    run_guarded(folder.path(), 2, &rails, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v int)").await;
        let batch = |count: i32| {
            let inserts: String = (0..count).map(|k| format!("INSERT INTO ks.t (k) VALUES ({k}); ")).collect();
            format!("BEGIN UNLOGGED BATCH {inserts} APPLY BATCH")
        };
        passes(&client, &batch(2)).await;
        let said_of_three = said(&client.query(&batch(3)).await);
        assert_eq!(said_of_three, ["Batch for [ks.t] is of size 150, exceeding specified threshold of 100 by 50."]);
        passes(&client, &batch(1)).await;
        assert_eq!(said(&client.query(&batch(5)).await), ["! Batch too large"]);
        let five = said(&client.query("SELECT k FROM ks.t WHERE k = 4").await);
        assert!(five.is_empty(), "a batch that is refused writes nothing: {five:?}");
    });
}

#[test]
fn a_batch_is_measured_in_bounded_time() {
    let folder = Folder::new("guarded-long-batches");
    let rails = Guardrails { batch_size: Threshold { warn: Some(100), fail: None }, ..Guardrails::default() };
    run_guarded(folder.path(), 1, &rails, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v text)").await;
        let text = "x".repeat(50_000);
        let size = async |count: usize| {
            let update = format!("UPDATE ks.t SET v = '{text}' WHERE k = 1; ");
            let batch = format!("BEGIN BATCH INSERT INTO ks.t (k) VALUES (2); {} APPLY BATCH", update.repeat(count));
            let said = said(&client.query(&batch).await);
            let size = said[0].split("of size ").nth(1).unwrap().split(',').next().unwrap();
            size.parse::<usize>().unwrap()
        };
        // Few writes of a cell come to one, of very many each counts.
        let one = size(1).await;
        assert!((50_000..51_000).contains(&one), "{one}");
        assert_eq!(size(15).await, one);
        assert!(size(30).await > 30 * 50_000);
    });
}

#[test]
fn schema_statements_that_warn() {
    let folder = Folder::new("guarded-ddl-warn");
    let mut rails = Guardrails::default();
    let one = Threshold { warn: Some(1), fail: None };
    (rails.keyspaces, rails.tables, rails.fields_per_udt) = (one, one, one);
    rails.columns_per_table.warn = Some(2);
    rails.vector_dimensions.warn = Some(3);
    rails.minimum_replication_factor.warn = Some(1);
    rails.table_properties.warned = vec!["comment".to_owned()];
    rails.table_properties.ignored = vec!["gc_grace_seconds".to_owned(), "caching".to_owned()];
    run_guarded(folder.path(), 1, &rails, |client| async move {
        passes(&client, KEYSPACE).await;
        let other = KEYSPACE.replace("ks", "other");
        let words = "Creating keyspace other, current number of keyspaces 2 exceeds warning threshold of 1.";
        warns(&client, &other, "keyspaces", words).await;
        passes(&client, "CREATE TABLE ks.a (k int PRIMARY KEY)").await;
        let words = "Creating table b, current number of tables 2 exceeds warning threshold of 1.";
        warns(&client, "CREATE TABLE ks.b (k int PRIMARY KEY)", "tables", words).await;
        passes(&client, "ALTER TABLE ks.b ADD v int").await;
        let words = "The table b has 3 columns, this exceeds the warning threshold of 2.";
        warns(&client, "ALTER TABLE ks.b ADD w int", "columns_per_table", words).await;
        let words = "The user type y has 2 columns, this exceeds the warning threshold of 1.";
        warns(&client, "CREATE TYPE ks.y (a int, b int)", "fields_per_udt", words).await;
        let words = "Column v has a vector of 4 dimensions, this exceeds the warning threshold of 3.";
        warns(&client, "ALTER TABLE ks.a ADD v vector<float, 4>", "vector_dimensions", words).await;
        let words = "Provided values [comment] are not recommended for Table Properties (warned values are: [comment])";
        warns(&client, "ALTER TABLE ks.a WITH comment = 'x'", "table_properties", words).await;
        let words = "Ignoring provided values [gc_grace_seconds] as they are not supported for Table Properties (ignored values are: [caching, gc_grace_seconds])";
        let reply = client.query("ALTER TABLE ks.a WITH gc_grace_seconds = 7 AND crc_check_chance = 0.5").await;
        let said = said(&reply);
        assert_eq!(said.len(), 1, "{said:?}");
        let swapped = words.replace("[caching, gc_grace_seconds]", "[gc_grace_seconds, caching]");
        assert!([words, &swapped].iter().any(|words| said[0].ends_with(words)), "{said:?}");
        let schema = client.engine.schema();
        assert_eq!(schema.table("ks", "a").map(|table| table.options.gc_grace_seconds), Some(864_000));
    });
}

#[test]
fn schema_statements_that_are_refused() {
    let folder = Folder::new("guarded-ddl");
    let mut rails = Guardrails::default();
    rails.keyspaces.fail = Some(1);
    rails.tables.fail = Some(2);
    rails.columns_per_table.fail = Some(2);
    rails.fields_per_udt.fail = Some(1);
    rails.vector_dimensions.fail = Some(3);
    rails.maximum_replication_factor.fail = Some(2);
    rails.table_properties.disallowed = vec!["comment".to_owned()];
    for (name, flag) in rails.flags() {
        *flag = matches!(name, "simplestrategy_enabled" | "vector_type_enabled");
    }
    run_guarded(folder.path(), 1, &rails, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v int)").await;
        must(&client, "CREATE TYPE ks.y (a int)").await;
        let other = KEYSPACE.replace("ks", "other");
        for (text, guardrail, words) in [
            (&*other, "keyspaces", "Cannot have more than 1 keyspaces, aborting the creation of keyspace other"),
            (
                "CREATE TABLE ks.u (k int PRIMARY KEY, v int, w int)",
                "columns_per_table",
                "Tables cannot have more than 2 columns, but 3 provided for table u",
            ),
            ("ALTER TABLE ks.t ADD w int", "alter_table", "ALTER TABLE changing columns is not allowed"),
            ("ALTER TABLE ks.t DROP v", "alter_table", "ALTER TABLE changing columns is not allowed"),
            ("DROP TABLE ks.t", "drop_truncate_table_enabled", "DROP and TRUNCATE TABLE functionality is not allowed"),
            ("TRUNCATE ks.t", "drop_truncate_table_enabled", "DROP and TRUNCATE TABLE functionality is not allowed"),
            ("DROP KEYSPACE ks", "drop_keyspace_enabled", "DROP KEYSPACE functionality is not allowed"),
            (
                "ALTER TYPE ks.y ADD b int",
                "fields_per_udt",
                "User types cannot have more than 1 columns, but 2 provided for user type y.",
            ),
            (
                "CREATE TABLE ks.u (k int PRIMARY KEY, v vector<float, 4>)",
                "vector_dimensions",
                "Column v has a vector of 4 dimensions, this exceeds the failure threshold of 3.",
            ),
            (
                "CREATE TABLE ks.u (k int PRIMARY KEY) WITH compression = {'enabled': 'false'}",
                "uncompressed_tables_enabled",
                "Uncompressed table is not allowed",
            ),
            (
                "CREATE TABLE ks.u (k int PRIMARY KEY, v int) WITH COMPACT STORAGE",
                "compact_tables",
                "Creation of new COMPACT STORAGE tables is not allowed",
            ),
            (
                "ALTER TABLE ks.t WITH comment = 'x'",
                "table_properties",
                "Provided values [comment] are not allowed for Table Properties (disallowed values are: [comment])",
            ),
            (
                "ALTER KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3}",
                "maximum_replication_factor",
                "The keyspace ks has a replication factor of 3, above the failure threshold of 2.",
            ),
        ] {
            refuses(&client, text, guardrail, words).await;
        }
        must(&client, "CREATE TABLE ks.u (k int PRIMARY KEY)").await;
        refuses(
            &client,
            "CREATE TABLE ks.x (k int PRIMARY KEY)",
            "tables",
            "Cannot have more than 2 tables, aborting the creation of table x",
        )
        .await;
    });
    let folder = Folder::new("guarded-strategy");
    let rails = Guardrails { simplestrategy_enabled: false, vector_type_enabled: false, ..Guardrails::default() };
    run_guarded(folder.path(), 1, &rails, |client| async move {
        refuses(&client, KEYSPACE, "simplestrategy", "SimpleStrategy is not allowed").await;
        must(&client, "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}")
            .await;
        let text = "CREATE TABLE ks.u (k int PRIMARY KEY, v vector<float, 4>)";
        refuses(&client, text, "vector_type_enabled", "Column v is not allowed").await;
    });
}
