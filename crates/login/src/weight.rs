//! The weight of a computation: how long it takes, in hashes of the cost that this code makes.
//!
//! Turns are given by weight. A role may set a hash of its own password that takes 64 times as long (HASHED PASSWORD); were each verification one turn, a few hosts that
//! log in as such a role would leave the others the time between such verifications.

use auth::{PasswordHash, hash};

use crate::desk::Work;

/// Rounds of SHA-512 crypt that take about as long as a hash of [`hash::COST`].
const ROUNDS_PER_HASH: u64 = 100_000;

/// The weight of a computation, at least 1.
pub(crate) fn weight(work: &Work) -> u64 {
    match work {
        Work::Verify { hash, .. } => of_hash(hash),
        Work::Hash { .. } => 1,
    }
}

fn of_hash(hash: &PasswordHash) -> u64 {
    let text = hash.as_str();
    if let Some(rest) = text.strip_prefix("$6$") {
        let rounds = rest.strip_prefix("rounds=").and_then(|rest| rest.split('$').next()?.parse::<u64>().ok());
        return 1 + rounds.unwrap_or(0) / ROUNDS_PER_HASH;
    }
    let cost = text.split('$').nth(2).and_then(|cost| cost.parse::<u32>().ok()).unwrap_or(hash::COST_MAX);
    1 << cost.min(hash::COST_MAX).saturating_sub(hash::COST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_weighs_what_it_takes() {
        let of = |text: &str| of_hash(&PasswordHash::parse(text).expect("a hash"));
        let bcrypt = |cost: &str| PasswordHash::dummy().as_str().replacen("$10$", cost, 1);
        assert_eq!(of_hash(&PasswordHash::dummy()), 1);
        assert_eq!([of(&bcrypt("$04$")), of(&bcrypt("$12$")), of(&bcrypt("$16$"))], [1, 4, 64]);
        let crypt = |rounds: &str| format!("$6${rounds}salt${}", "a".repeat(86));
        assert_eq!([of(&crypt("")), of(&crypt("rounds=1000000$"))], [1, 11]);
        assert_eq!(weight(&Work::Hash { password: "new".into(), salt: [0; 16] }), 1);
    }
}
