//! The order of values is Cassandra's: `testdata/orders.txt` was written by its own types (`testdata/Orders.java`).

use std::cmp::Ordering;

use cql_types::{CqlType, comparable, compare, validate};

const ORDERS: &str = include_str!("../testdata/orders.txt");

/// Values of a type with their ranks: equal values have the same.
struct Line {
    text: &'static str,
    ty: CqlType,
    is_reversed: bool,
    values: Vec<(usize, Vec<u8>)>,
}

fn lines() -> impl Iterator<Item = Line> {
    ORDERS.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut parts = line.split(" | ");
        let (Some(direction), Some(rest)) = (parts.next(), parts.next()) else { panic!("{line} has no type") };
        let (ty, values) = match parts.next() {
            Some(values) => (rest, values),
            None => rest.split_once(" |").expect("a type ends with a bar"),
        };
        let mut ranked = Vec::new();
        let (mut rank, mut is_equal) = (0, true);
        for word in values.split_whitespace() {
            if word == "=" {
                is_equal = true;
                continue;
            }
            rank += usize::from(!is_equal);
            is_equal = false;
            ranked.push((rank, bytes(word)));
        }
        assert!(ranked.len() > 4, "{line} has few values");
        let ty = CqlType::parse(ty).unwrap_or_else(|error| panic!("{ty}: {error}"));
        Line { text: line, ty, is_reversed: direction == "reversed", values: ranked }
    })
}

fn bytes(word: &str) -> Vec<u8> {
    if word == "-" {
        return Vec::new();
    }
    let digits = word.as_bytes().chunks(2);
    let digits = digits.map(|pair| std::str::from_utf8(pair).expect("hex is ASCII"));
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("two digits of hex")).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Holds `order` against the file, for every pair of values of a line.
fn check(order: impl Fn(&Line, &[u8], &[u8]) -> Ordering) {
    let (mut pairs, mut wrong) = (0, Vec::new());
    for line in lines() {
        for (a_rank, a) in &line.values {
            for (b_rank, b) in &line.values {
                pairs += 1;
                let (ours, theirs) = (order(&line, a, b), a_rank.cmp(b_rank));
                if ours != theirs {
                    wrong.push(format!(
                        "{} reversed: {}: {} to {} is {ours:?}, not {theirs:?}",
                        line.ty,
                        line.is_reversed,
                        hex(a),
                        hex(b)
                    ));
                }
            }
        }
    }
    assert!(pairs > 20_000, "{pairs}");
    assert!(wrong.is_empty(), "{} of {pairs}:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

#[test]
fn every_value_is_valid() {
    for line in lines() {
        for (_, value) in &line.values {
            assert!(validate(&line.ty, value).is_ok(), "{}: {}", line.text, hex(value));
        }
    }
}

#[test]
fn values_compare_as_in_cassandra() {
    check(|line, a, b| {
        let order = compare(&line.ty, a, b);
        if line.is_reversed { order.reverse() } else { order }
    });
}

#[test]
fn comparable_forms_compare_as_in_cassandra() {
    check(|line, a, b| {
        let form = |value| {
            let mut out = Vec::new();
            comparable::encode(&line.ty, value, line.is_reversed, &mut out);
            out
        };
        form(a).cmp(&form(b))
    });
}
