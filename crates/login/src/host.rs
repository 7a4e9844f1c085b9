//! Hosts as quotas count them: an address of IPv4, or the 64 bits of one of IPv6 that a network gives to a host.

use std::net::IpAddr;

/// A host. IPv4 in IPv6's form is IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Host(u128);

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Host {
        match address.to_canonical() {
            IpAddr::V4(address) => Host(u128::from(u32::from(address))),
            // The lower half is the host's choice. A mark in its place keeps these apart from addresses of IPv4.
            IpAddr::V6(address) => Host(u128::from(address) >> 64 << 64 | 1 << 32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_are_one_host_and_families_stay_apart() {
        let host = |text: &str| Host::from(text.parse::<IpAddr>().expect("an address"));
        assert_eq!(host("10.0.0.1"), host("::ffff:10.0.0.1"));
        assert_ne!(host("10.0.0.1"), host("10.0.0.2"));
        assert_eq!(host("2001:db8::1"), host("2001:db8::ffff:1"));
        assert_ne!(host("2001:db8::1"), host("2001:db8:0:1::1"));
        assert_ne!(host("0.0.0.0"), host("::"));
    }
}
