//! The cells of a column of several cells: written from values, and put together to values again. Their paths and values
//! are described in `docs/internals/mutation.md`.

use std::collections::{BTreeMap, BTreeSet};

use cql_protocol::Value;
use cql_types::{CollectionWriter, CqlType, comparable, parts_of_collection, push_field};
use mutation::{CellRef, Expiry, RowEncoder};
use stdx::{Reader, varint};

use super::lists::{KnownElement, KnownList, ListElements, RowLists, SeenTime};
use super::modify::{MUTATION_BYTES_MAX, WriteTime, too_large};
use crate::error::{QueryError, invalid};
use crate::plan::{Assignment, Binds, Change, ListPlace, Shape};

/// 100 ns steps from 1582-10-15 to 2010-01-01: elements that are put before a list's have the times mirrored at that.
const MIRROR: u64 = 0x01b2_1dd2_1381_4000 + 1_262_304_000 * 10_000_000;

/// Writes one change of a column of several cells. What names elements of a list by index or value sees what the assignments `before` it
/// made of the list, as in Cassandra. What is added to a list is added `times`.
pub(super) fn encode(
    (assignment, before, times): (&Assignment, &[Assignment], usize),
    binds: &Binds<'_>,
    time: WriteTime,
    expiry: Option<Expiry>,
    lists: &RowLists,
    row: &mut RowEncoder<'_, '_>,
) -> Result<(), QueryError> {
    let value = assignment.operand.value(binds)?;
    if times > 1 && assignment.adds_to_list() {
        let length = value.bytes().map_or(0, <[u8]>::len);
        if length.saturating_mul(times) > MUTATION_BYTES_MAX {
            return Err(too_large());
        }
    }
    let seen = SeenTime { timestamp: time.asked, expiry };
    let mut writer = Elements { assignment, binds, time, expiry, times, row };
    match (&assignment.change, value) {
        (Change::Key { key }, value) => writer.key(key, value),
        (Change::Index { index, is_deletion }, value) => {
            let list = lists.get(assignment.column, before, binds, seen)?;
            writer.index(index, value, list.as_deref(), *is_deletion)
        }
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
        (Change::Discard, Value::Bytes(value)) => {
            if let Some(list) = lists.get(assignment.column, before, binds, seen)? {
                writer.discard(value, &list);
            }
            Ok(())
        }
        (Change::Cell | Change::Count { .. }, _) => panic!("a column of one cell has no elements"),
    }
}

struct Elements<'e, 'r, 'm, 'o> {
    assignment: &'e Assignment,
    binds: &'e Binds<'e>,
    time: WriteTime,
    expiry: Option<Expiry>,
    /// How often a list gets what is added to it.
    times: usize,
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
            Value::Unset if is_set => return Ok(()),
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

    /// Writes a list's element in the place of the one at an index, or removes that.
    fn index(
        &mut self,
        index: &crate::plan::Operand,
        value: Value<'_>,
        list: Option<&KnownList>,
        is_deletion: bool,
    ) -> Result<(), QueryError> {
        let index = match index.value(self.binds)? {
            Value::Bytes(bytes) => bytes.first_chunk().map(|bytes| i32::from_be_bytes(*bytes)),
            Value::Null => return Err(invalid("Invalid null value for list index")),
            // To delete what was not said deletes nothing.
            Value::Unset if is_deletion => return Ok(()),
            Value::Unset => return Err(invalid("Invalid unset value for list index")),
        };
        let index = index.ok_or_else(|| invalid("Invalid empty value for list index"))?;
        let Some(list) = list.filter(|list| !list.elements.is_empty()) else {
            return Err(invalid(match is_deletion {
                true => "Attempted to delete an element from a list which is null",
                false => "Attempted to set an element on a list which is null",
            }));
        };
        let found = usize::try_from(index).ok().and_then(|index| list.elements.get(index));
        let Some(KnownElement { path, .. }) = found else {
            let size = list.elements.len();
            return Err(invalid(format!("List index {index} out of bound, list has size {size}")));
        };
        match value {
            Value::Unset => {}
            Value::Null => self.remove_from(list, |element| element == path),
            Value::Bytes(value) => self.put(path, Some(value)),
        }
        Ok(())
    }

    /// Removes the elements of a list that are among those of a value.
    fn discard(&mut self, value: &[u8], list: &KnownList) {
        let unwanted: BTreeSet<&[u8]> = parts_of_collection(&self.assignment.operand.ty, value).collect();
        let found = list.elements.iter().filter(|element| unwanted.contains(element.value.as_slice()));
        let paths: BTreeSet<&Vec<u8>> = found.map(|element| &element.path).collect();
        if !paths.is_empty() {
            self.remove_from(list, |path| paths.contains(path));
        }
    }

