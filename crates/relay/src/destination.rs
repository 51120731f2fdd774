//! Where a connection shall go, and whether the far end may go there.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use crate::prefix::Prefix;

/// Longest name of a host (RFC 1035, 2.3.4).
const MOST_NAME: usize = 253;

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// An address.
    Address(SocketAddr),
    /// A name that the end which connects resolves.
    Name(String, u16),
}

/// The kinds of addresses in SOCKS5 (RFC 1928, section 5) and SIP022.
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

impl Destination {
    /// Reads a destination as SOCKS5 writes it. `Ok(None)` if bytes are missing; else also its
    /// length.
    ///
    /// # Errors
    /// If it is none.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, &'static str> {
        let Some((&kind, rest)) = bytes.split_first() else {
            return Ok(None);
        };
        let (host, skip) = match kind {
            IPV4 => (4, 0),
            IPV6 => (16, 0),
            NAME => match rest.first() {
                Some(&length) => (usize::from(length), 1),
                None => return Ok(None),
            },
            _ => return Err("an unknown kind of address"),
        };
        let length = 1 + skip + host + 2;
        if bytes.len() < length {
            return Ok(None);
        }
        let (host, port) = rest[skip..skip + host + 2].split_at(host);
        let port = u16::from_be_bytes([port[0], port[1]]);
        let found = match kind {
            NAME => Self::named(
                str::from_utf8(host).map_err(|_| "a name that is not text")?,
                port,
            )?,
            _ => {
                let ip = match <[u8; 4]>::try_from(host) {
                    Ok(v4) => IpAddr::from(v4),
                    Err(_) => IpAddr::from(<[u8; 16]>::try_from(host).expect("of 4 or 16 bytes")),
                };
                Destination::Address(SocketAddr::new(ip, port))
            }
        };
        Ok(Some((found, length)))
    }

    /// Writes it as SOCKS5 does.
    pub(crate) fn encode(&self, into: &mut Vec<u8>) {
        let port = match self {
            Destination::Address(SocketAddr::V4(address)) => {
                into.push(IPV4);
                into.extend_from_slice(&address.ip().octets());
                address.port()
            }
            Destination::Address(SocketAddr::V6(address)) => {
                into.push(IPV6);
                into.extend_from_slice(&address.ip().octets());
                address.port()
            }
            Destination::Name(name, port) => {
                into.extend_from_slice(&[
                    NAME,
                    u8::try_from(name.len()).expect("checked by `named`"),
                ]);
                into.extend_from_slice(name.as_bytes());
                *port
            }
        };
        into.extend_from_slice(&port.to_be_bytes());
    }

    /// A host by name, which may also be an address in text.
    fn named(name: &str, port: u16) -> Result<Self, &'static str> {
        if let Ok(ip) = name.parse() {
            return Ok(Destination::Address(SocketAddr::new(ip, port)));
        }
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        match (1..=MOST_NAME).contains(&name.len()) && name.bytes().all(good) {
            true => Ok(Destination::Name(name.into(), port)),
            false => Err("a name that is no host's"),
        }
    }
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no host with port: for example far.example:8443 or [2001:db8::1]:8443"
            )
        };
        if let Ok(address) = text.parse() {
            return Ok(Destination::Address(address));
        }
        let (name, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        Self::named(name, port).map_err(|_| wrong())
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Address(address) => address.fmt(f),
            Destination::Name(name, port) => write!(f, "{name}:{port}"),
        }
    }
}

/// True if the far end may connect to the address: it is a public one, or allowed by name.
pub(crate) fn may_reach(address: IpAddr, allowed: &[Prefix]) -> bool {
    is_public(address) || allowed.iter().any(|prefix| prefix.contains(address))
}

/// Prefixes of IPv4 that are not globally reachable (IANA's registry of special-purpose addresses),
/// and multicast.
const SPECIAL_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// 64:ff9b::/96 (RFC 6052) and 2002::/16 (RFC 3056) lead to the IPv4 address that they contain.
fn is_public(address: IpAddr) -> bool {
    let v4 = |address: Ipv4Addr| {
        let covers = |&(own, bits): &(Ipv4Addr, u32)| {
            (own.to_bits() ^ address.to_bits()) >> (32 - bits) == 0
        };
        !SPECIAL_V4.iter().any(covers)
    };
    match address.to_canonical() {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => match address.segments() {
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(embedded(high, low)),
            [0x2002, high, low, ..] => v4(embedded(high, low)),
            // Teredo and other protocols' own, documentation, benchmarks.
            [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
            // All global unicast addresses that are assigned.
            [0x2000..=0x3fff, ..] => true,
            _ => false,
        },
    }
}

fn embedded(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

/// The same address without the form of IPv4 in IPv6, which a socket of both families reports.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) if Ipv6Addr::to_ipv4_mapped(v6.ip()).is_some() => {
            SocketAddr::new(address.ip().to_canonical(), address.port())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_loopback_and_special_addresses_are_refused_in_every_form() {
        let refused = [
            "127.0.0.1",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "fec0::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "4000::1",
        ];
        for text in refused {
            assert!(!may_reach(text.parse().unwrap(), &[]), "{text}");
        }
        for text in [
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1",
            "64:ff9b::101:101",
            "2001:200::1",
        ] {
            assert!(may_reach(text.parse().unwrap(), &[]), "{text}");
        }
    }

    #[test]
    fn a_private_prefix_can_be_allowed_alone() {
        let allowed: Prefix = "10.1.0.0/16".parse().unwrap();
        assert!(may_reach("10.1.2.3".parse().unwrap(), &[allowed]));
        assert!(may_reach("::ffff:10.1.2.3".parse().unwrap(), &[allowed]));
        assert!(!may_reach("10.2.2.3".parse().unwrap(), &[allowed]));
    }

    #[test]
    fn a_destination_is_read_as_it_was_written_and_not_before_its_end() {
        for text in ["192.0.2.1:80", "[2001:db8::1]:443", "example.org:65535"] {
            let wanted: Destination = text.parse().unwrap();
            let mut bytes = vec![];
            wanted.encode(&mut bytes);
            for cut in 0..bytes.len() {
                assert_eq!(Destination::decode(&bytes[..cut]), Ok(None));
            }
            let length = bytes.len();
            bytes.extend_from_slice(b"more");
            assert_eq!(
                Destination::decode(&bytes),
                Ok(Some((wanted.clone(), length)))
            );
            assert_eq!(wanted.to_string(), text);
        }
    }

    #[test]
    fn an_address_in_text_is_an_address() {
        // So that the far end's check of private addresses sees it, and not a resolver.
        let mut bytes = vec![3, 9];
        bytes.extend_from_slice(b"127.0.0.1\x00\x50");
        let (found, _) = Destination::decode(&bytes).unwrap().unwrap();
        assert_eq!(found, Destination::Address("127.0.0.1:80".parse().unwrap()));
        assert!(Destination::decode(b"\x03\x04a\nbc\x00\x50").is_err());
        assert!(Destination::decode(b"\x03\x00\x00\x50").is_err());
        assert!(Destination::decode(b"\x07").is_err());
    }
}
