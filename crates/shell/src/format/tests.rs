//! Texts as cqlsh 6.2.2 printed them of the same values.

use cql_types::{CqlType, Literal, LiteralKind, parse_literal};

use super::*;

fn ty(text: &str) -> CqlType {
    CqlType::parse(text).expect("a type")
}

/// The bytes of a constant.
fn of(type_text: &str, kind: LiteralKind, text: &str) -> Vec<u8> {
    parse_literal(&ty(type_text), &Literal::new(kind, text)).expect("a value")
}

fn plain(ty: &CqlType, bytes: &[u8]) -> String {
    value(ty, bytes, &Style::default()).text(false).to_owned()
}

fn composed(type_text: &str, parts: &[Option<&[u8]>]) -> String {
    let ty = ty(type_text);
    plain(&ty, &cql_types::compose(&ty, parts).expect("parts fit"))
}

#[test]
fn floats_have_digits_as_cqlsh_gives_them() {
    for (number, expected) in [
        (0.1, "0.1"),
        (f64::NAN, "NaN"),
        (f64::NEG_INFINITY, "-Infinity"),
        (123_456.789, "1.2346e+05"),
        (-0.000_123_4, "-0.000123"),
        (99_999.5, "99999.5"),
        (12_345_678_901_234_567_890.0, "1.2346e+19"),
        (1e15, "1e+15"),
        (999_999.999_99, "1e+06"),
        (1e30, "1e+30"),
        (0.0, "0"),
        (12_345.5, "12345.5"),
        (1e-5, "1e-05"),
    ] {
        assert_eq!(plain(&CqlType::Double, &f64::to_be_bytes(number)), expected);
    }
    for (number, expected) in [
        (3.241_592_7_f32, "3.24159"),
        (100_000.0, "1e+05"),
        (1_234_567.0, "1.2346e+06"),
        (0.999_999_99, "1"),
        (1e-5, "1e-05"),
    ] {
        assert_eq!(plain(&CqlType::Float, &f32::to_be_bytes(number)), expected);
    }
}

