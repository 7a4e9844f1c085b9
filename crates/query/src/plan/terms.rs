//! From terms to operands: literals are encoded, markers get their types, calls become generators.

use std::rc::Rc;

use cql_syntax::{BindMarker, Term};
use cql_types::CqlType;
use schema::{Column, Table};

use super::{Generator, Marker, Operand, Source, shown};
use crate::error::{QueryError, invalid};

/// What a term is the value of: gives a marker its name and type.
#[derive(Debug, Clone)]
pub(super) struct Receiver {
    keyspace: Rc<str>,
    table: Rc<str>,
    pub(super) name: String,
    pub(super) ty: CqlType,
}

impl Receiver {
    pub(super) fn new(table: &Table, name: impl Into<String>, ty: CqlType) -> Self {
        Receiver {
            keyspace: Rc::from(table.keyspace.as_str()),
            table: Rc::from(table.name.as_str()),
            name: name.into(),
            ty,
        }
    }

    pub(super) fn column(table: &Table, column: &Column) -> Self {
        Receiver::new(table, column.name.clone(), column.ty.clone())
    }

    /// A part of this value.
    pub(super) fn part(&self, name: String, ty: &CqlType) -> Self {
        Receiver { keyspace: self.keyspace.clone(), table: self.table.clone(), name, ty: ty.clone() }
    }
}

/// A statement's markers and generators, in the making.
#[derive(Debug, Default)]
pub(super) struct Markers {
    markers: Vec<Option<Marker>>,
    generators: Vec<Generator>,
}

impl Markers {
    /// All markers, each of which has a type by now.
    pub(super) fn finish(self) -> Result<(Vec<Marker>, Vec<Generator>), QueryError> {
        let markers: Option<Vec<Marker>> = self.markers.into_iter().collect();
        let markers = markers.ok_or_else(|| invalid("A bind marker stands where none is supported"))?;
        if markers.len() > usize::from(u16::MAX) {
            return Err(invalid(format!(
                "Too many markers(?). {} markers exceed the allowed maximum of {}",
                markers.len(),
                u16::MAX
            )));
        }
        Ok((markers, self.generators))
    }

    /// The source of a marker's value.
    pub(super) fn marker(&mut self, marker: &BindMarker, receiver: &Receiver) -> Result<Source, QueryError> {
        let too_many = || invalid(format!("Too many markers(?). The allowed maximum is {}", u16::MAX));
        let index = u16::try_from(marker.index).map_err(|_| too_many())?;
        let place = usize::from(index);
        if self.markers.len() <= place {
            self.markers.resize(place + 1, None);
        }
        self.markers[place] = Some(Marker {
            keyspace: receiver.keyspace.clone(),
            table: receiver.table.clone(),
            name: marker.name.clone().unwrap_or_else(|| receiver.name.clone()),
            ty: receiver.ty.clone(),
        });
        Ok(Source::Bound(index))
    }

    /// A term as the value of `receiver`.
    pub(super) fn operand(&mut self, term: &Term, receiver: &Receiver) -> Result<Operand, QueryError> {
        let source = match term {
            Term::Null => Source::Null,
            Term::Literal(literal) => {
                let value = cql_types::parse_literal(&receiver.ty, literal);
                Source::Constant(value.map_err(|error| literal_error(&error, receiver))?)
            }
            Term::Marker(marker) => self.marker(marker, receiver)?,
            Term::Function { name, arguments, .. } => self.function(name, arguments, receiver)?,
            Term::Cast { ty, term } => {
                let cast = CqlType::parse(ty).map_err(|error| invalid(error.to_string()))?;
                if cast != receiver.ty {
                    return Err(invalid(format!(
                        "Cannot assign value ({cast}){} to {} of type {}",
                        shown::term(term),
                        receiver.name,
                        receiver.ty
                    )));
                }
                return self.operand(term, receiver);
            }
            Term::List(_) | Term::Set(_) | Term::Map(_) | Term::Tuple(_) | Term::Udt(_) => {
                self.literal(term, receiver)?
            }
        };
        Ok(Operand::new(source, receiver.ty.clone()))
    }

    fn function(&mut self, name: &str, arguments: &[Term], receiver: &Receiver) -> Result<Source, QueryError> {
        let Some((generator, ty)) = generator_called(name) else { return Err(unknown_function(name)) };
        if !arguments.is_empty() {
            return Err(invalid(format!(
                "Invalid number of arguments in call to function system.{name}: 0 required but {} provided",
                arguments.len()
            )));
        }
        // A time-based UUID is a UUID.
        let fits = ty == receiver.ty || (ty == CqlType::Timeuuid && receiver.ty == CqlType::Uuid);
        if !fits {
            return Err(invalid(format!(
                "Type error: cannot assign result of function system.{name} (type {ty}) to {} (type {})",
                receiver.name, receiver.ty
            )));
        }
        self.generator(generator)
    }

    /// The source of what a generator gives.
    pub(super) fn generator(&mut self, generator: Generator) -> Result<Source, QueryError> {
        let index = u16::try_from(self.generators.len()).map_err(|_| invalid("Too many function calls"))?;
        self.generators.push(generator);
        Ok(Source::Generated(index))
    }
}

/// The generator that a call without arguments runs, and the type of what it gives.
pub(super) fn generator_called(name: &str) -> Option<(Generator, CqlType)> {
    Some(match name {
        "now" | "currenttimeuuid" | "current_timeuuid" => (Generator::TimeUuid, CqlType::Timeuuid),
        "uuid" => (Generator::RandomUuid, CqlType::Uuid),
        "currenttimestamp" | "current_timestamp" => (Generator::Timestamp, CqlType::Timestamp),
        "currentdate" | "current_date" => (Generator::Date, CqlType::Date),
        "currenttime" | "current_time" => (Generator::Time, CqlType::Time),
        _ => return None,
    })
}

pub(super) fn unknown_function(name: &str) -> QueryError {
    invalid(format!("Unknown function '{name}'"))
}

/// The sentence for a literal that is not of the receiver's type, which Cassandra ends with the receiver.
fn literal_error(error: &cql_types::ValueError, receiver: &Receiver) -> QueryError {
    match error {
        cql_types::ValueError::Kind { kind, text, ty } => {
            invalid(format!("Invalid {kind} constant ({text}) for \"{}\" of type {ty}", receiver.name))
        }
        other => invalid(other.to_string()),
    }
}

/// "Undefined column name", as Cassandra says it.
pub(super) fn undefined_column(name: &str, table: &Table) -> QueryError {
    let quoted = cql_syntax::quote_identifier;
    let (keyspace, table) = (quoted(&table.keyspace), quoted(&table.name));
    invalid(format!("Undefined column name {} in table {keyspace}.{table}", quoted(name)))
}
