//! The list of a shard's segments that must be there: what tells a segment that was released from one that is lost.
//!
//! A segment is on the list before its first group is written, and off it before its file is removed or used again. The file has
//! two slots that are written in turn, in place: an interrupted write leaves the other one, and a full disk takes it. It lies beside
//! the manifests, so that it outlasts the log's folder. `docs/internals/commit-log.md` draws it.
//!
//! It does not say what the segments hold, and reading them does not need it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use runtime::sync::Semaphore;
use runtime::{AlignedBuf, File, OpenOptions, Runtime};
use stdx::Reader;

use crate::commitlog::folder::open_direct;
use crate::commitlog::format::BLOCK;
use crate::commitlog::io_error;
use crate::error::OpenError;

const MAGIC: [u8; 8] = *b"helelist";
const VERSION: u32 = 2;
/// The version without the ends of earlier boots.
const VERSION_WITHOUT_ENDS: u32 = 1;
/// One of the two places that are written in turn.
const SLOT_BYTES: usize = 4 * BLOCK;
/// Magic, checksum, version, number, boot, synced, count.
const SLOT_HEAD: usize = 8 + 4 + 4 + 8 + 8 + 8 + 4;
const ENTRY_BYTES: usize = 8 + 8 + 8 + 8 + 1;
/// Boots of which the list keeps where they end.
pub const BOOTS_KEPT: usize = 8;
/// Of earlier boots: count, and boot and sequence of each.
const ENDS_BYTES_MAX: usize = 4 + BOOTS_KEPT * 16;
/// Of more segments the oldest are left out: that they are missing is not noticed.
const ENTRIES_MAX: usize = (SLOT_BYTES - SLOT_HEAD - ENDS_BYTES_MAX) / ENTRY_BYTES;
/// In the place of a sequence that is not known.
const UNKNOWN: u64 = u64::MAX;

const NAME: &str = "segments-of-shard-";
const NEW: &str = ".new";

/// A segment that must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedSegment {
    /// Its id.
    pub segment: u64,
    /// The start of the process at which it was written.
    pub boot: u64,
    /// The log sequence of its first group; `None`: it had none when the list was written.
    pub start: Option<u64>,
    /// The least length of its file.
    pub bytes: u64,
    /// Its groups were read whole at a start, which cut it to `bytes`: they end there.
    pub is_cut: bool,
}

/// The contents of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// The segments, by id.
    pub segments: Vec<ListedSegment>,
    /// The start of the process that wrote the list.
    pub boot: u64,
    /// The sequence of that start up to which all was on the disk then.
    pub synced: u64,
    /// The same of earlier starts that wrote: of [`BOOTS_KEPT`] at most.
    pub earlier: BTreeMap<u64, u64>,
}

fn folder(data: &Path) -> PathBuf {
    data.join("manifest")
}

fn path_of(data: &Path, shard: u16) -> PathBuf {
    folder(data).join(format!("{NAME}{shard}"))
}

/// The shards that have a list.
pub async fn shards_listed(runtime: &Runtime, data: &Path) -> Result<Vec<u16>, OpenError> {
    let folder = folder(data);
    if !runtime.exists(&folder).await.map_err(io_error(&folder))? {
        return Ok(Vec::new());
    }
    let files = runtime.read_dir(&folder).await.map_err(io_error(&folder))?;
    Ok(files.into_iter().filter_map(|file| file.name.strip_prefix(NAME)?.parse().ok()).collect())
}

/// One shard's list.
pub struct SegmentList {
    runtime: Runtime,
    path: PathBuf,
    /// Held during a write.
    turn: Semaphore,
    file: RefCell<Option<File>>,
    /// The number of the last write.
    number: Cell<u64>,
    /// The contents on the disk; `None`: no list, or none that can be read.
    written: RefCell<Option<Listed>>,
}

impl SegmentList {
    /// The list of a shard as it is on the disk, if there is one.
    pub async fn open(runtime: &Runtime, data: &Path, shard: u16) -> Result<SegmentList, OpenError> {
        let path = path_of(data, shard);
        let list = SegmentList {
            runtime: runtime.clone(),
            path: path.clone(),
            turn: Semaphore::new(1),
            file: RefCell::new(None),
            number: Cell::new(0),
            written: RefCell::new(None),
        };
        let bytes = match runtime.read_file(&path).await {
            // The folder may not be there either.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(list),
            bytes => bytes.map_err(io_error(&path))?,
        };
        match bytes.chunks(SLOT_BYTES).filter_map(decode).max_by_key(|(number, _)| *number) {
            Some((number, listed)) => {
                list.number.set(number);
                list.written.replace(Some(listed));
            }
            None => tracing::error!(
                path = %path.display(),
                "cannot read the list of commit log segments; missing segments go undetected at this start"
            ),
        }
        Ok(list)
    }

    /// The contents on the disk.
    pub fn listed(&self) -> Option<Listed> {
        self.written.borrow().clone()
    }

