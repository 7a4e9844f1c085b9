//! The options of a command line, with cqlsh's names where it has them.

use std::path::PathBuf;

use clap::Args;
use runtime::Runtime;
use tls::ClientFiles;

use crate::access::Access;
use crate::error::AccessError;
use crate::login::{FILE_BYTES_MAX, Login, PASSWORD_VARIABLE, Passwords};

/// Options about logins and certificates.
#[derive(Clone, Default, Args)]
pub struct AccessOptions {
    /// Role to log in as
    #[arg(short = 'u', long, value_name = "NAME")]
    pub username: Option<String>,

    /// Its password; other users of this machine can read it here, so prefer --password-file or the variable HELENUS_PASSWORD
    #[arg(short = 'p', long, value_name = "PASSWORD", conflicts_with = "password_file")]
    pub password: Option<String>,

    /// File whose first line is the password
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,

    /// Connect under TLS
    #[arg(long)]
    pub ssl: bool,

    /// Certificates (PEM) that the server's is judged by; implies --ssl
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,

    /// Certificate (PEM) of this client, for servers with require_client_auth
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,

    /// Its private key (PEM), if it is not in the same file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
}

impl std::fmt::Debug for AccessOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AccessOptions")
            .field("username", &self.username)
            .field("cacert", &self.cacert)
            .finish_non_exhaustive()
    }
}

impl AccessOptions {
    /// The files of TLS; `None`: connections are plain.
    pub fn files(&self) -> Result<Option<ClientFiles>, AccessError> {
        let Some(trusted) = self.cacert.clone() else {
            return match () {
                () if self.ssl => Err(AccessError::NoAuthority),
                () if self.cert.is_some() => Err(AccessError::CertificateWithoutTls),
                () => Ok(None),
            };
        };
        let own = self.cert.clone().map(|cert| (cert.clone(), self.key.clone().unwrap_or(cert)));
        Ok(Some(ClientFiles { trusted, own }))
    }

    /// Reads the files and the environment.
    pub async fn resolve(&self, runtime: &Runtime) -> Result<Access, AccessError> {
        let file = match &self.password_file {
            None => None,
            Some(path) => Some(
                runtime
                    .read_file_at_most(path, FILE_BYTES_MAX)
                    .await
                    .map_err(|error| AccessError::PasswordFile { path: path.clone(), reason: error.to_string() })?,
            ),
        };
        let variable = std::env::var(PASSWORD_VARIABLE).ok();
        let passwords = Passwords { given: self.password.clone(), file, variable };
        let login = Login::of(self.username.clone(), passwords)?;
        let tls = match self.files()? {
            None => None,
            Some(files) => Some(files.identity(runtime).await?),
        };
        Ok(Access { login, tls })
    }
}
