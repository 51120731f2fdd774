//! First screen of a comparison: the best policy, its advantage, and its cost to user and other
//! traffic.

use std::borrow::Cow;

use joulepath_model::metric::{Better, COMPETITORS, EFFICIENCY, GOODPUT};
use joulepath_model::result::{Comparison, Row, RunResult};

use super::chart::signed;
use super::measure::{Contrast, Measure, Tone};
use crate::scale::{Quantity, Scale};
use crate::sheet::{Content, Sheet, costs_energy};

/// A tile.
pub(super) struct Fact {
    pub(super) what: Cow<'static, str>,
    /// The number, or a word as the answer.
    pub(super) number: String,
    pub(super) unit: String,
    pub(super) notes: Vec<String>,
    /// `price` if there is a cost, else empty.
    pub(super) class: &'static str,
}

/// Minimum fraction of the data for a path in use.
const IN_USE: f64 = 0.005;
/// TCP shares above which a policy no longer counts as leaving TCP its share: a fifth above goal 2
/// of RFC 6356.
const MOST_TCPS: f64 = 1.2;
/// Without an interval, smaller differences count as equal.
const SAME: f64 = 0.001;
/// Reason for a missing number.
const NO_RIVAL: &str = "Not measured: no TCP competes here.";
/// Ratios from here on are given as a factor, not in percent.
const FACTOR: f64 = 2.5;

