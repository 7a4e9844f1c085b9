//! The `caching` option.

use std::collections::BTreeMap;

use crate::error::SchemaError;

/// The option as Cassandra keeps it; what is not given is NONE. ScyllaDB's `'enabled': false` makes all of it NONE.
pub(crate) fn read(mut given: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, SchemaError> {
    match given.remove("enabled").map(|word| word.to_ascii_lowercase()).as_deref() {
        None | Some("true") => {}
        Some("false") => given.clear(),
        Some(word) => {
            return Err(SchemaError::configuration(format!(
                "Invalid value '{word}' for caching sub-option 'enabled': it is true or false"
            )));
        }
    }
    let unknown: Vec<&str> =
        given.keys().map(String::as_str).filter(|key| !matches!(*key, "keys" | "rows_per_partition")).collect();
    if !unknown.is_empty() {
        return Err(SchemaError::configuration(format!(
            "Invalid caching sub-options [{}]: only 'keys' and 'rows_per_partition' are allowed",
            unknown.join(", ")
        )));
    }
    let keys = match given.get("keys") {
        None => "NONE".to_owned(),
        Some(value) => all_or_none(value).ok_or_else(|| {
            SchemaError::configuration(format!(
                "Invalid value '{value}' for caching sub-option 'keys': only 'ALL' and 'NONE' are allowed"
            ))
        })?,
    };
    let rows = match given.get("rows_per_partition") {
        None => "NONE".to_owned(),
        Some(value) => match (all_or_none(value), value.parse::<i32>()) {
            (Some(word), _) => word,
            (None, Ok(count)) if count >= 0 => count.to_string(),
            _ => {
                return Err(SchemaError::configuration(format!(
                    "Invalid value '{value}' for caching sub-option 'rows_per_partition': \
                     only 'ALL', 'NONE', and integer values are allowed"
                )));
            }
        },
    };
    Ok(BTreeMap::from([("keys".to_owned(), keys), ("rows_per_partition".to_owned(), rows)]))
}

fn all_or_none(value: &str) -> Option<String> {
    let word = value.to_ascii_uppercase();
    matches!(word.as_str(), "ALL" | "NONE").then_some(word)
}
