//! WHERE: what is said about each column of the key, about rows and about tokens, with Cassandra's rules and words.
//!
//! ```text
//! relation ─► relations: of a column │ tuples: of several │ tokens │ elements ─► merging ─► Restrictions
//! Restrictions ─► choices: keys, prefixes and slices of rows │ filters: what is looked at row by row
//! ```

mod choices;
mod elements;
mod filters;
mod merging;
mod relations;
mod tokens;
mod tuples;

pub(super) use choices::check_dense_prefix;

use std::collections::BTreeMap;

use cql_syntax::Relation;
use schema::{ColumnKind, Table};

use super::terms::Markers;
use super::{Comparison, InList, Operand, SliceEnd, TokenEnd};
use crate::error::{QueryError, invalid};

/// The statement that a WHERE belongs to: what is allowed differs, and messages name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementKind {
    Select,
    Update,
    Delete,
}

impl StatementKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            StatementKind::Select => "SELECT",
            StatementKind::Update => "UPDATE",
            StatementKind::Delete => "DELETE",
        }
    }
}

/// What is said about one column.
#[derive(Debug)]
enum Restriction {
    Equal(Operand),
    In(InList),
    Slice(SliceRestriction),
}

/// The ends of a slice; each is given at most once.
#[derive(Debug, Default)]
struct SliceRestriction {
    start: Option<SliceEnd>,
    end: Option<SliceEnd>,
}

/// What is said about clustering columns from one position on.
#[derive(Debug)]
enum ClusteringRestriction {
    One(Restriction),
    Tuples { width: usize, tuples: Vec<Vec<Operand>> },
    TupleList { width: usize, list: Operand },
    TupleSlice { width: usize, slice: SliceRestriction },
}

/// What is said about the partition key's token.
#[derive(Debug, Default)]
pub(super) struct TokenRange {
    pub(super) start: Option<Box<TokenEnd>>,
    pub(super) end: Option<Box<TokenEnd>>,
    /// Both were given by one `=`.
    is_equal: bool,
}

/// All of a WHERE.
#[derive(Debug)]
pub(super) struct Restrictions {
    key: Vec<Option<Restriction>>,
    clustering: BTreeMap<usize, ClusteringRestriction>,
    token: Option<TokenRange>,
    others: Vec<(usize, Restriction)>,
    elements: Vec<ElementRestriction>,
    allow_filtering: bool,
}

/// What is said about an element of a column.
#[derive(Debug)]
struct ElementRestriction {
    index: usize,
    comparison: Comparison,
    operands: Vec<Operand>,
}

impl Restrictions {
    pub(super) fn new(
        relations: &[Relation],
        table: &Table,
        kind: StatementKind,
        allow_filtering: bool,
        markers: &mut Markers,
    ) -> Result<Self, QueryError> {
        let mut restrictions = Restrictions {
            key: table.partition_key().iter().map(|_| None).collect(),
            clustering: BTreeMap::new(),
            token: None,
            others: Vec::new(),
            elements: Vec::new(),
            allow_filtering,
        };
        for relation in relations {
            restrictions.add(relation, table, kind, markers)?;
        }
        Ok(restrictions)
    }

    /// Whether anything is said about clustering columns.
    pub(super) fn has_clustering(&self) -> bool {
        !self.clustering.is_empty()
    }

    /// Whether anything is said about elements of clustering columns.
    pub(super) fn has_clustering_elements(&self, table: &Table) -> bool {
        self.elements.iter().any(|element| table.columns()[element.index].kind == ColumnKind::Clustering)
    }

    /// Whether anything is said about columns outside of the key.
    pub(super) fn has_others(&self) -> bool {
        !self.others.is_empty() || !self.elements.is_empty()
    }

    /// Whether anything is said about regular columns, or about elements of clustering columns.
    pub(super) fn has_regulars(&self, table: &Table) -> bool {
        let others = self.others.iter().map(|(index, _)| *index);
        let mut restricted = others.chain(self.elements.iter().map(|element| element.index));
        let kind = |index: usize| table.shown_kind(&table.columns()[index]);
        restricted.any(|index| matches!(kind(index), ColumnKind::Regular | ColumnKind::Clustering))
    }

