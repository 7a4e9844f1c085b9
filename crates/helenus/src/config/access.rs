//! Logins, permissions and networks: `authenticator`, `authorizer`, `network_authorizer`, `cidr_authorizer`, the first superuser and the maintenance socket, in Cassandra's words and in ScyllaDB's.
//!
//! An authenticator or authorizer that is not there stops the start: running open instead would be a trap.

mod certificates;
mod networks;

use std::path::{Path, PathBuf};
use std::time::Duration;

use auth::networks::NetworkRules;
use auth::{PasswordHash, Settings as Checks, bounds};
use login::{Certificates, Hasher};
use planted::Planted;
use server::{Logins, Proofs};
use tls::ClientCertificates;

use self::certificates::CertificateSettings;
use self::networks::NetworkSettings;
use super::arguments::Arguments;
use super::place::Place;
use super::yaml::Node;
use super::{ConfigError, units};

/// The name of a first superuser without another, as in Cassandra and ScyllaDB.
const SUPERUSER: &str = "cassandra";
/// The one manager of roles.
const ROLE_MANAGER: &str = "CassandraRoleManager";
/// The most threads that compute hashes.
const THREADS_MAX: usize = 128;
/// The socket's file, and its folder in the data folder.
const SOCKET: &str = "cql.m";
const SOCKET_DIR: &str = "maintenance";

/// How clients prove who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Authenticator {
    /// Not at all.
    #[default]
    AllowAll,
    /// By a name and a password.
    Password,
    /// By a certificate, whose SPIFFE identity has a role.
    MutualTls,
    /// As that, or by a name and a password if it has no certificate.
    MutualTlsWithPasswordFallback,
    /// By a certificate, in whose names queries find the role: ScyllaDB's.
    Certificate,
}

impl Authenticator {
    const ALL: [Authenticator; 5] = [
        Authenticator::AllowAll,
        Authenticator::Password,
        Authenticator::MutualTls,
        Authenticator::MutualTlsWithPasswordFallback,
        Authenticator::Certificate,
    ];

    /// Its class, without the package.
    pub fn class(self) -> &'static str {
        match self {
            Authenticator::AllowAll => "AllowAllAuthenticator",
            Authenticator::Password => "PasswordAuthenticator",
            Authenticator::MutualTls => "MutualTlsAuthenticator",
            Authenticator::MutualTlsWithPasswordFallback => "MutualTlsWithPasswordFallbackAuthenticator",
            Authenticator::Certificate => "CertificateAuthenticator",
        }
    }

    /// True if a client has to prove who it is.
    pub fn requires_login(self) -> bool {
        self != Authenticator::AllowAll
    }

    /// True if a client may log in by a password.
    fn has_passwords(self) -> bool {
        matches!(self, Authenticator::Password | Authenticator::MutualTlsWithPasswordFallback)
    }
}

/// The checks of roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authorizer {
    /// None: all may do everything.
    AllowAll,
    /// Permissions that were granted.
    Cassandra,
}

impl Authorizer {
    const ALL: [Authorizer; 2] = [Authorizer::AllowAll, Authorizer::Cassandra];

    /// Its class, without the package.
    pub fn class(self) -> &'static str {
        match self {
            Authorizer::AllowAll => "AllowAllAuthorizer",
            Authorizer::Cassandra => "CassandraAuthorizer",
        }
    }
}

/// The access of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessConfig {
    /// How clients prove who they are.
    pub authenticator: Authenticator,
    /// The role of a client with a certificate; `None`: certificates are of no role.
    pub certificates: Option<Certificates>,
    /// The checks of roles.
    pub authorizer: Authorizer,
    /// The datacenters and addresses that roles are refused by.
    pub networks: NetworkRules,
    /// Threads that compute hashes, and how long verifications are remembered.
    pub logins: login::Settings,
    /// The name of the first superuser.
    pub superuser: String,
    /// The hash of its password; `None`: a password is drawn.
    pub superuser_hash: Option<PasswordHash>,
    /// The maintenance socket; `None`: there is none.
    pub maintenance_socket: Option<PathBuf>,
    /// True if a path was asked for: the node does not start without that socket.
    pub is_socket_given: bool,
}

impl AccessConfig {
    /// The access of a node where all may do everything, without a socket: for simulated nodes, and tests.
    pub fn open() -> AccessConfig {
        AccessConfig {
            authenticator: Authenticator::AllowAll,
            certificates: None,
            authorizer: Authorizer::AllowAll,
            networks: NetworkRules::default(),
            logins: login::Settings::default(),
            superuser: SUPERUSER.to_owned(),
            superuser_hash: None,
            maintenance_socket: None,
            is_socket_given: false,
        }
    }

