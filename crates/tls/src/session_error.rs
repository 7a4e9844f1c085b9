//! Why a session ends before its time.

use rustls::{AlertDescription, Error, PeerIncompatible};

use crate::flaw::Flaw;

/// A session that cannot go on. What [`crate::Session::send`] still gives is for the other end, which learns the reason by it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The other end's certificate is refused.
    #[error("TLS certificate of the other end refused: {flaw}")]
    Refused {
        /// Why.
        flaw: Flaw,
    },
    /// The other end has no certificate.
    #[error("the other end presents no TLS certificate")]
    NoCertificate,
    /// The other end has refused this one.
    #[error("the other end refused this end's TLS handshake: {reason}")]
    Alert {
        /// Its reason.
        reason: String,
    },
    /// The two have no version, suite or key exchange in common.
    #[error("no TLS version or cipher suite in common: {reason}")]
    Incompatible {
        /// The missing part.
        reason: String,
    },
    /// The bytes are no TLS, or were changed on the way.
    #[error("malformed or damaged TLS record: {reason}")]
    Damaged {
        /// The damage.
        reason: String,
    },
    /// The connection ended without TLS's own end, so that what came last may be missing.
    #[error("connection ended without TLS's close_notify")]
    Truncated,
}

impl From<Error> for SessionError {
    fn from(error: Error) -> SessionError {
        match error {
            Error::InvalidCertificate(error) => SessionError::Refused { flaw: Flaw::from(&error) },
            Error::NoCertificatesPresented
            | Error::PeerIncompatible(PeerIncompatible::NoCertificateRequestSignatureSchemesInCommon) => {
                SessionError::NoCertificate
            }
            Error::AlertReceived(alert) => SessionError::Alert { reason: reason(alert) },
            Error::PeerIncompatible(error) => SessionError::Incompatible { reason: format!("{error:?}") },
            error => SessionError::Damaged { reason: error.to_string() },
        }
    }
}

/// The alerts that an operator meets, in words; all others by their name.
fn reason(alert: AlertDescription) -> String {
    let known = match alert {
        AlertDescription::CertificateExpired => "it judges this end's certificate expired or not valid yet",
        AlertDescription::UnknownCA => "it does not trust the issuer of this end's certificate",
        AlertDescription::CertificateRequired => "it requires a certificate",
        AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnsupportedCertificate => "it does not accept this end's certificate",
        AlertDescription::ProtocolVersion => "it speaks none of this end's TLS versions",
        alert => return format!("{alert:?}"),
    };
    known.to_owned()
}
