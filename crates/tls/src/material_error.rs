//! PEM that cannot be used, in words.

use thiserror::Error;

/// PEM that cannot be used. One sentence for the person at the terminal.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(
    missing_docs,
    reason = "the messages say what the variants are; `name` is the file or the key of the configuration"
)]
pub enum MaterialError {
    #[error("cannot read {name}: {reason}")]
    Unreadable { name: String, reason: String },
    #[error("{name} has more than {max} bytes")]
    TooLong { name: String, max: u64 },
    #[error(
        "{name} is a Java keystore, and only PEM is supported; convert it with `keytool -importkeystore -srckeystore {name} -destkeystore node.p12 \
         -deststoretype PKCS12` and `openssl pkcs12 -in node.p12 -nodes -out node.pem`"
    )]
    JavaKeystore { name: String },
    #[error(
        "{name} is a PKCS #12 keystore, and only PEM is supported; convert it with `openssl pkcs12 -in {name} -nodes -out node.pem`"
    )]
    Pkcs12 { name: String },
    #[error(
        "{name} is DER, and only PEM is supported; convert it with `openssl x509 -inform der -in {name} -out node.pem`"
    )]
    Der { name: String },
    #[error("{name} is not PEM: it has no BEGIN line")]
    NotPem { name: String },
    #[error("{name} is damaged: {reason}")]
    Damaged { name: String, reason: &'static str },
    #[error("{name} has no certificate")]
    NoCertificate { name: String },
    #[error("{name} has no private key")]
    NoKey { name: String },
    #[error(
        "the private key in {name} is encrypted, which is not supported; decrypt it with `openssl pkey -in {name} -out node.key`, readable by this \
         node's user only"
    )]
    EncryptedKey { name: String },
    #[error(
        "cannot use the private key in {name}: its algorithm is not supported, or it is damaged; use ECDSA, RSA of 2048 to 4096 bits, or Ed25519"
    )]
    UnsupportedKey { name: String },
    #[error("the private key in {key} does not belong to the certificate in {certificate}")]
    KeyMismatch { key: String, certificate: String },
    #[error("cannot use a certificate in {name}: it is malformed")]
    MalformedCertificate { name: String },
}
