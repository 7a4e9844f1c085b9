//! Names that keyspaces and tables may have, and keyspaces that users may not change.

use crate::error::SchemaError;
use crate::system_keyspaces;

/// The longest name of a keyspace, as its folder and those of its files carry it.
const KEYSPACE_NAME_LENGTH_MAX: usize = 48;
/// The longest name of a table.
const TABLE_NAME_LENGTH_MAX: usize = 222;

/// The keyspace that a name without one means.
pub(super) fn keyspace_of<'a>(given: Option<&'a str>, current: Option<&'a str>) -> Result<&'a str, SchemaError> {
    given.or(current).ok_or_else(|| {
        SchemaError::invalid("No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename")
    })
}

pub(super) fn check_keyspace_name(name: &str) -> Result<(), SchemaError> {
    if !is_word(name) {
        return Err(SchemaError::invalid(format!(
            "Keyspace name must not be empty and must contain alphanumeric or underscore characters only (got \"{name}\")"
        )));
    }
    if name.len() > KEYSPACE_NAME_LENGTH_MAX {
        return Err(SchemaError::invalid(format!(
            "Keyspace name must not be more than {KEYSPACE_NAME_LENGTH_MAX} characters long \
             (got {} characters for \"{name}\")",
            name.len()
        )));
    }
    Ok(())
}

pub(super) fn check_table_name(keyspace: &str, name: &str) -> Result<(), SchemaError> {
    if !is_word(name) {
        return Err(SchemaError::configuration(format!(
            "{keyspace}.{name}: Table name must not be empty or not contain non-alphanumeric-underscore characters \
             (got \"{name}\")"
        )));
    }
    if name.len() > TABLE_NAME_LENGTH_MAX {
        return Err(SchemaError::configuration(format!(
            "{keyspace}.{name}: Table name must not be more than {TABLE_NAME_LENGTH_MAX} characters long \
             (got {} characters for \"{name}\")",
            name.len()
        )));
    }
    Ok(())
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Refuses a change of one of the server's own keyspaces that are on this node alone.
pub(super) fn check_not_system(keyspace: &str) -> Result<(), SchemaError> {
    if system_keyspaces::is_local(keyspace) || system_keyspaces::is_virtual(keyspace) {
        return Err(SchemaError::invalid(format!("System keyspace '{keyspace}' is not user-modifiable")));
    }
    Ok(())
}

/// Refuses a change in one of the server's own keyspaces. `permission` and `resource` name what is refused, for the
/// replicated ones: `DROP`, `<table system_auth.roles>`.
pub(super) fn check_modifiable(keyspace: &str, permission: &str, resource: &str) -> Result<(), SchemaError> {
    if system_keyspaces::is_local(keyspace) || system_keyspaces::is_virtual(keyspace) {
        return Err(SchemaError::Unauthorized { message: format!("{keyspace} keyspace is not user-modifiable.") });
    }
    if system_keyspaces::is_replicated(keyspace) {
        return Err(SchemaError::Unauthorized { message: format!("Cannot {permission} {resource}") });
    }
    Ok(())
}
