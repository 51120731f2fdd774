//! ECF, earliest completion first (Lim, Nahum, Towsley, Gibbens, CoNEXT 2017), as the out-of-tree Linux module `ecf`.
//!
//! ```text
//!   f: smallest RTT of all     s: smallest RTT with window space     k: segments not yet sent     σ: larger RTT variation
//!
//!   (1 + max(k, w_f)/w_f) τ_f  <  (τ_s + σ)(1 + β·waiting)        f is done sooner, even though it must wait, and
//!   (max(k, w_s)/w_s) τ_s      ≥  2 τ_f + σ                       s would not be done before f:        ⇒ wait for f
//! ```
//! Deviations: packets stand for bytes (all subflows have one MSS).

use joulepath_model::units::Nanos;

use super::{Backlog, MinRtt, PathView, Rescue, fastest, min_rtt};

/// 1/β: the hysteresis of a decision to wait is 25 %.
const INVERSE_BETA: u64 = 4;

/// Sends on the slow subflow only what it completes sooner than the fast one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ecf {
    /// Opportunistic retransmission and penalisation, kept from `minrtt`.
    pub rescue: MinRtt,
    waiting: bool,
}

impl Ecf {
    pub(super) fn place(&mut self, paths: &[PathView], backlog: &Backlog) -> Option<usize> {
        let s = min_rtt::pick(paths, 0)?;
        let f = fastest(paths)?;
        if s == f {
            return Some(s);
        }
        let waits = self.fast_is_done_sooner(&paths[f], &paths[s], backlog.unsent);
        if !waits {
            self.waiting = false;
            return Some(s);
        }
        if slow_is_done_later(&paths[f], &paths[s], backlog.unsent) {
            self.waiting = true;
            return None;
        }
        Some(s)
    }

    fn fast_is_done_sooner(&self, f: &PathView, s: &PathView, unsent: u32) -> bool {
        let (w_f, k) = (u64::from(f.cwnd), u64::from(unsent.max(f.cwnd)));
        let slow_us = u64::from(s.srtt_us) + variation_us(f, s);
        let factor = INVERSE_BETA + u64::from(self.waiting);
        INVERSE_BETA * u64::from(f.srtt_us) * (k + w_f) < w_f * slow_us * factor
    }

    pub(super) fn rescue(&mut self, paths: &[PathView], now: Nanos, carried: u8) -> Option<Rescue> {
        self.rescue.rescue(paths, now, carried)
    }
}

fn slow_is_done_later(f: &PathView, s: &PathView, unsent: u32) -> bool {
    let (w_s, k) = (u64::from(s.cwnd), u64::from(unsent.max(s.cwnd)));
    u64::from(s.srtt_us) * k >= w_s * (2 * u64::from(f.srtt_us) + variation_us(f, s))
}

fn variation_us(f: &PathView, s: &PathView) -> u64 {
    f.rtt.var_us.max(s.rtt.var_us).into()
}
