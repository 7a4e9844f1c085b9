//! Literals of several parts: lists, sets, maps, tuples, vectors and values of user-defined types.
//!
//! One whose parts are all constants is put together when the statement is planned. Others, of parts such as `now()` or,
//! in tuples and user-defined types, bind markers, are put together for each execution, as generators are run.

use cql_syntax::Term;
use cql_types::{CqlType, Field};
use functions::Fit;

use super::shown;
use super::terms::{Markers, Receiver};
use super::{Composition, Generator, Operand, Source, calls};
use crate::error::{QueryError, invalid};

impl Markers {
    /// The source of a literal of several parts.
    pub(super) fn literal(&mut self, term: &Term, receiver: &Receiver) -> Result<Source, QueryError> {
        check_parts(term, receiver)?;
        let ty = &receiver.ty;
        let mut operands = Vec::new();
        match (term, ty) {
            (Term::List(terms), CqlType::Vector { element, .. } | CqlType::List { element, .. })
            | (Term::Set(terms), CqlType::Set { element, .. }) => {
                let part = receiver.part(format!("value({})", receiver.name), element);
                for term in terms {
                    operands.push(self.part(term, &part, term_kind(ty), receiver)?);
                }
            }
            (Term::Map(entries), CqlType::Map { key, value, .. }) => {
                let key = receiver.part(format!("key({})", receiver.name), key);
                let value = receiver.part(format!("value({})", receiver.name), value);
                for entry in entries {
                    operands.push(self.part(&entry.0, &key, Some("map"), receiver)?);
                    operands.push(self.part(&entry.1, &value, Some("map"), receiver)?);
                }
            }
            (Term::Tuple(terms), CqlType::Tuple(types)) => {
                for (index, (term, ty)) in terms.iter().zip(types).enumerate() {
                    let part = receiver.part(format!("{}[{index}]", receiver.name), ty);
                    operands.push(self.part(term, &part, None, receiver)?);
                }
            }
            (Term::Udt(given), CqlType::Udt { fields, .. }) => {
                for field in fields {
                    let part = receiver.part(format!("{}.{}", receiver.name, field.name), &field.ty);
                    // Of a field that is named twice the last value stays.
                    let term = given.iter().rev().find(|(name, _)| *name == field.name).map(|(_, term)| term);
                    operands.push(self.part(term.unwrap_or(&Term::Null), &part, None, receiver)?);
                }
            }
            // An empty `{}` is a map too.
            _ => {}
        }
        self.composed(ty, operands)
    }

    /// The operand of one part. `collection` is the kind of literal in which no bind marker may stand.
    fn part(
        &mut self,
        term: &Term,
        part: &Receiver,
        collection: Option<&str>,
        whole: &Receiver,
    ) -> Result<Operand, QueryError> {
        match collection {
            Some(kind) if has_marker(term) => Err(invalid(format!(
                "Invalid {kind} literal for {}: bind variables are not supported inside collection literals",
                whole.name
            ))),
            _ => self.operand(term, part),
        }
    }

    fn composed(&mut self, ty: &CqlType, operands: Vec<Operand>) -> Result<Source, QueryError> {
        let constant = |operand: &Operand| matches!(operand.source, Source::Constant(_) | Source::Null);
        if !operands.iter().all(constant) {
            return self.generator(Generator::Composed(Box::new(Composition { ty: ty.clone(), operands })));
        }
        let parts: Vec<Option<&[u8]>> = operands.iter().map(|operand| operand.source.constant()).collect();
        let value = cql_types::compose(ty, &parts).map_err(|error| invalid(error.to_string()))?;
        Ok(Source::Constant(value))
    }
}

/// The word for the literals of a type in whose parts no marker may stand.
fn term_kind(ty: &CqlType) -> Option<&'static str> {
    match ty {
        CqlType::List { .. } => Some("list"),
        CqlType::Set { .. } => Some("set"),
        _ => None,
    }
}

/// Refuses a literal that is not of the receiver's type, in Cassandra's words.
fn check_parts(term: &Term, receiver: &Receiver) -> Result<(), QueryError> {
    let (name, ty) = (&receiver.name, &receiver.ty);
    let no_list =
        |ty: &CqlType| Err(invalid(format!("Unexpected receiver type '{ty}'; only list and vector are expected")));
    let wrong_value = |kind: &str, what: &str, term: &Term, ty: &CqlType| {
        if matches!(term, Term::List(_)) && !matches!(ty, CqlType::List { .. } | CqlType::Vector { .. }) {
            return no_list(ty);
        }
        Err(invalid(format!("Invalid {kind} literal for {name}: {what} {} is not of type {ty}", shown::term(term))))
    };
    let misplaced = |kind: &str| Err(invalid(format!("Invalid {kind} literal for {name} of type {ty}")));
    match (term, ty) {
        (Term::List(terms), CqlType::Vector { element, dimension }) => {
            if terms.len() != *dimension as usize {
                return Err(invalid(format!(
                    "Invalid vector literal for {name} of type {ty}; expected {dimension} elements, but given {}",
                    terms.len()
                )));
            }
            match terms.iter().find(|term| !is_assignable(term, element, receiver)) {
                Some(term) => wrong_value("vector", "value", term, element),
                None => Ok(()),
            }
        }
        (Term::List(terms), CqlType::List { element, .. }) => {
            match terms.iter().find(|term| !is_assignable(term, element, receiver)) {
                Some(term) => wrong_value("list", "value", term, element),
                None => Ok(()),
            }
        }
        (Term::List(_), _) => no_list(ty),
        (Term::Set(terms), CqlType::Map { .. }) if terms.is_empty() => Ok(()),
        (Term::Set(terms), CqlType::Set { element, .. }) => {
            match terms.iter().find(|term| !is_assignable(term, element, receiver)) {
                Some(term) => wrong_value("set", "value", term, element),
                None => Ok(()),
            }
        }
        (Term::Set(_), _) => misplaced("set"),
        (Term::Map(entries), CqlType::Map { key, value, .. }) => {
            for (term, of) in entries {
                if !is_assignable(term, key, receiver) {
                    return wrong_value("map", "key", term, key);
                }
                if !is_assignable(of, value, receiver) {
                    return wrong_value("map", "value", of, value);
                }
            }
            Ok(())
        }
        (Term::Map(_), _) => misplaced("map"),
        (Term::Tuple(terms), CqlType::Tuple(types)) => check_tuple(terms, types, receiver),
        (Term::Tuple(_), _) => misplaced("tuple type"),
        (Term::Udt(given), CqlType::Udt { name: type_name, fields, .. }) => {
            check_udt(given, type_name, fields, receiver)
        }
        (Term::Udt(_), _) => misplaced("user type"),
        _ => Ok(()),
    }
}

