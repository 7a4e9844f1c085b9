//! Records, options, and values there and back.

use cql_types::CqlType;

use super::csv::{self, Records};
use super::options::{Dialect, Options};
use super::progress::interval;
use super::sources::{matches, read_line};
use super::text;
use crate::command::Direction;
use crate::format::{self, Style};

const PYTHONS: Dialect = Dialect { delimiter: ',', quote: '"', escape: Some('\\') };
const DOUBLED: Dialect = Dialect { delimiter: ';', quote: '"', escape: None };

fn read(text: &str, dialect: &Dialect) -> Vec<Vec<String>> {
    let mut records = Records::new(dialect.clone());
    let mut found = Vec::new();
    let (mut bytes, mut line) = (text.as_bytes(), Vec::new());
    while read_line(&mut bytes, &mut line).expect("memory is read") > 0 {
        found.extend(records.line(std::str::from_utf8(&line).expect("text")).expect("a short record"));
        line.clear();
    }
    found.extend(records.end());
    found
}

fn options(given: &[(&str, &str)], direction: Direction) -> Result<Options, String> {
    let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Options::read(given, direction, "rejected", &Style::default()).map_err(|error| error.to_string())
}

/// As cqlsh's COPY FROM read the same text.
#[test]
fn records_are_read_as_pythons_are() {
    let text = "x,1\ny,abc\nz\n\n,3\n\"a \"\"b\",4\n\"c \\\" d\",5\r\ne\\,f,6\n";
    let expected: [&[&str]; 7] =
        [&["x", "1"], &["y", "abc"], &["z"], &["", "3"], &["a \"b\"", "4"], &["c \" d", "5"], &["e,f", "6"]];
    assert_eq!(read(text, &PYTHONS), expected);
    assert_eq!(read("\"a\"\"b\";\"c\n\nd\";\n", &DOUBLED), [vec!["a\"b", "c\n\nd", ""]]);
    assert_eq!(read("\"open\n", &PYTHONS), [vec!["open\n"]]);
    // Lines of other systems, and a carriage return within quotes.
    assert_eq!(read("1,a\r2,\"b\rc\"\r\r3,d\r\n", &PYTHONS), [vec!["1", "a"], vec!["2", "b\rc"], vec!["3", "d"]]);
}

#[test]
fn what_is_written_is_read_again() {
    for dialect in [PYTHONS, DOUBLED] {
        for record in [vec!["a", "", "b,c;d"], vec!["q\"u\\o'te", "line\nend\r", "\\"], vec![""], vec!["\"", "x"]] {
            let record: Vec<String> = record.into_iter().map(str::to_owned).collect();
            let mut text = String::new();
            csv::write(&record, &dialect, &mut text);
            let read = read(&text, &dialect);
            // A line's end within a field is one of Unix after it was read.
            assert_eq!(read, [record], "{text:?}");
        }
    }
}

/// As Python's `csv` wrote the same record.
#[test]
fn records_are_written_as_pythons_are() {
    let record = ["a \"b\"", "c,d", "\\", "e\"f,g"].map(str::to_owned);
    let written = |dialect: &Dialect| {
        let mut text = String::new();
        csv::write(&record, dialect, &mut text);
        text
    };
    assert_eq!(written(&PYTHONS), "a \\\"b\\\",\"c,d\",\\\\,\"e\\\"f,g\"\r\n");
    assert_eq!(written(&DOUBLED), "\"a \"\"b\"\"\";c,d;\\;\"e\"\"f,g\"\r\n");
}

#[test]
fn values_come_back_from_their_text() {
    let style = Style {
        is_raw: true,
        has_millis: true,
        double_precision: 17,
        float_precision: 9,
        null: String::new(),
        ..Style::default()
    };
    let udt = "frozen<list<int>>";
    for (type_text, field) in [
        ("int", "-7"),
        ("text", "it's, \"quoted\" \\ back"),
        ("boolean", "True"),
        ("blob", "0x00ff"),
        ("double", "0.142857142857142849"),
        ("decimal", "12345.678900"),
        ("varint", "123456789012345678901234567890"),
        ("timestamp", "2024-02-29 12:30:45.123+0000"),
        ("date", "2024-02-29"),
        ("time", "08:12:54.123456789"),
        ("duration", "1y2mo3d4h5m6s7ms8us9ns"),
        ("inet", "2001:db8::1"),
        ("uuid", "550e8400-e29b-41d4-a716-446655440000"),
        ("list<int>", "[1, 2, 3]"),
        ("set<text>", "{'a, b', 'it''s', '{x'}"),
        ("map<text, frozen<list<int>>>", "{'key: 1': [1, 2], 'other': []}"),
        ("map<timestamp, inet>", "{'2024-02-29 12:30:45.123+0000': '10.0.0.1'}"),
        ("tuple<int, text>", "(1, 'x')"),
        ("vector<float, 3>", "[1.5, 0.25, -1]"),
        (udt, "[]"),
    ] {
        let ty = CqlType::parse(type_text).expect("a type");
        let bytes = text::value(&ty, field, &style).unwrap_or_else(|error| panic!("{type_text}: {error}"));
        assert_eq!(format::value(&ty, &bytes, &style).text(false), field, "{type_text}");
    }
}

