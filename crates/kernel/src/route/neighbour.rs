//! Neighbours: hosts on a device's link with their hardware addresses.

use std::net::IpAddr;

use super::uapi::family;
use crate::netlink::{Bytes, Known, Malformed};

/// `struct ndmsg`.
const HEADER_LEN: usize = 12;
const HEADER: &str = "struct ndmsg";
const INDEX_AT: usize = 4;

const DESTINATION: Known = Known(1, "NDA_DST");
const HARDWARE: Known = Known(2, "NDA_LLADDR");

/// A host on a device's link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbour {
    /// Index of the device.
    pub device: u32,
    /// Its address.
    pub address: IpAddr,
    /// Its hardware address.
    pub hardware: Vec<u8>,
}

impl Neighbour {
    /// `None` while its hardware address is unknown.
    pub(super) fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let (header, attributes) = Bytes::split(HEADER, payload, HEADER_LEN)?;
        let (Some(address), Some(hardware)) = (attributes.ip(DESTINATION)?, attributes.bytes(HARDWARE))
        else {
            return Ok(None);
        };
        let is_known = hardware.iter().any(|&byte| byte != 0);
        let device = header.u32(INDEX_AT);
        Ok(is_known.then(|| Neighbour { device, address, hardware: hardware.to_vec() }))
    }
}

/// The request to list neighbours.
pub(super) fn list_request(family: u8) -> Vec<u8> {
    let mut payload = vec![0; HEADER_LEN];
    payload[0] = family;
    payload
}

/// Families that have neighbours.
pub(super) const FAMILIES: [u8; 2] = [family::INET, family::INET6];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::put;

    #[test]
    fn a_neighbour_without_a_hardware_address_is_left_out() {
        let mut payload = list_request(family::INET);
        payload[INDEX_AT..][..4].copy_from_slice(&7u32.to_ne_bytes());
        put(&mut payload, DESTINATION.0, &[192, 0, 2, 1]);
        assert_eq!(Neighbour::parse(&payload), Ok(None));
        let mut loopback = payload.clone();
        put(&mut loopback, HARDWARE.0, &[0; 6]);
        assert_eq!(Neighbour::parse(&loopback), Ok(None));
        put(&mut payload, HARDWARE.0, &[2, 0, 0, 0, 0, 1]);
        let address = "192.0.2.1".parse().unwrap();
        let expected = Neighbour { device: 7, address, hardware: vec![2, 0, 0, 0, 0, 1] };
        assert_eq!(Neighbour::parse(&payload), Ok(Some(expected)));
        assert!(Neighbour::parse(&[0; 4]).is_err());
    }
}
