//! An SSTable's components on the disk, and the table that its own header tells of.

use std::path::{Path, PathBuf};

use cql_types::CqlType;
use runtime::{OpenOptions, Runtime};
use schema::{Column, ColumnId, ColumnKind, Order, Table, TableId, TableOptions};
use sstable::checksum::ChunkChecksums;
use sstable::compression::{ChunkDecoder, CompressionInfo};
use sstable::data::DataReader;
use sstable::statistics::Statistics;
use sstable::{Component, Descriptor, Format, Header};

use crate::data::{Chunks, DataFile};
use crate::error::ToolError;

/// The components of one SSTable.
#[derive(Clone)]
pub(crate) struct Files {
    pub(crate) runtime: Runtime,
    pub(crate) folder: PathBuf,
    /// What their names have in common.
    pub descriptor: Descriptor,
}

impl Files {
    /// Those of which `path` names one.
    pub(crate) fn of(runtime: &Runtime, path: &Path) -> Result<Files, ToolError> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let (descriptor, _) = Descriptor::parse(name).ok_or_else(|| ToolError::NoSstable { path: path.to_owned() })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Files { runtime: runtime.clone(), folder, descriptor })
    }

    /// Where a component lies, or would.
    pub(crate) fn path(&self, component: Component) -> PathBuf {
        self.folder.join(self.descriptor.file_name(component))
    }

    /// Whether it has that component.
    pub(crate) async fn has(&self, component: Component) -> Result<bool, ToolError> {
        let path = self.path(component);
        self.runtime.exists(&path).await.map_err(ToolError::read(&path))
    }

    /// A component as a whole: those that a reader holds in memory.
    pub(crate) async fn read(&self, component: Component) -> Result<Vec<u8>, ToolError> {
        let path = self.path(component);
        self.runtime.read_file(&path).await.map_err(ToolError::read(&path))
    }

    /// The needed components that are not there, by their names.
    async fn lacks(&self) -> Result<Vec<&'static str>, ToolError> {
        let needed: &[Component] = match self.descriptor.format() {
            Format::Bti => &[Component::Data, Component::Statistics, Component::Partitions, Component::Rows],
            Format::Big => &[Component::Data, Component::Statistics, Component::Index],
        };
        let mut lacks = Vec::new();
        for component in needed {
            if !self.has(*component).await? {
                lacks.push(component.name());
            }
        }
        Ok(lacks)
    }

    /// Fails if a component is missing that is needed to read rows and find them.
    pub(crate) async fn check_components(&self) -> Result<(), ToolError> {
        let missing = self.lacks().await?.join(", ");
        let path = self.path(Component::Data);
        if missing.is_empty() { Ok(()) } else { Err(ToolError::Incomplete { path, missing }) }
    }

    /// Statistics.db.
    pub(crate) async fn statistics(&self) -> Result<Statistics, ToolError> {
        let bytes = self.read(Component::Statistics).await?;
        let statistics = Statistics::read(self.descriptor.version, &bytes);
        statistics.map_err(ToolError::corrupt(&self.path(Component::Statistics)))
    }

    /// Data.db, from its beginning.
    pub(crate) async fn data(&self) -> Result<DataFile, ToolError> {
        let path = self.path(Component::Data);
        let options = OpenOptions { read: true, ..OpenOptions::default() };
        let file = self.runtime.open(&path, options).await.map_err(ToolError::read(&path))?;
        let stored_length = file.len().await.map_err(ToolError::read(&path))?;
        let chunks = self.chunks(stored_length).await?;
        Ok(DataFile::new(&self.runtime, path, file, stored_length, chunks))
    }

    /// How data of so many bytes on the disk lies there.
    pub(crate) async fn chunks(&self, stored_length: u64) -> Result<Chunks, ToolError> {
        Ok(if self.has(Component::CompressionInfo).await? {
            let bytes = self.read(Component::CompressionInfo).await?;
            let info = CompressionInfo::decode(&bytes, self.descriptor.version, stored_length)
                .map_err(ToolError::corrupt(&self.path(Component::CompressionInfo)))?;
            let decoder = ChunkDecoder::new(info.params());
            Chunks::Compressed(info, Box::new(decoder))
        } else if !self.has(Component::Crc).await? {
            Chunks::Plain(ChunkChecksums::missing())
        } else {
            let bytes = self.read(Component::Crc).await?;
            let checksums = ChunkChecksums::decode(&bytes, stored_length);
            Chunks::Plain(checksums.map_err(ToolError::corrupt(&self.path(Component::Crc)))?)
        })
    }

    /// What reads the rows, as values of `table`.
    pub(crate) fn reader(&self, header: &Header, table: &Table) -> Result<DataReader, ToolError> {
        let reader = DataReader::new(self.descriptor.version, header, table);
        reader.map_err(|source| ToolError::Unfit { path: self.path(Component::Data), source })
    }
}

/// The table that a header tells of. The columns of the primary key have no names there; ids are in the order of cells.
pub(crate) fn table_of(header: &Header) -> Table {
    table_with(header, TableOptions::default())
}

/// [`table_of`] with these options.
pub(crate) fn table_with(header: &Header, options: TableOptions) -> Table {
    let mut columns = Vec::new();
    let mut add = |name: String, ty: &CqlType, kind, place: usize, order| {
        let id = ColumnId(u16::try_from(columns.len()).expect("a header has fewer columns than bytes"));
        let position = u16::try_from(place).expect("a header has fewer columns than bytes");
        columns.push(Column { id, name, ty: ty.clone(), kind, position, order, mask: None });
    };
    for (place, ty) in header.partition_key.iter().enumerate() {
        add(format!("partition key {place}"), ty, ColumnKind::PartitionKey, place, Order::Asc);
    }
    for (place, of) in header.clustering.iter().enumerate() {
        let order = if of.is_reversed { Order::Desc } else { Order::Asc };
        add(format!("clustering {place}"), &of.ty, ColumnKind::Clustering, place, order);
    }
    for column in &header.statics {
        add(column.name.clone(), &column.ty, ColumnKind::Static, 0, Order::Asc);
    }
    for column in &header.regulars {
        add(column.name.clone(), &column.ty, ColumnKind::Regular, 0, Order::Asc);
    }
    Table::new(TableId([0; 16]), "", "", columns, options)
}
