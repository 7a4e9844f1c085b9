//! CREATE, ALTER and DROP.

use std::fmt::{self, Display, Formatter};

use cql_types::CqlType;

use super::term::write_call;
use super::types::write_type;
use super::{write_names, write_qualified, write_separated};
use crate::ast::{
    AlterKeyspace, AlterTable, AlterTableAction, AlterType, AlterTypeAction, ColumnDefinition, CreateKeyspace,
    CreateTable, CreateType, DropElement, DropKeyspace, DropTable, DropType, ElementKind, Mask, PrimaryKey,
    PropertyValue, TypeName,
};
use crate::quote_identifier;

pub(super) fn if_not_exists(given: bool) -> &'static str {
    if given { "IF NOT EXISTS " } else { "" }
}

pub(super) fn if_exists(given: bool) -> &'static str {
    if given { "IF EXISTS " } else { "" }
}

fn write_properties(f: &mut Formatter<'_>, properties: &[(String, PropertyValue)], first: &str) -> fmt::Result {
    for (i, (name, value)) in properties.iter().enumerate() {
        write!(f, "{}{} = {value}", if i == 0 { first } else { " AND " }, quote_identifier(name))?;
    }
    Ok(())
}

impl Display for PropertyValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            PropertyValue::Literal(literal) => literal.fmt(f),
            PropertyValue::Word(word) => f.write_str(word),
            PropertyValue::Map(entries) => {
                f.write_str("{")?;
                write_separated(f, entries, ", ", |f, (key, value)| write!(f, "{key}: {value}"))?;
                f.write_str("}")
            }
        }
    }
}

impl Display for CreateKeyspace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "CREATE KEYSPACE {}{}", if_not_exists(self.if_not_exists), quote_identifier(&self.keyspace))?;
        write_properties(f, &self.properties, " WITH ")
    }
}

impl Display for AlterKeyspace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ALTER KEYSPACE {}{}", if_exists(self.if_exists), quote_identifier(&self.keyspace))?;
        write_properties(f, &self.properties, " WITH ")
    }
}

impl Display for DropKeyspace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DROP KEYSPACE {}{}", if_exists(self.if_exists), quote_identifier(&self.keyspace))
    }
}

impl Display for ColumnDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", quote_identifier(&self.name))?;
        write_type(f, &self.ty)?;
        f.write_str(if self.is_static { " STATIC" } else { "" })?;
        self.mask.iter().try_for_each(|mask| write!(f, " {mask}"))
    }
}

impl Display for Mask {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Mask::Default => f.write_str("MASKED WITH DEFAULT"),
            Mask::Function { keyspace, name, arguments } => {
                f.write_str("MASKED WITH ")?;
                write_call(f, keyspace.as_deref(), name, arguments)
            }
        }
    }
}

impl Display for PrimaryKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("PRIMARY KEY ((")?;
        write_names(f, &self.partition)?;
        f.write_str(")")?;
        for column in &self.clustering {
            write!(f, ", {}", quote_identifier(column))?;
        }
        f.write_str(")")
    }
}

impl Display for CreateTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "CREATE TABLE {}{} (", if_not_exists(self.if_not_exists), self.table)?;
        write_separated(f, &self.columns, ", ", |f, column| column.fmt(f))?;
        for (i, key) in self.primary_keys.iter().enumerate() {
            let comma = if i > 0 || !self.columns.is_empty() { ", " } else { "" };
            write!(f, "{comma}{key}")?;
        }
        f.write_str(")")?;
        let mut joint = " WITH ";
        if self.compact_storage {
            write!(f, "{joint}COMPACT STORAGE")?;
            joint = " AND ";
        }
        if !self.clustering_order.is_empty() {
            write!(f, "{joint}CLUSTERING ORDER BY (")?;
            write_separated(f, &self.clustering_order, ", ", |f, (column, descending)| {
                write!(f, "{} {}", quote_identifier(column), if *descending { "DESC" } else { "ASC" })
            })?;
            f.write_str(")")?;
            joint = " AND ";
        }
        write_properties(f, &self.properties, joint)
    }
}

impl Display for AlterTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ALTER TABLE {}{} {}", if_exists(self.if_exists), self.table, self.action)
    }
}

