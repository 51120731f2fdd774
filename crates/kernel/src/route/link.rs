//! Network devices.

use serde::{Deserialize, Serialize};

use super::uapi::family;
use crate::netlink::{Bytes, Known, Malformed, put};

/// `struct ifinfomsg`.
const HEADER_LEN: usize = 16;
const HEADER: &str = "struct ifinfomsg";
const INDEX_AT: usize = 4;
const FLAGS_AT: usize = 8;
const CHANGE_AT: usize = 12;

const UP: u32 = 1 << 0;
const LOOPBACK: u32 = 1 << 3;
const POINT_TO_POINT: u32 = 1 << 4;
const CARRIER: u32 = 1 << 16;

const ADDRESS: Known = Known(1, "IFLA_ADDRESS");
const NAME: Known = Known(3, "IFLA_IFNAME");
const MTU: Known = Known(4, "IFLA_MTU");
const MASTER: Known = Known(10, "IFLA_MASTER");
const QUEUE_LENGTH: Known = Known(13, "IFLA_TXQLEN");
const OPERATION: Known = Known(16, "IFLA_OPERSTATE");
const INFO: Known = Known(18, "IFLA_LINKINFO");
const INFO_KIND: Known = Known(1, "IFLA_INFO_KIND");
const SPECIFIC: Known = Known(26, "IFLA_AF_SPEC");
const EXTENT: Known = Known(29, "IFLA_EXT_MASK");
const GSO_SEGMENTS: Known = Known(40, "IFLA_GSO_MAX_SEGS");

/// Of the families' own attributes.
const OF_IPV6: Known = Known(family::INET6 as u16, "AF_INET6");
const IPV6_COUNTERS: Known = Known(3, "IFLA_INET6_STATS");

/// `struct if_stats_msg`.
const STATS_LEN: usize = 12;
const STATS: &str = "struct if_stats_msg";
const STATS_FILTER_AT: usize = 8;
const COUNTERS: Known = Known(1, "IFLA_STATS_LINK_64");
/// The filter for these counters alone.
const ONLY_COUNTERS: u32 = 1 << (COUNTERS.0 - 1);

/// `RTEXT_FILTER_SKIP_STATS`: omit the counters.
const WITHOUT_COUNTERS: u32 = 1 << 3;

/// A network device.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Link {
    /// Its number, which this namespace reuses only after 2^31 others.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Kind of a virtual device, as `ip link` names it: `veth`, `wireguard`, `tun`; `None` for
    /// hardware and loopback.
    pub kind: Option<String>,
    /// Hardware address; empty if it has none.
    pub hardware: Vec<u8>,
    /// True if the administrator has set it up.
    pub up: bool,
    /// True if it has a carrier: a cable, an association.
    pub carrier: bool,
    /// Operational state (RFC 2863).
    pub operation: Operation,
    /// True for the loopback device.
    pub loopback: bool,
    /// True if it is a point-to-point device.
    pub point_to_point: bool,
    /// Largest packet, bytes.
    pub mtu: u32,
    /// Index of the bridge, bond or VRF that it belongs to.
    pub master: Option<u32>,
}

/// Operational state of RFC 2863.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// The driver does not report it; the carrier decides. The case for TUN devices and loopback.
    #[default]
    Unknown,
    /// The device or a part of it is missing.
    NotPresent,
    /// It cannot carry packets.
    Down,
    /// A lower layer is down.
    LowerLayerDown,
    /// It is being tested.
    Testing,
    /// It waits for an event, for example authentication.
    Dormant,
    /// It can carry packets.
    Up,
    /// A state that this version does not know.
    Other(u8),
}

/// Traffic of a device since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Packets received.
    pub received_packets: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes received, including link-layer headers.
    pub received_bytes: u64,
    /// Bytes sent, including link-layer headers.
    pub sent_bytes: u64,
}

/// IPv6 packets that a device has received since IPv6 runs on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedIpv6 {
    /// Packets; segments that the kernel has put together are one.
    pub packets: u64,
    /// Bytes without link-layer headers, and with one header for such segments.
    pub bytes: u64,
}

impl ReceivedIpv6 {
    /// `None` without IPv6.
    pub(super) fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let (_, attributes) = Bytes::split(HEADER, payload, HEADER_LEN)?;
        let specific = attributes.nested(SPECIFIC)?;
        let of_ipv6 = specific.map(|all| all.nested(OF_IPV6)).transpose()?;
        let counters = of_ipv6.flatten().and_then(|all| all.bytes(IPV6_COUNTERS));
        // The number of words, then packets and bytes.
        Ok(counters.and_then(|bytes| {
            let word = |at: usize| Some(u64::from_ne_bytes(*bytes.get(8 * at..)?.first_chunk()?));
            Some(ReceivedIpv6 {
                packets: word(1)?,
                bytes: word(2)?,
            })
        }))
    }
}

