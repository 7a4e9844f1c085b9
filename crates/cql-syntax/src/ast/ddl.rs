//! CREATE, ALTER and DROP of keyspaces and tables.

use cql_types::{CqlType, Literal};

use super::{TableName, Term};

/// `WITH name = value AND …`, in the order written.
pub type Properties = Vec<(String, PropertyValue)>;

/// The value of a property.
#[derive(Debug, Clone, PartialEq)]
pub enum PropertyValue {
    /// A string, number, boolean or uuid.
    Literal(Literal),
    /// `{'key': value, …}`, in the order written.
    Map(Vec<(Literal, Literal)>),
    /// A bare word, which Cassandra takes as a string.
    Word(String),
}

/// CREATE KEYSPACE.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateKeyspace {
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Its name.
    pub keyspace: String,
    /// WITH.
    pub properties: Properties,
}

/// ALTER KEYSPACE.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterKeyspace {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Its name.
    pub keyspace: String,
    /// WITH.
    pub properties: Properties,
}

/// DROP KEYSPACE.
#[derive(Debug, Clone, PartialEq)]
pub struct DropKeyspace {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Its name.
    pub keyspace: String,
}

/// A column of CREATE TABLE or ALTER TABLE ADD.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: CqlType,
    /// STATIC.
    pub is_static: bool,
    /// MASKED WITH.
    pub mask: Option<Mask>,
}

/// What takes the place of a column's values where a client may not see them.
#[derive(Debug, Clone, PartialEq)]
pub enum Mask {
    /// DEFAULT: a value that says nothing, of the column's type.
    Default,
    /// What a function makes of the value.
    Function {
        /// The function's keyspace, if given.
        keyspace: Option<String>,
        /// The function.
        name: String,
        /// What it takes behind the column's value.
        arguments: Vec<Term>,
    },
}

/// CREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Its name.
    pub table: TableName,
    /// Its columns, in the order written.
    pub columns: Vec<ColumnDefinition>,
    /// Every PRIMARY KEY that was given, whether beside a column or by itself; a right statement has one.
    pub primary_keys: Vec<PrimaryKey>,
    /// WITH CLUSTERING ORDER BY, `true` = descending.
    pub clustering_order: Vec<(String, bool)>,
    /// WITH COMPACT STORAGE.
    pub compact_storage: bool,
    /// The other properties of WITH.
    pub properties: Properties,
}

/// A PRIMARY KEY clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrimaryKey {
    /// The columns of the partition key.
    pub partition: Vec<String>,
    /// The clustering columns.
    pub clustering: Vec<String>,
}

/// ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Its name.
    pub table: TableName,
    /// What changes.
    pub action: AlterTableAction,
}

/// What an ALTER TABLE changes.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterTableAction {
    /// ADD.
    Add {
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// The new columns.
        columns: Vec<ColumnDefinition>,
    },
    /// DROP.
    Drop {
        /// IF EXISTS.
        if_exists: bool,
        /// The columns.
        columns: Vec<String>,
        /// USING TIMESTAMP, microseconds: what was written up to then is gone; without it, up to now.
        timestamp: Option<i64>,
    },
    /// ALTER column TYPE type.
    Alter {
        /// The column.
        column: String,
        /// Its type from then on.
        ty: CqlType,
    },
    /// ALTER column MASKED WITH, or DROP MASKED.
    Mask {
        /// IF EXISTS.
        if_exists: bool,
        /// The column.
        column: String,
        /// Its mask from then on.
        mask: Option<Mask>,
    },
    /// RENAME a TO b.
    Rename {
        /// IF EXISTS.
        if_exists: bool,
        /// From and to.
        columns: Vec<(String, String)>,
    },
    /// WITH.
    With(Properties),
    /// DROP COMPACT STORAGE.
    DropCompactStorage,
}

/// DROP TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct DropTable {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Its name.
    pub table: TableName,
}

/// A user-defined type's name, with its keyspace if the statement gave one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeName {
    /// The keyspace, if given.
    pub keyspace: Option<String>,
    /// The type.
    pub name: String,
}

/// CREATE TYPE.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateType {
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Its name.
    pub name: TypeName,
    /// Its fields, in the order written.
    pub fields: Vec<(String, CqlType)>,
}

/// ALTER TYPE.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterType {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Its name.
    pub name: TypeName,
    /// What changes.
    pub action: AlterTypeAction,
}

/// What an ALTER TYPE changes.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterTypeAction {
    /// ADD.
    Add {
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// The new field.
        field: String,
        /// Its type.
        ty: CqlType,
    },
    /// RENAME a TO b.
    Rename {
        /// IF EXISTS.
        if_exists: bool,
        /// From and to.
        fields: Vec<(String, String)>,
    },
    /// ALTER field TYPE type, which is known only to be refused.
    Alter {
        /// The field.
        field: String,
        /// The type.
        ty: CqlType,
    },
}

/// DROP INDEX, DROP MATERIALIZED VIEW, DROP FUNCTION, DROP AGGREGATE or DROP TRIGGER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropElement {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Its keyspace, or that of a trigger's table, if given.
    pub keyspace: Option<String>,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: ElementKind,
}

/// What a keyspace has besides tables and types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElementKind {
    /// An index.
    Index,
    /// A materialized view.
    MaterializedView,
    /// A function, with the types of its arguments if they were given.
    Function(Option<Vec<CqlType>>),
    /// An aggregate, with the types of its arguments if they were given.
    Aggregate(Option<Vec<CqlType>>),
    /// A trigger of this table.
    Trigger(String),
}

/// DROP TYPE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropType {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Its name.
    pub name: TypeName,
}
