//! Speculative retry policies: the values of `speculative_retry` and `additional_write_policy`.
//!
//! `NEVER` (or `NONE`), `ALWAYS`, a percentile (`99p`, `99.0PERCENTILE`), a time (`50ms`), or `MIN` / `MAX` of a percentile
//! and a time. (Source: Cassandra's documentation of the table option, and its answers.)

use std::time::Duration;

use crate::error::SchemaError;

/// The option's name in messages, also for the other option: Cassandra's words.
const OPTION: &str = "speculative_retry";

/// A policy: when another replica is asked in addition to one that has not answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SpeculativeRetry {
    /// Not for its silence.
    Never,
    /// At once.
    Always,
    /// After this percentile of what reads take.
    Percentile(f64),
    /// After this time.
    Fixed(Duration),
    /// After the shorter of the two.
    Min(f64, Duration),
    /// After the longer of the two.
    Max(f64, Duration),
}

impl SpeculativeRetry {
    /// The policy that an option's text means; [`SpeculativeRetry::Never`] for a text that means none, which no table has.
    pub fn of(text: &str) -> SpeculativeRetry {
        let folded = text.to_ascii_lowercase();
        let single = |text: &str| single(text, text.trim()).ok().flatten();
        let hybrid = |prefix: &str| {
            let (first, second) = folded.strip_prefix(prefix)?.strip_suffix(')')?.split_once(',')?;
            match (single(first)?, single(second)?) {
                (Single::Percentile(percentile), Single::Fixed(millis))
                | (Single::Fixed(millis), Single::Percentile(percentile)) => Some((percentile, time(millis))),
                _ => None,
            }
        };
        if folded == "always" {
            return SpeculativeRetry::Always;
        }
        if let Some((percentile, time)) = hybrid("min(") {
            return SpeculativeRetry::Min(percentile, time);
        }
        if let Some((percentile, time)) = hybrid("max(") {
            return SpeculativeRetry::Max(percentile, time);
        }
        match single(&folded) {
            Some(Single::Percentile(percentile)) => SpeculativeRetry::Percentile(percentile),
            Some(Single::Fixed(millis)) => SpeculativeRetry::Fixed(time(millis)),
            None => SpeculativeRetry::Never,
        }
    }
}

/// An hour at most: no request takes as long.
fn time(millis: f64) -> Duration {
    Duration::from_micros((millis.clamp(0.0, 3_600_000.0) * 1_000.0) as u64)
}

enum Single {
    Percentile(f64),
    Fixed(f64),
}

impl std::fmt::Display for Single {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // At most four digits behind the point.
            Single::Percentile(value) => write!(f, "{}p", (value * 10_000.0).round() / 10_000.0),
            Single::Fixed(millis) => write!(f, "{}ms", millis.trunc()),
        }
    }
}

/// The policy that `text` means, in the one way Cassandra prints it.
pub(crate) fn canonical(text: &str) -> Result<String, SchemaError> {
    let folded = text.to_ascii_lowercase();
    match folded.as_str() {
        "never" | "none" => return Ok("NEVER".to_owned()),
        "always" => return Ok("ALWAYS".to_owned()),
        _ => {}
    }
    for (word, printed) in [("min(", "MIN"), ("max(", "MAX")] {
        if let Some(inner) = folded.strip_prefix(word).and_then(|rest| rest.strip_suffix(')')) {
            return hybrid(text, printed, inner);
        }
    }
    match single(text, &folded)? {
        Some(policy) => Ok(policy.to_string()),
        None => Err(invalid(text)),
    }
}

fn hybrid(text: &str, word: &str, inner: &str) -> Result<String, SchemaError> {
    let Some((first, second)) = inner.split_once(',') else { return Err(invalid(text)) };
    let (Some(first), Some(second)) = (single(text, first.trim())?, single(text, second.trim())?) else {
        return Err(invalid(text));
    };
    let (percentile, fixed) = match (&first, &second) {
        (Single::Percentile(_), Single::Fixed(_)) => (&first, &second),
        (Single::Fixed(_), Single::Percentile(_)) => (&second, &first),
        (Single::Percentile(_), _) => return Err(same_kind(text, "PERCENTILE")),
        (Single::Fixed(_), _) => return Err(same_kind(text, "FIXED")),
    };
    Ok(format!("{word}({percentile},{fixed})"))
}

/// A percentile or a time in lower case; `None` when it is neither.
fn single(text: &str, folded: &str) -> Result<Option<Single>, SchemaError> {
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        plain.then(|| digits.parse::<f64>().ok()).flatten()
    };
    if let Some(millis) = folded.strip_suffix("ms").and_then(number) {
        return Ok(Some(Single::Fixed(millis)));
    }
    let digits = folded.strip_suffix("percentile").or_else(|| folded.strip_suffix('p'));
    let Some(value) = digits.and_then(number) else { return Ok(None) };
    if value <= 0.0 || value >= 100.0 {
        return Err(SchemaError::configuration(format!(
            "Invalid value {text} for PERCENTILE option '{OPTION}': must be between (0.0 and 100.0)"
        )));
    }
    Ok(Some(Single::Percentile(value)))
}

fn invalid(text: &str) -> SchemaError {
    SchemaError::configuration(format!("Invalid value {text} for option '{OPTION}'"))
}

fn same_kind(text: &str, kind: &str) -> SchemaError {
    SchemaError::configuration(format!(
        "Invalid value {text} for option '{OPTION}': MIN()/MAX() arguments should be of different types, \
         but both are of type {kind}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canonical_text_means_its_policy() {
        let millis = Duration::from_millis;
        for (text, policy) in [
            ("99p", SpeculativeRetry::Percentile(99.0)),
            ("99.9PERCENTILE", SpeculativeRetry::Percentile(99.9)),
            ("50ms", SpeculativeRetry::Fixed(millis(50))),
            ("ALWAYS", SpeculativeRetry::Always),
            ("NEVER", SpeculativeRetry::Never),
            ("MIN(99p,50ms)", SpeculativeRetry::Min(99.0, millis(50))),
            ("max(20ms, 90p)", SpeculativeRetry::Max(90.0, millis(20))),
        ] {
            let canonical = canonical(text).expect("it is valid");
            assert_eq!((SpeculativeRetry::of(text), SpeculativeRetry::of(&canonical)), (policy, policy), "{text}");
        }
    }
}
