//! The arguments of a mask: constants, nulls, and literals that are made of these. Calls are none: a mask is a part of the schema, and its bytes
//! must be the same on each node that plans it.

use cql_syntax::{Term, shown};
use cql_types::{CqlType, NESTING_DEPTH_MAX};
use functions::{Argument, Fit, Untyped};

use crate::error::SchemaError;

/// An argument of a mask, as resolution asks about it.
pub(super) struct MaskTerm<'s> {
    term: &'s Term,
    /// The type that is written before it.
    hint: Option<CqlType>,
}

impl<'s> MaskTerm<'s> {
    pub(super) fn new(term: &'s Term) -> Self {
        let hint = match term {
            Term::Cast { ty, .. } => CqlType::parse(ty).ok(),
            _ => None,
        };
        MaskTerm { term, hint }
    }

    pub(super) fn argument(&self) -> Argument<'_> {
        match (self.term, &self.hint) {
            (_, Some(hint)) => Argument::Typed(hint),
            (Term::Null, _) => Argument::Null,
            (Term::Marker(_), _) => Argument::Marker,
            (Term::Literal(literal), _) => Argument::literal(literal),
            _ => Argument::Untyped(self),
        }
    }
}

impl Untyped for MaskTerm<'_> {
    fn fit(&self, ty: &CqlType) -> Fit {
        fit(self.term, ty)
    }

    /// The column's type decides: a mask of such a literal replaces values of that type.
    fn natural_type(&self) -> Option<CqlType> {
        None
    }

    fn list_len(&self) -> Option<usize> {
        match self.term {
            Term::List(terms) => Some(terms.len()),
            _ => None,
        }
    }
}

/// How well a term fits a place of that type, as far as its look tells.
fn fit(term: &Term, ty: &CqlType) -> Fit {
    let all = |fits: &mut dyn Iterator<Item = Fit>| fits.min().unwrap_or(Fit::Weak);
    match (term, ty) {
        // Calls are refused where they are evaluated, in words that say so.
        (Term::Null | Term::Marker(_), _)
        | (Term::Function { .. } | Term::Operation { .. } | Term::Negation(_) | Term::Conversion { .. }, _) => {
            Fit::Weak
        }
        (Term::Literal(literal), _) => Argument::literal(literal).fit(ty),
        (Term::Cast { ty: hint, .. }, _) => {
            CqlType::parse(hint).map_or(Fit::No, |hint| functions::fit_of_type(&hint, ty))
        }
        (Term::List(terms), CqlType::List { element, .. }) | (Term::Set(terms), CqlType::Set { element, .. }) => {
            all(&mut terms.iter().map(|term| fit(term, element)))
        }
        (Term::List(terms), CqlType::Vector { element, dimension }) if terms.len() == *dimension as usize => {
            all(&mut terms.iter().map(|term| fit(term, element)))
        }
        (Term::Set(terms), CqlType::Map { .. }) if terms.is_empty() => Fit::Weak,
        (Term::Map(entries), CqlType::Map { key, value, .. }) => {
            all(&mut entries.iter().map(|entry| fit(&entry.0, key).min(fit(&entry.1, value))))
        }
        (Term::Tuple(terms), CqlType::Tuple(types)) if terms.len() <= types.len() => {
            all(&mut terms.iter().zip(types).map(|(term, ty)| fit(term, ty)))
        }
        (Term::Tuple(terms), _) if terms.len() == 1 => fit(&terms[0], ty),
        (Term::Udt(given), CqlType::Udt { fields, .. }) => all(&mut given.iter().map(|(name, term)| {
            let field = fields.iter().find(|field| field.name == *name);
            field.map_or(Fit::No, |field| fit(term, &field.ty))
        })),
        _ => Fit::No,
    }
}

/// The value of a term as one of that type; `None`: null.
pub(super) fn encode(term: &Term, ty: &CqlType, depth: usize) -> Result<Option<Vec<u8>>, SchemaError> {
    if depth > NESTING_DEPTH_MAX {
        return Err(SchemaError::invalid("The argument of a mask nests too deep"));
    }
    let of = |term: &Term, ty: &CqlType| encode(term, ty, depth + 1);
    let parts: Vec<Option<Vec<u8>>> = match (term, ty) {
        (Term::Null, _) => return Ok(None),
        (Term::Literal(literal), _) => {
            let value = cql_types::parse_literal(ty, literal);
            return value.map(Some).map_err(|error| refused(&error));
        }
        (Term::Cast { term, .. }, _) => return of(term, ty),
        (Term::List(terms), CqlType::List { element, .. } | CqlType::Vector { element, .. })
        | (Term::Set(terms), CqlType::Set { element, .. }) => {
            terms.iter().map(|term| of(term, element)).collect::<Result<_, _>>()?
        }
        (Term::Set(terms), CqlType::Map { .. }) if terms.is_empty() => Vec::new(),
        (Term::Map(entries), CqlType::Map { key, value, .. }) => {
            let both = entries.iter().flat_map(|entry| [of(&entry.0, key), of(&entry.1, value)]);
            both.collect::<Result<_, _>>()?
        }
        (Term::Tuple(terms), CqlType::Tuple(types)) if terms.len() <= types.len() => {
            terms.iter().zip(types).map(|(term, ty)| of(term, ty)).collect::<Result<_, _>>()?
        }
        (Term::Tuple(terms), _) if terms.len() == 1 => return of(&terms[0], ty),
        (Term::Udt(given), CqlType::Udt { fields, .. }) => {
            let value = |name: &str| given.iter().rev().find(|(field, _)| field == name).map(|(_, term)| term);
            let parts = fields.iter().map(|field| of(value(&field.name).unwrap_or(&Term::Null), &field.ty));
            parts.collect::<Result<_, _>>()?
        }
        _ => {
            return Err(SchemaError::invalid(format!(
                "The arguments of a mask are constants, which {} is not",
                shown::term(term)
            )));
        }
    };
    let parts: Vec<Option<&[u8]>> = parts.iter().map(Option::as_deref).collect();
    let composed = cql_types::compose(ty, &parts).map_err(|error| refused(&error))?;
    Ok(Some(composed))
}

fn refused(error: &cql_types::ValueError) -> SchemaError {
    SchemaError::invalid(error.to_string())
}
