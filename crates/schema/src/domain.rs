//! The schema as a domain of the cluster's state: pure functions between its changes as bytes and the schema. Who keeps the bytes is not known here.
//!
//! ```text
//! change of the domain, version 1: varint count · change*      (each change carries its own version)
//! ```

use std::collections::BTreeSet;

use stdx::{Reader, varint};

use crate::change::{DecodeError, SchemaChange};
use crate::snapshot::Schema;

/// The version of the domain's changes that this code writes, and the newest that it reads.
pub const VERSION: u8 = 1;

/// The bytes of changes that take effect together.
pub fn encode(changes: &[SchemaChange]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::encode(changes.len() as u64, &mut bytes);
    for change in changes {
        change.encode(&mut bytes);
    }
    bytes
}

/// The changes that `bytes` are, all of them.
pub fn decode(bytes: &[u8]) -> Result<Vec<SchemaChange>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let mut changes = Vec::new();
    for _ in 0..reader.varint()? {
        changes.push(SchemaChange::decode(&mut reader)?);
    }
    match reader.remaining() {
        0 => Ok(changes),
        rest => Err(DecodeError::Invalid { problem: format!("{rest} bytes follow the last change") }),
    }
}

/// The bytes of the changes that make `schema` of an empty one; `None` if it is empty.
pub fn snapshot(schema: &Schema) -> Option<Vec<u8>> {
    let changes = schema.as_changes();
    (!changes.is_empty()).then(|| encode(&changes))
}

/// The identities of the tables that exist.
pub fn live_tables(schema: &Schema) -> BTreeSet<[u8; 16]> {
    schema.tables().map(|table| table.id.0).collect()
}

/// True if the changes only drop: a full disk must take them.
pub fn gives_room_back(changes: &[SchemaChange]) -> bool {
    changes.iter().all(|change| match change {
        SchemaChange::DropKeyspace(_) | SchemaChange::DropTable { .. } | SchemaChange::DropType { .. } => true,
        SchemaChange::PutKeyspace(_) | SchemaChange::PutTable(_) | SchemaChange::PutType(_) => false,
    })
}

#[cfg(test)]
mod tests;
