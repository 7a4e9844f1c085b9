//! Calls in terms: functions, arithmetic and CAST. Which function a call is depends on what its arguments may be, which for a
//! call inside of a call depends on the same question again.
//!
//! A pure function of constants is evaluated here, so that what is planned is a constant; others for each execution.

use std::cell::RefCell;
use std::collections::BTreeMap;

use cql_syntax::{ArithmeticOperator, Term};
use cql_types::CqlType;
use functions::{Argument, Context, Fit, Operator, ResolveError, Untyped};

use super::terms::{Markers, Receiver, type_hint};
use super::{Calling, Generator, Operand, Source, literals, shown};
use crate::error::{QueryError, invalid};

impl Markers {
    /// The source of what a call gives.
    pub(super) fn call(&mut self, term: &Term, receiver: &Receiver) -> Result<Source, QueryError> {
        self.shaped(&Shape::new(term, receiver), receiver)
    }

    /// The same of a call inside of another, of which what fits is known by now.
    fn shaped(&mut self, shape: &Shape<'_>, receiver: &Receiver) -> Result<Source, QueryError> {
        let term = shape.term;
        let call = shape.resolve(Some(&receiver.ty)).map_err(|error| refusal(&error, term))?;
        // What a call gives is one value; a column of several cells does not take it, whatever is in it.
        let is_frozen_alone = call.returns().is_multi_cell() != receiver.ty.is_multi_cell();
        if is_frozen_alone || !functions::fit_of_type(call.returns(), &receiver.ty).is_assignable() {
            return Err(misassigned(term, &call, receiver));
        }
        let mut operands = Vec::with_capacity(shape.arguments.len());
        for (index, (argument, ty)) in shape.arguments.iter().zip(call.arguments()).enumerate() {
            let name = format!("arg{index}({})", call.name().to_lowercase());
            let part = receiver.part(name, ty);
            let argument = argument.without_parentheses(ty);
            operands.push(match is_call(argument.term) {
                true => Operand::new(self.shaped(argument, &part)?, ty.clone()),
                false => self.operand(argument.term, &part)?,
            });
        }
        let constant = |operand: &Operand| match &operand.source {
            Source::Constant(bytes) => Some(Some(bytes.clone())),
            Source::Null => Some(None),
            _ => None,
        };
        if call.is_pure()
            && let Some(constants) = operands.iter().map(constant).collect::<Option<Vec<_>>>()
        {
            let arguments: Vec<Option<&[u8]>> = constants.iter().map(Option::as_deref).collect();
            let mut value = Vec::new();
            // What fails does so when it is run, as in Cassandra, not when it is prepared.
            match call.evaluate(&arguments, &mut Planning, &mut value) {
                Ok(true) => return Ok(Source::Constant(value)),
                Ok(false) => return Ok(Source::Null),
                Err(_) => {}
            }
        }
        match self.generator(Generator::Call(Box::new(Calling { call, operands })))? {
            Source::Generated(index) => Ok(Source::Called(index)),
            _ => panic!("a generator has an index"),
        }
    }
}

/// What a pure function may ask for.
pub(crate) struct Planning;

impl Context for Planning {
    fn now_micros(&mut self) -> i64 {
        panic!("a pure function asks for no time")
    }

    fn time_uuid(&mut self) -> [u8; 16] {
        panic!("a pure function asks for no UUID")
    }

    fn random_uuid(&mut self) -> [u8; 16] {
        panic!("a pure function asks for no UUID")
    }

    fn token(&mut self, key: &[u8]) -> i64 {
        topology::token_of(key).0
    }
}

/// Whether a term is a call of some kind.
pub(super) fn is_call(term: &Term) -> bool {
    matches!(term, Term::Function { .. } | Term::Operation { .. } | Term::Negation(_) | Term::Conversion { .. })
}

/// How well a term fits a place of that type, in the statement of `receiver`.
pub(super) fn fit(term: &Term, ty: &CqlType, receiver: &Receiver) -> Fit {
    Shape::new(term, receiver).fit(ty)
}

