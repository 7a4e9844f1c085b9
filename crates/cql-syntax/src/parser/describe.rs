//! DESCRIBE, in the forms that cqlsh sends.

use super::{Parser, Result, first_of, unsupported};
use crate::ast::{Describe, DescribeKind, DescribeTarget, Statement};
use crate::lexer::TokenKind;

const LISTS: [(&str, DescribeKind); 5] = [
    ("KEYSPACES", DescribeKind::Keyspace),
    ("TABLES", DescribeKind::Table),
    ("TYPES", DescribeKind::Type),
    ("FUNCTIONS", DescribeKind::Function),
    ("AGGREGATES", DescribeKind::Aggregate),
];

const ELEMENTS: [(&str, DescribeKind); 7] = [
    ("KEYSPACE", DescribeKind::Keyspace),
    ("TABLE", DescribeKind::Table),
    ("COLUMNFAMILY", DescribeKind::Table),
    ("TYPE", DescribeKind::Type),
    ("FUNCTION", DescribeKind::Function),
    ("AGGREGATE", DescribeKind::Aggregate),
    ("INDEX", DescribeKind::Index),
];

impl Parser<'_> {
    pub(super) fn describe(&mut self) -> Result<Statement> {
        self.advance()?;
        let target = self.describe_target()?;
        let with_internals = self.take_keyword("WITH")?;
        if with_internals {
            self.expect_keyword("INTERNALS")?;
            if first_of(&unsupported::AND_PASSWORDS, self).is_some() {
                return self.unsupported("DESCRIBE WITH INTERNALS AND PASSWORDS");
            }
        }
        Ok(Statement::Describe(Describe { target, with_internals }))
    }

    fn describe_target(&mut self) -> Result<DescribeTarget> {
        // A word that nothing follows but the end is a command; followed by a name it is a kind.
        if self.take_keyword("CLUSTER")? {
            return Ok(DescribeTarget::Cluster);
        }
        if self.take_keyword("FULL")? {
            self.expect_keyword("SCHEMA")?;
            return Ok(DescribeTarget::Schema { full: true });
        }
        if self.take_keyword("SCHEMA")? {
            return Ok(DescribeTarget::Schema { full: false });
        }
        if self.token.is_keyword("COLUMNFAMILIES") {
            self.advance()?;
            return Ok(DescribeTarget::List(DescribeKind::Table));
        }
        if let Some(&(_, kind)) = LISTS.iter().find(|(keyword, _)| self.token.is_keyword(keyword)) {
            self.advance()?;
            return Ok(DescribeTarget::List(kind));
        }
        if self.take_keyword("ONLY")? {
            self.expect_keyword("KEYSPACE")?;
            return Ok(DescribeTarget::OnlyKeyspace(self.optional_name()?));
        }
        if self.take_keyword("MATERIALIZED")? {
            self.expect_keyword("VIEW")?;
            let (keyspace, name) = self.qualified_name()?;
            return Ok(DescribeTarget::Element { kind: DescribeKind::MaterializedView, keyspace, name: Some(name) });
        }
        if let Some(&(_, kind)) = ELEMENTS.iter().find(|(keyword, _)| self.token.is_keyword(keyword))
            && !self.names_something()?
        {
            self.advance()?;
            return self.describe_element(kind);
        }
        let (keyspace, name) = self.qualified_name()?;
        Ok(DescribeTarget::Any { keyspace, name })
    }

    /// Whether the word is a name although it is a kind's too: `DESCRIBE type` alone, or `DESCRIBE type.x`.
    fn names_something(&self) -> Result<bool> {
        let second = self.peek_second()?;
        let ends = second.kind == TokenKind::End || [";", "."].iter().any(|symbol| second.is_symbol(symbol));
        Ok(self.at_name() && (ends || second.is_keyword("WITH")))
    }

    fn describe_element(&mut self, kind: DescribeKind) -> Result<DescribeTarget> {
        if kind == DescribeKind::Keyspace {
            return Ok(DescribeTarget::Element { kind, keyspace: None, name: self.optional_name()? });
        }
        let (keyspace, name) = self.qualified_name()?;
        Ok(DescribeTarget::Element { kind, keyspace, name: Some(name) })
    }

    fn optional_name(&mut self) -> Result<Option<String>> {
        let at_end = self.token.kind == TokenKind::End || self.token.is_symbol(";") || self.token.is_keyword("WITH");
        if at_end { Ok(None) } else { self.name().map(Some) }
    }
}
