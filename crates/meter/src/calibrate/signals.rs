//! The signal during a calibration.

use joulepath_model::quantile::linear_unsorted;
use joulepath_model::scenario::BORNE_DB;

use super::refusal::Refusal;

/// Readings after which the signal is judged.
const ENOUGH: usize = 20;
/// Ends of the range, as quantiles: a lone reading is not the signal.
const ENDS: [f64; 2] = [0.05, 0.95];

/// All readings so far, dBm.
#[derive(Clone, Debug, Default)]
pub(super) struct Signals(Vec<f64>);

impl Signals {
    pub(super) fn add(&mut self, dbm: Option<f64>) {
        self.0.extend(dbm);
    }

    /// Weakest and strongest signal, dBm.
    pub(super) fn range(&self) -> Option<[f64; 2]> {
        (!self.0.is_empty()).then(|| ENDS.map(|end| linear_unsorted(&mut self.0.clone(), end)))
    }

    /// Refuses signals that differ by more than [`BORNE_DB`].
    pub(super) fn check(&self) -> Result<(), Refusal> {
        match self.range() {
            Some(ends_dbm) if self.0.len() >= ENOUGH && ends_dbm[1] - ends_dbm[0] > BORNE_DB => {
                Err(Refusal::Signal { ends_dbm })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_moves_is_refused_and_lone_readings_are_not() {
        let of = |dbm: &[f64]| Signals(dbm.to_vec());
        assert_eq!(Signals::default().range(), None);
        // 39 readings of -60 dBm and one of -90 dBm; then a fifth of them.
        let mut all = vec![-60.0; 40];
        all[7] = -90.0;
        assert_eq!(
            (of(&all).check(), of(&all).range()),
            (Ok(()), Some([-60.0, -60.0]))
        );
        (0..8).for_each(|i| all[i] = -90.0);
        assert_eq!(
            of(&all).check(),
            Err(Refusal::Signal {
                ends_dbm: [-90.0, -60.0]
            })
        );
        // 0.15 / (61.3 / 2806) = 6.87 dB.
        let spread = |db: f64| {
            (0..40)
                .map(|i| -60.0 - db * f64::from(i % 2))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&spread(6.8)).check(), Ok(()));
        assert!(of(&spread(6.9)).check().is_err());
        assert_eq!(of(&[-60.0, -90.0]).check(), Ok(()));
    }
}
