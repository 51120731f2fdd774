//! Counts recent occurrences, for delays that grow with each, and tells how long a condition has
//! held.

use joulepath_model::units::Nanos;

/// A decaying count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lately {
    last: Option<Nanos>,
    /// The count at that time.
    times: u32,
}

impl Lately {
    /// The count; it drops by one after each `forget` without an occurrence.
    pub(crate) fn times(&self, now: Nanos, forget: Nanos) -> u32 {
        let Some(last) = self.last else { return 0 };
        let forgotten = now.saturating_sub(last).0 / forget.0;
        self.times
            .saturating_sub(u32::try_from(forgotten).unwrap_or(u32::MAX))
    }

    /// Counts an occurrence, up to `most`.
    pub(crate) fn add(&mut self, now: Nanos, forget: Nanos, most: u32) {
        *self = Lately {
            last: Some(now),
            times: (self.times(now, forget) + 1).min(most),
        };
    }

    pub(crate) fn last(&self) -> Option<Nanos> {
        self.last
    }
}

/// True if `holds` has held for `time`; `since` stores its start.
pub(super) fn lasted(since: &mut Option<Nanos>, holds: bool, now: Nanos, time: Nanos) -> bool {
    if !holds {
        *since = None;
        return false;
    }
    now.saturating_sub(*since.get_or_insert(now)) >= time
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_drops_by_one_in_each_interval_without_an_occurrence() {
        let (mut lately, s) = (Lately::default(), Nanos::from_secs);
        assert_eq!((lately.times(s(5), s(10)), lately.last()), (0, None));
        for now in [5, 6, 7, 8] {
            lately.add(s(now), s(10), 3);
        }
        let times: Vec<u32> = [8, 17, 18, 37, 38, 1000]
            .map(|now| lately.times(s(now), s(10)))
            .into();
        assert_eq!((times, lately.last()), (vec![3, 3, 2, 1, 0, 0], Some(s(8))));
    }
}
