//! The numbers of a comparison, written out column by column. The terminal and the HTML report show the same
//! sheet.

use joulepath_model::result::{Comparison, Estimate, Limit, Row};

use crate::scale::{Quantity, Scale, Value};
use crate::summary::{LIMIT_LINK, LIMIT_TCP_FRIENDLY};

/// What a column shows, in the order of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    Goodput,
    Power,
    /// Of whole transfers: what counts for a file.
    Energy,
    /// Of the measured time, where there are no files: power says the same.
    RunEnergy,
    /// Of the switches of a topology.
    Network,
    Efficiency,
    Ratio,
    Completion,
    Completed,
    Delay,
    DelayP95,
    Shares,
    OfLimit,
    OfLinkLimit,
    Retransmissions,
    Competitors,
    /// Goodput of a connection over that of one competing TCP.
    TcpShare,
}

impl Metric {
    const ALL: [Metric; 17] = [
        Metric::Goodput,
        Metric::Power,
        Metric::Energy,
        Metric::RunEnergy,
        Metric::Network,
        Metric::Efficiency,
        Metric::Ratio,
        Metric::Completion,
        Metric::Completed,
        Metric::Delay,
        Metric::DelayP95,
        Metric::Shares,
        Metric::OfLimit,
        Metric::OfLinkLimit,
        Metric::Retransmissions,
        Metric::Competitors,
        Metric::TcpShare,
    ];

    /// Title and unit of the column, where they are not the metric's name and the scale's unit.
    fn heading(self, scale: Scale) -> (&'static str, &'static str) {
        match self {
            Metric::OfLimit => ("of limit", "TCP, %"),
            Metric::OfLinkLimit => ("of limit", "links, %"),
            Metric::TcpShare => (self.name(), "1 is fair"),
            _ => (self.name(), scale.unit),
        }
    }

    /// Name of the metric in notes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Metric::Goodput => "goodput",
            Metric::Power => "power",
            Metric::Energy | Metric::RunEnergy => "energy",
            Metric::Network => "network energy",
            Metric::Efficiency => "efficiency",
            Metric::Ratio => "× first",
            Metric::Completion => "completion",
            Metric::Completed => "complete",
            Metric::Delay => "delay",
            Metric::DelayP95 => "p95 delay",
            Metric::Shares => "path shares",
            Metric::OfLimit => "share of limit (TCP)",
            Metric::OfLinkLimit => "share of limit (links)",
            Metric::Retransmissions => "retrans.",
            Metric::Competitors => "competitors",
            Metric::TcpShare => "TCPs",
        }
    }

    fn quantity(self) -> Quantity {
        match self {
            Metric::Goodput | Metric::Competitors => Quantity::Rate,
            Metric::Power => Quantity::Power,
            Metric::Energy | Metric::RunEnergy | Metric::Network => Quantity::Energy,
            Metric::Efficiency => Quantity::Efficiency,
            Metric::Completion | Metric::Delay | Metric::DelayP95 => Quantity::Time,
            Metric::Shares | Metric::OfLimit | Metric::OfLinkLimit | Metric::Retransmissions => {
                Quantity::Share
            }
            Metric::Ratio | Metric::TcpShare => Quantity::Ratio,
            Metric::Completed => Quantity::Plain,
        }
    }

    fn of_row(self, row: &Row) -> Option<Value> {
        let value = |estimate: Estimate| Value::of(estimate, row, row.n);
        match self {
            Metric::Goodput => Some(value(row.goodput_bps)),
            Metric::Power => Some(value(row.power_w)),
            Metric::Energy | Metric::RunEnergy => Some(value(row.energy_j)),
            Metric::Network => row.network_j.map(value),
            Metric::Efficiency => costs_energy(row).then(|| value(row.bits_per_joule)),
            Metric::Ratio => Some(Value {
                mean: row.ratio,
                interval: row
                    .ratio_interval
                    .map(|ratio| (ratio.lo, ratio.hi))
                    .filter(|(lo, hi)| lo < hi || !row.deterministic),
            }),
            Metric::Completion => {
                row.completion_s.map(|completion| Value::of(completion, row, row.completed.unwrap_or(row.n)))
            }
            Metric::Delay => row.delay_s.map(value),
            Metric::DelayP95 => row.delay_p95_s.map(value),
            Metric::OfLimit => row.limit_share.map(Value::exact),
            Metric::OfLinkLimit => row.limit_share_link.map(Value::exact),
            Metric::Retransmissions => Some(value(row.retransmission_ratio)),
            Metric::Competitors => row.competitors_bps.map(value),
            Metric::TcpShare => row.tcp_share.map(value),
            Metric::Completed | Metric::Shares => None,
        }
    }

    fn of_limit(self, limit: &Limit, first_bits_per_joule: f64) -> Option<Value> {
        let of_itself = |kind: &str| (limit.kind == kind).then(|| Value::exact(1.0));
        match self {
            Metric::Goodput => Some(Value::exact(limit.goodput_bps)),
            Metric::Power => Some(Value::exact(limit.power_w)),
            Metric::Energy => limit.energy_j.map(Value::exact),
            Metric::Efficiency => Some(Value::exact(limit.bits_per_joule)),
            Metric::Ratio => Some(Value::exact(limit.bits_per_joule / first_bits_per_joule)),
            Metric::OfLimit => of_itself(LIMIT_TCP_FRIENDLY),
            Metric::OfLinkLimit => of_itself(LIMIT_LINK),
            _ => None,
        }
    }

    /// Whether this comparison has anything to show under the metric.
    fn applies(self, comparison: &Comparison) -> bool {
        let any = |has: fn(&Row) -> bool| comparison.rows.iter().any(has);
        match self {
            Metric::Goodput | Metric::Power | Metric::Efficiency | Metric::Ratio => true,
            Metric::Retransmissions => true,
            Metric::Energy | Metric::Completion => any(|row| row.completed.is_some()),
            Metric::RunEnergy => !any(|row| row.completed.is_some()),
            Metric::Network => any(|row| row.network_j.is_some()),
            Metric::Completed => any(|row| row.completed.is_some_and(|completed| completed < row.n)),
            Metric::Delay | Metric::DelayP95 => any(|row| row.delay_s.is_some()),
            Metric::Shares => comparison.scenario.paths.len() > 1,
            Metric::OfLimit => any(|row| row.limit_share.is_some()),
            Metric::OfLinkLimit => any(|row| row.limit_share_link.is_some()),
            Metric::Competitors => any(|row| row.competitors_bps.is_some()),
            Metric::TcpShare => any(|row| row.tcp_share.is_some()),
        }
    }
}

