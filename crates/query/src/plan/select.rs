//! SELECT as a plan: which partitions, which rows of them, what of each row, and how many.

use std::rc::Rc;

use cluster::coordinator::Replication;
use cql_types::CqlType;
use schema::{ColumnId, Table, system_keyspaces};

use super::ResultColumns;
use super::expression::{Expression, constant_calls};
use super::keys::{ClusteringChoice, InList, KeyChoice, SliceEnd};
use super::operand::Operand;
use super::selection::{JsonColumn, Output, Part, Selected};
use crate::guardrails::TombstoneLimits;

/// A planned SELECT.
#[derive(Debug)]
pub(crate) struct Select {
    /// The table.
    pub(crate) table: Rc<Table>,
    /// Its keyspace's replication.
    pub(crate) replication: Rc<Replication>,
    /// What each row of the result is made of.
    pub(crate) output: Output,
    /// True if values of masked columns are as their masks show them.
    pub(crate) is_masked: bool,
    /// The masked columns that it restricts, or groups by a function of.
    pub(crate) restricts_masked: Box<[String]>,
    /// The columns beside the key's that it names in what it selects; `None`: all.
    pub(crate) queried: Option<Box<[Queried]>>,
    /// The parts of columns and of other values that it selects.
    pub(crate) parts: Vec<Part>,
    /// What is computed for each row.
    pub(crate) expressions: Vec<Expression>,
    /// Whether a call of constants alone is among them, or among those of groups.
    pub(crate) has_constant_calls: bool,
    /// SELECT JSON: the columns that a row's one text has.
    pub(crate) json: Option<Vec<JsonColumn>>,
    /// The result's columns.
    pub(crate) columns: ResultColumns,
    /// The partitions.
    pub(crate) keys: Keys,
    /// Of a system table: the keys of the partitions whose rows are made up; empty: all within `keys`.
    pub(crate) system_key: Vec<KeyChoice>,
    /// Beside keys: the range of tokens in which the partitions must be.
    pub(crate) key_tokens: Option<Keys>,
    /// The rows of a partition: choices for the first clustering columns,
    pub(crate) clustering: Vec<ClusteringChoice>,
    /// then where a slice of the next begins,
    pub(crate) slice_start: Option<SliceEnd>,
    /// and where it ends.
    pub(crate) slice_end: Option<SliceEnd>,
    /// Whether it says ALLOW FILTERING, of a table of a user.
    pub(crate) allows_filtering: bool,
    /// What is looked at row by row (ALLOW FILTERING).
    pub(crate) filters: Vec<Filter>,
    /// The order of a partition's rows.
    pub(crate) order: Order,
    /// Whether IN names partitions whose rows are wanted in an order: there are no pages then.
    pub(crate) is_merged: bool,
    /// The clustering columns, each with whether it descends, by which the rows of several partitions are put in order.
    pub(crate) sort: Vec<(u16, bool)>,
    /// DISTINCT: one row for each partition.
    pub(crate) is_distinct: bool,
    /// LIMIT.
    pub(crate) limit: Option<Operand>,
    /// PER PARTITION LIMIT.
    pub(crate) per_partition_limit: Option<Operand>,
    /// The tombstones that each of its reads may meet.
    pub(crate) tombstones: TombstoneLimits,
}

/// A column that a SELECT names in what it selects.
#[derive(Debug)]
pub(crate) struct Queried {
    /// The column.
    pub(crate) column: ColumnId,
    /// The indices of its elements among the statement's parts, if it is elements alone that are selected.
    pub(crate) elements: Option<Box<[u16]>>,
}

/// Which partitions a SELECT is about.
#[derive(Debug)]
pub(crate) enum Keys {
    /// Those with these keys, column by column.
    Choices(Vec<KeyChoice>),
    /// Those whose tokens are in a range; both ends open: all.
    Tokens {
        /// Where it begins.
        start: Option<Box<TokenEnd>>,
        /// Where it ends.
        end: Option<Box<TokenEnd>>,
    },
}

/// One end of a range of tokens.
#[derive(Debug)]
pub(crate) struct TokenEnd {
    /// The token.
    pub(crate) value: TokenValue,
    /// Whether the token itself is inside.
    pub(crate) is_inclusive: bool,
}

/// How a token is given.
#[derive(Debug)]
pub(crate) enum TokenValue {
    /// As itself: a number; of a virtual table, whose tokens are its keys, a key.
    Given(Operand),
    /// As token() of a key, column by column.
    OfKey(Vec<Operand>),
}

/// The type of token() of a table's key. Each virtual table has a partitioner for itself, whose tokens are the keys; all of them
/// have keys of one column.
pub(crate) fn token_type(table: &Table) -> CqlType {
    match (system_keyspaces::is_virtual(&table.keyspace), table.partition_key()) {
        (true, [column]) => column.ty.clone(),
        _ => CqlType::Bigint,
    }
}

/// The order in which a partition's rows come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// As they are stored.
    Stored,
    /// The other way round.
    Reversed,
}

/// How a filter compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// `=`, and IN: equal to one of the operands.
    EqualToAny,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `CONTAINS`: an element of a list or set, or a value of a map.
    Contains,
    /// `CONTAINS KEY`: a key of a map.
    ContainsKey,
    /// `m[key] = value`: the first operand is the key, the second the value.
    Entry,
}

