//! Pieces of partitions as statements. Each keeps its timestamp, its ttl and the second at which it expires or was deleted: these go with the
//! request, so that the statements' texts are few.
//!
//! | in the file | statement |
//! |---|---|
//! | a row as INSERT writes it | INSERT with all values |
//! | a row's liveness | INSERT of the key alone |
//! | values, elements, fields of one time | UPDATE, one for each time and expiry |
//! | their tombstones | UPDATE with null or a subtraction |
//! | deletion of a collection, a row, a range, a partition | DELETE |

use std::collections::BTreeMap;

use cql_syntax::quote_identifier;
use cql_types::CqlType;
use mutation::{CellRef, ClusteringRef, Deletion, Expiry, RowRef};
use schema::{Column, Table};
use stdx::Reader;

use crate::import::connection::Write;
use crate::import::lane::{Bound, Piece};

/// Makes statements for one table.
pub(super) struct Statements<'s> {
    /// The table of the files, with the server's names.
    table: &'s Table,
    /// `"keyspace"."table"`.
    target: String,
    /// Which columns the server's table has.
    is_known: Box<dyn Fn(&str) -> bool + 's>,
    /// The values of the partition's key.
    key: Vec<Vec<u8>>,
    /// Cells of columns that the server's table does not have.
    pub(super) left_out: u64,
}

/// What the cells of one statement have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Time {
    timestamp: i64,
    /// The ttl, 0 without one.
    ttl: u32,
    /// The second of expiry or of deletion.
    second: u32,
    is_deletion: bool,
}

/// `column = …` with its values.
#[derive(Default)]
struct Assignments {
    texts: Vec<String>,
    values: Vec<Option<Vec<u8>>>,
    /// Elements by column, until they are put together.
    elements: BTreeMap<u16, Vec<Vec<u8>>>,
}

impl<'s> Statements<'s> {
    pub(super) fn new(table: &'s Table, target: String, is_known: Box<dyn Fn(&str) -> bool + 's>) -> Self {
        Statements { table, target, is_known, key: Vec::new(), left_out: 0 }
    }

    /// The statements of a piece; `Err`: it cannot be said in CQL.
    pub(super) fn of(&mut self, piece: &Piece) -> Result<Vec<Write>, String> {
        let mut writes = Vec::new();
        match piece {
            Piece::Partition { key, deletion, static_row } => {
                self.key = self.parts_of_key(key)?;
                if let Some(deletion) = deletion {
                    writes.push(self.delete("", Vec::new(), *deletion));
                }
                if let Some(row) = static_row {
                    self.row(None, RowRef::trusted(row), &mut writes);
                }
            }
            Piece::Row { clustering, row } => {
                let clustering = ClusteringRef::trusted(clustering);
                let values: Vec<Vec<u8>> = clustering.components().map(<[u8]>::to_vec).collect();
                self.row(Some(&values), RowRef::trusted(row), &mut writes);
            }
            Piece::Range { start, end, deletion } => {
                let (text, values) = self.range(start, end)?;
                writes.push(self.delete(&text, values, *deletion));
            }
        }
        Ok(writes)
    }

    fn parts_of_key(&self, key: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        if self.table.partition_key().len() == 1 {
            return Ok(vec![key.to_vec()]);
        }
        let mut reader = Reader::new(key);
        let mut part = || {
            let length = reader.u16().ok()?;
            let part = reader.bytes(usize::from(length)).ok()?.to_vec();
            reader.u8().ok()?;
            Some(part)
        };
        let parts = self.table.partition_key().iter().map(|_| part()).collect::<Option<Vec<_>>>();
        parts.ok_or_else(|| "a partition key lacks components".to_owned())
    }

