//! The sending side of a subflow, and its departures: at once or paced.

use super::{may_sleep, radio};
use crate::connection::context::Clock;
use crate::connection::device::Interface;
use crate::path::network::Network;
use crate::path::packet::Packet;
use crate::run::config::Config;
use crate::run::engine::Engine;
use crate::sender::{Departing, SenderEnd, SubflowSender};

/// What the caller must do after a fast path has taken an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Nothing,
    /// Send this many new segments, at least two.
    Send(u32),
    /// Send new segments at the pacing rate.
    Pace,
    /// Run the scheduler, or set the timer for each departure.
    Push,
}

/// The state that an ACK or a departure touches.
pub(super) struct SendingSide<'a> {
    pub(super) now_ns: u64,
    pub(super) net: &'a mut Network,
    pub(super) config: &'a Config,
    /// Index of the subflow in the engine.
    pub(super) s: usize,
    pub(super) subflow: &'a mut SubflowSender,
    /// The sending end of its connection.
    pub(super) end: &'a mut SenderEnd,
    /// Its interface, if its radio matters at this end.
    interface: Option<&'a mut Interface>,
}

impl<'a> SendingSide<'a> {
    /// The sending side of subflow `s` of the engine.
    #[inline(always)]
    pub(super) fn of(engine: &'a mut Engine, s: u32) -> Self {
        let s = s as usize;
        let subflow = &mut engine.senders[s];
        SendingSide {
            now_ns: engine.now_ns,
            net: &mut engine.net,
            config: &engine.config,
            s,
            end: engine.connections.sending(subflow.id.connection as usize),
            interface: radio(&mut engine.interfaces, s, subflow.has_radio),
            subflow,
        }
    }

    /// Whether the radio may sleep, so that the meter must learn of a packet at once.
    #[inline(always)]
    pub(super) fn may_sleep(&self) -> bool {
        may_sleep(self.interface.as_deref(), self.now_ns)
    }

    /// Counts the energy of an ACK.
    #[inline(always)]
    pub(super) fn count_ack(&mut self) {
        if !self.subflow.id.downloads
            && let Some(interface) = &mut self.interface
        {
            interface.count_awake(self.now_ns, self.config.sizes.ack, 0, self.net);
        }
    }

    /// Processes an ACK except for its subflow: energy and the data level.
    #[inline(always)]
    pub(super) fn note_ack(&mut self, packet: &Packet) {
        self.count_ack();
        self.end.acknowledge(packet.dsn());
    }

    /// Whether the scheduler must run although it has no choice: when the data-level window is
    /// full, it decides about the oldest segment.
    #[inline(always)]
    pub(super) fn must_ask_scheduler(&self) -> bool {
        self.end.is_scheduled && !self.end.data.window_open()
    }

    /// Sends a new segment on a plain subflow with outstanding segments, whose timer is running.
    #[inline(always)]
    pub(super) fn send_new(&mut self) -> Departing {
        let departing = self.subflow.next_new(self.end, self.now_ns);
        self.send(departing);
        departing
    }

    /// The next segment to leave while the window has space: a lost one while the subflow repairs
    /// losses, else a new one if `admits_new`.
    #[inline(always)]
    pub(super) fn next_departing(
        &mut self,
        repairs: &mut bool,
        admits_new: bool,
    ) -> Option<Departing> {
        let (subflow, end) = (&mut *self.subflow, &mut *self.end);
        let lost = if *repairs {
            subflow.board.next_repair()
        } else {
            None
        };
        let departing = if let Some(ssn) = lost {
            subflow.repeat(ssn, self.now_ns)
        } else {
            *repairs = false;
            if !admits_new || !end.may_send_new() || subflow.board.next() >= subflow.window_end {
                return None;
            }
            subflow.next_new(end, self.now_ns)
        };
        subflow.arm_for_departure(&mut Clock::of(
            self.s,
            self.config,
            self.now_ns,
            &mut self.net.queue,
        ));
        Some(departing)
    }

    /// Sends a segment into its first link, and counts its energy.
    #[inline(always)]
    pub(super) fn send(&mut self, departing: Departing) {
        let mut packet = self.subflow.depart(self.s, departing, self.now_ns);
        let size = u32::from(departing.len) + self.config.sizes.header;
        self.net
            .offer(self.now_ns, self.subflow.first_hop, &mut packet, size);
        if !self.subflow.id.downloads
            && let Some(interface) = &mut self.interface
        {
            interface.count_awake(self.now_ns, 0, size, self.net);
        }
    }
}

impl Engine {
    /// Handles the end of pacing's hold on subflow `s`.
    pub(in crate::run) fn release(&mut self, s: u32) {
        if !self.take_release(s) {
            let id = self.senders[s as usize].id;
            self.sender(id.connection as usize).release(id.index());
        }
    }

    /// Sends what may leave, in the simple case. Returns false if it did nothing.
    #[inline(always)]
    fn take_release(&mut self, s: u32) -> bool {
        let is_enabled = self.may_use_fast_paths();
        let SendingSide {
            now_ns,
            config,
            subflow,
            end,
            interface,
            ..
        } = SendingSide::of(self, s);
        let has_case = end.has_paced_path && !end.queues_ahead && subflow.is_plain();
        if !is_enabled
            || !has_case
            || subflow.board.outstanding() < 2
            || may_sleep(interface.as_deref(), now_ns)
        {
            return false;
        }
        if end.is_scheduled {
            subflow.refresh_view_at(config, end, now_ns);
            if end.has_choice_after::<true>(subflow.id.index(), now_ns) || !end.data.window_open() {
                return false;
            }
        }
        self.send_at_pace(s, false);
        true
    }

    /// Sends the new segments that windows and pacing admit on plain subflow `s`, which has at
    /// least two segments outstanding and is the only one that may send. `is_armed`: its timer has
    /// just been set.
    #[inline(always)]
    pub(super) fn send_at_pace(&mut self, s: u32, is_armed: bool) {
        let mut side = SendingSide::of(self, s);
        let now_ns = side.now_ns;
        let id = side.subflow.id;
        let mut left = side
            .end
            .may_send_new_now()
            .min(side.subflow.owned_space(side.end, now_ns));
        if left > 0 && !is_armed {
            let mut clock = Clock::of(side.s, side.config, now_ns, &mut side.net.queue);
            side.subflow.arm_for_departure(&mut clock);
        }
        while left > 0 {
            let departing = side.send_new();
            side.subflow
                .note_departure(side.config, side.end, departing, false, now_ns);
            left = if side.subflow.is_held(now_ns) {
                0
            } else {
                left - 1
            };
        }
        if side.must_ask_scheduler() {
            return self.push_after(s);
        }
        let subflows = self.connections.subflows(id.connection as usize);
        let end = self.connections.sending(id.connection as usize);
        for s in subflows {
            let mut clock = Clock::of_release(s, &self.config, now_ns, &mut self.net.queue);
            self.senders[s].wait_for_release(end, &mut clock);
        }
    }
}