    /// How clients of the ports log in; `None`: they need not.
    pub fn logins_by(&self, hasher: Hasher, planted: Planted) -> Option<Logins> {
        let (has_passwords, certificates) = (self.authenticator.has_passwords(), self.certificates.clone());
        let logins = Logins { hasher, proofs: Proofs { has_passwords, certificates, planted } };
        self.authenticator.requires_login().then_some(logins)
    }

    /// The settings that checks go by.
    pub fn checks(&self) -> Checks {
        // Roles have passwords also where clients have certificates: operators log in by them.
        let requires_login = self.authenticator.requires_login();
        let authorizes = self.authorizer == Authorizer::Cassandra;
        Checks { authenticates: requires_login, has_passwords: requires_login, authorizes }
    }

    /// The keys with the values in effect, but for the hash of a password.
    pub(super) fn shown(&self) -> Vec<(String, Option<String>)> {
        let socket = self.maintenance_socket.as_ref().map(|path| path.display().to_string());
        let queries = certificates::shown(self.certificates.as_ref());
        let all = [
            ("auth_superuser_name", self.superuser.clone()),
            ("authenticator", self.authenticator.class().to_owned()),
            ("authorizer", self.authorizer.class().to_owned()),
            ("credentials_validity", units::shown_duration(self.logins.validity)),
            ("maintenance_socket", socket.unwrap_or_else(|| "ignore".to_owned())),
            ("native_transport_max_auth_threads", self.logins.threads.to_string()),
            ("role_manager", ROLE_MANAGER.to_owned()),
        ];
        let queries = queries.map(|queries| ("auth_certificate_role_queries", queries));
        queries
            .into_iter()
            .chain(all)
            .chain(networks::shown(self.networks))
            .map(|(key, value)| (key.to_owned(), Some(value)))
            .collect()
    }
}

/// The keys as they were given.
#[derive(Debug, Default)]
pub struct AccessSettings {
    authenticator: Option<Authenticator>,
    certificates: CertificateSettings,
    authorizer: Option<Authorizer>,
    networks: NetworkSettings,
    validity: Option<Duration>,
    threads: Option<usize>,
    superuser: Option<String>,
    superuser_hash: Option<PasswordHash>,
    maintenance_socket: Option<String>,
}

