//! Commands and their words.

use super::*;
use crate::input::split;

fn parsed(text: &str) -> Result<Command, Improper> {
    let (statements, is_whole) = split(text).expect("tokens");
    assert!(is_whole, "{text}");
    parse(text, &statements[0])
}

fn command(text: &str) -> Command {
    parsed(text).expect("a command")
}

#[test]
fn statements_are_the_servers() {
    for text in ["SELECT 1;", "USE ks;", "use \"table\";", "BEGIN BATCH INSERT 1; APPLY BATCH;", ";", "FOO;"] {
        assert_eq!(command(text), Command::Statement, "{text}");
    }
}

#[test]
fn commands_show_and_set() {
    for (text, expected) in [
        ("CONSISTENCY\n", Command::Consistency(None)),
        ("consistency local_quorum;", Command::Consistency(Some(Consistency::LocalQuorum))),
        ("SERIAL CONSISTENCY LOCAL_SERIAL\n", Command::SerialConsistency(Some(Consistency::LocalSerial))),
        ("SERIAL CONSISTENCY;", Command::SerialConsistency(None)),
        ("TRACING ON\n", Command::Tracing(Some(true))),
        ("EXPAND\n", Command::Expand(None)),
        ("PAGING 50\n", Command::Paging(Some(Paging::Rows(50)))),
        ("paging off\n", Command::Paging(Some(Paging::Off))),
        ("SHOW VERSION\n", Command::Show(Show::Version)),
        ("SOURCE 'a''b.cql'\n", Command::Source("a'b.cql".to_owned())),
        ("CAPTURE\n", Command::Capture(Capture::Shown)),
        ("CAPTURE OFF\n", Command::Capture(Capture::Off)),
        ("CAPTURE 'f'\n", Command::Capture(Capture::To("f".to_owned()))),
        ("HELP copy\n", Command::Help(vec!["copy".to_owned()])),
        ("?\n", Command::Help(Vec::new())),
        ("cls\n", Command::Clear),
        ("QUIT\n", Command::Exit),
        (
            "LOGIN Ada 'a ''word'''\n",
            Command::Login { username: "Ada".to_owned(), password: Some("a 'word'".to_owned()) },
        ),
        ("LOGIN ada\n", Command::Login { username: "ada".to_owned(), password: None }),
        ("DESC KEYSPACES\n", Command::Describe(Described::Keyspaces)),
        ("DESCRIBE TYPES;", Command::Describe(Described::Names)),
        ("DESCRIBE TABLE t\n", Command::Describe(Described::Statements)),
    ] {
        assert_eq!(command(text), expected, "{text}");
    }
    let session = command("SHOW SESSION 50554d6e-29bb-11e5-b345-feff819cdc9f\n");
    assert!(matches!(session, Command::Show(Show::Session([0x50, 0x55, ..]))));
}

#[test]
fn other_words_are_improper() {
    for text in [
        "CONSISTENCY NOPE\n",
        "CONSISTENCY ONE TWO\n",
        "SERIAL CONSISTENCY ONE\n",
        "SHOW NOPE\n",
        "TRACING MAYBE\n",
        "PAGING x\n",
        "SOURCE file\n",
        "LOGIN\n",
        "CAPTURE f\n",
        "COPY t;",
        "COPY t TO;",
        "COPY t TO 'f' WITH;",
        "SHOW SESSION 1\n",
        "exit now\n",
        "USE ?;",
        "USE table;",
        "USE ks.t;",
        "DESCRIBE;",
        "DESCRIBE nonsense nonsense\n",
        "DESC TABLE table;",
        "DESC TYPES t\n",
        "DESCRIBE TABLE a.b.c;",
        "DESCRIBE KEYSPACE ks WITH INTERNALS AND more;",
        "DESCRIBE MATERIALIZED v;",
    ] {
        let word = text.split_whitespace().next().expect("a word").trim_end_matches(';');
        assert_eq!(parsed(text).expect_err(text).to_string(), format!("Improper {word} command."));
    }
}

#[test]
fn describe_has_the_forms_of_cqlsh() {
    for (text, expected) in [
        ("DESC COLUMNFAMILIES WITH INTERNALS;", Described::Names),
        ("DESCRIBE CLUSTER\n", Described::Cluster),
        ("DESCRIBE FULL SCHEMA\n", Described::Statements),
        ("DESCRIBE ONLY KEYSPACE ks;", Described::Statements),
        ("DESCRIBE KEYSPACE WITH INTERNALS;", Described::Statements),
        ("DESCRIBE KEYSPACE \"Ks\" WITH INTERNALS;", Described::Statements),
        ("DESCRIBE MATERIALIZED VIEW ks.v\n", Described::Statements),
        ("DESCRIBE FUNCTION ks.f\n", Described::Statements),
        ("DESCRIBE \"table\"\n", Described::Statements),
        // A keyspace that is named after a form.
        ("DESCRIBE types.t;", Described::Statements),
        ("DESC functions.cluster\n", Described::Statements),
    ] {
        assert_eq!(command(text), Command::Describe(expected), "{text}");
    }
}

#[test]
fn copy_has_columns_a_file_and_options() {
    let expected = Copy {
        keyspace: Some("ks".to_owned()),
        table: "T".to_owned(),
        columns: vec!["a".to_owned(), "B".to_owned()],
        direction: Direction::From,
        file: Some("f.csv".to_owned()),
        options: vec![
            ("header".to_owned(), "true".to_owned()),
            ("maxrows".to_owned(), "-1".to_owned()),
            ("null".to_owned(), String::new()),
            ("ingestrate".to_owned(), "1.5".to_owned()),
        ],
    };
    let text =
        "COPY KS.\"T\" (A, \"B\") FROM 'f.csv' WITH HEADER = true AND MAXROWS=-1 AND NULL='' AND INGESTRATE=1.5;";
    assert_eq!(command(text), Command::Copy(Box::new(expected)));
    let Command::Copy(copy) = command("copy t to stdout;") else { panic!("it is one") };
    assert_eq!((copy.direction, copy.file, copy.keyspace), (Direction::To, None, None));
}
