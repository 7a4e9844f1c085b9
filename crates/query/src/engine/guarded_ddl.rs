//! Where guardrails are looked at in schema statements: what the statement says alone before it is planned, in Cassandra's order, and
//! what comes of it before it is carried out.

use cql_syntax::{AlterTableAction, AlterTypeAction, Properties, PropertyValue, Statement, TableName};
use cql_types::CqlType;
use schema::{Schema, SchemaChange, compaction_strategy};
use topology::{ReplicationStrategy, Strategies};

use super::Engine;
use crate::error::QueryError;
use crate::guardrails::GuardrailCheck;
use crate::warnings::in_order_of_buckets;

impl Engine {
    /// Looks at a statement before it is planned, and takes properties that are ignored out of it.
    pub(super) fn guard_ddl(
        &self,
        watch: &mut GuardrailCheck<'_>,
        statement: &mut Statement,
        keyspace: Option<&str>,
    ) -> Result<(), QueryError> {
        let rails = watch.rails;
        let schema = self.schema();
        match statement {
            Statement::CreateKeyspace(create) => {
                let (count, name) = (schema.keyspaces().len() + 1, &create.keyspace);
                watch.at_most("keyspaces", rails.keyspaces, whole(count), |which, end| match which.is_failure() {
                    false => format!("Creating keyspace {name}, current number of keyspaces {count} exceeds warning threshold of {end}."),
                    true => format!("Cannot have more than {end} keyspaces, aborting the creation of keyspace {name}"),
                })
            }
            Statement::DropKeyspace(_) => {
                watch.enabled("drop_keyspace_enabled", rails.drop_keyspace_enabled, "DROP KEYSPACE functionality")
            }
            Statement::CreateTable(create) => {
                guard_properties(watch, &mut create.properties)?;
                guard_columns(watch, &create.table.table, create.columns.len())?;
                let (count, name) = (schema.tables().count() + 1, &create.table.table);
                watch.at_most("tables", rails.tables, whole(count), |which, end| match which.is_failure() {
                    false => format!(
                        "Creating table {name}, current number of tables {count} exceeds warning threshold of {end}."
                    ),
                    true => format!("Cannot have more than {end} tables, aborting the creation of table {name}"),
                })?;
                if create.compact_storage {
                    let feature = "Creation of new COMPACT STORAGE tables";
                    watch.enabled("compact_tables", rails.compact_tables_enabled, feature)?;
                }
                guard_windows(watch, &create.properties)?;
                create.columns.iter().try_for_each(|column| guard_type(watch, "Column", &column.name, &column.ty))
            }
            Statement::AlterTable(alter) => match &mut alter.action {
                AlterTableAction::With(properties) => {
                    guard_properties(watch, properties)?;
                    guard_windows(watch, properties)
                }
                AlterTableAction::Add { .. } | AlterTableAction::Drop { .. } | AlterTableAction::Rename { .. }
                    if is_there(&schema, &alter.table, keyspace) =>
                {
                    watch.enabled("alter_table", rails.alter_table_enabled, "ALTER TABLE changing columns")
                }
                _ => Ok(()),
            },
            Statement::DropTable(_) => guard_drop_or_truncate(watch),
            Statement::CreateType(create) => {
                guard_fields(watch, &create.name.name, create.fields.len())?;
                create.fields.iter().try_for_each(|(name, ty)| guard_type(watch, "Field", name, ty))
            }
            _ => Ok(()),
        }
    }

