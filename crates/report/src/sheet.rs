//! Numbers of a comparison, formatted column by column, for both the terminal and the HTML report.

use joulepath_model::metric::{
    self, COMPETITORS, COMPLETION, DELAY, EFFICIENCY, ENERGY, METRICS, Metric, STALL, When,
};
use joulepath_model::result::{Background, Comparison, Estimate, Reference, Row};

use crate::scale::{Quantity, Scale, Value, rounded};
use crate::summary::{LINK_BOUND, TCP_REFERENCE};
use crate::table::{Cell, Column, Line, Rank, Table, Tone};

/// Maximum width of a policy's name before it is broken, with and without room.
const NAME_WIDTH: (usize, usize) = (32, 20);
/// Rank at which names become narrower.
const NARROW_NAMES: Rank = Rank(12);

/// What a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Means of a metric over the runs.
    Metric(&'static Metric),
    /// Efficiency relative to the first policy.
    Ratio,
    /// Runs with all files complete.
    Completed,
    /// Share of each path in the data.
    Shares,
    TcpReference,
    LinkBound,
    /// Goodput of a connection relative to a competing TCP flow.
    TcpShare,
}

impl Content {
    /// All columns, in order.
    fn all() -> impl Iterator<Item = Content> {
        let after = |metric: &'static Metric| -> &'static [Content] {
            match metric.name {
                name if name == EFFICIENCY.name => &[Content::Ratio],
                name if name == COMPLETION.name => &[Content::Completed],
                name if name == STALL.name => {
                    &[Content::Shares, Content::TcpReference, Content::LinkBound]
                }
                name if name == COMPETITORS.name => &[Content::TcpShare],
                _ => &[],
            }
        };
        METRICS.iter().flat_map(move |&metric| {
            std::iter::once(Content::Metric(metric)).chain(after(metric).iter().copied())
        })
    }

    /// Title and unit of the column, if they differ from the name and the scale's unit.
    fn heading(self, scale: Scale) -> (&'static str, &'static str) {
        match self {
            Content::TcpReference => ("TCP ref.", "%"),
            Content::LinkBound => ("link bound", "%"),
            Content::TcpShare => (self.name(), "1 is fair"),
            _ => (self.name(), scale.unit),
        }
    }

    /// Name in notes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Content::Metric(metric) => metric.title,
            Content::Ratio => "× first",
            Content::Completed => "complete",
            Content::Shares => "path shares",
            Content::TcpReference => "share of the TCP-rate reference",
            Content::LinkBound => "share of the link bound",
            Content::TcpShare => "TCPs",
        }
    }

    fn quantity(self) -> Quantity {
        match self {
            Content::Metric(metric) => metric.quantity,
            Content::Shares | Content::TcpReference | Content::LinkBound => Quantity::Share,
            Content::Ratio | Content::TcpShare => Quantity::Ratio,
            Content::Completed => Quantity::Plain,
        }
    }

    /// Ranks for hiding the column and its intervals; the lowest is hidden first. `None`: the
    /// comparison does not have the column.
    fn ranks(self, comparison: &Comparison) -> Option<(Rank, Rank)> {
        let any = |has: &dyn Fn(&Row) -> bool| comparison.rows.iter().any(has);
        let (has, hidden, plain) = match self {
            Content::Metric(metric) => return ranks(metric, comparison),
            Content::Ratio => (true, Rank::NEVER, Rank(3)),
            Content::Completed => (
                any(&|row| row.completed.is_some_and(|completed| completed < row.n)),
                Rank(24),
                Rank::NEVER,
            ),
            Content::Shares => (comparison.scenario.paths.len() > 1, Rank(18), Rank::NEVER),
            Content::TcpReference => (
                any(&|row| row.tcp_reference_share.is_some()),
                Rank(22),
                Rank::NEVER,
            ),
            Content::LinkBound => (
                any(&|row| row.link_bound_share.is_some()),
                Rank(11),
                Rank::NEVER,
            ),
            Content::TcpShare => (any(&|row| row.tcp_share.is_some()), Rank(20), Rank(5)),
        };
        has.then_some((hidden, plain))
    }

    fn of_row(self, row: &Row) -> Option<Value> {
        match self {
            Content::Metric(metric) => Value::of_row(metric, row),
            Content::Ratio => Some(Value {
                mean: row.ratio,
                interval: row
                    .ratio_interval
                    .map(|ratio| (ratio.lo, ratio.hi))
                    .filter(|(lo, hi)| lo < hi || !row.deterministic),
            }),
            Content::TcpReference => row.tcp_reference_share.map(Value::exact),
            Content::LinkBound => row.link_bound_share.map(Value::exact),
            Content::TcpShare => row.tcp_share.map(|share| Value::of(share, row, row.n)),
            Content::Completed | Content::Shares => None,
        }
    }

    fn of_limit(self, limit: &Reference, first_bits_per_joule: f64) -> Option<Value> {
        let of_itself = |kind: &str| (limit.kind == kind).then_some(1.0);
        let value = match self {
            Content::Metric(metric) => limit.value(metric),
            Content::Ratio => Some(limit.bits_per_joule / first_bits_per_joule),
            Content::TcpReference => of_itself(TCP_REFERENCE),
            Content::LinkBound => of_itself(LINK_BOUND),
            Content::Completed | Content::Shares | Content::TcpShare => None,
        };
        value.map(Value::exact)
    }
}

