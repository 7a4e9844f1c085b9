//! The end that connects to a server as a client: for tools, which prove the server and, if it asks for that, themselves.
//!
//! A server's certificate is judged whole: its issuer, its time by the system's clock, and its name or address. No option leaves that out: who needs none of it can use a
//! plain port.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runtime::Runtime;
use rustls::ClientConfig;
use rustls::sign::SingleCertAndKey;

use crate::contexts::HAS_SUITES;
use crate::material::{own_of, roots_of};
use crate::material_error::MaterialError;
use crate::pem::Pem;
use crate::provider::provider;
use crate::session::Session;
use crate::source::Source;

/// Files of a client, as a command line names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFiles {
    /// The certificates that it trusts.
    pub trusted: PathBuf,
    /// Its own certificate and key, which may be one file.
    pub own: Option<(PathBuf, PathBuf)>,
}

/// Settings of a client's sessions. Clones are the same.
#[derive(Clone)]
pub struct ClientIdentity {
    context: Arc<ClientConfig>,
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientIdentity")
    }
}

impl ClientFiles {
    /// Reads the files through the runtime.
    pub async fn identity(&self, runtime: &Runtime) -> Result<ClientIdentity, MaterialError> {
        let read = async |path: &Path| Source::File(path.to_owned()).read(runtime).await;
        let trusted = read(&self.trusted).await?;
        match &self.own {
            None => ClientIdentity::new(&trusted, None),
            Some((certificate, key)) => {
                ClientIdentity::new(&trusted, Some((&read(certificate).await?, &read(key).await?)))
            }
        }
    }
}

impl ClientIdentity {
    /// Settings of a client that trusts these certificates, and has a certificate with its key, or none.
    pub fn new(trusted: &Pem, own: Option<(&Pem, &Pem)>) -> Result<ClientIdentity, MaterialError> {
        let builder = ClientConfig::builder_with_provider(Arc::new(provider()))
            .with_safe_default_protocol_versions()
            .expect(HAS_SUITES)
            .with_root_certificates(roots_of(trusted)?);
        let context = match own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let own = SingleCertAndKey::from(own_of(certificate, key)?);
                builder.with_client_cert_resolver(Arc::new(own))
            }
        };
        assert!(!context.enable_early_data, "early data may be replayed");
        Ok(ClientIdentity { context: Arc::new(context) })
    }

    /// The settings, for a driver that has sessions of its own.
    pub fn context(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.context)
    }

    /// A session with the server at an address. Its first bytes are to be sent.
    pub fn dial(&self, address: IpAddr) -> Session {
        Session::dial(self.context(), address.to_canonical())
    }
}
