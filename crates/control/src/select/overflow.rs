//! `overflow`: the cheapest path alone; the next one only when it is full; back when the load fits again.
//!
//! ```text
//!                  data waits longer than PATIENCE, for `full_after`
//!      k paths  ─────────────────────────────────────────────────────►  k + 1 paths
//!               ◄─────────────────────────────────────────────────────
//!                  rate below 80 % of what the first k carry, for `close_after`
//! ```
//! Not from a paper: what users of multi-homed devices ask for, and no stock system gives them.

use joulepath_model::units::Nanos;

use super::{Demand, Snapshot, Use, Uses, only};

/// Data that would take longer than this to drain is too much for the paths, s.
const PATIENCE_S: f64 = 0.5;
/// A path closes when the others would be less busy than this.
const FITS: f64 = 0.8;

/// Fills the cheapest paths first.
#[derive(Clone, Debug, PartialEq)]
pub struct Overflow {
    /// The next path opens after the others were full for so long.
    pub full_after: Nanos,
    /// The last path closes after the others would have sufficed for so long.
    pub close_after: Nanos,
    /// Paths in use, the cheapest ones.
    used: usize,
    /// The order in which they are used: the cheapest first, as far as was known at the start.
    order: Vec<usize>,
    full_since: Option<Nanos>,
    fits_since: Option<Nanos>,
}

impl Default for Overflow {
    fn default() -> Self {
        Overflow {
            full_after: Nanos::from_secs(1),
            close_after: Nanos::from_secs(5),
            used: 1,
            order: vec![],
            full_since: None,
            fits_since: None,
        }
    }
}

/// Whether `holds` has held since an instant that is at least `time` ago; `since` remembers it.
fn lasted(since: &mut Option<Nanos>, holds: bool, now: Nanos, time: Nanos) -> bool {
    if !holds {
        *since = None;
        return false;
    }
    now.saturating_sub(*since.get_or_insert(now)) >= time
}

impl Overflow {
    pub(super) fn want(&mut self, snapshot: &Snapshot) -> Uses {
        if self.order.is_empty() {
            self.order = snapshot.by_cost();
        }
        let usable = snapshot.usable();
        let order: Vec<usize> = self.order.iter().copied().filter(|i| usable.contains(i)).collect();
        self.used = self.used.clamp(1, order.len());
        let (now, used) = (snapshot.now, &order[..self.used]);
        let full = is_full(snapshot, used);
        if lasted(&mut self.full_since, full, now, self.full_after) && self.used < order.len() {
            self.used += 1;
            (self.full_since, self.fits_since) = (None, None);
        } else {
            let fits = self.used > 1 && !full && would_fit(snapshot, &order[..self.used - 1]);
            if lasted(&mut self.fits_since, fits, now, self.close_after) {
                self.used -= 1;
                (self.full_since, self.fits_since) = (None, None);
            }
        }
        only(&order[..self.used], Use::Closed)
    }
}

/// Whether what waits takes the paths in use too long.
fn is_full(snapshot: &Snapshot, used: &[usize]) -> bool {
    let Demand::Bytes(bytes) = snapshot.demand else { return true };
    let rate_bps: f64 = used.iter().map(|&i| snapshot.paths[i].rate_bps).sum();
    bytes * 8.0 > PATIENCE_S * rate_bps && bytes > snapshot.initial_window * snapshot.mss_bytes
}

/// Whether all paths together carry less than `fewer` could.
fn would_fit(snapshot: &Snapshot, fewer: &[usize]) -> bool {
    let rate_bps: f64 = snapshot.paths.iter().map(|path| path.rate_bps).sum();
    rate_bps < FITS * fewer.iter().map(|&i| snapshot.paths[i].capacity_bps).sum::<f64>()
}
