//! Prefixes of addresses.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use joulepath_model::live::AddressRange;

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix(AddressRange);

impl Prefix {
    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_all()
    }

    pub(crate) fn is_ipv4(&self) -> bool {
        self.0.is_ipv4()
    }

    /// True if it covers the address. An IPv4 address in IPv6 form counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(address.to_canonical())
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no prefix: for example 192.168.1.0/24 or fd00::/8");
        AddressRange::parse(text).map(Prefix).ok_or_else(wrong)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
            one.contains("2001:db8::1".parse().unwrap())
                && !one.contains("2001:db8::2".parse().unwrap())
        );
    }
}