    /// Whether the clustering column at `position` is restricted to one value.
    pub(super) fn is_fixed(&self, position: usize) -> bool {
        matches!(self.clustering.get(&position), Some(ClusteringRestriction::One(Restriction::Equal(_))))
    }

    /// Whether the whole key is said, by `=` and IN alone.
    pub(super) fn names_rows(&self, table: &Table) -> bool {
        let is_slice = ClusteringRestriction::is_slice;
        let width: usize = self.clustering.values().map(ClusteringRestriction::width).sum();
        self.has_whole_key() && width == table.clustering().len() && !self.clustering.values().any(is_slice)
    }

    /// Whether the column of the partition key at `position` is restricted to one value.
    pub(super) fn is_key_fixed(&self, position: usize) -> bool {
        matches!(self.key.get(position), Some(Some(Restriction::Equal(_))))
    }

    /// The range of tokens, if token() is restricted.
    pub(super) fn take_token(&mut self) -> Option<TokenRange> {
        self.token.take()
    }

    /// Whether nothing is said about the partition key.
    pub(super) fn has_no_key(&self) -> bool {
        self.key.iter().all(Option::is_none)
    }

    /// Whether IN says a column of the partition key, of however many values: IN of one is kept as `=`.
    pub(super) fn has_key_in(&self) -> bool {
        self.key.iter().any(|restriction| matches!(restriction, Some(Restriction::In(_))))
    }

    /// Whether the key is said in full, by `=` and IN.
    pub(super) fn has_whole_key(&self) -> bool {
        self.key.iter().all(|restriction| matches!(restriction, Some(Restriction::Equal(_) | Restriction::In(_))))
    }

    /// A statement about static columns says nothing about rows.
    pub(super) fn check_no_clustering(&self, kind: StatementKind, table: &Table) -> Result<(), QueryError> {
        match (self.has_clustering() || self.has_clustering_elements(table), kind) {
            (false, _) => Ok(()),
            (true, StatementKind::Select) => {
                Err(invalid("Cannot restrict clustering columns when selecting only static columns"))
            }
            (true, kind) => Err(invalid(format!(
                "Invalid restrictions on clustering columns since the {} statement modifies only static columns",
                kind.name()
            ))),
        }
    }

    /// A modification's WHERE is about the key alone.
    pub(super) fn check_no_other_columns(&self, table: &Table) -> Result<(), QueryError> {
        let names: Vec<&str> = self.others.iter().map(|(index, _)| table.columns()[*index].name.as_str()).collect();
        match names.is_empty() {
            true => Ok(()),
            // The space at the end is Cassandra's.
            false => Err(invalid(format!("Non PRIMARY KEY columns found in where clause: {} ", names.join(", ")))),
        }
    }

    /// Choices for all clustering columns, for a statement about whole rows.
    /// A modification says every column of the partition key.
    pub(super) fn check_key_is_there(&self, table: &Table) -> Result<(), QueryError> {
        let missing = self.key.iter().zip(table.partition_key()).filter(|(restriction, _)| restriction.is_none());
        let missing: Vec<&str> = missing.map(|(_, column)| column.name.as_str()).collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(invalid(format!("Some partition key parts are missing: {}", missing.join(", ")))),
        }
    }
}

impl ClusteringRestriction {
    fn width(&self) -> usize {
        match self {
            ClusteringRestriction::One(_) => 1,
            ClusteringRestriction::Tuples { width, .. }
            | ClusteringRestriction::TupleList { width, .. }
            | ClusteringRestriction::TupleSlice { width, .. } => *width,
        }
    }

    fn is_slice(&self) -> bool {
        matches!(self, ClusteringRestriction::One(Restriction::Slice(_)) | ClusteringRestriction::TupleSlice { .. })
    }
}
