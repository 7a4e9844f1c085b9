//! A client of TLS, with the settings of its test.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use helenus_tests::Connection;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};

use super::authority::{Authority, Issued};

pub(crate) type Tls = StreamOwned<ClientConnection, TcpStream>;

const PATIENCE: Duration = Duration::from_secs(20);

/// Settings of a client.
#[derive(Clone)]
pub(crate) struct Client(Arc<ClientConfig>);

impl Client {
    /// It trusts the authority, and has a certificate or none.
    pub(crate) fn new(authority: &Authority, issued: Option<&Issued>) -> Client {
        Client::of(&[authority], issued, &[&TLS13, &TLS12])
    }

    /// It trusts two authorities.
    pub(crate) fn trusting(authorities: [&Authority; 2], issued: &Issued) -> Client {
        Client::of(&authorities, Some(issued), &[&TLS13, &TLS12])
    }

    pub(crate) fn of_tls12(authority: &Authority) -> Client {
        Client::of(&[authority], None, &[&TLS12])
    }

    fn of(
        authorities: &[&Authority],
        issued: Option<&Issued>,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Client {
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            let certificate = CertificateDer::from_pem_slice(authority.pem.as_bytes()).expect("PEM");
            roots.add(certificate).expect("a certificate");
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions);
        let builder = builder.expect("the provider has suites of both versions").with_root_certificates(roots);
        Client(Arc::new(match issued {
            None => builder.with_no_client_auth(),
            Some(issued) => {
                let chain = vec![CertificateDer::from_pem_slice(issued.certificate.as_bytes()).expect("PEM")];
                let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).expect("PEM");
                builder.with_client_auth_cert(chain, key).expect("the key is the certificate's")
            }
        }))
    }

    /// The settings, for a driver.
    pub(crate) fn settings(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0)
    }

    /// A session on a new socket, before its handshake.
    pub(crate) fn dial(&self, address: &str) -> io::Result<Tls> {
        let address: SocketAddr = address.parse().map_err(io::Error::other)?;
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let session = ClientConnection::new(Arc::clone(&self.0), ServerName::from(address.ip()));
        Ok(StreamOwned::new(session.map_err(io::Error::other)?, socket))
    }

    /// A connection that has started.
    pub(crate) fn connect(&self, address: &str) -> io::Result<Connection<Tls>> {
        Connection::over(self.dial(address)?).greeted()
    }

    /// A connection that has logged in by name as the first superuser.
    pub(crate) fn log_in(&self, address: &str, password: &str) -> io::Result<Connection<Tls>> {
        Connection::over(self.dial(address)?).logged_in("cassandra", password)
    }
}
