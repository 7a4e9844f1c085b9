//! Lists of files that are being taken in, one in a folder: a crash leaves all of a list or nothing.

use std::io;
use std::path::{Path, PathBuf};

use runtime::{AlignedBuf, OpenOptions, Runtime};
use sstable::{Component, Descriptor};

use crate::commitlog::io_error;
use crate::discard::not_found_is_fine;
use crate::error::OpenError;

/// A list's name.
const LIST: &str = "being-taken-in.txt";
/// What the name ends in until the list is whole.
const NEW: &str = ".new";
/// The last line.
const END: &str = "end";

fn path_in(folder: &Path) -> PathBuf {
    folder.join(LIST)
}

/// The list in a folder, if there is one, each line as `entry` reads it.
pub(super) async fn read<T>(
    runtime: &Runtime,
    folder: &Path,
    entry: impl Fn(&str) -> Option<T>,
) -> Result<Option<Vec<T>>, OpenError> {
    let path = path_in(folder);
    let bytes = match runtime.read_file(&path).await {
        // The folder may not be there either.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        bytes => bytes.map_err(io_error(&path))?,
    };
    let entries = std::str::from_utf8(&bytes).ok().and_then(|text| parse(text, entry));
    let corrupt = || {
        let source = io::Error::new(io::ErrorKind::InvalidData, "the list of sstables being imported is unreadable");
        OpenError::Io { path: path.clone(), source }
    };
    entries.map(Some).ok_or_else(corrupt)
}

/// Lays a list into a folder, durably.
pub(super) async fn write(
    runtime: &Runtime,
    folder: &Path,
    lines: impl Iterator<Item = String>,
) -> Result<(), OpenError> {
    let (path, new) = (path_in(folder), folder.join(format!("{LIST}{NEW}")));
    write_synced(runtime, &new, text(lines).as_bytes()).await?;
    runtime.rename(&new, &path).await.map_err(io_error(&path))?;
    runtime.sync_dir(folder).await.map_err(io_error(folder))
}

/// Removes a folder's list, durably.
pub(super) async fn remove(runtime: &Runtime, folder: &Path) -> Result<(), OpenError> {
    let path = path_in(folder);
    not_found_is_fine(runtime.remove_file(&path).await).map_err(io_error(&path))?;
    runtime.sync_dir(folder).await.map_err(io_error(folder))
}

/// The descriptor that a list names.
pub(super) fn descriptor(name: &str) -> Option<Descriptor> {
    let (descriptor, _) = Descriptor::parse(&format!("{name}-{}", Component::Toc.name()))?;
    Some(descriptor)
}

/// Writes a small file, whose contents are durable then.
pub(super) async fn write_synced(runtime: &Runtime, path: &Path, bytes: &[u8]) -> Result<(), OpenError> {
    let options = OpenOptions { write: true, create: true, truncate: true, ..OpenOptions::default() };
    let file = runtime.open(path, options).await.map_err(io_error(path))?;
    file.write_at(AlignedBuf::from(bytes), 0).await.0.map_err(io_error(path))?;
    file.sync_all().await.map_err(io_error(path))
}

fn text(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| line + "\n").collect::<String>() + END + "\n"
}

fn parse<T>(text: &str, entry: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.pop() != Some(END) {
        return None;
    }
    lines.into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written_or_not_at_all() {
        let names = ["nb-12-big", "da-3gw5_0lzc_1cb5c2ghfzwy2irqxx-bti"];
        let written = text(names.map(str::to_owned).into_iter());
        let read = parse(&written, descriptor).expect("it is whole");
        assert_eq!(read.iter().map(ToString::to_string).collect::<Vec<_>>(), names);
        assert_eq!(parse(written.trim_end_matches("end\n"), descriptor), None, "its end is missing");
        assert_eq!(parse("../../etc/nb-12-big\nend\n", descriptor), None);
        assert_eq!(parse("end\n", descriptor), Some(Vec::new()));
    }
}
