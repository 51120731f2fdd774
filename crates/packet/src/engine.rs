//! The main loop: takes the earliest event and hands it to who it is for.
//!
//! ```text
//!   event queue ──► link head ──► dispatch ──► receive_data ──► ACK ──► receive_ack ──► push ──► links
//!              └──► timer     ──► RTO, delayed ACK, application, control plane, cross traffic, samples
//! ```

use joulepath_link::cross::CrossSource;

use crate::connection::Connection;
use crate::event::Source;
use crate::fabric::Fabric;
use crate::lane::{Common, Lane};
use crate::measure::Recorder;
use crate::network::{Network, Route};
use crate::packet::{Kind, Packet};
use crate::subflow::Subflow;

/// Sizes on the wire, bytes.
#[derive(Clone, Copy)]
pub(crate) struct WireSizes {
    /// Headers of a data segment.
    pub(crate) header: u32,
    /// A segment without payload.
    pub(crate) ack: u32,
}

/// Event sources in the order of their numbers: links, two timers per subflow, five per connection, cross traffic, channels, marks.
#[derive(Clone, Copy)]
pub(crate) struct Sources {
    subflows: Source,
    connections: Source,
    cross: Source,
    channels: Source,
    marks: Source,
}

/// Timers of a subflow.
const SUBFLOW_TIMERS: u32 = 2;
/// Timers of a connection.
const CONNECTION_TIMERS: u32 = 5;

/// Who a timer event is for.
enum Timer {
    Rto(usize),
    DelayedAck(usize),
    Application(usize),
    Control(usize),
    Look(usize),
    Slot(usize),
    Data(usize),
    Cross(usize),
    Channel(usize),
    WarmUp,
    Sample,
    Fabric,
}

impl Sources {
    pub(crate) fn new(
        links: usize,
        subflows: usize,
        connections: usize,
        cross: usize,
        channels: usize,
    ) -> Self {
        let subflows_at = links as u32;
        let connections_at = subflows_at + SUBFLOW_TIMERS * subflows as u32;
        let cross_at = connections_at + CONNECTION_TIMERS * connections as u32;
        Sources {
            subflows: subflows_at,
            connections: connections_at,
            cross: cross_at,
            channels: cross_at + cross as u32,
            marks: cross_at + (cross + channels) as u32,
        }
    }

    /// How many numbers are in use.
    pub(crate) fn count(self) -> usize {
        self.marks as usize + 3
    }

    #[inline]
    pub(crate) fn rto(self, subflow: usize) -> Source {
        self.subflows + SUBFLOW_TIMERS * subflow as u32
    }

    #[inline]
    pub(crate) fn delayed_ack(self, subflow: usize) -> Source {
        self.rto(subflow) + 1
    }

    pub(crate) fn application(self, connection: usize) -> Source {
        self.connections + CONNECTION_TIMERS * connection as u32
    }

    pub(crate) fn control(self, connection: usize) -> Source {
        self.application(connection) + 1
    }

    /// The selector of a connection.
    pub(crate) fn look(self, connection: usize) -> Source {
        self.application(connection) + 2
    }

    /// The retransmission timer of a connection's data level.
    pub(crate) fn data(self, connection: usize) -> Source {
        self.application(connection) + 4
    }

    /// The slots of a connection's allocator.
    pub(crate) fn slot(self, connection: usize) -> Source {
        self.application(connection) + 3
    }

    pub(crate) fn cross(self, index: usize) -> Source {
        self.cross + index as u32
    }

    pub(crate) fn channel(self, index: usize) -> Source {
        self.channels + index as u32
    }

    pub(crate) fn warm_up(self) -> Source {
        self.marks
    }

    pub(crate) fn sample(self) -> Source {
        self.marks + 1
    }

    /// A look at the switches of a topology.
    pub(crate) fn fabric(self) -> Source {
        self.marks + 2
    }