impl Display for AlterTableAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            AlterTableAction::Add { if_not_exists: given, columns } => {
                write!(f, "ADD {}(", if_not_exists(*given))?;
                write_separated(f, columns, ", ", |f, column| column.fmt(f))?;
                f.write_str(")")
            }
            AlterTableAction::Drop { if_exists: given, columns, timestamp } => {
                write!(f, "DROP {}(", if_exists(*given))?;
                write_names(f, columns)?;
                f.write_str(")")?;
                timestamp.iter().try_for_each(|timestamp| write!(f, " USING TIMESTAMP {timestamp}"))
            }
            AlterTableAction::Alter { column, ty } => {
                write!(f, "ALTER {} TYPE ", quote_identifier(column))?;
                write_type(f, ty)
            }
            AlterTableAction::Mask { if_exists: given, column, mask } => {
                write!(f, "ALTER {}{} ", if_exists(*given), quote_identifier(column))?;
                match mask {
                    Some(mask) => mask.fmt(f),
                    None => f.write_str("DROP MASKED"),
                }
            }
            AlterTableAction::Rename { if_exists: given, columns } => {
                write!(f, "RENAME {}", if_exists(*given))?;
                write_separated(f, columns, " AND ", |f, (from, to)| {
                    write!(f, "{} TO {}", quote_identifier(from), quote_identifier(to))
                })
            }
            AlterTableAction::With(properties) => write_properties(f, properties, "WITH "),
            AlterTableAction::DropCompactStorage => f.write_str("DROP COMPACT STORAGE"),
        }
    }
}

impl Display for DropTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DROP TABLE {}{}", if_exists(self.if_exists), self.table)
    }
}

impl Display for TypeName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(keyspace) = &self.keyspace {
            return write!(f, "{}.{}", quote_identifier(keyspace), quote_identifier(&self.name));
        }
        // A type may have a native type's name, between quotes.
        match CqlType::native(&self.name) {
            Some(_) => write!(f, "\"{}\"", self.name),
            None => f.write_str(&quote_identifier(&self.name)),
        }
    }
}

fn write_field(f: &mut Formatter<'_>, field: &str, ty: &CqlType) -> fmt::Result {
    write!(f, "{} ", quote_identifier(field))?;
    write_type(f, ty)
}

impl Display for CreateType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "CREATE TYPE {}{} (", if_not_exists(self.if_not_exists), self.name)?;
        write_separated(f, &self.fields, ", ", |f, (field, ty)| write_field(f, field, ty))?;
        f.write_str(")")
    }
}

impl Display for AlterType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ALTER TYPE {}{} ", if_exists(self.if_exists), self.name)?;
        match &self.action {
            AlterTypeAction::Add { if_not_exists: given, field, ty } => {
                write!(f, "ADD {}", if_not_exists(*given))?;
                write_field(f, field, ty)
            }
            AlterTypeAction::Rename { if_exists: given, fields } => {
                write!(f, "RENAME {}", if_exists(*given))?;
                write_separated(f, fields, " AND ", |f, (from, to)| {
                    write!(f, "{} TO {}", quote_identifier(from), quote_identifier(to))
                })
            }
            AlterTypeAction::Alter { field, ty } => {
                write!(f, "ALTER {} TYPE ", quote_identifier(field))?;
                write_type(f, ty)
            }
        }
    }
}

impl Display for DropElement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let what = match &self.kind {
            ElementKind::Index => "INDEX",
            ElementKind::MaterializedView => "MATERIALIZED VIEW",
            ElementKind::Function(_) => "FUNCTION",
            ElementKind::Aggregate(_) => "AGGREGATE",
            ElementKind::Trigger(_) => "TRIGGER",
        };
        write!(f, "DROP {what} {}", if_exists(self.if_exists))?;
        match &self.kind {
            ElementKind::Trigger(table) => {
                write!(f, "{} ON ", quote_identifier(&self.name))?;
                write_qualified(f, self.keyspace.as_deref(), table)
            }
            ElementKind::Function(arguments) | ElementKind::Aggregate(arguments) => {
                write_qualified(f, self.keyspace.as_deref(), &self.name)?;
                let Some(arguments) = arguments else { return Ok(()) };
                f.write_str("(")?;
                write_separated(f, arguments, ", ", write_type)?;
                f.write_str(")")
            }
            ElementKind::Index | ElementKind::MaterializedView => {
                write_qualified(f, self.keyspace.as_deref(), &self.name)
            }
        }
    }
}

impl Display for DropType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DROP TYPE {}{}", if_exists(self.if_exists), self.name)
    }
}
