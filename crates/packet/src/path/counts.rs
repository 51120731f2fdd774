//! The network's counters.

use joulepath_model::result::Counters;

/// Counts of events and packets. Each event of a link is a packet-hop, so one count serves for
/// both.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    events: u64,
    /// Events that are not packet-hops.
    timer_events: u64,
    /// Packet-hops over channels, whose events are timers.
    channel_hops: u64,
    queue_drops: u64,
    wire_losses: u64,
}

impl Counts {
    /// Counts an event of any kind.
    #[inline(always)]
    pub(crate) fn event(&mut self) {
        self.events += 1;
    }

    /// Marks an event that is already counted as a timer event.
    pub(crate) fn timer(&mut self) {
        self.timer_events += 1;
    }

    pub(crate) fn channel_hops(&mut self, hops: u64) {
        self.channel_hops += hops;
    }

    pub(crate) fn queue_drop(&mut self) {
        self.queue_drops += 1;
    }

    pub(crate) fn wire_losses(&mut self, losses: u64) {
        self.wire_losses += losses;
    }

    /// The number of events.
    #[inline(always)]
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Adds the counts of a part of the network.
    pub(crate) fn add(&mut self, part: &Self) {
        self.events += part.events;
        self.timer_events += part.timer_events;
        self.channel_hops += part.channel_hops;
        self.queue_drops += part.queue_drops;
        self.wire_losses += part.wire_losses;
    }

    /// The counts in the form of a result.
    pub(crate) fn counters(&self) -> Counters {
        Counters {
            packet_hops: self.events - self.timer_events + self.channel_hops,
            events: self.events,
            queue_drops: self.queue_drops,
            wire_losses: self.wire_losses,
        }
    }
}
