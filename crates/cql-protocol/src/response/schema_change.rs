//! A change of the schema, as a result and as an event.

use stdx::Reader;

use crate::response::{ResponseFrame, begin_result, result_kind};
use crate::{DecodeError, Version, notation};

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaChangeKind {
    /// It is new.
    Created,
    /// It is different.
    Updated,
    /// It is gone.
    Dropped,
}

impl SchemaChangeKind {
    fn name(self) -> &'static str {
        match self {
            SchemaChangeKind::Created => "CREATED",
            SchemaChangeKind::Updated => "UPDATED",
            SchemaChangeKind::Dropped => "DROPPED",
        }
    }

    fn of_name(name: &str) -> Result<SchemaChangeKind, DecodeError> {
        match name {
            "CREATED" => Ok(SchemaChangeKind::Created),
            "UPDATED" => Ok(SchemaChangeKind::Updated),
            "DROPPED" => Ok(SchemaChangeKind::Dropped),
            _ => Err(DecodeError::UnknownName { what: "a change of the schema" }),
        }
    }
}

/// What it was done to, beside the keyspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaTarget {
    /// The keyspace itself.
    Keyspace,
    /// A table, or an index or view on it.
    Table {
        /// Its name.
        name: String,
    },
    /// A user-defined type.
    Type {
        /// Its name.
        name: String,
    },
    /// A function.
    Function {
        /// Its name.
        name: String,
        /// The types of its arguments, in CQL.
        arguments: Vec<String>,
    },
    /// An aggregate.
    Aggregate {
        /// Its name.
        name: String,
        /// The types of its arguments, in CQL.
        arguments: Vec<String>,
    },
}

/// A change of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaChange {
    /// What was done.
    pub kind: SchemaChangeKind,
    /// The keyspace.
    pub keyspace: String,
    /// What it was done to.
    pub target: SchemaTarget,
}

/// Appends the answer to a statement that changed the schema.
pub fn write_schema_change(out: &mut Vec<u8>, version: Version, stream: i16, change: &SchemaChange) {
    let frame = begin_result(out, version, stream, result_kind::SCHEMA_CHANGE);
    change.write(out, version);
    ResponseFrame::finish(out, frame);
}

impl SchemaChange {
    /// Appends kind, target, keyspace and name.
    pub(super) fn write(&self, out: &mut Vec<u8>, version: Version) {
        if version < Version::V4
            && matches!(self.target, SchemaTarget::Function { .. } | SchemaTarget::Aggregate { .. })
        {
            // It has no words for these, and is told that the keyspace has changed.
            let (kind, keyspace) = (SchemaChangeKind::Updated, self.keyspace.clone());
            return SchemaChange { kind, keyspace, target: SchemaTarget::Keyspace }.write(out, version);
        }
        let (target, name, arguments) = match &self.target {
            SchemaTarget::Keyspace => ("KEYSPACE", None, None),
            SchemaTarget::Table { name } => ("TABLE", Some(name), None),
            SchemaTarget::Type { name } => ("TYPE", Some(name), None),
            SchemaTarget::Function { name, arguments } => ("FUNCTION", Some(name), Some(arguments)),
            SchemaTarget::Aggregate { name, arguments } => ("AGGREGATE", Some(name), Some(arguments)),
        };
        notation::write_string(out, self.kind.name());
        notation::write_string(out, target);
        notation::write_string(out, &self.keyspace);
        if let Some(name) = name {
            notation::write_string(out, name);
        }
        if let Some(arguments) = arguments {
            notation::write_string_list(out, arguments);
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<SchemaChange, DecodeError> {
        let kind = SchemaChangeKind::of_name(notation::read_string(reader)?)?;
        let target = notation::read_string(reader)?;
        let keyspace = notation::read_string(reader)?.to_owned();
        if target == "KEYSPACE" {
            return Ok(SchemaChange { kind, keyspace, target: SchemaTarget::Keyspace });
        }
        let name = notation::read_string(reader)?.to_owned();
        let target = match target {
            "TABLE" => SchemaTarget::Table { name },
            "TYPE" => SchemaTarget::Type { name },
            "FUNCTION" => SchemaTarget::Function { name, arguments: notation::read_string_list(reader)? },
            "AGGREGATE" => SchemaTarget::Aggregate { name, arguments: notation::read_string_list(reader)? },
            _ => return Err(DecodeError::UnknownName { what: "a part of the schema" }),
        };
        Ok(SchemaChange { kind, keyspace, target })
    }
}
