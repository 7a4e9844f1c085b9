//! Values as JSON and back, and the words for what is none.

use proptest::prelude::*;

use super::*;
use crate::CqlType;

fn read(ty: &str, text: &str) -> Result<String, String> {
    let ty = CqlType::parse(ty).unwrap();
    let json = parse(text).map_err(|error| error.to_string())?;
    let value = from_json(&ty, &json).map_err(|error| error.to_string())?;
    assert_eq!(crate::validate(&ty, &value), Ok(()), "{ty} {text}");
    Ok(crate::print(&ty, &value))
}

fn written(ty: &str, text: &str) -> String {
    let ty = CqlType::parse(ty).unwrap();
    let value = from_json(&ty, &parse(text).unwrap()).unwrap();
    let mut out = Vec::new();
    to_json(&ty, &value, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn values_are_read() {
    for (ty, json, printed) in [
        ("int", "1", "1"),
        ("int", "\"1\"", "1"),
        ("int", "\"\"", "null"),
        ("bigint", "123123123123", "123123123123"),
        ("smallint", "\"-5\"", "-5"),
        ("varint", "123123123123123123123", "123123123123123123123"),
        ("decimal", "1.10", "1.1"),
        ("decimal", "\"1.10\"", "1.10"),
        ("double", "1", "1.0"),
        ("float", "1.5e3", "1500.0"),
        ("boolean", "\"TRUE\"", "true"),
        ("text", "\"a\\u00e9\\ud83d\\ude00\\n\"", "'aé😀\n'"),
        ("text", "\"\\ud83d\"", "'?'"),
        ("blob", "\"0x0102\"", "0x0102"),
        ("timestamp", "123123123123", "'1973-11-26T00:52:03.123Z'"),
        ("duration", "\"1h30m\"", "1h30m"),
        ("list<int>", "[1, \"2\"] and more", "[1, 2]"),
        ("list<int>", "\"[1, 2]\"", "[1, 2]"),
        ("set<int>", "[2, 1, 2]", "{1, 2}"),
        ("map<int, text>", "{\"2\": \"b\", \"1\": \"a\"}", "{1: 'a', 2: 'b'}"),
        ("map<frozen<list<int>>, int>", "{\"[1, 2]\": 3}", "{[1, 2]: 3}"),
        ("tuple<int, text>", "[1, null]", "(1, null)"),
        ("vector<int, 2>", "[1, 2]", "[1, 2]"),
    ] {
        assert_eq!(read(ty, json).as_deref(), Ok(printed), "{ty} {json}");
    }
}

#[test]
fn what_is_no_value_is_refused_in_cassandras_words() {
    for (ty, json, words) in [
        ("int", "1.5", "Expected an int value, but got a Double: 1.5"),
        ("int", "123123123123", "Expected an int value, but got a Long: 123123123123"),
        ("int", "\"x\"", "Unable to make int from 'x'"),
        ("int", "[1, {\"a\": null}]", "Expected an int value, but got a ArrayList: [1, {a=null}]"),
        ("text", "1", "Expected a UTF-8 string, but got a Integer: 1"),
        ("boolean", "\"x\"", "Unable to make boolean from 'x'"),
        ("timestamp", "1", "Expected a long or a datestring representation of a timestamp value, but got a Integer: 1"),
        ("list<int>", "[null]", "Invalid null element in list"),
        ("list<int>", "1", "Expected a list, but got a Integer: 1"),
        ("set<int>", "{}", "Expected a list (representing a set), but got a LinkedHashMap: {}"),
        ("map<int, int>", "{\"1\": null}", "Invalid null value in map"),
        ("tuple<int, int>", "[1]", "Tuple is missing items (expected 2): [1]"),
        ("tuple<int, int>", "[1, 2, 3]", "Tuple contains extra items (expected 2): [1, 2, 3]"),
        (
            "blob",
            "\"01\"",
            "Value '01' is not a valid blob representation: String representation of blob is missing 0x prefix: 01",
        ),
        ("varint", "1.5", "Value '1.5' is not a valid representation of a varint value"),
    ] {
        assert_eq!(read(ty, json), Err(words.to_owned()), "{ty} {json}");
    }
}

#[test]
fn values_are_written() {
    for (ty, json, text) in [
        ("text", "\"a\\\"\\\\\\u0001é/\"", "\"a\\\"\\\\\\u0001é/\""),
        ("int", "\"\"", "\"\""),
        ("double", "\"NaN\"", "null"),
        ("timestamp", "\"2014-01-01\"", "\"2014-01-01 00:00:00.000Z\""),
        ("map<int, text>", "{\"1\": \"a\"}", "{\"1\": \"a\"}"),
        ("map<text, int>", "{\"B\": 1}", "{\"B\": 1}"),
        ("map<frozen<set<text>>, int>", "{\"[\\\"a\\\"]\": 1}", "{\"[\\\"a\\\"]\": 1}"),
        ("tuple<int, text>", "[1, null]", "[1, null]"),
        ("inet", "\"::1\"", "\"0:0:0:0:0:0:0:1\""),
    ] {
        assert_eq!(written(ty, json), text, "{ty} {json}");
    }
}

#[test]
fn names_are_folded_and_quoted() {
    let entries = parse_object(r#"{"A": 1, "\"B\"": 2, "a": 3, "c": 4, "c": 5}"#).unwrap().unwrap();
    let shown: Vec<String> = entries.iter().map(|(name, json)| format!("{name}={json}")).collect();
    assert_eq!(shown, ["B=2", "a=3", "c=5"]);
    let mut out = Vec::new();
    write_name("Mixed", &mut out);
    write_name("plain", &mut out);
    assert_eq!(out, br#""\"Mixed\"""plain""#);
}

#[test]
fn text_that_is_no_object_is_refused() {
    const SOURCE: &str = "\n at [Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: ";
    for (text, words) in [
        (
            "nonsense",
            "core.JsonParseException: Unrecognized token 'nonsense': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')@1, column: 9]",
        ),
        ("", "databind.exc.MismatchedInputException: No content to map due to end-of-input@1, column: 1]"),
    ] {
        let error = parse_object(text).unwrap_err();
        assert_eq!(error.with_class(), format!("com.fasterxml.jackson.{}", words.replace('@', SOURCE)));
    }
    for text in [
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,}",
        "[1",
        "\"a",
        "-",
        "01",
        "1.",
        "1e",
        "\"\\x\"",
        "\"\\u12\"",
        "{a:1}",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
    assert_eq!(parse_object("null"), Ok(None));
    assert!(parse(&"[".repeat(100_000)).is_err(), "deep nesting ends");
}

proptest! {
    #[test]
    fn no_text_panics(text in "[\\[\\]{}\",:a0-9.eE\\-\\\\u ]{0,40}") {
        let _ = parse(&text);
        let _ = parse_object(&text);
    }

    /// What is written is JSON, and reads as an equal value where JSON can hold it.
    #[test]
    fn what_is_written_is_json((ty, value, _) in crate::samples::type_and_values()) {
        let mut out = Vec::new();
        to_json(&ty, &value, &mut out);
        let text = String::from_utf8(out).unwrap();
        let json = parse(&text).unwrap_or_else(|error| panic!("{ty} {text}: {error}"));
        if let (CqlType::Int | CqlType::Bigint | CqlType::Text | CqlType::Uuid | CqlType::Varint, false) = (&ty, value.is_empty()) {
            // A varint may have bytes that say nothing, which are not written again.
            let read = from_json(&ty, &json).unwrap();
            prop_assert!(crate::compare(&ty, &read, &value).is_eq(), "{ty} {text}: {read:?} is not {value:?}");
        }
    }
}
