//! A ticket: a secret that logs a connection in once as a role that has proven itself elsewhere, in the place of a password. Who admits tickets, and until when, is the server's.

use std::fmt;

use auth::Credentials;

/// A secret for one login as a role. Debug text shows the role alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The role.
    pub role: String,
    /// Random bytes; their hexadecimal digits are the password.
    pub secret: [u8; 16],
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ticket({})", self.role)
    }
}

impl Ticket {
    /// The digits that stand in the place of a password.
    pub fn password(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.secret))
    }

    /// True if these are the ticket's role and secret. Takes a time that does not depend on where the secrets differ.
    pub fn is_of(&self, credentials: &Credentials) -> bool {
        let text = self.password();
        let given = credentials.password.as_bytes();
        let difference = text.bytes().zip(given).fold(0, |all, (one, other)| all | (one ^ other));
        given.len() == text.len() && std::hint::black_box(difference) == 0 && credentials.name == self.role
    }
}
