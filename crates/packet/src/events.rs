//! What is not the transport: applications, cross traffic, the end of the warm-up.

use joulepath_model::units::Nanos;

use crate::application::Next;
use crate::engine::Engine;
use crate::lane::Lane;
use crate::packet::{Kind, Packet, Tick};

impl Lane<'_> {
    /// Does what the application wants.
    pub(crate) fn follow(&mut self, next: Next) {
        let source = self.common.sources.application(self.index);
        match next {
            Next::Nothing => {}
            Next::At(at_ns) => self.connection.application_timer.set(at_ns, source, &mut self.net.queue),
            Next::Ask { number, retry_ns } => {
                self.connection.application_timer.set(retry_ns, source, &mut self.net.queue);
                if let Some(i) = self.fastest_subflow() {
                    self.send_control(i, Kind::Request, Tick::at(self.now_ns), number);
                }
            }
            Next::Done => self.finish(),
        }
    }

    pub(crate) fn wake_application(&mut self) {
        if self.connection.done {
            return;
        }
        let next = self.connection.application.wake(self.now_ns);
        self.follow(next);
        self.push();
    }

    /// The established subflow with the least smoothed RTT.
    fn fastest_subflow(&self) -> Option<usize> {
        let views = &self.connection.views;
        (0..self.subflows.len()).filter(|&i| views[i].established).min_by_key(|&i| views[i].srtt_us)
    }

    /// Everything has arrived: the connection closes. The exchange of FINs is not modelled.
    fn finish(&mut self) {
        self.connection.done = true;
        self.connection.control_timer.clear();
        self.connection.look_timer.clear();
        self.connection.slot_timer.clear();
        self.connection.data_timer.clear();
        for i in 0..self.subflows.len() {
            self.close(i);
        }
        if let Some(device) = &mut self.connection.device {
            device.finished_ns = Some(self.now_ns);
            device.reception.bring_up(self.now_ns);
            *self.unfinished -= 1;
        }
    }
}

impl Engine {
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
                epoch: 0,
            };
            let link = source.link() as u32;
            self.net.offer(self.now_ns, link, packet, size);
        }
        if let Some(at_ns) = self.cross[i].next_ns() {
            self.net.queue.push(at_ns, self.common.sources.cross(i));
        }
    }

    /// The warm-up is over: statistics start from here.
    pub(crate) fn begin_measurement(&mut self) {
        self.settle();
        if let Some(fabric) = &mut self.fabric {
            fabric.begin_measurement(Nanos(self.now_ns), &self.net);
        }
        for subflow in &mut self.subflows {
            subflow.before = subflow.stats;
        }
        for connection in &mut self.connections {
            connection.before_bytes = connection.receiver.delivered_bytes;
            if let Some(device) = &mut connection.device {
                device.meter.begin_measurement(Nanos(self.now_ns));
                device.reception.begin_measurement(self.now_ns);
            }
        }
    }
}
