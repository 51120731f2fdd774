//! Addresses of devices.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::prefix::Prefix;
use super::uapi::family;
use crate::netlink::{Bytes, Known, Malformed, put};

/// `struct ifaddrmsg`.
const HEADER_LEN: usize = 8;
const HEADER: &str = "struct ifaddrmsg";
const LENGTH_AT: usize = 1;
const FLAGS_AT: usize = 2;
const SCOPE_AT: usize = 3;
const INDEX_AT: usize = 4;

const ADDRESS: Known = Known(1, "IFA_ADDRESS");
const LOCAL: Known = Known(2, "IFA_LOCAL");
const FLAGS: Known = Known(8, "IFA_FLAGS");

const TEMPORARY: u32 = 0x01;
const WITHOUT_DUPLICATE_CHECK: u32 = 0x02;
const OPTIMISTIC: u32 = 0x04;
const DUPLICATE: u32 = 0x08;
const DEPRECATED: u32 = 0x20;
const TENTATIVE: u32 = 0x40;

/// An address of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address {
    /// Index of the device.
    pub device: u32,
    /// The address.
    pub address: IpAddr,
    /// Prefix length, bits.
    pub length: u8,
    /// The peer's address, on a point-to-point device.
    pub peer: Option<IpAddr>,
    /// Where it is valid.
    pub scope: Scope,
    /// True while the kernel checks for a duplicate; not usable yet.
    pub tentative: bool,
    /// True if a duplicate was found; not usable.
    pub duplicate: bool,
    /// True if new connections should not use it.
    pub deprecated: bool,
    /// True for an IPv6 privacy address, which is replaced soon, and for a secondary IPv4 address.
    pub temporary: bool,
}

/// Where an address is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Everywhere.
    Universe,
    /// This site (IPv6, obsolete).
    Site,
    /// This link.
    Link,
    /// This host.
    Host,
    /// Another scope, by number.
    Other(u8),
}

impl Address {
    /// True if sockets can use it now.
    pub fn is_usable(&self) -> bool {
        !self.tentative && !self.duplicate
    }

    /// The addresses of its network.
    pub fn network(&self) -> Prefix {
        Prefix::new(self.peer.unwrap_or(self.address), self.length)
            .expect("checked when it was read")
    }

    pub(super) fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let (header, attributes) = Bytes::split(HEADER, payload, HEADER_LEN)?;
        let (local, address) = (attributes.ip(LOCAL)?, attributes.ip(ADDRESS)?);
        // IPv6 has IFA_LOCAL only if there is a peer.
        let Some(own) = local.or(address) else {
            return Ok(None);
        };
        let flags = attributes
            .u32(FLAGS)?
            .unwrap_or(u32::from(header.u8(FLAGS_AT)));
        let length = header.u8(LENGTH_AT);
        let peer = address.filter(|address| *address != own);
        Prefix::new(peer.unwrap_or(own), length)
            .map_err(|error| Malformed::new(HEADER, error.to_string()))?;
        Ok(Some(Address {
            device: header.u32(INDEX_AT),
            address: own,
            length,
            peer,
            scope: Scope::new(header.u8(SCOPE_AT)),
            tentative: flags & TENTATIVE != 0 && flags & OPTIMISTIC == 0,
            duplicate: flags & DUPLICATE != 0,
            deprecated: flags & DEPRECATED != 0,
            temporary: flags & TEMPORARY != 0,
        }))
    }
}

impl Scope {
    fn new(scope: u8) -> Self {
        match scope {
            0 => Scope::Universe,
            200 => Scope::Site,
            253 => Scope::Link,
            254 => Scope::Host,
            other => Scope::Other(other),
        }
    }
}

/// The request to list addresses.
pub(super) fn list_request() -> Vec<u8> {
    vec![0; HEADER_LEN]
}

