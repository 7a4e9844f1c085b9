//! Lines: a figure over the levels of a load, and a run over its time.

use std::fmt::Write;

use super::markup::{cut, escaped, series_of};
use super::scale::{Scale, short};

use crate::figures::Metric;
use crate::file::Load;
use crate::results::Results;
use crate::summary::Line;

/// The drawing's own units: about a phone's, so that letters are as large there as elsewhere.
const WIDTH: f64 = 360.0;
const LEFT: f64 = 48.0;
const RIGHT: f64 = 16.0;
/// From the least to the greatest figure.
const TALL: f64 = 170.0;
const BOTTOM: f64 = 42.0;
/// The names of the lines stand in rows above them.
const NAME_ROW: f64 = 18.0;
const NAMES_LEFT: f64 = 2.0;
/// A letter, somewhat more than it is wide on average; and what a name has around it.
const LETTER: f64 = 6.6;
const NAME_ROOM: f64 = 28.0;
const NAME_LETTERS_MAX: usize = 48;

/// A system's line.
struct Curve {
    name: String,
    series: usize,
    points: Vec<(f64, f64)>,
}

/// What the axes say.
struct Axes<'a> {
    caption: &'a str,
    across: &'a str,
    is_logarithmic: bool,
}

/// A figure of each system over the levels. Latencies span decades, so their axis is logarithmic.
pub(crate) fn over_levels(results: &Results, load: &Load, metric: Metric, lines: &[&Line]) -> String {
    let curve = |system: &String| {
        let own = lines.iter().filter(|line| line.system == *system);
        let point = |line: &&&Line| Some((line.level?, line.spreads.get(&metric)?.median / metric.shown_unit()));
        Curve {
            name: system.clone(),
            series: series_of(results, system),
            points: own.filter_map(|line| point(&line)).collect(),
        }
    };
    let curves = results.study.systems.iter().map(|system| curve(&system.name)).collect();
    let is_logarithmic = matches!(metric, Metric::P50 | Metric::P99 | Metric::P999);
    drawing(&Axes { caption: metric.head(), across: &load.level_name, is_logarithmic }, curves)
}

/// The rate of each system's last round at the last level, over its time.
pub(crate) fn over_time(results: &Results, load: &Load) -> String {
    let curve = |system: &String| {
        let sample =
            results.samples.iter().rev().find(|sample| sample.load == load.name && sample.system == *system)?;
        let series = &sample.figures.as_ref()?.series;
        let points: Vec<_> = series.iter().map(|stretch| (stretch.seconds, stretch.per_second)).collect();
        (points.len() > 1).then(|| Curve { name: system.clone(), series: series_of(results, system), points })
    };
    let curves = results.study.systems.iter().filter_map(|system| curve(&system.name)).collect();
    let caption = "operations/s over the last round";
    drawing(&Axes { caption, across: "seconds", is_logarithmic: false }, curves)
}

/// The drawing; nothing of no points.
fn drawing(axes: &Axes<'_>, mut curves: Vec<Curve>) -> String {
    curves.retain(|curve| !curve.points.is_empty());
    for curve in &mut curves {
        curve.points.sort_by(|one, other| one.0.total_cmp(&other.0));
        if axes.is_logarithmic {
            curve.points.retain(|(_, y)| *y > 0.0);
        }
    }
    let mut out = String::new();
    if curves.iter().any(|curve| !curve.points.is_empty()) {
        // Writing to a String cannot fail.
        let _ = write_drawing(axes, &curves, &mut out);
    }
    out
}

fn span(figures: impl Iterator<Item = f64>) -> (f64, f64) {
    figures.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(one), high.max(one)))
}

