//! The schema as a domain of the metadata log, and truncations between the log's words and the storage engine's: neither knows the other.

use std::collections::BTreeSet;

use metadata::{DecodeError, Domain, DomainId, Entry, LocalState, Part, Position, Truncation};
use schema::{Schema, SchemaChange, TableId};
use storage::{ReplayPosition, Truncations};

/// The schema's changes and state. A node's start registers it.
#[derive(Debug)]
pub struct SchemaDomain;

impl SchemaDomain {
    /// The entry of changes that take effect together.
    pub fn entry(changes: &[SchemaChange]) -> Entry {
        Entry::of(Part {
            domain: SchemaDomain::ID,
            version: SchemaDomain::VERSION,
            bytes: schema::domain::encode(changes),
        })
    }
}

impl Domain for SchemaDomain {
    const ID: DomainId = DomainId::SCHEMA;
    const NAME: &'static str = "schema";
    const VERSION: u8 = schema::domain::VERSION;
    type State = Schema;
    type Change = Vec<SchemaChange>;

    fn decode(_version: u8, bytes: &[u8]) -> Result<Vec<SchemaChange>, DecodeError> {
        schema::domain::decode(bytes).map_err(|error| match error {
            // A change has a version of its own beside the part's.
            schema::DecodeError::NewerVersion { version, supported } => {
                DecodeError::NewerVersion { version, supported }
            }
            error => DecodeError::Invalid { problem: error.to_string() },
        })
    }

    fn apply(state: &Schema, changes: Vec<Vec<SchemaChange>>) -> Schema {
        state.with_all(&changes.into_iter().flatten().collect::<Vec<_>>())
    }

    fn snapshot(state: &Schema) -> Option<Vec<u8>> {
        schema::domain::snapshot(state)
    }

    fn gives_room_back(changes: &Vec<SchemaChange>) -> bool {
        schema::domain::gives_room_back(changes)
    }

    fn live_tables(state: &Schema) -> BTreeSet<[u8; 16]> {
        schema::domain::live_tables(state)
    }
}

/// A truncation as the metadata log records it.
pub(crate) fn truncation(table: TableId, positions: impl Iterator<Item = ReplayPosition>) -> Truncation {
    let position = |ReplayPosition { boot, shard, sequence }| Position { boot, shard, sequence };
    Truncation { table: table.0, positions: positions.map(position).collect() }
}

/// The truncations that a node's metadata log states, for its storage.
pub fn truncations_of(local: &LocalState) -> Truncations {
    let position = |Position { boot, shard, sequence }| ReplayPosition { boot, shard, sequence };
    let of_table = |of: Truncation| (TableId(of.table), of.positions.into_iter().map(position).collect());
    local.truncations().map(of_table).collect()
}
