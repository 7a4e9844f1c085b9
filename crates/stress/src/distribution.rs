//! How numbers are drawn from a range: cassandra-stress's distributions, in its words.
//!
//! A draw is a pure function of a seed, so that what was drawn for a row can be drawn again when it is read. The shapes are those that
//! Cassandra 5.0's `OptionDistribution` documents; the random numbers under them are our own.

use std::fmt;
use std::str::FromStr;

use crate::random::{fraction, mix, next_random};

/// A way to draw whole numbers from `min` to `max`, both included.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Distribution {
    min: u64,
    max: u64,
    shape: Shape,
    /// `~`: the least number as often as else the greatest would be.
    inverted: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Fixed,
    Sequence,
    Uniform,
    Gaussian {
        mean: f64,
        deviation: f64,
    },
    /// Weibull, counted from the least number; with a shape of 1 it is the exponential one.
    Weibull {
        shape: f64,
        scale: f64,
    },
    /// The same, within so many parts uniform: the first number of each part, and the one behind the last.
    Quantized {
        shape: f64,
        scale: f64,
        bounds: Vec<u64>,
    },
}

/// Why a text is no distribution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DistributionError {
    #[error("`{text}` is not a distribution, for example UNIFORM(1..10), GAUSSIAN(1..10,5,2) or ~EXP(1..10)")]
    Form { text: String },
    #[error("unknown distribution `{name}`: use EXP, EXTREME, QEXTREME, GAUSSIAN, UNIFORM, FIXED or SEQ")]
    Name { name: String },
    #[error("`{text}` is not an ascending range of whole numbers")]
    Range { text: String },
    #[error("`{text}` is not a distribution with a divisor, for example UNIFORM(1..5)/10")]
    Ratio { text: String },
    #[error("`{text}` is not valid for {name}: use {form}")]
    Parameters { name: &'static str, text: String, form: &'static str },
}

impl Distribution {
    /// The numbers that can be drawn, least and greatest.
    pub(crate) fn range(&self) -> (u64, u64) {
        (self.min, self.max)
    }

    /// Whether consecutive seeds draw consecutive numbers.
    pub(crate) fn is_sequence(&self) -> bool {
        self.shape == Shape::Sequence
    }

    /// The number that this seed draws.
    #[inline]
    pub(crate) fn draw(&self, seed: u64) -> u64 {
        let span = self.max - self.min;
        let offset = match &self.shape {
            Shape::Fixed => 0,
            Shape::Sequence => seed % (span + 1),
            Shape::Uniform => (fraction(mix(seed)) * (span as f64 + 1.0)) as u64,
            Shape::Gaussian { mean, deviation } => {
                // What lies below the least number becomes 0 when it is made whole.
                (mean + deviation * normal(seed) - self.min as f64) as u64
            }
            Shape::Weibull { shape, scale } => weibull(*shape, *scale, fraction(mix(seed))) as u64,
            Shape::Quantized { shape, scale, bounds } => {
                let drawn = self.min + (weibull(*shape, *scale, fraction(mix(seed))) as u64).min(span);
                let part = bounds.partition_point(|bound| *bound <= drawn).clamp(1, bounds.len() - 1) - 1;
                let (first, behind) = (bounds[part], bounds[part + 1]);
                let within = fraction(mix(seed ^ 0x5851_f42d_4c95_7f2d));
                first - self.min + (within * (behind - first) as f64) as u64
            }
        };
        let offset = offset.min(span);
        if self.inverted { self.max - offset } else { self.min + offset }
    }
}

/// A number of the standard normal distribution (Box and Muller).
fn normal(seed: u64) -> f64 {
    let mut state = seed;
    // From 0, excluded, to 1.
    let (first, second) = (1.0 - fraction(next_random(&mut state)), fraction(next_random(&mut state)));
    (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).cos()
}

/// Below which number of that Weibull distribution this share of numbers lies.
fn weibull(shape: f64, scale: f64, share: f64) -> f64 {
    scale * (-(-share).ln_1p()).powf(1.0 / shape)
}

/// The scale at which the greatest number is rare, and yet met: its probability is about the square root of one number's fair share.
fn scale(span: u64, shape: f64) -> f64 {
    if span == 0 {
        return 0.0;
    }
    span as f64 / weibull(shape, 1.0, 1.0 - (1.0 / span as f64).sqrt())
}

impl FromStr for Distribution {
    type Err = DistributionError;

    fn from_str(text: &str) -> Result<Distribution, DistributionError> {
        let form = || DistributionError::Form { text: text.to_owned() };
        let (inverted, rest) = text.strip_prefix('~').map_or((false, text), |rest| (true, rest));
        let (name, parameters) = rest.split_once('(').ok_or_else(form)?;
        let parameters: Vec<&str> = parameters.strip_suffix(')').ok_or_else(form)?.split(',').map(str::trim).collect();
        if name.is_empty() || parameters[0].is_empty() {
            return Err(form());
        }
        let distribution = match name.to_ascii_lowercase().as_str() {
            "fixed" => fixed(&parameters),
            "uniform" => simple("UNIFORM", Shape::Uniform, &parameters),
            "seq" => simple("SEQ", Shape::Sequence, &parameters),
            "exp" => exponential(&parameters),
            "extr" | "extreme" | "weibull" => extreme(&parameters),
            "qextr" | "qextreme" => quantized(&parameters),
            "gaussian" | "gauss" | "normal" | "norm" => gaussian(&parameters),
            _ => Err(DistributionError::Name { name: name.to_owned() }),
        }?;
        Ok(Distribution { inverted, ..distribution })
    }
}

