//! The manifests of a node: their folder, which shard count's hold, and whose a shard reads at a start.

use std::io;
use std::path::{Path, PathBuf};

use runtime::{OpenOptions, Runtime};

use crate::commitlog::io_error;
use crate::error::OpenError;
use crate::manifest::layout::{self, Head};
use crate::manifest::{Contents, FoundManifest, Manifest, Record, aligned, read};

/// The name of the file that says which shard count's manifests hold.
const IN_FORCE: &str = "in-force";
/// What a file's name ends in until it is whole.
const NEW: &str = ".new";

/// What is written of a file at once: the head and so many records.
const PIECE_BYTES: usize = 32 * layout::RECORD_BYTES;

/// The folder of the manifests.
fn manifest_folder(data: &Path) -> PathBuf {
    data.join("manifest")
}

fn manifest_path(data: &Path, head: Head) -> PathBuf {
    manifest_folder(data).join(format!("shard-{}-of-{}", head.shard, head.shard_count))
}

fn head_of_name(name: &str) -> Option<Head> {
    let (shard, shard_count) = name.strip_prefix("shard-")?.split_once("-of-")?;
    Some(Head { shard: shard.parse().ok()?, shard_count: shard_count.parse().ok()? })
}

/// The greatest boot that a manifest names; 0: there is none. One that cannot be read says nothing here.
pub async fn last_boot(runtime: &Runtime, data: &Path) -> Result<u64, OpenError> {
    let folder = manifest_folder(data);
    if !runtime.exists(&folder).await.map_err(io_error(&folder))? {
        return Ok(0);
    }
    let mut last = 0;
    for file in runtime.read_dir(&folder).await.map_err(io_error(&folder))? {
        if head_of_name(&file.name).is_none() || file.is_dir {
            continue;
        }
        let path = folder.join(&file.name);
        let bytes = runtime.read_file(&path).await.map_err(io_error(&path))?;
        let Ok(found) = layout::read(&bytes) else { continue };
        let records = found.payloads.iter().filter_map(|payload| Record::decode(payload).ok());
        last = last.max(records.map(|record| record.boot()).max().unwrap_or(0));
    }
    Ok(last)
}

/// The manifests of one node, seen from one of its shards.
#[derive(Clone)]
pub struct Manifests {
    runtime: Runtime,
    data: PathBuf,
    head: Head,
}

/// What holds at a start.
pub enum InForce {
    /// Nothing yet.
    None,
    /// This shard's own manifest of before.
    Own(FoundManifest),
    /// Those of all shards of another count, by shard.
    Other(Vec<(u16, Contents)>),
}

impl Manifests {
    /// Those in `data`, seen from this shard of `shard_count`.
    pub fn new(runtime: &Runtime, data: &Path, shard_count: u16) -> Manifests {
        let head = Head { shard: runtime.shard().0, shard_count };
        Manifests { runtime: runtime.clone(), data: data.to_owned(), head }
    }

    fn in_force_path(&self) -> PathBuf {
        manifest_folder(&self.data).join(IN_FORCE)
    }

    /// Which shard count's manifests hold.
    async fn count_in_force(&self) -> Result<Option<u16>, OpenError> {
        let path = self.in_force_path();
        if !self.runtime.exists(&path).await.map_err(io_error(&path))? {
            return Ok(None);
        }
        let bytes = self.runtime.read_file(&path).await.map_err(io_error(&path))?;
        let corrupt = |what: &str| OpenError::DamagedManifest { path: path.clone(), offset: 0, what: what.to_owned() };
        let found = layout::read(&bytes).map_err(|_| corrupt("unreadable record"))?;
        match found.payloads.first().map(|payload| Record::decode(payload)) {
            Some(Ok(Record::InForce(count))) => Ok(Some(count)),
            _ => Err(corrupt("no record of the shard count")),
        }
    }

    /// Reads what holds. Makes the folder.
    pub async fn look(&self) -> Result<InForce, OpenError> {
        let folder = manifest_folder(&self.data);
        self.runtime.create_dir_all(&folder).await.map_err(io_error(&folder))?;
        self.runtime.sync_dir(&self.data).await.map_err(io_error(&self.data))?;
        match self.count_in_force().await? {
            None => Ok(InForce::None),
            Some(count) if count == self.head.shard_count => {
                let found = read(&self.runtime, &manifest_path(&self.data, self.head), self.head).await?;
                Ok(InForce::Own(found))
            }
            Some(count) => Ok(InForce::Other(self.all_of(count).await?)),
        }
    }

    /// The contents of the manifests in force, of whichever shard count. Before any shard is opened.
    pub async fn all_in_force(&self) -> Result<Vec<(u16, Contents)>, OpenError> {
        match self.count_in_force().await? {
            None => Ok(Vec::new()),
            Some(count) => self.all_of(count).await,
        }
    }

    /// What the manifests of all shards of a count say. Their owners may be appending to them: then the last record may be
    /// missing.
    async fn all_of(&self, shard_count: u16) -> Result<Vec<(u16, Contents)>, OpenError> {
        let mut all = Vec::new();
        for shard in 0..shard_count {
            let head = Head { shard, shard_count };
            let found = read(&self.runtime, &manifest_path(&self.data, head), head).await?;
            all.push((shard, found.contents));
        }
        Ok(all)
    }

