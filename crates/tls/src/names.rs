//! The names that a certificate has: its subject, and its subject alternative names. A login knows a client by them.
//!
//! A name proves nothing by itself: whoever takes names from here takes those of a verified chain ([`crate::Session::peer_names`]). The bytes are an authority's, or a
//! stranger's where the authority signs what it is asked to, so they are bounded, and what is malformed is an error.

use std::fmt;
use std::net::IpAddr;

use x509_cert::Certificate;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::asn1::{Ia5StringRef, PrintableStringRef, Utf8StringRef};
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::name::Name;

/// The most bytes of a certificate. A handshake message has no more.
pub const CERTIFICATE_BYTES_MAX: usize = 64 << 10;
/// The most attributes of a subject, and the most subject alternative names.
pub const NAMES_MAX: usize = 256;
/// The most bytes of one name or attribute.
pub const NAME_BYTES_MAX: usize = 2048;

/// The attributes that have a short name in a subject's text, by RFC 4514; EMAIL is ScyllaDB's.
const SHORT_NAMES: [(&str, &str); 10] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "STREET"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("1.2.840.113549.1.9.1", "EMAIL"),
];

/// Why a certificate has no names that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamesError {
    /// It cannot be parsed.
    #[error("certificate is malformed: {reason}")]
    Malformed {
        /// The parser's words.
        reason: String,
    },
    /// It is longer than [`CERTIFICATE_BYTES_MAX`].
    #[error("certificate has more than {CERTIFICATE_BYTES_MAX} bytes")]
    TooLong,
    /// It has more names than [`NAMES_MAX`].
    #[error("certificate has more than {NAMES_MAX} names")]
    TooMany,
    /// A name is longer than [`NAME_BYTES_MAX`].
    #[error("certificate has a name of more than {NAME_BYTES_MAX} bytes")]
    NameTooLong,
}

impl From<x509_cert::der::Error> for NamesError {
    fn from(error: x509_cert::der::Error) -> NamesError {
        NamesError::Malformed { reason: error.to_string() }
    }
}

/// A subject alternative name of a kind that has a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlternativeName {
    /// A host.
    Dns(String),
    /// An address of mail.
    Email(String),
    /// A URI.
    Uri(String),
    /// An address of IPv4 or IPv6.
    Ip(IpAddr),
}

/// The names of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateNames {
    subject: String,
    alternatives: Vec<AlternativeName>,
}

impl CertificateNames {
    /// The names of a certificate in DER. Fails if it cannot be parsed, or has more than the bounds. Names of other kinds than those of [`AlternativeName`] are left out.
    pub fn parse(der: &[u8]) -> Result<CertificateNames, NamesError> {
        if der.len() > CERTIFICATE_BYTES_MAX {
            return Err(NamesError::TooLong);
        }
        let certificate = Certificate::from_der(der)?;
        let certificate = certificate.tbs_certificate();
        let subject = subject_of(certificate.subject())?;
        let extension = certificate.get_extension::<SubjectAltName>()?;
        let names = extension.map_or_else(Vec::new, |(_, SubjectAltName(names))| names);
        if names.len() > NAMES_MAX {
            return Err(NamesError::TooMany);
        }
        let mut alternatives = Vec::with_capacity(names.len());
        for name in &names {
            alternatives.extend(alternative(name)?);
        }
        Ok(CertificateNames { subject, alternatives })
    }

    /// The subject as RFC 4514 writes a distinguished name, but in the certificate's order, as ScyllaDB has it: `C=SE,O=Shop,CN=app`.
    ///
    /// In values, each character that means something in the text is its bytes in hexadecimal (`\3D`), `=` too: no value can pass for another attribute.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The subject alternative names in the certificate's order.
    pub fn alternatives(&self) -> &[AlternativeName] {
        &self.alternatives
    }

    /// The subject alternative names as one text, as ScyllaDB has it: `DNS=app.example.com,URI=spiffe://example.com/app`. Values are escaped as those of a subject.
    pub fn alternatives_text(&self) -> String {
        let texts: Vec<String> = self.alternatives.iter().map(AlternativeName::to_string).collect();
        texts.join(",")
    }

    /// The SPIFFE identity: the first URI that begins with `spiffe://`.
    pub fn spiffe(&self) -> Option<&str> {
        self.alternatives.iter().find_map(|name| match name {
            AlternativeName::Uri(uri) if uri.starts_with("spiffe://") => Some(uri.as_str()),
            _ => None,
        })
    }
}

