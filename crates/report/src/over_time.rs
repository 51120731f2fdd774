//! Turns time series of a policy's runs into medians and bands.
//!
//! ```text
//!   run 1  ▁▃▂▅ ▇▅▂▁ …  ── mean per bin ──► a₁ b₁ …  ┐
//!   run 2  ▂▁▄▇ ▅▃▁▂ …  ── mean per bin ──► a₂ b₂ …  ├─ quantiles per bin ─► lo, median, hi
//!   …                                                ┘
//! ```
//!
//! The bins are the only smoothing; the result includes their length.

use joulepath_model::quantile::linear;
use joulepath_model::result::{Band, OverTime, Series};

use crate::scale::round_step;

/// Maximum number of bins. A chart of half a screen's width cannot show more.
const MOST_BINS: f64 = 80.0;
/// Minimum number of runs for a band between tenths; with fewer, it spans lowest to highest.
const RUNS_FOR_TENTHS: usize = 10;
const TENTHS: (f64, f64) = (0.1, 0.9);
const ALL: (f64, f64) = (0.0, 1.0);

/// Length of the bins of a comparison, s: equal for all policies, however long their runs take.
/// `None` without samples.
pub(crate) fn bin_length<'a>(runs: impl IntoIterator<Item = &'a Series>) -> Option<f64> {
    let of_run = |series: &'a Series| {
        let end = *series.time_s.last()?;
        Some((end / MOST_BINS).max(end / series.time_s.len() as f64))
    };
    round_step(runs.into_iter().filter_map(of_run).reduce(f64::max)?)
}

/// Medians and bands of runs of one scenario, in bins of `bin_s` seconds; `None` without samples.
pub(crate) fn over_time(runs: &[Series], bin_s: f64) -> Option<OverTime> {
    let runs: Vec<&Series> = runs
        .iter()
        .filter(|series| !series.time_s.is_empty())
        .collect();
    let end = runs
        .iter()
        .filter_map(|series| series.time_s.last().copied())
        .reduce(f64::max)?;
    let count = bin_of(end, bin_s) + 1;
    let spans = runs.iter().map(|run| spans(run, bin_s, count)).collect();
    let bins = Bins {
        runs: &runs,
        spans,
        count,
        band: band(runs.len()),
    };
    let paths = runs.iter().map(|series| series.goodput_bps.len()).min()?;
    type Columns = fn(&Series) -> &Vec<Vec<f64>>;
    let by_path = |columns: Columns| -> Vec<Band> {
        (0..paths)
            .map(|path| bins.of(|series| columns(series)[path].iter().copied()))
            .collect()
    };
    let total = |columns: Columns| {
        bins.of(|series| {
            let columns = columns(series);
            (0..series.time_s.len()).map(|i| columns.iter().map(|path| path[i]).sum())
        })
    };
    // 0 means "no sample yet".
    let known = |&rtt_s: &f64| if rtt_s > 0.0 { rtt_s } else { f64::NAN };
    let rtt = |path: usize| bins.of(|series| series.rtt_s[path].iter().map(known));
    Some(OverTime {
        bin_s,
        time_s: (0..bins.count)
            .map(|bin| (bin as f64 + 0.5) * bin_s)
            .collect(),
        runs: runs.len() as u32,
        band: bins.band,
        total_goodput_bps: total(|series| &series.goodput_bps),
        total_power_w: total(|series| &series.power_w),
        goodput_bps: by_path(|series| &series.goodput_bps),
        cwnd: by_path(|series| &series.cwnd),
        rtt_s: (0..paths).map(rtt).collect(),
        queue: by_path(|series| &series.queue),
        power_w: by_path(|series| &series.power_w),
    })
}

fn band(runs: usize) -> (f64, f64) {
    if runs < RUNS_FOR_TENTHS { ALL } else { TENTHS }
}

/// The bin that ends at or after `time_s`: a sample describes the time before it.
fn bin_of(time_s: f64, bin_s: f64) -> usize {
    ((time_s / bin_s).ceil() as usize).saturating_sub(1)
}

