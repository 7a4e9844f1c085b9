//! INSERT, UPDATE, DELETE and BATCH.

use super::{Operator, Relation, TableName, Term};

/// `USING TIMESTAMP … AND TTL …`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Using {
    /// Microseconds.
    pub timestamp: Option<Term>,
    /// Seconds.
    pub ttl: Option<Term>,
}

/// `INSERT INTO … (…) VALUES (…)`, or `INSERT INTO … JSON …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// Into what.
    pub table: TableName,
    /// The columns.
    pub columns: Vec<String>,
    /// Their values. Whether there are as many as columns is for the planner to say, which has the words for it.
    pub values: Vec<Term>,
    /// Instead of columns and values: a text that holds both.
    pub json: Option<InsertJson>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// USING.
    pub using: Using,
}

/// `JSON '{…}' DEFAULT …`.
#[derive(Debug, Clone, PartialEq)]
pub struct InsertJson {
    /// A string, or a bind marker.
    pub value: Term,
    /// DEFAULT UNSET: columns that the text does not name stay as they are; else they become null.
    pub default_unset: bool,
}

/// `UPDATE … SET … WHERE …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// What.
    pub table: TableName,
    /// USING.
    pub using: Using,
    /// SET.
    pub assignments: Vec<Assignment>,
    /// WHERE.
    pub relations: Vec<Relation>,
    /// IF.
    pub conditions: Conditions,
}

/// One assignment of SET.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The column.
    pub column: String,
    /// How it changes.
    pub kind: AssignmentKind,
}

/// How a column changes.
#[derive(Debug, Clone, PartialEq)]
pub enum AssignmentKind {
    /// `c = term`
    Set(Term),
    /// `c = c + term`, `c += term`
    Add(Term),
    /// `c = c - term`, `c -= term`
    Subtract(Term),
    /// `c = term + c`
    Prepend(Term),
    /// `c[key] = term`
    Element {
        /// The key or index.
        key: Term,
        /// The value.
        term: Term,
    },
    /// `c.field = term`
    Field {
        /// The field.
        field: String,
        /// The value.
        term: Term,
    },
}

/// `DELETE … FROM … WHERE …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// What of the row; nothing means the whole row.
    pub deletions: Vec<Deletion>,
    /// From what.
    pub table: TableName,
    /// USING; it holds no TTL.
    pub using: Using,
    /// WHERE.
    pub relations: Vec<Relation>,
    /// IF.
    pub conditions: Conditions,
}

/// What a DELETE removes of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Deletion {
    /// `c`
    Column(String),
    /// `c[key]`
    Element {
        /// The column.
        column: String,
        /// The key or index.
        key: Term,
    },
    /// `c.field`
    Field {
        /// The column.
        column: String,
        /// The field.
        field: String,
    },
}

/// The IF of an UPDATE or DELETE.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Conditions {
    /// No IF.
    #[default]
    None,
    /// IF EXISTS.
    Exists,
    /// IF with conditions, joined by AND.
    All(Vec<Condition>),
}

/// One condition of IF.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The column.
    pub column: String,
    /// `column[element]`.
    pub element: Option<Term>,
    /// `column.field`.
    pub field: Option<String>,
    /// The operator.
    pub operator: Operator,
    /// Its right side.
    pub term: Term,
}

/// The kind of a BATCH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchKind {
    /// All or nothing.
    Logged,
    /// One by one.
    Unlogged,
    /// Counters.
    Counter,
}

/// `BEGIN BATCH … APPLY BATCH`.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Its kind.
    pub kind: BatchKind,
    /// USING TIMESTAMP of all statements.
    pub using: Using,
    /// INSERT, UPDATE and DELETE statements only.
    pub statements: Vec<super::Statement>,
}
