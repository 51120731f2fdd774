//! Whether the parts run side by side or one after the other in one thread.
//!
//! Side by side is faster if the cores are free. If they are busy with other work, a thread waits for the
//! others until the system has given each of them a core, in every window, and one thread alone is faster.
//! So both are tried again and again, for a short time, and the faster one is used for a long time. How many
//! threads there are does not change the result.

use crate::options::Cores;

/// Steps of one thread alone, for which the others need not be woken.
pub(super) const STEPS_ALONE: usize = 31;

/// Steps side by side, or turns of [`STEPS_ALONE`], that are a try.
const TRY: [u32; 2] = [32, 1];

/// A try is followed by so many times its length of the faster way.
const LONG: u32 = 128;

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
    is_try: bool,
    /// Turns that are left.
    turns: u32,
    /// Clock and simulated time when this way began, ns.
    since_ns: [u64; 2],
    /// Simulated time per time of the clock, of each way.
    speeds: [f64; 2],
}

impl Pace {
    pub(super) fn new(cores: Cores) -> Self {
        Pace {
            cores,
            way: Way::SideBySide,
            is_try: false,
            turns: TRY[Way::SideBySide as usize],
            since_ns: [(cores.clock)(), 0],
            speeds: [0.0; 2],
        }
    }

    /// Notes a turn that ended at `simulated_ns`; returns what the next one is.
    pub(super) fn next(&mut self, simulated_ns: u64) -> Way {
        self.turns -= 1;
        if self.turns == 0 {
            let now_ns = [(self.cores.clock)(), simulated_ns];
            let took = |i: usize| now_ns[i].saturating_sub(self.since_ns[i]) as f64;
            self.speeds[self.way as usize] = took(1) / took(0).max(1.0);
            self.since_ns = now_ns;
            self.choose();
        }
        self.way
    }

    fn choose(&mut self) {
        self.is_try = !self.is_try;
        let [side_by_side, alone] = self.speeds;
        self.way = match self.way {
            // After the way that was used for long, the other one is tried.
            Way::SideBySide if self.is_try => Way::Alone,
            Way::Alone if self.is_try => Way::SideBySide,
            _ if side_by_side >= alone => Way::SideBySide,
            _ => Way::Alone,
        };
        let turns = TRY[self.way as usize];
        self.turns = if self.is_try { turns } else { turns * LONG };
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
    /// way.
    fn share(side_by_side_ns: u64, alone_ns: u64) -> f64 {
        let cores = Cores { most: NonZeroUsize::MIN, clock: || NOW_NS.get() };
        let (mut pace, mut simulated_ns, mut way, mut shared) = (Pace::new(cores), 0, Way::SideBySide, 0);
        while simulated_ns < 10_000_000 {
            let (steps, takes_ns) = match way {
                Way::SideBySide => (1, side_by_side_ns),
                Way::Alone => (STEPS_ALONE as u64, alone_ns),
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
        assert!(share(100, 170) > 0.97);
        assert!(share(100, 40) < 0.05);
    }
}
