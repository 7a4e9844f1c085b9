//! CREATE TYPE, ALTER TYPE and DROP TYPE.

use cql_syntax::{AlterType, AlterTypeAction, CreateType, DropType};
use cql_types::{CqlType, Field};

use crate::change::SchemaChange;
use crate::error::SchemaError;
use crate::event::{ChangeTarget, ChangeType, SchemaEvent};
use crate::keyspace::Keyspace;
use crate::plan::{DdlContext, DdlPlan, keyspace, names, types};
use crate::snapshot::Schema;
use crate::table::Table;
use crate::user_type::{UserType, named, refers_to};

pub(super) fn create(
    schema: &Schema,
    statement: &CreateType,
    context: &DdlContext<'_>,
) -> Result<DdlPlan, SchemaError> {
    let in_keyspace = names::keyspace_of(statement.name.keyspace.as_deref(), context.current_keyspace)?;
    let name = &statement.name.name;
    names::check_modifiable(in_keyspace, "CREATE", &format!("<all tables in {in_keyspace}>"))?;
    let Some(existing) = schema.keyspace(in_keyspace) else { return Err(keyspace::unknown(in_keyspace)) };
    if existing.types.contains_key(name) {
        if statement.if_not_exists {
            return Ok(DdlPlan::default());
        }
        return Err(SchemaError::invalid(format!("A user type with name '{name}' already exists")));
    }
    let mut used = std::collections::BTreeSet::new();
    for (field, _) in &statement.fields {
        if !used.insert(field) {
            return Err(SchemaError::invalid(format!("Duplicate field name '{field}' in type '{name}'")));
        }
    }
    for (_, ty) in &statement.fields {
        check_field(ty)?;
    }
    let mut fields = Vec::with_capacity(statement.fields.len());
    for (field, ty) in &statement.fields {
        let ty = named(types::of_field(existing, in_keyspace, ty.clone())?);
        fields.push(Field { name: field.clone(), ty });
    }
    put(ChangeType::Created, existing, UserType { keyspace: in_keyspace.to_owned(), name: name.clone(), fields })
}

fn check_field(ty: &CqlType) -> Result<(), SchemaError> {
    match ty {
        CqlType::Counter => Err(SchemaError::invalid("A user type cannot contain counters")),
        CqlType::Udt { frozen: false, .. } => Err(SchemaError::invalid("A user type cannot contain non-frozen UDTs")),
        _ => Ok(()),
    }
}

pub(super) fn alter(schema: &Schema, statement: &AlterType, context: &DdlContext<'_>) -> Result<DdlPlan, SchemaError> {
    let in_keyspace = names::keyspace_of(statement.name.keyspace.as_deref(), context.current_keyspace)?;
    let name = &statement.name.name;
    names::check_modifiable(in_keyspace, "ALTER", &format!("<all tables in {in_keyspace}>"))?;
    let found = schema.keyspace(in_keyspace).and_then(|keyspace| Some((keyspace, keyspace.types.get(name)?)));
    let Some((keyspace, known)) = found else {
        return match statement.if_exists {
            true => Ok(DdlPlan::default()),
            false => Err(SchemaError::invalid(format!("Type {in_keyspace}.{name} doesn't exist"))),
        };
    };
    let mut altered = known.clone();
    match &statement.action {
        AlterTypeAction::Add { if_not_exists, field, ty } => {
            check_field(ty)?;
            if known.fields.iter().any(|known| known.name == *field) {
                return match if_not_exists {
                    true => Ok(DdlPlan::default()),
                    false => Err(SchemaError::invalid(format!(
                        "Cannot add field {field} to type {in_keyspace}.{name}: a field with name {field} already exists"
                    ))),
                };
            }
            let ty = add(keyspace, known, field, ty)?;
            altered.fields.push(Field { name: field.clone(), ty });
        }
        AlterTypeAction::Rename { if_exists, fields } => rename(&mut altered, fields, *if_exists)?,
        AlterTypeAction::Alter { .. } => {
            return Err(SchemaError::invalid("Altering field types is no longer supported"));
        }
    }
    // What changes nothing is answered as nothing done.
    if altered == *known {
        return Ok(DdlPlan::default());
    }
    put(ChangeType::Updated, keyspace, altered)
}

