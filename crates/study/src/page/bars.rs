//! Bars, one below another: a figure of each system, or ratios.

use std::fmt::Write;

use super::scale::{Scale, short};
use super::{escaped, series_of};
use crate::figures::Metric;
use crate::results::Results;
use crate::summary::Line;

/// The drawing's own units.
const WIDTH: f64 = 560.0;
const LEFT: f64 = 170.0;
const RIGHT: f64 = 80.0;
const ROW: f64 = 28.0;
const BAR: f64 = 16.0;
const AXIS: f64 = 22.0;

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bar {
    pub(crate) name: String,
    /// Whose colour it has.
    pub(crate) series: usize,
    pub(crate) value: f64,
    /// The whisker.
    pub(crate) span: Option<(f64, f64)>,
    /// The diamond.
    pub(crate) mark: Option<f64>,
    /// The value as it is written behind the bar.
    pub(crate) shown: String,
}

/// A load's figure of each system, with the least and the greatest of its rounds.
pub(crate) fn of_systems(results: &Results, metric: Metric, lines: &[&Line]) -> String {
    let unit = metric.shown_unit();
    let bars: Vec<Bar> = lines
        .iter()
        .filter_map(|line| {
            let spread = line.spreads.get(&metric)?;
            Some(Bar {
                name: line.system.clone(),
                series: series_of(results, &line.system),
                value: spread.median / unit,
                span: (spread.least < spread.most).then_some((spread.least / unit, spread.most / unit)),
                mark: None,
                shown: metric.shown(spread.median),
            })
        })
        .collect();
    drawing(metric.head(), &bars)
}

/// The drawing; nothing of no bars.
pub(crate) fn drawing(caption: &str, bars: &[Bar]) -> String {
    let mut out = String::new();
    if !bars.is_empty() {
        // Writing to a String cannot fail.
        let _ = write_drawing(caption, bars, &mut out);
    }
    out
}

fn write_drawing(caption: &str, bars: &[Bar], out: &mut String) -> std::fmt::Result {
    let figures = bars.iter().flat_map(|bar| [Some(bar.value), bar.mark, bar.span.map(|(_, high)| high)]);
    // A whisker of two rounds may go to the moon; the bars are what is to be seen.
    let greatest = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let greatest = figures.flatten().fold(0.0, f64::max).min(greatest * 2.0);
    let scale = Scale::from_zero(greatest, LEFT, WIDTH - RIGHT);
    let height = AXIS + ROW * bars.len() as f64;
    let caption = escaped(caption);
    writeln!(
        out,
        "<figure><figcaption>{caption}</figcaption><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{caption}\">"
    )?;
    for label in scale.labels() {
        let (x, bottom) = (scale.at(label), height - AXIS);
        writeln!(out, "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{bottom}\"/>")?;
        let y = height - 6.0;
        writeln!(out, "<text class=\"faint\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", short(label))?;
    }
    for (at, bar) in bars.iter().enumerate() {
        write_bar(bar, &scale, ROW * at as f64 + ROW / 2.0, out)?;
    }
    writeln!(out, "</svg></figure>")
}

fn write_bar(bar: &Bar, scale: &Scale, y: f64, out: &mut String) -> std::fmt::Result {
    let (name, end) = (escaped(&bar.name), scale.at(bar.value));
    writeln!(out, "<g class=\"series-{}\"><title>{name}: {}</title>", bar.series % 6, escaped(&bar.shown))?;
    writeln!(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>", LEFT - 8.0, y + 4.0)?;
    let (top, width) = (y - BAR / 2.0, (end - LEFT).max(1.0));
    writeln!(out, "<rect class=\"bar\" x=\"{LEFT}\" y=\"{top}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"2\"/>")?;
    let mut right = end;
    if let Some((low, high)) = bar.span {
        let (low, high) = (scale.at(low), scale.at(high));
        writeln!(
            out,
            "<path class=\"span\" d=\"M{low:.1} {y}H{high:.1}M{low:.1} {a}V{b}M{high:.1} {a}V{b}\"/>",
            a = y - 4.0,
            b = y + 4.0
        )?;
        right = right.max(high);
    }
    if let Some(mark) = bar.mark {
        let x = scale.at(mark);
        writeln!(out, "<path class=\"mark\" d=\"M{x:.1} {}l5 6l-5 6l-5 -6z\"/>", y - 6.0)?;
        right = right.max(x + 5.0);
    }
    writeln!(out, "<text x=\"{:.1}\" y=\"{}\">{}</text></g>", right + 6.0, y + 4.0, escaped(&bar.shown))
}
