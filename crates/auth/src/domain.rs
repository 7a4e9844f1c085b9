//! The access state as a domain of the cluster's state: its number, and its functions between bytes and state. The owner of the log is not known here.

use crate::change::AccessChange;
use crate::codec;
use crate::snapshot::Access;

/// The version of the domain's changes that this code writes, and the newest that it reads.
pub const VERSION: u8 = codec::VERSION;

/// The bytes of the changes that make `access` of the default state; `None` if there are none.
pub fn snapshot(access: &Access) -> Option<Vec<u8>> {
    let changes = access.as_changes();
    (!changes.is_empty()).then(|| codec::encode(&changes))
}

/// True if the changes only give room back: a full disk must take them.
pub fn gives_room_back(changes: &[AccessChange]) -> bool {
    changes.iter().all(AccessChange::gives_room_back)
}
