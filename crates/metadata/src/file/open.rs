//! Opening the metadata log, and looking at one without a change.

use std::cell::Cell;
use std::io;
use std::path::Path;

use planted::{Bug, Planted};
use runtime::Runtime;

use super::bounds::Bounds;
use super::folder;
use super::history::{History, LogState};
use super::layout;
use super::log::{Inner, MetadataLog, Place};
use crate::cluster::Domains;
use crate::error::{MetadataError, io_error};

/// The state of a data folder's metadata log, as found without a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundLog {
    /// There is none.
    Missing,
    /// There is a file of its name, which has no bytes or does not begin as a metadata log does.
    Headless,
    /// It holds no start of the process: the first one was interrupted, or the records were lost.
    WithoutStart,
    /// The number of the last start in it.
    LastBoot(u64),
}

/// A log that was opened, and the state that its records result in.
pub struct Opened {
    /// The log.
    pub log: MetadataLog,
    /// Facts of this node, and states of all registered domains.
    pub state: LogState,
    /// The log has the start's number, and the node's identity.
    pub(crate) is_counted: Cell<bool>,
}

impl MetadataLog {
    /// True if there is a metadata log in the data folder.
    pub async fn exists(runtime: &Runtime, dir: &Path) -> io::Result<bool> {
        runtime.exists(&folder::path_in(dir)).await
    }

    /// Reads the log in `dir` and changes nothing.
    pub async fn look(rt: &Runtime, dir: &Path, domains: &Domains) -> Result<FoundLog, MetadataError> {
        match read(rt, dir, domains).await {
            Err(MetadataError::NotALog { .. }) => Ok(FoundLog::Headless),
            read => Ok(match read? {
                Some(history) => history.boot().map_or(FoundLog::WithoutStart, FoundLog::LastBoot),
                None => FoundLog::Missing,
            }),
        }
    }

    /// The state that the records of the log in `dir` result in, without opening it: nothing is changed. `None` if there is no log.
    pub async fn peek(rt: &Runtime, dir: &Path, domains: &Domains) -> Result<Option<LogState>, MetadataError> {
        let Some(history) = read(rt, dir, domains).await? else { return Ok(None) };
        history.finish().map(Some).map_err(|error| MetadataError::of_record(&folder::path_in(dir), 0, &error))
    }

    /// Opens the log in `dir`, or makes it if it is not there, and applies all its records. A torn record at the end, which was never
    /// acknowledged, is cut off.
    ///
    /// Refuses a log with an entry of a domain that is not among `domains`, or of a version that it does not know.
    pub async fn open(rt: &Runtime, dir: &Path, domains: &Domains) -> Result<Opened, MetadataError> {
        MetadataLog::open_planted(rt, dir, domains, Planted::NONE).await
    }

    /// [`MetadataLog::open`], with a bug that was planted on purpose.
    pub async fn open_planted(
        rt: &Runtime,
        dir: &Path,
        domains: &Domains,
        planted: Planted,
    ) -> Result<Opened, MetadataError> {
        open(rt, dir, domains, planted, Bounds::OF_A_NODE).await
    }

    #[cfg(test)]
    pub(crate) async fn open_bounded(
        rt: &Runtime,
        dir: &Path,
        domains: &Domains,
        bounds: Bounds,
    ) -> Result<Opened, MetadataError> {
        open(rt, dir, domains, Planted::NONE, bounds).await
    }
}

/// The records of the log in `dir`; `None` if there is none.
async fn read(rt: &Runtime, dir: &Path, domains: &Domains) -> Result<Option<History>, MetadataError> {
    let path = folder::path_in(dir);
    if !rt.exists(&path).await.map_err(|source| io_error("look for", &path, source))? {
        return Ok(None);
    }
    let file = folder::open_to_read(rt, &path).await?;
    let bytes = folder::read_all(&file, &path, Bounds::OF_A_NODE.read_bytes_max()).await?;
    Ok(Some(folder::read_records(&bytes, &path, domains)?.0))
}

async fn open(
    rt: &Runtime,
    dir: &Path,
    domains: &Domains,
    planted: Planted,
    bounds: Bounds,
) -> Result<Opened, MetadataError> {
    let path = folder::path_in(dir);
    let dsync = !planted.is(Bug::MetadataNotSynced);
    if !rt.exists(&path).await.map_err(|source| io_error("look for", &path, source))? {
        folder::write_new(rt, dir, &layout::file_header(), dsync).await?;
        folder::put_in_place(rt, dir).await?;
    }
    let file = folder::open(rt, &path, dsync).await?;
    let bytes = folder::read_all(&file, &path, bounds.read_bytes_max()).await?;
    let (history, end) = folder::read_records(&bytes, &path, domains)?;
    let mut reserved = bytes.len();
    if bytes.get(end..).is_some_and(|rest| rest.iter().any(|byte| *byte != 0)) {
        tracing::warn!(path = %path.display(), offset = end, "metadata log ends in an incomplete write; truncating it");
        file.set_len(end as u64).await.map_err(|source| io_error("cut the torn end of", &path, source))?;
        reserved = end;
    }
    if dsync {
        // A killed process may have left its last record in a cache; it is acted upon from now on.
        file.sync_all().await.map_err(|source| io_error("sync", &path, source))?;
    }
    drop(bytes);
    let (records, end) = (history.count(), end as u64);
    let state = history.finish().map_err(|error| MetadataError::of_record(&path, 0, &error))?;
    let place = Place { runtime: rt.clone(), dir: dir.to_owned(), path, bounds, domains: domains.clone(), planted };
    let inner = Inner::new(place, file, records, end, reserved as u64);
    if end > bounds.compact_bytes {
        inner.compact(&state, end / 2).await?;
    }
    inner.keep_reserve(inner.end()).await?;
    Ok(Opened { log: MetadataLog::new(inner), state, is_counted: Cell::new(false) })
}
