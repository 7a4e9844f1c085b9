//! What the raw data say: medians for each system, and the subject's advantage over the others.

mod failures;

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::figures::{Metric, grouped};
use crate::file::Load;
use crate::results::{Results, Sample};
use crate::statistics::{Interval, Ratio, Spread};

pub(crate) use failures::Failure;

/// All that is told of a study.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Summary {
    /// By load, level and system, in the study's order.
    pub(crate) lines: Vec<Line>,
    pub(crate) advantages: Vec<Advantage>,
    /// Figures that none of the samples has are left out of tables.
    pub(crate) metrics: Vec<Metric>,
    /// Runs that failed, those of several rounds together that failed alike.
    pub(crate) failures: Vec<Failure>,
}

/// What a system did under a load.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) load: String,
    pub(crate) level: Option<f64>,
    pub(crate) system: String,
    pub(crate) spreads: BTreeMap<Metric, Spread>,
    /// Rounds in which it did not keep the rate that was asked for.
    pub(crate) lost_rates: usize,
}

/// How many times better the subject is than another system.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Advantage {
    pub(crate) load: String,
    pub(crate) level: Option<f64>,
    pub(crate) over: String,
    pub(crate) metric: Metric,
    /// None: the two have no round in common.
    pub(crate) ratio: Option<Ratio>,
    pub(crate) published: Option<f64>,
    /// What it must be.
    pub(crate) at_least: Option<f64>,
}

impl Advantage {
    /// Whether it is what it must be; what need not be anything is.
    pub(crate) fn holds(&self) -> bool {
        self.at_least.is_none_or(|bound| self.ratio.is_some_and(|ratio| ratio.mean >= bound))
    }
}

impl Summary {
    /// Of the raw data.
    pub(crate) fn of(results: &Results) -> Summary {
        let mut summary =
            Summary { lines: Vec::new(), advantages: Vec::new(), metrics: Vec::new(), failures: Vec::new() };
        for load in &results.study.loads {
            for level in load.each_level() {
                for system in results.study.systems.iter().filter(|system| load.is_for(&system.name)) {
                    let samples = select(results, load, level, &system.name);
                    summary.lines.push(Line::of(load, level, &system.name, &samples));
                    if system.name != results.study.subject {
                        let subject = select(results, load, level, &results.study.subject);
                        summary.advantages.extend(advantages(load, level, &system.name, &subject, &samples));
                    }
                }
            }
        }
        let has = |metric: &Metric| summary.lines.iter().any(|line| line.spreads.contains_key(metric));
        summary.metrics = Metric::ALL.into_iter().filter(has).collect();
        summary.failures = Failure::all_of(results);
        summary
    }

    /// Whether no run failed and all advantages are what they must be.
    pub(crate) fn holds(&self) -> bool {
        self.failures.is_empty() && self.advantages.iter().all(Advantage::holds)
    }

    /// The tables, in Markdown.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_text(&mut out);
        out
    }

    fn write_text(&self, out: &mut String) -> std::fmt::Result {
        let heads: Vec<&str> = self.metrics.iter().map(|metric| metric.head()).collect();
        writeln!(out, "| load | system | {} |\n|---|---|{}", heads.join(" | "), "---|".repeat(heads.len()))?;
        for line in &self.lines {
            let cells: Vec<String> = self.metrics.iter().map(|metric| line.cell(*metric)).collect();
            writeln!(out, "| {} | {} | {} |", named(&line.load, line.level), line.system, cells.join(" | "))?;
        }
        if !self.advantages.is_empty() {
            writeln!(
                out,
                "\n| load | over | figure | times better | published | at least |\n|---|---|---|---|---|---|"
            )?;
        }
        for advantage in &self.advantages {
            let [ratio, published, at_least] = advantage.cells();
            let load = named(&advantage.load, advantage.level);
            writeln!(
                out,
                "| {load} | {} | {} | {ratio} | {published} | {at_least} |",
                advantage.over, advantage.metric
            )?;
        }
        for failure in &self.failures {
            writeln!(out, "\nfailed: {failure}")?;
            let printed = failure.printed.iter().flat_map(|text| text.lines());
            printed.map(str::trim_end).try_for_each(|line| match line {
                "" => writeln!(out),
                _ => writeln!(out, "    {line}"),
            })?;
        }
        Ok(())
    }
}

/// A load with its level.
pub(crate) fn named(load: &str, level: Option<f64>) -> String {
    level.map_or_else(|| load.to_owned(), |level| format!("{load} {level}"))
}

