//! TLS between buffers: a session is fed what was received and gives what is to be sent. A [`TlsStream`] is one on a socket of the runtime.
//!
//! [`Material`] is parsed PEM: a certificate chain, its key, and trusted certificates. An [`Identity`] makes sessions of it, for both ends of connections between nodes, a
//! [`ServerIdentity`] for one end of those with clients; both take new material when the files change ([`Credentials`], [`ServerCredentials`]). An [`OutsideIdentity`] is that of a thread beside the shards, a [`ClientIdentity`] a tool's. Nothing here knows who uses a session. See `docs/internals/tls.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod client;
mod client_stream;
mod clock;
mod contexts;
mod credentials;
mod flaw;
mod identity;
mod material;
mod material_error;
mod names;
#[allow(clippy::disallowed_types, reason = "one pointer is shared with a thread beside the shards")]
mod outside;
mod pem;
mod provider;
mod reload;
mod server;
mod server_credentials;
mod session;
mod session_error;
mod source;
mod tls_stream;
mod verifier;

pub use client::{ClientFiles, ClientIdentity};
pub use client_stream::ClientStream;
pub use contexts::{Options, Versions};
pub use credentials::Credentials;
pub use flaw::Flaw;
pub use identity::Identity;
pub use material::Material;
pub use material_error::MaterialError;
pub use names::{AlternativeName, CERTIFICATE_BYTES_MAX, CertificateNames, NAME_BYTES_MAX, NAMES_MAX, NamesError};
pub use outside::{OutsideCredentials, OutsideFiles, OutsideIdentity};
pub use pem::{PEM_BYTES_MAX, Pem, Pems};
pub use reload::FileFigures;
pub use server::{ClientCertificates, ServerIdentity, ServerOptions};
pub use server_credentials::ServerCredentials;
pub use session::{KEYING_BYTES, OUTPUT_BYTES_MAX, Session};
pub use session_error::SessionError;
pub use source::{Source, Sources};
pub use tls_stream::{HandshakeError, TlsState, TlsStream};

#[cfg(test)]
mod tests;
