//! TCP sockets.
#![allow(unsafe_code)]

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::{CALL_BYTES_MAX, check, raw};

/// Connections that the kernel completes before they are accepted; the kernel lowers it to its own limit.
const BACKLOG: libc::c_int = 4096;

/// An address as the kernel takes it. It must not move while a connect that was given its pointer is under way.
pub(crate) struct RawAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl RawAddress {
    pub(crate) fn as_ptr(&self) -> *const libc::sockaddr {
        std::ptr::from_ref(&self.storage).cast()
    }

    pub(crate) fn length(&self) -> libc::socklen_t {
        self.length
    }

    /// The address, read back.
    #[cfg(feature = "sim")]
    pub(crate) fn decode(&self) -> io::Result<SocketAddr> {
        decode(&self.storage)
    }
}

fn empty_storage() -> libc::sockaddr_storage {
    // SAFETY: all zeros is a valid address of no family.
    unsafe { std::mem::zeroed() }
}

impl From<SocketAddr> for RawAddress {
    fn from(address: SocketAddr) -> Self {
        let mut storage = empty_storage();
        let place = std::ptr::from_mut(&mut storage);
        let length = match address {
            SocketAddr::V4(v4) => {
                let raw = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
                // SAFETY: the storage is larger than, and aligned for, every kind of address.
                unsafe { place.cast::<libc::sockaddr_in>().write(raw) };
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                let raw = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                // SAFETY: as above.
                unsafe { place.cast::<libc::sockaddr_in6>().write(raw) };
                size_of::<libc::sockaddr_in6>()
            }
        };
        RawAddress { storage, length: length as libc::socklen_t }
    }
}

fn decode(storage: &libc::sockaddr_storage) -> io::Result<SocketAddr> {
    let place = std::ptr::from_ref(storage);
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that the storage holds this kind; storage is larger and aligned for it.
            let raw = unsafe { &*place.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(raw.sin_addr.s_addr.to_ne_bytes());
            Ok(SocketAddr::V4(SocketAddrV4::new(ip, u16::from_be(raw.sin_port))))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let raw = unsafe { &*place.cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(raw.sin6_addr.s6_addr);
            let port = u16::from_be(raw.sin6_port);
            Ok(SocketAddr::V6(SocketAddrV6::new(ip, port, raw.sin6_flowinfo, raw.sin6_scope_id)))
        }
        _ => Err(io::Error::from_raw_os_error(libc::EAFNOSUPPORT)),
    }
}

type NameCall = unsafe extern "C" fn(libc::c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> libc::c_int;

fn name(call: NameCall, fd: RawFd) -> io::Result<SocketAddr> {
    let mut storage = empty_storage();
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: the call writes at most `length` bytes into the storage.
    let result = unsafe { call(fd, std::ptr::from_mut(&mut storage).cast(), &mut length) };
    check(raw(result as isize))?;
    decode(&storage)
}

/// The address of this end.
pub(crate) fn local_address(fd: RawFd) -> io::Result<SocketAddr> {
    name(libc::getsockname, fd)
}

/// The address of the other end.
pub(crate) fn peer_address(fd: RawFd) -> io::Result<SocketAddr> {
    name(libc::getpeername, fd)
}

/// A socket of the address's family.
pub(crate) fn open(address: &SocketAddr, is_nonblocking: bool) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let flags = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | if is_nonblocking { libc::SOCK_NONBLOCK } else { 0 };
    // SAFETY: the call has no preconditions.
    let fd = check(raw(unsafe { libc::socket(family, flags, 0) } as isize))?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn set_option(fd: RawFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let value_ptr = std::ptr::from_ref(&value).cast();
    // SAFETY: the call reads one integer.
    let result = unsafe { libc::setsockopt(fd, level, option, value_ptr, size_of::<libc::c_int>() as libc::socklen_t) };
    check(raw(result as isize)).map(|_| ())
}

/// Small writes leave at once.
pub(crate) fn set_nodelay(fd: RawFd) -> io::Result<()> {
    set_option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)
}

