//! Paths and values of elements: Cassandra's form and `mutation`'s.
//!
//! | | Cassandra's path, value | ours |
//! |---|---|---|
//! | list | timeuuid, element | time and the rest with each byte's sign turned, element |
//! | set | element, nothing | comparable form, element |
//! | map | key, value | comparable form, key and value |
//! | fields | index u16, field | the same |

use cql_types::{CqlType, comparable, timeuuid, validate};
use mutation::CellRef;
use stdx::{Reader, varint};

use crate::data::cell::Fault;
use crate::data::columns::Elements;

const SIGNS: [u8; 8] = [0x80; 8];

/// Buffers that elements are put together in.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    path: Vec<u8>,
    value: Vec<u8>,
}

impl Scratch {
    /// What `write` makes of a counter.
    pub(super) fn counter(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &[u8] {
        self.value.clear();
        write(&mut self.value);
        &self.value
    }
}

/// Our form of what Cassandra wrote. Of a tombstone the path must be a value of its type: it is all that is kept.
#[inline]
pub(super) fn read<'s>(
    elements: &Elements,
    path: &'s [u8],
    value: &'s [u8],
    is_tombstone: bool,
    scratch: &'s mut Scratch,
) -> Result<(&'s [u8], &'s [u8]), Fault> {
    scratch.path.clear();
    if is_tombstone
        && let Elements::Set(ty) | Elements::Map(ty) = elements
        && validate(ty, path).is_err()
    {
        return Err(Fault::Wrong("the path of a deleted element is not a value of its type"));
    }
    match elements {
        Elements::List => {
            let uuid: &[u8; 16] =
                path.try_into().map_err(|_| Fault::Wrong("a list's element has no time in its path"))?;
            scratch.path.extend_from_slice(&timeuuid::steps(uuid).to_be_bytes());
            scratch.path.extend(uuid[8..].iter().zip(SIGNS).map(|(byte, sign)| byte ^ sign));
            Ok((&scratch.path, value))
        }
        Elements::Set(ty) => {
            comparable::encode(ty, path, false, &mut scratch.path);
            Ok((&scratch.path, path))
        }
        Elements::Map(key) => {
            comparable::encode(key, path, false, &mut scratch.path);
            scratch.value.clear();
            varint::encode(path.len() as u64, &mut scratch.value);
            scratch.value.extend_from_slice(path);
            scratch.value.extend_from_slice(value);
            Ok((&scratch.path, &scratch.value))
        }
        Elements::Fields if path.len() == 2 => Ok((path, value)),
        Elements::Fields => Err(Fault::Wrong("a field's path is not its index")),
    }
}

/// Cassandra's form of ours. Of a tombstone, whose value is `None`, a set's element or a map's key is made from the
/// comparable form: equal to what it was, perhaps not the same bytes.
pub(super) fn write<'s>(
    elements: &Elements,
    path: &'s [u8],
    value: Option<&'s [u8]>,
    scratch: &'s mut Scratch,
) -> (&'s [u8], &'s [u8]) {
    scratch.path.clear();
    match (elements, value) {
        (Elements::List, value) => {
            let (time, rest) = path.split_first_chunk().expect("a list's element has a path of 16 bytes");
            let rest: [u8; 8] = rest.try_into().expect("a list's element has a path of 16 bytes");
            let [high, low, node @ ..] = rest.map(|byte| byte ^ 0x80);
            let mut uuid = timeuuid::build(u64::from_be_bytes(*time), 0, node);
            (uuid[8], uuid[9]) = (high, low);
            scratch.path.extend_from_slice(&uuid);
            (&scratch.path, value.unwrap_or_default())
        }
        (Elements::Set(_), Some(element)) => (element, &[]),
        (Elements::Map(_), Some(value)) => {
            let mut reader = Reader::new(value);
            let key = reader.varint_bytes().expect("a map's value begins with its key");
            (key, reader.rest())
        }
        (Elements::Set(ty) | Elements::Map(ty), None) => {
            comparable::decode(ty, path, false, &mut scratch.path).expect("a path is the comparable form of a value");
            (&scratch.path, &[])
        }
        (Elements::Fields, value) => (path, value.unwrap_or_default()),
    }
}

/// The path of an element's cell, as Cassandra writes it, for a cell that a reader of files gave; `None`: a column of the type has no elements.
pub fn element_path(ty: &CqlType, cell: &CellRef<'_>) -> Option<Vec<u8>> {
    let elements = match ty {
        CqlType::List { .. } => Elements::List,
        CqlType::Set { element, .. } => Elements::Set((**element).clone()),
        CqlType::Map { key, .. } => Elements::Map((**key).clone()),
        CqlType::Udt { .. } => Elements::Fields,
        _ => return None,
    };
    let mut scratch = Scratch::default();
    let value = (!cell.is_tombstone()).then_some(cell.value);
    Some(write(&elements, cell.path, value, &mut scratch).0.to_vec())
}
