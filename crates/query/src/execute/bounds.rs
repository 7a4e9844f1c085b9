//! Slices over several clustering columns that are stored in different orders.
//!
//! `(a, b) > (1, 2)` is `a > 1`, or `a = 1 AND b > 2`: where the columns are stored the same way round these are neighbours,
//! and one slice. Where they are not, they are a slice each, with other rows between. A slice with two ends is what the slices
//! of both have in common.

use std::cmp::Ordering;

use schema::Column;

use super::key::cut;
use crate::error::QueryError;
use crate::plan::{Binds, SliceEnd};

/// A place between rows: before all that begin with some values, or behind them.
#[derive(Debug, Clone)]
pub(crate) struct Place<'v> {
    /// The values of the first columns.
    pub(crate) values: Vec<&'v [u8]>,
    /// The same in byte-comparable form.
    pub(crate) bytes: Vec<u8>,
    /// Whether it is behind them.
    pub(crate) is_after: bool,
}

/// Whether the ends of a slice are about columns that are stored in different orders.
#[inline]
pub(crate) fn is_mixed(columns: &[Column], start: Option<&SliceEnd>, end: Option<&SliceEnd>) -> bool {
    let width = [start, end].into_iter().flatten().map(|end| end.operands.len()).max().unwrap_or(0);
    width > 1 && columns.iter().take(width).any(|column| column.is_reversed() != columns[0].is_reversed())
}

/// The slices that a slice from `start` to `end` comes to, ascending as rows are stored; they do not overlap.
pub(crate) fn pieces<'a>(
    columns: &[Column],
    start: Option<&'a SliceEnd>,
    end: Option<&'a SliceEnd>,
    binds: &Binds<'a>,
) -> Result<Vec<(Place<'a>, Place<'a>)>, QueryError> {
    let everything = || vec![(place(columns, &[], false), place(columns, &[], true))];
    let of = |end: Option<&'a SliceEnd>, is_start: bool| match end {
        Some(end) => one_sided(columns, end, is_start, binds),
        None => Ok(everything()),
    };
    let (first, second) = (of(start, true)?, of(end, false)?);
    let mut pieces = Vec::new();
    for (from, to) in &first {
        for (other_from, other_to) in &second {
            let from = if from.order(other_from).is_lt() { other_from } else { from };
            let to = if to.order(other_to).is_gt() { other_to } else { to };
            if from.order(to).is_lt() {
                pieces.push((from.clone(), to.clone()));
            }
        }
    }
    pieces.sort_by(|a, b| a.0.order(&b.0));
    Ok(pieces)
}

/// The slices of what is greater than some values, or of what is less.
fn one_sided<'a>(
    columns: &[Column],
    end: &'a SliceEnd,
    is_greater: bool,
    binds: &Binds<'a>,
) -> Result<Vec<(Place<'a>, Place<'a>)>, QueryError> {
    let mut values: Vec<&'a [u8]> = Vec::with_capacity(end.operands.len());
    for (operand, column) in end.operands.iter().zip(columns) {
        values.push(operand.key_value(&column.name, binds)?);
    }
    let mut pieces = Vec::with_capacity(values.len());
    for count in 1..=values.len() {
        let (with, without) = (&values[..count], &values[..count - 1]);
        // The values themselves are inside of the last piece, if they are at all.
        let has_equal = count == values.len() && end.is_inclusive;
        // What is greater comes first where the column is stored the other way round.
        pieces.push(match is_greater != columns[count - 1].is_reversed() {
            true => (place(columns, with, !has_equal), place(columns, without, true)),
            false => (place(columns, without, false), place(columns, with, has_equal)),
        });
    }
    Ok(pieces)
}

fn place<'v>(columns: &[Column], values: &[&'v [u8]], is_after: bool) -> Place<'v> {
    let mut bytes = Vec::new();
    for (value, column) in values.iter().zip(columns) {
        cql_types::comparable::encode(&column.ty, cut(&column.ty, value), column.is_reversed(), &mut bytes);
    }
    Place { values: values.to_vec(), bytes, is_after }
}

impl Place<'_> {
    fn order(&self, other: &Place<'_>) -> Ordering {
        let side = |is_after: bool| if is_after { Ordering::Greater } else { Ordering::Less };
        match (other.bytes.starts_with(&self.bytes), self.bytes.starts_with(&other.bytes)) {
            (true, true) => self.is_after.cmp(&other.is_after),
            (true, false) => side(self.is_after),
            (false, true) => side(other.is_after).reverse(),
            (false, false) => self.bytes.cmp(&other.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use cql_types::CqlType;
    use proptest::prelude::*;
    use schema::{ColumnId, ColumnKind, Order};

    use super::*;
    use crate::plan::{Operand, Source};

    const NO_BINDS: Binds<'static> = Binds { values: &[], generated: &[], long_texts_checked: false };

    fn columns(orders: &[bool]) -> Vec<Column> {
        let column = |(position, is_reversed): (u16, &bool)| {
            let order = if *is_reversed { Order::Desc } else { Order::Asc };
            let name = format!("c{position}");
            Column::new(ColumnKind::Clustering, ColumnId(position), name, CqlType::Tinyint).at(position).ordered(order)
        };
        (0u16..).zip(orders).map(column).collect()
    }

    fn slice_end(values: &[i8], is_inclusive: bool) -> SliceEnd {
        let operand = |value: &i8| Operand::new(Source::Constant(value.to_be_bytes().to_vec()), CqlType::Tinyint);
        SliceEnd { operands: values.iter().map(operand).collect(), is_inclusive }
    }

    fn end() -> impl Strategy<Value = Option<(Vec<i8>, bool)>> {
        proptest::option::of((proptest::collection::vec(0i8..4, 1..4), any::<bool>()))
    }

    proptest! {
        /// A row is in exactly one of the slices if the relation holds for it, and in none otherwise.
        #[test]
        fn pieces_hold_the_rows_that_the_relation_is_about(
            orders in proptest::collection::vec(any::<bool>(), 3), start in end(), last in end()
        ) {
            let columns = columns(&orders);
            let start_end = start.as_ref().map(|(values, inclusive)| slice_end(values, *inclusive));
            let last_end = last.as_ref().map(|(values, inclusive)| slice_end(values, *inclusive));
            let pieces = pieces(&columns, start_end.as_ref(), last_end.as_ref(), &NO_BINDS).unwrap();
            for row in 0..64i8 {
                let row = [row / 16, row / 4 % 4, row % 4];
                let holds = |end: &Option<(Vec<i8>, bool)>, wanted: Ordering| match end {
                    None => true,
                    Some((values, inclusive)) => {
                        let order = row[..values.len()].cmp(values);
                        order == wanted || (order.is_eq() && *inclusive)
                    }
                };
                let expected = holds(&start, Ordering::Greater) && holds(&last, Ordering::Less);
                let bytes: Vec<Vec<u8>> = row.iter().map(|value| value.to_be_bytes().to_vec()).collect();
                let values: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
                // A whole row stands between the place before it and the one behind it.
                let (before, behind) = (place(&columns, &values, false), place(&columns, &values, true));
                let is_in = |(from, to): &&(Place<'_>, Place<'_>)| from.order(&before).is_le() && to.order(&behind).is_ge();
                prop_assert_eq!(pieces.iter().filter(is_in).count(), usize::from(expected), "{:?}", row);
            }
            prop_assert!(pieces.is_sorted_by(|a, b| a.1.order(&b.0).is_le()));
        }
    }
}