impl fmt::Display for AlternativeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, text) = match self {
            AlternativeName::Dns(name) => ("DNS", name),
            AlternativeName::Email(address) => ("EMAIL", address),
            AlternativeName::Uri(uri) => ("URI", uri),
            AlternativeName::Ip(address) => return write!(f, "IP={address}"),
        };
        let mut escaped = String::new();
        escape(text, &mut escaped);
        write!(f, "{kind}={escaped}")
    }
}

/// A name with a text; `None`: of another kind.
fn alternative(name: &GeneralName) -> Result<Option<AlternativeName>, NamesError> {
    let text = |text: &str| match bounded(text)?.contains(|letter: char| letter.is_control()) {
        false => Ok(text.to_owned()),
        // A reader that ends a name at a NUL would see another one.
        true => Err(NamesError::Malformed { reason: "a name has a control character".to_owned() }),
    };
    Ok(Some(match name {
        GeneralName::DnsName(name) => AlternativeName::Dns(text(name.as_str())?),
        GeneralName::Rfc822Name(address) => AlternativeName::Email(text(address.as_str())?),
        GeneralName::UniformResourceIdentifier(uri) => AlternativeName::Uri(text(uri.as_str())?),
        GeneralName::IpAddress(address) => AlternativeName::Ip(ip(address.as_bytes())?),
        _ => return Ok(None),
    }))
}

fn ip(bytes: &[u8]) -> Result<IpAddr, NamesError> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let address = v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from));
    address.map_err(|_| NamesError::Malformed { reason: "an IP address has 4 or 16 bytes".to_owned() })
}

fn bounded(text: &str) -> Result<&str, NamesError> {
    if text.len() > NAME_BYTES_MAX { Err(NamesError::NameTooLong) } else { Ok(text) }
}

fn subject_of(name: &Name) -> Result<String, NamesError> {
    if name.iter().take(NAMES_MAX + 1).count() > NAMES_MAX {
        return Err(NamesError::TooMany);
    }
    let mut text = String::new();
    for component in name.iter_rdn() {
        for (index, attribute) in component.iter().enumerate() {
            if !text.is_empty() {
                text.push(if index == 0 { ',' } else { '+' });
            }
            push_attribute(attribute, &mut text)?;
        }
    }
    Ok(text)
}

fn push_attribute(attribute: &AttributeTypeAndValue, text: &mut String) -> Result<(), NamesError> {
    let AttributeTypeAndValue { oid, value } = attribute;
    push_type(oid, text);
    text.push('=');
    // A value of one of the kinds of strings that are UTF-8; others, which certificates of today do not have, stand as their bytes.
    let string = Utf8StringRef::try_from(value).map(|value| value.as_str().to_owned());
    let string = string.or_else(|_| PrintableStringRef::try_from(value).map(|value| value.as_str().to_owned()));
    let string = string.or_else(|_| Ia5StringRef::try_from(value).map(|value| value.as_str().to_owned()));
    match string {
        Ok(string) => escape(bounded(&string)?, text),
        Err(_) => {
            let bytes = value.to_der()?;
            if bytes.len() > NAME_BYTES_MAX {
                return Err(NamesError::NameTooLong);
            }
            text.push('#');
            bytes.iter().for_each(|byte| text.push_str(&format!("{byte:02X}")));
        }
    }
    Ok(())
}

fn push_type(oid: &ObjectIdentifier, text: &mut String) {
    let number = oid.to_string();
    let short = SHORT_NAMES.into_iter().find(|(known, _)| *known == number);
    text.push_str(short.map_or(number.as_str(), |(_, short)| short));
}

/// Appends a value, in which each character that means something is its bytes in hexadecimal. RFC 4514 permits that for any character.
fn escape(value: &str, text: &mut String) {
    let last = value.chars().count().saturating_sub(1);
    for (index, letter) in value.chars().enumerate() {
        let is_at_an_end = (letter == ' ' && (index == 0 || index == last)) || (letter == '#' && index == 0);
        if letter.is_control() || is_at_an_end || matches!(letter, ',' | '+' | '"' | '\\' | '<' | '>' | ';' | '=') {
            let mut bytes = [0; 4];
            letter.encode_utf8(&mut bytes).bytes().for_each(|byte| text.push_str(&format!("\\{byte:02X}")));
        } else {
            text.push(letter);
        }
    }
}

#[cfg(test)]
mod tests;
