//! BLEST, blocking estimation (Ferlin, Alay, Mehani, Boreli, IFIP Networking 2016), as in the
//! out-of-tree Linux module `blest`.
//!
//! ```text
//!   f: smallest RTT of all    s: smallest RTT with window space    T: time that the segment lingers on s
//!
//!   λ · (packets that f would send within T)  >  data-level window − (in flight on s + 1)   ⇒   wait for f
//! ```
//! λ grows if the connection was blocked nevertheless, and falls if it was not.
//!
//! Deviations: packets replace bytes (all subflows have one MSS).

use joulepath_controllers::SSTHRESH_NONE;
use joulepath_model::units::Nanos;

use super::rescue::{self, Rescue, Rescuer};
use super::scheduler::{Features, PacketScheduler, Style};
use super::view::{Backlog, PathView, Placement, fastest, fastest_with_space};
use crate::options::{OptionError, PartInfo};

/// λ in thousandths: start, bounds, and its change per RTT with or without blocking.
const LAMBDA_START: u64 = 1_200;
const LAMBDA_MIN: u64 = 1_000;
const LAMBDA_MAX: u64 = 1_300;
const LAMBDA_RISE: u64 = 40;
const LAMBDA_FALL: u64 = 10;
const LAMBDA_ONE: u64 = 1_000;
/// Maximum number of window doublings in the forecast.
const MAX_DOUBLINGS: u64 = 16;

/// Waits for the fast subflow if a slow segment would block the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blest {
    /// Opportunistic retransmission and penalisation, kept from `minrtt`.
    pub rescuer: Rescuer,
    lambda: u64,
    updated: Nanos,
    /// The rescue has acted since λ was last updated.
    blocked: bool,
}

impl Default for Blest {
    fn default() -> Self {
        Blest {
            rescuer: Rescuer::default(),
            lambda: LAMBDA_START,
            updated: Nanos::ZERO,
            blocked: false,
        }
    }
}

/// Packets that `f` sends in `rounds` of its RTT.
fn packets_within(f: &PathView, rounds: u64) -> u64 {
    let (cwnd, ssthresh) = (u64::from(f.cwnd), u64::from(f.ssthresh));
    if f.ssthresh >= SSTHRESH_NONE {
        return cwnd * ((1 << rounds.min(MAX_DOUBLINGS)) - 1);
    }
    // w rises by one each round from max(w, ssthresh + 1) on: the sum of an arithmetic series.
    (2 * cwnd.max(ssthresh + 1) + rounds - 1) * rounds / 2
}

/// Time that a segment stays on `s`, µs: interpolated between its minimum and maximum RTT by its
/// window's fill.
fn linger_us(s: &PathView) -> u64 {
    let span = u64::from(s.rtt.max_us.saturating_sub(s.rtt.min_us));
    let filled = span * u64::from(s.in_flight + 1) / u64::from(s.cwnd.max(1));
    (u64::from(s.rtt.min_us) + filled).max(u64::from(s.srtt_us))
}

impl PacketScheduler for Blest {
    const INFO: PartInfo = PartInfo::verified(
        "blest",
        "waits for the fastest subflow if a slow segment would block the window",
        rescue::OPTIONS,
        "Ferlin et al. 2016",
    );
    const FEATURES: Features = Features {
        style: Style::Plain,
        weighs_backlog: true,
        watches_rtt: true,
        wants_allotment: false,
    };

    fn new(_mss_bytes: u32) -> Self {
        Self::default()
    }

    fn pick(&mut self, paths: &[PathView], carried: u8, _segment_bytes: u32) -> Option<usize> {
        fastest_with_space(paths, carried)
    }

    fn place(
        &mut self,
        paths: &[PathView],
        _segment_bytes: u32,
        backlog: &Backlog,
    ) -> Option<Placement> {
        let s = fastest_with_space(paths, 0)?;
        let f = fastest(paths)?;
        if s != f {
            self.update_lambda(&paths[s], backlog.now);
            if self.would_block(&paths[f], &paths[s], backlog) {
                return None;
            }
        }
        Some(Placement {
            path: s,
            dsn: backlog.next,
        })
    }

    fn rescue(&mut self, paths: &[PathView], now: Nanos, carried: u8) -> Option<Rescue> {
        let rescue = self.rescuer.rescue(paths, now, carried);
        self.blocked |= rescue.is_some();
        rescue
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), OptionError> {
        self.rescuer.set(&Self::INFO, option, value)
    }
}

impl Blest {
    /// True if sending on `s` leaves too little of the window for the packets that `f` could send
    /// meanwhile.
    fn would_block(&self, f: &PathView, s: &PathView, backlog: &Backlog) -> bool {
        let mean_us = (u64::from(f.rtt.min_us) + u64::from(f.rtt.max_us)) / 2;
        let rounds = linger_us(s) / mean_us.max(1) + 1;
        let left = u64::from(backlog.window).saturating_sub(u64::from(s.in_flight) + 1);
        self.lambda * packets_within(f, rounds) > LAMBDA_ONE * left
    }

    fn update_lambda(&mut self, s: &PathView, now: Nanos) {
        if now.saturating_sub(self.updated) < Nanos::from_micros(s.rtt.min_us.into()) {
            return;
        }
        self.updated = now;
        self.lambda = if std::mem::take(&mut self.blocked) {
            (self.lambda + LAMBDA_RISE).min(LAMBDA_MAX)
        } else {
            (self.lambda - LAMBDA_FALL).max(LAMBDA_MIN)
        };
    }
}
