//! Charts without scripts: a row for each policy, best first. Positions are percentages of a row's
//! track.

use joulepath_model::metric::{SUNK, TAIL, TRANSFER};
use joulepath_model::result::{Comparison, Row};

use super::measure::{Contrast, Measure, Tone};
use crate::chart::{Axis, Chart, Mark, Row as ChartRow, look_of, place};
use crate::scale::{Quantity, Scale, Value};
use crate::sheet::{efficiency, reference_name};

/// Row of the policy that differences refer to.
fn first(name: &str, zero: f64) -> ChartRow {
    ChartRow {
        class: "first",
        marks: vec![Mark::at("dot", zero)],
        text: "first".into(),
        ..ChartRow::unknown(name)
    }
}

fn difference(
    name: &str,
    contrast: &Contrast,
    measure: Measure,
    axis: &Axis,
    scale: &Scale,
) -> ChartRow {
    let percent = contrast.percent();
    let whisker = |(lo, hi)| Mark::between("whisker", axis.part(lo), axis.part(hi));
    let dot = Mark::at("dot", axis.part(percent.mean));
    ChartRow {
        class: match contrast.tone(measure) {
            Tone::Better => "better",
            Tone::Worse => "worse",
            Tone::Unclear => "unclear",
        },
        marks: percent
            .interval
            .map(whisker)
            .into_iter()
            .chain([dot])
            .collect(),
        text: format!("{} %", signed(scale, percent.mean)),
        note: half_width(scale, percent),
        ..ChartRow::unknown(name)
    }
}

fn half_width(scale: &Scale, value: Value) -> String {
    scale
        .half_width(value)
        .map_or_else(String::new, |half| format!("±{half}"))
}

/// Policies as rows of stacked parts.
pub(super) struct Stack {
    pub(super) title: &'static str,
    pub(super) hint: String,
    pub(super) unit: &'static str,
    /// Classes of the colour, and name of each part.
    pub(super) keys: Vec<(String, String)>,
    pub(super) rows: Vec<(String, Vec<Part>)>,
}

/// A part of a row.
pub(super) struct Part {
    /// Width, percent of the longest row.
    pub(super) width: String,
    pub(super) text: String,
    /// Whether it is too narrow for its text.
    pub(super) is_narrow: bool,
}

/// Minimum width of a part for its number, percent of the track.
const ROOM_FOR_TEXT: f64 = 9.0;
/// Maximum number of steps of an axis of differences.
const MOST_TICKS: f64 = 4.0;

/// Rows of a comparison in the order of the charts.
pub(super) struct Field<'a> {
    pub(super) comparison: &'a Comparison,
    /// Indices of rows, the most efficient first.
    pub(super) order: &'a [usize],
    /// The most efficient of several rows.
    pub(super) best: Option<usize>,
}

