//! The secret that all nodes of a cluster share, and what proves it.
//!
//! A proof is HMAC-SHA-256 over the whole greeting: a label of the side that proves, the hello's bytes and the welcome's. Both hold random bytes of their sender,
//! so a proof of one greeting is none of another; the label makes the proof of one side none of the other; the purpose is in the hello. Under TLS keying material of the session is
//! in it too: a host between two nodes that has a session with each of them, by some certificate of their authority, cannot pass on the proof of one to the other. What follows a plain
//! greeting is not protected: who can change bytes on the way can do so after it.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of a proof.
pub const PROOF_BYTES: usize = 32;

/// Bytes that the two ends of one TLS session have in common.
pub(crate) type Binding = [u8; tls::KEYING_BYTES];

/// A secret is shorter than what withstands guessing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the secret has {bytes} bytes, and at least {} are needed", Secret::BYTES_MIN)]
pub struct ShortSecret {
    /// Its length.
    pub bytes: usize,
}

/// A shared secret. Its bytes are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

/// The end of a connection that proves the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Dialler,
    Listener,
}

/// The bytes that both ends have exchanged before a proof.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchanged<'b> {
    pub(crate) hello: &'b [u8],
    /// The welcome's body up to its own proof.
    pub(crate) welcome: &'b [u8],
    /// The session's; `None`: the connection is plain.
    pub(crate) binding: Option<&'b Binding>,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// The fewest bytes of a secret.
    pub const BYTES_MIN: usize = 16;

    /// The secret of these bytes.
    pub fn new(bytes: &[u8]) -> Result<Secret, ShortSecret> {
        match bytes.len() {
            short if short < Secret::BYTES_MIN => Err(ShortSecret { bytes: short }),
            _ => Ok(Secret(bytes.to_vec())),
        }
    }

    /// The side's proof.
    pub(crate) fn prove(&self, side: Side, exchanged: Exchanged<'_>) -> [u8; PROOF_BYTES] {
        self.mac_of(side, exchanged).finalize().into_bytes().into()
    }

    /// True if `proof` is the side's. Takes as long for each proof of the right length.
    pub(crate) fn is_proven(&self, side: Side, exchanged: Exchanged<'_>, proof: &[u8]) -> bool {
        self.mac_of(side, exchanged).verify_slice(proof).is_ok()
    }

    /// Bytes that differ where `seed` does, and that only one who has the secret can foresee: the runtime's random numbers are not for secrets.
    pub(crate) fn unforeseen(&self, seed: &[u8]) -> [u8; 16] {
        let mut mac = self.mac();
        mac.update(b"helenus internode 2: random bytes");
        mac.update(seed);
        *mac.finalize().into_bytes().first_chunk().expect("32 bytes are more than 16")
    }

    fn mac_of(&self, side: Side, Exchanged { hello, welcome, binding }: Exchanged<'_>) -> Hmac<Sha256> {
        let mut mac = self.mac();
        mac.update(match side {
            Side::Dialler => b"helenus internode 2: the dialler's proof",
            Side::Listener => b"helenus internode 2: the listener's proof",
        });
        // A length before each, so that no byte of one can pass for the other's.
        for bytes in [hello, welcome].into_iter().chain(binding.map(|binding| &binding[..])) {
            mac.update(&(bytes.len() as u64).to_be_bytes());
            mac.update(bytes);
        }
        mac
    }

    fn mac(&self) -> Hmac<Sha256> {
        Hmac::new_from_slice(&self.0).expect("a key of any length will do")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: Exchanged<'_> = Exchanged { hello: b"hello", welcome: b"welcome", binding: None };

    #[test]
    fn a_proof_is_of_one_side_one_secret_and_one_exchange() {
        let secret = Secret::new(b"sixteen bytes or").expect("it is long enough");
        let proof = secret.prove(Side::Dialler, HELLO);
        assert!(secret.is_proven(Side::Dialler, HELLO, &proof));
        assert!(!secret.is_proven(Side::Listener, HELLO, &proof), "the other side's");
        let shifted = Exchanged { hello: b"hellow", welcome: b"elcome", ..HELLO };
        assert!(!secret.is_proven(Side::Dialler, shifted, &proof));
        let [bound, other] = [[1; tls::KEYING_BYTES], [2; tls::KEYING_BYTES]];
        let bound = Exchanged { binding: Some(&bound), ..HELLO };
        assert!(!secret.is_proven(Side::Dialler, bound, &proof), "a plain connection's");
        let proof_of_session = secret.prove(Side::Dialler, bound);
        assert!(secret.is_proven(Side::Dialler, bound, &proof_of_session));
        let other = Exchanged { binding: Some(&other), ..HELLO };
        assert!(!secret.is_proven(Side::Dialler, other, &proof_of_session), "another session's");
        let other = Secret::new(b"sixteen bytes 0r").expect("it is long enough");
        assert!(!other.is_proven(Side::Dialler, HELLO, &proof));
        assert!((0..32).all(|length| !secret.is_proven(Side::Dialler, HELLO, &proof[..length])), "a truncated one");
    }

    #[test]
    fn a_short_secret_is_refused_and_none_is_shown() {
        let short = Secret::new(b"too short");
        assert_eq!(short, Err(ShortSecret { bytes: 9 }));
        assert_eq!(
            short.map_err(|e| e.to_string()),
            Err("the secret has 9 bytes, and at least 16 are needed".to_owned())
        );
        assert_eq!(format!("{:?}", Secret::new(&[b'x'; 16]).expect("it is long enough")), "Secret");
    }
}
