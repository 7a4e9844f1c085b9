//! The page of results that were recorded: of `testdata/small.yaml` in `three-rounds.json`, and of a study of its first four loads in `two-rounds.json`, which
//! was written before the generator's standard error was kept. What they measured means nothing; they have what real results have.

use super::*;

const TWO_ROUNDS: &str = include_str!("../../testdata/two-rounds.json");
const THREE_ROUNDS: &str = include_str!("../../testdata/three-rounds.json");
const TYPO: &str = "error: unexpected argument '--rwos' found";

fn rendered(text: &str) -> (Summary, String) {
    let results: Results = serde_json::from_str(text).expect("is read");
    let summary = Summary::of(&results);
    let page = page(&results, &summary);
    (summary, page)
}

/// The part of a page from a text to the next place of another.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let (_, after) = page.split_once(from).unwrap_or_else(|| panic!("no {from}"));
    after.split_once(to).unwrap_or_else(|| panic!("no {to} after {from}")).0
}

#[test]
fn two_rounds_give_no_interval() {
    assert!(TWO_ROUNDS.contains("\"repeats\": 2") && !TWO_ROUNDS.contains("stderr"), "it is what it was");
    let (summary, page) = rendered(TWO_ROUNDS);
    let ratios: Vec<_> = summary.advantages.iter().filter_map(|one| one.ratio).collect();
    assert!(ratios.len() > 20 && ratios.iter().all(|ratio| ratio.interval.ends().is_none()), "{ratios:?}");
    assert!(page.contains("<td>throughput<td>2.37 (too few rounds)<td>2.13<td>0.01: held"));
    assert!(page.contains("fewer than three have no interval") && !page.contains("95&nbsp;%"));
    // The interval of p99 ended at 10,760,350 by the factor for two rounds.
    assert!(!page.contains("may be chance") && !summary.text().contains("10760350"));
    let ratios = between(&page, "throughput – times better", "</svg>");
    assert!(ratios.contains("path class=\"one\"") && !ratios.contains("class=\"span"), "{ratios}");
}

#[test]
fn three_rounds_give_intervals_that_stay_within_reason() {
    let (summary, page) = rendered(THREE_ROUNDS);
    let ends: Vec<(f64, f64)> = summary.advantages.iter().filter_map(|one| one.ratio?.interval.ends()).collect();
    assert!(ends.len() > 10, "{ends:?}");
    assert!(ends.iter().all(|(low, high)| high / low <= 1e6), "{ends:?}");
    assert!(page.contains("95&nbsp;%") && !page.contains("Too few rounds"));
    assert!(
        page.contains("<td>wild<td>batch-synced-before-the-answer<td>throughput<td>4.83 (rounds differ too much)"),
        "{page}"
    );
    assert!(page.contains("the interval would span more than six orders of magnitude."));
    // Each ratio's drawing has the line, and each whisker an end within the drawing or an arrow.
    for metric in ["throughput", "cpu"] {
        let drawing = between(&page, &format!("aria-label=\"{metric} – times better\""), "</svg>");
        assert_eq!(drawing.matches("path class=\"one\"").count(), 1, "{drawing}");
        let widths: Vec<f64> = drawing
            .split("<path class=\"span")
            .skip(1)
            .map(|path| between(path, "H", "M").parse().expect("a place"))
            .collect();
        assert!(!widths.is_empty() && widths.iter().all(|x| (12.0..=284.0).contains(x)), "{widths:?}");
    }
    let told: Vec<_> = summary.advantages.iter().filter(|one| one.metric == Metric::Throughput).collect();
    let greatest = told.iter().filter_map(|one| Some(one.ratio?.mean)).chain([2.13]).fold(1.0, f64::max);
    let leaving =
        told.iter().filter_map(|one| one.ratio?.interval.ends()).filter(|(_, high)| *high > greatest * 2.1).count();
    let drawing = between(&page, "aria-label=\"throughput – times better\"", "</svg>");
    assert!(leaving > 0, "the recorded results have one that leaves");
    assert_eq!(drawing.matches("class=\"span arrow\"").count(), leaving, "{drawing}");
}

#[test]
fn a_typo_shows_its_message() {
    for (text, rounds) in [(TWO_ROUNDS, "rounds 1 and 2"), (THREE_ROUNDS, "rounds 1 to 3")] {
        let (summary, page) = rendered(text);
        let [failure] = summary.failures.as_slice() else { panic!("{:?}", summary.failures) };
        let expected = format!("{rounds}, batch-synced-before-the-answer, misspelt: exit status: 1: {TYPO}");
        assert_eq!(failure.to_string(), expected);
        assert!(page.contains(&format!("<p class=\"missed\">Failed: {expected}</p>")));
        let printed = between(&page, "<pre>", "</pre>");
        assert!(printed.contains("tip: a similar argument exists: '--rows'"), "{printed}");
        assert!(printed.contains("&lt;ADDRESSES&gt;"), "{printed}");
        assert!(page.contains("--rwos 2000"), "the line too");
        let text = summary.text();
        assert!(
            text.contains(&format!("failed: {expected}\n    ")) && text.contains("    Usage: helenus stress"),
            "{text}"
        );
    }
    let kept: Results = serde_json::from_str(THREE_ROUNDS).expect("is read");
    let sample = kept.samples.iter().find(|sample| sample.error.is_some()).expect("one failed");
    assert!(sample.error.as_ref().is_some_and(|error| error.lines().count() == 1), "{sample:?}");
    assert!(sample.stderr.as_ref().is_some_and(|stderr| stderr.starts_with(TYPO)), "{sample:?}");
}

#[test]
fn a_page_of_real_results_is_whole() {
    for text in [TWO_ROUNDS, THREE_ROUNDS] {
        let (_, page) = rendered(text);
        for tag in ["svg", "figure", "table", "details", "div", "pre", "g"] {
            let opened = page.matches(&format!("<{tag} ")).count() + page.matches(&format!("<{tag}>")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert!(!page.contains("NaN") && !page.contains(">inf"));
        // Of each load a drawing for each figure; the one of levels has lines, and the driver's has its time.
        assert!(page.matches("<polyline").count() >= 2 * 6 + 2, "{}", page.matches("<polyline").count());
        assert!(page.contains("operations/s over the last round"));
        // Names that are longer than the drawing's old margin stand whole above their bars.
        let bars = between(&page, "<h2>write</h2>", "</svg>");
        assert!(bars.contains("<text x=\"12\" y=\"53\">batch-synced-before-the-answer</text>"), "{bars}");
    }
}
