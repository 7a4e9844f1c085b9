//! Statements with values, and values of rows, as bytes of the native protocol.

use std::fmt::Debug;

/// A row's values; `None` is null.
pub type Row = Vec<Option<Vec<u8>>>;

/// A statement with values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// CQL.
    pub text: &'static str,
    /// The values of its markers, encoded.
    pub values: Vec<Vec<u8>>,
}

/// A value of type int.
pub fn integer(value: i32) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

/// A value of type bigint. Values of workloads are counted from 1 on.
pub fn big_integer(value: u64) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

/// A column of type int, which is not null.
pub fn as_integer(row: &Row, column: usize) -> Result<i32, String> {
    let bytes = row.get(column).and_then(Option::as_deref).and_then(|bytes| bytes.try_into().ok());
    bytes.map(i32::from_be_bytes).ok_or_else(|| format!("column {column} of {row:?} is no int"))
}

/// A column of type bigint, which may be null.
pub fn as_big_integer(row: &Row, column: usize) -> Result<Option<u64>, String> {
    match row.get(column) {
        Some(Some(bytes)) => match bytes.as_slice().try_into() {
            Ok(bytes) => Ok(Some(u64::from_be_bytes(bytes))),
            Err(_) => Err(format!("column {column} of {row:?} is no bigint")),
        },
        Some(None) | None => Ok(None),
    }
}

/// The column `[applied]` of the answer to a conditional statement.
pub fn as_applied(rows: &[Row]) -> Result<bool, String> {
    match rows.first().and_then(|row| row.first()).and_then(Option::as_deref) {
        Some([1]) if rows.len() == 1 => Ok(true),
        Some([0]) => Ok(false),
        _ => Err(format!("{rows:?} is no answer to a conditional statement")),
    }
}

/// Fails if a statement whose condition always holds was not applied.
pub(crate) fn check_applied(asked: &impl Debug, rows: &[Row]) -> Result<(), String> {
    match as_applied(rows)? {
        true => Ok(()),
        false => Err(format!("{asked:?} was not applied: {rows:?}, though its condition always holds")),
    }
}

/// The values of the collection that the only row has; none if it is null or there is no row.
pub(crate) fn only_collection(rows: &[Row], name: &str, per_item: usize) -> Result<Vec<u64>, String> {
    match rows {
        [] => Ok(Vec::new()),
        [row] => row.first().and_then(Option::as_deref).map_or(Ok(Vec::new()), |bytes| collection(bytes, per_item)),
        _ => Err(format!("{} rows of one {name}", rows.len())),
    }
}

/// The values of a collection: a count and, for each, a length and bytes.
fn collection(bytes: &[u8], per_item: usize) -> Result<Vec<u64>, String> {
    let unreadable = || format!("{bytes:?} is no collection of bigints");
    let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or_else(unreadable)?;
    let count = u32::from_be_bytes(*count) as usize * per_item;
    let mut all = Vec::new();
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(unreadable)?;
        let (value, after) = after.split_first_chunk::<8>().ok_or_else(unreadable)?;
        if u32::from_be_bytes(*length) != 8 {
            return Err(unreadable());
        }
        all.push(u64::from_be_bytes(*value));
        rest = after;
    }
    if rest.is_empty() { Ok(all) } else { Err(unreadable()) }
}

/// The value of a list with one element.
pub(crate) fn list_of_one(element: u64) -> Vec<u8> {
    [&1_u32.to_be_bytes()[..], &8_u32.to_be_bytes(), &element.to_be_bytes()].concat()
}
