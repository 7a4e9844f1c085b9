//! The `compaction` option: which strategy, and the sub-options that each understands.

use std::collections::BTreeMap;

use crate::error::SchemaError;
use crate::java;

/// Where Cassandra's strategies live; their short names mean the same.
const PACKAGE: &str = "org.apache.cassandra.db.compaction.";

/// Sub-options of every strategy.
const COMMON: [&str; 7] = [
    "enabled",
    "log_all",
    "only_purge_repaired_tombstones",
    "provide_overlapping_tombstones",
    "tombstone_compaction_interval",
    "tombstone_threshold",
    "unchecked_tombstone_compaction",
];

const SIZE_TIERED: [&str; 5] = ["bucket_high", "bucket_low", "max_threshold", "min_sstable_size", "min_threshold"];

const LEVELED: [&str; 5] =
    ["fanout_size", "max_threshold", "min_threshold", "single_sstable_uplevel", "sstable_size_in_mb"];

const TIME_WINDOW: [&str; 5] = [
    "compaction_window_size",
    "compaction_window_unit",
    "expired_sstable_check_frequency_seconds",
    "timestamp_resolution",
    "unsafe_aggressive_sstable_expiration",
];

const UNIFIED: [&str; 9] = [
    "base_shard_count",
    "expired_sstable_check_frequency_seconds",
    "flush_size_override",
    "max_sstables_to_compact",
    "min_sstable_size",
    "overlap_inclusion_method",
    "scaling_parameters",
    "sstable_growth",
    "target_sstable_size",
];

/// `unsafe_aggressive_sstable_expiration` is a unified strategy's option too.
const UNIFIED_EXPIRATION: &str = "unsafe_aggressive_sstable_expiration";

/// The least `target_sstable_size`.
const TARGET_BYTES_MIN: f64 = 1024.0 * 1024.0;

type Options = BTreeMap<String, String>;

/// A strategy's short name, of either name that it goes by.
pub fn compaction_strategy(class: &str) -> &str {
    class.strip_prefix(PACKAGE).unwrap_or(class)
}

/// ScyllaDB's strategy, in whose place [`UnifiedCompactionStrategy`](instead_of_incremental) stands.
const INCREMENTAL: &str = "IncrementalCompactionStrategy";

/// The size of an SSTable of a run of ScyllaDB's, by its default, MiB.
const INCREMENTAL_MIB: i64 = 1000;

/// The option as Cassandra keeps it: the class in full, and the thresholds always present where the strategy has them. Warnings are appended.
pub(crate) fn read(given: Options, warnings: &mut Vec<String>) -> Result<Options, SchemaError> {
    let mut kept = given;
    if kept.get("class").is_some_and(|class| compaction_strategy(class) == INCREMENTAL) {
        kept = instead_of_incremental(kept)?;
        warnings.push(format!(
            "The table has UnifiedCompactionStrategy with scaling_parameters = '{}' and target_sstable_size = '{}' in place of {INCREMENTAL}, which is ScyllaDB's",
            kept["scaling_parameters"], kept["target_sstable_size"]
        ));
    }
    let Some(class) = kept.get("class") else {
        return Err(wrong("Missing sub-option 'class' for the 'compaction' option"));
    };
    let name = compaction_strategy(class).to_owned();
    if !is_strategy(&name) {
        let full = if class.contains('.') { class.clone() } else { format!("{PACKAGE}{name}") };
        return Err(wrong(format!("Unable to find compaction strategy class '{full}'")));
    }
    kept.insert("class".to_owned(), format!("{PACKAGE}{name}"));
    check_common(&kept)?;
    match name.as_str() {
        "SizeTieredCompactionStrategy" => check_size_tiered(&kept)?,
        "LeveledCompactionStrategy" => check_leveled(&kept)?,
        "TimeWindowCompactionStrategy" => check_time_window(&kept)?,
        _ => check_unified(&kept)?,
    }
    check_names(&name, &kept)?;
    if name != "UnifiedCompactionStrategy" {
        kept.entry("max_threshold".to_owned()).or_insert_with(|| "32".to_owned());
        kept.entry("min_threshold".to_owned()).or_insert_with(|| "4".to_owned());
        check_thresholds(&kept)?;
    }
    Ok(kept)
}