fn check_tuple(terms: &[Term], types: &[CqlType], receiver: &Receiver) -> Result<(), QueryError> {
    let name = &receiver.name;
    if terms.len() > types.len() {
        return Err(invalid(format!(
            "Invalid tuple literal for {name}: too many elements. Type {} expects {} but got {}",
            receiver.ty,
            types.len(),
            terms.len()
        )));
    }
    match terms.iter().zip(types).enumerate().find(|(_, (term, ty))| !is_assignable(term, ty, receiver)) {
        Some((index, (_, ty))) => {
            Err(invalid(format!("Invalid tuple literal for {name}: component {index} is not of type {ty}")))
        }
        None => Ok(()),
    }
}

fn check_udt(
    given: &[(String, Term)],
    type_name: &str,
    fields: &[Field],
    receiver: &Receiver,
) -> Result<(), QueryError> {
    let name = &receiver.name;
    for (field, term) in given {
        let Some(known) = fields.iter().find(|known| known.name == *field) else {
            return Err(invalid(format!("Unknown field '{field}' in value of user defined type {type_name}")));
        };
        if !is_assignable(term, &known.ty, receiver) {
            return Err(invalid(format!(
                "Invalid user type literal for {name}: field {field} is not of type {}",
                known.ty
            )));
        }
    }
    Ok(())
}

/// Whether a term may be a value of the type, as far as its look tells.
fn is_assignable(term: &Term, ty: &CqlType, receiver: &Receiver) -> bool {
    calls::fit(term, ty, receiver).is_assignable()
}

/// How well a literal of several parts fits a place of that type, as far as its parts tell.
pub(super) fn fit(term: &Term, ty: &CqlType, receiver: &Receiver) -> Fit {
    let of = |term: &Term, ty: &CqlType| calls::fit(term, ty, receiver);
    // One without parts may be of any element.
    let all = |fits: &mut dyn Iterator<Item = Fit>| fits.min().unwrap_or(Fit::Weak);
    match (term, ty) {
        (Term::List(terms), CqlType::List { element, .. }) | (Term::Set(terms), CqlType::Set { element, .. }) => {
            all(&mut terms.iter().map(|term| of(term, element)))
        }
        (Term::List(terms), CqlType::Vector { element, dimension }) if terms.len() == *dimension as usize => {
            all(&mut terms.iter().map(|term| of(term, element)))
        }
        (Term::Set(terms), CqlType::Map { .. }) if terms.is_empty() => Fit::Weak,
        (Term::Map(entries), CqlType::Map { key, value, .. }) => {
            all(&mut entries.iter().map(|entry| of(&entry.0, key).min(of(&entry.1, value))))
        }
        (Term::Tuple(terms), CqlType::Tuple(types)) if terms.len() <= types.len() => {
            all(&mut terms.iter().zip(types).map(|(term, ty)| of(term, ty)))
        }
        (Term::Udt(given), CqlType::Udt { fields, .. }) => {
            let field = |(name, term): &(String, Term)| {
                let field = fields.iter().find(|field| field.name == *name);
                field.map_or(Fit::No, |field| of(term, &field.ty).min(Fit::Weak))
            };
            given.iter().map(field).min().unwrap_or(Fit::Weak)
        }
        _ => Fit::No,
    }
}

/// Whether a bind marker stands anywhere in a term.
fn has_marker(term: &Term) -> bool {
    match term {
        Term::Marker(_) => true,
        Term::Null | Term::Literal(_) => false,
        Term::Function { arguments: terms, .. } | Term::List(terms) | Term::Set(terms) | Term::Tuple(terms) => {
            terms.iter().any(has_marker)
        }
        Term::Cast { term, .. } | Term::Conversion { term, .. } | Term::Negation(term) => has_marker(term),
        Term::Operation { left, right, .. } => has_marker(left) || has_marker(right),
        Term::Map(entries) => entries.iter().any(|entry| has_marker(&entry.0) || has_marker(&entry.1)),
        Term::Udt(fields) => fields.iter().any(|field| has_marker(&field.1)),
    }
}

#[cfg(test)]
pub(super) mod tests;
