//! Reads the subflows' states: the map `jp_subflows` of `bpf/maps.h`.

use std::net::{IpAddr, Ipv6Addr};

use libbpf_rs::MapCore;

use super::control::{Field, Heard};
use super::entries::entries;
use crate::error::{Doing, Error, Result};
use crate::namespace::Cookie;

/// Size of `struct jp_subflow`, bytes.
pub(super) const BYTES: usize = 144;
/// `MPCC_SSTHRESH_NONE`
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// The last published state of one subflow: `struct jp_subflow`.
#[derive(Clone, Debug, PartialEq)]
pub struct SubflowState {
    /// Network namespace.
    pub netns: Cookie,
    /// Load of the controller that serves it: ns of the boot clock.
    pub loaded_ns: u64,
    /// Time of the last update, µs of the monotonic clock.
    pub updated_us: u64,
    /// Local token of the MPTCP connection; `None` for plain TCP.
    pub token: Option<u32>,
    /// Local address id.
    pub local_id: u8,
    /// Index of the interface through which it sends; 0: not known yet.
    pub ifindex: u32,
    /// Local address and port.
    pub local: (IpAddr, u16),
    /// Remote address and port.
    pub remote: (IpAddr, u16),
    /// Number of coupled subflows, including this one.
    pub coupled: u32,
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow start threshold, packets; `None` before the first loss.
    pub ssthresh: Option<u32>,
    /// Smoothed RTT, µs.
    pub srtt_us: u32,
    /// Minimum RTT, µs; 0: no sample.
    pub base_rtt_us: u32,
    /// Maximum segment size, bytes.
    pub mss: u32,
    /// Packets delivered; the counter wraps.
    pub delivered: u32,
    /// Packets retransmitted; the counter wraps.
    pub retransmitted: u32,
    /// Loss episodes.
    pub losses: u32,
    /// Control values in use.
    pub heard: Heard,
}

impl SubflowState {
    /// Rate that the window allows, bit/s: cwnd · MSS / srtt; 0 without an RTT sample.
    pub fn rate_bps(&self) -> f64 {
        if self.srtt_us == 0 {
            return 0.0;
        }
        f64::from(self.cwnd) * f64::from(self.mss) * 8.0 / (f64::from(self.srtt_us) / 1e6)
    }

    /// `None` if the length differs: the map is of another version.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words = Words(<&[u8; BYTES]>::try_from(bytes).ok()?.as_slice());
        let (netns, loaded_ns, updated_us) = (Cookie(words.u64()), words.u64(), words.u64());
        let token = words.u32();
        let local_id = words.u32() as u8;
        let ifindex = words.u32();
        let (local, remote) = (words.address(), words.address());
        let (local_port, remote_port) = (words.u16(), words.u16());
        Some(SubflowState {
            netns,
            loaded_ns,
            updated_us,
            token: (token != 0).then_some(token),
            local_id,
            ifindex,
            local: (local, local_port),
            remote: (remote, remote_port),
            coupled: words.u32(),
            cwnd: words.u32(),
            ssthresh: Some(words.u32()).filter(|&packets| packets < NO_THRESHOLD),
            srtt_us: words.u32(),
            base_rtt_us: words.u32(),
            mss: words.u32(),
            delivered: words.u32(),
            retransmitted: words.u32(),
            losses: words.u32(),
            heard: Heard::new(std::array::from_fn::<_, { Field::COUNT }, _>(|_| {
                words.u32()
            })),
        })
    }
}

/// All entries of a map of subflows.
pub(super) fn read_subflows(map: &impl MapCore) -> Result<Vec<SubflowState>> {
    let entries = entries(map).doing("reading the subflows' states")?;
    let subflows = entries
        .iter()
        .map(|(_, value)| SubflowState::from_bytes(value))
        .collect::<Option<_>>();
    subflows.ok_or_else(|| Error::Unsupported {
        what: "reading the subflows' states".into(),
        why: "the controller was loaded by another version of joulepath".into(),
        remedy: "unload it and load it again".into(),
    })
}

/// Reads a structure field by field.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, tail) = self.0.split_at(N);
        self.0 = tail;
        head.try_into().expect("split at N")
    }

    fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }

    fn address(&mut self) -> IpAddr {
        IpAddr::V6(Ipv6Addr::from(self.take::<16>())).to_canonical()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_at_the_offsets_of_the_c_structure() {
        // Byte i has the value i.
        let bytes: Vec<u8> = (0..BYTES as u8).collect();
        let word = |at: usize| u32::from_ne_bytes(*bytes[at..].first_chunk().unwrap());
        let state = SubflowState::from_bytes(&bytes).unwrap();
        assert_eq!(
            state.netns.0,
            u64::from_ne_bytes(*bytes.first_chunk().unwrap())
        );
        assert_eq!((state.token, state.ifindex), (Some(word(24)), word(32)));
        // Offsets: local 36, remote 52, ports 68 and 70.
        assert_eq!(state.remote.1, u16::from_ne_bytes([70, 71]));
        assert_eq!(
            (state.coupled, state.losses, state.heard.pacing),
            (word(72), word(104), word(124))
        );
        assert_eq!(SubflowState::from_bytes(&bytes[1..]), None);
    }
}
