//! Path selection: what a selector wants becomes handshakes, MP_PRIO and closed subflows.
//!
//! ```text
//!   device decides:   SYN + MP_JOIN ──► …            an open subflow (`handshake.rs`)
//!                     MP_PRIO ──► the sender sees another backup flag
//!                     FIN ──► the sender gives it nothing new; when all is acknowledged, or after a timeout, it is closed
//! ```
//! Deviations: MP_PRIO and FIN cross the path once, the answer is not modelled; one that is lost is sent again at a later look.

use joulepath_control::select::{Action, Counters, Demand, Observer, PathState, Selector, Snapshot, Use};
use joulepath_model::scenario::Workload;
use joulepath_model::units::Nanos;

use crate::connection::Connection;
use crate::lane::{Common, Lane};
use crate::packet::{Kind, Packet, Tick};
use crate::subflow::{Congestion, Phase, Subflow};

/// A subflow that repeats in vain so often does not answer.
pub(crate) const STALLED_AFTER: u32 = 2;

/// A selector and what it sees.
pub(crate) struct Selection {
    pub(crate) selector: Selector,
    pub(crate) observer: Observer,
    /// What the device burns besides, W.
    pub(crate) base_w: f64,
}

impl Selection {
    /// How it wants the paths used before anything is known.
    pub(crate) fn start(&mut self, workload: Workload, common: &Common) -> Vec<Use> {
        let demand = Demand::before(workload);
        let Selection { selector, observer, base_w } = self;
        let uses = selector.want(&snapshot(common, *base_w, Nanos::ZERO, demand, observer));
        uses[..observer.paths().len()].to_vec()
    }
}

fn snapshot<'a>(
    common: &Common,
    base_w: f64,
    now: Nanos,
    demand: Demand,
    observer: &'a Observer,
) -> Snapshot<'a> {
    Snapshot {
        now,
        mss_bytes: common.transport.mss.0 as f64,
        initial_window: common.transport.initial_window.into(),
        base_w,
        demand,
        paths: observer.paths(),
    }
}

/// What `TCP_INFO` would tell of each subflow.
pub(crate) fn counters(connection: &Connection, subflows: &[Subflow]) -> Vec<Counters> {
    let counters = |(i, subflow): (usize, &Subflow)| {
        let window = &connection.cc.subflows[i];
        let repeats = subflow.rtt.timeouts_in_a_row().max(subflow.handshake_tries);
        let waits = matches!(subflow.phase, Phase::SynSent | Phase::Confirming)
            || subflow.congestion == Congestion::Loss;
        Counters {
            state: match subflow.phase {
                Phase::Closed | Phase::Dead => PathState::Closed,
                Phase::SynSent | Phase::Confirming => PathState::Opening,
                Phase::Established => PathState::Open,
                Phase::Closing => PathState::Closing,
            },
            backup: connection.views[i].backup,
            stalled: waits && repeats >= STALLED_AFTER,
            srtt: Nanos::from_micros(window.srtt_us.into()),
            cwnd: window.cwnd,
            delivered_bytes: subflow.stats.first_copy_bytes,
            loss_events: subflow.stats.loss_events,
        }
    };
    subflows.iter().enumerate().map(counters).collect()
}

impl Lane<'_> {
    /// What the application has written and not had delivered.
    pub(crate) fn demand(&self) -> Demand {
        let connection = &*self.connection;
        if connection.application.is_endless() {
            return Demand::Endless;
        }
        let segments = connection.application.written() - connection.sender.una();
        Demand::Bytes(f64::from(segments) * self.common.transport.mss.0 as f64)
    }

    /// The selector looks at the paths, and what it wants is done.
    pub(crate) fn look(&mut self) {
        let Some(mut selection) = self.connection.selection.take() else { return };
        let (now, demand) = (self.now(), self.demand());
        selection.observer.observe(now, &counters(self.connection, self.subflows), demand);
        let snapshot = snapshot(self.common, selection.base_w, now, demand, &selection.observer);
        let actions = selection.selector.decide(&snapshot);
        let period = selection.selector.period(&snapshot);
        self.connection.selection = Some(selection);
        for action in actions {
            match action {
                Action::Open(i) => self.open_again(i),
                Action::Close(i) => self.ask_to_close(i),
                Action::SetBackup(i, backup) => self.ask_for_priority(i, backup),
            }
        }
        let source = self.common.sources.look(self.index);
        self.connection.look_timer.set(self.now_ns + period.0, source, &mut self.net.queue);
    }

    fn ask_for_priority(&mut self, i: usize, backup: bool) {
        if self.subflows[i].phase != Phase::Established {
            // MP_JOIN will say it.
            self.connection.views[i].backup = backup;
        } else if self.may_ask(i) {
            self.send_control(i, Kind::Priority, Tick::at(self.now_ns), u32::from(backup));
            if !self.downloads() {
                self.connection.views[i].backup = backup;
            }
        }
    }

    fn ask_to_close(&mut self, i: usize) {
        match self.subflows[i].phase {
            Phase::Established => self.send_leave(i),
            Phase::SynSent | Phase::Confirming => self.finish_closing(i),
            _ => {}
        }
    }

    fn send_leave(&mut self, i: usize) {
        if !self.may_ask(i) {
            return;
        }
        self.send_control(i, Kind::Leave, Tick::at(self.now_ns), 0);
        if !self.downloads() {
            self.begin_closing(i);
        }
    }

    /// Whether the last wish is old enough to have been lost; if so, there will be another one now.
    fn may_ask(&mut self, i: usize) -> bool {
        let subflow = &mut self.subflows[i];
        let may = self.now_ns >= subflow.asked_until_ns;
        if may {
            subflow.asked_until_ns = self.now_ns + subflow.rtt.rto_ns();
        }
        may
    }

    /// A wish of the device has reached the sender of a download.
    pub(crate) fn receive_wish(&mut self, i: usize, packet: Packet) {
        if !self.downloads() || self.subflows[i].phase != Phase::Established {
            return;
        }
        if packet.kind == Kind::Leave {
            return self.begin_closing(i);
        }
        self.connection.views[i].backup = packet.ssn == 1;
        self.push();
    }

    /// The sender gives the subflow nothing new.
    fn begin_closing(&mut self, i: usize) {
        self.subflows[i].phase = Phase::Closing;
        self.connection.views[i].established = false;
        for (dsn, _) in std::mem::take(&mut self.connection.committed[i]) {
            self.connection.sender.reinject(dsn);
        }
        self.close_if_drained(i);
        self.push();
    }

    /// A closing subflow is closed when everything has been acknowledged.
    #[cold]
    pub(crate) fn close_if_drained(&mut self, i: usize) {
        if self.subflows[i].board.is_empty() {
            self.finish_closing(i);
        }
    }

    /// What a closing subflow could not bring in time travels on another one.
    pub(crate) fn abandon(&mut self, i: usize) {
        self.reinject_outstanding(i);
        self.finish_closing(i);
        self.push();
    }

    pub(crate) fn finish_closing(&mut self, i: usize) {
        self.close(i);
        let subflow = &mut self.subflows[i];
        subflow.phase = Phase::Closed;
        subflow.wanted = false;
        subflow.epoch = subflow.epoch.wrapping_add(1);
        self.connection.sender.forget_carrier(i);
        self.connection.scheduler.forget(i);
    }
}
