//! The order of a type's values, as Cassandra sorts clustering columns of that type.

use std::cmp::Ordering;

use crate::{CqlType, comparable};

/// Compares two values that [`crate::validate`] has accepted. An empty value comes first.
pub fn compare(ty: &CqlType, a: &[u8], b: &[u8]) -> Ordering {
    match ty {
        CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Inet | CqlType::Date | CqlType::Time => a.cmp(b),
        CqlType::Bigint | CqlType::Counter | CqlType::Timestamp => match (<[u8; 8]>::try_from(a), b.try_into()) {
            (Ok(a), Ok(b)) => i64::from_be_bytes(a).cmp(&i64::from_be_bytes(b)),
            _ => a.cmp(b),
        },
        CqlType::Int => match (<[u8; 4]>::try_from(a), b.try_into()) {
            (Ok(a), Ok(b)) => i32::from_be_bytes(a).cmp(&i32::from_be_bytes(b)),
            _ => a.cmp(b),
        },
        // The other orders are spelled out once, in the byte-comparable form.
        _ => {
            let (mut left, mut right) = (Vec::new(), Vec::new());
            comparable::encode(ty, a, false, &mut left);
            comparable::encode(ty, b, false, &mut right);
            left.cmp(&right)
        }
    }
}

#[cfg(test)]
mod tests;