/// The type of a new field.
fn add(keyspace: &Keyspace, known: &UserType, field: &str, given: &CqlType) -> Result<CqlType, SchemaError> {
    let ty = types::of_field(keyspace, keyspace.name(), given.clone())?;
    let (name, given) = (format!("{}.{}", keyspace.name(), known.name), types::qualified(given, keyspace.name()));
    if refers_to(&ty, &known.name) {
        return Err(SchemaError::invalid(format!(
            "Cannot add new field {field} of type {given} to user type {name} as it would create a circular reference"
        )));
    }
    let in_key =
        |table: &&std::rc::Rc<Table>| table.partition_key().iter().any(|column| refers_to(&column.ty, &known.name));
    let tables: Vec<String> =
        keyspace.tables.values().filter(in_key).map(|table| format!("{}.{}", table.keyspace, table.name)).collect();
    if !tables.is_empty() {
        return Err(SchemaError::invalid(format!(
            "Cannot add new field {field} of type {given} to user type {name} as the type is being used in partition \
             key by the following tables: {}",
            tables.join(", ")
        )));
    }
    Ok(named(ty))
}

fn rename(altered: &mut UserType, renames: &[(String, String)], if_exists: bool) -> Result<(), SchemaError> {
    let before: Vec<String> = altered.fields.iter().map(|field| field.name.clone()).collect();
    for (from, to) in renames {
        match before.iter().position(|name| name == from) {
            Some(index) => altered.fields[index].name.clone_from(to),
            None if if_exists => {}
            // The spelling is Cassandra's.
            None => {
                let (keyspace, name) = (&altered.keyspace, &altered.name);
                return Err(SchemaError::invalid(format!("Unkown field {from} in user type {keyspace}.{name}")));
            }
        }
    }
    let mut used = std::collections::BTreeSet::new();
    match altered.fields.iter().find(|field| !used.insert(&field.name)) {
        // Cassandra names the keyspace where it means the type.
        Some(field) => {
            Err(SchemaError::invalid(format!("Duplicate field name {} in type {}", field.name, altered.keyspace)))
        }
        None => Ok(()),
    }
}

pub(super) fn drop(schema: &Schema, statement: &DropType, context: &DdlContext<'_>) -> Result<DdlPlan, SchemaError> {
    let in_keyspace = names::keyspace_of(statement.name.keyspace.as_deref(), context.current_keyspace)?;
    let name = &statement.name.name;
    names::check_modifiable(in_keyspace, "DROP", &format!("<all tables in {in_keyspace}>"))?;
    let found = schema.keyspace(in_keyspace).filter(|keyspace| keyspace.types.contains_key(name));
    let Some(keyspace) = found else {
        return match statement.if_exists {
            true => Ok(DdlPlan::default()),
            false => Err(SchemaError::invalid(format!("Type '{in_keyspace}.{name}' doesn't exist"))),
        };
    };
    let used_by = |what: &str, users: Vec<&str>| match users.is_empty() {
        true => Ok(()),
        false => Err(SchemaError::invalid(format!(
            "Cannot drop user type '{in_keyspace}.{name}' as it is still used by {what} {}",
            users.join(", ")
        ))),
    };
    let refers = |ty: &UserType| ty.fields.iter().any(|field| refers_to(&field.ty, name));
    used_by("user types", keyspace.types.values().filter(|ty| refers(ty)).map(|ty| ty.name.as_str()).collect())?;
    let has = |table: &Table| table.columns().iter().any(|column| refers_to(&column.ty, name));
    used_by("tables", keyspace.tables.values().filter(|table| has(table)).map(|table| table.name.as_str()).collect())?;
    let step = SchemaChange::DropType { keyspace: in_keyspace.to_owned(), name: name.clone() };
    Ok(plan(ChangeType::Dropped, in_keyspace, name, step))
}

/// The plan of a type that is new or altered, unless it, or what it stands in, would come to too much.
fn put(change: ChangeType, keyspace: &Keyspace, ty: UserType) -> Result<DdlPlan, SchemaError> {
    let mut all = keyspace.types.clone();
    all.insert(ty.name.clone(), ty.clone());
    types::check_sizes(keyspace, &all)?;
    let (in_keyspace, name) = (ty.keyspace.clone(), ty.name.clone());
    Ok(plan(change, &in_keyspace, &name, SchemaChange::PutType(ty)))
}

fn plan(change: ChangeType, keyspace: &str, name: &str, step: SchemaChange) -> DdlPlan {
    let event =
        SchemaEvent { change, target: ChangeTarget::Type, keyspace: keyspace.to_owned(), name: name.to_owned() };
    DdlPlan { changes: vec![step], warnings: Vec::new(), event: Some(event) }
}
