//! IF: what a conditional statement asks of the rows that are there. The words of the refusals are Cassandra's.

use cql_syntax::{Condition as ConditionTerm, Conditions as ConditionTerms, Operator, Term, Using};
use cql_types::CqlType;
use schema::{Column, Table};

use super::operand::Operand;
use super::selection::Selected;
use super::terms::{Markers, Receiver, undefined_column};
use super::{InList, Modification, ModificationKind, Target};
use crate::error::{QueryError, invalid};

/// What a conditional statement asks for.
#[derive(Debug)]
pub(crate) enum Conditions {
    /// IF NOT EXISTS: the row is not there.
    NotExists,
    /// IF EXISTS: it is.
    Exists,
    /// IF with conditions on columns, all of which must hold: in the order of the text, but those on static columns last.
    Columns(Vec<ColumnCondition>),
}

/// A condition on a column, or on an element of one.
#[derive(Debug)]
pub(crate) struct ColumnCondition {
    /// The column.
    pub(crate) column: Selected,
    /// Its name, for the result.
    pub(crate) name: String,
    /// Its type.
    pub(crate) column_ty: CqlType,
    /// What of it is compared.
    pub(crate) part: ConditionPart,
    /// How.
    pub(crate) operator: Operator,
    /// With what; for IN more than one, or one marker bound to a list.
    pub(crate) values: InList,
    /// The type of what is compared.
    pub(crate) ty: CqlType,
}

/// What of a column a condition is about.
#[derive(Debug)]
pub(crate) enum ConditionPart {
    /// All of it.
    Whole,
    /// `l[index]`.
    Index(Operand),
    /// `m[key]`.
    Key(Operand),
    /// `u.field`, by the field's index.
    Field(u16),
}

impl Conditions {
    /// Whether any is on a regular column.
    pub(super) fn are_on_regulars(conditions: Option<&Self>) -> bool {
        let is_on_regular = |condition: &ColumnCondition| !condition.column.is_static();
        matches!(conditions, Some(Conditions::Columns(columns)) if columns.iter().any(is_on_regular))
    }

    /// Whether any is on a static column.
    fn are_on_statics(&self) -> bool {
        let is_on_static = |condition: &ColumnCondition| condition.column.is_static();
        matches!(self, Conditions::Columns(columns) if columns.iter().any(is_on_static))
    }

    /// Whether any is about the row, not the static one.
    pub(crate) fn are_about_row(&self) -> bool {
        !matches!(self, Conditions::Columns(_)) || Self::are_on_regulars(Some(self))
    }

    /// About what it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        let Conditions::Columns(columns) = self else { return size_of::<Self>() };
        let of_part = |part: &ConditionPart| match part {
            ConditionPart::Index(operand) | ConditionPart::Key(operand) => operand.bytes(),
            ConditionPart::Whole | ConditionPart::Field(_) => 0,
        };
        let of_one = |one: &ColumnCondition| {
            size_of::<ColumnCondition>() + one.name.len() + one.values.bytes() + of_part(&one.part)
        };
        size_of::<Self>() + columns.iter().map(of_one).sum::<usize>()
    }
}

/// Plans the IF of an UPDATE or DELETE.
pub(super) fn plan(
    terms: &ConditionTerms,
    using: &Using,
    table: &Table,
    markers: &mut Markers,
) -> Result<Option<Box<Conditions>>, QueryError> {
    let terms = match terms {
        ConditionTerms::None => return Ok(None),
        ConditionTerms::Exists => return Ok(Some(Box::new(Conditions::Exists))),
        ConditionTerms::All(terms) => terms,
    };
    if using.timestamp.is_some() {
        return Err(custom_timestamp());
    }
    let mut columns = Vec::with_capacity(terms.len());
    for term in terms {
        columns.push(column_condition(term, table, markers)?);
    }
    columns.sort_by_key(|condition| condition.column.is_static());
    Ok(Some(Box::new(Conditions::Columns(columns))))
}

