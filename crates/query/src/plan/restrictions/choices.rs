//! From restrictions to keys, and to a prefix and a slice of rows.

use schema::Table;

use super::{ClusteringRestriction, Restriction, Restrictions, StatementKind};
use crate::error::{QueryError, invalid};
use crate::plan::{ClusteringChoice, KeyChoice, SliceEnd};

/// What is said about rows, in the form of prefix and slice.
#[derive(Debug, Default)]
pub(in crate::plan) struct RowChoices {
    pub(in crate::plan) choices: Vec<ClusteringChoice>,
    pub(in crate::plan) start: Option<SliceEnd>,
    pub(in crate::plan) end: Option<SliceEnd>,
}

impl Restrictions {
    /// Choices for all clustering columns, for a statement about whole rows, or for the first ones where that names a row.
    pub(in crate::plan) fn whole_clustering(
        &self,
        table: &Table,
        kind: StatementKind,
    ) -> Result<Vec<ClusteringChoice>, QueryError> {
        if self.clustering.values().any(ClusteringRestriction::is_slice) {
            return Err(invalid(format!(
                "Slice restrictions are not supported on the clustering columns in {} statements",
                kind.name()
            )));
        }
        let covered = |position: usize| self.covered_by_tuple(position);
        let missing = table.clustering().iter().enumerate().filter(|(position, _)| !covered(*position));
        let missing: Vec<&str> = missing.map(|(_, column)| column.name.as_str()).collect();
        let given = |position: &usize| covered(*position);
        check_dense_prefix(table, (0..table.clustering().len()).filter(given))?;
        let names_prefix = missing.len() < table.clustering().len() && table.has_rows_of_prefixes();
        if !missing.is_empty() && !names_prefix {
            return Err(invalid(format!("Some clustering keys are missing: {}", missing.join(", "))));
        }
        Ok(self.clustering.values().filter_map(ClusteringRestriction::choice).collect())
    }

    /// The partition key's choices, for a modification.
    pub(in crate::plan) fn into_keys(self, table: &Table, kind: StatementKind) -> Result<Vec<KeyChoice>, QueryError> {
        self.check_key_is_there(table)?;
        let choice = |restriction| match restriction {
            Restriction::Equal(operand) => Ok(KeyChoice::One(operand)),
            Restriction::In(list) => Ok(KeyChoice::In(list)),
            Restriction::Slice(_) => Err(invalid(format!(
                "Only EQ and IN relation are supported on the partition key (unless you use the token() function) for {} statements",
                kind.name()
            ))),
        };
        self.key.into_iter().flatten().map(choice).collect()
    }

    /// What is said about rows as a prefix and a slice behind it. What cannot be said so stays, to be filtered; without ALLOW FILTERING
    /// [`Restrictions::check_prefix`] refuses it.
    pub(in crate::plan) fn take_rows(&mut self) -> RowChoices {
        let mut rows = RowChoices::default();
        let mut position = 0;
        while let Some(restriction) = self.clustering.remove(&position) {
            let width = restriction.width();
            match restriction {
                ClusteringRestriction::One(Restriction::Equal(operand)) => {
                    rows.choices.push(ClusteringChoice::One(operand));
                }
                ClusteringRestriction::One(Restriction::In(list)) => rows.choices.push(ClusteringChoice::In(list)),
                ClusteringRestriction::Tuples { tuples, width } => {
                    rows.choices.push(ClusteringChoice::Tuples { tuples, width });
                }
                ClusteringRestriction::TupleList { list, width } => {
                    rows.choices.push(ClusteringChoice::TupleList { list, width });
                }
                ClusteringRestriction::One(Restriction::Slice(slice))
                | ClusteringRestriction::TupleSlice { slice, .. } => {
                    rows.start = slice.start;
                    rows.end = slice.end;
                    break;
                }
            }
            position += width;
        }
        rows
    }

    /// Refuses what is said about rows if it is no prefix with a slice behind it: the sentence names the first column that stands in the way.
    pub(in crate::plan) fn check_prefix(&self, table: &Table) -> Result<(), QueryError> {
        let mut position = 0;
        while let Some(restriction) = self.clustering.get(&position) {
            position += restriction.width();
            if restriction.is_slice() {
                break;
            }
        }
        let Some((&stray, _)) = self.clustering.range(position..).next() else { return Ok(()) };
        Err(column_skipped(table, stray, position))
    }

    /// The partition key's choices, for a SELECT that names its partitions.
    pub(in crate::plan) fn take_keys(&mut self) -> Vec<KeyChoice> {
        let choice = |restriction: &mut Option<Restriction>| match restriction.take() {
            Some(Restriction::Equal(operand)) => Some(KeyChoice::One(operand)),
            Some(Restriction::In(list)) => Some(KeyChoice::In(list)),
            _ => None,
        };
        self.key.iter_mut().filter_map(choice).collect()
    }
}

/// That the clustering columns at these positions, ascending, are the first ones, if they are those that a write to a dense table WITH COMPACT
/// STORAGE names: others are missing at the end only.
pub(in crate::plan) fn check_dense_prefix(table: &Table, given: impl Iterator<Item = usize>) -> Result<(), QueryError> {
    match given.enumerate().find(|(next, position)| next != position) {
        Some((skipped, stray)) if table.is_dense() => Err(column_skipped(table, stray, skipped)),
        _ => Ok(()),
    }
}

fn column_skipped(table: &Table, stray: usize, skipped: usize) -> QueryError {
    let name = |position: usize| table.clustering().get(position).map_or("", |column| column.name.as_str());
    let (stray, skipped) = (name(stray), name(skipped));
    invalid(format!(
        "PRIMARY KEY column \"{stray}\" cannot be restricted as preceding column \"{skipped}\" is not restricted"
    ))
}

impl ClusteringRestriction {
    /// A copy as a choice, if it is one.
    fn choice(&self) -> Option<ClusteringChoice> {
        match self {
            ClusteringRestriction::One(Restriction::Equal(operand)) => Some(ClusteringChoice::One(operand.clone())),
            ClusteringRestriction::One(Restriction::In(list)) => Some(ClusteringChoice::In(list.clone())),
            ClusteringRestriction::Tuples { tuples, width } => {
                Some(ClusteringChoice::Tuples { tuples: tuples.clone(), width: *width })
            }
            ClusteringRestriction::TupleList { list, width } => {
                Some(ClusteringChoice::TupleList { list: list.clone(), width: *width })
            }
            ClusteringRestriction::One(Restriction::Slice(_)) | ClusteringRestriction::TupleSlice { .. } => None,
        }
    }
}
