//! A record of the log, as bytes: a kind and a body.
//!
//! ```text
//! 1 host id:   16 bytes
//! 2 boot:      u64
//! 3 schema:    one change of domain 2 in version 1
//! 4 truncated: 16 table id · varint count · (u64 boot · u16 shard · u64 sequence)*
//! 6 entry:     u8 version (1) · varint count · (u8 domain · u8 version · varint length · change)*
//! 11 truncated: u8 version (1) · 16 mark · as kind 4
//! 10 several:  u8 version (1) · varint count · (varint length · record)*, of which none is of kind 10
//! ```
//!
//! Kind 6 in version 2, and kinds 5, 7, 8 and 9: of the group of nodes that share the cluster's state ([`crate::group`]).

use stdx::{Reader, varint};

use crate::cluster::Entry;
use crate::error::{DecodeError, invalid};
use crate::group::GroupRecord;
use crate::local::Fact;

/// One record of the metadata log. It counts whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A fact of this node alone.
    Local(Fact),
    /// An entry of the cluster's log.
    Entry(Entry),
    /// A record of this node's part in a group.
    Group(GroupRecord),
    /// Records that count together or not at all: they are one write. None of them is of this kind.
    Several(Vec<Record>),
}

const SEVERAL: u8 = 10;
/// The version of [`SEVERAL`].
const SEVERAL_VERSION: u8 = 1;

impl From<Fact> for Record {
    fn from(fact: Fact) -> Record {
        Record::Local(fact)
    }
}

impl From<Entry> for Record {
    fn from(entry: Entry) -> Record {
        Record::Entry(entry)
    }
}

impl From<GroupRecord> for Record {
    fn from(record: GroupRecord) -> Record {
        Record::Group(record)
    }
}

impl Record {
    /// The record's encoding.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        bytes
    }

    /// Appends the record's encoding to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Record::Local(fact) => fact.encode(out),
            Record::Entry(entry) => entry.encode(out),
            Record::Group(record) => record.encode(out),
            Record::Several(records) => {
                out.extend([SEVERAL, SEVERAL_VERSION]);
                varint::encode(records.len() as u64, out);
                for record in records {
                    assert!(!matches!(record, Record::Several(_)), "records that count together are of other kinds");
                    let bytes = record.to_bytes();
                    varint::encode(bytes.len() as u64, out);
                    out.extend_from_slice(&bytes);
                }
            }
        }
    }

    /// The record that `bytes` are, all of them. The changes of an entry are bytes still: only their domains can tell if they are good.
    pub fn decode(bytes: &[u8]) -> Result<Record, DecodeError> {
        match bytes.first() {
            Some(&SEVERAL) => Record::decode_several(&mut Reader::new(&bytes[1..])),
            _ => Record::decode_one(bytes),
        }
    }

    fn decode_several(reader: &mut Reader<'_>) -> Result<Record, DecodeError> {
        match reader.u8()? {
            0 => return Err(invalid("several records have format version 0")),
            SEVERAL_VERSION => {}
            version => return Err(DecodeError::NewerVersion { version, supported: SEVERAL_VERSION }),
        }
        let count = reader.varint()?;
        let mut records = Vec::new();
        for _ in 0..count {
            records.push(Record::decode_one(reader.varint_bytes()?)?);
        }
        match reader.is_empty() {
            true => Ok(Record::Several(records)),
            false => Err(invalid(format!("{} trailing bytes", reader.remaining()))),
        }
    }

    fn decode_one(bytes: &[u8]) -> Result<Record, DecodeError> {
        let mut reader = Reader::new(bytes);
        let kind = reader.u8()?;
        let record = if let Some(fact) = Fact::decode(kind, &mut reader)? {
            Record::Local(fact)
        } else if let Some(record) = GroupRecord::decode(kind, &mut reader)? {
            Record::Group(record)
        } else if let Some(entry) = Entry::decode(kind, &mut reader)? {
            Record::Entry(entry)
        } else {
            return Err(invalid(format!("unknown record kind {kind}")));
        };
        if !reader.is_empty() {
            return Err(invalid(format!("{} trailing bytes", reader.remaining())));
        }
        Ok(record)
    }
}
