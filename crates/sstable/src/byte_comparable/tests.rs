//! Forms against those that Cassandra made, and their order against ours.

use cql_types::by_class::values::Parts;
use schema::{ColumnId, ColumnKind, Order};

use super::*;

const COMPARABLES: &str = include_str!("../../testdata/comparables.txt");

fn bytes(word: &str) -> Vec<u8> {
    if word == "-" {
        return Vec::new();
    }
    let digits = word.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("hex is ASCII"));
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("two digits of hex")).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn column(direction: &str, ty: &str) -> Column {
    let ty = CqlType::parse(ty).unwrap_or_else(|error| panic!("{ty}: {error}"));
    let order = if direction == "reversed" { Order::Desc } else { Order::Asc };
    Column::new(ColumnKind::Clustering, ColumnId(0), "column", ty).ordered(order)
}

fn encoded(values: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![values.len() as u8];
    for value in values {
        varint::encode(value.len() as u64, &mut out);
        out.extend_from_slice(value);
    }
    out
}

#[test]
fn forms_are_cassandras() {
    let (mut count, mut wrong) = (0, Vec::new());
    for line in COMPARABLES.lines() {
        let mut parts = line.split(" | ");
        let (Some(direction), Some(ty), Some(words)) = (parts.next(), parts.next(), parts.next()) else { continue };
        if direction == "bound" || line.starts_with('#') {
            continue;
        }
        let columns = [column(direction, ty)];
        let words: Vec<_> = words.split_whitespace().collect();
        for pair in words.chunks(2) {
            let clustered = encoded(&[bytes(pair[0])]);
            let mut out = Vec::new();
            clustering(&columns, ClusteringRef::trusted(&clustered), Place::Row, &mut out);
            count += 1;
            if is_odd_nan(&columns[0].ty, &bytes(pair[0])) {
                continue;
            }
            if hex(&out) != pair[1] {
                wrong.push(format!("{direction} {ty} {} is {} and not {}", pair[0], hex(&out), pair[1]));
            }
        }
    }
    assert!(count > 1_500, "{count}");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// A bound of `testdata/comparables.txt`: columns, kind, values, form.
type WrittenBound = (Vec<Column>, &'static str, Vec<Vec<u8>>, &'static str);

fn bounds() -> Vec<WrittenBound> {
    let mut all = Vec::new();
    for line in COMPARABLES.lines().filter(|line| line.starts_with("bound")) {
        let mut parts = line.split(" | ").skip(1);
        let (Some(types), Some(words)) = (parts.next(), parts.next()) else { panic!("{line}") };
        let columns: Vec<_> = types
            .split(", ")
            .map(|both| both.split_once(' ').expect("a direction and a type"))
            .map(|(direction, ty)| column(direction, ty))
            .collect();
        let mut words = words.split_whitespace();
        while let Some(kind) = words.next() {
            let values = words.by_ref().take_while(|word| *word != "=").map(bytes).collect();
            all.push((columns.clone(), kind, values, words.next().expect("a form")));
        }
    }
    assert!(all.len() > 50, "{}", all.len());
    all
}

#[test]
fn bounds_are_cassandras() {
    for (columns, kind, values, form) in bounds() {
        let place = match kind {
            "CLUSTERING" => Place::Row,
            "EXCL_END_BOUND" | "INCL_START_BOUND" | "EXCL_END_INCL_START_BOUNDARY" => Place::Before,
            _ => Place::After,
        };
        let clustered = encoded(&values);
        let mut out = Vec::new();
        clustering(&columns, ClusteringRef::trusted(&clustered), place, &mut out);
        assert_eq!(hex(&out), form, "{kind} {values:?}");
    }
}

#[test]
fn bounds_of_slices_are_cassandras() {
    for (columns, kind, values, form) in bounds() {
        let (is_start, inclusive) = match kind {
            "INCL_START_BOUND" => (true, true),
            "EXCL_START_BOUND" => (true, false),
            "INCL_END_BOUND" => (false, true),
            "EXCL_END_BOUND" => (false, false),
            _ => continue,
        };
        let mut prefix = Vec::new();
        for (column, value) in columns.iter().zip(&values) {
            comparable::encode(&column.ty, value, column.is_reversed(), &mut prefix);
        }
        let mut out = Vec::new();
        bound(&columns, Bound { prefix: &prefix, inclusive }, is_start, &mut out);
        assert_eq!(hex(&out), form, "{kind} {values:?}");
    }
}

#[test]
fn keys_are_cassandras() {
    let keys: Vec<_> = COMPARABLES.lines().filter_map(|line| line.strip_prefix("key | ")).collect();
    assert!(keys.len() > 5);
    for line in keys {
        let (word, form) = line.split_once(" = ").expect("a key and its form");
        let bytes = bytes(word);
        let mut out = Vec::new();
        key(topology::token_of(&bytes), &bytes, &mut out);
        assert_eq!(hex(&out), form, "{word}");
    }
}

#[test]
fn what_is_no_bound_makes_a_slice_longer() {
    let columns = [column("ascending", "int"), column("ascending", "text")];
    let mut prefix = Vec::new();
    comparable::encode(&columns[0].ty, &[0, 0, 0, 1], false, &mut prefix);
    prefix.extend_from_slice(b"without an end");
    for (is_start, end) in [(true, BEFORE), (false, AFTER)] {
        for inclusive in [true, false] {
            let mut out = Vec::new();
            bound(&columns, Bound { prefix: &prefix, inclusive }, is_start, &mut out);
            assert_eq!(out, [0x40, 0x80, 0, 0, 1, end]);
        }
    }
}

/// The values of `testdata/comparables.txt`, by type.
fn values_of_types() -> Vec<(Column, Vec<Vec<u8>>)> {
    COMPARABLES
        .lines()
        .filter_map(|line| {
            let mut parts = line.split(" | ");
            let (direction, ty, words) = (parts.next()?, parts.next()?, parts.next()?);
            if direction != "ascending" && direction != "reversed" {
                return None;
            }
            let values = words.split_whitespace().step_by(2).map(bytes).collect();
            Some((column(direction, ty), values))
        })
        .collect()
}

/// Whether it is or has a NaN of other bits than the usual ones.
fn is_odd_nan(ty: &CqlType, value: &[u8]) -> bool {
    match (ty, value.len()) {
        (CqlType::Float, 4) => {
            let bits = u32::from_be_bytes(value.try_into().expect("four bytes"));
            f32::from_bits(bits).is_nan() && bits != 0x7fc0_0000
        }
        (CqlType::Double, 8) => {
            let bits = u64::from_be_bytes(value.try_into().expect("eight bytes"));
            f64::from_bits(bits).is_nan() && bits != 0x7ff8_0000_0000_0000
        }
        (CqlType::Vector { element, .. }, length) => element
            .fixed_len()
            .is_some_and(|each| length % each == 0 && value.chunks(each).any(|part| is_odd_nan(element, part))),
        _ => false,
    }
}

/// True if there is a tuple in it with a field that is there and empty: of most types that is the same as null in Cassandra's forms; or a
/// reversed component that is empty, whose form is not reversed.
fn has_empty_field(ty: &CqlType, value: &[u8]) -> bool {
    match ty {
        CqlType::Tuple(types) => fields_of(value).zip(types).any(|(field, ty)| match field {
            Some(field) => field.is_empty() || has_empty_field(ty, field),
            None => false,
        }),
        CqlType::List { element, .. } => parts_of_collection(ty, value).any(|part| has_empty_field(element, part)),
        CqlType::ByClass(class) if class.simple_name() != "LexicalUUIDType" => {
            let mut parts = Parts::new(class, value);
            while let Some((component, value)) = parts.read().expect("the file has values") {
                if (component.is_reversed && value.is_empty()) || has_empty_field(&component.ty, value) {
                    return true;
                }
                parts.end().expect("the file has values");
            }
            false
        }
        _ => false,
    }
}

/// Forms compare as values do, none is a beginning of another, and both hold with other columns behind.
#[test]
fn forms_compare_as_values() {
    let mut pairs = 0;
    for (column, values) in values_of_types() {
        let form = |value: &Vec<u8>| {
            let clustered = encoded(std::slice::from_ref(value));
            let mut out = Vec::new();
            clustering(std::slice::from_ref(&column), ClusteringRef::trusted(&clustered), Place::Row, &mut out);
            out
        };
        let values: Vec<_> = values.iter().filter(|value| !has_empty_field(&column.ty, value)).collect();
        let forms: Vec<_> = values.iter().map(|value| form(value)).collect();
        for (a, x) in values.iter().zip(&forms) {
            for (b, y) in values.iter().zip(&forms) {
                let order = cql_types::compare(&column.ty, a, b);
                let order = if column.is_reversed() { order.reverse() } else { order };
                assert_eq!(x.cmp(y), order, "{} {} {}", column.ty, hex(a), hex(b));
                assert!(x == y || !y.starts_with(x), "{} {} {}", column.ty, hex(a), hex(b));
                pairs += 1;
            }
        }
    }
    assert!(pairs > 20_000, "{pairs}");
}

/// A bound of our own comparable form lies between the same rows as in Cassandra's, on the same side of those that begin with it.
#[test]
fn bounds_lie_between_their_rows() {
    for (column, values) in values_of_types() {
        let columns = std::slice::from_ref(&column);
        let values: Vec<_> = values.iter().filter(|value| !has_empty_field(&column.ty, value)).collect();
        for of in values.iter().step_by(5) {
            let mut prefix = Vec::new();
            comparable::encode(&column.ty, of, column.is_reversed(), &mut prefix);
            let (mut before, mut after) = (Vec::new(), Vec::new());
            bound(columns, Bound { prefix: &prefix, inclusive: true }, true, &mut before);
            bound(columns, Bound { prefix: &prefix, inclusive: true }, false, &mut after);
            for value in &values {
                let clustered = encoded(&[value.to_vec()]);
                let mut form = Vec::new();
                clustering(columns, ClusteringRef::trusted(&clustered), Place::Row, &mut form);
                let order = cql_types::compare(&column.ty, value, of);
                let order = if column.is_reversed() { order.reverse() } else { order };
                assert_eq!(form.cmp(&before), order.then(std::cmp::Ordering::Greater), "{} {}", column.ty, hex(of));
                assert_eq!(form.cmp(&after), order.then(std::cmp::Ordering::Less), "{} {}", column.ty, hex(of));
            }
        }
    }
}
