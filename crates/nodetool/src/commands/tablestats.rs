//! `tablestats`: the figures of tables, by keyspace or in the order of one of them.
//!
//! The lines are Cassandra's, in its order, so that what reads them goes on doing so. What a node does not count is `?`, or `NaN`
//! where Cassandra's own figure has a fraction; in JSON `null`. Lines about what there is no counterpart of at all are left out.

mod lines;
mod order;
mod values;

use std::collections::BTreeMap;

use crate::answers::Table;
use crate::arguments::TableStats as Arguments;
use crate::error::ToolError;
use crate::report::{Answer, json, yaml};
use crate::surroundings::{Request, Surroundings};

use super::Format;

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let format = Format::of(arguments.format.as_deref())?;
    if arguments.sstable_location_check {
        return Err(ToolError::usage("tablestats -l is not supported: a node has a single data directory"));
    }
    let order = arguments.sort.as_deref().map(order::Order::of).transpose()?;
    if arguments.top.is_some() && order.is_none() {
        return Err(ToolError::usage("cannot filter top K tables without specifying a sort key."));
    }
    let mut tables: Vec<Table> = node.get(Request::get("/helenus/tables"))?;
    // As in Cassandra: of the node, whatever is chosen.
    let total = tables.len();
    choose(&mut tables, &arguments.names, arguments.ignore)?;
    tables.sort_by(|a, b| (&a.keyspace, &a.table).cmp(&(&b.keyspace, &b.table)));

    let human = arguments.human_readable;
    let (values, lines) = match order {
        None => {
            let keyspaces = by_keyspace(&tables);
            (values::of_keyspaces(total, &keyspaces, human), lines::of_keyspaces(total, &keyspaces, human))
        }
        Some(order) => {
            order.apply(&mut tables);
            let top = arguments.top.filter(|top| *top > 0 && *top < tables.len());
            tables.truncate(top.unwrap_or(tables.len()));
            let shown = top.map(|top| (top, order.name()));
            (values::in_order(total, &tables, human), lines::in_order(total, &tables, shown, human))
        }
    };
    let text = match format {
        Format::Json => json(&values),
        Format::Yaml => yaml(&values),
        Format::Text => lines,
    };
    Ok(Answer { text, json: json(&values) })
}

/// Leaves those that are named, or, ignoring, those that are not.
pub(super) fn choose(tables: &mut Vec<Table>, names: &[String], ignore: bool) -> Result<(), ToolError> {
    for name in names {
        let (keyspace, table) = parts(name);
        if !tables.iter().any(|known| known.keyspace == keyspace) {
            return Err(ToolError::usage(format!("Unknown keyspace: {keyspace}")));
        }
        if let Some(table) = table
            && !tables.iter().any(|known| known.keyspace == keyspace && known.table == table)
        {
            return Err(ToolError::usage(format!("Unknown tables: [{table}] in keyspace: {keyspace}")));
        }
    }
    let is_named = |table: &Table| {
        names
            .iter()
            .map(|name| parts(name))
            .any(|(keyspace, name)| table.keyspace == keyspace && name.is_none_or(|name| table.table == name))
    };
    if !names.is_empty() {
        tables.retain(|table| is_named(table) != ignore);
    }
    Ok(())
}

fn parts(name: &str) -> (&str, Option<&str>) {
    match name.split_once('.') {
        Some((keyspace, table)) => (keyspace, Some(table)),
        None => (name, None),
    }
}

fn by_keyspace(tables: &[Table]) -> BTreeMap<&str, Vec<&Table>> {
    let mut keyspaces: BTreeMap<&str, Vec<&Table>> = BTreeMap::new();
    for table in tables {
        keyspaces.entry(&table.keyspace).or_default().push(table);
    }
    keyspaces
}

/// What all tables of a keyspace come to.
struct Sums {
    reads: Option<u64>,
    read_latency_ms: Option<f64>,
    writes: Option<u64>,
    write_latency_ms: Option<f64>,
    pending_flushes: Option<u64>,
}

impl Sums {
    fn of(tables: &[&Table]) -> Sums {
        Sums {
            reads: sum(tables, |table| table.reads),
            read_latency_ms: mean(tables, |table| (table.reads, table.read_latency_us_mean)),
            writes: sum(tables, |table| table.writes),
            write_latency_ms: mean(tables, |table| (table.writes, table.write_latency_us_mean)),
            pending_flushes: sum(tables, |table| table.pending_flushes),
        }
    }
}

/// None if one of them is not known.
fn sum(tables: &[&Table], figure: impl Fn(&Table) -> Option<u64>) -> Option<u64> {
    tables.iter().try_fold(0_u64, |sum, table| Some(sum.saturating_add(figure(table)?)))
}

/// In milliseconds; of tables where anything was done.
fn mean(tables: &[&Table], figures: impl Fn(&Table) -> (Option<u64>, Option<f64>)) -> Option<f64> {
    let (mut count, mut micros) = (0.0, 0.0);
    for table in tables {
        let (operations, mean) = figures(table);
        let operations = operations? as f64;
        if operations > 0.0 {
            count += operations;
            micros += operations * mean?;
        }
    }
    (count > 0.0).then_some(micros / count / 1000.0)
}

impl Table {
    /// Reads by writes, 0 without any.
    fn read_write_ratio(&self) -> Option<f64> {
        let (reads, writes) = (self.reads? as f64, self.writes? as f64);
        Some(if writes > 0.0 { reads / writes } else { 0.0 })
    }

    fn is_leveled(&self) -> bool {
        !self.sstables_per_level.is_empty()
    }
}