#[test]
fn fields_of_a_type_may_be_missing_and_in_any_order() {
    let field = |name: &str, ty: CqlType| cql_types::Field { name: name.to_owned(), ty };
    let fields = vec![field("n", CqlType::Int), field("name", CqlType::Text), field("rest", CqlType::Int)];
    let udt = CqlType::Udt { keyspace: "ks".to_owned(), name: "pair".to_owned(), fields, frozen: true };
    let bytes = text::value(&udt, "{name: 'a: b', n: 1}", &Style::default()).expect("fields");
    assert_eq!(format::value(&udt, &bytes, &Style::default()).text(false), "{n: 1, name: 'a: b', rest: null}");
}

#[test]
fn text_that_is_no_value_says_why() {
    let error = |type_text: &str, field: &str| {
        text::value(&CqlType::parse(type_text).expect("a type"), field, &Style::default()).expect_err(field).to_string()
    };
    assert!(error("int", "abc").starts_with("Failed to parse abc : "));
    assert!(error("list<int>", "1, 2").contains("matching parentheses"));
    assert!(error("vector<float, 3>", "[1]").contains("1 elements"));
    assert!(error("timestamp", "2024-02-30").contains("can't interpret"));
    assert!(error("blob", "ff").contains("0x"));
}

#[test]
fn a_uuid_needs_no_hyphens() {
    let read = |text: &str| text::value(&CqlType::Uuid, text, &Style::default());
    assert_eq!(read("123E4567e89b12d3a456426614174000"), read("123e4567-e89b-12d3-a456-426614174000"));
    assert!(read("123e4567e89b12d3a45642661417400").is_err() && read("123e4567e89b12d3a45642661417400x").is_err());
}

#[test]
fn options_are_cqlshs() {
    let read = options(&[("delimiter", "\\t"), ("quote", "'"), ("escape", "'"), ("header", "TRUE")], Direction::From);
    let read = read.expect("options");
    assert_eq!(read.dialect, Dialect { delimiter: '\t', quote: '\'', escape: None });
    assert!(read.has_header && read.rows_max.is_none());
    let read =
        options(&[("maxrows", "5"), ("skipcols", "a, b"), ("numprocesses", "4"), ("chunksize", "9")], Direction::From);
    let read = read.expect("options");
    assert_eq!((read.rows_max, read.columns_skipped), (Some(5), vec!["a".to_owned(), "b".to_owned()]));
    // Both directions have all options, also those that are for the other.
    for direction in [Direction::From, Direction::To] {
        for name in
            ["maxoutputsize", "pagesize", "maxbatchsize", "chunksize", "ttl", "childtimeout", "maxpendingchunks"]
        {
            assert!(options(&[(name, "3")], direction).is_ok(), "{name}");
        }
    }
    assert_eq!(options(&[("maxoutputsize", "3")], Direction::To).expect("options").file_rows_max, Some(3));
    let error = options(&[("begintoken", "5"), ("endtoken", "-1")], Direction::To).expect_err("no range");
    assert_eq!(error, "Begin token 5 must be smaller than end token -1");
    let error = options(&[("nope", "1")], Direction::To).expect_err("unknown");
    assert_eq!(error, "Unrecognized COPY TO options: nope");
    for (name, value) in
        [("delimiter", "ab"), ("boolstyle", "x"), ("maxrows", "many"), ("begintoken", "x"), ("encoding", "latin1")]
    {
        assert!(options(&[(name, value)], Direction::To).expect_err(name).contains(name), "{name}");
    }
}

#[test]
fn patterns_and_times() {
    assert!(matches("*.csv", "a.csv") && matches("a?.csv", "ab.csv") && matches("*", ""));
    assert!(!matches("*.csv", "a.csv.gz") && !matches("a?", "a"));
    assert!(
        matches("x[1-3é].csv", "x2.csv") && matches("x[1-3é]", "xé") && matches("[!a]b", "cb") && matches("[]]", "]")
    );
    assert!(!matches("x[1-3]", "x4") && !matches("[!a]b", "ab") && matches("[a", "[a") && !matches("[a]", ""));
    assert_eq!(interval(std::time::Duration::from_millis(1_234)), "1.234 seconds");
    assert_eq!(interval(std::time::Duration::from_secs(3_723)), "1 hour, 2 minutes, and 3.000 seconds");
}
