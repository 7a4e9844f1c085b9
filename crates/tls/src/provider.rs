//! The cryptography under TLS: ring's, and no other.

use rustls::crypto::{CryptoProvider, ring};

/// The one provider of cryptography.
pub(crate) fn provider() -> CryptoProvider {
    ring::default_provider()
}
