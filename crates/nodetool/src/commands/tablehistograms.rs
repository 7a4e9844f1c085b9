//! `tablehistograms`: latencies, files per read, sizes and cells of partitions.

use serde::Serialize;

use crate::answers::{TableHistograms as Histograms, TableName};
use crate::arguments::TableHistograms as Arguments;
use crate::error::ToolError;
use crate::histogram::{Figures, Histogram, QUANTILES};
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

use super::tables::in_path;

#[derive(Serialize)]
struct TableHistograms {
    tables: Vec<OfTable>,
}

#[derive(Serialize)]
struct OfTable {
    keyspace: String,
    table: String,
    rows: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A quantile, or the least or the greatest. None: not measured, or nothing is there.
#[derive(Serialize)]
struct Row {
    percentile: &'static str,
    read_latency_micros: Option<f64>,
    write_latency_micros: Option<f64>,
    sstables: Option<f64>,
    partition_size_bytes: Option<f64>,
    cell_count: Option<f64>,
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let (keyspace, table) = match arguments.names.as_slice() {
        [] => return of_all(node),
        [keyspace, table] => (keyspace.as_str(), table.as_str()),
        [name] => name.split_once('.').ok_or_else(unnamed)?,
        _ => return Err(unnamed()),
    };
    let histograms = node.get(request(keyspace, table))?;
    let tables = vec![of_table(keyspace.to_owned(), table.to_owned(), &histograms)];
    Ok(Answer::of(&TableHistograms { tables }))
}

fn unnamed() -> ToolError {
    ToolError::usage("tablehistograms requires <keyspace> <table> or <keyspace.table> format argument.")
}

fn request(keyspace: &str, table: &str) -> Request {
    Request::get("/helenus/tablehistograms").of(&in_path(keyspace, table))
}

/// Of all tables of which anything is stored: some of the system's are virtual, and a table may be dropped meanwhile.
fn of_all(node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let mut names: Vec<TableName> = node.get(Request::get("/column_family/"))?;
    names.sort_by(|a, b| (&a.ks, &a.cf).cmp(&(&b.ks, &b.cf)));
    let mut tables = Vec::with_capacity(names.len());
    for TableName { ks, cf } in names {
        if let Some(histograms) = node.get_if_there(request(&ks, &cf))? {
            tables.push(of_table(ks, cf, &histograms));
        }
    }
    Ok(Answer::of(&TableHistograms { tables }))
}

fn of_table(keyspace: String, table: String, histograms: &Histograms) -> OfTable {
    let figures = |histogram: &Option<Histogram>| histogram.as_ref().and_then(Histogram::figures);
    let of_files = |histogram: &Option<Histogram>| {
        histogram.as_ref().filter(|histogram| !histogram.is_empty()).and_then(Histogram::figures)
    };
    let names = QUANTILES.iter().map(|(name, _)| *name).chain(["Min", "Max"]);
    let at = |figures: &Option<Figures>, index: usize| figures.as_ref().map(|figures| figures[index]);
    let reads = figures(&histograms.read_latency);
    let writes = figures(&histograms.write_latency);
    let sstables = figures(&histograms.sstables_per_read);
    let (sizes, cells) = (of_files(&histograms.partition_size), of_files(&histograms.cell_count));
    let row = |(index, percentile)| Row {
        percentile,
        read_latency_micros: at(&reads, index),
        write_latency_micros: at(&writes, index),
        sstables: at(&sstables, index),
        partition_size_bytes: at(&sizes, index),
        cell_count: at(&cells, index),
    };
    let note = match &histograms.partition_size {
        Some(histogram) if !histogram.is_empty() && sizes.is_none() => {
            Some(format!("Partition sizes are larger than {}, unable to calculate percentiles", histogram.offset_max()))
        }
        _ if sizes.is_none() => {
            Some("No SSTables exists, unable to calculate 'Partition Size' and 'Cell Count' percentiles".into())
        }
        _ => None,
    };
    OfTable { keyspace, table, rows: names.enumerate().map(row).collect(), note }
}

impl Report for TableHistograms {
    fn text(&self) -> String {
        self.tables.iter().map(OfTable::text).collect()
    }
}

impl OfTable {
    fn text(&self) -> String {
        let line = |name: &str, entries: [String; 5]| {
            format!("{name:<10}{}\n", entries.map(|entry| format!("{entry:>18}")).concat())
        };
        let fraction = |figure: Option<f64>| figure.map_or_else(|| "NaN".into(), |figure| format!("{figure:.2}"));
        let whole = |figure: Option<f64>| figure.map_or_else(|| "NaN".into(), |figure| format!("{figure:.0}"));
        let mut text = String::new();
        if let Some(note) = &self.note {
            text += &format!("{note}\n");
        }
        text += &format!("{}/{} histograms\n", self.keyspace, self.table);
        let titles = ["Read Latency", "Write Latency", "SSTables", "Partition Size", "Cell Count"];
        text += &line("Percentile", titles.map(str::to_owned));
        text += &line("", ["(micros)", "(micros)", "", "(bytes)", ""].map(str::to_owned));
        for row in &self.rows {
            let entries = [
                fraction(row.read_latency_micros),
                fraction(row.write_latency_micros),
                fraction(row.sstables),
                whole(row.partition_size_bytes),
                whole(row.cell_count),
            ];
            text += &line(row.percentile, entries);
        }
        text + "\n"
    }
}
