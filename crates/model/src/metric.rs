//! Metrics: the numbers that describe a run, and a policy by their mean over its runs. Tables,
//! JSON, CSV, Python and the browser read this one table.
//!
//! A metric needs an entry here, and its value in [`RunResult`] if it cannot be computed from what
//! is there.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::names::suggest;
use crate::result::{NetworkResult, RunResult};

/// A number that describes a run.
pub struct Metric {
    /// Name in JSON, CSV, Python and on the command line, with the unit.
    pub name: &'static str,
    /// Title of a column or an axis, without the unit.
    pub title: &'static str,
    /// Its unit, and how it is shown.
    pub quantity: Quantity,
    /// Which of two values is better.
    pub better: Better,
    /// Its columns in a comparison's table: the first that applies is shown.
    pub columns: &'static [Column],
    read: fn(&RunResult) -> Option<f64>,
}

/// Which of two values of a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The higher one.
    Higher,
    /// The lower one.
    Lower,
}

impl Better {
    /// Whether `a` is better than `b`.
    pub fn is_better(self, a: f64, b: f64) -> bool {
        match self {
            Better::Higher => a > b,
            Better::Lower => a < b,
        }
    }
}

/// A column of a metric in the table of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Comparisons that have the column.
    pub when: When,
    /// Narrow tables hide the columns with the lowest numbers first; `None`: never.
    pub hidden: Option<u8>,
    /// The same for the column's intervals.
    pub plain: Option<u8>,
}

/// Comparisons that have a column, if one of their rows has the metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// All.
    Always,
    /// Of files.
    Files,
    /// Of data without an end.
    NoFiles,
    /// Of workloads in which someone waits for data.
    Waits,
}

/// Quantity of a number. Values are in SI base units (bit/s, W, J, bit/J, J/bit, s) or plain
/// ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Data per second.
    Rate,
    /// Power.
    Power,
    /// Energy.
    Energy,
    /// Data per joule.
    Efficiency,
    /// Joules per bit.
    EnergyPerBit,
    /// Time.
    Time,
    /// A part, shown in percent.
    Share,
    /// A ratio, shown with two decimals.
    Ratio,
    /// Bytes.
    Size,
    /// Packets.
    Packets,
    /// Windows in packets, counts.
    Plain,
}

impl Quantity {
    /// Units by ascending size in SI base units.
    pub fn units(self) -> &'static [(f64, &'static str)] {
        match self {
            Quantity::Rate => &[
                (1.0, "bit/s"),
                (1e3, "kbit/s"),
                (1e6, "Mbit/s"),
                (1e9, "Gbit/s"),
            ],
            Quantity::Power => &[(1e-6, "µW"), (1e-3, "mW"), (1.0, "W"), (1e3, "kW")],
            Quantity::Energy => &[
                (1e-6, "µJ"),
                (1e-3, "mJ"),
                (1.0, "J"),
                (1e3, "kJ"),
                (1e6, "MJ"),
            ],
            Quantity::Efficiency => &[
                (1.0, "bit/J"),
                (1e3, "kbit/J"),
                (1e6, "Mbit/J"),
                (1e9, "Gbit/J"),
            ],
            Quantity::EnergyPerBit => &[
                (1e-12, "pJ/bit"),
                (1e-9, "nJ/bit"),
                (1e-6, "µJ/bit"),
                (1e-3, "mJ/bit"),
                (1.0, "J/bit"),
            ],
            Quantity::Time => &[(1e-6, "µs"), (1e-3, "ms"), (1.0, "s")],
            Quantity::Share => &[(0.01, "%")],
            Quantity::Size => &[(1.0, "B"), (1e3, "kB"), (1e6, "MB")],
            Quantity::Packets => &[(1.0, "packets")],
            Quantity::Ratio | Quantity::Plain => &[(1.0, "")],
        }
    }

    /// Unit at the end of a column's name, after an underscore; empty for numbers without a unit.
    pub const fn suffix(self) -> &'static str {
        match self {
            Quantity::Rate => "_bps",
            Quantity::Power => "_w",
            Quantity::Energy => "_j",
            Quantity::Efficiency => "_bits_per_joule",
            Quantity::EnergyPerBit => "_j_per_bit",
            Quantity::Time => "_s",
            Quantity::Size => "_bytes",
            Quantity::Packets => "_packets",
            Quantity::Share | Quantity::Ratio | Quantity::Plain => "",
        }
    }

    /// Unit without a prefix: of size 1, `%` for shares; empty for ratios and counts.
    pub fn base_unit(self) -> &'static str {
        let units = self.units();
        units
            .iter()
            .find(|(size, _)| *size == 1.0)
            .unwrap_or(&units[0])
            .1
    }
}

/// A value in a unit of this size. Sizes below 1, such as 0.01 for percent, are inexact; their
/// inverses are not.
pub fn in_unit(value: f64, size: f64) -> f64 {
    if size < 1.0 {
        value * (1.0 / size)
    } else {
        value / size
    }
}

