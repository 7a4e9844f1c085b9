//! The settings of sessions between nodes, for both ends, made once of material.
//!
//! Sessions are never resumed: a certificate that was replaced or has expired opens no connection, and no ticket needs to be kept.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::SingleCertAndKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ServerConfig, SupportedProtocolVersion};

use crate::clock::Clock;
use crate::material::Material;
use crate::provider::provider;
use crate::verifier::{AddressVerifier, DialledVerifier, dialler_verifier};

pub(crate) const HAS_SUITES: &str = "the provider has suites of both versions";

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

/// Settings that are kept of diallers' addresses: more than a cluster has nodes, mostly, and few enough for those of strangers to cost no memory.
const ADDRESSES_MAX: usize = 256;

/// Settings of both ends.
#[derive(Debug)]
pub(crate) struct Contexts {
    pub(crate) dialler: Arc<ClientConfig>,
    listener: Listener,
}

/// Settings of the end that is dialled.
#[derive(Debug)]
enum Listener {
    /// The same for all diallers.
    One(Arc<ServerConfig>),
    /// One for each address: its verifier knows the dialler's.
    ByAddress { parts: Parts, chain: Arc<dyn ClientCertVerifier>, known: BTreeMap<IpAddr, Arc<ServerConfig>> },
}

/// All that the settings of diallers have in common, made once of material: any host may have a node make settings for its address.
#[derive(Debug)]
struct Parts {
    provider: Arc<CryptoProvider>,
    own: Arc<SingleCertAndKey>,
    versions: Versions,
    clock: Arc<Clock>,
}

impl Contexts {
    pub(crate) fn new(material: &Material, options: Options, clock: &Arc<Clock>) -> Contexts {
        let verifier = DialledVerifier::new(Arc::clone(&material.trusted), options.verifies_addresses);
        let own = Arc::new(SingleCertAndKey::from(material.own.as_ref().clone()));
        let parts = Parts { provider: Arc::new(provider()), own, versions: options.versions, clock: Arc::clone(clock) };
        let mut dialler = ClientConfig::builder_with_details(Arc::clone(&parts.provider), clock.clone())
            .with_protocol_versions(options.versions.supported())
            .expect(HAS_SUITES)
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_cert_resolver(parts.own.clone());
        dialler.resumption = Resumption::disabled();
        dialler.require_ems = true;
        let chain = dialler_verifier(&material.trusted);
        let listener = match options.verifies_addresses {
            false => Listener::One(parts.listener(chain)),
            true => Listener::ByAddress { parts, chain, known: BTreeMap::new() },
        };
        Contexts { dialler: Arc::new(dialler), listener }
    }

    /// Settings of the end that is dialled from an address.
    pub(crate) fn listener_for(&mut self, address: IpAddr) -> Arc<ServerConfig> {
        match &mut self.listener {
            Listener::One(settings) => Arc::clone(settings),
            Listener::ByAddress { parts, chain, known } => {
                if let Some(settings) = known.get(&address) {
                    return Arc::clone(settings);
                }
                if known.len() >= ADDRESSES_MAX {
                    known.clear();
                }
                let settings = parts.listener(Arc::new(AddressVerifier::new(Arc::clone(chain), address)));
                known.insert(address, Arc::clone(&settings));
                settings
            }
        }
    }
}

impl Versions {
    pub(crate) fn supported(self) -> &'static [&'static SupportedProtocolVersion] {
        match self {
            Versions::Both => &SUPPORTED,
            Versions::Tls13 => &SUPPORTED[..1],
            Versions::Tls12 => &SUPPORTED[1..],
        }
    }
}

impl Parts {
    /// Settings of the end that is dialled, with this judge of diallers.
    fn listener(&self, verifier: Arc<dyn ClientCertVerifier>) -> Arc<ServerConfig> {
        let mut listener = ServerConfig::builder_with_details(Arc::clone(&self.provider), self.clock.clone())
            .with_protocol_versions(self.versions.supported())
            .expect(HAS_SUITES)
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(self.own.clone());
        listener.session_storage = Arc::new(NoServerSessionStorage {});
        listener.send_tls13_tickets = 0;
        // Without it the keying material of TLS 1.2 is not of one session alone (RFC 7627).
        listener.require_ems = true;
        Arc::new(listener)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::authority::{Authority, VALID};

    #[test]
    fn settings_are_made_once_for_an_address_and_those_of_strangers_are_bounded() {
        let authority = Authority::new("one");
        let issued = authority.issue(&["127.0.0.1"], VALID);
        let material = Material::parse(&crate::tests::pems(&issued, &authority.pem)).expect("the PEM is right");
        let options = Options { verifies_addresses: true, ..Options::default() };
        let mut contexts = Contexts::new(&material, options, &Arc::default());
        let at = |number: u32| IpAddr::from(number.to_be_bytes());
        let first = contexts.listener_for(at(1));
        assert!(Arc::ptr_eq(&first, &contexts.listener_for(at(1))));
        assert!(!Arc::ptr_eq(&first, &contexts.listener_for(at(2))));
        for stranger in 0..4 * ADDRESSES_MAX as u32 {
            contexts.listener_for(at(stranger));
            let Listener::ByAddress { known, .. } = &contexts.listener else { panic!("addresses are verified") };
            assert!(known.len() <= ADDRESSES_MAX);
        }
    }
}
