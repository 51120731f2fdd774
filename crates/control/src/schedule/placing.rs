//! `placing`, for binding data-level windows: it places segments so that they arrive in order, and
//! no path queues more than the window has room for.
//!
//! ```text
//!   paths by τ;  may send: in flight < w, and < B + Q where Σ w exceeds the window
//!                and in flight < window - Σ_faster min(w_f, w_f τmin_f/τ_f + Q, B_f + Q): they are full
//!   B            smoothed (in flight) τmin/τ: what the path holds without a queue
//!   segment:     next + Σ_faster (τ_i − τ_f)/2 · w_f/τ_f + k Σ_faster (w_f/τ_f)/(w_i/τ_i)
//! ```
//! The sum is the number of segments that faster paths deliver before a segment of path i arrives;
//! k counts the segments that path i has taken since `next` moved. When the window is full, the
//! oldest segment is sent again on each faster path, and on any path if a carrier of it recovers
//! from a loss. While the window binds and p · window > 1, retransmissions are also sent on a
//! second path: every window then waits for one.
//!
//! Not from a paper: in-order arrival is the aim of Kuhn et al. 2014 (`daps`) and of 004's
//! Algorithm 2 (`proactive`); the limit on queues is Vegas' (Brakmo, Peterson 1995), for a window
//! instead of a link.

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::units::Nanos;

use super::rescue::Rescue;
use super::scheduler::{Features, PacketScheduler, Style};
use super::view::{Backlog, PathView, Placement, candidates, fastest_with_space, members};
use crate::options::{self, OptionError, PartInfo};

/// Q: packets that may queue on a path while the window binds.
const QUEUE: u32 = 4;
/// Weight of a new value of B: one part in this many per segment sent, about two time constants per
/// round trip.
const SMOOTHING: u32 = 32;

/// Places segments in order, without queues, and repairs losses on two paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placing {
    /// Q, packets.
    pub queue: u32,
    /// Whether frequent losses are repaired on two paths.
    pub copies: bool,
    /// The first new segment when a path last took one, and the number of segments that each path
    /// has taken since `next` moved.
    next: u32,
    taken: [u32; MAX_SUBFLOWS],
    /// B of each path, [`SMOOTHING`]ths of a packet; 0 before its first segment.
    held: [u32; MAX_SUBFLOWS],
}

impl PacketScheduler for Placing {
    const INFO: PartInfo = PartInfo::verified(
        "placing",
        "segments arrive in order; while the window binds no path queues, and two paths repair losses",
        &["queue", "copies"],
        "Joulepath",
    );
    const FEATURES: Features = Features {
        style: Style::Places,
        weighs_backlog: true,
        watches_rtt: true,
        wants_allotment: false,
    };

    fn new(_mss_bytes: u32) -> Self {
        Placing {
            queue: QUEUE,
            copies: true,
            next: 0,
            taken: [0; MAX_SUBFLOWS],
            held: [0; MAX_SUBFLOWS],
        }
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
        if backlog.next != self.next {
            (self.next, self.taken) = (backlog.next, [0; MAX_SUBFLOWS]);
        }
        let usable = candidates(paths, PathView::is_usable);
        let windows = members(usable)
            .map(|i| paths[i].cwnd)
            .fold(0, u32::saturating_add);
        let binds = windows > backlog.window;
        let may_send = |i: usize| {
            let of_faster = faster(paths, usable, i).map(|f| self.fill(f, &paths[f]));
            let is_left = paths[i].in_flight < backlog.window.saturating_sub(of_faster.sum());
            !binds || (is_left && paths[i].in_flight < self.held[i] / SMOOTHING + self.queue)
        };
        let path = members(usable)
            .filter(|&i| paths[i].has_space() && may_send(i))
            .min_by_key(|&i| (paths[i].srtt_us, i))?;
        self.hold(path, &paths[path]);
        let ahead = self.ahead(paths, usable, path);
        Some(Placement {
            path,
            dsn: backlog.next.saturating_add(ahead),
        })
    }

    fn placed(&mut self, placement: Placement) {
        self.taken[placement.path] += 1;
    }

    fn rescue(&mut self, paths: &[PathView], _now: Nanos, carried: u8) -> Option<Rescue> {
        let carriers = || members(carried).filter_map(|i| paths.get(i));
        let slowest = carriers().map(|path| path.srtt_us).max()?;
        let recovers = carriers().any(|path| path.in_loss || path.in_recovery);
        let free = members(candidates(paths, PathView::is_usable) & !carried)
            .filter(|&i| paths[i].has_space() && (recovers || paths[i].srtt_us < slowest))
            .min_by_key(|&i| (paths[i].srtt_us, i))?;
        Some(Rescue {
            retransmit_on: Some(free),
            penalise: 0,
        })
    }

    fn copies_repairs(&self) -> bool {
        self.copies
    }

    fn forget(&mut self, path: usize) {
        self.held[path] = 0;
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), OptionError> {
        match option {
            "queue" => self.queue = options::count("queue", value)?,
            "copies" => self.copies = options::switch("copies", value)?,
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

impl Placing {
    /// Packets that fill path `f`: its window without its queue, limited to what it may have in
    /// flight. A window that grew while it did not bind may be far larger.
    fn fill(&self, f: usize, path: &PathView) -> u32 {
        let (least, now) = (u64::from(path.rtt.min_us), u64::from(path.srtt_us.max(1)));
        let without_queue = (u64::from(path.cwnd) * least.min(now) / now) as u32;
        let held = if self.held[f] == 0 {
            u32::MAX
        } else {
            self.held[f] / SMOOTHING
        };
        without_queue
            .min(held)
            .saturating_add(self.queue)
            .min(path.cwnd)
    }

    /// Updates B: the packets that path `i` holds without a queue, by its RTTs.
    fn hold(&mut self, i: usize, path: &PathView) {
        let (least, now) = (u64::from(path.rtt.min_us), u64::from(path.srtt_us.max(1)));
        let parts = u64::from(SMOOTHING) * (u64::from(path.in_flight) + 1) * least.min(now) / now;
        let held = u64::from(self.held[i]);
        self.held[i] = (held - held / u64::from(SMOOTHING) + parts / u64::from(SMOOTHING)) as u32;
    }

    /// Segments that faster paths deliver before the next segment of `path` arrives.
    fn ahead(&self, paths: &[PathView], usable: u8, path: usize) -> u32 {
        let rtt_us = |i: usize| u64::from(paths[i].srtt_us.max(1));
        let window = |i: usize| u64::from(paths[i].cwnd.max(1));
        let per_taken = |f: usize| {
            u64::from(self.taken[path]) * window(f) * rtt_us(path) / (rtt_us(f) * window(path))
        };
        let sum: u64 = faster(paths, usable, path)
            .map(|f| (rtt_us(path) - rtt_us(f)) * window(f) / (2 * rtt_us(f)) + per_taken(f))
            .fold(0, u64::saturating_add);
        u32::try_from(sum).unwrap_or(u32::MAX)
    }
}

fn faster(paths: &[PathView], usable: u8, i: usize) -> impl Iterator<Item = usize> {
    let limit = (paths[i].srtt_us, i);
    members(usable).filter(move |&f| (paths[f].srtt_us, f) < limit)
}