    /// Removes the elements of a list whose paths are `unwanted`. One that an older version wrote as one value has no cell to
    /// remove: its other elements are written anew.
    fn remove_from(&mut self, list: &KnownList, unwanted: impl Fn(&Vec<u8>) -> bool) {
        if list.is_in_one_cell {
            self.row.tombstone(self.assignment.column, self.time.timestamp - 1, self.time.seconds);
        }
        for KnownElement { path, value, .. } in &list.elements {
            match (unwanted(path), list.is_in_one_cell) {
                (true, false) => self.put(path, None),
                (false, true) => self.put(path, Some(value)),
                (true, true) | (false, false) => {}
            }
        }
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
                let uuid = list_uuid(place, self.binds);
                let all = (0..self.times).flat_map(|_| parts_of_collection(ty, value));
                for (index, part) in (0u32..).zip(all) {
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

/// The elements that a value adds to a list, as they are written.
pub(super) fn added_to_list(
    ty: &CqlType,
    value: &[u8],
    place: Option<ListPlace>,
    is_before: bool,
    binds: &Binds<'_>,
) -> Result<ListElements, QueryError> {
    let uuid = list_uuid(place, binds);
    let element = |(index, part): (u32, &[u8])| Ok((list_path(uuid, index, is_before)?.to_vec(), part.to_vec()));
    (0u32..).zip(parts_of_collection(ty, value)).map(element).collect()
}

fn list_uuid(place: Option<ListPlace>, binds: &Binds<'_>) -> [u8; 16] {
    let uuid = place.and_then(|place| binds.generated.get(usize::from(place)));
    let uuid = uuid.and_then(|uuid| <[u8; 16]>::try_from(uuid.as_slice()).ok());
    uuid.expect("a change of a list has a time-based UUID")
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

/// The paths of the elements that live cells come to, in order, each with the cell that wrote it.
pub(super) fn places<'c, 'a>(
    cells: &'c [CellRef<'a>],
    ty: &CqlType,
) -> impl Iterator<Item = (Vec<u8>, &'c CellRef<'a>)> {
    let mut places = BTreeMap::new();
    for cell in cells {
        match cell.path.is_empty() {
            true => places.extend(elements_of(ty, cell.value).into_iter().map(|(path, _)| (path, cell))),
            false => {
                places.insert(cell.path.to_vec(), cell);
            }
        }
    }
    places.into_iter()
}

/// An empty collection is null.
fn is_empty(shape: Shape, value: &[u8]) -> bool {
    !matches!(shape, Shape::Fields(_)) && value.starts_with(&[0; 4])
}

/// The elements of a value as cells would hold them.
pub(super) fn elements_of(ty: &CqlType, value: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
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

#[cfg(test)]
mod tests {
    use schema::ColumnId;

    use super::*;

    fn cell<'a>(path: &'a [u8], value: &'a [u8]) -> CellRef<'a> {
        CellRef { column: ColumnId(1), timestamp: 5, expiry: None, tombstone: None, path, value, is_counter: false }
    }

    fn assembled(ty: &str, cells: &[CellRef<'_>]) -> Option<String> {
        let ty = CqlType::parse(ty).unwrap();
        let mut out = Vec::new();
        let is_there = assemble(Shape::of(&ty).unwrap(), cells, || Some(&ty), &mut out);
        is_there.then(|| cql_types::print(&ty, &out))
    }

    /// As logs of versions before elements have it: the column's value in one cell, and elements that were added since.
    #[test]
    fn a_value_in_one_cell_is_read_with_newer_elements() {
        let ty = CqlType::parse("map<text, int>").unwrap();
        let number = |number: i32| number.to_be_bytes();
        let (one, two, nine) = (number(1), number(2), number(9));
        let parts = [Some(&b"a"[..]), Some(&one[..]), Some(b"c"), Some(&two)];
        let whole = cql_types::compose(&ty, &parts).unwrap();
        let (at_a, at_b) = (path(&CqlType::Text, b"a"), path(&CqlType::Text, b"b"));
        let (a, b) = (entry(b"a", &nine), entry(b"b", &nine));
        assert_eq!(assembled("map<text, int>", &[cell(&[], &whole)]).unwrap(), "{'a': 1, 'c': 2}");
        let cells = [cell(&[], &whole), cell(&at_a, &a), cell(&at_b, &b)];
        assert_eq!(assembled("map<text, int>", &cells).unwrap(), "{'a': 9, 'b': 9, 'c': 2}");

        let ty = CqlType::parse("list<int>").unwrap();
        let whole = cql_types::compose(&ty, &[Some(&two), Some(&one)]).unwrap();
        let place = list_path([0x11; 16], 0, false).unwrap();
        assert_eq!(assembled("list<int>", &[cell(&[], &whole), cell(&place, &nine)]).unwrap(), "[2, 1, 9]");
        assert_eq!(assembled("list<int>", &[cell(&[], &[0; 4])]), None);
        assert_eq!(assembled("list<int>", &[]), None);
    }

    #[test]
    fn a_lists_places_are_in_the_order_of_writes_and_their_elements() {
        // A later time differs first in the low bytes, which a UUID has in front.
        let (mut early, mut late) = ([0x42; 16], [0x42; 16]);
        // Both after 2010, where the mirror stands.
        (early[6], late[6]) = (0x11, 0x11);
        (early[7], late[7]) = (0xf0, 0xf0);
        late[0] = 0x43;
        let at = |uuid, index, is_before| list_path(uuid, index, is_before).unwrap();
        let places = [
            at(late, 0, true),
            at(late, 1, true),
            at(early, 0, true),
            at(early, 256, true),
            at(early, 0, false),
            at(early, 255, false),
            at(early, 256, false),
            at(late, 0, false),
        ];
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
        assert!(list_path(early, 1 << 24, false).is_err());
    }
}
