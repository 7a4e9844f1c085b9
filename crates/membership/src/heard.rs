//! The other nodes' disks, as this node has heard of them: the fence against a disk that is older than it was.
//!
//! A node's epoch and the ends of its commit logs never fall, over restarts too. One whose start began with less than it reported before was started on a
//! copy of its disk, and lacks what it acknowledged since. Its first heartbeat of each boot is held against those of earlier boots: within a boot, heartbeats
//! of two connections may overtake each other, and what it has got from others is not what its disk had. What was heard is kept on disk, so that a restart of all others does not forget it.
//!
//! ```text
//! file: "HELPEER\n" · u32 version (1) · u32 crc of the rest · 16 group · varint count · (16 host id · u8 flags (1 older) · u64 boot · u64 epoch · positions)*
//! positions: varint count · (u64 boot · u16 shard · u64 sequence)*
//! ```

use std::collections::BTreeMap;

use metadata::group::{Heartbeat, Index};
use metadata::{DecodeError, Position, decode_positions, encode_positions};
use stdx::{Reader, varint};
use topology::HostId;

/// The beginning of the file, and the version that this code writes and reads.
const MAGIC: [u8; 8] = *b"HELPEER\n";
const VERSION: u32 = 1;
/// Magic, version, checksum.
const HEAD_BYTES: usize = 16;

/// The outcome of a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The sender has all that was heard of it.
    Whole,
    /// The sender has less than was heard of it before: its disk is older than it was.
    Older,
    /// It says nothing of the sender's disk: the sender is starting, or the heartbeat is of an earlier boot, or the first of a boot and not whole.
    Unknown,
}

/// The reports of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Known {
    /// The latest boot.
    boot: u64,
    epoch: Index,
    /// For each shard the end of the log in the last boot that wrote there: boot and sequence.
    ends: BTreeMap<u16, (u64, u64)>,
    /// Its latest boot began with less than was heard before.
    is_older: bool,
}

/// The reports of all nodes. Those that the registry does not have are not judged; their caller leaves them out.
#[derive(Debug, Default)]
pub struct Heard {
    nodes: BTreeMap<HostId, Known>,
    is_changed: bool,
}

impl Heard {
    /// Judges a node's heartbeat, and keeps what is more than was known. The first heartbeat of each connection is whole. `doubted_since`: the boot of the node that is
    /// noted to have begun with less. What was heard before that is over, and what it reports then counts from there on.
    pub fn hear(&mut self, host_id: HostId, doubted_since: Option<u64>, heartbeat: &Heartbeat) -> Finding {
        let known = self.nodes.entry(host_id).or_default();
        let is_new_boot = heartbeat.boot > known.boot;
        if heartbeat.epoch == Index(0) || heartbeat.boot < known.boot || (is_new_boot && !heartbeat.is_whole) {
            return Finding::Unknown;
        }
        let before = known.clone();
        let is_over = |boot: u64| boot > known.boot || (boot == known.boot && known.is_older);
        if doubted_since.is_some_and(is_over) {
            *known = Known { boot: known.boot, ..Known::default() };
        }
        if is_new_boot {
            (known.is_older, known.boot) = (known.is_less(heartbeat), heartbeat.boot);
        }
        if !known.is_older {
            known.raise(heartbeat);
        }
        self.is_changed |= *known != before;
        if known.is_older { Finding::Older } else { Finding::Whole }
    }

    /// True if the node's latest boot began with less than was heard before.
    pub fn is_older(&self, host_id: HostId) -> bool {
        self.nodes.get(&host_id).is_some_and(|known| known.is_older)
    }

    /// The highest epoch that the node has reported.
    pub fn epoch(&self, host_id: HostId) -> Index {
        self.nodes.get(&host_id).map_or(Index(0), |known| known.epoch)
    }

    /// Forgets all nodes but those.
    pub fn retain(&mut self, is_kept: impl Fn(HostId) -> bool) {
        let count = self.nodes.len();
        self.nodes.retain(|host_id, _| is_kept(*host_id));
        self.is_changed |= self.nodes.len() < count;
    }

