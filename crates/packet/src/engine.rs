//! The main loop: takes the earliest event and hands it to who it is for.
//!
//! ```text
//!   event queue ──► link head ──► dispatch ──► receive_data ──► ACK ──► receive_ack ──► push ──► links
//!              └──► timer     ──► RTO, delayed ACK, application, control plane, cross traffic, samples
//! ```

use joulepath_model::energy::Traffic;
use joulepath_model::scenario::{Direction, Transport};
use joulepath_model::units::Nanos;

use crate::connection::Connection;
use crate::cross::CrossSource;
use crate::event::Source;
use crate::measure::Recorder;
use crate::network::Network;
use crate::packet::{Kind, Packet};
use crate::subflow::{Phase, Subflow};

/// Sizes on the wire, bytes.
#[derive(Clone, Copy)]
pub(crate) struct WireSizes {
    /// Headers of a data segment.
    pub(crate) header: u32,
    /// A segment without payload.
    pub(crate) ack: u32,
}

/// Event sources in the order of their numbers: links, two timers per subflow, two per connection, cross traffic, marks.
#[derive(Clone, Copy)]
pub(crate) struct Sources {
    subflows: Source,
    connections: Source,
    cross: Source,
    marks: Source,
}

const TIMERS: u32 = 2;

/// Who a timer event is for.
enum Timer {
    Rto(usize),
    DelayedAck(usize),
    Application(usize),
    Control(usize),
    Cross(usize),
    WarmUp,
    Sample,
}

impl Sources {
    pub(crate) fn new(links: usize, subflows: usize, connections: usize, cross: usize) -> Self {
        let subflows_at = links as u32;
        let connections_at = subflows_at + TIMERS * subflows as u32;
        let cross_at = connections_at + TIMERS * connections as u32;
        Sources {
            subflows: subflows_at,
            connections: connections_at,
            cross: cross_at,
            marks: cross_at + cross as u32,
        }
    }

    /// How many numbers are in use.
    pub(crate) fn count(self) -> usize {
        self.marks as usize + 2
    }

    #[inline]
    pub(crate) fn rto(self, subflow: usize) -> Source {
        self.subflows + TIMERS * subflow as u32
    }

    #[inline]
    pub(crate) fn delayed_ack(self, subflow: usize) -> Source {
        self.rto(subflow) + 1
    }

    pub(crate) fn application(self, connection: usize) -> Source {
        self.connections + TIMERS * connection as u32
    }

    pub(crate) fn control(self, connection: usize) -> Source {
        self.application(connection) + 1
    }

    pub(crate) fn cross(self, index: usize) -> Source {
        self.cross + index as u32
    }

    pub(crate) fn warm_up(self) -> Source {
        self.marks
    }

    pub(crate) fn sample(self) -> Source {
        self.marks + 1
    }

    fn timer(self, source: Source) -> Timer {
        let pair = |base: Source| ((source - base) / TIMERS) as usize;
        let second = |base: Source| (source - base) % TIMERS == 1;
        if source >= self.marks {
            if source == self.marks { Timer::WarmUp } else { Timer::Sample }
        } else if source >= self.cross {
            Timer::Cross((source - self.cross) as usize)
        } else if source >= self.connections {
            let connection = pair(self.connections);
            if second(self.connections) { Timer::Control(connection) } else { Timer::Application(connection) }
        } else {
            let subflow = pair(self.subflows);
            if second(self.subflows) { Timer::DelayedAck(subflow) } else { Timer::Rto(subflow) }
        }
    }
}

/// A run in progress.
pub(crate) struct Engine {
    pub(crate) now_ns: u64,
    /// Nothing happens after this instant.
    pub(crate) end_ns: u64,
    pub(crate) net: Network,
    pub(crate) subflows: Vec<Subflow>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) cross: Vec<CrossSource>,
    pub(crate) sources: Sources,
    pub(crate) transport: Transport,
    pub(crate) sizes: WireSizes,
    pub(crate) recorder: Recorder,
    /// Connections under test that are not done. The run ends when there are none.
    pub(crate) unfinished: usize,
}

impl Engine {
    /// Runs to the end.
    pub(crate) fn run(&mut self) {
        let first_timer = self.sources.subflows;
        while let Some((time_ns, source)) = self.net.queue.peek() {
            if time_ns > self.end_ns {
                break;
            }
            self.now_ns = time_ns;
            self.net.counters.events += 1;
            if source < first_timer {
                let packet = self.net.arrive(source);
                self.dispatch(packet);
            } else {
                self.net.queue.pop();
                self.expire(source);
            }
            if self.unfinished == 0 {
                self.end_ns = self.now_ns;
                break;
            }
        }
        self.now_ns = self.end_ns;
    }

