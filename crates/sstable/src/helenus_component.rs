//! Helenus.db: what Cassandra's components do not say.
//!
//! BTI's tries carry no checksum, and neither do the Bloom filter and the chunks' offsets: a flipped bit there would make an answer
//! wrong. So this component holds each one's length and CRC-32, and for the tries, of which single pages are read, a CRC-32 for
//! each page. It also says which shard of how many wrote the file, between which tokens its partitions lie, and which records
//! of the commit log are in it. Cassandra lists it in TOC.txt as a custom component and leaves it alone.
//!
//! ```text
//! "HELENUS" 01   8 bytes: the format and its version
//! the node's host id, 16 bytes │ shard count u16 │ shard u16
//! u32 count, token ranges       first i64 │ last i64, both inside
//! u32 count, spans of logs      boot u64 │ shard u16 │ from u64 │ to u64: sequences from (outside) … to (inside)
//! u32 count, components         kind u8 │ length u64 │ crc u32
//!                               kinds 1 and 2 then: crc u32 for each page of 4 KiB, the last may be shorter
//! crc u32 of all before
//! ```
//!
//! Integers are big-endian. Kinds: 0 Data.db, 1 Partitions.db, 2 Rows.db, 3 Filter.db, 4 CompressionInfo.db, 5 CRC.db, 6 Statistics.db,
//! 7 Digest.crc32; an unknown kind, and bytes that are left over, are errors.

use stdx::Reader;
use topology::Token;

use crate::checksum::crc32;
use crate::{Component, Corrupt};

/// The pages that have a checksum each, bytes.
pub const PAGE_BYTES: usize = 4096;

const MAGIC: &[u8; 7] = b"HELENUS";
const VERSION: u8 = 1;
const KINDS: [Component; 8] = [
    Component::Data,
    Component::Partitions,
    Component::Rows,
    Component::Filter,
    Component::CompressionInfo,
    Component::Crc,
    Component::Statistics,
    Component::Digest,
];

/// Records of one shard's commit log: those behind the sequence `from`, up to the one that ends at `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSpan {
    /// The number of the start of the process.
    pub boot: u64,
    /// The shard whose log it is.
    pub shard: u16,
    /// How much had been appended before the first of them.
    pub from: u64,
    /// How much had been appended with the last of them.
    pub to: u64,
}

/// Who wrote an SSTable, and what of the log is in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The node that wrote it.
    pub host: [u8; 16],
    /// How many shards there were.
    pub shard_count: u16,
    /// Which of them wrote it.
    pub shard: u16,
    /// The records of commit logs that are in it.
    pub log: Vec<LogSpan>,
}

/// A component's length and checksums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentSum {
    /// Which one.
    pub component: Component,
    /// Its bytes.
    pub length: u64,
    /// The CRC-32 of all of them.
    pub crc: u32,
    /// Of Partitions.db and Rows.db: the CRC-32 of each page. Of others none.
    pub pages: Vec<u32>,
}

/// What Helenus.db says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HelenusComponent {
    /// Who wrote it.
    pub origin: Origin,
    /// Between which tokens its partitions lie: first and last, both inside.
    pub tokens: Vec<(Token, Token)>,
    /// The other components.
    pub sums: Vec<ComponentSum>,
}

/// Whether single pages of it are read, and so have checksums of their own.
pub fn is_paged(component: Component) -> bool {
    matches!(component, Component::Partitions | Component::Rows)
}

impl HelenusComponent {
    /// What it says of `component`.
    pub fn sum(&self, component: Component) -> Option<&ComponentSum> {
        self.sums.iter().find(|sum| sum.component == component)
    }