impl Line {
    fn of(load: &Load, level: Option<f64>, system: &str, samples: &[&Sample]) -> Line {
        let spread = |metric: Metric| {
            let figures = samples.iter().filter_map(|sample| sample.metric(metric)).collect();
            Some((metric, Spread::of(figures)?))
        };
        Line {
            load: load.name.clone(),
            level,
            system: system.to_owned(),
            spreads: Metric::ALL.into_iter().filter_map(spread).collect(),
            lost_rates: samples.iter().filter(|sample| sample.has_lost_rate()).count(),
        }
    }

    /// A cell of the table: the median.
    pub(crate) fn cell(&self, metric: Metric) -> String {
        let Some(spread) = self.spreads.get(&metric) else { return "–".to_owned() };
        let mark = if metric == Metric::Throughput && self.lost_rates > 0 { " (rate not kept)" } else { "" };
        format!("{}{mark}", metric.shown(spread.median))
    }
}

impl Advantage {
    /// Its ratio, what was published, and what it must be.
    pub(crate) fn cells(&self) -> [String; 3] {
        let ratio = match self.ratio {
            None => "–".to_owned(),
            Some(ratio) => {
                let doubt = match ratio.interval {
                    Interval::TooFewRounds => "too few rounds".to_owned(),
                    Interval::TooWide => "rounds differ too much".to_owned(),
                    Interval::Of(low, high) if ratio.is_significant() => format!("{} to {}", factor(low), factor(high)),
                    Interval::Of(low, high) => format!("{} to {}, may be chance", factor(low), factor(high)),
                };
                format!("{} ({doubt})", factor(ratio.mean))
            }
        };
        let published = self.published.map_or_else(String::new, |published| published.to_string());
        let at_least = self
            .at_least
            .map_or_else(String::new, |bound| format!("{bound}: {}", if self.holds() { "held" } else { "not held" }));
        [ratio, published, at_least]
    }
}

/// The runs of a system under a load whose figures count.
fn select<'a>(results: &'a Results, load: &Load, level: Option<f64>, system: &str) -> Vec<&'a Sample> {
    let wanted = |sample: &&Sample| {
        sample.load == load.name && sample.level == level && sample.system == system && sample.is_sound()
    };
    results.samples.iter().filter(wanted).collect()
}

fn advantages<'a>(
    load: &'a Load,
    level: Option<f64>,
    over: &'a str,
    subject: &'a [&Sample],
    other: &'a [&Sample],
) -> impl Iterator<Item = Advantage> + 'a {
    let is_told = move |metric: &Metric| {
        metric.is_of_server() || load.at_least.contains_key(metric) || load.published.contains_key(metric)
    };
    Metric::ALL.into_iter().filter(is_told).filter_map(move |metric| {
        let of_round = |round| other.iter().find(|sample| sample.round == round)?.metric(metric);
        let ratios: Vec<f64> = subject
            .iter()
            .filter_map(|sample| Some(metric.advantage(sample.metric(metric)?, of_round(sample.round)?)))
            .collect();
        let is_meant = load.over.is_empty() || load.over.iter().any(|name| name == over);
        let of_metric = |figures: &BTreeMap<Metric, f64>| figures.get(&metric).copied().filter(|_| is_meant);
        let (published, at_least) = (of_metric(&load.published), of_metric(&load.at_least));
        let ratio = Ratio::of(&ratios);
        (ratio.is_some() || at_least.is_some()).then(|| Advantage {
            load: load.name.clone(),
            level,
            over: over.to_owned(),
            metric,
            ratio,
            published,
            at_least,
        })
    })
}