/// Interval of a sample.
struct Span {
    bin: usize,
    /// Time since the previous sample, s.
    lasts_s: f64,
}

/// Intervals of a run's samples, in `count` bins.
fn spans(run: &Series, bin_s: f64, count: usize) -> Vec<Span> {
    let mut before = 0.0;
    let span = |&time: &f64| {
        let lasts_s = time - std::mem::replace(&mut before, time);
        Span {
            bin: bin_of(time, bin_s).min(count - 1),
            lasts_s,
        }
    };
    run.time_s.iter().map(span).collect()
}

/// Runs divided into bins.
struct Bins<'a> {
    runs: &'a [&'a Series],
    /// Intervals by run and sample.
    spans: Vec<Vec<Span>>,
    count: usize,
    band: (f64, f64),
}

impl Bins<'_> {
    /// Quantiles of a value over the runs; NaN marks missing values.
    fn of<'s, Values: Iterator<Item = f64>>(
        &'s self,
        values: impl Fn(&'s Series) -> Values,
    ) -> Band {
        let runs = self.runs.iter().zip(&self.spans);
        let means: Vec<Vec<Option<f64>>> = runs
            .map(|(run, spans)| means(values(run), spans, self.count))
            .collect();
        let mut band = Band::default();
        let mut known: Vec<f64> = vec![];
        for bin in 0..self.count {
            known.clear();
            known.extend(means.iter().filter_map(|run| run[bin]));
            known.sort_unstable_by(f64::total_cmp);
            let at = |p: f64| (2 * known.len() >= self.runs.len()).then(|| linear(&known, p));
            band.lo.push(at(self.band.0));
            band.median.push(at(0.5));
            band.hi.push(at(self.band.1));
        }
        band
    }
}

