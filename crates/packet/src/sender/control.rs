//! Reports to a controller that owns the window (`owned`), and the release of the segments that it
//! admits.

use joulepath_controllers::{AckFlags, Area, Event, within};

use super::ack::AckReport;
use super::connection::{Sender, SenderEnd};
use super::owned::Paced;
use super::rtt::saturated_us;
use super::subflow::{Congestion, SubflowSender};
use super::transmit::Departing;
use crate::connection::context::{Clock, Context};
use crate::run::config::Config;

impl SubflowSender {
    /// Records the departure of a segment, and holds the next one if the controller paces. `first`:
    /// no other segment is outstanding.
    #[inline(always)]
    pub(crate) fn note_departure(
        &mut self,
        config: &Config,
        end: &mut SenderEnd,
        departing: Departing,
        first: bool,
        now_ns: u64,
    ) {
        let Some(owned) = &mut self.owned else { return };
        owned.departs(departing.ssn, self.board.room(), first, now_ns);
        let rate = end
            .controller
            .pacing_rate_bytes_per_s(&end.cc, self.id.index());
        self.held_until_ns = match rate {
            Some(rate) => owned.pace(
                Paced {
                    bytes: departing.len.into(),
                    rate,
                    mss: config.transport.mss.0,
                },
                now_ns,
            ),
            None => 0,
        };
        end.releases_ns[self.id.index()] = self.held_until_ns;
        if self.is_held(now_ns) {
            self.refresh_view_at(config, end, now_ns);
        }
    }

    /// Records the arrival of a segment above a hole.
    pub(super) fn note_arrival(&mut self, ssn: u32) {
        let board = &self.board;
        if let Some(owned) = &mut self.owned {
            owned.arrives(ssn, board.get(ssn).sent());
        }
    }

    /// Records the arrival of the segments from `una` to the cumulative ACK, except segments SACKed
    /// before.
    #[inline(never)]
    pub(super) fn note_advance(&mut self, una: u32) {
        let board = &self.board;
        let Some(owned) = &mut self.owned else { return };
        for ssn in una..board.una() {
            let segment = board.get(ssn);
            if !segment.is_sacked() {
                owned.arrives(ssn, segment.sent());
            }
        }
    }

    /// Reports an event other than an ACK to the controller.
    fn tell_of(&mut self, cx: &Context<'_>, end: &mut SenderEnd, flags: AckFlags) {
        let in_flight = self.board.in_flight();
        let Some(owned) = &mut self.owned else { return };
        owned.note(flags);
        let total_delivered = owned.delivered;
        let event = Event {
            total_delivered,
            prior_in_flight: in_flight,
            ..Event::default()
        };
        self.tell_owner(cx.config, end, event, cx.now_ns);
        self.refresh_view(cx, end);
    }

    /// Tells the controller that a segment is about to leave while none is in flight.
    #[cold]
    pub(super) fn tell_of_restart(&mut self, cx: &Context<'_>, end: &mut SenderEnd) {
        if self
            .owned
            .as_ref()
            .is_some_and(|owned| owned.first_sent_ns > 0)
        {
            self.tell_of(cx, end, AckFlags::RESTARTS);
        }
    }

    /// Reports an ACK to the controller. The caller refreshes the scheduler's view.
    #[inline(never)]
    pub(super) fn tell_owner_of_ack(
        &mut self,
        config: &Config,
        end: &mut SenderEnd,
        report: &AckReport,
        now_ns: u64,
    ) {
        let window = &mut end.cc.subflows[self.id.index()];
        window.srtt_us = self.rtt.srtt_us();
        let least_rtt_us = window.own.base_rtt_us;
        let Some(owned) = &mut self.owned else { return };
        let &AckReport {
            delivered: acked,
            echo,
            prior_in_flight,
            ..
        } = report;
        let rtt_us = saturated_us(report.rtt_ns);
        let mut event = owned.take_sample(acked, least_rtt_us, now_ns);
        let marked = if owned.each_mark {
            echo
        } else {
            std::mem::take(&mut owned.marked)
        };
        event.marked = if marked { acked.max(1) } else { 0 };
        event.flags = event
            .flags
            .with(AckFlags::ECE, echo)
            .with(AckFlags::CWND_LIMITED, self.usage.was_full());
        self.tell_owner(
            config,
            end,
            Event {
                rtt_us,
                prior_in_flight,
                ..event
            },
            now_ns,
        );
    }

