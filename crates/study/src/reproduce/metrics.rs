//! The numbers and time series that files under `papers/` name, one line each.
//!
//! A name ends with its unit. `share(1)` is the share of the second path.

use joulepath_control::allocate::so_mptcp::{SlotPath, least_energy_j};
use joulepath_model::metric::{self, COMPLETION, METRICS, RETRANSMISSIONS, in_unit};
use joulepath_model::names::suggest;
use joulepath_model::result::{BlockSeries, PathResult, RunResult, Series};
use joulepath_slotted::{SlottedResult, bounds};
use serde::Deserialize;

use super::slotted::TRANSIENT_S;

#[derive(Clone, Copy)]
pub(super) enum Run<'a> {
    /// Of an engine.
    Engine(&'a RunResult),
    /// Of 003's slotted system.
    Slotted(&'a SlottedResult),
}

impl Run<'_> {
    pub(super) fn seed(self) -> u64 {
        match self {
            Run::Engine(run) => run.seed,
            Run::Slotted(run) => run.seed,
        }
    }
}

/// How to read a number from a run. NaN: the run has no such number.
#[derive(Clone, Copy)]
enum Number {
    Engine(fn(&RunResult) -> f64),
    Path(fn(&PathResult) -> f64),
    Slotted(fn(&SlottedResult) -> f64),
    SlottedPath(fn(&SlottedResult, usize) -> f64),
}

/// How to read a time series from a run.
#[derive(Clone, Copy)]
pub(super) enum Sampled {
    /// By sample; of one path if it has an index.
    Engine(fn(&Series, usize) -> Vec<f64>),
    /// By block of 100 segments.
    Blocks(fn(&BlockSeries) -> Vec<f64>),
    /// By second.
    Slotted(fn(&SlottedResult, usize) -> Vec<Option<f64>>),
}

/// The papers' own combinations, besides the metrics of [`METRICS`] in each of their units. `(i)`
/// stands for the index of a path.
const NUMBERS: &[(&str, Number)] = &[
    (
        "energy, J/Gbit",
        Number::Engine(|run| 1e9 / run.bits_per_joule),
    ),
    (
        "TCP shares",
        Number::Engine(|run| run.goodput_bps / run.competitors_bps),
    ),
    ("switch energy, J/Gbit", Number::Engine(switch_energy)),
    ("U_ep, packets", Number::Engine(price)),
    ("block goodput, Mbit/s", Number::Engine(block_goodput)),
    ("slow block goodput, Mbit/s", Number::Engine(slow_blocks)),
    ("block goodput variation", Number::Engine(block_variation)),
    ("block buffer, packets", Number::Engine(block_buffer)),
    ("share(i)", Number::Path(|path| path.share)),
    (
        "path goodput, Mbit/s(i)",
        Number::Path(|path| path.goodput_bps / 1e6),
    ),
    ("losses(i)", Number::Path(losses)),
    (
        "slotted throughput, Mbit/s",
        Number::Slotted(|run| run.means.throughput_mbps),
    ),
    (
        "slotted delay, s",
        Number::Slotted(|run| run.means.delay_s.unwrap_or(f64::NAN)),
    ),
    (
        "slotted power, J/s",
        Number::Slotted(|run| run.means.power_w),
    ),
    ("slotted peak power, J/s", Number::Slotted(peak_power)),
    (
        "slotted power deviation, J/s",
        Number::Slotted(power_deviation),
    ),
    ("start ÷ rest", Number::Slotted(start)),
    (
        "queue, packets",
        Number::Slotted(|run| run.means.backlog_packets),
    ),
    ("queue bound (15), packets", Number::Slotted(queue_bound)),
    ("gap to stationary, J", Number::Slotted(gap)),
    ("printed gap bound, J", Number::Slotted(printed_gap_bound)),
    (
        "B/V, J",
        Number::Slotted(|run| bounds::gap(run.means.drift, v(run))),
    ),
    (
        "window queue, packets(i)",
        Number::SlottedPath(window_queue),
    ),
];

