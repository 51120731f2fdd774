//! The congestion windows: the project's controllers act once per slot.
//!
//! ```text
//!   batch sent in slot s ──one RTT──► its ACKs: cwnd grows if the window held the batch, outside recovery
//!                                └──► a loss: cwnd ← ssthresh, once a window; recovery until it is acked
//! ```
//! Losses are always detected by duplicate ACKs: there are no timeouts.

use joulepath_controllers::{Ack, AckFlags, Connection, Controller, LossKind, Subflow};
use joulepath_model::units::Nanos;

use crate::params::{Params, Windows};

/// The packets that a path sent in one slot, when their ACKs return.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Batch {
    /// The slot in which they were sent.
    pub(crate) slot: u64,
    /// Number of transmissions that arrived.
    pub(crate) acked: u32,
    /// Number of transmissions that were lost.
    pub(crate) lost: u32,
    /// Whether the window was the limit, not the data.
    pub(crate) is_held: bool,
    /// The RTT of these packets.
    pub(crate) rtt: Nanos,
}

/// The windows of all paths.
pub(crate) enum WindowState {
    Fixed(Vec<f64>),
    Controlled(Box<Controlled>),
}

pub(crate) struct Controlled {
    controller: Controller,
    connection: Connection,
    /// Per path: the slot of the last reduction, and the slot from which the next RTT round counts.
    reduced: Vec<Option<u64>>,
    round_from: Vec<u64>,
    /// Number of reductions of each path so far.
    pub(crate) loss_events: Vec<u64>,
}

impl WindowState {
    pub(crate) fn new(params: &Params) -> Self {
        let controller = match &params.windows {
            Windows::Fixed(windows) => return WindowState::Fixed(windows.clone()),
            Windows::Controlled(controller) => *controller,
        };
        let n = params.paths.len();
        let mut connection = Connection::new(n);
        for (i, path) in params.paths.iter().enumerate() {
            let subflow = &mut connection.subflows[i];
            subflow.cwnd = params.initial_window;
            subflow.srtt_us = srtt_us(path.rtt);
            // The selector decides later which subflows stay open.
            subflow.flags = Subflow::ESTABLISHED;
            controller.init(&mut connection, i);
        }
        let zeros = vec![0; n];
        WindowState::Controlled(Box::new(Controlled {
            controller,
            connection,
            reduced: vec![None; n],
            round_from: zeros.clone(),
            loss_events: zeros,
        }))
    }

    /// w_i, packets.
    pub(crate) fn window(&self, i: usize) -> f64 {
        match self {
            WindowState::Fixed(windows) => windows[i],
            WindowState::Controlled(state) => state.connection.subflows[i].cwnd.into(),
        }
    }

    /// Number of reductions of path `i` so far.
    pub(crate) fn loss_events(&self, i: usize) -> u64 {
        match self {
            WindowState::Fixed(_) => 0,
            WindowState::Controlled(state) => state.loss_events[i],
        }
    }

    /// Opens or closes path `i`'s subflow. Controllers couple open subflows.
    pub(crate) fn set_open(&mut self, i: usize, is_open: bool) {
        let WindowState::Controlled(state) = self else {
            return;
        };
        let flags = &mut state.connection.subflows[i].flags;
        *flags = if is_open {
            *flags | Subflow::ESTABLISHED
        } else {
            *flags & !Subflow::ESTABLISHED
        };
    }

    /// Processes the ACKs of `batch`, which arrive at path `i` in slot `now`, at `now_us`.
    pub(crate) fn acknowledge(&mut self, i: usize, batch: Batch, now: u64, now_us: u64) {
        let WindowState::Controlled(state) = self else {
            return;
        };
        state.connection.now_us = now_us;
        let recovers = state.reduced[i].is_some_and(|slot| batch.slot < slot);
        let subflow = &mut state.connection.subflows[i];
        if !recovers {
            subflow.flags &= !Subflow::RECOVERY;
        }
        let rtt_us = srtt_us(batch.rtt);
        subflow.srtt_us = (7 * subflow.srtt_us + rtt_us) / 8;
        if batch.acked > 0 {
            let ends = batch.slot >= state.round_from[i];
            if ends {
                state.round_from[i] = now;
            }
            let flags = AckFlags::NONE
                .with(AckFlags::CWND_LIMITED, batch.is_held)
                .with(AckFlags::ROUND_END, ends);
            state.controller.on_ack(
                &mut state.connection,
                i,
                Ack {
                    acked: batch.acked,
                    rtt_us,
                    flags,
                },
            );
        }
        if batch.lost > 0 && !recovers {
            let ssthresh =
                state
                    .controller
                    .on_loss(&mut state.connection, i, LossKind::FastRetransmit);
            let subflow = &mut state.connection.subflows[i];
            (subflow.ssthresh, subflow.cwnd) = (ssthresh, ssthresh);
            subflow.flags |= Subflow::RECOVERY;
            state.reduced[i] = Some(now);
            state.loss_events[i] += 1;
        }
    }
}

/// Whole microseconds, at least 1, because 0 means "no sample".
fn srtt_us(rtt: Nanos) -> u32 {
    u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX).max(1)
}
