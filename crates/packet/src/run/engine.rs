//! The main loop: takes the earliest event and calls the handler of its source.
//!
//! ```text
//!   event queue ──► head of a link ──► dispatch ──► receiver: data ──► ACK
//!              │                           └────────► sender: ACK ──► push ──► links
//!              └──► timer ───────────► RTO, delayed ACK, application, control plane, cross traffic, samples
//! ```
//! An arriving packet touches one end of its connection, the network and the device's interface.
//! Opening, closing and the control plane touch both ends.

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

/// Number of events between two checks of the cancel token: about ten milliseconds of work.
const EVENTS_PER_LOOK: u64 = 1 << 15;

/// A run in progress.
pub(crate) struct Engine {
    pub(crate) now_ns: u64,
    /// Nothing happens after this instant.
    pub(crate) end_ns: u64,
    pub(crate) net: Network,
    pub(crate) config: Config,
    /// The subflows of all connections, consecutive for each connection: senders, receivers, the
    /// device's interfaces, and the rest.
    pub(crate) senders: Shared<SubflowSender>,
    pub(crate) receivers: Shared<SubflowReceiver>,
    pub(crate) interfaces: Shared<Interface>,
    pub(crate) subflows: Shared<Subflow>,
    pub(crate) connections: Shared<Connection>,
    /// The device of each connection; `None` for competitors.
    pub(crate) devices: Shared<Option<Device>>,
    pub(crate) role: Role,
    pub(crate) cross: Vec<CrossSource>,
    pub(crate) recorder: Recorder,
    /// The switches of a topology.
    pub(crate) fabric: Option<Fabric>,
    /// Results of the prefetching stages.
    pub(crate) prefetched: Pipeline,
    /// Event count at which to check the cancel token next. In memory, because the loop has no
    /// register left.
    pub(crate) next_look: u64,
    /// Number of connections under test that are not done. The run ends at 0.
    pub(crate) unfinished: usize,
    /// Whether segments and ACKs may take fast paths. Tests switch it off to compare.
    #[cfg(test)]
    pub(crate) uses_fast_paths: bool,
    /// Number of packets that took a fast path.
    #[cfg(test)]
    pub(crate) fast_path_hits: u64,
}

/// The scope of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The whole network.
    Whole,
    /// One part of it; see [`crate::parallel`]. All connections have the same direction.
    Part {
        /// Whether devices receive the data.
        downloads: bool,
    },
}

