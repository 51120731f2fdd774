//! Share of messages, writes or answers that arrive by a deadline.

use serde::{Deserialize, Serialize};

/// Deadlines of [`RunResult::punctuality`](super::RunResult::punctuality), s.
pub const DEADLINES_S: [f64; 8] = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];

/// One message, write or answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delivery {
    /// Time of the write or the request, or when the message was created, s.
    pub since_s: f64,
    /// The longest time that the application let it wait before the write, s; it extends the
    /// deadline.
    pub tolerance_s: f64,
    /// Time until it had arrived in full, s; none if it was incomplete at the end of the run.
    pub delay_s: Option<f64>,
}

/// Messages, writes or answers that arrived by one deadline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Punctuality {
    /// The deadline, s after the write or request; for a message, after its tolerance.
    pub deadline_s: f64,
    /// Number of messages with a deadline in the measured interval: written after the warm-up, and
    /// early enough for the deadline to fall before the end.
    pub offered: u64,
    /// Number of those that were complete at their deadline.
    pub in_time: u64,
}

impl Punctuality {
    /// Counts for each deadline that at least one delivery has in the measured interval, for a run
    /// that ended at `end_s`.
    pub fn of(all: &[Delivery], end_s: f64) -> Vec<Self> {
        let at = |deadline_s: f64| {
            let most_s = |one: &Delivery| one.tolerance_s + deadline_s;
            let due = || all.iter().filter(|one| one.since_s + most_s(one) <= end_s);
            let in_time =
                due().filter(|one| one.delay_s.is_some_and(|delay_s| delay_s <= most_s(one)));
            Punctuality {
                deadline_s,
                offered: due().count() as u64,
                in_time: in_time.count() as u64,
            }
        };
        DEADLINES_S
            .map(at)
            .into_iter()
            .filter(|punctuality| punctuality.offered > 0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of 4 s with three writes: at 1 s (arrives after 0.15 s), at 2 s (after 0.4 s), and at
    /// 3.8 s (never arrives). After 3.8 s a deadline of 0.2 s fits before the end, a deadline of
    /// 0.5 s does not. Deadlines of 5 s and more fit for no write.
    #[test]
    fn late_writes_without_time_for_the_deadline_do_not_count_and_lost_ones_do() {
        let delivery = |since_s, delay_s| Delivery {
            since_s,
            tolerance_s: 0.0,
            delay_s,
        };
        let all = [
            delivery(1.0, Some(0.15)),
            delivery(2.0, Some(0.4)),
            delivery(3.8, None),
        ];
        let counts: Vec<(f64, u64, u64)> = Punctuality::of(&all, 4.0)
            .iter()
            .map(|p| (p.deadline_s, p.in_time, p.offered))
            .collect();
        let expected = [
            (0.05, 0, 3),
            (0.1, 0, 3),
            (0.2, 1, 3),
            (0.5, 2, 2),
            (1.0, 2, 2),
            (2.0, 2, 2),
        ];
        assert_eq!(counts, expected);
    }

    /// A message of 1 s waits for 2 s and arrives 0.15 s later. Until the end, at 4 s, there is
    /// time for a deadline of 1 s.
    #[test]
    fn a_tolerance_extends_the_deadline() {
        let all = [Delivery {
            since_s: 1.0,
            tolerance_s: 2.0,
            delay_s: Some(2.15),
        }];
        let counts: Vec<(f64, u64, u64)> = Punctuality::of(&all, 4.0)
            .iter()
            .map(|p| (p.deadline_s, p.in_time, p.offered))
            .collect();
        assert_eq!(
            counts,
            [
                (0.05, 0, 1),
                (0.1, 0, 1),
                (0.2, 1, 1),
                (0.5, 1, 1),
                (1.0, 1, 1)
            ]
        );
    }
}
