//! The proactive scheduler of 004, Algorithm 2: a slow path carries segments that are due at their
//! arrival.
//!
//! ```text
//!   path: the first with space.         D_i = τ_i/2,  t_i = τ_i/w_i,  fast: the least D
//!   fast:  DSN = F + 1,                            F ← DSN
//!   slow:  DSN = F + max(1, round((D_s − D_f)/t_f))          + round(j t_s/t_f)  with `spaced`
//! ```
//! F is the last DSN of the fast path, j the number of segments that the slow path has taken since
//! F moved. The literal algorithm gives consecutive slow segments adjacent DSNs, although they
//! arrive t_s apart: `spaced` fixes that. A DSN already sent moves up by one; a DSN beyond data or
//! window moves down to the last unsent one.
//!
//! Deviations: with more than two paths, one is fast and the others are slow; τ/2 replaces the
//! one-way delay.

use joulepath_controllers::MAX_SUBFLOWS;

use super::first_free::first_free;
use super::scheduler::{Features, PacketScheduler, Style};
use super::view::{Backlog, PathView, Placement, candidates, fastest, members};
use crate::options::{self, OptionError, PartInfo};

/// Sends later segments on slow paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proactive {
    /// Whether consecutive slow segments are spaced by their arrival times.
    pub spaced: bool,
    /// F + 1.
    after_fast: u32,
    fast: usize,
    /// Segments taken by each path since F moved.
    taken: [u32; MAX_SUBFLOWS],
}

/// a/b to the nearest integer, b > 0.
fn rounded(a: u64, b: u64) -> u32 {
    u32::try_from((2 * a + b) / (2 * b)).unwrap_or(u32::MAX)
}

impl PacketScheduler for Proactive {
    const INFO: PartInfo = PartInfo::verified(
        "proactive",
        "first subflow with space; slow ones carry segments that are due when they arrive",
        &["spaced"],
        "004, Algorithm 2",
    );
    const FEATURES: Features = Features {
        style: Style::Places,
        weighs_backlog: true,
        watches_rtt: false,
        wants_allotment: false,
    };

    fn new(_mss_bytes: u32) -> Self {
        Self::default()
    }

    fn pick(&mut self, paths: &[PathView], carried: u8, _segment_bytes: u32) -> Option<usize> {
        first_free(paths, carried)
    }

    fn place(
        &mut self,
        paths: &[PathView],
        _segment_bytes: u32,
        backlog: &Backlog,
    ) -> Option<Placement> {
        let usable = candidates(paths, PathView::is_usable);
        let path = members(usable).find(|&i| paths[i].has_space())?;
        self.fast = fastest(paths)?;
        let after_fast = self.after_fast.max(backlog.next);
        let ahead = if path == self.fast {
            0
        } else {
            self.increment(paths, path) - 1
        };
        Some(Placement {
            path,
            dsn: after_fast.saturating_add(ahead),
        })
    }

    fn placed(&mut self, placement: Placement) {
        if placement.path == self.fast {
            self.after_fast = placement.dsn + 1;
            self.taken = [0; MAX_SUBFLOWS];
        } else {
            self.taken[placement.path] += 1;
        }
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), OptionError> {
        match option {
            "spaced" => self.spaced = options::switch("spaced", value)?,
            _ => {
                return Err(OptionError::unknown_option(
                    Self::INFO.name,
                    option,
                    Self::INFO.options,
                ));
            }
        }
        Ok(())
    }
}

impl Proactive {
    /// Δ_dsn of a slow path, at least 1.
    fn increment(&self, paths: &[PathView], slow: usize) -> u32 {
        let (f, s) = (&paths[self.fast], &paths[slow]);
        let [w_f, w_s] = [f, s].map(|path| u64::from(path.cwnd.max(1)));
        let [tau_f, tau_s] = [f, s].map(|path| u64::from(path.srtt_us.max(1)));
        let delay = rounded((tau_s - tau_f) * w_f, 2 * tau_f).max(1);
        if !self.spaced {
            return delay;
        }
        delay.saturating_add(rounded(
            u64::from(self.taken[slow]) * tau_s * w_f,
            w_s * tau_f,
        ))
    }
}
