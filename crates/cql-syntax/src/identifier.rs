//! Names and keywords: which words may be a name, and when a name needs quotes.
//!
//! Both lists are those of Cassandra 5.0's grammar. They are sorted, and not formatted to one word a line, which
//! would fill the file.

use std::borrow::Cow;

/// The words that cannot be a name without quotes.
#[rustfmt::skip]
const RESERVED: [&str; 57] = [
    "add", "allow", "alter", "and", "apply", "asc", "authorize", "batch", "begin", "by", "columnfamily",
    "create", "delete", "desc", "describe", "drop", "entries", "execute", "from", "full", "grant", "if", "in",
    "index", "infinity", "insert", "into", "is", "keyspace", "limit", "materialized", "modify", "nan",
    "norecursive", "not", "null", "of", "on", "or", "order", "primary", "rename", "revoke", "schema", "select",
    "set", "table", "to", "token", "truncate", "unlogged", "update", "use", "using", "view", "where", "with",
];

/// The other words that the grammar knows. They may be names, and values of properties.
#[rustfmt::skip]
const UNRESERVED: [&str; 99] = [
    "access", "aggregate", "aggregates", "all", "ann", "as", "ascii", "bigint", "blob", "boolean", "called",
    "cast", "cidrs", "cluster", "clustering", "columnfamilies", "compact", "contains", "count", "counter",
    "custom", "datacenters", "date", "decimal", "default", "distinct", "double", "duration", "exists",
    "filtering", "finalfunc", "float", "frozen", "function", "functions", "generated", "group", "hashed",
    "identity", "inet", "initcond", "input", "int", "internals", "json", "key", "keys", "keyspaces",
    "language", "like", "list", "login", "map", "masked", "maxwritetime", "mbean", "mbeans", "nologin",
    "nosuperuser", "only", "options", "partition", "password", "per", "permission", "permissions", "replace",
    "returns", "role", "roles", "select_masked", "sfunc", "smallint", "static", "storage", "stype",
    "superuser", "superusers", "tables", "text", "time", "timestamp", "timeuuid", "tinyint", "trigger", "ttl",
    "tuple", "type", "types", "unmask", "unset", "user", "users", "uuid", "values", "varchar", "varint",
    "vector", "writetime",
];

/// `name` as a statement must write it: in double quotes unless it is lower case and may be a name as it is.
pub fn quote_identifier(name: &str) -> Cow<'_, str> {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && is_identifier(name);
    if plain { Cow::Borrowed(name) } else { Cow::Owned(format!("\"{}\"", name.replace('"', "\"\""))) }
}

/// Whether `word`, in any case, is reserved.
pub fn is_reserved(word: &str) -> bool {
    is_one_of(&RESERVED, word)
}

/// Whether `word`, in any case, is a keyword that may be a name too.
pub(crate) fn is_unreserved_keyword(word: &str) -> bool {
    is_one_of(&UNRESERVED, word)
}

/// Whether `word`, which has a name's letters, may be a name without quotes. `true` and `false` are no reserved words, but
/// constants.
pub(crate) fn is_identifier(word: &str) -> bool {
    !is_reserved(word) && !word.eq_ignore_ascii_case("true") && !word.eq_ignore_ascii_case("false")
}

fn is_one_of(sorted: &[&str], word: &str) -> bool {
    let lower = || word.bytes().map(|byte| byte.to_ascii_lowercase());
    sorted.binary_search_by(|keyword| keyword.bytes().cmp(lower())).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_when_they_must_be() {
        assert_eq!(quote_identifier("users"), "users");
        assert_eq!(quote_identifier("C0"), "\"C0\"");
        assert_eq!(quote_identifier("select"), "\"select\"");
        assert_eq!(quote_identifier("true"), "\"true\"");
        assert_eq!(quote_identifier("default"), "default");
        assert_eq!(quote_identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(quote_identifier("0a"), "\"0a\"");
        assert_eq!(quote_identifier(""), "\"\"");
    }

    #[test]
    fn keywords_are_in_one_list() {
        assert!(RESERVED.is_sorted() && UNRESERVED.is_sorted());
        assert!(RESERVED.iter().all(|word| is_reserved(&word.to_uppercase()) && !is_unreserved_keyword(word)));
    }
}
