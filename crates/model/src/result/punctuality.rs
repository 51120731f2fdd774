//! How many messages, writes or answers came in time.

use serde::{Deserialize, Serialize};

/// Deadlines for which [`RunResult::punctuality`](super::RunResult::punctuality) is counted, s.
pub const DEADLINES_S: [f64; 8] = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];

/// One message, write or answer: when it was written, or asked for, and its delay until it was complete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delivery {
    /// When the application wrote it, or asked for it, s.
    pub since_s: f64,
    /// Until it had arrived in full, s; none if it had not at the end of the run.
    pub delay_s: Option<f64>,
}

/// How many messages, writes or answers came in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Punctuality {
    /// The deadline, s after the write.
    pub deadline_s: f64,
    /// Those whose deadline was in the measured interval: written after the warm-up, and not later than the
    /// deadline before the end.
    pub offered: u64,
    /// Those of them that were complete at their deadline.
    pub in_time: u64,
}

impl Punctuality {
    /// For each deadline that leaves any of `all`, the deliveries of a run that ended at `end_s`.
    pub fn of(all: &[Delivery], end_s: f64) -> Vec<Self> {
        let at = |deadline_s: f64| {
            let due = || all.iter().filter(|one| one.since_s + deadline_s <= end_s);
            let in_time = due().filter(|one| one.delay_s.is_some_and(|delay_s| delay_s <= deadline_s));
            Punctuality { deadline_s, offered: due().count() as u64, in_time: in_time.count() as u64 }
        };
        DEADLINES_S.map(at).into_iter().filter(|punctuality| punctuality.offered > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of 4 s. Written at 1 s: there after 0.15 s. At 2 s: after 0.4 s. At 3.8 s: never; a deadline of
    /// 0.2 s still fits before the end, one of 0.5 s does not. Deadlines of 5 s and more fit for none.
    #[test]
    fn what_had_no_time_for_its_deadline_does_not_count_and_what_never_came_does() {
        let delivery = |since_s, delay_s| Delivery { since_s, delay_s };
        let all = [delivery(1.0, Some(0.15)), delivery(2.0, Some(0.4)), delivery(3.8, None)];
        let counts: Vec<(f64, u64, u64)> =
            Punctuality::of(&all, 4.0).iter().map(|p| (p.deadline_s, p.in_time, p.offered)).collect();
        let expected = [(0.05, 0, 3), (0.1, 0, 3), (0.2, 1, 3), (0.5, 2, 2), (1.0, 2, 2), (2.0, 2, 2)];
        assert_eq!(counts, expected);
    }
}
