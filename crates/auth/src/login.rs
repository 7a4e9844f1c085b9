//! Logins, but for the hash itself: which hash a password is verified against, and the verdict. And the first superuser of a cluster.
//!
//! A verification takes place outside the shards, and the state may change meanwhile: a verdict counts only for the hash that the role then still has.

use crate::change::AccessChange;
use crate::hash::PasswordHash;
use crate::role::Attributes;
use crate::sasl::{login_forbidden, wrong_credentials};
use crate::snapshot::Access;

/// Refusal of a login, in Cassandra's words: BAD_CREDENTIALS.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoginError(pub String);

impl Access {
    /// The hash that a password of this role is verified against. Of a role that does not exist, or has no password, one that costs as much.
    pub fn hash_to_verify(&self, role: &str) -> PasswordHash {
        let hash = self.role(role).and_then(|role| role.attributes.hash.clone());
        hash.unwrap_or_else(PasswordHash::dummy)
    }

    /// The verdict on a login by password. `is_password` says whether the password is that of `verified`, which [`Access::hash_to_verify`] gave.
    pub fn log_in(&self, role: &str, verified: &PasswordHash, is_password: bool) -> Result<(), LoginError> {
        let has_hash = self.role(role).is_some_and(|role| role.attributes.hash.as_ref() == Some(verified));
        match is_password && has_hash {
            true => self.ensure_may_log_in(role),
            false => Err(LoginError(wrong_credentials(role))),
        }
    }

    /// The role that the identity of a verified certificate logs in as.
    pub fn log_in_by_identity(&self, identity: &str) -> Result<&str, LoginError> {
        let refused = || LoginError(format!("Certificate identity '{identity}' not authorized"));
        let role = self.role_of_identity(identity).ok_or_else(refused)?;
        self.ensure_may_log_in(role).map(|()| role)
    }

    fn ensure_may_log_in(&self, role: &str) -> Result<(), LoginError> {
        match self.may_log_in(role) {
            true => Ok(()),
            false => Err(LoginError(login_forbidden(role))),
        }
    }
}

/// The changes that make the first superuser; none if one was made once, even if it was dropped since.
pub fn first_superuser(access: &Access, name: &str, hash: PasswordHash) -> Vec<AccessChange> {
    if access.is_bootstrap_done() {
        return Vec::new();
    }
    let attributes = Attributes { is_superuser: true, may_log_in: true, hash: Some(hash), ..Attributes::default() };
    vec![AccessChange::PutRole(name.to_owned(), attributes), AccessChange::BootstrapDone]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::login;

    fn hash(letter: char) -> PasswordHash {
        let text = PasswordHash::dummy().as_str().replacen('a', &letter.to_string(), 2).replacen(letter, "a", 1);
        PasswordHash::parse(&text).expect("a hash")
    }

    fn role(name: &str, may_log_in: bool, hash: Option<PasswordHash>) -> AccessChange {
        AccessChange::PutRole(name.into(), Attributes { may_log_in, hash, ..Attributes::default() })
    }

    #[test]
    fn a_login_needs_the_password_of_the_roles_present_hash_and_that_it_may_log_in() {
        let (good, other) = (hash('x'), hash('y'));
        assert_ne!(good, other);
        let roles = [role("user", true, Some(good.clone())), role("group", false, Some(good.clone())), login("bare")];
        let access = Access::default().with_all(&roles);
        assert_eq!(access.hash_to_verify("user"), good);
        assert_eq!(access.log_in("user", &good, true), Ok(()));
        let wrong = |name| Err(LoginError(format!("Provided username {name} and/or password are incorrect")));
        assert_eq!(access.log_in("user", &good, false), wrong("user"));
        // The password was changed while the former one was verified.
        assert_eq!(access.log_in("user", &other, true), wrong("user"));
        // A role without a password, and none at all: never, even if the dummy's password were found.
        for name in ["bare", "none"] {
            assert_eq!(access.hash_to_verify(name), PasswordHash::dummy());
            assert_eq!(access.log_in(name, &PasswordHash::dummy(), true), wrong(name));
        }
        let forbidden = Err(LoginError("group is not permitted to log in".into()));
        assert_eq!(access.log_in("group", &good, true), forbidden);
        assert_eq!(access.log_in("group", &good, false), wrong("group"));
    }

    #[test]
    fn an_identity_logs_in_as_its_role() {
        let put =
            |identity: &str, role: &str| AccessChange::PutIdentity { identity: identity.into(), role: role.into() };
        let changes = [login("user"), role("group", false, None), put("u", "user"), put("g", "group")];
        let access = Access::default().with_all(&changes);
        assert_eq!(access.log_in_by_identity("u"), Ok("user"));
        let refused = |identity| access.log_in_by_identity(identity).expect_err("it is refused").to_string();
        assert_eq!(refused("g"), "group is not permitted to log in");
        assert_eq!(refused("x"), "Certificate identity 'x' not authorized");
    }

    #[test]
    fn the_first_superuser_is_made_once() {
        let access = Access::default();
        let changes = first_superuser(&access, "cassandra", hash('x'));
        let after = access.with_all(&changes);
        assert!(after.is_superuser("cassandra") && after.may_log_in("cassandra"));
        assert_eq!(after.hash_to_verify("cassandra"), hash('x'));
        let without = after.with(&AccessChange::DropRole("cassandra".into()));
        assert_eq!(first_superuser(&without, "cassandra", hash('x')), []);
    }
}