/// One number as it is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Half of the 95 % interval's width, without sign.
    pub(crate) half_width: Option<String>,
    /// The number in SI base units; none if there is no single one.
    pub(crate) value: Option<Value>,
}

impl Cell {
    /// A policy's number that is not known, as opposed to a cell that makes no sense.
    fn unknown() -> Cell {
        Cell { text: "–".into(), ..Cell::default() }
    }

    /// `175 ±3`.
    pub(crate) fn with_interval(&self) -> String {
        self.half_width.as_ref().map_or_else(|| self.text.clone(), |half| format!("{} ±{half}", self.text))
    }
}

/// One metric over all policies, then over all limits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) metric: Metric,
    pub(crate) title: String,
    pub(crate) unit: String,
    /// The unit in SI base units.
    pub(crate) factor: f64,
    pub(crate) cells: Vec<Cell>,
}

/// What a comparison shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sheet {
    /// Names of the lines: the policies, then the limits.
    pub(crate) lines: Vec<String>,
    /// How many of the lines are policies.
    pub(crate) policies: usize,
    pub(crate) columns: Vec<Column>,
    /// The policy with the highest efficiency, if there are two or more.
    pub(crate) best: Option<usize>,
}

impl Sheet {
    pub(crate) fn of(comparison: &Comparison) -> Sheet {
        let rows = &comparison.rows;
        let limits = comparison.limits.iter().map(|limit| limit_name(&limit.kind));
        let metrics = Metric::ALL.into_iter().filter(|metric| metric.applies(comparison));
        Sheet {
            lines: rows.iter().map(|row| row.label.clone()).chain(limits).collect(),
            policies: rows.len(),
            columns: metrics.map(|metric| column(metric, comparison)).collect(),
            best: if rows.len() < 2 { None } else { best(rows) },
        }
    }
}

/// How a limit is called in the first column.
pub(crate) fn limit_name(kind: &str) -> String {
    match kind {
        LIMIT_TCP_FRIENDLY => "TCP-friendly limit".into(),
        LIMIT_LINK => "link-rate limit".into(),
        other => format!("{other} limit"),
    }
}

/// Where nothing costs energy there are no bits per joule.
pub(crate) fn costs_energy(row: &Row) -> bool {
    row.energy_j.mean > 0.0
}

fn best(rows: &[Row]) -> Option<usize> {
    let efficiency = |index: &usize| rows[*index].bits_per_joule.mean;
    let finite = (0..rows.len()).filter(|index| costs_energy(&rows[*index]) && efficiency(index).is_finite());
    // The first of equals: `max_by` would take the last.
    finite.rev().max_by(|a, b| efficiency(a).total_cmp(&efficiency(b)))
}

fn column(metric: Metric, comparison: &Comparison) -> Column {
    match metric {
        Metric::Shares => shares(comparison),
        Metric::Completed => completed(comparison),
        _ => numbers(metric, comparison),
    }
}

