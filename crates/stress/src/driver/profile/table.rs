//! The table of a profile, as the server describes it.

use scylla::client::session::Session;
use scylla::cluster::metadata::{Column, ColumnKind, ColumnType, Table};
use scylla::frame::response::result::ColumnSpec as MarkerSpec;

use super::super::settings::{ColumnSpec, ProfileSettings, quoted};
use super::partition::{Argument, Partitions};
use super::values::{Fillers, Generator, ValueType};
use crate::StressError;

/// The columns, by where they stand, and what makes their values.
#[derive(Debug)]
pub(crate) struct Columns {
    /// Names of those of the partition key, of the clustering key, and of all others.
    key: Vec<String>,
    clustering: Vec<String>,
    others: Vec<String>,
    /// Whether a value is added to those that the others have: counters, lists and sets.
    adds: Vec<bool>,
}

fn refusal(reason: String) -> StressError {
    StressError::Arguments { reason }
}

/// Asks for the table. Fails if it is not there, or has columns that values cannot be made for.
pub(crate) async fn describe(
    session: &Session,
    profile: &ProfileSettings,
) -> Result<(Columns, Partitions), StressError> {
    let asked = session.refresh_metadata().await;
    asked.map_err(|error| StressError::Driver { action: "ask for the table".to_owned(), reason: error.to_string() })?;
    let state = session.get_cluster_state();
    let table = state.get_keyspace(&profile.keyspace).and_then(|keyspace| keyspace.tables.get(&profile.table));
    let table = table.ok_or_else(|| refusal(format!("table {} does not exist", profile.full_table())))?;
    if let Some(unknown) = profile.columns.keys().find(|name| !table.columns.contains_key(*name)) {
        return Err(refusal(format!("columnspec: {} has no column {unknown}", profile.full_table())));
    }
    let mut others: Vec<&String> = table.columns.keys().filter(|name| !is_key(&table.columns[*name])).collect();
    others.sort_unstable();
    let others: Vec<String> = others.into_iter().cloned().collect();
    let partitions = Partitions {
        key: generators(&table.partition_key, table, profile)?,
        clustering: generators(&table.clustering_key, table, profile)?,
        others: generators(&others, table, profile)?,
        fillers: Fillers::new(),
    };
    let adds = others.iter().map(|name| adds(&table.columns[name])).collect();
    let columns = Columns { key: table.partition_key.clone(), clustering: table.clustering_key.clone(), others, adds };
    Ok((columns, partitions))
}

fn is_key(column: &Column) -> bool {
    matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering)
}

fn adds(column: &Column) -> bool {
    match &column.typ {
        ColumnType::Collection { frozen, .. } => !frozen,
        other => ValueType::of(other) == Some(ValueType::Counter),
    }
}

fn generators(names: &[String], table: &Table, profile: &ProfileSettings) -> Result<Vec<Generator>, StressError> {
    let generator = |name: &String| {
        let column = &table.columns[name];
        let of_type = ValueType::of(&column.typ)
            .ok_or_else(|| refusal(format!("column {name}: cannot generate values of its type: {:?}", column.typ)))?;
        let spec = profile.columns.get(name).cloned().unwrap_or_default();
        match spec {
            ColumnSpec { cluster: Some(_), .. } if column.kind != ColumnKind::Clustering => {
                Err(refusal(format!("columnspec {name}: cluster is for clustering columns")))
            }
            spec => Ok(Generator::new(name, of_type, &spec)),
        }
    };
    names.iter().map(generator).collect()
}

impl Columns {
    /// The statement that inserts a row, as cassandra-stress has it: an UPDATE, unless all columns are in the key.
    pub(crate) fn insert(&self, table: &str) -> String {
        let keys: Vec<String> = self.key.iter().chain(&self.clustering).map(|name| quoted(name)).collect();
        if self.others.is_empty() {
            let markers = vec!["?"; keys.len()].join(", ");
            return format!("INSERT INTO {table} ({}) VALUES ({markers})", keys.join(", "));
        }
        let set = |(name, adds): (&String, &bool)| {
            let name = quoted(name);
            if *adds { format!("{name} = {name} + ?") } else { format!("{name} = ?") }
        };
        let sets: Vec<String> = std::iter::zip(&self.others, &self.adds).map(set).collect();
        let keys: Vec<String> = keys.iter().map(|name| format!("{name} = ?")).collect();
        format!("UPDATE {table} SET {} WHERE {}", sets.join(", "), keys.join(" AND "))
    }

    /// The columns that the markers of a statement are for.
    pub(crate) fn arguments<'a>(
        &self,
        of: &str,
        markers: impl Iterator<Item = &'a MarkerSpec<'a>>,
    ) -> Result<Vec<Argument>, StressError> {
        let argument = |marker: &MarkerSpec<'_>| {
            let at = |names: &[String]| names.iter().position(|name| name == marker.name());
            let found = at(&self.key).map(Argument::Key);
            let found = found.or_else(|| at(&self.clustering).map(Argument::Clustering));
            found
                .or_else(|| at(&self.others).map(Argument::Other))
                .ok_or_else(|| refusal(format!("{of}: bind marker {} matches no column", marker.name())))
        };
        markers.map(argument).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_inserted_by_updates_if_there_is_anything_to_set() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut columns = Columns {
            key: names(&["id"]),
            clustering: names(&["At"]),
            others: names(&["name", "tags"]),
            adds: vec![false, true],
        };
        assert_eq!(
            columns.insert("ks.t"),
            "UPDATE ks.t SET \"name\" = ?, \"tags\" = \"tags\" + ? WHERE \"id\" = ? AND \"At\" = ?"
        );
        columns.others.clear();
        assert_eq!(columns.insert("ks.t"), "INSERT INTO ks.t (\"id\", \"At\") VALUES (?, ?)");
    }
}
