//! What a statement comes to once names are resolved and types are known: all that can be worked out before values are bound.

mod access;
mod calls;
mod change;
mod conditions;
mod context;
mod delete;
mod expression;
mod groups;
mod insert;
mod insert_json;
mod keys;
mod literals;
mod masks;
mod modification;
mod operand;
mod parts;
mod planner;
mod restrictions;
mod result_columns;
mod select;
mod selection;
mod selection_plan;
mod selectors;
mod terms;
mod update;

use std::rc::Rc;

use auth::Requirement;
use cql_protocol::response::ColumnSpec;
use cql_syntax::{Statement, shown};
use cql_types::CqlType;
use schema::Table;

pub(crate) use access::{needs_of_statement, needs_of_truncate};
pub(crate) use calls::Planning;
pub(crate) use change::{Change, ListPlace};
pub(crate) use conditions::{ColumnCondition, ConditionPart, Conditions};
pub(crate) use context::{PlanContext, PlanNumber};
pub(crate) use expression::{Aggregate, Expression, GroupKey, Groups};
pub(crate) use insert_json::JsonMarker;
pub(crate) use keys::{ClusteringChoice, InList, KeyChoice, SliceEnd};
pub(crate) use modification::{Assignment, Modification, ModificationKind, Target};
pub(crate) use operand::{Binds, LONG_TEXT_MIN, Operand, Source, long_decimal};
pub(crate) use planner::{check_counters, check_one_table, plan, plan_in_steps};
pub(crate) use result_columns::ResultColumns;
pub(crate) use select::{Comparison, Filter, Keys, Order, Queried, Select, TokenEnd, TokenValue, token_type};
pub(crate) use selection::{JsonColumn, Output, Part, PartOf, Selected, Shape, Step};

/// A planned statement.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What to do.
    pub(crate) action: Action,
    /// Its number.
    pub(crate) number: PlanNumber,
    /// The permissions that it needs, in the order in which they are checked. Boxed, not counted: a plan is shared as a whole, and no box is taken for none.
    pub(crate) requirements: Box<[Requirement]>,
    /// The bind markers, in order.
    pub(crate) markers: Vec<Marker>,
    /// What to make anew for each execution, such as now().
    pub(crate) generators: Vec<Generator>,
    /// For each partition key column the marker bound to it; empty if one has none.
    pub(crate) key_markers: Vec<u16>,
    /// Whether values that are bound are put in order first, since they hold sets or maps, or taken apart, since they are JSON.
    pub(crate) has_order: bool,
    /// The markers that are bound to JSON texts with the values of all columns.
    pub(crate) json: Vec<JsonMarker>,
    /// Whether it can be tried on the synchronous way: it is about one row, or one partition, and makes up no values.
    pub(crate) is_quick: bool,
    /// The statement names its keyspace wherever it could.
    pub(crate) is_qualified: bool,
    /// True if it shows values of a table that has masks: clients without UNMASK need another plan, or another answer.
    pub(crate) has_masks: bool,
    /// Warnings for whoever prepares or runs it.
    pub(crate) warnings: Vec<String>,
}

/// What a statement does.
#[derive(Debug)]
pub(crate) enum Action {
    /// INSERT, UPDATE, DELETE.
    Modify(Box<Modification>),
    /// SELECT from an ordinary table.
    Select(Box<Select>),
    /// SELECT from a table that exists only as a view of the node's state.
    SelectVirtual(Box<Select>),
    /// BATCH as a statement.
    Batch(BatchPlan),
    /// Anything that is worked out when it runs: USE, schema statements, TRUNCATE, DESCRIBE, roles and permissions.
    Other(Rc<Statement>),
}

impl Action {
    /// What it is called where the log says what a shard was doing.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Action::Modify(_) => "INSERT, UPDATE or DELETE",
            Action::Select(_) => "SELECT",
            Action::SelectVirtual(_) => "SELECT from a virtual table",
            Action::Batch(_) => "BATCH as a statement",
            Action::Other(statement) => match **statement {
                Statement::Truncate(_) => "TRUNCATE",
                Statement::Describe(_) => "DESCRIBE",
                Statement::Use { .. } => "USE",
                Statement::CreateKeyspace(_) | Statement::CreateTable(_) | Statement::CreateType(_) => "CREATE",
                Statement::AlterKeyspace(_) | Statement::AlterTable(_) | Statement::AlterType(_) => "ALTER",
                Statement::DropKeyspace(_)
                | Statement::DropTable(_)
                | Statement::DropType(_)
                | Statement::DropElement(_) => "DROP",
                Statement::Access(ref statement) => statement.kind(),
                _ => "another statement",
            },
        }
    }
}

