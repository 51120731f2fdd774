//! Charts without scripts: a row for each policy, best first. Positions are percentages of a row's track.

use joulepath_model::result::{Comparison, Row};

use super::measure::{Contrast, Measure, Tone};
use crate::chart::Axis;
use crate::scale::{Quantity, Scale, Value};
use crate::sheet::reference_name;

pub(super) struct Bar {
    pub(super) name: String,
    /// `best`, `first`, `limit`, `better`, `worse`, `unclear`, or empty.
    pub(super) class: &'static str,
    /// Position of the bar's end or of the dot; `None` without a number.
    pub(super) at: Option<String>,
    /// Left end and width.
    pub(super) whisker: Option<(String, String)>,
    /// The number as text, and half of its interval's width.
    pub(super) text: String,
    pub(super) half: Option<String>,
}

impl Bar {
    fn unknown(name: &str) -> Bar {
        Bar { name: name.to_owned(), class: "", at: None, whisker: None, text: "–".into(), half: None }
    }

    /// The policy that differences refer to.
    fn of_first(name: &str, zero: String) -> Bar {
        Bar { class: "first", at: Some(zero), text: "first".into(), ..Bar::unknown(name) }
    }

    fn of_difference(
        name: &str,
        contrast: &Contrast,
        measure: Measure,
        axis: &Differences,
        scale: &Scale,
    ) -> Bar {
        let percent = contrast.percent();
        Bar {
            name: name.to_owned(),
            class: match contrast.tone(measure) {
                Tone::Better => "better",
                Tone::Worse => "worse",
                Tone::Unclear => "unclear",
            },
            at: Some(axis.place(percent.mean)),
            whisker: percent.interval.map(|(lo, hi)| (axis.place(lo), axis.width(hi - lo))),
            text: format!("{} %", signed(scale, percent.mean)),
            half: scale.half_width(percent),
        }
    }
}

/// A chart of one number for each policy.
pub(super) struct Chart {
    pub(super) title: String,
    /// Unit, and the better direction.
    pub(super) hint: String,
    /// `bars` from the left end, or `dots` around zero.
    pub(super) kind: &'static str,
    pub(super) rows: Vec<Bar>,
    /// Lines across all rows.
    pub(super) lines: Vec<String>,
    /// Positions with their numbers; empty if every row shows its own.
    pub(super) ticks: Vec<(String, String)>,
}

