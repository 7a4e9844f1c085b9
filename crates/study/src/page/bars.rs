//! Bars, one below another, each under its name: a figure of each system, or ratios.

use std::fmt::Write;

use super::markup::{cut, escaped, series_of};
use super::scale::{Scale, short};

use crate::figures::Metric;
use crate::results::Results;
use crate::summary::Line;

/// The drawing's own units: about a phone's, so that letters are as large there as elsewhere.
const WIDTH: f64 = 360.0;
const LEFT: f64 = 12.0;
/// Room for a value beside the longest bar.
const RIGHT: f64 = 76.0;
const ROW: f64 = 40.0;
/// From the top of a row: where its name stands, and the middle of its bar.
const NAME: f64 = 13.0;
const MIDDLE: f64 = 27.0;
const BAR: f64 = 14.0;
const AXIS: f64 = 22.0;
/// Labels that are nearer to the line's are left out.
const LABEL_ROOM: f64 = 16.0;
/// The letters of a name that there is room for.
const NAME_LETTERS_MAX: usize = 50;

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
    /// The value as it is written beside the bar.
    pub(crate) shown: String,
    /// All of it in words, for who points at the bar.
    pub(crate) told: String,
}

/// A load's figure of each system, with the least and the greatest of its rounds.
pub(crate) fn of_systems(results: &Results, metric: Metric, lines: &[&Line]) -> String {
    let unit = metric.shown_unit();
    let bars: Vec<Bar> = lines
        .iter()
        .filter_map(|line| {
            let spread = line.spreads.get(&metric)?;
            let [least, median, most] = [spread.least, spread.median, spread.most].map(|figure| metric.shown(figure));
            let has_span = spread.least < spread.most;
            Some(Bar {
                name: line.system.clone(),
                series: series_of(results, &line.system),
                value: spread.median / unit,
                span: has_span.then_some((spread.least / unit, spread.most / unit)),
                mark: None,
                told: if has_span { format!("{median} ({least} to {most})") } else { median.clone() },
                shown: median,
            })
        })
        .collect();
    drawing(metric.head(), &bars, None)
}

/// The drawing, with a line at one figure if bars are to be seen against it; nothing of no bars.
pub(crate) fn drawing(caption: &str, bars: &[Bar], line: Option<f64>) -> String {
    let mut out = String::new();
    if !bars.is_empty() {
        // Writing to a String cannot fail.
        let _ = write_drawing(caption, bars, line, &mut out);
    }
    out
}

/// Bars, diamonds and the line are what is to be seen; a whisker may make the drawing no more than twice as wide.
fn scale(bars: &[Bar], line: Option<f64>) -> Scale {
    let greatest = |figures: &mut dyn Iterator<Item = f64>| figures.fold(0.0, f64::max);
    let seen = greatest(&mut bars.iter().flat_map(|bar| [Some(bar.value), bar.mark]).flatten().chain(line));
    let spans = greatest(&mut bars.iter().filter_map(|bar| bar.span).map(|(_, high)| high));
    Scale::from_zero(spans.clamp(seen, seen * 2.0), LEFT, WIDTH - RIGHT)
}

fn write_drawing(caption: &str, bars: &[Bar], line: Option<f64>, out: &mut String) -> std::fmt::Result {
    let scale = scale(bars, line);
    let height = AXIS + ROW * bars.len() as f64;
    let caption = escaped(caption);
    writeln!(
        out,
        "<figure><figcaption>{caption}</figcaption><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{caption}\">"
    )?;
    let place = line.map(|line| scale.at(line));
    let bottom = height - AXIS;
    for label in scale.labels() {
        let x = scale.at(label);
        writeln!(out, "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{bottom}\"/>")?;
        if place.is_none_or(|place| (place - x).abs() >= LABEL_ROOM) {
            write_label(&short(label), "faint", x, height, out)?;
        }
    }
    for (at, bar) in bars.iter().enumerate() {
        write_bar(bar, &scale, ROW * at as f64, out)?;
    }
    if let Some((line, x)) = line.zip(place) {
        // On top of the bars, or it would be seen only beside them; not through their names.
        let piece = |at: usize| format!("M{x:.1} {}V{}", ROW * at as f64 + NAME + 4.0, ROW * (at + 1) as f64 - 2.0);
        let pieces: String = (0..bars.len()).map(piece).collect();
        writeln!(out, "<path class=\"one\" d=\"{pieces}\"/>")?;
        write_label(&short(line), "one", x, height, out)?;
    }
    writeln!(out, "</svg></figure>")
}

fn write_label(text: &str, class: &str, x: f64, height: f64, out: &mut String) -> std::fmt::Result {
    let y = height - 6.0;
    writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>")
}

