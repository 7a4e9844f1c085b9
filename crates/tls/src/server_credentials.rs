//! Certificates for connections of clients as the configuration has them, and how a shard makes its identity of them.

use runtime::{Runtime, ShardId};

use crate::material::Material;
use crate::material_error::MaterialError;
use crate::pem::Pems;
use crate::reload::Reload;
use crate::server::{ClientCertificates, ServerIdentity, ServerOptions, Tickets};
use crate::source::Sources;

/// All that shards make their identities of: plain data, which was checked before any shard runs.
#[derive(Debug, Clone)]
pub struct ServerCredentials {
    sources: Sources,
    pems: Pems,
    options: ServerOptions,
    tickets: Tickets,
}

impl ServerCredentials {
    /// Checks what was read from the sources. Trusted certificates are needed where certificates of clients are asked for.
    pub fn new(sources: Sources, pems: Pems, options: ServerOptions) -> Result<ServerCredentials, MaterialError> {
        let asks = options.client_certificates != ClientCertificates::Ignored;
        assert!(!asks || pems.trusted.is_some(), "certificates of clients are judged by trusted ones");
        Material::parse(&pems)?;
        Ok(ServerCredentials { sources, pems, options, tickets: Tickets::new() })
    }

    /// The options of sessions.
    pub fn options(&self) -> ServerOptions {
        self.options
    }

    /// Where the PEM is.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The identity of the runtime's shard, which follows changes of the files from now on, as long as the shard runs.
    pub fn identity(&self, runtime: &Runtime) -> ServerIdentity {
        let material = Material::parse(&self.pems).expect("the same PEM was parsed before");
        if material.signs_slowly() && runtime.shard() == ShardId(0) {
            let file = self.sources.key.name();
            tracing::warn!(
                file,
                "RSA key of 4096 bits or more: each TLS handshake of a client holds a shard for milliseconds; use ECDSA P-256"
            );
        }
        let identity = ServerIdentity::with_tickets(&material, self.options, self.tickets.clone());
        Reload::new(runtime, self.sources.clone(), self.pems.clone(), identity.clone()).start(&material);
        identity
    }
}
