//! What is not the transport: applications, cross traffic, the end of the warm-up.

use joulepath_model::units::Nanos;

use crate::application::Next;
use crate::engine::Engine;
use crate::packet::{Kind, Packet, Tick};
use crate::subflow::Phase;

impl Engine {
    /// Does what the application of connection `c` wants.
    pub(crate) fn follow(&mut self, c: usize, next: Next) {
        let source = self.sources.application(c);
        match next {
            Next::Nothing => {}
            Next::At(at_ns) => self.connections[c].application_timer.set(at_ns, source, &mut self.net.queue),
            Next::Ask { number, retry_ns } => {
                self.connections[c].application_timer.set(retry_ns, source, &mut self.net.queue);
                if let Some(s) = self.fastest_subflow(c) {
                    self.send_control(s, Kind::Request, Tick::at(self.now_ns), number);
                }
            }
            Next::Done => self.finish(c),
        }
    }

    pub(crate) fn wake_application(&mut self, c: usize) {
        if self.connections[c].done {
            return;
        }
        let next = self.connections[c].application.wake(self.now_ns);
        self.follow(c, next);
        self.push(c);
    }

    /// The established subflow with the least smoothed RTT.
    fn fastest_subflow(&self, c: usize) -> Option<usize> {
        let connection = &self.connections[c];
        (0..connection.n)
            .filter(|&local| connection.views[local].established)
            .min_by_key(|&local| connection.views[local].srtt_us)
            .map(|local| connection.subflow(local))
    }

    /// Everything has arrived: the connection closes. The exchange of FINs is not modelled.
    fn finish(&mut self, c: usize) {
        let connection = &mut self.connections[c];
        connection.done = true;
        connection.control_timer.clear();
        let subflows = connection.first as usize..connection.first as usize + connection.n;
        if let Some(device) = &mut connection.device {
            device.finished_ns = Some(self.now_ns);
            self.unfinished -= 1;
        }
        for s in subflows {
            self.integrate_cwnd(s);
            let subflow = &mut self.subflows[s];
            let was_open = !matches!(subflow.phase, Phase::Closed | Phase::Dead);
            subflow.phase = Phase::Dead;
            subflow.rto.clear();
            subflow.delayed_ack.clear();
            let (local, interface) = (subflow.local as usize, subflow.interface as usize);
            self.connections[c].views[local].established = false;
            if let Some(device) = self.connections[c].device.as_mut().filter(|_| was_open) {
                device.meter.close(interface, Nanos(self.now_ns));
            }
        }
    }

    pub(crate) fn send_cross(&mut self, i: usize) {
        let source = &mut self.cross[i];
        if let Some(size) = source.emit(self.now_ns) {
            let packet = Packet {
                arrival_ns: 0,
                sent: Tick::at(self.now_ns),
                subflow: i as u32,
                ssn: 0,
                dsn: 0,
                aux: size,
                kind: Kind::Cross,
                flags: 0,
                hop: 0,
            };
            let link = source.link();
            self.net.offer(self.now_ns, link, packet, size);
        }
        if let Some(at_ns) = self.cross[i].next_ns() {
            self.net.queue.push(at_ns, self.sources.cross(i));
        }
    }

    /// The warm-up is over: statistics start from here.
    pub(crate) fn begin_measurement(&mut self) {
        for s in 0..self.subflows.len() {
            self.integrate_cwnd(s);
            self.subflows[s].before = self.subflows[s].stats;
        }
        for connection in &mut self.connections {
            connection.before_bytes = connection.receiver.delivered_bytes;
            if let Some(device) = &mut connection.device {
                device.meter.begin_measurement(Nanos(self.now_ns));
            }
        }
    }
}
