//! Candidates for the word that is being typed. Pure, but for the names.
//!
//! The words before it say what may follow: after FROM, INTO, UPDATE, TABLE and the like a table or a keyspace with its point, after KEYSPACE and USE a keyspace, after a name that
//! begins a statement its words, and elsewhere the columns of the statement's table and the keywords of CQL.

use crate::input::{Token, TokenKind, tokens};

/// Names of a schema.
pub(crate) trait Names {
    /// The keyspace of names without one.
    fn keyspace(&self) -> Option<String>;
    /// All keyspaces.
    fn keyspaces(&mut self) -> Vec<String>;
    /// The tables of a keyspace.
    fn tables(&mut self, keyspace: &str) -> Vec<String>;
    /// The columns of a table.
    fn columns(&mut self, keyspace: &str, table: &str) -> Vec<String>;
}

/// Words that begin a statement or a command.
const FIRST: [&str; 34] = [
    "ALTER",
    "BEGIN",
    "CAPTURE",
    "CLEAR",
    "CONSISTENCY",
    "COPY",
    "CREATE",
    "DELETE",
    "DESCRIBE",
    "DROP",
    "EXIT",
    "EXPAND",
    "GRANT",
    "HELP",
    "HISTORY",
    "INSERT",
    "LIST",
    "LOGIN",
    "PAGING",
    "QUIT",
    "REVOKE",
    "SELECT",
    "SERIAL",
    "SHOW",
    "SOURCE",
    "TRACING",
    "TRUNCATE",
    "UPDATE",
    "USE",
    "APPLY",
    "ADD",
    "DESC",
    "CLS",
    "COMMENT",
];

/// Words that follow another.
const AFTER: [(&str, &[&str]); 22] = [
    ("ALTER", &["KEYSPACE", "MATERIALIZED", "ROLE", "TABLE", "TYPE", "USER"]),
    (
        "CREATE",
        &[
            "AGGREGATE",
            "CUSTOM",
            "FUNCTION",
            "INDEX",
            "KEYSPACE",
            "MATERIALIZED",
            "OR",
            "ROLE",
            "TABLE",
            "TRIGGER",
            "TYPE",
            "USER",
        ],
    ),
    (
        "DROP",
        &["AGGREGATE", "FUNCTION", "INDEX", "KEYSPACE", "MATERIALIZED", "ROLE", "TABLE", "TRIGGER", "TYPE", "USER"],
    ),
    (
        "DESCRIBE",
        &[
            "AGGREGATE",
            "AGGREGATES",
            "CLUSTER",
            "FULL",
            "FUNCTION",
            "FUNCTIONS",
            "INDEX",
            "KEYSPACE",
            "KEYSPACES",
            "MATERIALIZED",
            "SCHEMA",
            "TABLE",
            "TABLES",
            "TYPE",
            "TYPES",
        ],
    ),
    ("DESC", &["CLUSTER", "KEYSPACE", "KEYSPACES", "SCHEMA", "TABLE", "TABLES", "TYPE", "TYPES"]),
    ("SHOW", &["HOST", "SESSION", "VERSION"]),
    (
        "CONSISTENCY",
        &[
            "ALL",
            "ANY",
            "EACH_QUORUM",
            "LOCAL_ONE",
            "LOCAL_QUORUM",
            "LOCAL_SERIAL",
            "ONE",
            "QUORUM",
            "SERIAL",
            "THREE",
            "TWO",
        ],
    ),
    ("SERIAL", &["CONSISTENCY"]),
    ("TRACING", &["OFF", "ON"]),
    ("EXPAND", &["OFF", "ON"]),
    ("PAGING", &["OFF", "ON"]),
    ("CAPTURE", &["OFF"]),
    ("BEGIN", &["BATCH", "COUNTER", "UNLOGGED"]),
    ("APPLY", &["BATCH"]),
    ("INSERT", &["INTO"]),
    ("MATERIALIZED", &["VIEW"]),
    ("IF", &["EXISTS", "NOT"]),
    ("NOT", &["EXISTS"]),
    ("ORDER", &["BY"]),
    ("GROUP", &["BY"]),
    ("PRIMARY", &["KEY"]),
    ("LIST", &["ALL", "PERMISSIONS", "ROLES", "USERS"]),
];

