//! The main loop: it takes the earliest event and calls the handler of its source.
//!
//! ```text
//!   event queue ──► head of a link ──► dispatch ──► receiver: data ──► ACK
//!              │                           └────────► sender: ACK ──► push ──► links
//!              └──► timer ───────────► RTO, delayed ACK, application, control plane, cross traffic, samples
//! ```
//! A packet that arrives touches one end of its connection, the network and the device's interface. Opening,
//! closing and steering a connection touches both ends.

use joulepath_link::cross::CrossSource;
use joulepath_model::cancel::Cancel;

use crate::connection::context::Context;
use crate::connection::device::{Device, Interface};
use crate::connection::endpoints::Endpoints;
use crate::connection::state::{Connection, goes_with_data};
use crate::connection::subflow::Subflow;
use crate::event::{FAR, FEW, NEAR, Source};
use crate::parallel::shared::Shared;
use crate::path::fabric::Fabric;
use crate::path::hop::Hop;
use crate::path::network::Network;
use crate::path::packet::{Back, Front, Kind, Packet, Usual};
use crate::prefetch::pipeline::Pipeline;
use crate::receiver::{Receiver, SubflowReceiver};
use crate::run::config::Config;
use crate::run::error::RunError;
use crate::run::recorder::Recorder;
use crate::sender::{Sender, SubflowSender};

/// Number of events between two looks at the token that may cancel a run: about ten milliseconds of work.
const EVENTS_PER_LOOK: u64 = 1 << 15;

/// A run in progress.
pub(crate) struct Engine {
    pub(crate) now_ns: u64,
    /// Nothing happens after this instant.
    pub(crate) end_ns: u64,
    pub(crate) net: Network,
    pub(crate) config: Config,
    /// The subflows of all connections, those of a connection side by side: the sending ends, the receiving
    /// ends, the device's interfaces, and the rest.
    pub(crate) senders: Shared<SubflowSender>,
    pub(crate) receivers: Shared<SubflowReceiver>,
    pub(crate) interfaces: Shared<Interface>,
    pub(crate) subflows: Shared<Subflow>,
    pub(crate) connections: Shared<Connection>,
    /// The device of each connection; competitors have none.
    pub(crate) devices: Shared<Option<Device>>,
    pub(crate) role: Role,
    pub(crate) cross: Vec<CrossSource>,
    pub(crate) recorder: Recorder,
    /// The switches of a topology.
    pub(crate) fabric: Option<Fabric>,
    /// What the prefetching stages know of the next events.
    pub(crate) prefetched: Pipeline,
    /// The number of events after which the token is looked at that may cancel the run. It is in memory
    /// because the loop has no register left.
    pub(crate) next_look: u64,
    /// Number of connections under test that are not done. The run ends when there are none.
    pub(crate) unfinished: usize,
    /// Whether segments and ACKs take the fast path where they can. Tests switch it off to compare.
    #[cfg(test)]
    pub(crate) uses_fast_paths: bool,
    /// How many have taken it.
    #[cfg(test)]
    pub(crate) fast_path_hits: u64,
}

/// What an engine is responsible for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The whole network.
    Whole,
    /// One part of it, see [`crate::parallel`]. All connections have the same direction.
    Part {
        /// Whether devices receive the data.
        downloads: bool,
    },
}

/// What surrounds connection `c` of an engine, at the end that receives or that sends; both ends together
/// count as that where the device is. A macro, because a function would borrow the whole engine, and the
/// connection's ends are borrowed beside it.
macro_rules! context {
    ($engine:ident, $c:ident, $subflows:expr, $has_device:expr) => {
        Context {
            now_ns: $engine.now_ns,
            config: &$engine.config,
            net: &mut $engine.net,
            devices: &mut $engine.devices,
            interfaces: &mut $engine.interfaces,
            has_device: $has_device,
            downloads: $engine.connections.downloads($c),
            connection: $c as u32,
            first_subflow: $subflows.start as u32,
            n: $subflows.len() as u32,
        }
    };
}

