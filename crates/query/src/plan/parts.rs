//! SELECT of parts of columns: elements, slices and fields; and writetime(), maxwritetime() and ttl() of columns and parts.

use cql_syntax::{SelectorExpression, Term};
use cql_types::CqlType;
use schema::{Column, ColumnKind, Table};

use super::expression::Expression;
use super::operand::{Operand, Source};
use super::selectors::{ResultColumn, Selectors};
use super::terms::Receiver;
use super::{Part, PartOf, Selected, Step, shown};
use crate::error::{QueryError, invalid};

/// A value or a part of one.
struct Reached<'t> {
    start: Start<'t>,
    steps: Vec<Step>,
    /// As the result's column is called.
    name: String,
    ty: CqlType,
}

/// What the steps to a part begin with.
enum Start<'t> {
    Column(&'t Column),
    Expression(Expression),
}

impl PartOf {
    /// What a function of that name makes of a part.
    pub(super) fn function(name: &str) -> Option<Self> {
        Some(match name {
            "writetime" => PartOf::WriteTime,
            "maxwritetime" => PartOf::MaxWriteTime,
            "ttl" => PartOf::Ttl,
            _ => return None,
        })
    }
}

impl<'p> Selectors<'p> {
    /// An element, a slice or a field.
    pub(super) fn part(&mut self, expression: &SelectorExpression) -> Result<ResultColumn, QueryError> {
        let Reached { start, steps, name, ty } = self.reach(expression)?;
        let start = match start {
            Start::Column(column) if self.mask(column).is_some() => Start::Expression(self.value(column)),
            start => start,
        };
        let expression = match start {
            Start::Column(column) => Expression::Selected(self.push(column, steps, PartOf::Value)?),
            Start::Expression(of) => {
                let index = self.push_steps(None, CqlType::Blob, steps, PartOf::Value)?;
                Expression::Part { of: Box::new(of), index }
            }
        };
        Ok(ResultColumn::new(name, ty, expression))
    }

    /// What the function called `function` makes of a column or a part of one.
    pub(super) fn written(
        &mut self,
        function: &str,
        what: PartOf,
        expression: &SelectorExpression,
    ) -> Result<ResultColumn, QueryError> {
        let reached = self.reach(expression)?;
        let Start::Column(column) = reached.start else {
            return Err(invalid(format!("{function}() is of a column or a part of one")));
        };
        if column.kind.is_key() {
            let name = &column.name;
            self.refuse(invalid(format!("Cannot use selection function {function} on PRIMARY KEY part {name}")));
        }
        let name = format!("{function}({})", reached.name);
        let one = if what == PartOf::Ttl { CqlType::Int } else { CqlType::Bigint };
        let ty = match reached.ty.is_multi_cell() && what != PartOf::MaxWriteTime {
            true => CqlType::List { element: Box::new(one), frozen: true },
            false => one,
        };
        // Which elements there are is a part of the value, and the time of one says that it is there.
        let is_of_element = |step: &Step| matches!(step, Step::Element { .. } | Step::Slice { .. });
        if self.mask(column).is_some() && reached.steps.iter().any(is_of_element) {
            let null = Expression::Operand(Operand::new(Source::Null, ty.clone()));
            return Ok(ResultColumn::new(name, ty, null));
        }
        let is_static = column.kind == ColumnKind::Static;
        let selected = match (what, reached.steps.is_empty() && !column.ty.is_multi_cell()) {
            (PartOf::Ttl, true) => Selected::Ttl { column: column.id, is_static },
            (_, true) => Selected::WriteTime { column: column.id, is_static },
            (_, false) => self.push(column, reached.steps, what)?,
        };
        Ok(ResultColumn::new(name, ty, Expression::Selected(selected)))
    }

    fn push(&mut self, column: &Column, steps: Vec<Step>, what: PartOf) -> Result<Selected, QueryError> {
        let index = self.push_steps(Some(self.selected(column)), column.ty.clone(), steps, what)?;
        Ok(Selected::Part { index, kind: column.kind })
    }