/// Words within statements.
const WITHIN: [&str; 41] = [
    "ALLOW",
    "AND",
    "AS",
    "ASC",
    "BATCH",
    "BY",
    "CLUSTERING",
    "CONTAINS",
    "COUNT",
    "DESC",
    "DISTINCT",
    "EXISTS",
    "FILTERING",
    "FROM",
    "FROZEN",
    "GROUP",
    "IF",
    "IN",
    "INTO",
    "JSON",
    "KEY",
    "LIKE",
    "LIMIT",
    "NOT",
    "NULL",
    "ON",
    "ORDER",
    "PARTITION",
    "PER",
    "PRIMARY",
    "REPLICATION",
    "SET",
    "STATIC",
    "TIMESTAMP",
    "TO",
    "TOKEN",
    "TTL",
    "USING",
    "VALUES",
    "WHERE",
    "WITH",
];

const TYPES: [&str; 26] = [
    "ascii",
    "bigint",
    "blob",
    "boolean",
    "counter",
    "date",
    "decimal",
    "double",
    "duration",
    "float",
    "frozen",
    "inet",
    "int",
    "list",
    "map",
    "set",
    "smallint",
    "text",
    "time",
    "timestamp",
    "timeuuid",
    "tinyint",
    "tuple",
    "uuid",
    "varint",
    "vector",
];

/// Words before a table.
const BEFORE_TABLES: [&str; 8] = ["FROM", "INTO", "UPDATE", "TABLE", "TRUNCATE", "COPY", "COLUMNFAMILY", "ON"];
/// Words before a keyspace.
const BEFORE_KEYSPACES: [&str; 2] = ["KEYSPACE", "USE"];

/// The byte at which the word begins that is typed at the end of `text`, and what it may become.
pub(crate) fn complete(text: &str, names: &mut dyn Names) -> (usize, Vec<String>) {
    let Ok(found) = tokens(text) else { return (text.len(), Vec::new()) };
    // Of statements before there is nothing to learn.
    let from = found.iter().rposition(|token| token.kind == TokenKind::End).map_or(0, |place| place + 1);
    let mut words: Vec<Token> = found[from..].iter().copied().filter(|token| token.kind != TokenKind::Line).collect();
    let typed = match words.last() {
        Some(last) if last.end == text.len() && matches!(last.kind, TokenKind::Word | TokenKind::Number) => words.pop(),
        Some(last) if matches!(last.kind, TokenKind::Unclosed | TokenKind::UnclosedDollars) => {
            return (text.len(), Vec::new());
        }
        _ => None,
    };
    let start = typed.map_or(text.len(), |token| token.start);
    let typed = &text[start..];
    let statement = Typed { text, words: &words };
    let mut candidates: Vec<String> = statement.candidates(names);
    candidates.retain(|candidate| {
        candidate.len() >= typed.len()
            && candidate.is_char_boundary(typed.len())
            && candidate[..typed.len()].eq_ignore_ascii_case(typed)
    });
    candidates.sort_unstable();
    candidates.dedup();
    (start, candidates)
}

/// The words of a statement before the one that is typed.
struct Typed<'t> {
    text: &'t str,
    words: &'t [Token],
}

