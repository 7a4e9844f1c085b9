//! One page with everything: charts as drawings in the page itself, tables beside them, the raw data's essentials. It needs no network and
//! no script, prints, and follows the reader's choice of light or dark.

mod advantages;
mod bars;
mod lines;
mod markup;
#[cfg(test)]
mod recorded;
mod scale;

use std::fmt::Write;

use markup::{escaped, table_begins, table_ends, write_drawings};

use crate::figures::Metric;
use crate::file::Load;
use crate::results::Results;
use crate::summary::{Failure, Summary, named};

const STYLE: &str = include_str!("page/style.css");

/// The page.
pub(crate) fn page(results: &Results, summary: &Summary) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_page(results, summary, &mut out);
    out
}

fn write_page(results: &Results, summary: &Summary, out: &mut String) -> std::fmt::Result {
    let study = &results.study;
    let title = escaped(&study.title);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
         <main>\n<h1>{title}</h1>\n"
    )?;
    for paragraph in study.about.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        writeln!(out, "<p>{}</p>", escaped(paragraph))?;
    }
    let rounds = if study.repeats == 1 { "one round".to_owned() } else { format!("{} rounds in turn", study.repeats) };
    writeln!(
        out,
        "<p class=\"when\">{} to {}, {rounds}, Helenus {}</p>",
        results.began, results.ended, results.version
    )?;
    write_verdict(summary, out)?;
    advantages::write(results, summary, out)?;
    for load in &study.loads {
        write_load(results, summary, load, out)?;
    }
    write_machine(results, out)?;
    write_runs(results, out)?;
    writeln!(out, "</main>\n</html>")
}

fn write_verdict(summary: &Summary, out: &mut String) -> std::fmt::Result {
    let asked = summary.advantages.iter().filter(|one| one.at_least.is_some());
    let (asked, held) = asked.fold((0, 0), |(asked, held), one| (asked + 1, held + usize::from(one.holds())));
    if asked > 0 {
        let class = if held == asked { "held" } else { "missed" };
        writeln!(out, "<p class=\"{class}\">{held} of {asked} figures are what the study asks for.</p>")?;
    }
    summary.failures.iter().try_for_each(|failure| write_failure(failure, out))
}

/// A failure, with a fold that has the line that was run, and all that was printed.
fn write_failure(failure: &Failure, out: &mut String) -> std::fmt::Result {
    writeln!(out, "<p class=\"missed\">Failed: {}</p>", escaped(&failure.to_string()))?;
    let line = escaped(&failure.line);
    writeln!(out, "<details><summary>The line, and what it printed</summary><p><code>{line}</code></p>")?;
    match &failure.printed {
        Some(printed) => writeln!(out, "<pre>{}</pre></details>", escaped(printed)),
        None => writeln!(out, "<p>No more than that.</p></details>"),
    }
}

/// A load's figures: over its levels as lines, else as bars; then the table; then what it looked like over time.
fn write_load(results: &Results, summary: &Summary, load: &Load, out: &mut String) -> std::fmt::Result {
    writeln!(out, "<h2>{}</h2>", escaped(&load.name))?;
    let lines: Vec<_> = summary.lines.iter().filter(|line| line.load == load.name).collect();
    let has_figures = |metric: &&Metric| lines.iter().any(|line| line.spreads.contains_key(metric));
    let drawing = |metric: &Metric| match load.levels.is_empty() {
        true => bars::of_systems(results, *metric, &lines),
        false => lines::over_levels(results, load, *metric, &lines),
    };
    let drawings: Vec<String> = summary.metrics.iter().filter(has_figures).map(drawing).collect();
    write_drawings(&drawings, out)?;
    let heads: String = summary.metrics.iter().map(|metric| format!("<th>{}", metric.head())).collect();
    table_begins(&format!("Figures of {}", load.name), "named", out)?;
    writeln!(out, "<thead><tr><th>load<th>system{heads}</thead><tbody>")?;
    for line in &lines {
        let cells: String = summary.metrics.iter().map(|metric| format!("<td>{}", line.cell(*metric))).collect();
        writeln!(out, "<tr><td>{}<td>{}{cells}", escaped(&named(&line.load, line.level)), escaped(&line.system))?;
    }
    table_ends(out)?;
    write_drawings(&[lines::over_time(results, load)], out)
}

fn write_machine(results: &Results, out: &mut String) -> std::fmt::Result {
    let machine = &results.machine;
    writeln!(out, "<h2>The machine</h2>")?;
    table_begins("Facts of the machine", "facts", out)?;
    writeln!(out, "<tbody>")?;
    let facts = [
        ("processor", format!("{} × {}", machine.processors, machine.processor)),
        ("memory", format!("{:.1} GiB", machine.memory_bytes as f64 / f64::from(1 << 30))),
        ("system", format!("{}, kernel {}", machine.system, machine.kernel)),
    ];
    for (name, value) in facts {
        writeln!(out, "<tr><th>{name}<td>{}", escaped(&value))?;
    }
    for finding in &machine.findings {
        let (check, found) = (escaped(&finding.check), escaped(&finding.found));
        writeln!(out, "<tr><th>{check}<td>{found} <small>({})</small>", finding.verdict)?;
    }
    table_ends(out)?;
    for system in &results.study.systems {
        let (name, start) = (escaped(&system.name), system.start.as_ref().or(system.address.as_ref()));
        let bounds = [system.cores.as_ref().map(|cores| format!("cores {cores}")), system.memory.clone()];
        let bounds: Vec<String> = bounds.into_iter().flatten().collect();
        let bounds = if bounds.is_empty() { String::new() } else { format!(" ({})", bounds.join(", ")) };
        writeln!(out, "<p><b>{name}</b>{bounds}: <code>{}</code></p>", escaped(start.map_or("", String::as_str)))?;
    }
    writeln!(out, "<p>{}</p>", variables(results))
}

fn variables(results: &Results) -> String {
    let all = results.study.variables.iter();
    let all: Vec<String> =
        all.map(|(name, value)| format!("<code>{} = {}</code>", escaped(name), escaped(value))).collect();
    all.join("<br>")
}

/// Every run, so that nothing is hidden in a median.
fn write_runs(results: &Results, out: &mut String) -> std::fmt::Result {
    writeln!(out, "<details><summary>All {} runs</summary>", results.samples.len())?;
    table_begins("All runs", "runs", out)?;
    writeln!(out, "<thead><tr><th>round<th>system<th>load<th>operations/s<th>CPU, µs<th>line</thead><tbody>")?;
    for sample in &results.samples {
        let figure = |metric: Metric| sample.metric(metric).map_or_else(|| "–".to_owned(), |value| metric.shown(value));
        writeln!(
            out,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td><code>{}</code>",
            sample.round,
            escaped(&sample.system),
            escaped(&named(&sample.load, sample.level)),
            figure(Metric::Throughput),
            figure(Metric::Cpu),
            escaped(&sample.line)
        )?;
    }
    table_ends(out)?;
    writeln!(out, "</details>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::results;

    #[test]
    fn the_page_has_everything_and_no_foreign_markup() {
        let results = results();
        let text = page(&results, &Summary::of(&results));
        assert!(text.contains("Two &lt;systems&gt;") && !text.contains("<systems>"));
        for expected in
            ["write ÷ theirs", "asked for a second", "1 of 2 figures", "3 errors", "rate not kept", "<details>"]
        {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        assert!(!text.contains("http://") || text.contains("http://www.w3.org"), "it asks nobody for anything");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
    }
}
