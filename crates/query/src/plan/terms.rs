//! From terms to operands: literals are encoded, markers get their types, calls become constants or generators.

use std::rc::Rc;

use cql_syntax::{BindMarker, Term};
use cql_types::CqlType;
use schema::{Column, Table};

use super::{Generator, JsonMarker, Marker, Operand, Source, calls, shown};
use crate::error::{QueryError, invalid};

/// What a term is the value of: gives a marker its name and type.
#[derive(Debug, Clone)]
pub(super) struct Receiver {
    keyspace: Rc<str>,
    table: Rc<str>,
    /// The types of the table's partition key, for token().
    pub(super) key: Rc<[CqlType]>,
    pub(super) name: String,
    pub(super) ty: CqlType,
}

impl Receiver {
    pub(super) fn new(table: &Table, name: impl Into<String>, ty: CqlType) -> Self {
        Receiver {
            keyspace: Rc::from(table.keyspace.as_str()),
            table: Rc::from(table.name.as_str()),
            key: table.partition_key().iter().map(|column| column.ty.clone()).collect(),
            name: name.into(),
            ty,
        }
    }

    pub(super) fn column(table: &Table, column: &Column) -> Self {
        Receiver::new(table, column.name.clone(), column.ty.clone())
    }

    /// A part of this value.
    pub(super) fn part(&self, name: String, ty: &CqlType) -> Self {
        let (keyspace, table, key) = (self.keyspace.clone(), self.table.clone(), self.key.clone());
        Receiver { keyspace, table, key, name, ty: ty.clone() }
    }
}

/// A statement's markers and generators, in the making.
#[derive(Debug, Default)]
pub(super) struct Markers {
    markers: Vec<Option<Marker>>,
    generators: Vec<Generator>,
    /// Those that are bound to JSON texts.
    pub(super) json: Vec<JsonMarker>,
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
            Term::Literal(literal) => match literal.long_value(&receiver.ty) {
                Some(value) => Source::Long(value),
                None => {
                    let value = cql_types::parse_literal(&receiver.ty, literal);
                    Source::Constant(value.map_err(|error| literal_error(&error, receiver))?)
                }
            },
            Term::Marker(marker) => self.marker(marker, receiver)?,
            Term::Function { .. } | Term::Operation { .. } | Term::Negation(_) | Term::Conversion { .. } => {
                self.call(term, receiver)?
            }
            Term::Cast { ty, term: of } => {
                check_hint(ty, of, term, receiver)?;
                return self.operand(of, receiver);
            }
            // Parentheses are a tuple's only where one belongs.
            Term::Tuple(terms) if terms.len() == 1 && !matches!(receiver.ty, CqlType::Tuple(_)) => {
                return self.operand(&terms[0], receiver);
            }
            Term::List(_) | Term::Set(_) | Term::Map(_) | Term::Tuple(_) | Term::Udt(_) => {
                self.literal(term, receiver)?
            }
        };
        Ok(Operand::new(source, receiver.ty.clone()))
    }

    /// The source of what a generator gives.
    pub(super) fn generator(&mut self, generator: Generator) -> Result<Source, QueryError> {
        let index = u16::try_from(self.generators.len()).map_err(|_| invalid("Too many function calls"))?;
        self.generators.push(generator);
        Ok(Source::Generated(index))
    }
}

/// The type that a hint names. Of user-defined types only those of the place can be meant, since no others would fit it.
pub(super) fn type_hint(text: &str, receiver: &Receiver) -> Result<CqlType, QueryError> {
    let ty = CqlType::parse(text).map_err(|error| invalid(error.to_string()))?;
    let CqlType::Udt { keyspace, name, .. } = &ty else { return Ok(ty) };
    let keyspace = if keyspace.is_empty() { &*receiver.keyspace } else { keyspace };
    user_type(&receiver.ty, name).cloned().ok_or_else(|| invalid(format!("Unknown type {keyspace}.{name}")))
}

/// The user-defined type of that name in a type.
fn user_type<'t>(within: &'t CqlType, called: &str) -> Option<&'t CqlType> {
    match within {
        CqlType::Udt { name, .. } if name == called => Some(within),
        CqlType::Udt { fields, .. } => fields.iter().find_map(|field| user_type(&field.ty, called)),
        CqlType::List { element, .. } | CqlType::Set { element, .. } | CqlType::Vector { element, .. } => {
            user_type(element, called)
        }
        CqlType::Map { key, value, .. } => user_type(key, called).or_else(|| user_type(value, called)),
        CqlType::Tuple(types) => types.iter().find_map(|ty| user_type(ty, called)),
        _ => None,
    }
}

/// Refuses `(type) term` if the term is no such value, or such a value has no place there. What is planned then is the term, as a
/// value of the place.
fn check_hint(hint: &str, of: &Term, whole: &Term, receiver: &Receiver) -> Result<(), QueryError> {
    let ty = type_hint(hint, receiver)?;
    if !calls::fit(of, &ty, receiver).is_assignable() {
        return Err(invalid(format!("Cannot cast value {} to type {hint}", shown::term(of))));
    }
    match functions::fit_of_type(&ty, &receiver.ty).is_assignable() {
        true => Ok(()),
        false => Err(invalid(format!(
            "Cannot assign value {} to {} of type {}",
            shown::term(whole),
            receiver.name,
            receiver.ty
        ))),
    }
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
