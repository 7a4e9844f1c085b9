//! The tables of one shard and their memtables.

use schema::{Schema, TableId};

use crate::memtable::{ChunkPool, Memtable, TableShape};

/// Which content of a table it is. What was to be merged into one must not be merged into the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// Counts the tables that were made on this shard: an id may be that of a table that was dropped.
    pub table: u64,
    /// Counts the table's truncations.
    pub truncations: u64,
}

/// One table.
#[derive(Debug)]
pub struct TableState {
    /// Its id.
    pub id: TableId,
    /// What was written to it.
    pub memtable: Memtable,
    /// Whether its writes go through the log.
    pub is_durable: bool,
    /// The group of the log it was noted in last.
    pub mark: u64,
    /// Which content of it this is.
    pub content: Content,
}

/// All tables, by id.
#[derive(Debug, Default)]
pub struct Tables {
    tables: Vec<TableState>,
    /// Where the last table was found: the next request is likely to be for the same.
    last: usize,
    /// Tables that were made so far.
    made: u64,
}

impl Tables {
    /// The table with `id`.
    #[inline]
    pub fn get_mut(&mut self, id: TableId) -> Option<&mut TableState> {
        if self.tables.get(self.last).is_none_or(|table| table.id != id) {
            self.last = self.index(id)?;
        }
        self.tables.get_mut(self.last)
    }

    /// The table with `id`.
    #[inline]
    pub fn get(&self, id: TableId) -> Option<&TableState> {
        match self.tables.get(self.last) {
            Some(table) if table.id == id => Some(table),
            _ => self.index(id).map(|index| &self.tables[index]),
        }
    }

    fn index(&self, id: TableId) -> Option<usize> {
        self.tables.binary_search_by_key(&id, |table| table.id).ok()
    }

    /// All tables.
    pub fn iter(&self) -> impl Iterator<Item = &TableState> {
        self.tables.iter()
    }

    /// Takes over the tables of a schema. Gives the ids of those that are gone, whose memory is back in the pool.
    pub fn update(&mut self, schema: &Schema, pool: &mut ChunkPool) -> Vec<TableId> {
        let gone: Vec<TableId> =
            self.tables.iter().map(|table| table.id).filter(|id| schema.table_by_id(*id).is_none()).collect();
        for id in &gone {
            self.remove(*id, pool);
        }
        for table in schema.tables() {
            let is_durable = schema.keyspace(&table.keyspace).is_none_or(|keyspace| keyspace.def.durable_writes);
            match self.tables.binary_search_by_key(&table.id, |table| table.id) {
                Ok(index) => {
                    let known = &mut self.tables[index];
                    known.is_durable = is_durable;
                    known.memtable.take_shape(TableShape::of(table));
                }
                Err(index) => {
                    let memtable = Memtable::new(TableShape::of(table));
                    self.made += 1;
                    let content = Content { table: self.made, truncations: 0 };
                    self.tables.insert(index, TableState { id: table.id, memtable, is_durable, mark: 0, content });
                }
            }
        }
        gone
    }

    /// Removes a table; its memory goes back to the pool. False if it is not there.
    pub fn remove(&mut self, id: TableId, pool: &mut ChunkPool) -> bool {
        let Some(index) = self.index(id) else { return false };
        self.tables.remove(index).memtable.clear(pool);
        true
    }
}
