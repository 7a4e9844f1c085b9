//! A change of the schema, as a value that travels to other shards and into the metadata log.

use crate::ids::TableId;
use crate::keyspace::KeyspaceDef;
use crate::table::Table;
use crate::user_type::UserType;

/// One step of a schema change. One statement may take several, which are applied together.
#[derive(Debug, Clone, PartialEq)]
pub enum SchemaChange {
    /// Creates a keyspace, or replaces all of it but its tables.
    PutKeyspace(KeyspaceDef),
    /// Drops a keyspace and its tables.
    DropKeyspace(String),
    /// Creates a table, or replaces it. Of the user-defined types of its columns only the names count.
    PutTable(Box<Table>),
    /// Drops a table.
    DropTable {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        name: String,
        /// Its identity.
        id: TableId,
    },
    /// Creates a user-defined type, or replaces it.
    PutType(UserType),
    /// Drops a user-defined type.
    DropType {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        name: String,
    },
}

/// Why bytes are not a schema change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end early or a length is wrong.
    #[error("a schema change is cut or damaged: {0}")]
    Bytes(#[from] stdx::ReadError),
    /// A newer Helenus wrote it.
    #[error("a schema change has format version {version}, and this Helenus reads up to {supported}")]
    NewerVersion {
        /// The version found.
        version: u8,
        /// The newest version this code reads.
        supported: u8,
    },
    /// The bytes are whole but say what cannot be.
    #[error("a schema change is damaged: {problem}")]
    Invalid {
        /// What is wrong.
        problem: String,
    },
}

impl SchemaChange {
    /// Appends the change's encoding to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        crate::codec::encode(self, out);
    }

    /// Whether tables may be gone after it.
    pub fn drops_tables(&self) -> bool {
        matches!(self, SchemaChange::DropKeyspace(_) | SchemaChange::DropTable { .. })
    }

    /// The change at the front of `reader`.
    pub fn decode(reader: &mut stdx::Reader<'_>) -> Result<SchemaChange, DecodeError> {
        crate::codec::decode(reader)
    }
}