    fn timer(self, source: Source) -> Timer {
        if source >= self.marks {
            match source - self.marks {
                0 => Timer::WarmUp,
                1 => Timer::Sample,
                _ => Timer::Fabric,
            }
        } else if source >= self.channels {
            Timer::Channel((source - self.channels) as usize)
        } else if source >= self.cross {
            Timer::Cross((source - self.cross) as usize)
        } else if source >= self.connections {
            let offset = source - self.connections;
            let connection = (offset / CONNECTION_TIMERS) as usize;
            match offset % CONNECTION_TIMERS {
                0 => Timer::Application(connection),
                1 => Timer::Control(connection),
                2 => Timer::Look(connection),
                3 => Timer::Slot(connection),
                _ => Timer::Data(connection),
            }
        } else {
            let offset = source - self.subflows;
            let subflow = (offset / SUBFLOW_TIMERS) as usize;
            if offset % SUBFLOW_TIMERS == 1 { Timer::DelayedAck(subflow) } else { Timer::Rto(subflow) }
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
    pub(crate) common: Common,
    pub(crate) recorder: Recorder,
    /// The switches of a topology.
    pub(crate) fabric: Option<Fabric>,
    /// Connections under test that are not done. The run ends when there are none.
    pub(crate) unfinished: usize,
}

impl Engine {
    /// Runs to the end.
    pub(crate) fn run(&mut self) {
        let first_timer = self.common.sources.subflows;
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

    /// Connection `c` with all that its events touch.
    #[inline]
    pub(crate) fn lane(&mut self, c: usize) -> Lane<'_> {
        let connection = &mut self.connections[c];
        let first = connection.first as usize;
        let subflows = &mut self.subflows[first..first + connection.n];
        Lane {
            now_ns: self.now_ns,
            common: &self.common,
            net: &mut self.net,
            connection,
            subflows,
            index: c,
            unfinished: &mut self.unfinished,
        }
    }

    #[inline]
    pub(crate) fn dispatch(&mut self, packet: Packet) {
        if packet.kind == Kind::Cross {
            return;
        }
        let s = packet.subflow;
        let route = match packet.kind {
            Kind::Data => self.net.way(s, true),
            Kind::Ack => self.net.way(s, false),
            kind => self.route_of(kind, s),
        };
        if !route.is_complete(packet.hop) {
            let size = self.wire_size(&packet);
            let link = self.net.link_at(route, packet.hop);
            if self.net.wires.get(link as usize).is_some_and(|wire| wire.by_radio) {
                self.rouse_radio(s, link);
            }
            self.net.offer(self.now_ns, link, packet, size);
            return;
        }
        let subflow = &self.subflows[s as usize];
        let (c, i) = (subflow.connection as usize, subflow.local as usize);
        if packet.epoch != subflow.epoch {
            return self.discard(c, i, packet);
        }
        match packet.kind {
            Kind::Data => self.lane(c).receive_data(i, packet),
            Kind::Ack => self.lane(c).receive_ack(i, packet),
            Kind::Relayed | Kind::RelayAck | Kind::DataAck => self.lane(c).receive_of_relay(i, packet),
            _ => self.lane(c).receive_control(i, packet),
        }
    }

    #[cold]
    fn route_of(&self, kind: Kind, s: u32) -> Route {
        let subflow = &self.subflows[s as usize];
        self.connections[subflow.connection as usize].route_of(kind, subflow)
    }

    /// A packet on its way enters a link that may be next to the subflow's radio.
    #[inline]
    fn rouse_radio(&mut self, s: u32, link: u32) {
        let subflow = &self.subflows[s as usize];
        if self.now_ns >= subflow.awake_until_ns {
            let (c, i) = (subflow.connection as usize, subflow.local as usize);
            self.lane(c).wake_radio(i, link);
        }
    }

    /// A packet of a subflow that has been closed meanwhile. What a relay passes on belongs to the connection.
    #[cold]
    fn discard(&mut self, c: usize, i: usize, packet: Packet) {
        match packet.kind {
            Kind::Relayed => self.lane(c).receive_relayed(i, &packet),
            Kind::DataAck => self.lane(c).receive_data_ack(packet.dsn),
            kind => self.net.discard(kind, packet.aux),
        }
    }

    #[inline]
    fn wire_size(&self, packet: &Packet) -> u32 {
        let sizes = &self.common.sizes;
        if packet.kind == Kind::Data { packet.aux + sizes.header } else { sizes.ack }
    }

    #[cold]
    fn expire(&mut self, source: Source) {
        let now_ns = self.now_ns;
        let queue = &mut self.net.queue;
        match self.common.sources.timer(source) {
            Timer::Rto(s) => {
                let subflow = &mut self.subflows[s];
                let (c, i) = (subflow.connection as usize, subflow.local as usize);
                if subflow.rto.fires(now_ns, source, queue) {
                    self.lane(c).retransmission_timer(i);
                }
            }
            Timer::DelayedAck(s) => {
                let subflow = &mut self.subflows[s];
                let (c, i) = (subflow.connection as usize, subflow.local as usize);
                if subflow.delayed_ack.fires(now_ns, source, queue) {
                    self.lane(c).send_pending_ack(i);
                }
            }
            Timer::Application(c) => {
                if self.connections[c].application_timer.fires(now_ns, source, queue) {
                    self.lane(c).wake_application();
                }
            }
            Timer::Control(c) => {
                if self.connections[c].control_timer.fires(now_ns, source, queue) {
                    self.lane(c).control_tick();
                }
            }
            Timer::Look(c) => {
                if self.connections[c].look_timer.fires(now_ns, source, queue) {
                    self.lane(c).look();
                }
            }
            Timer::Data(c) => {
                if self.connections[c].data_timer.fires(now_ns, source, queue) {
                    self.lane(c).retransmit_data();
                }
            }
            Timer::Slot(c) => {
                if self.connections[c].slot_timer.fires(now_ns, source, queue) {
                    self.lane(c).slot();
                }
            }
            Timer::Cross(i) => self.send_cross(i),
            Timer::Channel(i) => {
                if self.net.channels[i].timer.fires(now_ns, source, queue) {
                    self.channel_event(i);
                }
            }
            Timer::WarmUp => self.begin_measurement(),
            Timer::Sample => self.sample(),
            Timer::Fabric => self.look_at_fabric(),
        }
    }

    /// Brings the time integrals of all windows, and the meters, up to now.
    pub(crate) fn settle(&mut self) {
        for c in 0..self.connections.len() {
            let mut lane = self.lane(c);
            lane.catch_up();
            for i in 0..lane.subflows.len() {
                lane.integrate_cwnd(i);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use joulepath_control::schedule::Scheduler;
    use joulepath_controllers::Controller;

    use crate::event::EventQueue;
    use crate::{RunOptions, Setup, build};

    /// A data centre with timers, losses and sixteen connections of eight subflows.
    #[test]
    fn a_run_is_the_same_with_a_wheel_and_with_a_heap() {
        let text = "title = \"tree\"\nduration = \"300 ms\"\n[topology]\nkind = \"fat-tree\"\nk = 4\nrate = \"100 Mbit/s\"\nqueue = \"20 packets\"\n\
                    spread = \"50 ms\"\n";
        let scenario =
            joulepath_model::scenario::load(text, &|trace| Err(format!("no trace {trace}"))).unwrap();
        let scheduler = Scheduler::by_name("minrtt", &[], scenario.transport.mss.0 as u32).unwrap();
        let setup = Setup::plain(Controller::by_name("lia").unwrap(), scheduler);
        let run = |queue: EventQueue| {
            let mut engine = build::build(&scenario, &setup, 1, RunOptions { series: true }).unwrap();
            let mut first = std::mem::replace(&mut engine.net.queue, queue);
            while let Some((time_ns, source)) = first.peek() {
                first.pop();
                engine.net.queue.push(time_ns, source);
            }
            engine.run();
            engine.result(&scenario, "mptcp", 1)
        };
        let (heap, wheel) = (run(EventQueue::heap()), run(EventQueue::wheel()));
        assert!(heap.counters.queue_drops > 0 && heap.counters.packet_hops > 100_000, "{:?}", heap.counters);
        assert_eq!(heap, wheel);
    }
}
