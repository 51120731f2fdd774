//! Network prefixes.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// All addresses with the same first bits: `10.0.0.0/8`, `::/0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

#[derive(Serialize, Deserialize)]
struct Parts {
    address: IpAddr,
    length: u8,
}

/// A prefix that is longer than its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an address of {bits} bits has no prefix of {length}")]
pub struct BadPrefix {
    bits: u8,
    length: u8,
}

impl Prefix {
    /// All IPv4 addresses.
    pub const ALL_V4: Self = Prefix {
        address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        length: 0,
    };
    /// All IPv6 addresses.
    pub const ALL_V6: Self = Prefix {
        address: IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        length: 0,
    };

    /// The first `length` bits of an address; the other bits become 0.
    ///
    /// # Errors
    /// If the address has fewer bits.
    pub fn new(address: IpAddr, length: u8) -> Result<Self, BadPrefix> {
        let bits = bits(address);
        if length > bits {
            return Err(BadPrefix { bits, length });
        }
        let address = match address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                Ipv4Addr::from_bits(v4.to_bits() & mask).into()
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                Ipv6Addr::from_bits(v6.to_bits() & mask).into()
            }
        };
        Ok(Prefix { address, length })
    }

    /// All addresses of the address' family.
    pub fn all_like(address: IpAddr) -> Self {
        if address.is_ipv4() {
            Self::ALL_V4
        } else {
            Self::ALL_V6
        }
    }

    /// The first address.
    pub fn address(self) -> IpAddr {
        self.address
    }

    /// The prefix length, bits.
    pub fn length(self) -> u8 {
        self.length
    }

    /// True for all addresses of a family, the destination of a default route.
    pub fn is_all(self) -> bool {
        self.length == 0
    }

    /// True if it contains the address.
    pub fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && Prefix::new(address, self.length).is_ok_and(|prefix| prefix == self)
    }
}

/// A prefix of one address.
impl From<IpAddr> for Prefix {
    fn from(address: IpAddr) -> Self {
        Prefix {
            address,
            length: bits(address),
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl TryFrom<Parts> for Prefix {
    type Error = BadPrefix;

    fn try_from(parts: Parts) -> Result<Self, BadPrefix> {
        Prefix::new(parts.address, parts.length)
    }
}

impl From<Prefix> for Parts {
    fn from(prefix: Prefix) -> Self {
        Parts {
            address: prefix.address,
            length: prefix.length,
        }
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn host_bits_are_zero() {
        // 10.1.255.7 = 0a 01 ff 07; the first 20 bits are 0a 01 f.
        assert_eq!(
            Prefix::new(ip("10.1.255.7"), 20).unwrap().to_string(),
            "10.1.240.0/20"
        );
        assert_eq!(Prefix::new(ip("10.1.255.7"), 0).unwrap(), Prefix::ALL_V4);
        assert_eq!(
            Prefix::new(ip("fd00::1:2"), 112).unwrap().to_string(),
            "fd00::1:0/112"
        );
        assert_eq!(Prefix::from(ip("fd00::1")).to_string(), "fd00::1/128");
    }

    #[test]
    fn a_prefix_is_not_longer_than_its_address() {
        assert_eq!(
            Prefix::new(ip("10.0.0.1"), 33),
            Err(BadPrefix {
                bits: 32,
                length: 33
            })
        );
        assert!(serde_json::from_str::<Prefix>(r#"{"address":"10.0.0.1","length":33}"#).is_err());
    }

    #[test]
    fn a_prefix_contains_only_addresses_of_its_family() {
        let network = Prefix::new(ip("10.1.0.0"), 16).unwrap();
        assert!(network.contains(ip("10.1.2.3")) && !network.contains(ip("10.2.0.0")));
        assert!(Prefix::ALL_V6.contains(ip("fd00::1")) && !Prefix::ALL_V6.contains(ip("10.0.0.1")));
    }
}
