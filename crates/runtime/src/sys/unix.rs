//! Unix sockets.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::{check, raw};

/// The socket's file: its owner may connect.
const SOCKET_MODE: libc::mode_t = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// A socket that has `path` as its address, for the owner of the process alone, and refuses connections until it listens.
pub(crate) fn bind(path: &Path, is_nonblocking: bool) -> io::Result<OwnedFd> {
    let (address, length) = address_of(path)?;
    make_folder_of(path)?;
    remove_stale(path)?;
    let flags = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | if is_nonblocking { libc::SOCK_NONBLOCK } else { 0 };
    // SAFETY: the call has no preconditions.
    let fd = check(raw(unsafe { libc::socket(libc::AF_UNIX, flags, 0) } as isize))?;
    // SAFETY: the kernel just made this descriptor for us.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // Before the file is there: bind gives it the socket's mode, so there is no moment at which others may connect.
    // SAFETY: the call takes plain values.
    check(raw(unsafe { libc::fchmod(socket.as_raw_fd(), SOCKET_MODE) } as isize))?;
    // SAFETY: the address is valid for its length.
    let result = unsafe { libc::bind(socket.as_raw_fd(), std::ptr::from_ref(&address).cast(), length) };
    check(raw(result as isize))?;
    Ok(socket)
}

fn address_of(path: &Path) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    let bytes = path.as_os_str().as_bytes();
    // SAFETY: all zeros is a valid address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // A NUL follows.
    if bytes.len() >= address.sun_path.len() || bytes.contains(&0) {
        let most = address.sun_path.len() - 1;
        let why = format!("the path of a Unix socket may have {most} bytes at most, and this one has {}", bytes.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    for (place, byte) in address.sun_path.iter_mut().zip(bytes) {
        *place = *byte as libc::c_char;
    }
    let length = size_of::<libc::sa_family_t>() + bytes.len() + 1;
    Ok((address, length as libc::socklen_t))
}

/// Makes the folder, for the owner alone, if it is missing. One that is there is left as it is.
fn make_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => {
            std::fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)
        }
        _ => Ok(()),
    }
}

/// Removes a socket that no process listens on.
fn remove_stale(path: &Path) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let in_use = |why: &str| Err(io::Error::new(io::ErrorKind::AddrInUse, why));
    if !found.file_type().is_socket() {
        return in_use("there is something else than a socket");
    }
    match UnixStream::connect(path) {
        Ok(_) => in_use("another process listens there"),
        #[expect(clippy::disallowed_methods, reason = "this is the runtime")]
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::PathBuf;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("helenus-unix-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).expect("it is there").mode() & 0o7777
    }

    #[test]
    fn a_socket_and_its_folder_are_for_the_owner_alone_and_a_stale_one_is_replaced() {
        let folder = folder("stale");
        let path = folder.join("inner").join("cql.m");
        for _ in 0..2 {
            let socket = bind(&path, true).expect("a socket");
            assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
            let refused = UnixStream::connect(&path).expect_err("it does not listen yet");
            assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
            super::super::socket::listen(socket.as_raw_fd()).expect("it is bound");
            UnixStream::connect(&path).expect("it listens");
            assert_eq!(bind(&path, true).expect_err("it listens").kind(), io::ErrorKind::AddrInUse);
        }
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_and_a_long_path_is_refused() {
        let folder = folder("file");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        let path = folder.join("file");
        std::fs::write(&path, "data").expect("a file");
        assert_eq!(bind(&path, true).expect_err("a file").kind(), io::ErrorKind::AddrInUse);
        assert_eq!(std::fs::read(&path).expect("it is there"), b"data");
        assert_eq!(mode(&folder), 0o755, "a folder of another's is left as it is");
        let long = folder.join("x".repeat(108));
        assert_eq!(bind(&long, true).expect_err("too long").kind(), io::ErrorKind::InvalidInput);
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }
}
