//! What a controller shares with user space: the structures of `bpf/maps.h`.

use std::net::{IpAddr, Ipv6Addr};

use libbpf_rs::{MapCore, MapFlags};

/// Fraction bits of the fields of [`Control`] (`cc/mpcc.h`).
const COST_BITS: i32 = 16;
const SHARE_BITS: i32 = 20;
const PRICE_BITS: i32 = 16;
const LOSS_BITS: i32 = 30;

/// `1.0` of a fixed-point number.
fn one(bits: i32) -> f64 {
    f64::from(bits).exp2()
}

/// Which subflows a [`Control`] is for. The first that is there counts, in the order of the variants. All hold within one
/// network namespace, named by the inode number of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlKey {
    /// One subflow of one connection.
    Connection {
        /// Network namespace.
        netns: u32,
        /// The connection's local token.
        token: u32,
        /// The subflow's local address id.
        local_id: u8,
    },
    /// Whatever leaves from this address.
    Address {
        /// Network namespace.
        netns: u32,
        /// Local address of the subflow.
        local: IpAddr,
    },
    /// Whatever arrives on this interface.
    Interface {
        /// Network namespace.
        netns: u32,
        /// Index of the interface.
        ifindex: u32,
    },
}

impl ControlKey {
    /// `struct jp_control_key`.
    pub(super) fn to_bytes(self) -> [u8; 32] {
        let (kind, netns, id, local_id, address): (u32, _, _, _, _) = match self {
            ControlKey::Connection { netns, token, local_id } => {
                (1, netns, token, u32::from(local_id), [0; 16])
            }
            ControlKey::Address { netns, local } => (2, netns, 0, 0, in_v6(local).octets()),
            ControlKey::Interface { netns, ifindex } => (3, netns, ifindex, 0, [0; 16]),
        };
        let mut bytes = [0; 32];
        for (to, word) in bytes.chunks_exact_mut(4).zip([kind, netns, id, local_id]) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes[16..].copy_from_slice(&address);
        bytes
    }
}

/// IPv4 addresses as the kernel's dual-stack sockets write them: `::ffff:a.b.c.d`.
fn in_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// What the control plane says of a path. Zero: nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Control {
    /// Energy per delivered bit against the siblings': only ratios count.
    pub energy_cost: f64,
    /// Share of the traffic that this path shall carry, 0..=1.
    pub target_share: f64,
    /// Price of the path's queues and energy.
    pub path_price: f64,
    /// Loss probability, 0..=1.
    pub loss: f64,
    /// Rate at which segments may leave, bytes/s; 0: as fast as the window lets them.
    pub pacing: u32,
}

impl Control {
    const FIELDS: [i32; 4] = [COST_BITS, SHARE_BITS, PRICE_BITS, LOSS_BITS];

    /// `struct jp_control`; what does not fit is cut off at the largest value that does.
    pub(super) fn to_bytes(self) -> [u8; 20] {
        let values = [self.energy_cost, self.target_share, self.path_price, self.loss];
        let mut bytes = [0; 20];
        bytes[16..].copy_from_slice(&self.pacing.to_ne_bytes());
        for ((to, value), bits) in bytes.chunks_exact_mut(4).zip(values).zip(Self::FIELDS) {
            to.copy_from_slice(&((value * one(bits)).round() as u32).to_ne_bytes());
        }
        bytes
    }

    fn read(words: &mut Words) -> Self {
        let [energy_cost, target_share, path_price, loss] =
            Self::FIELDS.map(|bits| f64::from(words.u32()) / one(bits));
        Control { energy_cost, target_share, path_price, loss, pacing: words.u32() }
    }
}

/// What one subflow showed at the end of its last round trip: `struct jp_subflow`.
#[derive(Clone, Debug, PartialEq)]
pub struct SubflowState {
    /// Network namespace, by the inode number of its file.
    pub netns: u32,
    /// Local token of the MPTCP connection; `None`: plain TCP.
    pub token: Option<u32>,
    /// Local address id.
    pub local_id: u8,
    /// Index of the interface on which it receives; 0: not known yet.
    pub ifindex: u32,
    /// Own address and port.
    pub local: (IpAddr, u16),
    /// The peer's.
    pub remote: (IpAddr, u16),
    /// Subflows with which it is coupled, itself included.
    pub coupled: u32,
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow start threshold, packets; `None`: no loss yet.
    pub ssthresh: Option<u32>,
    /// Smoothed RTT, µs.
    pub srtt_us: u32,
    /// Least RTT, µs; 0: no sample.
    pub base_rtt_us: u32,
    /// Maximum segment size, bytes.
    pub mss: u32,
    /// Packets delivered, wraps.
    pub delivered: u32,
    /// Packets sent again, wraps.
    pub retransmitted: u32,
    /// Loss episodes.
    pub losses: u32,
    /// Monotonic clock at the time of writing, µs.
    pub updated_us: u64,
    /// What the control plane said.
    pub control: Control,
}

/// `MPCC_SSTHRESH_NONE`
const NO_THRESHOLD: u32 = 0x7fff_ffff;

impl SubflowState {
    /// What the window allows, bit/s: cwnd · MSS / srtt; 0 without an RTT sample.
    pub fn rate_bps(&self) -> f64 {
        if self.srtt_us == 0 {
            return 0.0;
        }
        f64::from(self.cwnd) * f64::from(self.mss) * 8.0 / (f64::from(self.srtt_us) / 1e6)
    }

    /// Size of `struct jp_subflow`, bytes.
    pub(super) const BYTES: usize = 120;

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words = Words(bytes.get(..Self::BYTES)?);
        let netns = words.u32();
        let token = words.u32();
        let local_id = words.u32() as u8;
        let ifindex = words.u32();
        let (local, remote) = (words.address(), words.address());
        let (local_port, remote_port) = (words.u16(), words.u16());
        Some(SubflowState {
            netns,
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
            control: Control::read(&mut words),
            updated_us: words.after_padding().u64(),
        })
    }
}

/// All entries of a map of subflows; those that end meanwhile are left out.
pub(super) fn read_subflows(map: &impl MapCore) -> Vec<SubflowState> {
    let values = map.keys().filter_map(|key| map.lookup(&key, MapFlags::ANY).ok().flatten());
    values.filter_map(|value| SubflowState::from_bytes(&value)).collect()
}

/// Reads a structure field by field.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, tail) = self.0.split_at(N);
        self.0 = tail;
        head.try_into().expect("split at N")
    }

    /// Where a u64 follows an odd number of u32.
    fn after_padding(&mut self) -> &mut Self {
        self.take::<4>();
        self
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
    fn a_control_survives_the_fixed_point() {
        let control = Control {
            energy_cost: 2.5,
            target_share: 0.25,
            path_price: 0.125,
            loss: 1.0 / 1024.0,
            pacing: 9,
        };
        let bytes = control.to_bytes();
        assert_eq!(Control::read(&mut Words(&bytes)), control);
    }

    #[test]
    fn the_key_of_an_address_is_the_mapped_address_in_network_order() {
        let key = ControlKey::Address { netns: 7, local: [10, 1, 2, 3].into() };
        let bytes = key.to_bytes();
        assert_eq!(bytes[..8], [2u32.to_ne_bytes(), 7u32.to_ne_bytes()].concat());
        assert_eq!(bytes[16..], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3]);
    }
}
