//! A shared channel with the packets that wait for it: the last hop after relays. Only the end of
//! the present transmission is in the event queue.

use std::collections::VecDeque;

use joulepath_link::csma::Channel;
use joulepath_model::network::ChannelSpec;
use joulepath_model::result::ChannelResult;
use joulepath_model::units::Nanos;

use crate::event::{EventQueue, LazyTimer, MAX_TIME_NS, Source};
use crate::path::packet::Packet;

/// One channel of the network.
pub(crate) struct SharedChannel {
    channel: Channel,
    /// The packets that each station has to send, oldest first. The channel's own queues have the
    /// same order but hold only sizes.
    queues: Vec<VecDeque<Packet>>,
    pub(crate) timer: LazyTimer,
    /// Number of its event source, set after all other sources have numbers.
    pub(crate) source: Source,
    /// Most frames that a station's queue holds.
    limit: usize,
}

impl SharedChannel {
    /// A channel without stations.
    pub(crate) fn new(spec: &ChannelSpec, seed: u64, index: u64) -> Self {
        SharedChannel {
            channel: Channel::new(spec, 0, seed, index),
            queues: vec![],
            timer: LazyTimer::new(),
            source: 0,
            limit: spec.queue as usize,
        }
    }

    /// Adds a station; returns its number on this channel.
    pub(crate) fn add_station(&mut self) -> usize {
        self.queues.push(VecDeque::new());
        self.channel.add_station()
    }

    /// Whether the station's queue has room for one more frame.
    pub(crate) fn has_room(&self, station: usize) -> bool {
        self.queues[station].len() < self.limit
    }

    /// Offers a packet of `size` bytes to a station. Returns whether there was room.
    pub(crate) fn offer(
        &mut self,
        now_ns: u64,
        station: usize,
        packet: Packet,
        size: u32,
        queue: &mut EventQueue,
    ) -> bool {
        let accepted = self.channel.offer(Nanos(now_ns), station, size);
        if accepted {
            self.queues[station].push_back(packet);
            self.ask(queue);
        }
        accepted
    }

    /// Ends the present transmission. Returns the packet that arrived and the packets whose retries
    /// ran out.
    pub(crate) fn end_transmission(
        &mut self,
        queue: &mut EventQueue,
    ) -> (Option<Packet>, Vec<Packet>) {
        const WAITS: &str = "every frame is a packet in its station's queue";
        let arrival = self.channel.end();
        let queues = &mut self.queues;
        let arrived = arrival.map(|arrival| queues[arrival.station].pop_front().expect(WAITS));
        let lost = self.channel.given_up().iter();
        let lost = lost
            .map(|&station| queues[station].pop_front().expect(WAITS))
            .collect();
        self.ask(queue);
        (arrived, lost)
    }

    /// Sets the timer to the end of the present or the next transmission.
    fn ask(&mut self, queue: &mut EventQueue) {
        match self.channel.next_end().filter(|end| end.0 <= MAX_TIME_NS) {
            Some(end) => self.timer.set(end.0, self.source, queue),
            None => self.timer.clear(),
        }
    }

    /// The channel's counters after a run of `duration_s`.
    pub(crate) fn result(&self, name: &str, duration_s: f64) -> ChannelResult {
        let counters = self.channel.counters();
        let ratio = |part: u64, whole: u64| {
            if whole == 0 {
                0.0
            } else {
                part as f64 / whole as f64
            }
        };
        ChannelResult {
            name: name.to_owned(),
            transmissions: counters.transmissions,
            collision_ratio: ratio(counters.collided, counters.transmissions),
            delivered: counters.delivered,
            given_up: counters.given_up,
            queue_drops: counters.queue_drops,
            mean_access_s: ratio(counters.access_ns, counters.delivered) / 1e9,
            busy_ratio: if duration_s > 0.0 {
                counters.busy_ns as f64 / 1e9 / duration_s
            } else {
                0.0
            },
        }
    }
}
