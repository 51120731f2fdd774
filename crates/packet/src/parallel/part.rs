use std::sync::Arc;

use crate::connection::subflow::Phase;
use crate::event::sources::Timer;
use crate::event::{FAR, MAX_SOURCES, NEAR, Source};
use crate::parallel::border::{Border, Map, Outbox};
use crate::path::packet::Kind;
use crate::prefetch::pipeline::Pipeline;
use crate::run::engine::{Engine, Role};
use crate::run::recorder::Recorder;

/// The source of the event that ends a window: after all other events of its instant. The timer
/// with this number belongs to the whole network, so no part has it.
pub(super) const FENCE: Source = MAX_SOURCES as Source - 1;

impl Engine {
    /// Part `number` of a network that is divided by `map`.
    ///
    /// # Safety
    /// The part must be dropped before this engine. While several threads use parts, no thread may
    /// use this engine.
    pub(super) unsafe fn part(&self, number: usize, map: &Arc<Map>) -> Engine {
        let downloads = !self.connections.is_empty() && self.connections.downloads(0);
        // SAFETY: the lists do not grow while the engine runs, and outlive the part, as the caller
        // guarantees. A part accesses only what its own events concern: links that begin in it,
        // packets that arrive in it, ends of connections on its hosts. `Shared` checks that in
        // tests.
        let mut part = unsafe {
            Engine {
                now_ns: 0,
                end_ns: self.end_ns,
                net: self.net.part(Border::new(map.clone())),
                config: self.config.clone(),
                senders: self.senders.view(),
                receivers: self.receivers.view(),
                interfaces: self.interfaces.view(),
                subflows: self.subflows.view(),
                connections: self.connections.view(),
                devices: self.devices.view(),
                prefetched: Pipeline::EMPTY,
                role: Role::Part { downloads },
                cross: vec![],
                recorder: Recorder::idle(),
                fabric: None,
                unfinished: self.unfinished,
                next_look: 0,
                #[cfg(test)]
                uses_fast_paths: self.uses_fast_paths,
                #[cfg(test)]
                fast_path_hits: 0,
            }
        };
        part.net.queue.push(0, FENCE);
        #[cfg(test)]
        part.check_owners(number as u8, map, downloads);
        #[cfg(not(test))]
        let _ = number;
        part
    }

    /// Makes a part's views check which part uses them.
    #[cfg(test)]
    fn check_owners(&mut self, part: u8, map: &Map, downloads: bool) {
        use crate::parallel::shared::{Owners, Shared};
        fn check<T>(list: &mut Shared<T>, part: u8, of: [&[u8]; 2]) {
            let of = of.map(Arc::from);
            *list = std::mem::take(list).checked(Owners { part, of });
        }
        let n = self.senders.len();
        let owners = |end: fn(&Engine, usize, &Map) -> usize| -> Vec<u8> {
            (0..n).map(|s| end(self, s, map) as u8).collect()
        };
        let (senders, receivers) = (
            owners(Engine::part_of_sender),
            owners(Engine::part_of_receiver),
        );
        let first = |of: &[u8]| -> Vec<u8> {
            (0..self.connections.len())
                .map(|c| of[self.connections.subflows(c).start])
                .collect()
        };
        let (sending, receiving) = (first(&senders), first(&receivers));
        let (with_device, device) = if downloads {
            (&receivers, &receiving)
        } else {
            (&senders, &sending)
        };
        check(
            &mut self.interfaces,
            part,
            [with_device; 2].map(|of| &of[..]),
        );
        check(&mut self.devices, part, [device; 2].map(|of| &of[..]));
        check(&mut self.senders, part, [&senders; 2].map(|of| &of[..]));
        check(&mut self.receivers, part, [&receivers; 2].map(|of| &of[..]));
        check(&mut self.connections, part, [&sending, &receiving]);
        // Only the whole engine opens and closes subflows.
        check(
            &mut self.subflows,
            part,
            [&vec![u8::MAX; n]; 2].map(|of| &of[..]),
        );
        self.net
            .check_owners(part, map.tails.clone(), map.heads.clone());
    }

    /// The part with the sending end of subflow `s`: where the first link of its data begins.
    pub(super) fn part_of_sender(&self, s: usize, map: &Map) -> usize {
        let hop = self.net.routes.hop(self.net.routes.of(s as u32).data, 0);
        usize::from(map.tails[hop.number() as usize])
    }

    /// The part with the receiving end of subflow `s`.
    pub(super) fn part_of_receiver(&self, s: usize, map: &Map) -> usize {
        let hop = self.net.routes.hop(self.net.routes.of(s as u32).acks, 0);
        usize::from(map.tails[hop.number() as usize])
    }

    /// Puts packets from another part on their wires.
    pub(super) fn receive(&mut self, outbox: &mut Outbox) {
        let mut blocks = outbox.blocks.drain(..);
        for crossing in outbox.packets.drain(..) {
            let mut packet = crossing.packet;
            if packet.kind() == Kind::Ack && packet.aux() != 0 {
                let blocks = blocks
                    .next()
                    .expect("an ACK with a reference to SACK blocks has blocks");
                packet = packet.with_aux(self.net.sacks.store(blocks));
            }
            self.net.enter(crossing.link, packet);
        }
    }

    /// Ends the window after the events at `last_ns`. All events up to the present fence must be
    /// done.
    pub(super) fn fence(&mut self, last_ns: u64) {
        let before = self.net.queue.peek();
        debug_assert!(before.is_some_and(|(_, source)| source == FENCE));
        self.net.queue.push(last_ns, FENCE);
        self.net.queue.pop();
    }

    /// Handles all events up to the fence.
    pub(super) fn run_window(&mut self) {
        match self.net.queue.kind() {
            FAR => self.run_window_of::<FAR>(),
            _ => self.run_window_of::<NEAR>(),
        }
    }

    fn run_window_of<const QUEUE: u8>(&mut self) {
        while let Some((time_ns, source)) = self.net.queue.peek()
            && source != FENCE
        {
            self.now_ns = time_ns;
            self.step::<QUEUE>(source);
        }
    }

    /// The first known instant from `from_ns` on at which an event in this part concerns both ends
    /// of a connection; `u64::MAX` if none. Unknown events come at least a window later.
    pub(super) fn next_instant(&mut self, from_ns: u64) -> u64 {
        let Some(mut border) = self.net.border.take() else {
            return u64::MAX;
        };
        border.doomed.retain(|&s| {
            let s = s as usize;
            self.senders[s].phase == Phase::Established && self.is_doomed(s)
        });
        let expires = |&s: &u32| self.senders[s as usize].timer.deadline_ns();
        let expires_ns = border.doomed.iter().filter_map(expires).min();
        let arrives_ns = border.next_announced(from_ns);
        self.net.border = Some(border);
        expires_ns.unwrap_or(u64::MAX).max(from_ns).min(arrives_ns)
    }

    /// Whether this part's earliest event, of `source`, concerns both ends of a connection.
    pub(super) fn concerns_both_ends(&self, source: Source) -> bool {
        if self.net.is_link(source) {
            let packet = self.net.first_on(source);
            let Role::Part { downloads } = self.role else {
                return true;
            };
            let is_other = !matches!(packet.kind(), Kind::Data | Kind::Ack);
            return is_other
                && !self
                    .hop_of_other(packet, packet.hop() + 1, downloads)
                    .is_some();
        }
        match self.config.sources.timer(source) {
            Timer::Rto(s) => self.senders[s].phase != Phase::Established || self.is_doomed(s),
            Timer::DelayedAck(_) | Timer::Data(_) | Timer::Release(_) => false,
            _ => true,
        }
    }
}
