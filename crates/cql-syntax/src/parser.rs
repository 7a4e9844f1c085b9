//! The parser: recursive descent over the lexer's tokens, with bounded depth.
//!
//! Each statement's rules stand in a file of their own; here is what they share. Errors use the words of Cassandra's
//! parser (`no viable alternative at input 'x'`), since people search for them.

mod access;
mod ddl;
mod describe;
mod modify;
mod select;
mod term;
mod types;
mod unsupported;
mod where_clause;

use crate::ast::{Batch, Statement, TableName};
use crate::error::Failure;
use crate::identifier::is_identifier;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::long::LongPieces;
use crate::{ITEMS_MAX, LENGTH_MAX, NESTING_DEPTH_MAX, SyntaxError};

/// Parses one statement, which a semicolon may end.
pub fn parse(text: &str) -> Result<Statement, SyntaxError> {
    let mut parse = Parse::begin(text)?;
    loop {
        if let Some(statement) = parse.step()? {
            return Ok(statement);
        }
    }
}

/// A parse that can pause: between the statements of a BATCH. What one step takes is bounded by [`ITEMS_MAX`].
pub struct Parse<'a> {
    text: &'a str,
    parser: Parser<'a>,
    batch: Option<Batch>,
}

impl<'a> Parse<'a> {
    /// Looks at the first token.
    pub fn begin(text: &'a str) -> Result<Self, SyntaxError> {
        Parse::with_lexer(text, Lexer::new(text))
    }

    /// The same with the text's long pieces, which [`crate::Scan`] has found: none of them is looked at again.
    pub fn with_long(text: &'a str, long: &'a LongPieces) -> Result<Self, SyntaxError> {
        Parse::with_lexer(text, Lexer::with_long(text, long))
    }

    fn with_lexer(text: &'a str, mut lexer: Lexer<'a>) -> Result<Self, SyntaxError> {
        let mut first = || -> Result<Parser<'a>> {
            check_length(text)?;
            let token = lexer.next_token()?;
            Ok(Parser {
                lexer,
                token,
                depth: 0,
                items: 0,
                items_before: 0,
                marker_count: 0,
                operator_count: 0,
                in_term: false,
                in_batch: false,
            })
        };
        let parser = first().map_err(|failure| failure.locate(text))?;
        Ok(Parse { text, parser, batch: None })
    }

    /// Goes on to the next pause. Gives the statement when it is whole, and is not called again then.
    pub fn step(&mut self) -> Result<Option<Statement>, SyntaxError> {
        self.next().map_err(|failure| failure.locate(self.text))
    }

    fn next(&mut self) -> Result<Option<Statement>> {
        let parser = &mut self.parser;
        let statement = match self.batch.take() {
            None if parser.token.is_keyword("BEGIN") => {
                self.batch = Some(parser.batch_head()?);
                return Ok(None);
            }
            None => parser.statement()?,
            Some(mut batch) => match parser.batch_next()? {
                None => Statement::Batch(batch),
                Some(statement) => {
                    batch.statements.push(statement);
                    self.batch = Some(batch);
                    return Ok(None);
                }
            },
        };
        while parser.take_symbol(";")? {}
        if parser.token.kind == TokenKind::End { Ok(Some(statement)) } else { Err(parser.mismatch("EOF")) }
    }
}

/// Refuses a text that is longer than any statement may be.
pub(crate) fn check_length(text: &str) -> Result<()> {
    if text.len() <= LENGTH_MAX {
        return Ok(());
    }
    Err(Failure::at(0, format!("a statement has at most {LENGTH_MAX} bytes, this one {}", text.len())))
}

/// The first of `known` whose words stand at the parser's token. `SERVICE LEVEL` may be written `SERVICE_LEVEL`, and so its plural.
fn first_of(known: &[&'static str], parser: &Parser<'_>) -> Option<&'static str> {
    known.iter().copied().find(|words| begins(words, *parser))
}

