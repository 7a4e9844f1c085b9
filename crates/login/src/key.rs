//! The name of a verification: an HMAC under a key of this process, so that neither a password nor its hash without a salt is kept.

use std::fmt;

use auth::{Credentials, PasswordHash};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// Bytes of the process' key.
pub(crate) const KEY_BYTES: usize = 32;

/// HMAC-SHA-256 over role, stored hash and password. Another stored hash is another name, so a changed password needs no invalidation.
#[derive(Clone, Copy)]
pub(crate) struct VerificationKey([u8; 32]);

impl VerificationKey {
    pub(crate) fn of(key: &[u8; KEY_BYTES], hash: &PasswordHash, credentials: &Credentials) -> VerificationKey {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
        // With their lengths, so that no two triples are the same bytes.
        for part in [credentials.name.as_str(), hash.as_str(), credentials.password.as_str()] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        VerificationKey(mac.finalize().into_bytes().into())
    }

    /// The first bytes, by which names are sorted. Without the process' key they cannot be chosen, so the time that comparing them takes says nothing.
    pub(crate) fn prefix(&self) -> u64 {
        first_of(&self.0)
    }
}

/// The mark of a role's name among a host's failures: as long for each name, and under the key of this process, so that no name is chosen that has another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoleMark(u64);

impl RoleMark {
    pub(crate) fn of(key: &[u8; KEY_BYTES], name: &str) -> RoleMark {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
        mac.update(name.as_bytes());
        RoleMark(first_of(&mac.finalize().into_bytes().into()))
    }
}

fn first_of(bytes: &[u8; 32]) -> u64 {
    u64::from_be_bytes(*bytes.first_chunk().expect("it has 32 bytes"))
}

impl PartialEq for VerificationKey {
    fn eq(&self, other: &VerificationKey) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for VerificationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VerificationKey(*******)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(process: u8, name: &str, hash: &PasswordHash, password: &str) -> VerificationKey {
        let credentials = Credentials { name: name.into(), password: password.into() };
        VerificationKey::of(&[process; KEY_BYTES], hash, &credentials)
    }

    #[test]
    fn a_verification_is_named_by_process_role_hash_and_password() {
        let dummy = PasswordHash::dummy();
        let other = PasswordHash::parse(&dummy.as_str().replacen("abc", "xbc", 1)).expect("a hash");
        let one = key(1, "user", &dummy, "secret");
        assert_eq!(one, key(1, "user", &dummy, "secret"));
        let others = [
            key(2, "user", &dummy, "secret"),
            key(1, "use", &dummy, "secret"),
            key(1, "user", &other, "secret"),
            key(1, "user", &dummy, "secret "),
        ];
        for other in others {
            assert_ne!(one, other);
            assert_ne!(one.prefix(), other.prefix());
        }
        assert_eq!(format!("{one:?}"), "VerificationKey(*******)");
    }
}
