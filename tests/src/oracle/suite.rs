//! The two suites of scripts of one node: of clients that need not log in, and of clients that log in.

use crate::Builder;
use crate::oracle::script::{FOLDER, GUARDED_FOLDER, Script, find_in};
use crate::oracle::session::Session;

/// Helenus's settings for the guarded suite: those of the real server's configuration `guarded` that Helenus takes, and a hash of the superuser's password,
/// `cassandra`, which is made with the least cost.
const GUARDED: &str = "\
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
network_authorizer: CassandraNetworkAuthorizer
cidr_authorizer:
  class_name: CassandraCIDRAuthorizer
  parameters:
    cidr_authorizer_mode: ENFORCE
dynamic_data_masking_enabled: true
auth_superuser_salted_password: $2a$04$abcdefghijklmnopqrstuupECqE3.KFtytTZJFI/DU/4Xz5o6X3TG
";

/// A suite of scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// Clients are anonymous and may do everything.
    Open,
    /// Clients log in with a password, and may do what was granted to them.
    Guarded,
}

impl Suite {
    /// The suite's scripts below the paths, or all.
    pub fn scripts(self, paths: &[&str]) -> Result<Vec<Script>, String> {
        find_in(if self == Suite::Guarded { GUARDED_FOLDER } else { FOLDER }, paths)
    }

    /// A session of its clients.
    pub fn session(self, address: &str) -> Session {
        if self == Suite::Guarded { Session::guarded(address) } else { Session::new(address) }
    }

    /// Helenus as its clients find it.
    pub fn helenus(self, reactor: &str, shards: u16) -> Builder {
        self.configure(Builder::new(reactor, shards))
    }

    /// A node that is configured as the suite's clients find it.
    pub fn configure(self, builder: Builder) -> Builder {
        if self == Suite::Guarded { builder.configured(GUARDED) } else { builder }
    }
}
