//! How a node is reached safely: TLS with certificates in PEM, and the operator's name and password.
//!
//! Passwords stand in files and in the environment as well as on the command line, where other users of the machine can read them. None is in an error.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustls::RootCertStore;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig, TlsProvider};

use crate::arguments::Arguments;
use crate::error::ToolError;

/// The variable of the environment that may have the password.
const PASSWORD_VARIABLE: &str = "HELENUS_PASSWORD";
/// No file of certificates or passwords is longer.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The certificates and the login of a command line.
#[derive(Default)]
pub(crate) struct Access {
    /// The settings of TLS; `None`: the node is asked in plain text.
    pub(crate) tls: Option<TlsConfig>,
    /// The value of the header with name and password.
    pub(crate) authorization: Option<String>,
}

impl Access {
    /// Reads the files that the arguments name.
    pub(crate) fn of(arguments: &Arguments) -> Result<Access, ToolError> {
        let password = password(arguments, std::env::var(PASSWORD_VARIABLE).ok())?;
        let authorization = arguments.username.as_ref().zip(password).map(|(name, password)| {
            let pair = BASE64_STANDARD.encode(format!("{name}:{password}"));
            format!("Basic {pair}")
        });
        Ok(Access { tls: tls(arguments)?, authorization })
    }
}

/// The password of the user; `None`: there is no user.
fn password(arguments: &Arguments, variable: Option<String>) -> Result<Option<String>, ToolError> {
    let (given, file) = (&arguments.password, &arguments.password_file);
    let Some(user) = &arguments.username else {
        return match given.is_some() || file.is_some() {
            true => Err(ToolError::usage("a password needs -u, the user")),
            false => Ok(None),
        };
    };
    if user.contains(':') {
        return Err(ToolError::usage("a user with a colon cannot log in over HTTP"));
    }
    let found = match (given, file) {
        // As in Cassandra's.
        (_, Some(file)) => of_file(&text_of(file)?, user),
        (Some(given), None) => Some(given.clone()),
        (None, None) => variable,
    };
    let found = found.filter(|password| !password.is_empty());
    let missing =
        || ToolError::usage(format!("no password for {user}: set -pwf, the variable HELENUS_PASSWORD or -pw"));
    found.ok_or_else(missing).map(Some)
}

/// The password that a file has for a user: a line for each, as in JMX's files.
fn of_file(text: &str, user: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(user)).then(|| words.next()).flatten().map(str::to_owned)
    })
}

fn tls(arguments: &Arguments) -> Result<Option<TlsConfig>, ToolError> {
    let Some(trusted) = &arguments.cacert else {
        return match (arguments.ssl, &arguments.cert) {
            (true, _) => Err(ToolError::usage(
                "--ssl needs --cacert, the PEM file of the certificates that the node's is judged by",
            )),
            (false, Some(_)) => Err(ToolError::usage("--cert needs --ssl and --cacert")),
            (false, None) => Ok(None),
        };
    };
    let trusted = certificates(trusted)?;
    let client = match &arguments.cert {
        None => None,
        Some(cert) => Some(own(cert, arguments.key.as_ref().unwrap_or(cert))?),
    };
    let config = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
        .root_certs(RootCerts::new_with_certs(&trusted))
        .client_cert(client);
    Ok(Some(config.build()))
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, ToolError> {
    let unusable = || ToolError::usage(format!("{} has no PEM certificates that can be used", path.display()));
    let text = text_of(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    let found = found.ok().filter(|found| !found.is_empty()).ok_or_else(unusable)?;
    // The library would pass over those that it cannot parse.
    found.iter().try_for_each(|der| RootCertStore::empty().add(der.clone())).map_err(|_| unusable())?;
    Ok(found.iter().map(|der| Certificate::from_der(der).to_owned()).collect())
}

/// The operator's own certificate with its key, which the library takes without a look.
fn own(certificate: &Path, key: &Path) -> Result<ClientCert, ToolError> {
    let unusable = || {
        let (certificate, key) = (certificate.display(), key.display());
        ToolError::usage(format!(
            "cannot use the certificate in {certificate} with the key in {key}: PEM of one pair is needed, and no encrypted key"
        ))
    };
    let chain = certificates(certificate)?;
    let text = text_of(key)?;
    let der = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| unusable())?;
    let all = chain.iter().map(|certificate| CertificateDer::from(certificate.der().to_vec())).collect();
    CertifiedKey::from_der(all, der, &default_provider()).map_err(|_| unusable())?;
    let key = PrivateKey::from_pem(text.as_bytes()).map_err(|_| unusable())?;
    Ok(ClientCert::new_with_certs(&chain, key))
}

#[expect(clippy::disallowed_methods, reason = "a client on no shard: there is no Runtime to read through")]
fn text_of(path: &Path) -> Result<String, ToolError> {
    let failed = |reason: String| ToolError::usage(format!("cannot read {}: {reason}", path.display()));
    let file = std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut text = String::new();
    let read = std::io::Read::read_to_string(&mut std::io::Read::take(file, FILE_BYTES_MAX + 1), &mut text);
    match read.map_err(|error| failed(error.to_string()))? as u64 > FILE_BYTES_MAX {
        true => Err(failed(format!("it has more than {FILE_BYTES_MAX} bytes"))),
        false => Ok(text),
    }
}

/// True if a host is this machine, as far as its name says.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Arguments {
        crate::parsed(line.split(' ').map(std::ffi::OsString::from).collect()).expect("a command line")
    }

    fn refused(line: &str) -> String {
        Access::of(&arguments(line)).map(|_| ()).expect_err("is refused").to_string()
    }

    #[test]
    fn a_name_and_a_password_are_a_header() {
        let access = Access::of(&arguments("-u ada -pw secret version")).expect("is read");
        assert_eq!(access.authorization.as_deref(), Some("Basic YWRhOnNlY3JldA=="));
        assert!(Access::of(&arguments("version")).expect("is read").authorization.is_none());
        let line = arguments("-u ada version");
        assert_eq!(password(&line, Some("secret".to_owned())).expect("is found").as_deref(), Some("secret"));
        assert!(password(&line, None).is_err() && password(&line, Some(String::new())).is_err());
    }

    #[test]
    fn a_file_has_a_line_for_each_user() {
        let text = "# users\nadam other\n  ada\tsecret more\nada late\n";
        assert_eq!(of_file(text, "ada").as_deref(), Some("secret"));
        assert_eq!((of_file(text, "eve"), of_file("ada", "ada")), (None, None));
    }

    #[test]
    fn what_lacks_its_other_half_is_refused() {
        for (line, expected) in [
            ("-pw x version", "-u"),
            ("-u a:b -pw x version", "colon"),
            ("-u ada -pwf /there/is/none version", "/there/is/none"),
            ("--ssl version", "--cacert"),
            ("--cert x version", "--cacert"),
            ("--cacert /there/is/none version", "/there/is/none"),
        ] {
            assert!(refused(line).contains(expected), "{line}: {}", refused(line));
        }
    }

    #[test]
    fn loopback_is_this_machine() {
        assert!(["localhost", "127.0.0.2", "::1", "[::1]"].into_iter().all(is_this_machine));
        assert!(!is_this_machine("10.0.0.1") && !is_this_machine("localhost.example.com"));
    }
}
