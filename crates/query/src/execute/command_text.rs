//! A read as CQL, as Cassandra words it in warnings: of a statement about several partitions it is the read of one.

use std::collections::BTreeMap;
use std::ops::Bound as TokenBound;

use cql_syntax::quote_identifier;
use cql_types::{comparable, print};
use mutation::{KeyRange, Slice};
use schema::Column;
use topology::Token;

use super::key::component;
use crate::plan::{Binds, Comparison, Filter, InList, Operand, Order, Queried, Select, Step};

/// What of a text is told.
const CHARACTERS_MAX: usize = 512;

/// A read that a statement comes to.
pub(crate) struct ReadText<'a> {
    pub(crate) select: &'a Select,
    pub(crate) binds: &'a Binds<'a>,
    pub(crate) keys: KeyRange<'a>,
    pub(crate) slices: &'a [Slice<'a>],
    pub(crate) limits: ReadLimits,
}

/// How much a read may give.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadLimits {
    pub(crate) groups: Option<u32>,
    pub(crate) groups_per_partition: Option<u32>,
    pub(crate) rows: Option<u32>,
    pub(crate) rows_per_partition: Option<u32>,
}

impl ReadText<'_> {
    /// The text, cut off where it gets long.
    pub(crate) fn to_cql(&self) -> String {
        let table = &self.select.table;
        let name = |name| quote_identifier(name).into_owned();
        let mut text = format!("SELECT {} FROM {}.{}", self.columns(), name(&table.keyspace), name(&table.name));
        let (clauses, order) = (self.conditions(), self.order());
        if !clauses.is_empty() {
            text.push_str(" WHERE ");
            text.push_str(&clauses.join(" AND "));
        }
        text.push_str(&order);
        let limits = self.limits();
        if !limits.is_empty() || self.select.output.is_one_group() {
            text.push(' ');
            text.push_str(&limits);
        }
        text.push_str(" ALLOW FILTERING");
        match text.char_indices().nth(CHARACTERS_MAX) {
            Some((end, _)) => text[..end].to_owned(),
            None => text,
        }
    }

    /// The columns that are not of the key: those that are selected, and those of filters.
    fn columns(&self) -> String {
        let Some(queried) = &self.select.queried else { return "*".to_owned() };
        let table = &self.select.table;
        let mut columns: BTreeMap<usize, Option<&[u16]>> = BTreeMap::new();
        for Queried { column, elements } in queried {
            columns.extend(table.column_index_by_id(*column).map(|index| (index, elements.as_deref())));
        }
        let filtered = self.select.filters.iter().filter(|filter| !filter.column.is_of_primary_key());
        columns.extend(filtered.filter_map(|filter| Some((table.column_index(&filter.name)?, None))));
        let mut names = Vec::new();
        for (index, elements) in columns {
            let name = quote_identifier(&table.columns()[index].name);
            match elements {
                None => names.push(name.into_owned()),
                Some(parts) => names.extend(parts.iter().map(|part| format!("{name}{}", self.element(*part)))),
            }
        }
        if names.is_empty() { "*".to_owned() } else { names.join(", ") }
    }

    /// The element or slice of a column that a part of the statement is.
    fn element(&self, part: u16) -> String {
        let shown = |operand: &Operand| {
            operand.unchecked(self.binds).map_or_else(String::new, |value| print(&operand.ty, value))
        };
        let end = |operand: &Option<Operand>| operand.as_ref().map(shown).unwrap_or_default();
        match self.select.parts.get(usize::from(part)).map(|part| part.steps.as_slice()) {
            Some([Step::Element { key, .. }]) => format!("[{}]", shown(key)),
            Some([Step::Slice { from, to, .. }]) => format!("[{}..{}]", end(from), end(to)),
            _ => String::new(),
        }
    }

    fn conditions(&self) -> Vec<String> {
        let mut clauses = Vec::new();
        let columns = self.select.table.partition_key();
        match &self.keys {
            KeyRange::Partition { key, .. } => {
                for (position, column) in columns.iter().enumerate() {
                    let value = if columns.len() == 1 { Some(*key) } else { component(key, position) };
                    clauses.push(compared(column, "=", value.unwrap_or_default()));
                }
            }
            KeyRange::Tokens { start, end } => {
                let names: Vec<_> = columns.iter().map(|column| quote_identifier(&column.name)).collect();
                let mut token = |operator: &str, token: &Token| {
                    clauses.push(format!("token({}) {operator} {}", names.join(", "), token.0));
                };
                match start {
                    TokenBound::Included(start) => token(">=", start),
                    TokenBound::Excluded(start) => token(">", start),
                    TokenBound::Unbounded => {}
                }
                match end {
                    TokenBound::Included(end) => token("<=", end),
                    TokenBound::Excluded(end) => token("<", end),
                    TokenBound::Unbounded => {}
                }
            }
        }
        clauses.extend(self.rows());
        let mut filters: Vec<&Filter> = self.select.filters.iter().collect();
        filters.sort_by_key(|filter| self.select.table.column_index(&filter.name));
        clauses.extend(filters.into_iter().map(|filter| self.filter(filter)));
        clauses
    }

    /// What the slices say of clustering columns: the rows, where each is named, or column by column what they have in common.
    fn rows(&self) -> Vec<String> {
        let columns = self.select.table.clustering();
        let ends: Vec<SliceEnds<'_>> = self.slices.iter().map(|slice| SliceEnds::new(columns, slice)).collect();
        if columns.len() > 1 && !ends.is_empty() && ends.iter().all(|ends| ends.is_row(columns)) {
            let names: Vec<_> = columns.iter().map(|column| quote_identifier(&column.name)).collect();
            let row = |ends: &SliceEnds<'_>| {
                let values = ends.start.iter().zip(columns).map(|(value, column)| print(&column.ty, value));
                format!("({})", values.collect::<Vec<_>>().join(", "))
            };
            let rows: Vec<String> = ends.iter().map(row).collect();
            let names = names.join(", ");
            return vec![match rows.as_slice() {
                [row] => format!("({names}) = {row}"),
                rows => format!("({names}) IN ({})", rows.join(", ")),
            }];
        }
        let mut clauses = Vec::new();
        for (position, column) in columns.iter().enumerate() {
            let mut with_value =
                ends.iter().filter(|ends| ends.start.len() > position || ends.end.len() > position).peekable();
            let Some(first) = with_value.peek().copied() else { break };
            let (start, end) = (first.start.get(position), first.end.get(position));
            if start == end {
                let mut values: Vec<&Vec<u8>> = Vec::new();
                for value in with_value.filter_map(|ends| ends.start.get(position)) {
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                clauses.push(match values.as_slice() {
                    [value] => compared(column, "=", value),
                    values => {
                        let values: Vec<String> = values.iter().map(|value| print(&column.ty, value)).collect();
                        format!("{} IN ({})", quote_identifier(&column.name), values.join(", "))
                    }
                });
                continue;
            }
            let (after, before) = match column.is_reversed() {
                false => ([">", ">="], ["<", "<="]),
                true => (["<", "<="], [">", ">="]),
            };
            if let Some(start) = start {
                clauses.push(compared(column, after[usize::from(first.slice.start.inclusive)], start));
            }
            if let Some(end) = end {
                clauses.push(compared(column, before[usize::from(first.slice.end.inclusive)], end));
            }
        }
        clauses
    }

    fn filter(&self, filter: &Filter) -> String {
        let name = quote_identifier(&filter.name);
        let operands = match &filter.operands {
            InList::Operands(operands) => operands,
            InList::Marker(list) => {
                let list = list.unchecked(self.binds).map_or_else(String::new, |value| print(&list.ty, value));
                return format!("{name} IN {list}");
            }
        };
        let mut values = operands.iter().map(|operand| match operand.unchecked(self.binds) {
            Some(value) => print(&operand.ty, value),
            None => "null".to_owned(),
        });
        let mut only = || values.next().unwrap_or_default();
        match filter.comparison {
            Comparison::EqualToAny if operands.len() == 1 => format!("{name} = {}", only()),
            Comparison::EqualToAny => format!("{name} IN [{}]", values.collect::<Vec<_>>().join(", ")),
            Comparison::Less => format!("{name} < {}", only()),
            Comparison::LessOrEqual => format!("{name} <= {}", only()),
            Comparison::Greater => format!("{name} > {}", only()),
            Comparison::GreaterOrEqual => format!("{name} >= {}", only()),
            Comparison::Contains => format!("{name} CONTAINS {}", only()),
            Comparison::ContainsKey => format!("{name} CONTAINS KEY {}", only()),
            Comparison::Entry => {
                let key = only();
                format!("{name}[{key}] = {}", only())
            }
        }
    }

    fn order(&self) -> String {
        if self.select.order == Order::Stored {
            return String::new();
        }
        let column = |column: &Column| {
            let direction = if column.is_reversed() { "ASC" } else { "DESC" };
            format!("{} {direction}", quote_identifier(&column.name))
        };
        let columns: Vec<String> = self.select.table.clustering().iter().map(column).collect();
        format!(" ORDER BY {}", columns.join(", "))
    }

    fn limits(&self) -> String {
        let ReadLimits { groups, groups_per_partition, rows, rows_per_partition } = self.limits;
        let all = [
            ("GROUP LIMIT", groups),
            ("GROUP PER PARTITION LIMIT", groups_per_partition),
            ("LIMIT", rows),
            ("PER PARTITION LIMIT", rows_per_partition),
        ];
        let told = all.into_iter().filter_map(|(words, limit)| Some(format!("{words} {}", limit?)));
        told.collect::<Vec<_>>().join(" ")
    }
}

