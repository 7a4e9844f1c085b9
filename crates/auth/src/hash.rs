//! Hashes of passwords: bcrypt (`$2a$`, `$2b$`, `$2y$`) and ScyllaDB's SHA-512 crypt (`$6$`). Parsed before they are kept, verified in constant time.
//!
//! A hash takes tens of milliseconds: no function here that computes one runs on a shard.

mod crypt64;
#[cfg(test)]
mod tests;

use std::fmt;

use subtle::ConstantTimeEq;

use sha_crypt::PasswordVerifier;

/// The cost of hashes that this code makes: 2¹⁰ rounds, as Cassandra's.
pub const COST: u32 = 10;
/// The highest cost of a bcrypt hash that is accepted: each login costs as much. Cassandra accepts 30, which takes hours.
pub const COST_MAX: u32 = 16;
/// The lowest, which is bcrypt's own.
pub const COST_MIN: u32 = 4;
/// The most bytes of a password that bcrypt reads.
pub const PASSWORD_BYTES_MAX: usize = 72;

/// The highest weight of a hash that a role which is no superuser may set: bcrypt's cost 12. Its logins must not take the turns of others.
pub const WEIGHT_MAX: u64 = 4;
/// Rounds of SHA-512 crypt that take about as long as a hash of [`COST`].
const ROUNDS_PER_HASH: u64 = 100_000;

/// The most rounds of a SHA-512 crypt that are accepted.
const ROUNDS_MAX: u32 = 1_000_000;
const ROUNDS_MIN: u32 = 1_000;
/// The most bytes of a password that is verified with SHA-512 crypt, whose time grows with their square.
const SHA_PASSWORD_BYTES_MAX: usize = 512;
const SHA_SALT_BYTES_MAX: usize = 16;
const SHA_HASH_LETTERS: usize = 86;
const SALT_LETTERS: usize = 22;
const HASH_LETTERS: usize = 31;
/// bcrypt drops the last of its 24 bytes.
const HASH_BYTES: usize = 23;
/// A hash that no password is known for: it costs what a hash of [`COST`] costs.
const DUMMY: &str = "$2a$10$abcdefghijklmnopqrstuuMoDrhIhDgUqbdSNZcoNfCqWG2JqGG62";

/// A hash of a password, as text. Its debug text does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    text: String,
}

/// Refusal of a text that is no hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Invalid hashed password value. Please use jBcrypt.")]
pub struct HashError;

/// The parts of a hash.
enum Parts<'a> {
    Bcrypt { cost: u32, salt: [u8; 16], hash: [u8; HASH_BYTES] },
    Sha512(&'a str),
}

impl PasswordHash {
    /// The hash that `text` is, if it is one of a kind and a cost that are accepted.
    pub fn parse(text: &str) -> Result<PasswordHash, HashError> {
        parts(text).map(|_| PasswordHash { text: text.to_owned() }).ok_or(HashError)
    }

    /// The time of a verification, in hashes of [`COST`]; at least 1.
    pub fn weight(&self) -> u64 {
        if let Some(rest) = self.text.strip_prefix("$6$") {
            let rounds = rest.strip_prefix("rounds=").and_then(|rest| rest.split('$').next()?.parse::<u64>().ok());
            return 1 + rounds.unwrap_or(0) / ROUNDS_PER_HASH;
        }
        let cost = self.text.split('$').nth(2).and_then(|cost| cost.parse::<u32>().ok()).unwrap_or(COST_MAX);
        1 << cost.min(COST_MAX).saturating_sub(COST)
    }

    /// The hash of a password, with a salt drawn at random.
    ///
    /// # Panics
    /// If the password is longer than [`PASSWORD_BYTES_MAX`]: a planner refuses that.
    pub fn of_password(password: &str, salt: [u8; 16]) -> PasswordHash {
        PasswordHash::of_password_at(password, salt, COST)
    }

    fn of_password_at(password: &str, salt: [u8; 16], cost: u32) -> PasswordHash {
        assert!(password.len() <= PASSWORD_BYTES_MAX, "a password is no longer than bcrypt reads");
        let hash = bcrypt_of(password.as_bytes(), salt, cost);
        let (salt, hash) = (crypt64::encode(&salt), crypt64::encode(&hash));
        PasswordHash { text: format!("$2a${cost:02}${salt}{hash}") }
    }

    /// The hash that an unknown role's password is compared with, so that it costs as much as a known one's.
    pub fn dummy() -> PasswordHash {
        PasswordHash { text: DUMMY.to_owned() }
    }

    /// Its text, as `system_auth.roles` shows it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True if it is the hash of this password. bcrypt reads 72 bytes of it, as in Java.
    pub fn is_of(&self, password: &str) -> bool {
        match parts(&self.text).expect("it was parsed when it was made") {
            Parts::Bcrypt { cost, salt, hash } => bcrypt_of(password.as_bytes(), salt, cost).ct_eq(&hash).into(),
            Parts::Sha512(text) => {
                password.len() <= SHA_PASSWORD_BYTES_MAX
                    && sha_crypt::ShaCrypt::default().verify_password(password.as_bytes(), text).is_ok()
            }
        }
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(*******)")
    }
}

/// bcrypt of the password and a NUL after it, of which it reads 72 bytes.
fn bcrypt_of(password: &[u8], salt: [u8; 16], cost: u32) -> [u8; HASH_BYTES] {
    let mut read = [0; PASSWORD_BYTES_MAX];
    let length = password.len().min(PASSWORD_BYTES_MAX);
    read[..length].copy_from_slice(&password[..length]);
    let hash = bcrypt::bcrypt(cost, salt, &read[..(length + 1).min(PASSWORD_BYTES_MAX)]);
    hash[..HASH_BYTES].try_into().expect("bcrypt gives 24 bytes")
}

fn parts(text: &str) -> Option<Parts<'_>> {
    if let Some(rest) = text.strip_prefix("$6$") {
        return is_sha512(rest).then_some(Parts::Sha512(text));
    }
    let rest = ["$2a$", "$2b$", "$2y$"].iter().find_map(|prefix| text.strip_prefix(prefix))?;
    let (cost, letters) = rest.split_once('$')?;
    let is_number = cost.len() == 2 && cost.bytes().all(|digit| digit.is_ascii_digit());
    let cost = cost.parse().ok().filter(|cost| is_number && (COST_MIN..=COST_MAX).contains(cost))?;
    if letters.len() != SALT_LETTERS + HASH_LETTERS || !letters.is_ascii() {
        return None;
    }
    let (salt, hash) = letters.split_at(SALT_LETTERS);
    Some(Parts::Bcrypt { cost, salt: crypt64::decode(salt)?, hash: crypt64::decode(hash)? })
}

/// True for `[rounds=N$]salt$hash`.
fn is_sha512(rest: &str) -> bool {
    let (rounds, rest) = match rest.strip_prefix("rounds=").and_then(|rest| rest.split_once('$')) {
        Some((rounds, rest)) => (Some(rounds), rest),
        None => (None, rest),
    };
    let has_rounds = rounds.is_none_or(|rounds| {
        let number = rounds.parse::<u32>().ok().filter(|number| (ROUNDS_MIN..=ROUNDS_MAX).contains(number));
        number.is_some_and(|number| number.to_string() == rounds)
    });
    let Some((salt, hash)) = rest.split_once('$') else { return false };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'/';
    let has_salt = (1..=SHA_SALT_BYTES_MAX).contains(&salt.len()) && salt.bytes().all(is_letter);
    has_rounds && has_salt && hash.len() == SHA_HASH_LETTERS && hash.bytes().all(is_letter)
}