/// A ratio in words: two decimals, or as many as tell it from none.
pub(crate) fn factor(ratio: f64) -> String {
    match ratio {
        0.1..1000.0 => format!("{ratio:.2}"),
        1000.0.. => grouped(ratio),
        _ => {
            let decimals = (1.0 - ratio.log10().floor()).clamp(2.0, 12.0);
            format!("{ratio:.*}", decimals as usize)
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use super::*;
    use crate::figures::Figures;
    use crate::file::Study;
    use crate::machine::Machine;

    /// A study of two systems in three rounds; of the second system's last the rate was lost, and one run failed.
    pub(crate) fn results() -> Results {
        let study = "
title: Two <systems>
about: 'One & another.'
subject: ours
repeats: 3
systems: [{name: ours, start: x}, {name: theirs, start: y}]
loads:
  - {name: write, run: '{measure}', published: {throughput: 5.83}, at_least: {throughput: 2, cpu: 100}}
  - {name: steady, run: '{level} {measure}', levels: [1000, 5000], level_name: asked for a second}
";
        let machine = Machine {
            processor: "P".into(),
            processors: 2,
            memory_bytes: 24 << 30,
            kernel: "6.1".into(),
            system: "Debian".into(),
            findings: Vec::new(),
        };
        let study = Study::parse(Path::new("s"), study).unwrap();
        let mut results = Results {
            version: "0".into(),
            study,
            machine,
            began: "then".into(),
            ended: "now".into(),
            samples: Vec::new(),
        };
        for round in 1..=3 {
            for (system, slow) in [("ours", 1.0), ("theirs", 4.0)] {
                for (load, level) in [("write", None), ("steady", Some(1000.0)), ("steady", Some(5000.0))] {
                    let noise = 1.0 + f64::from(round) * 0.01 * slow;
                    results.samples.push(sample(load, level, system, round, slow * noise));
                }
            }
        }
        let lost = results.samples.last_mut().unwrap();
        lost.error = Some("the rate was not kept".into());
        lost.figures.as_mut().unwrap().is_rate_kept = Some(false);
        let failed = &mut results.samples[0];
        (failed.error, failed.figures) = (Some("3 errors".into()), None);
        results
    }

    fn sample(load: &str, level: Option<f64>, system: &str, round: u32, slow: f64) -> Sample {
        let times = [("p50", 100.0), ("p95", 150.0), ("p99", 300.0), ("p99.9", 900.0)];
        let times = times.map(|(name, micros)| (name.to_owned(), micros * slow)).into();
        Sample {
            load: load.into(),
            level,
            system: system.into(),
            round,
            line: "stress".into(),
            figures: Some(Figures {
                per_second: 1000.0 / slow,
                server_cpu_micros: Some(slow),
                latency_micros: [("write".to_owned(), times)].into(),
                ..Figures::default()
            }),
            error: None,
            stderr: None,
            stdout: None,
            start_seconds: None,
            idle_bytes: None,
            resident_bytes: None,
        }
    }

    fn told(summary: &Summary) -> Vec<String> {
        summary.failures.iter().map(Failure::to_string).collect()
    }

    #[test]
    fn factors_are_told_from_none() {
        let told = [0.0000123, 0.0042, 0.1, 1.0, 12.345, 999.0, 24_327.7].map(factor);
        assert_eq!(told, ["0.000012", "0.0042", "0.10", "1.00", "12.35", "999.00", "24,328"]);
    }

    #[test]
    fn medians_and_advantages() {
        let summary = Summary::of(&results());
        assert_eq!(summary.lines.len(), 6);
        let throughput = summary.advantages.iter().find(|one| one.metric == Metric::Throughput).unwrap();
        assert_eq!((throughput.over.as_str(), throughput.published), ("theirs", Some(5.83)));
        let ratio = throughput.ratio.unwrap();
        assert!(ratio.mean > 4.0 && ratio.mean < 4.5, "{ratio:?}");
        // One of the three rounds failed, and two are too few.
        assert_eq!((ratio.interval, ratio.is_significant()), (Interval::TooFewRounds, false));
        assert!(throughput.cells()[0].ends_with(" (too few rounds)"), "{:?}", throughput.cells());
        let steady = summary.advantages.iter().find(|one| one.level == Some(1000.0)).and_then(|one| one.ratio).unwrap();
        assert!(steady.is_significant(), "{steady:?}");
        assert!(throughput.holds());
        let cpu = summary.advantages.iter().find(|one| one.metric == Metric::Cpu).unwrap();
        assert!(!cpu.holds() && !summary.holds(), "a hundred times were asked for");
        assert_eq!(told(&summary), ["round 1, ours, write: 3 errors"]);
        // A generator that was told not to mind is not believed, and a rate that was lost is no excuse.
        let mut results = results();
        let (first, last) = (1, results.samples.len() - 1);
        for at in [first, last] {
            results.samples[at].figures.as_mut().unwrap().errors = 7;
        }
        let failures = told(&Summary::of(&results));
        assert_eq!(failures[1], "round 1, ours, steady 1000: 7 operations failed");
        assert_eq!(failures[2], "round 3, theirs, steady 5000: the rate was not kept");
        let text = summary.text();
        assert!(text.contains("| steady 5000 | theirs | 231 (rate not kept) |"), "{text}");
        assert!(text.contains("100: not held") && text.contains("2: held"), "{text}");
    }

    #[test]
    fn bounds_are_over_the_systems_that_are_named() {
        let mut results = results();
        results.study.loads[0].over = vec!["ours".to_owned()];
        let summary = Summary::of(&results);
        assert!(summary.advantages.iter().all(|one| one.at_least.is_none() && one.published.is_none()));
        assert!(summary.advantages.iter().any(|one| one.over == "theirs" && one.ratio.is_some()), "they are told yet");
    }

    #[test]
    fn a_figure_that_nobody_has_does_not_hold() {
        let mut results = results();
        results.samples.retain(|sample| sample.system == "ours");
        let summary = Summary::of(&results);
        assert!(summary.advantages.iter().any(|one| one.ratio.is_none() && !one.holds()));
    }
}
