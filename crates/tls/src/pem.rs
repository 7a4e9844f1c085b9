//! PEM as it is found in files, and the sentences for what is found in its place.

use std::fmt;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::material_error::MaterialError;

/// The most bytes of a file of certificates.
pub const PEM_BYTES_MAX: u64 = 1 << 20;

/// How Java's keystores begin: JKS and JCEKS.
const JAVA_KEYSTORES: [[u8; 4]; 2] = [[0xfe, 0xed, 0xfe, 0xed], [0xce, 0xce, 0xce, 0xce]];
/// The labels of keys that a password protects.
const ENCRYPTED: [&[u8]; 2] = [b"-----BEGIN ENCRYPTED PRIVATE KEY-----", b"Proc-Type: 4,ENCRYPTED"];

/// Text with PEM sections, and its name for messages. Its bytes are never shown: there may be a key among them.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem {
    /// A file's path, or a key of the configuration.
    pub name: String,
    /// The text.
    pub bytes: Vec<u8>,
}

/// All PEM of one end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pems {
    /// The certificate, and those between it and a trusted one.
    pub certificate: Pem,
    /// Its private key.
    pub key: Pem,
    /// The certificates that are trusted; `None`: no certificate of the other end is judged.
    pub trusted: Option<Pem>,
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pem({})", self.name)
    }
}

impl Pem {
    /// All certificates, in order; at least one.
    pub(crate) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, MaterialError> {
        self.check_kind()?;
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.bytes).collect();
        let certificates = found.map_err(|error| self.damaged(&error))?;
        match certificates.is_empty() {
            true => Err(MaterialError::NoCertificate { name: self.name.clone() }),
            false => Ok(certificates),
        }
    }

    /// The first private key.
    pub(crate) fn private_key(&self) -> Result<PrivateKeyDer<'static>, MaterialError> {
        self.check_kind()?;
        match PrivateKeyDer::from_pem_slice(&self.bytes) {
            Ok(key) => Ok(key),
            Err(pem::Error::NoItemsFound) => Err(MaterialError::NoKey { name: self.name.clone() }),
            Err(error) => Err(self.damaged(&error)),
        }
    }

    fn damaged(&self, error: &pem::Error) -> MaterialError {
        let reason = match error {
            pem::Error::MissingSectionEnd { .. } => "a section has no END line",
            pem::Error::IllegalSectionStart { .. } => "a section's BEGIN line is malformed",
            pem::Error::Base64Decode(_) => "a section is not base64",
            _ => "it cannot be parsed",
        };
        MaterialError::Damaged { name: self.name.clone(), reason }
    }

    /// Refuses keystores of other formats by their first bytes, and encrypted keys by their marks.
    fn check_kind(&self) -> Result<(), MaterialError> {
        let name = self.name.clone();
        let bytes = &self.bytes;
        match () {
            () if JAVA_KEYSTORES.iter().any(|magic| bytes.starts_with(magic)) => {
                Err(MaterialError::JavaKeystore { name })
            }
            () if is_pkcs12(bytes) => Err(MaterialError::Pkcs12 { name }),
            () if !contains(bytes, b"-----BEGIN ") => Err(match bytes.first() {
                Some(&SEQUENCE) => MaterialError::Der { name },
                _ => MaterialError::NotPem { name },
            }),
            // Before certificates beside it are looked for: one of the two has lines that are no base64.
            () if ENCRYPTED.iter().any(|mark| contains(bytes, mark)) => Err(MaterialError::EncryptedKey { name }),
            () => Ok(()),
        }
    }
}

/// DER's tag of a sequence, with which keystores and certificates begin.
const SEQUENCE: u8 = 0x30;

/// PKCS #12 is a sequence whose first element is the integer 3, its version (RFC 7292, section 4).
fn is_pkcs12(bytes: &[u8]) -> bool {
    let Some([SEQUENCE, length]) = bytes.first_chunk() else { return false };
    let length_bytes = match length {
        // The long form says how many bytes the length has; 0 of them is the indefinite form.
        0x80.. => usize::from(length & 0x7f),
        _ => 0,
    };
    bytes.get(2 + length_bytes..).is_some_and(|body| body.starts_with(&[0x02, 0x01, 0x03]))
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