    fn row(&mut self, clustering: Option<&[Vec<u8>]>, row: RowRef<'_>, writes: &mut Vec<Write>) {
        let mut groups: BTreeMap<Time, Assignments> = BTreeMap::new();
        let liveness = row.liveness().map(|liveness| Time::of(liveness.timestamp, liveness.expiry, None));
        if let Some(deletion) = row.deletion() {
            let (text, values) = self.place(clustering);
            writes.push(self.delete(&text, values, deletion));
        }
        let mut inserted = (Vec::new(), Vec::new());
        // Elements of lists in their order; one statement for each run of the same time.
        let mut runs: Vec<(&Column, Time, Assignments)> = Vec::new();
        for cell in row.cells() {
            let Some(column) = self.table.column_by_id(cell.column) else { continue };
            if !(self.is_known)(&column.name) {
                self.left_out += 1;
                continue;
            }
            let name = quote_identifier(&column.name).into_owned();
            let time = Time::of(cell.timestamp, cell.expiry, cell.tombstone);
            if column.ty.is_multi_cell() {
                match (cell.path.is_empty(), cell.tombstone) {
                    (true, Some(local_deletion_time)) => {
                        let deletion = Deletion { timestamp: cell.timestamp, local_deletion_time };
                        let (text, values) = self.place(clustering);
                        let mut write = self.delete(&text, values, deletion);
                        write.text = write.text.replacen("DELETE ", &format!("DELETE {name} "), 1);
                        writes.push(write);
                    }
                    _ if matches!(column.ty, CqlType::List { .. }) => {
                        if runs.last().is_none_or(|(last, of, _)| (last.id, *of) != (column.id, time)) {
                            runs.push((column, time, Assignments::default()));
                        }
                        runs.last_mut().into_iter().for_each(|(_, _, run)| run.element(column, &cell));
                    }
                    _ => groups.entry(time).or_default().element(column, &cell),
                }
            } else if Some(time) == liveness {
                inserted.0.push(name);
                inserted.1.push(Some(cell.value.to_vec()));
            } else {
                let group = groups.entry(time).or_default();
                group.texts.push(format!("{name} = ?"));
                group.values.push((!cell.is_tombstone()).then(|| cell.value.to_vec()));
            }
        }
        if let (Some(time), Some(clustering)) = (liveness, clustering) {
            writes.push(self.insert(clustering, inserted, time));
        }
        for (time, group) in groups {
            writes.extend(self.update(clustering, group, time));
        }
        for (_, time, run) in runs {
            writes.extend(self.update(clustering, run, time).map(|write| Write { is_ordered: true, ..write }));
        }
    }

    fn insert(&self, clustering: &[Vec<u8>], columns: (Vec<String>, Vec<Option<Vec<u8>>>), time: Time) -> Write {
        let keys = self.table.partition_key().iter().chain(self.table.clustering().iter().take(clustering.len()));
        let names: Vec<String> =
            keys.map(|column| quote_identifier(&column.name).into_owned()).chain(columns.0).collect();
        let markers = vec!["?"; names.len()].join(", ");
        let text = format!("INSERT INTO {} ({}) VALUES ({markers}){}", self.target, names.join(", "), time.using());
        let values = self.key.iter().chain(clustering).cloned().map(Some).chain(columns.1);
        Write { text, values: values.chain(time.value()).collect(), ..time.write() }
    }

    fn update(&self, clustering: Option<&[Vec<u8>]>, mut group: Assignments, time: Time) -> Option<Write> {
        group.close(self.table, time.is_deletion);
        if group.texts.is_empty() {
            return None;
        }
        let (place, key) = self.place(clustering);
        let text = format!("UPDATE {}{} SET {} WHERE {place}", self.target, time.using(), group.texts.join(", "));
        let values = time.value().into_iter().chain(group.values).chain(key.into_iter().map(Some)).collect();
        Some(Write { text, values, ..time.write() })
    }

    /// The relations of the partition's key, and of a row's clustering.
    fn place(&self, clustering: Option<&[Vec<u8>]>) -> (String, Vec<Vec<u8>>) {
        let mut columns: Vec<&Column> = self.table.partition_key().iter().collect();
        let mut values = self.key.clone();
        if let Some(clustering) = clustering {
            // Of a row whose last values are null, those that it is named by.
            columns.extend(self.table.clustering().iter().take(clustering.len()));
            values.extend(clustering.iter().cloned());
        }
        (equal(&columns), values)
    }

    fn delete(&self, place: &str, values: Vec<Vec<u8>>, deletion: Deletion) -> Write {
        let (place, values) = match place.is_empty() {
            true => self.place(None),
            false => (place.to_owned(), values),
        };
        let second = deletion.local_deletion_time;
        let time = Time { timestamp: deletion.timestamp, ttl: 0, second, is_deletion: true };
        let text = format!("DELETE FROM {} WHERE {place}", self.target);
        Write { text, values: values.into_iter().map(Some).collect(), ..time.write() }
    }

