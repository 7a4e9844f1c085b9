//! Statements that parse, that do not, and what is said then; hostile ones.

use super::parse;
use crate::ast::*;

/// What each parses to prints to a text that parses to the same.
#[test]
fn statements_round_trip() {
    for text in include_str!("testdata/statements.cql").split("\n\n").map(str::trim).filter(|text| !text.is_empty()) {
        let statement = parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let printed = statement.to_string();
        let again = parse(&printed).unwrap_or_else(|error| panic!("{printed}\n{error}"));
        assert_eq!(statement, again, "{printed}");
        assert_eq!(printed, again.to_string());
    }
}

#[test]
fn errors_say_where_and_what() {
    for (text, error) in [
        ("SELECT FROM t", "line 1:7 no viable alternative at input 'FROM'"),
        ("SELECT *\n FORM t", "line 2:1 mismatched input 'FORM' expecting K_FROM"),
        ("", "line 1:0 no viable alternative at input '<EOF>'"),
        ("SELECT * FROM t WHERE", "line 1:21 no viable alternative at input '<EOF>'"),
        ("SELECT * FROM t; x", "line 1:17 mismatched input 'x' expecting EOF"),
        ("INSERT INTO t (a) VALUES ('abc", "line 1:30 mismatched character '<EOF>' expecting '''"),
        ("SELECT * FROM t /* comment", "line 1:26 mismatched character '<EOF>' expecting '*'"),
        ("SELECT * FROM t WHERE (a) = 1", "line 1:28 no viable alternative at input '1'"),
        ("ALTER TABLE t ADD a int, b int", "line 1:23 mismatched input ',' expecting EOF"),
        ("CREATE TABLE t (a interval)", "line 1:18 Invalid (reserved) user type name interval"),
        ("INSERT INTO t (a) VALUES (b)", "line 1:27 mismatched input ')' expecting '('"),
        ("USE é", "line 1:4 no viable alternative at character 'é'"),
        // No place, as in Cassandra.
        ("SELECT * FROM ?", "Bind variables cannot be used for table names"),
        ("UPDATE t SET a = b + 1 WHERE k = 1", "Only expressions of the form X = X +<value> are supported."),
        ("UPDATE t SET a = b -1 WHERE k = 1", "Only expressions of the form X = X - <value> are supported."),
        ("UPDATE t SET a = [1] + b WHERE k = 1", "Only expressions of the form X = <value> + X are supported."),
        ("SELECT * FROM ks.?", "Bind variables cannot be used for table names"),
        ("SELECT * FROM :t", "line 1:14 no viable alternative at input ':'"),
        ("USE ?", "Bind variables cannot be used for keyspace names"),
        ("SELECT * FROM ?.t", "Bind variables cannot be used for keyspace names"),
        (
            "CREATE TABLE t (a frozen<int>)",
            "frozen<> is only allowed on collections, tuples, and user-defined types (got int)",
        ),
        ("CREATE TABLE t (a vector<int, -1>)", "vectors may only have positive dimensions; given -1"),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), error, "{text}");
    }
}

#[test]
fn a_timeout_of_scylladbs_drivers_is_passed_over() {
    for text in ["SELECT * FROM system.local WHERE key = 'local'", "SELECT a FROM t LIMIT 3 ALLOW FILTERING"] {
        assert_eq!(parse(&format!("{text} USING TIMEOUT 2000ms")), parse(text));
    }
    assert!(parse("SELECT * FROM t USING TIMEOUT").is_err());
    assert!(parse("SELECT * FROM t USING TTL 3").is_err());
}

#[test]
fn markers_are_numbered_in_order() {
    let Ok(Statement::Select(Select { relations, limit, .. })) =
        parse("SELECT * FROM t WHERE a = ? AND (b, c) > (:x, ?) AND ((d) IN ?) LIMIT :l")
    else {
        panic!("a SELECT")
    };
    let mut indexes = Vec::new();
    let mut note = |term: &Term| match term {
        Term::Marker(marker) => indexes.push(marker.index),
        Term::Tuple(terms) => indexes.extend(terms.iter().filter_map(|term| match term {
            Term::Marker(marker) => Some(marker.index),
            _ => None,
        })),
        _ => {}
    };
    for relation in &relations {
        match relation {
            Relation::Column { term, .. } | Relation::Tuple { term, .. } => note(term),
            other => panic!("{other:?}"),
        }
    }
    limit.iter().for_each(&mut note);
    assert_eq!(indexes, [0, 1, 2, 3, 4]);
}

