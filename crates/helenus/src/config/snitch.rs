//! The place of a node as Cassandra's snitches have it: by names that are the same for all, or from `cassandra-rackdc.properties` beside the
//! configuration file.

use std::io::Read;
use std::path::Path;

use super::ConfigError;
use super::place::Place;
use super::yaml::Node;

/// The file that names datacenter and rack.
const FILE_NAME: &str = "cassandra-rackdc.properties";
/// The most bytes that are read of it.
const BYTES_MAX: u64 = 64 << 10;
/// The one that needs no file, and the default.
pub(super) const SIMPLE: &str = "SimpleSnitch";
/// Those that read it. The cloud's snitches ask their provider first; here the file has the last word.
const READ_FILE: [&str; 8] = [
    "GossipingPropertyFileSnitch",
    "Ec2Snitch",
    "Ec2MultiRegionSnitch",
    "GoogleCloudSnitch",
    "CloudstackSnitch",
    "AlibabaCloudSnitch",
    "AzureSnitch",
    "CloudMetadataSnitch",
];

/// Datacenter and rack, from where `endpoint_snitch` says that they are; `None`: the usual ones.
pub(super) fn read(place: &Place<'_>, node: &Node) -> Result<Option<(String, String)>, ConfigError> {
    let class = place.class(node)?;
    if class == SIMPLE {
        return Ok(None);
    }
    if !READ_FILE.contains(&class) {
        let known = READ_FILE.join(", ");
        return Err(place.wrong(format!("{class} is not supported; choose {SIMPLE}, or one of {known}")));
    }
    let path = Path::new(place.file).with_file_name(FILE_NAME);
    let shown = path.display();
    let text = text_of(&path).map_err(|error| place.wrong(format!("cannot read {shown}: {error}")))?;
    let (Some(datacenter), Some(rack)) = (property(&text, "dc"), property(&text, "rack")) else {
        return Err(
            place.wrong(format!("DC or rack not found in snitch properties, check your configuration in: {shown}"))
        );
    };
    let suffix = property(&text, "dc_suffix").unwrap_or_default();
    Ok(Some((format!("{datacenter}{suffix}"), rack.to_owned())))
}

/// The snitch's name without its package. It is one that [`read`] accepts.
pub(super) fn name(place: &Place<'_>, node: &Node) -> Result<&'static str, ConfigError> {
    let class = place.class(node)?;
    let known = READ_FILE.into_iter().chain([SIMPLE]).find(|known| *known == class);
    known.ok_or_else(|| place.wrong(format!("{class} is not supported")))
}

/// A property of Java's format, without its escapes; the last of several counts.
fn property<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', '!']));
    let mut values = lines.filter_map(|line| {
        let (name, value) = line.split_once(['=', ':'])?;
        (name.trim() == key).then_some(value.trim())
    });
    values.next_back().filter(|value| !value.is_empty())
}

/// The file's text, of which no more is read than such a file has.
fn text_of(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let file = std::fs::OpenOptions::new().read(true).open(path)?;
    file.take(BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_read_as_java_writes_them() {
        let text = "# dc=no\n! rack=no\ndc = DC1\nrack:RAC1\r\n prefer_local=true\ndc_suffix=\ndc=DC2\n";
        assert_eq!(property(text, "dc"), Some("DC2"));
        assert_eq!(property(text, "rack"), Some("RAC1"));
        assert_eq!((property(text, "dc_suffix"), property(text, "other")), (None, None));
    }
}