impl Field<'_> {
    fn rows(&self) -> impl Iterator<Item = (usize, &Row)> {
        self.order
            .iter()
            .map(|&index| (index, &self.comparison.rows[index]))
    }

    /// Bars of each policy's measure with its interval, from zero.
    pub(super) fn bars(&self, measure: Measure) -> Chart {
        let values: Vec<Option<Value>> = self.rows().map(|(_, row)| measure.of_row(row)).collect();
        let scale = Scale::of(
            measure.quantity(),
            &values.iter().flatten().copied().collect::<Vec<_>>(),
        );
        let mut limits = self.limits(measure);
        limits.sort_by(|(_, a), (_, b)| a.mean.total_cmp(&b.mean));
        let all = values
            .iter()
            .flatten()
            .chain(limits.iter().map(|(_, value)| value));
        let longest = all
            .map(|value| value.interval.map_or(value.mean, |(_, hi)| hi))
            .fold(0.0, f64::max);
        let bar = |name: &str, class, value: Option<Value>| {
            let Some(value) = value else {
                return ChartRow {
                    class,
                    ..ChartRow::unknown(name)
                };
            };
            let whisker = |(lo, hi)| Mark::between("whisker", lo / longest, hi / longest);
            let bar = Mark::between("bar", 0.0, value.mean / longest);
            ChartRow {
                class,
                marks: [bar]
                    .into_iter()
                    .chain(value.interval.map(whisker))
                    .collect(),
                text: scale.number(value.mean),
                note: half_width(&scale, value),
                ..ChartRow::unknown(name)
            }
        };
        let policies = self.rows().zip(&values).map(|((index, row), &value)| {
            bar(
                &row.label,
                if Some(index) == self.best { "best" } else { "" },
                value,
            )
        });
        let of_limits = limits
            .iter()
            .map(|(name, value)| bar(name, "limit", Some(*value)));
        let direction = match measure {
            Measure::TcpShare => "1: the share of one TCP flow; more is at its expense",
            _ if measure.less_is_better() => "less is better",
            _ => "more is better",
        };
        Chart {
            title: measure.title(),
            hint: [scale.unit, direction]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join(", "),
            kind: "bars",
            rows: of_limits.chain(policies).collect(),
            lines: limits
                .iter()
                .map(|(_, value)| place(value.mean / longest))
                .collect(),
            ticks: vec![],
        }
    }

    /// Limits that no policy can exceed, or should; as values of `measure`.
    fn limits(&self, measure: Measure) -> Vec<(String, Value)> {
        match measure {
            Measure::EnergyPerBit => self
                .comparison
                .references
                .iter()
                .filter(|limit| limit.bits_per_joule > 0.0)
                .map(|limit| {
                    (
                        reference_name(&limit.kind),
                        Value::exact(1.0 / limit.bits_per_joule),
                    )
                })
                .collect(),
            Measure::TcpShare => vec![("one TCP".to_owned(), Value::exact(1.0))],
            _ => vec![],
        }
    }

    /// Difference of each policy from the first, paired by seed; `None` with one policy.
    pub(super) fn differences(&self, measure: Measure) -> Option<Chart> {
        let reference = self
            .comparison
            .rows
            .first()
            .filter(|_| self.order.len() > 1)?;
        let contrasts: Vec<Option<Contrast>> = self
            .rows()
            .map(|(_, row)| Contrast::of(measure, row, reference))
            .collect();
        let percents: Vec<Value> = contrasts.iter().flatten().map(Contrast::percent).collect();
        let ends = || {
            percents
                .iter()
                .flat_map(|p| p.interval.map_or([p.mean; 2], |(lo, hi)| [lo, hi]))
        };
        let axis = Axis::around(
            ends().fold(0.0, f64::min),
            ends().fold(0.0, f64::max),
            MOST_TICKS,
        );
        // All differences may be zero.
        let axis = axis.unwrap_or_else(|| Axis::between(-1.0, 1.0, 2.0));
        let scale = Scale::of_differences(&percents);
        let rows = self
            .rows()
            .zip(contrasts)
            .map(|((index, row), contrast)| match contrast {
                _ if index == 0 => first(&row.label, axis.part(0.0)),
                Some(contrast) => difference(&row.label, &contrast, measure, &axis, &scale),
                None => ChartRow::unknown(&row.label),
            });
        let side = if measure.less_is_better() {
            "left"
        } else {
            "right"
        };
        Some(Chart {
            title: format!("{} against {}", measure.title(), reference.label),
            hint: format!("%, same seeds; to the {side} is better"),
            kind: "dots",
            rows: rows.collect(),
            lines: vec![place(axis.part(0.0))],
            ticks: axis
                .ticks()
                .iter()
                .map(|&tick| (place(axis.part(tick)), plus(axis.text(tick))))
                .collect(),
        })
    }

    /// Shares of the paths in the data.
    pub(super) fn shares(&self) -> Stack {
        let paths = &self.comparison.scenario.paths;
        let of_row = |row: &Row| row.paths.iter().map(|path| 100.0 * path.share).collect();
        Stack {
            title: "Data by path",
            hint: "% of the payload that arrived first over each path".into(),
            unit: "%",
            keys: keys("path", paths.iter().cloned()),
            rows: self.stacked(of_row, 100.0, |value| format!("{value:.0}")),
        }
    }

    /// Causes of the energy per bit.
    pub(super) fn causes(&self) -> Stack {
        let of_row = |row: &Row| {
            let joules = [&SUNK, &TRANSFER, &TAIL].map(|cause| row.mean(cause));
            let per_bit = 1.0 / (efficiency(row) * joules.iter().sum::<f64>());
            joules.map(|joules| joules * per_bit).to_vec()
        };
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let all = || {
            self.rows()
                .map(|(_, row)| of_row(row))
                .filter(|parts| finite(parts))
        };
        let longest = all().map(|parts| parts.iter().sum()).fold(0.0, f64::max);
        let scale = Scale::of(Quantity::EnergyPerBit, &[Value::exact(longest)]);
        Stack {
            title: "Energy per bit by cause",
            hint: format!("{}, by cause", scale.unit),
            unit: scale.unit,
            keys: keys(
                "cause",
                ["sunk", "transfer", "tail"].into_iter().map(String::from),
            ),
            rows: self.stacked(of_row, longest, |value| scale.number(value)),
        }
    }

    fn stacked(
        &self,
        parts: impl Fn(&Row) -> Vec<f64>,
        longest: f64,
        text: impl Fn(f64) -> String,
    ) -> Vec<(String, Vec<Part>)> {
        let part = |value: f64| {
            let part = if value.is_finite() {
                value / longest
            } else {
                0.0
            };
            Part {
                width: place(part),
                text: text(value),
                is_narrow: 100.0 * part < ROOM_FOR_TEXT,
            }
        };
        self.rows()
            .map(|(_, row)| {
                (
                    row.label.clone(),
                    parts(row).into_iter().map(part).collect(),
                )
            })
            .collect()
    }
}

fn keys(set: &str, names: impl Iterator<Item = String>) -> Vec<(String, String)> {
    names
        .enumerate()
        .map(|(index, name)| (look_of(set, index), name))
        .collect()
}

/// Text such as `+12`, `−3` or `0`, with a minus sign as wide as the plus.
pub(super) fn signed(scale: &Scale, value: f64) -> String {
    let number = scale.number(value.abs());
    match () {
        () if number.chars().all(|c| matches!(c, '0' | '.')) => number,
        () if value < 0.0 => format!("−{number}"),
        () => format!("+{number}"),
    }
}

/// A tick with its sign.
fn plus(tick: String) -> String {
    if tick == "0" || tick.starts_with('−') {
        tick
    } else {
        format!("+{tick}")
    }
}
