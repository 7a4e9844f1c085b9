//! What several relations say about the same columns, made one.

use schema::{Column, ColumnKind, Table};

use super::{ClusteringRestriction, Restriction, Restrictions, SliceRestriction};
use crate::error::{QueryError, invalid};

impl Restrictions {
    pub(super) fn add_to_column(
        &mut self,
        column: &Column,
        table: &Table,
        restriction: Restriction,
    ) -> Result<(), QueryError> {
        let position = usize::from(column.position);
        match column.kind {
            ColumnKind::PartitionKey => merge(&mut self.key[position], restriction, &column.name),
            ColumnKind::Clustering => {
                let restriction = match (self.clustering.get_mut(&position), restriction) {
                    (Some(ClusteringRestriction::TupleSlice { slice: known, .. }), Restriction::Slice(slice)) => {
                        return known.merge(slice, &column.name);
                    }
                    (_, restriction) => restriction,
                };
                self.check_clustering_order(position, &restriction, table)?;
                let mut known = match self.clustering.remove(&position) {
                    None => None,
                    Some(ClusteringRestriction::One(known)) => Some(known),
                    Some(_) => return Err(tuple_conflict(&column.name)),
                };
                if self.covered_by_tuple(position) {
                    return Err(tuple_conflict(&column.name));
                }
                merge(&mut known, restriction, &column.name)?;
                if let Some(known) = known {
                    self.clustering.insert(position, ClusteringRestriction::One(known));
                }
                Ok(())
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

    pub(super) fn put_tuple(
        &mut self,
        position: usize,
        restriction: ClusteringRestriction,
        first: &Column,
    ) -> Result<(), QueryError> {
        let covered = position..position + restriction.width();
        if covered.clone().any(|place| self.clustering.contains_key(&place) || self.covered_by_tuple(place)) {
            return Err(tuple_conflict(&first.name));
        }
        self.clustering.insert(position, restriction);
        Ok(())
    }
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
        (Some(Restriction::Equal(_)), _) | (Some(_), Restriction::Equal(_)) => {
            Err(invalid(format!("{name} cannot be restricted by more than one relation if it includes an Equal")))
        }
        (Some(Restriction::In(_)), _) | (Some(_), Restriction::In(_)) => {
            Err(invalid(format!("{name} cannot be restricted by more than one relation if it includes a IN")))
        }
    }
}

fn tuple_conflict(name: &str) -> QueryError {
    invalid(format!(
        "Column \"{name}\" cannot be restricted by both a tuple notation inequality and a single column inequality ({name})"
    ))
}