fn begins(words: &str, mut ahead: Parser<'_>) -> bool {
    let mut words = words.split(' ').peekable();
    while let Some(word) = words.next() {
        if word == "SERVICE"
            && let Some(level) = words.peek()
            && ahead.token.is_keyword(&format!("SERVICE_{level}"))
        {
            words.next();
        } else if !ahead.token.is_keyword(word) {
            return false;
        }
        // Bytes that begin no token are an error where they are parsed.
        if words.peek().is_some() && ahead.advance().is_err() {
            return false;
        }
    }
    true
}

type Result<T, E = Failure> = std::result::Result<T, E>;

/// The state of a parse. A copy of it is a place to come back to.
#[derive(Clone, Copy)]
struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The token that is looked at; the lexer stands behind it.
    token: Token<'a>,
    depth: usize,
    /// Items of lists so far.
    items: usize,
    /// Those of the statements before, in a BATCH.
    items_before: usize,
    marker_count: usize,
    /// Operators of arithmetic in the present term.
    operator_count: usize,
    in_term: bool,
    in_batch: bool,
}

impl<'a> Parser<'a> {
    fn statement(&mut self) -> Result<Statement> {
        let first = self.token;
        let keyword = if first.kind == TokenKind::Word { first.text.to_ascii_uppercase() } else { String::new() };
        match keyword.as_str() {
            "SELECT" => self.select(),
            "INSERT" => self.insert(),
            "UPDATE" => Ok(Statement::Update(self.update()?)),
            "DELETE" => Ok(Statement::Delete(self.delete()?)),
            "USE" => {
                self.advance()?;
                Ok(Statement::Use { keyspace: self.keyspace_name()? })
            }
            "TRUNCATE" => self.truncate(),
            "CREATE" => self.create(),
            "ALTER" => self.alter(),
            "DROP" => self.drop_statement(),
            "DESCRIBE" | "DESC" => self.describe(),
            "GRANT" | "REVOKE" | "LIST" | "ADD" => self.access_statement(),
            _ => match first_of(&unsupported::STATEMENTS, self) {
                Some(what) => self.unsupported(what),
                None => Err(self.unexpected()),
            },
        }
    }

    fn truncate(&mut self) -> Result<Statement> {
        self.advance()?;
        // `TRUNCATE table` alone names a table called so, if a word may be called that.
        if self.token.is_keyword("TABLE") || self.token.is_keyword("COLUMNFAMILY") {
            self.advance()?;
        }
        Ok(Statement::Truncate(self.table_name()?))
    }

    /// A statement that is known by its first words only; the rest of its text is passed over, but must be tokens.
    fn unsupported(&mut self, what: &str) -> Result<Statement> {
        while self.token.kind != TokenKind::End && !self.token.is_symbol(";") {
            self.advance()?;
        }
        Ok(Statement::Unsupported { what: what.to_owned() })
    }

