//! `server_encryption_options`: TLS between nodes, in Cassandra's words and in ScyllaDB's.
//!
//! An option that would be less safe here than there, or not there at all, is refused; so is one that is not known, since a misspelt one would leave a
//! connection open. With `internode_encryption: none` the others mean nothing, as in the file that Cassandra ships.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tls::{Credentials, MaterialError, Options, PEM_BYTES_MAX, Pem, Pems, Source, Sources, Versions};

use super::ConfigError;
use super::place::Place;
use super::yaml::Node;

/// Opening a named pipe does not wait for its writer.
const O_NONBLOCK: i32 = 0o4000;

/// Options that change nothing here: the key is not encrypted, trusted certificates need no password, and no session is resumed.
const WITHOUT_EFFECT: [&str; 6] = [
    "keystore_password",
    "truststore_password",
    "outbound_keystore_password",
    "algorithm",
    "enable_session_tickets",
    "certificate_validity_warn_threshold",
];

/// Where the PEM of a node is, and how it is used.
#[derive(Debug)]
pub struct InternodeEncryption {
    sources: Sources,
    options: Options,
}

impl InternodeEncryption {
    /// Reads the files.
    pub(super) fn credentials(self) -> Result<Credentials, ConfigError> {
        let Sources { certificate, key, trusted } = &self.sources;
        let pems = Pems { certificate: pem_of(certificate)?, key: pem_of(key)?, trusted: pem_of(trusted)? };
        Ok(Credentials::new(self.sources, pems, self.options)?)
    }
}

/// The options of the file; `None`: connections between nodes are plain.
pub(super) fn read(place: &Place<'_>, node: &Node) -> Result<Option<InternodeEncryption>, ConfigError> {
    let Node::Map(entries) = node else { return Err(place.wrong("expected a mapping")) };
    let option = |name: &str| {
        let found = entries.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value).filter(|value| **value != Node::Nothing)
    };
    let flag = |name: &str| option(name).map_or(Ok(false), |value| place.flag(value));
    if flag("legacy_ssl_storage_port_enabled")? {
        return Err(place.wrong(
            "legacy_ssl_storage_port_enabled: true is not supported: storage_port is the only port between nodes",
        ));
    }
    match option("internode_encryption").map(|value| place.text(value)).transpose()?.unwrap_or("none") {
        "all" => {}
        "none" | "false" if flag("enabled")? => {
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
    let mut read = Reading { place, sources: Default::default(), options: Options::default() };
    entries
        .iter()
        .filter(|(_, value)| *value != Node::Nothing)
        .try_for_each(|(name, value)| read.option(name, value))?;
    read.complete().map(Some)
}

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
    options: Options,
}

impl Reading<'_> {
    fn option(&mut self, name: &str, value: &Node) -> Result<(), ConfigError> {
        let place = self.place;
        let refuse = |why: &str| Err(place.wrong(format!("{name} is not supported: {why}")));
        let file = |value| place.text(value).map(|path| Some(Source::File(PathBuf::from(path))));
        match name {
            "internode_encryption" | "legacy_ssl_storage_port_enabled" => {}
            // Implied.
            "enabled" => drop(place.flag(value)?),
            "keystore" => self.sources.keystore = file(value)?,
            "certificate" => self.sources.certificate = file(value)?,
            "keyfile" => self.sources.key = file(value)?,
            "truststore" => self.sources.trusted = file(value)?,
            "ssl_context_factory" => return self.factory(value),
            // Both ends always prove themselves, which is the strictest of its values.
            "require_client_auth" => match place.text(value)?.to_ascii_lowercase().as_str() {
                "true" | "false" | "required" | "optional" | "not_required" => {}
                other => return Err(place.wrong(format!("require_client_auth: '{other}' is neither true nor false"))),
            },
            "require_endpoint_verification" => self.options.verifies_addresses = place.flag(value)?,
            "optional" if place.flag(value)? => {
                return refuse("a node of a cluster with TLS accepts no plain connection; set it to false");
            }
            "optional" => {}
            "protocol" => {
                self.options.versions = match place.text(value)? {
                    "TLS" => self.options.versions,
                    version => self.versions(&[version])?,
                };
            }
            "accepted_protocols" => {
                let Node::List(list) = value else { return Err(place.wrong("accepted_protocols: expected a list")) };
                let names = list.iter().map(|name| place.text(name)).collect::<Result<Vec<_>, _>>()?;
                self.options.versions = self.versions(&names)?;
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
            "outbound_keystore" => return refuse("a node proves itself by one certificate, whichever end dials"),
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
        let Node::Map(entries) = value else { return Ok(()) };
        let parameters = entries.iter().find(|(key, _)| key == "parameters").map(|(_, value)| value);
        // ParameterizedClass' parameters are a mapping, or a list with one.
        let parameters = match parameters {
            Some(Node::List(list)) => list.first(),
            other => other,
        };
        let parameters: &[(String, Node)] = match parameters {
            None | Some(Node::Nothing) => &[],
            Some(Node::Map(entries)) => entries,
            Some(_) => return Err(place.wrong("ssl_context_factory: expected a mapping of parameters")),
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

    fn complete(self) -> Result<InternodeEncryption, ConfigError> {
        let Found { certificate, key, trusted, inline_key, inline_trusted, keystore } = self.sources;
        // One PEM may have both, as Cassandra wants it.
        let certificate = inline_key.clone().or(certificate).or(keystore.clone());
        let key = inline_key.or(key).or(keystore);
        let lacks = |what: &str| self.place.wrong(format!("internode_encryption: all needs {what}"));
        let certificate = certificate
            .ok_or_else(|| lacks("a certificate: set keystore to a PEM file with certificate and private key, or certificate and keyfile"))?;
        let key = key.ok_or_else(|| lacks("a private key: set keyfile to its PEM file"))?;
        let trusted = inline_trusted.or(trusted).ok_or_else(|| {
            lacks("trusted certificates: set truststore to the PEM file of the authority's certificate")
        })?;
        Ok(InternodeEncryption { sources: Sources { certificate, key, trusted }, options: self.options })
    }
}

fn pem_of(source: &Source) -> Result<Pem, MaterialError> {
    match source {
        Source::Inline(pem) => Ok(pem.clone()),
        Source::File(path) => {
            let name = source.name();
            match bytes_of(path) {
                Ok(bytes) if bytes.len() as u64 > PEM_BYTES_MAX => {
                    Err(MaterialError::TooLong { name, max: PEM_BYTES_MAX })
                }
                Ok(bytes) => Ok(Pem { name, bytes }),
                Err(reason) => Err(MaterialError::Unreadable { name, reason }),
            }
        }
    }
}

/// The file's bytes, and at most one more than it may have.
fn bytes_of(path: &Path) -> Result<Vec<u8>, String> {
    let reason = |error: std::io::Error| error.to_string();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path).map_err(reason)?;
    if !file.metadata().map_err(reason)?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(PEM_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(reason)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