impl Engine {
    /// Runs until the end.
    ///
    /// # Errors
    /// [`RunError::Cancelled`] soon after `cancel` has been set.
    pub(crate) fn run(&mut self, cancel: &Cancel) -> Result<(), RunError> {
        self.run_until(self.end_ns, cancel)?;
        self.now_ns = self.end_ns;
        Ok(())
    }

    /// Handles the events up to this instant; the clock stays at the last one. If the last connection under
    /// test is done meanwhile, that is the end.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn run_until(&mut self, until_ns: u64, cancel: &Cancel) -> Result<(), RunError> {
        self.net.queue.open(until_ns);
        let is_over = match self.net.queue.kind() {
            FEW => self.run_loop::<FEW>(cancel),
            FAR => self.run_loop::<FAR>(cancel),
            _ => self.run_loop::<NEAR>(cancel),
        };
        if !is_over {
            return Err(RunError::Cancelled);
        }
        if self.unfinished == 0 {
            self.end_ns = self.now_ns;
        }
        Ok(())
    }

    /// Handles the events up to the end; returns false if it is cancelled before. Each kind of queue has a
    /// loop of its own, since what large networks need takes registers.
    #[inline(never)]
    fn run_loop<const QUEUE: u8>(&mut self, cancel: &Cancel) -> bool {
        while !cancel.is_set() {
            self.next_look = self.net.counts.events() + EVENTS_PER_LOOK;
            while self.net.counts.events() < self.next_look {
                let Some((time_ns, source)) = self.net.queue.next() else { return true };
                self.now_ns = time_ns;
                self.step::<QUEUE>(source);
            }
        }
        false
    }

    /// Handles the earliest event, which is now.
    #[inline(always)]
    pub(crate) fn step<const QUEUE: u8>(&mut self, source: Source) {
        self.net.counts.event();
        if self.net.is_link(source) {
            if QUEUE == FAR {
                self.prefetch_next_events();
            }
            let mut packet = self.net.arrive::<QUEUE>(source);
            self.dispatch(&mut packet);
        } else {
            self.take_timer(source);
        }
    }

    /// Handles the earliest event, which is a timer's.
    #[inline(never)]
    fn take_timer(&mut self, source: Source) {
        self.net.counts.timer();
        if !self.puts_off(source) {
            self.net.queue.pop();
            self.expire(source);
        }
    }

    /// Whether a timer's event, the earliest one, was only to be moved: the deadline of a subflow moves with
    /// every ACK, and its event only when it comes.
    #[inline(always)]
    fn puts_off(&mut self, source: Source) -> bool {
        let subflow = self.config.sources.subflow_of_rto(source);
        subflow.is_some_and(|s| self.senders[s].timer.is_put_off(self.now_ns, source, &mut self.net.queue))
    }

    /// The sending end of connection `c`. Afterwards nobody knows whether its subflows are plain.
    #[inline(always)]
    pub(crate) fn sender(&mut self, c: usize) -> Sender<'_> {
        let subflows = self.connections.subflows(c);
        self.senders[subflows].iter_mut().for_each(|subflow| subflow.usual = Usual::NONE);
        self.sender_as_plain(c)
    }

    /// The same for what leaves subflows plain that are.
    #[inline(always)]
    pub(crate) fn sender_as_plain(&mut self, c: usize) -> Sender<'_> {
        let subflows = self.connections.subflows(c);
        Sender {
            cx: context!(self, c, subflows.clone(), self.role != Role::Part { downloads: true }),
            end: self.connections.sending(c),
            subflows: &mut self.senders[subflows],
        }
    }

    /// The receiving end of connection `c`. Afterwards nobody knows whether its subflows are plain.
    #[inline(always)]
    pub(crate) fn receiver(&mut self, c: usize) -> Receiver<'_> {
        let subflows = self.connections.subflows(c);
        self.receivers[subflows.clone()].iter_mut().for_each(|subflow| subflow.usual = Usual::NONE);
        Receiver {
            cx: context!(self, c, subflows.clone(), self.role != Role::Part { downloads: false }),
            end: self.connections.receiving(c),
            subflows: &mut self.receivers[subflows],
        }
    }

    /// Both ends of connection `c`.
    ///
    /// # Panics
    /// If this is a part: what concerns both ends is done while all parts wait.
    pub(crate) fn endpoints(&mut self, c: usize) -> Endpoints<'_> {
        assert!(self.role == Role::Whole, "a part of a network must not touch both ends of a connection");
        let subflows = self.connections.subflows(c);
        self.senders[subflows.clone()].iter_mut().for_each(|subflow| subflow.usual = Usual::NONE);
        self.receivers[subflows.clone()].iter_mut().for_each(|subflow| subflow.usual = Usual::NONE);
        Endpoints {
            cx: context!(self, c, subflows.clone(), true),
            connection: &mut self.connections[c],
            subflows: &mut self.subflows[subflows.clone()],
            senders: &mut self.senders[subflows.clone()],
            receivers: &mut self.receivers[subflows],
            unfinished: &mut self.unfinished,
        }
    }

    /// Handles a packet that has passed a hop: it enters the next one, or it has arrived.
    #[inline(always)]
    fn dispatch(&mut self, packet: &mut Packet) {
        if packet.arrives() {
            match packet.is_ack_not_data() {
                Some(true) => return self.ack_arrives(packet),
                Some(false) => return self.data_arrives(packet),
                None => return self.dispatch_other(packet.after_hop().apart()),
            }
        }
        *packet = packet.after_hop();
        let Some(is_ack) = packet.is_ack_not_data() else { return self.dispatch_other(packet.apart()) };
        let hop = self.net.routes.next(packet.subflow(), is_ack, packet.hop());
        let size = self.config.sizes.of(is_ack, packet.aux());
        if !hop.is_plain() {
            return self.pass_on(hop, packet.apart(), size);
        }
        if hop.is_at_radio() {
            self.rouse_radio(packet.subflow(), hop);
        }
        self.net.offer(self.now_ns, hop, packet, size);
    }

    /// A segment or an ACK enters the next hop of its route, which is not plain, or it has arrived from a
    /// station.
    #[inline(never)]
    fn pass_on(&mut self, hop: Hop, (front, back): (Front, Back), size: u32) {
        let packet = Packet::joined(front, back);
        match packet.kind() {
            _ if hop.is_some() => self.forward(hop, packet, size),
            Kind::Data => self.data_arrives_with_gaps((front, back)),
            _ => self.ack_arrives_with_gaps((front, back)),
        }
    }

    /// A packet enters the next hop of its route.
    #[inline(never)]
    fn forward(&mut self, hop: Hop, mut packet: Packet, size: u32) {
        if hop.is_at_radio() {
            self.rouse_radio(packet.subflow(), hop);
        }
        self.net.offer(self.now_ns, hop, &mut packet, size);
    }

    /// Wakes the device's radio if the next hop is the link there: a packet is about to enter it.
    #[inline]
    fn rouse_radio(&mut self, s: u32, hop: Hop) {
        if self.now_ns >= self.interfaces[s as usize].awake_until_ns {
            let id = self.senders[s as usize].id;
            self.endpoints(id.connection as usize).cx.rouse_radio(id.index(), hop);
        }
    }

    /// Handles the arrival of a packet that is neither data nor an ACK of a subflow.
    #[cold]
    fn dispatch_other(&mut self, (front, back): (Front, Back)) {
        let packet = Packet::joined(front, back);
        if packet.kind() == Kind::Cross {
            return;
        }
        if let Role::Part { downloads } = self.role {
            return self.forward_other(packet, downloads);
        }
        let s = packet.subflow() as usize;
        let (id, kind) = (self.receivers[s].id, packet.kind());
        let (c, i) = (id.connection as usize, id.index());
        let relay = self.receivers[s].relay.as_deref();
        let route = self.connections[c].route_of(kind, self.net.routes.of(packet.subflow()), relay);
        if !route.is_complete(packet.hop()) {
            let hop = self.net.routes.hop(route, packet.hop());
            return self.forward(hop, packet, self.config.sizes.ack);
        }
        match kind {
            Kind::Relayed | Kind::RelayAck | Kind::DataAck if packet.epoch() == id.epoch => {
                self.endpoints(c).receive_relayed(i, packet);
            }
            // A packet of a subflow that has been closed meanwhile is dropped. What a relay passes on belongs
            // to the connection.
            Kind::Relayed => self.endpoints(c).receive_relayed(i, packet),
            Kind::DataAck => self.endpoints(c).receive_data_ack(packet.dsn()),
            _ if packet.epoch() != id.epoch => self.net.discard(kind, packet.aux()),
            _ => self.endpoints(c).receive_control(i, packet),
        }
    }

    /// Passes on a packet that is neither data nor an ACK, within a part of a network.
    fn forward_other(&mut self, packet: Packet, downloads: bool) {
        let hop = self.hop_of_other(&packet, packet.hop(), downloads);
        assert!(hop.is_some(), "what concerns both ends of a connection is done while all parts wait");
        self.forward(hop, packet, self.config.sizes.ack);
    }

    /// The hop that a packet enters after `hops` hops which is neither data nor an ACK, on a route without
    /// relays; [`Hop::NONE`] if it has arrived.
    pub(crate) fn hop_of_other(&self, packet: &Packet, hops: u8, downloads: bool) -> Hop {
        self.net.routes.next(packet.subflow(), !goes_with_data(packet.kind(), downloads), hops)
    }

    /// Ends the transmission on a channel: what was given up is sent again or lost, and what has arrived goes
    /// on.
    #[cold]
    pub(crate) fn end_transmission(&mut self, channel: usize) {
        let (arrived, lost) = self.net.end_transmission(channel);
        for packet in lost {
            if packet.kind() == Kind::Relayed {
                let id = self.receivers[packet.subflow() as usize].id;
                self.receiver(id.connection as usize).relay_again(id.index(), packet);
            } else {
                self.net.discard(packet.kind(), packet.aux());
            }
        }
        let Some(mut packet) = arrived else { return };
        let id = self.receivers[packet.subflow() as usize].id;
        let (c, i) = (id.connection as usize, id.index());
        match packet.kind() {
            Kind::Relayed => self.receiver(c).relay_delivered(i),
            Kind::DataAck => self.receiver(c).overhear(i, &mut packet),
            _ => {}
        }
        self.dispatch_from_timer(packet);
    }

    /// [`Self::dispatch`] for packets from a channel. It is a function of its
    /// own so that the compiler inlines `dispatch` into the main loop only.
    #[cold]
    pub(crate) fn dispatch_from_timer(&mut self, mut packet: Packet) {
        self.dispatch(&mut packet);
    }
}

