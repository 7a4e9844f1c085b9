//! ALLOW FILTERING: conditions that are looked at row by row.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use cql_protocol::Value;
use cql_types::{CqlType, comparable};

use super::key::COMBINATIONS_MAX;
use crate::error::{QueryError, invalid};
use crate::plan::{Binds, Comparison, Filter, InList, Select, Selected};

/// The conditions of a SELECT with one execution's values, which were checked and, for IN, sorted once: what remains for
/// each row is a comparison, or a search however long the list is.
pub(crate) struct Conditions<'a> {
    conditions: Vec<Condition<'a>>,
    /// A row's value in byte-comparable form.
    encoded: Vec<u8>,
}

struct Condition<'a> {
    filter: &'a Filter,
    operand: Operand<'a>,
}

enum Operand<'a> {
    One(&'a [u8]),
    /// A map's key and its value.
    Entry(&'a [u8], &'a [u8]),
    /// In byte-comparable form.
    AnyOf(BTreeSet<Vec<u8>>),
}

impl<'a> Conditions<'a> {
    pub(crate) fn new(select: &'a Select, binds: &Binds<'a>) -> Result<Self, QueryError> {
        let condition = |filter: &'a Filter| Ok(Condition { filter, operand: operand(filter, binds)? });
        let conditions = select.filters.iter().map(condition).collect::<Result<_, QueryError>>()?;
        Ok(Conditions { conditions, encoded: Vec::new() })
    }

    /// Whether a row, whose values `value` gives, meets all conditions. A null meets none.
    pub(crate) fn pass<'v>(&mut self, mut value: impl FnMut(&Selected) -> Option<Cow<'v, [u8]>>) -> bool {
        let Conditions { conditions, encoded } = self;
        conditions.iter().all(|Condition { filter, operand }| {
            let Some(bytes) = value(&filter.column) else { return false };
            let bytes = &*bytes;
            match operand {
                Operand::Entry(key, wanted) => has_entry(&filter.ty, bytes, key, wanted),
                Operand::One(wanted) => compares(filter.comparison, &filter.ty, bytes, wanted),
                Operand::AnyOf(wanted) => {
                    encoded.clear();
                    comparable::encode(&filter.ty, bytes, false, encoded);
                    wanted.contains(encoded.as_slice())
                }
            }
        })
    }
}

fn operand<'a>(filter: &'a Filter, binds: &Binds<'a>) -> Result<Operand<'a>, QueryError> {
    let mut wanted = BTreeSet::new();
    let mut want = |value: &[u8]| {
        let mut encoded = Vec::with_capacity(value.len() + 1);
        comparable::encode(&filter.ty, value, false, &mut encoded);
        wanted.insert(encoded);
    };
    match &filter.operands {
        InList::Operands(operands) => {
            if let [operand] = operands.as_slice() {
                return wanted_value(operand, "value", &filter.name, binds).map(Operand::One);
            }
            if let (Comparison::Entry, [key, value]) = (filter.comparison, operands.as_slice()) {
                let key = wanted_value(key, "map key", &filter.name, binds)?;
                return Ok(Operand::Entry(key, wanted_value(value, "map value", &filter.name, binds)?));
            }
            check_count(operands.len())?;
            for operand in operands {
                want(wanted_value(operand, "value", &filter.name, binds)?);
            }
        }
        InList::Marker(operand) => match operand.value(binds)? {
            Value::Bytes(list) => {
                check_count(list.first_chunk().map_or(0, |count| u32::from_be_bytes(*count)) as usize)?;
                elements(list).for_each(want);
            }
            Value::Null => return Err(invalid("Invalid null value for IN restriction")),
            Value::Unset => return Err(invalid(format!("Invalid unset value for column {}", filter.name))),
        },
    }
    Ok(Operand::AnyOf(wanted))
}

/// The value that a condition compares with, which must be one.
fn wanted_value<'a>(
    operand: &'a crate::plan::Operand,
    what: &str,
    name: &str,
    binds: &Binds<'a>,
) -> Result<&'a [u8], QueryError> {
    match operand.value(binds)? {
        Value::Bytes(_) => operand.key_value(name, binds),
        Value::Null => Err(invalid(format!("Unsupported null {what} for column {name}"))),
        Value::Unset => Err(invalid(format!("Unsupported unset {what} for column {name}"))),
    }
}

pub(super) fn check_count(count: usize) -> Result<(), QueryError> {
    match count > COMBINATIONS_MAX {
        true => Err(invalid(format!("an IN relation takes at most {COMBINATIONS_MAX} values"))),
        false => Ok(()),
    }
}

fn compares(comparison: Comparison, ty: &CqlType, a: &[u8], b: &[u8]) -> bool {
    let order = match comparison {
        Comparison::Contains | Comparison::ContainsKey | Comparison::Entry => return contains(comparison, ty, a, b),
        _ => cql_types::compare(ty, a, b),
    };
    match comparison {
        Comparison::EqualToAny => order == Ordering::Equal,
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
        Comparison::Contains | Comparison::ContainsKey | Comparison::Entry => false,
    }
}

/// Whether a collection has an element, a map a value or a key.
pub(super) fn contains(comparison: Comparison, ty: &CqlType, collection: &[u8], wanted: &[u8]) -> bool {
    let mut parts = cql_types::parts_of_collection(ty, collection);
    let equal = |ty: &CqlType, part: &[u8]| cql_types::compare(ty, part, wanted) == Ordering::Equal;
    match (ty, comparison) {
        (CqlType::List { element, .. } | CqlType::Set { element, .. }, _) => parts.any(|part| equal(element, part)),
        (CqlType::Map { key, .. }, Comparison::ContainsKey) => parts.step_by(2).any(|part| equal(key, part)),
        (CqlType::Map { value, .. }, _) => parts.skip(1).step_by(2).any(|part| equal(value, part)),
        _ => false,
    }
}

fn has_entry(ty: &CqlType, map: &[u8], key: &[u8], wanted: &[u8]) -> bool {
    let CqlType::Map { key: keys, value: values, .. } = ty else { return false };
    let mut parts = cql_types::parts_of_collection(ty, map);
    while let (Some(one), Some(value)) = (parts.next(), parts.next()) {
        if cql_types::compare(keys, one, key) == Ordering::Equal {
            return cql_types::compare(values, value, wanted) == Ordering::Equal;
        }
    }
    false
}

/// The elements of a bound list, which was checked against its type.
fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut reader = stdx::Reader::new(list);
    let count = reader.i32().unwrap_or(0);
    let next = move |_| {
        let length = usize::try_from(reader.i32().ok()?).ok()?;
        reader.bytes(length).ok()
    };
    (0..count).map_while(next)
}
