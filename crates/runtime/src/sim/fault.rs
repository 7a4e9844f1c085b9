//! What goes wrong on a disk when told to.

use super::disk::Numbers;

/// A kind of disk operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiskCall {
    /// Opening, or making, a file.
    Open,
    /// Reading from a file.
    Read,
    /// Writing into a file.
    Write,
    /// Waiting until a file is on the disk.
    Sync,
    /// Reserving room, cutting or extending.
    Resize,
    /// Making, renaming, removing names.
    Name,
    /// Waiting until a directory is on the disk.
    SyncDirectory,
    /// Asking: lengths, listings, locks.
    Ask,
}

/// The error of a failed operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskError {
    /// EIO: the medium failed.
    Medium,
    /// ENOSPC: the disk is full.
    Full,
}

impl DiskError {
    pub(crate) fn number(self) -> i32 {
        match self {
            DiskError::Medium => libc::EIO,
            DiskError::Full => libc::ENOSPC,
        }
    }
}

/// Which operations fail. The first that matches does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskFault {
    /// The kind; `None`: any.
    pub call: Option<DiskCall>,
    /// Only the operation with this number of [`super::World::disk_calls`]; `None`: any.
    pub at: Option<u64>,
    /// How many of a million operations that match fail.
    pub per_million: u32,
    /// With what.
    pub error: DiskError,
}

impl DiskFault {
    /// The operation with that number fails.
    pub fn at(number: u64, error: DiskError) -> Self {
        DiskFault { call: None, at: Some(number), per_million: 1_000_000, error }
    }
}

/// Whether an operation can end with the error: asking and reading take no room.
pub(super) fn fails(faults: &[DiskFault], call: DiskCall, number: u64, random: &mut Numbers) -> Option<DiskError> {
    let is_possible = |error| {
        let takes_room = matches!(call, DiskCall::Open | DiskCall::Write | DiskCall::Resize | DiskCall::Name);
        error == DiskError::Medium || takes_room
    };
    let fault = faults.iter().find(|fault| {
        fault.call.is_none_or(|kind| kind == call)
            && fault.at.is_none_or(|at| at == number)
            && is_possible(fault.error)
            && (fault.per_million >= 1_000_000 || random.next() % 1_000_000 < u64::from(fault.per_million))
    });
    fault.map(|fault| fault.error)
}
