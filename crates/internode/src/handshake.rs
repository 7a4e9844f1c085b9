//! The bytes with which two nodes meet: the one that dials says hello, the other welcomes it or names what does not fit.
//!
//! ```text
//! greeting     "helepeer" │ length u32 ≤ 1024 │ crc u32 of the body │ body
//! hello        version u16 │ least version u16 │ purpose u8 │ flags u8 (1 has a secret, 2 compresses) │ shard u16 │ shard count u16 │ host id 16 │ wanted host id 16
//!              │ group 16 │ incarnation u64 │ boot u64 │ boot's word u64 │ epoch u64 │ random 16 │ length u16 │ cluster name
//! welcome      version u16 │ verdict u8 │ flags u8 (1 has a proof) │ shard count u16 │ host id 16
//!              │ group 16 │ incarnation u64 │ boot u64 │ boot's word u64 │ epoch u64 │ random 16 │ length u16 │ cluster name │ proof 32, if it has one
//! confirmation verdict u8 │ proof 32, of a dialler that accepts
//! ```
//!
//! Where both have a secret, the dialler confirms after the welcome, and the listener after that; without one, the welcome is the last greeting. A hello of a
//! later version may have more after its name.

mod confirmation;
mod envelope;
mod verdict;

use stdx::{ReadError, Reader};
use topology::HostId;

use crate::identity::{Boot, GroupTag};
use crate::purpose::Purpose;
use crate::secret::PROOF_BYTES;

pub(crate) use confirmation::Confirmation;
pub(crate) use envelope::{GREETING_BYTES_MAX, is_greeting};
use envelope::{open, seal};
pub use verdict::{GreetingError, Verdict};

/// The version of all that nodes say to each other.
pub const VERSION: u16 = 2;
/// The oldest version that this code speaks.
pub const VERSION_MIN: u16 = 2;

/// The most bytes of a cluster's name.
const NAME_MAX: usize = 512;

const HAS_SECRET: u8 = 1;
const COMPRESSES: u8 = 2;
const HAS_PROOF: u8 = 1;

/// Handshake message of the dialling node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The newest version that it speaks.
    pub version: u16,
    /// The oldest version that it speaks.
    pub version_min: u16,
    /// The connection's purpose.
    pub purpose: Purpose,
    /// It has a secret, which both are to prove.
    pub has_secret: bool,
    /// Long bodies are compressed on the connection, in both directions.
    pub compresses: bool,
    /// The shard that dials.
    pub shard: u16,
    /// How many shards its node has.
    pub shard_count: u16,
    /// Its host id.
    pub host_id: HostId,
    /// Host id of the node that it expects at the address.
    pub wanted: HostId,
    /// Its group.
    pub group: GroupTag,
    /// Its start.
    pub boot: Boot,
    /// The epoch of its cluster state.
    pub epoch: u64,
    /// No other hello has them.
    pub random: [u8; 16],
    /// Its cluster.
    pub cluster_name: String,
}

/// Reply of the dialled node to a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The version that both speak; in a refusal, the newest that it speaks.
    pub version: u16,
    /// Outcome of the handshake.
    pub verdict: Verdict,
    /// How many shards it has.
    pub shard_count: u16,
    /// Its host id.
    pub host_id: HostId,
    /// Its group.
    pub group: GroupTag,
    /// Its start.
    pub boot: Boot,
    /// The epoch of its cluster state.
    pub epoch: u64,
    /// No other welcome has them.
    pub random: [u8; 16],
    /// Its cluster.
    pub cluster_name: String,
    /// Its proof of the secret.
    pub proof: Option<[u8; PROOF_BYTES]>,
}

/// Common to both greetings: group, boot, epoch, random bytes, name.
fn encode_node((group, boot): (GroupTag, Boot), epoch: u64, random: &[u8; 16], name: &str, body: &mut Vec<u8>) {
    body.extend_from_slice(&group.id.to_be_bytes());
    for number in [group.incarnation, boot.number, boot.word, epoch] {
        body.extend_from_slice(&number.to_be_bytes());
    }
    body.extend_from_slice(random);
    let name = cut(name).as_bytes();
    body.extend_from_slice(&(name.len() as u16).to_be_bytes());
    body.extend_from_slice(name);
}

fn decode_group(reader: &mut Reader<'_>) -> Result<(GroupTag, Boot), ReadError> {
    let group = GroupTag { id: u128::from_be_bytes(reader.array()?), incarnation: reader.u64()? };
    Ok((group, Boot { number: reader.u64()?, word: reader.u64()? }))
}

fn decode_name(reader: &mut Reader<'_>) -> Result<String, GreetingError> {
    let length = usize::from(reader.u16()?);
    let name = std::str::from_utf8(reader.bytes(length)?).map_err(|_| ReadError::NotUtf8)?;
    match length <= NAME_MAX {
        true => Ok(name.to_owned()),
        false => Err(GreetingError::NotAPeer),
    }
}

