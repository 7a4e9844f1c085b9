//! The end that serves clients: sessions of it, whose clients prove themselves by certificates as far as the options ask for it.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use rustls::crypto::ring::Ticketer;
use rustls::server::{NoServerSessionStorage, ProducesTickets, WebPkiClientVerifier};
use rustls::sign::SingleCertAndKey;
use rustls::time_provider::TimeProvider;
use rustls::{RootCertStore, ServerConfig};

use crate::clock::Clock;
use crate::contexts::{HAS_SUITES, Versions};
use crate::material::Material;
use crate::provider::provider;
use crate::reload::{FileFigures, FilesState};
use crate::session::Session;

/// Certificates of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientCertificates {
    /// Not asked for.
    #[default]
    Ignored,
    /// Asked for: a client may have none, and one that is refused ends the handshake.
    Optional,
    /// A client without one is refused.
    Required,
}

/// Options of sessions with clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerOptions {
    /// Versions of TLS.
    pub versions: Versions,
    /// Certificates of clients.
    pub client_certificates: ClientCertificates,
}

/// The keys of tickets, which all shards of a node have: a client resumes its session on any of them.
#[derive(Clone)]
pub(crate) struct Tickets(Arc<dyn ProducesTickets>);

impl Tickets {
    /// New keys; they are exchanged every 6 hours.
    pub(crate) fn new() -> Tickets {
        Tickets(Ticketer::new().expect("the system has random bytes"))
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tickets")
    }
}

/// Certificates in use on a shard for connections of clients. Clones are the same.
#[derive(Debug, Clone)]
pub struct ServerIdentity {
    inner: Rc<Inner>,
}

#[derive(Debug)]
struct Inner {
    options: ServerOptions,
    tickets: Tickets,
    clock: Arc<Clock>,
    context: RefCell<Arc<ServerConfig>>,
    files: FilesState,
}

impl ServerIdentity {
    /// Sessions are made of this material. Its tickets are of no other identity.
    pub fn new(material: &Material, options: ServerOptions) -> ServerIdentity {
        ServerIdentity::with_tickets(material, options, Tickets::new())
    }

    /// The same, and its tickets are those of others.
    pub(crate) fn with_tickets(material: &Material, options: ServerOptions, tickets: Tickets) -> ServerIdentity {
        let clock = Arc::new(Clock::default());
        let context = RefCell::new(context(material, options, &tickets, clock.clone()));
        ServerIdentity { inner: Rc::new(Inner { options, tickets, clock, context, files: FilesState::default() }) }
    }

    /// Sessions are made of other material from now on; those there are go on.
    pub(crate) fn replace(&self, material: &Material) {
        let Inner { options, tickets, clock, context: current, .. } = &*self.inner;
        *current.borrow_mut() = context(material, *options, tickets, clock.clone());
    }

    /// Looks at the files now, and takes what they have without waiting for a second look.
    pub fn reload(&self) {
        self.inner.files.asked.notify();
    }

    /// Figures of the files.
    pub fn figures(&self) -> FileFigures {
        self.inner.files.figures()
    }

    /// The account of the files.
    pub(crate) fn files(&self) -> &FilesState {
        &self.inner.files
    }

    /// A session with a client that has connected. Its certificate is judged by the wall clock of now, in microseconds.
    pub fn accept(&self, wall_clock_micros: i64) -> Session {
        self.inner.clock.set(wall_clock_micros);
        Session::accept(Arc::clone(&self.inner.context.borrow()))
    }
}

/// The settings of the sessions of material. `clock` has the time by which certificates of clients are judged.
pub(crate) fn context(
    material: &Material,
    options: ServerOptions,
    tickets: &Tickets,
    clock: Arc<dyn TimeProvider>,
) -> Arc<ServerConfig> {
    let builder = ServerConfig::builder_with_details(Arc::new(provider()), clock)
        .with_protocol_versions(options.versions.supported())
        .expect(HAS_SUITES);
    let builder = match options.client_certificates {
        ClientCertificates::Ignored => builder.with_no_client_auth(),
        asked => builder.with_client_cert_verifier(verifier(&material.trusted, asked)),
    };
    let own = SingleCertAndKey::from(material.own.as_ref().clone());
    let mut context = builder.with_cert_resolver(Arc::new(own));
    context.session_storage = Arc::new(NoServerSessionStorage {});
    match options.client_certificates {
        // The ticket is all there is of a session: the node keeps nothing for it.
        ClientCertificates::Ignored => context.ticketer = Arc::clone(&tickets.0),
        // A resumed session has a certificate that was judged by the material of another time.
        _ => context.send_tls13_tickets = 0,
    }
    assert_eq!(context.max_early_data_size, 0, "early data may be replayed");
    Arc::new(context)
}

fn verifier(
    trusted: &Arc<RootCertStore>,
    asked: ClientCertificates,
) -> Arc<dyn rustls::server::danger::ClientCertVerifier> {
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::clone(trusted), Arc::new(provider()));
    let builder = if asked == ClientCertificates::Optional { builder.allow_unauthenticated() } else { builder };
    builder.build().expect("material has a trusted certificate")
}