/// What is known of a term before its type is chosen. Of a call, what fits is remembered: each level of a long sum would
/// otherwise ask all below it again for each type.
struct Shape<'t> {
    term: &'t Term,
    arguments: Vec<Shape<'t>>,
    receiver: &'t Receiver,
    fits: RefCell<BTreeMap<CqlType, Fit>>,
    natural: RefCell<Option<Option<CqlType>>>,
}

impl<'t> Shape<'t> {
    fn new(term: &'t Term, receiver: &'t Receiver) -> Self {
        let of = |term| Shape::new(term, receiver);
        let arguments = match term {
            Term::Function { arguments, .. } => arguments.iter().map(of).collect(),
            Term::Operation { left, right, .. } => vec![of(left), of(right)],
            Term::Negation(term) | Term::Conversion { term, .. } => vec![of(term)],
            Term::Tuple(terms) if terms.len() == 1 => vec![of(&terms[0])],
            _ => Vec::new(),
        };
        Shape { term, arguments, receiver, fits: RefCell::default(), natural: RefCell::default() }
    }

    /// What stands in parentheses, if that is what they are in a place of that type.
    fn without_parentheses(&self, ty: &CqlType) -> &Shape<'t> {
        let mut inside = self;
        while let (Term::Tuple(_), [only], false) =
            (inside.term, &inside.arguments[..], matches!(ty, CqlType::Tuple(_)))
        {
            inside = only;
        }
        inside
    }

    fn as_argument(&self) -> Argument<'_> {
        match self.term {
            Term::Marker(_) => Argument::Marker,
            Term::Null => Argument::Null,
            Term::Literal(literal) => Argument::literal(literal),
            _ => Argument::Untyped(self),
        }
    }

    /// The function that it is the call of.
    fn resolve(&self, receiver: Option<&CqlType>) -> Result<functions::Call, ResolveError> {
        let arguments: Vec<Argument<'_>> = self.arguments.iter().map(Shape::as_argument).collect();
        match self.term {
            Term::Function { keyspace, name, .. } => {
                let keyspace = keyspace.as_deref();
                if keyspace.is_none() && name == "token" {
                    return functions::token(&self.receiver.key, &arguments);
                }
                if functions::is_aggregate(keyspace, name) {
                    functions::resolve_aggregate(name, &arguments)?;
                    let message = "Aggregation function are not supported in the where clause".to_owned();
                    return Err(ResolveError::Invalid { message });
                }
                functions::resolve(keyspace, name, &arguments, receiver)
            }
            Term::Operation { operator, .. } => {
                functions::operator(arithmetic(*operator), &arguments[0], &arguments[1], receiver)
            }
            Term::Negation(_) => functions::negation(&arguments[0], receiver),
            Term::Conversion { ty, .. } => {
                functions::resolve(Some("system"), &format!("cast_as_{ty}"), &arguments, receiver)
            }
            _ => panic!("only a call is resolved"),
        }
    }

    /// Whether the function is made of its arguments' types, so that what it gives says little.
    fn is_made(&self) -> bool {
        matches!(self.term, Term::Function { name, .. } if functions::is_made(name))
    }

    fn fit_of_call(&self, ty: &CqlType) -> Fit {
        match self.resolve(Some(ty)) {
            Ok(_) if self.is_made() => Fit::Weak,
            Ok(call) if *call.returns() == ty.clone().into_frozen() || call.returns() == ty => Fit::Exact,
            Ok(call) if ty.takes_values_of(call.returns()) => Fit::Weak,
            Ok(_) => Fit::No,
            // What is called wrongly is refused with better words when it is planned itself.
            Err(_) => Fit::Weak,
        }
    }

    /// The type of a set's elements, or a map's keys or values, that all of them fit.
    fn common_type(&self, terms: &[&Term]) -> Option<CqlType> {
        let shapes: Vec<Shape<'_>> = terms.iter().map(|term| Shape::new(term, self.receiver)).collect();
        let natural: Vec<CqlType> = shapes.iter().filter_map(Untyped::natural_type).collect();
        let fits_all = |ty: &&CqlType| shapes.iter().all(|shape| shape.fit(ty).is_assignable());
        natural.iter().find(fits_all).cloned()
    }

    fn natural_type_uncached(&self) -> Option<CqlType> {
        match self.term {
            Term::Literal(literal) => Some(literal.kind.natural_type(&literal.text)),
            // A list may be a vector.
            Term::Null | Term::Marker(_) | Term::Udt(_) | Term::List(_) => None,
            Term::Cast { ty, .. } => type_hint(ty, self.receiver).ok(),
            Term::Set(terms) => {
                let element = Box::new(self.common_type(&terms.iter().collect::<Vec<_>>())?);
                Some(CqlType::Set { element, frozen: true })
            }
            Term::Map(entries) => {
                let key = Box::new(self.common_type(&entries.iter().map(|entry| &entry.0).collect::<Vec<_>>())?);
                let value = Box::new(self.common_type(&entries.iter().map(|entry| &entry.1).collect::<Vec<_>>())?);
                Some(CqlType::Map { key, value, frozen: true })
            }
            Term::Tuple(terms) => {
                let natural = |term| Shape::new(term, self.receiver).natural_type();
                terms.iter().map(natural).collect::<Option<Vec<_>>>().map(CqlType::Tuple)
            }
            _ => self.resolve(None).ok().map(|call| call.returns().clone()),
        }
    }
}