/// The version that a greeting begins with. One below 2 has another layout.
fn decode_version(reader: &mut Reader<'_>) -> Result<u16, GreetingError> {
    match reader.u16()? {
        version if version < 2 => Err(GreetingError::Older { version }),
        version => Ok(version),
    }
}

impl Hello {
    /// The greeting's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(192);
        body.extend_from_slice(&self.version.to_be_bytes());
        body.extend_from_slice(&self.version_min.to_be_bytes());
        let flags = if self.has_secret { HAS_SECRET } else { 0 } | if self.compresses { COMPRESSES } else { 0 };
        body.extend([self.purpose.number(), flags]);
        body.extend_from_slice(&self.shard.to_be_bytes());
        body.extend_from_slice(&self.shard_count.to_be_bytes());
        body.extend_from_slice(&self.host_id.0);
        body.extend_from_slice(&self.wanted.0);
        encode_node((self.group, self.boot), self.epoch, &self.random, &self.cluster_name, &mut body);
        seal(&body)
    }

    /// The hello at the front of `bytes` with its length; `None`: more must come.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Hello, usize)>, GreetingError> {
        let Some((body, length)) = open(bytes)? else { return Ok(None) };
        let mut reader = Reader::new(body);
        let version = decode_version(&mut reader)?;
        let (version_min, purpose, flags) = (reader.u16()?, Purpose::of(reader.u8()?), reader.u8()?);
        let (shard, shard_count) = (reader.u16()?, reader.u16()?);
        let (host_id, wanted) = (HostId(reader.array()?), HostId(reader.array()?));
        let (group, boot) = decode_group(&mut reader)?;
        let (epoch, random) = (reader.u64()?, reader.array()?);
        let cluster_name = decode_name(&mut reader)?;
        if version == VERSION && !reader.is_empty() {
            return Err(GreetingError::NotAPeer);
        }
        let (has_secret, compresses) = (flags & HAS_SECRET > 0, flags & COMPRESSES > 0);
        let hello = Hello {
            version,
            version_min,
            purpose,
            has_secret,
            compresses,
            shard,
            shard_count,
            host_id,
            wanted,
            group,
            boot,
            epoch,
            random,
            cluster_name,
        };
        Ok(Some((hello, length)))
    }

    /// The version that both speak, the newest if there are several.
    pub fn common_version(&self) -> Option<u16> {
        let version = self.version.min(VERSION);
        (version >= self.version_min.max(VERSION_MIN)).then_some(version)
    }
}

impl Welcome {
    /// The body up to the proof: what proofs are over.
    pub(crate) fn unproven(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(192);
        body.extend_from_slice(&self.version.to_be_bytes());
        body.extend([self.verdict as u8, if self.proof.is_some() { HAS_PROOF } else { 0 }]);
        body.extend_from_slice(&self.shard_count.to_be_bytes());
        body.extend_from_slice(&self.host_id.0);
        encode_node((self.group, self.boot), self.epoch, &self.random, &self.cluster_name, &mut body);
        body
    }

    /// The greeting's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = self.unproven();
        self.proof.iter().for_each(|proof| body.extend_from_slice(proof));
        seal(&body)
    }

    /// The refusal that a node of version 1 reads, which knows no other layout.
    pub(crate) fn encode_for_version_1(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(64);
        body.extend_from_slice(&self.version.to_be_bytes());
        body.push(self.verdict as u8);
        body.extend_from_slice(&self.shard_count.to_be_bytes());
        body.extend_from_slice(&self.host_id.0);
        body.extend_from_slice(cut(&self.cluster_name).as_bytes());
        seal(&body)
    }

    /// The welcome at the front of `bytes` with its length; `None`: more must come.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Welcome, usize)>, GreetingError> {
        let Some((body, length)) = open(bytes)? else { return Ok(None) };
        let mut reader = Reader::new(body);
        let version = decode_version(&mut reader)?;
        let verdict = Verdict::of(reader.u8()?).ok_or(GreetingError::NotAPeer)?;
        let flags = reader.u8()?;
        let (shard_count, host_id) = (reader.u16()?, HostId(reader.array()?));
        let (group, boot) = decode_group(&mut reader)?;
        let (epoch, random) = (reader.u64()?, reader.array()?);
        let cluster_name = decode_name(&mut reader)?;
        let proof = if flags & HAS_PROOF > 0 { Some(reader.array()?) } else { None };
        // Proofs are over these bytes, so they have one form.
        if flags & !HAS_PROOF > 0 || !reader.is_empty() {
            return Err(GreetingError::NotAPeer);
        }
        let welcome =
            Welcome { version, verdict, shard_count, host_id, group, boot, epoch, random, cluster_name, proof };
        Ok(Some((welcome, length)))
    }
}

/// A name that fits a greeting.
fn cut(name: &str) -> &str {
    let mut end = name.len().min(NAME_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

#[cfg(test)]
mod tests;
