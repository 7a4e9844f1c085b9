//! What an assignment or a deletion does to a column of several cells.

use cql_syntax::{AssignmentKind, Deletion, Term};
use cql_types::CqlType;
use schema::{Column, Table};

use super::terms::{Markers, Receiver};
use super::{Assignment, Generator, Operand, Source, shown};
use crate::error::{QueryError, invalid};

/// How a column changes.
#[derive(Debug)]
pub(crate) enum Change {
    /// The value is the column's one cell; null deletes the column, whatever cells it has.
    Cell,
    /// The value is added to a counter.
    Count {
        /// It is subtracted.
        is_negated: bool,
    },
    /// The value takes the place of all elements.
    Replace {
        /// Where a list's elements go.
        place: Option<ListPlace>,
    },
    /// The value's elements are added; a list's go to the end.
    Add {
        /// Where a list's elements go.
        place: Option<ListPlace>,
    },
    /// The value's elements are put before a list's.
    Prepend {
        /// Where they go.
        place: ListPlace,
    },
    /// The elements of a set, or the keys of a map, that the value has are removed.
    Remove,
    /// The value is that of one key of a map; null removes it. Of a set the key is an element to remove.
    Key {
        /// The key.
        key: Operand,
    },
    /// The value is that of a list's element at an index; null removes it. The list must be known.
    Index {
        /// The index.
        index: Operand,
        /// Whether it was DELETE that named it, which refusals tell.
        is_deletion: bool,
    },
    /// The elements of a list that are among the value's are removed. The list must be known.
    Discard,
    /// The value is that of the field with this index.
    Field {
        /// The index.
        index: u16,
    },
}

/// The index of the generator of the time-based UUID that places a list's new elements.
pub(crate) type ListPlace = u16;

impl Assignment {
    /// A column that is set as a whole.
    pub(super) fn whole(column: &Column, operand: Operand, markers: &mut Markers) -> Result<Self, QueryError> {
        let change = match column.ty.is_multi_cell() {
            true => Change::Replace { place: list_place(&column.ty, markers)? },
            false => Change::Cell,
        };
        Ok(Assignment { column: column.id, operand, change, place: 0 })
    }

    /// A column that is deleted.
    pub(super) fn deletion(column: &Column) -> Self {
        let operand = Operand::new(Source::Null, column.ty.clone());
        Assignment { column: column.id, operand, change: Change::Cell, place: 0 }
    }

