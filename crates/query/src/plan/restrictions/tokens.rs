//! Relations of the partition key's token.

use cql_syntax::{Operator, Term};
use cql_types::CqlType;
use schema::{Column, Table};

use super::{Restrictions, StatementKind, TokenRange};
use crate::error::{QueryError, invalid};
use crate::plan::terms::{Markers, Receiver, undefined_column};
use crate::plan::{TokenEnd, TokenValue};

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
        if columns.iter().any(|column| !names.contains(&column.as_str())) || columns.len() != names.len() {
            return Err(invalid(
                "The token() function must be applied to all partition key components or none of them",
            ));
        }
        if columns.iter().zip(&names).any(|(column, name)| column != name) {
            return Err(invalid(format!(
                "The token function arguments must be in the partition key order: {}",
                names.join(", ")
            )));
        }
        let value = || token_value(term, table, markers);
        let range = self.token.get_or_insert_default();
        add_token_end(range, operator, value, &names)
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
            markers.operand(argument, &receiver)
        };
        let operands = arguments.iter().zip(columns).enumerate().map(operand).collect::<Result<_, _>>()?;
        return Ok(TokenValue::OfKey(operands));
    }
    let receiver = Receiver::new(table, "partition key token", CqlType::Bigint);
    Ok(TokenValue::Number(markers.operand(term, &receiver)?))
}

fn add_token_end(
    range: &mut TokenRange,
    operator: Operator,
    mut value: impl FnMut() -> Result<TokenValue, QueryError>,
    names: &[&str],
) -> Result<(), QueryError> {
    let mut put = |is_start: bool, is_inclusive: bool| -> Result<(), QueryError> {
        let place = if is_start { &mut range.start } else { &mut range.end };
        if place.is_some() {
            let which = if is_start { "start" } else { "end" };
            return Err(invalid(format!(
                "More than one restriction was found for the {which} bound on {}",
                names.join(", ")
            )));
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
        _ => Err(invalid("Unsupported relation on the token function")),
    }
}
