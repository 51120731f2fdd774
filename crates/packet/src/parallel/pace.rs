//! Whether the parts run in parallel or in turn in one thread.
//!
//! Parallel is faster on free cores. On busy cores each thread waits, in every window, until the
//! system has given all threads a core, and one thread is faster. So both modes are tried
//! repeatedly for a short time, and the faster one is used for a long time. The number of threads
//! does not change the result.

use crate::run::options::Cores;

/// Number of steps after which a lone thread checks whether to stay alone.
pub(super) const STEPS_A_LOOK: usize = 16;

/// Interval between two readings of the clock, in longest windows.
const WINDOWS_A_LOOK: u64 = 32;

/// The same during a trial, where the threads may not all get a core.
const WINDOWS_AT_FIRST: u64 = 4;

/// How long the faster mode runs, in multiples of the trial of the other: initial and maximum
/// factor. The factor doubles each time that the faster mode wins again.
const TIMES: [u64; 2] = [4, 64];

/// Weight of a sample in the mean cost of parallel running: one disturbance does not matter.
const WEIGHT: f64 = 1.0 / 16.0;

/// How the parts run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    SideBySide,
    Alone,
}

/// Chooses the faster mode.
pub(super) struct Pace {
    cores: Cores,
    way: Way,
    /// Whether this mode is on trial, until the next sample.
    is_try: bool,
    /// How long this mode runs, in multiples of the last trial; between the two of [`TIMES`].
    times: u64,
    /// When to try the other mode again, ns by the clock.
    until_ns: u64,
    /// Simulated time between two samples, ns.
    look_ns: u64,
    /// Clock and simulated time at the last sample, ns.
    since_ns: [u64; 2],
    /// Clock time per simulated time of each mode; `None` if unknown.
    costs: [Option<f64>; 2],
}

impl Pace {
    /// Starts in parallel. `window_ns`: length of the longest window.
    pub(super) fn new(cores: Cores, window_ns: u64) -> Self {
        let look_ns = window_ns.saturating_mul(WINDOWS_A_LOOK);
        let since_ns = [(cores.clock)(), 0];
        let (way, costs) = (Way::SideBySide, [None; 2]);
        Pace {
            cores,
            way,
            is_try: true,
            times: 1,
            until_ns: 0,
            look_ns,
            since_ns,
            costs,
        }
    }

    /// Records a step that ended at `simulated_ns`; returns the mode of the next.
    pub(super) fn next(&mut self, simulated_ns: u64) -> Way {
        let now_ns = [(self.cores.clock)(), simulated_ns];
        let took = |i: usize| now_ns[i].saturating_sub(self.since_ns[i]) as f64;
        // Threads that wait for busy cores get no more time than one thread alone would take.
        let is_late = self.way == Way::SideBySide
            && self.costs[Way::Alone as usize]
                .is_some_and(|cost| took(0) > cost * self.look_ns as f64);
        if took(1) >= self.look_ns as f64 || is_late {
            self.note(took(0) / took(1).max(1.0), now_ns[0]);
            self.since_ns = now_ns;
        }
        self.way
    }

    /// Number of longest windows after which parallel threads meet.
    pub(super) fn windows(&self) -> u64 {
        if self.is_try {
            WINDOWS_AT_FIRST
        } else {
            WINDOWS_A_LOOK
        }
    }

    /// Records the cost of this mode since the last sample, and chooses the next mode.
    fn note(&mut self, cost: f64, now_ns: u64) {
        let mean = &mut self.costs[self.way as usize];
        *mean = match *mean {
            Some(mean) if self.way == Way::SideBySide && !self.is_try => {
                Some(mean + WEIGHT * (cost - mean))
            }
            _ => Some(cost),
        };
        let is_slower = match self.costs {
            [Some(side_by_side), Some(alone)] => {
                (alone < side_by_side) == (self.way == Way::SideBySide)
            }
            _ => false,
        };
        if self.is_try {
            self.is_try = false;
            if is_slower {
                self.times = (2 * self.times).min(TIMES[1]);
                self.turn();
            } else {
                self.times = TIMES[0];
            }
            let took_ns = now_ns.saturating_sub(self.since_ns[0]);
            self.until_ns = now_ns.saturating_add(took_ns.saturating_mul(self.times));
        } else if is_slower || now_ns >= self.until_ns {
            self.is_try = true;
            self.turn();
        }
    }

    fn turn(&mut self) {
        self.way = match self.way {
            Way::SideBySide => Way::Alone,
            Way::Alone => Way::SideBySide,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::num::NonZeroUsize;

    use super::*;

    thread_local! {
        static NOW_NS: Cell<u64> = const { Cell::new(0) };
    }

    /// The fraction of simulated time that runs in parallel, if a step of 100 ns takes `alone_ns`,
    /// or in parallel `side_by_side_ns` of the simulated instant.
    fn share(side_by_side_ns: impl Fn(u64) -> u64, alone_ns: u64) -> f64 {
        let cores = Cores {
            most: NonZeroUsize::MIN,
            clock: || NOW_NS.get(),
        };
        let (mut pace, mut simulated_ns, mut way, mut shared) =
            (Pace::new(cores, 100), 0, Way::SideBySide, 0);
        while simulated_ns < 10_000_000 {
            let (steps, takes_ns) = match way {
                Way::SideBySide => (1, side_by_side_ns(simulated_ns)),
                Way::Alone => (STEPS_A_LOOK as u64, alone_ns),
            };
            NOW_NS.set(NOW_NS.get() + steps * takes_ns);
            simulated_ns += steps * 100;
            shared += if way == Way::SideBySide {
                steps * 100
            } else {
                0
            };
            way = pace.next(simulated_ns);
        }
        shared as f64 / simulated_ns as f64
    }

    #[test]
    fn the_faster_mode_is_used_nearly_always() {
        assert!(share(|_| 100, 170) > 0.97);
        assert!(share(|_| 100, 40) < 0.05);
    }

    #[test]
    fn a_short_disturbance_does_not_matter() {
        let disturbed = |simulated_ns: u64| simulated_ns / 2_000 % 100 == 50;
        // 2 of 200 µs take five times as long: an occasional sample.
        assert!(share(|at_ns| if disturbed(at_ns) { 500 } else { 100 }, 170) > 0.9);
    }

    #[test]
    fn the_other_mode_is_used_once_it_is_faster() {
        let mixed = share(|at_ns| if at_ns < 5_000_000 { 1_000 } else { 100 }, 170);
        assert!((0.4..0.55).contains(&mixed), "{mixed}");
    }
}