    /// What SET says of `column`.
    pub(super) fn of_kind(
        kind: &AssignmentKind,
        column: &Column,
        table: &Table,
        markers: &mut Markers,
    ) -> Result<Self, QueryError> {
        let receiver = Receiver::column(table, column);
        let name = &column.name;
        let (operand, change) = match kind {
            AssignmentKind::Set(term) => {
                let operand = markers.operand(term, &receiver)?;
                if column.ty == CqlType::Counter {
                    check_increment(&operand)?;
                    return Err(invalid(format!(
                        "Cannot set the value of counter column {name} (counters can only be incremented/decremented, not set)"
                    )));
                }
                return Assignment::whole(column, operand, markers);
            }
            AssignmentKind::Add(term) | AssignmentKind::Subtract(term) if column.ty == CqlType::Counter => {
                let is_negated = matches!(kind, AssignmentKind::Subtract(_));
                let operand = markers.operand(term, &receiver)?;
                check_increment(&operand)?;
                (operand, Change::Count { is_negated })
            }
            AssignmentKind::Add(term) => {
                check_collection(column, || format!("{name} = {name} + {}", shown::term(term)))?;
                let operand = markers.operand(term, &receiver);
                let operand = match &column.ty {
                    CqlType::Map { .. } => operand.map_err(|_| misfit("addition has to be a map", term))?,
                    _ => operand?,
                };
                (operand, Change::Add { place: list_place(&column.ty, markers)? })
            }
            AssignmentKind::Prepend(term) => {
                // The sign is Cassandra's.
                let shown = || format!("{name} = {} - {name}", shown::term(term));
                let operand = markers.operand(term, &receiver)?;
                let place = match (&column.ty, column.ty.is_multi_cell()) {
                    (CqlType::List { .. }, true) => list_place(&column.ty, markers)?,
                    (CqlType::List { .. }, false) => return Err(refused(shown(), "frozen list", name)),
                    _ => None,
                };
                let Some(place) = place else { return Err(refused(shown(), "non list", name)) };
                (operand, Change::Prepend { place })
            }
            AssignmentKind::Subtract(term) => {
                check_collection(column, || format!("{name} = {name} - {}", shown::term(term)))?;
                let removed = match &column.ty {
                    CqlType::Map { key, .. } => {
                        receiver.part(name.clone(), &CqlType::Set { element: key.clone(), frozen: false })
                    }
                    _ => receiver,
                };
                let change = if matches!(column.ty, CqlType::List { .. }) { Change::Discard } else { Change::Remove };
                let operand = markers.operand(term, &removed);
                let operand = match &column.ty {
                    CqlType::Map { .. } => operand.map_err(|_| misfit("substraction has to be a set", term))?,
                    _ => operand?,
                };
                (operand, change)
            }
            AssignmentKind::Element { key, term } => {
                let shown = || format!("{name}[{}] = {}", shown::term(key), shown::term(term));
                match (&column.ty, column.ty.is_multi_cell()) {
                    (CqlType::Map { key: keys, value, .. }, true) => {
                        let key = markers.operand(key, &receiver.part(format!("key({name})"), keys))?;
                        let value = markers.operand(term, &receiver.part(format!("value({name})"), value))?;
                        (value, Change::Key { key })
                    }
                    (CqlType::List { element, .. }, true) => {
                        let index = markers.operand(key, &receiver.part(format!("idx({name})"), &CqlType::Int))?;
                        let value = markers.operand(term, &receiver.part(format!("value({name})"), element))?;
                        (value, Change::Index { index, is_deletion: false })
                    }
                    (CqlType::Set { .. }, true) => return Err(refused(shown(), "set", name)),
                    (ty, false) if ty.is_collection() => return Err(refused(shown(), "frozen collection", name)),
                    _ => return Err(refused(shown(), "non collection", name)),
                }
            }
            AssignmentKind::Field { field, term } => {
                let shown = || format!("{name}.{field} = {}", shown::term(term));
                match (&column.ty, column.ty.is_multi_cell()) {
                    (CqlType::Udt { .. }, true) => {}
                    (CqlType::Udt { .. }, false) => return Err(refused(shown(), "frozen UDT", name)),
                    _ => return Err(refused(shown(), "non-UDT", name)),
                }
                let (index, ty) = field_called(column, field)?;
                let part = receiver.part(format!("{name}.{field}"), ty);
                (markers.operand(term, &part)?, Change::Field { index })
            }
        };
        Ok(Assignment { column: column.id, operand, change, place: 0 })
    }

    /// What a DELETE names of `column`.
    pub(super) fn of_deletion(
        deletion: &Deletion,
        column: &Column,
        table: &Table,
        markers: &mut Markers,
    ) -> Result<Self, QueryError> {
        let name = &column.name;
        let change = match deletion {
            Deletion::Column(_) => return Ok(Assignment::deletion(column)),
            Deletion::Element { key, .. } => {
                let key = element_key(key, column, table, markers)?;
                match &column.ty {
                    CqlType::List { .. } => Change::Index { index: key, is_deletion: true },
                    _ => Change::Key { key },
                }
            }
            Deletion::Field { field, .. } => {
                let message = match (&column.ty, column.ty.is_multi_cell()) {
                    (CqlType::Udt { .. }, true) => None,
                    (CqlType::Udt { .. }, false) => Some("Frozen UDT column {} does not support field deletions"),
                    _ => Some("Invalid field deletion operation for non-UDT column {}"),
                };
                if let Some(message) = message {
                    return Err(invalid(message.replace("{}", name)));
                }
                Change::Field { index: field_called(column, field)?.0 }
            }
        };
        Ok(Assignment { change, ..Assignment::deletion(column) })
    }