fn numbers(metric: Metric, comparison: &Comparison) -> Column {
    let first = comparison.rows.first().map_or(f64::NAN, |row| row.bits_per_joule.mean);
    let of_limits = comparison.limits.iter().map(|limit| metric.of_limit(limit, first));
    let values: Vec<_> = comparison.rows.iter().map(|row| metric.of_row(row)).chain(of_limits).collect();
    // The policies choose the unit: a limit far away must not blur them.
    let shown = if comparison.rows.is_empty() { &values[..] } else { &values[..comparison.rows.len()] };
    let scale = Scale::of(metric.quantity(), &shown.iter().flatten().copied().collect::<Vec<_>>());
    let cell = |(line, value): (usize, Option<Value>)| {
        let empty = || if line < comparison.rows.len() { Cell::unknown() } else { Cell::default() };
        value.map_or_else(empty, |value| Cell {
            text: scale.number(value.mean),
            half_width: scale.half_width(value),
            value: value.mean.is_finite().then_some(value),
        })
    };
    let (title, unit) = metric.heading(scale);
    Column {
        metric,
        title: title.into(),
        unit: unit.into(),
        factor: scale.factor,
        cells: values.into_iter().enumerate().map(cell).collect(),
    }
}

/// `62 / 30 /  8`, in the order of the scenario's paths.
fn shares(comparison: &Comparison) -> Column {
    let of_row = |row: &Row| row.paths.iter().map(|path| path.share).collect::<Vec<_>>();
    let of_limit =
        |limit: &Limit| limit.rates_bps.iter().map(|rate| rate / limit.goodput_bps).collect::<Vec<_>>();
    let lines: Vec<_> =
        comparison.rows.iter().map(of_row).chain(comparison.limits.iter().map(of_limit)).collect();
    let percent =
        |share: &f64| if share.is_finite() { format!("{:.0}", share * 100.0) } else { "–".into() };
    let widest = |path: usize| {
        lines.iter().filter_map(|line| line.get(path)).map(|s| percent(s).chars().count()).max()
    };
    let text = |line: &Vec<f64>| {
        let parts = line.iter().enumerate().map(|(path, share)| {
            let width = widest(path).unwrap_or(0);
            format!("{:>width$}", percent(share))
        });
        parts.collect::<Vec<_>>().join("/")
    };
    Column {
        metric: Metric::Shares,
        title: comparison.scenario.paths.join("/"),
        unit: "% of data".into(),
        factor: 1.0,
        cells: lines.iter().map(|line| Cell { text: text(line), ..Cell::default() }).collect(),
    }
}

/// `28/30`: runs in which every file was complete.
fn completed(comparison: &Comparison) -> Column {
    let of_row = |row: &Row| {
        row.completed.map_or_else(Cell::default, |completed| Cell {
            text: format!("{completed}/{}", row.n),
            half_width: None,
            value: Some(Value::exact(f64::from(completed) / f64::from(row.n))),
        })
    };
    let of_limits = comparison.limits.iter().map(|_| Cell::default());
    Column {
        metric: Metric::Completed,
        title: Metric::Completed.name().into(),
        unit: "of runs".into(),
        factor: 1.0,
        cells: comparison.rows.iter().map(of_row).chain(of_limits).collect(),
    }
}

/// Said of a comparison that is [`Comparison::partial`], before anything else.
pub(crate) const PARTIAL: &str =
    "Interrupted or failed: some runs are missing. The numbers are those of the runs that are there.";

/// What a reader must know about the numbers, one note a line: how many runs, incomplete files, intervals.
pub(crate) fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    for row in comparison.rows.iter().filter(|row| row.n != comparison.seeds) {
        notes.push(format!("{}: {} of {} runs.", row.label, row.n, comparison.seeds));
    }
    for row in &comparison.rows {
        match row.completed {
            Some(0) => notes.push(format!("{}: no run had every file complete.", row.label)),
            Some(completed) if completed < row.n => notes.push(format!(
                "{}: every file was complete in {completed} of {} runs; completion is over those.",
                row.label, row.n
            )),
            _ => {}
        }
    }
    notes.extend(interval_note(&comparison.rows));
    notes.extend(chance_note(&comparison.rows));
    notes.extend(comparison.notes.iter().cloned());
    notes
}

/// Seeds below which a percentile bootstrap is noticeably too narrow.
const FEW_SEEDS: u32 = 10;

/// Which policies have no interval, because their runs are the same with every seed.
fn chance_note(rows: &[Row]) -> Option<String> {
    let same: Vec<&Row> = rows.iter().filter(|row| row.deterministic).collect();
    let n = same.first()?.n;
    if same.len() == rows.len() {
        return Some(format!("No chance in it: the runs of all {n} seeds are the same."));
    }
    let names: Vec<&str> = same.iter().map(|row| row.label.as_str()).collect();
    Some(format!("{}: no chance in it, the runs of all {n} seeds are the same.", names.join(", ")))
}

/// What ± means, of the policies that have it.
fn interval_note(rows: &[Row]) -> Option<String> {
    let rows: Vec<&Row> = rows.iter().filter(|row| !row.deterministic).collect();
    let (fewest, most) = (rows.iter().map(|row| row.n).min()?, rows.iter().map(|row| row.n).max()?);
    let seeds = if fewest == most { format!("{most}") } else { format!("{fewest} to {most}") };
    Some(match most {
        1 => "One seed: no confidence intervals.".into(),
        2..FEW_SEEDS => format!(
            "± half of the 95 % bootstrap interval over {seeds} seeds: too few, take it as too narrow."
        ),
        _ => format!("± half of the 95 % bootstrap interval over {seeds} seeds."),
    })
}
