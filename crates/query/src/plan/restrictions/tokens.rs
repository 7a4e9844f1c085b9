//! Relations of the partition key's token.

use std::collections::BTreeSet;

use cql_syntax::{Operator, Term};
use schema::{Column, Table};

use super::merging::repeated;
use super::{Restrictions, StatementKind, TokenRange};
use crate::error::{QueryError, invalid};
use crate::plan::terms::{Markers, Receiver, undefined_column};
use crate::plan::{TokenEnd, TokenValue, calls, shown, token_type};

impl Restrictions {
    pub(super) fn add_token(
        &mut self,
        columns: &[String],
        operator: Operator,
        term: &Term,
        table: &Table,
        kind: StatementKind,
        markers: &mut Markers,
    ) -> Result<(), QueryError> {
        if kind != StatementKind::Select {
            let name = kind.name();
            return Err(invalid(format!("The token function cannot be used in WHERE clauses for {name} statements")));
        }
        for name in columns {
            table.column(name).ok_or_else(|| undefined_column(name, table))?;
        }
        let names: Vec<&str> = table.partition_key().iter().map(|column| column.name.as_str()).collect();
        let has = |name: &&str| columns.iter().any(|column| column == name);
        if !names.iter().all(has) {
            return Err(invalid(
                "The token() function must be applied to all partition key components or none of them",
            ));
        }
        let mut seen = BTreeSet::new();
        if !columns.iter().all(|column| seen.insert(column)) {
            return Err(invalid("The token() function contains duplicate partition key components"));
        }
        if columns.len() > names.len() {
            return Err(invalid("The token() function must contains only partition key components"));
        }
        if columns.iter().zip(&names).any(|(column, name)| column != name) {
            return Err(invalid(format!(
                "The token function arguments must be in the partition key order: {}",
                names.join(", ")
            )));
        }
        let value = || token_value(term, table, markers);
        let shown = || format!("token({}) {operator} {}", columns.join(", "), shown::term(term));
        let range = self.token.get_or_insert_default();
        range.add(operator, value, &names.join(", "), shown)
    }
}

fn token_value(term: &Term, table: &Table, markers: &mut Markers) -> Result<TokenValue, QueryError> {
    if let Term::Function { name, arguments, .. } = term
        && name == "token"
    {
        let columns = table.partition_key();
        if arguments.len() != columns.len() {
            return Err(invalid(format!(
                "Invalid number of arguments in call to function system.token: {} required but {} provided",
                columns.len(),
                arguments.len()
            )));
        }
        let operand = |(index, (argument, column)): (usize, (&Term, &Column))| {
            let receiver = Receiver::new(table, format!("arg{index}(system.token)"), column.ty.clone());
            if !calls::fit(argument, &column.ty, &receiver).is_assignable() {
                return Err(invalid(format!(
                    "Type error: {} cannot be passed as argument {index} of function system.token of type {}",
                    shown::term(argument),
                    column.ty
                )));
            }
            markers.operand(argument, &receiver)
        };
        let operands = arguments.iter().zip(columns).enumerate().map(operand).collect::<Result<_, _>>()?;
        return Ok(TokenValue::OfKey(operands));
    }
    let receiver = Receiver::new(table, "partition key token", token_type(table));
    Ok(TokenValue::Given(markers.operand(term, &receiver)?))
}

impl TokenRange {
    fn add(
        &mut self,
        operator: Operator,
        mut value: impl FnMut() -> Result<TokenValue, QueryError>,
        names: &str,
        shown: impl Fn() -> String,
    ) -> Result<(), QueryError> {
        let is_equal = operator == Operator::Equal;
        if self.is_equal {
            return Err(repeated(names, "an Equal"));
        }
        if is_equal && (self.start.is_some() || self.end.is_some()) {
            return Err(invalid(format!(
                "Columns \"{names}\" cannot be restricted by both an equality and an inequality relation"
            )));
        }
        self.is_equal = is_equal;
        let mut put = |is_start: bool, is_inclusive: bool| -> Result<(), QueryError> {
            let place = if is_start { &mut self.start } else { &mut self.end };
            if place.is_some() {
                let which = if is_start { "start" } else { "end" };
                return Err(invalid(format!("More than one restriction was found for the {which} bound on {names}")));
            }
            *place = Some(Box::new(TokenEnd { value: value()?, is_inclusive }));
            Ok(())
        };
        match operator {
            Operator::Greater => put(true, false),
            Operator::GreaterOrEqual => put(true, true),
            Operator::Less => put(false, false),
            Operator::LessOrEqual => put(false, true),
            Operator::Equal => {
                put(true, true)?;
                put(false, true)
            }
            Operator::In => Err(invalid("IN cannot be used with the token function")),
            _ => Err(invalid(format!("Unsupported \"{operator}\" relation: {}", shown()))),
        }
    }
}