    /// The bytes of Helenus.db.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(MAGIC);
        out.push(VERSION);
        out.extend_from_slice(&self.origin.host);
        out.extend_from_slice(&self.origin.shard_count.to_be_bytes());
        out.extend_from_slice(&self.origin.shard.to_be_bytes());
        push_count(self.tokens.len(), &mut out);
        for (first, last) in &self.tokens {
            out.extend_from_slice(&first.0.to_be_bytes());
            out.extend_from_slice(&last.0.to_be_bytes());
        }
        push_count(self.origin.log.len(), &mut out);
        for span in &self.origin.log {
            out.extend_from_slice(&span.boot.to_be_bytes());
            out.extend_from_slice(&span.shard.to_be_bytes());
            out.extend_from_slice(&span.from.to_be_bytes());
            out.extend_from_slice(&span.to.to_be_bytes());
        }
        push_count(self.sums.len(), &mut out);
        for sum in &self.sums {
            let kind = KINDS.iter().position(|kind| *kind == sum.component);
            out.push(kind.expect("the list and Helenus.db itself have no sum") as u8);
            out.extend_from_slice(&sum.length.to_be_bytes());
            out.extend_from_slice(&sum.crc.to_be_bytes());
            assert_eq!(sum.pages.len() as u64, page_count(sum.component, sum.length), "each page has a checksum");
            out.extend(sum.pages.iter().flat_map(|crc| crc.to_be_bytes()));
        }
        out.extend_from_slice(&crc32(&out).to_be_bytes());
        out
    }

    /// Decodes what [`HelenusComponent::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, Corrupt> {
        let Some((body, stored)) = bytes.split_last_chunk::<4>() else {
            return Err(Corrupt::new(0, format!("{} bytes are too few", bytes.len())));
        };
        // Before the checksum: a newer version may keep it elsewhere.
        if let Some(version) = body.strip_prefix(MAGIC).and_then(<[u8]>::first)
            && *version > VERSION
        {
            let what = format!(
                "Helenus.db of version {version} was written by a newer Helenus; this one reads up to {VERSION}"
            );
            return Err(Corrupt::new(7, what));
        }
        if crc32(body) != u32::from_be_bytes(*stored) {
            return Err(Corrupt::new(body.len() as u64, "the checksum of Helenus.db does not match"));
        }
        let mut reader = Reader::new(body);
        let own = read(&mut reader);
        let offset = (body.len() - reader.remaining()) as u64;
        match own {
            Ok(own) if reader.is_empty() => Ok(own),
            Ok(_) => Err(Corrupt::new(offset, "trailing bytes")),
            Err(what) => Err(Corrupt::new(offset, what)),
        }
    }
}

fn push_count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(count).expect("counts of 32 bits").to_be_bytes());
}

fn page_count(component: Component, length: u64) -> u64 {
    if is_paged(component) { length.div_ceil(PAGE_BYTES as u64) } else { 0 }
}

fn read(reader: &mut Reader<'_>) -> Result<HelenusComponent, String> {
    fn short(error: stdx::ReadError) -> String {
        error.to_string()
    }
    if reader.array::<8>().map_err(short)?[..] != [&MAGIC[..], &[VERSION]].concat() {
        return Err("not a Helenus.db".to_owned());
    }
    let mut own = HelenusComponent::default();
    own.origin.host = reader.array().map_err(short)?;
    own.origin.shard_count = reader.u16().map_err(short)?;
    own.origin.shard = reader.u16().map_err(short)?;
    for _ in 0..reader.u32().map_err(short)? {
        own.tokens.push((Token(reader.i64().map_err(short)?), Token(reader.i64().map_err(short)?)));
    }
    for _ in 0..reader.u32().map_err(short)? {
        own.origin.log.push(LogSpan {
            boot: reader.u64().map_err(short)?,
            shard: reader.u16().map_err(short)?,
            from: reader.u64().map_err(short)?,
            to: reader.u64().map_err(short)?,
        });
    }
    for _ in 0..reader.u32().map_err(short)? {
        let kind = reader.u8().map_err(short)?;
        let component =
            *KINDS.get(usize::from(kind)).ok_or_else(|| format!("the component's kind {kind} is unknown"))?;
        let length = reader.u64().map_err(short)?;
        let crc = reader.u32().map_err(short)?;
        let mut pages = Vec::new();
        for _ in 0..page_count(component, length) {
            pages.push(reader.u32().map_err(short)?);
        }
        own.sums.push(ComponentSum { component, length, crc, pages });
    }
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> HelenusComponent {
        let span = LogSpan { boot: 3, shard: 1, from: 17, to: 1 << 40 };
        HelenusComponent {
            origin: Origin { host: [9; 16], shard_count: 2, shard: 1, log: vec![span] },
            tokens: vec![(Token(i64::MIN), Token(-5)), (Token(0), Token(i64::MAX))],
            sums: vec![
                ComponentSum { component: Component::Partitions, length: 4097, crc: 1, pages: vec![2, 3] },
                ComponentSum { component: Component::Filter, length: 99, crc: 4, pages: vec![] },
            ],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for own in [example(), HelenusComponent::default()] {
            assert_eq!(HelenusComponent::decode(&own.encode()), Ok(own));
        }
    }

    #[test]
    fn any_change_is_found() {
        let bytes = example().encode();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            HelenusComponent::decode(&changed).expect_err("a flipped bit");
            HelenusComponent::decode(&bytes[..at]).expect_err("a shorter file");
        }
        HelenusComponent::decode(&[&bytes[..], &[0]].concat()).expect_err("a longer file");
    }

    #[test]
    fn a_newer_version_is_told_as_such() {
        let mut bytes = example().encode();
        bytes[7] = 2;
        assert!(HelenusComponent::decode(&bytes).expect_err("a newer version").what.contains("newer"));
    }

    #[test]
    fn counts_take_no_memory_that_is_not_there() {
        let mut bytes = [&MAGIC[..], &[VERSION, 0, 1, 0, 0], &[0xff; 4]].concat();
        bytes.extend_from_slice(&crc32(&bytes).to_be_bytes());
        HelenusComponent::decode(&bytes).expect_err("a count beyond the bytes");
    }
}
