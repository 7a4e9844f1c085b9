//! Why an access cannot be had. One sentence for the person at the terminal.

use std::path::PathBuf;

use tls::MaterialError;

/// Why an access cannot be had.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the variants are")]
pub enum AccessError {
    #[error("a password needs --username, the role that logs in with it")]
    NoUsername,
    #[error("no password for {username}: set --password-file, the variable HELENUS_PASSWORD or --password")]
    NoPassword { username: String },
    #[error("cannot read the password file {}: {reason}", path.display())]
    PasswordFile { path: PathBuf, reason: String },
    #[error("the password file is not UTF-8")]
    PasswordNotText,
    #[error("--ssl needs --cacert, the PEM file of the certificates that the server's is judged by")]
    NoAuthority,
    #[error("--cert needs --ssl and --cacert")]
    CertificateWithoutTls,
    #[error("{0}")]
    Certificates(#[from] MaterialError),
}
