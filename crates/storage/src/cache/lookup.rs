//! What the cache has for a read.

use mutation::{KeyRange, ReadCommand, Slice};
use schema::Table;
use topology::Token;

use crate::cache::body::{Body, Kind};
use crate::cache::ghosts::Ghost;
use crate::cache::marks::Marks;
use crate::cache::store::RowCache;

/// The slots that answer a read: the partition's, and that of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit(u32, Option<u32>);

/// What the files say of what a read asks for, as far as the cache knows.
#[derive(Debug)]
pub enum Found<'c> {
    /// That is not known.
    Nothing,
    /// They have nothing of it.
    Absent(Hit),
    /// All of it.
    Body(&'c Body, Hit),
}

/// What is to be filled for a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// The partition.
    Whole,
    /// Its row at this place; the number that its partition's rows have.
    Row(Vec<u8>, u64),
}

impl RowCache {
    /// Looks for what a read asks for. Who uses what is found says so: [`RowCache::hit`].
    #[inline]
    pub fn find(&self, marks: &Marks, command: &ReadCommand<'_>) -> Found<'_> {
        let KeyRange::Partition { token, key } = command.keys else { return Found::Nothing };
        if !self.is_on() || !marks.is_on {
            return Found::Nothing;
        }
        let Some((id, body, rows)) = self.content(marks, token, key, &[]) else { return Found::Nothing };
        match body.kind() {
            Kind::Absent => Found::Absent(Hit(id, None)),
            Kind::Whole => Found::Body(body, Hit(id, None)),
            Kind::Large => self.find_row(marks, token, key, command, (id, rows)),
        }
    }

    fn find_row(
        &self,
        marks: &Marks,
        token: Token,
        key: &[u8],
        command: &ReadCommand<'_>,
        (partition, rows): (u32, u64),
    ) -> Found<'_> {
        let Some(place) = place_of_one(command) else { return Found::Nothing };
        match self.content(marks, token, key, place) {
            Some((id, body, made_among)) if made_among == rows && body.kind() == Kind::Whole => {
                Found::Body(body, Hit(partition, Some(id)))
            }
            _ => Found::Nothing,
        }
    }

    /// Counts that what was just found answers a read.
    #[inline]
    pub fn hit(&self, hit: Hit) {
        let Hit(partition, row) = hit;
        self.slots.get(partition).used();
        if let Some(row) = row {
            self.slots.get(row).used();
        }
        self.count(|counters| counters.hits += 1);
    }

    fn content(&self, marks: &Marks, token: Token, key: &[u8], place: &[u8]) -> Option<(u32, &Body, u64)> {
        let id = self.slot(marks.table, self.hash(marks.table, token, place), key, place)?;
        let (body, rows) = self.slots.get(id).content(marks)?;
        Some((id, body, rows))
    }

    /// What a read that goes to files may as well leave behind.
    ///
    /// Of a partition that was not asked for lately that is nothing, if the read asks for less than all of it.
    pub fn wanted(&mut self, marks: &Marks, table: &Table, command: &ReadCommand<'_>, used: usize) -> Option<Wanted> {
        let KeyRange::Partition { token, key } = command.keys else { return None };
        if !self.is_on() || !marks.is_on {
            return None;
        }
        if self.is_shrinking || self.is_to_shrink(used) {
            return None;
        }
        match self.content(marks, token, key, &[]) {
            Some((partition, body, rows)) if body.kind() == Kind::Large => {
                self.slots.get(partition).used();
                let place = place_of_one(command).filter(|place| is_row(table, place))?;
                // One that is too long for a body was found to be so.
                let is_large = self
                    .content(marks, token, key, place)
                    .is_some_and(|(_, body, made_among)| made_among == rows && body.kind() == Kind::Large);
                (!is_large).then(|| Wanted::Row(place.to_vec(), rows))
            }
            Some(_) => None,
            None => {
                let is_whole = table.clustering().is_empty() || command.slices == [Slice::ALL];
                let hash = self.hash(marks.table, token, &[]);
                if is_whole && command.after.is_none() {
                    return Some(Wanted::Whole);
                }
                match self.take_ghost(hash) {
                    Some(Ghost::Asked) => Some(Wanted::Whole),
                    Some(Ghost::Left) => {
                        // It is to be found when the entry is put in.
                        self.note_ghost(hash, Ghost::Left);
                        Some(Wanted::Whole)
                    }
                    None => {
                        self.note_ghost(hash, Ghost::Asked);
                        None
                    }
                }
            }
        }
    }
}

impl RowCache {
    /// Puts in what a fill came to. `ends_at`: the number of a frozen memtable that has something of the partition.
    pub fn keep(
        &mut self,
        marks: &Marks,
        token: Token,
        wanted: &Wanted,
        body: Body,
        ends_at: Option<u64>,
        used: usize,
    ) {
        let hash = self.hash(marks.table, token, body.place());
        let (rows, ends_at) = match wanted {
            // How long a partition is does not change by what is in a memtable.
            Wanted::Whole if body.kind() == Kind::Large => (self.next_rows(), None),
            Wanted::Whole => (0, ends_at),
            Wanted::Row(_, rows) => (*rows, ends_at),
        };
        self.put(marks, (hash, rows), body, ends_at, used);
    }
}

/// The place of the one row that a read asks for, if its slice begins and ends with the same prefix.
fn place_of_one<'a>(command: &ReadCommand<'a>) -> Option<&'a [u8]> {
    match command.slices {
        [slice] if slice.start == slice.end && slice.start.inclusive && !slice.start.prefix.is_empty() => {
            Some(slice.start.prefix)
        }
        _ => None,
    }
}

/// Whether a prefix has all components of a clustering.
fn is_row(table: &Table, prefix: &[u8]) -> bool {
    let (mut rest, mut value) = (prefix, Vec::new());
    for column in table.clustering() {
        value.clear();
        match cql_types::comparable::decode(&column.ty, rest, column.is_reversed(), &mut value) {
            Some(used) if used > 0 && used <= rest.len() => rest = &rest[used..],
            _ => return false,
        }
    }
    rest.is_empty()
}
