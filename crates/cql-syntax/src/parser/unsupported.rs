//! Statements and clauses of Cassandra's and ScyllaDB's CQL that have no rules here: they are known by their words, so that the answer can name them. A
//! misspelt one is a syntax error as any other.

/// Two words, or one with an underscore between them.
const SERVICE_LEVEL: &str = "SERVICE LEVEL";

/// Elements after CREATE, ALTER and DROP.
pub(super) const ELEMENTS: [&str; 7] =
    ["INDEX", "CUSTOM INDEX", "MATERIALIZED VIEW", "FUNCTION", "AGGREGATE", "TRIGGER", SERVICE_LEVEL];

/// Words after LIST.
pub(super) const LISTS: [&str; 6] = [
    "SUPERUSERS",
    SERVICE_LEVEL,
    "ALL SERVICE LEVELS",
    "ATTACHED SERVICE LEVEL",
    "ALL ATTACHED SERVICE LEVELS",
    "EFFECTIVE SERVICE LEVEL",
];

/// Statements that begin with a word of their own.
pub(super) const STATEMENTS: [&str; 3] = ["ATTACH SERVICE LEVEL", "DETACH SERVICE LEVEL", "PRUNE MATERIALIZED VIEW"];

/// USING SERVICE LEVEL of a SELECT.
pub(super) const USING_SERVICE_LEVEL: [&str; 1] = ["USING SERVICE LEVEL"];

/// DESCRIBE … WITH INTERNALS AND PASSWORDS of ScyllaDB, which shows roles too; from AND on.
pub(super) const AND_PASSWORDS: [&str; 1] = ["AND PASSWORDS"];
