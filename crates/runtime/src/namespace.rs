//! What directories hold, and locks on files.

use crate::reactor::Descriptor;

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirEntry {
    /// The name inside its directory. Names that are not UTF-8 are left out of listings.
    pub name: String,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// The file's length in bytes; 0 for directories.
    pub len: u64,
}

/// An exclusive lock on a file, held until dropped or until the process ends in whatever way.
#[derive(Debug)]
pub struct FileLock {
    _descriptor: Descriptor,
}

impl FileLock {
    pub(crate) fn new(descriptor: Descriptor) -> Self {
        FileLock { _descriptor: descriptor }
    }
}
