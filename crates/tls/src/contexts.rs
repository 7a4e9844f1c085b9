//! The settings of sessions, for both ends, made once of material.
//!
//! Sessions are never resumed: a certificate that was replaced or has expired opens no connection, and no ticket needs to be kept.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::SingleCertAndKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ServerConfig, SupportedProtocolVersion};

use crate::clock::Clock;
use crate::material::Material;
use crate::provider::provider;
use crate::verifier::{AddressVerifier, DialledVerifier, dialler_verifier};

const HAS_SUITES: &str = "the provider has suites of both versions";

/// The versions that the provider has.
static SUPPORTED: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];

/// Versions of TLS that are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Versions {
    /// 1.2 and 1.3, the newest that both ends have.
    #[default]
    Both,
    /// 1.2 only.
    Tls12,
    /// 1.3 only.
    Tls13,
}

/// How sessions are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Versions of TLS.
    pub versions: Versions,
    /// Each end's certificate must have its IP address among its subject alternative names.
    pub verifies_addresses: bool,
}

/// Settings of both ends.
#[derive(Debug, Clone)]
pub(crate) struct Contexts {
    pub(crate) dialler: Arc<ClientConfig>,
    listener: Listener,
}

/// Settings of the end that is dialled.
#[derive(Debug, Clone)]
enum Listener {
    /// The same for all diallers.
    One(Arc<ServerConfig>),
    /// Made for each: its verifier knows the dialler's address.
    ByAddress(Material, Options, Arc<Clock>),
}

impl Contexts {
    pub(crate) fn new(material: &Material, options: Options, clock: &Arc<Clock>) -> Contexts {
        let verifier = DialledVerifier::new(Arc::clone(&material.trusted), options.verifies_addresses);
        let mut dialler = ClientConfig::builder_with_details(Arc::new(provider()), clock.clone())
            .with_protocol_versions(options.versions.supported())
            .expect(HAS_SUITES)
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_cert_resolver(Arc::new(own(material)));
        dialler.resumption = Resumption::disabled();
        let listener = match options.verifies_addresses {
            false => Listener::One(listener(material, options, clock, dialler_verifier(&material.trusted))),
            true => Listener::ByAddress(material.clone(), options, Arc::clone(clock)),
        };
        Contexts { dialler: Arc::new(dialler), listener }
    }

    /// Settings of the end that is dialled from an address.
    pub(crate) fn listener_for(&self, address: IpAddr) -> Arc<ServerConfig> {
        match &self.listener {
            Listener::One(settings) => Arc::clone(settings),
            Listener::ByAddress(material, options, clock) => {
                let verifier = AddressVerifier::new(dialler_verifier(&material.trusted), address);
                listener(material, *options, clock, Arc::new(verifier))
            }
        }
    }
}

impl Versions {
    fn supported(self) -> &'static [&'static SupportedProtocolVersion] {
        match self {
            Versions::Both => &SUPPORTED,
            Versions::Tls13 => &SUPPORTED[..1],
            Versions::Tls12 => &SUPPORTED[1..],
        }
    }
}

fn own(material: &Material) -> SingleCertAndKey {
    SingleCertAndKey::from(material.own.as_ref().clone())
}

fn listener(
    material: &Material,
    options: Options,
    clock: &Arc<Clock>,
    verifier: Arc<dyn ClientCertVerifier>,
) -> Arc<ServerConfig> {
    let mut listener = ServerConfig::builder_with_details(Arc::new(provider()), clock.clone())
        .with_protocol_versions(options.versions.supported())
        .expect(HAS_SUITES)
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(own(material)));
    listener.session_storage = Arc::new(NoServerSessionStorage {});
    listener.send_tls13_tickets = 0;
    Arc::new(listener)
}
