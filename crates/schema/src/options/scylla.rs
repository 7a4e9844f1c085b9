//! Properties that ScyllaDB has and Cassandra has not, so that what its DESCRIBE writes runs as it is.
//!
//! Options of what is done here anyway, or is off, are read without a word. What has no effect draws a warning that names the property. What the schema's
//! owner would miss (changes for consumers, encryption, tombstones for ever) is refused, and the sentence says what to do.
//! Nothing of them is kept: DESCRIBE shows what holds here. Source: ScyllaDB's `cf_prop_defs.cc`, `ks_prop_defs.cc` and its CQL reference.

use std::collections::BTreeMap;

use crate::error::SchemaError;
use crate::properties::Properties;

/// Properties of tables that are maps of hints without effect here: their name, the sub-options, and why.
const HINTS: [(&str, &[&str], &str); 2] = [
    (
        "tablets",
        &["expected_data_size_in_gb", "max_tablet_count", "min_per_shard_tablet_count", "min_tablet_count"],
        "tables have token ranges of nodes, not tablets",
    ),
    (
        "per_partition_rate_limit",
        &["max_reads_per_second", "max_writes_per_second"],
        "requests to a partition are not counted",
    ),
];

/// Booleans of tables without effect here: their name, and why.
const SWITCHES: [(&str, &str); 2] = [
    ("in_memory", "tables are on disk, and rows that are read are cached"),
    ("large_data_guardrails_enabled", "guardrails are set in the configuration, for all tables"),
];

/// The words of `tombstone_gc`'s `mode`.
const TOMBSTONE_MODES: &str = "timeout, repair, immediate and disabled";

/// The sub-options of `cdc`.
const CDC: [&str; 5] = ["delta", "enabled", "postimage", "preimage", "ttl"];

/// Takes ScyllaDB's properties of a table out of `properties`. Warnings are appended.
pub(super) fn read(properties: &mut Properties, warnings: &mut Vec<String>) -> Result<(), SchemaError> {
    if let Some(map) = properties.map("tombstone_gc")? {
        read_tombstone_gc(&map, warnings)?;
    }
    if let Some(seconds) = properties.int("paxos_grace_seconds")? {
        if seconds < 0 {
            return Err(wrong(format!("paxos_grace_seconds must be greater than or equal to 0 (got {seconds})")));
        }
        warnings
            .push(without_effect("paxos_grace_seconds", "all nodes agree on when registers of Paxos are forgotten"));
    }
    for (name, known, why) in HINTS {
        let Some(map) = properties.map(name)? else { continue };
        check_names(name, &map, known)?;
        for (key, value) in &map {
            if !value.parse::<f64>().is_ok_and(|number| number >= 0.0) {
                return Err(wrong(format!("Invalid value '{value}' for {name} sub-option '{key}': it is a number")));
            }
        }
        if !map.is_empty() {
            warnings.push(without_effect(name, why));
        }
    }
    for (name, why) in SWITCHES {
        if properties.boolean(name)? == Some(true) {
            warnings.push(without_effect(name, why));
        }
    }
    if properties.take("synchronous_updates").is_some() {
        return Err(wrong("'synchronous_updates' is a property of materialized views: leave it out of a table's"));
    }
    if let Some(map) = properties.map("scylla_encryption_options")? {
        read_encryption(&map)?;
    }
    if properties.is_map("cdc")
        && let Some(map) = properties.map("cdc")?
    {
        read_cdc(&map)?;
    }
    Ok(())
}

