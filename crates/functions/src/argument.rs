//! What is known of an argument when a call is resolved, and how well it fits a parameter.
//!
//! The rules are those of Cassandra's assignment tests (`AssignmentTestable`, and `testAssignment` of constants and types).

use cql_types::{CqlType, Literal, LiteralKind};

/// How well an argument fits a parameter's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Not at all.
    No,
    /// It may be such a value, or one that can be taken for it.
    Weak,
    /// It is of that very type.
    Exact,
}

impl Fit {
    /// Whether it fits in some way.
    pub fn is_assignable(self) -> bool {
        self != Fit::No
    }
}

/// An argument of which only the caller knows what it may be: a literal of several parts, or a call that is not resolved alone.
pub trait Untyped {
    /// How well it fits the type.
    fn fit(&self, ty: &CqlType) -> Fit;
    /// The type that it has if nothing else decides.
    fn natural_type(&self) -> Option<CqlType>;
    /// How many elements it has, if it is a literal `[a, b]`, which may be a vector.
    fn list_len(&self) -> Option<usize> {
        None
    }
}

/// What is known of an argument when a call is resolved.
#[derive(Clone, Copy)]
pub enum Argument<'a> {
    /// It is of that type: a column, a call, `(type) term`, CAST.
    Typed(&'a CqlType),
    /// A constant, whose look leaves it several types.
    Literal {
        /// What it looks like.
        kind: LiteralKind,
        /// Its text, without quotes.
        text: &'a str,
    },
    /// A bind marker, which may be of any type.
    Marker,
    /// `null`, which is of every type.
    Null,
    /// Anything else.
    Untyped(&'a dyn Untyped),
}

impl<'a> Argument<'a> {
    /// A constant.
    pub fn literal(literal: &'a Literal) -> Self {
        Argument::Literal { kind: literal.kind, text: &literal.text }
    }

    /// How well it fits a parameter of that type.
    pub fn fit(&self, ty: &CqlType) -> Fit {
        match self {
            Argument::Typed(given) => fit_of_type(given, ty),
            Argument::Literal { kind, text } => fit_of_literal(*kind, text, ty),
            Argument::Marker | Argument::Null => Fit::Weak,
            Argument::Untyped(argument) => argument.fit(ty),
        }
    }

    /// How many elements it has, if it is a literal `[a, b]`.
    pub(crate) fn list_len(&self) -> Option<usize> {
        match self {
            Argument::Untyped(argument) => argument.list_len(),
            _ => None,
        }
    }

    /// The type that it has if nothing else decides: of a constant the smallest that holds it.
    pub fn natural_type(&self) -> Option<CqlType> {
        match self {
            Argument::Typed(ty) => Some((*ty).clone()),
            Argument::Literal { kind, text } => Some(kind.natural_type(text)),
            Argument::Marker | Argument::Null => None,
            Argument::Untyped(argument) => argument.natural_type(),
        }
    }
}

/// How well a value of the type `given` fits a place of the type `wanted`.
pub fn fit_of_type(given: &CqlType, wanted: &CqlType) -> Fit {
    if given.clone().into_frozen() == wanted.clone().into_frozen() {
        Fit::Exact
    } else if wanted.takes_values_of(given) {
        Fit::Weak
    } else {
        Fit::No
    }
}

/// How well a constant fits a place of that type.
pub fn fit_of_literal(kind: LiteralKind, text: &str, ty: &CqlType) -> Fit {
    match ty {
        CqlType::List { .. } | CqlType::Set { .. } | CqlType::Map { .. } => Fit::No,
        CqlType::Udt { .. } | CqlType::Vector { .. } => Fit::No,
        // One constant may stand for a whole tuple, which is looked at when its bytes are made.
        CqlType::Tuple(_) | CqlType::ByClass(_) | CqlType::Custom(_) => Fit::Weak,
        _ if kind.natural_type(text) == *ty => Fit::Exact,
        _ if kind.fits(ty) => Fit::Weak,
        _ => Fit::No,
    }
}
