//! INSERT, UPDATE, DELETE and BATCH.

use std::fmt::{self, Display, Formatter};

use super::term::write_where;
use super::{write_names, write_separated};
use crate::ast::{
    Assignment, AssignmentKind, Batch, BatchKind, Condition, Conditions, Delete, Deletion, Insert, InsertJson, Update,
    Using,
};
use crate::quote_identifier;

impl Display for Using {
    /// With a space before it, or nothing.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (&self.timestamp, &self.ttl) {
            (None, None) => Ok(()),
            (Some(timestamp), None) => write!(f, " USING TIMESTAMP {timestamp}"),
            (None, Some(ttl)) => write!(f, " USING TTL {ttl}"),
            (Some(timestamp), Some(ttl)) => write!(f, " USING TIMESTAMP {timestamp} AND TTL {ttl}"),
        }
    }
}

impl Display for Insert {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "INSERT INTO {} ", self.table)?;
        match &self.json {
            Some(InsertJson { value, default_unset }) => {
                write!(f, "JSON {value}{}", if *default_unset { " DEFAULT UNSET" } else { "" })?;
            }
            None => {
                f.write_str("(")?;
                write_names(f, &self.columns)?;
                f.write_str(") VALUES (")?;
                write_separated(f, &self.values, ", ", |f, value| value.fmt(f))?;
                f.write_str(")")?;
            }
        }
        if self.if_not_exists {
            f.write_str(" IF NOT EXISTS")?;
        }
        self.using.fmt(f)
    }
}

impl Display for Update {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "UPDATE {}{} SET ", self.table, self.using)?;
        write_separated(f, &self.assignments, ", ", |f, assignment| assignment.fmt(f))?;
        write_where(f, &self.relations)?;
        self.conditions.fmt(f)
    }
}

impl Display for Assignment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let column = quote_identifier(&self.column);
        match &self.kind {
            AssignmentKind::Set(term) => write!(f, "{column} = {term}"),
            AssignmentKind::Add(term) => write!(f, "{column} = {column} + {term}"),
            AssignmentKind::Subtract(term) => write!(f, "{column} = {column} - {term}"),
            AssignmentKind::Prepend(term) => write!(f, "{column} = {term} + {column}"),
            AssignmentKind::Element { key, term } => write!(f, "{column}[{key}] = {term}"),
            AssignmentKind::Field { field, term } => write!(f, "{column}.{} = {term}", quote_identifier(field)),
        }
    }
}

impl Display for Delete {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("DELETE ")?;
        write_separated(f, &self.deletions, ", ", |f, deletion| deletion.fmt(f))?;
        let space = if self.deletions.is_empty() { "" } else { " " };
        write!(f, "{space}FROM {}{}", self.table, self.using)?;
        write_where(f, &self.relations)?;
        self.conditions.fmt(f)
    }
}

impl Display for Deletion {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Deletion::Column(column) => f.write_str(&quote_identifier(column)),
            Deletion::Element { column, key } => write!(f, "{}[{key}]", quote_identifier(column)),
            Deletion::Field { column, field } => {
                write!(f, "{}.{}", quote_identifier(column), quote_identifier(field))
            }
        }
    }
}

impl Display for Conditions {
    /// With a space before it, or nothing.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Conditions::None => Ok(()),
            Conditions::Exists => f.write_str(" IF EXISTS"),
            Conditions::All(conditions) => {
                f.write_str(" IF ")?;
                write_separated(f, conditions, " AND ", |f, condition| condition.fmt(f))
            }
        }
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&quote_identifier(&self.column))?;
        if let Some(element) = &self.element {
            write!(f, "[{element}]")?;
        }
        if let Some(field) = &self.field {
            write!(f, ".{}", quote_identifier(field))?;
        }
        write!(f, " {} {}", self.operator, self.term)
    }
}

impl Display for Batch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            BatchKind::Logged => "BEGIN BATCH",
            BatchKind::Unlogged => "BEGIN UNLOGGED BATCH",
            BatchKind::Counter => "BEGIN COUNTER BATCH",
        })?;
        self.using.fmt(f)?;
        for statement in &self.statements {
            write!(f, " {statement};")?;
        }
        f.write_str(" APPLY BATCH")
    }
}
