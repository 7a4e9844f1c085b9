//! The rules of Data.db: orders, ranges, values, times.

use cql_types::CqlType;
use mutation::{CellRef, ClusteringRef, Deletion, Expiry, RowRef};
use schema::Table;
use sstable::byte_comparable::{self, Place};
use sstable::data::Item;
use sstable::statistics::Statistics;
use stdx::Reader;
use topology::{Token, token_of};

use crate::verify::Counts;

/// What an item means to the indexes.
pub(super) enum Event {
    /// A partition begins.
    Partition {
        /// Its key.
        key: Vec<u8>,
        /// Its deletion.
        deletion: Option<Deletion>,
    },
    /// A row or a marker, before which that range deletion holds.
    Inside {
        /// The deletion.
        open: Option<Deletion>,
    },
    /// The partition ends.
    End,
}

/// What was seen up to an item.
pub(super) struct Walk<'w> {
    table: &'w Table,
    statistics: &'w Statistics,
    /// The partition's token and key; the one before it until another begins.
    pub(super) last_key: Option<(Token, Vec<u8>)>,
    pub(super) first_key: Option<Vec<u8>>,
    is_inside_partition: bool,
    /// The last row's or marker's place within the partition.
    place: Vec<u8>,
    scratch: Vec<u8>,
    open: Option<Deletion>,
    pub(super) counts: Counts,
}

impl<'w> Walk<'w> {
    pub(super) fn new(table: &'w Table, statistics: &'w Statistics) -> Self {
        Walk {
            table,
            statistics,
            last_key: None,
            first_key: None,
            is_inside_partition: false,
            place: Vec::new(),
            scratch: Vec::new(),
            open: None,
            counts: Counts::default(),
        }
    }

    /// Judges the next item.
    pub(super) fn item(&mut self, item: Item<'_>, _position: u64) -> Result<Event, String> {
        match item {
            Item::Partition { key, deletion, static_row } => {
                self.partition(key)?;
                deletion.map_or(Ok(()), |deletion| self.deletion(deletion))?;
                static_row.map_or(Ok(()), |row| self.row(row))?;
                Ok(Event::Partition { key: key.to_vec(), deletion })
            }
            Item::Row { clustering, row } => {
                self.counts.rows += 1;
                self.clustering(clustering)?;
                self.advance(clustering, Place::Row)?;
                self.row(row)?;
                Ok(Event::Inside { open: self.open })
            }
            Item::SkippedRow => Ok(Event::Inside { open: self.open }),
            Item::Marker(marker) => {
                self.counts.markers += 1;
                self.clustering(marker.prefix)?;
                self.advance(marker.prefix, if marker.after { Place::After } else { Place::Before })?;
                if marker.closes != self.open {
                    return Err(format!("a marker closes {:?} where {:?} is open", marker.closes, self.open));
                }
                marker.opens.map_or(Ok(()), |deletion| self.deletion(deletion))?;
                let event = Event::Inside { open: self.open };
                self.open = marker.opens;
                Ok(event)
            }
            Item::PartitionEnd => {
                self.is_inside_partition = false;
                match self.open.take() {
                    Some(_) => Err("a partition ends within a deleted range".into()),
                    None => Ok(Event::End),
                }
            }
        }
    }

    /// Judges the end of the data.
    pub(super) fn end(&self) -> Result<(), String> {
        if self.is_inside_partition {
            return Err("the data ends within a partition".into());
        }
        let Some((first, last)) = &self.statistics.stats.key_range else { return Ok(()) };
        let (Some(first_seen), Some((_, last_seen))) = (&self.first_key, &self.last_key) else { return Ok(()) };
        if (first, last) != (first_seen, last_seen) {
            return Err("first and last key differ from Statistics.db".into());
        }
        Ok(())
    }

