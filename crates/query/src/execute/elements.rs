//! The cells of a column of several cells: written from values, and put together to values again. Their paths and values
//! are described in `docs/internals/mutation.md`.

use std::collections::BTreeMap;

use cql_protocol::Value;
use cql_types::{CollectionWriter, CqlType, comparable, parts_of_collection, push_field};
use mutation::{CellRef, Expiry, RowEncoder};
use stdx::{Reader, varint};

use super::modify::WriteTime;
use crate::error::{QueryError, invalid};
use crate::plan::{Assignment, Binds, Change, ListPlace, Shape};

/// 100 ns steps from 1582-10-15 to 2010-01-01: elements that are put before a list's have the times mirrored at that.
const MIRROR: u64 = 0x01b2_1dd2_1381_4000 + 1_262_304_000 * 10_000_000;

/// Writes one change of a column of several cells.
pub(super) fn encode(
    assignment: &Assignment,
    binds: &Binds<'_>,
    time: WriteTime,
    expiry: Option<Expiry>,
    row: &mut RowEncoder<'_, '_>,
) -> Result<(), QueryError> {
    let value = assignment.operand.value(binds)?;
    let mut writer = Elements { assignment, binds, time, expiry, row };
    match (&assignment.change, value) {
        (Change::Key { key }, value) => writer.key(key, value),
        (_, Value::Unset) => Ok(()),
        (Change::Replace { place }, value) => {
            // A microsecond before, so that the elements of this very write stay. No timestamp is the least there is.
            writer.row.tombstone(assignment.column, time.timestamp - 1, time.seconds);
            match value.bytes() {
                Some(value) => writer.add(value, *place, false),
                None => Ok(()),
            }
        }
        (Change::Field { index }, value) => {
            writer.put(&index.to_be_bytes(), value.bytes());
            Ok(())
        }
        (_, Value::Null) => Ok(()),
        (Change::Add { place }, Value::Bytes(value)) => writer.add(value, *place, false),
        (Change::Prepend { place }, Value::Bytes(value)) => writer.add(value, Some(*place), true),
        (Change::Remove, Value::Bytes(value)) => {
            if let CqlType::Set { element, .. } = &assignment.operand.ty {
                for part in parts_of_collection(&assignment.operand.ty, value) {
                    writer.put(&path(element, part), None);
                }
            }
            Ok(())
        }
        (Change::Cell, _) => panic!("a column of one cell has no elements"),
    }
}

struct Elements<'e, 'r, 'm, 'o> {
    assignment: &'e Assignment,
    binds: &'e Binds<'e>,
    time: WriteTime,
    expiry: Option<Expiry>,
    row: &'r mut RowEncoder<'m, 'o>,
}

impl Elements<'_, '_, '_, '_> {
    /// Writes an element, or its tombstone.
    fn put(&mut self, path: &[u8], value: Option<&[u8]>) {
        let (column, time) = (self.assignment.column, self.time);
        match value {
            Some(value) => self.row.element(column, path, time.timestamp, self.expiry, value),
            None => self.row.element_tombstone(column, path, time.timestamp, time.seconds),
        };
    }

    fn key(&mut self, key: &crate::plan::Operand, value: Value<'_>) -> Result<(), QueryError> {
        // Beside a set's element stands the set's own type; beside a map's key its values', which is frozen, or the map's.
        let is_set = matches!(self.assignment.operand.ty, CqlType::Set { frozen: false, .. });
        let what = if is_set { "set element" } else { "map key" };
        let bytes = match key.value(self.binds)? {
            Value::Bytes(bytes) => bytes,
            Value::Null => return Err(invalid(format!("Invalid null {what}"))),
            Value::Unset => return Err(invalid(format!("Invalid unset {what}"))),
        };
        let path = path(&key.ty, bytes);
        match value {
            Value::Unset => {}
            Value::Null => self.put(&path, None),
            Value::Bytes(value) => self.put(&path, Some(&entry(bytes, value))),
        }
        Ok(())
    }

    /// Writes all elements of a value.
    fn add(&mut self, value: &[u8], place: Option<ListPlace>, is_before: bool) -> Result<(), QueryError> {
        let assignment = self.assignment;
        let ty = &assignment.operand.ty;
        let mut parts = parts_of_collection(ty, value);
        match ty {
            CqlType::Set { element, .. } => parts.for_each(|part| self.put(&path(element, part), Some(part))),
            CqlType::Map { key: keys, .. } => {
                while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                    self.put(&path(keys, key), Some(&entry(key, value)));
                }
            }
            CqlType::List { .. } => {
                let uuid = place.and_then(|place| self.binds.generated.get(usize::from(place)));
                let uuid = uuid.and_then(|uuid| <[u8; 16]>::try_from(uuid.as_slice()).ok());
                let uuid = uuid.expect("a change of a list has a time-based UUID");
                for (index, part) in (0u32..).zip(parts) {
                    self.put(&list_path(uuid, index, is_before)?, Some(part));
                }
            }
            CqlType::Udt { .. } => {
                for (index, field) in (0u16..).zip(cql_types::fields_of(value)) {
                    if let Some(field) = field {
                        self.put(&index.to_be_bytes(), Some(field));
                    }
                }
            }
            other => panic!("a column of type {other} has one cell"),
        }
        Ok(())
    }
}

