//! The login of all clients: the first superuser, whose hash costs little, and how long they wait.

use std::time::Duration;

/// The longest that a client waits for an answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// The role that all statements are sent by.
pub(crate) const SUPERUSER: &str = "cassandra";
/// Its password.
pub(crate) const PASSWORD: &str = "simulated";
/// The hash of that, which nodes are configured with.
pub(crate) const PASSWORD_HASH: &str = "$2b$04$abcdefghijklmnopqrstuuH.HwejlEI5ekomaQZ1i3BY3uPwosTPq";
