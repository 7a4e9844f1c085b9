//! Where PEM is found, and reading it.

use std::io::ErrorKind;
use std::path::PathBuf;

use runtime::Runtime;

use crate::material_error::MaterialError;
use crate::pem::{PEM_BYTES_MAX, Pem, Pems};

/// A place of PEM.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// A file, which may change.
    File(PathBuf),
    /// Text that does not change.
    Inline(Pem),
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

impl Source {
    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            Source::File(path) => path.display().to_string(),
            Source::Inline(pem) => pem.name.clone(),
        }
    }

    pub(crate) async fn read(&self, runtime: &Runtime) -> Result<Pem, MaterialError> {
        let path = match self {
            Source::File(path) => path,
            Source::Inline(pem) => return Ok(pem.clone()),
        };
        let name = self.name();
        match runtime.read_file_at_most(path, PEM_BYTES_MAX).await {
            Ok(bytes) => Ok(Pem { name, bytes }),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                Err(MaterialError::TooLong { name, max: PEM_BYTES_MAX })
            }
            Err(error) => Err(MaterialError::Unreadable { name, reason: error.to_string() }),
        }
    }
}

/// The places of one end's PEM; the first two may be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// The certificate, and those between it and a trusted one.
    pub certificate: Source,
    /// Its private key.
    pub key: Source,
    /// The certificates that are trusted; `None`: no certificate of the other end is judged.
    pub trusted: Option<Source>,
}

impl Sources {
    /// Reads all.
    pub(crate) async fn read(&self, runtime: &Runtime) -> Result<Pems, MaterialError> {
        Ok(Pems {
            certificate: self.certificate.read(runtime).await?,
            key: self.key.read(runtime).await?,
            trusted: match &self.trusted {
                Some(source) => Some(source.read(runtime).await?),
                None => None,
            },
        })
    }

    /// True if any of them may change.
    pub(crate) fn have_files(&self) -> bool {
        let trusted = self.trusted.iter();
        trusted.chain([&self.certificate, &self.key]).any(|source| matches!(source, Source::File(_)))
    }
}