/// What is refused of a conditional statement when all of it is planned.
pub(super) fn check(modification: &Modification) -> Result<(), QueryError> {
    match (&modification.conditions, &modification.timestamp) {
        (Some(_), _) if modification.counts => Err(invalid("Conditional updates are not supported on counter tables")),
        (Some(_), Some(_)) => Err(custom_timestamp()),
        _ => Ok(()),
    }
}

/// A conditional DELETE names one row, unless it is about static columns alone. `is_one_row`: it restricts the whole key by
/// equality.
pub(super) fn check_delete(
    conditions: Option<&Conditions>,
    deletes_regulars: bool,
    is_one_row: bool,
) -> Result<(), QueryError> {
    let Some(conditions) = conditions.filter(|_| !is_one_row) else { return Ok(()) };
    const WHOLE_KEY: &str =
        "DELETE statements must restrict all PRIMARY KEY columns with equality relations in order to";
    if deletes_regulars {
        return Err(invalid(format!("{WHOLE_KEY} delete non static columns")));
    }
    match Conditions::are_on_regulars(Some(conditions)) {
        true => Err(invalid(format!("{WHOLE_KEY} use IF condition on non static columns"))),
        false => Ok(()),
    }
}

fn custom_timestamp() -> QueryError {
    invalid("Cannot provide custom timestamp for conditional updates")
}

fn column_condition(
    condition: &ConditionTerm,
    table: &Table,
    markers: &mut Markers,
) -> Result<ColumnCondition, QueryError> {
    let name = &condition.column;
    let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
    if column.ty == CqlType::Counter {
        return Err(invalid("Conditions on counters are not supported"));
    }
    let receiver = Receiver::column(table, column);
    let (part, receiver) = match (&condition.element, &condition.field) {
        (Some(element), _) => of_element(element, column, &receiver, markers)?,
        (None, Some(field)) => of_field(field, column, &receiver)?,
        (None, None) => (ConditionPart::Whole, receiver),
    };
    let operator = condition.operator;
    check_durations(&receiver.ty, operator)?;
    let ty = receiver.ty.clone();
    let values = values(&condition.term, operator, &receiver, markers)?;
    if column.kind.is_key() {
        return Err(invalid(format!("PRIMARY KEY column '{name}' cannot have IF conditions")));
    }
    let selected = Selected::of_column(column).of_stored(table);
    let (name, column_ty) = (name.clone(), column.ty.clone());
    Ok(ColumnCondition { column: selected, name, column_ty, part, operator, values, ty })
}

fn of_element(
    element: &Term,
    column: &Column,
    receiver: &Receiver,
    markers: &mut Markers,
) -> Result<(ConditionPart, Receiver), QueryError> {
    let name = &column.name;
    match &column.ty {
        CqlType::List { element: of, .. } => {
            let index = markers.operand(element, &receiver.part(format!("idx({name})"), &CqlType::Int))?;
            Ok((ConditionPart::Index(index), receiver.part(format!("value({name})"), of)))
        }
        CqlType::Map { key: keys, value, .. } => {
            let key = markers.operand(element, &receiver.part(format!("key({name})"), keys))?;
            Ok((ConditionPart::Key(key), receiver.part(format!("value({name})"), value)))
        }
        CqlType::Set { .. } => Err(invalid(format!("Invalid element access syntax for set column {name}"))),
        _ => Err(invalid(format!("Invalid element access syntax for non-collection column {name}"))),
    }
}

fn of_field(field: &str, column: &Column, receiver: &Receiver) -> Result<(ConditionPart, Receiver), QueryError> {
    let name = &column.name;
    let CqlType::Udt { fields, .. } = &column.ty else {
        return Err(invalid(format!("Invalid field access syntax for non-UDT column {name}")));
    };
    let found = (0u16..).zip(fields).find(|(_, known)| known.name == field);
    let (index, known) = found.ok_or_else(|| invalid(format!("Unknown field {field} for column {name}")))?;
    Ok((ConditionPart::Field(index), receiver.part(format!("{name}.{field}"), &known.ty)))
}