/// Takes ScyllaDB's properties of a keyspace out of `properties`, and gives what the client is warned of.
pub(crate) fn read_of_keyspace(properties: &mut Properties) -> Result<Vec<String>, SchemaError> {
    let mut warnings = Vec::new();
    if let Some(map) = properties.map("tablets")? {
        check_names("tablets", &map, &["enabled", "initial"])?;
        let is_off = boolean("tablets", &map, "enabled")? == Some(false);
        if let Some(initial) = map.get("initial").filter(|initial| initial.parse::<u32>().is_err()) {
            return Err(wrong(format!("Invalid value '{initial}' for tablets sub-option 'initial': it is a number")));
        }
        if !is_off && !map.is_empty() {
            warnings.push(
                "The keyspace property 'tablets' has no effect: its tables have token ranges of nodes".to_owned(),
            );
        }
    }
    if let Some(word) = properties.text("consistency")?.filter(|word| !word.eq_ignore_ascii_case("eventual")) {
        return Err(wrong(format!(
            "consistency = '{word}' of a keyspace is not supported: leave it out, and ask for consistency levels, or for conditional statements"
        )));
    }
    if let Some(map) = properties.map("storage")?
        && let Some(kind) = map.get("type").filter(|kind| !kind.eq_ignore_ascii_case("local"))
    {
        return Err(wrong(format!(
            "storage of type '{kind}' is not supported: leave it out, data is in the node's folder"
        )));
    }
    Ok(warnings)
}

/// When tombstones go: here after `gc_grace_seconds`.
fn read_tombstone_gc(map: &BTreeMap<String, String>, warnings: &mut Vec<String>) -> Result<(), SchemaError> {
    const NAME: &str = "tombstone_gc";
    check_names(NAME, map, &["mode", "propagation_delay_in_seconds"])?;
    if let Some(delay) = map.get("propagation_delay_in_seconds").filter(|delay| delay.parse::<u32>().is_err()) {
        return Err(wrong(format!(
            "Invalid value '{delay}' for {NAME} sub-option 'propagation_delay_in_seconds': it is a number"
        )));
    }
    match map.get("mode").map(String::as_str) {
        Some("timeout") | None => {}
        Some("repair") => warnings.push(without_effect(
            NAME,
            "tombstones are kept for gc_grace_seconds, so the table must be repaired within that time",
        )),
        Some("immediate") => {
            warnings.push(without_effect(NAME, "tombstones are kept for gc_grace_seconds, which may be 0"))
        }
        // What was deleted could come back.
        Some("disabled") => {
            return Err(wrong(
                "tombstone_gc = {'mode': 'disabled'} is not supported: use gc_grace_seconds = 2147483647 instead, which keeps tombstones for 68 years",
            ));
        }
        Some(mode) => {
            return Err(wrong(format!(
                "Invalid value '{mode}' for {NAME} sub-option 'mode': the modes are {TOMBSTONE_MODES}"
            )));
        }
    }
    Ok(())
}

/// Whoever asks for files that are encrypted must not get others.
fn read_encryption(map: &BTreeMap<String, String>) -> Result<(), SchemaError> {
    let is_off =
        map.is_empty() || map.get("key_provider").is_some_and(|provider| provider.eq_ignore_ascii_case("none"));
    match is_off {
        true => Ok(()),
        false => Err(wrong(
            "scylla_encryption_options is not supported: encrypt the volume that data is on, and leave it out or say {'key_provider': 'none'}",
        )),
    }
}

/// The map of ScyllaDB: changes as rows of a log table, which consumers read.
fn read_cdc(map: &BTreeMap<String, String>) -> Result<(), SchemaError> {
    check_names("cdc", map, &CDC)?;
    match boolean("cdc", map, "enabled")? {
        Some(true) => Err(wrong(
            "cdc = {'enabled': true} is not supported: there is no log table of changes that could be read. Leave it out, or say {'enabled': false}",
        )),
        _ => Ok(()),
    }
}

fn boolean(property: &str, map: &BTreeMap<String, String>, name: &str) -> Result<Option<bool>, SchemaError> {
    let Some(text) = map.get(name) else { return Ok(None) };
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" => Ok(Some(true)),
        "0" | "false" | "no" => Ok(Some(false)),
        _ => Err(wrong(format!("Invalid value '{text}' for {property} sub-option '{name}': it is true or false"))),
    }
}

fn check_names(property: &str, map: &BTreeMap<String, String>, known: &[&str]) -> Result<(), SchemaError> {
    match map.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(wrong(format!("Unknown {property} sub-option '{name}': it has {}", known.join(", ")))),
    }
}

fn without_effect(name: &str, why: &str) -> String {
    format!("The table property '{name}' has no effect: {why}")
}

fn wrong(message: impl Into<String>) -> SchemaError {
    SchemaError::configuration(message)
}
