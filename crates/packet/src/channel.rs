//! A shared channel with the packets on it: the last hop behind relays.
//!
//! Stations are numbered behind the links, so that a route may end at one. Only the present transmission stands in the event queue.

use std::collections::VecDeque;

use joulepath_link::csma::Channel;
use joulepath_model::network::ChannelSpec;
use joulepath_model::result::ChannelResult;
use joulepath_model::units::Nanos;

use crate::engine::Engine;
use crate::event::{EventQueue, LazyTimer, MAX_TIME_NS, Source};
use crate::network::Network;
use crate::packet::{Kind, Packet};

/// One channel of the network.
pub(crate) struct SharedChannel {
    channel: Channel,
    /// What each station has to send, the oldest first: as the channel's own queues, which know sizes only.
    queues: Vec<VecDeque<Packet>>,
    pub(crate) timer: LazyTimer,
    /// Number of its events; known once everything else is numbered.
    pub(crate) source: Source,
    /// Frames that a station holds.
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

    fn ask(&mut self, queue: &mut EventQueue) {
        match self.channel.next_end().filter(|end| end.0 <= MAX_TIME_NS) {
            Some(end) => self.timer.set(end.0, self.source, queue),
            None => self.timer.clear(),
        }
    }

    /// What a run of `duration_s` reports.
    pub(crate) fn result(&self, name: &str, duration_s: f64) -> ChannelResult {
        let counters = self.channel.counters();
        let ratio = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        ChannelResult {
            name: name.to_owned(),
            transmissions: counters.transmissions,
            collision_ratio: ratio(counters.collided, counters.transmissions),
            delivered: counters.delivered,
            given_up: counters.given_up,
            queue_drops: counters.queue_drops,
            mean_access_s: ratio(counters.access_ns, counters.delivered) / 1e9,
            busy_ratio: if duration_s > 0.0 { counters.busy_ns as f64 / 1e9 / duration_s } else { 0.0 },
        }
    }
}

impl Network {
    /// A further station on a channel: its number among links and stations.
    pub(crate) fn add_station(&mut self, channel: usize) -> usize {
        let shared = &mut self.channels[channel];
        shared.queues.push(VecDeque::new());
        self.stations.push((channel as u32, shared.channel.add_station() as u32));
        self.wires.len() + self.stations.len() - 1
    }

    fn station(&self, link: u32) -> (usize, usize) {
        let (channel, station) = self.stations[link as usize - self.wires.len()];
        (channel as usize, station as usize)
    }

    /// Whether a station takes one more frame.
    pub(crate) fn has_room(&self, link: u32) -> bool {
        let (channel, station) = self.station(link);
        self.channels[channel].queues[station].len() < self.channels[channel].limit
    }

    /// Offers a packet of `size` bytes to a station.
    #[cold]
    pub(crate) fn offer_to_station(&mut self, now_ns: u64, link: u32, packet: Packet, size: u32) {
        let (channel, station) = self.station(link);
        let shared = &mut self.channels[channel];
        if shared.channel.offer(Nanos(now_ns), station, size) {
            shared.queues[station].push_back(packet);
            shared.ask(&mut self.queue);
        } else {
            self.counters.queue_drops += 1;
            self.discard(packet.kind, packet.aux);
        }
    }

    /// The transmission on a channel ends: the packet that has arrived, and those that were given up.
    fn end_transmission(&mut self, channel: usize) -> (Option<Packet>, Vec<Packet>) {
        const WAITS: &str = "a frame of the channel is a packet of its station";
        let shared = &mut self.channels[channel];
        let arrival = shared.channel.end();
        let queues = &mut shared.queues;
        let arrived = arrival.map(|arrival| queues[arrival.station].pop_front().expect(WAITS));
        let lost = shared.channel.given_up().iter();
        let lost = lost.map(|&station| queues[station].pop_front().expect(WAITS)).collect();
        shared.ask(&mut self.queue);
        (arrived, lost)
    }
}

impl Engine {
    /// The transmission on a channel ends.
    #[cold]
    pub(crate) fn channel_event(&mut self, channel: usize) {
        let (arrived, lost) = self.net.end_transmission(channel);
        for packet in lost {
            self.net.counters.wire_losses += 1;
            if packet.kind == Kind::Relayed {
                let (c, i) = self.place(&packet);
                self.lane(c).relay_again(i, packet);
            } else {
                self.net.discard(packet.kind, packet.aux);
            }
        }
        let Some(mut packet) = arrived else { return };
        self.net.counters.packet_hops += 1;
        packet.hop += 1;
        let (c, i) = self.place(&packet);
        match packet.kind {
            Kind::Relayed => self.lane(c).relay_delivered(i),
            Kind::DataAck => self.lane(c).overhear(i, &mut packet),
            _ => {}
        }
        self.dispatch(packet);
    }

    /// Connection and subflow of a packet.
    fn place(&self, packet: &Packet) -> (usize, usize) {
        let subflow = &self.subflows[packet.subflow as usize];
        (subflow.connection as usize, subflow.local as usize)
    }
}
