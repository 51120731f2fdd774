//! Events of a subflow, as a controller receives them, and the memory of controllers that own the
//! window.

use std::ops::BitOr;

/// Flags of an ACK, and the kind of an [`Event`]. Flags are combined with `|`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFlags(pub(crate) u32);

impl AckFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// The ACK echoes a congestion mark (ECE).
    pub const ECE: Self = Self(1);
    /// The sender was limited by cwnd. Without this flag no window grows.
    pub const CWND_LIMITED: Self = Self(2);
    /// One RTT round ends with this ACK.
    pub const ROUND_END: Self = Self(4);
    /// The rate sample's interval includes time without data to send: the rate is a lower bound.
    pub const APP_LIMITED: Self = Self(8);
    /// A subflow starts; there is no ACK.
    pub const STARTS: Self = Self(16);
    /// A loss episode starts: the first loss of a window of data.
    pub const EPISODE: Self = Self(32);
    /// A retransmission timeout; there is no ACK.
    pub const TIMED_OUT: Self = Self(64);
    /// Sending restarts after it was idle; there is no ACK.
    pub const RESTARTS: Self = Self(128);
    /// The last loss episode was spurious: the packets were only late.
    pub const IN_VAIN: Self = Self(256);
    /// The sender paces its packets, although the controller sets no rate.
    pub const PACED: Self = Self(512);

    /// Adds `flag` if `condition` holds.
    #[inline]
    #[must_use]
    pub fn with(self, flag: Self, condition: bool) -> Self {
        Self(self.0 | if condition { flag.0 } else { 0 })
    }

    /// The bits of `enum mpcc_event_flags`.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Whether one of the flags in `flags` is set.
    #[inline]
    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 != 0
    }
}

impl BitOr for AckFlags {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// An ACK for a controller whose window the sender keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// Packets newly acknowledged.
    pub acked: u32,
    /// RTT sample, µs; 0 = none.
    pub rtt_us: u32,
    /// [`AckFlags::ECE`], [`AckFlags::CWND_LIMITED`], [`AckFlags::ROUND_END`], [`AckFlags::PACED`].
    pub flags: AckFlags,
}

/// An event for a controller that owns its window (`struct mpcc_event`). Counts are packets.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Packets newly acknowledged, cumulatively or by SACK.
    pub acked: u32,
    /// RTT sample, µs; 0 = none.
    pub rtt_us: u32,
    /// The kind of event.
    pub flags: AckFlags,
    /// Packets newly judged lost since the last event.
    pub lost: u32,
    /// Packets of `acked` that carried a congestion mark.
    pub marked: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// Packets in flight now, before the reply to this event.
    pub in_flight: u32,
    /// Payload of a full packet, bytes.
    pub mss: u32,
    /// Packets delivered since the subflow started; wraps.
    pub total_delivered: u32,
    /// `total_delivered` at the departure of the latest packet that this ACK covers.
    pub prior_delivered: u32,
    /// Packets delivered over `interval_us`.
    pub delivered: u32,
    /// Interval of the rate sample, µs: the longer of the send time and the ACK time of `delivered`
    /// packets; 0 = no sample.
    pub interval_us: u32,
}

/// Memory of a controller that owns its window, for one subflow (`struct mpcc_area`, 128 bytes).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area(pub(crate) [u64; 16]);

impl Area {
    /// Memory with this content, for tests: a controller must be defined for any content. The
    /// runner starts with [`Area::default`].
    pub const fn of(words: [u64; 16]) -> Self {
        Self(words)
    }
}
