//! Proof of one end of a connection, and judge of the other: a certificate chain with its key, and the certificates that are trusted.

use std::sync::Arc;

use rustls::pki_types::UnixTime;
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys, RootCertStore, SignatureAlgorithm};

use crate::clock::unix_time;
use crate::flaw::Flaw;
use crate::material_error::MaterialError;
use crate::pem::{Pem, Pems};
use crate::provider::provider;
use crate::verifier;

/// Certificates and a key, checked as far as that needs no time.
#[derive(Debug, Clone)]
pub struct Material {
    pub(crate) own: Arc<CertifiedKey>,
    /// None, if the PEM has none.
    pub(crate) trusted: Arc<RootCertStore>,
}

impl Material {
    /// Parses PEM. Fails at the first thing that cannot be used.
    pub fn parse(pems: &Pems) -> Result<Material, MaterialError> {
        let Pems { certificate, key, trusted } = pems;
        let own = own_of(certificate, key)?;
        let trusted = trusted.as_ref().map_or_else(|| Ok(RootCertStore::empty()), roots_of)?;
        Ok(Material { own: Arc::new(own), trusted: Arc::new(trusted) })
    }

    /// True if a signature takes milliseconds: the key is RSA's, of 4096 bits or more.
    pub(crate) fn signs_slowly(&self) -> bool {
        /// Between the 422 bytes of a public key of 3072 bits and the 550 of one of 4096.
        const PUBLIC_KEY_BYTES: usize = 500;
        let key = &self.own.key;
        let bytes = key.public_key().map_or(0, |key| key.len());
        key.algorithm() == SignatureAlgorithm::RSA && bytes >= PUBLIC_KEY_BYTES
    }

    /// True if the own certificate has expired or is not valid yet, at a wall clock's time, and why. Its issuer is not judged: clients trust others.
    pub(crate) fn time_flaw(&self, wall_clock_micros: i64) -> Option<Flaw> {
        let error = verifier::judge_alone(&self.own.cert, unix_time(wall_clock_micros)).err()?;
        let Error::InvalidCertificate(error) = error else { return None };
        Some(Flaw::from(&error)).filter(|flaw| matches!(flaw, Flaw::Expired { .. } | Flaw::NotValidYet { .. }))
    }

    /// The end of the own certificate, seconds since the Unix epoch; `None`: unknown.
    pub(crate) fn not_after(&self) -> Option<u64> {
        // Judged at the end of time, it has expired, and the verdict has the day.
        match self.time_flaw(i64::MAX)? {
            Flaw::Expired { not_after } => not_after,
            _ => None,
        }
    }

    /// The reason for which an end with the same trusted certificates refuses this one, at a wall clock's time.
    pub fn own_flaw(&self, wall_clock_micros: i64) -> Option<Flaw> {
        let now: UnixTime = unix_time(wall_clock_micros);
        verifier::judge_for_both_ends(&self.own.cert, &self.trusted, now).err().map(|error| match error {
            Error::InvalidCertificate(error) => Flaw::from(&error),
            _ => Flaw::Malformed,
        })
    }
}

/// A certificate chain with its key.
pub(crate) fn own_of(certificate: &Pem, key: &Pem) -> Result<CertifiedKey, MaterialError> {
    let chain = certificate.certificates()?;
    let private_key = key.private_key()?;
    CertifiedKey::from_der(chain, private_key, &provider()).map_err(|error| match error {
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            MaterialError::KeyMismatch { key: key.name.clone(), certificate: certificate.name.clone() }
        }
        Error::InvalidCertificate(_) => MaterialError::MalformedCertificate { name: certificate.name.clone() },
        _ => MaterialError::UnsupportedKey { name: key.name.clone() },
    })
}

/// Trusted certificates.
pub(crate) fn roots_of(trusted: &Pem) -> Result<RootCertStore, MaterialError> {
    let mut roots = RootCertStore::empty();
    for certificate in trusted.certificates()? {
        let added = roots.add(certificate);
        added.map_err(|_| MaterialError::MalformedCertificate { name: trusted.name.clone() })?;
    }
    Ok(roots)
}
