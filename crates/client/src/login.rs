//! A name and its password.

use std::fmt;

use crate::error::AccessError;

/// The variable of the environment that may have the password.
pub const PASSWORD_VARIABLE: &str = "HELENUS_PASSWORD";

/// The most bytes of a file with a password.
pub(crate) const FILE_BYTES_MAX: u64 = 4 << 10;

/// A role's name and password. The debug text shows the name alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The role.
    pub username: String,
    /// Its password.
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({})", self.username)
    }
}

/// The places of a password, of which the first that has one counts.
#[derive(Clone, Default)]
pub struct Passwords {
    /// The command line.
    pub given: Option<String>,
    /// The bytes of a file: its first line.
    pub file: Option<Vec<u8>>,
    /// The environment.
    pub variable: Option<String>,
}

impl Login {
    /// The login of a name with a password of one of the places; `None`: no name is given, so that the environment's password is for others.
    pub fn of(username: Option<String>, passwords: Passwords) -> Result<Option<Login>, AccessError> {
        let Passwords { given, file, variable } = passwords;
        let Some(username) = username else {
            return match given.is_some() || file.is_some() {
                true => Err(AccessError::NoUsername),
                false => Ok(None),
            };
        };
        let password = match (given, file) {
            (Some(given), _) => Some(given),
            (None, Some(bytes)) => Some(first_line(bytes)?),
            (None, None) => variable,
        };
        match password.filter(|password| !password.is_empty()) {
            Some(password) => Ok(Some(Login { username, password })),
            None => Err(AccessError::NoPassword { username }),
        }
    }

    /// The response of SASL PLAIN.
    pub fn sasl_plain(&self) -> Vec<u8> {
        [b"\0", self.username.as_bytes(), b"\0", self.password.as_bytes()].concat()
    }
}

fn first_line(bytes: Vec<u8>) -> Result<String, AccessError> {
    let text = String::from_utf8(bytes).map_err(|_| AccessError::PasswordNotText)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
