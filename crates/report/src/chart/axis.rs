//! Axes.

use crate::scale::{round_step, rounded};

/// An axis from one number to another, with ticks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    lo: f64,
    hi: f64,
    log: bool,
    ticks: Vec<f64>,
}

impl Axis {
    /// An axis from `lo` to `hi` with ticks at round numbers, at most about `most` of them.
    pub(crate) fn between(lo: f64, hi: f64, most: f64) -> Self {
        let Some(step) = round_step((hi - lo) / most).filter(|_| hi > lo) else {
            return Axis {
                lo: lo - 1.0,
                hi: lo + 1.0,
                log: false,
                ticks: vec![lo],
            };
        };
        // Rounding must not lose a tick at an end.
        let (first, last) = ((lo / step - 1e-9).ceil(), (hi / step + 1e-9).floor());
        let count = (last - first) as u32;
        let ticks = (0..=count).map(|i| (first + f64::from(i)) * step).collect();
        Axis {
            lo,
            hi,
            log: false,
            ticks,
        }
    }

    /// An axis around `lo` and `hi` that ends at ticks; `None` if they are not a range.
    pub(crate) fn around(lo: f64, hi: f64, most: f64) -> Option<Self> {
        let step = round_step((hi - lo) / most).filter(|_| hi > lo)?;
        Some(Axis::between(
            (lo / step).floor() * step,
            (hi / step).ceil() * step,
            most + 2.0,
        ))
        .map(|axis| Axis {
            ticks: axis.every(step),
            ..axis
        })
    }

    fn every(&self, step: f64) -> Vec<f64> {
        let count = ((self.hi - self.lo) / step).round() as u32;
        (0..=count).map(|i| self.lo + f64::from(i) * step).collect()
    }

    /// A vertical axis for `values`: from 0, unless all of them lie close together far from 0.
    /// `room` is the free part at the end.
    pub(crate) fn of_values(values: impl Iterator<Item = f64>, room: f64) -> Self {
        let Some((mut lo, mut hi)) = ends(values) else {
            return Axis::between(0.0, 1.0, 5.0);
        };
        if lo > 0.0 && lo < 0.5 * hi {
            lo = 0.0;
        }
        if hi < 0.0 && hi > 0.5 * lo {
            hi = 0.0;
        }
        let span = [hi - lo, hi.abs(), 1.0]
            .into_iter()
            .find(|&span| span > 0.0)
            .unwrap_or(1.0);
        let far = |end: f64, room: f64| if end == 0.0 { 0.0 } else { room * span };
        Axis::between(lo - far(lo, 0.06), hi + far(hi, room), 5.0)
    }

    /// A horizontal axis for `values`. Whole numbers have no ticks between them.
    pub(crate) fn along(values: impl Iterator<Item = f64> + Clone, log: bool) -> Self {
        const MOST: f64 = 6.0;
        let Some((lo, hi)) = ends(values.clone()) else {
            return Axis::between(0.0, 1.0, MOST);
        };
        if log && lo > 0.0 {
            let factor = if hi > lo {
                libm::pow(hi / lo, 0.03)
            } else {
                2.0
            };
            return Axis::logarithmic(lo / factor, hi * factor, MOST);
        }
        let room = if hi > lo {
            0.02 * (hi - lo)
        } else {
            [0.5 * hi.abs(), 1.0][usize::from(hi == 0.0)]
        };
        let axis = Axis::between(lo - room, hi + room, MOST);
        let step = axis
            .ticks
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .next()
            .unwrap_or(1.0);
        if step < 1.0 && values.into_iter().all(|value| value.fract() == 0.0) {
            return Axis {
                ticks: (lo as i64..=hi as i64).map(|tick| tick as f64).collect(),
                ..axis
            };
        }
        axis
    }

    /// Ticks at 1, 2 and 5 times powers of ten, or only at powers of ten if those are too many.
    fn logarithmic(lo: f64, hi: f64, most: f64) -> Self {
        let powers =
            || (libm::floor(libm::log10(lo)) as i32)..=(libm::ceil(libm::log10(hi)) as i32);
        let ticks = |steps: &[f64], every: i32| -> Vec<f64> {
            let powers = powers().filter(|power| power.rem_euclid(every) == 0);
            let all = powers.flat_map(|power| {
                steps
                    .iter()
                    .map(move |step| step * libm::pow(10.0, f64::from(power)))
            });
            all.map(|tick| rounded(tick, 2))
                .filter(|tick| (lo..=hi).contains(tick))
                .collect()
        };
        let choices = [
            ticks(&[1.0, 2.0, 5.0], 1),
            ticks(&[1.0], 1),
            ticks(&[1.0], 2),
            ticks(&[1.0], 5),
        ];
        let fits = |choice: &&Vec<f64>| choice.len() as f64 <= most + 1.0;
        let ticks = choices
            .iter()
            .find(fits)
            .or(choices.last())
            .cloned()
            .unwrap_or_default();
        Axis {
            lo,
            hi,
            log: true,
            ticks,
        }
    }

