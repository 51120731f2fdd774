//! `overflow`: the cheapest path alone; the next one only while it is full; back when the load fits
//! again.
//!
//! ```text
//!                  data waits longer than PATIENCE, for `full_after`
//!      k paths  ─────────────────────────────────────────────────────►  k + 1 paths
//!         ▲                                                              │     ▲
//!         │ TRIAL has passed                  nothing waits, `close_after`│     │ data waits: the next trial
//!         └──────────────────────  trial: the last is a backup  ◄────────┘─────┘ comes twice as late
//! ```
//! The return is a trial, because the present rates of paths that are not full are unknown. Not
//! from a paper: users of multi-homed devices ask for it, and no stock system offers it.

use joulepath_model::units::Nanos;

use super::selector::{LOOK, PathSelector};
use super::snapshot::{Demand, Snapshot};
use super::uses::{Use, Uses, only};
use crate::options::{self, OptionError, PartInfo};

/// Data that takes longer than this to drain is too much for the paths, s.
const PATIENCE_S: f64 = 0.5;
/// Time for which the last path is a backup before it closes.
const TRIAL: Nanos = Nanos::from_secs(2);
/// Maximum time between two trials.
const RAREST_TRIAL: Nanos = Nanos::from_secs(60);

/// Fills the cheapest paths first.
#[derive(Clone, Debug, PartialEq)]
pub struct Overflow {
    /// The next path opens after the others have been full for this long.
    pub full_after: Nanos,
    /// The last path becomes a backup on trial after no data has waited for this long.
    pub close_after: Nanos,
    /// Number of paths in use, the cheapest first.
    used: usize,
    /// Order of use: the cheapest first, by the costs at the start.
    order: Vec<usize>,
    full_since: Option<Nanos>,
    idle_since: Option<Nanos>,
    /// Start of the trial in which the last path is a backup.
    trial: Option<Nanos>,
    /// Time without waiting data before the next trial, if not `close_after`.
    retry: Option<Nanos>,
}

impl Default for Overflow {
    fn default() -> Self {
        Overflow {
            full_after: Nanos::from_secs(1),
            close_after: Nanos::from_secs(5),
            used: 1,
            order: vec![],
            full_since: None,
            idle_since: None,
            trial: None,
            retry: None,
        }
    }
}

/// True if `holds` has been true for at least `time`; `since` stores the start.
fn lasted(since: &mut Option<Nanos>, holds: bool, now: Nanos, time: Nanos) -> bool {
    if !holds {
        *since = None;
        return false;
    }
    now.saturating_sub(*since.get_or_insert(now)) >= time
}

impl PathSelector for Overflow {
    const INFO: PartInfo = PartInfo::verified(
        "overflow",
        "the cheapest path; the next only while the cheaper ones are full",
        &["full_after", "close_after"],
        "Joulepath",
    );

    fn want(&mut self, snapshot: &Snapshot) -> Uses {
        if self.order.is_empty() {
            self.order = snapshot.by_cost();
        }
        let usable = snapshot.usable();
        let order: Vec<usize> = self
            .order
            .iter()
            .copied()
            .filter(|i| usable.contains(i))
            .collect();
        self.used = self.used.clamp(1, order.len());
        let full = is_full(snapshot, &order[..self.used]);
        self.step(snapshot.now, full, order.len());
        let mut uses = only(&order[..self.used], Use::Closed);
        if self.trial.is_some() {
            uses[order[self.used - 1]] = Use::Backup;
        }
        uses
    }

    fn period(&self, _snapshot: &Snapshot) -> Nanos {
        LOOK
    }

    fn set(
        &mut self,
        option: &str,
        value: &str,
        _paths: Option<&[&str]>,
    ) -> Result<(), OptionError> {
        match option {
            "full_after" => self.full_after = options::time("full_after", value)?,
            "close_after" => self.close_after = options::time("close_after", value)?,
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

impl Overflow {
    fn step(&mut self, now: Nanos, full: bool, paths: usize) {
        let wait = self.retry.unwrap_or(self.close_after);
        let is_full = lasted(&mut self.full_since, full, now, self.full_after);
        let is_idle = lasted(&mut self.idle_since, !full, now, wait);
        match self.trial {
            Some(_) if is_full => {
                self.trial = None;
                self.retry =
                    Some(Nanos(wait.0.saturating_mul(2)).min(RAREST_TRIAL.max(self.close_after)));
            }
            Some(since) if !full && now.saturating_sub(since) >= TRIAL => {
                self.used -= 1;
                (self.trial, self.retry) = (None, None);
            }
            Some(_) => return,
            None if is_full && self.used < paths => self.used += 1,
            None if is_idle && self.used > 1 => self.trial = Some(now),
            None => return,
        }
        (self.full_since, self.idle_since) = (None, None);
    }
}

/// True if the waiting data takes the paths in use too long.
fn is_full(snapshot: &Snapshot, used: &[usize]) -> bool {
    let Demand::Bytes(bytes) = snapshot.demand else {
        return true;
    };
    let rate_bps: f64 = used.iter().map(|&i| snapshot.paths[i].rate_bps).sum();
    bytes * 8.0 > PATIENCE_S * rate_bps && bytes > snapshot.initial_window * snapshot.mss_bytes
}