/// The [`Context`] of connection `c`, at its receiving or sending end; both ends together count as
/// the device's. A macro, because a function would borrow the whole engine, and the connection's
/// ends are borrowed at the same time.
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
    /// [`RunError::Cancelled`] soon after `cancel` is set.
    pub(crate) fn run(&mut self, cancel: &Cancel) -> Result<(), RunError> {
        self.run_until(self.end_ns, cancel)?;
        self.now_ns = self.end_ns;
        Ok(())
    }

    /// Handles the events up to this instant; the clock stays at the last event. The run ends
    /// earlier if the last connection under test is done.
    ///
    /// # Errors
    /// See [`Self::run`].
    pub(crate) fn run_until(&mut self, until_ns: u64, cancel: &Cancel) -> Result<(), RunError> {
        self.net.queue.open(until_ns);
        let is_over = match self.net.queue.kind() {
            FEW if self.is_crowded() => self.run_loop::<FEW, true>(cancel),
            FEW => self.run_loop::<FEW, false>(cancel),
            FAR => self.run_loop::<FAR, false>(cancel),
            _ => self.run_loop::<NEAR, false>(cancel),
        };
        if !is_over {
            return Err(RunError::Cancelled);
        }
        if self.unfinished == 0 {
            self.end_ns = self.now_ns;
        }
        Ok(())
    }

    /// Handles the events up to the end; returns false if cancelled. Each kind of queue has its own
    /// loop, because the prefetching for large networks takes registers. `CROWDED`: few links, many
    /// subflows.
    #[inline(never)]
    fn run_loop<const QUEUE: u8, const CROWDED: bool>(&mut self, cancel: &Cancel) -> bool {
        while !cancel.is_set() {
            self.next_look = self.net.counts.events() + EVENTS_PER_LOOK;
            while self.net.counts.events() < self.next_look {
                let Some((time_ns, source)) = self.net.queue.next() else {
                    return true;
                };
                self.now_ns = time_ns;
                if CROWDED && self.net.is_link(source) {
                    self.prefetch_followers(source);
                }
                self.step::<QUEUE>(source);
            }
        }
        false
    }

    /// Handles the earliest event, which is due.
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

    /// Handles the earliest event, a timer's.
    #[inline(never)]
    fn take_timer(&mut self, source: Source) {
        self.net.counts.timer();
        if !self.puts_off(source) {
            self.net.queue.pop();
            self.expire(source);
        }
    }

    /// Whether the earliest event, a timer's, only needed moving: the deadline of a subflow moves
    /// with every ACK, its event only when it is due.
    #[inline(always)]
    fn puts_off(&mut self, source: Source) -> bool {
        let subflow = self.config.sources.subflow_of_rto(source);
        subflow.is_some_and(|s| {
            self.senders[s]
                .timer
                .is_put_off(self.now_ns, source, &mut self.net.queue)
        })
    }

    /// The sending end of connection `c`. Clears the patterns of usual ACKs; the next ACK
    /// recomputes them.
    #[inline(always)]
    pub(crate) fn sender(&mut self, c: usize) -> Sender<'_> {
        let subflows = self.connections.subflows(c);
        self.senders[subflows]
            .iter_mut()
            .for_each(|subflow| subflow.usual = Usual::NONE);
        self.sender_as_plain(c)
    }

    /// [`Self::sender`] for calls that keep plain subflows plain.
    #[inline(always)]
    pub(crate) fn sender_as_plain(&mut self, c: usize) -> Sender<'_> {
        let subflows = self.connections.subflows(c);
        Sender {
            cx: context!(
                self,
                c,
                subflows.clone(),
                self.role != Role::Part { downloads: true }
            ),
            end: self.connections.sending(c),
            subflows: &mut self.senders[subflows],
        }
    }

    /// The receiving end of connection `c`. Clears the patterns of usual segments; the next segment
    /// recomputes them.
    #[inline(always)]
    pub(crate) fn receiver(&mut self, c: usize) -> Receiver<'_> {
        let subflows = self.connections.subflows(c);
        self.receivers[subflows.clone()]
            .iter_mut()
            .for_each(|subflow| subflow.usual = Usual::NONE);
        Receiver {
            cx: context!(
                self,
                c,
                subflows.clone(),
                self.role != Role::Part { downloads: false }
            ),
            end: self.connections.receiving(c),
            subflows: &mut self.receivers[subflows],
        }
    }

    /// Both ends of connection `c`.
    ///
    /// # Panics
    /// On a part: events that concern both ends are handled while all parts wait.
    pub(crate) fn endpoints(&mut self, c: usize) -> Endpoints<'_> {
        assert!(
            self.role == Role::Whole,
            "a part of a network must not touch both ends of a connection"
        );
        let subflows = self.connections.subflows(c);
        self.senders[subflows.clone()]
            .iter_mut()
            .for_each(|subflow| subflow.usual = Usual::NONE);
        self.receivers[subflows.clone()]
            .iter_mut()
            .for_each(|subflow| subflow.usual = Usual::NONE);
        Endpoints {
            cx: context!(self, c, subflows.clone(), true),
            connection: &mut self.connections[c],
            subflows: &mut self.subflows[subflows.clone()],
            senders: &mut self.senders[subflows.clone()],
            receivers: &mut self.receivers[subflows],
            unfinished: &mut self.unfinished,
        }
    }

    /// Handles a packet that has passed a hop: sends it into the next one, or delivers it.
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
        let Some(is_ack) = packet.is_ack_not_data() else {
            return self.dispatch_other(packet.apart());
        };
        let hop = self.net.routes.next(packet.subflow(), is_ack, packet.hop());
        let size = self.config.sizes.of(is_ack, packet.aux());
        if !hop.is_plain() {
            return self.pass_on(hop, packet.apart(), size);
        }
        if hop.is_at_radio() {
            self.rouse_radio(packet.subflow(), hop, size);
        }
        self.net.offer(self.now_ns, hop, packet, size);
    }

    /// Handles a segment or an ACK whose next hop is not plain, or that arrives from a station.
    #[inline(never)]
    fn pass_on(&mut self, hop: Hop, (front, back): (Front, Back), size: u32) {
        let packet = Packet::joined(front, back);
        match packet.kind() {
            _ if hop.is_some() => self.forward(hop, packet, size),
            Kind::Data => self.data_arrives_with_gaps((front, back)),
            _ => self.ack_arrives_with_gaps((front, back)),
        }
    }

    /// Sends a packet into the next hop of its route.
    #[inline(never)]
    fn forward(&mut self, hop: Hop, mut packet: Packet, size: u32) {
        if hop.is_at_radio() {
            self.rouse_radio(packet.subflow(), hop, size);
        }
        self.net.offer(self.now_ns, hop, &mut packet, size);
    }

    /// Wakes the device's radio before a packet enters the link at it.
    #[inline]
    fn rouse_radio(&mut self, s: u32, hop: Hop, size: u32) {
        if self.now_ns >= self.interfaces[s as usize].awake_until_ns {
            let id = self.senders[s as usize].id;
            self.endpoints(id.connection as usize)
                .cx
                .rouse_radio(id.index(), hop, size);
        }
    }

    /// Handles a packet that is neither data nor an ACK of a subflow.
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
            // A packet of a closed subflow is dropped. Data that a relay forwards belongs to the
            // connection.
            Kind::Relayed => self.endpoints(c).receive_relayed(i, packet),
            Kind::DataAck => self.endpoints(c).receive_data_ack(packet.dsn()),
            _ if packet.epoch() != id.epoch => self.net.discard(kind, packet.aux()),
            _ => self.endpoints(c).receive_control(i, packet),
        }
    }

    /// Forwards a packet that is neither data nor an ACK, within a part of a network.
    fn forward_other(&mut self, packet: Packet, downloads: bool) {
        let hop = self.hop_of_other(&packet, packet.hop(), downloads);
        assert!(
            hop.is_some(),
            "events for both ends of a connection are handled while all parts wait"
        );
        self.forward(hop, packet, self.config.sizes.ack);
    }

    /// The next hop of a packet that is neither data nor an ACK, after `hops` hops of a route
    /// without relays; [`Hop::NONE`] if it has arrived.
    pub(crate) fn hop_of_other(&self, packet: &Packet, hops: u8, downloads: bool) -> Hop {
        self.net.routes.next(
            packet.subflow(),
            !goes_with_data(packet.kind(), downloads),
            hops,
        )
    }

    /// Ends the transmission on a channel: retransmits or drops the packets that it gave up, and
    /// dispatches the packet that arrived.
    #[cold]
    pub(crate) fn end_transmission(&mut self, channel: usize) {
        let (arrived, lost) = self.net.end_transmission(channel);
        for packet in lost {
            if packet.kind() == Kind::Relayed {
                let id = self.receivers[packet.subflow() as usize].id;
                self.receiver(id.connection as usize)
                    .relay_again(id.index(), packet);
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

    /// [`Self::dispatch`] for packets from a channel. A separate function, so that the compiler
    /// inlines `dispatch` only into the main loop.
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
    use crate::event::circle::Slots;
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
    fn a_run_gives_the_same_result_with_a_wheel_and_with_a_heap() {
        let scenario =
            joulepath_model::scenario::load(TREE, &|trace| Err(format!("no trace {trace}")))
                .unwrap();
        let setup = Setup::of(&"mptcp".parse().unwrap(), &scenario).unwrap();
        let run = |queue: EventQueue| {
            let options = RunOptions {
                series: true,
                ..RunOptions::default()
            };
            let mut engine = build::build(&scenario, &setup, 1, &options, 1).unwrap();
            let mut first = std::mem::replace(&mut engine.net.queue, queue);
            while let Some((time_ns, source)) = first.peek() {
                first.pop();
                engine.net.queue.push(time_ns, source);
            }
            engine.run(&Cancel::new()).unwrap();
            engine.result(&scenario, "mptcp", 1)
        };
        let (heap, wheel) = (
            run(EventQueue::heap()),
            run(EventQueue::wheel(
                Slots {
                    width_bits: 6,
                    count_bits: 13,
                },
                true,
            )),
        );
        assert!(
            heap.counters.queue_drops > 0 && heap.counters.packet_hops > 100_000,
            "{:?}",
            heap.counters
        );
        assert_eq!(heap, wheel);
    }
}
