//! How often something has happened of late: what waits longer each time counts by it. And for how long
//! something has been so.

use joulepath_model::units::Nanos;

/// A count that forgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lately {
    /// The latest time; none if it never happened.
    last: Option<Nanos>,
    /// How often, counted at that instant.
    times: u32,
}

impl Lately {
    /// How often; one is forgotten after each `forget` without another.
    pub(super) fn times(&self, now: Nanos, forget: Nanos) -> u32 {
        let Some(last) = self.last else { return 0 };
        let forgotten = now.saturating_sub(last).0 / forget.0;
        self.times.saturating_sub(u32::try_from(forgotten).unwrap_or(u32::MAX))
    }

    /// It happens again; no more than `most` are counted.
    pub(super) fn add(&mut self, now: Nanos, forget: Nanos, most: u32) {
        *self = Lately { last: Some(now), times: (self.times(now, forget) + 1).min(most) };
    }

    /// When it last happened.
    pub(super) fn last(&self) -> Option<Nanos> {
        self.last
    }
}

/// Whether `holds` has held for `time`; `since` remembers from when on.
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
    fn one_is_forgotten_in_each_interval_without_another() {
        let (mut lately, s) = (Lately::default(), Nanos::from_secs);
        assert_eq!((lately.times(s(5), s(10)), lately.last()), (0, None));
        for now in [5, 6, 7, 8] {
            lately.add(s(now), s(10), 3);
        }
        let times: Vec<u32> = [8, 17, 18, 37, 38, 1000].map(|now| lately.times(s(now), s(10))).into();
        assert_eq!((times, lately.last()), (vec![3, 3, 2, 1, 0, 0], Some(s(8))));
    }
}