    /// The relations of a range: columns that both ends agree on, then one column between two values, or several at once.
    fn range(&self, start: &Bound, end: &Bound) -> Result<(String, Vec<Vec<u8>>), String> {
        let values = |bound: &Bound| -> Vec<Vec<u8>> {
            ClusteringRef::trusted(&bound.prefix).components().map(<[u8]>::to_vec).collect()
        };
        let (from, to) = (values(start), values(end));
        let columns = self.table.clustering();
        let same = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
        let (mut text, mut given) = self.place(None);
        if same > 0 {
            text = format!("{text} AND {}", equal(&columns[..same].iter().collect::<Vec<_>>()));
            given.extend(from[..same].iter().cloned());
        }
        // An end behind its prefix includes what begins with it, a start does not.
        for (values, is_start, includes) in [(&from, true, !start.after), (&to, false, end.after)] {
            let rest = &values[same..];
            if rest.is_empty() {
                // The end is that of all that begins with what is the same.
                if includes || same == 0 {
                    continue;
                }
                return Err("a deleted range is empty".to_owned());
            }
            let columns = &columns[same..same + rest.len()];
            let is_reversed = columns[0].is_reversed();
            if columns.iter().any(|column| column.is_reversed() != is_reversed) {
                return Err("a deleted range crosses columns of different orders".to_owned());
            }
            let operator = match (is_start != is_reversed, includes) {
                (true, true) => ">=",
                (true, false) => ">",
                (false, true) => "<=",
                (false, false) => "<",
            };
            let names: Vec<_> = columns.iter().map(|column| quote_identifier(&column.name)).collect();
            let longest = from.len().max(to.len()) - same;
            text = match longest {
                1 => format!("{text} AND {} {operator} ?", names[0]),
                _ => {
                    let markers = vec!["?"; names.len()].join(", ");
                    format!("{text} AND ({}) {operator} ({markers})", names.join(", "))
                }
            };
            given.extend(rest.iter().cloned());
        }
        Ok((text, given))
    }
}

fn equal(columns: &[&Column]) -> String {
    let relations = columns.iter().map(|column| format!("{} = ?", quote_identifier(&column.name)));
    relations.collect::<Vec<_>>().join(" AND ")
}

impl Time {
    fn of(timestamp: i64, expiry: Option<Expiry>, tombstone: Option<u32>) -> Time {
        let ttl = expiry.map_or(0, |expiry| expiry.ttl);
        let second = expiry.map(|expiry| expiry.local_deletion_time).or(tombstone).unwrap_or(0);
        Time { timestamp, ttl, second, is_deletion: tombstone.is_some() }
    }

    /// A ttl of 0 takes a table's default away.
    fn using(self) -> &'static str {
        if self.is_deletion { "" } else { " USING TTL ?" }
    }

    fn value(self) -> Option<Option<Vec<u8>>> {
        (!self.is_deletion).then(|| Some(self.ttl.to_be_bytes().to_vec()))
    }

    fn write(self) -> Write {
        let now = self.second.saturating_sub(self.ttl);
        // What neither expires nor is deleted may be done at any second.
        let now_in_seconds = i32::try_from(now).unwrap_or(i32::MAX).max(1);
        Write { text: String::new(), values: Vec::new(), timestamp: self.timestamp, now_in_seconds, is_ordered: false }
    }
}

impl Assignments {
    fn element(&mut self, column: &Column, cell: &CellRef<'_>) {
        let value = (!cell.is_tombstone()).then_some(cell.value);
        match (&column.ty, value) {
            (CqlType::Udt { fields, .. }, value) => {
                let index = cell.path.first_chunk().map(|index| usize::from(u16::from_be_bytes(*index)));
                let Some(field) = index.and_then(|index| fields.get(index)) else { return };
                let (name, field) = (quote_identifier(&column.name), quote_identifier(&field.name));
                self.texts.push(format!("{name}.{field} = ?"));
                self.values.push(value.map(<[u8]>::to_vec));
            }
            // An element that is gone leaves nothing to be deleted: no other has its id.
            (CqlType::List { .. }, None) => {}
            (CqlType::List { .. } | CqlType::Set { .. }, Some(element)) => {
                self.elements.entry(column.id.0).or_default().push(element.to_vec());
            }
            (CqlType::Map { .. }, Some(entry)) => {
                let mut reader = Reader::new(entry);
                let key = reader.varint_bytes().unwrap_or_default().to_vec();
                self.elements.entry(column.id.0).or_default().extend([key, reader.rest().to_vec()]);
            }
            (_, None) => {
                let path = sstable::data::element_path(&column.ty, cell).unwrap_or_default();
                self.elements.entry(column.id.0).or_default().push(path);
            }
            _ => {}
        }
    }

    /// Puts elements together.
    fn close(&mut self, table: &Table, is_deletion: bool) {
        for (id, elements) in std::mem::take(&mut self.elements) {
            let Some(column) = table.column_by_id(schema::ColumnId(id)) else { continue };
            let name = quote_identifier(&column.name);
            self.texts.push(format!("{name} = {name} {} ?", if is_deletion { '-' } else { '+' }));
            let is_map = matches!(column.ty, CqlType::Map { .. }) && !is_deletion;
            let count = if is_map { elements.len() / 2 } else { elements.len() };
            let mut bytes = Vec::new();
            bytes.extend_from_slice(&(count as u32).to_be_bytes());
            for element in elements {
                bytes.extend_from_slice(&(element.len() as u32).to_be_bytes());
                bytes.extend_from_slice(&element);
            }
            self.values.push(Some(bytes));
        }
    }
}
