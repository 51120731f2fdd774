//! Events that belong to no connection: cross traffic, the end of the warm-up, samples of queues.

use joulepath_model::units::Nanos;

use crate::connection::device::Device;
use crate::path::fabric;
use crate::path::packet::{Kind, Packet, Stamp};
use crate::run::engine::Engine;

impl Engine {
    pub(crate) fn send_cross(&mut self, i: usize) {
        let source = &mut self.cross[i];
        if let Some(size) = source.emit(self.now_ns) {
            let sent = Stamp::at(self.now_ns);
            let mut packet = Packet::new(Kind::Cross, i as u32, 0, sent).with_aux(size);
            let hop = self.net.hop_over(source.link());
            self.net.offer(self.now_ns, hop, &mut packet, size);
        }
        if let Some(at_ns) = self.cross[i].next_ns() {
            self.net.queue.push(at_ns, self.config.sources.cross(i));
        }
    }

    /// Ends the warm-up: resets the statistics.
    pub(crate) fn begin_measurement(&mut self) {
        self.settle();
        let now = Nanos(self.now_ns);
        self.net.tallies.begin_measurement();
        if let Some(fabric) = &mut self.fabric {
            fabric.begin_measurement(now, &self.net);
        }
        // A connection that is complete keeps the statistics of its life.
        let is_over =
            |device: &Option<Device>| device.as_ref().is_some_and(|one| one.finished_ns.is_some());
        let over: Vec<bool> = self.devices.iter().map(is_over).collect();
        for (sender, receiver) in self.senders.iter_mut().zip(&mut self.receivers) {
            if !over[receiver.id.connection as usize] {
                sender.before = sender.stats;
                sender.measured_from = self.connections[receiver.id.connection as usize]
                    .sender
                    .data
                    .next();
                receiver.before_bytes = receiver.first_copy_bytes;
            }
        }
        for (connection, _) in self
            .connections
            .iter_mut()
            .zip(&over)
            .filter(|(_, over)| !**over)
        {
            let receiver = &mut connection.receiver;
            receiver.before_bytes = receiver.data.delivered_bytes;
            if let Some(reception) = &mut receiver.reception {
                reception.begin_measurement(self.now_ns);
            }
        }
        for device in self
            .devices
            .iter_mut()
            .flatten()
            .filter(|device| device.finished_ns.is_none())
        {
            device.meter.begin_measurement(now);
        }
    }

    /// Brings links, window integrals and meters up to date.
    pub(crate) fn settle(&mut self) {
        self.net.release_all(self.now_ns);
        for c in 0..self.connections.len() {
            let mut endpoints = self.endpoints(c);
            endpoints.cx.catch_up();
            for i in 0..endpoints.senders.len() {
                endpoints.integrate_cwnd(i);
            }
        }
    }

    /// Samples the queues of all links and schedules the next sample.
    pub(crate) fn look_at_queues(&mut self) {
        self.net.look_at_queues(Nanos(self.now_ns));
        if let Some(at_ns) = self.net.tallies.next_ns() {
            self.net.queue.push(at_ns, self.config.sources.queues());
        }
    }

    /// Samples the queues of the switches and schedules the next sample.
    pub(crate) fn look_at_fabric(&mut self) {
        if let Some(fabric) = &mut self.fabric {
            fabric.look(Nanos(self.now_ns), &self.net);
            self.net
                .queue
                .push(self.now_ns + fabric::TICK.0, self.config.sources.fabric());
        }
    }
}
