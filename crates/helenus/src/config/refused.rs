//! Keys that ask for what is not there: starting without it would break a promise, so the node refuses to start.
//!
//! A key belongs here if its user relies on the effect: it guards the data (authentication, encryption), keeps it (backups, change
//! data capture), or changes what clients may do. What only tunes, as sizes, threads and timeouts do, is accepted without effect.

use super::ConfigError;
use super::place::Place;
use super::yaml::{Entry, Node};

/// Keys with the one value that is there, which is the default.
const SWITCHES: [(&str, &str); 24] = [
    // Who may do what, and what is kept of it.
    ("native_transport_allow_older_protocols", "true"),
    ("native_transport_rate_limiting_enabled", "false"),
    ("partition_denylist_enabled", "false"),
    ("diagnostic_events_enabled", "false"),
    // What is kept of the data.
    ("cdc_enabled", "false"),
    ("incremental_backups", "false"),
    ("snapshot_before_compaction", "false"),
    ("default_keyspace_rf", "1"),
    // What statements may say.
    ("materialized_views_enabled", "false"),
    ("user_defined_functions_enabled", "false"),
    ("scripted_user_defined_functions_enabled", "false"),
    ("sasi_indexes_enabled", "false"),
    ("transient_replication_enabled", "false"),
    ("drop_compact_storage_enabled", "false"),
    ("use_deterministic_table_id", "false"),
    ("experimental", "false"),
    // What bounds clients.
    ("use_statements_enabled", "true"),
    ("read_thresholds_enabled", "false"),
    ("data_disk_usage_percentage_warn_threshold", "-1"),
    ("data_disk_usage_percentage_fail_threshold", "-1"),
    // Ports and sockets.
    ("start_native_transport", "true"),
    ("start_rpc", "false"),
    ("alternator_port", "0"),
    ("alternator_https_port", "0"),
];

/// Keys that are refused with any value.
const REFUSED: [(&str, &str); 2] = [
    ("rpc_interface", "name the address with rpc_address"),
    ("auto_snapshot_ttl", "snapshots stay until they are cleared"),
];

/// Classes without their package: the key's only one.
const CLASSES: [(&str, &str); 2] =
    [("internode_authenticator", "AllowAllInternodeAuthenticator"), ("partitioner", "Murmur3Partitioner")];

/// Mappings in which nothing may be enabled.
const OPTIONS: [&str; 3] = ["full_query_logging_options", "startup_checks", "transparent_data_encryption_options"];

/// Refuses a key whose value asks for what is not there. True if the key is one of those: nothing is left to be done with it.
pub(super) fn check(place: &Place<'_>, entry: &Entry) -> Result<bool, ConfigError> {
    let (key, value) = (entry.key.as_str(), &entry.value);
    if *value == Node::Nothing {
        return Ok(false);
    }
    if let Some((_, only)) = SWITCHES.iter().find(|(name, _)| *name == key) {
        let given = place.text(value)?;
        if !given.eq_ignore_ascii_case(only) {
            return Err(place.wrong(format!("{given} is not supported yet, only {only}")));
        }
        return Ok(true);
    }
    if let Some((_, why)) = REFUSED.iter().find(|(name, _)| *name == key) {
        return Err(place.wrong(format!("{} is not supported yet: {why}", place.text(value)?)));
    }
    if let Some((_, only)) = CLASSES.iter().find(|(name, _)| *name == key) {
        return place.must_be_class(value, only).map(|()| true);
    }
    if OPTIONS.contains(&key) {
        return must_be_off(place, value).map(|()| true);
    }
    if key == "experimental_features"
        && let Node::List(features) = value
        && let Some(feature) = features.first()
    {
        return Err(place.wrong(format!("{} is not supported yet", place.text(feature)?)));
    }
    Ok(key == "experimental_features")
}

/// Refuses options of which one is switched on, however deep.
fn must_be_off(place: &Place<'_>, node: &Node) -> Result<(), ConfigError> {
    let Node::Map(_) = node else { return Err(place.wrong("expected a mapping")) };
    match switched_on(node) {
        Some((name, value)) => Err(place.wrong(format!("{name}: {value} is not supported yet"))),
        None => Ok(()),
    }
}

/// The first option in the mapping that is switched on, and its value.
fn switched_on(node: &Node) -> Option<(&str, &str)> {
    let Node::Map(entries) = node else { return None };
    entries.iter().find_map(|(name, value)| match (name.as_str(), value) {
        ("enabled", Node::Text(text)) if text != "false" => Some(("enabled", text.as_str())),
        (_, inner) => switched_on(inner),
    })
}