/// The request to add or remove an address with the full prefix length.
pub(super) fn request(device: u32, address: IpAddr) -> Vec<u8> {
    let prefix = Prefix::from(address);
    let mut payload = vec![family::of(address), prefix.length(), 0, 0];
    payload.extend(device.to_ne_bytes());
    put_ip(&mut payload, LOCAL, address);
    put_ip(&mut payload, ADDRESS, address);
    // Without duplicate detection: an IPv6 address would be unusable for a second, and these links
    // have no duplicates.
    put(
        &mut payload,
        FLAGS.0,
        &WITHOUT_DUPLICATE_CHECK.to_ne_bytes(),
    );
    payload
}

/// Appends an address attribute.
pub(super) fn put_ip(payload: &mut Vec<u8>, known: Known, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => put(payload, known.0, &v4.octets()),
        IpAddr::V6(v6) => put(payload, known.0, &v6.octets()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header for device 7.
    fn header(family: u8, length: u8, flags: u8, scope: u8) -> Vec<u8> {
        [&[family, length, flags, scope][..], &7u32.to_ne_bytes()].concat()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_peer_address_is_distinguished_from_the_local_one() {
        let mut payload = header(family::INET, 24, 0, 0);
        put_ip(&mut payload, ADDRESS, ip("10.0.0.1"));
        put_ip(&mut payload, LOCAL, ip("10.0.0.1"));
        let address = Address::parse(&payload).unwrap().unwrap();
        assert_eq!(
            (address.device, address.address, address.peer),
            (7, ip("10.0.0.1"), None)
        );
        assert_eq!(address.network().to_string(), "10.0.0.0/24");
        let mut payload = header(family::INET, 32, 0, 0);
        put_ip(&mut payload, ADDRESS, ip("10.9.9.9"));
        put_ip(&mut payload, LOCAL, ip("10.0.0.1"));
        let address = Address::parse(&payload).unwrap().unwrap();
        assert_eq!(
            (address.address, address.peer),
            (ip("10.0.0.1"), Some(ip("10.9.9.9")))
        );
    }

    #[test]
    fn a_tentative_address_is_not_usable() {
        let with = |flags: u32| {
            let mut payload = header(family::INET6, 64, 0, 253);
            put_ip(&mut payload, ADDRESS, ip("fe80::1"));
            put(&mut payload, FLAGS.0, &flags.to_ne_bytes());
            Address::parse(&payload).unwrap().unwrap()
        };
        assert_eq!(with(0).scope, Scope::Link);
        assert!(
            with(0).is_usable()
                && !with(TENTATIVE).is_usable()
                && !with(TENTATIVE | DUPLICATE).is_usable()
        );
        assert!(with(TENTATIVE | OPTIMISTIC).is_usable());
    }

    #[test]
    fn an_invalid_address_is_named() {
        let mut payload = header(family::INET, 64, 0, 0);
        put_ip(&mut payload, LOCAL, ip("10.0.0.1"));
        assert_eq!(
            Address::parse(&payload).unwrap_err().to_string(),
            "struct ifaddrmsg: an address of 32 bits has no prefix of 64"
        );
        let mut payload = header(family::INET, 24, 0, 0);
        put(&mut payload, LOCAL.0, &[1, 2, 3]);
        assert!(
            Address::parse(&payload)
                .unwrap_err()
                .to_string()
                .starts_with("IFA_LOCAL")
        );
    }

    mod properties {
        use proptest::prelude::*;

        use super::*;

        proptest! {
            #[test]
            fn no_message_causes_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..100), length: u8) {
                let _ = Address::parse(&bytes).is_ok();
                let mut message = request(1, [10, 0, 0, 1].into());
                message[LENGTH_AT] = length;
                if let Ok(Some(address)) = Address::parse(&message) {
                    assert!(address.network().contains(address.address));
                }
            }
        }
    }

    #[test]
    fn no_message_causes_a_panic() {
        let corpus = [request(7, ip("192.0.2.1")), request(7, ip("2001:db8::1"))];
        joulepath_testbed::fuzz(corpus, |bytes| drop(Address::parse(bytes)));
    }
}
