//! Terms: constants, bind markers, calls, collections.

use cql_types::{CqlType, Literal, LiteralKind};

use super::{Parser, Result};
use crate::ast::{ArithmeticOperator, BindMarker, Term};
use crate::lexer::TokenKind;
use crate::long::LongContent;
use crate::printer::type_text;

/// The most operators of one term with all inside of it: more would make a tree too deep to walk.
const OPERATORS_MAX: usize = 128;

/// An operator may be of many pairs of types, each of which is looked at when it is planned, and a call of several functions.
const ITEMS_PER_OPERATOR: usize = 64;
const ITEMS_PER_CALL: usize = 8;

impl Parser<'_> {
    /// A value: what `*`, `/` and `%` join, joined by `+` and `-`.
    pub(super) fn term(&mut self) -> Result<Term> {
        // Those of an outermost term are counted together with all inside of it.
        let is_outermost = !self.in_term;
        if is_outermost {
            (self.in_term, self.operator_count) = (true, 0);
        }
        let term = self.nested(Self::sum);
        self.in_term = !is_outermost;
        term
    }

    fn sum(&mut self) -> Result<Term> {
        use ArithmeticOperator::{Add, Subtract};
        let mut term = self.product()?;
        while let Some(operator) = self.arithmetic(&[Add, Subtract])? {
            term = operation(operator, term, self.product()?);
        }
        Ok(term)
    }

    fn product(&mut self) -> Result<Term> {
        use ArithmeticOperator::{Divide, Modulo, Multiply};
        let mut term = self.signed()?;
        while let Some(operator) = self.arithmetic(&[Multiply, Divide, Modulo])? {
            term = operation(operator, term, self.signed()?);
        }
        Ok(term)
    }

    fn signed(&mut self) -> Result<Term> {
        if self.take_symbol("-")? {
            return Ok(Term::Negation(Box::new(self.simple_term()?)));
        }
        self.simple_term()
    }

    /// One of these operators, if it stands here with a term behind it. A bare name is none: `l = [1] + l` is no sum.
    fn arithmetic(&mut self, operators: &[ArithmeticOperator]) -> Result<Option<ArithmeticOperator>> {
        let is_here = |operator: &&ArithmeticOperator| self.token.is_symbol(operator.symbol());
        let Some(operator) = operators.iter().find(is_here).copied() else { return Ok(None) };
        let mut behind = *self;
        behind.advance()?;
        if behind.at_name() && !behind.at_literal() && !behind.at_call()? {
            return Ok(None);
        }
        // A chain of operators is a deep tree.
        if self.operator_count >= OPERATORS_MAX {
            return Err(self.error(format!("a term has at most {OPERATORS_MAX} operators")));
        }
        *self = behind;
        self.operator_count += 1;
        self.count_items(ITEMS_PER_OPERATOR)?;
        Ok(Some(operator))
    }

    /// Whether a call stands here.
    fn at_call(&self) -> Result<bool> {
        let second = self.peek_second()?;
        Ok(second.is_symbol("(") || second.is_symbol("."))
    }

    /// A value without operators, but for those in parentheses.
    pub(super) fn simple_term(&mut self) -> Result<Term> {
        self.nested(Self::term_inside)
    }

    fn term_inside(&mut self) -> Result<Term> {
        if let Some(literal) = self.literal()? {
            return Ok(Term::Literal(literal));
        }
        if self.take_keyword("NULL")? {
            return Ok(Term::Null);
        }
        if self.token.kind == TokenKind::Symbol {
            return match self.token.text {
                "?" | ":" => Ok(Term::Marker(self.marker()?)),
                "[" => {
                    self.advance()?;
                    Ok(Term::List(self.terms_until("]")?))
                }
                "{" => self.braces(),
                "(" => self.cast_or_tuple(),
                _ => Err(self.unexpected()),
            };
        }
        if self.token.is_keyword("CAST") && self.peek_second()?.is_symbol("(") {
            return self.conversion();
        }
        self.call()
    }

    /// `CAST(term AS type)`.
    fn conversion(&mut self) -> Result<Term> {
        self.advance()?;
        self.expect_symbol("(")?;
        let term = Box::new(self.simple_term()?);
        Ok(Term::Conversion { term, ty: self.cast_target()?.0 })
    }

    /// `AS type)`, the end of a CAST. Gives the type and its name, of which text has two.
    pub(super) fn cast_target(&mut self) -> Result<(CqlType, String)> {
        self.expect_keyword("AS")?;
        let place = *self;
        let ty = self.cql_type()?;
        if !ty.is_native() {
            return Err(place.unexpected());
        }
        self.expect_symbol(")")?;
        let name = if place.token.is_keyword("varchar") { "varchar".to_owned() } else { type_text(&ty) };
        Ok((ty, name))
    }

    /// A whole number or a marker: what LIMIT and USING take.
    pub(super) fn integer_or_marker(&mut self) -> Result<Term> {
        if self.at_marker() {
            return Ok(Term::Marker(self.marker()?));
        }
        if self.token.kind != TokenKind::Integer {
            return Err(self.unexpected());
        }
        let text = self.advance()?.text.to_owned();
        Ok(Term::Literal(Literal::new(LiteralKind::Integer, text)))
    }

    /// Whether a constant stands here.
    pub(super) fn at_literal(&self) -> bool {
        match self.token.kind {
            TokenKind::Word => {
                ["TRUE", "FALSE", "NAN", "INFINITY"].iter().any(|keyword| self.token.is_keyword(keyword))
            }
            TokenKind::QuotedName | TokenKind::Symbol | TokenKind::End => false,
            _ => true,
        }
    }

    /// A constant, if one stands here.
    pub(super) fn literal(&mut self) -> Result<Option<Literal>> {
        let word = |keyword| self.token.is_keyword(keyword);
        let kind = match self.token.kind {
            TokenKind::String => LiteralKind::String,
            TokenKind::Integer => LiteralKind::Integer,
            TokenKind::Float => LiteralKind::Float,
            TokenKind::Uuid => LiteralKind::Uuid,
            TokenKind::Hex => LiteralKind::Hex,
            TokenKind::Duration => LiteralKind::Duration,
            TokenKind::Word if word("TRUE") || word("FALSE") => LiteralKind::Boolean,
            TokenKind::Word if word("NAN") || word("INFINITY") => LiteralKind::Float,
            _ => return Ok(None),
        };
        let token = self.advance()?;
        match self.lexer.long_piece(token.offset).map(|piece| &piece.content) {
            Some(LongContent::String(text)) => return Ok(Some(Literal { kind, text: text.clone(), bytes: None })),
            Some(LongContent::Hex(text, bytes)) => {
                return Ok(Some(Literal { kind, text: text.clone(), bytes: bytes.clone() }));
            }
            Some(LongContent::Gap | LongContent::Name) | None => {}
        }
        let text = match kind {
            LiteralKind::String => token.content().into_owned(),
            _ => token.text.to_owned(),
        };
        Ok(Some(Literal::new(kind, text)))
    }

    pub(super) fn marker(&mut self) -> Result<BindMarker> {
        let name = if self.take_symbol("?")? {
            None
        } else {
            self.expect_symbol(":")?;
            Some(self.name()?)
        };
        let index = self.marker_count;
        self.marker_count += 1;
        Ok(BindMarker { index, name })
    }

    pub(super) fn at_marker(&self) -> bool {
        self.token.is_symbol("?") || self.token.is_symbol(":")
    }

    /// `term, term, …` up to `close`; there may be none.
    fn terms_until(&mut self, close: &str) -> Result<Vec<Term>> {
        if self.take_symbol(close)? {
            return Ok(Vec::new());
        }
        let terms = self.comma_separated(Self::term)?;
        self.expect_symbol(close)?;
        Ok(terms)
    }

    /// `{…}`: a map, a set, or a value of a user-defined type.
    fn braces(&mut self) -> Result<Term> {
        self.advance()?;
        if self.take_symbol("}")? {
            return Ok(Term::Set(Vec::new()));
        }
        if self.at_name() && self.peek_second()?.is_symbol(":") {
            let fields = self.comma_separated(|parser| {
                let name = parser.name()?;
                parser.expect_symbol(":")?;
                Ok((name, parser.term()?))
            })?;
            self.expect_symbol("}")?;
            return Ok(Term::Udt(fields));
        }
        let first = self.term()?;
        if self.take_symbol(":")? {
            return self.map_entries(first);
        }
        let mut terms = vec![first];
        while self.take_symbol(",")? {
            self.count_item()?;
            terms.push(self.term()?);
        }
        self.expect_symbol("}")?;
        Ok(Term::Set(terms))
    }

    /// The rest of a map behind the colon of its first key.
    fn map_entries(&mut self, first: Term) -> Result<Term> {
        let mut entries = vec![(first, self.term()?)];
        while self.take_symbol(",")? {
            self.count_item()?;
            let key = self.term()?;
            self.expect_symbol(":")?;
            entries.push((key, self.term()?));
        }
        self.expect_symbol("}")?;
        Ok(Term::Map(entries))
    }

    /// `(type) term` or `(a, b)`.
    fn cast_or_tuple(&mut self) -> Result<Term> {
        let start = *self;
        self.advance()?;
        // A bare name is no term, so a name that no call follows can only be a cast's type.
        if (self.at_name() || self.token.is_keyword("SET"))
            && let Ok(ty) = self.cql_type()
            && self.take_symbol(")")?
        {
            let term = Box::new(self.simple_term()?);
            return Ok(Term::Cast { ty: type_text(&ty), term });
        }
        *self = start;
        self.advance()?;
        let terms = self.comma_separated(Self::term)?;
        self.expect_symbol(")")?;
        Ok(Term::Tuple(terms))
    }

    pub(super) fn call(&mut self) -> Result<Term> {
        self.count_items(ITEMS_PER_CALL)?;
        // `token` is a reserved word and a function.
        let (keyspace, name) =
            if self.take_keyword("TOKEN")? { (None, "token".to_owned()) } else { self.qualified_name()? };
        self.expect_symbol("(")?;
        let arguments = self.terms_until(")")?;
        Ok(Term::Function { keyspace, name, arguments })
    }
}

fn operation(operator: ArithmeticOperator, left: Term, right: Term) -> Term {
    Term::Operation { operator, left: Box::new(left), right: Box::new(right) }
}
