//! The weight of a computation: how long it takes, in hashes of the cost that this code makes.
//!
//! Turns are given by weight. A hash that was set (HASHED PASSWORD) takes up to 64 times as long; were each verification one turn, a few hosts that
//! log in as such a role would leave the others the time between such verifications.

use crate::desk::Work;

/// The weight of a computation, at least 1.
pub(crate) fn weight(work: &Work) -> u64 {
    match work {
        Work::Verify { hash, .. } => hash.weight(),
        Work::Hash { .. } => 1,
    }
}

#[cfg(test)]
mod tests {
    use auth::PasswordHash;

    use super::*;

    #[test]
    fn a_hash_weighs_what_it_takes() {
        let of = |text: &str| PasswordHash::parse(text).expect("a hash").weight();
        let bcrypt = |cost: &str| PasswordHash::dummy().as_str().replacen("$10$", cost, 1);
        assert_eq!(PasswordHash::dummy().weight(), 1);
        assert_eq!([of(&bcrypt("$04$")), of(&bcrypt("$12$")), of(&bcrypt("$16$"))], [1, 4, 64]);
        let crypt = |rounds: &str| format!("$6${rounds}salt${}", "a".repeat(86));
        assert_eq!([of(&crypt("")), of(&crypt("rounds=1000000$"))], [1, 11]);
        assert_eq!(weight(&Work::Hash { password: "new".into(), salt: [0; 16] }), 1);
    }
}
