//! INSERT, UPDATE and DELETE as plans: one shape for the three, since all end as one mutation per partition.

use std::rc::Rc;

use cluster::coordinator::Replication;
use schema::{ColumnId, Table};

use super::change::{Change, ListPlace};
use super::conditions::Conditions;
use super::keys::{ClusteringChoice, KeyChoice, SliceEnd};
use super::operand::Operand;

/// Which statement it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModificationKind {
    /// Writes the row's liveness beside the cells, unless the table has none.
    Insert,
    /// Writes cells only.
    Update,
    /// Writes tombstones.
    Delete,
}

/// A planned INSERT, UPDATE or DELETE.
#[derive(Debug)]
pub(crate) struct Modification {
    /// The table.
    pub(crate) table: Rc<Table>,
    /// Its keyspace's replication.
    pub(crate) replication: Rc<Replication>,
    /// Which statement it was.
    pub(crate) kind: ModificationKind,
    /// The partition key, column by column.
    pub(crate) key: Vec<KeyChoice>,
    /// What of the partition is meant.
    pub(crate) target: Target,
    /// Whether the rows' liveness is written beside their cells.
    pub(crate) marks_rows: bool,
    /// Static columns set or deleted, ascending by id.
    pub(crate) statics: Vec<Assignment>,
    /// Regular columns set or deleted, ascending by id.
    pub(crate) regulars: Vec<Assignment>,
    /// Whether it is about counters: what it sets is added to what is there.
    pub(crate) counts: bool,
    /// USING TTL.
    pub(crate) ttl: Option<Operand>,
    /// USING TIMESTAMP.
    pub(crate) timestamp: Option<Operand>,
    /// IF.
    pub(crate) conditions: Option<Box<Conditions>>,
}

/// What of a partition a modification is about.
#[derive(Debug)]
pub(crate) enum Target {
    /// The partition as a whole: its deletion.
    Partition,
    /// Only static columns.
    StaticRow,
    /// Rows named by their whole clustering; none of the choices is IN for a single row.
    Rows(Vec<ClusteringChoice>),
    /// The deletion of rows by the first clustering columns and a slice of the next.
    Range {
        /// Choices for the first columns.
        prefix: Vec<ClusteringChoice>,
        /// Where the slice begins.
        start: Option<SliceEnd>,
        /// Where it ends.
        end: Option<SliceEnd>,
    },
}

/// A change of one column.
#[derive(Debug)]
pub(crate) struct Assignment {
    /// The column.
    pub(crate) column: ColumnId,
    /// The value; null deletes.
    pub(crate) operand: Operand,
    /// What it does to the column.
    pub(crate) change: Change,
    /// Its place among those of its statement, static or regular.
    pub(crate) place: u32,
}

impl Assignment {
    /// Whether it gives a list elements of which each has a place of its own.
    pub(crate) fn adds_to_list(&self) -> bool {
        self.list_place().is_some()
    }

    /// The generator that places the elements that it gives a list, and whether they go before the list's.
    pub(crate) fn list_place(&self) -> Option<(ListPlace, bool)> {
        match self.change {
            Change::Prepend { place } => Some((place, true)),
            Change::Add { place } | Change::Replace { place } => place.map(|place| (place, false)),
            _ => None,
        }
    }
}

/// Puts a statement's assignments, which are in its order, in the order of their columns.
pub(super) fn sort_by_column(assignments: &mut [Assignment]) {
    (0..).zip(assignments.iter_mut()).for_each(|(place, assignment)| assignment.place = place);
    assignments.sort_by_key(|assignment| assignment.column);
}

impl Modification {
    /// Whether it is about one partition and at most one row of it, all named by `=`: the common case, which needs no lists.
    pub(crate) fn is_single_row(&self) -> bool {
        let one_row = match &self.target {
            Target::Partition | Target::StaticRow => true,
            Target::Rows(choices) => choices.iter().all(ClusteringChoice::is_single),
            Target::Range { .. } => false,
        };
        one_row && self.key.iter().all(KeyChoice::is_single)
    }

    /// Whether lists must be read before they can be changed.
    pub(crate) fn needs_reading(&self) -> bool {
        self.statics.iter().chain(&self.regulars).any(|assignment| assignment.change.needs_reading())
    }

    /// About what it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let assignments = self.statics.iter().chain(&self.regulars);
        size_of::<Self>()
            + assignments.map(|one| size_of::<Assignment>() + one.operand.bytes() + one.change.bytes()).sum::<usize>()
            + self.key.iter().map(KeyChoice::bytes).sum::<usize>()
            + self.conditions.as_ref().map_or(0, |conditions| conditions.bytes())
            + match &self.target {
                Target::Partition | Target::StaticRow => 0,
                Target::Rows(choices) | Target::Range { prefix: choices, .. } => {
                    choices.iter().map(ClusteringChoice::bytes).sum()
                }
            }
    }
}
