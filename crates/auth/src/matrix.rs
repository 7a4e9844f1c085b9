//! The needs of each kind of statement, as one table.
//!
//! Statements about roles and permissions are not in it: what they need depends on their options, and `plan_access` checks it. DESCRIBE and USE need a login
//! alone; EXPLAIN needs what its statement needs.

use crate::check::Requirement;
use crate::permission::Permission as P;
use crate::resource::Resource;

/// A kind of statement that needs permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatementKind {
    /// SELECT.
    Select,
    /// INSERT, UPDATE, DELETE; each statement of a BATCH.
    Modify,
    /// TRUNCATE.
    Truncate,
    /// CREATE KEYSPACE.
    CreateKeyspace,
    /// ALTER KEYSPACE.
    AlterKeyspace,
    /// DROP KEYSPACE.
    DropKeyspace,
    /// CREATE TABLE.
    CreateTable,
    /// ALTER TABLE.
    AlterTable,
    /// DROP TABLE.
    DropTable,
    /// CREATE TYPE.
    CreateType,
    /// ALTER TYPE.
    AlterType,
    /// DROP TYPE.
    DropType,
    /// CREATE INDEX.
    CreateIndex,
    /// DROP INDEX.
    DropIndex,
    /// CREATE MATERIALIZED VIEW.
    CreateView,
    /// ALTER MATERIALIZED VIEW.
    AlterView,
    /// DROP MATERIALIZED VIEW.
    DropView,
    /// CREATE FUNCTION.
    CreateFunction,
    /// CREATE AGGREGATE.
    CreateAggregate,
    /// DROP FUNCTION.
    DropFunction,
    /// DROP AGGREGATE.
    DropAggregate,
    /// CREATE TRIGGER.
    CreateTrigger,
    /// DROP TRIGGER.
    DropTrigger,
    /// An admin request that reads.
    ReadMBean,
    /// An admin request that changes a setting.
    WriteMBean,
    /// An admin request that does something.
    CallMBean,
}

use StatementKind as K;

/// The objects of a statement, found in the schema. Those that it has none of stay empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Objects {
    /// The keyspace.
    pub keyspace: String,
    /// The table; the base table if the statement names a view or an index.
    pub table: String,
    /// The views of the table.
    pub views: Vec<String>,
    /// The functions of users that the statement calls, with those of an aggregate.
    pub calls: Vec<Resource>,
    /// The functions that the statement makes again (OR REPLACE of existing ones) or drops.
    pub functions: Vec<Resource>,
    /// The masked columns of whose values its answer tells: restricted, compared by a condition, or grouped by a function.
    pub masked: Vec<String>,
    /// True if it has IF conditions.
    pub is_conditional: bool,
    /// The name of the MBean of an admin request.
    pub mbean: String,
}

/// The resource that a permission is needed on, in terms of the statement's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    AllKeyspaces,
    Keyspace,
    AllTables,
    Table,
    Views,
    KeyspaceFunctions,
    Functions,
    Calls,
    MBean,
}

/// The case in which it is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    Conditional,
    HasViews,
    Replaces,
    IsNew,
}

