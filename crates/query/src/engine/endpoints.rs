//! The nodes that have a copy of a partition, whose key is written as people write it.

use cql_types::ValueError;
use schema::{Column, Table};
use topology::HostId;

use super::Engine;

/// The nodes that have a copy of a partition, in the order of the ring. The key is written as [`Engine::partition_text`] does, with `\:` for a colon
/// in a value of a key of several columns.
pub fn endpoints(engine: &Engine, keyspace: &str, table: &str, key: &str) -> Result<Vec<HostId>, EndpointsError> {
    let catalog = engine.catalog();
    let of = catalog.schema.keyspace(keyspace).filter(|keyspace| keyspace.tables.contains_key(table));
    let missing = || EndpointsError::NoTable { keyspace: keyspace.to_owned(), table: table.to_owned() };
    let replication = of.and_then(|of| catalog.replication(of.name())).ok_or_else(missing)?;
    let table = catalog.schema.table(keyspace, table).ok_or_else(missing)?;
    let token = topology::token_of(&key_of_text(table, key)?);
    let found = replication.replicas(token).iter();
    Ok(found.map(|index| replication.ring().node(*index).host_id).collect())
}

/// A key of which the nodes are not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointsError {
    /// The table does not exist.
    #[error("table {keyspace}.{table} does not exist")]
    NoTable {
        /// The keyspace.
        keyspace: String,
        /// The table.
        table: String,
    },
    /// Too few values or too many.
    #[error("the key '{key}' has {given} values with colons between, and the partition key has {columns} columns")]
    Count {
        /// The key.
        key: String,
        /// Its values.
        given: usize,
        /// Columns of the partition key.
        columns: usize,
    },
    /// A value is none of its column's type.
    #[error("the key's column {column} is of type {ty}: {source}")]
    Value {
        /// The column.
        column: String,
        /// Its type.
        ty: String,
        /// The reason.
        source: ValueError,
    },
}

/// The bytes of a partition's key.
fn key_of_text(table: &Table, key: &str) -> Result<Vec<u8>, EndpointsError> {
    let columns = table.partition_key();
    let value = |column: &Column, text: &str| {
        let error =
            |source| EndpointsError::Value { column: column.name.to_string(), ty: column.ty.to_string(), source };
        let bytes = cql_types::of_text(&column.ty, text).map_err(error)?;
        cql_types::validate(&column.ty, &bytes).map_err(error)?;
        Ok(bytes)
    };
    if let [column] = columns {
        return value(column, key);
    }
    let texts = parts(key);
    if texts.len() != columns.len() {
        return Err(EndpointsError::Count { key: key.to_owned(), given: texts.len(), columns: columns.len() });
    }
    let mut out = Vec::new();
    for (column, text) in columns.iter().zip(&texts) {
        let bytes = value(column, text)?;
        let too_long = |_| EndpointsError::Value {
            column: column.name.to_string(),
            ty: column.ty.to_string(),
            source: ValueError::Text { reason: format!("{} bytes are too long for a key", bytes.len()) },
        };
        out.extend_from_slice(&u16::try_from(bytes.len()).map_err(too_long)?.to_be_bytes());
        out.extend_from_slice(&bytes);
        out.push(0);
    }
    Ok(out)
}

/// Parts between colons; a backslash before a colon makes it part of a value.
fn parts(key: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut rest = key.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\\' if rest.peek() == Some(&':') => parts.last_mut().expect("there is one").extend(rest.next()),
            ':' => parts.push(String::new()),
            letter => parts.last_mut().expect("there is one").push(letter),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn values_of_a_key_stand_between_colons() {
        for (key, expected) in [
            ("", &[""][..]),
            ("7", &["7"]),
            ("7:a b", &["7", "a b"]),
            ("::", &["", "", ""]),
            (r"a\:b:c\d", &["a:b", r"c\d"]),
            (r"a\", &[r"a\"]),
        ] {
            assert_eq!(parts(key), expected, "{key}");
        }
    }
}