fn values(term: &Term, operator: Operator, receiver: &Receiver, markers: &mut Markers) -> Result<InList, QueryError> {
    let name = &receiver.name;
    let part = match (operator, &receiver.ty) {
        (Operator::ContainsKey, CqlType::Map { key, .. }) => Some(receiver.part(format!("key({name})"), key)),
        (Operator::ContainsKey, _) => return Err(invalid(format!("Cannot use CONTAINS KEY on non-map column {name}"))),
        (Operator::Contains, CqlType::List { element, .. } | CqlType::Set { element, .. }) => {
            Some(receiver.part(format!("value({name})"), element))
        }
        (Operator::Contains, CqlType::Map { value, .. }) => Some(receiver.part(format!("value({name})"), value)),
        (Operator::Contains, _) => {
            return Err(invalid(format!("Cannot use CONTAINS on non-collection column {name}")));
        }
        _ => None,
    };
    if operator != Operator::In {
        let operand = markers.operand(term, part.as_ref().unwrap_or(receiver))?;
        return Ok(InList::Operands(vec![operand]));
    }
    match term {
        Term::Tuple(terms) => {
            let operands = terms.iter().map(|term| markers.operand(term, receiver));
            Ok(InList::Operands(operands.collect::<Result<_, _>>()?))
        }
        marker => {
            let list = CqlType::List { element: Box::new(receiver.ty.clone()), frozen: false };
            Ok(InList::Marker(markers.operand(marker, &receiver.part(format!("in({name})"), &list))?))
        }
    }
}

/// Durations have no order.
fn check_durations(ty: &CqlType, operator: Operator) -> Result<(), QueryError> {
    use Operator::{Greater, GreaterOrEqual, Less, LessOrEqual};
    if !matches!(operator, Less | LessOrEqual | Greater | GreaterOrEqual) || !ty.refers_to_duration() {
        return Ok(());
    }
    let what = match ty {
        ty if ty.is_collection() => "collections",
        CqlType::Tuple(_) => "tuples",
        CqlType::Udt { .. } => "UDTs",
        _ => return Err(invalid(format!("Slice conditions ( {operator} ) are not supported on durations"))),
    };
    Err(invalid(format!("Slice conditions are not supported on {what} containing durations")))
}

impl Modification {
    /// Whether it is about static columns alone, and so about the static row: it then names no row.
    pub(super) fn is_about_statics(
        table: &Table,
        has_statics: bool,
        has_regulars: bool,
        conditions: Option<&Conditions>,
    ) -> bool {
        let has_static = has_statics || conditions.is_some_and(Conditions::are_on_statics);
        has_static && !has_regulars && !table.clustering().is_empty() && !Conditions::are_on_regulars(conditions)
    }

    /// Whether it changes regular columns or rows: then what is read of rows are all their columns.
    pub(crate) fn changes_rows(&self) -> bool {
        match self.target {
            Target::StaticRow => false,
            Target::Partition => self.table.clustering().is_empty(),
            Target::Rows(_) | Target::Range { .. } => true,
        }
    }

    /// Whether it changes static columns: then what is read of the static row are all its columns.
    pub(crate) fn changes_statics(&self) -> bool {
        !self.statics.is_empty()
    }

    /// What refusals call it beside "conditional".
    pub(crate) fn conditional_kind(&self) -> &'static str {
        if self.kind == ModificationKind::Delete { "deletions" } else { "updates" }
    }
}

impl ColumnCondition {
    /// Whether the column has a cell for each of its elements or fields.
    pub(crate) fn has_several_cells(&self) -> bool {
        matches!(self.column, Selected::Elements { .. })
    }

    /// Whether it is on a column of the static row.
    pub(crate) fn is_static(&self) -> bool {
        self.column.is_static()
    }
}
