//! The two suites of scripts of one node: of clients that need not log in, and of clients that log in.

use crate::Builder;
use crate::oracle::script::{FOLDER, GUARDED_FOLDER, Script, find_in};
use crate::oracle::session::Session;

/// Helenus's settings for the guarded suite: what the real server of the configuration `guarded` has, as far as Helenus knows it.
const GUARDED: &str = "\
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
network_authorizer: CassandraNetworkAuthorizer
cidr_authorizer:
  class_name: CassandraCIDRAuthorizer
  parameters:
    cidr_authorizer_mode: ENFORCE
dynamic_data_masking_enabled: true
materialized_views_enabled: true
sasi_indexes_enabled: true
user_defined_functions_enabled: true
auth_superuser_salted_password: $2a$04$kzOT7cI7ZjWDhMNoPS9X7uTHAmRtv.fj7PX1UI7S3pc2vYMYqXrjS
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
        let builder = Builder::new(reactor, shards);
        if self == Suite::Guarded { builder.configured(GUARDED) } else { builder }
    }
}