/// A slice, and the values that its ends are made of.
struct SliceEnds<'a> {
    slice: &'a Slice<'a>,
    start: Vec<Vec<u8>>,
    end: Vec<Vec<u8>>,
}

impl<'a> SliceEnds<'a> {
    fn new(columns: &[Column], slice: &'a Slice<'a>) -> Self {
        SliceEnds { slice, start: components(columns, slice.start.prefix), end: components(columns, slice.end.prefix) }
    }

    /// Whether it is a row, all of whose values are given.
    fn is_row(&self, columns: &[Column]) -> bool {
        let are_inclusive = self.slice.start.inclusive && self.slice.end.inclusive;
        are_inclusive && self.start.len() == columns.len() && self.start == self.end
    }
}

fn compared(column: &Column, operator: &str, value: &[u8]) -> String {
    format!("{} {operator} {}", quote_identifier(&column.name), print(&column.ty, value))
}

/// The values in the byte-comparable form of a clustering prefix.
fn components(columns: &[Column], mut prefix: &[u8]) -> Vec<Vec<u8>> {
    let mut values = Vec::new();
    for column in columns {
        if prefix.is_empty() {
            break;
        }
        let mut value = Vec::new();
        let Some(length) = comparable::decode(&column.ty, prefix, column.is_reversed(), &mut value) else { break };
        prefix = prefix.get(length..).unwrap_or_default();
        values.push(value);
    }
    values
}
