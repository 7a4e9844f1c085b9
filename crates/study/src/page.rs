//! One page with everything: charts as drawings in the page itself, tables beside them, the raw data's essentials. It needs no network and
//! no script, prints, and follows the reader's choice of light or dark.

mod bars;
mod lines;
mod scale;

use std::fmt::Write;

use crate::figures::Metric;
use crate::file::Load;
use crate::results::Results;
use crate::summary::{Summary, named};

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
    write_advantages(results, summary, out)?;
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
    for failure in &summary.failures {
        writeln!(out, "<p class=\"missed\">Failed: {}</p>", escaped(failure))?;
    }
    Ok(())
}

/// How many times better the subject is: a drawing with the interval of each ratio, and the table.
fn write_advantages(results: &Results, summary: &Summary, out: &mut String) -> std::fmt::Result {
    if summary.advantages.is_empty() {
        return Ok(());
    }
    let subject = escaped(&results.study.subject);
    writeln!(out, "<h2>How many times better {subject} is</h2>")?;
    writeln!(
        out,
        "<p>Ratios are taken within each round; the bar is their geometric mean, the whisker the interval that holds the true one with \
         95&nbsp;% confidence. Above 1 {subject} is better. Diamonds are published figures, of other systems on other machines.</p>"
    )?;
    let figure = |metric: Metric| {
        let rows: Vec<bars::Bar> = summary
            .advantages
            .iter()
            .filter(|one| one.metric == metric)
            .filter_map(|one| {
                let ratio = one.ratio?;
                Some(bars::Bar {
                    name: format!("{} ÷ {}", named(&one.load, one.level), one.over),
                    series: series_of(results, &one.over),
                    value: ratio.mean,
                    span: ratio.interval,
                    mark: one.published,
                    shown: format!("{:.2}×", ratio.mean),
                })
            })
            .collect();
        bars::drawing(&format!("{} – times better", metric.name()), &rows)
    };
    write_drawings(&[Metric::Throughput, Metric::Cpu].map(figure), out)?;
    writeln!(
        out,
        "<table class=\"named\"><thead><tr><th>load<th>over<th>figure<th>times better<th>published<th>at least</thead><tbody>"
    )?;
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
    writeln!(out, "</tbody></table>")
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
    writeln!(out, "<table class=\"named\"><thead><tr><th>load<th>system{heads}</thead><tbody>")?;
    for line in &lines {
        let cells: String = summary.metrics.iter().map(|metric| format!("<td>{}", line.cell(*metric))).collect();
        writeln!(out, "<tr><td>{}<td>{}{cells}", escaped(&named(&line.load, line.level)), escaped(&line.system))?;
    }
    writeln!(out, "</tbody></table>")?;
    write_drawings(&[lines::over_time(results, load)], out)
}

/// Drawings side by side, as many as there is room for.
fn write_drawings(drawings: &[String], out: &mut String) -> std::fmt::Result {
    writeln!(out, "<div class=\"drawings\">\n{}</div>", drawings.concat())
}

fn write_machine(results: &Results, out: &mut String) -> std::fmt::Result {
    let machine = &results.machine;
    writeln!(out, "<h2>The machine</h2>\n<table class=\"facts\"><tbody>")?;
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
    writeln!(out, "</tbody></table>")?;
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
    writeln!(out, "<table><thead><tr><th>round<th>system<th>load<th>operations/s<th>CPU, µs<th>line</thead><tbody>")?;
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
    writeln!(out, "</tbody></table></details>")
}

/// A system's colour is that of its place in the study.
fn series_of(results: &Results, system: &str) -> usize {
    results.study.systems.iter().position(|other| other.name == system).unwrap_or(0)
}

/// Text as HTML has it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(letter),
        }
    }
    out
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
