//! Logins and certificates as the command line names them, read from their files and from the environment.

use std::io::Read;
use std::path::Path;

use client::{AccessError, Login, PASSWORD_VARIABLE, Passwords};
use tls::{ClientFiles, ClientIdentity, MaterialError, PEM_BYTES_MAX, Pem};

use super::settings::{LoginSettings, property};
use crate::StressError;

/// The most bytes of a file of credentials.
const CREDENTIALS_BYTES_MAX: u64 = 64 << 10;

/// The login: `-mode` comes before the file, and that before the environment.
pub(super) fn login(settings: &LoginSettings) -> Result<Option<Login>, StressError> {
    let text = match &settings.file {
        None => String::new(),
        Some(path) => {
            let failed = |reason: String| AccessError::PasswordFile { path: path.clone(), reason };
            let bytes = bytes_of(path, CREDENTIALS_BYTES_MAX).map_err(failed)?;
            String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8".to_owned()))?
        }
    };
    let username = settings.user.clone().or_else(|| property(&text, "cql.username"));
    let given = settings.password.clone().or_else(|| property(&text, "cql.password"));
    let variable = std::env::var(PASSWORD_VARIABLE).ok();
    Ok(Login::of(username, Passwords { given, file: None, variable })?)
}

/// The certificates.
pub(super) fn identity(files: &ClientFiles) -> Result<ClientIdentity, StressError> {
    let trusted = pem_of(&files.trusted)?;
    let own = match &files.own {
        None => None,
        Some((certificate, key)) => Some((pem_of(certificate)?, pem_of(key)?)),
    };
    let identity = ClientIdentity::new(&trusted, own.as_ref().map(|(certificate, key)| (certificate, key)));
    Ok(identity.map_err(AccessError::Certificates)?)
}

fn pem_of(path: &Path) -> Result<Pem, AccessError> {
    let name = path.display().to_string();
    match bytes_of(path, PEM_BYTES_MAX) {
        Ok(bytes) => Ok(Pem { name, bytes }),
        Err(reason) => Err(AccessError::Certificates(MaterialError::Unreadable { name, reason })),
    }
}

fn bytes_of(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() as u64 > bytes_max {
        true => Err(format!("it has more than {bytes_max} bytes")),
        false => Ok(bytes),
    }
}