/// Means of a run's values over each of `count` bins, weighted by the samples' intervals.
fn means(values: impl Iterator<Item = f64>, spans: &[Span], count: usize) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0.0); count];
    for (value, span) in values.zip(spans) {
        if value.is_finite() && span.lasts_s > 0.0 {
            let (sum, time_s) = &mut sums[span.bin];
            *sum += value * span.lasts_s;
            *time_s += span.lasts_s;
        }
    }
    sums.into_iter()
        .map(|(sum, time_s)| (time_s > 0.0).then(|| sum / time_s))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over_time(runs: &[Series]) -> Option<OverTime> {
        super::over_time(runs, bin_length(runs)?)
    }

    /// A series with one path; RTT and other values equal the goodput.
    fn series(time_s: &[f64], values: &[f64]) -> Series {
        let by_path = vec![values.to_vec()];
        Series {
            time_s: time_s.to_vec(),
            goodput_bps: by_path.clone(),
            cwnd: by_path.clone(),
            rtt_s: by_path.clone(),
            queue: by_path.clone(),
            power_w: by_path,
            ..Series::default()
        }
    }

    fn every_second(values: impl Iterator<Item = f64>) -> Series {
        let values: Vec<f64> = values.collect();
        let time: Vec<f64> = (1..=values.len()).map(|second| second as f64).collect();
        series(&time, &values)
    }

    #[test]
    fn a_bin_has_the_mean_of_each_run() {
        // 100 s in at most 80 bins: at least 1.25 s, so 2 s. Seconds 1 and 2 form the first bin: (1
        // + 2)/2.
        let all = over_time(&[every_second((1..=100).map(f64::from))]).unwrap();
        assert_eq!((all.bin_s, all.time_s.len(), all.time_s[0]), (2.0, 50, 1.0));
        assert_eq!(all.cwnd[0].median[..2], [Some(1.5), Some(3.5)]);
        assert_eq!(all.cwnd[0].lo, all.cwnd[0].hi);
    }

    #[test]
    fn samples_are_weighted_by_their_interval() {
        // Bins of 0.1 s (8 s in 80): the sample at 0.06 covers 0.06 s, the one at 0.1 covers 0.04
        // s: 0.6 × 10 + 0.4 × 20.
        let mut time = vec![0.06];
        time.extend((1..=80).map(|tenth| f64::from(tenth) / 10.0));
        let mut values = vec![10.0, 20.0];
        values.resize(81, 0.0);
        let all = over_time(&[series(&time, &values)]).unwrap();
        assert_eq!(all.bin_s, 0.1);
        assert!(
            (all.goodput_bps[0].median[0].unwrap() - 14.0).abs() < 1e-9,
            "{all:?}"
        );
    }

    #[test]
    fn median_and_band_are_taken_over_the_runs() {
        // Eleven runs of 0, 1, …, 10: the tenths are 1 and 9. With nine runs of 0 … 8, the band
        // covers all of them.
        let runs = |n: u32| -> Vec<Series> {
            (0..n)
                .map(|run| every_second((0..40).map(|_| f64::from(run))))
                .collect()
        };
        let at_first = |band: &Band| (band.lo[0], band.median[0], band.hi[0]);
        let many = over_time(&runs(11)).unwrap();
        assert_eq!((many.runs, many.band), (11, (0.1, 0.9)));
        assert_eq!(at_first(&many.queue[0]), (Some(1.0), Some(5.0), Some(9.0)));
        let few = over_time(&runs(9)).unwrap();
        assert_eq!(few.band, (0.0, 1.0));
        assert_eq!(at_first(&few.queue[0]), (Some(0.0), Some(4.0), Some(8.0)));
    }

    #[test]
    fn the_median_of_a_sum_is_not_the_sum_of_medians() {
        // Paths of (1, 5), (2, 3), (9, 1): medians 2 and 3, sums 6, 5, 10 with median 6.
        let runs = [(1.0, 5.0), (2.0, 3.0), (9.0, 1.0)].map(|(a, b)| {
            let mut run = every_second((0..40).map(|_| a));
            run.goodput_bps.push(vec![b; 40]);
            for other in [
                &mut run.cwnd,
                &mut run.rtt_s,
                &mut run.queue,
                &mut run.power_w,
            ] {
                other.push(vec![b; 40]);
            }
            run
        });
        let all = over_time(&runs).unwrap();
        assert_eq!(all.total_goodput_bps.median[0], Some(6.0));
        assert_eq!(
            (all.goodput_bps[0].median[0], all.goodput_bps[1].median[0]),
            (Some(2.0), Some(3.0))
        );
    }

    #[test]
    fn ended_runs_do_not_count_afterwards() {
        // Of four runs two end after 10 s and one after 20 s: half continue until 20 s, a quarter
        // until 40 s.
        let runs = [10, 10, 20, 40].map(|end| every_second((0..end).map(|_| 1.0)));
        let all = over_time(&runs).unwrap();
        let known = all.goodput_bps[0]
            .median
            .iter()
            .filter(|value| value.is_some())
            .count();
        assert_eq!((all.time_s.len(), known), (40, 20));
    }

    #[test]
    fn before_the_first_rtt_sample_there_is_no_rtt() {
        let run = every_second([0.0, 0.0, 0.2, 0.3].into_iter().chain((0..36).map(|_| 0.3)));
        let all = over_time(&[run]).unwrap();
        assert_eq!(all.rtt_s[0].median[..3], [None, None, Some(0.2)]);
        assert_eq!(all.cwnd[0].median[0], Some(0.0));
    }

    #[test]
    fn bins_are_at_least_as_long_as_the_sampling_interval() {
        // Four samples in 40 s: 10 s each, although 40 s could have 80 bins.
        let all = over_time(&[series(&[10.0, 20.0, 30.0, 40.0], &[1.0, 2.0, 3.0, 4.0])]).unwrap();
        assert_eq!((all.bin_s, all.time_s.len()), (10.0, 4));
        assert_eq!(over_time(&[]), None);
        assert_eq!(over_time(&[Series::default()]), None);
        assert_eq!(super::over_time(&[Series::default()], 1.0), None);
    }
}