impl Link {
    /// True if packets can leave through it now.
    pub fn is_usable(&self) -> bool {
        self.up && self.carrier && matches!(self.operation, Operation::Up | Operation::Unknown)
    }

    pub(super) fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let (header, attributes) = Bytes::split(HEADER, payload, HEADER_LEN)?;
        let flags = header.u32(FLAGS_AT);
        let info = attributes.nested(INFO)?;
        Ok(Link {
            index: header.u32(INDEX_AT),
            name: attributes.text(NAME).unwrap_or_default(),
            kind: info.and_then(|info| info.text(INFO_KIND)),
            hardware: attributes.bytes(ADDRESS).unwrap_or_default().to_vec(),
            up: flags & UP != 0,
            carrier: flags & CARRIER != 0,
            operation: Operation::new(attributes.u8(OPERATION)?.unwrap_or(0)),
            loopback: flags & LOOPBACK != 0,
            point_to_point: flags & POINT_TO_POINT != 0,
            mtu: attributes.u32(MTU)?.unwrap_or(0),
            master: attributes.u32(MASTER)?,
        })
    }
}

impl Operation {
    fn new(state: u8) -> Self {
        match state {
            0 => Operation::Unknown,
            1 => Operation::NotPresent,
            2 => Operation::Down,
            3 => Operation::LowerLayerDown,
            4 => Operation::Testing,
            5 => Operation::Dormant,
            6 => Operation::Up,
            other => Operation::Other(other),
        }
    }
}

impl Counters {
    /// Index and counters of a device; `None` if the kernel does not count.
    pub(super) fn parse(payload: &[u8]) -> Result<Option<(u32, Self)>, Malformed> {
        let (header, attributes) = Bytes::split(STATS, payload, STATS_LEN)?;
        let Some(bytes) = attributes.bytes(COUNTERS) else {
            return Ok(None);
        };
        // The structure grows with the kernel; these are its first fields.
        let Some(fields) = bytes.first_chunk::<32>() else {
            return Err(Malformed::new(
                COUNTERS.1,
                format!("it has {} bytes, fewer than 32", bytes.len()),
            ));
        };
        let mut words = fields
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().expect("chunks of 8")));
        let mut next = || words.next().expect("32 bytes are 4 words");
        let counters = Counters {
            received_packets: next(),
            sent_packets: next(),
            received_bytes: next(),
            sent_bytes: next(),
        };
        Ok(Some((header.u32(INDEX_AT), counters)))
    }
}

fn header(index: u32, flags: u32, change: u32) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_LEN];
    bytes[0] = family::UNSPECIFIED;
    bytes[INDEX_AT..][..4].copy_from_slice(&index.to_ne_bytes());
    bytes[FLAGS_AT..][..4].copy_from_slice(&flags.to_ne_bytes());
    bytes[CHANGE_AT..][..4].copy_from_slice(&change.to_ne_bytes());
    bytes
}

/// The request to list devices.
pub(super) fn list_request() -> Vec<u8> {
    let mut payload = header(0, 0, 0);
    put(&mut payload, EXTENT.0, &WITHOUT_COUNTERS.to_ne_bytes());
    payload
}

/// The request for a device with the counters of its families.
pub(super) fn ipv6_counters_request(index: u32) -> Vec<u8> {
    header(index, 0, 0)
}

/// The request to list counters.
pub(super) fn counters_request() -> Vec<u8> {
    let mut payload = vec![0; STATS_LEN];
    payload[STATS_FILTER_AT..][..4].copy_from_slice(&ONLY_COUNTERS.to_ne_bytes());
    payload
}

/// The request to set a device up or down.
pub(super) fn set_up_request(index: u32, up: bool) -> Vec<u8> {
    header(index, if up { UP } else { 0 }, UP)
}

