//! The history of schema statements: each with its question, its time and its answer. A keyspace with its tables is one object: dropping it
//! drops them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Number of a keyspace, which is called `g` and the number.
pub type KeyspaceNumber = u16;

/// Number of a table in its keyspace, which is called `t` and the number.
pub type TableNumber = u16;

/// Number that one statement alone has: the comment of the table that it makes, or the column that it adds, `c` and the number.
pub type Tag = u64;

/// A table as the schema has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableState {
    /// The statement that made it.
    pub made_by: Tag,
    /// The statements that added a column to it.
    pub columns: BTreeSet<Tag>,
}

/// A keyspace as the schema has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyspaceState {
    /// Its one property that statements alter.
    pub durable_writes: bool,
    /// Its tables.
    pub tables: BTreeMap<TableNumber, TableState>,
}

/// A statement about a keyspace or one of its tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaAsked {
    /// CREATE KEYSPACE.
    CreateKeyspace {
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// ALTER KEYSPACE.
    AlterKeyspace {
        /// The property's new value.
        durable_writes: bool,
    },
    /// DROP KEYSPACE.
    DropKeyspace {
        /// IF EXISTS.
        if_exists: bool,
    },
    /// CREATE TABLE.
    CreateTable {
        /// Which.
        table: TableNumber,
        /// Its comment.
        tag: Tag,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// ALTER TABLE ADD.
    AddColumn {
        /// Of which.
        table: TableNumber,
        /// The column's number.
        tag: Tag,
    },
    /// DROP TABLE.
    DropTable {
        /// Which.
        table: TableNumber,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// A look at the schema when all is healed.
    Look,
}

/// The answer to a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaTold {
    /// Done: the schema changed.
    Changed,
    /// Done: there was nothing to change.
    Unchanged,
    /// Refused, as it exists already.
    Exists,
    /// Refused, as there is no such keyspace or table.
    Missing,
    /// Refused for a reason that is not in the schema, with the promise that nothing was changed.
    NothingDone,
    /// The state that a look has seen.
    Have(Option<KeyspaceState>),
    /// None, or one that promises nothing: it may have happened, or may happen yet, or never.
    Nothing,
}

/// One statement. Times are nanoseconds of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaStatement {
    /// The question.
    pub asked: SchemaAsked,
    /// The node that was asked.
    pub node: usize,
    /// When it was sent.
    pub start: u64,
    /// When it was answered; none where the answer promises nothing.
    pub end: Option<u64>,
    /// The answer.
    pub told: SchemaTold,
}

/// All statements.
#[derive(Debug, Clone, Default)]
pub struct SchemaHistory {
    /// By keyspace, in the order in which they were sent.
    pub statements: BTreeMap<KeyspaceNumber, Vec<SchemaStatement>>,
    /// Tags so far; none is given twice.
    pub tags: Tag,
    /// Refusals, each sentence with its count.
    pub refused: BTreeMap<String, u64>,
    /// Refusals without a reason that clients know, and answers that cannot be read.
    pub violations: Vec<String>,
}

/// The history that clients share.
pub type SharedSchema = Rc<RefCell<SchemaHistory>>;

impl SchemaHistory {
    /// Statements.
    pub fn count(&self) -> usize {
        self.statements.values().map(Vec::len).sum()
    }

    /// Statements that changed the schema, as their clients know.
    pub fn changed_count(&self) -> usize {
        self.statements.values().flatten().filter(|statement| statement.told == SchemaTold::Changed).count()
    }

    /// Notes a statement that is sent now. Its place.
    pub fn sent(&mut self, keyspace: KeyspaceNumber, asked: SchemaAsked, node: usize, start: u64) -> usize {
        let statements = self.statements.entry(keyspace).or_default();
        statements.push(SchemaStatement { asked, node, start, end: None, told: SchemaTold::Nothing });
        statements.len() - 1
    }

    /// Notes the answer to the statement at that place.
    pub fn answered(&mut self, keyspace: KeyspaceNumber, place: usize, told: SchemaTold, end: u64) {
        let statement = self.statements.get_mut(&keyspace).and_then(|statements| statements.get_mut(place));
        if let Some(statement) = statement.filter(|_| told != SchemaTold::Nothing) {
            (statement.told, statement.end) = (told, Some(end));
        }
    }
}

/// The schema as one node shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaView {
    /// `schema_version` of `system.local`.
    pub version: String,
    /// Each row of each table of `system_schema`, as text.
    pub rows: Vec<String>,
    /// The keyspaces of the workload.
    pub keyspaces: BTreeMap<KeyspaceNumber, KeyspaceState>,
    /// Rows about the workload's names that are not as any statement makes them.
    pub odd: Vec<String>,
}
