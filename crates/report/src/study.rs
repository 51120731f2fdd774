//! Page of a study: policies over all points, and along each key that varies.

use askama::Template;
use joulepath_model::metric::{COMPLETION, EFFICIENCY, ENERGY_PER_BIT, GOODPUT, Metric};
use joulepath_model::result::{Estimate, Estimates};

use crate::html::assets::Assets;
use crate::html::figures::figure_html;
use crate::machine::ReportError;
use crate::reproduction::{Bars, Figure, Line, Plot};
use crate::scale::{Quantity, Scale, Value};
use crate::table::{Cell, Column, Line as TableLine, Table, Tone};

const STYLES: [&str; 2] = [
    include_str!("../assets/reproduction.css"),
    include_str!("../assets/study.css"),
];

/// A study and a summary of its dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// Heading of the page.
    pub title: String,
    /// Name of the scenario.
    pub scenario: String,
    /// `grid`, `sobol`, …
    pub design: &'static str,
    /// Points of the design.
    pub points: u64,
    /// Runs of the whole study.
    pub runs: u64,
    /// Runs that are done.
    pub done: u64,
    /// One row for each engine and policy that has runs.
    pub rows: Vec<StudyRow>,
    /// One entry for each engine and axis.
    pub along: Vec<Along>,
    /// Reason of failed runs and their number, most frequent first.
    pub failures: Vec<(String, u64)>,
    /// Command line that makes the page.
    pub command: String,
    /// Version of the program that made the page.
    pub version: String,
    /// Commit that the program was built from.
    pub commit: String,
}

/// Results of a policy in an engine, over all points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudyRow {
    /// Name of the engine.
    pub engine: String,
    /// As the user wrote it.
    pub policy: String,
    /// Runs that succeeded.
    pub runs: u64,
    /// Runs that failed.
    pub failed: u64,
    /// Means of the metrics of [`POLICY_METRICS`].
    pub estimates: Estimates,
    /// Efficiency divided by the first policy's, with its interval.
    pub ratio: Option<(f64, Option<Estimate>)>,
}

/// Columns of a study's policies, left out where no run has the metric.
pub static POLICY_METRICS: [&Metric; 4] = [&ENERGY_PER_BIT, &EFFICIENCY, &GOODPUT, &COMPLETION];

/// Figures along each axis, left out where no run has the metric.
pub static ALONG_METRICS: [&Metric; 2] = [&ENERGY_PER_BIT, &GOODPUT];

/// Results along an axis in an engine: means over all runs at each value.
#[derive(Clone, Debug, PartialEq)]
pub struct Along {
    /// Name of the engine.
    pub engine: String,
    /// Keys that vary together along the axis.
    pub keys: Vec<String>,
    /// Values of the keys.
    pub places: Places,
    /// One line for each policy.
    pub lines: Vec<AlongLine>,
}

/// Values of an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Places {
    /// Numbers in the base unit, ascending.
    Numbers {
        /// Their quantity.
        quantity: Quantity,
        /// Whether the axis is logarithmic.
        log: bool,
        /// The values. For points drawn from a range: the middles of its equal parts.
        values: Vec<f64>,
    },
    /// Values that are not numbers.
    Texts(Vec<String>),
}

/// A policy along an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AlongLine {
    /// As the user wrote it.
    pub policy: String,
    /// Means of the metrics of [`ALONG_METRICS`] at each place.
    pub estimates: Vec<Estimates>,
}

impl AlongLine {
    fn of<'a>(&'a self, metric: &'a Metric) -> impl Iterator<Item = Option<Estimate>> + 'a {
        self.estimates.iter().map(|place| place.of(metric))
    }
}

/// One self-contained page, like [`crate::html`].
///
/// # Errors
/// If the template fails.
pub fn html(study: &Study) -> Result<String, ReportError> {
    let figures = figures(study);
    let assets = Assets::new(&STYLES, &())?;
    let groups = groups(&figures, study);
    let (policies, failures) = (
        policies(study).html("policies")?,
        failures(study).html("failures")?,
    );
    Ok(Page {
        study,
        policies,
        failures,
        groups,
        assets,
    }
    .render()?)
}

