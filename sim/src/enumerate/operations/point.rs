//! The crash points of an operation: which node ends, when, and how.

use runtime::sim::Keep;

/// The part in the operation of the node that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Leader,
    Source,
    Receiver,
}

impl Role {
    pub(super) const ALL: [Role; 3] = [Role::Leader, Role::Source, Role::Receiver];
}

/// The stage of the operation, as its leader showed it last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Before,
    Queued,
    Planned,
    WriteBoth,
    Copy,
    ReadNew,
    /// It has ended, and leftovers may be there.
    After,
}

/// The way in which a node ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its process is killed: the disk keeps everything.
    Kill,
    /// Its power is cut: the disk keeps what was synced.
    Cut,
    /// Its power is cut, and of each other change the disk keeps nothing, all or a part.
    Reordered,
}

impl End {
    pub(super) const ALL: [End; 3] = [End::Kill, End::Cut, End::Reordered];

    /// The changes that are kept; `None`: all, and those under way end.
    pub(super) fn keep(self, seed: u64) -> Option<Keep> {
        match self {
            End::Kill => None,
            End::Cut => Some(Keep::Nothing),
            End::Reordered => Some(Keep::Reordered { seed }),
        }
    }
}

/// A moment at which a node ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) role: Role,
    /// Boundaries of its disk since the operation was asked for.
    pub(super) boundary: usize,
    pub(super) end: End,
}
