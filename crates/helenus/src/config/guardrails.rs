//! The keys of guardrails: thresholds, what is enabled, lists of levels and of table properties. Values are checked as Cassandra checks
//! them, and refused in its words.

use cql_protocol::Consistency;
use query::{Guardrails, Threshold, ThresholdUnit};

use super::ConfigError;
use super::place::Place;
use super::units;
use super::yaml::Node;

/// Acts on a key; false: it is none of a guardrail.
pub(super) fn apply(place: &Place<'_>, key: &str, value: &Node, rails: &mut Guardrails) -> Result<bool, ConfigError> {
    for (name, end) in odd_ends(rails) {
        if key == name {
            *end = Some(place.number::<i32>(value)?.into());
            return Ok(true);
        }
    }
    for (name, unit, threshold) in rails.thresholds() {
        let end = match key.strip_prefix(name) {
            Some("_warn_threshold") => &mut threshold.warn,
            Some("_fail_threshold") => &mut threshold.fail,
            _ => continue,
        };
        *end = threshold_of(place, key, unit, value)?;
        return Ok(true);
    }
    if let Some((_, flag)) = rails.flags().into_iter().find(|(name, _)| *name == key) {
        *flag = place.flag(value)?;
        return Ok(true);
    }
    if let Some((_, levels)) = rails.level_lists().into_iter().find(|(name, _)| *name == key) {
        *levels = names(place, value)?.iter().map(|name| level(place, name)).collect::<Result<_, _>>()?;
        levels.sort_by_key(|level| level.code());
        return Ok(true);
    }
    if let Some((_, properties)) = rails.name_lists().into_iter().find(|(name, _)| *name == key) {
        *properties = names(place, value)?.iter().map(|name| name.to_ascii_lowercase()).collect();
        return Ok(true);
    }
    Ok(false)
}

/// Thresholds that are whole numbers of any size: there is no word for off.
fn odd_ends(rails: &mut Guardrails) -> [(&'static str, &mut Option<i64>); 3] {
    [
        ("unlogged_batch_across_partitions_warn_threshold", &mut rails.unlogged_batch_across_partitions.warn),
        ("tombstone_warn_threshold", &mut rails.tombstones.warn),
        ("tombstone_failure_threshold", &mut rails.tombstones.fail),
    ]
}

fn threshold_of(place: &Place<'_>, key: &str, unit: ThresholdUnit, value: &Node) -> Result<Option<i64>, ConfigError> {
    let whole = |number: u64| Some(i64::try_from(number).unwrap_or(i64::MAX));
    match unit {
        ThresholdUnit::BatchBytes => Ok(whole(place.size(value)?)),
        ThresholdUnit::Bytes => match place.size(value)? {
            0 => Err(place.wrong(format!(
                "Invalid value for {key}: 0 is not allowed; if attempting to disable use an empty value"
            ))),
            bytes => Ok(whole(bytes)),
        },
        ThresholdUnit::Micros => Ok(whole(u64::try_from(place.duration(value)?.as_micros()).unwrap_or(u64::MAX))),
        ThresholdUnit::Count | ThresholdUnit::CountAtLeast => match i64::from(place.number::<i32>(value)?) {
            -1 => Ok(None),
            0 => Err(place.wrong(format!("Invalid value for {key}: 0 is not allowed; if attempting to disable use -1"))),
            number if number < 0 => Err(place.wrong(format!(
                "Invalid value {number} for {key}: negative values are not allowed, outside of -1 which disables the guardrail"
            ))),
            number => Ok(Some(number)),
        },
    }
}

fn names<'n>(place: &Place<'_>, value: &'n Node) -> Result<Vec<&'n str>, ConfigError> {
    match value {
        Node::List(list) => list.iter().map(|node| place.text(node)).collect(),
        _ => Err(place.wrong("expected a list")),
    }
}

fn level(place: &Place<'_>, name: &str) -> Result<Consistency, ConfigError> {
    let found = Consistency::ALL.into_iter().find(|level| level.name() == name);
    found.ok_or_else(|| place.wrong(format!("'{name}' is not a consistency level")))
}

/// Refuses thresholds whose ends are the wrong way round. Those of batches may be, as in Cassandra.
pub(super) fn check(rails: &mut Guardrails) -> Result<(), ConfigError> {
    for (name, unit, threshold) in rails.thresholds() {
        let Threshold { warn: Some(warn), fail: Some(fail) } = *threshold else { continue };
        let (is_wrong, order) = match unit {
            ThresholdUnit::BatchBytes => (false, ""),
            ThresholdUnit::Bytes | ThresholdUnit::Count | ThresholdUnit::Micros => (fail < warn, "lower"),
            ThresholdUnit::CountAtLeast => (fail > warn, "greater"),
        };
        if is_wrong {
            let (warn, fail) = (shown_end(unit, Some(warn)), shown_end(unit, Some(fail)));
            let reason = format!(
                "The warn threshold {} for {name}_warn_threshold should be {order} than the fail threshold {}",
                warn.unwrap_or_default(),
                fail.unwrap_or_default()
            );
            return Err(ConfigError::Guardrail { reason });
        }
    }
    Ok(())
}

/// All keys with their values.
pub(super) fn shown(rails: &Guardrails) -> Vec<(String, Option<String>)> {
    let mut rails = rails.clone();
    let list = |items: Vec<&str>| Some(format!("[{}]", items.join(", ")));
    let mut all = Vec::new();
    let odd = odd_ends(&mut rails).map(|(name, end)| (name.to_owned(), end.map(|count| count.to_string())));
    all.extend(odd);
    for (name, unit, threshold) in rails.thresholds() {
        all.push((format!("{name}_warn_threshold"), shown_end(unit, threshold.warn)));
        all.push((format!("{name}_fail_threshold"), shown_end(unit, threshold.fail)));
    }
    all.extend(rails.flags().map(|(name, flag)| (name.to_owned(), Some(flag.to_string()))));
    for (name, levels) in rails.level_lists() {
        all.push((name.to_owned(), list(levels.iter().map(|level| level.name()).collect())));
    }
    for (name, properties) in rails.name_lists() {
        all.push((name.to_owned(), list(properties.iter().map(String::as_str).collect())));
    }
    all
}

/// One end as the file takes it; what is off is -1 among whole numbers, and nothing among sizes and durations.
fn shown_end(unit: ThresholdUnit, end: Option<i64>) -> Option<String> {
    match unit {
        ThresholdUnit::Count | ThresholdUnit::CountAtLeast => Some(end.unwrap_or(-1).to_string()),
        ThresholdUnit::Bytes | ThresholdUnit::BatchBytes => end.map(|bytes| units::shown_size(bytes.unsigned_abs())),
        ThresholdUnit::Micros => end.map(|micros| format!("{micros}us")),
    }
}
