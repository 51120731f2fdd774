//! The signal by which decisions are made: it follows the readings, but not their noise.

use joulepath_model::units::{Dbm, Nanos};

/// Time constant of the smoothed signal, s: shadowing while walking decorrelates within that time.
const SMOOTHED_S: f64 = 10.0;
/// The settled signal changes if the smoothed one is off by this, dB: the width of the bins in
/// which radios were measured.
const OFF_DB: f64 = 5.0;

/// A signal with hysteresis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Settled {
    smoothed: Option<(Nanos, f64)>,
    dbm: Option<f64>,
}

impl Settled {
    /// Takes in a reading. Without a reading nothing is known, and the next one starts anew.
    pub(super) fn observe(&mut self, now: Nanos, reading: Option<f64>) {
        let Some(reading) = reading else {
            *self = Settled::default();
            return;
        };
        let smoothed = match self.smoothed {
            None => reading,
            Some((at, before)) => {
                let passed_s = now.saturating_sub(at).as_secs_f64();
                before + (1.0 - (-passed_s / SMOOTHED_S).exp()) * (reading - before)
            }
        };
        self.smoothed = Some((now, smoothed));
        if self.dbm.is_none_or(|dbm| (smoothed - dbm).abs() >= OFF_DB) {
            self.dbm = Some(smoothed.round());
        }
    }

    /// The settled signal.
    pub(super) fn dbm(&self) -> Option<Dbm> {
        self.dbm.map(Dbm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Nanos = Nanos::from_secs;

    #[test]
    fn the_signal_moves_by_whole_bins_and_starts_anew_after_a_gap() {
        let mut settled = Settled::default();
        assert_eq!(settled.dbm(), None);
        settled.observe(S(0), Some(-90.4));
        assert_eq!(settled.dbm(), Some(Dbm(-90.0)));
        // A reading 20 dB off counts 1 - 1/e^0.2 = 18 % after 2 s: 3.6 dB. Twice: 6.6 dB.
        settled.observe(S(2), Some(-110.4));
        assert_eq!(settled.dbm(), Some(Dbm(-90.0)));
        settled.observe(S(4), Some(-110.4));
        assert_eq!(settled.dbm(), Some(Dbm(-97.0)));
        settled.observe(S(6), None);
        assert_eq!(settled.dbm(), None);
        settled.observe(S(8), Some(-60.0));
        assert_eq!(settled.dbm(), Some(Dbm(-60.0)));
    }
}
