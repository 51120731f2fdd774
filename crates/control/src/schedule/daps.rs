//! DAPS, delay-aware packet scheduling (Kuhn, Lochin, Mifdaoui, Sarwar, Mehani, Boreli, ICC 2014),
//! as in its port to Linux MPTCP.
//!
//! ```text
//!   D_i = τ_i/2 in steps of 4 ms, at least one;   H = lcm(D_i)
//!   plan:  t = 1 … H, paths by RTT:   t mod D_i = 0   ⇒   the next w_i segments go to path i
//! ```
//! The plan is executed in order, skipping paths without space; a new plan follows its end.
//!
//! Deviations: the plan is stepped through and not stored, so only [`LONGEST_PLAN`] bounds its
//! length; RTTs are in microseconds (the port interprets them as milliseconds).

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::units::Nanos;

use super::rescue::Rescue;
use super::scheduler::{Features, PacketScheduler, Style};
use super::view::{Backlog, PathView, Placement, candidates, fastest_with_space, members};
use crate::options::PartInfo;

/// Step of the forward delays, µs.
const STEP_US: u32 = 4_000;
/// Steps after which a plan is renewed, whatever the least common multiple.
const LONGEST_PLAN: u64 = 1 << 20;
/// Weight of the latest window in the average: one part in this many.
const WINDOW_WEIGHT: u32 = 8;

/// Sends segments in the order of their arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Daps {
    /// Paths in the plan.
    members: u8,
    /// Forward delays, steps.
    delay: [u64; MAX_SUBFLOWS],
    /// Rank of each path by RTT.
    rank: [u8; MAX_SUBFLOWS],
    /// Averaged windows, eighths of a packet; 0 before the first plan.
    window_x8: [u32; MAX_SUBFLOWS],
    horizon: u64,
    /// Position in the plan: step, path, and the rest of its turn.
    step: u64,
    path: usize,
    left: u32,
}

impl PacketScheduler for Daps {
    const INFO: PartInfo = PartInfo::verified(
        "daps",
        "a plan in which segments arrive in order: fast paths get several turns per turn of a slow path",
        &[],
        "Kuhn et al. 2014",
    );
    const FEATURES: Features = Features {
        style: Style::Plain,
        weighs_backlog: true,
        watches_rtt: false,
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
        let usable = candidates(paths, PathView::is_usable);
        let free = members(usable)
            .filter(|&i| paths[i].has_space())
            .fold(0, |mask, i| mask | 1 << i);
        if free == 0 {
            return None;
        }
        if self.members != usable {
            self.plan(paths, usable);
        }
        if self.left == 0 || free & (1 << self.path) == 0 {
            self.next_turn(paths, usable, free);
        }
        self.left -= 1;
        Some(Placement {
            path: self.path,
            dsn: backlog.next,
        })
    }

    /// The window is full: sends the oldest segment again on the fastest free path.
    fn rescue(&mut self, paths: &[PathView], _now: Nanos, carried: u8) -> Option<Rescue> {
        let free = fastest_with_space(paths, 0).filter(|free| carried & (1 << free) == 0)?;
        Some(Rescue {
            retransmit_on: Some(free),
            penalise: 0,
        })
    }
}

impl Daps {
    /// A new plan for the paths in `usable`, which is not empty.
    fn plan(&mut self, paths: &[PathView], usable: u8) {
        self.members = usable;
        self.horizon = 1;
        for i in members(usable) {
            self.delay[i] = u64::from((paths[i].srtt_us / 2 + STEP_US / 2) / STEP_US).max(1);
            self.horizon = lcm(self.horizon, self.delay[i]).min(LONGEST_PLAN);
            self.rank[i] = members(usable)
                .filter(|&k| (paths[k].srtt_us, k) < (paths[i].srtt_us, i))
                .count() as u8;
            let window = &mut self.window_x8[i];
            *window = match *window {
                0 => paths[i].cwnd * WINDOW_WEIGHT,
                average => average - average / WINDOW_WEIGHT + paths[i].cwnd,
            };
        }
        (self.step, self.left) = (0, 0);
        self.path = members(usable).max_by_key(|&i| self.rank[i]).unwrap_or(0);
    }

    /// Advances to the next turn of a path in `free`.
    fn next_turn(&mut self, paths: &[PathView], usable: u8, free: u8) {
        let here = (self.step, self.rank[self.path]);
        let turn = |i: usize| {
            let this_step = (self.step, self.rank[i]) > here
                && self.step > 0
                && self.step.is_multiple_of(self.delay[i]);
            let step = if this_step {
                self.step
            } else {
                (self.step / self.delay[i] + 1) * self.delay[i]
            };
            (step, self.rank[i], i)
        };
        let (step, _, path) = members(free).map(turn).min().expect("some path is free");
        if step > self.horizon && self.step > 0 {
            self.plan(paths, usable);
            return self.next_turn(paths, usable, free);
        }
        (self.step, self.path) = (step, path);
        self.left = (self.window_x8[path] / WINDOW_WEIGHT).max(1);
    }
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}