impl Typed<'_> {
    fn candidates(&self, names: &mut dyn Names) -> Vec<String> {
        let Some(last) = self.words.last() else { return owned(&FIRST) };
        if last.text(self.text) == "." {
            return self.after_point(names);
        }
        let is = |words: &[&str]| words.iter().any(|word| last.is(self.text, word));
        if is(&BEFORE_KEYSPACES) {
            return quoted(names.keyspaces());
        }
        if is(&BEFORE_TABLES) && !(last.is(self.text, "from") && self.is_copy()) {
            let mut found: Vec<String> = quoted(names.keyspaces()).iter().map(|name| format!("{name}.")).collect();
            if let Some(keyspace) = names.keyspace() {
                found.extend(quoted(names.tables(&keyspace)));
            }
            return found;
        }
        if let Some((_, words)) = AFTER.iter().find(|(word, _)| last.is(self.text, word)) {
            return owned(words);
        }
        let mut found = owned(&WITHIN);
        if self.words.first().is_some_and(|first| first.is(self.text, "create") || first.is(self.text, "alter")) {
            found.extend(owned(&TYPES));
        }
        if let Some((keyspace, table)) = self.table(names) {
            found.extend(quoted(names.columns(&keyspace, &table)));
        }
        found
    }

    fn is_copy(&self) -> bool {
        self.words.first().is_some_and(|first| first.is(self.text, "copy"))
    }

    /// Tables of the keyspace before the point.
    fn after_point(&self, names: &mut dyn Names) -> Vec<String> {
        let before = self.words.len().checked_sub(2).and_then(|place| self.name(place));
        before.map(|keyspace| quoted(names.tables(&keyspace))).unwrap_or_default()
    }

    /// The table that the statement names first.
    fn table(&self, names: &dyn Names) -> Option<(String, String)> {
        let is_before = |token: &Token| BEFORE_TABLES.iter().any(|word| token.is(self.text, word));
        let place = self.words.iter().position(is_before)? + 1;
        let first = self.name(place)?;
        match self.words.get(place + 1).is_some_and(|token| token.text(self.text) == ".") {
            true => Some((first, self.name(place + 2)?)),
            false => Some((names.keyspace()?, first)),
        }
    }

    fn name(&self, place: usize) -> Option<String> {
        let token = self.words.get(place)?;
        let text = token.text(self.text);
        match token.kind {
            TokenKind::Word => Some(text.to_ascii_lowercase()),
            TokenKind::QuotedName => Some(text[1..text.len() - 1].replace("\"\"", "\"")),
            _ => None,
        }
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn quoted(names: Vec<String>) -> Vec<String> {
    names.iter().map(|name| cql_syntax::quote_identifier(name).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Shop;

    impl Names for Shop {
        fn keyspace(&self) -> Option<String> {
            Some("shop".to_owned())
        }
        fn keyspaces(&mut self) -> Vec<String> {
            vec!["shop".to_owned(), "system".to_owned(), "Mixed".to_owned()]
        }
        fn tables(&mut self, keyspace: &str) -> Vec<String> {
            match keyspace {
                "shop" => vec!["orders".to_owned(), "customers".to_owned()],
                "Mixed" => vec!["T".to_owned()],
                _ => vec!["local".to_owned()],
            }
        }
        fn columns(&mut self, keyspace: &str, table: &str) -> Vec<String> {
            match (keyspace, table) {
                ("shop", "orders") => vec!["id".to_owned(), "what".to_owned()],
                _ => Vec::new(),
            }
        }
    }

    fn completed(text: &str) -> Vec<String> {
        complete(text, &mut Shop).1
    }

    #[test]
    fn statements_begin_with_their_words() {
        assert_eq!(completed("sel"), ["SELECT"]);
        assert_eq!(completed("SELECT 1; TRU"), ["TRUNCATE"]);
        assert_eq!(completed("DROP KEY"), ["KEYSPACE"]);
        assert_eq!(completed("CONSISTENCY LOCAL_"), ["LOCAL_ONE", "LOCAL_QUORUM", "LOCAL_SERIAL"]);
    }

    #[test]
    fn names_are_those_of_the_schema() {
        assert_eq!(completed("USE s"), ["shop", "system"]);
        assert_eq!(completed("SELECT * FROM o"), ["orders"]);
        assert_eq!(completed("SELECT * FROM sys"), ["system."]);
        assert_eq!(completed("SELECT * FROM system.l"), ["local"]);
        assert_eq!(completed("SELECT * FROM \"Mixed\"."), ["\"T\""]);
        assert_eq!(completed("SELECT * FROM orders WHERE wh"), ["WHERE", "what"]);
        assert_eq!(completed("UPDATE shop.orders\nSET i"), ["IF", "IN", "INTO", "id"]);
    }

    #[test]
    fn the_place_is_that_of_the_word() {
        assert_eq!(complete("SELECT * FROM ord", &mut Shop).0, "SELECT * FROM ".len());
        assert_eq!(complete("SELECT * FROM ", &mut Shop).0, "SELECT * FROM ".len());
    }

    #[test]
    fn nothing_is_completed_within_quotes_or_after_what_is_no_cql() {
        for text in ["SELECT 'sel", "SELECT \"sel", "/* sel", "SELECT @ sel"] {
            assert_eq!(completed(text), Vec::<String>::new(), "{text}");
        }
    }
}