    /// The file's bytes, if something has changed since the last call.
    pub fn take_changes(&mut self, group: u128) -> Option<Vec<u8>> {
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        let mut out = [&MAGIC[..], &VERSION.to_be_bytes(), &[0; 4], &group.to_be_bytes()].concat();
        varint::encode(self.nodes.len() as u64, &mut out);
        for (host_id, known) in &self.nodes {
            out.extend_from_slice(&host_id.0);
            out.push(u8::from(known.is_older));
            out.extend_from_slice(&known.boot.to_be_bytes());
            out.extend_from_slice(&known.epoch.0.to_be_bytes());
            let position = |(shard, (boot, sequence)): (&u16, &(u64, u64))| Position {
                boot: *boot,
                shard: *shard,
                sequence: *sequence,
            };
            encode_positions(&known.ends.iter().map(position).collect::<Vec<_>>(), &mut out);
        }
        let crc = crc32fast::hash(&out[HEAD_BYTES..]);
        out[HEAD_BYTES - 4..HEAD_BYTES].copy_from_slice(&crc.to_be_bytes());
        Some(out)
    }

    /// The changes that were taken are not on disk: they are to be written again.
    pub fn put_back(&mut self) {
        self.is_changed = true;
    }

    /// Reads a file. One of another group says nothing of this one's nodes.
    pub fn decode(group: u128, bytes: &[u8]) -> Result<Heard, DecodeError> {
        let mut reader = Reader::new(bytes);
        if reader.array()? != MAGIC {
            return Err(invalid("it does not begin as such a file does"));
        }
        match reader.u32()? {
            VERSION => {}
            version => return Err(invalid(&format!("version {version}, and {VERSION} is supported"))),
        }
        if reader.u32()? != crc32fast::hash(&bytes[HEAD_BYTES..]) {
            return Err(invalid("invalid checksum"));
        }
        let of = u128::from_be_bytes(reader.array()?);
        let mut nodes = BTreeMap::new();
        for _ in 0..reader.varint()? {
            let (host_id, is_older) = (HostId(reader.array()?), reader.u8()? > 0);
            let (boot, epoch) = (reader.u64()?, Index(reader.u64()?));
            let ends = decode_positions(&mut reader)?.into_iter();
            let ends = ends.map(|at| (at.shard, (at.boot, at.sequence))).collect();
            nodes.insert(host_id, Known { boot, epoch, ends, is_older });
        }
        if of != group {
            nodes.clear();
        }
        Ok(Heard { nodes, is_changed: false })
    }
}

impl Known {
    /// True if the heartbeat's start began with less than this: its epoch, or what a boot wrote to a shard's log.
    fn is_less(&self, heartbeat: &Heartbeat) -> bool {
        let ends = heartbeat.positions.iter().map(|at| ((at.shard, at.boot), at.sequence));
        let ends: BTreeMap<(u16, u64), u64> = ends.collect();
        let is_less = |(shard, (boot, sequence)): (&u16, &(u64, u64))| match ends.get(&(*shard, *boot)) {
            Some(end) => end < sequence,
            // Of a disk from before that boot wrote. Later boots alone say nothing: a node keeps the ends of a few.
            None => ends.range((*shard, 0)..(*shard, *boot)).next().is_some(),
        };
        heartbeat.began < self.epoch || self.ends.iter().any(is_less)
    }

    fn raise(&mut self, heartbeat: &Heartbeat) {
        self.epoch = self.epoch.max(heartbeat.epoch);
        for at in &heartbeat.positions {
            let end = self.ends.entry(at.shard).or_default();
            *end = (*end).max((at.boot, at.sequence));
        }
    }
}

fn invalid(problem: &str) -> DecodeError {
    DecodeError::Invalid { problem: problem.to_owned() }
}

#[cfg(test)]
mod tests;
