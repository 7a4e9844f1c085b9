//! `user profile=`: a table, its values and its queries, from a YAML file as cassandra-stress reads it (`StressYaml.java`).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::command::{Kind, Shares, weighted};
use super::insert::{self, InsertSettings};
use super::rows::VALUE_BYTES_MAX;
use super::schema::quoted;
use super::words::{Group, refusal};
use crate::StressError;
use crate::distribution::Distribution;

/// What a profile says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProfileSettings {
    pub(crate) keyspace: String,
    pub(crate) table: String,
    /// The statements that make the keyspace, the table and what else there is to make.
    pub(crate) definitions: Vec<String>,
    /// What is said of columns, by their names.
    pub(crate) columns: BTreeMap<String, ColumnSpec>,
    /// The queries, by their names in small letters.
    pub(crate) queries: BTreeMap<String, Query>,
    pub(crate) insert: InsertSettings,
}

/// How a column's values are drawn, as far as it is said.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ColumnSpec {
    /// Letters of a text, bytes of a blob, elements of a collection.
    pub(crate) size: Option<Distribution>,
    /// Which values there are.
    pub(crate) population: Option<Distribution>,
    /// How many values a clustering column has for each of those before it.
    pub(crate) cluster: Option<Distribution>,
}

/// A query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    pub(crate) cql: String,
    pub(crate) rows: ArgumentRows,
}

/// Of which rows of the partition the values are that a query's markers are bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentRows {
    /// All of one.
    Same,
    /// Each of one of its own.
    Each,
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    specname: Option<String>,
    keyspace: String,
    keyspace_definition: Option<String>,
    table: String,
    table_definition: Option<String>,
    extra_definitions: Option<Vec<String>>,
    columnspec: Option<Vec<BTreeMap<String, String>>>,
    insert: Option<BTreeMap<String, String>>,
    queries: Option<BTreeMap<String, QueryEntry>>,
    token_range_queries: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryEntry {
    cql: String,
    fields: Option<String>,
}

/// Reads the words behind `user` that only it has: the profile and what is done with it.
pub(super) fn of(group: &mut Group) -> Result<(ProfileSettings, Shares), StressError> {
    let Some(path) = group.value("profile=")? else { return Err(refusal("user: profile= is missing")) };
    if path.contains(',') {
        return Err(refusal(format!("profile={path}: several profiles at once are not supported")));
    }
    let Some(ratios) = group.call("ops")? else {
        return Err(refusal("user: ops() is missing, such as ops(insert=1,read1=2)"));
    };
    let failed = |source| StressError::Profile { path: Path::new(&path).to_owned(), source };
    let text = std::fs::read_to_string(&path).map_err(failed)?;
    let (settings, name) = parse(&text).map_err(|reason| refusal(format!("{path}: {reason}")))?;
    let kinds = weighted("ops", &ratios, |operation| settings.kind(&name, operation))?;
    Ok((settings, kinds))
}

/// A profile and its name. The error is a sentence.
pub(super) fn parse(text: &str) -> Result<(ProfileSettings, String), String> {
    // The reader adds a drawing of the place; one line is enough here.
    let file: File = serde_saphyr::from_str(text)
        .map_err(|error| error.to_string().lines().next().unwrap_or("not YAML").to_owned())?;
    if file.token_range_queries.is_some() {
        return Err("token_range_queries are not supported".to_owned());
    }
    let is_said = |definition: &String| !definition.trim().is_empty();
    let definitions = [file.keyspace_definition, file.table_definition].into_iter().flatten();
    let settings = ProfileSettings {
        definitions: definitions.chain(file.extra_definitions.unwrap_or_default()).filter(is_said).collect(),
        columns: columns(file.columnspec.unwrap_or_default())?,
        queries: queries(file.queries.unwrap_or_default())?,
        insert: insert_settings(file.insert.unwrap_or_default())?,
        keyspace: file.keyspace,
        table: file.table,
    };
    let name = file.specname.unwrap_or_else(|| format!("{}.{}", settings.keyspace, settings.table));
    Ok((settings, name))
}

