//! Values of several parts: put together from their parts, and taken apart again.

use stdx::Reader;

use crate::{CqlType, ValueError, comparable, element};

/// The value of a collection, tuple, user-defined type or vector that has these parts: of a map its keys and values in
/// turn. A set's elements and a map's entries are put in order, and of equal ones the last stays, as in Cassandra. A
/// tuple's parts may be null; a collection's may not.
pub fn compose(ty: &CqlType, parts: &[Option<&[u8]>]) -> Result<Vec<u8>, ValueError> {
    match ty {
        CqlType::Tuple(_) | CqlType::Udt { .. } => {
            let mut out = Vec::new();
            parts.iter().try_for_each(|part| push(*part, &mut out))?;
            Ok(out)
        }
        CqlType::Vector { element, .. } => {
            let mut out = Vec::new();
            for part in present(parts, "vectors")? {
                if element.vector_element_len().is_none() {
                    stdx::varint::encode(part.len() as u64, &mut out);
                }
                out.extend_from_slice(part);
            }
            Ok(out)
        }
        CqlType::Set { element, .. } => Ok(ordered(element, 1, &present(parts, "collections")?)?),
        CqlType::Map { key, .. } => Ok(ordered(key, 2, &present(parts, "collections")?)?),
        _ => counted(parts.len(), &present(parts, "collections")?),
    }
}

/// The parts of a collection's value that [`crate::validate`] has accepted: of a map its keys and values in turn.
pub fn parts_of_collection<'a>(ty: &CqlType, value: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    let each = if matches!(ty, CqlType::Map { .. }) { 2 } else { 1 };
    let mut reader = Reader::new(value);
    let count = usize::try_from(reader.i32().unwrap_or(0)).unwrap_or(0);
    std::iter::from_fn(move || element(&mut reader).ok().flatten()).take(count.saturating_mul(each))
}

/// The fields of a tuple's or user-defined type's value; those that are missing at the end are left out.
pub fn fields_of(value: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut reader = Reader::new(value);
    std::iter::from_fn(move || if reader.is_empty() { None } else { element(&mut reader).ok() })
}

/// Appends the value of a collection in the making: begins with [`CollectionWriter::begin`], and the count is known at the
/// end.
#[derive(Debug)]
pub struct CollectionWriter {
    start: usize,
    count: i32,
}

impl CollectionWriter {
    /// A collection at the end of `out`.
    pub fn begin(out: &mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        CollectionWriter { start, count: 0 }
    }

    /// Counts an element or entry, whose parts follow.
    pub fn entry(&mut self) {
        self.count += 1;
    }

    /// Adds a part of the present entry.
    pub fn part(&mut self, part: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&length(part).to_be_bytes());
        out.extend_from_slice(part);
    }

    /// Completes it. Gives how many elements or entries it has.
    pub fn finish(self, out: &mut [u8]) -> i32 {
        out[self.start..self.start + 4].copy_from_slice(&self.count.to_be_bytes());
        self.count
    }
}

/// Appends a field of a tuple or user-defined type.
pub fn push_field(field: Option<&[u8]>, out: &mut Vec<u8>) {
    match field {
        Some(field) => {
            out.extend_from_slice(&length(field).to_be_bytes());
            out.extend_from_slice(field);
        }
        None => out.extend_from_slice(&(-1_i32).to_be_bytes()),
    }
}

/// A part is a piece of a request or of a row, which are both shorter than 2 GiB.
fn length(part: &[u8]) -> i32 {
    i32::try_from(part.len()).expect("a part of a value is shorter than 2 GiB")
}

fn push(part: Option<&[u8]>, out: &mut Vec<u8>) -> Result<(), ValueError> {
    if part.is_some_and(|part| i32::try_from(part.len()).is_err()) {
        return Err(ValueError::malformed("a part of a value is longer than 2 GiB"));
    }
    push_field(part, out);
    Ok(())
}

/// The parts, none of which may be null inside of `what`.
fn present<'a>(parts: &[Option<&'a [u8]>], what: &str) -> Result<Vec<&'a [u8]>, ValueError> {
    let null = || ValueError::malformed(format!("null is not supported inside {what}"));
    parts.iter().map(|part| part.ok_or_else(null)).collect()
}

fn counted(count: usize, parts: &[&[u8]]) -> Result<Vec<u8>, ValueError> {
    let count = i32::try_from(count).map_err(|_| ValueError::malformed("a collection has too many elements"))?;
    let mut out = count.to_be_bytes().to_vec();
    parts.iter().try_for_each(|part| push(Some(part), &mut out))?;
    Ok(out)
}

/// The entries, each of `width` parts, in the order of their first parts.
fn ordered(first: &CqlType, width: usize, parts: &[&[u8]]) -> Result<Vec<u8>, ValueError> {
    let mut entries = std::collections::BTreeMap::new();
    for entry in parts.chunks(width) {
        let mut place = Vec::new();
        comparable::encode(first, entry[0], false, &mut place);
        entries.insert(place, entry);
    }
    let parts: Vec<&[u8]> = entries.values().flat_map(|entry| entry.iter().copied()).collect();
    counted(entries.len(), &parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A valid collection's parts make an equal value again; a set and a map are in order then.
        #[test]
        fn what_is_taken_apart_goes_together((ty, value, _) in crate::samples::type_and_values()) {
            let composed = match &ty {
                CqlType::List { .. } | CqlType::Set { .. } | CqlType::Map { .. } => {
                    let parts: Vec<_> = parts_of_collection(&ty, &value).map(Some).collect();
                    compose(&ty, &parts).unwrap()
                }
                CqlType::Tuple(_) => compose(&ty, &fields_of(&value).collect::<Vec<_>>()).unwrap(),
                _ => return Ok(()),
            };
            prop_assert_eq!(crate::validate(&ty, &composed), Ok(()));
            if !matches!(ty, CqlType::Set { .. } | CqlType::Map { .. }) {
                prop_assert_eq!(&composed, &value);
            }
            let again: Vec<_> = parts_of_collection(&ty, &composed).collect();
            if let CqlType::Set { element, .. } = &ty {
                prop_assert!(again.is_sorted_by(|a, b| crate::compare(element, a, b).is_lt()));
            }
        }
    }

    #[test]
    fn nulls_have_no_place_in_a_collection() {
        let ty = CqlType::parse("list<int>").unwrap();
        assert_eq!(compose(&ty, &[None]).unwrap_err().to_string(), "null is not supported inside collections");
        assert_eq!(compose(&CqlType::parse("tuple<int>").unwrap(), &[None]), Ok(vec![0xff; 4]));
    }
}
