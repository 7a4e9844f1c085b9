//! Addresses as the configuration file and the flags write them.

use std::net::{IpAddr, Ipv4Addr};

/// A numeric address, or a name that this machine resolves.
pub(super) fn parse(text: &str) -> Result<IpAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if text == "localhost" {
        return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    let found = std::net::ToSocketAddrs::to_socket_addrs(&(text, 0)).ok().and_then(|mut all| all.next());
    found.map(|address| address.ip()).ok_or_else(|| format!("'{text}' is neither an IP address nor a resolvable name"))
}