#[test]
fn other_statements_are_known_by_name() {
    for (text, want) in [
        ("CREATE INDEX ON t (v)", "CREATE INDEX"),
        ("CREATE INDEX IF NOT EXISTS i ON ks.t (keys(m))", "CREATE INDEX"),
        ("CREATE CUSTOM INDEX i ON t (v) USING 'x' WITH OPTIONS = {'a': 'b'}", "CREATE CUSTOM INDEX"),
        ("CREATE MATERIALIZED VIEW v AS SELECT * FROM t", "CREATE MATERIALIZED VIEW"),
        ("ALTER MATERIALIZED VIEW v WITH synchronous_updates = true", "ALTER MATERIALIZED VIEW"),
        ("PRUNE MATERIALIZED VIEW v WHERE a = 1 USING CONCURRENCY 100", "PRUNE MATERIALIZED VIEW"),
        ("CREATE FUNCTION f (a int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return a'", "CREATE FUNCTION"),
        ("CREATE OR REPLACE FUNCTION f (a int) RETURNS NULL ON NULL INPUT RETURNS int AS $$x$$", "CREATE FUNCTION"),
        ("CREATE AGGREGATE a (int) SFUNC f STYPE int REDUCEFUNC g INITCOND 0", "CREATE AGGREGATE"),
        ("CREATE TRIGGER tr ON t USING 'x'", "CREATE TRIGGER"),
        ("CREATE SERVICE LEVEL IF NOT EXISTS l WITH shares = 100 AND timeout = 5ms", "CREATE SERVICE LEVEL"),
        ("create service_level l", "CREATE SERVICE LEVEL"),
        ("ALTER SERVICE LEVEL 'l' WITH workload_type = 'batch'", "ALTER SERVICE LEVEL"),
        ("DROP SERVICE_LEVEL IF EXISTS l", "DROP SERVICE LEVEL"),
        ("ATTACH SERVICE LEVEL l TO r;", "ATTACH SERVICE LEVEL"),
        ("DETACH SERVICE_LEVEL FROM r", "DETACH SERVICE LEVEL"),
        ("LIST SERVICE LEVEL l", "LIST SERVICE LEVEL"),
        ("LIST ALL SERVICE LEVELS", "LIST ALL SERVICE LEVELS"),
        ("LIST ALL SERVICE_LEVELS", "LIST ALL SERVICE LEVELS"),
        ("LIST ATTACHED SERVICE LEVEL OF r", "LIST ATTACHED SERVICE LEVEL"),
        ("LIST ALL ATTACHED SERVICE_LEVELS", "LIST ALL ATTACHED SERVICE LEVELS"),
        ("LIST EFFECTIVE SERVICE LEVEL OF r", "LIST EFFECTIVE SERVICE LEVEL"),
        ("LIST SUPERUSERS", "LIST SUPERUSERS"),
        ("SELECT * FROM MUTATION_FRAGMENTS(ks.t) WHERE k = 1", "SELECT FROM MUTATION_FRAGMENTS"),
        ("SELECT a FROM t ALLOW FILTERING USING SERVICE LEVEL l", "SELECT USING SERVICE LEVEL"),
        ("DESC SCHEMA WITH INTERNALS AND PASSWORDS", "DESCRIBE WITH INTERNALS AND PASSWORDS"),
    ] {
        let statement = parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(statement, Statement::Unsupported { what: want.to_owned() }, "{text}");
        assert_eq!(parse(&statement.to_string()), Ok(statement), "{text}");
    }
}

