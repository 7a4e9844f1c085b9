//! The `compression` option.

use std::collections::BTreeMap;

use crate::error::SchemaError;

/// Where Cassandra's compressors live; their short names mean the same.
const PACKAGE: &str = "org.apache.cassandra.io.compress.";

const CHUNK_LENGTH_IN_KB_DEFAULT: &str = "16";

/// The option as Cassandra keeps it. An empty map turns compression off. Warnings are appended.
pub(crate) fn read(
    mut given: BTreeMap<String, String>,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<String, String>, SchemaError> {
    read_old_names(&mut given, warnings)?;
    let enabled = given.remove("enabled");
    let is_enabled = enabled.as_deref().is_none_or(|value| value.eq_ignore_ascii_case("true"));
    if !is_enabled && !given.is_empty() {
        return Err(wrong("If the 'enabled' option is set to false no other options must be specified"));
    }
    if !is_enabled || (enabled.is_none() && given.is_empty()) {
        return Ok(BTreeMap::from([("enabled".to_owned(), "false".to_owned())]));
    }
    let Some(class) = given.remove("class") else {
        return Err(wrong("Missing sub-option 'class' for the 'compression' option."));
    };
    if class.is_empty() {
        return Err(wrong("The 'class' option must not be empty. To disable compression use 'enabled' : false"));
    }
    let name = class.strip_prefix(PACKAGE).unwrap_or(&class).to_owned();
    let mut kept = BTreeMap::new();
    let chunk_length = given.remove("chunk_length_in_kb").unwrap_or_else(|| CHUNK_LENGTH_IN_KB_DEFAULT.to_owned());
    check_chunk_length(&chunk_length)?;
    kept.insert("chunk_length_in_kb".to_owned(), chunk_length);
    if let Some(ratio) = given.remove("min_compress_ratio") {
        match ratio.parse::<f64>() {
            Ok(value) if value == 0.0 || value >= 1.0 => {}
            Ok(_) => return Err(wrong("min_compress_ratio can either be 0 or greater than or equal to 1")),
            Err(_) => return Err(wrong(&format!("Invalid value [{ratio}] for min_compress_ratio"))),
        }
        kept.insert("min_compress_ratio".to_owned(), ratio);
    }
    check_compressor(&name, &class, &given)?;
    kept.insert("class".to_owned(), format!("{PACKAGE}{name}"));
    kept.extend(given);
    Ok(kept)
}

/// Gives the sub-options their present names, where the old name of `class` is used. ScyllaDB's DESCRIBE writes that one, and an empty class for none.
/// Without it the other old names are refused, as in Cassandra, which refuses that one too.
fn read_old_names(given: &mut BTreeMap<String, String>, warnings: &mut Vec<String>) -> Result<(), SchemaError> {
    let Some(class) = given.remove("sstable_compression") else { return Ok(()) };
    if given.contains_key("class") {
        return Err(wrong(
            "The 'sstable_compression' option must not be used if the compression algorithm is already specified by the 'class' option",
        ));
    }
    if let Some(length) = given.remove("chunk_length_kb") {
        if given.contains_key("chunk_length_in_kb") {
            return Err(wrong(
                "The 'chunk_length_kb' option must not be used if the chunk length is already specified by the 'chunk_length_in_kb' option",
            ));
        }
        given.insert("chunk_length_in_kb".to_owned(), length);
    }
    if given.remove("crc_check_chance").is_some() {
        warnings
            .push("The compression option 'crc_check_chance' has no effect: it is a property of the table".to_owned());
    }
    // A name of nothing is no compression, whatever stands beside it.
    if class.is_empty() {
        given.clear();
        return Ok(());
    }
    let short = class.strip_prefix(PACKAGE).unwrap_or(&class);
    let plain = match short {
        "LZ4WithDictsCompressor" => "LZ4Compressor",
        "ZstdWithDictsCompressor" => "ZstdCompressor",
        other => {
            given.insert("class".to_owned(), other.to_owned());
            return Ok(());
        }
    };
    warnings.push(format!("The table is compressed by {plain}: there are no dictionaries for {short}"));
    given.insert("class".to_owned(), plain.to_owned());
    Ok(())
}

fn check_chunk_length(text: &str) -> Result<(), SchemaError> {
    let Ok(kib) = text.parse::<i32>() else { return Err(wrong("Invalid value for chunk_length_in_kb")) };
    if kib > i32::MAX / 1024 {
        return Err(wrong(&format!("Value of chunk_length_in_kb is too large ({text})")));
    }
    match u32::try_from(kib) {
        Err(_) | Ok(0) => Err(wrong("Invalid negative or null chunk_length_in_kb")),
        Ok(kib) if !kib.is_power_of_two() => Err(wrong("chunk_length_in_kb must be a power of 2")),
        Ok(_) => Ok(()),
    }
}

/// Checks a compressor's own options: all that is left of the map.
fn check_compressor(name: &str, class: &str, own: &BTreeMap<String, String>) -> Result<(), SchemaError> {
    let known: &[&str] = match name {
        "LZ4Compressor" => &["lz4_compressor_type", "lz4_high_compressor_level"],
        "ZstdCompressor" => &["compression_level"],
        "SnappyCompressor" | "DeflateCompressor" | "NoopCompressor" => &[],
        _ if class.contains('.') => return Err(wrong(&format!("Could not create Compression for type {class}"))),
        _ => return Err(wrong(&format!("Could not create Compression for type {PACKAGE}{name}"))),
    };
    let unknown: Vec<&str> = own.keys().map(String::as_str).filter(|key| !known.contains(key)).collect();
    if !unknown.is_empty() {
        return Err(wrong(&format!("Unknown compression options {}", unknown.join(", "))));
    }
    if let Some(kind) = own.get("lz4_compressor_type")
        && !matches!(kind.as_str(), "high" | "fast")
    {
        return Err(wrong(&format!(
            "Invalid compressor type '{kind}' specified for LZ4 parameter 'lz4_compressor_type'. \
                 Valid options are [high, fast]."
        )));
    }
    if let Some(level) = own.get("lz4_high_compressor_level")
        && !level.parse::<i32>().is_ok_and(|level| (1..=17).contains(&level))
    {
        return Err(wrong(&format!(
            "Invalid value [{level}] for parameter 'lz4_high_compressor_level'. Value must be between 1 and 17."
        )));
    }
    // Zstandard's own bounds.
    if let Some(level) = own.get("compression_level")
        && !level.parse::<i32>().is_ok_and(|level| (-131_072..=22).contains(&level))
    {
        return Err(wrong(&format!("ZstdCompressor: compression_level={level} is invalid")));
    }
    Ok(())
}

fn wrong(message: &str) -> SchemaError {
    SchemaError::configuration(message)
}
