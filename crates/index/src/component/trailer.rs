//! The trailer: which file and index a component is of, and where its directory and checksums are.

use planted::{Bug, Planted};
use sstable::Corrupt;
use stdx::{ReadError, Reader};

use super::OpenError;

const MAGIC: &[u8; 7] = b"HELENIX";
const VERSION: u8 = 1;
/// The bytes after the checksum: the trailer's length, without themselves.
pub(super) const LENGTH_BYTES: usize = 4;

/// The file and the index that a component is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The table's id.
    pub table: [u8; 16],
    /// The index's id.
    pub index: [u8; 16],
    /// See [`crate::Definition::digest`].
    pub definition: u64,
    /// The SSTable's generation, as it stands in the file names.
    pub generation: String,
    /// The length of Data.db, bytes.
    pub data_length: u64,
}

/// The trailer of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trailer {
    pub(super) identity: Identity,
    pub(super) directory: u64,
    pub(super) directory_length: u32,
    pub(super) sums: u64,
    pub(super) sums_count: u32,
    pub(super) sums_crc: u32,
    pub(super) rows: u64,
    pub(super) skipped: u64,
}

impl Identity {
    /// The first part in which the identity differs from the one `expected`.
    pub(super) fn check(&self, expected: &Identity, planted: Planted) -> Result<(), OpenError> {
        let differs = |what, found: String, expected: String| Err(OpenError::Other { what, found, expected });
        if self.table != expected.table {
            return differs("table", hex(&self.table), hex(&expected.table));
        }
        if self.index != expected.index {
            return differs("index", hex(&self.index), hex(&expected.index));
        }
        if self.definition != expected.definition {
            let [found, expected] = [self, expected].map(|identity| format!("{:016x}", identity.definition));
            return differs("definition", found, expected);
        }
        if planted.is(Bug::ComponentOfAnotherGeneration) {
            return Ok(());
        }
        if self.generation != expected.generation {
            return differs("generation", self.generation.clone(), expected.generation.clone());
        }
        if self.data_length != expected.data_length {
            let [found, expected] = [self, expected].map(|identity| identity.data_length.to_string());
            return differs("length of Data.db", found, expected);
        }
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Trailer {
    /// Appends the trailer with its length.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(MAGIC);
        out.push(VERSION);
        out.extend_from_slice(&self.identity.table);
        out.extend_from_slice(&self.identity.index);
        out.extend_from_slice(&self.identity.definition.to_be_bytes());
        let generation = u16::try_from(self.identity.generation.len()).expect("a generation is part of a file's name");
        out.extend_from_slice(&generation.to_be_bytes());
        out.extend_from_slice(self.identity.generation.as_bytes());
        out.extend_from_slice(&self.identity.data_length.to_be_bytes());
        out.extend_from_slice(&self.directory.to_be_bytes());
        out.extend_from_slice(&self.directory_length.to_be_bytes());
        out.extend_from_slice(&self.sums.to_be_bytes());
        out.extend_from_slice(&self.sums_count.to_be_bytes());
        out.extend_from_slice(&self.sums_crc.to_be_bytes());
        out.extend_from_slice(&self.rows.to_be_bytes());
        out.extend_from_slice(&self.skipped.to_be_bytes());
        let crc = crc32fast::hash(&out[begin..]);
        out.extend_from_slice(&crc.to_be_bytes());
        let length = out.len() - begin;
        out.extend_from_slice(&(length as u32).to_be_bytes());
    }

    /// Decodes the trailer, without its length, which stands at `offset` of the file.
    pub(super) fn decode(bytes: &[u8], offset: u64) -> Result<Trailer, OpenError> {
        let damaged = |what: &str| OpenError::Damaged(Corrupt::new(offset, format!("the trailer: {what}")));
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err(damaged("it does not begin as a component's"));
        };
        // Before the checksum: a newer version may keep it elsewhere.
        match rest.first() {
            Some(&version) if version > VERSION => return Err(OpenError::Newer { version, known: VERSION }),
            Some(&VERSION) => {}
            _ => return Err(damaged("it has no known version")),
        }
        let (body, crc) = rest.split_last_chunk::<4>().ok_or_else(|| damaged("it is too short"))?;
        if crc32fast::hash(&bytes[..bytes.len() - 4]) != u32::from_be_bytes(*crc) {
            return Err(damaged("its checksum differs"));
        }
        Self::fields(&body[1..]).map_err(|error| damaged(&error.to_string()))
    }

    fn fields(body: &[u8]) -> Result<Trailer, ReadError> {
        let mut reader = Reader::new(body);
        let (table, index, definition) = (reader.array()?, reader.array()?, reader.u64()?);
        let generation = usize::from(reader.u16()?);
        let generation = reader.str(generation)?.to_owned();
        let data_length = reader.u64()?;
        Ok(Trailer {
            identity: Identity { table, index, definition, generation, data_length },
            directory: reader.u64()?,
            directory_length: reader.u32()?,
            sums: reader.u64()?,
            sums_count: reader.u32()?,
            sums_crc: reader.u32()?,
            rows: reader.u64()?,
            skipped: reader.u64()?,
        })
    }
}
