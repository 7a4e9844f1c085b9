//! Terms against what Cassandra makes of them: `testdata/terms/*.txt`, which `Terms.java` beside them writes.

use cql_protocol::Value;
use cql_syntax::{Statement, parse};
use schema::Table;

use super::*;
use crate::plan::Binds;
use crate::plan::literals::tests::table;

/// The value that a term is in a place of a type, or the sentence that refuses it.
fn value(table: &Table, ty: &str, text: &str) -> Result<Option<Vec<u8>>, String> {
    let ty = CqlType::parse(ty).expect("it is a type");
    let statement = parse(&format!("INSERT INTO t (c) VALUES ({text})")).map_err(|error| error.to_string())?;
    let Statement::Insert(insert) = statement else { panic!("an INSERT") };
    let mut markers = Markers::default();
    let shown = |error: QueryError| error.to_string();
    let operand = markers.operand(&insert.values[0], &Receiver::new(table, "c", ty)).map_err(shown)?;
    let (_, generators) = markers.finish().map_err(shown)?;
    let mut generated: Vec<Vec<u8>> = Vec::new();
    for generator in &generators {
        let Generator::Call(calling) = generator else { panic!("{text} has no other generators") };
        let binds = Binds { values: &[], generated: &generated, long_texts_checked: false };
        let arguments: Vec<Option<&[u8]>> = calling
            .operands
            .iter()
            .map(|operand| operand.value(&binds).map(|value| value.bytes()).map_err(shown))
            .collect::<Result<_, _>>()?;
        let mut out = vec![1];
        let is_there = calling.call.evaluate(&arguments, &mut Planning, &mut out).map_err(|error| error.to_string())?;
        generated.push(if is_there { out } else { Vec::new() });
    }
    let binds = Binds { values: &[], generated: &generated, long_texts_checked: false };
    match operand.value(&binds).map_err(shown)? {
        Value::Bytes(bytes) => Ok(Some(bytes.to_vec())),
        Value::Null => Ok(None),
        Value::Unset => Err("nothing is bound".to_owned()),
    }
}

#[test]
fn terms_are_what_cassandra_makes_of_them() {
    let table = table();
    let mut wrong = Vec::new();
    let terms = include_str!("../../../testdata/terms/terms.txt").lines();
    let numbers = include_str!("../../../testdata/terms/numbers.txt").lines();
    let mut lines = terms.chain(numbers).filter(|line| !line.is_empty());
    let mut count = 0;
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            continue;
        }
        let (ty, text) = line.split_once(": ").expect("a type and a term");
        let expected = lines.next().expect("an answer");
        let given = match value(&table, ty, text) {
            Ok(Some(bytes)) => format!("= {}", cql_types::print(&CqlType::Blob, &bytes)),
            Ok(None) => "= null".to_owned(),
            Err(message) => format!("! {message}"),
        };
        // Which functions there are is said in another order with each start.
        let is_same = match expected.strip_suffix('…') {
            Some(start) => given.starts_with(start),
            None => given == expected,
        };
        if !is_same {
            wrong.push(format!("{line}\n  {expected}\n  {given}"));
        }
        count += 1;
    }
    assert!(count > 900, "the file has its terms");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