    /// Has the disk say what `listed` gives when it is this write's turn. Nothing is written where it says so already.
    pub async fn write(&self, listed: impl FnOnce() -> Listed) -> io::Result<()> {
        let _turn = self.turn.acquire().await;
        let mut listed = listed();
        listed.segments.sort_by_key(|segment| segment.segment);
        listed.segments.drain(..listed.segments.len().saturating_sub(ENTRIES_MAX));
        let is_written = match &*self.written.borrow() {
            Some(written) => written.segments == listed.segments,
            None => listed.segments.is_empty(),
        };
        if is_written {
            return Ok(());
        }
        let number = self.number.get() + 1;
        let slot = encode(number, &listed);
        if self.written.borrow().is_some() {
            let file = self.opened().await?;
            // Should it fail, it is not known what the disk has; the next write goes to the same slot.
            file.write_at(slot, number % 2 * SLOT_BYTES as u64).await.0?;
            file.sync_data().await?;
        } else {
            self.make(number, slot).await?;
        }
        self.number.set(number);
        self.written.replace(Some(listed));
        Ok(())
    }

    async fn opened(&self) -> io::Result<File> {
        if let Some(file) = &*self.file.borrow() {
            return Ok(file.clone());
        }
        let options = OpenOptions { write: true, dsync: true, ..OpenOptions::default() };
        let file = open_direct(&self.runtime, &self.path, options).await?;
        self.file.replace(Some(file.clone()));
        Ok(file)
    }

    async fn make(&self, number: u64, slot: AlignedBuf) -> io::Result<()> {
        let name = self.path.file_name().and_then(|name| name.to_str()).expect("the list has a name");
        let new = self.path.with_file_name(format!("{name}{NEW}"));
        let mut both = AlignedBuf::zeroed(2 * SLOT_BYTES);
        let at = (number % 2) as usize * SLOT_BYTES;
        both[at..at + SLOT_BYTES].copy_from_slice(&slot);
        let options = OpenOptions { write: true, create: true, truncate: true, ..OpenOptions::default() };
        let file = self.runtime.open(&new, options).await?;
        file.write_at(both, 0).await.0?;
        file.sync_all().await?;
        drop(file);
        self.runtime.rename(&new, &self.path).await?;
        self.runtime.sync_dir(self.path.parent().expect("the list is in a folder")).await
    }

    /// Removes the list, durably: nothing must be there any more.
    pub async fn remove(&self) -> io::Result<()> {
        let _turn = self.turn.acquire().await;
        self.file.replace(None);
        if self.runtime.exists(&self.path).await? {
            self.runtime.remove_file(&self.path).await?;
            self.runtime.sync_dir(self.path.parent().expect("the list is in a folder")).await?;
        }
        self.written.replace(None);
        Ok(())
    }
}

fn encode(number: u64, listed: &Listed) -> AlignedBuf {
    let mut checked = VERSION.to_be_bytes().to_vec();
    for word in [number, listed.boot, listed.synced] {
        checked.extend_from_slice(&word.to_be_bytes());
    }
    checked.extend_from_slice(&(listed.segments.len() as u32).to_be_bytes());
    for segment in &listed.segments {
        for word in [segment.segment, segment.boot, segment.start.unwrap_or(UNKNOWN), segment.bytes] {
            checked.extend_from_slice(&word.to_be_bytes());
        }
        checked.push(u8::from(segment.is_cut));
    }
    checked.extend_from_slice(&(listed.earlier.len() as u32).to_be_bytes());
    for (boot, end) in &listed.earlier {
        checked.extend_from_slice(&boot.to_be_bytes());
        checked.extend_from_slice(&end.to_be_bytes());
    }
    let mut bytes = AlignedBuf::with_capacity(SLOT_BYTES);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&crc32fast::hash(&checked).to_be_bytes());
    bytes.extend_from_slice(&checked);
    bytes.resize(SLOT_BYTES, 0);
    bytes
}

fn decode(slot: &[u8]) -> Option<(u64, Listed)> {
    let mut reader = Reader::new(slot);
    let is_ours = reader.array().ok()? == MAGIC;
    let crc = reader.u32().ok()?;
    let checked = reader.bytes(reader.remaining()).ok()?;
    let (number, listed, length) = decode_checked(checked)?;
    let is_whole = is_ours && crc == crc32fast::hash(&checked[..length]);
    is_whole.then_some((number, listed))
}

/// The contents, and how many of the bytes they are.
fn decode_checked(bytes: &[u8]) -> Option<(u64, Listed, usize)> {
    let mut reader = Reader::new(bytes);
    let version = reader.u32().ok()?;
    let number = reader.u64().ok()?;
    let (boot, synced) = (reader.u64().ok()?, reader.u64().ok()?);
    let count = reader.u32().ok()? as usize;
    if count > reader.remaining() / ENTRY_BYTES {
        return None;
    }
    let mut segments = Vec::with_capacity(count);
    for _ in 0..count {
        segments.push(ListedSegment {
            segment: reader.u64().ok()?,
            boot: reader.u64().ok()?,
            start: Some(reader.u64().ok()?).filter(|start| *start != UNKNOWN),
            bytes: reader.u64().ok()?,
            is_cut: reader.u8().ok()? != 0,
        });
    }
    let mut earlier = BTreeMap::new();
    let ends = match version {
        VERSION => reader.u32().ok()? as usize,
        VERSION_WITHOUT_ENDS => 0,
        _ => return None,
    };
    for _ in 0..ends.min(BOOTS_KEPT) {
        earlier.insert(reader.u64().ok()?, reader.u64().ok()?);
    }
    Some((number, Listed { segments, boot, synced, earlier }, bytes.len() - reader.remaining()))
}