    /// Looks at what a planned statement comes to.
    pub(super) fn guard_changes(
        &self,
        watch: &mut GuardrailCheck<'_>,
        statement: &Statement,
        changes: &[SchemaChange],
    ) -> Result<(), QueryError> {
        let strategies = &self.inner.strategies;
        for change in changes {
            match (change, statement) {
                (SchemaChange::PutTable(table), Statement::CreateTable(_)) => {
                    guard_compression(watch, &table.options.compression)?;
                }
                (SchemaChange::PutTable(table), Statement::AlterTable(alter)) => match &alter.action {
                    AlterTableAction::With(_) => guard_compression(watch, &table.options.compression)?,
                    AlterTableAction::Add { columns, .. } => {
                        guard_columns(watch, &table.name, table.columns().len())?;
                        columns.iter().try_for_each(|column| guard_type(watch, "Column", &column.name, &column.ty))?;
                    }
                    _ => {}
                },
                (SchemaChange::PutType(ty), Statement::AlterType(alter)) => {
                    if let AlterTypeAction::Add { field, ty: of_field, .. } = &alter.action {
                        guard_fields(watch, &ty.name, ty.fields.len())?;
                        guard_type(watch, "Field", field, of_field)?;
                    }
                }
                (SchemaChange::PutKeyspace(keyspace), Statement::CreateKeyspace(_)) => {
                    guard_strategy(watch, &keyspace.name, (strategies, &keyspace.strategy), true)?;
                }
                (SchemaChange::PutKeyspace(keyspace), Statement::AlterKeyspace(alter)) => {
                    let names_strategy = alter.properties.iter().any(|(name, _)| name == "replication");
                    guard_strategy(watch, &keyspace.name, (strategies, &keyspace.strategy), names_strategy)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Looks at a DROP TABLE or TRUNCATE.
pub(super) fn guard_drop_or_truncate(watch: &mut GuardrailCheck<'_>) -> Result<(), QueryError> {
    let is_enabled = watch.rails.drop_truncate_table_enabled;
    watch.enabled("drop_truncate_table_enabled", is_enabled, "DROP and TRUNCATE TABLE functionality")
}

/// Looks at the names of properties, and drops those that are ignored.
fn guard_properties(watch: &mut GuardrailCheck<'_>, properties: &mut Properties) -> Result<(), QueryError> {
    let rails = watch.rails;
    if !rails.table_properties.is_on() {
        return Ok(());
    }
    let mut names: Vec<String> = properties.iter().map(|(name, _)| name.clone()).collect();
    names.sort();
    let shown = |names: &[String]| format!("[{}]", names.join(", "));
    let shown_set = |names: &[String]| format!("[{}]", in_order_of_buckets(names.to_vec()));
    let listed = (&rails.table_properties, "Table Properties");
    let ignored = watch.values("table_properties", listed, &names, shown, shown_set)?;
    properties.retain(|(name, _)| !ignored.contains(name));
    Ok(())
}

/// Looks at whether a statement asks for windows of time, and for no end of the rows in them. What the table has already does not count, nor
/// do values that no table can have, as in Cassandra.
fn guard_windows(watch: &mut GuardrailCheck<'_>, properties: &Properties) -> Result<(), QueryError> {
    let of = |wanted: &str| properties.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    let Some(PropertyValue::Map(options)) = of("compaction") else { return Ok(()) };
    let class = options.iter().find(|(name, _)| name.text.as_str() == "class").map(|(_, class)| class.text.as_str());
    let is_windowed = class.is_some_and(|class| compaction_strategy(class) == "TimeWindowCompactionStrategy");
    let is_endless = match of("default_time_to_live") {
        None => true,
        Some(PropertyValue::Literal(seconds)) => seconds.text.parse() == Ok(0),
        Some(PropertyValue::Map(_) | PropertyValue::Word(_)) => false,
    };
    if !(is_windowed && is_endless) {
        return Ok(());
    }
    let settings = (watch.rails.zero_ttl_on_twcs_enabled, watch.rails.zero_ttl_on_twcs_warned);
    let feature = "0 default_time_to_live on a table with TimeWindowCompactionStrategy compaction strategy";
    watch.recommended("zero_ttl_on_twcs", settings, feature)
}

fn guard_columns(watch: &mut GuardrailCheck<'_>, table: &str, count: usize) -> Result<(), QueryError> {
    let threshold = watch.rails.columns_per_table;
    watch.at_most("columns_per_table", threshold, whole(count), |which, end| match which.is_failure() {
        false => format!("The table {table} has {count} columns, this exceeds the warning threshold of {end}."),
        true => format!("Tables cannot have more than {end} columns, but {count} provided for table {table}"),
    })
}

fn guard_fields(watch: &mut GuardrailCheck<'_>, name: &str, count: usize) -> Result<(), QueryError> {
    let threshold = watch.rails.fields_per_udt;
    watch.at_most("fields_per_udt", threshold, whole(count), |which, end| match which.is_failure() {
        false => format!("The user type {name} has {count} columns, this exceeds the warning threshold of {end}."),
        true => format!("User types cannot have more than {end} columns, but {count} provided for user type {name}."),
    })
}

/// Looks at a column's or a field's type: is it a vector, and how long?
fn guard_type(watch: &mut GuardrailCheck<'_>, kind: &str, name: &str, ty: &CqlType) -> Result<(), QueryError> {
    let CqlType::Vector { dimension, .. } = ty else { return Ok(()) };
    let what = format!("{kind} {name}");
    watch.enabled("vector_type_enabled", watch.rails.vector_type_enabled, &what)?;
    let (threshold, value) = (watch.rails.vector_dimensions, i64::from(*dimension));
    watch.at_most("vector_dimensions", threshold, value, |which, end| {
        let which = which.name();
        format!("{what} has a vector of {value} dimensions, this exceeds the {which} threshold of {end}.")
    })
}

fn guard_compression(
    watch: &mut GuardrailCheck<'_>,
    compression: &std::collections::BTreeMap<String, String>,
) -> Result<(), QueryError> {
    let is_off = compression.get("enabled").is_some_and(|enabled| enabled == "false");
    let is_enabled = watch.rails.uncompressed_tables_enabled || !is_off;
    watch.enabled("uncompressed_tables_enabled", is_enabled, "Uncompressed table")
}

/// Looks at a keyspace's strategy, if the statement names it, and at how many replicas it asks for.
fn guard_strategy(
    watch: &mut GuardrailCheck<'_>,
    keyspace: &str,
    (strategies, strategy): (&Strategies, &ReplicationStrategy),
    names_strategy: bool,
) -> Result<(), QueryError> {
    let rails = watch.rails;
    let factors: Vec<u32> = match strategy {
        ReplicationStrategy::Simple { replication_factor } => {
            watch.enabled("simplestrategy", rails.simplestrategy_enabled || !names_strategy, "SimpleStrategy")?;
            vec![*replication_factor]
        }
        strategy => strategies.rules(strategy).map_or_else(|_| Vec::new(), |rules| rules.factor().chosen()),
    };
    for factor in factors {
        let value = i64::from(factor);
        watch.at_least("minimum_replication_factor", rails.minimum_replication_factor, value, |which, end| {
            let which = which.name();
            format!(
                "The keyspace {keyspace} has a replication factor of {factor}, below the {which} threshold of {end}."
            )
        })?;
        watch.at_most("maximum_replication_factor", rails.maximum_replication_factor, value, |which, end| {
            let which = which.name();
            format!(
                "The keyspace {keyspace} has a replication factor of {factor}, above the {which} threshold of {end}."
            )
        })?;
    }
    Ok(())
}

/// Whether there is such a table.
fn is_there(schema: &Schema, table: &TableName, keyspace: Option<&str>) -> bool {
    let keyspace = table.keyspace.as_deref().or(keyspace);
    keyspace.is_some_and(|keyspace| schema.table(keyspace, &table.table).is_some())
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
