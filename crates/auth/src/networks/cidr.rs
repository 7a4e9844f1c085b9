//! Ranges of addresses: `10.0.0.0/8`, `2001:db8::/32`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

const V4_BITS: u8 = 32;
const V6_BITS: u8 = 128;

/// A range of addresses: its first one and the bits that all have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr {
    first: IpAddr,
    prefix_length: u8,
}

/// Refusal of a text that is no range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text} is not a valid CIDR String")]
pub struct CidrError {
    /// The text.
    pub text: String,
}

impl Cidr {
    /// The range of an address, without the bits after the prefix; `None` if the prefix is longer than an address.
    pub fn new(address: IpAddr, prefix_length: u8) -> Option<Cidr> {
        let bits = if address.is_ipv4() { V4_BITS } else { V6_BITS };
        let is_prefix = prefix_length <= bits;
        is_prefix.then(|| Cidr { first: masked(address, prefix_length), prefix_length })
    }

    /// Its first address.
    pub fn first(&self) -> IpAddr {
        self.first
    }

    /// The number of bits that all its addresses have in common.
    pub fn prefix_length(&self) -> u8 {
        self.prefix_length
    }

    /// True if the address is in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.first.is_ipv4() && masked(address, self.prefix_length) == self.first
    }
}

fn masked(address: IpAddr, prefix_length: u8) -> IpAddr {
    let dropped = |bits: u8| u32::from(bits - prefix_length);
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(dropped(V4_BITS)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(dropped(V6_BITS)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Cidr, CidrError> {
        let refused = || CidrError { text: text.to_owned() };
        let (address, length) = text.split_once('/').ok_or_else(refused)?;
        let address: IpAddr = address.parse().map_err(|_| refused())?;
        let is_number = !length.is_empty() && length.bytes().all(|digit| digit.is_ascii_digit());
        let length: u8 = length.parse().ok().filter(|_| is_number).ok_or_else(refused)?;
        // IPv4 in IPv6's form is IPv4, as the addresses of clients are.
        let is_mapped = address.is_ipv6() && address.to_canonical().is_ipv4();
        let length = if is_mapped { length.checked_sub(V6_BITS - V4_BITS) } else { Some(length) };
        Cidr::new(address.to_canonical(), length.ok_or_else(refused)?).ok_or_else(refused)
    }
}

/// As Java writes addresses: those of IPv6 with all of their groups.
impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first {
            IpAddr::V4(first) => write!(f, "{first}")?,
            IpAddr::V6(first) => {
                f.write_str(&first.segments().map(|group| format!("{group:x}")).join(":"))?;
            }
        }
        write!(f, "/{}", self.prefix_length)
    }
}
