//! Masks of columns, which a Cassandra as it comes refuses: its `dynamic_data_masking_enabled` is off.

use crate::error::SchemaError;
use crate::table::Table;

/// The refusal of a mask, which comes before any look at the schema.
pub(super) fn disabled() -> SchemaError {
    SchemaError::invalid(
        "Cannot mask columns because dynamic data masking is not enabled. You can enable it with the \
         dynamic_data_masking_enabled property on cassandra.yaml",
    )
}

/// DROP MASKED: since no column has a mask, all that can be wrong is the column.
pub(super) fn drop(table: &Table, column: &str, if_exists: bool) -> Result<(), SchemaError> {
    match if_exists || table.column(column).is_some() {
        true => Ok(()),
        false => {
            Err(SchemaError::invalid(format!("Column with name '{column}' doesn't exist on table '{}'", table.name)))
        }
    }
}