/// The strategy that does what ScyllaDB's does: tiers by size, of SSTables that stay small, so that a compaction needs little room. As many files make
/// a tier full; what else shapes the tiers has no counterpart.
fn instead_of_incremental(given: Options) -> Result<Options, SchemaError> {
    const OF_TIERS: [&str; 8] = [
        "bucket_high",
        "bucket_low",
        "max_threshold",
        "min_sstable_age",
        "min_sstable_size",
        "min_threshold",
        "space_amplification_goal",
        "sstable_size_in_mb",
    ];
    for name in OF_TIERS {
        if let Some(value) = given.get(name)
            && !value.parse::<f64>().is_ok_and(|number| number >= 0.0)
        {
            return Err(wrong(format!("{value} is not a parsable number for {name}")));
        }
    }
    let is_own = |name: &str| name == "class" || OF_TIERS.contains(&name);
    if let Some(unknown) = given.keys().find(|name| !is_own(name) && !COMMON.contains(&name.as_str())) {
        return Err(wrong(format!("Properties specified [{unknown}] are not understood by {INCREMENTAL}")));
    }
    let fanout = long(&given, "min_threshold")?.unwrap_or(4).clamp(2, 32);
    let mib = long(&given, "sstable_size_in_mb")?.unwrap_or(INCREMENTAL_MIB).max(1);
    let mut kept: Options = given.into_iter().filter(|(name, _)| !is_own(name)).collect();
    kept.insert("class".to_owned(), "UnifiedCompactionStrategy".to_owned());
    kept.insert("scaling_parameters".to_owned(), format!("T{fanout}"));
    kept.insert("target_sstable_size".to_owned(), format!("{mib}MiB"));
    Ok(kept)
}

fn is_strategy(name: &str) -> bool {
    matches!(
        name,
        "SizeTieredCompactionStrategy"
            | "LeveledCompactionStrategy"
            | "TimeWindowCompactionStrategy"
            | "UnifiedCompactionStrategy"
    )
}

