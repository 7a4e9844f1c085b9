//! Makes bodies of what files, or an older body and a memtable, say of a partition.

use std::rc::Rc;

use mutation::{ClusteringRef, Deletion, RowRef};
use schema::Table;
use topology::Token;

use crate::cache::body::{
    BODY_BYTES_MAX, Body, CLOSES, HAS_DELETION, HAS_RANGES, HEAD_BYTES, Kind, OPENS, PURGEABLE, ROW, SINGLE,
};
use crate::reader::clustering_place;
use crate::sink::DataSink;

/// Takes what there is of one partition, or of one row of it, ascending.
pub struct BodyBuilder {
    table: Rc<Table>,
    key: Vec<u8>,
    place: Vec<u8>,
    has_partition: bool,
    deletion: Option<Deletion>,
    static_row: Vec<u8>,
    items: Vec<u8>,
    offsets: Vec<u16>,
    /// Where the last item stands.
    last: Vec<u8>,
    /// What holds behind it.
    open: Option<Deletion>,
    flags: u8,
    /// There are cells that the table has dropped.
    has_dropped: bool,
    /// It is more than a body may be long, or came in an order that a body does not have.
    is_over: bool,
}

impl BodyBuilder {
    /// For the partition of `key`, or with a `place` for that row.
    pub fn new(table: &Rc<Table>, key: &[u8], place: &[u8]) -> Self {
        BodyBuilder {
            table: table.clone(),
            key: key.to_vec(),
            place: place.to_vec(),
            has_partition: false,
            deletion: None,
            static_row: Vec::new(),
            items: Vec::new(),
            offsets: Vec::new(),
            last: Vec::new(),
            open: None,
            flags: if table.clustering().is_empty() { SINGLE } else { 0 },
            has_dropped: false,
            is_over: false,
        }
    }

    /// Whether there are cells that the table has dropped: a file may leave them out.
    pub fn has_dropped(&self) -> bool {
        self.has_dropped
    }

    /// Whether there is more than a body may be long.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    fn length(&self) -> usize {
        let beside = HEAD_BYTES + self.key.len() + self.place.len() + self.static_row.len();
        beside + self.items.len() + 2 * self.offsets.len()
    }

    /// A body of what came. `None`: its key is too long for one.
    pub fn finish(self) -> Option<Body> {
        let kind = match () {
            () if self.is_over => Kind::Large,
            () if !self.has_partition && self.place.is_empty() => Kind::Absent,
            () => Kind::Whole,
        };
        if kind != Kind::Whole {
            return Self::only_key(kind, &self.key, &self.place);
        }
        let mut bytes = self.begin(kind, self.static_row.len(), self.offsets.len());
        bytes.extend_from_slice(&self.static_row);
        bytes.extend_from_slice(&self.items);
        for offset in &self.offsets {
            bytes.extend_from_slice(&offset.to_le_bytes());
        }
        Some(Body::new(&bytes))
    }

    /// A body that says nothing but what it is. What is large may become less by any compaction.
    pub fn only_key(kind: Kind, key: &[u8], place: &[u8]) -> Option<Body> {
        if HEAD_BYTES + key.len() + place.len() > BODY_BYTES_MAX {
            return None;
        }
        let mut bytes = vec![kind.tag(), if kind == Kind::Large { PURGEABLE } else { 0 }];
        bytes.extend_from_slice(&short(key.len()));
        bytes.extend_from_slice(&short(place.len()));
        bytes.resize(HEAD_BYTES, 0);
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(place);
        Some(Body::new(&bytes))
    }

    fn begin(&self, kind: Kind, static_length: usize, items: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.length());
        let of_deletion = if self.deletion.is_some() { HAS_DELETION | PURGEABLE } else { 0 };
        bytes.extend_from_slice(&[kind.tag(), self.flags | of_deletion]);
        for length in [self.key.len(), self.place.len(), static_length, items] {
            bytes.extend_from_slice(&short(length));
        }
        bytes.extend_from_slice(&[0, 0]);
        bytes.extend_from_slice(&self.deletion.map_or([0; Deletion::LENGTH], Deletion::to_bytes));
        bytes.extend_from_slice(&self.key);
        bytes.extend_from_slice(&self.place);
        bytes
    }

    /// Whether so many more bytes fit.
    fn takes(&mut self, bytes: usize) -> bool {
        self.is_over |= self.length().saturating_add(bytes) > BODY_BYTES_MAX;
        !self.is_over
    }

    /// Begins an item at `place`, if `length` more bytes fit behind its place.
    fn begin_item(&mut self, tag: u8, place: &[u8], length: usize) -> bool {
        if !self.takes(5 + place.len() + length) {
            return false;
        }
        self.offsets.push(u16::try_from(self.items.len()).expect("a body is short"));
        self.items.push(tag);
        self.items.extend_from_slice(&short(place.len()));
        self.items.extend_from_slice(place);
        true
    }

    fn note(&mut self, row: &RowRef<'_>) {
        if !self.table.dropped.is_empty() && row.cells().any(|cell| self.table.hides(cell.column, cell.timestamp)) {
            self.has_dropped = true;
            self.flags |= PURGEABLE;
        }
        if self.flags & PURGEABLE == 0 && is_purgeable(row) {
            self.flags |= PURGEABLE;
        }
    }
}

