//! SASL PLAIN, as clients send it in AUTH_RESPONSE: `[authzid] NUL name NUL password`. Read from the end, and the authzid is ignored, as in Cassandra.

use std::fmt;

/// The answer to a wrong name and to a wrong password.
pub fn wrong_credentials(name: &str) -> String {
    format!("Provided username {name} and/or password are incorrect")
}

/// The answer to a role with `LOGIN = false`.
pub fn login_forbidden(name: &str) -> String {
    format!("{name} is not permitted to log in")
}

/// A name and a password. Its debug text does not show the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name.
    pub name: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({:?}, *******)", self.name)
    }
}

/// Refusal of a response, in Cassandra's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SaslError {
    /// There are more than two NULs.
    #[error("Credential format error: username or password is empty or contains NUL(\\0) character")]
    Format,
    /// There is no NUL, or nothing follows the last one.
    #[error("Password must not be null")]
    NoPassword,
    /// There is one NUL, or nothing precedes the last one.
    #[error("Authentication ID must not be null")]
    NoName,
}

/// The credentials of a response. Bytes that are no UTF-8 are replaced, as Java does.
pub fn parse_plain(response: &[u8]) -> Result<Credentials, SaslError> {
    let mut parts = response.rsplit(|byte| *byte == 0);
    let last = parts.next().expect("each slice has a part");
    let (name, authzid) = (parts.next(), parts.next());
    if parts.next().is_some() {
        return Err(SaslError::Format);
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // A part counts if a NUL precedes it.
    let password = name.map(|_| last).filter(|password| !password.is_empty()).ok_or(SaslError::NoPassword)?;
    let name = name.filter(|name| authzid.is_some() && !name.is_empty()).ok_or(SaslError::NoName)?;
    Ok(Credentials { name: text(name), password: text(password) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(response: &[u8]) -> Result<(String, String), SaslError> {
        parse_plain(response).map(|credentials| (credentials.name, credentials.password))
    }

    #[test]
    fn responses_are_read_from_the_end() {
        let both = |name: &str, password: &str| Ok((name.to_owned(), password.to_owned()));
        assert_eq!(parsed(b"\0user\0secret"), both("user", "secret"));
        assert_eq!(parsed(b"someone else\0user\0secret"), both("user", "secret"));
        assert_eq!(parsed(b"\0u\xff\0p"), both("u\u{fffd}", "p"));
        for (response, error) in [
            (&b""[..], SaslError::NoPassword),
            (b"user", SaslError::NoPassword),
            (b"user\0", SaslError::NoPassword),
            (b"\0user\0", SaslError::NoPassword),
            (b"\0", SaslError::NoPassword),
            (b"user\0secret", SaslError::NoName),
            (b"\0\0secret", SaslError::NoName),
            (b"\0\0", SaslError::NoPassword),
            (b"\0user\0secret\0", SaslError::Format),
            (b"a\0b\0c\0d", SaslError::Format),
            (b"\0\0\0", SaslError::Format),
        ] {
            assert_eq!(parsed(response), Err(error), "{response:?}");
        }
    }

    #[test]
    fn words_are_cassandras_and_passwords_are_not_shown() {
        assert_eq!(
            SaslError::Format.to_string(),
            "Credential format error: username or password is empty or contains NUL(\\0) character"
        );
        let credentials = parse_plain(b"\0user\0secret").expect("a name and a password");
        assert_eq!(format!("{credentials:?}"), "Credentials(\"user\", *******)");
        assert_eq!(wrong_credentials("u"), "Provided username u and/or password are incorrect");
        assert_eq!(login_forbidden("u"), "u is not permitted to log in");
    }

    proptest! {
        #[test]
        fn what_a_client_sends_comes_back(authzid in "[^\0]*", name in "[^\0]+", password in "[^\0]+") {
            let response = format!("{authzid}\0{name}\0{password}");
            prop_assert_eq!(parsed(response.as_bytes()), Ok((name, password)));
        }

        #[test]
        fn no_bytes_panic(response in proptest::collection::vec(0u8..3, 0..12)) {
            if let Ok(credentials) = parse_plain(&response) {
                prop_assert!(!credentials.name.is_empty() && !credentials.password.is_empty());
                prop_assert_eq!(response.iter().filter(|byte| **byte == 0).count(), 2);
            }
        }
    }
}
