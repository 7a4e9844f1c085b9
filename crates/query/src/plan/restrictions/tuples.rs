//! Multi-column relations: `(a, b) > (1, 2)`.

use std::ops::Range;

use cql_syntax::{Operator, Term};
use cql_types::CqlType;
use schema::{Column, ColumnKind, Table};

use super::merging::names_of;
use super::relations::slice_restriction;
use super::{ClusteringRestriction, Restriction, Restrictions, SliceRestriction};
use crate::error::{QueryError, invalid};
use crate::plan::terms::{Markers, Receiver, undefined_column};
use crate::plan::{Operand, Source, shown};

impl Restrictions {
    pub(super) fn add_tuple(
        &mut self,
        names: &[String],
        operator: Operator,
        term: &Term,
        table: &Table,
        markers: &mut Markers,
    ) -> Result<(), QueryError> {
        let shown = || shown::tuple_relation(names, operator, term);
        let columns = tuple_columns(names, table, shown)?;
        let Some(first) = columns.first() else { return Err(invalid("A tuple of columns must not be empty")) };
        let first = usize::from(first.position);
        let covered = first..first + columns.len();
        let mut values = |term: &Term| tuple_operands(term, &columns, table, markers);
        match operator {
            Operator::Equal => {
                let operands = values(term)?;
                self.add_equal_tuple(operands, &columns, table)
            }
            Operator::In => {
                let width = columns.len();
                let restriction = match term {
                    // One value is that value.
                    Term::Tuple(items) if items.len() == 1 => {
                        let operands = values(&items[0])?;
                        return self.add_equal_tuple(operands, &columns, table);
                    }
                    Term::Tuple(items) => {
                        let tuples = items.iter().map(values).collect::<Result<Vec<_>, _>>()?;
                        ClusteringRestriction::Tuples { width, tuples }
                    }
                    marker => {
                        let list = CqlType::List { element: Box::new(tuple_type(&columns)), frozen: true };
                        let receiver = Receiver::new(table, format!("in({})", names.join(",")), list);
                        ClusteringRestriction::TupleList { width, list: markers.operand(marker, &receiver)? }
                    }
                };
                self.check_no_elements_of(&columns, table)?;
                self.check_conflicts(covered, false, table)?;
                self.clustering.insert(first, restriction);
                Ok(())
            }
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                let slice = slice_restriction(operator, values(term)?);
                self.check_no_elements_of(&columns, table)?;
                self.add_tuple_slice(slice, covered, table)
            }
            _ => Err(invalid(format!("Unsupported \"{operator}\" relation: {}", shown()))),
        }
    }

    fn add_equal_tuple(
        &mut self,
        operands: Vec<Operand>,
        columns: &[&Column],
        table: &Table,
    ) -> Result<(), QueryError> {
        let first = columns.first().map_or(0, |column| usize::from(column.position));
        self.check_no_elements_of(columns, table)?;
        self.check_conflicts(first..first + columns.len(), false, table)?;
        for (operand, column) in operands.into_iter().zip(columns) {
            self.add_to_column(column, table, Restriction::Equal(operand))?;
        }
        Ok(())
    }

    fn check_no_elements_of(&self, columns: &[&Column], table: &Table) -> Result<(), QueryError> {
        columns.iter().try_for_each(|column| self.check_no_elements(column, table))
    }

    fn add_tuple_slice(
        &mut self,
        slice: SliceRestriction,
        covered: Range<usize>,
        table: &Table,
    ) -> Result<(), QueryError> {
        let (first, width) = (covered.start, covered.len());
        self.check_conflicts(covered.clone(), true, table)?;
        self.check_clustering_order(first, &Restriction::Slice(SliceRestriction::default()), table)?;
        match self.clustering.get_mut(&first) {
            Some(ClusteringRestriction::TupleSlice { slice: known, width: known_width }) => {
                let common = first..first + width.min(*known_width);
                *known_width = width.max(*known_width);
                known.merge(slice, &names_of(&common, table))
            }
            // `a > 1 AND (a, b) < (3, 4)`: both begin with the same column.
            Some(ClusteringRestriction::One(Restriction::Slice(known))) => {
                let mut known = std::mem::take(known);
                known.merge(slice, &names_of(&(first..first + 1), table))?;
                self.clustering.insert(first, ClusteringRestriction::TupleSlice { width, slice: known });
                Ok(())
            }
            _ => {
                self.clustering.insert(first, ClusteringRestriction::TupleSlice { width, slice });
                Ok(())
            }
        }
    }
}

/// The columns of a multi-column relation: clustering columns that follow one another.
fn tuple_columns<'t>(
    names: &[String],
    table: &'t Table,
    shown: impl Fn() -> String,
) -> Result<Vec<&'t Column>, QueryError> {
    let mut columns: Vec<&Column> = Vec::with_capacity(names.len());
    for name in names {
        let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
        if column.kind != ColumnKind::Clustering {
            return Err(invalid(format!(
                "Multi-column relations can only be applied to clustering columns but was applied to: {name}"
            )));
        }
        if columns.iter().any(|known| known.name == *name) {
            return Err(invalid(format!("Column \"{name}\" appeared twice in a relation: {}", shown())));
        }
        if columns.last().is_some_and(|last| last.position + 1 != column.position) {
            return Err(invalid(format!(
                "Clustering columns must appear in the PRIMARY KEY order in multi-column relations: {}",
                shown()
            )));
        }
        columns.push(column);
    }
    Ok(columns)
}

fn tuple_operands(
    term: &Term,
    columns: &[&Column],
    table: &Table,
    markers: &mut Markers,
) -> Result<Vec<Operand>, QueryError> {
    if let Term::Marker(marker) = term {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let receiver = Receiver::new(table, format!("({})", names.join(",")), tuple_type(columns));
        let Source::Bound(marker) = markers.marker(marker, &receiver)? else { panic!("a marker is bound") };
        let component =
            |(index, column): (u16, &&Column)| Operand::new(Source::Component { marker, index }, column.ty.clone());
        return Ok((0u16..).zip(columns).map(component).collect());
    }
    let Term::Tuple(items) = term else {
        return Err(invalid(format!("Invalid value for a tuple of {} columns: {term}", columns.len())));
    };
    if items.len() != columns.len() {
        let shown = shown::term(term);
        return Err(invalid(format!(
            "Expected {} elements in value tuple, but got {}: {shown}",
            columns.len(),
            items.len()
        )));
    }
    let operand = |(item, column): (&Term, &&Column)| markers.operand(item, &Receiver::column(table, column));
    items.iter().zip(columns).map(operand).collect()
}

/// The type of a value for several columns.
fn tuple_type(columns: &[&Column]) -> CqlType {
    CqlType::Tuple(columns.iter().map(|column| column.ty.clone()).collect())
}
