//! How many times better the subject is: drawings with the interval of each ratio, and the table.

use std::fmt::Write;

use super::bars;
use super::markup::{escaped, series_of, table_begins, table_ends, write_drawings};
use crate::figures::Metric;
use crate::results::Results;
use crate::statistics::Interval;
use crate::summary::{Advantage, Summary, factor, named};

/// Where both are as good.
const EQUAL: f64 = 1.0;

/// The section; nothing where the subject is alone.
pub(crate) fn write(results: &Results, summary: &Summary, out: &mut String) -> std::fmt::Result {
    if summary.advantages.is_empty() {
        return Ok(());
    }
    let subject = escaped(&results.study.subject);
    writeln!(out, "<h2>How many times better {subject} is</h2>")?;
    write_meaning(&subject, summary, out)?;
    let drawing = |metric: Metric| {
        let told = summary.advantages.iter().filter(|one| one.metric == metric);
        let rows: Vec<bars::Bar> = told.filter_map(|one| bar(results, one)).collect();
        bars::drawing(&format!("{} – times better", metric.name()), &rows, Some(EQUAL))
    };
    write_drawings(&[Metric::Throughput, Metric::Cpu].map(drawing), out)?;
    table_begins("Ratios", "named", out)?;
    writeln!(out, "<thead><tr><th>load<th>over<th>figure<th>times better<th>published<th>at least</thead><tbody>")?;
    for one in &summary.advantages {
        let [ratio, published, at_least] = one.cells();
        let class = if one.holds() { "" } else { " class=\"missed\"" };
        writeln!(
            out,
            "<tr{class}><td>{}<td>{}<td>{}<td>{ratio}<td>{published}<td>{at_least}",
            escaped(&named(&one.load, one.level)),
            escaped(&one.over),
            one.metric
        )?;
    }
    table_ends(out)
}

/// The meaning of bars, whiskers, arrows and diamonds, of those that there are.
fn write_meaning(subject: &str, summary: &Summary, out: &mut String) -> std::fmt::Result {
    let intervals: Vec<Interval> =
        summary.advantages.iter().filter_map(|one| one.ratio).map(|ratio| ratio.interval).collect();
    write!(
        out,
        "<p>Ratios are taken within each round; the bar is their geometric mean. Above the line at 1 {subject} is better."
    )?;
    if intervals.iter().any(|interval| interval.ends().is_some()) {
        write!(
            out,
            " The whisker is the interval that holds the true ratio with 95&nbsp;% confidence; it ends in an arrow where it leaves the drawing."
        )?;
    }
    if intervals.contains(&Interval::TooFewRounds) {
        write!(out, " <i>Too few rounds:</i> fewer than three have no interval.")?;
    }
    if intervals.contains(&Interval::TooWide) {
        write!(out, " <i>Rounds differ too much:</i> the interval would span more than six orders of magnitude.")?;
    }
    if summary.advantages.iter().any(|one| one.published.is_some()) {
        write!(out, " Diamonds are published figures, of other systems on other machines.")?;
    }
    writeln!(out, "</p>")
}

fn bar(results: &Results, one: &Advantage) -> Option<bars::Bar> {
    let ratio = one.ratio?;
    let [told, ..] = one.cells();
    Some(bars::Bar {
        name: format!("{} ÷ {}", named(&one.load, one.level), one.over),
        series: series_of(results, &one.over),
        value: ratio.mean,
        span: ratio.interval.ends(),
        mark: one.published,
        shown: format!("{}×", factor(ratio.mean)),
        told,
    })
}
