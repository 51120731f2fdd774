//! Packets that a link holds because their fate depends on later events: packets in managed queues,
//! reordered packets, aggregated packets. The link knows them by number. Its next event is in the
//! event queue as a timer.

use joulepath_link::{Exit, Link};
use joulepath_model::units::Nanos;

use crate::event::{EventQueue, LazyTimer, MAX_TIME_NS, Source};
use crate::path::hop::Hop;
use crate::path::log::Entry;
use crate::path::packet::{Kind, Packet, Stamp};

/// A packet that a link holds, and the hop that the packet is on.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub(crate) packet: Packet,
    pub(crate) hop: Hop,
    /// Its entry in the log, if there is a log.
    pub(crate) entry: Option<Entry>,
}

/// The packets that one link holds.
pub(crate) struct HeldPackets {
    pub(crate) link: u32,
    /// Indexed by the number that the link gave the packet.
    packets: Vec<Held>,
    pub(crate) timer: LazyTimer,
    /// Number of its event source, set after all other sources have numbers.
    pub(crate) source: Source,
}

impl HeldPackets {
    pub(crate) fn new(link: u32) -> Self {
        HeldPackets {
            link,
            packets: vec![],
            timer: LazyTimer::new(),
            source: 0,
        }
    }

    /// Stores the packet to which the link gave `number`.
    pub(crate) fn keep(&mut self, number: u32, packet: Held) {
        const NOTHING: Held = Held {
            packet: Packet::new(Kind::Cross, 0, 0, Stamp::ZERO),
            hop: Hop::over(0),
            entry: None,
        };
        let at = number as usize;
        if at >= self.packets.len() {
            self.packets.resize(at + 1, NOTHING);
        }
        self.packets[at] = packet;
    }

    /// The packet with this number.
    #[inline(always)]
    pub(crate) fn packet(&self, number: u32) -> &Held {
        &self.packets[number as usize]
    }

    /// Adds to `exits` the packets whose fate is certain at `now_ns`: their arrival may be later.
    /// Sets the timer to the time by which the link must be asked again.
    #[inline]
    pub(crate) fn ask(
        &mut self,
        link: &mut Link,
        now_ns: u64,
        exits: &mut Vec<Exit>,
        queue: &mut EventQueue,
    ) {
        match link
            .take_ahead(Nanos(now_ns), exits)
            .filter(|due| due.0 <= MAX_TIME_NS)
        {
            Some(due) => self.timer.set(due.0.max(now_ns), self.source, queue),
            None => self.timer.clear(),
        }
    }
}
