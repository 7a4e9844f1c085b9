//! Text and bytes of values of nested types, both ways: print → parse → encode.

use cql_syntax::{Statement, parse};
use cql_types::samples;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use schema::{DdlContext, Schema, SchemaChange, TableId, plan_ddl};

use super::*;
use crate::plan::terms::Receiver;

/// Whose column the values are for: its name is all that matters.
pub(in crate::plan) fn table() -> schema::Table {
    let context = DdlContext {
        current_keyspace: None,
        new_id: TableId([1; 16]),
        datacenters: &[("datacenter1".to_owned(), 1)].into(),
        strategies: &topology::Strategies::default(),
        now_micros: 0,
        masks_enabled: false,
    };
    let mut schema = Schema::empty();
    for text in [
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE ks.t (k int PRIMARY KEY)",
    ] {
        let statement = parse(text).expect("it is CQL");
        let changes = plan_ddl(&schema, &statement, &context).expect("it is valid").changes;
        if let [SchemaChange::PutTable(table)] = changes.as_slice() {
            return (**table).clone();
        }
        schema = schema.with_all(&changes);
    }
    panic!("a table was made");
}

/// The term of a statement that has it as its only value.
fn term_of(text: &str) -> Result<Term, TestCaseError> {
    let failed = |error: &dyn std::fmt::Display| TestCaseError::fail(format!("{text}: {error}"));
    let statement = parse(&format!("INSERT INTO t (v) VALUES ({text})")).map_err(|error| failed(&error))?;
    prop_assert!(parse(&statement.to_string()).as_ref() == Ok(&statement), "{}", text);
    let Statement::Insert(insert) = statement else { return Err(failed(&"no INSERT")) };
    insert.values.into_iter().next().ok_or_else(|| failed(&"no value"))
}

#[test]
fn a_printed_value_is_read_back_to_the_same_bytes() {
    let table = table();
    // Most random types are shallow, and the test is quick.
    let mut runner = TestRunner::new(ProptestConfig::with_cases(2_000));
    let law = |(ty, value): (CqlType, Vec<u8>)| {
        prop_assert_eq!(cql_types::validate(&ty, &value), Ok(()));
        let text = cql_types::print(&ty, &value);
        let operand = Markers::default().operand(&term_of(&text)?, &Receiver::new(&table, "v", ty.clone()));
        let operand = operand.map_err(|error| TestCaseError::fail(format!("{ty}: {text}: {error}")))?;
        prop_assert_eq!(operand.source.constant(), Some(value.as_slice()), "{}: {}", ty, text);
        Ok(())
    };
    runner.run(&samples::type_and_constant(), law).unwrap_or_else(|error| panic!("{error}"));
}