    fn push_steps(
        &mut self,
        column: Option<Selected>,
        ty: CqlType,
        steps: Vec<Step>,
        what: PartOf,
    ) -> Result<u16, QueryError> {
        let index = u16::try_from(self.parts.len()).map_err(|_| invalid("Too many parts of columns are selected"))?;
        self.parts.push(Part { column, ty, steps, what });
        Ok(index)
    }

    fn reach(&mut self, expression: &SelectorExpression) -> Result<Reached<'p>, QueryError> {
        let table = self.table;
        match expression {
            SelectorExpression::Column(name) => {
                let column = self.column(name)?;
                let (name, ty) = (name.clone(), column.ty.clone());
                Ok(Reached { start: Start::Column(column), steps: Vec::new(), name, ty })
            }
            SelectorExpression::Element { of, key } => {
                let mut reached = self.reach(of)?;
                let part = part_of_collection(&reached, table, "element", "Element");
                let name = format!("{}[{}]", reached.name, shown::term(key));
                let part = match part {
                    // What is done with the element is refused before that it is selected.
                    Err(error) if matches!(reached.ty, CqlType::List { .. }) => {
                        self.refuse(error);
                        return Ok(Reached { name, ..reached });
                    }
                    part => part?,
                };
                let key = self.markers.operand(key, &part)?;
                let ty = match &reached.ty {
                    CqlType::Map { value, .. } => (**value).clone(),
                    _ => part.ty,
                };
                let of = std::mem::replace(&mut reached.name, name);
                let collection = std::mem::replace(&mut reached.ty, ty);
                reached.steps.push(Step::Element { collection, key, of });
                Ok(reached)
            }
            SelectorExpression::Slice { of, from, to } => {
                let mut reached = self.reach(of)?;
                let part = part_of_collection(&reached, table, "slice", "Slice")?;
                let end = |end: &Option<Term>| end.as_ref().map_or(String::new(), shown::term);
                let name = format!("{}[{}..{}]", reached.name, end(from), end(to));
                let mut operand =
                    |end: &Option<Term>| end.as_ref().map(|term| self.markers.operand(term, &part)).transpose();
                let (from, to) = (operand(from)?, operand(to)?);
                let of = std::mem::replace(&mut reached.name, name);
                reached.steps.push(Step::Slice { collection: reached.ty.clone(), from, to, of });
                Ok(reached)
            }
            SelectorExpression::Field { of, field } => {
                let mut reached = self.reach(of)?;
                let CqlType::Udt { fields, .. } = &reached.ty else {
                    return Err(invalid(format!(
                        "Invalid field selection: {} of type {} is not a user type",
                        reached.name, reached.ty
                    )));
                };
                let found = (0u16..).zip(fields).find(|(_, known)| known.name == *field);
                let missing = || invalid(format!("{} of type {} has no field {field}", reached.name, reached.ty));
                let (index, known) = found.ok_or_else(missing)?;
                reached.ty = known.ty.clone();
                reached.name = format!("{}.{field}", reached.name);
                reached.steps.push(Step::Field(index));
                Ok(reached)
            }
            other => {
                let ResultColumn { name, ty, expression, .. } = self.call(other)?;
                Ok(Reached { start: Start::Expression(expression), steps: Vec::new(), name, ty })
            }
        }
    }
}

/// What names an element of what was reached, which must be a set or map.
fn part_of_collection(reached: &Reached<'_>, table: &Table, what: &str, named: &str) -> Result<Receiver, QueryError> {
    let name = &reached.name;
    let (part, ty) = match &reached.ty {
        CqlType::Map { key, .. } => ("key", key),
        CqlType::Set { element, .. } => ("value", element),
        CqlType::List { .. } => {
            return Err(invalid(format!("{named} selection is only allowed on sets and maps, but {name} is a list")));
        }
        ty => return Err(invalid(format!("Invalid {what} selection: {name} is of type {ty} is not a collection"))),
    };
    Ok(Receiver::new(table, format!("{part}({name})"), (**ty).clone()))
}
