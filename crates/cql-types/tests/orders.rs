//! The order of values is Cassandra's: `testdata/orders.txt` was written by its own types (`testdata/Orders.java`).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use cql_types::{CqlType, Field, comparable, compare, validate};

const ORDERS: &str = include_str!("../testdata/orders.txt");

/// Values of a type with their ranks: equal values have the same.
struct Line {
    text: &'static str,
    ty: CqlType,
    is_reversed: bool,
    values: Vec<(usize, Vec<u8>)>,
}

/// The types that the file says before it names them.
type Named = BTreeMap<String, CqlType>;

fn lines() -> Vec<Line> {
    let (mut types, mut lines) = (Named::new(), Vec::new());
    for text in ORDERS.lines().filter(|line| !line.starts_with('#')) {
        match text.strip_prefix("type | ").map(|of| of.split_once(" | ").expect("a type has fields")) {
            Some((name, fields)) => {
                types.insert(name.to_owned(), user_type(name, fields, &types));
            }
            None => lines.push(line(text, &types)),
        }
    }
    assert_eq!(types.len(), 2, "user-defined types by name");
    lines
}

fn user_type(name: &str, fields: &str, types: &Named) -> CqlType {
    let field = |field: &str| {
        let (name, ty) = field.split_once(' ').expect("a field has a type");
        Field { name: name.to_owned(), ty: named(ty, types) }
    };
    let fields = fields.split(", ").map(field).collect();
    CqlType::Udt { keyspace: "ks".to_owned(), name: name.to_owned(), fields, frozen: true }
}

/// The type that `text` names, its user-defined types as the file says them.
fn named(text: &str, types: &Named) -> CqlType {
    fn filled(ty: CqlType, types: &Named) -> CqlType {
        let boxed = |ty: Box<CqlType>| Box::new(filled(*ty, types));
        match ty {
            CqlType::Udt { name, .. } => types.get(&name).unwrap_or_else(|| panic!("{name} is not said")).clone(),
            CqlType::List { element, frozen } => CqlType::List { element: boxed(element), frozen },
            CqlType::Set { element, frozen } => CqlType::Set { element: boxed(element), frozen },
            CqlType::Map { key, value, frozen } => CqlType::Map { key: boxed(key), value: boxed(value), frozen },
            CqlType::Vector { element, dimension } => CqlType::Vector { element: boxed(element), dimension },
            CqlType::Tuple(elements) => {
                CqlType::Tuple(elements.into_iter().map(|element| filled(element, types)).collect())
            }
            native => native,
        }
    }
    filled(CqlType::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")), types)
}

fn line(text: &'static str, types: &Named) -> Line {
    let mut parts = text.split(" | ");
    let (Some(direction), Some(rest)) = (parts.next(), parts.next()) else { panic!("{text} has no type") };
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
    assert!(ranked.len() > 4, "{text} has few values");
    Line { text, ty: named(ty, types), is_reversed: direction == "reversed", values: ranked }
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
