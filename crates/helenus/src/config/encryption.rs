//! `server_encryption_options`, `client_encryption_options` and `api_tls`: TLS between nodes, with clients and with operators, in Cassandra's words and in ScyllaDB's.
//!
//! An option that would be less safe here than there, or not there at all, is refused; so is one that is not known, since a misspelt one would leave a
//! connection open. Where nothing is switched on the others mean nothing, as in the file that Cassandra ships.

mod api;
mod clients;
mod files;
mod internode;
#[cfg(test)]
pub(super) mod testing;

pub use api::ApiEncryption;
pub use clients::ClientEncryption;
pub use internode::InternodeEncryption;

use std::path::PathBuf;

use tls::{Pem, Source, Sources, Versions};

use super::ConfigError;
use super::place::{Place, class_parameters};
use super::yaml::Node;

/// Options that change nothing here: the key is not encrypted, and trusted certificates need no password.
const WITHOUT_EFFECT: [&str; 6] = [
    "keystore_password",
    "truststore_password",
    "outbound_keystore_password",
    "algorithm",
    "enable_session_tickets",
    "certificate_validity_warn_threshold",
];

#[derive(Default)]
struct Found {
    certificate: Option<Source>,
    key: Option<Source>,
    trusted: Option<Source>,
    /// Of a factory's parameters, which come before files.
    inline_key: Option<Source>,
    inline_trusted: Option<Source>,
    /// A file with both certificate and key.
    keystore: Option<Source>,
}

/// Options as they are read, one after the other.
struct Reading<'p> {
    place: &'p Place<'p>,
    sources: Found,
    versions: Versions,
}

/// The option of a mapping, if it has a value.
fn option<'n>(entries: &'n [(String, Node)], name: &str) -> Option<&'n Node> {
    let found = entries.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value).filter(|value| **value != Node::Nothing)
}

/// True if the option of a mapping is there and true.
fn flag(place: &Place<'_>, entries: &[(String, Node)], name: &str) -> Result<bool, ConfigError> {
    option(entries, name).map_or(Ok(false), |value| place.flag(value))
}

impl Reading<'_> {
    fn new<'p>(place: &'p Place<'p>) -> Reading<'p> {
        Reading { place, sources: Found::default(), versions: Versions::default() }
    }

    /// Reads an option that both kinds of connections have.
    fn option(&mut self, name: &str, value: &Node) -> Result<(), ConfigError> {
        let place = self.place;
        let refuse = |why: &str| Err(place.wrong(format!("{name} is not supported: {why}")));
        let file = |value| place.text(value).map(|path| Some(Source::File(PathBuf::from(path))));
        match name {
            "keystore" => self.sources.keystore = file(value)?,
            "certificate" => self.sources.certificate = file(value)?,
            "keyfile" => self.sources.key = file(value)?,
            "truststore" => self.sources.trusted = file(value)?,
            "ssl_context_factory" => return self.factory(value),
            "protocol" => {
                self.versions = match place.text(value)? {
                    "TLS" => self.versions,
                    version => self.versions(&[version])?,
                };
            }
            "accepted_protocols" => {
                let Node::List(list) = value else { return Err(place.wrong("accepted_protocols: expected a list")) };
                let names = list.iter().map(|name| place.text(name)).collect::<Result<Vec<_>, _>>()?;
                self.versions = self.versions(&names)?;
            }
            "store_type" => match place.text(value)? {
                "PEM" => {}
                other => return Err(place.wrong(format!("store_type: {other} is not supported, only PEM"))),
            },
            "cipher_suites" | "priority_string" => {
                return refuse(
                    "the suites are those of TLS 1.3, and of TLS 1.2 with ECDHE and AES-GCM or ChaCha20; remove it",
                );
            }
            "certficate_revocation_list" | "certificate_revocation_list" => {
                return refuse("revocation lists are not read; exchange the trusted certificates instead");
            }
            name if WITHOUT_EFFECT.contains(&name) => {}
            name => return Err(place.wrong(format!("{name} is not a supported option"))),
        }
        Ok(())
    }

    /// `ssl_context_factory`, with its parameters.
    fn factory(&mut self, value: &Node) -> Result<(), ConfigError> {
        let place = self.place;
        match place.class(value)? {
            "PEMBasedSslContextFactory" | "DefaultSslContextFactory" => {}
            other => return Err(place.wrong(format!("{other} is not supported, only PEMBasedSslContextFactory"))),
        }
        let Some(parameters) = class_parameters(value) else {
            return Err(place.wrong("ssl_context_factory: expected a mapping of parameters"));
        };
        for (name, value) in parameters.iter().filter(|(_, value)| *value != Node::Nothing) {
            let pem = || {
                let (name, bytes) = (format!("parameter {name}"), place.text(value)?.as_bytes().to_vec());
                Ok::<_, ConfigError>(Some(Source::Inline(Pem { name, bytes })))
            };
            match name.as_str() {
                "private_key" => self.sources.inline_key = pem()?,
                "trusted_certificates" => self.sources.inline_trusted = pem()?,
                "private_key_password" => {}
                name => return Err(place.wrong(format!("{name} is not a supported parameter of ssl_context_factory"))),
            }
        }
        Ok(())
    }

    fn versions(&self, names: &[&str]) -> Result<Versions, ConfigError> {
        let has = |version: &str| names.contains(&version);
        if let Some(other) = names.iter().find(|name| !matches!(**name, "TLSv1.2" | "TLSv1.3")) {
            return Err(self.place.wrong(format!("protocol {other} is not supported, only TLSv1.2 and TLSv1.3")));
        }
        match (has("TLSv1.2"), has("TLSv1.3")) {
            (true, true) => Ok(Versions::Both),
            (true, false) => Ok(Versions::Tls12),
            (false, true) => Ok(Versions::Tls13),
            (false, false) => Err(self.place.wrong("accepted_protocols: name TLSv1.2, TLSv1.3 or both")),
        }
    }

    /// The places of the PEM, which `needing` needs: that of trusted certificates may be missing.
    fn complete(self, needing: &str) -> Result<Sources, ConfigError> {
        let Found { certificate, key, trusted, inline_key, inline_trusted, keystore } = self.sources;
        // One PEM may have both, as Cassandra wants it.
        let certificate = inline_key.clone().or(certificate).or(keystore.clone());
        let key = inline_key.or(key).or(keystore);
        let lacks = |what: &str| self.place.wrong(format!("{needing} needs {what}"));
        let certificate = certificate
            .ok_or_else(|| lacks("a certificate: set keystore to a PEM file with certificate and private key, or certificate and keyfile"))?;
        let key = key.ok_or_else(|| lacks("a private key: set keyfile to its PEM file"))?;
        Ok(Sources { certificate, key, trusted: inline_trusted.or(trusted) })
    }
}