    /// Whether two changes of one column may stand in one statement: all but such as set it as a whole.
    pub(super) fn goes_with(&self, other: &Assignment) -> bool {
        let is_whole = |change: &Change| matches!(change, Change::Cell | Change::Replace { .. });
        match (&self.change, &other.change) {
            (Change::Field { index: a }, Change::Field { index: b }) => a != b,
            (a, b) => !is_whole(a) && !is_whole(b),
        }
    }
}

fn element_key(key: &Term, column: &Column, table: &Table, markers: &mut Markers) -> Result<Operand, QueryError> {
    let (receiver, name) = (Receiver::column(table, column), &column.name);
    let part = match (&column.ty, column.ty.is_multi_cell()) {
        (CqlType::Map { key, .. }, true) => receiver.part(format!("key({name})"), key),
        (CqlType::Set { element, .. }, true) => receiver.part(format!("value({name})"), element),
        (CqlType::List { .. }, true) => receiver.part(format!("idx({name})"), &CqlType::Int),
        (ty, false) if ty.is_collection() => {
            return Err(invalid(format!("Invalid deletion operation for frozen collection column {name}")));
        }
        _ => return Err(invalid(format!("Invalid deletion operation for non collection column {name}"))),
    };
    markers.operand(key, &part)
}

fn field_called<'c>(column: &'c Column, field: &str) -> Result<(u16, &'c CqlType), QueryError> {
    let CqlType::Udt { fields, .. } = &column.ty else { panic!("the column was found to be of a user-defined type") };
    let found = (0u16..).zip(fields).find(|(_, known)| known.name == field);
    let missing = || invalid(format!("UDT column {} does not have a field named {field}", column.name));
    found.map(|(index, known)| (index, &known.ty)).ok_or_else(missing)
}

fn list_place(ty: &CqlType, markers: &mut Markers) -> Result<Option<ListPlace>, QueryError> {
    let CqlType::List { .. } = ty else { return Ok(None) };
    match markers.generator(Generator::TimeUuid)? {
        Source::Generated(index) => Ok(Some(index)),
        _ => panic!("a generator has an index"),
    }
}

impl Change {
    /// Whether it can be done only by who knows what the column holds.
    pub(crate) fn needs_reading(&self) -> bool {
        matches!(self, Change::Index { .. } | Change::Discard)
    }

    /// About what it takes in memory beyond its own size.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Change::Key { key } | Change::Index { index: key, .. } => key.bytes(),
            _ => 0,
        }
    }
}

/// Refuses `+` and `-` on what is no collection of several cells.
fn check_collection(column: &Column, shown: impl Fn() -> String) -> Result<(), QueryError> {
    match (&column.ty, column.ty.is_multi_cell()) {
        (ty, true) if ty.is_collection() => Ok(()),
        (ty, false) if ty.is_collection() => Err(refused(shown(), "frozen collection", &column.name)),
        (CqlType::Tuple(_) | CqlType::Udt { .. }, _) => Err(refused(shown(), "tuple", &column.name)),
        _ => Err(refused(shown(), "non counter", &column.name)),
    }
}

/// What `+` and `-` say of a term that is no value for them, whatever is wrong with it. The spelling is Cassandra's.
fn misfit(what: &str, term: &Term) -> QueryError {
    invalid(format!("Value for a map {what}, but was: '{}'", shown::term(term)))
}

fn refused(operation: String, what: &str, column: &str) -> QueryError {
    invalid(format!("Invalid operation ({operation}) for {what} column {column}"))
}

/// A counter counts by what is there.
fn check_increment(operand: &Operand) -> Result<(), QueryError> {
    match operand.source {
        Source::Null => Err(invalid("Invalid null value for counter increment/decrement")),
        _ => Ok(()),
    }
}
