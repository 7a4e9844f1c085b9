//! Texts and the statements that they are cut into.

use super::*;

/// The statements of a text, and `…` after the last if it is not whole.
fn cut(text: &str) -> Vec<String> {
    let (statements, is_whole) = split(text).expect("tokens");
    let shown = |statement: &Statement| statement.text(text).to_owned();
    let mut texts: Vec<String> = statements.iter().map(shown).filter(|text| !text.is_empty()).collect();
    if !is_whole {
        texts.push("…".to_owned());
    }
    texts
}

/// The statements of a text that comes line by line.
fn cut_by_lines(text: &str) -> Vec<String> {
    let (mut input, mut texts) = (Input::default(), Vec::new());
    for line in text.split_inclusive('\n') {
        input.push(line);
        if let Some(Whole { text, statements }) = input.take_whole().expect("tokens") {
            texts.extend(statements.iter().map(|statement| statement.text(&text).to_owned()));
        }
    }
    assert!(input.is_blank(), "{:?} waits", input.text());
    texts
}

#[test]
fn lines_are_cut_as_their_whole_text_is() {
    for text in [
        "BEGIN BATCH\nINSERT 'a;\nb' ;\n-- APPLY BATCH;\nAPPLY\n BATCH;\nSELECT 1; SELECT\n2;\n",
        "SELECT /* a;\n b; */ 'c\n\n''d' ;\nCONSISTENCY 'x\ny' z\nSELECT $$ a;\n $ $$;EXPAND\nSELECT \"a\n\"\n\n;\n",
        "\n\n-- x\n;SELECT 1 // ;\n;\n",
    ] {
        assert_eq!(cut_by_lines(text), cut(text), "{text:?}");
    }
    let mut input = Input::default();
    for (line, is_error) in [("SELECT 'a\n", false), ("b', @;\n", true)] {
        input.push(line);
        assert_eq!(input.take_whole().is_err(), is_error);
    }
    input.push("SELECT 'a\n");
    assert_eq!(input.take_whole(), Ok(None));
    input.push("b',\n ö;\n");
    let Unreadable { text, error } = input.take_whole().expect_err("no token");
    assert_eq!(error.place(&text), (3, 2, " ö;"));
}

/// Where each line is cut with all those before it, and empty lines are looked at again for each, this takes hours: the time of the whole run ends it.
#[test]
fn a_batch_of_many_lines_is_cut_at_once() {
    let lines = 100_000;
    let text = format!("BEGIN BATCH\n{}APPLY BATCH;\n", "INSERT INTO t (k, v) VALUES (1, 'x');\n".repeat(lines));
    assert_eq!(cut_by_lines(&text).len(), 1);
    let mut input = Input::default();
    for line in std::iter::once("SELECT\n").chain(std::iter::repeat_n("\n", lines)) {
        input.push(line);
        assert!(!input.is_blank() && input.take_whole() == Ok(None));
    }
}

#[test]
fn statements_end_with_semicolons_outside_of_quotes_and_comments() {
    assert_eq!(cut("SELECT 1; SELECT 2 ;\n"), ["SELECT 1;", "SELECT 2 ;"]);
    assert_eq!(cut("SELECT 'a;''b;' FROM \"t;\"\n -- c;\n /* d;\n */ WHERE k = 1 // e;\n;\n").len(), 1);
    assert_eq!(cut("SELECT $$a;b$$;"), ["SELECT $$a;b$$;"]);
    assert_eq!(cut("-- only a comment\n\n"), Vec::<String>::new());
    assert_eq!(cut("-- old\rSELECT 1; // c\r SELECT 2;\r"), ["SELECT 1;", "SELECT 2;"]);
    assert_eq!(cut(";"), [";"]);
}

#[test]
fn what_is_not_closed_waits_for_more() {
    for text in ["SELECT 1", "SELECT 'a;\n", "SELECT \"a;\n", "/* a;\n", "SELECT $$ a;\n", "SELECT 1; SELECT"] {
        assert_eq!(cut(text).last().map(String::as_str), Some("…"), "{text}");
    }
}

#[test]
fn commands_of_the_shell_end_with_their_line() {
    assert_eq!(cut("CONSISTENCY ONE\nSELECT 1;\n"), ["CONSISTENCY ONE\n", "SELECT 1;"]);
    assert_eq!(cut("describe table t -- its text\n"), ["describe table t -- its text\n"]);
    assert_eq!(cut("exit\n"), ["exit\n"]);
    assert_eq!(cut("? select\n"), ["? select\n"]);
    assert_eq!(cut("COPY t TO 'a'\n"), ["COPY t TO 'a'", "…"]);
    assert_eq!(cut("CONSISTENCY"), ["CONSISTENCY", "…"]);
}

#[test]
fn a_batch_is_one_statement() {
    let batch = "BEGIN UNLOGGED BATCH\n INSERT 1; INSERT 2;\nAPPLY BATCH;";
    assert_eq!(cut(&format!("{batch} SELECT 1;")), [batch, "SELECT 1;"]);
    assert_eq!(cut("BEGIN BATCH INSERT 1; INSERT 2;").last().map(String::as_str), Some("…"));
    assert_eq!(cut("BEGIN BATCH INSERT 1; INSERT").last().map(String::as_str), Some("…"));
}

#[test]
fn a_character_without_use_is_named_with_its_place() {
    let text = "SELECT 1;\nSELECT ö;";
    let error = split(text).expect_err("no token");
    assert_eq!(error.place(text), (2, 8, "SELECT ö;"));
    assert!(split("SELECT 'ö' FROM \"é\"; -- à\n").is_ok());
}

#[test]
fn lines_wait_until_their_text_is_whole() {
    let mut input = Input::default();
    input.push("SELECT k\n");
    assert_eq!(input.take_whole(), Ok(None));
    input.push("FROM t;\n");
    let Whole { text, statements } = input.take_whole().expect("tokens").expect("whole");
    assert_eq!(statements[0].text(&text), "SELECT k\nFROM t;");
    assert_eq!(statements[0].words().len(), 4);
    assert!(input.is_blank());
    input.push("SELECT @\n");
    assert!(input.take_whole().is_err());
    assert!(input.is_blank(), "what cannot be cut does not wait");
}
