//! ECF, earliest completion first (Lim, Nahum, Towsley, Gibbens, CoNEXT 2017), as in the
//! out-of-tree Linux module `ecf`.
//!
//! ```text
//!   f: smallest RTT of all     s: smallest RTT with window space
//!   k: segments not yet sent   σ: larger RTT variation
//!
//!   (1 + max(k, w_f)/w_f) τ_f  <  (τ_s + σ)(1 + β·waiting)     f is done sooner although it must wait, and
//!   (max(k, w_s)/w_s) τ_s      ≥  2 τ_f + σ                    s is not done before f:     ⇒ wait for f
//! ```
//! Deviations: packets replace bytes (all subflows have one MSS).

use joulepath_model::units::Nanos;

use super::rescue::{self, Rescue, Rescuer};
use super::scheduler::{Features, PacketScheduler, Style};
use super::view::{Backlog, PathView, Placement, fastest, fastest_with_space};
use crate::options::{OptionError, PartInfo};

/// 1/β: a decision to wait has a hysteresis of 25 %.
const INVERSE_BETA: u64 = 4;

/// Sends a segment on the slow subflow only if it completes there sooner than on the fast one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ecf {
    /// Opportunistic retransmission and penalisation, kept from `minrtt`.
    pub rescuer: Rescuer,
    waiting: bool,
}

impl PacketScheduler for Ecf {
    const INFO: PartInfo = PartInfo::verified(
        "ecf",
        "waits for the fastest subflow if it completes sooner than a free slow one",
        rescue::OPTIONS,
        "Lim et al. 2017",
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
        if s != f && self.waits(&paths[f], &paths[s], backlog.unsent) {
            return None;
        }
        Some(Placement {
            path: s,
            dsn: backlog.next,
        })
    }

    fn rescue(&mut self, paths: &[PathView], now: Nanos, carried: u8) -> Option<Rescue> {
        self.rescuer.rescue(paths, now, carried)
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), OptionError> {
        self.rescuer.set(&Self::INFO, option, value)
    }
}

impl Ecf {
    /// True if waiting for `f` is better than sending on `s`.
    fn waits(&mut self, f: &PathView, s: &PathView, unsent: u32) -> bool {
        if !self.fast_is_done_sooner(f, s, unsent) {
            self.waiting = false;
            return false;
        }
        let waits = slow_is_done_later(f, s, unsent);
        self.waiting |= waits;
        waits
    }

    fn fast_is_done_sooner(&self, f: &PathView, s: &PathView, unsent: u32) -> bool {
        let (w_f, k) = (u64::from(f.cwnd), u64::from(unsent.max(f.cwnd)));
        let slow_us = u64::from(s.srtt_us) + variation_us(f, s);
        let factor = INVERSE_BETA + u64::from(self.waiting);
        INVERSE_BETA * u64::from(f.srtt_us) * (k + w_f) < w_f * slow_us * factor
    }
}

fn slow_is_done_later(f: &PathView, s: &PathView, unsent: u32) -> bool {
    let (w_s, k) = (u64::from(s.cwnd), u64::from(unsent.max(s.cwnd)));
    u64::from(s.srtt_us) * k >= w_s * (2 * u64::from(f.srtt_us) + variation_us(f, s))
}

fn variation_us(f: &PathView, s: &PathView) -> u64 {
    f.rtt.var_us.max(s.rtt.var_us).into()
}