fn write_bar(bar: &Bar, scale: &Scale, top: f64, out: &mut String) -> std::fmt::Result {
    let (name, end, y) = (escaped(&cut(&bar.name, NAME_LETTERS_MAX)), scale.at(bar.value), top + MIDDLE);
    let told = escaped(&format!("{}: {}", bar.name, bar.told));
    writeln!(out, "<g class=\"series-{}\"><title>{told}</title>", bar.series % 6)?;
    writeln!(out, "<text x=\"{LEFT}\" y=\"{}\">{name}</text>", top + NAME)?;
    let (bar_top, width) = (y - BAR / 2.0, (end - LEFT).max(1.0));
    writeln!(out, "<rect class=\"bar\" x=\"{LEFT}\" y=\"{bar_top}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"2\"/>")?;
    let mut right = end;
    if let Some((low, high)) = bar.span {
        write_whisker(scale, (low, high), y, out)?;
        right = right.max(scale.at(high));
    }
    if let Some(mark) = bar.mark {
        let x = scale.at(mark);
        writeln!(out, "<path class=\"mark\" d=\"M{x:.1} {}l5 6l-5 6l-5 -6z\"/>", y - 6.0)?;
        right = right.max(x + 5.0);
    }
    writeln!(out, "<text x=\"{:.1}\" y=\"{}\">{}</text></g>", right + 6.0, y + 4.0, escaped(&bar.shown))
}

/// A whisker has a stroke at each end; an end that is outside of the drawing has an arrow that points there.
fn write_whisker(scale: &Scale, (low, high): (f64, f64), y: f64, out: &mut String) -> std::fmt::Result {
    let (from, to) = (scale.at(low), scale.at(high));
    let (above, below) = (y - 4.0, y + 4.0);
    let end = |figure: f64, x: f64, back: f64| match scale.holds(figure) {
        true => format!("M{x:.1} {above}V{below}"),
        false => format!("M{:.1} {above}L{x:.1} {y}L{:.1} {below}", x + back, x + back),
    };
    let (left, right) = (end(low, from, 6.0), end(high, to, -6.0));
    let class = if scale.holds(low) && scale.holds(high) { "span" } else { "span arrow" };
    writeln!(out, "<path class=\"{class}\" d=\"M{from:.1} {y}H{to:.1}{left}{right}\"/>")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(value: f64, span: Option<(f64, f64)>, mark: Option<f64>) -> Bar {
        Bar { name: "a".into(), series: 0, value, span, mark, shown: format!("{value}×"), told: "all".into() }
    }

    /// The path of the only whisker.
    fn whisker(text: &str) -> &str {
        let (_, from) = text.split_once("<path class=\"span").expect("there is one");
        from.split("/>").next().unwrap()
    }

    #[test]
    fn a_whisker_that_leaves_the_drawing_ends_in_an_arrow() {
        let inside = drawing("c", &[bar(2.0, Some((1.5, 3.0)), None)], None);
        assert!(!inside.contains("arrow") && whisker(&inside).matches('V').count() == 2, "{inside}");
        let outside = drawing("c", &[bar(2.0, Some((0.001, 24_000.0)), None)], None);
        let path = whisker(&outside);
        // A stroke at the left end alone; at the right one the head of an arrow, at the drawing's edge.
        assert!(
            path.starts_with(" arrow\"") && path.matches('V').count() == 1 && path.matches('L').count() == 2,
            "{path}"
        );
        assert!(path.contains("L284.0 27L278.0 31"), "{path}");
        assert!(outside.contains("2×"), "the value is told yet: {outside}");
    }

    #[test]
    fn diamonds_and_the_line_are_within_the_drawing() {
        // Both far above the bar: its own value alone would have put them at the edge.
        let text = drawing("c", &[bar(0.01, None, Some(0.5))], Some(1.0));
        let scale = scale(&[bar(0.01, None, Some(0.5))], Some(1.0));
        assert!(scale.at(0.5) < 150.0 && scale.holds(1.0) && scale.at(1.0) < WIDTH - RIGHT, "{scale:?}");
        let x = scale.at(1.0);
        assert!(text.contains(&format!("<path class=\"one\" d=\"M{x:.1} 17V38\"/>")), "{text}");
        assert_eq!(text.matches(">1</text>").count(), 1, "{text}");
        let far = drawing("c", &[bar(50.0, None, None)], Some(1.0));
        assert!(far.contains(">1</text>") && !far.contains(">0</text>"), "1 is told, not 0 beside it: {far}");
        assert!(!drawing("c", &[bar(2.0, None, None)], None).contains("class=\"one\""));
    }

    #[test]
    fn a_long_name_is_cut_and_told() {
        let long = "x".repeat(300);
        let text = drawing("c", &[Bar { name: long.clone(), ..bar(1.0, None, None) }], None);
        assert!(text.contains(&format!("<title>{long}: all</title>")) && text.contains("x…</text>"), "{text}");
        assert!(!text.contains(&format!("{}</text>", "x".repeat(NAME_LETTERS_MAX))), "{text}");
    }
}
