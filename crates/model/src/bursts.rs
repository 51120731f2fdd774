//! Bursts of losses: how often a window meets a loss, and how long lost retransmissions stop it.
//!
//! A TCP reduces its window once for all losses among the packets that it sends from the first lost
//! packet until it detects that loss, one round trip or W packets later (RFC 6582; Padhye, Firoiu,
//! Towsley and Kurose, SIGCOMM 1998, section II: losses of one round are one event). With ℓ the
//! loss in each state of the chain, M its step, and B = diag(ℓ), let α be the packets from the end
//! of such a round to the next loss:
//!
//! ```text
//!   h = (I − (I − B) M)⁻¹ 1             packets until a loss, counting it, from each state
//!   q = q M^W (I − (I − B) M)⁻¹ B       state at the first loss of an event
//!   events per packet = 1/E α = 1/(q M^W h)
//! ```
//! E α is 1/p in Padhye et al. (eq. 4). So independent losses have p events per packet at any W,
//! and W = 1 gives the mean loss of any chain.

use crate::network::LossSpec;

/// The chain of Gilbert (1960) and Elliott (1963): the state good, then bad.
#[derive(Clone, Copy, Debug)]
struct Chain {
    /// Long-run distribution.
    stationary: [f64; 2],
    /// Correlation of the states of successive packets.
    correlation: f64,
    step: [[f64; 2]; 2],
    loss: [f64; 2],
}

impl LossSpec {
    /// The chain, if losses depend on each other and some packets are lost.
    fn chain(&self) -> Option<Chain> {
        let LossSpec::GilbertElliott {
            enter_bad,
            leave_bad,
            loss_good,
            loss_bad,
        } = *self
        else {
            return None;
        };
        let (enter, leave) = (enter_bad.get(), leave_bad.get());
        if enter + leave == 0.0 || loss_good == loss_bad || self.mean() == 0.0 {
            return None;
        }
        Some(Chain {
            stationary: [leave / (enter + leave), enter / (enter + leave)],
            correlation: (1.0 - enter - leave).max(0.0),
            step: [[1.0 - enter, enter], [leave, 1.0 - leave]],
            loss: [loss_good.get(), loss_bad.get()],
        })
    }

    /// True if losses come in bursts.
    pub fn is_bursty(&self) -> bool {
        self.chain().is_some()
    }

    /// Loss events per packet of a TCP that has `window` packets in flight, at least 1; the mean
    /// loss if losses are independent.
    pub fn events(&self, window: f64) -> f64 {
        let Some(chain) = self.chain() else {
            return self.mean();
        };
        let [good, bad] = chain.at_retransmission(window);
        let [from_good, from_bad] = chain.until_loss();
        1.0 / (good * from_good + bad * from_bad)
    }

    /// Probability that the retransmission after a loss event at `window` packets is lost, too; 0 if
    /// losses are independent.
    pub fn stalls(&self, window: f64) -> f64 {
        self.chain().map_or(0.0, |chain| {
            let [good, bad] = chain.at_retransmission(window);
            good * chain.loss[0] + bad * chain.loss[1]
        })
    }

    /// Mean time that lost retransmissions add to a loss event at `window` packets, s: the
    /// retransmission is lost if the chain is still bad `window` packets after the loss, and each
    /// time-out of `timeouts_s` sends one packet. 0 if losses are independent.
    pub fn stall_s(&self, window: f64, timeouts_s: impl IntoIterator<Item = f64>) -> f64 {
        let Some(chain) = self.chain() else {
            return 0.0;
        };
        let mut state = chain.at_retransmission(window);
        let mut stall_s = 0.0;
        for timeout_s in timeouts_s {
            let lost = [state[0] * chain.loss[0], state[1] * chain.loss[1]];
            stall_s += (lost[0] + lost[1]) * timeout_s;
            state = times(lost, chain.step);
        }
        stall_s
    }
}

impl Chain {
    /// (I − (I − B) M)⁻¹
    fn passed(&self) -> [[f64; 2]; 2] {
        let entry = |i: usize, j: usize| {
            f64::from(u8::from(i == j)) - (1.0 - self.loss[i]) * self.step[i][j]
        };
        let determinant = entry(0, 0) * entry(1, 1) - entry(0, 1) * entry(1, 0);
        [
            [entry(1, 1) / determinant, -entry(0, 1) / determinant],
            [-entry(1, 0) / determinant, entry(0, 0) / determinant],
        ]
    }

    /// h
    fn until_loss(&self) -> [f64; 2] {
        self.passed().map(|row| row[0] + row[1])
    }