fn write_drawing(axes: &Axes<'_>, curves: &[Curve], out: &mut String) -> std::fmt::Result {
    let points = || curves.iter().flat_map(|curve| curve.points.iter());
    let (left, right) = span(points().map(|point| point.0));
    let (least, greatest) = span(points().map(|point| point.1));
    let names = name_places(curves);
    let top = NAME_ROW * (names.last().map_or(0, |(row, _)| *row) + 1) as f64 + 8.0;
    let bottom = top + TALL;
    let across = Scale::even(left, right, LEFT, WIDTH - RIGHT);
    let up = match axes.is_logarithmic {
        true => Scale::logarithmic(least, greatest, bottom, top),
        false => Scale::from_zero(greatest, bottom, top),
    };
    let (caption, height) = (escaped(axes.caption), bottom + BOTTOM);
    writeln!(
        out,
        "<figure><figcaption>{caption}</figcaption><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{caption}\">"
    )?;
    write_axes(&across, &up, axes.across, bottom, out)?;
    for (curve, (row, x)) in std::iter::zip(curves, names) {
        write_curve(curve, (x, NAME_ROW * row as f64), &across, &up, out)?;
    }
    writeln!(out, "</svg></figure>")
}

/// Row and place of each name: beside the one before, or in the next row where it would leave the drawing.
fn name_places(curves: &[Curve]) -> Vec<(usize, f64)> {
    let (mut row, mut x) = (0, NAMES_LEFT);
    let mut places = Vec::with_capacity(curves.len());
    for curve in curves {
        let width = LETTER * curve.name.chars().count().min(NAME_LETTERS_MAX) as f64 + NAME_ROOM;
        if x > NAMES_LEFT && x + width > WIDTH {
            (row, x) = (row + 1, NAMES_LEFT);
        }
        places.push((row, x));
        x += width;
    }
    places
}

fn write_axes(across: &Scale, up: &Scale, name: &str, bottom: f64, out: &mut String) -> std::fmt::Result {
    for label in up.labels() {
        let y = up.at(label);
        writeln!(out, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>", WIDTH - RIGHT)?;
        writeln!(
            out,
            "<text class=\"faint\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            short(label)
        )?;
    }
    for label in across.labels() {
        let (x, y) = (across.at(label), bottom + 16.0);
        writeln!(out, "<text class=\"faint\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", short(label))?;
    }
    let (x, y) = ((LEFT + WIDTH - RIGHT) / 2.0, bottom + BOTTOM - 8.0);
    let name = escaped(&cut(name, NAME_LETTERS_MAX));
    writeln!(out, "<text class=\"faint\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{name}</text>")
}

/// A line, its points, and its name above the drawing.
fn write_curve(
    curve: &Curve,
    (left, top): (f64, f64),
    across: &Scale,
    up: &Scale,
    out: &mut String,
) -> std::fmt::Result {
    let name = escaped(&curve.name);
    writeln!(out, "<g class=\"series-{}\"><title>{name}</title>", curve.series % 6)?;
    let places: Vec<(f64, f64)> = curve.points.iter().map(|(x, y)| (across.at(*x), up.at(*y))).collect();
    let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    writeln!(out, "<polyline points=\"{}\"/>", path.join(" "))?;
    for ((x, y), (level, figure)) in std::iter::zip(&places, &curve.points) {
        let told = format!("{name}: {} at {}", short(*figure), short(*level));
        writeln!(out, "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>{told}</title></circle>")?;
    }
    let shown = escaped(&cut(&curve.name, NAME_LETTERS_MAX));
    writeln!(
        out,
        "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{}\" r=\"5\"/><text x=\"{:.1}\" y=\"{}\">{shown}</text></g>",
        left + 5.0,
        top + 10.0,
        left + 14.0,
        top + 14.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_the_drawing() {
        let curve = |name: &str| Curve { name: name.into(), series: 0, points: vec![(1.0, 1.0), (2.0, 3.0)] };
        let curves = ["first", "second", &"x".repeat(40), &"y".repeat(200), "z"].map(curve);
        let places = name_places(&curves);
        assert_eq!(places.iter().map(|(row, _)| *row).collect::<Vec<_>>(), [0, 0, 1, 2, 3]);
        let axes = Axes { caption: "c", across: "a", is_logarithmic: false };
        let text = drawing(&axes, curves.into());
        assert!(text.contains("y…</text>") && text.contains("viewBox=\"0 0 360 292\""), "{text}");
    }
}