    fn partition(&mut self, key: &[u8]) -> Result<(), String> {
        self.counts.partitions += 1;
        self.is_inside_partition = true;
        self.place.clear();
        let here = (token_of(key), key);
        if let Some((token, before)) = &self.last_key
            && (*token, &before[..]) >= here
        {
            return Err("partitions are out of order".into());
        }
        self.first_key.get_or_insert_with(|| key.to_vec());
        self.last_key = Some((here.0, key.to_vec()));
        let types = &self.statistics.header.partition_key;
        if let [single] = &types[..] {
            return valid(single, key);
        }
        let mut reader = Reader::new(key);
        for ty in types {
            let mut part = || {
                let length = reader.u16().ok()?;
                let value = reader.bytes(usize::from(length)).ok()?;
                (reader.u8().ok()? == 0).then_some(value)
            };
            valid(ty, part().ok_or("a partition key lacks components")?)?;
            // Of a composite that is a single column the last components may be missing.
            if reader.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Rows and markers ascend.
    fn advance(&mut self, prefix: ClusteringRef<'_>, place: Place) -> Result<(), String> {
        self.scratch.clear();
        byte_comparable::clustering(self.table.clustering(), prefix, place, &mut self.scratch);
        if !self.place.is_empty() && self.scratch <= self.place {
            return Err("rows are out of order".into());
        }
        std::mem::swap(&mut self.place, &mut self.scratch);
        Ok(())
    }

    fn clustering(&self, clustering: ClusteringRef<'_>) -> Result<(), String> {
        let pairs = self.table.clustering().iter().zip(clustering.components());
        pairs.into_iter().try_for_each(|(column, value)| valid(&column.ty, value))
    }

    fn row(&mut self, row: RowRef<'_>) -> Result<(), String> {
        if let Some(liveness) = row.liveness() {
            self.timestamp(liveness.timestamp)?;
            self.expiry(liveness.expiry)?;
        }
        row.deletion().map_or(Ok(()), |deletion| self.deletion(deletion))?;
        for cell in row.cells() {
            self.counts.cells += 1;
            self.cell(&cell)?;
        }
        Ok(())
    }

    fn cell(&self, cell: &CellRef<'_>) -> Result<(), String> {
        self.timestamp(cell.timestamp)?;
        self.expiry(cell.expiry)?;
        if cell.is_tombstone() {
            return Ok(());
        }
        let column = self.table.column_by_id(cell.column).ok_or("a cell belongs to no column")?;
        let checked = match &column.ty {
            ty if !ty.is_multi_cell() => valid(ty, cell.value),
            CqlType::List { element, .. } | CqlType::Set { element, .. } => valid(element, cell.value),
            CqlType::Map { key, value, .. } => {
                let mut reader = Reader::new(cell.value);
                let of_key = reader.varint_bytes().map_err(|_| "an entry of a map has no key")?;
                valid(key, of_key)?;
                valid(value, reader.rest())
            }
            CqlType::Udt { fields, .. } => {
                let index = cell.path.first_chunk().map(|index| usize::from(u16::from_be_bytes(*index)));
                let field = index.and_then(|index| fields.get(index)).ok_or("a field is not in its type")?;
                valid(&field.ty, cell.value)
            }
            _ => Ok(()),
        };
        checked.map_err(|what| format!("column {}: {what}", column.name))
    }

    fn deletion(&self, deletion: Deletion) -> Result<(), String> {
        self.timestamp(deletion.timestamp)
    }

    fn timestamp(&self, timestamp: i64) -> Result<(), String> {
        let stats = &self.statistics.stats;
        if (stats.timestamp_min..=stats.timestamp_max).contains(&timestamp) {
            return Ok(());
        }
        let (least, greatest) = (stats.timestamp_min, stats.timestamp_max);
        Err(format!("timestamp {timestamp} is outside the bounds {least} and {greatest} of Statistics.db"))
    }

    fn expiry(&self, expiry: Option<Expiry>) -> Result<(), String> {
        let greatest = self.statistics.stats.ttl_max;
        match expiry {
            Some(expiry) if expiry.ttl > greatest => {
                Err(format!("ttl {} exceeds the maximum {greatest} of Statistics.db", expiry.ttl))
            }
            _ => Ok(()),
        }
    }
}

fn valid(ty: &CqlType, value: &[u8]) -> Result<(), String> {
    let valid = match ty {
        // A cell has the state that the count is the sum of.
        CqlType::Counter => mutation::CounterRef::decode(value).map(drop).map_err(|error| error.to_string()),
        ty => cql_types::validate(ty, value).map_err(|error| error.to_string()),
    };
    valid.map_err(|error| format!("0x{} is not a valid {ty}: {error}", crate::text::hex(value)))
}