/// Ranks of a metric's column; `None` if the comparison does not have it.
fn ranks(metric: &Metric, comparison: &Comparison) -> Option<(Rank, Rank)> {
    let any = |has: &dyn Fn(&Row) -> bool| comparison.rows.iter().any(has);
    let applies = |column: &&metric::Column| match column.when {
        When::Always => true,
        When::Files => any(&|row| row.completed.is_some()),
        When::NoFiles => !any(&|row| row.completed.is_some()),
        When::Waits => any(&|row| row.has(&DELAY)),
    };
    let column = metric.columns.iter().find(applies)?;
    let rank = |rank: Option<u8>| rank.map_or(Rank::NEVER, Rank);
    any(&|row| row.has(metric)).then_some((rank(column.hidden), rank(column.plain)))
}

/// A column: of all policies, then of all limits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SheetColumn {
    pub(crate) content: Content,
    pub(crate) column: Column,
    pub(crate) cells: Vec<Cell>,
}

/// Columns of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sheet {
    /// Names of the lines: policies, then limits.
    pub(crate) lines: Vec<String>,
    /// Number of policies.
    pub(crate) policies: usize,
    pub(crate) columns: Vec<SheetColumn>,
    /// The most efficient of several policies.
    pub(crate) best: Option<usize>,
}

impl Sheet {
    pub(crate) fn of(comparison: &Comparison) -> Sheet {
        let rows = &comparison.rows;
        let limits = comparison
            .references
            .iter()
            .map(|limit| reference_name(&limit.kind));
        let ranked = |content: Content| Some((content, content.ranks(comparison)?));
        let columns = Content::all().filter_map(ranked);
        Sheet {
            lines: rows
                .iter()
                .map(|row| row.label.clone())
                .chain(limits)
                .collect(),
            policies: rows.len(),
            columns: columns
                .map(|(content, ranks)| column(content, ranks, comparison))
                .collect(),
            best: if rows.len() < 2 {
                None
            } else {
                most_efficient(rows)
            },
        }
    }
}

impl Sheet {
    /// A table with the columns of the sheet in the order of `columns`. `adorn` decorates lines for
    /// pages.
    pub(crate) fn table(
        &self,
        columns: &[&SheetColumn],
        adorn: impl Fn(usize, Line) -> Line,
    ) -> Table {
        let names = Column::words("policy")
            .fold(NAME_WIDTH.0)
            .narrow(NARROW_NAMES, NAME_WIDTH.1)
            .indent(2);
        let heads = columns.iter().map(|column| column.column.clone());
        let line = |(line, name): (usize, &String)| {
            let cells = columns.iter().map(|column| column.cells[line].clone());
            let cells = std::iter::once(Cell::text(name)).chain(cells);
            let tone = match line {
                _ if Some(line) == self.best => Tone::Best,
                _ if line >= self.policies => Tone::Dim,
                _ => Tone::Plain,
            };
            adorn(line, Line::new(cells).tone(tone))
        };
        Table::new(std::iter::once(names).chain(heads))
            .with(self.lines.iter().enumerate().map(line))
    }
}

/// Name of a limit in the first column.
pub(crate) fn reference_name(kind: &str) -> String {
    match kind {
        TCP_REFERENCE => "TCP-rate reference".into(),
        LINK_BOUND => "link bound".into(),
        other => other.into(),
    }
}

/// Runs without energy have no bits per joule.
pub(crate) fn costs_energy(row: &Row) -> bool {
    row.mean(&ENERGY) > 0.0
}

/// Mean efficiency, bit/J; NaN without energy.
pub(crate) fn efficiency(row: &Row) -> f64 {
    row.mean(&EFFICIENCY)
}

