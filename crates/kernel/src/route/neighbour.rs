//! Neighbours: hosts on a device's link with their hardware addresses.

use std::net::IpAddr;

use super::address::put_ip;
use super::uapi::family;
use crate::netlink::{Bytes, Known, Malformed};

/// `struct ndmsg`.
const HEADER_LEN: usize = 12;
const HEADER: &str = "struct ndmsg";
const INDEX_AT: usize = 4;
const STATE_AT: usize = 8;

/// `NUD_…`.
const INCOMPLETE: u16 = 0x01;
const PROBE: u16 = 0x10;
const FAILED: u16 = 0x20;
const NO_ARP: u16 = 0x40;

const DESTINATION: Known = Known(1, "NDA_DST");
const HARDWARE: Known = Known(2, "NDA_LLADDR");

/// A host on a device's link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbour {
    /// Index of the device.
    pub device: u32,
    /// Its address.
    pub address: IpAddr,
    /// Its hardware address; empty if unknown.
    pub hardware: Vec<u8>,
    /// True if it does not answer ARP or neighbour solicitations (`INCOMPLETE`, `FAILED`).
    pub unanswering: bool,
}

impl Neighbour {
    /// `None` for entries without resolution, such as those of multicast and of devices without
    /// ARP.
    pub(super) fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let (header, attributes) = Bytes::split(HEADER, payload, HEADER_LEN)?;
        let state = u16::from_ne_bytes(header.array(STATE_AT));
        let Some(address) = attributes.ip(DESTINATION)?.filter(|_| state & NO_ARP == 0) else {
            return Ok(None);
        };
        let hardware = attributes.bytes(HARDWARE).unwrap_or_default();
        let is_known = hardware.iter().any(|&byte| byte != 0);
        Ok(Some(Neighbour {
            device: header.u32(INDEX_AT),
            address,
            hardware: if is_known { hardware.to_vec() } else { vec![] },
            unanswering: state & (INCOMPLETE | FAILED) != 0,
        }))
    }
}

/// The request to ask a neighbour at once whether its hardware address still holds. The kernel
/// refuses it if that address is unknown.
pub(super) fn probe_request(device: u32, address: IpAddr) -> Vec<u8> {
    let mut payload = list_request(family::of(address));
    payload[INDEX_AT..][..4].copy_from_slice(&device.to_ne_bytes());
    payload[STATE_AT..][..2].copy_from_slice(&PROBE.to_ne_bytes());
    put_ip(&mut payload, DESTINATION, address);
    payload
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
    fn a_neighbour_has_its_hardware_address_and_whether_it_answers() {
        let with = |state: u16, hardware: &[u8]| {
            let mut payload = list_request(family::INET);
            payload[INDEX_AT..][..4].copy_from_slice(&7u32.to_ne_bytes());
            payload[STATE_AT..][..2].copy_from_slice(&state.to_ne_bytes());
            put(&mut payload, DESTINATION.0, &[192, 0, 2, 1]);
            if !hardware.is_empty() {
                put(&mut payload, HARDWARE.0, hardware);
            }
            payload
        };
        let address = "192.0.2.1".parse().unwrap();
        let of = |hardware: &[u8], unanswering| {
            Ok(Some(Neighbour {
                device: 7,
                address,
                hardware: hardware.to_vec(),
                unanswering,
            }))
        };
        let mac = [2, 0, 0, 0, 0, 1];
        // REACHABLE, STALE, DELAY and PROBE are no evidence against it.
        for state in [0x02, 0x04, 0x08, PROBE] {
            assert_eq!(Neighbour::parse(&with(state, &mac)), of(&mac, false));
        }
        assert_eq!(Neighbour::parse(&with(FAILED, &mac)), of(&mac, true));
        assert_eq!(Neighbour::parse(&with(INCOMPLETE, &[])), of(&[], true));
        assert_eq!(Neighbour::parse(&with(NO_ARP, &mac)), Ok(None));
        assert_eq!(Neighbour::parse(&with(0x02, &[0; 6])), of(&[], false));
        assert_eq!(Neighbour::parse(&probe_request(7, address)), of(&[], false));
        assert!(Neighbour::parse(&[0; 4]).is_err());
    }

    #[test]
    fn no_message_causes_a_panic() {
        let corpus = [
            probe_request(7, [192, 0, 2, 1].into()),
            probe_request(7, [0x20; 16].into()),
        ];
        joulepath_testbed::fuzz(corpus, |bytes| drop(Neighbour::parse(bytes)));
    }
}
