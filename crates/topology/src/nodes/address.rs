//! An address as the registry has it: without what has a meaning on one host alone.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// An IP address and a port, in one form: an IPv4 address that is written as IPv6 is the IPv4 address. A socket address has a scope and a flow
/// label too, which are one host's affair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    ip: IpAddr,
    port: u16,
}

impl Address {
    /// The address in its one form.
    pub fn new(ip: IpAddr, port: u16) -> Address {
        Address { ip: ip.to_canonical(), port }
    }

    /// The IP address.
    pub fn ip(self) -> IpAddr {
        self.ip
    }

    /// The port.
    pub fn port(self) -> u16 {
        self.port
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Address {
        Address::new(address.ip(), address.port())
    }
}

impl From<Address> for SocketAddr {
    fn from(Address { ip, port }: Address) -> SocketAddr {
        SocketAddr::new(ip, port)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::from(*self).fmt(f)
    }
}
