//! The syntax tree: what a statement says, before anybody asked whether its tables exist.

mod access;
mod arithmetic;
mod ddl;
mod describe;
mod modify;
mod select;
mod term;

pub use access::{
    AccessResource, AccessStatement, PermissionName, Permissions, Restriction, RoleOptions, RolePassword,
};
pub use arithmetic::ArithmeticOperator;
pub use ddl::{
    AlterKeyspace, AlterTable, AlterTableAction, AlterType, AlterTypeAction, ColumnDefinition, CreateKeyspace,
    CreateTable, CreateType, DropElement, DropKeyspace, DropTable, DropType, ElementKind, Mask, PrimaryKey, Properties,
    PropertyValue, TypeName,
};
pub use describe::{Describe, DescribeKind, DescribeTarget};
pub use modify::{
    Assignment, AssignmentKind, Batch, BatchKind, Condition, Conditions, Delete, Deletion, Insert, InsertJson, Update,
    Using,
};
pub use select::{OrderBy, Select, Selection, Selector, SelectorExpression};
pub use term::{BindMarker, Operator, Relation, Term};

/// A table's name, with its keyspace if the statement gave one. Folded to lower case unless it was quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName {
    /// The keyspace, if given.
    pub keyspace: Option<String>,
    /// The table.
    pub table: String,
}

/// One CQL statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// SELECT.
    Select(Select),
    /// INSERT.
    Insert(Insert),
    /// UPDATE.
    Update(Update),
    /// DELETE.
    Delete(Delete),
    /// BEGIN BATCH … APPLY BATCH.
    Batch(Batch),
    /// USE.
    Use {
        /// The keyspace.
        keyspace: String,
    },
    /// TRUNCATE.
    Truncate(TableName),
    /// CREATE KEYSPACE.
    CreateKeyspace(CreateKeyspace),
    /// ALTER KEYSPACE.
    AlterKeyspace(AlterKeyspace),
    /// DROP KEYSPACE.
    DropKeyspace(DropKeyspace),
    /// CREATE TABLE.
    CreateTable(CreateTable),
    /// ALTER TABLE.
    AlterTable(AlterTable),
    /// DROP TABLE.
    DropTable(DropTable),
    /// CREATE TYPE.
    CreateType(CreateType),
    /// ALTER TYPE.
    AlterType(AlterType),
    /// DROP TYPE.
    DropType(DropType),
    /// DROP INDEX, VIEW, FUNCTION, AGGREGATE or TRIGGER.
    DropElement(DropElement),
    /// Roles, permissions and identities.
    Access(AccessStatement),
    /// DESCRIBE.
    Describe(Describe),
    /// A statement of Cassandra's or ScyllaDB's CQL that Helenus does not know yet, by the words that it is known by.
    Unsupported {
        /// These words, in upper case: `CREATE INDEX`, and of a clause those that begin it.
        what: String,
    },
}
