//! Multi-column relations: `(a, b) > (1, 2)`.

use cql_syntax::{Operator, Term};
use cql_types::CqlType;
use schema::{Column, ColumnKind, Table};

use super::relations::slice_restriction;
use super::{ClusteringRestriction, Restriction, Restrictions, SliceRestriction};
use crate::error::{QueryError, invalid};
use crate::plan::terms::{Markers, Receiver, undefined_column};
use crate::plan::{Operand, Source};

impl Restrictions {
    pub(super) fn add_tuple(
        &mut self,
        names: &[String],
        operator: Operator,
        term: &Term,
        table: &Table,
        markers: &mut Markers,
    ) -> Result<(), QueryError> {
        let columns = tuple_columns(names, table)?;
        let Some(first) = columns.first() else { return Err(invalid("A tuple of columns must not be empty")) };
        let position = usize::from(first.position);
        let mut values = |term: &Term| tuple_operands(term, &columns, table, markers);
        match operator {
            Operator::Equal => {
                for (operand, column) in values(term)?.into_iter().zip(&columns) {
                    self.add_to_column(column, table, Restriction::Equal(operand))?;
                }
                Ok(())
            }
            Operator::In => {
                let width = columns.len();
                let restriction = match term {
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
                self.put_tuple(position, restriction, first)
            }
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                let slice = slice_restriction(operator, values(term)?);
                self.check_clustering_order(position, &Restriction::Slice(SliceRestriction::default()), table)?;
                match self.clustering.get_mut(&position) {
                    Some(ClusteringRestriction::TupleSlice { slice: known, width }) => {
                        *width = columns.len().max(*width);
                        return known.merge(slice, &names.join(", "));
                    }
                    // `a > 1 AND (a, b) < (3, 4)`: both begin with the same column.
                    Some(ClusteringRestriction::One(Restriction::Slice(known))) => {
                        let mut known = std::mem::take(known);
                        known.merge(slice, &first.name)?;
                        let slice = ClusteringRestriction::TupleSlice { width: columns.len(), slice: known };
                        self.clustering.insert(position, slice);
                        return Ok(());
                    }
                    _ => {}
                }
                self.put_tuple(position, ClusteringRestriction::TupleSlice { width: columns.len(), slice }, first)
            }
            _ => Err(invalid(format!("Unsupported relation on ({})", names.join(", ")))),
        }
    }
}

/// The columns of a multi-column relation: clustering columns that follow one another.
fn tuple_columns<'t>(names: &[String], table: &'t Table) -> Result<Vec<&'t Column>, QueryError> {
    let mut columns: Vec<&Column> = Vec::with_capacity(names.len());
    for name in names {
        let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
        if column.kind != ColumnKind::Clustering {
            return Err(invalid(format!(
                "Multi-column relations can only be applied to clustering columns but was applied to: {name}"
            )));
        }
        if columns.iter().any(|known| known.name == *name) {
            return Err(invalid(format!("Column \"{name}\" appeared twice in a relation: ({})", names.join(", "))));
        }
        if columns.last().is_some_and(|last| last.position + 1 != column.position) {
            return Err(invalid(format!(
                "Clustering columns must appear in the PRIMARY KEY order in multi-column relations: ({})",
                names.join(", ")
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
        return Err(invalid(format!("Expected {} elements in value tuple, but got {}", columns.len(), items.len())));
    }
    let operand = |(item, column): (&Term, &&Column)| markers.operand(item, &Receiver::column(table, column));
    items.iter().zip(columns).map(operand).collect()
}

/// The type of a value for several columns.
fn tuple_type(columns: &[&Column]) -> CqlType {
    CqlType::Tuple(columns.iter().map(|column| column.ty.clone()).collect())
}
