//! Terms and the relations of WHERE.

use cql_types::{CqlType, Literal};

use super::ArithmeticOperator;

/// `?` or `:name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindMarker {
    /// Its place among the statement's markers, from 0.
    pub index: usize,
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// A value as a statement writes it.
#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    /// `null`.
    Null,
    /// A constant.
    Literal(Literal),
    /// A bind marker.
    Marker(BindMarker),
    /// A call, `name(args)`, or `keyspace.name(args)`.
    Function {
        /// The keyspace, if given.
        keyspace: Option<String>,
        /// The function.
        name: String,
        /// Its arguments.
        arguments: Vec<Term>,
    },
    /// `(type) term`.
    Cast {
        /// The type as written.
        ty: String,
        /// What is cast.
        term: Box<Term>,
    },
    /// `CAST(term AS type)`.
    Conversion {
        /// What is converted.
        term: Box<Term>,
        /// The type, which is a native one.
        ty: CqlType,
    },
    /// `left + right`. An operand that binds less is in parentheses: a tuple of one.
    Operation {
        /// The operator.
        operator: ArithmeticOperator,
        /// Its left side.
        left: Box<Term>,
        /// Its right side.
        right: Box<Term>,
    },
    /// `-term`, where no number begins with the minus.
    Negation(Box<Term>),
    /// `[a, b]`: a list, or a vector.
    List(Vec<Term>),
    /// `{a, b}`; an empty `{}` may be a map or a user-defined type too.
    Set(Vec<Term>),
    /// `{a: b}`.
    Map(Vec<(Term, Term)>),
    /// `(a, b)`.
    Tuple(Vec<Term>),
    /// `{field: a}`, a value of a user-defined type.
    Udt(Vec<(String, Term)>),
}

/// An operator of a relation or a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `IN`
    In,
    /// `CONTAINS`
    Contains,
    /// `CONTAINS KEY`
    ContainsKey,
    /// `LIKE`
    Like,
    /// `IS NOT`, whose only operand is `null`.
    IsNot,
}

/// One relation of WHERE.
#[derive(Debug, Clone, PartialEq)]
pub enum Relation {
    /// `column op term`. For IN with a list in parentheses the term is a [`Term::Tuple`]; with a marker, the marker.
    Column {
        /// The column.
        column: String,
        /// The operator.
        operator: Operator,
        /// Its right side.
        term: Term,
    },
    /// `column[key] op term`.
    Element {
        /// The column.
        column: String,
        /// The key or index.
        key: Term,
        /// The operator.
        operator: Operator,
        /// Its right side.
        term: Term,
    },
    /// `token(columns) op term`.
    Token {
        /// The columns inside `token()`.
        columns: Vec<String>,
        /// The operator.
        operator: Operator,
        /// Its right side.
        term: Term,
    },
    /// `(columns) op term`; the term is a tuple, a marker, or for IN a tuple of such.
    Tuple {
        /// The columns.
        columns: Vec<String>,
        /// The operator.
        operator: Operator,
        /// Its right side.
        term: Term,
    },
}