fn wrong<T>(name: &'static str, parameters: &[&str], form: &'static str) -> Result<T, DistributionError> {
    Err(DistributionError::Parameters { name, text: parameters.join(","), form })
}

fn of(range: (u64, u64), shape: Shape) -> Distribution {
    Distribution { min: range.0, max: range.1, shape, inverted: false }
}

fn fixed(parameters: &[&str]) -> Result<Distribution, DistributionError> {
    match parameters {
        [value] if let Some(value) = parse_count(value) => Ok(of((value, value), Shape::Fixed)),
        _ => wrong("FIXED", parameters, "a number"),
    }
}

fn simple(name: &'static str, shape: Shape, parameters: &[&str]) -> Result<Distribution, DistributionError> {
    match parameters {
        [range] => Ok(of(parse_range(range)?, shape)),
        _ => wrong(name, parameters, "min..max"),
    }
}

fn exponential(parameters: &[&str]) -> Result<Distribution, DistributionError> {
    match parameters {
        [range] => {
            let range = parse_range(range)?;
            Ok(of(range, Shape::Weibull { shape: 1.0, scale: scale(range.1 - range.0, 1.0) }))
        }
        _ => wrong("EXP", parameters, "min..max"),
    }
}

fn extreme(parameters: &[&str]) -> Result<Distribution, DistributionError> {
    match parameters {
        [range, shape] if let Some(shape) = parse_positive(shape) => {
            let range = parse_range(range)?;
            Ok(of(range, Shape::Weibull { shape, scale: scale(range.1 - range.0, shape) }))
        }
        _ => wrong("EXTREME", parameters, "min..max,shape"),
    }
}

fn quantized(parameters: &[&str]) -> Result<Distribution, DistributionError> {
    match parameters {
        [range, shape, quantas]
            if let (Some(shape), Some(quantas @ 1..=1_000_000)) = (parse_positive(shape), parse_count(quantas)) =>
        {
            let (min, max) = parse_range(range)?;
            let scale = scale(max - min, shape);
            let cut = |part: u64| {
                let offset = weibull(shape, scale, part as f64 / quantas as f64) as u64;
                min + offset.min(max - min)
            };
            let bounds = std::iter::once(min).chain((1..quantas).map(cut)).chain([max + 1]).collect();
            Ok(of((min, max), Shape::Quantized { shape, scale, bounds }))
        }
        _ => wrong("QEXTREME", parameters, "min..max,shape,quantas"),
    }
}

fn gaussian(parameters: &[&str]) -> Result<Distribution, DistributionError> {
    const FORM: &str = "min..max, min..max,deviations or min..max,mean,deviation";
    let range @ (min, max) = parse_range(parameters[0])?;
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    // How many standard deviations lie between the mean and an edge.
    let between = |deviations: f64| {
        let (min, max) = (min as f64, max as f64);
        Shape::Gaussian { mean: f64::midpoint(min, max), deviation: (max - min) / 2.0 / deviations }
    };
    match parameters[1..] {
        [] => Ok(of(range, between(3.0))),
        [deviations] if let Some(deviations) = parse_positive(deviations) => Ok(of(range, between(deviations))),
        [mean, deviation] if let (Some(mean), Some(deviation)) = (number(mean), parse_positive(deviation)) => {
            Ok(of(range, Shape::Gaussian { mean, deviation }))
        }
        _ => wrong("GAUSSIAN", parameters, FORM),
    }
}

fn parse_positive(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
}

/// `1..10`, `1..10M`; more points are as good as two.
pub(crate) fn parse_range(text: &str) -> Result<(u64, u64), DistributionError> {
    let wrong = || DistributionError::Range { text: text.to_owned() };
    let (min, max) = text.split_once("..").ok_or_else(wrong)?;
    match (parse_count(min), parse_count(max.trim_start_matches('.'))) {
        // Up to what a bigint holds.
        (Some(min), Some(max)) if min <= max && max < i64::MAX as u64 => Ok((min, max)),
        _ => Err(wrong()),
    }
}

/// A whole number, with K for thousands, M for millions and B for billions.
pub(crate) fn parse_count(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, unit) = match text.as_bytes().last()?.to_ascii_lowercase() {
        b'k' => (&text[..text.len() - 1], 1_000),
        b'm' => (&text[..text.len() - 1], 1_000_000),
        b'b' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| is_plain)?.checked_mul(unit)
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (min, max) = (self.min, self.max);
        if self.inverted {
            f.write_str("~")?;
        }
        match &self.shape {
            Shape::Fixed => write!(f, "FIXED({min})"),
            Shape::Sequence => write!(f, "SEQ({min}..{max})"),
            Shape::Uniform => write!(f, "UNIFORM({min}..{max})"),
            Shape::Gaussian { mean, deviation } => write!(f, "GAUSSIAN({min}..{max},{mean},{deviation})"),
            Shape::Weibull { shape: 1.0, .. } => write!(f, "EXP({min}..{max})"),
            Shape::Weibull { shape, .. } => write!(f, "EXTREME({min}..{max},{shape})"),
            Shape::Quantized { shape, bounds, .. } => write!(f, "QEXTREME({min}..{max},{shape},{})", bounds.len() - 1),
        }
    }
}

#[cfg(test)]
mod tests;
