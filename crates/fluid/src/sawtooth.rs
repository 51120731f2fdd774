//! Mean of a DropTail queue: the waiting packets, and the utilisation of the link.
//!
//! n windows of equal size, out of phase, fill pipe and buffer, W = C τ + B, when one of them loses
//! a packet and halves. Their sum oscillates between W (1 − 1/(2n)) and W. It grows by n packets
//! per RTT; the RTT is τ while the queue is empty, otherwise W/C. With n = 1 the utilisation is 1 −
//! (1 − β)²/(4 (1 + β + β²)), β = B/(C τ) ≤ 1.

/// Means over a sawtooth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sawtooth {
    /// Utilisation of the link.
    pub utilisation: f64,
    /// Mean number of waiting packets.
    pub queue: f64,
}

/// The sawtooth of `flows` windows over a link of `capacity_pps` with a buffer of `buffer` packets;
/// the RTT without queues is `rtt_s`.
pub fn sawtooth(capacity_pps: f64, buffer: f64, rtt_s: f64, flows: f64) -> Sawtooth {
    let pipe = capacity_pps * rtt_s;
    let top = pipe + buffer;
    let bottom = top * (1.0 - 0.5 / flows.max(1.0));
    let squares = |from: f64, to: f64| to * to - from * from;
    let cubes = |from: f64, to: f64| to * to * to - from * from * from;
    // Below the pipe, time is ∝ τ dW and the rate is W/τ. Above it, time is ∝ W/C dW and the rate
    // is C.
    let empty_s = rtt_s * (pipe - bottom).max(0.0);
    let sent_empty = squares(bottom, pipe.max(bottom)) / 2.0;
    let from = bottom.max(pipe);
    let full_s = squares(from, top) / (2.0 * capacity_pps);
    let waiting = cubes(from, top) / (3.0 * capacity_pps) - pipe * full_s;
    Sawtooth {
        utilisation: (sent_empty / capacity_pps + full_s) / (empty_s + full_s),
        queue: waiting / (empty_s + full_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_utilisation_of_one_flow_matches_the_closed_form() {
        // β = 0.25: 1 − 0.5625/(4 · 1.3125) = 0.892857; β = 0.5: 1 − 0.25/7 = 0.964286; β ≥ 1: all.
        for (beta, use_of_rate) in [(0.25, 0.892857), (0.5, 0.964286), (1.0, 1.0), (2.0, 1.0)] {
            let mean = sawtooth(1000.0, beta * 100.0, 0.1, 1.0);
            assert!(
                (mean.utilisation - use_of_rate).abs() < 1e-6,
                "{beta}: {mean:?}"
            );
        }
    }

    #[test]
    fn the_queue_lies_between_the_ends_of_the_sawtooth() {
        // One flow, B = C τ = 100: W from 100 to 200, W² grows evenly: mean W = (2/3)(8 − 1)/(4 −
        // 1) · 100 = 155.56.
        let one = sawtooth(1000.0, 100.0, 0.1, 1.0);
        assert!((one.queue - 55.555_556).abs() < 1e-5, "{one:?}");
        // Many flows out of step leave the queue nearly full.
        let many = sawtooth(1000.0, 100.0, 0.1, 100.0);
        assert!((99.0..100.0).contains(&many.queue), "{many:?}");
    }
}
