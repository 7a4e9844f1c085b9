//! Long pieces of a text, found step by step.

use super::*;
use crate::{Parse, Statement, Term, parse};

/// The pieces that the steps find, and the number of steps.
fn scanned(text: &str) -> Result<(LongPieces, usize), SyntaxError> {
    let mut scan = Scan::begin(text)?;
    let mut steps = 1;
    loop {
        match scan.step()? {
            Some(long) => return Ok((long, steps)),
            None => steps += 1,
        }
    }
}

/// The statement as it is parsed with what was found ahead.
fn parsed(text: &str) -> Result<Statement, SyntaxError> {
    let (long, _) = scanned(text)?;
    let mut parse = Parse::with_long(text, &long)?;
    loop {
        if let Some(statement) = parse.step()? {
            return Ok(statement);
        }
    }
}

fn insert(term: &str) -> String {
    format!("INSERT INTO t (k, v) /* of 'some' */ VALUES (1, {term}) -- \"the end")
}

#[test]
fn a_text_with_long_pieces_means_what_it_says() {
    let sizes = [LONG_MIN - 3, LONG_MIN, LONG_MIN + 1, 2 * STEP_BYTES - 40, 3 * STEP_BYTES + 7];
    for size in sizes {
        let quotes = "''".repeat(size / 2);
        for text in [
            insert(&format!("'{}'", "x".repeat(size))),
            insert(&format!("'{}'", "ü€".repeat(size / 5))),
            insert(&format!("'{quotes}'")),
            insert(&format!("'a{quotes}'")),
            insert(&format!("'{}a{quotes}'", "$$".repeat(size / 4))),
            insert(&format!("$${}$$", "it's $5 ".repeat(size / 8))),
            insert(&format!("['{}', '{quotes}', 'y']", "z".repeat(size))),
            format!("{}SELECT v{}FROM t", " \n".repeat(size / 2), "/* * */-- '\n//\"\r".repeat(size / 16)),
            format!("SELECT \"{}\" FROM t", "\"\"".repeat(size / 2)),
            format!("UPDATE t SET v=v-0x{} WHERE k=1", "ab".repeat(8)),
        ] {
            assert!(parsed(&text) == parse(&text), "{size}: {}", &text[..30]);
        }
    }
}

#[test]
fn long_blobs_are_read_ahead() {
    for digits in [LONG_MIN, LONG_MIN + 2, 5 * STEP_BYTES + 6] {
        let text = insert(&format!("0x{}", "aB".repeat(digits / 2)));
        let Ok(Statement::Insert(insert)) = parsed(&text) else { panic!("it is an INSERT") };
        let Term::Literal(literal) = &insert.values[1] else { panic!("it is a constant") };
        let value = cql_types::parse_literal(&cql_types::CqlType::Blob, literal).unwrap();
        assert!(value == vec![0xab; digits / 2], "{digits}");
        let long = literal.long_value(&cql_types::CqlType::Blob);
        assert!(long.is_some_and(|long| long.bytes() == value), "{digits}");
    }
    let text = insert(&format!("0x{}a", "ab".repeat(LONG_MIN)));
    let Ok(Statement::Insert(insert)) = parsed(&text) else { panic!("it is an INSERT") };
    let Term::Literal(literal) = &insert.values[1] else { panic!("it is a constant") };
    assert!(cql_types::parse_literal(&cql_types::CqlType::Blob, literal).is_err(), "its digits are odd in number");
}

#[test]
fn what_is_not_closed_or_is_no_word_is_refused() {
    let long = "a ".repeat(LONG_MIN);
    for (text, words) in [
        (format!("SELECT '{long}"), "expecting '''"),
        (format!("SELECT \"{long}"), "expecting '\"'"),
        (format!("SELECT $${long}$"), "expecting '$'"),
        (format!("SELECT /*{long}*"), "expecting '*'"),
        (format!("SELECT {}", "a1".repeat(LONG_MIN)), "no viable alternative at input 'a1a1"),
        (format!("SELECT -{}", "0xab".repeat(LONG_MIN)), "no viable alternative"),
        (" ".repeat(crate::LENGTH_MAX + 1), "at most 16777216 bytes"),
    ] {
        let message = parsed(&text).unwrap_err().to_string();
        assert!(message.contains(words), "{message:.200}");
    }
}

#[test]
fn no_step_looks_at_more_than_its_share() {
    let text = insert(&format!("'{}'", "x".repeat(4 << 20)));
    // Once to find the end, and once to copy.
    let (_, steps) = scanned(&text).unwrap();
    assert!(steps >= 2 * (4 << 20) / STEP_BYTES, "{steps}");
}

#[test]
fn a_batch_takes_bounded_memory() {
    let batch = |statement: &str, count: usize| format!("BEGIN BATCH {} APPLY BATCH", statement.repeat(count));
    let many = batch("DELETE FROM t WHERE k=1;", crate::BATCH_ITEMS_MAX / 16);
    assert!(many.len() < crate::LENGTH_MAX);
    assert!(parsed(&many).unwrap_err().to_string().contains("a batch has at most"));
    let set = format!("UPDATE t SET v={{{}1}} WHERE k=1;", "1,".repeat(9_000));
    assert!(parsed(&batch(&set, 100)).is_ok());
    assert!(parsed(&batch(&set, 120)).unwrap_err().to_string().contains("a batch has at most"));
}
