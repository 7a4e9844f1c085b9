//! Opening an SSTable: its small components are read and compared with the checksums that Helenus.db has of them.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use planted::Bug;
use runtime::{AlignedBuf, File, OpenOptions, Runtime};
use schema::Table;
use sstable::big::{self, Summary};
use sstable::checksum::ChunkChecksums;
use sstable::compression::{ChunkDecoder, CompressionInfo};
use sstable::data::DataReader;
use sstable::helenus_component::{ComponentSum, HelenusComponent};
use sstable::statistics::Statistics;
use sstable::{Component, Corrupt, Descriptor, Filter, FilterDecoder, Format};
use topology::token_of;

use crate::commitlog::open_direct;
use crate::sstable::data_file::{DataFile, Layout};
use crate::sstable::error::ReadError;
use crate::sstable::index::Index;
use crate::sstable::pages::{PageCache, PagedFile};
use crate::sstable::reader::{Sstable, View};

/// What is read at once of a component that is read whole.
const READ_BYTES: usize = 256 << 10;

/// The files of one SSTable.
struct Components<'o> {
    runtime: &'o Runtime,
    pages: &'o Rc<PageCache>,
    folder: &'o Path,
    descriptor: &'o Descriptor,
    own: Option<HelenusComponent>,
    disk_bytes: u64,
}

impl Sstable {
    /// Opens the SSTable `descriptor` of `table` in `folder`.
    pub async fn open(
        runtime: &Runtime,
        pages: &Rc<PageCache>,
        folder: &Path,
        descriptor: Descriptor,
        table: &Rc<Table>,
    ) -> Result<Rc<Sstable>, ReadError> {
        let mut components = Components { runtime, pages, folder, descriptor: &descriptor, own: None, disk_bytes: 0 };
        components.own = components.read_decoded(Component::Helenus, HelenusComponent::decode).await?;
        let version = descriptor.version;
        let statistics =
            components.read_decoded(Component::Statistics, |bytes| Statistics::read(version, bytes)).await?;
        let statistics = statistics.ok_or_else(|| components.missing(Component::Statistics))?;
        let filter = components.read_filter().await?;
        let data = components.open_data().await?;
        let index = match version.format() {
            Format::Bti => components.open_tries().await?,
            Format::Big => components.open_list().await?,
        };
        let tokens = (token_of(index.ends().0), token_of(index.ends().1));
        let path = components.path(Component::Statistics);
        let reader = DataReader::new(version, &statistics.header, table).map_err(|error| ReadError::Corrupt {
            path,
            offset: 0,
            what: error.to_string(),
        })?;
        let view = View::new(table, !statistics.header.statics.is_empty(), reader);
        let Components { own, disk_bytes, .. } = components;
        Ok(Rc::new(Sstable {
            runtime: runtime.clone(),
            partitions: statistics.stats.partition_sizes.count().max(1).cast_unsigned(),
            view: RefCell::new(Rc::new(view)),
            descriptor,
            statistics,
            own,
            filter,
            filter_counts: Cell::default(),
            index,
            data,
            tokens,
            disk_bytes,
            planted: pages.planted(),
        }))
    }
}