#[test]
fn misspelt_statements_are_syntax_errors() {
    for (text, error) in [
        ("CREATE TRIGER tr ON t USING 'x'", "line 1:7 no viable alternative at input 'TRIGER'"),
        ("CREATE MATERIALIZED VEIW v AS SELECT * FROM t", "line 1:7 no viable alternative at input 'MATERIALIZED'"),
        ("CREATE CUSTOM INDX i ON t (v)", "line 1:7 no viable alternative at input 'CUSTOM'"),
        ("CREATE SERVICE LEVELS l", "line 1:7 no viable alternative at input 'SERVICE'"),
        ("ATACH SERVICE LEVEL l TO r", "line 1:0 no viable alternative at input 'ATACH'"),
        ("ATTACH LEVEL l TO r", "line 1:0 no viable alternative at input 'ATTACH'"),
        ("PRUNE VIEW v", "line 1:0 no viable alternative at input 'PRUNE'"),
        ("PRUNE é", "line 1:0 no viable alternative at input 'PRUNE'"),
        ("LIST EFFECTIVE LEVEL OF r", "line 1:5 no viable alternative at input 'EFFECTIVE'"),
        ("SELECT * FROM t USING SERVICE", "line 1:22 mismatched input 'SERVICE' expecting K_TIMEOUT"),
        ("SELECT * FROM t ORDER BY v ANN [1.0]", "line 1:31 mismatched input '[' expecting K_OF"),
        ("DESCRIBE SCHEMA WITH INTERNALS AND PASWORDS", "line 1:31 mismatched input 'AND' expecting EOF"),
        ("ATTACH SERVICE LEVEL l TO 'r", "line 1:28 mismatched character '<EOF>' expecting '''"),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), error, "{text}");
    }
}

/// Words of these statements may be names as before.
#[test]
fn their_words_are_names_too() {
    for text in [
        "SELECT service, level, ann FROM mutation_fragments ORDER BY ann ASC",
        "CREATE TABLE service_level (service int PRIMARY KEY, prune text, attached int)",
        "DESCRIBE prune",
    ] {
        assert!(parse(text).is_ok_and(|statement| !matches!(statement, Statement::Unsupported { .. })), "{text}");
    }
}

/// Hostile text is refused soon, without a deep stack.
/// On a stack of its own: frames of code that is not optimised are many times as long, and their length is the compiler's.
#[test]
fn depth_is_bounded() {
    let parsing = std::thread::Builder::new().stack_size(64 << 20).spawn(deep_texts_are_refused);
    parsing.expect("there is room for a thread").join().expect("it does not panic");
}

fn deep_texts_are_refused() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("f(", ")"), ("(int)", "")] {
        let n = 100_000;
        let text = format!("INSERT INTO t (a) VALUES ({}1{})", open.repeat(n), close.repeat(n));
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains("deep"), "{error}");
    }
    let text = format!("CREATE TABLE t (a {}int{})", "list<".repeat(100_000), ">".repeat(100_000));
    assert!(parse(&text).is_err());
    let text = format!("SELECT * FROM t WHERE {}a = 1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(parse(&text).is_err());
    let text = format!("SELECT {}a{} FROM t", "f(".repeat(100_000), ")".repeat(100_000));
    assert!(parse(&text).is_err());
}

proptest::proptest! {
    /// No text panics, and what parses round-trips.
    #[test]
    fn any_text_is_safe(words in proptest::collection::vec(0usize..WORDS.len(), 0..40)) {
        let text: String = words.iter().map(|&word| WORDS[word]).collect::<Vec<_>>().join(" ");
        if let Ok(statement) = parse(&text)
            && !matches!(statement, Statement::Unsupported { .. })
        {
            proptest::prop_assert_eq!(parse(&statement.to_string()), Ok(statement));
        }
    }

    #[test]
    fn any_bytes_are_safe(text: String) {
        let _ = parse(&text);
    }
}

const WORDS: [&str; 62] = [
    "SELECT",
    "*",
    "FROM",
    "t",
    "WHERE",
    "a",
    "=",
    "?",
    "AND",
    "b",
    "IN",
    "(",
    ")",
    ",",
    "1",
    "'x'",
    "INSERT",
    "INTO",
    "VALUES",
    "USING",
    "TTL",
    "TIMESTAMP",
    "UPDATE",
    "SET",
    "DELETE",
    "IF",
    "EXISTS",
    "NOT",
    "BEGIN",
    "BATCH",
    "APPLY",
    ";",
    "CREATE",
    "TABLE",
    "KEYSPACE",
    "PRIMARY",
    "KEY",
    "int",
    "list",
    "<",
    ">",
    "{",
    "}",
    ":",
    "[",
    "]",
    "token",
    "null",
    "0xab",
    "1.5",
    "WITH",
    ".",
    "LIMIT",
    "ORDER",
    "BY",
    "DESC",
    "DESCRIBE",
    "count",
    "\"Q\"",
    "-1",
    "+",
    "AS",
];