enum Need {
    Of(P, On, When),
    Unmasked,
    Superuser(&'static str),
}

use Need::{Of, Superuser, Unmasked};
use When::{Always, Conditional, HasViews, IsNew, Replaces};

const CREATE_TRIGGER: &str = "Only superusers are allowed to perform CREATE TRIGGER queries";
/// The word is Cassandra's.
const DROP_TRIGGER: &str = "Only superusers are allowed to perfrom DROP TRIGGER queries";

/// The needs of each kind, in the order in which they are checked.
const MATRIX: [(K, &[Need]); 26] = [
    (K::Select, &[Of(P::Select, On::Table, Always), Of(P::Execute, On::Calls, Always), Unmasked]),
    (
        K::Modify,
        &[
            Of(P::Modify, On::Table, Always),
            Of(P::Select, On::Table, Conditional),
            Of(P::Select, On::Table, HasViews),
            Of(P::Modify, On::Views, HasViews),
            Of(P::Execute, On::Calls, Always),
            // Ours: a condition tells what a column has, as a restriction does.
            Unmasked,
        ],
    ),
    (K::Truncate, &[Of(P::Modify, On::Table, Always)]),
    (K::CreateKeyspace, &[Of(P::Create, On::AllKeyspaces, Always)]),
    (K::AlterKeyspace, &[Of(P::Alter, On::Keyspace, Always)]),
    (K::DropKeyspace, &[Of(P::Drop, On::Keyspace, Always)]),
    (K::CreateTable, &[Of(P::Create, On::AllTables, Always)]),
    (K::AlterTable, &[Of(P::Alter, On::Table, Always)]),
    (K::DropTable, &[Of(P::Drop, On::Table, Always)]),
    (K::CreateType, &[Of(P::Create, On::AllTables, Always)]),
    (K::AlterType, &[Of(P::Alter, On::AllTables, Always)]),
    (K::DropType, &[Of(P::Drop, On::AllTables, Always)]),
    (K::CreateIndex, &[Of(P::Alter, On::Table, Always)]),
    (K::DropIndex, &[Of(P::Alter, On::Table, Always)]),
    (K::CreateView, &[Of(P::Alter, On::Table, Always)]),
    (K::AlterView, &[Of(P::Alter, On::Table, Always)]),
    (K::DropView, &[Of(P::Alter, On::Table, Always)]),
    (K::CreateFunction, &[Of(P::Alter, On::Functions, Replaces), Of(P::Create, On::KeyspaceFunctions, IsNew)]),
    (
        K::CreateAggregate,
        &[
            Of(P::Alter, On::Functions, Replaces),
            Of(P::Create, On::KeyspaceFunctions, IsNew),
            Of(P::Execute, On::Calls, Always),
        ],
    ),
    (K::DropFunction, &[Of(P::Drop, On::Functions, Always)]),
    (K::DropAggregate, &[Of(P::Drop, On::Functions, Always)]),
    (K::CreateTrigger, &[Superuser(CREATE_TRIGGER)]),
    (K::DropTrigger, &[Superuser(DROP_TRIGGER)]),
    (K::ReadMBean, &[Of(P::Select, On::MBean, Always)]),
    (K::WriteMBean, &[Of(P::Modify, On::MBean, Always)]),
    (K::CallMBean, &[Of(P::Execute, On::MBean, Always)]),
];

/// All kinds.
pub fn kinds() -> impl Iterator<Item = StatementKind> {
    MATRIX.iter().map(|(kind, _)| *kind)
}

/// The requirements of a statement of this kind with these objects, in the order in which they are checked.
pub fn requirements(kind: StatementKind, objects: &Objects) -> Vec<Requirement> {
    let (_, needs) = MATRIX.iter().find(|(of, _)| *of == kind).expect("each kind is in the matrix");
    let mut requirements = Vec::new();
    for need in *needs {
        match need {
            Of(permission, on, when) if applies(*when, objects) => {
                let resources = on.resources(objects).into_iter();
                requirements.extend(resources.map(|resource| Requirement::Permission(*permission, resource)));
            }
            Of(..) => {}
            Unmasked if objects.masked.is_empty() => {}
            Unmasked => requirements.push(Requirement::Masked {
                keyspace: objects.keyspace.clone(),
                table: objects.table.clone(),
                columns: objects.masked.clone(),
            }),
            Superuser(sentence) => requirements.push(Requirement::Superuser(sentence)),
        }
    }
    requirements
}

fn applies(when: When, objects: &Objects) -> bool {
    match when {
        Always => true,
        Conditional => objects.is_conditional,
        HasViews => !objects.views.is_empty(),
        Replaces => !objects.functions.is_empty(),
        IsNew => objects.functions.is_empty(),
    }
}

impl On {
    fn resources(self, objects: &Objects) -> Vec<Resource> {
        let keyspace = || objects.keyspace.clone();
        match self {
            On::AllKeyspaces => vec![Resource::AllKeyspaces],
            On::Keyspace => vec![Resource::Keyspace(keyspace())],
            On::AllTables => vec![Resource::AllTables(keyspace())],
            On::Table => vec![Resource::table(&objects.keyspace, &objects.table)],
            On::Views => objects.views.iter().map(|view| Resource::table(&objects.keyspace, view)).collect(),
            On::KeyspaceFunctions => vec![Resource::KeyspaceFunctions(keyspace())],
            On::Functions => objects.functions.clone(),
            On::Calls => objects.calls.clone(),
            On::MBean => vec![match objects.mbean.is_empty() {
                true => Resource::AllMBeans,
                false => Resource::MBean(objects.mbean.clone()),
            }],
        }
    }
}

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;