const SERIES: &[(&str, Sampled)] = &[
    (
        "goodput, Mbit/s",
        Sampled::Engine(|s, _| scaled(total(&s.goodput_bps), 1e6)),
    ),
    (
        "mean goodput, kbit/s",
        Sampled::Engine(|s, _| mean_goodput_kbps(s)),
    ),
    (
        "mean goodput, Mbit/s",
        Sampled::Engine(|s, _| scaled(mean_goodput(s), 1e6)),
    ),
    ("mean power, W", Sampled::Engine(|s, _| mean_power(s))),
    (
        "mean efficiency, kbit/J",
        Sampled::Engine(|s, _| mean_efficiency(s)),
    ),
    ("share so far(i)", Sampled::Engine(share_so_far)),
    (
        "block goodput, Mbit/s",
        Sampled::Blocks(|b| scaled(b.goodput_bps.clone(), 1e6)),
    ),
    (
        "block buffer, packets",
        Sampled::Blocks(|b| b.buffer.clone()),
    ),
    (
        "slotted throughput, Mbit/s",
        Sampled::Slotted(|r, _| some(&r.series.throughput_mbps)),
    ),
    (
        "slotted delay, s",
        Sampled::Slotted(|r, _| r.series.delay_s.clone()),
    ),
    (
        "slotted power, J/s",
        Sampled::Slotted(|r, _| some(&r.series.power_w)),
    ),
    ("window queue, packets(i)", Sampled::Slotted(window_queues)),
];

#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Metric {
    read: Read,
    path: usize,
}