/// Each text would take minutes or for ever if any step looked back over what was read; a linear parser takes far less
/// than a second for all. The test has no clock: it would run into the test runner's own limit.
#[test]
fn long_text_takes_linear_time() {
    let repeated = |text: &str| text.repeat((1 << 20) / text.len());
    for text in [
        format!("SELECT * FROM t WHERE {}a = 1", repeated("(a = 1) AND ")),
        format!("SELECT * FROM t WHERE {}a = 1", repeated("(a, b) IN ((1, 2)) AND ")),
        format!("SELECT * FROM t WHERE a IN ({}1)", repeated("1, ")),
        format!("SELECT * FROM t WHERE a IN ({}1)", repeated("f(1), (int) 1, ('x'), ")),
        format!("INSERT INTO t (a) VALUES ({})", repeated("P1-")),
        format!("INSERT INTO t (a) VALUES ({})", repeated("1h-")),
        format!("INSERT INTO t (a) VALUES ({})", repeated("1")),
        format!("INSERT INTO t (a) VALUES ({}", repeated("P1YT")),
        format!("INSERT INTO t (a) VALUES ('{}')", repeated("''")),
        format!("INSERT INTO t (a) VALUES ({{{}1}})", repeated("a: 1, ")),
        format!("SELECT {}a FROM t", repeated("count(1), ")),
        repeated("-- a comment\n"),
        repeated("/* a comment */"),
        repeated("-"),
        repeated("\n("),
    ] {
        let _ = parse(&text);
    }
    let text = " ".repeat(crate::LENGTH_MAX + 1);
    assert!(parse(&text).unwrap_err().message.contains("at most"));
}

#[test]
fn true_and_false_are_no_names() {
    let Ok(Statement::Insert(insert)) = parse("INSERT INTO t (a, b) VALUES ((true), {false: (TRUE)})") else {
        panic!("an INSERT")
    };
    assert!(matches!(&insert.values[0], Term::Tuple(terms) if matches!(terms[0], Term::Literal(_))));
    assert!(matches!(&insert.values[1], Term::Map(_)));
    assert!(parse("SELECT a AS true FROM t").is_err());
    assert!(parse("SELECT \"true\" FROM t").is_ok());
}