impl Untyped for Shape<'_> {
    fn fit(&self, ty: &CqlType) -> Fit {
        match self.term {
            Term::Null if *ty == CqlType::Counter => Fit::No,
            Term::Null | Term::Marker(_) => Fit::Weak,
            Term::Literal(literal) => Argument::literal(literal).fit(ty),
            Term::Cast { ty: hint, .. } => match type_hint(hint, self.receiver) {
                Ok(hint) => functions::fit_of_type(&hint, ty),
                Err(_) => Fit::No,
            },
            // In parentheses, which are a tuple's only where one belongs.
            Term::Tuple(_) if self.arguments.len() == 1 && !matches!(ty, CqlType::Tuple(_)) => {
                self.arguments[0].fit(ty)
            }
            term if is_call(term) => {
                if let Some(fit) = self.fits.borrow().get(ty) {
                    return *fit;
                }
                let fit = self.fit_of_call(ty);
                self.fits.borrow_mut().insert(ty.clone(), fit);
                fit
            }
            term => literals::fit(term, ty, self.receiver),
        }
    }

    fn natural_type(&self) -> Option<CqlType> {
        if let Some(natural) = &*self.natural.borrow() {
            return natural.clone();
        }
        let natural = self.natural_type_uncached();
        *self.natural.borrow_mut() = Some(natural.clone());
        natural
    }
}

pub(super) fn arithmetic(operator: ArithmeticOperator) -> Operator {
    match operator {
        ArithmeticOperator::Add => Operator::Add,
        ArithmeticOperator::Subtract => Operator::Subtract,
        ArithmeticOperator::Multiply => Operator::Multiply,
        ArithmeticOperator::Divide => Operator::Divide,
        ArithmeticOperator::Modulo => Operator::Modulo,
    }
}

/// The refusal of a call that is none.
fn refusal(error: &ResolveError, term: &Term) -> QueryError {
    let argument = |index: usize| match term {
        Term::Function { arguments, .. } => arguments.get(index).map(shown::term),
        Term::Operation { left, right, .. } => Some(shown::term(if index == 0 { left } else { right })),
        Term::Negation(term) | Term::Conversion { term, .. } => Some(shown::term(term)),
        _ => None,
    };
    match error {
        ResolveError::Unknown { name } => invalid(format!("Unknown function {name} called")),
        other => invalid(other.message(&|index| argument(index).unwrap_or_default())),
    }
}

fn misassigned(term: &Term, call: &functions::Call, receiver: &Receiver) -> QueryError {
    let what = match term {
        Term::Operation { operator, .. } => format!("operation {}", operator.symbol()),
        _ => format!("function {}", call.name()),
    };
    invalid(format!(
        "Type error: cannot assign result of {what} (type {}) to {} (type {})",
        call.returns(),
        receiver.name,
        receiver.ty
    ))
}

#[cfg(test)]
mod tests;
