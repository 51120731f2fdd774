//! The part of a link that a window under random losses uses: it varies, and where it is smaller
//! than the pipe, the link waits.
//!
//! With P the packets that fit into the pipe, a window w uses E min(w, P)/P of the link and keeps
//! E (w − P)⁺ packets in the queue, also where E w < P. For NewReno's w, of which w² is a sum of
//! exponential variables (Ott, Kemperman and Mathis 1996), with a mean queue q
//!
//! ```text
//!   E min(w, P)/P = 1 − EMPTY e^(−FALL q/P)
//! ```
//! is a fit for E w from 0.6 to 3 P, to 0.031.

/// Part of the link that is not used without a queue.
pub const EMPTY: f64 = 0.42;
/// Decrease of that part per pipe of queue.
pub const FALL: f64 = 5.0;

const BISECTIONS: u32 = 40;

/// Part of a link that a window uses whose mean is `load` pipes. By Little's law the queue has
/// q/P = load/used − 1.
pub(crate) fn used(load: f64) -> f64 {
    let (mut low, mut high) = (0.0, load.min(1.0));
    for _ in 0..BISECTIONS {
        let used = 0.5 * (low + high);
        let queue = load / used - 1.0;
        if used < 1.0 - EMPTY * libm::exp(-FALL * queue) {
            low = used;
        } else {
            high = used;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a queue 0.58 of the link are used, so a smaller window is all on the way. At 1:
    /// 1 − 0.42 e^(−5 · 0.1919) = 0.8391 = 1/1.1919.
    #[test]
    fn a_window_as_large_as_the_pipe_leaves_a_sixth_of_the_link_unused() {
        for (load, part) in [(0.5, 0.5), (1.0, 0.839), (3.0, 1.0)] {
            assert!((used(load) - part).abs() < 1e-3, "{load}: {}", used(load));
        }
    }
}
