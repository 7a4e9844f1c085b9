//! WHERE's relations and IF's conditions.

use super::{Parser, Result};
use crate::ast::{Condition, Conditions, Operator, Relation, Term};
use crate::lexer::TokenKind;

/// A relation takes as long as several terms.
const ITEMS_PER_RELATION: usize = 4;

impl Parser<'_> {
    /// `WHERE relation AND …`, with the WHERE.
    pub(super) fn where_clause(&mut self) -> Result<Vec<Relation>> {
        self.expect_keyword("WHERE")?;
        let mut relations = vec![self.relation()?];
        while self.take_keyword("AND")? {
            self.count_items(ITEMS_PER_RELATION)?;
            relations.push(self.relation()?);
        }
        Ok(relations)
    }

    fn relation(&mut self) -> Result<Relation> {
        self.nested(Self::relation_inside)
    }

    fn relation_inside(&mut self) -> Result<Relation> {
        if self.take_keyword("TOKEN")? {
            let columns = self.parenthesised(Self::name)?;
            let operator = self.comparison()?;
            return Ok(Relation::Token { columns, operator, term: self.term()? });
        }
        if self.token.is_symbol("(") {
            return self.parenthesised_relation();
        }
        let column = self.name()?;
        if self.take_symbol("[")? {
            let key = self.term()?;
            self.expect_symbol("]")?;
            let operator = self.comparison()?;
            return Ok(Relation::Element { column, key, operator, term: self.term()? });
        }
        let (operator, term) = self.operator_and_term()?;
        Ok(Relation::Column { column, operator, term })
    }

    /// `(a, b) > (1, 2)`, or a relation in parentheses.
    fn parenthesised_relation(&mut self) -> Result<Relation> {
        let start = *self;
        if let Ok(columns) = self.parenthesised(Self::name)
            && self.at_operator()
        {
            let (operator, term) = self.tuple_operator_and_term()?;
            return Ok(Relation::Tuple { columns, operator, term });
        }
        *self = start;
        self.advance()?;
        let relation = self.relation()?;
        self.expect_symbol(")")?;
        Ok(relation)
    }

    fn at_operator(&self) -> bool {
        self.token.is_keyword("IN")
            || self.token.kind == TokenKind::Symbol && ["=", "!=", "<", "<=", ">", ">="].contains(&self.token.text)
    }

    /// An operator between tuples, and its right side: for IN a marker or tuples and markers in parentheses.
    fn tuple_operator_and_term(&mut self) -> Result<(Operator, Term)> {
        if !self.take_keyword("IN")? {
            return Ok((self.comparison()?, self.tuple_or_marker()?));
        }
        if self.at_marker() {
            return Ok((Operator::In, Term::Marker(self.marker()?)));
        }
        self.expect_symbol("(")?;
        // Tuples or markers: what the first one is, all are.
        let item = if self.at_marker() { Self::marker_term } else { Self::tuple };
        let tuples = if self.token.is_symbol(")") { Vec::new() } else { self.comma_separated(item)? };
        self.expect_symbol(")")?;
        Ok((Operator::In, Term::Tuple(tuples)))
    }

    fn tuple_or_marker(&mut self) -> Result<Term> {
        if self.at_marker() { self.marker_term() } else { self.tuple() }
    }

    fn marker_term(&mut self) -> Result<Term> {
        self.marker().map(Term::Marker)
    }

    fn tuple(&mut self) -> Result<Term> {
        if !self.token.is_symbol("(") {
            return Err(self.unexpected());
        }
        self.parenthesised(Self::term).map(Term::Tuple)
    }

    /// An operator and its right side.
    fn operator_and_term(&mut self) -> Result<(Operator, Term)> {
        if self.take_keyword("IN")? {
            return Ok((Operator::In, self.in_values()?));
        }
        if self.take_keyword("CONTAINS")? {
            let operator = if self.take_keyword("KEY")? { Operator::ContainsKey } else { Operator::Contains };
            return Ok((operator, self.term()?));
        }
        if self.take_keyword("LIKE")? {
            return Ok((Operator::Like, self.term()?));
        }
        if self.take_keyword("IS")? {
            self.expect_keyword("NOT")?;
            self.expect_keyword("NULL")?;
            return Ok((Operator::IsNot, Term::Null));
        }
        Ok((self.comparison()?, self.term()?))
    }

    /// What follows IN: a marker for the whole list, or the list, which may be empty.
    fn in_values(&mut self) -> Result<Term> {
        if self.at_marker() {
            return Ok(Term::Marker(self.marker()?));
        }
        self.expect_symbol("(")?;
        if self.take_symbol(")")? {
            return Ok(Term::Tuple(Vec::new()));
        }
        let terms = self.comma_separated(Self::term)?;
        self.expect_symbol(")")?;
        Ok(Term::Tuple(terms))
    }

    fn comparison(&mut self) -> Result<Operator> {
        let operator = match self.token.text {
            _ if self.token.kind != TokenKind::Symbol => return Err(self.unexpected()),
            "=" => Operator::Equal,
            "!=" => Operator::NotEqual,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        Ok(operator)
    }

    /// `IF EXISTS` or `IF condition AND …`, if it stands here.
    pub(super) fn conditions(&mut self) -> Result<Conditions> {
        if !self.take_keyword("IF")? {
            return Ok(Conditions::None);
        }
        if self.token.is_keyword("EXISTS") && !self.exists_is_a_column()? {
            self.advance()?;
            return Ok(Conditions::Exists);
        }
        let mut conditions = vec![self.condition()?];
        while self.take_keyword("AND")? {
            self.count_items(ITEMS_PER_RELATION)?;
            conditions.push(self.condition()?);
        }
        Ok(Conditions::All(conditions))
    }

    /// Whether the word `exists` is followed by what makes a condition of it.
    fn exists_is_a_column(&self) -> Result<bool> {
        let second = self.peek_second()?;
        Ok(match second.kind {
            TokenKind::Symbol => second.text != ";",
            TokenKind::Word => second.is_keyword("IN") || second.is_keyword("CONTAINS"),
            _ => false,
        })
    }

    fn condition(&mut self) -> Result<Condition> {
        let column = self.name()?;
        let (mut element, mut field) = (None, None);
        if self.take_symbol("[")? {
            element = Some(self.term()?);
            self.expect_symbol("]")?;
        } else if self.take_symbol(".")? {
            field = Some(self.name()?);
        }
        if self.token.is_keyword("LIKE") || self.token.is_keyword("IS") {
            return Err(self.unexpected());
        }
        let (operator, term) = self.operator_and_term()?;
        Ok(Condition { column, element, field, operator, term })
    }
}
