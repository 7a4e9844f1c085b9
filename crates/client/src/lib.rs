//! A tool's access to a server: the name and password that it logs in with, and the certificates of its connections, as the command lines of tools have them.
//!
//! A password on a command line can be read by all users of the machine, so it may stand in a file or in a variable of the environment instead. It is in no debug text and no
//! error. Nothing here connects or speaks a protocol.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod access;
mod error;
mod login;
mod options;

pub use access::Access;
pub use error::AccessError;
pub use login::{Login, PASSWORD_VARIABLE, Passwords};
pub use options::AccessOptions;

#[cfg(test)]
mod tests;