    /// q M^W
    fn at_retransmission(&self, window: f64) -> [f64; 2] {
        let later = self.steps(window.max(1.0));
        let passed = self.passed();
        let next_loss = |from: usize| {
            let [good, bad] = times(later[from], passed);
            [good * self.loss[0], bad * self.loss[1]]
        };
        // The state at the first loss of an event, from that of the event before.
        let (to_bad, to_good) = (next_loss(0)[1], next_loss(1)[0]);
        let bad = if to_bad + to_good > 0.0 {
            to_bad / (to_bad + to_good)
        } else {
            self.stationary[1]
        };
        times([1.0 - bad, bad], later)
    }

    /// M^`number`
    fn steps(&self, number: f64) -> [[f64; 2]; 2] {
        let ([good, bad], left) = (self.stationary, libm::pow(self.correlation, number));
        [
            [good + bad * left, bad * (1.0 - left)],
            [good * (1.0 - left), bad + good * left],
        ]
    }
}

fn times(row: [f64; 2], matrix: [[f64; 2]; 2]) -> [f64; 2] {
    [0, 1].map(|j| row[0] * matrix[0][j] + row[1] * matrix[1][j])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Domain, Stream};
    use crate::units::Probability;

    fn bursts(enter: f64, leave: f64, good: f64, bad: f64) -> LossSpec {
        let [enter_bad, leave_bad, loss_good, loss_bad] =
            [enter, leave, good, bad].map(|p| Probability::new(p).expect("a probability"));
        LossSpec::GilbertElliott {
            enter_bad,
            leave_bad,
            loss_good,
            loss_bad,
        }
    }

    #[test]
    fn independent_losses_are_events_at_any_window() {
        let bernoulli = LossSpec::Bernoulli(Probability::new(0.013).unwrap());
        for window in [1.0, 7.0, 1e5] {
            assert_eq!(bernoulli.events(window), 0.013);
            assert_eq!(bursts(0.1, 0.3, 0.013, 0.013).events(window), 0.013);
            // Each packet finds a fresh state: (0.3 · 0.01 + 0.7 · 0.2) = 0.143.
            assert!((bursts(0.7, 0.3, 0.01, 0.2).events(window) - 0.143).abs() < 1e-12);
            assert_eq!(LossSpec::None.events(window), 0.0);
        }
        assert_eq!(bernoulli.stall_s(1.0, [1.0]), 0.0);
        assert_eq!(bernoulli.stalls(1.0), 0.0);
        assert!(!bernoulli.is_bursty() && bursts(0.1, 0.3, 0.0, 1.0).is_bursty());
    }

    /// Bursts of 1/0.25 = 4 packets, all lost, after 1/0.001 = 1000 good packets on average. After
    /// the burst a wide window starts in the good state, up to 1 in 250: 1000 · 250/251 + 1 = 997
    /// packets to the next loss.
    #[test]
    fn a_wide_window_meets_a_burst_once() {
        let spec = bursts(0.001, 0.25, 0.0, 1.0);
        assert!(
            (spec.events(1.0) - spec.mean()).abs() < 1e-12,
            "{}",
            spec.events(1.0)
        );
        assert!((1.0 / spec.events(1e4) - (1000.0 * 250.0 / 251.0 + 1.0)).abs() < 1e-6);
        // Lost with certainty while bad: the first retransmission finds M^W, each further one 0.75
        // of that.
        let first = 1.0 / 251.0;
        assert!((spec.stall_s(1e4, [1.0, 2.0]) - (first + 2.0 * 0.75 * first)).abs() < 1e-9);
    }

    #[test]
    fn events_match_a_simulated_chain() {
        let mut draws = Stream::new(4, Domain::LinkLoss, 0);
        for (enter, leave, good, bad) in [
            (0.0005, 0.1, 0.0, 0.5),
            (0.003, 0.3, 0.001, 1.0),
            (0.01, 0.05, 0.0, 0.2),
        ] {
            for window in [1, 5, 40] {
                let (mut is_bad, mut skipped, mut counted, mut events) = (false, 0, 0_u32, 0_u32);
                while events < 20_000 {
                    let lost = draws.uniform() < if is_bad { bad } else { good };
                    is_bad = if draws.uniform() < if is_bad { leave } else { enter } {
                        !is_bad
                    } else {
                        is_bad
                    };
                    if skipped > 0 {
                        skipped -= 1;
                        continue;
                    }
                    counted += 1;
                    if lost {
                        events += 1;
                        skipped = window - 1;
                    }
                }
                let simulated = f64::from(events) / f64::from(counted);
                let derived = bursts(enter, leave, good, bad).events(f64::from(window));
                assert!(
                    (derived / simulated - 1.0).abs() < 0.05,
                    "{enter} {leave} {window}: {derived} ≠ {simulated}"
                );
            }
        }
    }
}
