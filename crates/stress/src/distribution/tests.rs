//! What is drawn stays in its range and lies where the arithmetic says.

use proptest::prelude::*;

use super::*;

const DRAWS: u64 = 40_000;

fn parse(text: &str) -> Distribution {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The mean of many draws, all of which must be in the range.
fn mean(distribution: &Distribution, salt: u64) -> f64 {
    let (min, max) = distribution.range();
    let draws = (0..DRAWS).map(|seed| {
        let drawn = distribution.draw(mix(salt).wrapping_add(seed));
        assert!((min..=max).contains(&drawn), "{drawn} of {distribution}");
        drawn as f64
    });
    draws.sum::<f64>() / DRAWS as f64
}

/// The mean of what is made whole and kept in `0..=span`, by adding up its quantiles.
fn mean_of_quantiles(span: u64, quantile: impl Fn(f64) -> f64) -> f64 {
    let parts = 200_000;
    let values = (0..parts).map(|part| (quantile((f64::from(part) + 0.5) / f64::from(parts)) as u64).min(span) as f64);
    values.sum::<f64>() / f64::from(parts)
}

/// How far the mean of that many draws may be off: five standard errors of the widest distribution on such a range.
fn tolerance(span: u64) -> f64 {
    5.0 * (span as f64 / 2.0 + 1.0) / (DRAWS as f64).sqrt()
}

fn assert_mean(text: &str, expected: f64, salt: u64) {
    let distribution = parse(text);
    let (min, max) = distribution.range();
    let found = mean(&distribution, salt);
    assert!((found - expected).abs() <= tolerance(max - min), "{text}: {found} and not {expected}");
    // The mirror image, with the same randomness.
    let inverted = mean(&parse(&format!("~{text}")), salt);
    assert!(
        (found + inverted - (min + max) as f64).abs() < 1e-3 * (max as f64).max(1.0),
        "{text}: {found}, {inverted}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn draws_stay_in_range_and_have_the_right_mean(min in 0_u64..1_000_000, span in 0_u64..1_000_000, salt: u64) {
        let max = min + span;
        let middle = f64::midpoint(min as f64, max as f64);
        assert_mean(&format!("UNIFORM({min}..{max})"), middle, salt);
        assert_mean(&format!("SEQ({min}..{min})"), min as f64, salt);
        assert_mean(&format!("FIXED({max})"), max as f64, salt);
    }

    #[test]
    fn gaussian_draws_lie_around_their_mean(min in 0_u64..1_000_000, span in 1_000_u64..1_000_000, salt: u64) {
        let max = min + span;
        let middle = f64::midpoint(min as f64, max as f64);
        assert_mean(&format!("GAUSSIAN({min}..{max})"), middle, salt);
        assert_mean(&format!("GAUSSIAN({min}..{max},5)"), middle, salt);
        let (mean, deviation) = (min as f64 + span as f64 / 4.0, span as f64 / 40.0);
        assert_mean(&format!("GAUSSIAN({min}..{max},{mean},{deviation})"), mean, salt);
    }

    #[test]
    fn extreme_values_are_those_of_their_quantiles(min in 0_u64..1_000, span in 2_u64..1_000_000, shape in 0.5_f64..4.0, salt: u64) {
        let max = min + span;
        // 1 - F(span) is the square root of 1 / span.
        let edge = |shape: f64| (-(1.0 / (span as f64)).sqrt().ln()).powf(1.0 / shape);
        let quantile = |shape: f64| move |share: f64| span as f64 / edge(shape) * (-(1.0 - share).ln()).powf(1.0 / shape);
        let of = |shape: f64| min as f64 + mean_of_quantiles(span, quantile(shape));
        assert_mean(&format!("EXP({min}..{max})"), of(1.0), salt);
        assert_mean(&format!("EXTREME({min}..{max},{shape})"), of(shape), salt);
        // One part is uniform.
        assert_mean(&format!("QEXTREME({min}..{max},{shape},1)"), f64::midpoint(min as f64, max as f64), salt);
    }
}

#[test]
fn the_published_gaussian_lies_where_it_says() {
    let distribution = parse("gaussian(1..9000000,4500000,10000)");
    assert_eq!(distribution.range(), (1, 9_000_000));
    let draws: Vec<f64> = (0..DRAWS).map(|seed| distribution.draw(seed) as f64).collect();
    let mean = draws.iter().sum::<f64>() / DRAWS as f64;
    let deviation = (draws.iter().map(|drawn| (drawn - mean).powi(2)).sum::<f64>() / DRAWS as f64).sqrt();
    assert!((mean - 4_500_000.0).abs() < 250.0, "{mean}");
    assert!((deviation - 10_000.0).abs() < 250.0, "{deviation}");
}

#[test]
fn a_part_of_quantized_values_is_uniform() {
    let (quantized, plain) = (parse("qextreme(1..10000,2,4)"), parse("extreme(1..10000,2)"));
    let Shape::Quantized { bounds, .. } = &quantized.shape else { panic!("{quantized:?}") };
    assert_eq!((bounds.len(), bounds[0], bounds[4]), (5, 1, 10_001));
    for part in 0..4 {
        let within = |distribution: &Distribution| {
            let draws = (0..DRAWS).map(|seed| distribution.draw(seed));
            draws.filter(|drawn| (bounds[part]..bounds[part + 1]).contains(drawn)).count() as f64 / DRAWS as f64
        };
        // A quarter of the draws each, as of the distribution under it.
        assert!((within(&quantized) - 0.25).abs() < 0.02, "part {part}: {}", within(&quantized));
        assert!((within(&plain) - 0.25).abs() < 0.02, "part {part}: {}", within(&plain));
    }
}

#[test]
fn a_sequence_follows_its_seeds() {
    let distribution = parse("SEQ(5..7)");
    let drawn: Vec<u64> = (0..7).map(|seed| distribution.draw(seed)).collect();
    assert_eq!(drawn, [5, 6, 7, 5, 6, 7, 5]);
    assert!(distribution.is_sequence());
}

#[test]
fn units_aliases_and_spaces_are_read() {
    assert_eq!(parse("uniform(1..2K)").range(), (1, 2_000));
    assert_eq!(parse("UNIFORM(1...9M)").range(), (1, 9_000_000));
    assert_eq!(parse("fixed(1B)").range(), (1_000_000_000, 1_000_000_000));
    assert_eq!(parse("norm(1..9, 5, 2)"), parse("GAUSSIAN(1..9,5,2)"));
    assert_eq!(parse("extr(1..9,2)"), parse("Weibull(1..9,2)"));
    for text in
        ["EXP(1..10)", "~UNIFORM(3..4)", "GAUSSIAN(1..9,5,2)", "EXTREME(1..9,2)", "QEXTREME(1..90,2,3)", "SEQ(1..2)"]
    {
        assert_eq!(parse(text).to_string(), text);
    }
}

#[test]
fn what_is_none_is_refused_by_name() {
    for (text, told) in [
        ("zipf(1..10)", "zipf"),
        ("uniform", "UNIFORM(1..10)"),
        ("uniform()", "uniform()"),
        ("uniform(10..1)", "10..1"),
        ("uniform(1..x)", "1..x"),
        ("uniform(-1..5)", "-1..5"),
        ("uniform(1..5,2)", "min..max"),
        ("gaussian(1..5,0)", "deviation"),
        ("gaussian(1..5,2,inf)", "deviation"),
        ("extreme(1..5)", "shape"),
        ("qextreme(1..5,2,0)", "quantas"),
        ("fixed(99999999999999999999)", "a number"),
    ] {
        let error = text.parse::<Distribution>().expect_err(text).to_string();
        assert!(error.contains(told), "{text}: {error}");
    }
}
