//! The component beside an SSTable: `da-<generation>-bti-Helenus+<index id, 32 hex digits>.db`.
//!
//! ```text
//! component    segment* │ directory │ page sums │ trailer
//! trailer      "HELENIX" version: u8 │ table: 16 │ index: 16 │ definition: u64 │ generation: u16 length, bytes │ Data.db's length: u64
//!              │ directory: u64 offset, u32 length │ sums: u64 offset, u32 count, u32 crc │ rows: u64 │ skipped: u64 │ crc: u32 of the trailer before it
//!              │ trailer's length: u32
//! directory    segments: u32 │ (begin: u64 │ root: u64 offset, u32 length, u8 level │ terms: u64 │ postings: u64 │ first term, last term: u16 length, bytes
//!              │ first posting, last: token head u32, partition u64, row u64)* │ crc: u32
//! page sums    crc: u32 for each 4 KiB of what stands before the sums; the last may be shorter
//!
//! segment      lists and leaves as they are made, then inner nodes, the root last
//! leaf         terms: u8 (1 to 32) │ (shared: varint │ rest: varint length, bytes │ postings: varint │ where)*
//!              where: of one posting: token head u32, partition varint, row varint; of several: offset varint, length varint
//! inner node   children: u8 (1 to 64) │ (separator: shared, rest │ offset, length: varint │ terms: varint │ postings: varint
//!              │ merged list: length varint, 0 if there is none, else offset, postings: varint)*
//! ```
//!
//! Integers are big-endian, offsets in the trailer and in the directory are the file's, those in nodes the segment's. Lists: see `postings.rs`.
//!
//! A child's terms are not less than its separator and less than the next one's. A separator is the shortest beginning of the child's first term that no
//! earlier term reaches, so that long terms do not make inner nodes long. Terms are front-coded: `shared` bytes are those of the term before.
//!
//! A merged list has each posting below its child once. A leaf whose terms have one posting each has none, since reading it is as cheap, and so has a
//! child with more than 65,536 postings: its children are asked. Everything that a node
//! names stands before it in the segment and after the node before it, so that neither circles nor nodes with two parents can be read.

mod builder;
mod directory;
mod error;
mod node;
mod open;
mod output;
mod runs;
mod segment;
mod trailer;

pub use builder::{Builder, Totals};
pub use error::OpenError;
pub use open::{Component, Opened};
pub use trailer::Identity;

pub(crate) use directory::{Segment, TreeNode};
pub(crate) use node::{Child, InnerReader, LeafReader, Place, Span};
pub(crate) use output::Output;

/// Terms of a leaf.
const LEAF_TERMS_MAX: usize = 32;
/// Children of an inner node.
const CHILDREN_MAX: usize = 64;
/// A node with as many bytes takes nothing more, but an inner node has two children at least.
const NODE_BYTES_ENOUGH: usize = 16 << 10;
/// The longest node that can be written: inner nodes of two children and leaves end with one more term than is enough.
const NODE_BYTES_MAX: usize = NODE_BYTES_ENOUGH + 2 * (64 << 10) + 256;
/// Postings of the longest merged list.
const MERGED_POSTINGS_MAX: usize = 65_536;
