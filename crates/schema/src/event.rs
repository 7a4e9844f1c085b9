//! What clients are told about a schema change.

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeType {
    /// It is new.
    Created,
    /// It changed.
    Updated,
    /// It is gone.
    Dropped,
}

impl ChangeType {
    /// The protocol's word.
    pub fn name(self) -> &'static str {
        match self {
            ChangeType::Created => "CREATED",
            ChangeType::Updated => "UPDATED",
            ChangeType::Dropped => "DROPPED",
        }
    }
}

/// What it happened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeTarget {
    /// A keyspace.
    Keyspace,
    /// A table.
    Table,
    /// A user-defined type.
    Type,
}

impl ChangeTarget {
    /// The protocol's word.
    pub fn name(self) -> &'static str {
        match self {
            ChangeTarget::Keyspace => "KEYSPACE",
            ChangeTarget::Table => "TABLE",
            ChangeTarget::Type => "TYPE",
        }
    }
}

/// A schema change as the statement's result and the pushed event tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaEvent {
    /// What happened.
    pub change: ChangeType,
    /// To what.
    pub target: ChangeTarget,
    /// Its keyspace.
    pub keyspace: String,
    /// The table's or type's name; empty for a keyspace.
    pub name: String,
}
