//! Events for which all parts wait: the events of one instant, of all parts and of the whole
//! network, in the order of their keys.

use std::sync::MutexGuard;

use super::part::FENCE;
use crate::connection::subflow::Phase;
use crate::event::sources::Timer;
use crate::event::{EventQueue, FEW, Source};
use crate::parallel::border::Map;
use crate::run::engine::Engine;

/// The whole engine and its parts, owned by one thread.
pub(super) struct Everything<'a, 'p> {
    pub(super) whole: &'a mut Engine,
    pub(super) parts: &'a mut [MutexGuard<'p, Engine>],
    pub(super) map: &'a Map,
    /// Collects the events that the whole engine pushes, until they go to their owners.
    pub(super) staging: &'a mut EventQueue,
}

/// The owner of an event.
enum Owner {
    Whole,
    Part(usize),
}

impl Everything<'_, '_> {
    /// Handles all events up to `last_ns` inclusive. If further events for which all parts must
    /// wait follow within `gap_ns` and by `end_ns`, also handles everything up to them, because
    /// windows in between would be short. Returns the instant up to which everything is done, and
    /// the number of events.
    pub(super) fn run(&mut self, mut last_ns: u64, gap_ns: u64, end_ns: u64) -> (u64, u64) {
        // Bounded, because the shortest useful window depends on the recent event rate.
        let until_ns = end_ns.min(last_ns + self.map.lookahead_ns);
        let mut events = 0;
        loop {
            self.parts.iter_mut().for_each(|part| part.fence(last_ns));
            while let Some((owner, time_ns, source)) = self.first(last_ns) {
                self.handle(owner, time_ns, source);
                events += 1;
            }
            self.hand_out_timers();
            let next_ns = self.next_instant(last_ns + 1);
            if next_ns > until_ns || next_ns - last_ns > gap_ns {
                return (last_ns, events);
            }
            last_ns = next_ns;
        }
    }

    /// The first instant from `from_ns` on for which all parts must wait.
    pub(super) fn next_instant(&mut self, from_ns: u64) -> u64 {
        let of_parts = self
            .parts
            .iter_mut()
            .map(|part| part.next_instant(from_ns))
            .min();
        let of_whole = self
            .whole
            .net
            .queue
            .peek()
            .map_or(u64::MAX, |(time_ns, _)| time_ns);
        of_whole.min(of_parts.unwrap_or(u64::MAX))
    }

    /// The earliest event by `last_ns`.
    fn first(&self, last_ns: u64) -> Option<(Owner, u64, Source)> {
        let of_part = |(p, part): (usize, &MutexGuard<'_, Engine>)| {
            let (time_ns, source) = part.net.queue.peek()?;
            (source != FENCE).then_some((time_ns, source, p))
        };
        let of_parts = self.parts.iter().enumerate().filter_map(of_part).min();
        let of_whole = self
            .whole
            .net
            .queue
            .peek()
            .filter(|(time_ns, _)| *time_ns <= last_ns);
        match (of_whole, of_parts) {
            (Some(whole), Some((time_ns, source, _))) if whole <= (time_ns, source) => {
                Some((Owner::Whole, whole.0, whole.1))
            }
            (_, Some((time_ns, source, p))) => Some((Owner::Part(p), time_ns, source)),
            (whole, None) => whole.map(|(time_ns, source)| (Owner::Whole, time_ns, source)),
        }
    }

    fn handle(&mut self, owner: Owner, time_ns: u64, source: Source) {
        match owner {
            Owner::Whole => {
                self.whole.net.queue.pop();
                self.whole.net.counts.event();
                self.whole.net.counts.timer();
                self.by_whole(time_ns, |whole| whole.expire(source));
            }
            Owner::Part(p) if self.parts[p].concerns_both_ends(source) => {
                let net = &mut self.parts[p].net;
                net.counts.event();
                if net.is_link(source) {
                    let packet = net.arrive::<FEW>(source);
                    self.by_whole(time_ns, |whole| whole.dispatch_from_timer(packet));
                } else {
                    net.counts.timer();
                    net.queue.pop();
                    self.by_whole(time_ns, |whole| whole.expire(source));
                }
            }
            Owner::Part(p) => {
                let part = &mut *self.parts[p];
                part.now_ns = time_ns;
                part.step::<FEW>(source);
                self.deliver_from(p);
            }
        }
    }

