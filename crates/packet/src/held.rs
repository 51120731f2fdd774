//! Packets that a link keeps because their fate depends on what comes later: those of managed queues, and
//! those that are reordered or aggregated. The link knows them by numbers. Its next event is in the event
//! queue as a timer.

use joulepath_link::{Link, Outcome};
use joulepath_model::units::Nanos;

use crate::event::{EventQueue, LazyTimer, MAX_TIME_NS, Source};
use crate::packet::{CE, Kind, Packet, Stamp};

/// The packets that one link keeps.
pub(crate) struct HeldPackets {
    /// The link.
    pub(crate) link: u32,
    /// By the link's numbers.
    packets: Vec<Packet>,
    pub(crate) timer: LazyTimer,
    /// Number of its event source; it is known once all other sources have numbers.
    pub(crate) source: Source,
}

/// What has become of a packet.
pub(crate) enum Released {
    Arrived(Packet),
    Dropped(Packet),
    Lost(Packet),
}

impl HeldPackets {
    pub(crate) fn new(link: u32) -> Self {
        HeldPackets { link, packets: vec![], timer: LazyTimer::new(), source: 0 }
    }

    /// Keeps the packet to which the link has given `number`.
    pub(crate) fn keep(&mut self, number: u32, packet: Packet) {
        const NOTHING: Packet = Packet::new(Kind::Cross, 0, 0, Stamp::ZERO);
        let at = number as usize;
        if at >= self.packets.len() {
            self.packets.resize(at + 1, NOTHING);
        }
        self.packets[at] = packet;
    }

    /// The next packet whose fate is known at `now_ns`.
    pub(crate) fn release(&mut self, link: &mut Link, now_ns: u64) -> Option<Released> {
        let exit = link.take(Nanos(now_ns))?;
        let mut packet = self.packets[exit.number as usize];
        Some(match exit.outcome {
            Outcome::Delivered { marked, .. } => {
                if marked {
                    packet.flags |= CE;
                }
                Released::Arrived(packet)
            }
            Outcome::QueueDrop => Released::Dropped(packet),
            Outcome::WireLoss | Outcome::Held(_) => Released::Lost(packet),
        })
    }

    /// Sets the timer to when the link has to be asked next.
    pub(crate) fn ask(&mut self, link: &Link, now_ns: u64, queue: &mut EventQueue) {
        match link.due().filter(|due| due.0 <= MAX_TIME_NS) {
            Some(due) => self.timer.set(due.0.max(now_ns), self.source, queue),
            None => self.timer.clear(),
        }
    }
}
