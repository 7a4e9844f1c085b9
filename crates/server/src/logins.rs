//! How clients of the ports prove who they are: by password, by certificate, or by either; and what the start of a connection leads to.

use auth::Access;
use login::{Certificates, Hasher};
use planted::{Bug, Planted};
use tls::{CertificateNames, NamesError};

/// The name by which drivers know that they are to send a name and a password.
const PASSWORD_AUTHENTICATOR: &str = "org.apache.cassandra.auth.PasswordAuthenticator";

/// How clients log in.
#[derive(Clone)]
pub struct Logins {
    /// Verifies passwords.
    pub hasher: Hasher,
    /// Proofs that count.
    pub proofs: Proofs,
}

/// Proofs that count of who a client is: a password, a certificate, or either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proofs {
    /// True if a client without a certificate may log in by password.
    pub has_passwords: bool,
    /// The role of a client with a certificate; `None`: certificates are of no role.
    pub certificates: Option<Certificates>,
    /// The bug that is planted.
    pub planted: Planted,
}

/// The answer to STARTUP of a client that has to log in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// It is asked for what the class of this name wants.
    Asked(&'static str),
    /// It is this role.
    LoggedIn(String),
    /// It is refused with these words.
    Refused(String),
}

impl Proofs {
    /// The answer to STARTUP. `names` are those of the certificate that the handshake has verified; `None`: the client has none.
    ///
    /// A certificate decides alone, also against the client: whoever has a password and the certificate of a role that was locked out is locked out.
    pub(crate) fn start(&self, names: Option<Result<CertificateNames, NamesError>>, access: &Access) -> Start {
        let Some((names, rule)) = names.zip(self.certificates.as_ref()) else { return Start::Asked(self.class()) };
        let names = names.map_err(|error| error.to_string());
        match names.and_then(|names| rule.log_in(&names, access).map_err(|error| error.to_string())) {
            Ok(role) => Start::LoggedIn(role),
            Err(_) if self.planted.is(Bug::FallbackDespiteCertificate) => Start::Asked(self.class()),
            Err(words) => Start::Refused(words),
        }
    }

    /// The class that AUTHENTICATE names: what a driver has to send.
    fn class(&self) -> &'static str {
        match &self.certificates {
            Some(Certificates::Spiffe) if !self.has_passwords => "org.apache.cassandra.auth.MutualTlsAuthenticator",
            Some(Certificates::Queries(_)) if !self.has_passwords => "com.scylladb.auth.CertificateAuthenticator",
            // Drivers have lists of classes that they send passwords to.
            _ => PASSWORD_AUTHENTICATOR,
        }
    }
}

#[cfg(test)]
mod tests;