    /// Reports an event to the controller, together with the flags noted since the last one.
    #[inline(always)]
    fn tell_owner(&mut self, config: &Config, end: &mut SenderEnd, event: Event, now_ns: u64) {
        let i = self.id.index();
        let (lost, in_flight) = (self.board.total_lost(), self.board.in_flight());
        let Some(owned) = &mut self.owned else { return };
        let flags = event.flags | std::mem::take(&mut owned.flags);
        let lost = lost.wrapping_sub(std::mem::replace(&mut owned.told_lost, lost));
        let mss = config.transport.mss.0 as u32;
        let event = Event {
            flags,
            lost,
            in_flight,
            mss,
            ..event
        };
        let before = end.cc.subflows[i].cwnd;
        end.cc.now_us = now_ns / 1_000;
        within(&mut end.hosting, || {
            end.controller
                .control(&mut end.cc, i, &event, &mut owned.area)
        });
        if end.cc.subflows[i].cwnd != before {
            self.integrate_cwnd(before, now_ns);
        }
    }

    /// Reports a timeout: the window is one packet and everything counts as lost. The controller
    /// may restore it.
    #[cold]
    pub(super) fn tell_of_timeout(&mut self, cx: &Context<'_>, end: &mut SenderEnd) {
        self.held_until_ns = 0;
        self.tell_of(cx, end, AckFlags::TIMED_OUT);
    }

    /// The controller's memory; zero if the sender keeps the window.
    pub(crate) fn area(&self) -> Area {
        self.owned
            .as_ref()
            .map_or_else(Area::default, |owned| owned.area)
    }

    /// Releases held segments and clears the timer: the subflow is closed.
    pub(crate) fn stop_pacing(&mut self) {
        self.held_until_ns = 0;
        if let Some(owned) = &mut self.owned {
            owned.timer.clear();
        }
    }

    /// Whether pacing holds the next segment back.
    #[inline(always)]
    pub(crate) fn is_held(&self, now_ns: u64) -> bool {
        now_ns < self.held_until_ns
    }

    /// Sets the timer for the next departure if pacing alone holds a segment back. If there is no
    /// more data instead, records that (`tcp_rate_check_app_limited`).
    #[inline(always)]
    pub(crate) fn wait_for_release(&mut self, end: &SenderEnd, clock: &mut Clock<'_>) {
        let (i, in_flight) = (self.id.index(), self.board.in_flight());
        let Some(owned) = &mut self.owned else { return };
        if !self.phase.is_open() || in_flight >= end.cc.subflows[i].cwnd {
            return;
        }
        if clock.now_ns < self.held_until_ns {
            owned
                .timer
                .set(self.held_until_ns, clock.source, clock.queue);
        } else if !self.board.has_repairs() {
            owned.app_limited = owned.delivered.wrapping_add(in_flight).max(1);
        }
    }
}

impl Sender<'_> {
    /// Call after sending everything that windows and pacing admit.
    #[inline(never)]
    pub(super) fn wait_for_releases(&mut self) {
        for i in 0..self.subflows.len() {
            let (subflow, cx, end) = self.split(i);
            subflow.wait_for_release(end, &mut cx.release_clock(i));
        }
    }

    /// Reports that subflow `i` is established.
    pub(crate) fn tell_of_start(&mut self, i: usize) {
        let (subflow, cx, end) = self.split(i);
        if subflow.owned.is_some() {
            subflow.tell_of(cx, end, AckFlags::STARTS);
        }
    }

    /// Lets subflow `i`'s controller act on a [command](joulepath_controllers::Command) that it has
    /// received.
    pub(crate) fn obey(&mut self, i: usize) {
        let (subflow, cx, end) = self.split(i);
        subflow.tell_of(cx, end, AckFlags::NONE);
        self.push();
    }

    /// Handles the departure timer of subflow `i`.
    #[cold]
    pub(crate) fn release(&mut self, i: usize) {
        let (subflow, cx, end) = self.split(i);
        if subflow.congestion != Congestion::Open {
            subflow.repair(cx, end);
        }
        subflow.refresh_view(cx, end);
        self.push();
    }
}