    #[inline]
    fn dispatch(&mut self, packet: Packet) {
        if packet.kind == Kind::Cross {
            return;
        }
        let subflow = &self.subflows[packet.subflow as usize];
        let data_way = self.travels_with_data(&packet, subflow);
        let route = if data_way { subflow.data_route } else { subflow.ack_route };
        if !route.is_complete(packet.hop) {
            let size = self.wire_size(&packet);
            let link = self.net.link_at(route, packet.hop);
            self.wake_radio(packet.subflow as usize, link);
            self.net.offer(self.now_ns, link, packet, size);
            return;
        }
        match packet.kind {
            Kind::Data => self.receive_data(packet),
            Kind::Ack => self.receive_ack(packet),
            _ => self.receive_control(packet),
        }
    }

    /// Whether a packet takes the route of the data. Handshakes and requests are sent by the device or the server.
    #[inline]
    fn travels_with_data(&self, packet: &Packet, subflow: &Subflow) -> bool {
        match packet.kind {
            Kind::Data => true,
            Kind::Ack | Kind::Request | Kind::Cross => false,
            Kind::Syn | Kind::Third => !self.downloads(subflow),
            Kind::SynAck | Kind::Fourth => self.downloads(subflow),
        }
    }

    pub(crate) fn downloads(&self, subflow: &Subflow) -> bool {
        self.connections[subflow.connection as usize].direction == Direction::Download
    }

    #[inline]
    pub(crate) fn wire_size(&self, packet: &Packet) -> u32 {
        if packet.kind == Kind::Data { packet.aux + self.sizes.header } else { self.sizes.ack }
    }

    /// A packet is about to enter `link`: if that is the device's radio and the radio sleeps, the link waits for it.
    #[inline]
    pub(crate) fn wake_radio(&mut self, s: usize, link: u32) {
        let subflow = &self.subflows[s];
        if subflow.radio_sleeps && (link == subflow.radio.0 || link == subflow.radio.1) {
            self.promote(s, link);
        }
    }

    #[cold]
    fn promote(&mut self, s: usize, link: u32) {
        let subflow = &self.subflows[s];
        let interface = subflow.interface as usize;
        if let Some(device) = &mut self.connections[subflow.connection as usize].device {
            let ready = device.meter.wake(interface, Nanos(self.now_ns));
            if ready.0 > self.now_ns {
                self.net.wires[link as usize].link.hold_until(ready);
            }
        }
    }

    /// A packet passes the device's interface.
    #[inline]
    pub(crate) fn meter(&mut self, s: usize, bytes: u32, traffic: Traffic) {
        let subflow = &self.subflows[s];
        if let Some(device) = &mut self.connections[subflow.connection as usize].device {
            let now = Nanos(self.now_ns);
            device.meter.on_packet(subflow.interface as usize, now, bytes, traffic);
        }
    }

    fn expire(&mut self, source: Source) {
        let now_ns = self.now_ns;
        match self.sources.timer(source) {
            Timer::Rto(s) => {
                if self.subflows[s].rto.fires(now_ns, source, &mut self.net.queue) {
                    self.retransmission_timer(s);
                }
            }
            Timer::DelayedAck(s) => {
                if self.subflows[s].delayed_ack.fires(now_ns, source, &mut self.net.queue) {
                    self.send_pending_ack(s);
                }
            }
            Timer::Application(c) => {
                if self.connections[c].application_timer.fires(now_ns, source, &mut self.net.queue) {
                    self.wake_application(c);
                }
            }
            Timer::Control(c) => {
                if self.connections[c].control_timer.fires(now_ns, source, &mut self.net.queue) {
                    self.control_tick(c);
                }
            }
            Timer::Cross(i) => self.send_cross(i),
            Timer::WarmUp => self.begin_measurement(),
            Timer::Sample => self.sample(),
        }
    }

    /// The timer of a subflow: it opens, repeats its handshake, or retransmits.
    fn retransmission_timer(&mut self, s: usize) {
        match self.subflows[s].phase {
            Phase::Closed => self.open(s),
            Phase::SynSent | Phase::Confirming => self.repeat_handshake(s),
            Phase::Established => self.on_timeout(s),
            Phase::Dead => {}
        }
    }
}
