//! What several relations say about the same columns, made one.
//!
//! Only slices go with slices, those of which the first column is the same. Which sentence refuses what does not go together is
//! decided by what was said first.

use std::ops::Range;

use schema::{Column, ColumnKind, Table};

use super::{ClusteringRestriction, ElementRestriction, Restriction, Restrictions, SliceRestriction};
use crate::error::{QueryError, invalid};

impl Restrictions {
    pub(super) fn add_to_column(
        &mut self,
        column: &Column,
        table: &Table,
        restriction: Restriction,
    ) -> Result<(), QueryError> {
        let position = usize::from(column.position);
        self.check_no_elements(column, table)?;
        match column.kind {
            ColumnKind::PartitionKey => merge(&mut self.key[position], restriction, &column.name),
            ColumnKind::Clustering => {
                let is_slice = matches!(restriction, Restriction::Slice(_));
                self.check_conflicts(position..position + 1, is_slice, table)?;
                self.check_clustering_order(position, &restriction, table)?;
                match (self.clustering.get_mut(&position), restriction) {
                    (
                        Some(
                            ClusteringRestriction::TupleSlice { slice: known, .. }
                            | ClusteringRestriction::One(Restriction::Slice(known)),
                        ),
                        Restriction::Slice(slice),
                    ) => known.merge(slice, &column.name),
                    (_, restriction) => {
                        self.clustering.insert(position, ClusteringRestriction::One(restriction));
                        Ok(())
                    }
                }
            }
            ColumnKind::Static | ColumnKind::Regular => {
                let index = table.column_index(&column.name).unwrap_or_default();
                let known = self.others.iter().position(|(known, _)| *known == index);
                let mut merged = known.map(|place| self.others.remove(place).1);
                merge(&mut merged, restriction, &column.name)?;
                self.others.extend(merged.map(|restriction| (index, restriction)));
                Ok(())
            }
        }
    }

    /// Refuses to restrict a column as a whole of whose elements something is said.
    pub(super) fn check_no_elements(&self, column: &Column, table: &Table) -> Result<(), QueryError> {
        let is_it = |element: &ElementRestriction| table.columns()[element.index].id == column.id;
        match self.elements.iter().any(is_it) {
            false => Ok(()),
            true => Err(invalid(format!(
                "Collection column {} can only be restricted by CONTAINS, CONTAINS KEY, or map-entry equality",
                column.name
            ))),
        }
    }

    /// Refuses to say something of the elements of a column that is restricted as a whole.
    pub(super) fn check_no_whole(&self, column: &Column, table: &Table) -> Result<(), QueryError> {
        let position = usize::from(column.position);
        let known = match column.kind {
            ColumnKind::PartitionKey => self.key[position].as_ref(),
            ColumnKind::Clustering => return self.check_conflicts(position..position + 1, false, table),
            ColumnKind::Static | ColumnKind::Regular => {
                let is_it = |(index, _): &&(usize, Restriction)| table.columns()[*index].id == column.id;
                self.others.iter().find(is_it).map(|(_, restriction)| restriction)
            }
        };
        known.map_or(Ok(()), |known| Err(known.conflict(&column.name)))
    }

    /// Refuses what does not go with what is known of the clustering columns in `covered`.
    pub(super) fn check_conflicts(
        &self,
        covered: Range<usize>,
        is_slice: bool,
        table: &Table,
    ) -> Result<(), QueryError> {
        for (&first, known) in &self.clustering {
            let common = first.max(covered.start)..(first + known.width()).min(covered.end);
            if common.is_empty() {
                continue;
            }
            if !(known.is_slice() && is_slice) {
                return Err(known.conflict(&names_of(&common, table)));
            }
            if first != covered.start {
                let later = first.max(covered.start);
                return Err(invalid(format!(
                    "Column \"{}\" cannot be restricted by two inequalities not starting with the same column",
                    names_of(&(later..later + 1), table)
                )));
            }
        }
        Ok(())
    }

    /// Refuses what follows a slice, unless rows are filtered.
    pub(super) fn check_clustering_order(
        &self,
        position: usize,
        restriction: &Restriction,
        table: &Table,
    ) -> Result<(), QueryError> {
        let Some((&last, last_restriction)) = self.clustering.last_key_value() else { return Ok(()) };
        if self.allow_filtering {
            return Ok(());
        }
        let name = |position: usize| table.clustering().get(position).map_or("", |column| column.name.as_str());
        if last_restriction.is_slice() && position > last {
            return Err(invalid(format!(
                "Clustering column \"{}\" cannot be restricted (preceding column \"{}\" is restricted by a non-EQ relation)",
                name(position),
                name(last)
            )));
        }
        if position < last && matches!(restriction, Restriction::Slice(_)) {
            return Err(invalid(format!(
                "PRIMARY KEY column \"{}\" cannot be restricted (preceding column \"{}\" is restricted by a non-EQ relation)",
                name(position + 1),
                name(position)
            )));
        }
        Ok(())
    }

    pub(super) fn covered_by_tuple(&self, position: usize) -> bool {
        self.clustering.iter().any(|(&first, restriction)| first <= position && position < first + restriction.width())
    }
}

/// The names of clustering columns, as messages join them. The space before the comma is Cassandra's; the order of its names is that
/// of a hash set, another one in each run.
pub(super) fn names_of(positions: &Range<usize>, table: &Table) -> String {
    let columns = positions.clone().filter_map(|position| table.clustering().get(position));
    columns.map(|column| column.name.as_str()).collect::<Vec<_>>().join(" ,")
}

impl ClusteringRestriction {
    /// Why nothing else may be said about the columns called `names`.
    fn conflict(&self, names: &str) -> QueryError {
        match self {
            ClusteringRestriction::One(restriction) => restriction.conflict(names),
            ClusteringRestriction::Tuples { .. } | ClusteringRestriction::TupleList { .. } => repeated(names, "a IN"),
            ClusteringRestriction::TupleSlice { .. } => unequal(names),
        }
    }
}

impl Restriction {
    fn conflict(&self, name: &str) -> QueryError {
        match self {
            Restriction::Equal(_) => repeated(name, "an Equal"),
            Restriction::In(_) => repeated(name, "a IN"),
            Restriction::Slice(_) => unequal(name),
        }
    }
}

pub(super) fn repeated(names: &str, what: &str) -> QueryError {
    invalid(format!("{names} cannot be restricted by more than one relation if it includes {what}"))
}

fn unequal(names: &str) -> QueryError {
    invalid(format!("Column \"{names}\" cannot be restricted by both an equality and an inequality relation"))
}

impl SliceRestriction {
    /// Takes over the end that `other` gives.
    pub(super) fn merge(&mut self, other: SliceRestriction, name: &str) -> Result<(), QueryError> {
        for (place, given, which) in [(&mut self.start, other.start, "start"), (&mut self.end, other.end, "end")] {
            if given.is_some() && place.is_some() {
                return Err(invalid(format!("More than one restriction was found for the {which} bound on {name}")));
            }
            if given.is_some() {
                *place = given;
            }
        }
        Ok(())
    }
}

fn merge(known: &mut Option<Restriction>, new: Restriction, name: &str) -> Result<(), QueryError> {
    match (known.as_mut(), new) {
        (None, new) => {
            *known = Some(new);
            Ok(())
        }
        (Some(Restriction::Slice(slice)), Restriction::Slice(new)) => slice.merge(new, name),
        (Some(known), _) => Err(known.conflict(name)),
    }
}
