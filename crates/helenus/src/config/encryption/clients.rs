//! `client_encryption_options`: TLS on clients' connections.

use tls::{ClientCertificates, ServerCredentials, ServerOptions, Sources};

use super::files::pems_of;
use super::{Reading, flag};
use crate::config::ConfigError;
use crate::config::place::Place;
use crate::config::yaml::Node;

/// Where the PEM for clients' connections is, and how it is used.
#[derive(Debug)]
pub struct ClientEncryption {
    pub(super) sources: Sources,
    pub(super) options: ServerOptions,
    /// Plain clients are served on the same port.
    pub(in crate::config) is_optional: bool,
}

impl ClientEncryption {
    /// The options of the file; `None`: clients' connections are plain.
    pub(in crate::config) fn read(place: &Place<'_>, node: &Node) -> Result<Option<ClientEncryption>, ConfigError> {
        let Node::Map(entries) = node else { return Err(place.wrong("expected a mapping")) };
        let is_optional = flag(place, entries, "optional")?;
        let is_enabled = flag(place, entries, "enabled")?;
        if !is_enabled && !is_optional {
            return Ok(None);
        }
        let (mut reading, mut client_certificates) = (Reading::new(place), ClientCertificates::Ignored);
        for (name, value) in entries.iter().filter(|(_, value)| *value != Node::Nothing) {
            let refuse = |why: &str| Err(place.wrong(format!("{name} is not supported: {why}")));
            match name.as_str() {
                "enabled" | "optional" => {}
                "require_client_auth" => client_certificates = certificates(place, value)?,
                "require_endpoint_verification" if place.flag(value)? => {
                    return refuse("the certificate of a client is not bound to its address; set it to false");
                }
                "require_endpoint_verification" => {}
                name => reading.option(name, value)?,
            }
        }
        let options = ServerOptions { versions: reading.versions, client_certificates };
        let needing = if is_enabled { "enabled: true" } else { "optional: true" };
        let mut sources = reading.complete(needing)?;
        match client_certificates {
            // The stock file names a truststore that need not be there.
            ClientCertificates::Ignored => sources.trusted = None,
            _ if sources.trusted.is_none() => {
                return Err(place.wrong(
                    "require_client_auth needs trusted certificates: set truststore to the PEM file of the authority's certificate",
                ));
            }
            _ => {}
        }
        Ok(Some(ClientEncryption { sources, options, is_optional }))
    }

    /// True if a client that has no certificate of a trusted authority is not served.
    pub(in crate::config) fn proves_clients(&self) -> bool {
        !self.is_optional && self.options.client_certificates == ClientCertificates::Required
    }

    /// How far clients are asked for certificates.
    pub(in crate::config) fn client_certificates(&self) -> ClientCertificates {
        self.options.client_certificates
    }

    /// Reads the files.
    pub(in crate::config) fn credentials(self) -> Result<ServerCredentials, ConfigError> {
        let wrong = |error| ConfigError::Certificates { key: "client_encryption_options", error };
        let pems = pems_of(&self.sources).map_err(wrong)?;
        ServerCredentials::new(self.sources, pems, self.options).map_err(wrong)
    }
}

fn certificates(place: &Place<'_>, value: &Node) -> Result<ClientCertificates, ConfigError> {
    match place.text(value)?.to_ascii_lowercase().as_str() {
        "true" | "required" => Ok(ClientCertificates::Required),
        "optional" => Ok(ClientCertificates::Optional),
        "false" | "not_required" => Ok(ClientCertificates::Ignored),
        other => Err(place.wrong(format!("require_client_auth: '{other}' is not true, false or optional"))),
    }
}

#[cfg(test)]
mod tests;