/// Data of the template, which escapes text unless it says `safe`.
#[derive(Template)]
#[template(path = "study.html")]
struct Page<'a> {
    study: &'a Study,
    policies: String,
    failures: String,
    /// Figures of one axis in one engine.
    groups: Vec<(String, Vec<String>)>,
    assets: Assets,
}

impl Page<'_> {
    fn chips(&self) -> Vec<String> {
        let Study {
            scenario,
            design,
            points,
            runs,
            ..
        } = self.study;
        let many =
            |count: u64, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        let of_design = format!("{design}, {}", many(*points, "point"));
        vec![
            scenario.clone(),
            of_design,
            many(*runs, "run"),
            "joules are modelled, not measured".to_owned(),
        ]
    }

    /// The best policy of each engine with several policies, and the policies whose intervals
    /// overlap its own.
    fn answers(&self) -> Vec<String> {
        let rows = &self.study.rows;
        let answer = |row: &StudyRow| {
            let ratio = row.ratio.filter(|(ratio, _)| *ratio != 1.0);
            let ratio = ratio.map_or(String::new(), |(ratio, _)| {
                format!(", {ratio:.2} × the first policy's")
            });
            let (policy, engine) = (&row.policy, &row.engine);
            let near = rows
                .iter()
                .filter(|other| other.engine == *engine && other.policy != *policy);
            let near = near.filter(|other| {
                overlap(
                    row.estimates.of(&EFFICIENCY),
                    other.estimates.of(&EFFICIENCY),
                )
            });
            let near: Vec<&str> = near.map(|other| other.policy.as_str()).collect();
            let near = match near.as_slice() {
                [] => String::new(),
                near => format!(" Intervals that overlap: {}.", near.join(", ")),
            };
            format!("{policy} has the most data per joule in the {engine} engine{ratio}.{near}")
        };
        rows.iter()
            .filter(|row| is_best(self.study, row))
            .map(answer)
            .collect()
    }

    fn missing(&self) -> u64 {
        self.study.runs - self.study.done.min(self.study.runs)
    }
}

/// Policies over all points.
fn policies(study: &Study) -> Table {
    let is_known = |metric: &&Metric| {
        study
            .rows
            .iter()
            .any(|row| row.estimates.of(metric).is_some())
    };
    let shown: Vec<&Metric> = POLICY_METRICS.into_iter().filter(is_known).collect();
    let value = |of: Estimate| Value {
        mean: of.mean,
        interval: (of.lo < of.hi).then_some((of.lo, of.hi)),
    };
    let column = |metric: &&Metric| {
        let values = study
            .rows
            .iter()
            .filter_map(|row| row.estimates.of(metric))
            .map(value);
        let scale = Scale::of(metric.quantity, &values.collect::<Vec<_>>());
        scale.column(metric.title, scale.unit)
    };
    let ratio = Scale::of(Quantity::Ratio, &[Value::exact(1.0)]).column("× first", "efficiency");
    let counts = [Column::numbers("runs", ""), Column::numbers("failed", "")];
    let names = [Column::words("policy")].into_iter();
    let columns = names
        .chain(shown.iter().map(column))
        .chain([ratio])
        .chain(counts);
    let several = study
        .rows
        .iter()
        .any(|row| row.engine != study.rows[0].engine);
    let line = |row: &StudyRow| {
        let name = if several {
            format!("{} · {}", row.policy, row.engine)
        } else {
            row.policy.clone()
        };
        let cell = |of: Option<Value>| of.map_or_else(Cell::unknown, Value::cell);
        let ratio = row.ratio.map(|(mean, of)| Value {
            mean,
            interval: of.map(|of| (of.lo, of.hi)),
        });
        let cells = shown
            .iter()
            .map(|metric| cell(row.estimates.of(metric).map(value)));
        let cells = [Cell::text(name)]
            .into_iter()
            .chain(cells)
            .chain([cell(ratio)]);
        let line = TableLine::new(cells.chain([row.runs, row.failed].map(Cell::count)));
        if is_best(study, row) {
            line.tone(Tone::Best).badge("best", false)
        } else {
            line
        }
    };
    Table::new(columns).with(study.rows.iter().map(line))
}

