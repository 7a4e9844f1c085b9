//! From a WITH clause to table options, with Cassandra 5.0's checks and words.

use crate::error::SchemaError;
use crate::java;
use crate::options::{TableOptions, caching, compaction, compression, scylla, speculative};
use crate::properties::Properties;

/// The longest time to live, in seconds: 20 years.
pub const TTL_SECONDS_MAX: u32 = 20 * 365 * 24 * 60 * 60;

/// The smallest share of false positives that a bloom filter can be built for.
const BLOOM_FILTER_FP_CHANCE_MIN: f64 = 6.71e-5;

/// Properties that Cassandra had once. Dumps of old schemas still set them, so they are accepted and a warning says
/// that they do nothing.
const WITHOUT_EFFECT: [&str; 2] = ["dclocal_read_repair_chance", "read_repair_chance"];

/// Takes all table options out of `properties` and sets them in `options`: on a new table its defaults, on an altered one
/// what it has. Warnings are appended.
pub(crate) fn read(
    options: &mut TableOptions,
    properties: &mut Properties,
    warnings: &mut Vec<String>,
) -> Result<(), SchemaError> {
    scylla::read(properties, warnings)?;
    if let Some(text) = properties.text("additional_write_policy")? {
        options.additional_write_policy = speculative::canonical(&text)?;
    }
    if let Some(value) = properties.boolean("allow_auto_snapshot")? {
        options.allow_auto_snapshot = Some(value);
    }
    if let Some(value) = properties.double("bloom_filter_fp_chance")? {
        options.bloom_filter_fp_chance = value;
    }
    if let Some(map) = properties.map("caching")? {
        options.caching = caching::read(map)?;
    }
    if let Some(value) = properties.boolean("cdc")? {
        options.cdc = value;
    }
    if let Some(text) = properties.text("comment")? {
        options.comment = text;
    }
    if let Some(map) = properties.map("compaction")? {
        options.compaction = compaction::read(map, warnings)?;
    }
    if let Some(map) = properties.map("compression")? {
        options.compression = compression::read(map, warnings)?;
    }
    if let Some(value) = properties.double("crc_check_chance")? {
        options.crc_check_chance = value;
    }
    // Cassandra takes extensions from its own tools alone: a statement's are dropped without a word, whatever they are.
    properties.take("extensions");
    if let Some(value) = properties.boolean("incremental_backups")? {
        options.incremental_backups = Some(value);
    }
    if let Some(text) = properties.text("memtable")? {
        if text != "default" {
            return Err(SchemaError::configuration(format!("Memtable configuration \"{text}\" not found.")));
        }
        options.memtable = text;
    }
    if let Some(text) = properties.text("read_repair")? {
        options.read_repair = match text.to_ascii_uppercase().as_str() {
            known @ ("BLOCKING" | "NONE") => known.to_owned(),
            _ => return Err(SchemaError::configuration(format!("Invalid value {text} for option 'read_repair'"))),
        };
    }
    if let Some(text) = properties.text("speculative_retry")? {
        options.speculative_retry = speculative::canonical(&text)?;
    }
    read_integers(options, properties)?;
    for name in WITHOUT_EFFECT {
        if properties.double(name)?.is_some() {
            warnings.push(format!("The table property '{name}' has no effect: it was removed in Cassandra 4.0"));
        }
    }
    check_chances(options)
}

fn read_integers(options: &mut TableOptions, properties: &mut Properties) -> Result<(), SchemaError> {
    if let Some(value) = at_least(properties, "default_time_to_live", 0)? {
        if value > TTL_SECONDS_MAX {
            return Err(SchemaError::configuration(format!(
                "default_time_to_live must be less than or equal to {TTL_SECONDS_MAX} (got {value})"
            )));
        }
        options.default_time_to_live = value;
    }
    if let Some(value) = at_least(properties, "gc_grace_seconds", 0)? {
        options.gc_grace_seconds = value;
    }
    if let Some(value) = at_least(properties, "memtable_flush_period_in_ms", 0)? {
        options.memtable_flush_period_in_ms = value;
    }
    if let Some(value) = at_least(properties, "min_index_interval", 1)? {
        options.min_index_interval = value;
    }
    let max_index_interval = properties.int("max_index_interval")?.map(i64::from);
    let max_index_interval = max_index_interval.unwrap_or(i64::from(options.max_index_interval));
    match u32::try_from(max_index_interval) {
        Ok(value) if value >= options.min_index_interval => options.max_index_interval = value,
        _ => {
            return Err(SchemaError::configuration(format!(
                "max_index_interval must be greater than or equal to min_index_interval ({}) (got {})",
                options.min_index_interval, max_index_interval
            )));
        }
    }
    Ok(())
}

fn at_least(properties: &mut Properties, name: &str, least: u32) -> Result<Option<u32>, SchemaError> {
    let Some(value) = properties.int(name)? else { return Ok(None) };
    match u32::try_from(value) {
        Ok(value) if value >= least => Ok(Some(value)),
        _ => Err(SchemaError::configuration(format!("{name} must be greater than or equal to {least} (got {value})"))),
    }
}

fn check_chances(options: &TableOptions) -> Result<(), SchemaError> {
    let fp_chance = options.bloom_filter_fp_chance;
    // Written so that NaN fails.
    if !(fp_chance > BLOOM_FILTER_FP_CHANCE_MIN && fp_chance <= 1.0) {
        return Err(SchemaError::configuration(format!(
            "bloom_filter_fp_chance must be larger than {} and less than or equal to 1.0 (got {})",
            java::double(BLOOM_FILTER_FP_CHANCE_MIN),
            java::double(fp_chance)
        )));
    }
    let crc_check_chance = options.crc_check_chance;
    if !(0.0..=1.0).contains(&crc_check_chance) {
        return Err(SchemaError::configuration(format!(
            "crc_check_chance must be larger than or equal to 0 and smaller than or equal to 1.0 (got {})",
            java::double(crc_check_chance)
        )));
    }
    Ok(())
}
