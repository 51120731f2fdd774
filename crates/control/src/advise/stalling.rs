//! Paths whose bursts of losses are beyond the formula.

use super::question::Question;
use super::radio::stalled;
use crate::limit::Capacity;

/// Largest part of the time for which bursts of losses may stop a TCP. Beyond it most of the mean
/// comes from few long series of timeouts, and some of them end the connection.
const MOST_STALLED: f64 = 0.3;

/// A path whose bursts of losses stop a TCP for much of the time: its rate and energy are beyond
/// the formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stalling {
    /// Index into the question's paths.
    pub path: usize,
    /// Part of the time, on average over very different transfers.
    pub part: f64,
}

impl Question {
    /// The paths whose bursts stop a TCP for more than 30 % of the time. Advice leaves them out,
    /// unless all are such paths.
    pub fn stalling(&self) -> Vec<Stalling> {
        let paths = self
            .paths
            .iter()
            .enumerate()
            .filter(|_| self.capacity == Capacity::TcpFriendly);
        let all = paths.map(|(path, of)| Stalling {
            path,
            part: stalled(of),
        });
        all.filter(|stalling| stalling.part > MOST_STALLED)
            .collect()
    }

    /// The paths that advice may use: bit r is path r.
    pub(super) fn usable(&self) -> u32 {
        let all = (1 << self.paths.len()) - 1;
        let rest = self
            .stalling()
            .iter()
            .fold(all, |rest, stalling| rest & !(1 << stalling.path));
        if rest == 0 { all } else { rest }
    }
}
