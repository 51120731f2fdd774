//! Packets that a link keeps because their fate depends on what comes later: those of managed queues, and
//! those that are reordered or aggregated. The link knows them by numbers. Its next event is in the event
//! queue as a timer.

use joulepath_link::{Link, Outcome};
use joulepath_model::units::Nanos;

use crate::event::{EventQueue, LazyTimer, MAX_TIME_NS, Source};
use crate::path::hop::Hop;
use crate::path::packet::{Kind, Packet, Stamp};

/// A packet that is kept, and the link with what it leads to.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub(crate) packet: Packet,
    pub(crate) hop: Hop,
}

/// The packets that one link keeps.
pub(crate) struct HeldPackets {
    /// The link.
    pub(crate) link: u32,
    /// By the link's numbers.
    packets: Vec<Held>,
    pub(crate) timer: LazyTimer,
    /// Number of its event source; it is known once all other sources have numbers.
    pub(crate) source: Source,
}

impl HeldPackets {
    pub(crate) fn new(link: u32) -> Self {
        HeldPackets { link, packets: vec![], timer: LazyTimer::new(), source: 0 }
    }

    /// Keeps the packet to which the link has given `number`.
    pub(crate) fn keep(&mut self, number: u32, packet: Held) {
        const NOTHING: Held = Held { packet: Packet::new(Kind::Cross, 0, 0, Stamp::ZERO), hop: Hop::over(0) };
        let at = number as usize;
        if at >= self.packets.len() {
            self.packets.resize(at + 1, NOTHING);
        }
        self.packets[at] = packet;
    }

    /// The next packet whose fate is known at `now_ns`, and its fate.
    pub(crate) fn release(&mut self, link: &mut Link, now_ns: u64) -> Option<(Held, Outcome)> {
        let exit = link.take(Nanos(now_ns))?;
        Some((self.packets[exit.number as usize], exit.outcome))
    }

    /// Sets the timer to when the link has to be asked next.
    pub(crate) fn ask(&mut self, link: &Link, now_ns: u64, queue: &mut EventQueue) {
        match link.due().filter(|due| due.0 <= MAX_TIME_NS) {
            Some(due) => self.timer.set(due.0.max(now_ns), self.source, queue),
            None => self.timer.clear(),
        }
    }
}
