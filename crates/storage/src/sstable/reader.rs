//! Reading from an SSTable.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use mutation::ReadCommand;
use runtime::Runtime;
use schema::Table;
use sstable::Descriptor;
use sstable::own::OwnComponent;
use topology::Token;

use crate::sink::{DataSink, ReadEnd};
use crate::sstable::error::ReadError;
use crate::sstable::pages::PageCache;

/// What a read holds of a data file, for the read that goes on where it ended: it finds its bytes here instead of on the device, and
/// the further reads go on one after the other, the further they read ahead. For one SSTable.
#[derive(Debug, Default)]
pub struct ReadWindow {
    _bytes: Vec<u8>,
}

/// An open SSTable.
pub struct Sstable {
    descriptor: Descriptor,
    table: RefCell<Rc<Table>>,
    own: Option<OwnComponent>,
}

impl Sstable {
    /// Opens the SSTable `descriptor` of `table` in `folder`, reading its small components.
    pub async fn open(
        runtime: &Runtime,
        pages: &Rc<PageCache>,
        folder: &Path,
        descriptor: Descriptor,
        table: &Rc<Table>,
    ) -> Result<Rc<Sstable>, ReadError> {
        let _ = (runtime, pages, folder);
        Ok(Rc::new(Sstable { descriptor, table: RefCell::new(table.clone()), own: None }))
    }

    /// Its files' names.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Takes over the table as it is now.
    pub fn set_table(&self, table: &Rc<Table>) {
        *self.table.borrow_mut() = table.clone();
    }

    /// What Helenus.db says; `None` for what Cassandra wrote.
    pub fn own(&self) -> Option<&OwnComponent> {
        self.own.as_ref()
    }

    /// The tokens of the first and last partition.
    pub fn token_range(&self) -> (Token, Token) {
        unimplemented!()
    }

    /// Whether the partition may be in it: it lies between the first and the last token, and the Bloom filter does not exclude it.
    pub fn may_contain(&self, token: Token, key: &[u8]) -> bool {
        let _ = (token, key);
        unimplemented!()
    }

    /// The smallest and the greatest timestamp of anything in it.
    pub fn timestamps(&self) -> (i64, i64) {
        unimplemented!()
    }

    /// About how many partitions it has.
    pub fn partitions(&self) -> u64 {
        unimplemented!()
    }

    /// The data's length before compression, bytes.
    pub fn data_bytes(&self) -> u64 {
        unimplemented!()
    }

    /// The length of all files, bytes.
    pub fn disk_bytes(&self) -> u64 {
        unimplemented!()
    }

    /// The memory that it takes while it is open, its pages in the cache aside.
    pub fn memory_bytes(&self) -> usize {
        unimplemented!()
    }

    /// Hands what `command` asks for to `sink`, deletions too, as a memtable does: see `docs/internals/read-path.md`.
    pub async fn read_data(&self, command: &ReadCommand<'_>, sink: &mut impl DataSink) -> Result<ReadEnd, ReadError> {
        self.read_data_in(&mut ReadWindow::default(), command, sink).await
    }

    /// [`Sstable::read_data`] for a read that will go on: what it read but did not come to use stays in `window`.
    pub async fn read_data_in(
        &self,
        window: &mut ReadWindow,
        command: &ReadCommand<'_>,
        sink: &mut impl DataSink,
    ) -> Result<ReadEnd, ReadError> {
        let _ = (window, command, sink);
        unimplemented!()
    }
}
