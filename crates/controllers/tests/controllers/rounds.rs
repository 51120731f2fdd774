//! A deterministic path for controllers that own their window: one bottleneck of a fixed rate, a
//! queue, and a loss of every n-th packet.
//!
//! Time advances in rounds. A window of w packets takes max(τ₀, w/rate): packets above the
//! bandwidth-delay product wait in the queue, and packets above the queue's capacity are lost.

use joulepath_controllers::{
    Ack, AckFlags, Area, Capability, Connection, Controller, Event, LossKind, Subflow,
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipe {
    pub(crate) packets_per_s: u64,
    pub(crate) base_us: u64,
    pub(crate) queue_packets: u64,
    /// One packet in this many is lost; 0: none.
    pub(crate) lost_one_of: u64,
}

pub(crate) struct Flow {
    pub(crate) controller: Controller,
    pub(crate) connection: Connection,
    pub(crate) area: Area,
    pub(crate) pipe: Pipe,
    sent: u64,
    pub(crate) delivered: u64,
    /// Losses of packets that left before this number start no new episode.
    recover: u64,
}

impl Pipe {
    pub(crate) fn bdp_packets(&self) -> u64 {
        self.packets_per_s * self.base_us / 1_000_000
    }

    /// Minimum RTT with this window, µs.
    fn rtt_us(&self, window: u64) -> u64 {
        self.base_us.max(window * 1_000_000 / self.packets_per_s)
    }

    /// A flow of `controller` that starts with ten packets; `told` runs before the start.
    pub(crate) fn flow(
        self,
        controller: Controller,
        params: &[(&str, &str)],
        told: impl Fn(Controller, &mut Connection),
    ) -> Flow {
        let mut connection = Connection::new(1);
        for (name, value) in params {
            controller
                .set_param(&mut connection, name, value)
                .expect("a parameter of the controller");
        }
        connection.subflows[0].cwnd = 10;
        connection.subflows[0].flags = Subflow::ESTABLISHED;
        connection.subflows[0].srtt_us = self.base_us as u32;
        controller.init(&mut connection, 0);
        told(controller, &mut connection);
        let area = Area::default();
        let mut flow = Flow {
            controller,
            connection,
            area,
            pipe: self,
            sent: 0,
            delivered: 0,
            recover: 0,
        };
        flow.control(&Event {
            flags: AckFlags::STARTS,
            mss: 1_400,
            ..Event::default()
        });
        flow
    }
}

impl Flow {
    pub(crate) fn control(&mut self, event: &Event) {
        self.controller
            .control(&mut self.connection, 0, event, &mut self.area);
    }

    pub(crate) fn cwnd(&self) -> u64 {
        self.connection.subflows[0].cwnd.into()
    }

    /// Sends one window; returns its RTT, µs.
    pub(crate) fn round(&mut self) -> u64 {
        let pipe = self.pipe;
        let window = self.cwnd();
        let rtt_us = pipe.rtt_us(window.min(pipe.bdp_packets() + pipe.queue_packets));
        let overflows = window.saturating_sub(pipe.bdp_packets() + pipe.queue_packets);
        let (began_us, end) = (self.connection.now_us, self.sent + window);
        let mut lost = 0;
        for n in 0..window {
            self.sent += 1;
            let last = n + 1 == window;
            let by_chance = pipe.lost_one_of > 0 && self.sent.is_multiple_of(pipe.lost_one_of);
            if (by_chance || n >= window - overflows) && !last {
                lost += 1;
                continue;
            }
            self.connection.now_us = began_us + rtt_us * (n + 1) / window;
            self.acknowledge(rtt_us, (window, end), lost, last);
            lost = 0;
        }
        rtt_us
    }

    /// An ACK after `lost` losses, in a round of `window` packets whose last packet is number
    /// `end`.
    fn acknowledge(&mut self, rtt_us: u64, (window, end): (u64, u64), lost: u64, last: bool) {
        self.delivered += 1;
        self.connection.subflows[0].srtt_us = rtt_us as u32;
        let episode = lost > 0 && self.sent > self.recover;
        if episode {
            self.recover = end;
        }
        if !self.controller.has(Capability::OwnsWindow) {
            if episode {
                let ssthresh =
                    self.controller
                        .on_loss(&mut self.connection, 0, LossKind::FastRetransmit);
                let subflow = &mut self.connection.subflows[0];
                (subflow.cwnd, subflow.ssthresh) = (ssthresh, ssthresh);
            }
            // no growth until the packets in flight are acknowledged
            let recovers = self.recover > 0 && self.sent <= self.recover;
            let state = if recovers { Subflow::RECOVERY } else { 0 };
            self.connection.subflows[0].flags = Subflow::ESTABLISHED | state;
            let flags = AckFlags::CWND_LIMITED.with(AckFlags::ROUND_END, last);
            self.controller.on_ack(
                &mut self.connection,
                0,
                Ack {
                    acked: 1,
                    rtt_us: rtt_us as u32,
                    flags,
                },
            );
            return;
        }
        let flags = AckFlags::CWND_LIMITED
            .with(AckFlags::ROUND_END, last)
            .with(AckFlags::EPISODE, episode);
        let total_delivered = self.delivered as u32;
        let event = Event {
            acked: 1,
            rtt_us: rtt_us as u32,
            flags,
            lost: lost as u32,
            prior_in_flight: window as u32,
            in_flight: (end - self.sent) as u32,
            mss: 1_400,
            total_delivered,
            prior_delivered: total_delivered.saturating_sub(window as u32),
            delivered: window as u32,
            interval_us: rtt_us as u32,
            ..Event::default()
        };
        self.control(&event);
    }

    /// Runs for this time; returns the packets delivered per second.
    pub(crate) fn run(&mut self, seconds: u64) -> f64 {
        let (before, until_us) = (self.delivered, self.connection.now_us + seconds * 1_000_000);
        while self.connection.now_us < until_us {
            self.round();
        }
        (self.delivered - before) as f64 / seconds as f64
    }
}

/// The windows of a minute on a path with a queue, where every parameter of a controller that owns
/// its window has an effect.
pub(crate) fn windows(controller: Controller, params: &[(&str, &str)]) -> Vec<u32> {
    let pipe = Pipe {
        packets_per_s: 1_000,
        base_us: 40_000,
        queue_packets: 80,
        lost_one_of: 0,
    };
    let mut flow = pipe.flow(controller, params, |_, _| {});
    let rounds = (0..1_000).map(|_| {
        flow.round();
        flow.cwnd() as u32
    });
    rounds.collect()
}
