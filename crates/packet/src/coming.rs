//! What is known of the packets whose events come soon (see `ahead`).

use crate::hop::Hop;
use crate::packet::{ARRIVES, Kind, Packet};

/// What the last look has found out about the events that are now three and two steps ahead. An event that
/// has been put between them since then makes that a little too early or too late, which does no harm.
#[derive(Clone, Copy)]
pub(crate) struct Ahead {
    pub(crate) packet: Seen,
    pub(crate) goal: Goal,
}

/// What tells where a packet goes.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) subflow: u32,
    pub(crate) kind: Kind,
    /// Whether it is on its last link.
    pub(crate) arrives: bool,
    /// The hops that it will have passed at the end of its present link.
    pub(crate) hops: u8,
}

/// What a packet enters after its present link, with its subflow.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    Unknown,
    Link(Hop, u32),
    Receiver(u32),
    Sender(u32),
}

impl Ahead {
    /// Nothing is known.
    pub(crate) const NOTHING: Self = Ahead {
        packet: Seen { subflow: 0, kind: Kind::Cross, arrives: false, hops: 0 },
        goal: Goal::Unknown,
    };
}

impl Seen {
    #[inline(always)]
    pub(crate) fn of(packet: &Packet) -> Self {
        Seen {
            subflow: packet.subflow(),
            kind: packet.kind,
            arrives: packet.flags & ARRIVES != 0,
            hops: packet.hop + 1,
        }
    }
}
