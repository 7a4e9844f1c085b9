//! An access, read and checked.

use tls::ClientIdentity;

use crate::login::Login;

/// All that a client shows a server. By default it is anonymous, and its connections are plain.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The role that it logs in as, where the server asks for one.
    pub login: Option<Login>,
    /// The settings of its sessions; `None`: its connections are plain.
    pub tls: Option<ClientIdentity>,
}
