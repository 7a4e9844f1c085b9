//! Reading files below the root, with bounds.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Host, NotKnown, plain};

/// The longest file that is read. `/proc/cpuinfo` and `/proc/interrupts` of hosts with a thousand processors are shorter.
const FILE_BYTES_MAX: u64 = 8 << 20;
/// The longest file that has one value in it.
const VALUE_BYTES_MAX: u64 = 4096;
/// The most entries of a folder that are looked at.
const ENTRIES_MAX: usize = 10_000;

impl Host {
    /// All that a file says. `path` is absolute, as on the host itself.
    pub(crate) fn text(&self, path: &str) -> Result<String, NotKnown> {
        self.text_up_to(path, FILE_BYTES_MAX)
    }

    /// The one value that a file has, without the spaces around it. It is one line of printable ASCII, or it is not understood.
    pub(crate) fn value(&self, path: &str) -> Result<String, NotKnown> {
        let text = self.text_up_to(path, VALUE_BYTES_MAX)?;
        let value = text.trim();
        let is_plain =
            !value.is_empty() && value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic() || byte == b'\t');
        if is_plain { Ok(value.to_owned()) } else { Err(NotKnown::unexpected(path, &text)) }
    }

    /// The whole number that a file has.
    pub(crate) fn number(&self, path: &str) -> Result<u64, NotKnown> {
        let value = self.value(path)?;
        value.parse().map_err(|_| NotKnown::unexpected(path, &value))
    }

    /// Whether there is such a file or folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        fs::symlink_metadata(self.below_root(path)).is_ok()
    }

    /// The names in a folder, in order.
    pub(crate) fn names(&self, path: &str) -> Result<Vec<String>, NotKnown> {
        let place = self.place(path)?;
        #[expect(clippy::disallowed_methods, reason = "no shard runs in the doctor")]
        let entries = fs::read_dir(place).map_err(|error| refused(path, &error))?;
        let mut names: Vec<String> =
            entries.take(ENTRIES_MAX).filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Where a path leads when links are followed, as a path of the host.
    pub(crate) fn resolved(&self, path: &str) -> Result<String, NotKnown> {
        let place = self.place(path)?;
        let root = fs::canonicalize(&self.root).map_err(|error| refused("/", &error))?;
        let inside = place.strip_prefix(&root).ok().and_then(Path::to_str);
        inside.map(|inside| format!("/{inside}")).ok_or_else(|| NotKnown::unexpected(path, &place.to_string_lossy()))
    }

    /// Where a file is for this process. A link that leads out of the root leads nowhere.
    fn place(&self, path: &str) -> Result<PathBuf, NotKnown> {
        let place = fs::canonicalize(self.below_root(path)).map_err(|error| refused(path, &error))?;
        let root = fs::canonicalize(&self.root).map_err(|error| refused("/", &error))?;
        if place.starts_with(root) { Ok(place) } else { Err(NotKnown::Absent { path: path.to_owned() }) }
    }

    fn below_root(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn text_up_to(&self, path: &str, bytes_max: u64) -> Result<String, NotKnown> {
        let place = self.place(path)?;
        // A pipe or a device would make the read wait for somebody.
        let metadata = fs::metadata(&place).map_err(|error| refused(path, &error))?;
        if !metadata.is_file() {
            return Err(NotKnown::Unreadable { path: path.to_owned(), reason: "not a regular file".to_owned() });
        }
        #[expect(clippy::disallowed_methods, reason = "no shard runs in the doctor")]
        let file = fs::File::open(&place).map_err(|error| refused(path, &error))?;
        let mut bytes = Vec::new();
        file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| refused(path, &error))?;
        if bytes.len() as u64 > bytes_max {
            return Err(NotKnown::TooLong { path: path.to_owned(), bytes_max });
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn refused(path: &str, error: &io::Error) -> NotKnown {
    match error.kind() {
        io::ErrorKind::NotFound => NotKnown::Absent { path: path.to_owned() },
        io::ErrorKind::PermissionDenied => {
            NotKnown::Unreadable { path: path.to_owned(), reason: "permission denied".to_owned() }
        }
        _ => NotKnown::Unreadable { path: path.to_owned(), reason: plain(error) },
    }
}