/// A socket that has `address`, and refuses connections until it [listens](listen).
pub(crate) fn bind(address: SocketAddr, is_nonblocking: bool) -> io::Result<OwnedFd> {
    let socket = open(&address, is_nonblocking)?;
    let fd = socket.as_raw_fd();
    // A restarted server takes its port back at once, though old connections linger.
    set_option(fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    let address = RawAddress::from(address);
    // SAFETY: the address is valid for its length.
    check(raw(unsafe { libc::bind(fd, address.as_ptr(), address.length()) } as isize))?;
    Ok(socket)
}

/// Has a bound socket take connections.
pub(crate) fn listen(fd: RawFd) -> io::Result<()> {
    // SAFETY: the call has no preconditions.
    check(raw(unsafe { libc::listen(fd, BACKLOG) } as isize)).map(|_| ())
}

/// Accepts a connection without waiting, or gives a negative error number.
pub(crate) fn accept(fd: RawFd) -> Result<OwnedFd, i32> {
    // SAFETY: null addresses mean that none is wanted.
    let fd = raw(unsafe { libc::accept4(fd, std::ptr::null_mut(), std::ptr::null_mut(), CLOSE_ON_EXEC) } as isize);
    if fd < 0 {
        return Err(fd);
    }
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The flag that closes an accepted descriptor in programs that the process starts.
pub(crate) const CLOSE_ON_EXEC: i32 = libc::SOCK_CLOEXEC;

/// Begins to connect.
pub(crate) fn connect(fd: RawFd, address: &RawAddress) -> i32 {
    // SAFETY: the address is valid for its length.
    raw(unsafe { libc::connect(fd, address.as_ptr(), address.length()) } as isize)
}

/// How a connect that did not end at once has ended: 0 or a negative error number.
pub(crate) fn connect_result(fd: RawFd) -> i32 {
    let mut error: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    let place = std::ptr::from_mut(&mut error).cast();
    // SAFETY: the call writes one integer.
    let result = unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, place, &mut length) };
    if result < 0 { raw(result as isize) } else { -error }
}

/// Flags of a send: no SIGPIPE.
pub(crate) const SEND_FLAGS: i32 = libc::MSG_NOSIGNAL;
/// Flags of a send that the kernel shall finish whole.
pub(crate) const SEND_WHOLE_FLAGS: i32 = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;

/// Appends what has been received, as far as the spare capacity goes, without waiting.
pub(crate) fn receive(fd: RawFd, buffer: &mut Vec<u8>) -> i32 {
    let spare = buffer.spare_capacity_mut();
    let length = spare.len().min(CALL_BYTES_MAX);
    // SAFETY: the call writes at most as many bytes as the spare capacity holds.
    let count = raw(unsafe { libc::recv(fd, spare.as_mut_ptr().cast(), length, libc::MSG_DONTWAIT) });
    if count > 0 {
        // SAFETY: the kernel wrote `count` bytes, at most the spare capacity, after the vector's length.
        unsafe { buffer.set_len(buffer.len() + count as usize) };
    }
    count
}

/// Sends what the kernel takes of `bytes` without waiting.
pub(crate) fn send(fd: RawFd, bytes: &[u8]) -> i32 {
    let length = bytes.len().min(CALL_BYTES_MAX);
    // SAFETY: the call reads at most the slice's length.
    raw(unsafe { libc::send(fd, bytes.as_ptr().cast(), length, SEND_FLAGS | libc::MSG_DONTWAIT) })
}

/// Ends sending.
pub(crate) fn finish_sending(fd: RawFd) -> io::Result<()> {
    // SAFETY: the call has no preconditions.
    check(raw(unsafe { libc::shutdown(fd, libc::SHUT_WR) } as isize)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_round_trip() {
        for text in ["127.0.0.1:9042", "[::1]:9042", "[fe80::1%3]:1"] {
            let address: SocketAddr = text.parse().expect("an address");
            assert_eq!(decode(&RawAddress::from(address).storage).expect("a known family"), address);
        }
    }

    #[test]
    fn listens_where_it_says() {
        let socket = bind("127.0.0.1:0".parse().expect("an address"), true).expect("a port");
        let address = local_address(socket.as_raw_fd()).expect("an address");
        assert_ne!(address.port(), 0);
        let refused = std::net::TcpStream::connect(address).expect_err("it does not listen yet");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        listen(socket.as_raw_fd()).expect("it is bound");
        assert_eq!(accept(socket.as_raw_fd()).err(), Some(-libc::EAGAIN));
        assert!(peer_address(socket.as_raw_fd()).is_err());
    }
}
