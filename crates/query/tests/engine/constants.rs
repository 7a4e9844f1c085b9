//! Values of every type, nested ones too, printed as constants, written by a statement and read back.

use std::cmp::Ordering;

use cql_protocol::{Response, ResultBody};
use cql_types::CqlType;

use crate::harness::{Folder, run_node};
use crate::requests::{KEYSPACE, must};

/// Values of each type, in Cassandra's order.
const ORDERS: &str = include_str!("../../../cql-types/testdata/orders.txt");

fn bytes(word: &str) -> Vec<u8> {
    let digits = word.as_bytes().chunks(2).filter(|pair| *pair != b"-");
    digits.map(|pair| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).expect("two digits of hex")).collect()
}

/// An empty value is printed as null and an empty tuple as `()`, what is outside of a type's range as a blob; a year with a sign is not read
/// before a time.
fn has_no_constant(ty: &CqlType, constant: &str) -> bool {
    let is_blob = constant.starts_with("0x") && *ty != CqlType::Blob;
    let is_far = *ty == CqlType::Timestamp && (constant.starts_with("'-") || constant.starts_with("'+"));
    constant.contains("null") || constant.contains("()") || is_blob || is_far
}

#[test]
fn what_is_printed_is_read_as_the_same_value() {
    let folder = Folder::new("constants");
    run_node(folder.path(), 1, |client| async move {
        must(&client, KEYSPACE).await;
        for line in ORDERS.lines().filter_map(|line| line.strip_prefix("type | ")) {
            let (name, fields) = line.split_once(" | ").expect("a type has fields");
            must(&client, &format!("CREATE TYPE ks.{name} ({fields})")).await;
        }
        let mut written = 0;
        for (number, line) in ORDERS.lines().filter_map(|line| line.strip_prefix("ascending | ")).enumerate() {
            let (name, values) = line.split_once(" |").expect("a type ends with a bar");
            must(&client, &format!("CREATE TABLE ks.t{number} (k int PRIMARY KEY, v {name})")).await;
            // A user-defined type's fields are in the answer, not in its name.
            let reply = client.query(&format!("SELECT v FROM ks.t{number}")).await;
            let Response::Result(ResultBody::Rows(rows)) = reply.response().1 else { panic!("{name}: no rows") };
            let ty = rows.columns[0].ty.clone();
            for (k, value) in values.split_whitespace().filter(|word| *word != "=").map(bytes).enumerate() {
                let constant = cql_types::print(&ty, &value);
                if has_no_constant(&ty, &constant) {
                    continue;
                }
                must(&client, &format!("INSERT INTO ks.t{number} (k, v) VALUES ({k}, {constant})")).await;
                let reply = client.query(&format!("SELECT v FROM ks.t{number} WHERE k = {k}")).await;
                let Response::Result(ResultBody::Rows(rows)) = reply.response().1 else { panic!("{name}: no rows") };
                let back = rows.iter().next().and_then(|mut row| row.next().flatten()).expect("the row has a value");
                assert_eq!(cql_types::compare(&ty, back, &value), Ordering::Equal, "{name}: {constant}");
                assert_eq!(cql_types::print(&ty, back), constant, "{name}");
                written += 1;
            }
        }
        assert!(written > 500, "{written}");
    });
}
