//! TLS between buffers: a session is fed what was received and gives what is to be sent; sockets are its owner's.
//!
//! [`Material`] is parsed PEM: a certificate chain, its key, and trusted certificates. An [`Identity`] makes sessions of it, for both ends, and
//! takes new material when the files change ([`Credentials`]). Nothing here knows who uses a session. See `docs/internals/tls.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod clock;
mod contexts;
mod credentials;
mod flaw;
mod identity;
mod material;
mod material_error;
mod pem;
mod provider;
mod reload;
mod session;
mod session_error;
mod source;
mod verifier;

pub use contexts::{Options, Versions};
pub use credentials::Credentials;
pub use flaw::Flaw;
pub use identity::Identity;
pub use material::Material;
pub use material_error::MaterialError;
pub use pem::{PEM_BYTES_MAX, Pem, Pems};
pub use session::{KEYING_BYTES, OUTPUT_BYTES_MAX, Session};
pub use session_error::SessionError;
pub use source::{Source, Sources};

#[cfg(test)]
mod tests;