#[cfg(test)]
mod tests {
    use joulepath_control::Setup;
    use joulepath_model::cancel::Cancel;

    use crate::event::EventQueue;
    use crate::{RunOptions, build};

    const TREE: &str = r#"
        title = "tree"
        duration = "300 ms"
        [topology]
        kind = "fat-tree"
        k = 4
        rate = "100 Mbit/s"
        queue = "20 packets"
        spread = "50 ms"
    "#;

    /// A data centre with timers, losses and sixteen connections of eight subflows.
    #[test]
    fn a_run_is_the_same_with_a_wheel_and_with_a_heap() {
        let scenario =
            joulepath_model::scenario::load(TREE, &|trace| Err(format!("no trace {trace}"))).unwrap();
        let setup = Setup::of(&"mptcp".parse().unwrap(), &scenario).unwrap();
        let run = |queue: EventQueue| {
            let options = RunOptions { series: true, ..RunOptions::default() };
            let mut engine = build::build(&scenario, &setup, 1, &options, 1).unwrap();
            let mut first = std::mem::replace(&mut engine.net.queue, queue);
            while let Some((time_ns, source)) = first.peek() {
                first.pop();
                engine.net.queue.push(time_ns, source);
            }
            engine.run(&Cancel::new()).unwrap();
            engine.result(&scenario, "mptcp", 1)
        };
        let (heap, wheel) = (run(EventQueue::heap()), run(EventQueue::wheel((6, 13), true)));
        assert!(heap.counters.queue_drops > 0 && heap.counters.packet_hops > 100_000, "{:?}", heap.counters);
        assert_eq!(heap, wheel);
    }
}