fn path(ty: &CqlType, value: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(value.len() + 4);
    comparable::encode(ty, value, false, &mut path);
    path
}

/// What a map's cell holds.
fn entry(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut entry = Vec::with_capacity(key.len() + value.len() + 2);
    varint::encode(key.len() as u64, &mut entry);
    entry.extend_from_slice(key);
    entry.extend_from_slice(value);
    entry
}

/// The path of the element at `index` among those that one write adds: a time-based UUID, in the order of such, that has the index in
/// place of the last bytes of its node.
fn list_path(uuid: [u8; 16], index: u32, is_before: bool) -> Result<[u8; 16], QueryError> {
    let [a, b, c, d, e, f, g, h, tail @ ..] = uuid;
    let time = u64::from_be_bytes([g & 0x0f, h, e, f, a, b, c, d]);
    let time = if is_before { (2 * MIRROR).saturating_sub(time) } else { time };
    let [0, index @ ..] = index.to_be_bytes() else { return Err(invalid("A list has too many elements")) };
    let mut path = [0; 16];
    path[..8].copy_from_slice(&time.to_be_bytes());
    path[8..].copy_from_slice(&tail.map(|byte| byte ^ 0x80));
    path[13..].copy_from_slice(&index);
    Ok(path)
}

/// Appends to `out` the value that a column's live cells, in their order, come to. Gives false, and appends nothing, if
/// there are none: that is null. `ty` is asked for only where an older version wrote the column as one value.
pub(super) fn assemble<'a, 't>(
    shape: Shape,
    cells: &[CellRef<'a>],
    ty: impl FnOnce() -> Option<&'t CqlType>,
    out: &mut Vec<u8>,
) -> bool {
    match cells {
        [] => false,
        [whole] if whole.path.is_empty() => {
            out.extend_from_slice(whole.value);
            !is_empty(shape, whole.value)
        }
        [whole, elements @ ..] if whole.path.is_empty() => {
            let Some(ty) = ty() else { return false };
            let older = elements_of(ty, whole.value);
            let mut all: BTreeMap<Vec<u8>, Vec<u8>> = older.into_iter().collect();
            all.extend(elements.iter().map(|cell| (cell.path.to_vec(), cell.value.to_vec())));
            write(shape, all.iter().map(|(path, value)| (path.as_slice(), value.as_slice())), out)
        }
        elements => write(shape, elements.iter().map(|cell| (cell.path, cell.value)), out),
    }
}

/// An empty collection is null.
fn is_empty(shape: Shape, value: &[u8]) -> bool {
    !matches!(shape, Shape::Fields(_)) && value.starts_with(&[0; 4])
}

/// The elements of a value as cells would hold them.
fn elements_of(ty: &CqlType, value: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let parts: Vec<&[u8]> = parts_of_collection(ty, value).collect();
    match ty {
        CqlType::Set { element, .. } => parts.iter().map(|part| (path(element, part), part.to_vec())).collect(),
        CqlType::Map { key, .. } => {
            parts.chunks_exact(2).map(|both| (path(key, both[0]), entry(both[0], both[1]))).collect()
        }
        // Before all that have a time.
        CqlType::List { .. } => {
            let place = |index: u32| [&[0; 4][..], &index.to_be_bytes()].concat();
            (0u32..).zip(parts).map(|(index, part)| (place(index), part.to_vec())).collect()
        }
        _ => {
            let fields = (0u16..).zip(cql_types::fields_of(value));
            fields.filter_map(|(index, field)| Some((index.to_be_bytes().to_vec(), field?.to_vec()))).collect()
        }
    }
}

fn write<'a>(shape: Shape, elements: impl Iterator<Item = (&'a [u8], &'a [u8])>, out: &mut Vec<u8>) -> bool {
    if let Shape::Fields(count) = shape {
        let mut next = 0;
        for (path, value) in elements {
            let Some(index) = path.first_chunk().map(|index| u16::from_be_bytes(*index)) else { continue };
            (next..index).for_each(|_| push_field(None, out));
            push_field(Some(value), out);
            next = index + 1;
        }
        (next..count).for_each(|_| push_field(None, out));
        return next > 0;
    }
    let mut collection = CollectionWriter::begin(out);
    for (_, value) in elements {
        collection.entry();
        let mut reader = Reader::new(value);
        if shape == Shape::Map {
            collection.part(reader.varint_bytes().unwrap_or_default(), out);
        }
        collection.part(reader.rest(), out);
    }
    collection.finish(out) > 0
}