/// The tiles; empty without runs or without energy costs.
pub(super) fn facts(comparison: &Comparison, sheet: &Sheet, order: &[usize]) -> Vec<Fact> {
    let best = order
        .first()
        .filter(|&&best| costs_energy(&comparison.rows[best]));
    let Some(&best) = best else { return Vec::new() };
    let answer = Answer {
        comparison,
        sheet,
        order,
        best,
        row: &comparison.rows[best],
    };
    [
        Some(answer.which()),
        answer.by_how_much(),
        Some(answer.users_price()),
        Some(answer.others_price()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

struct Answer<'a> {
    comparison: &'a Comparison,
    sheet: &'a Sheet,
    order: &'a [usize],
    best: usize,
    row: &'a Row,
}

impl Answer<'_> {
    /// Text such as `175 ±3 kbit/J`.
    fn shown(&self, content: Content, row: usize) -> Option<String> {
        let column = self
            .sheet
            .columns
            .iter()
            .find(|column| column.content == content)?;
        let cell = column
            .cells
            .get(row)
            .filter(|cell| cell.value().is_some())?;
        let unit = match content {
            Content::TcpReference | Content::LinkBound => "%",
            Content::TcpShare => "",
            _ => column.column.unit(),
        };
        // Keeps number and unit on one line.
        Some(
            format!("{} {unit}", column.column.with_interval(cell))
                .trim_end()
                .replace(' ', "\u{a0}"),
        )
    }

    fn which(&self) -> Fact {
        let efficiency = self.shown(Content::Metric(&EFFICIENCY), self.best);
        let shares = [
            self.shown(Content::TcpReference, self.best)
                .map(|share| format!("{share} of the TCP-rate reference")),
            self.shown(Content::LinkBound, self.best)
                .map(|share| format!("{share} of the link bound")),
        ];
        Fact {
            what: if self.order.len() > 1 {
                "most data per joule"
            } else {
                "data per joule"
            }
            .into(),
            number: self.row.label.clone(),
            unit: String::new(),
            notes: efficiency
                .into_iter()
                .chain(shares.into_iter().flatten())
                .collect(),
            class: "which",
        }
    }

    /// Compares with the second policy, and with the first of the list if that is a different one.
    fn by_how_much(&self) -> Option<Fact> {
        let &second = self.order.get(1)?;
        let name = |row: usize| &self.comparison.rows[row].label;
        let is_clear = |more: &Contrast| match more.interval {
            Some(_) => more.tone(Measure::Metric(&GOODPUT)) == Tone::Better,
            None => more.ratio > 1.0 + SAME,
        };
        let more = self.more_than(second)?;
        let against = |row: usize, what: &str| {
            let more = self.more_than(row)?;
            Some(format!(
                "{} against {}, {what}",
                difference(&more),
                name(row)
            ))
        };
        let fact = |number: String, unit: &str, notes: Vec<String>| Fact {
            what: "lead".into(),
            number,
            unit: unit.into(),
            notes,
            class: "",
        };
        if is_clear(&more) {
            let number = difference(&more).trim_start_matches('+').to_owned();
            let note = format!("data per joule than {}, the second", name(second));
            let first = Some(0).filter(|first| ![self.best, second].contains(first));
            let first = first.and_then(|row| against(row, "the first"));
            return Some(fact(
                number,
                "more",
                std::iter::once(note).chain(first).collect(),
            ));
        }
        let note = match more.interval {
            Some((lo, hi)) if lo == hi => format!("{} has the same result", name(second)),
            None => format!("{} differs by less than 0.1 %", name(second)),
            Some(_) => format!("{} is within chance: {}", name(second), difference(&more)),
        };
        let behind = self
            .order
            .iter()
            .copied()
            .find(|&row| self.more_than(row).is_some_and(|more| is_clear(&more)));
        let behind = behind.and_then(|row| against(row, "the next policy that is clearly behind"));
        Some(fact(
            "no clear winner".into(),
            "",
            std::iter::once(note).chain(behind).collect(),
        ))
    }

    /// Data per joule relative to another policy.
    fn more_than(&self, other: usize) -> Option<Contrast> {
        let per_bit = Contrast::of(
            Measure::EnergyPerBit,
            self.row,
            &self.comparison.rows[other],
        )?;
        let interval = per_bit.interval.map(|(lo, hi)| (1.0 / hi, 1.0 / lo));
        Some(Contrast {
            ratio: 1.0 / per_bit.ratio,
            interval,
            ..per_bit
        })
    }

    /// Time or goodput, compared with the best policy in that respect.
    fn users_price(&self) -> Fact {
        let measure = Measure::of_user(self.comparison);
        let metric = match measure {
            Measure::Metric(metric) => metric,
            _ => &GOODPUT,
        };
        let is_rate = metric.better == Better::Higher;
        let best = format!(
            "the {} {}",
            if is_rate { "highest" } else { "shortest" },
            metric.title
        );
        let fact = |number: String, unit: &str, note: String, class| Fact {
            what: "cost for the user".into(),
            number,
            unit: unit.into(),
            notes: Some(note)
                .filter(|note| !note.is_empty())
                .into_iter()
                .collect(),
            class,
        };
        let rows = &self.comparison.rows;
        let shown = |row: usize| {
            self.shown(Content::Metric(metric), row)
                .unwrap_or_else(|| "–".into())
        };
        if measure.of_row(self.row).is_none() {
            return fact(
                "not known".into(),
                "",
                "no run had every file complete".into(),
                "price",
            );
        }
        let sign = if measure.less_is_better() { 1.0 } else { -1.0 };
        let ranked = self
            .order
            .iter()
            .filter_map(|&row| Some((row, sign * measure.of_row(&rows[row])?.mean)));
        let leader = ranked
            .min_by(|(_, a), (_, b)| a.total_cmp(b))
            .map_or(self.best, |(row, _)| row);
        if self.order.len() == 1 {
            return Fact {
                what: measure.title().into(),
                ..fact(shown(self.best), "", String::new(), "")
            };
        }
        if leader == self.best {
            return fact(
                "nothing".into(),
                "",
                format!("it also has {best}: {}", shown(self.best)),
                "",
            );
        }
        let against = format!(
            "{} against {} of {}",
            shown(self.best),
            shown(leader),
            rows[leader].label
        );
        match Contrast::of(measure, self.row, &rows[leader]) {
            Some(contrast)
                if contrast.tone(measure) == Tone::Worse || contrast.interval.is_none() =>
            {
                let unit = match () {
                    _ if is_rate => metric.title,
                    _ if contrast.ratio >= FACTOR => "the time",
                    _ => "longer",
                };
                let number = difference(&contrast).trim_start_matches('+').to_owned();
                fact(number, unit, against, "price")
            }
            _ => fact(
                "no clear difference".into(),
                "",
                format!("{against}: within chance"),
                "",
            ),
        }
    }

    /// Effect on other traffic: measured if TCP flows compete, else from the controller's
    /// definition.
    fn others_price(&self) -> Fact {
        if let Some(share) = self.row.tcp_share {
            let shown = self.shown(Content::TcpShare, self.best).unwrap_or_default();
            let note = "its goodput divided by a competing TCP’s; 1 is fair".to_owned();
            let fact = others(shown, "TCPs", note);
            return if share.mean > MOST_TCPS {
                self.priced(fact)
            } else {
                fact
            };
        }
        if let Some(fact) = self.competitors_price() {
            return fact;
        }
        match subflows(self.row) {
            Some(0 | 1) => others(
                "1 TCP’s share".into(),
                "",
                "all its data takes one path".into(),
            ),
            Some(n) if self.row.uncoupled => {
                let each = format!(
                    "at a bottleneck that its {n} subflows share: each grows like a separate TCP flow."
                );
                self.priced(others(
                    format!("{n} TCPs’ share"),
                    "",
                    format!("{each} {NO_RIVAL}"),
                ))
            }
            None if self.row.uncoupled => {
                let each =
                    "at a bottleneck that subflows share: each grows like a separate TCP flow.";
                self.priced(others(
                    "a TCP’s share each".into(),
                    "",
                    format!("{each} {NO_RIVAL}"),
                ))
            }
            _ => others(
                "not known".into(),
                "",
                format!("Its subflows are coupled. {NO_RIVAL}"),
            ),
        }
    }

    /// Loss of the competitors relative to the policy that leaves them most; `None` without
    /// competitors.
    fn competitors_price(&self) -> Option<Fact> {
        let rows = &self.comparison.rows;
        let left = |&row: &usize| {
            Measure::Metric(&COMPETITORS)
                .of_row(&rows[row])
                .map(|value| value.mean)
        };
        let own = self.shown(Content::Metric(&COMPETITORS), self.best)?;
        let most = self.order.iter().copied().filter(|row| left(row).is_some());
        let most = most.max_by(|a, b| left(a).unwrap_or(0.0).total_cmp(&left(b).unwrap_or(0.0)))?;
        let contrast = Contrast::of(Measure::Metric(&COMPETITORS), self.row, &rows[most]);
        match contrast
            .filter(|contrast| contrast.tone(Measure::Metric(&COMPETITORS)) == Tone::Worse)
        {
            Some(contrast) => {
                let most = format!(
                    "with {} {}",
                    rows[most].label,
                    self.shown(Content::Metric(&COMPETITORS), most)?
                );
                let note = format!("they get {own}; {most}");
                Some(Fact {
                    class: "price",
                    ..others(difference(&contrast), "for the competitors", note)
                })
            }
            None => {
                let note =
                    format!("the competitors get {own}; no policy leaves them more beyond chance");
                Some(others("no clear difference".into(), "", note))
            }
        }
    }

    fn priced(&self, fact: Fact) -> Fact {
        Fact {
            notes: fact
                .notes
                .into_iter()
                .chain(self.best_of_the_rest())
                .collect(),
            class: "price",
            ..fact
        }
    }

    /// The most efficient of the policies that leave TCP its share.
    fn best_of_the_rest(&self) -> Option<String> {
        let leaves = |row: &Row| match row.tcp_share {
            Some(share) => share.mean <= MOST_TCPS,
            None => !row.uncoupled || subflows(row) == Some(1),
        };
        let rest = self
            .order
            .iter()
            .copied()
            .find(|&row| leaves(&self.comparison.rows[row]))?;
        let name = &self.comparison.rows[rest].label;
        let kind = if self.row.tcp_share.is_some() {
            "policy with at most 1.2 TCPs"
        } else {
            "coupled policy"
        };
        Some(format!(
            "best {kind}: {name}, {}",
            self.shown(Content::Metric(&EFFICIENCY), rest)?
        ))
    }
}

fn others(number: String, unit: &str, note: String) -> Fact {
    Fact {
        what: "cost for other traffic".into(),
        number,
        unit: unit.into(),
        notes: vec![note],
        class: "",
    }
}

/// Number of subflows that carry data: one on each path in use, for a single connection without a
/// topology that puts several on one interface. `None` if unknown.
fn subflows(row: &Row) -> Option<usize> {
    let in_use = row.paths.iter().filter(|path| path.share >= IN_USE).count();
    let is_one = |run: &RunResult| run.connections_bps.len() == 1 && run.network.is_none();
    (in_use <= 1 || row.runs.first().is_some_and(is_one)).then_some(in_use)
}

/// Text such as `+84 % ±5`, `−12 %` or `× 3.1`.
fn difference(contrast: &Contrast) -> String {
    if contrast.ratio >= FACTOR {
        let value = contrast.factor();
        let scale = Scale::of(Quantity::Plain, &[value]);
        return with_half(
            format!("× {}", scale.number(value.mean)),
            scale.half_width(value),
        );
    }
    let value = contrast.percent();
    let scale = Scale::of(Quantity::Plain, &[value]);
    with_half(
        format!("{} %", signed(&scale, value.mean)),
        scale.half_width(value),
    )
}

fn with_half(number: String, half: Option<String>) -> String {
    half.map_or(number.clone(), |half| format!("{number} ±{half}"))
}
