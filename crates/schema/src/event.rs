//! What clients are told about a schema change.

use cql_syntax::{Statement, TableName, TypeName};

use crate::change::SchemaChange;
use crate::snapshot::Schema;

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

impl SchemaEvent {
    /// The event of one change of `before`.
    pub fn of(before: &Schema, change: &SchemaChange) -> SchemaEvent {
        let put = |is_known: bool| if is_known { ChangeType::Updated } else { ChangeType::Created };
        let event = |change, target, keyspace: &str, name: &str| SchemaEvent {
            change,
            target,
            keyspace: keyspace.to_owned(),
            name: name.to_owned(),
        };
        match change {
            SchemaChange::PutKeyspace(of) => {
                event(put(before.keyspace(&of.name).is_some()), ChangeTarget::Keyspace, &of.name, "")
            }
            SchemaChange::DropKeyspace(name) => event(ChangeType::Dropped, ChangeTarget::Keyspace, name, ""),
            SchemaChange::PutTable(of) => {
                let is_known = before.table(&of.keyspace, &of.name).is_some();
                event(put(is_known), ChangeTarget::Table, &of.keyspace, &of.name)
            }
            SchemaChange::DropTable { keyspace, name, .. } => {
                event(ChangeType::Dropped, ChangeTarget::Table, keyspace, name)
            }
            SchemaChange::PutType(of) => {
                let is_known =
                    before.keyspace(&of.keyspace).is_some_and(|keyspace| keyspace.types.contains_key(&of.name));
                event(put(is_known), ChangeTarget::Type, &of.keyspace, &of.name)
            }
            SchemaChange::DropType { keyspace, name } => event(ChangeType::Dropped, ChangeTarget::Type, keyspace, name),
        }
    }

    /// The event of a statement that has changed something, in a session of `keyspace`; `None` for a statement that is no schema change.
    pub fn of_statement(statement: &Statement, keyspace: Option<&str>) -> Option<SchemaEvent> {
        use ChangeType::{Created, Dropped, Updated};
        let of_keyspace = |change, name: &str| (change, ChangeTarget::Keyspace, Some(name.to_owned()), String::new());
        let of_table = |change, of: &TableName| (change, ChangeTarget::Table, of.keyspace.clone(), of.table.clone());
        let of_type = |change, of: &TypeName| (change, ChangeTarget::Type, of.keyspace.clone(), of.name.clone());
        let (change, target, named, name) = match statement {
            Statement::CreateKeyspace(of) => of_keyspace(Created, &of.keyspace),
            Statement::AlterKeyspace(of) => of_keyspace(Updated, &of.keyspace),
            Statement::DropKeyspace(of) => of_keyspace(Dropped, &of.keyspace),
            Statement::CreateTable(of) => of_table(Created, &of.table),
            Statement::AlterTable(of) => of_table(Updated, &of.table),
            Statement::DropTable(of) => of_table(Dropped, &of.table),
            Statement::CreateType(of) => of_type(Created, &of.name),
            Statement::AlterType(of) => of_type(Updated, &of.name),
            Statement::DropType(of) => of_type(Dropped, &of.name),
            _ => return None,
        };
        let keyspace = named.or(keyspace.map(str::to_owned))?;
        Some(SchemaEvent { change, target, keyspace, name })
    }
}
