//! Types of columns and casts.

use cql_types::class_name::{self, ClassError};
use cql_types::{CqlType, DIMENSION_MAX};

use super::{Parser, Result};
use crate::ast::TypeName;
use crate::error::Failure;
use crate::lexer::TokenKind;

/// Names that no user-defined type may have, since native types may be called so one day.
const RESERVED_TYPE_NAMES: [&str; 6] = ["bitstring", "byte", "complex", "enum", "interval", "macaddr"];

impl Parser<'_> {
    /// A type: `int`, `map<text, frozen<list<int>>>`, `ks.address`, `'LexicalUUIDType'`.
    pub(super) fn cql_type(&mut self) -> Result<CqlType> {
        self.nested(Self::cql_type_inside)
    }

    fn cql_type_inside(&mut self) -> Result<CqlType> {
        if self.token.kind == TokenKind::String {
            return by_class(&self.advance()?.content());
        }
        let word =
            if self.token.kind == TokenKind::Word { self.token.text.to_ascii_lowercase() } else { String::new() };
        let second = self.peek_second()?;
        if second.is_symbol(".") {
            return self.user_type();
        }
        let followed_by_less = second.is_symbol("<");
        match word.as_str() {
            "frozen" if followed_by_less => self.frozen(),
            "list" if followed_by_less => {
                let element = Box::new(self.parameters(1)?.remove(0));
                Ok(CqlType::List { element, frozen: false })
            }
            "set" if followed_by_less => {
                let element = Box::new(self.parameters(1)?.remove(0));
                Ok(CqlType::Set { element, frozen: false })
            }
            "map" if followed_by_less => {
                let mut both = self.parameters(2)?;
                let key = Box::new(both.remove(0));
                Ok(CqlType::Map { key, value: Box::new(both.remove(0)), frozen: false })
            }
            "tuple" if followed_by_less => Ok(CqlType::Tuple(self.parameters(0)?)),
            "vector" if followed_by_less => self.vector(),
            _ => self.named_type(&word),
        }
    }

    fn frozen(&mut self) -> Result<CqlType> {
        let inner = self.parameters(1)?.remove(0);
        if inner.is_native() || matches!(inner, CqlType::ByClass(_) | CqlType::Custom(_) | CqlType::Empty) {
            let message = "frozen<> is only allowed on collections, tuples, and user-defined types";
            return Err(Failure::without_place(format!("{message} (got {inner})")));
        }
        Ok(inner.into_frozen())
    }

    fn named_type(&mut self, word: &str) -> Result<CqlType> {
        if let Some(native) = CqlType::native(word) {
            self.advance()?;
            return Ok(native);
        }
        self.user_type()
    }

    fn user_type(&mut self) -> Result<CqlType> {
        let TypeName { keyspace, name } = self.type_name()?;
        Ok(CqlType::Udt { keyspace: keyspace.unwrap_or_default(), name, fields: Vec::new(), frozen: false })
    }

    /// The name of a user-defined type. A native type's takes quotes.
    pub(super) fn type_name(&mut self) -> Result<TypeName> {
        let place = *self;
        let (keyspace, name) = self.qualified_name()?;
        if place.token.kind == TokenKind::Word && keyspace.is_none() {
            if RESERVED_TYPE_NAMES.contains(&name.as_str()) {
                return Err(place.error(format!("Invalid (reserved) user type name {name}")));
            }
            if CqlType::native(&name).is_some() {
                return Err(place.unexpected());
            }
        }
        Ok(TypeName { keyspace, name })
    }

    /// `<a, b>`: `count` types, or any number of them when it is 0.
    fn parameters(&mut self, count: usize) -> Result<Vec<CqlType>> {
        self.advance()?;
        self.expect_symbol("<")?;
        let types = self.comma_separated(Self::cql_type)?;
        if count != 0 && types.len() != count {
            return Err(self.unexpected());
        }
        self.expect_symbol(">")?;
        Ok(types)
    }

    fn vector(&mut self) -> Result<CqlType> {
        self.advance()?;
        self.expect_symbol("<")?;
        let element = Box::new(self.cql_type()?);
        if *element == CqlType::Empty {
            return Err(Failure::invalid("vectors of empty values are not supported"));
        }
        self.expect_symbol(",")?;
        // A dimension of 0 is refused with the schema, in other words.
        if self.token.kind == TokenKind::Integer && self.token.text.starts_with('-') {
            let dimension = self.token.text;
            return Err(Failure::invalid(format!("vectors may only have positive dimensions; given {dimension}")));
        }
        if self.token.kind != TokenKind::Integer {
            return Err(self.mismatch("INTEGER"));
        }
        let dimension = self.token.text.parse().ok().filter(|dimension| *dimension <= DIMENSION_MAX);
        let Some(dimension) = dimension else { return Err(dimension_too_large(self.lexer.text(), self.found())) };
        self.advance()?;
        self.expect_symbol(">")?;
        Ok(CqlType::Vector { element, dimension })
    }
}

/// The type of a class. A reversed one stays as it was written, since the order of a clustering column depends on that.
fn by_class(text: &str) -> Result<CqlType> {
    match class_name::of_statement(text) {
        Ok((_, true)) => Ok(CqlType::Custom(text.to_owned())),
        Ok((ty, false)) => Ok(ty),
        Err(error @ ClassError::Syntax { .. }) => {
            Err(Failure::without_place(format!("Cannot parse type {text}: {error}")))
        }
        Err(error) => Err(Failure::without_place(format!("Error setting type {text}: {error}"))),
    }
}

/// In the words of Cassandra, whose parser stumbles over such a number. The statement's beginning is enough.
#[cold]
fn dimension_too_large(statement: &str, found: impl std::fmt::Display) -> Failure {
    let shown: String = statement.chars().take(1_000).collect();
    Failure::without_place(format!(
        "Failed parsing statement: [{shown}] reason: NumberFormatException For input string: \"{found}\""
    ))
}