/// The request to set a device's MTU, queue length and largest segmentation.
pub(super) fn shape_request(index: u32, mtu: u32, queue_packets: u32, segments: u32) -> Vec<u8> {
    let mut payload = header(index, 0, 0);
    for (known, value) in [
        (MTU, mtu),
        (QUEUE_LENGTH, queue_packets),
        (GSO_SEGMENTS, segments),
    ] {
        put(&mut payload, known.0, &value.to_ne_bytes());
    }
    payload
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::put_nested;

    /// The message for a veth device that is up and has a carrier.
    fn veth() -> Vec<u8> {
        let mut payload = header(7, UP | CARRIER, 0);
        put(&mut payload, NAME.0, b"c0\0");
        put(&mut payload, MTU.0, &1500u32.to_ne_bytes());
        put(&mut payload, OPERATION.0, &[6]);
        put(&mut payload, ADDRESS.0, &[2, 0, 0, 0, 0, 1]);
        let mut info = vec![];
        put(&mut info, INFO_KIND.0, b"veth\0");
        put_nested(&mut payload, INFO.0, &info);
        payload
    }

    #[test]
    fn a_device_is_parsed() {
        let link = Link::parse(&veth()).unwrap();
        assert_eq!(
            (link.index, &*link.name, link.kind.as_deref(), link.mtu),
            (7, "c0", Some("veth"), 1500)
        );
        assert!(link.is_usable() && !link.loopback && link.master.is_none());
        let mut down = veth();
        put(&mut down, MASTER.0, &3u32.to_ne_bytes());
        down[FLAGS_AT..][..4].copy_from_slice(&CARRIER.to_ne_bytes());
        let link = Link::parse(&down).unwrap();
        assert!(!link.is_usable() && link.master == Some(3));
    }

    #[test]
    fn a_known_attribute_of_a_wrong_length_is_named() {
        let mut payload = veth();
        put(&mut payload, MASTER.0, &[1, 2]);
        assert!(
            Link::parse(&payload)
                .unwrap_err()
                .to_string()
                .starts_with("IFLA_MASTER: ")
        );
        assert!(
            Link::parse(&[0; 8])
                .unwrap_err()
                .to_string()
                .starts_with(HEADER)
        );
    }

    fn counters_of(index: u32) -> Vec<u8> {
        let mut payload = counters_request();
        payload[INDEX_AT..][..4].copy_from_slice(&index.to_ne_bytes());
        payload
    }

    #[test]
    fn counters_are_the_first_fields_of_a_structure_that_grows() {
        let numbers = |n: u64| (1..=n).flat_map(u64::to_ne_bytes).collect::<Vec<u8>>();
        let mut payload = counters_of(7);
        put(&mut payload, COUNTERS.0, &numbers(25));
        let expected = Counters {
            received_packets: 1,
            sent_packets: 2,
            received_bytes: 3,
            sent_bytes: 4,
        };
        assert_eq!(Counters::parse(&payload), Ok(Some((7, expected))));
        let mut short = counters_of(7);
        put(&mut short, COUNTERS.0, &numbers(3));
        assert!(
            Counters::parse(&short)
                .unwrap_err()
                .to_string()
                .starts_with("IFLA_STATS_LINK_64")
        );
        assert_eq!(Counters::parse(&counters_of(7)), Ok(None));
    }

    #[test]
    fn ipv6_counters_are_found_among_those_of_all_families() {
        assert_eq!(ReceivedIpv6::parse(&veth()), Ok(None));
        let numbers: Vec<u8> = [37, 5, 600, 0]
            .into_iter()
            .flat_map(u64::to_ne_bytes)
            .collect();
        let (mut message, mut of_ipv6, mut specific) = (veth(), vec![], vec![]);
        put(&mut of_ipv6, IPV6_COUNTERS.0, &numbers);
        put_nested(&mut specific, OF_IPV6.0, &of_ipv6);
        put_nested(&mut message, SPECIFIC.0, &specific);
        let expected = ReceivedIpv6 {
            packets: 5,
            bytes: 600,
        };
        assert_eq!(ReceivedIpv6::parse(&message), Ok(Some(expected)));
    }

    mod properties {
        use proptest::prelude::*;

        use super::*;

        proptest! {
            #[test]
            fn no_message_causes_a_panic(
                mut bytes in prop::collection::vec(any::<u8>(), 0..200),
                at in 0usize..80,
            ) {
                let _ = (Link::parse(&bytes).is_ok(), Counters::parse(&bytes).is_ok());
                let _ = ReceivedIpv6::parse(&bytes).is_ok();
                // A valid message with some wrong bytes.
                let mut message = veth();
                bytes.truncate(4);
                let at = at.min(message.len() - bytes.len());
                message[at..][..bytes.len()].copy_from_slice(&bytes);
                let _ = (Link::parse(&message).is_ok(), Counters::parse(&message).is_ok());
            }
        }
    }

    #[test]
    fn no_message_causes_a_panic() {
        joulepath_testbed::fuzz([veth()], |bytes| drop(Link::parse(bytes)));
    }
}