fn check_names(strategy: &str, options: &Options) -> Result<(), SchemaError> {
    let is_known = |key: &str| {
        key == "class"
            || COMMON.contains(&key)
            || match strategy {
                "SizeTieredCompactionStrategy" => SIZE_TIERED.contains(&key),
                "LeveledCompactionStrategy" => LEVELED.contains(&key) || SIZE_TIERED.contains(&key),
                "TimeWindowCompactionStrategy" => TIME_WINDOW.contains(&key) || SIZE_TIERED.contains(&key),
                _ => UNIFIED.contains(&key) || key == UNIFIED_EXPIRATION,
            }
    };
    let unknown: Vec<&str> = options.keys().map(String::as_str).filter(|key| !is_known(key)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    Err(wrong(format!("Properties specified [{}] are not understood by {strategy}", unknown.join(", "))))
}

fn check_common(options: &Options) -> Result<(), SchemaError> {
    if let Some(value) = options.get("enabled").filter(|value| !is_boolean(value)) {
        return Err(wrong(format!("enabled should either be 'true' or 'false', not {value}")));
    }
    if let Some(value) = options.get("log_all").filter(|value| !is_boolean(value)) {
        return Err(wrong(format!("'log_all' should either be 'true' or 'false', not {value}")));
    }
    if let Some(value) = options.get("unchecked_tombstone_compaction").filter(|value| !is_boolean(value)) {
        return Err(wrong(format!(
            "'unchecked_tombstone_compaction' should be either 'true' or 'false', not '{value}'"
        )));
    }
    if let Some(value) = options.get("provide_overlapping_tombstones") {
        let word = value.to_ascii_uppercase();
        if !matches!(word.as_str(), "NONE" | "ROW" | "CELL") {
            return Err(wrong(format!(
                "Invalid value {word} for 'provide_overlapping_tombstones' compaction sub-option - \
                 must be one of the following [NONE, ROW, CELL]."
            )));
        }
    }
    if let Some(value) = options.get("tombstone_threshold") {
        match value.parse::<f64>() {
            Ok(threshold) if threshold >= 0.0 => {}
            Ok(threshold) => {
                return Err(wrong(format!(
                    "tombstone_threshold must be greater than 0, but was {}",
                    java::double(threshold)
                )));
            }
            Err(_) => return Err(not_an_int("tombstone_threshold", value)),
        }
    }
    if let Some(value) = long(options, "tombstone_compaction_interval")?.filter(|value| *value < 0) {
        return Err(wrong(format!("tombstone_compaction_interval must be greater than 0, but was {value}")));
    }
    Ok(())
}

fn check_size_tiered(options: &Options) -> Result<(), SchemaError> {
    if let Some(value) = long(options, "min_sstable_size")?.filter(|value| *value < 0) {
        return Err(wrong(format!("min_sstable_size must be non negative: {value}")));
    }
    let bucket_low = float(options, "bucket_low")?.unwrap_or(0.5);
    let bucket_high = float(options, "bucket_high")?.unwrap_or(1.5);
    if bucket_high <= bucket_low {
        return Err(wrong(format!(
            "bucket_high value ({}) is less than or equal to the bucket_low value ({})",
            java::double(bucket_high),
            java::double(bucket_low)
        )));
    }
    Ok(())
}

fn check_leveled(options: &Options) -> Result<(), SchemaError> {
    for name in ["sstable_size_in_mb", "fanout_size"] {
        if let Some(value) = long(options, name)?.filter(|value| *value < 1) {
            return Err(wrong(format!("{name} must be larger than 0, but was {value}")));
        }
    }
    check_size_tiered(options)
}

fn check_time_window(options: &Options) -> Result<(), SchemaError> {
    if let Some(value) = options.get("timestamp_resolution") {
        let known = ["NANOSECONDS", "MICROSECONDS", "MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS"];
        if !known.contains(&value.as_str()) {
            return Err(wrong(format!("{value} is not valid for timestamp_resolution")));
        }
    }
    if let Some(value) = options.get("compaction_window_unit")
        && !matches!(value.as_str(), "MINUTES" | "HOURS" | "DAYS")
    {
        return Err(wrong(format!("{value} is not valid for compaction_window_unit")));
    }
    if let Some(value) = long(options, "compaction_window_size")?.filter(|value| *value < 1) {
        return Err(wrong(format!("{value} must be greater than 1 for compaction_window_size")));
    }
    check_expiration(options)?;
    check_size_tiered(options)
}

fn check_unified(options: &Options) -> Result<(), SchemaError> {
    if let Some(parameters) = options.get("scaling_parameters") {
        for parameter in parameters.split(',').map(str::trim) {
            if !is_scaling_parameter(parameter) {
                return Err(wrong(format!("Scaling parameter {parameter} must match N|L[0-9]+|T[0-9]+|[+-]?[0-9]+")));
            }
        }
    }
    if let Some(count) = long(options, "base_shard_count")?.filter(|count| *count <= 0) {
        return Err(wrong(format!("Invalid configuration, base_shard_count should be positive: {count}")));
    }
    long(options, "max_sstables_to_compact")?;
    let name = "target_sstable_size";
    if let Some(value) = options.get(name)
        && size(name, value)? < TARGET_BYTES_MIN
    {
        return Err(wrong(format!("{name} {value} is not acceptable, size must be at least 1.000MiB")));
    }
    for name in ["min_sstable_size", "flush_size_override"] {
        options.get(name).map(|value| size(name, value)).transpose()?;
    }
    let name = "sstable_growth";
    if let Some(value) = options.get(name) {
        let share = match value.trim().strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
            None => value.trim().parse(),
        };
        match share {
            Ok(share) if (0.0..=1.0).contains(&share) => {}
            Ok(_) => return Err(wrong(format!("{name} {value} must be between 0 and 1"))),
            Err(_) => return Err(wrong(format!("{name} is not a valid number between 0 and 1: {value}"))),
        }
    }
    if let Some(method) = options.get("overlap_inclusion_method") {
        let word = method.to_ascii_uppercase();
        if !matches!(word.as_str(), "NONE" | "SINGLE" | "TRANSITIVE") {
            return Err(wrong(format!(
                "Invalid overlap inclusion method {method}. The valid options are [NONE, SINGLE, TRANSITIVE]."
            )));
        }
    }
    check_expiration(options)
}

/// A number of bytes with or without a unit.
fn size(name: &str, value: &str) -> Result<f64, SchemaError> {
    let text = value.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let unit = match text[digits..].trim().to_ascii_lowercase().trim_end_matches('b') {
        "" => Some(1.0),
        "k" | "ki" => Some(1024.0),
        "m" | "mi" => Some(1024.0 * 1024.0),
        "g" | "gi" => Some(1024.0 * 1024.0 * 1024.0),
        "t" | "ti" => Some(1024.0 * 1024.0 * 1024.0 * 1024.0),
        _ => None,
    };
    match (text[..digits].parse::<f64>(), unit) {
        (Ok(number), Some(unit)) => Ok(number * unit),
        _ => Err(wrong(format!("{name} {value} is not a valid size in bytes"))),
    }
}