fn columns(specs: Vec<BTreeMap<String, String>>) -> Result<BTreeMap<String, ColumnSpec>, String> {
    let mut columns = BTreeMap::new();
    for entries in specs {
        let mut spec = ColumnSpec::default();
        let mut name = None;
        for (key, value) in entries {
            match key.to_ascii_lowercase().as_str() {
                "name" => name = Some(value),
                "size" => spec.size = Some(distribution("columnspec", &key, &value)?),
                "population" => spec.population = Some(distribution("columnspec", &key, &value)?),
                "cluster" => spec.cluster = Some(distribution("columnspec", &key, &value)?),
                _ => return Err(format!("columnspec: unknown key {key}: use name, size, population and cluster")),
            }
        }
        let Some(name) = name else { return Err("columnspec: a column has no name".to_owned()) };
        if spec.size.as_ref().is_some_and(|size| size.range().1 > VALUE_BYTES_MAX) {
            return Err(format!("columnspec {name}: a value has at most {VALUE_BYTES_MAX} bytes"));
        }
        if spec.cluster.as_ref().is_some_and(|cluster| cluster.range().0 == 0) {
            return Err(format!("columnspec {name}: cluster must be from 1"));
        }
        if columns.insert(name.clone(), spec).is_some() {
            return Err(format!("columnspec: duplicate {name}"));
        }
    }
    Ok(columns)
}

fn distribution<T>(of: &str, key: &str, text: &str) -> Result<T, String>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    text.trim().parse().map_err(|error| format!("{of}: {key}: {error}"))
}

fn queries(entries: BTreeMap<String, QueryEntry>) -> Result<BTreeMap<String, Query>, String> {
    let mut queries = BTreeMap::new();
    for (name, entry) in entries {
        let rows = match entry.fields.as_deref().map(str::to_ascii_lowercase).as_deref() {
            None | Some("multirow") => ArgumentRows::Each,
            Some("samerow") => ArgumentRows::Same,
            Some(other) => {
                return Err(format!("queries: {name}: fields: unknown {other}: use samerow or multirow"));
            }
        };
        let name = name.to_ascii_lowercase();
        if name == "insert" || name.contains([',', ' ', '=', '(', ')']) {
            return Err(format!("queries: {name} is not a valid query name"));
        }
        if queries.insert(name.clone(), Query { cql: entry.cql, rows }).is_some() {
            return Err(format!("queries: duplicate {name}"));
        }
    }
    Ok(queries)
}

fn insert_settings(entries: BTreeMap<String, String>) -> Result<InsertSettings, String> {
    let mut settings = InsertSettings::default();
    for (key, value) in entries {
        match key.to_ascii_lowercase().as_str() {
            "partitions" => settings.partitions = distribution("insert", &key, &value)?,
            "select" => settings.select = distribution("insert", &key, &value)?,
            "row-population" => settings.population = distribution("insert", &key, &value)?,
            "batchtype" => {
                settings.batch = insert::batch(value.trim())
                    .ok_or_else(|| format!("insert: batchtype {value}: must be LOGGED, UNLOGGED or COUNTER"))?;
            }
            "condition" => return Err("insert: condition: conditional inserts are not supported".to_owned()),
            _ => {
                return Err(format!("insert: unknown key {key}: use partitions, select, row-population and batchtype"));
            }
        }
    }
    Ok(settings)
}

impl ProfileSettings {
    /// The table's full name.
    pub(crate) fn full_table(&self) -> String {
        format!("{}.{}", quoted(&self.keyspace), quoted(&self.table))
    }

    /// The operation of a name, which may have the profile's name before it.
    fn kind(&self, profile: &str, operation: &str) -> Option<Kind> {
        let operation = operation.strip_prefix(profile).and_then(|rest| rest.strip_prefix('.')).unwrap_or(operation);
        let operation = operation.to_ascii_lowercase();
        if operation == "insert" {
            return Some(Kind::Insert);
        }
        self.queries.contains_key(&operation).then(|| Kind::Query(operation.leak()))
    }
}

#[cfg(test)]
mod tests;
