//! HELP: what the commands do.

/// Names of commands and what they do.
const TOPICS: [(&str, &str); 18] = [
    (
        "CAPTURE",
        "CAPTURE '<file>'   results are appended to the file and not shown\nCAPTURE OFF        results are shown again\nCAPTURE            where results go",
    ),
    ("CLEAR", "CLEAR, CLS         clears the terminal"),
    (
        "CONSISTENCY",
        "CONSISTENCY <level>   the level of all requests: ANY, ONE, TWO, THREE, QUORUM, ALL, LOCAL_ONE, LOCAL_QUORUM,\n                      EACH_QUORUM; for SELECT also SERIAL and LOCAL_SERIAL\nCONSISTENCY           the present level",
    ),
    (
        "COPY",
        "COPY [<keyspace>.]<table> [(<columns>)] TO   '<file>'|STDOUT [WITH <option>=<value> AND …];\nCOPY [<keyspace>.]<table> [(<columns>)] FROM '<file>'|STDIN  [WITH <option>=<value> AND …];\n\nBoth:  DELIMITER, QUOTE, ESCAPE, HEADER, NULL, DATETIMEFORMAT, DECIMALSEP, THOUSANDSSEP, BOOLSTYLE, ENCODING\nTO:    PAGESIZE, BEGINTOKEN, ENDTOKEN, FLOATPRECISION, DOUBLEPRECISION\nFROM:  INGESTRATE, MAXROWS, SKIPROWS, SKIPCOLS, MAXPARSEERRORS, MAXINSERTERRORS, MAXATTEMPTS, ERRFILE, TTL",
    ),
    (
        "DESCRIBE",
        "DESCRIBE KEYSPACES, TABLES, TYPES, FUNCTIONS, AGGREGATES   names\nDESCRIBE KEYSPACE [<name>], TABLE <name>, TYPE <name>, …   the statements that make it\nDESCRIBE [FULL] SCHEMA                                     the statements that make all\nDESCRIBE CLUSTER                                           name, partitioner, snitch, who owns which range\nDESCRIBE <name>                                            a keyspace, a table or an index\n\nThe server describes; DESC is the same.",
    ),
    ("EXIT", "EXIT, QUIT         ends the session"),
    (
        "EXPAND",
        "EXPAND ON          each row is shown as lines of a name and its value\nEXPAND OFF         rows are shown as a table\nEXPAND             the present layout",
    ),
    ("HELP", "HELP [<topic> …]   this"),
    ("HISTORY", "HISTORY [<n>]      the last statements that were typed. Those with passwords are not remembered"),
    ("LOGIN", "LOGIN <user> ['<password>']   goes on as another role; asks for a password that is not given"),
    (
        "PAGING",
        "PAGING ON, OFF     results come page by page, or at once\nPAGING <rows>      on, with so many rows of a page\nPAGING             the present state",
    ),
    (
        "SERIAL",
        "SERIAL CONSISTENCY <level>   the level of conditional statements' serial phase: SERIAL or LOCAL_SERIAL\nSERIAL CONSISTENCY           the present level",
    ),
    (
        "SHOW",
        "SHOW VERSION         versions of the shell, the server and the protocol\nSHOW HOST            where the session is connected\nSHOW SESSION <uuid>  a trace",
    ),
    ("SOURCE", "SOURCE '<file>'    runs the statements of a file; errors do not end it"),
    (
        "TRACING",
        "TRACING ON         each statement is traced, and its trace is shown\nTRACING OFF        no statement is\nTRACING            the present state",
    ),
    (
        "UNICODE",
        "Text is UTF-8. Control characters of values are shown as escapes such as \\n and \\x1b, a backslash as two.",
    ),
    ("USE", "USE <keyspace>     the keyspace of names without one"),
    ("SELECT", "The statements of CQL: https://cassandra.apache.org/doc/latest/cassandra/developing/cql/"),
];

/// The names of all topics.
pub(crate) fn overview() -> String {
    let names: Vec<String> = TOPICS.iter().map(|(name, _)| (*name).to_owned()).collect();
    format!("\nTopics of HELP:\n===============\n{}", crate::format::columnize(&names))
}

/// The text of a topic, in any case.
pub(crate) fn topic(name: &str) -> Option<&'static str> {
    let name = match name.to_ascii_uppercase().as_str() {
        "DESC" => "DESCRIBE".to_owned(),
        "QUIT" => "EXIT".to_owned(),
        "CLS" => "CLEAR".to_owned(),
        other => other.to_owned(),
    };
    TOPICS.iter().find(|(topic, _)| *topic == name).map(|(_, text)| *text)
}