fn check_expiration(options: &Options) -> Result<(), SchemaError> {
    let name = "expired_sstable_check_frequency_seconds";
    if let Some(value) = long(options, name)?.filter(|value| *value < 0) {
        return Err(wrong(format!("{name} must not be negative, but was {value}")));
    }
    if let Some(value) = options.get(UNIFIED_EXPIRATION).filter(|value| !is_boolean(value)) {
        return Err(wrong(format!("{UNIFIED_EXPIRATION} is not 'true' or 'false' ({value})")));
    }
    Ok(())
}

fn is_scaling_parameter(parameter: &str) -> bool {
    let parameter = parameter.to_ascii_uppercase();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    parameter == "N" || digits(parameter.strip_prefix(['L', 'T', '+', '-']).unwrap_or(&parameter))
}

fn check_thresholds(options: &Options) -> Result<(), SchemaError> {
    let threshold = |name: &str| {
        let value = options.get(name).map(String::as_str).unwrap_or_default();
        value.parse::<i32>().map_err(|_| {
            wrong(format!("Invalid value {value} for '{name}' compaction sub-option - must be an integer"))
        })
    };
    let min = threshold("min_threshold")?;
    let max = threshold("max_threshold")?;
    if min <= 0 || max <= 0 {
        return Err(wrong(
            "Disabling compaction by setting compaction thresholds to 0 has been removed, \
             set the compaction option 'enabled' to false instead.",
        ));
    }
    if min <= 1 {
        return Err(wrong(format!("Min compaction threshold cannot be less than 2 (got {min})")));
    }
    if min > max {
        return Err(wrong(format!(
            "Min compaction threshold (got {min}) cannot be greater than max compaction threshold (got {max})"
        )));
    }
    Ok(())
}

fn is_boolean(value: &str) -> bool {
    value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false")
}

fn long(options: &Options, name: &str) -> Result<Option<i64>, SchemaError> {
    let Some(value) = options.get(name) else { return Ok(None) };
    value.parse().map(Some).map_err(|_| not_an_int(name, value))
}

fn float(options: &Options, name: &str) -> Result<Option<f64>, SchemaError> {
    let Some(value) = options.get(name) else { return Ok(None) };
    value.parse().map(Some).map_err(|_| wrong(format!("{value} is not a parsable float for {name}")))
}

fn not_an_int(name: &str, value: &str) -> SchemaError {
    wrong(format!("{value} is not a parsable int (base10) for {name}"))
}

fn wrong(message: impl Into<String>) -> SchemaError {
    SchemaError::configuration(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unified(name: &str, value: &str) -> Result<(), String> {
        let class = ("class".to_owned(), "UnifiedCompactionStrategy".to_owned());
        let given = Options::from([class, (name.to_owned(), value.to_owned())]);
        read(given, &mut Vec::new()).map(|_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_of_the_unified_strategy_are_checked() {
        let good = [
            ("base_shard_count", "1"),
            ("max_sstables_to_compact", "-1"),
            ("target_sstable_size", "1MiB"),
            ("target_sstable_size", "1.5 GiB"),
            ("min_sstable_size", "0"),
            ("flush_size_override", "10MB"),
            ("sstable_growth", "0.5"),
            ("sstable_growth", "50%"),
            ("overlap_inclusion_method", "single"),
        ];
        for (name, value) in good {
            assert_eq!(unified(name, value), Ok(()), "{name} {value}");
        }
        let bad = [
            ("base_shard_count", "0"),
            ("base_shard_count", "many"),
            ("max_sstables_to_compact", "all"),
            ("target_sstable_size", "1000"),
            ("target_sstable_size", "1 foot"),
            ("min_sstable_size", "small"),
            ("sstable_growth", "1.5"),
            ("sstable_growth", "half"),
            ("overlap_inclusion_method", "all"),
        ];
        for (name, value) in bad {
            let error = unified(name, value).expect_err(name);
            assert!(error.contains(name) || error.contains("overlap inclusion method"), "{error}");
        }
    }
}
