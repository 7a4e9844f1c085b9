//! PEM as the options name it: read before any shard runs.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use tls::{MaterialError, PEM_BYTES_MAX, Pem, Pems, Source, Sources};

/// Opening a named pipe does not wait for its writer.
const O_NONBLOCK: i32 = 0o4000;

/// Reads all sources.
pub(super) fn pems_of(sources: &Sources) -> Result<Pems, MaterialError> {
    let Sources { certificate, key, trusted } = sources;
    Ok(Pems {
        certificate: pem_of(certificate)?,
        key: pem_of(key)?,
        trusted: trusted.as_ref().map(pem_of).transpose()?,
    })
}

fn pem_of(source: &Source) -> Result<Pem, MaterialError> {
    match source {
        Source::Inline(pem) => Ok(pem.clone()),
        Source::File(path) => {
            let name = source.name();
            match bytes_of(path) {
                Ok(bytes) if bytes.len() as u64 > PEM_BYTES_MAX => {
                    Err(MaterialError::TooLong { name, max: PEM_BYTES_MAX })
                }
                Ok(bytes) => Ok(Pem { name, bytes }),
                Err(reason) => Err(MaterialError::Unreadable { name, reason }),
            }
        }
    }
}

/// The file's bytes, and at most one more than it may have.
fn bytes_of(path: &Path) -> Result<Vec<u8>, String> {
    let reason = |error: std::io::Error| error.to_string();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path).map_err(reason)?;
    if !file.metadata().map_err(reason)?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(PEM_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(reason)?;
    Ok(bytes)
}