    /// Position of a value: 0 at the lower end, 1 at the upper one.
    pub(crate) fn part(&self, value: f64) -> f64 {
        match self.log {
            true => libm::log(value / self.lo) / libm::log(self.hi / self.lo),
            false => (value - self.lo) / (self.hi - self.lo),
        }
    }

    /// Ticks, ascending.
    pub(crate) fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    /// Distance of the first two ticks.
    pub(crate) fn step(&self) -> f64 {
        self.ticks
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .next()
            .unwrap_or(1.0)
    }

    /// Lower and upper end.
    pub(crate) fn ends(&self) -> [f64; 2] {
        [self.lo, self.hi]
    }

    pub(crate) fn is_log(&self) -> bool {
        self.log
    }

    /// Whether 0 is not on the axis.
    pub(crate) fn is_cut(&self) -> bool {
        self.lo > 0.0 || self.hi < 0.0
    }

    /// Text of a tick, with as many decimals as the steps need.
    pub(crate) fn text(&self, tick: f64) -> String {
        if self.log {
            return brief(tick);
        }
        let digits = (-libm::floor(libm::log10(self.step()) + 1e-9)).clamp(0.0, 9.0) as usize;
        let text = format!("{tick:.digits$}");
        if text.trim_start_matches(['-', '0', '.']).is_empty() {
            "0".into()
        } else {
            text.replace('-', "−")
        }
    }
}

/// Least and largest finite value.
fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|value| value.is_finite())
        .fold(None, |ends, value| {
            let (lo, hi) = ends.unwrap_or((value, value));
            Some((lo.min(value), hi.max(value)))
        })
}

/// Four significant digits without trailing zeros; `–` if not finite.
pub(crate) fn brief(value: f64) -> String {
    if value.is_finite() {
        rounded(value, 4).to_string()
    } else {
        "–".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_round_numbers_around_its_values() {
        // 4.3 in at most 4 steps: steps of 2, from -2 to 4.
        let axis = Axis::around(-0.8, 3.5, 4.0).unwrap();
        assert_eq!(axis.ticks(), [-2.0, 0.0, 2.0, 4.0]);
        assert_eq!(
            (axis.part(-2.0), axis.part(1.0), axis.step()),
            (0.0, 0.5, 2.0)
        );
        assert_eq!(Axis::around(1.0, 1.0, 4.0), None);
    }

    #[test]
    fn ticks_lie_between_the_ends() {
        assert_eq!(Axis::between(0.3, 2.1, 4.0).ticks(), [0.5, 1.0, 1.5, 2.0]);
        assert_eq!(
            Axis::between(0.0, 5.0, 5.0).ticks(),
            [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        );
        assert_eq!(Axis::between(0.0, 0.3, 3.0).text(0.1), "0.1");
        assert_eq!(Axis::between(-2.0, 2.0, 4.0).text(-1.0), "−1");
        assert_eq!(Axis::between(0.0, 1e6, 5.0).text(2e5), "200000");
    }

    #[test]
    fn values_begin_at_zero_unless_they_are_close_together() {
        assert_eq!(
            Axis::of_values([1.0, 4.0].into_iter(), 0.0).ends(),
            [0.0, 4.0]
        );
        let close = Axis::of_values([10.0, 11.0].into_iter(), 0.0);
        assert_eq!((close.ends(), close.is_cut()), ([9.94, 11.0], true));
        assert_eq!(
            Axis::of_values([f64::NAN].into_iter(), 0.1).ends(),
            [0.0, 1.0]
        );
    }

    #[test]
    fn whole_numbers_have_no_ticks_between_them() {
        assert_eq!(
            Axis::along([1.0, 2.0, 3.0].into_iter(), false).ticks(),
            [1.0, 2.0, 3.0]
        );
    }

    #[test]
    fn a_logarithmic_axis_has_few_ticks() {
        let axis = Axis::along([1.0, 100.0].into_iter(), true);
        assert_eq!(axis.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert!((axis.part(10.0) - 0.5).abs() < 1e-12);
        assert_eq!(Axis::along([1.0, 1e5].into_iter(), true).ticks().len(), 6);
    }
}