impl Components<'_> {
    fn path(&self, component: Component) -> PathBuf {
        self.folder.join(self.descriptor.file_name(component))
    }

    fn missing(&self, component: Component) -> ReadError {
        let source = io::Error::new(io::ErrorKind::NotFound, "component missing");
        ReadError::Io { path: self.path(component), offset: 0, source }
    }

    fn corrupt(&self, component: Component, what: impl Into<String>) -> ReadError {
        ReadError::Corrupt { path: self.path(component), offset: 0, what: what.into() }
    }

    fn sum(&self, component: Component) -> Option<&ComponentSum> {
        self.own.as_ref().and_then(|own| own.sum(component))
    }

    /// Opens a component; `None`: it is not there, and Helenus.db knows of none.
    async fn open_file(&mut self, component: Component) -> Result<Option<(File, u64)>, ReadError> {
        let path = self.path(component);
        let options = OpenOptions { read: true, ..OpenOptions::default() };
        let file = match open_direct(self.runtime, &path, options).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.sum(component).is_none() => return Ok(None),
            result => result.map_err(ReadError::io(&path, 0))?,
        };
        let length = file.len().await.map_err(ReadError::io(&path, 0))?;
        if let Some(sum) = self.sum(component).filter(|sum| sum.length != length) {
            return Err(self.corrupt(component, format!("length is {length} bytes, expected {}", sum.length)));
        }
        self.disk_bytes += length;
        Ok(Some((file, length)))
    }

    async fn open_needed(&mut self, component: Component) -> Result<(File, u64), ReadError> {
        self.open_file(component).await?.ok_or_else(|| self.missing(component))
    }

    /// All bytes of a component, compared with Helenus.db's checksum.
    async fn read(&mut self, component: Component) -> Result<Option<Vec<u8>>, ReadError> {
        let Some((file, length)) = self.open_file(component).await? else { return Ok(None) };
        let mut bytes = Vec::with_capacity(length as usize);
        let take = |piece: &[u8]| {
            bytes.extend_from_slice(piece);
            Ok(())
        };
        self.read_pieces(component, &file, length, take).await?;
        Ok(Some(bytes))
    }

    /// Hands the bytes of a component to `take`, in steps, and compares them all with Helenus.db's checksum.
    async fn read_pieces(
        &self,
        component: Component,
        file: &File,
        length: u64,
        mut take: impl FnMut(&[u8]) -> Result<(), Corrupt>,
    ) -> Result<(), ReadError> {
        let path = self.path(component);
        let mut at = 0;
        let mut crc = crc32fast::Hasher::new();
        let mut buffer = AlignedBuf::with_capacity(READ_BYTES.min(length.max(1) as usize));
        while at < length {
            buffer.clear();
            let (result, filled) = file.read_at(buffer, at).await;
            buffer = filled;
            if result.map_err(ReadError::io(&path, at))? == 0 {
                return Err(self.corrupt(component, format!("file ends after {at} of {length} bytes")));
            }
            crc.update(&buffer);
            at += buffer.len() as u64;
            take(&buffer).map_err(ReadError::corrupt(&path))?;
            self.runtime.maybe_yield().await;
        }
        match self.sum(component) {
            Some(sum) if sum.crc != crc.finalize() && !self.pages.planted().is(Bug::DigestIgnored) => {
                Err(self.corrupt(component, "checksum in Helenus.db does not match"))
            }
            _ => Ok(()),
        }
    }

    async fn read_filter(&mut self) -> Result<Option<Filter>, ReadError> {
        let Some((file, length)) = self.open_file(Component::Filter).await? else { return Ok(None) };
        let mut decoder = FilterDecoder::new(length, self.descriptor.version);
        self.read_pieces(Component::Filter, &file, length, |piece| decoder.push(piece)).await?;
        decoder.finish().map(Some).map_err(ReadError::corrupt(&self.path(Component::Filter)))
    }

    async fn read_decoded<T>(
        &mut self,
        component: Component,
        decode: impl FnOnce(&[u8]) -> Result<T, Corrupt>,
    ) -> Result<Option<T>, ReadError> {
        let Some(bytes) = self.read(component).await? else { return Ok(None) };
        let path = self.path(component);
        decode(&bytes).map(Some).map_err(ReadError::corrupt(&path))
    }

    async fn open_data(&mut self) -> Result<DataFile, ReadError> {
        let (file, length) = self.open_needed(Component::Data).await?;
        let version = self.descriptor.version;
        let decode = |bytes: &[u8]| CompressionInfo::decode(bytes, version, length);
        let layout = match self.read_decoded(Component::CompressionInfo, decode).await? {
            Some(info) => {
                let decoder = ChunkDecoder::new(info.params());
                Layout::Compressed(info, Box::new(RefCell::new(decoder)))
            }
            None => {
                let checksums =
                    self.read_decoded(Component::Crc, |bytes| ChunkChecksums::decode(bytes, length)).await?;
                // Helenus.db names ours; of others it only tells whether chunks are what was written, and they are read without.
                Layout::Plain(checksums.unwrap_or_else(ChunkChecksums::missing))
            }
        };
        Ok(DataFile::new(self.runtime, self.pages, &self.path(Component::Data), file, length, layout))
    }

    async fn paged(&mut self, component: Component) -> Result<PagedFile, ReadError> {
        let (file, length) = self.open_needed(component).await?;
        let sums = self.sum(component).map(|sum| sum.pages.clone());
        Ok(PagedFile::new(self.pages, &self.path(component), file, length, sums))
    }

    async fn open_tries(&mut self) -> Result<Index, ReadError> {
        let partitions = self.paged(Component::Partitions).await?;
        let rows = self.paged(Component::Rows).await?;
        Index::open_bti(partitions, rows).await
    }

    async fn open_list(&mut self) -> Result<Index, ReadError> {
        let path = self.path(Component::Summary);
        let summary = self.read(Component::Summary).await?.map(Summary::decode);
        let summary = summary.transpose().map_err(ReadError::corrupt(&path))?;
        let file = self.paged(Component::Index).await?;
        let index = big::Index { length: file.length(), version: self.descriptor.version };
        let summary = match summary {
            Some(summary) => summary,
            None => Index::sample(self.runtime, &index, &file).await?,
        };
        Ok(Index::Big { summary, index, file })
    }
}
