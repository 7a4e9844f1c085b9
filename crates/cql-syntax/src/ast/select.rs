//! SELECT.

use super::{ArithmeticOperator, Relation, TableName, Term};

/// `SELECT … FROM …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// Whether each row is asked for as one JSON text.
    pub json: bool,
    /// Whether only distinct partitions are asked for.
    pub distinct: bool,
    /// What is selected.
    pub selection: Selection,
    /// From where.
    pub table: TableName,
    /// WHERE, joined by AND.
    pub relations: Vec<Relation>,
    /// GROUP BY: columns, or a call at its end.
    pub group_by: Vec<SelectorExpression>,
    /// ORDER BY.
    pub order_by: Vec<OrderBy>,
    /// PER PARTITION LIMIT.
    pub per_partition_limit: Option<Term>,
    /// LIMIT.
    pub limit: Option<Term>,
    /// ALLOW FILTERING.
    pub allow_filtering: bool,
}

/// What is between SELECT and FROM.
#[derive(Debug, Clone, PartialEq)]
pub enum Selection {
    /// `*`
    All,
    /// A list.
    List(Vec<Selector>),
}

/// One element of the list, with its alias.
#[derive(Debug, Clone, PartialEq)]
pub struct Selector {
    /// What is selected.
    pub expression: SelectorExpression,
    /// `AS alias`.
    pub alias: Option<String>,
}

/// What one element selects.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectorExpression {
    /// A column.
    Column(String),
    /// `count(*)` or `count(1)`.
    CountRows,
    /// `name(args)`, whose arguments are selected themselves: `token(k)`, `writetime(v)`, `max(v)`, `now()`.
    Function {
        /// The keyspace, if given.
        keyspace: Option<String>,
        /// The function, in lower case unless quoted.
        name: String,
        /// Its arguments.
        arguments: Vec<SelectorExpression>,
    },
    /// `of[key]`: an element of a set or map.
    Element {
        /// The collection.
        of: Box<SelectorExpression>,
        /// The element, or the key.
        key: Term,
    },
    /// `of[from..to]`: the elements between two, both included.
    Slice {
        /// The collection.
        of: Box<SelectorExpression>,
        /// The first; `None`: from the start.
        from: Option<Term>,
        /// The last; `None`: to the end.
        to: Option<Term>,
    },
    /// `of.field`: a field of a user-defined type.
    Field {
        /// The value.
        of: Box<SelectorExpression>,
        /// The field.
        field: String,
    },
    /// `CAST(expression AS type)`.
    Cast {
        /// What is cast.
        expression: Box<SelectorExpression>,
        /// The type as written.
        ty: String,
    },
    /// `a + b`, and its like.
    Operation {
        /// The operator.
        operator: ArithmeticOperator,
        /// What stands before it.
        left: Box<SelectorExpression>,
        /// What stands behind it.
        right: Box<SelectorExpression>,
    },
    /// `-a`
    Negation(Box<SelectorExpression>),
    /// `(type) expression`: what takes the type that is said.
    TypeHint {
        /// The type as written.
        ty: String,
        /// What takes it.
        expression: Box<SelectorExpression>,
    },
    /// `[a, b]`: a list, or a vector.
    List(Vec<SelectorExpression>),
    /// `{a, b}`; an empty `{}` may be a map or a user-defined type too.
    Set(Vec<SelectorExpression>),
    /// `{a: b}`: a map, or with names of fields before the colons a user-defined type.
    Map(Vec<(SelectorExpression, SelectorExpression)>),
    /// `(a, b)`: a tuple; of one, what stands between parentheses.
    Tuple(Vec<SelectorExpression>),
    /// A constant, `null` or a bind marker.
    Term(Term),
}

/// One column of ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderBy {
    /// The column.
    pub column: String,
    /// ANN OF: the vector that the nearest ones are asked for of.
    pub ann_of: Option<Term>,
    /// Whether DESC was given.
    pub descending: bool,
}