impl Listed {
    /// The boots of which the list has all segments that are needed.
    pub fn boots(&self) -> BTreeSet<u64> {
        self.earlier.keys().copied().chain([self.boot]).collect()
    }

    /// Where what each boot wrote ends on the disk, as far as the list says.
    pub fn ends(&self) -> BTreeMap<u64, u64> {
        let own = (self.synced > 0).then_some((self.boot, self.synced));
        let mut ends = self.earlier.clone();
        ends.extend(own);
        while ends.len() > BOOTS_KEPT {
            ends.pop_first();
        }
        ends
    }

    /// How much is lost with a segment of the list, in words.
    pub fn loss(&self, segment: &ListedSegment) -> String {
        let ListedSegment { boot, bytes, .. } = *segment;
        let Some(start) = segment.start else {
            let room = bytes.saturating_sub(BLOCK as u64);
            return format!("records of boot {boot}, at most {room} bytes");
        };
        let of_boot = self.segments.iter().filter(|other| other.boot == boot && other.segment > segment.segment);
        match of_boot.filter_map(|other| other.start).min() {
            Some(end) => format!("records of boot {boot}: log sequences {start} to {end}, {} bytes", end - start),
            None if self.boot == boot && self.synced > start => {
                format!("records of boot {boot}: log sequences {start} to {} at least", self.synced)
            }
            None => {
                let room = bytes.saturating_sub(BLOCK as u64);
                format!("records of boot {boot} from log sequence {start} on, at most {room} bytes")
            }
        }
    }
}

/// Removes the lists of shards with this number and higher ones, which an earlier shard count had.
pub async fn remove_lists_from(runtime: &Runtime, data: &Path, first: u16) -> Result<(), OpenError> {
    for shard in shards_listed(runtime, data).await?.into_iter().filter(|shard| *shard >= first) {
        SegmentList::open(runtime, data, shard).await?.remove().await.map_err(io_error(data))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(count: u64) -> Listed {
        let segment = |id: u64| ListedSegment {
            segment: id,
            boot: 3,
            start: id.is_multiple_of(2).then_some(id * 1000),
            bytes: 4096 * id,
            is_cut: id.is_multiple_of(3),
        };
        Listed {
            segments: (1..=count).map(segment).collect(),
            boot: 7,
            synced: 99,
            earlier: [(count, 5), (count + 1, 7)].into(),
        }
    }

    #[test]
    fn a_slot_round_trips_and_refuses_changes() {
        for count in [0, 1, 5, ENTRIES_MAX as u64] {
            let listed = example(count);
            let bytes = encode(5, &listed);
            assert_eq!((bytes.len(), decode(&bytes)), (SLOT_BYTES, Some((5, listed))));
        }
        let bytes = encode(5, &example(2));
        for bit in 0..(SLOT_HEAD + 2 * ENTRY_BYTES + 4 + 2 * 16) * 8 {
            let mut flipped = bytes.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&flipped), None, "bit {bit}");
        }
        for length in 0..SLOT_HEAD {
            assert_eq!(decode(&bytes[..length]), None, "{length} bytes");
        }
        assert_eq!(decode(&[0; SLOT_BYTES]), None);
    }

    #[test]
    fn a_list_of_the_first_version_is_read() {
        let mut listed = Listed { earlier: BTreeMap::new(), ..example(2) };
        let mut slot = encode(5, &listed).to_vec();
        slot[12..16].copy_from_slice(&VERSION_WITHOUT_ENDS.to_be_bytes());
        let crc = crc32fast::hash(&slot[12..SLOT_HEAD + 2 * ENTRY_BYTES]);
        slot[8..12].copy_from_slice(&crc.to_be_bytes());
        assert_eq!(decode(&slot), Some((5, listed.clone())));
        assert_eq!(listed.ends(), [(7, 99)].into());
        listed.synced = 0;
        assert_eq!(listed.ends(), [].into());
    }

    #[test]
    fn a_loss_is_told_as_far_as_it_is_known() {
        let mut listed = example(5);
        let loss = |listed: &Listed, at: usize| listed.loss(&listed.segments[at]);
        assert_eq!(loss(&listed, 1), "records of boot 3: log sequences 2000 to 4000, 2000 bytes");
        assert_eq!(loss(&listed, 0), "records of boot 3, at most 0 bytes");
        assert_eq!(loss(&listed, 3), "records of boot 3 from log sequence 4000 on, at most 12288 bytes");
        (listed.boot, listed.synced) = (3, 5000);
        assert_eq!(loss(&listed, 3), "records of boot 3: log sequences 4000 to 5000 at least");
    }
}