macro_rules! metrics {
    ($($(#[$doc:meta])* $id:ident: $name:literal, $title:literal, $quantity:ident, $better:ident,
        $columns:expr, $read:expr;)*) => {
        $($(#[$doc])* pub static $id: Metric = Metric {
            name: $name,
            title: $title,
            quantity: Quantity::$quantity,
            better: Better::$better,
            columns: &$columns,
            read: $read,
        };)*

        /// All metrics, in the order of columns.
        pub static METRICS: &[&Metric] = &[$(&$id),*];
    };
}

/// A column that narrow tables hide at rank `hidden`, its intervals at rank `plain`.
const fn column(when: When, hidden: u8, plain: u8) -> Column {
    Column {
        when,
        hidden: Some(hidden),
        plain: Some(plain),
    }
}

/// A column that is always shown.
const fn kept(when: When, plain: u8) -> Column {
    Column {
        when,
        hidden: None,
        plain: Some(plain),
    }
}

metrics! {
    /// Data delivered in order per second.
    GOODPUT: "goodput_bps", "goodput", Rate, Higher, [column(When::Always, 23, 10)],
        |run| Some(run.goodput_bps);
    /// Mean power. That of a file includes tails that end after it: its energy says more.
    POWER: "power_w", "power", Power, Lower, [column(When::NoFiles, 14, 1)],
        |run| Some(run.power_w);
    /// Energy of the devices: of the whole transfer for a file, else of the measured time.
    ENERGY: "energy_j", "energy", Energy, Lower, [kept(When::Files, 16), column(When::NoFiles, 7, 0)],
        |run| Some(run.energy_j);
    /// Energy of a topology's switches.
    NETWORK_ENERGY: "network_j", "network energy", Energy, Lower, [column(When::Always, 21, 6)],
        |run| run.network.as_ref().map(NetworkResult::energy_j);
    /// Data per joule; runs without energy have none.
    EFFICIENCY: "bits_per_joule", "efficiency", Efficiency, Higher, [kept(When::Always, 25)],
        |run| (run.energy_j > 0.0).then_some(run.bits_per_joule);
    /// Energy per bit: its mean over runs is not the inverse of the mean efficiency.
    ENERGY_PER_BIT: "joules_per_bit", "energy per bit", EnergyPerBit, Lower, [],
        |run| (run.energy_j > 0.0 && run.bits_per_joule > 0.0).then_some(1.0 / run.bits_per_joule);
    /// Time until all files are complete.
    COMPLETION: "completion_s", "completion", Time, Lower, [kept(When::Files, 15)],
        |run| run.completion_s;
    /// Mean delay of messages, writes or answers.
    DELAY: "delay_s", "delay", Time, Lower, [kept(When::Waits, 13)],
        |run| run.delay.map(|delay| delay.mean_s);
    /// Median of the delay.
    DELAY_P50: "delay_p50_s", "median delay", Time, Lower, [],
        |run| run.delay.map(|delay| delay.p50_s);
    /// 95th percentile of the delay.
    DELAY_P95: "delay_p95_s", "p95 delay", Time, Lower, [column(When::Waits, 17, 9)],
        |run| run.delay.map(|delay| delay.p95_s);
    /// 99th percentile of the delay.
    DELAY_P99: "delay_p99_s", "p99 delay", Time, Lower, [],
        |run| run.delay.map(|delay| delay.p99_s);
    /// Longest delay.
    DELAY_MAX: "delay_max_s", "longest delay", Time, Lower, [],
        |run| run.delay.map(|delay| delay.max_s);
    /// Longest time without progress while data waits: [`RunResult::longest_stall_s`].
    STALL: "longest_stall_s", "longest stall", Time, Lower, [column(When::Waits, 16, 8)],
        |run| run.longest_stall_s;
    /// Mean RTT of the paths, weighted by their data.
    RTT: "mean_rtt_s", "mean RTT", Time, Lower, [], mean_rtt_s;
    /// Copies of segments as a part of all segments.
    RETRANSMISSIONS: "retransmission_ratio", "retrans.", Share, Lower, [column(When::Always, 8, 2)],
        |run| Some(run.retransmission_ratio);
    /// Retransmission timeouts of all paths: after each, a path starts again with one packet.
    TIMEOUTS: "timeouts", "timeouts", Plain, Lower, [],
        |run| Some(run.paths.iter().map(|path| path.timeouts as f64).sum());
    /// Goodput of all competitors.
    COMPETITORS: "competitors_bps", "competitors", Rate, Higher, [column(When::Always, 19, 4)],
        |run| Some(run.competitors_bps);
    /// Energy that does not depend on traffic.
    SUNK: "energy_sunk_j", "sunk energy", Energy, Lower, [],
        |run| Some(run.energy_split.sunk_j);
    /// Energy proportional to traffic.
    TRANSFER: "energy_transfer_j", "transfer energy", Energy, Lower, [],
        |run| Some(run.energy_split.transfer_j);
    /// Energy of promotions and tails.
    TAIL: "energy_tail_j", "tail energy", Energy, Lower, [],
        |run| Some(run.energy_split.tail_j);
}

fn mean_rtt_s(run: &RunResult) -> Option<f64> {
    let known = || {
        run.paths
            .iter()
            .filter_map(|path| Some((path.share, path.mean_rtt_s?)))
    };
    let shares: f64 = known().map(|(share, _)| share).sum();
    (shares > 0.0).then(|| known().map(|(share, rtt_s)| share * rtt_s).sum::<f64>() / shares)
}

impl Metric {
    /// The metric called `name`.
    pub fn named(name: &str) -> Option<&'static Metric> {
        METRICS.iter().copied().find(|metric| metric.name == name)
    }

    /// The metric that a user calls `name`.
    ///
    /// # Errors
    /// The nearest names, if there is none.
    pub fn asked(name: &str) -> Result<&'static Metric, String> {
        let efficiency = (name == "efficiency").then_some(&EFFICIENCY);
        Metric::named(name).or(efficiency).ok_or_else(|| {
            let known: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
            format!("there is no metric `{name}`; {}", suggest(name, &known))
        })
    }

    /// Value of a run; `None` if the run does not have it.
    pub fn of(&self, run: &RunResult) -> Option<f64> {
        (self.read)(run)
    }

    /// Mean over `runs`; `None` if one of them does not have it, or without runs.
    pub fn mean(&self, runs: &[RunResult]) -> Option<f64> {
        let values: Option<Vec<f64>> = runs.iter().map(|run| self.of(run)).collect();
        let values = values.filter(|values| !values.is_empty())?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Whether `a` is better than `b`.
    pub fn is_better(&self, a: f64, b: f64) -> bool {
        self.better.is_better(a, b)
    }
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Metric {
    fn eq(&self, other: &Metric) -> bool {
        self.name == other.name
    }
}

impl Eq for Metric {}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for &'static Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Metric::asked(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::result::PathResult;

    #[test]
    fn every_metric_has_a_name_and_a_title_of_its_own() {
        let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        let titles: BTreeSet<&str> = METRICS.iter().map(|metric| metric.title).collect();
        assert_eq!((names.len(), titles.len()), (METRICS.len(), METRICS.len()));
        for metric in METRICS {
            assert_eq!(Metric::named(metric.name), Some(*metric));
        }
    }

    #[test]
    fn no_two_columns_are_hidden_at_the_same_rank() {
        let columns = || METRICS.iter().flat_map(|metric| metric.columns);
        let hidden: Vec<u8> = columns().filter_map(|column| column.hidden).collect();
        assert_eq!(hidden.iter().collect::<BTreeSet<_>>().len(), hidden.len());
    }

    #[test]
    fn runs_without_energy_have_no_bits_per_joule() {
        let free = RunResult {
            goodput_bps: 1e6,
            ..RunResult::default()
        };
        assert_eq!((EFFICIENCY.of(&free), GOODPUT.of(&free)), (None, Some(1e6)));
        let costly = RunResult {
            energy_j: 2.0,
            bits_per_joule: 5e5,
            ..free
        };
        assert_eq!(
            (EFFICIENCY.of(&costly), ENERGY_PER_BIT.of(&costly)),
            (Some(5e5), Some(2e-6))
        );
        assert!(EFFICIENCY.is_better(2.0, 1.0) && ENERGY_PER_BIT.is_better(1.0, 2.0));
    }

    #[test]
    fn a_mean_is_over_runs_that_all_have_the_metric() {
        let run = |completion_s| RunResult {
            completion_s,
            ..RunResult::default()
        };
        assert_eq!(
            COMPLETION.mean(&[run(Some(1.0)), run(Some(4.0))]),
            Some(2.5)
        );
        assert_eq!(COMPLETION.mean(&[run(Some(1.0)), run(None)]), None);
        assert_eq!(COMPLETION.mean(&[]), None);
    }

    #[test]
    fn timeouts_are_those_of_all_paths() {
        let path = |timeouts| PathResult {
            timeouts,
            ..PathResult::default()
        };
        let run = RunResult {
            paths: vec![path(2), path(0), path(3)],
            ..RunResult::default()
        };
        assert_eq!(TIMEOUTS.of(&run), Some(5.0));
        assert_eq!(Metric::asked("timeouts"), Ok(&TIMEOUTS));
    }

    #[test]
    fn the_mean_rtt_weighs_each_path_by_its_data() {
        let path = |share, mean_rtt_s| PathResult {
            share,
            mean_rtt_s,
            ..PathResult::default()
        };
        let of = |paths: &[PathResult]| {
            RTT.of(&RunResult {
                paths: paths.to_vec(),
                ..RunResult::default()
            })
        };
        // (0.5 · 20 ms + 0.25 · 80 ms) / 0.75
        let known = [
            path(0.5, Some(0.02)),
            path(0.25, Some(0.08)),
            path(0.25, None),
        ];
        assert!((of(&known).unwrap() - 0.04).abs() < 1e-12);
        assert_eq!(of(&[path(0.0, Some(0.02)), path(1.0, None)]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn names_are_read_back() {
        let read: &'static Metric = serde_json::from_str("\"energy_j\"").unwrap();
        assert_eq!(serde_json::to_string(read).unwrap(), "\"energy_j\"");
        assert!(serde_json::from_str::<&'static Metric>("\"energy\"").is_err());
    }
}
