//! Masks of columns: MASKED WITH in CREATE TABLE and ALTER TABLE, and DROP MASKED.
//!
//! A mask is a native masking function whose first argument is of the column's type and whose value is of that type too. Its other arguments are
//! evaluated here, once. The order of the checks and the words are those of Cassandra's `ColumnMask`.

mod terms;

use cql_syntax::{AlterTableAction, Mask, Statement, Term, shown};
use cql_types::{CqlType, class_name};
use functions::{Argument, Call, ResolveError};

use crate::column::Column;
use crate::error::SchemaError;
use crate::mask::{ColumnMask, MASK_ARGUMENTS_MAX, MaskArgument};
use crate::table::Table;

/// The refusal of a mask where masks are not enabled. It comes before any look at the schema.
pub(super) fn disabled() -> SchemaError {
    SchemaError::invalid(
        "Cannot mask columns because dynamic data masking is not enabled. You can enable it with the \
         dynamic_data_masking_enabled property on cassandra.yaml",
    )
}

/// True if the statement gives a column a mask, which a node refuses whose configuration does not enable masks.
pub fn sets_mask(statement: &Statement) -> bool {
    match statement {
        Statement::CreateTable(create) => create.columns.iter().any(|column| column.mask.is_some()),
        Statement::AlterTable(alter) => match &alter.action {
            AlterTableAction::Add { columns, .. } => columns.iter().any(|column| column.mask.is_some()),
            AlterTableAction::Mask { mask, .. } => mask.is_some(),
            _ => false,
        },
        _ => false,
    }
}

/// The columns of the table after ALTER … MASKED WITH or DROP MASKED.
pub(super) fn alter(
    table: &Table,
    name: &str,
    mask: Option<&Mask>,
    if_exists: bool,
) -> Result<Vec<Column>, SchemaError> {
    let mut columns = table.columns().to_vec();
    match columns.iter_mut().find(|column| column.name == name) {
        Some(column) => column.mask = mask.map(|mask| plan(mask, name, &column.ty)).transpose()?.map(Box::new),
        None if if_exists => {}
        None => {
            let table = &table.name;
            return Err(SchemaError::invalid(format!("Column with name '{name}' doesn't exist on table '{table}'")));
        }
    }
    Ok(columns)
}

/// The mask that a statement gives the column called `column`, which is of the type `ty`.
pub(super) fn plan(mask: &Mask, column: &str, ty: &CqlType) -> Result<ColumnMask, SchemaError> {
    let (keyspace, name, terms) = match mask {
        Mask::Default => (Some("system"), "mask_default", &[][..]),
        Mask::Function { keyspace, name, arguments } => (keyspace.as_deref(), name.as_str(), arguments.as_slice()),
    };
    let written = Written { keyspace, name, terms };
    if terms.len() > MASK_ARGUMENTS_MAX {
        return Err(SchemaError::invalid(format!("A mask has at most {MASK_ARGUMENTS_MAX} arguments")));
    }
    let call = written.resolve(column, ty)?;
    if call.returns() != ty {
        return Err(SchemaError::invalid(format!(
            "Masking function {written} return type is {}. This is different to the type of the masked column {column} of type {ty}. \
             Masking functions can only be attached to table columns if they return the same data type as the masked column.",
            call.returns()
        )));
    }
    let mut arguments = Vec::with_capacity(terms.len());
    for (term, ty) in terms.iter().zip(&call.arguments()[1..]) {
        arguments.push(MaskArgument { value: terms::encode(term, ty, 0)?, ty: ty.clone() });
    }
    Ok(ColumnMask { function: name.to_owned(), arguments })
}

/// A mask as it was written.
struct Written<'s> {
    keyspace: Option<&'s str>,
    name: &'s str,
    terms: &'s [Term],
}

impl Written<'_> {
    /// The function that the mask is for a column of that type.
    fn resolve(&self, column: &str, ty: &CqlType) -> Result<Call, SchemaError> {
        let arguments: Vec<terms::MaskTerm<'_>> = self.terms.iter().map(terms::MaskTerm::new).collect();
        let mut known = vec![Argument::Typed(ty)];
        known.extend(arguments.iter().map(terms::MaskTerm::argument));
        if functions::is_aggregate(self.keyspace, self.name) {
            functions::resolve_aggregate(self.name, &known).map_err(|error| self.refusal(&error, column, ty))?;
            return Err(SchemaError::invalid(format!(
                "Aggregate function {self} cannot be used for masking table columns"
            )));
        }
        let call = functions::resolve(self.keyspace, self.name, &known, Some(ty));
        let call = call.map_err(|error| self.refusal(&error, column, ty))?;
        match functions::is_mask(self.name) {
            true => Ok(call),
            false => Err(SchemaError::invalid(format!(
                "Not-masking function {self} cannot be used for masking table columns"
            ))),
        }
    }

    fn refusal(&self, error: &ResolveError, column: &str, ty: &CqlType) -> SchemaError {
        if let ResolveError::Unknown { .. } = error {
            return SchemaError::invalid(format!(
                "Unable to find masking function for {column}, no declared function matches the signature {self}"
            ));
        }
        if let ResolveError::Argument { index, .. } = error
            && let Some(Term::List(_)) = index.checked_sub(1).and_then(|index| self.terms.get(index))
            && !matches!(ty, CqlType::List { .. } | CqlType::Vector { .. })
        {
            return SchemaError::invalid(format!("Unexpected receiver type '{ty}'; only list and vector are expected"));
        }
        // The first argument is a type, which Cassandra shows by its class.
        let argument = |index: usize| match index.checked_sub(1) {
            None => class_name::class_name(ty),
            Some(index) => self.terms.get(index).map(shown::term).unwrap_or_default(),
        };
        SchemaError::invalid(error.message(&argument))
    }
}

impl std::fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(keyspace) = self.keyspace {
            write!(f, "{keyspace}.")?;
        }
        write!(f, "{}({})", self.name, self.terms.iter().map(shown::term).collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests;