/// A condition that is looked at for each row.
#[derive(Debug)]
pub(crate) struct Filter {
    /// What is compared.
    pub(crate) column: Selected,
    /// How.
    pub(crate) comparison: Comparison,
    /// With what; for IN more than one, or one marker bound to a list.
    pub(crate) operands: InList,
    /// The column's type.
    pub(crate) ty: CqlType,
    /// The column's name, for messages.
    pub(crate) name: String,
}

impl Filter {
    /// Whether IN says it: that of one value is `=`.
    fn is_in(&self) -> bool {
        let is_one = matches!(&self.operands, InList::Operands(operands) if operands.len() == 1);
        self.comparison == Comparison::EqualToAny && !is_one
    }
}

impl Select {
    /// Whether it reads one partition that is named by `=` alone.
    pub(crate) fn is_single_partition(&self) -> bool {
        match &self.keys {
            Keys::Choices(choices) => self.key_tokens.is_none() && choices.iter().all(KeyChoice::is_single),
            Keys::Tokens { .. } => false,
        }
    }

    /// Whether the same rows always give the same result: now() does not.
    pub(crate) fn is_pure(&self) -> bool {
        let is_output_pure = match &self.output {
            Output::Rows(_) => true,
            Output::Groups(groups) => groups.is_pure(),
        };
        is_output_pure && self.expressions.iter().all(Expression::is_pure)
    }

    /// The calls of constants alone, which Cassandra makes before it reads: one that fails fails also where there is no row.
    pub(crate) fn constant_calls(&self) -> Vec<&Expression> {
        let of_groups = match &self.output {
            Output::Rows(_) => None,
            Output::Groups(groups) => Some(groups.expressions()),
        };
        constant_calls(self.expressions.iter().chain(of_groups.into_iter().flatten()))
    }

    /// What its client is told beside the rows: an aggregate over many partitions reads them all.
    pub(crate) fn warning(&self) -> Option<&'static str> {
        const MANY_KEYS: &str = "Aggregation query used on multiple partition keys (IN restriction)";
        let is_about_key = |filter: &&Filter| matches!(filter.column, Selected::PartitionKey(_));
        let named = match &self.keys {
            Keys::Choices(choices) => choices,
            Keys::Tokens { .. } => &self.system_key,
        };
        match (&self.output, &self.keys) {
            (Output::Rows(_), _) => None,
            _ if named.iter().any(KeyChoice::is_in) => Some(MANY_KEYS),
            _ if !named.is_empty() => None,
            (_, Keys::Tokens { start: None, end: None }) => {
                let mut filters = self.filters.iter().filter(is_about_key).peekable();
                match filters.peek() {
                    None => Some("Aggregation query used without partition key"),
                    Some(_) => filters.any(Filter::is_in).then_some(MANY_KEYS),
                }
            }
            _ => None,
        }
    }

    /// Whether a partition with a static row and no others is a row of the result: when no condition is on rows.
    pub(crate) fn shows_static_only(&self) -> bool {
        let is_row_condition = |filter: &Filter| !filter.column.is_static() && !filter.column.is_of_partition_key();
        self.clustering.is_empty()
            && self.slice_start.is_none()
            && self.slice_end.is_none()
            && !self.filters.iter().any(is_row_condition)
    }

    /// Whether static rows are read: their columns are asked for, or a partition may show nothing else.
    pub(crate) fn reads_statics(&self) -> bool {
        if self.table.statics().is_empty() {
            return false;
        }
        self.shows_static_only()
            || self.queried.as_ref().is_none_or(|queried| self.has_static(queried))
            || self.filters.iter().any(|filter| filter.column.is_static())
    }

    /// Whether Cassandra fetches static columns beside rows that are named by their whole clustering, even if none is: those that are selected or
    /// compared, and all where nothing but keys is selected.
    pub(crate) fn fetches_statics_of_named_rows(&self) -> bool {
        let named: usize = self.clustering.iter().map(ClusteringChoice::width).sum();
        let fetches = |queried: &[Queried]| queried.is_empty() || self.has_static(queried);
        named > 0
            && named == self.table.clustering().len()
            && !self.table.statics().is_empty()
            && (self.queried.as_deref().is_none_or(fetches)
                || self.filters.iter().any(|filter| filter.column.is_static()))
    }

    fn has_static(&self, queried: &[Queried]) -> bool {
        queried.iter().any(|queried| self.table.statics().iter().any(|column| column.id == queried.column))
    }

    /// About what it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let keys = match &self.keys {
            Keys::Choices(choices) => choices.iter().map(KeyChoice::bytes).sum(),
            Keys::Tokens { .. } => 0,
        };
        let filters = self.filters.iter().map(|filter| size_of::<Filter>() + filter.operands.bytes());
        size_of::<Self>()
            + self.columns.count() * 128
            + keys
            + self.clustering.iter().map(ClusteringChoice::bytes).sum::<usize>()
            + [&self.slice_start, &self.slice_end].into_iter().flatten().map(SliceEnd::bytes).sum::<usize>()
            + self.parts.iter().map(Part::bytes).sum::<usize>()
            + self.expressions.iter().map(Expression::bytes).sum::<usize>()
            + if let Output::Groups(groups) = &self.output { groups.bytes() } else { 0 }
            + filters.sum::<usize>()
    }
}
