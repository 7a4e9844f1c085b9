//! Files of the user: settings, statements, certificates.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// No file of settings is longer.
pub(crate) const SETTINGS_BYTES_MAX: u64 = 1 << 20;
/// Bits of a file's mode by which others than its owner read it.
const READABLE_BY_OTHERS: u32 = 0o044;

/// A path whose `~` is the user's home.
pub(crate) fn expanded(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => path.to_owned(),
    }
}

/// A file's bytes, if there are no more than that.
pub(crate) fn bytes(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(io::Error::other(format!("it is longer than {bytes_max} bytes"))),
        false => Ok(bytes),
    }
}

/// The text of a file of settings; `None`: it is not there, or not readable.
pub(crate) fn text_if_there(path: &Path) -> Option<String> {
    bytes(path, SETTINGS_BYTES_MAX).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// A file of statements, in the encoding that its first bytes tell: UTF-8, or UTF-16 with a mark.
///
/// # Errors
/// It cannot be read, or has bytes that are no text: statements with other letters in their place would change what they are about.
pub(crate) fn statements(path: &Path) -> io::Result<String> {
    decoded(&fs::read(path)?)
}

fn decoded(bytes: &[u8]) -> io::Result<String> {
    let units = |of: fn([u8; 2]) -> u16| -> io::Result<String> {
        let pairs = bytes[2..].chunks_exact(2);
        let is_whole = pairs.remainder().is_empty();
        let units: Vec<u16> = pairs.map(|pair| of([pair[0], pair[1]])).collect();
        let text = String::from_utf16(&units).ok().filter(|_| is_whole);
        text.ok_or_else(|| io::Error::other("it begins with the mark of UTF-16 and is not UTF-16"))
    };
    match bytes {
        [0xff, 0xfe, ..] => units(u16::from_le_bytes),
        [0xfe, 0xff, ..] => units(u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest),
        _ => utf8(bytes),
    }
}

fn utf8(bytes: &[u8]) -> io::Result<String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let at = error.valid_up_to();
            let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            Err(io::Error::other(format!("line {line} is not UTF-8: it has the byte 0x{:02x}", bytes[at])))
        }
    }
}

/// True if the file is the user's, and no one else can read it; also if there is none. The superuser may read those of others.
pub(crate) fn is_private(path: &Path) -> bool {
    let (Ok(file), Ok(own)) = (fs::metadata(path), fs::metadata("/proc/self")) else { return true };
    (own.uid() == 0 || file.uid() == own.uid()) && file.permissions().mode() & READABLE_BY_OTHERS == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_tell_the_encoding() {
        for bytes in [&b"\xff\xfeA\0;\0"[..], b"\xfe\xff\0A\0;", b"\xef\xbb\xbfA;", b"A;"] {
            assert_eq!(decoded(bytes).expect("text"), "A;");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error() {
        let error = |bytes| decoded(bytes).expect_err("no text").to_string();
        assert_eq!(error(b"A;\nINSERT 'caf\xe9';\n"), "line 2 is not UTF-8: it has the byte 0xe9");
        for bytes in [&b"\xff\xfeA\0;"[..], b"\xff\xfe\0\xd8A\0"] {
            assert!(error(bytes).contains("is not UTF-16"));
        }
    }

    #[test]
    fn a_tilde_is_the_users_home() {
        let home = std::env::var("HOME").expect("tests have a home");
        assert_eq!(expanded(Path::new("~/a")), Path::new(&home).join("a"));
        assert_eq!(expanded(Path::new("/a/~")), Path::new("/a/~"));
    }
}