/// Where a number comes from.
#[derive(Clone, Copy)]
enum Read {
    /// A metric of [`METRICS`], in a unit with this size.
    Metric(&'static metric::Metric, &'static (f64, &'static str)),
    /// An entry of [`NUMBERS`].
    Own(&'static (&'static str, Number)),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct SeriesMetric {
    pub(super) sampled: Sampled,
    pub(super) path: usize,
}

/// Names of the papers for metrics of the table.
const OTHER_TITLES: [(&str, &metric::Metric); 2] = [
    ("completion time", &COMPLETION),
    ("retransmitted", &RETRANSMISSIONS),
];

/// The metrics of the table in each of their units, then the papers' own numbers.
fn numbers() -> impl Iterator<Item = (String, Read)> {
    let titles = METRICS.iter().map(|&metric| (metric.title, metric));
    let in_units = |(title, metric): (&'static str, &'static metric::Metric)| {
        let in_unit = move |unit: &'static (f64, &'static str)| {
            (format!("{title}, {}", unit.1), Read::Metric(metric, unit))
        };
        metric.quantity.units().iter().map(in_unit)
    };
    let own = NUMBERS.iter().map(|own| (own.0.to_owned(), Read::Own(own)));
    titles.chain(OTHER_TITLES).flat_map(in_units).chain(own)
}

/// The entry with this name, and the index in parentheses after the name.
fn find<T>(
    registry: impl Iterator<Item = (String, T)>,
    what: &str,
    written: &str,
) -> Result<(T, usize), String> {
    let (name, index) = match written
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('))
    {
        Some((name, index)) if index.bytes().all(|b| b.is_ascii_digit()) => {
            (name, index.parse().ok())
        }
        _ => (written, None),
    };
    let mut known = vec![];
    for (entry, read) in registry {
        let (plain, is_of_path) = match entry.strip_suffix("(i)") {
            Some(plain) => (plain, true),
            None => (entry.as_str(), false),
        };
        if plain != name {
            known.push(plain.to_owned());
            continue;
        }
        return match (is_of_path, index) {
            (true, None) => Err(format!(
                "`{written}` lacks the index of a path; write `{name}(0)`"
            )),
            (false, Some(_)) => Err(format!(
                "`{name}` describes the whole connection; write it without an index"
            )),
            (_, index) => Ok((read, index.unwrap_or(0))),
        };
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Err(format!(
        "there is no {what} `{written}`; {}",
        suggest(name, &known)
    ))
}

impl TryFrom<String> for Metric {
    type Error = String;

    fn try_from(written: String) -> Result<Self, String> {
        let (read, path) = find(numbers(), "metric", &written)?;
        Ok(Metric { read, path })
    }
}

impl TryFrom<String> for SeriesMetric {
    type Error = String;

    fn try_from(written: String) -> Result<Self, String> {
        let known = SERIES
            .iter()
            .map(|&(name, sampled)| (name.to_owned(), sampled));
        let (sampled, path) = find(known, "time series", &written)?;
        Ok(SeriesMetric { sampled, path })
    }
}

impl Metric {
    /// Value for a run; NaN if the run has no such number.
    pub(super) fn of(self, run: Run<'_>) -> f64 {
        let number = match self.read {
            Read::Own((_, number)) => number,
            Read::Metric(metric, (size, _)) => {
                let Run::Engine(run) = run else {
                    return f64::NAN;
                };
                return metric
                    .of(run)
                    .map_or(f64::NAN, |value| in_unit(value, *size));
            }
        };
        match (number, run) {
            (Number::Engine(number), Run::Engine(run)) => number(run),
            (Number::Path(number), Run::Engine(run)) => {
                run.paths.get(self.path).map_or(f64::NAN, number)
            }
            (Number::Slotted(number), Run::Slotted(run)) => number(run),
            (Number::SlottedPath(number), Run::Slotted(run)) => number(run, self.path),
            _ => f64::NAN,
        }
    }

    /// Unit of its numbers: the end of its name.
    pub(super) fn unit(self) -> &'static str {
        match self.read {
            Read::Metric(_, (_, unit)) => unit,
            Read::Own((name, _)) => {
                let end = name.trim_end_matches("(i)").rsplit_once(", ");
                end.map_or("", |(_, unit)| unit)
            }
        }
    }

    /// Whether it reads runs of the slotted system.
    pub(super) fn is_slotted(self) -> bool {
        matches!(
            self.read,
            Read::Own((_, Number::Slotted(_) | Number::SlottedPath(_)))
        )
    }
}

impl SeriesMetric {
    /// Whether it reads runs of the slotted system.
    pub(super) fn is_slotted(self) -> bool {
        matches!(self.sampled, Sampled::Slotted(_))
    }
}

/// Energy of the switches per delivered gigabit.
fn switch_energy(run: &RunResult) -> f64 {
    let bits = run.goodput_bps * run.measured_s;
    run.network
        .as_ref()
        .map_or(f64::NAN, |network| network.energy_j() / bits * 1e9)
}

fn price(run: &RunResult) -> f64 {
    run.network
        .as_ref()
        .map_or(f64::NAN, |network| network.price_packets)
}

/// Loss events of a path, without data that another path takes over.
fn losses(path: &PathResult) -> f64 {
    path.loss_event_rate * path.segments as f64
}

fn block_goodput(run: &RunResult) -> f64 {
    run.blocks
        .map_or(f64::NAN, |blocks| blocks.goodput_bps.mean / 1e6)
}

/// The slowest twentieth of the blocks.
fn slow_blocks(run: &RunResult) -> f64 {
    run.blocks
        .map_or(f64::NAN, |blocks| blocks.goodput_bps.p5 / 1e6)
}

/// Width of the middle 90 % of the blocks' goodput, divided by its mean.
fn block_variation(run: &RunResult) -> f64 {
    run.blocks.map_or(f64::NAN, |blocks| {
        (blocks.goodput_bps.p95 - blocks.goodput_bps.p5) / blocks.goodput_bps.mean
    })
}

fn block_buffer(run: &RunResult) -> f64 {
    run.blocks.map_or(f64::NAN, |blocks| blocks.buffer.mean)
}

/// Highest power of a second.
fn peak_power(run: &SlottedResult) -> f64 {
    run.series.power_w.iter().copied().fold(0.0, f64::max)
}

/// Standard deviation over the seconds after the transient.
fn power_deviation(run: &SlottedResult) -> f64 {
    let values = &run.series.power_w[TRANSIENT_S..];
    let mean = mean(values);
    (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / values.len() as f64).sqrt()
}

/// Throughput of the transient divided by that of the rest.
fn start(run: &SlottedResult) -> f64 {
    let (first, rest) = run.series.throughput_mbps.split_at(TRANSIENT_S);
    mean(first) / mean(rest)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean virtual queue of a path.
fn window_queue(run: &SlottedResult, path: usize) -> f64 {
    run.means
        .virtual_queue_packets
        .get(path)
        .copied()
        .unwrap_or(f64::NAN)
}

fn window_queues(run: &SlottedResult, path: usize) -> Vec<Option<f64>> {
    run.series
        .virtual_queue_packets
        .get(path)
        .map_or(vec![], |queue| some(queue))
}

fn some(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(Some).collect()
}

/// Packets that arrive per slot with `Params::fixed_windows`.
const FIXED_LOAD: f64 = 35.0;
/// Packets per slot that the windows can carry above the load: the largest ε of the theorems.
const FIXED_SLACK: f64 = 110.0 - FIXED_LOAD;

/// Minimum energy of a stationary policy that carries `load` on the fixed windows, per slot of 1 s.
fn stationary(load: f64) -> f64 {
    let paths = [(5.0, 20.0), (10.0, 30.0), (20.0, 60.0)];
    least_energy_j(
        &paths.map(|(cost_j, carried)| SlotPath::within(cost_j, carried)),
        load,
    )
}

fn v(run: &SlottedResult) -> f64 {
    run.v.unwrap_or(0.0)
}

/// Right side of 003's equation (15).
fn queue_bound(run: &SlottedResult) -> f64 {
    let slack_j = stationary(FIXED_LOAD + FIXED_SLACK);
    bounds::backlog(
        run.means.drift,
        v(run),
        slack_j,
        run.means.power_w,
        FIXED_SLACK,
    )
}

fn gap(run: &SlottedResult) -> f64 {
    run.means.power_w - stationary(FIXED_LOAD)
}

fn printed_gap_bound(run: &SlottedResult) -> f64 {
    let (most, least) = (stationary(FIXED_LOAD + FIXED_SLACK), stationary(FIXED_LOAD));
    bounds::printed_gap(run.means.drift, v(run), most, least, FIXED_SLACK)
}

fn scaled(values: Vec<f64>, divisor: f64) -> Vec<f64> {
    values.into_iter().map(|value| value / divisor).collect()
}

fn mean_goodput(series: &Series) -> Vec<f64> {
    running_mean(&series.time_s, &total(&series.goodput_bps))
}

fn mean_goodput_kbps(series: &Series) -> Vec<f64> {
    mean_goodput(series)
        .into_iter()
        .map(|bps| bps * 1e-3)
        .collect()
}

fn mean_power(series: &Series) -> Vec<f64> {
    running_mean(&series.time_s, &total(&series.power_w))
}

fn mean_efficiency(series: &Series) -> Vec<f64> {
    mean_goodput_kbps(series)
        .iter()
        .zip(mean_power(series))
        .map(|(kbps, watts)| kbps / watts)
        .collect()
}

/// Fraction of the goodput since the start that a path carried.
fn share_so_far(series: &Series, path: usize) -> Vec<f64> {
    let Some(own) = series.goodput_bps.get(path) else {
        return vec![];
    };
    running_mean(&series.time_s, own)
        .iter()
        .zip(mean_goodput(series))
        .map(|(own, all)| own / all)
        .collect()
}

/// Sum over the paths at each sample.
fn total(by_path: &[Vec<f64>]) -> Vec<f64> {
    let instants = by_path.first().map_or(0, Vec::len);
    (0..instants)
        .map(|i| by_path.iter().map(|path| path[i]).sum())
        .collect()
}

/// Mean of a rate from the start to each sample.
fn running_mean(time_s: &[f64], rate: &[f64]) -> Vec<f64> {
    let (mut before_s, mut sum) = (0.0, 0.0);
    let mean = |(&at_s, &rate): (&f64, &f64)| {
        sum += rate * (at_s - before_s);
        before_s = at_s;
        sum / at_s
    };
    time_s.iter().zip(rate).map(mean).collect()
}

/// Time from which `a` stays above `b`: the start if it always does. If it does not at the end, the
/// end, which is the least that the time can be.
pub(super) fn leads_from(time_s: &[f64], a: &[f64], b: &[f64]) -> Option<f64> {
    let last_not_above = a.iter().zip(b).rposition(|(a, b)| a <= b);
    match last_not_above {
        None => Some(0.0),
        Some(last) => time_s.get(last + 1).or(time_s.last()).copied(),
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::result::{BlockStats, Spread};

    use super::*;

    #[test]
    fn a_running_mean_is_weighted_by_time() {
        // 2 for one second, then 5 for two: (2 + 10) / 3.
        assert_eq!(running_mean(&[1.0, 3.0], &[2.0, 5.0]), [2.0, 4.0]);
    }

    #[test]
    fn the_variation_of_blocks_is_the_width_of_their_middle_divided_by_their_mean() {
        // 100 blocks of 1, 2, … 100 bit/s: 95 − 5, divided by 50.5.
        let goodput = Spread::of((1..=100).map(|bps| (f64::from(bps), 1.0)).collect()).unwrap();
        let blocks = BlockStats {
            segments: 100,
            count: 100,
            goodput_bps: goodput,
            buffer: goodput,
        };
        let run = RunResult {
            blocks: Some(blocks),
            ..RunResult::default()
        };
        assert_eq!(block_variation(&run), 90.0 / 50.5);
        assert!(block_variation(&RunResult::default()).is_nan());
    }

    #[test]
    fn a_lead_counts_from_the_time_after_which_it_is_kept() {
        let time = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(
            leads_from(&time, &[2.0, 0.0, 2.0, 2.0], &[1.0; 4]),
            Some(3.0)
        );
        assert_eq!(leads_from(&time, &[2.0; 4], &[1.0; 4]), Some(0.0));
        assert_eq!(
            leads_from(&time, &[2.0, 2.0, 2.0, 0.0], &[1.0; 4]),
            Some(4.0)
        );
        assert_eq!(leads_from(&[], &[], &[]), Some(0.0));
    }

    #[test]
    fn names_of_paths_need_an_index_and_other_names_have_none() {
        let run = RunResult {
            paths: vec![
                PathResult::default(),
                PathResult {
                    share: 0.25,
                    segments: 400,
                    loss_event_rate: 0.02,
                    ..PathResult::default()
                },
            ],
            ..RunResult::default()
        };
        let metric = |name: &str| Metric::try_from(name.to_owned());
        assert_eq!(metric("share(1)").unwrap().of(Run::Engine(&run)), 0.25);
        assert!(metric("share(7)").unwrap().of(Run::Engine(&run)).is_nan());
        assert_eq!(metric("losses(1)").unwrap().of(Run::Engine(&run)), 8.0);
        let said = |name: &str| metric(name).err().unwrap();
        assert!(
            said("share").contains("write `share(0)`"),
            "{}",
            said("share")
        );
        assert!(said("energy, J(0)").contains("without an index"));
        assert!(said("goodputt, Mbit/s").contains("did you mean `goodput, Mbit/s`"));
        let names: Vec<String> = numbers().map(|(name, _)| name).collect();
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "a metric occurs twice");
    }

    #[test]
    fn metrics_of_the_table_are_read_in_each_of_their_units() {
        let run = RunResult {
            goodput_bps: 2e6,
            retransmission_ratio: 0.07,
            ..RunResult::default()
        };
        for (name, unit, value) in [
            ("goodput, Mbit/s", "Mbit/s", 2.0),
            ("goodput, kbit/s", "kbit/s", 2e3),
            ("retransmitted, %", "%", 100.0 * 0.07),
            ("retrans., %", "%", 100.0 * 0.07),
            ("share(0)", "", f64::NAN),
            ("completion, s", "s", f64::NAN),
        ] {
            let metric = Metric::try_from(name.to_owned()).unwrap();
            let found = metric.of(Run::Engine(&run));
            assert!(
                found == value || found.is_nan() && value.is_nan(),
                "{name}: {found}"
            );
            assert_eq!(metric.unit(), unit, "{name}");
        }
    }
}
