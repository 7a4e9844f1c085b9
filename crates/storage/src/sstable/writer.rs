//! Writing an SSTable.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use mutation::{ClusteringRef, Deletion, RowRef};
use runtime::Runtime;
use schema::Table;
use sstable::own::Origin;
use sstable::{Descriptor, Generation, Marker};
use topology::Token;

use crate::sstable::error::WriteError;
use crate::sstable::info::{Estimates, SstableInfo};

/// Writes one SSTable of version `da`. It is nothing before the manifest says so; one that is dropped unfinished leaves files that
/// nobody knows, so [`SstableWriter::abandon`] it.
///
/// The calls that give it data take memory and return at once; after about [`SstableWriter::is_due`] says so
/// [`SstableWriter::write_out`] is to be awaited.
pub struct SstableWriter {
    runtime: Runtime,
    folder: PathBuf,
    descriptor: Descriptor,
    table: Rc<Table>,
    origin: Origin,
    estimates: Estimates,
}

impl SstableWriter {
    /// Begins one in `folder`, which is there.
    pub async fn create(
        runtime: &Runtime,
        folder: &Path,
        generation: Generation,
        table: &Rc<Table>,
        estimates: Estimates,
        origin: Origin,
    ) -> Result<SstableWriter, WriteError> {
        let descriptor = Descriptor { version: sstable::Version::DA, generation };
        let (runtime, folder, table) = (runtime.clone(), folder.to_owned(), table.clone());
        Ok(SstableWriter { runtime, folder, descriptor, table, origin, estimates })
    }

    /// Its files' names.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// The next partition, in the order of tokens, then of keys. The one before it ends.
    pub fn partition(&mut self, token: Token, key: &[u8], deletion: Option<Deletion>, static_row: Option<RowRef<'_>>) {
        let _ = (token, key, deletion, static_row);
        unimplemented!()
    }

    /// The partition's next row, in the table's order.
    pub fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        let _ = (clustering, row);
        unimplemented!()
    }

    /// The next place in the partition where the deleted ranges change. The last of a partition opens nothing.
    pub fn marker(&mut self, marker: &Marker<'_>) {
        let _ = marker;
        unimplemented!()
    }

    /// Whether so much has gathered that [`SstableWriter::write_out`] is to be awaited now.
    pub fn is_due(&self) -> bool {
        unimplemented!()
    }

    /// Compresses and writes what has gathered, as far as it makes large writes. Lets others run.
    pub async fn write_out(&mut self) -> Result<(), WriteError> {
        unimplemented!()
    }

    /// Writes what is left and all other components, and waits until they and their names are on the disk. On an error all its
    /// files are removed.
    pub async fn finish(self) -> Result<SstableInfo, WriteError> {
        let _ = (self.runtime, self.folder, self.table, self.origin, self.estimates);
        unimplemented!()
    }

    /// Removes its files.
    pub async fn abandon(self) {
        unimplemented!()
    }
}