fn short(length: usize) -> [u8; 2] {
    u16::try_from(length).expect("a body is short").to_le_bytes()
}

/// Whether a compaction may leave something of the row out.
fn is_purgeable(row: &RowRef<'_>) -> bool {
    let expires = row.liveness().is_some_and(|liveness| liveness.expiry.is_some());
    expires || row.deletion().is_some() || row.cells().any(|cell| cell.tombstone.is_some() || cell.expiry.is_some())
}

impl DataSink for BodyBuilder {
    fn partition(&mut self, _: Token, key: &[u8], deletion: Option<Deletion>, static_row: Option<RowRef<'_>>) {
        assert_eq!(key, self.key, "a body is of one partition");
        // It is told again where a page of it begins.
        self.has_partition = true;
        self.deletion = deletion;
        self.static_row.clear();
        let static_row = static_row.map_or(&[][..], |row| row.bytes());
        if self.takes(static_row.len()) && !static_row.is_empty() {
            self.static_row.extend_from_slice(static_row);
            self.note(&RowRef::trusted(static_row));
        }
    }

    fn range(&mut self, at: Option<&[u8]>, deletion: Option<Deletion>) {
        // A page that goes on tells again what holds there.
        if self.is_over || deletion == self.open {
            return;
        }
        let place = at.unwrap_or_default();
        // A change stands before the row at its place.
        self.is_over |= !self.offsets.is_empty() && place <= &self.last[..];
        let tag = if deletion.is_some() { OPENS } else { CLOSES };
        if self.begin_item(tag, place, Deletion::LENGTH) {
            self.items.extend_from_slice(&deletion.map_or(Vec::new(), |deletion| deletion.to_bytes().to_vec()));
            self.flags |= HAS_RANGES | PURGEABLE;
            self.open = deletion;
            self.last.clear();
            self.last.extend_from_slice(place);
        }
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        if self.is_over {
            return;
        }
        let mut last = std::mem::take(&mut self.last);
        last.clear();
        clustering_place(&self.table, clustering, &mut last);
        let length = 2 + clustering.bytes().len() + row.bytes().len();
        if self.begin_item(ROW, &last, length) {
            self.items.extend_from_slice(&short(clustering.bytes().len()));
            self.items.extend_from_slice(clustering.bytes());
            self.items.extend_from_slice(row.bytes());
            self.note(&row);
        }
        self.last = last;
    }

    fn is_full(&self) -> bool {
        self.is_over
    }
}