#[test]
fn scalars_are_as_cqlsh_prints_them() {
    use LiteralKind::{Float, String, Uuid};
    for (type_text, kind, text, expected) in [
        ("decimal", Float, "12345.678900", "12345.678900"),
        ("decimal", Float, "1E-20", "1E-20"),
        ("inet", String, "2001:db8::1", "2001:db8::1"),
        ("inet", String, "10.0.0.1", "10.0.0.1"),
        ("date", String, "2024-02-29", "2024-02-29"),
        ("date", String, "-0044-03-15", "-735525"),
        ("time", String, "08:12:54.123456789", "08:12:54.123456789"),
        ("timestamp", String, "2024-02-29 12:30:45.123+0000", "2024-02-29 12:30:45.123000+0000"),
        ("timestamp", String, "1500-01-01", "1500-01-01 00:00:00.000000+0000"),
        ("uuid", Uuid, "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),
    ] {
        assert_eq!(plain(&ty(type_text), &of(type_text, kind, text)), expected, "{text}");
    }
    assert_eq!(plain(&CqlType::Timestamp, &999_999_999_999_999_i64.to_be_bytes()), "999999999999999");
    assert_eq!(plain(&CqlType::Boolean, &[1]), "True");
    assert_eq!(plain(&CqlType::Blob, &[0, 0xff, 0x10]), "0x00ff10");
    assert_eq!(plain(&CqlType::Blob, &[]), "0x");
    assert_eq!(plain(&CqlType::Int, &[]), "");
    let mut duration = Vec::new();
    cql_types::Duration::parse("1y2mo3d4h5m6s7ms8us9ns").expect("a duration").encode(&mut duration);
    assert_eq!(plain(&CqlType::Duration, &duration), "1y2mo3d4h5m6s7ms8us9ns");
}

#[test]
fn nested_values_have_quotes_and_an_order() {
    let (one, two) = (1_i32.to_be_bytes(), 2_i32.to_be_bytes());
    assert_eq!(composed("list<int>", &[Some(&one), Some(&two)]), "[1, 2]");
    assert_eq!(composed("set<text>", &[Some(b"b"), Some(b"a'x")]), "{'a''x', 'b'}");
    assert_eq!(composed("map<text, int>", &[Some(b"x"), Some(&one)]), "{'x': 1}");
    assert_eq!(composed("tuple<int, text, timestamp>", &[Some(&one), Some(b"x")]), "(1, 'x', null)");
    assert_eq!(composed("vector<text, 2>", &[Some(b"a"), Some(b"b'c")]), "['a', 'b''c']");
    let udt = CqlType::Udt {
        keyspace: "ks".to_owned(),
        name: "pair".to_owned(),
        fields: vec![
            cql_types::Field { name: "a".to_owned(), ty: CqlType::Int },
            cql_types::Field { name: "B b".to_owned(), ty: CqlType::Text },
        ],
        frozen: true,
    };
    let bytes = cql_types::compose(&udt, &[Some(&one), None]).expect("fields");
    assert_eq!(plain(&udt, &bytes), "{a: 1, B b: null}");
    let addresses = [&[10, 0, 0, 2][..], &[9, 0, 0, 1][..]];
    assert_eq!(composed("set<inet>", &[Some(addresses[0]), Some(addresses[1])]), "{'10.0.0.2', '9.0.0.1'}");
}

#[test]
fn addresses_are_sorted_as_they_are_shown() {
    let loopback = std::net::Ipv6Addr::LOCALHOST.octets();
    assert_eq!(composed("set<inet>", &[Some(&loopback), Some(&[10, 0, 0, 1])]), "{'10.0.0.1', '::1'}");
}

#[test]
fn a_vector_that_a_result_names_by_its_class_has_its_elements() {
    let package = "org.apache.cassandra.db.marshal.";
    let list = format!("{package}FrozenType({package}ListType({package}Int32Type))");
    let vector = CqlType::Custom(format!("{package}VectorType({list} , 2)"));
    let elements = [&[12][..], &1_i32.to_be_bytes(), &4_i32.to_be_bytes(), &7_i32.to_be_bytes(), &[4], &[0; 4]];
    assert_eq!(plain(&vector, &elements.concat()), "[[7], []]");
    assert_eq!(plain(&CqlType::Custom("org.example.Odd".to_owned()), &[1]), "0x01");
    assert_eq!(plain(&vector, &[12]), "0x0c");
}

#[test]
fn collections_that_a_server_keeps_as_they_came_are_sorted() {
    let numbers = |numbers: &[i32]| {
        let mut bytes = (numbers.len() as i32).to_be_bytes().to_vec();
        for number in numbers {
            bytes.extend(4_i32.to_be_bytes());
            bytes.extend(number.to_be_bytes());
        }
        bytes
    };
    let (one, set) = (1_i32.to_be_bytes(), numbers(&[2, -1, 1]));
    assert_eq!(composed("tuple<int, frozen<set<int>>>", &[Some(&one), Some(&set)]), "(1, {-1, 1, 2})");
    let map = [&2_i32.to_be_bytes()[..], &numbers(&[7, 70, 5, 50])[4..]].concat();
    assert_eq!(composed("tuple<int, frozen<map<int, int>>>", &[Some(&one), Some(&map)]), "(1, {5: 50, 7: 70})");
    let list = numbers(&[2, -1]);
    assert_eq!(composed("tuple<int, frozen<list<int>>>", &[Some(&one), Some(&list)]), "(1, [2, -1])");
    let untyped = [&2_i32.to_be_bytes()[..], &1_i32.to_be_bytes(), &[9], &1_i32.to_be_bytes(), &[8]].concat();
    assert_eq!(plain(&ty("set<int>"), &untyped), "{0x09, 0x08}");
}

#[test]
fn no_control_character_of_a_value_is_shown_raw() {
    let evil = "a\x1b[31m\n\u{9b}2J\0\\";
    let shown = value(&CqlType::Text, evil.as_bytes(), &Style { is_coloured: true, ..Style::default() });
    assert_eq!(shown.text(false), "a\\x1b[31m\\n\\x9b2J\\x00\\\\");
    assert_eq!(shown.width(), shown.text(false).len() - 1, "a backslash in colours stands alone");
    let own = shown.text(true).replace("\x1b[0;1;33m", "").replace("\x1b[0;35m", "").replace("\x1b[0m", "");
    assert!(!own.chars().any(char::is_control), "{own:?}");
    assert_eq!(escape_controls("a\x1b[2J\nb\tc\u{9b}"), "a\\x1b[2J\nb\tc\\x9b");
    let named = name("k\x07", Colour::Magenta, &Style::default());
    assert_eq!(named.text(false), "k\\x07");
}

#[test]
fn what_is_no_value_of_its_type_is_shown_as_a_blob() {
    assert_eq!(plain(&ty("list<int>"), &[0x7f, 0xff, 0xff, 0xff, 1]), "0x7fffffff01");
    assert_eq!(plain(&CqlType::Text, &[0xff]), "0xff");
    assert_eq!(plain(&CqlType::Int, &[1]).len(), "0x01".len());
}

#[test]
fn tables_are_laid_out_by_width() {
    let style = Style::default();
    let names = vec![name("k", Colour::Red, &style), name("wide", Colour::Magenta, &style)];
    let row = |number: i32, text: &str| {
        vec![value(&CqlType::Int, &number.to_be_bytes(), &style), value(&CqlType::Text, text.as_bytes(), &style)]
    };
    let rows = vec![row(1, "漢字"), row(-20, "a")];
    let expected = " k   | wide\n-----+------\n   1 | 漢字\n -20 |    a\n";
    assert_eq!(table(&names, &rows, true, false), expected);
    assert_eq!(table(&names, &[], true, false), " k | wide\n---+------\n\n");
    let expected = "@ Row 3\n------+------\n k    | 1\n wide | 漢字\n\n";
    assert_eq!(expanded(&names, &rows[..1], 2, false), expected);
}

#[test]
fn names_go_down_the_columns_first() {
    let names: Vec<String> = [
        "g",
        "system",
        "system_auth",
        "system_distributed",
        "system_schema",
        "system_traces",
        "system_views",
        "system_virtual_schema",
    ]
    .map(str::to_owned)
    .to_vec();
    let expected = "g       system_auth         system_schema  system_views         \n\
                    system  system_distributed  system_traces  system_virtual_schema\n";
    assert_eq!(columnize(&names), expected);
    assert_eq!(columnize(&[]), "<empty>\n");
}

#[test]
fn separators_and_booleans_of_files() {
    let style = Style {
        thousands_separator: ".".to_owned(),
        decimal_separator: ",".to_owned(),
        booleans: ("yes".to_owned(), "no".to_owned()),
        has_millis: true,
        is_raw: true,
        ..Style::default()
    };
    let text = |ty: &CqlType, bytes: &[u8]| value(ty, bytes, &style).text(false).to_owned();
    assert_eq!(text(&CqlType::Bigint, &(-1_234_567_i64).to_be_bytes()), "-1.234.567");
    assert_eq!(text(&CqlType::Double, &1234.5_f64.to_be_bytes()), "1.234,5");
    assert_eq!(text(&CqlType::Boolean, &[0]), "no");
    assert_eq!(text(&CqlType::Text, b"a\\b\n"), "a\\b\n");
    assert_eq!(text(&CqlType::Timestamp, &1_500_i64.to_be_bytes()), "1970-01-01 00:00:01.500+0000");
}

/// With a copy of the text before each element this takes minutes, which the time of the whole run does not have.
#[test]
fn a_large_collection_is_shown_at_once() {
    let count = 200_000_i32;
    let mut bytes = count.to_be_bytes().to_vec();
    for element in 0..count {
        bytes.extend(4_i32.to_be_bytes());
        bytes.extend(element.to_be_bytes());
    }
    let ty = CqlType::parse("list<int>").expect("a type");
    let shown = value(&ty, &bytes, &Style::default());
    assert!(shown.text(false).ends_with(", 199998, 199999]"));
    // What was appended for a value that is none is taken back, in colours too.
    let broken = [&2_i32.to_be_bytes()[..], &1_i32.to_be_bytes(), b"a"].concat();
    let coloured = Style { is_coloured: true, ..Style::default() };
    let list = CqlType::parse("list<text>").expect("a type");
    assert_eq!(value(&list, &broken, &coloured).text(true), "\x1b[0;35m0x000000020000000161\x1b[0m");
}
