//! Prefixes of addresses.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    bits: u32,
}

impl Prefix {
    pub(crate) fn is_everything(&self) -> bool {
        self.bits == 0
    }

    pub(crate) fn is_ipv4(&self) -> bool {
        self.address.is_ipv4()
    }

    /// True if it covers the address. An IPv4 address in IPv6 form counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let shift = |width: u32| width - self.bits;
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (own.to_bits() ^ other.to_bits()).checked_shr(shift(32)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()).checked_shr(shift(128)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no prefix: for example 192.168.1.0/24 or fd00::/8");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let width = if address.is_ipv4() { 32 } else { Ipv6Addr::BITS };
        let bits = bits.map_or(Ok(width), str::parse).map_err(|_| wrong())?;
        if bits > width {
            return Err(wrong());
        }
        Ok(Prefix { address, bits })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_of_no_bits_covers_its_family() {
        let all: Prefix = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains("203.0.113.9".parse().unwrap()));
        assert!(!all.contains("2001:db8::1".parse().unwrap()));
        assert!("10.0.0.0/33".parse::<Prefix>().is_err());
        assert!("10.0.0.0/-1".parse::<Prefix>().is_err());
        let one: Prefix = "2001:db8::1".parse().unwrap();
        assert!(
            one.contains("2001:db8::1".parse().unwrap()) && !one.contains("2001:db8::2".parse().unwrap())
        );
    }
}