    /// What the manifests of all shards of the present count say.
    pub async fn all(&self) -> Result<Vec<(u16, Contents)>, OpenError> {
        self.all_of(self.head.shard_count).await
    }

    /// Makes durable what was seen of the manifests of the present count.
    pub async fn sync_all(&self) -> Result<(), OpenError> {
        for shard in 0..self.head.shard_count {
            let path = manifest_path(&self.data, Head { shard, ..self.head });
            let options = OpenOptions { read: true, ..OpenOptions::default() };
            let file = self.runtime.open(&path, options).await.map_err(io_error(&path))?;
            file.sync_all().await.map_err(io_error(&path))?;
        }
        Ok(())
    }

    /// Goes on with this shard's manifest of before.
    pub async fn reopen(&self, found: FoundManifest) -> Result<Manifest, OpenError> {
        let path = manifest_path(&self.data, self.head);
        let manifest = Manifest::new(&self.runtime, path.clone(), self.head, found.contents);
        if found.is_worn {
            manifest.compact().await.map_err(|error| io_error(&path)(error.source))?;
            return Ok(manifest);
        }
        let options = OpenOptions { write: true, dsync: true, ..OpenOptions::default() };
        let file = crate::commitlog::open_direct(&self.runtime, &path, options).await.map_err(io_error(&path))?;
        // A killed process may have left its last record in a cache; it is acted upon from now on.
        file.sync_all().await.map_err(io_error(&path))?;
        manifest.file.replace(Some(file));
        manifest.end.set(found.end);
        manifest.sequence.set(found.sequence);
        Ok(manifest)
    }

    /// Makes this shard's manifest, in the place of one that does not hold.
    pub async fn make(&self, contents: Contents) -> Result<Manifest, OpenError> {
        let path = manifest_path(&self.data, self.head);
        let manifest = Manifest::new(&self.runtime, path.clone(), self.head, contents);
        manifest.compact().await.map_err(|error| io_error(&path)(error.source))?;
        Ok(manifest)
    }

    /// Whether the manifests of another count hold.
    pub async fn are_others_in_force(&self) -> Result<bool, OpenError> {
        Ok(self.count_in_force().await?.is_some_and(|count| count != self.head.shard_count))
    }

    /// Has the manifests of the present count hold, and removes all others. When every shard has made its own.
    pub async fn put_in_force(&self) -> Result<(), OpenError> {
        let path = self.in_force_path();
        if self.count_in_force().await? != Some(self.head.shard_count) {
            stdx::sometimes!("manifests put in force");
            let payload = Record::InForce(self.head.shard_count).encode();
            write_whole(&self.runtime, &path, self.head, [payload]).await.map_err(io_error(&path))?;
        }
        let folder = manifest_folder(&self.data);
        let mut is_changed = false;
        for file in self.runtime.read_dir(&folder).await.map_err(io_error(&folder))? {
            let is_of_another = head_of_name(&file.name).is_some_and(|head| head.shard_count != self.head.shard_count);
            if is_of_another {
                let path = folder.join(&file.name);
                self.runtime.remove_file(&path).await.map_err(io_error(&path))?;
                is_changed = true;
            }
        }
        if is_changed {
            self.runtime.sync_dir(&folder).await.map_err(io_error(&folder))?;
        }
        Ok(())
    }

    /// Whether the manifests of the present count hold, durably.
    pub async fn are_in_force(&self) -> Result<bool, OpenError> {
        if self.count_in_force().await? != Some(self.head.shard_count) {
            return Ok(false);
        }
        // Shard 0 may have given the file its name a moment ago.
        let folder = manifest_folder(&self.data);
        self.runtime.sync_dir(&folder).await.map_err(io_error(&folder))?;
        Ok(true)
    }
}

/// Writes a whole file under another name first: it is there as it was before, or as it is meant to be. A manifest of thousands of files is
/// written in pieces, between which the shard does other things. Gives the file's length.
pub(super) async fn write_whole(
    runtime: &Runtime,
    path: &Path,
    head: Head,
    payloads: impl IntoIterator<Item = Vec<u8>>,
) -> io::Result<u64> {
    let name = path.file_name().and_then(|name| name.to_str()).expect("a file of the manifest has a name");
    let new = path.with_file_name(format!("{name}{NEW}"));
    let options = OpenOptions { write: true, create: true, truncate: true, ..OpenOptions::default() };
    let file = runtime.open(&new, options).await?;
    let mut piece = aligned(&layout::head_bytes(head));
    let mut end = 0;
    for (payload, sequence) in payloads.into_iter().zip(0..) {
        if piece.len() + layout::RECORD_BYTES > PIECE_BYTES {
            let (result, written) = file.write_at(piece, end).await;
            result?;
            end += written.len() as u64;
            piece = written;
            piece.clear();
        }
        piece.extend_from_slice(&layout::record_bytes(sequence, &payload));
    }
    let (result, written) = file.write_at(piece, end).await;
    result?;
    file.sync_all().await?;
    drop(file);
    runtime.rename(&new, path).await?;
    runtime.sync_dir(path.parent().expect("a file of the manifest is in a folder")).await?;
    Ok(end + written.len() as u64)
}