/// Policies as rows of stacked parts.
pub(super) struct Stack {
    pub(super) title: &'static str,
    pub(super) hint: String,
    pub(super) unit: &'static str,
    /// Set of colours: `path` or `cause`.
    pub(super) colours: &'static str,
    pub(super) keys: Vec<String>,
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
        self.order.iter().map(|&index| (index, &self.comparison.rows[index]))
    }

    /// Bars of each policy's measure with its interval, from zero.
    pub(super) fn bars(&self, measure: Measure) -> Chart {
        let values: Vec<Option<Value>> = self.rows().map(|(_, row)| measure.of_row(row)).collect();
        let scale = Scale::of(measure.quantity(), &values.iter().flatten().copied().collect::<Vec<_>>());
        let mut limits = self.limits(measure);
        limits.sort_by(|(_, a), (_, b)| a.mean.total_cmp(&b.mean));
        let all = values.iter().flatten().chain(limits.iter().map(|(_, value)| value));
        let longest = all.map(|value| value.interval.map_or(value.mean, |(_, hi)| hi)).fold(0.0, f64::max);
        let bar = |name: &str, class, value: Option<Value>| {
            let place = |value: f64| place(value / longest);
            Bar {
                name: name.to_owned(),
                class,
                at: value.map(|value| place(value.mean)),
                whisker: value.and_then(|value| value.interval).map(|(lo, hi)| (place(lo), place(hi - lo))),
                text: value.map_or_else(|| "–".into(), |value| scale.number(value.mean)),
                half: value.and_then(|value| scale.half_width(value)),
            }
        };
        let policies = self.rows().zip(&values).map(|((index, row), &value)| {
            bar(&row.label, if Some(index) == self.best { "best" } else { "" }, value)
        });
        let of_limits = limits.iter().map(|(name, value)| bar(name, "limit", Some(*value)));
        let direction = match measure {
            Measure::TcpShare => "1: the share of one TCP flow; more is at its expense",
            _ if measure.less_is_better() => "less is better",
            _ => "more is better",
        };
        Chart {
            title: measure.title().to_owned(),
            hint: [scale.unit, direction]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join(", "),
            kind: "bars",
            rows: of_limits.chain(policies).collect(),
            lines: limits.iter().map(|(_, value)| place(value.mean / longest)).collect(),
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
                .map(|limit| (reference_name(&limit.kind), Value::exact(1.0 / limit.bits_per_joule)))
                .collect(),
            Measure::TcpShare => vec![("one TCP".to_owned(), Value::exact(1.0))],
            _ => vec![],
        }
    }

    /// Difference of each policy from the first, paired by seed; `None` with one policy.
    pub(super) fn differences(&self, measure: Measure) -> Option<Chart> {
        let first = self.comparison.rows.first().filter(|_| self.order.len() > 1)?;
        let contrasts: Vec<Option<Contrast>> =
            self.rows().map(|(_, row)| Contrast::of(measure, row, first)).collect();
        let percents: Vec<Value> = contrasts.iter().flatten().map(Contrast::percent).collect();
        let ends = || percents.iter().flat_map(|p| p.interval.map_or([p.mean; 2], |(lo, hi)| [lo, hi]));
        let axis = Differences::around(ends().fold(0.0, f64::min), ends().fold(0.0, f64::max));
        let scale = Scale::of_differences(&percents);
        let rows = self.rows().zip(contrasts).map(|((index, row), contrast)| match contrast {
            _ if index == 0 => Bar::of_first(&row.label, axis.place(0.0)),
            Some(contrast) => Bar::of_difference(&row.label, &contrast, measure, &axis, &scale),
            None => Bar::unknown(&row.label),
        });
        let side = if measure.less_is_better() { "left" } else { "right" };
        Some(Chart {
            title: format!("{} against {}", measure.title(), first.label),
            hint: format!("%, same seeds; to the {side} is better"),
            kind: "dots",
            rows: rows.collect(),
            lines: vec![axis.place(0.0)],
            ticks: axis.ticks(),
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
            colours: "path",
            keys: paths.clone(),
            rows: self.stacked(of_row, 100.0, |value| format!("{value:.0}")),
        }
    }

    /// Causes of the energy per bit.
    pub(super) fn causes(&self) -> Stack {
        let of_row = |row: &Row| {
            let split = row.energy_split;
            let per_bit = 1.0 / (row.bits_per_joule.mean * split.total_j());
            [split.sunk_j, split.transfer_j, split.tail_j].map(|joules| joules * per_bit).to_vec()
        };
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let all = || self.rows().map(|(_, row)| of_row(row)).filter(|parts| finite(parts));
        let longest = all().map(|parts| parts.iter().sum()).fold(0.0, f64::max);
        let scale = Scale::of(Quantity::EnergyPerBit, &[Value::exact(longest)]);
        Stack {
            title: "Energy per bit by cause",
            hint: format!("{}, by cause", scale.unit),
            unit: scale.unit,
            colours: "cause",
            keys: ["sunk", "transfer", "tail"].map(String::from).to_vec(),
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
            let part = if value.is_finite() { value / longest } else { 0.0 };
            Part { width: place(part), text: text(value), is_narrow: 100.0 * part < ROOM_FOR_TEXT }
        };
        self.rows().map(|(_, row)| (row.label.clone(), parts(row).into_iter().map(part).collect())).collect()
    }
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

/// Position on the track, percent with two decimals: a tenth of a pixel.
fn place(part: f64) -> String {
    format!("{:.2}", if part.is_finite() { 100.0 * part } else { 0.0 })
}

/// Axis of differences in percent.
struct Differences(Axis);

impl Differences {
    /// Spans ±1 % if all differences are zero.
    fn around(lo: f64, hi: f64) -> Self {
        Differences(Axis::around(lo, hi, MOST_TICKS).unwrap_or_else(|| Axis::between(-1.0, 1.0, 1.0)))
    }

    fn place(&self, value: f64) -> String {
        place(self.0.part(value))
    }

    fn width(&self, length: f64) -> String {
        place(self.0.part_of_length(length))
    }

    fn ticks(&self) -> Vec<(String, String)> {
        let scale = Scale::of(Quantity::Plain, &[Value::exact(self.0.step)]);
        // Steps are 1, 2 or 5 in their last digit.
        let text = |tick: f64| {
            let text = signed(&scale, tick);
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        };
        self.0.ticks().map(|tick| (self.place(tick), text(tick))).collect()
    }
}