/// Index of the row with the most bits per joule, the first of equals; `None` if no row costs
/// energy.
pub fn most_efficient(rows: &[Row]) -> Option<usize> {
    let of = |index: &usize| efficiency(&rows[*index]);
    // `max_by` returns the last of equals.
    (0..rows.len())
        .filter(|index| of(index).is_finite())
        .rev()
        .max_by(|a, b| of(a).total_cmp(&of(b)))
}

fn column(content: Content, (hidden, plain): (Rank, Rank), comparison: &Comparison) -> SheetColumn {
    let (column, cells) = match content {
        Content::Shares => shares(comparison),
        Content::Completed => completed(comparison),
        _ => numbers(content, comparison),
    };
    SheetColumn {
        content,
        column: column.hidden(hidden).plain(plain),
        cells,
    }
}

fn numbers(content: Content, comparison: &Comparison) -> (Column, Vec<Cell>) {
    let first = comparison.rows.first().map_or(f64::NAN, efficiency);
    let of_limits = comparison
        .references
        .iter()
        .map(|limit| content.of_limit(limit, first));
    let values: Vec<_> = comparison
        .rows
        .iter()
        .map(|row| content.of_row(row))
        .chain(of_limits)
        .collect();
    // The policies choose the unit, so that a distant limit does not reduce their digits.
    let shown = if comparison.rows.is_empty() {
        &values[..]
    } else {
        &values[..comparison.rows.len()]
    };
    let scale = Scale::of(
        content.quantity(),
        &shown.iter().flatten().copied().collect::<Vec<_>>(),
    );
    let cell = |(line, value): (usize, Option<Value>)| match value {
        Some(value) => value.cell(),
        None if line < comparison.rows.len() => Cell::unknown(),
        None => Cell::empty(),
    };
    let (title, unit) = content.heading(scale);
    (
        scale.column(title, unit),
        values.into_iter().enumerate().map(cell).collect(),
    )
}

/// Shares such as `62 / 30 /  8`, in the order of the scenario's paths.
fn shares(comparison: &Comparison) -> (Column, Vec<Cell>) {
    let of_row = |row: &Row| row.paths.iter().map(|path| path.share).collect::<Vec<_>>();
    let of_limit = |limit: &Reference| {
        limit
            .rates_bps
            .iter()
            .map(|rate| rate / limit.goodput_bps)
            .collect::<Vec<_>>()
    };
    let lines: Vec<_> = comparison
        .rows
        .iter()
        .map(of_row)
        .chain(comparison.references.iter().map(of_limit))
        .collect();
    let percent = |share: &f64| {
        if share.is_finite() {
            format!("{:.0}", share * 100.0)
        } else {
            "–".into()
        }
    };
    let widest = |path: usize| {
        lines
            .iter()
            .filter_map(|line| line.get(path))
            .map(|s| percent(s).chars().count())
            .max()
    };
    let text = |line: &Vec<f64>| {
        let parts = line.iter().enumerate().map(|(path, share)| {
            let width = widest(path).unwrap_or(0);
            format!("{:>width$}", percent(share))
        });
        parts.collect::<Vec<_>>().join("/")
    };
    let column = Column::numbers(&comparison.scenario.paths.join("/"), "% of data");
    (
        column,
        lines.iter().map(|line| Cell::text(text(line))).collect(),
    )
}

/// Such as `28/30`: runs in which every file was complete.
fn completed(comparison: &Comparison) -> (Column, Vec<Cell>) {
    let of_row = |row: &Row| {
        row.completed.map_or_else(Cell::empty, |completed| {
            let part = f64::from(completed) / f64::from(row.n);
            Cell::number(part).shown(format!("{completed}/{}", row.n))
        })
    };
    let of_limits = comparison.references.iter().map(|_| Cell::empty());
    let column = Column::numbers(Content::Completed.name(), "of runs");
    (
        column,
        comparison
            .rows
            .iter()
            .map(of_row)
            .chain(of_limits)
            .collect(),
    )
}

/// First note of a comparison that is [`Comparison::partial`].
pub(crate) const PARTIAL: &str =
    "Interrupted or failed: some runs are missing. The numbers cover the finished runs.";

/// Names the rows to which the reference values do not apply.
fn beyond_note(comparison: &Comparison) -> Option<String> {
    let delivers = comparison
        .references
        .iter()
        .find_map(|limit| limit.delivers)?;
    let is_beyond =
        |row: &&Row| row.tcp_reference_share.is_none() && row.link_bound_share.is_none();
    let labels: Vec<&str> = comparison
        .rows
        .iter()
        .filter(is_beyond)
        .map(|row| row.label.as_str())
        .collect();
    (!labels.is_empty()).then(|| {
        format!(
            "{}: no share of the reference values, which are for runs that deliver {:.0} % of what is \
             offered with a mean delay of at most {:.0} ms.",
            labels.join(", "),
            100.0 * delivers.least,
            1e3 * delivers.mean_delay_s
        )
    })
}

