//! An entry of the cluster's log: one or more changes, each of another domain, applied as one. And its bytes in a record.

use stdx::{Reader, varint};

use super::domain::DomainId;
use crate::error::{DecodeError, invalid};

/// An entry that is one change of the schema, in its first version: `change`. Records of this kind were there before there were domains.
const SCHEMA: u8 = 3;
/// Any other entry without a place in a group's log: `u8 version (1) · varint count · (u8 domain · u8 version · varint length · change)*`. In version 2
/// it has one ([`crate::group`]).
const ENTRY: u8 = 6;

/// The version of [`ENTRY`] that this code writes.
const ENTRY_VERSION: u8 = 1;
/// The newest version of [`ENTRY`] that this code reads.
const ENTRY_VERSION_MAX: u8 = 2;
/// The version of the changes in records of kind [`SCHEMA`].
const SCHEMA_VERSION: u8 = 1;

/// One change of one domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The domain.
    pub domain: DomainId,
    /// Version of the bytes, which the domain counts.
    pub version: u8,
    /// The change, as the domain encodes it.
    pub bytes: Vec<u8>,
}

impl Part {
    fn is_schema_record(&self) -> bool {
        self.domain == DomainId::SCHEMA && self.version == SCHEMA_VERSION
    }
}

/// Changes that are applied as one: at least one, in the order of their domains, at most one of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    parts: Vec<Part>,
}

impl Entry {
    /// The entry of these parts. Panics if there is none, or if their domains do not ascend.
    pub fn new(parts: Vec<Part>) -> Entry {
        assert!(!parts.is_empty(), "an entry has a part");
        assert!(ascends(&parts), "an entry's parts are in the order of their domains, one of each");
        Entry { parts }
    }

    /// The entry of one part.
    pub fn of(part: Part) -> Entry {
        Entry { parts: vec![part] }
    }

    /// Its parts, in the order of their domains.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Appends the record's kind and body.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        if let [part] = &self.parts[..]
            && part.is_schema_record()
        {
            out.push(SCHEMA);
            out.extend_from_slice(&part.bytes);
            return;
        }
        out.extend([ENTRY, ENTRY_VERSION]);
        self.encode_parts(out);
    }

    /// Appends `varint count · (u8 domain · u8 version · varint length · change)*`.
    pub(crate) fn encode_parts(&self, out: &mut Vec<u8>) {
        varint::encode(self.parts.len() as u64, out);
        for part in &self.parts {
            out.extend([part.domain.0, part.version]);
            varint::encode(part.bytes.len() as u64, out);
            out.extend_from_slice(&part.bytes);
        }
    }

    /// The entry that a record of `kind` holds, or `None` if records of that kind hold none.
    pub(crate) fn decode(kind: u8, reader: &mut Reader<'_>) -> Result<Option<Entry>, DecodeError> {
        match kind {
            SCHEMA => {
                let bytes = reader.rest().to_vec();
                Ok(Some(Entry::of(Part { domain: DomainId::SCHEMA, version: SCHEMA_VERSION, bytes })))
            }
            ENTRY => match reader.u8()? {
                ENTRY_VERSION => Entry::decode_parts(reader).map(Some),
                0 => Err(invalid("an entry has format version 0")),
                version => Err(DecodeError::NewerVersion { version, supported: ENTRY_VERSION_MAX }),
            },
            _ => Ok(None),
        }
    }

    /// The entry whose parts [`Entry::encode_parts`] wrote.
    pub(crate) fn decode_parts(reader: &mut Reader<'_>) -> Result<Entry, DecodeError> {
        let count = reader.varint()?;
        // No more than there are domains, so that a few bytes take no memory for many parts.
        if count == 0 || count > u64::from(u8::MAX) + 1 {
            return Err(invalid(format!("an entry has {count} parts")));
        }
        let mut parts = Vec::new();
        for _ in 0..count {
            let (domain, version) = (DomainId(reader.u8()?), reader.u8()?);
            parts.push(Part { domain, version, bytes: reader.varint_bytes()?.to_vec() });
        }
        if !ascends(&parts) {
            return Err(invalid("parts of an entry are not ordered by domain"));
        }
        Ok(Entry { parts })
    }
}

fn ascends(parts: &[Part]) -> bool {
    parts.is_sorted_by(|one, next| one.domain < next.domain)
}
