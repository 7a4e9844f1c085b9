//! SELECT.

use super::{Parser, Result, first_of, unsupported};
use crate::ast::{ArithmeticOperator, OrderBy, Select, Selection, Selector, SelectorExpression, Statement};
use crate::lexer::{Token, TokenKind};
use crate::printer::type_text;
use crate::{NESTING_DEPTH_MAX, SELECTORS_MAX};

impl Parser<'_> {
    pub(super) fn select(&mut self) -> Result<Statement> {
        self.expect_keyword("SELECT")?;
        // `json` and `distinct` may be a column's name too.
        let json = self.token.is_keyword("JSON") && !self.keyword_is_a_column()?;
        if json {
            self.advance()?;
        }
        let distinct = self.token.is_keyword("DISTINCT") && !self.keyword_is_a_column()?;
        if distinct {
            self.advance()?;
        }
        let selection = self.selection()?;
        self.expect_keyword("FROM")?;
        if self.token.is_keyword("MUTATION_FRAGMENTS") && self.peek_second()?.is_symbol("(") {
            return self.unsupported("SELECT FROM MUTATION_FRAGMENTS");
        }
        let table = self.table_name()?;
        let relations = if self.token.is_keyword("WHERE") { self.where_clause()? } else { Vec::new() };
        let mut group_by = Vec::new();
        if self.take_keyword("GROUP")? {
            self.expect_keyword("BY")?;
            group_by = self.comma_separated(Self::selector)?;
        }
        let order_by = self.order_by()?;
        let mut per_partition_limit = None;
        if self.take_keyword("PER")? {
            self.expect_keyword("PARTITION")?;
            self.expect_keyword("LIMIT")?;
            per_partition_limit = Some(self.integer_or_marker()?);
        }
        let limit = if self.take_keyword("LIMIT")? { Some(self.integer_or_marker()?) } else { None };
        let allow_filtering = self.take_keyword("ALLOW")?;
        if allow_filtering {
            self.expect_keyword("FILTERING")?;
        }
        if first_of(&unsupported::USING_SERVICE_LEVEL, self).is_some() {
            return self.unsupported("SELECT USING SERVICE LEVEL");
        }
        self.timeout()?;
        Ok(Statement::Select(Select {
            json,
            distinct,
            selection,
            table,
            relations,
            group_by,
            order_by,
            per_partition_limit,
            limit,
            allow_filtering,
        }))
    }

    /// Whether the first word behind SELECT is a column although it is a keyword, as what follows it says. In `distinct as
    /// FROM` and `distinct as AS b FROM` the column is `as`.
    fn keyword_is_a_column(&self) -> Result<bool> {
        let ends = |token: Token<'_>| token.is_keyword("FROM") || token.is_symbol(",");
        let mut lexer = self.lexer;
        let second = lexer.next_token()?;
        if second.is_symbol(".") {
            return Ok(true);
        }
        if !second.is_keyword("AS") {
            return Ok(ends(second));
        }
        let third = lexer.next_token()?;
        // In `distinct as[1] FROM` and `distinct as.f FROM` too.
        let is_part = third.is_symbol("[") || third.is_symbol(".");
        Ok(if third.is_keyword("AS") { ends(lexer.next_token()?) } else { !ends(third) && !is_part })
    }

    /// `USING TIMEOUT 2000ms`. ScyllaDB's drivers end their metadata queries with it wherever SUPPORTED names a shard, as ours
    /// does. The server has limits of its own, so it is read and not kept.
    fn timeout(&mut self) -> Result<()> {
        if !self.token.is_keyword("USING") {
            return Ok(());
        }
        self.advance()?;
        self.expect_keyword("TIMEOUT")?;
        if self.token.kind != TokenKind::Duration {
            return Err(self.unexpected());
        }
        self.advance()?;
        Ok(())
    }

    fn order_by(&mut self) -> Result<Vec<OrderBy>> {
        if !self.take_keyword("ORDER")? {
            return Ok(Vec::new());
        }
        self.expect_keyword("BY")?;
        self.comma_separated(|parser| {
            let column = parser.name()?;
            let mut ann_of = None;
            if parser.take_keyword("ANN")? {
                parser.expect_keyword("OF")?;
                ann_of = Some(parser.term()?);
            }
            let descending = parser.take_keyword("DESC")?;
            if !descending {
                parser.take_keyword("ASC")?;
            }
            Ok(OrderBy { column, ann_of, descending })
        })
    }

    fn selection(&mut self) -> Result<Selection> {
        if self.take_symbol("*")? {
            return Ok(Selection::All);
        }
        let selectors = self.comma_separated(|parser| {
            // A selector takes as long as two terms.
            parser.count_item()?;
            let expression = parser.selector()?;
            let alias = if parser.take_keyword("AS")? { Some(parser.name()?) } else { None };
            Ok(Selector { expression, alias })
        })?;
        if selectors.len() > SELECTORS_MAX {
            return Err(self.error(format!("a SELECT names at most {SELECTORS_MAX} columns and calls")));
        }
        Ok(Selection::List(selectors))
    }

    fn selector(&mut self) -> Result<SelectorExpression> {
        self.nested(Self::selector_inside)
    }

    fn selector_inside(&mut self) -> Result<SelectorExpression> {
        use ArithmeticOperator as O;
        let place = *self;
        let mut operators = 0;
        let mut sum = self.selector_product(&mut operators)?;
        while let Some(operator) = self.operator(&[O::Add, O::Subtract])? {
            operators += 1;
            let right = Box::new(self.selector_product(&mut operators)?);
            sum = SelectorExpression::Operation { operator, left: Box::new(sum), right };
            // Each is a level of the tree.
            if operators > NESTING_DEPTH_MAX {
                return Err(place.error(format!("a selector has at most {NESTING_DEPTH_MAX} operators")));
            }
        }
        Ok(sum)
    }

    fn selector_product(&mut self, operators: &mut usize) -> Result<SelectorExpression> {
        use ArithmeticOperator as O;
        let place = *self;
        let mut product = self.factor()?;
        while let Some(operator) = self.operator(&[O::Multiply, O::Divide, O::Modulo])? {
            *operators += 1;
            let right = Box::new(self.factor()?);
            product = SelectorExpression::Operation { operator, left: Box::new(product), right };
            if *operators > NESTING_DEPTH_MAX {
                return Err(place.error(format!("a selector has at most {NESTING_DEPTH_MAX} operators")));
            }
        }
        Ok(product)
    }

    /// One of some operators, if it stands here.
    fn operator(&mut self, operators: &[ArithmeticOperator]) -> Result<Option<ArithmeticOperator>> {
        let is_here = |operator: &&ArithmeticOperator| self.token.is_symbol(operator.symbol());
        let found = operators.iter().find(is_here).copied();
        if found.is_some() {
            self.count_item()?;
            self.advance()?;
        }
        Ok(found)
    }

    /// A value with what is taken of it, or the negative of one.
    fn factor(&mut self) -> Result<SelectorExpression> {
        if self.take_symbol("-")? {
            return Ok(SelectorExpression::Negation(Box::new(self.nested(Self::factor)?)));
        }
        let of = self.primary()?;
        self.parts(of)
    }

    /// What stands before elements, slices and fields.
    fn primary(&mut self) -> Result<SelectorExpression> {
        if self.token.kind == TokenKind::Symbol {
            return match self.token.text {
                "(" => self.hint_or_tuple(),
                "[" => {
                    self.advance()?;
                    Ok(SelectorExpression::List(self.selectors_until("]")?))
                }
                "{" => self.set_or_map(),
                _ => Ok(SelectorExpression::Term(self.simple_term()?)),
            };
        }
        let followed_by_call = self.peek_second()?.is_symbol("(");
        let is_call_of = |name| followed_by_call && self.token.is_keyword(name);
        if is_call_of("CAST") {
            return self.cast_selector();
        }
        if is_call_of("COUNT") {
            return self.count();
        }
        if ["WRITETIME", "MAXWRITETIME", "TTL"].into_iter().any(is_call_of) {
            return self.written();
        }
        let is_token = is_call_of("TOKEN");
        if self.at_name() || is_token {
            return self.column_or_call(is_token);
        }
        Ok(SelectorExpression::Term(self.simple_term()?))
    }

    /// `(type) expression`, `(expression)` or `(a, b)`.
    fn hint_or_tuple(&mut self) -> Result<SelectorExpression> {
        let start = *self;
        self.advance()?;
        if (self.at_name() || self.token.is_keyword("SET"))
            && let Ok(ty) = self.cql_type()
            && self.take_symbol(")")?
            // Behind `(column)` stands an alias.
            && !self.token.is_keyword("AS")
            && let Ok(expression) = self.nested(Self::primary)
        {
            return Ok(SelectorExpression::TypeHint { ty: type_text(&ty), expression: Box::new(expression) });
        }
        *self = start;
        self.advance()?;
        let expressions = self.comma_separated(Self::selector)?;
        self.expect_symbol(")")?;
        Ok(SelectorExpression::Tuple(expressions))
    }

    /// `expression, expression, …` up to `close`; there may be none.
    fn selectors_until(&mut self, close: &str) -> Result<Vec<SelectorExpression>> {
        if self.take_symbol(close)? {
            return Ok(Vec::new());
        }
        let expressions = self.comma_separated(Self::selector)?;
        self.expect_symbol(close)?;
        Ok(expressions)
    }

    /// `{…}`: a set, a map or a value of a user-defined type.
    fn set_or_map(&mut self) -> Result<SelectorExpression> {
        self.advance()?;
        if self.take_symbol("}")? {
            return Ok(SelectorExpression::Set(Vec::new()));
        }
        let first = self.selector()?;
        if !self.take_symbol(":")? {
            let mut items = vec![first];
            while self.take_symbol(",")? {
                self.count_item()?;
                items.push(self.selector()?);
            }
            self.expect_symbol("}")?;
            return Ok(SelectorExpression::Set(items));
        }
        let mut entries = vec![(first, self.selector()?)];
        while self.take_symbol(",")? {
            self.count_item()?;
            let key = self.selector()?;
            self.expect_symbol(":")?;
            entries.push((key, self.selector()?));
        }
        self.expect_symbol("}")?;
        Ok(SelectorExpression::Map(entries))
    }

    /// `writetime(…)` and its like, which are of a column or a part of one.
    fn written(&mut self) -> Result<SelectorExpression> {
        let name = self.advance()?.text.to_ascii_lowercase();
        self.expect_symbol("(")?;
        let column = SelectorExpression::Column(self.name()?);
        let arguments = vec![self.parts(column)?];
        self.expect_symbol(")")?;
        Ok(SelectorExpression::Function { keyspace: None, name, arguments })
    }

    fn cast_selector(&mut self) -> Result<SelectorExpression> {
        self.advance()?;
        self.expect_symbol("(")?;
        let expression = Box::new(self.selector()?);
        let ty = self.cast_target()?.1;
        Ok(SelectorExpression::Cast { expression, ty })
    }

    /// `count(*)` and the count of a constant count rows; `count(column)` is a call.
    fn count(&mut self) -> Result<SelectorExpression> {
        self.advance()?;
        self.expect_symbol("(")?;
        let counts_rows = self.token.is_symbol("*") || self.at_literal() && self.peek_second()?.is_symbol(")");
        if counts_rows {
            self.advance()?;
            self.expect_symbol(")")?;
            return Ok(SelectorExpression::CountRows);
        }
        let arguments = self.selectors_until(")")?;
        Ok(SelectorExpression::Function { keyspace: None, name: "count".to_owned(), arguments })
    }

    fn column_or_call(&mut self, is_token: bool) -> Result<SelectorExpression> {
        let (keyspace, name) = if is_token {
            self.advance()?;
            (None, "token".to_owned())
        } else {
            self.qualified_name()?
        };
        if !self.take_symbol("(")? {
            // What looked like a keyspace is a column then, and the name a field of it.
            return Ok(match keyspace {
                None => SelectorExpression::Column(name),
                Some(column) => {
                    let of = Box::new(SelectorExpression::Column(column));
                    SelectorExpression::Field { of, field: name }
                }
            });
        }
        let arguments = self.selectors_until(")")?;
        Ok(SelectorExpression::Function { keyspace, name, arguments })
    }

    /// `[key]`, `[from..to]` and `.field` behind a selector, as many as there are.
    fn parts(&mut self, mut selected: SelectorExpression) -> Result<SelectorExpression> {
        for _ in 0..=NESTING_DEPTH_MAX {
            let is_element = self.take_symbol("[")?;
            if !is_element && !self.take_symbol(".")? {
                return Ok(selected);
            }
            let of = Box::new(selected);
            selected = match is_element {
                true => self.element_or_slice(of)?,
                false => SelectorExpression::Field { of, field: self.name()? },
            };
        }
        Err(self.error(format!("a selector nests at most {NESTING_DEPTH_MAX} deep")))
    }

    fn element_or_slice(&mut self, of: Box<SelectorExpression>) -> Result<SelectorExpression> {
        let mut from = None;
        if !self.token.is_symbol("..") {
            let key = self.term()?;
            if self.take_symbol("]")? {
                return Ok(SelectorExpression::Element { of, key });
            }
            from = Some(key);
        }
        self.expect_symbol("..")?;
        // A slice without both bounds is none.
        let to = if self.token.is_symbol("]") && from.is_some() { None } else { Some(self.term()?) };
        self.expect_symbol("]")?;
        Ok(SelectorExpression::Slice { of, from, to })
    }
}
