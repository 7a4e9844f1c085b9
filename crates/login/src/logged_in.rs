//! A login after its verification: the role, and the stored hash that its password was verified against.
//!
//! Whoever keeps a login for later requests asks each time if it holds. Another password of the role, the same one set again, a dropped role and a namesake of it all have
//! another hash, so none of them takes part in the login of before.

use auth::{Access, LoginError, PasswordHash};

/// A role that has logged in by its password. Debug text does not show the hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedIn {
    role: String,
    verified: PasswordHash,
}

impl LoggedIn {
    /// The login of a role whose password was verified against this hash, by the state of this moment.
    ///
    /// # Errors
    /// In Cassandra's words: it was not the password, the role has another hash by now, or it may not log in.
    pub fn judge(
        access: &Access,
        role: String,
        verified: PasswordHash,
        is_password: bool,
    ) -> Result<LoggedIn, LoginError> {
        access.log_in(&role, &verified, is_password)?;
        Ok(LoggedIn { role, verified })
    }

    /// The role.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// An error if the login has ended: the role was dropped, has another password, or may not log in.
    ///
    /// # Errors
    /// Those of [`LoggedIn::judge`].
    pub fn holds(&self, access: &Access) -> Result<(), LoginError> {
        access.log_in(&self.role, &self.verified, true)
    }
}

#[cfg(test)]
mod tests {
    use auth::{AccessChange, Attributes};

    use super::*;

    fn hash(salt: u8) -> PasswordHash {
        PasswordHash::parse(&PasswordHash::dummy().as_str().replacen("abc", &format!("{}bc", char::from(salt)), 1))
            .expect("a hash")
    }

    fn put(hash: PasswordHash, may_log_in: bool) -> AccessChange {
        AccessChange::PutRole("ada".to_owned(), Attributes { may_log_in, hash: Some(hash), ..Attributes::default() })
    }

    #[test]
    fn a_login_ends_with_its_password_its_role_and_the_right_to_log_in() {
        let access = Access::default().with(&put(hash(b'x'), true));
        let login = LoggedIn::judge(&access, "ada".to_owned(), hash(b'x'), true).expect("the password is right");
        assert_eq!((login.role(), login.holds(&access)), ("ada", Ok(())));
        assert!(LoggedIn::judge(&access, "ada".to_owned(), hash(b'x'), false).is_err());
        let dropped = access.with(&AccessChange::DropRole("ada".to_owned()));
        for ended in [
            access.with(&put(hash(b'y'), true)),
            access.with(&put(hash(b'x'), false)),
            dropped.with(&put(hash(b'y'), true)),
            dropped,
        ] {
            assert!(login.holds(&ended).is_err());
        }
        assert!(!format!("{login:?}").contains("$2"), "{login:?}");
    }
}
