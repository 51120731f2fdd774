//! A path with a rate, a delay and a queue, for controllers that own their window. It reports the
//! events that a kernel would report, without retransmissions.

use std::collections::VecDeque;

use joulepath_controllers::{AckFlags, Area, Connection, Controller, Event, Subflow};

/// Payload of a packet, bytes.
pub(crate) const MSS: u32 = 1_000;

/// A path and the sender on it. Instants in µs.
pub(crate) struct Pipe {
    controller: Controller,
    pub(crate) connection: Connection,
    area: Area,
    /// Transmission time of a packet, µs.
    packet_us: u64,
    /// RTT without a queue, µs.
    rtt_us: u64,
    /// Capacity of the queue, packets.
    queue: u64,
    /// One packet in this many is lost at random; 0: none.
    lose_every: u64,
    /// (from, queue): from this instant on, other flows keep a queue of this length, both µs.
    others: (u64, u64),
    /// State of the random number generator.
    seed: u64,
    sent: u64,
    release_us: u64,
    free_us: u64,
    in_flight: VecDeque<Packet>,
    lost: u32,
    delivered: u32,
    delivered_us: u64,
    /// Sum of the RTTs of the packets delivered so far, µs.
    pub(crate) rtt_sum_us: u64,
    pub(crate) lost_total: u32,
    recover: u64,
}

struct Packet {
    number: u64,
    sent_us: u64,
    arrives_us: u64,
    delivered: u32,
    delivered_us: u64,
}

impl Pipe {
    /// A path of `rate` packets/s with an initial window of 10 packets.
    pub(crate) fn new(controller: Controller, rate: u64, rtt_us: u64, queue: u64) -> Self {
        let mut connection = Connection::new(1);
        let flags = Subflow::ESTABLISHED;
        connection.subflows[0] = Subflow {
            cwnd: 10,
            srtt_us: rtt_us as u32,
            flags,
            ..Subflow::default()
        };
        controller.init(&mut connection, 0);
        Pipe {
            controller,
            connection,
            area: Area::default(),
            packet_us: 1_000_000 / rate,
            rtt_us,
            queue,
            lose_every: 0,
            others: (u64::MAX, 0),
            seed: 1,
            sent: 0,
            release_us: 0,
            free_us: 0,
            in_flight: VecDeque::new(),
            lost: 0,
            delivered: 0,
            delivered_us: 0,
            rtt_sum_us: 0,
            lost_total: 0,
            recover: 0,
        }
    }

    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.controller
            .set_param(&mut self.connection, name, value)
            .unwrap();
        self
    }

    pub(crate) fn losing(mut self, every: u64) -> Self {
        self.lose_every = every;
        self
    }

    pub(crate) fn with_others(mut self, from_us: u64, queue_us: u64) -> Self {
        self.others = (from_us, queue_us);
        self
    }

    pub(crate) fn delivered(&self) -> u32 {
        self.delivered
    }

    pub(crate) fn pacing_bytes_per_s(&self) -> u64 {
        self.controller
            .pacing_rate_bytes_per_s(&self.connection, 0)
            .unwrap_or(0)
    }

    /// Packets waiting at the link.
    pub(crate) fn waiting(&self) -> u64 {
        self.free_us.saturating_sub(self.connection.now_us) / self.packet_us
    }

    fn tell(&mut self, event: &Event) {
        self.controller
            .control(&mut self.connection, 0, event, &mut self.area);
    }

    /// Runs until `until_us`; calls `look` after each ACK.
    pub(crate) fn run(&mut self, until_us: u64, mut look: impl FnMut(&Self)) {
        if self.sent == 0 {
            self.tell(&Event {
                flags: AckFlags::STARTS,
                mss: MSS,
                ..Event::default()
            });
        }
        while self.connection.now_us < until_us {
            let room = (self.in_flight.len() as u32) < self.connection.subflows[0].cwnd;
            let departs_us = if room {
                self.release_us.max(self.connection.now_us)
            } else {
                u64::MAX
            };
            let arrives_us = self
                .in_flight
                .front()
                .map_or(u64::MAX, |packet| packet.arrives_us);
            if departs_us <= arrives_us {
                self.connection.now_us = departs_us;
                self.send();
            } else {
                self.connection.now_us = arrives_us;
                self.acknowledge();
                look(self);
            }
        }
    }

    fn send(&mut self) {
        let now_us = self.connection.now_us;
        let rate = self.pacing_bytes_per_s();
        let gap_us = (u64::from(MSS) * 1_000_000).checked_div(rate).unwrap_or(0);
        self.release_us = self.release_us.max(now_us) + gap_us;
        self.sent += 1;
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let lost = self.lose_every > 0 && (self.seed >> 33).is_multiple_of(self.lose_every);
        if lost || self.waiting() >= self.queue {
            self.lost += 1;
            self.lost_total += 1;
            return;
        }
        if self.in_flight.is_empty() {
            self.delivered_us = now_us;
        }
        self.free_us = self.free_us.max(now_us) + self.packet_us;
        let others_us = if now_us >= self.others.0 {
            self.others.1
        } else {
            0
        };
        self.in_flight.push_back(Packet {
            number: self.sent,
            sent_us: now_us,
            arrives_us: self.free_us + self.rtt_us + others_us,
            delivered: self.delivered,
            delivered_us: self.delivered_us,
        });
    }

    fn acknowledge(&mut self) {
        let packet = self
            .in_flight
            .pop_front()
            .expect("an ACK is of a packet in flight");
        let now_us = self.connection.now_us;
        let lost = std::mem::take(&mut self.lost);
        let subflow = &mut self.connection.subflows[0];
        let mut flags = AckFlags::CWND_LIMITED;
        if packet.number >= self.recover {
            subflow.flags = Subflow::ESTABLISHED;
        }
        if lost > 0 && subflow.flags == Subflow::ESTABLISHED {
            subflow.flags |= Subflow::RECOVERY;
            self.recover = self.sent;
            flags = flags | AckFlags::EPISODE;
        }
        let rtt_us = now_us - packet.sent_us;
        subflow.srtt_us = ((7 * u64::from(subflow.srtt_us) + rtt_us) / 8) as u32;
        self.rtt_sum_us += rtt_us;
        self.delivered += 1;
        let in_flight = self.in_flight.len() as u32;
        self.tell(&Event {
            acked: 1,
            rtt_us: rtt_us as u32,
            flags,
            lost,
            marked: 0,
            prior_in_flight: in_flight + 1 + lost,
            in_flight,
            mss: MSS,
            total_delivered: self.delivered,
            prior_delivered: packet.delivered,
            delivered: self.delivered - packet.delivered,
            interval_us: (now_us - packet.delivered_us) as u32,
        });
        self.delivered_us = now_us;
    }
}