#[test]
fn what_the_grammar_has_no_place_for_is_refused() {
    for text in [
        "CREATE KEYSPACE ks",
        "CREATE TABLE t (a int PRIMARY KEY) WITH comment = word",
        "CREATE TABLE t (a int, PRIMARY KEY (a)) WITH CLUSTERING ORDER BY (a)",
        "CREATE TABLE t (a frozen<int> PRIMARY KEY)",
        "ALTER TABLE t ADD a int, b int",
        "ALTER TABLE t DROP a USING TIMESTAMP ?",
        "ALTER TABLE t DROP a USING TIMESTAMP 9223372036854775808",
        "SELECT * FROM t WHERE a = :select",
        "SELECT * FROM _t",
        "DELETE FROM t USING TTL 1 WHERE a = 1",
        "BEGIN BATCH SELECT * FROM t; APPLY BATCH",
        "INSERT INTO t JSON {'a': 1}",
        "INSERT INTO t JSON '{}' DEFAULT 1",
        "SELECT writetime(1) FROM t",
        "SELECT writetime(a, b) FROM t",
        "SELECT a FROM t ORDER BY a GROUP BY a",
        "UPDATE t SET a = 1 WHERE k = 1 IF a LIKE 'x'",
        "CREATE INDEX i ON t (a); DROP TABLE t",
        "SELECT * FROM t LIMIT 1 + 1",
        "UPDATE t USING TTL 1 + 1 SET a = 1 WHERE k = 1",
        "SELECT -n FROM t",
        "BEGIN BATCH INSERT INTO t (a) VALUES (1);; APPLY BATCH",
        "BEGIN BATCH ; INSERT INTO t (a) VALUES (1); APPLY BATCH",
        "CREATE TABLE t (a int PRIMARY KEY, b int MASKED WITH)",
        "ALTER TABLE t ALTER IF EXISTS a TYPE int",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn lists_have_so_many_items_and_each_statement_of_a_batch_as_many() {
    let list = |count: usize| vec!["1"; count].join(",");
    let insert = |count: usize| format!("INSERT INTO t (a) VALUES ({})", list(count));
    assert!(parse(&insert(crate::ITEMS_MAX - 1)).is_ok());
    let refused = parse(&insert(crate::ITEMS_MAX)).unwrap_err().to_string();
    assert!(refused.contains("a statement has at most 10240 terms"), "{refused}");
    for text in [
        format!("SELECT a FROM t WHERE {}", vec!["a = 1"; 20_000].join(" AND ")),
        format!("SELECT {} FROM t", vec!["a"; 20_000].join(",")),
        format!("INSERT INTO t (a) VALUES ({{{}}})", list(20_000)),
        format!("INSERT INTO t (a) VALUES ({{{}}})", vec!["1:2"; 20_000].join(",")),
    ] {
        assert!(parse(&text).is_err());
    }
    let statement = insert(4_000);
    let batch = format!("BEGIN BATCH {} APPLY BATCH", [statement.as_str(); 5].join("; "));
    let mut parse = crate::Parse::begin(&batch).unwrap();
    let mut steps = 1;
    let statement = loop {
        match parse.step().unwrap() {
            Some(statement) => break statement,
            None => steps += 1,
        }
    };
    assert_eq!(steps, 7, "the head, the statements and the end");
    let Statement::Batch(batch) = statement else { panic!("a batch") };
    assert_eq!(batch.statements.len(), 5);
}

#[test]
fn columns_and_properties_are_counted() {
    let wide = |count: usize| {
        let columns: Vec<String> = (0..count).map(|number| format!("c{number} int")).collect();
        parse(&format!("CREATE TABLE t (k int PRIMARY KEY, {})", columns.join(", ")))
    };
    assert!(wide(5_000).is_ok());
    let error = wide(20_000).expect_err("a statement has so many items at most");
    assert!(error.to_string().contains("at most 10240 terms, names and relations"), "{error}");
    let options = |count: usize| {
        let entries = vec!["'a': 'b'"; count].join(", ");
        let options = vec!["comment = 'x'"; count].join(" AND ");
        [
            parse(&format!("CREATE TABLE t (k int PRIMARY KEY) WITH {options}")),
            parse(&format!("ALTER TABLE t WITH caching = {{{entries}}}")),
        ]
    };
    assert!(options(5_000).iter().all(Result::is_ok));
    assert!(options(20_000).iter().all(Result::is_err));
}

#[test]
fn a_column_called_as_has_parts() {
    for text in ["SELECT DISTINCT as[1..] FROM a", "SELECT DISTINCT as.f FROM a", "SELECT DISTINCT as FROM a"] {
        let Statement::Select(select) = parse(text).unwrap() else { panic!("{text} is a SELECT") };
        assert!(select.distinct, "{text}");
        assert_eq!(parse(&select.to_string()).unwrap(), Statement::Select(select), "{text}");
    }
}

#[test]
fn operators_bind_as_in_arithmetic() {
    let value = |text: &str| {
        let statement = parse(&format!("UPDATE t SET v = {text} WHERE k = 1")).unwrap();
        let Statement::Update(update) = statement else { panic!("an UPDATE") };
        format!("{:?}", update.assignments[0].kind)
    };
    assert_eq!(value("1 + 2 * 3"), value("1 + 2*3"));
    assert_ne!(value("1 + 2 * 3"), value("(1 + 2) * 3"));
    assert_ne!(value("1 - 2 - 3"), value("1 - (2 - 3)"));
    for text in [
        "UPDATE t SET l = [1] + l WHERE k = 1",
        "UPDATE t SET l = ? + l WHERE k = 1",
        "UPDATE t SET l = l + [1] + [2] WHERE k = 1",
        "UPDATE t SET v = f(1) + ks.f(2) - cast(3 AS int) WHERE k = 1 + 1",
        "UPDATE t SET v = -f(1) WHERE k IN (1 + 1, -(2))",
        "INSERT INTO t (k, v) VALUES ((int)1 + 1, 2 % 3)",
    ] {
        assert!(parse(text).is_ok(), "{text}");
    }
    for text in [
        "UPDATE t SET v = 1 + WHERE k = 1",
        "UPDATE t SET v = 1 + a + 1 WHERE k = 1",
        "UPDATE t SET v = * 1 WHERE k = 1",
        "UPDATE t SET v = - - 1 - - WHERE k = 1",
        "UPDATE t SET v = cast(1 AS list<int>) WHERE k = 1",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
    // A chain of them is a deep tree.
    let chain = format!("UPDATE t SET v = {} WHERE k = 1", vec!["1"; 100_000].join(" + "));
    assert!(parse(&chain).unwrap_err().to_string().contains("at most 128 operators"));
}

#[test]
fn json_is_a_column_where_it_can_be_nothing_else() {
    let columns = |text: &str| {
        let Ok(Statement::Select(select)) = parse(text) else { panic!("{text} is a SELECT") };
        (select.json, select.distinct, select.selection)
    };
    let column = |name: &str| SelectorExpression::Column(name.to_owned());
    let one = |expression| Selection::List(vec![Selector { expression, alias: None }]);
    assert_eq!(columns("SELECT json FROM t"), (false, false, one(column("json"))));
    assert_eq!(columns("SELECT JSON json FROM t"), (true, false, one(column("json"))));
    assert_eq!(columns("SELECT JSON DISTINCT a FROM t"), (true, true, one(column("a"))));
    assert_eq!(columns("SELECT JSON * FROM t"), (true, false, Selection::All));
    let field = SelectorExpression::Field { of: Box::new(column("json")), field: "a".to_owned() };
    assert_eq!(columns("SELECT json.a FROM t"), (false, false, one(field)));
}

#[test]
fn what_stands_between_parentheses_is_a_tuple_or_has_a_type() {
    use SelectorExpression as E;
    let selected = |text: &str| match parse(&format!("SELECT {text} FROM t")) {
        Ok(Statement::Select(Select { selection: Selection::List(mut list), .. })) => list.remove(0).expression,
        other => panic!("{text}: {other:?}"),
    };
    assert!(matches!(selected("(a)"), E::Tuple(items) if items.len() == 1));
    assert!(matches!(selected("(a) AS b"), E::Tuple(items) if items.len() == 1));
    assert!(matches!(selected("(a, 1)"), E::Tuple(items) if items.len() == 2));
    assert!(matches!(selected("(int) 5"), E::TypeHint { .. }));
    assert!(matches!(selected("(list<int>) [a, 1]"), E::TypeHint { .. }));
    assert!(matches!(selected("{f: a}"), E::Map(_)));
    assert!(matches!(selected("{}"), E::Set(_)));
    assert!(matches!(selected("f(a)[1].b"), E::Field { .. }));
}

#[test]
fn products_come_before_sums() {
    let printed = |text: &str| parse(text).map(|statement| format!("{statement:?}"));
    assert_eq!(printed("SELECT a + b * c - d FROM t"), printed("SELECT a+b*c-d FROM t"));
    let Ok(Statement::Select(Select { selection: Selection::List(list), .. })) = parse("SELECT a + b * - c FROM t")
    else {
        panic!("a SELECT")
    };
    let SelectorExpression::Operation { operator: ArithmeticOperator::Add, right, .. } = &list[0].expression else {
        panic!("a sum")
    };
    assert!(matches!(&**right, SelectorExpression::Operation { operator: ArithmeticOperator::Multiply, .. }));
    assert!(parse(&format!("SELECT a{} FROM t", " + a".repeat(1_000))).is_err(), "operators are bounded");
    assert!(parse(&format!("SELECT {}a FROM t", "- ".repeat(1_000))).is_err(), "signs are bounded");
}