impl AccessSettings {
    /// Acts on one key of the file; false if it is another's.
    pub(super) fn read(&mut self, place: &Place<'_>, key: &str, value: &Node) -> Result<bool, ConfigError> {
        match key {
            "authenticator" => {
                self.authenticator = Some(authenticator(place.class(value)?).map_err(|why| place.wrong(why))?);
                self.certificates.read_validator(place, value)?;
            }
            "auth_certificate_role_queries" => self.certificates.read_queries(place, value)?,
            "authorizer" => self.authorizer = Some(authorizer(place.class(value)?).map_err(|why| place.wrong(why))?),
            "network_authorizer" => self.networks.read_network(place, value)?,
            "cidr_authorizer" => self.networks.read_cidr(place, value)?,
            "role_manager" => place.must_be_class(value, ROLE_MANAGER)?,
            "credentials_validity" => self.validity = Some(place.duration(value)?),
            "native_transport_max_auth_threads" => self.threads = Some(place.number(value)?),
            "auth_superuser_name" => {
                self.superuser = Some(role_name(place.text(value)?).map_err(|why| place.wrong(why))?);
            }
            "auth_superuser_salted_password" => {
                self.superuser_hash = Some(hash(place.text(value)?).map_err(|why| place.wrong(why))?);
            }
            "maintenance_socket" => self.maintenance_socket = Some(place.text(value)?.to_owned()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The parts of keys that were given and have no effect; the log names each once.
    pub(super) fn take_pointless(&mut self) -> Vec<String> {
        self.networks.take_pointless()
    }

    /// Lets the flags that were given win over the file.
    pub(super) fn take(&mut self, arguments: &Arguments) -> Result<(), ConfigError> {
        let wrong = |flag| move |reason| ConfigError::FlagValue { flag, reason };
        if let Some(class) = &arguments.authenticator {
            self.authenticator = Some(authenticator(without_package(class)).map_err(wrong("--authenticator"))?);
        }
        if let Some(class) = &arguments.authorizer {
            self.authorizer = Some(authorizer(without_package(class)).map_err(wrong("--authorizer"))?);
        }
        if let Some(class) =
            arguments.role_manager.as_deref().map(without_package).filter(|class| *class != ROLE_MANAGER)
        {
            return Err(wrong("--role-manager")(format!("{class} is not supported yet, only {ROLE_MANAGER}")));
        }
        if let Some(name) = &arguments.auth_superuser_name {
            self.superuser = Some(role_name(name).map_err(wrong("--auth-superuser-name"))?);
        }
        if let Some(text) = &arguments.auth_superuser_salted_password {
            self.superuser_hash = Some(hash(text).map_err(wrong("--auth-superuser-salted-password"))?);
        }
        if let Some(millis) = arguments.credentials_validity_in_ms {
            self.validity = Some(Duration::from_millis(millis));
        }
        if let Some(socket) = &arguments.maintenance_socket {
            self.maintenance_socket = Some(socket.clone());
        }
        Ok(())
    }

    /// True if a client has to prove who it is.
    pub(super) fn requires_login(&self) -> bool {
        self.authenticator.unwrap_or_default().requires_login()
    }

    /// Fills the gaps, and checks the whole. `asked` says how far clients are asked for certificates; `None`: they have no TLS.
    pub(super) fn complete(
        self,
        data_dir: &Path,
        asked: Option<ClientCertificates>,
    ) -> Result<AccessConfig, ConfigError> {
        let authenticator = self.authenticator.unwrap_or_default();
        let certificates = self.certificates.complete(authenticator, asked);
        let certificates = certificates.map_err(|reason| ConfigError::Access { reason })?;
        // Who asks clients for a name means roles to have permissions: Cassandra, which lets all do everything then, leaves a trap.
        let authorizer = self.authorizer.unwrap_or(match authenticator.requires_login() {
            true => Authorizer::Cassandra,
            false => Authorizer::AllowAll,
        });
        if authorizer == Authorizer::Cassandra && !authenticator.requires_login() {
            let reason = format!("{} can't be used with {}", authenticator.class(), authorizer.class());
            return Err(ConfigError::Access { reason });
        }
        let networks = self.networks.complete(authenticator).map_err(|reason| ConfigError::Access { reason })?;
        let default = login::Settings::default();
        // Below 1, Cassandra runs logins among requests; here they always have a thread.
        let threads = self.threads.map_or(default.threads, |threads| threads.max(1));
        if threads > THREADS_MAX {
            let reason = format!("native_transport_max_auth_threads may be {THREADS_MAX} at most, got {threads}");
            return Err(ConfigError::Access { reason });
        }
        let (maintenance_socket, is_socket_given) = match self.maintenance_socket.as_deref() {
            Some("ignore" | "") => (None, false),
            None | Some("workdir") => (Some(data_dir.join(SOCKET_DIR).join(SOCKET)), false),
            Some(path) => (Some(PathBuf::from(path)), true),
        };
        Ok(AccessConfig {
            authenticator,
            certificates,
            authorizer,
            networks,
            logins: login::Settings { threads, validity: self.validity.unwrap_or(default.validity) },
            superuser: self.superuser.unwrap_or_else(|| SUPERUSER.to_owned()),
            superuser_hash: self.superuser_hash,
            maintenance_socket,
            is_socket_given,
        })
    }
}

fn without_package(class: &str) -> &str {
    class.rsplit('.').next().unwrap_or(class)
}

fn authenticator(class: &str) -> Result<Authenticator, String> {
    let found = Authenticator::ALL.into_iter().find(|known| known.class() == class);
    found.ok_or_else(|| not_supported(class, Authenticator::ALL.map(Authenticator::class)))
}

fn authorizer(class: &str) -> Result<Authorizer, String> {
    let found = Authorizer::ALL.into_iter().find(|known| known.class() == class);
    found.ok_or_else(|| not_supported(class, Authorizer::ALL.map(Authorizer::class)))
}

fn not_supported<const N: usize>(class: &str, known: [&str; N]) -> String {
    let (last, others) = known.split_last().expect("there is a class");
    format!("{class} is not supported yet, only {} and {last}", others.join(", "))
}

fn role_name(name: &str) -> Result<String, String> {
    match name.len() {
        0 => Err("a role's name has at least one letter".to_owned()),
        1..=bounds::NAME_BYTES_MAX => Ok(name.to_owned()),
        _ => Err(format!("a role's name may have {} bytes at most", bounds::NAME_BYTES_MAX)),
    }
}

/// The hash that the text is. A text that is none is not shown: it may be a password.
fn hash(text: &str) -> Result<PasswordHash, String> {
    PasswordHash::parse(text).map_err(|_| {
        "this is no hash of a password: bcrypt ($2a$, $2b$, $2y$) and SHA-512 crypt ($6$) are accepted".to_owned()
    })
}

#[cfg(test)]
mod tests;
