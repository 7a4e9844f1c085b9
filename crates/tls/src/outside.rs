//! Certificates of connections that are accepted on a thread beside the shards, which is no shard's and has a TLS stream of its own.
//!
//! Shard 0 follows the files, as it does for clients, and puts new settings where that thread finds them: a lock that is held for the exchange of one pointer. Certificates of
//! the other end are judged by the system's clock, since no runtime is on that thread.

use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use runtime::{Runtime, ShardId};
use rustls::ServerConfig;
use rustls::time_provider::DefaultTimeProvider;

use crate::flaw::Flaw;
use crate::material::Material;
use crate::material_error::MaterialError;
use crate::pem::Pems;
use crate::reload::{FileFigures, FilesState, Reload, Replaceable};
use crate::server::{ClientCertificates, ServerOptions, Tickets, context};
use crate::source::Sources;

/// Certificates in use. Clones are the same, on any thread.
#[derive(Clone)]
pub struct OutsideIdentity {
    inner: Arc<Inner>,
}

struct Inner {
    options: ServerOptions,
    tickets: Tickets,
    context: Mutex<Arc<ServerConfig>>,
}

impl fmt::Debug for OutsideIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OutsideIdentity")
    }
}

impl OutsideIdentity {
    fn new(material: &Material, options: ServerOptions) -> OutsideIdentity {
        let tickets = Tickets::new();
        let context = Mutex::new(context(material, options, &tickets, Arc::new(DefaultTimeProvider)));
        OutsideIdentity { inner: Arc::new(Inner { options, tickets, context }) }
    }

    /// The settings of a session that begins now.
    pub fn context(&self) -> Arc<ServerConfig> {
        // No code that may panic holds the lock.
        Arc::clone(&self.inner.context.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, material: &Material) {
        let Inner { options, tickets, context: current } = &*self.inner;
        let new = context(material, *options, tickets, Arc::new(DefaultTimeProvider));
        *current.lock().unwrap_or_else(PoisonError::into_inner) = new;
    }
}

/// The same as the configuration has them: plain data, which was checked before any shard runs.
#[derive(Debug, Clone)]
pub struct OutsideCredentials {
    sources: Sources,
    pems: Pems,
    identity: OutsideIdentity,
}

impl OutsideCredentials {
    /// Checks what was read from the sources. Trusted certificates are needed where certificates of the other end are asked for.
    pub fn new(sources: Sources, pems: Pems, options: ServerOptions) -> Result<OutsideCredentials, MaterialError> {
        let asks = options.client_certificates != ClientCertificates::Ignored;
        assert!(!asks || pems.trusted.is_some(), "certificates of the other end are judged by trusted ones");
        let identity = OutsideIdentity::new(&Material::parse(&pems)?, options);
        Ok(OutsideCredentials { sources, pems, identity })
    }

    /// True if whoever has no certificate of a trusted authority gets no session.
    pub fn proves_clients(&self) -> bool {
        self.identity.inner.options.client_certificates == ClientCertificates::Required
    }

    /// For the thread that accepts.
    pub fn identity(&self) -> OutsideIdentity {
        self.identity.clone()
    }

    /// Follows changes of the files from now on, as long as shard 0 runs.
    pub fn follow(&self, runtime: &Runtime) -> OutsideFiles {
        assert_eq!(runtime.shard(), ShardId(0), "one shard follows the files");
        let material = Material::parse(&self.pems).expect("the same PEM was parsed before");
        let files = OutsideFiles { identity: self.identity(), state: Rc::default() };
        Reload::new(runtime, self.sources.clone(), self.pems.clone(), files.clone()).start(&material);
        files
    }
}

/// The files of an [`OutsideIdentity`], on the shard that follows them. Clones are the same.
#[derive(Debug, Clone)]
pub struct OutsideFiles {
    identity: OutsideIdentity,
    state: Rc<FilesState>,
}

impl OutsideFiles {
    /// Looks at the files now, and takes what they have without waiting for a second look.
    pub fn reload(&self) {
        self.state.asked.notify();
    }

    /// Figures of the files.
    pub fn figures(&self) -> FileFigures {
        self.state.figures()
    }
}

impl Replaceable for OutsideFiles {
    const PEERS: &'static str = "operators";
    const JUDGES: &'static str = "operators that verify it";

    fn flaw(material: &Material, wall_clock_micros: i64) -> Option<Flaw> {
        material.time_flaw(wall_clock_micros)
    }

    fn replace(&self, material: &Material) {
        self.identity.replace(material);
    }

    fn files(&self) -> &FilesState {
        &self.state
    }
}
