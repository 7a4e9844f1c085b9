//! `server_encryption_options`: TLS between nodes.

use tls::{Credentials, Options, Sources};

use super::files::pems_of;
use super::{Reading, flag, option};
use crate::config::ConfigError;
use crate::config::place::Place;
use crate::config::yaml::Node;

/// Where the PEM of a node is, and how it is used.
#[derive(Debug)]
pub struct InternodeEncryption {
    sources: Sources,
    options: Options,
}

impl InternodeEncryption {
    /// The options of the file; `None`: connections between nodes are plain.
    pub(in crate::config) fn read(place: &Place<'_>, node: &Node) -> Result<Option<InternodeEncryption>, ConfigError> {
        let Node::Map(entries) = node else { return Err(place.wrong("expected a mapping")) };
        if flag(place, entries, "legacy_ssl_storage_port_enabled")? {
            return Err(place.wrong(
                "legacy_ssl_storage_port_enabled: true is not supported: storage_port is the only port between nodes",
            ));
        }
        match option(entries, "internode_encryption").map(|value| place.text(value)).transpose()?.unwrap_or("none") {
            "all" => {}
            "none" | "false" if flag(place, entries, "enabled")? => {
                return Err(place.wrong("enabled: true encrypts nothing between nodes; set internode_encryption: all"));
            }
            "none" | "false" => return Ok(None),
            some @ ("dc" | "rack") => {
                return Err(place.wrong(format!(
                    "internode_encryption: {some} is not supported: a plain connection does not prove which datacenter and rack a node is of; set all or none"
                )));
            }
            other => {
                return Err(place.wrong(format!("internode_encryption: {other} is not supported; set all or none")));
            }
        }
        let (mut reading, mut verifies_addresses) = (Reading::new(place), false);
        for (name, value) in entries.iter().filter(|(_, value)| *value != Node::Nothing) {
            let refuse = |why: &str| Err(place.wrong(format!("{name} is not supported: {why}")));
            match name.as_str() {
                "internode_encryption" | "legacy_ssl_storage_port_enabled" => {}
                // Implied.
                "enabled" => drop(place.flag(value)?),
                // Both ends always prove themselves, which is the strictest of its values.
                "require_client_auth" => match place.text(value)?.to_ascii_lowercase().as_str() {
                    "true" | "false" | "required" | "optional" | "not_required" => {}
                    other => {
                        return Err(place.wrong(format!("require_client_auth: '{other}' is neither true nor false")));
                    }
                },
                "require_endpoint_verification" => verifies_addresses = place.flag(value)?,
                "optional" if place.flag(value)? => {
                    return refuse("a node of a cluster with TLS accepts no plain connection; set it to false");
                }
                "optional" => {}
                "outbound_keystore" => return refuse("a node proves itself by one certificate, whichever end dials"),
                name => reading.option(name, value)?,
            }
        }
        let options = Options { versions: reading.versions, verifies_addresses };
        let sources = reading.complete("internode_encryption: all")?;
        if sources.trusted.is_none() {
            return Err(place.wrong(
                "internode_encryption: all needs trusted certificates: set truststore to the PEM file of the authority's certificate",
            ));
        }
        Ok(Some(InternodeEncryption { sources, options }))
    }

    /// Reads the files.
    pub(in crate::config) fn credentials(self) -> Result<Credentials, ConfigError> {
        let wrong = |error| ConfigError::Certificates { key: "server_encryption_options", error };
        let pems = pems_of(&self.sources).map_err(wrong)?;
        Credentials::new(self.sources, pems, self.options).map_err(wrong)
    }
}

#[cfg(test)]
mod tests;
