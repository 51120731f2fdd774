//! Whether the parts run side by side or one after the other in one thread.
//!
//! Side by side is faster if the cores are free. If they are busy with other work, a thread waits for the
//! others until the system has given each of them a core, in every window, and one thread alone is faster.
//! So both are tried again and again, for a short time, and the faster one is used for a long time. How many
//! threads there are does not change the result.

use crate::run::options::Cores;

/// After so many steps one thread alone asks whether it shall stay so.
pub(super) const STEPS_A_LOOK: usize = 16;

/// The clock is looked at after so many of the longest windows.
const WINDOWS_A_LOOK: u64 = 32;

/// During a try threads meet after so few of the longest windows: perhaps they do not all get a core.
const WINDOWS_AT_FIRST: u64 = 4;

/// The faster way is used so many times as long as the try of the other one took: at first, and at last. Each
/// time that it proves to be faster again it is used twice as long.
const TIMES: [u64; 2] = [4, 64];

/// What a look counts in the mean of what the threads take side by side: one disturbance does not matter.
const WEIGHT: f64 = 1.0 / 16.0;

/// How the parts run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    SideBySide,
    Alone,
}

/// Chooses the faster way.
pub(super) struct Pace {
    cores: Cores,
    way: Way,
    /// Whether this way is only tried, until the next look.
    is_try: bool,
    /// This way is used so many times as long as the last try took; between the two of [`TIMES`].
    times: u64,
    /// What the clock shows when the other way is tried again, ns.
    until_ns: u64,
    /// Simulated time between two looks, ns.
    look_ns: u64,
    /// Clock and simulated time at the last look, ns.
    since_ns: [u64; 2],
    /// Time of the clock per simulated time, of each way; none if nothing is known of it.
    costs: [Option<f64>; 2],
}

impl Pace {
    /// The parts run side by side first. `window_ns` is the length of the longest window.
    pub(super) fn new(cores: Cores, window_ns: u64) -> Self {
        let look_ns = window_ns.saturating_mul(WINDOWS_A_LOOK);
        let since_ns = [(cores.clock)(), 0];
        let (way, costs) = (Way::SideBySide, [None; 2]);
        Pace { cores, way, is_try: true, times: 1, until_ns: 0, look_ns, since_ns, costs }
    }

    /// Notes a step that ended at `simulated_ns`; returns what the next one is.
    pub(super) fn next(&mut self, simulated_ns: u64) -> Way {
        let now_ns = [(self.cores.clock)(), simulated_ns];
        let took = |i: usize| now_ns[i].saturating_sub(self.since_ns[i]) as f64;
        // Threads that wait for busy cores are not waited for any longer than one thread alone would take.
        let is_late = self.way == Way::SideBySide
            && self.costs[Way::Alone as usize].is_some_and(|cost| took(0) > cost * self.look_ns as f64);
        if took(1) >= self.look_ns as f64 || is_late {
            self.note(took(0) / took(1).max(1.0), now_ns[0]);
            self.since_ns = now_ns;
        }
        self.way
    }

    /// After how many of the longest windows threads should meet that run side by side.
    pub(super) fn windows(&self) -> u64 {
        if self.is_try { WINDOWS_AT_FIRST } else { WINDOWS_A_LOOK }
    }

    /// Notes what this way has cost since the last look, and chooses.
    fn note(&mut self, cost: f64, now_ns: u64) {
        let mean = &mut self.costs[self.way as usize];
        *mean = match *mean {
            Some(mean) if self.way == Way::SideBySide && !self.is_try => Some(mean + WEIGHT * (cost - mean)),
            _ => Some(cost),
        };
        let is_slower = match self.costs {
            [Some(side_by_side), Some(alone)] => (alone < side_by_side) == (self.way == Way::SideBySide),
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

    /// Takes the other way.
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

    /// The part of the simulated time that is run side by side, where a step of 100 ns takes so long each
    /// way, side by side as of a simulated instant.
    fn share(side_by_side_ns: impl Fn(u64) -> u64, alone_ns: u64) -> f64 {
        let cores = Cores { most: NonZeroUsize::MIN, clock: || NOW_NS.get() };
        let (mut pace, mut simulated_ns, mut way, mut shared) =
            (Pace::new(cores, 100), 0, Way::SideBySide, 0);
        while simulated_ns < 10_000_000 {
            let (steps, takes_ns) = match way {
                Way::SideBySide => (1, side_by_side_ns(simulated_ns)),
                Way::Alone => (STEPS_A_LOOK as u64, alone_ns),
            };
            NOW_NS.set(NOW_NS.get() + steps * takes_ns);
            simulated_ns += steps * 100;
            shared += if way == Way::SideBySide { steps * 100 } else { 0 };
            way = pace.next(simulated_ns);
        }
        shared as f64 / simulated_ns as f64
    }

    #[test]
    fn the_faster_way_is_used_nearly_always() {
        assert!(share(|_| 100, 170) > 0.97);
        assert!(share(|_| 100, 40) < 0.05);
    }

    #[test]
    fn a_short_disturbance_does_not_matter() {
        let disturbed = |simulated_ns: u64| simulated_ns / 2_000 % 100 == 50;
        // 2 of 200 µs take five times as long, which is a look now and then.
        assert!(share(|at_ns| if disturbed(at_ns) { 500 } else { 100 }, 170) > 0.9);
    }

    #[test]
    fn the_other_way_is_used_once_it_is_faster() {
        let mixed = share(|at_ns| if at_ns < 5_000_000 { 1_000 } else { 100 }, 170);
        assert!((0.4..0.55).contains(&mixed), "{mixed}");
    }
}