/// A BATCH statement.
#[derive(Debug)]
pub(crate) struct BatchPlan {
    /// The promise.
    pub(crate) is_logged: bool,
    /// All its statements are about counters.
    pub(crate) has_counters: bool,
    /// USING TIMESTAMP for all.
    pub(crate) timestamp: Option<Operand>,
    /// The statements.
    pub(crate) modifications: Vec<Modification>,
}

impl BatchPlan {
    /// Whether one of its statements is conditional, and so all of it.
    pub(crate) fn is_conditional(&self) -> bool {
        self.modifications.iter().any(|modification| modification.conditions.is_some())
    }
}

/// A bind marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    /// The table that its type comes from.
    pub(crate) keyspace: Rc<str>,
    /// See `keyspace`.
    pub(crate) table: Rc<str>,
    /// The column, or what stands for it: `[limit]`, `in(k)`.
    pub(crate) name: String,
    /// Its type.
    pub(crate) ty: CqlType,
}

impl Marker {
    /// As the protocol describes it.
    pub(crate) fn spec(&self) -> ColumnSpec<'_> {
        ColumnSpec { keyspace: &self.keyspace, table: &self.table, name: &self.name, ty: &self.ty }
    }
}

/// A value that is new for each execution.
#[derive(Debug)]
pub(crate) enum Generator {
    /// A time-based UUID: the place of a list's new element.
    TimeUuid,
    /// A literal with parts that are known only then.
    Composed(Box<Composition>),
    /// A call: what it gives stands behind a byte, and null is no bytes at all.
    Call(Box<Calling>),
}

/// A call that is evaluated for each execution.
#[derive(Debug)]
pub(crate) struct Calling {
    /// The function.
    pub(crate) call: functions::Call,
    /// Its arguments. What they generate themselves comes before this.
    pub(crate) operands: Vec<Operand>,
}

/// A value that is put together from parts for each execution.
#[derive(Debug)]
pub(crate) struct Composition {
    /// The type of the whole.
    pub(crate) ty: CqlType,
    /// The parts: of a map keys and values in turn. What they generate themselves comes before this.
    pub(crate) operands: Vec<Operand>,
}

impl Plan {
    /// True if it reads ranges of tokens.
    pub(crate) fn is_scan(&self) -> bool {
        matches!(&self.action, Action::Select(select) if matches!(select.keys, Keys::Tokens { .. }))
    }

    /// About what it takes in memory. Exact is neither needed nor cheap: it bounds the store of prepared statements.
    pub(crate) fn bytes(&self, text: &str) -> usize {
        /// A statement's tree beside its text: a column of eight letters, `c1 int, `, comes to a hundred bytes.
        const TREE_PER_TEXT: usize = 16;
        let markers: usize = self.markers.iter().map(|marker| size_of::<Marker>() + marker.name.len()).sum();
        markers
            + size_of_val(&*self.requirements)
            + match &self.action {
                Action::Modify(modification) => modification.bytes(),
                Action::Select(select) | Action::SelectVirtual(select) => select.bytes(),
                Action::Batch(batch) => batch.modifications.iter().map(Modification::bytes).sum(),
                Action::Other(_) => size_of::<Statement>() + text.len() * TREE_PER_TEXT,
            }
    }

    /// The table that it is about, the first one of a batch.
    pub(crate) fn table(&self) -> Option<&Table> {
        Some(match &self.action {
            Action::Modify(modification) => &modification.table,
            Action::Select(select) | Action::SelectVirtual(select) => &select.table,
            Action::Batch(batch) => &batch.modifications.first()?.table,
            Action::Other(_) => return None,
        })
    }

    /// The result's columns, if it gives rows.
    pub(crate) fn select(&self) -> Option<&Select> {
        match &self.action {
            Action::Select(select) | Action::SelectVirtual(select) => Some(select),
            _ => None,
        }
    }
}