    /// Lets the whole engine handle an event, and gives the resulting events and packets to their
    /// owners.
    fn by_whole(&mut self, now_ns: u64, handle: impl FnOnce(&mut Engine)) {
        self.whole.now_ns = now_ns;
        std::mem::swap(&mut self.whole.net.queue, self.staging);
        handle(self.whole);
        std::mem::swap(&mut self.whole.net.queue, self.staging);
        while let Some((time_ns, source)) = self.staging.peek() {
            self.staging.pop();
            self.give(time_ns, source);
        }
        let Some(border) = &mut self.whole.net.border else {
            return;
        };
        for (part, outbox) in self.parts.iter_mut().zip(&mut border.outboxes) {
            part.receive(outbox);
        }
        for s in std::mem::take(&mut border.doomed) {
            let part = self.whole.part_of_sender(s as usize, self.map);
            if let Some(border) = &mut self.parts[part].net.border {
                border.doomed.push(s);
            }
        }
        // The whole engine announces packets that are on a link; any part may hold the
        // announcement.
        while let Some(border) = &mut self.whole.net.border
            && let Some(arrival_ns) = border.take_announced()
        {
            if let Some(border) = &mut self.parts[0].net.border {
                border.announce(arrival_ns);
            }
        }
    }

    /// Delivers the packets in part `p`'s outboxes.
    fn deliver_from(&mut self, p: usize) {
        for to in 0..self.parts.len() {
            let Some(border) = &mut self.parts[p].net.border else {
                return;
            };
            if !border.outboxes[to].is_empty() {
                let mut outbox = std::mem::take(&mut border.outboxes[to]);
                self.parts[to].receive(&mut outbox);
            }
        }
    }

    /// Pushes an event into its owner's queue.
    fn give(&mut self, time_ns: u64, source: Source) {
        match self.owner_of(source) {
            Owner::Whole => self.whole.net.queue.push(time_ns, source),
            Owner::Part(p) => self.parts[p].net.queue.push(time_ns, source),
        }
    }

    /// The owner of a source's events. A subflow's timer belongs to a part while the subflow is
    /// established; before, it concerns both ends.
    fn owner_of(&self, source: Source) -> Owner {
        if self.whole.net.is_link(source) {
            return Owner::Part(self.map.heads[source as usize].into());
        }
        match self.whole.config.sources.timer(source) {
            Timer::Rto(s) if self.whole.senders[s].phase == Phase::Established => {
                Owner::Part(self.whole.part_of_sender(s, self.map))
            }
            Timer::Release(s) => Owner::Part(self.whole.part_of_sender(s, self.map)),
            Timer::DelayedAck(s) => Owner::Part(self.whole.part_of_receiver(s, self.map)),
            Timer::Data(c) => {
                let first = self.whole.connections.subflows(c).start;
                Owner::Part(self.whole.part_of_sender(first, self.map))
            }
            _ => Owner::Whole,
        }
    }

    /// Gives the timers of newly established subflows to the parts, when the first of them is the
    /// next event of the whole engine.
    fn hand_out_timers(&mut self) {
        let Some((_, source)) = self.whole.net.queue.peek() else {
            return;
        };
        if matches!(self.owner_of(source), Owner::Whole) {
            return;
        }
        let mut all = std::mem::replace(&mut self.whole.net.queue, EventQueue::heap());
        while let Some((time_ns, source)) = all.peek() {
            all.pop();
            self.give(time_ns, source);
        }
    }
}
