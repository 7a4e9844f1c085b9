//! From a relation of one column to what it says.

use cql_syntax::{Operator, Relation, Term};
use cql_types::CqlType;
use schema::{Column, Table};

use super::elements::{contains, entry};
use super::{ElementRestriction, Restriction, Restrictions, SliceRestriction, StatementKind};
use crate::error::{QueryError, invalid};
use crate::plan::terms::{Markers, Receiver, undefined_column};
use crate::plan::{Comparison, InList, Operand, SliceEnd, shown};

impl Restrictions {
    pub(super) fn add(
        &mut self,
        relation: &Relation,
        table: &Table,
        kind: StatementKind,
        markers: &mut Markers,
    ) -> Result<(), QueryError> {
        match relation {
            Relation::Column { column: name, operator, term } => {
                let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
                if matches!(operator, Operator::Contains | Operator::ContainsKey) {
                    let (comparison, operand) = contains(column, table, *operator, term, kind, markers)?;
                    return self.add_element(column, table, comparison, vec![operand]);
                }
                let restriction = column_restriction(column, table, *operator, term, markers)?;
                self.add_to_column(column, table, restriction)
            }
            Relation::Token { columns, operator, term } => {
                self.add_token(columns, *operator, term, table, kind, markers)
            }
            Relation::Tuple { columns, operator, term } => self.add_tuple(columns, *operator, term, table, markers),
            Relation::Element { column: name, key, operator, term } => {
                let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
                let operands = entry(column, table, key, *operator, term, markers)?;
                self.add_element(column, table, Comparison::Entry, operands)
            }
        }
    }

    /// Adds a condition on an element, which is always looked at row by row.
    fn add_element(
        &mut self,
        column: &Column,
        table: &Table,
        comparison: Comparison,
        operands: Vec<Operand>,
    ) -> Result<(), QueryError> {
        self.check_no_whole(column, table)?;
        let index = table.column_index(&column.name).unwrap_or_default();
        self.elements.push(ElementRestriction { index, comparison, operands });
        Ok(())
    }
}

pub(super) fn slice_restriction(operator: Operator, operands: Vec<Operand>) -> SliceRestriction {
    let is_inclusive = matches!(operator, Operator::LessOrEqual | Operator::GreaterOrEqual);
    let end = Some(SliceEnd { operands, is_inclusive });
    match operator {
        Operator::Greater | Operator::GreaterOrEqual => SliceRestriction { start: end, end: None },
        _ => SliceRestriction { start: None, end },
    }
}

fn column_restriction(
    column: &Column,
    table: &Table,
    operator: Operator,
    term: &Term,
    markers: &mut Markers,
) -> Result<Restriction, QueryError> {
    let receiver = Receiver::column(table, column);
    let name = &column.name;
    let is_slice =
        matches!(operator, Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual);
    if is_slice && column.ty.refers_to_duration() {
        let what = match &column.ty {
            ty if ty.is_collection() => "collections containing durations",
            CqlType::Udt { .. } => "UDTs containing durations",
            CqlType::Tuple(_) => "tuples containing durations",
            _ => "duration columns",
        };
        return Err(invalid(format!("Slice restrictions are not supported on {what}")));
    }
    if column.ty.is_multi_cell() && !matches!(operator, Operator::NotEqual | Operator::IsNot) {
        let ty = &column.ty;
        return Err(invalid(match ty.is_collection() {
            true => format!("Collection column '{name}' ({ty}) cannot be restricted by a '{operator}' relation"),
            false => format!("Non-frozen UDT column '{name}' ({ty}) cannot be restricted by any relation"),
        }));
    }
    match operator {
        Operator::Equal => Ok(Restriction::Equal(markers.operand(term, &receiver)?)),
        Operator::In => match term {
            // One value is that value.
            Term::Tuple(items) if items.len() == 1 => Ok(Restriction::Equal(markers.operand(&items[0], &receiver)?)),
            Term::Tuple(items) => {
                let operands = items.iter().map(|item| markers.operand(item, &receiver)).collect::<Result<_, _>>()?;
                Ok(Restriction::In(InList::Operands(operands)))
            }
            marker => {
                let list = CqlType::List { element: Box::new(column.ty.clone()), frozen: false };
                let receiver = Receiver::new(table, format!("in({name})"), list);
                Ok(Restriction::In(InList::Marker(markers.operand(marker, &receiver)?)))
            }
        },
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            Ok(Restriction::Slice(slice_restriction(operator, vec![markers.operand(term, &receiver)?])))
        }
        Operator::NotEqual => Err(invalid(format!("Unsupported \"!=\" relation: {name} != {}", shown::term(term)))),
        Operator::IsNot => Err(invalid(format!("Unsupported restriction: {name} IS NOT NULL"))),
        Operator::Contains | Operator::ContainsKey => panic!("these are about elements"),
        Operator::Like => {
            markers.operand(term, &receiver)?;
            Err(invalid(format!(
                "LIKE restriction is only supported on properly indexed columns. {name} LIKE {} is not valid.",
                shown::term(term)
            )))
        }
    }
}
