//! From restrictions to conditions that are looked at row by row.

use schema::{Column, Table};

use super::{ClusteringRestriction, ElementRestriction, Restriction, Restrictions, SliceRestriction};
use crate::error::{QueryError, invalid};
use crate::plan::{Comparison, Filter, InList, Selected, SliceEnd};

impl Restrictions {
    /// What is left after [`Restrictions::take_rows`], and the key if it was not taken: conditions on rows.
    pub(in crate::plan) fn into_filters(self, table: &Table) -> Result<Vec<Filter>, QueryError> {
        let mut filters = Vec::new();
        for (restriction, column) in self.key.into_iter().zip(table.partition_key()) {
            if let Some(restriction) = restriction {
                push_filters(restriction, column, &mut filters);
            }
        }
        for (position, restriction) in self.clustering {
            let Some(column) = table.clustering().get(position) else { continue };
            match restriction {
                ClusteringRestriction::One(restriction) => push_filters(restriction, column, &mut filters),
                ClusteringRestriction::TupleSlice { .. } => {
                    return Err(invalid("Multi-column slice restrictions cannot be used for filtering."));
                }
                ClusteringRestriction::Tuples { .. } | ClusteringRestriction::TupleList { .. } => {
                    return Err(invalid("Multicolumn IN filters are not supported"));
                }
            }
        }
        for (index, restriction) in self.others {
            push_filters(restriction, &table.columns()[index], &mut filters);
        }
        for ElementRestriction { index, comparison, operands } in self.elements {
            let column = &table.columns()[index];
            filters.push(Filter {
                column: Selected::of_column(column),
                comparison,
                operands: InList::Operands(operands),
                ty: column.ty.clone(),
                name: column.name.clone(),
            });
        }
        Ok(filters)
    }
}

fn push_filters(restriction: Restriction, column: &Column, filters: &mut Vec<Filter>) {
    let selected = Selected::of_column(column);
    let mut push = |comparison, operands| {
        filters.push(Filter {
            column: selected,
            comparison,
            operands,
            ty: column.ty.clone(),
            name: column.name.clone(),
        });
    };
    match restriction {
        Restriction::Equal(operand) => push(Comparison::EqualToAny, InList::Operands(vec![operand])),
        Restriction::In(list) => push(Comparison::EqualToAny, list),
        Restriction::Slice(SliceRestriction { start, end }) => {
            if let Some(SliceEnd { operands, is_inclusive }) = start {
                let comparison = if is_inclusive { Comparison::GreaterOrEqual } else { Comparison::Greater };
                push(comparison, InList::Operands(operands));
            }
            if let Some(SliceEnd { operands, is_inclusive }) = end {
                let comparison = if is_inclusive { Comparison::LessOrEqual } else { Comparison::Less };
                push(comparison, InList::Operands(operands));
            }
        }
    }
}
