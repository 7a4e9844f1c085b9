//! The file with the secret that nodes prove to each other.

use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use internode::Secret;

use super::ConfigError;

/// The most bytes of the file: a secret needs no more.
const BYTES_MAX: u64 = 4096;
/// The bits of a file's mode that let others than owner and group do something with it.
const OTHERS: u32 = 0o007;
/// Opening a named pipe does not wait for its writer.
const O_NONBLOCK: i32 = 0o4000;

/// The secret in the file, without a line's end after it. Fails where others than the file's owner and group have access to it.
pub fn read(path: &Path) -> Result<Secret, ConfigError> {
    let wrong = |reason: String| ConfigError::SecretFile { file: path.display().to_string(), reason };
    let bytes = bytes_of(path).map_err(wrong)?;
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    Secret::new(bytes).map_err(|short| wrong(short.to_string()))
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, String> {
    let reason = |error: std::io::Error| error.to_string();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path).map_err(reason)?;
    // Of the file that is read, not of one that has the name a moment later.
    let metadata = file.metadata().map_err(reason)?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mode = metadata.permissions().mode();
    if mode & OTHERS > 0 {
        return Err(format!(
            "its mode {:04o} gives all users of this host access; set it to 0400 or 0440",
            mode & 0o7777
        ));
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(reason)?;
    match bytes.len() as u64 {
        0..=BYTES_MAX => Ok(bytes),
        _ => Err(format!("it has more than {BYTES_MAX} bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_file(content: &[u8], mode: u32) -> Result<Secret, String> {
        let path =
            std::env::temp_dir().join(format!("helenus-secret-{}-{mode:o}-{}", std::process::id(), content.len()));
        std::fs::write(&path, content).expect("the file can be written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
        let secret = read(&path);
        std::fs::remove_file(&path).expect("the file can be removed");
        secret.map_err(|error| error.to_string().replace(&path.display().to_string(), "FILE"))
    }

    #[test]
    fn a_secret_is_read_without_its_line_s_end() {
        let secret = Secret::new(b"sixteen bytes or").expect("it is long enough");
        for content in [&b"sixteen bytes or"[..], b"sixteen bytes or\n", b"sixteen bytes or\r\n"] {
            assert_eq!(read_file(content, 0o600), Ok(secret.clone()));
        }
        assert_ne!(read_file(b"sixteen bytes or\n\n", 0o440), Ok(secret), "one line's end");
    }

    #[test]
    fn a_file_that_others_read_or_that_is_no_secret_is_refused_in_one_sentence() {
        let refused = |content: &[u8], mode| read_file(content, mode).expect_err("it is no secret");
        assert_eq!(
            refused(b"sixteen bytes or", 0o644),
            "cannot use internode_secret_file FILE: its mode 0644 gives all users of this host access; set it to 0400 or 0440"
        );
        assert_eq!(
            refused(b"short\n", 0o600),
            "cannot use internode_secret_file FILE: the secret has 5 bytes, and at least 16 are needed"
        );
        assert_eq!(refused(&[b'x'; 5000], 0o600), "cannot use internode_secret_file FILE: it has more than 4096 bytes");
        let missing = read(Path::new("/nowhere/secret")).expect_err("there is none").to_string();
        assert_eq!(missing, "cannot use internode_secret_file /nowhere/secret: No such file or directory (os error 2)");
        let folder = read(Path::new("/")).expect_err("a folder is none").to_string();
        assert_eq!(folder, "cannot use internode_secret_file /: it is not a regular file");
    }
}
