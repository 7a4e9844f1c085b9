//! `proxyhistograms`: requests' latency at the coordinator.

use serde::Serialize;

use crate::error::ToolError;
use crate::histogram::{Figures, Histogram, QUANTILES};
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

#[derive(Serialize)]
struct ProxyHistograms {
    rows: Vec<Row>,
}

/// In microseconds. None: the node does not tell such requests from others.
#[derive(Serialize)]
struct Row {
    percentile: &'static str,
    read: Option<f64>,
    write: Option<f64>,
    range: Option<f64>,
    cas_read: Option<f64>,
    cas_write: Option<f64>,
    view_write: Option<f64>,
}

pub(super) fn run(node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let mut of = |kind: &str| -> Result<Option<Figures>, ToolError> {
        let path = format!("/storage_proxy/metrics/{kind}/estimated_histogram");
        let histogram: Option<Histogram> = node.get_if_there(Request::get(&path))?;
        Ok(histogram.and_then(|histogram| histogram.figures()))
    };
    let (read, write, range) = (of("read")?, of("write")?, of("range")?);
    let (cas_read, cas_write, view_write) = (of("cas_read")?, of("cas_write")?, of("view_write")?);
    let names = QUANTILES.iter().map(|(name, _)| *name).chain(["Min", "Max"]);
    let row = |(index, percentile): (usize, &'static str)| {
        let at = |figures: &Option<Figures>| figures.as_ref().map(|figures| figures[index]);
        Row {
            percentile,
            read: at(&read),
            write: at(&write),
            range: at(&range),
            cas_read: at(&cas_read),
            cas_write: at(&cas_write),
            view_write: at(&view_write),
        }
    };
    Ok(Answer::of(&ProxyHistograms { rows: names.enumerate().map(row).collect() }))
}

impl Report for ProxyHistograms {
    fn text(&self) -> String {
        let line = |name: &str, entries: [String; 6]| {
            format!("{name:<10}{}\n", entries.map(|entry| format!("{entry:>19}")).concat())
        };
        let figure = |figure: Option<f64>| figure.map_or_else(|| "NaN".into(), |figure| format!("{figure:.2}"));
        let titles = [
            "Read Latency",
            "Write Latency",
            "Range Latency",
            "CAS Read Latency",
            "CAS Write Latency",
            "View Write Latency",
        ];
        let mut text = String::from("proxy histograms\n");
        text += &line("Percentile", titles.map(str::to_owned));
        text += &line("", ["(micros)"; 6].map(str::to_owned));
        for row in &self.rows {
            let entries = [row.read, row.write, row.range, row.cas_read, row.cas_write, row.view_write];
            text += &line(row.percentile, entries.map(figure));
        }
        text + "\n"
    }
}
