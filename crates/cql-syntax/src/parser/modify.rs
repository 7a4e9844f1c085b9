//! INSERT, UPDATE, DELETE and BATCH.

use cql_types::{Literal, LiteralKind};

use super::{Parser, Result};
use crate::ast::{
    Assignment, AssignmentKind, Batch, BatchKind, Delete, Deletion, Insert, InsertJson, Statement, TableName, Term,
    Update, Using,
};
use crate::error::Failure;
use crate::lexer::TokenKind;
use crate::{BATCH_ITEMS_MAX, ITEMS_PER_STATEMENT};

impl Parser<'_> {
    pub(super) fn insert(&mut self) -> Result<Statement> {
        self.expect_keyword("INSERT")?;
        self.expect_keyword("INTO")?;
        let table = self.table_name()?;
        if self.token.is_keyword("JSON") {
            return self.insert_json(table);
        }
        let columns = self.parenthesised(Self::name)?;
        self.expect_keyword("VALUES")?;
        let values = self.parenthesised(Self::term)?;
        let if_not_exists = self.if_not_exists()?;
        let using = self.using()?;
        Ok(Statement::Insert(Insert { table, columns, values, json: None, if_not_exists, using }))
    }

    fn insert_json(&mut self, table: TableName) -> Result<Statement> {
        self.expect_keyword("JSON")?;
        let value = match self.token.kind {
            _ if self.at_marker() => Term::Marker(self.marker()?),
            TokenKind::String => self.term()?,
            _ => return Err(self.unexpected()),
        };
        let mut default_unset = false;
        if self.take_keyword("DEFAULT")? {
            default_unset = self.take_keyword("UNSET")?;
            if !default_unset {
                self.expect_keyword("NULL")?;
            }
        }
        let if_not_exists = self.if_not_exists()?;
        let using = self.using()?;
        let json = Some(InsertJson { value, default_unset });
        Ok(Statement::Insert(Insert { table, columns: Vec::new(), values: Vec::new(), json, if_not_exists, using }))
    }

    pub(super) fn update(&mut self) -> Result<Update> {
        self.expect_keyword("UPDATE")?;
        let table = self.table_name()?;
        let using = self.using()?;
        self.expect_keyword("SET")?;
        let assignments = self.comma_separated(Self::assignment)?;
        let relations = self.where_clause()?;
        let conditions = self.conditions()?;
        Ok(Update { table, using, assignments, relations, conditions })
    }

    pub(super) fn delete(&mut self) -> Result<Delete> {
        self.expect_keyword("DELETE")?;
        let deletions = if self.token.is_keyword("FROM") { Vec::new() } else { self.comma_separated(Self::deletion)? };
        self.expect_keyword("FROM")?;
        let table = self.table_name()?;
        let using = self.using()?;
        if using.ttl.is_some() {
            return Err(self.error("mismatched input 'TTL' expecting K_TIMESTAMP"));
        }
        let relations = self.where_clause()?;
        let conditions = self.conditions()?;
        Ok(Delete { deletions, table, using, relations, conditions })
    }

    fn deletion(&mut self) -> Result<Deletion> {
        let column = self.name()?;
        if self.take_symbol("[")? {
            let key = self.term()?;
            self.expect_symbol("]")?;
            return Ok(Deletion::Element { column, key });
        }
        if self.take_symbol(".")? {
            return Ok(Deletion::Field { column, field: self.name()? });
        }
        Ok(Deletion::Column(column))
    }

    /// `USING TIMESTAMP t AND TTL t`, if it stands here.
    fn using(&mut self) -> Result<Using> {
        let mut using = Using::default();
        if !self.take_keyword("USING")? {
            return Ok(using);
        }
        loop {
            let is_ttl = self.take_keyword("TTL")?;
            if !is_ttl {
                self.expect_keyword("TIMESTAMP")?;
            }
            // Of what is said twice the last counts, as in Cassandra.
            let place = if is_ttl { &mut using.ttl } else { &mut using.timestamp };
            *place = Some(self.integer_or_marker()?);
            if !self.take_keyword("AND")? {
                return Ok(using);
            }
        }
    }

    fn assignment(&mut self) -> Result<Assignment> {
        let column = self.name()?;
        if self.take_symbol("[")? {
            let key = self.term()?;
            self.expect_symbol("]")?;
            self.expect_symbol("=")?;
            return Ok(Assignment { column, kind: AssignmentKind::Element { key, term: self.term()? } });
        }
        if self.take_symbol(".")? {
            let field = self.name()?;
            self.expect_symbol("=")?;
            return Ok(Assignment { column, kind: AssignmentKind::Field { field, term: self.term()? } });
        }
        let kind = if self.take_symbol("+=")? {
            AssignmentKind::Add(self.term()?)
        } else if self.take_symbol("-=")? {
            AssignmentKind::Subtract(self.term()?)
        } else {
            self.expect_symbol("=")?;
            self.assigned(&column)?
        };
        Ok(Assignment { column, kind })
    }

    /// What follows `column =`.
    fn assigned(&mut self, column: &str) -> Result<AssignmentKind> {
        let second = self.peek_second()?;
        if self.at_name() && !second.is_symbol("(") && !second.is_symbol(".") {
            return self.column_and_term(column);
        }
        let term = self.term()?;
        if !self.take_symbol("+")? {
            return Ok(AssignmentKind::Set(term));
        }
        let named = self.name()?;
        check_same(column, &named, "<value> + X")?;
        Ok(AssignmentKind::Prepend(term))
    }

    /// `c + term` or `c - term` behind `c =`. In `c = c -1` the sign belongs to the number's token,
    /// and `c = c 1` is let through with it.
    fn column_and_term(&mut self, column: &str) -> Result<AssignmentKind> {
        let named = self.name()?;
        let (kind, form) = if self.take_symbol("+")? {
            (AssignmentKind::Add(self.term()?), "X +<value>")
        } else if self.take_symbol("-")? {
            (AssignmentKind::Subtract(self.term()?), "X -<value>")
        } else if self.token.kind == TokenKind::Integer {
            let text = self.advance()?.text.to_owned();
            let form = if text.starts_with('-') { "X - <value>" } else { "X + <value>" };
            (AssignmentKind::Add(Term::Literal(Literal::new(LiteralKind::Integer, text))), form)
        } else {
            return Err(self.unexpected());
        };
        check_same(column, &named, form)?;
        Ok(kind)
    }

    /// BEGIN BATCH with its USING, up to the first statement.
    pub(super) fn batch_head(&mut self) -> Result<Batch> {
        self.expect_keyword("BEGIN")?;
        let kind = if self.take_keyword("UNLOGGED")? {
            BatchKind::Unlogged
        } else if self.take_keyword("COUNTER")? {
            BatchKind::Counter
        } else {
            BatchKind::Logged
        };
        self.expect_keyword("BATCH")?;
        let using = self.using()?;
        self.in_batch = true;
        Ok(Batch { kind, using, statements: Vec::new() })
    }

    /// The next statement of a BATCH with the one semicolon that may end it; `None`: APPLY BATCH.
    pub(super) fn batch_next(&mut self) -> Result<Option<Statement>> {
        self.items_before += self.items + ITEMS_PER_STATEMENT;
        self.items = 0;
        if self.items_before > BATCH_ITEMS_MAX {
            return Err(self.error(format!("a batch has at most {BATCH_ITEMS_MAX} terms, names and relations")));
        }
        if self.take_keyword("APPLY")? {
            self.expect_keyword("BATCH")?;
            return Ok(None);
        }
        let statement = match self.token {
            token if token.is_keyword("INSERT") => self.insert()?,
            token if token.is_keyword("UPDATE") => Statement::Update(self.update()?),
            token if token.is_keyword("DELETE") => Statement::Delete(self.delete()?),
            _ => return Err(self.unexpected()),
        };
        self.take_symbol(";")?;
        Ok(Some(statement))
    }
}

/// Whether what is added to is the column that is set. The words are Cassandra's, and name no place.
fn check_same(column: &str, named: &str, form: &str) -> Result<()> {
    if named == column {
        return Ok(());
    }
    Err(Failure::without_place(format!("Only expressions of the form X = {form} are supported.")))
}