/// Notes on the numbers, one a line: number of runs, incomplete files, intervals.
pub(crate) fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    for row in comparison
        .rows
        .iter()
        .filter(|row| row.n != comparison.seeds)
    {
        notes.push(format!(
            "{}: {} of {} runs.",
            row.label, row.n, comparison.seeds
        ));
    }
    for row in &comparison.rows {
        match row.completed {
            Some(0) => notes.push(format!("{}: no run had every file complete.", row.label)),
            Some(completed) if completed < row.n => notes.push(format!(
                "{}: every file was complete in {completed} of {} runs; completion is their mean.",
                row.label, row.n
            )),
            _ => {}
        }
    }
    notes.extend(phase_note(comparison));
    notes.extend(beyond_note(comparison));
    notes.extend(interval_note(&comparison.rows));
    notes.extend(chance_note(&comparison.rows));
    notes.extend(comparison.notes.iter().cloned());
    notes
}

/// Relative difference below which a share does not rest on phase.
const SAME_SHARE: f64 = 0.1;

/// The shares that rest on phase, without and with a random background.
fn phase_note(comparison: &Comparison) -> Option<String> {
    let Background { links, part } = comparison.background.as_ref()?;
    let shares = |row: &Row| row.tcp_share.zip(row.tcp_share_background);
    let rates = |row: &Row| {
        row.estimate(&COMPETITORS)
            .zip(row.competitors_background_bps)
    };
    let differs = |(without, with): (Estimate, Estimate)| {
        let difference = (with.mean - without.mean).abs();
        difference.is_finite() && difference > SAME_SHARE * without.mean.min(with.mean)
    };
    let (what, unit, scale) = match comparison.rows.iter().any(|row| shares(row).is_some()) {
        true => ("TCPs", "", 1.0),
        false => ("competitors", " Mbit/s", 1e-6),
    };
    let of_row = |row: &Row| {
        let pair = if unit.is_empty() {
            shares(row)
        } else {
            rates(row)
        };
        let (without, with) = pair.filter(|&pair| differs(pair))?;
        let decimals = 2;
        let [without, with] = [without, with].map(|of| format!("{:.decimals$}", scale * of.mean));
        Some(format!("{} {without} → {with}", row.label))
    };
    let links = links.join(", ");
    let background = format!("{} % of random cross traffic", rounded(100.0 * part, 3));
    let moved: Vec<String> = comparison.rows.iter().filter_map(of_row).collect();
    Some(if moved.is_empty() {
        format!("{what}: with {background} on {links} within 10 % of the table.")
    } else {
        format!(
            "{what} rest on phase: {links} is a DropTail queue and little on the way is random, so the order \
             of arrival decides who loses packets. With {background} there: {}{unit}.",
            moved.join(", ")
        )
    })
}

/// Seeds below which a percentile bootstrap is noticeably too narrow.
const FEW_SEEDS: u32 = 10;

/// Policies without an interval because all their seeds give the same run.
fn chance_note(rows: &[Row]) -> Option<String> {
    let same: Vec<&Row> = rows.iter().filter(|row| row.deterministic).collect();
    let n = same.first()?.n;
    if same.len() == rows.len() {
        return Some(format!(
            "All {n} seeds give the same run: no confidence intervals."
        ));
    }
    let names: Vec<&str> = same.iter().map(|row| row.label.as_str()).collect();
    Some(format!(
        "{}: all {n} seeds give the same run, so no confidence interval.",
        names.join(", ")
    ))
}

/// Meaning of ±, for policies that have it.
fn interval_note(rows: &[Row]) -> Option<String> {
    let rows: Vec<&Row> = rows.iter().filter(|row| !row.deterministic).collect();
    let (fewest, most) = (
        rows.iter().map(|row| row.n).min()?,
        rows.iter().map(|row| row.n).max()?,
    );
    let seeds = if fewest == most {
        format!("{most}")
    } else {
        format!("{fewest} to {most}")
    };
    Some(match most {
        1 => "One seed: no confidence intervals.".into(),
        2..FEW_SEEDS => format!(
            "± half of the 95 % bootstrap interval over {seeds} seeds, which is too narrow; use 30 seeds."
        ),
        _ => format!("± half of the 95 % bootstrap interval over {seeds} seeds."),
    })
}