/// Whether the row has the highest efficiency in its engine, which has other policies.
fn is_best(study: &Study, row: &StudyRow) -> bool {
    let of_engine = study.rows.iter().filter(|other| other.engine == row.engine);
    let efficiency = |row: &StudyRow| {
        row.estimates
            .of(&EFFICIENCY)
            .map_or(f64::NEG_INFINITY, |of| of.mean)
    };
    let most = of_engine
        .clone()
        .map(efficiency)
        .fold(f64::NEG_INFINITY, f64::max);
    of_engine.count() > 1 && most.is_finite() && efficiency(row) == most
}

/// Whether two intervals overlap.
fn overlap(a: Option<Estimate>, b: Option<Estimate>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a.lo <= b.hi && b.lo <= a.hi)
}

/// Reasons of failures and the number of runs that failed for each.
fn failures(study: &Study) -> Table {
    let line =
        |(reason, count): &(String, u64)| TableLine::new([Cell::text(reason), Cell::count(*count)]);
    Table::new([Column::words("reason"), Column::numbers("runs", "")])
        .with(study.failures.iter().map(line))
}

/// The metrics of [`ALONG_METRICS`] along each axis in each engine, without figures that have no
/// value.
fn figures(study: &Study) -> Vec<Figure> {
    let of_axis = |along| known(along).map(move |metric| figure(along, metric));
    study.along.iter().flat_map(of_axis).collect()
}

/// The metrics that have a value along an axis.
fn known(along: &Along) -> impl Iterator<Item = &'static Metric> + '_ {
    let has = |metric: &&'static Metric| {
        let mut all = along.lines.iter().flat_map(|line| line.of(metric));
        all.any(|estimate| estimate.is_some())
    };
    ALONG_METRICS.into_iter().filter(has)
}

fn figure(along: &Along, metric: &'static Metric) -> Figure {
    let means = along
        .lines
        .iter()
        .flat_map(|line| line.of(metric))
        .flatten();
    let means: Vec<Value> = means.map(|of| Value::exact(of.mean)).collect();
    let scale = Scale::of(metric.quantity, &means);
    let keys = along.keys.join(", ");
    let scaled = |of: Estimate| Estimate {
        mean: of.mean / scale.factor,
        lo: of.lo / scale.factor,
        hi: of.hi / scale.factor,
    };
    let estimates = |line: &AlongLine| -> Vec<Option<Estimate>> {
        line.of(metric).map(|of| of.map(scaled)).collect()
    };
    let (x, plot) = match &along.places {
        Places::Numbers {
            quantity,
            log,
            values,
        } => {
            let exact: Vec<Value> = values.iter().copied().map(Value::exact).collect();
            let across = Scale::of(*quantity, &exact);
            let points = |line: &AlongLine| {
                let x = values.iter().map(|value| value / across.factor);
                Line::with_band(&line.policy, x.zip(estimates(line)))
            };
            let x = if across.unit.is_empty() {
                keys
            } else {
                format!("{keys}, {}", across.unit)
            };
            (
                x,
                Plot::Lines {
                    lines: along.lines.iter().map(points).collect(),
                    log_x: *log,
                },
            )
        }
        Places::Texts(texts) => {
            let bars = |line: &AlongLine| Bars {
                name: line.policy.clone(),
                values: estimates(line),
                stated: vec![],
            };
            (
                keys,
                Plot::Bars {
                    groups: texts.clone(),
                    bars: along.lines.iter().map(bars).collect(),
                },
            )
        }
    };
    Figure {
        title: metric.title.to_owned(),
        x,
        y: scale.unit.to_owned(),
        plot,
    }
}

/// Figures, grouped by axis and engine.
fn groups(figures: &[Figure], study: &Study) -> Vec<(String, Vec<String>)> {
    let several = study
        .along
        .iter()
        .any(|along| along.engine != study.along[0].engine);
    let mut at = 0;
    let mut groups = vec![];
    for along in &study.along {
        let count = known(along).count();
        let keys = along.keys.join(", ");
        let heading = if several {
            format!("{keys} · {} engine", along.engine)
        } else {
            keys
        };
        let drawn = (at..at + count)
            .map(|place| figure_html(&figures[place]))
            .collect();
        groups.push((heading, drawn));
        at += count;
    }
    groups.retain(|(_, figures): &(_, Vec<_>)| !figures.is_empty());
    groups
}