    fn advance(&mut self) -> Result<Token<'a>> {
        let next = self.lexer.next_token()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    /// The token after the one that is looked at.
    fn peek_second(&self) -> Result<Token<'a>> {
        { self.lexer }.next_token()
    }

    fn unexpected(&self) -> Failure {
        self.error(format!("no viable alternative at input '{}'", self.found()))
    }

    fn found(&self) -> String {
        match self.token.kind {
            TokenKind::End => "<EOF>".to_owned(),
            _ => self.token.text.chars().take(100).collect(),
        }
    }

    fn error(&self, message: impl Into<String>) -> Failure {
        Failure::at(self.token.offset, message)
    }

    fn take_symbol(&mut self, symbol: &str) -> Result<bool> {
        let found = self.token.is_symbol(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.take_symbol(symbol)? {
            return Ok(());
        }
        Err(self.mismatch(&format!("'{symbol}'")))
    }

    fn take_keyword(&mut self, keyword: &str) -> Result<bool> {
        let found = self.token.is_keyword(keyword);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect_keyword(&mut self, keyword: &str) -> Result<()> {
        if self.take_keyword(keyword)? {
            return Ok(());
        }
        Err(self.mismatch(&format!("K_{keyword}")))
    }

    /// `IF NOT EXISTS`, if it stands there.
    fn if_not_exists(&mut self) -> Result<bool> {
        let found = self.take_keyword("IF")?;
        if found {
            self.expect_keyword("NOT")?;
            self.expect_keyword("EXISTS")?;
        }
        Ok(found)
    }

    /// `IF EXISTS`, if it stands there.
    fn if_exists(&mut self) -> Result<bool> {
        let found = self.take_keyword("IF")?;
        if found {
            self.expect_keyword("EXISTS")?;
        }
        Ok(found)
    }

    /// Whether the token may be a name.
    fn at_name(&self) -> bool {
        match self.token.kind {
            TokenKind::QuotedName => true,
            TokenKind::Word => is_identifier(self.token.text),
            _ => false,
        }
    }

    /// A name: in lower case, or as it stands between double quotes.
    fn name(&mut self) -> Result<String> {
        if !self.at_name() {
            return Err(self.unexpected());
        }
        let token = self.advance()?;
        match token.kind {
            TokenKind::QuotedName if token.text.len() == 2 => {
                Err(Failure::at(token.offset, "no viable alternative at input '\"\"'"))
            }
            TokenKind::QuotedName => Ok(token.content().into_owned()),
            _ => Ok(token.text.to_ascii_lowercase()),
        }
    }

    /// `mismatched input 'x' expecting …`
    fn mismatch(&self, expected: &str) -> Failure {
        self.error(format!("mismatched input '{}' expecting {expected}", self.found()))
    }

    /// `name` or `keyspace.name`.
    fn qualified_name(&mut self) -> Result<(Option<String>, String)> {
        let first = self.name()?;
        if self.take_symbol(".")? { Ok((Some(first), self.name()?)) } else { Ok((None, first)) }
    }

    /// `table` or `keyspace.table`, where Cassandra's grammar has a sentence of its own for a marker.
    fn table_name(&mut self) -> Result<TableName> {
        if self.token.is_symbol("?") {
            let is_keyspace = self.peek_second()?.is_symbol(".");
            return Err(marker_as_name(if is_keyspace { "keyspace" } else { "table" }));
        }
        let first = self.name()?;
        if !self.take_symbol(".")? {
            return Ok(TableName { keyspace: None, table: first });
        }
        if self.token.is_symbol("?") {
            return Err(marker_as_name("table"));
        }
        Ok(TableName { keyspace: Some(first), table: self.name()? })
    }

    /// The name of a keyspace alone.
    fn keyspace_name(&mut self) -> Result<String> {
        if self.token.is_symbol("?") {
            return Err(marker_as_name("keyspace"));
        }
        self.name()
    }

    /// `item, item, …`
    fn comma_separated<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.count_item()?;
        let mut items = vec![item(self)?];
        while self.take_symbol(",")? {
            self.count_item()?;
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Another item of a list, whatever list it is.
    fn count_item(&mut self) -> Result<()> {
        self.count_items(1)
    }

    fn count_items(&mut self, count: usize) -> Result<()> {
        self.items += count;
        match self.items > ITEMS_MAX {
            true => Err(self.error(format!("a statement has at most {ITEMS_MAX} terms, names and relations"))),
            false => Ok(()),
        }
    }

    /// `(item, item, …)`
    fn parenthesised<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect_symbol("(")?;
        let items = self.comma_separated(item)?;
        self.expect_symbol(")")?;
        Ok(items)
    }

    /// Runs `inner` one level deeper, unless that is too deep.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= NESTING_DEPTH_MAX {
            return Err(self.error(format!("a statement may nest {NESTING_DEPTH_MAX} deep at most")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }
}

/// Names are no values: no plan could be made of a statement before it runs.
fn marker_as_name(what: &str) -> Failure {
    Failure::without_place(format!("Bind variables cannot be used for {what} names"))
}

#[cfg(test)]
mod tests;
