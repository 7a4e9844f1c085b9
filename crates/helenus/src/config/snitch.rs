//! The place of a node as Cassandra's snitches have it: by names that are the same for all, from `cassandra-rackdc.properties` beside the
//! configuration file, or by the node's address from `cassandra-topology.properties` there.
//!
//! Of a file by addresses only this node's line is read: the places of others are what they registered with the cluster.

use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::ConfigError;
use super::place::Place;
use super::yaml::Node;

/// The file that names datacenter and rack.
const FILE_NAME: &str = "cassandra-rackdc.properties";
/// The file that names them for each address.
const TOPOLOGY_FILE_NAME: &str = "cassandra-topology.properties";
/// The snitch that reads it.
const BY_ADDRESS: &str = "PropertyFileSnitch";
/// The key of nodes that the file does not name.
const DEFAULT: &str = "default";
/// The most bytes that are read of either.
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

/// The place of a node, from where `endpoint_snitch` says that it is.
#[derive(Debug, Default)]
pub enum Placement {
    /// The usual datacenter and rack.
    #[default]
    Usual,
    /// Datacenter and rack.
    Named(String, String),
    /// By the node's address, which the configuration's other keys and flags say.
    ByAddress(Topology),
}

/// The places of addresses, and the key that asked for them.
#[derive(Debug)]
pub struct Topology {
    path: PathBuf,
    text: String,
    file: String,
    line: u64,
    key: String,
}

impl Placement {
    /// Datacenter and rack of the node at an address, which is asked for only where it counts: it may be a name that does not resolve. `None`: the usual ones.
    pub(super) fn of(
        &self,
        address: impl FnOnce() -> Result<IpAddr, ConfigError>,
    ) -> Result<Option<(String, String)>, ConfigError> {
        match self {
            Placement::Usual => Ok(None),
            Placement::Named(datacenter, rack) => Ok(Some((datacenter.clone(), rack.clone()))),
            Placement::ByAddress(topology) => topology.of(address()?).map(Some),
        }
    }
}

impl Topology {
    fn of(&self, address: IpAddr) -> Result<(String, String), ConfigError> {
        let shown = self.path.display();
        let wrong = |reason| {
            let (file, line, key) = (self.file.clone(), self.line, self.key.clone());
            ConfigError::FileValue { file, line, key, reason }
        };
        let named = address_property(&self.text, address).or_else(|| property(&self.text, DEFAULT));
        let place = named.ok_or_else(|| {
            wrong(format!(
                "Snitch definitions at {shown} do not define a location for this node's broadcast address {address}, nor does it \
                 provides a default"
            ))
        })?;
        match place.split_once(':').map(|(datacenter, rack)| (datacenter.trim(), rack.trim())) {
            Some((datacenter, rack)) if !datacenter.is_empty() && !rack.is_empty() => {
                Ok((datacenter.to_owned(), rack.to_owned()))
            }
            _ => Err(wrong(format!("{shown} has '{place}' for {address}, which is not DATACENTER:RACK"))),
        }
    }
}

/// Reads where `endpoint_snitch` says that the place of the node is written.
pub(super) fn read(place: &Place<'_>, node: &Node) -> Result<Placement, ConfigError> {
    let class = place.class(node)?;
    if class == SIMPLE {
        return Ok(Placement::Usual);
    }
    if class == BY_ADDRESS {
        let path = Path::new(place.file).with_file_name(TOPOLOGY_FILE_NAME);
        let text = text_of(&path).map_err(|error| place.wrong(format!("cannot read {}: {error}", path.display())))?;
        let (file, line, key) = (place.file.to_owned(), place.line, place.key.clone());
        return Ok(Placement::ByAddress(Topology { path, text, file, line, key }));
    }
    if !READ_FILE.contains(&class) {
        let known = READ_FILE.join(", ");
        return Err(place.wrong(format!("{class} is not supported; choose {SIMPLE}, {BY_ADDRESS}, or one of {known}")));
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
    Ok(Placement::Named(format!("{datacenter}{suffix}"), rack.to_owned()))
}

/// The property of an address. Colons of an address are escaped in the file, so that they do not end the key.
fn address_property(text: &str, address: IpAddr) -> Option<&str> {
    let mut values = lines(text).filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let name = name.trim().replace('\\', "");
        (name.parse() == Ok(address)).then_some(value.trim())
    });
    values.next_back().filter(|value| !value.is_empty())
}

/// The lines that are no comments.
fn lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.starts_with(['#', '!']))
}

/// The snitch's name without its package. It is one that [`read`] accepts.
pub(super) fn name(place: &Place<'_>, node: &Node) -> Result<&'static str, ConfigError> {
    let class = place.class(node)?;
    let known = READ_FILE.into_iter().chain([SIMPLE, BY_ADDRESS]).find(|known| *known == class);
    known.ok_or_else(|| place.wrong(format!("{class} is not supported")))
}

/// A property of Java's format, without its escapes; the last of several counts.
fn property<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let mut values = lines(text).filter_map(|line| {
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

    fn place(text: &str, address: &str) -> Result<(String, String), String> {
        let (path, file) = (PathBuf::from("cassandra-topology.properties"), "cassandra.yaml".to_owned());
        let topology = Topology { path, text: text.to_owned(), file, line: 3, key: "endpoint_snitch".to_owned() };
        topology.of(address.parse().expect("an address")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_place_by_address_is_the_node_s_line_or_the_default() {
        let named = |datacenter: &str, rack: &str| Ok((datacenter.to_owned(), rack.to_owned()));
        let text = "# 10.0.0.1=no:no\ndefault=dc1:r1\n10.0.0.2=dc2:r2\n10.0.0.2 = dc3 : r3\n2001\\:db8\\:\\:1=dc6:r6\n";
        assert_eq!(place(text, "10.0.0.1"), named("dc1", "r1"));
        assert_eq!(place(text, "10.0.0.2"), named("dc3", "r3"));
        assert_eq!(place(text, "2001:db8::1"), named("dc6", "r6"));
        assert_eq!(
            place("10.0.0.2=dc2:r2\n", "10.0.0.1"),
            Err("cassandra.yaml, line 3: endpoint_snitch: Snitch definitions at cassandra-topology.properties do not define a location \
                 for this node's broadcast address 10.0.0.1, nor does it provides a default"
                .to_owned())
        );
        for wrong in ["default=dc1\n", "default=dc1:\n", "default=:r1\n"] {
            assert!(place(wrong, "10.0.0.1").expect_err("it is no place").ends_with("which is not DATACENTER:RACK"));
        }
    }
}
