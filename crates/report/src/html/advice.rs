//! Page of an advice: the time–energy front as a plot, its points and the break-even sizes as
//! tables.

use askama::Template;

use super::assets::Assets;
use crate::chart::{Axis, Dot, Label, Plot, look};
use crate::machine::ReportError;
use crate::table::{Cell, Column, Line, Table, Tone};

/// An advice, in the words and with the digits of the terminal.
#[derive(Clone, Debug)]
pub struct AdvicePage {
    /// The question, for the heading.
    pub title: String,
    /// Deadline, device and similar conditions.
    pub chips: Vec<String>,
    /// Reason in one sentence.
    pub reason: String,
    /// Corners of the front by time, including the advice.
    pub ways: Vec<AdviceWay>,
    /// The front as a line: seconds and joules.
    pub line: Vec<[f64; 2]>,
    /// Deadline, s.
    pub deadline_s: Option<f64>,
    /// Ranges of sizes, ascending.
    pub ranges: Vec<AdviceRange>,
    /// Properties of each path.
    pub paths: Table,
    /// Assumptions.
    pub notes: Vec<String>,
    /// Command line that makes the page.
    pub command: String,
    /// Version of Joulepath.
    pub version: String,
    /// Commit that it was built from.
    pub commit: String,
}

/// A plan.
#[derive(Clone, Debug)]
pub struct AdviceWay {
    /// For example `wifi + lte`.
    pub interfaces: String,
    /// For example `71/29`, %.
    pub split: String,
    /// For example `19.5/9.7`, Mbit/s of payload while data flows.
    pub rates: String,
    /// Time as text, s.
    pub time: String,
    /// Energy as text, J.
    pub energy: String,
    /// Time, s.
    pub seconds: f64,
    /// Energy, J.
    pub joules: f64,
    /// Whether it is the advice.
    pub is_best: bool,
}

/// Advice for a range of sizes.
#[derive(Clone, Debug)]
pub struct AdviceRange {
    /// For example `below 340 kB`.
    pub sizes: String,
    /// For example `wifi alone`.
    pub interfaces: String,
}

/// One self-contained page, like [`crate::html`].
///
/// # Errors
/// If the template fails.
pub fn advice_html(advice: &AdvicePage) -> Result<String, ReportError> {
    let page = Page {
        advice,
        ways: ways(&advice.ways).html("ways")?,
        changes: changes(&advice.ranges).html("changes")?,
        paths: advice.paths.labelled_html("The paths")?,
        front: front(advice).html(),
        assets: Assets::new(&[], &())?,
    };
    Ok(page.render()?)
}

/// Table of the front's corners, in the colours of the plot.
fn ways(ways: &[AdviceWay]) -> Table {
    let columns = [
        Column::words("interfaces"),
        Column::numbers("energy", "J"),
        Column::numbers("time", "s"),
        Column::numbers("share", "%"),
        Column::numbers("rate", "Mbit/s"),
    ];
    let looks = looks(ways);
    Table::new(columns).with(ways.iter().enumerate().map(|(place, way)| {
        let numbers = [
            Cell::number(way.joules).shown(&way.energy),
            Cell::number(way.seconds).shown(&way.time),
        ];
        let words = [&way.split, &way.rates].map(Cell::text);
        let cells = [Cell::text(&way.interfaces)]
            .into_iter()
            .chain(numbers)
            .chain(words);
        let line = Line::new(cells).swatch(looks[place]);
        if way.is_best {
            line.tone(Tone::Best).badge("best", false)
        } else {
            line
        }
    }))
}

fn changes(ranges: &[AdviceRange]) -> Table {
    let line = |range: &AdviceRange| Line::new([&range.sizes, &range.interfaces].map(Cell::text));
    Table::new([Column::words("size"), Column::words("use")]).with(ranges.iter().map(line))
}

/// A look for each set of interfaces, in the order of the table.
fn looks(ways: &[AdviceWay]) -> Vec<usize> {
    let mut sets: Vec<&str> = ways.iter().map(|way| way.interfaces.as_str()).collect();
    let mut known = std::collections::BTreeSet::new();
    sets.retain(|set| known.insert(*set));
    ways.iter()
        .map(|way| {
            sets.iter()
                .position(|set| *set == way.interfaces)
                .unwrap_or(0)
        })
        .collect()
}

/// Corners of the front and its line, extended to where more time saves no energy.
fn front(advice: &AdvicePage) -> Plot {
    let AdvicePage {
        ways,
        line,
        deadline_s,
        ..
    } = advice;
    let times = line
        .iter()
        .map(|point| point[0])
        .chain(ways.iter().map(|way| way.seconds))
        .chain(*deadline_s);
    let joules = line
        .iter()
        .map(|point| point[1])
        .chain(ways.iter().map(|way| way.joules));
    let (x, y) = (around(times, 2.0), around(joules, 1.5));
    let cut = |axis: &Axis| {
        if axis.is_cut() {
            "; axis does not begin at 0"
        } else {
            ""
        }
    };
    let titles = [
        format!("time, s{}", cut(&x)),
        format!("energy, J{}", cut(&y)),
    ];
    let end = x.ends()[1];
    let mut plot = Plot::new(x, y);
    plot.titles = titles;
    plot.words = ways.iter().map(in_words).collect::<Vec<_>>().join("; ");
    plot.guides = vec![(line.clone(), false)];
    plot.guides
        .extend(line.last().map(|&[s, j]| (vec![[s, j], [end, j]], true)));
    plot.upright = deadline_s.map(|at| Label {
        at,
        text: "deadline",
    });
    plot.shape = "tall";
    plot.attributes = " data-table=\"ways\"".into();
    let dot = |(place, (way, number)): (usize, (&AdviceWay, usize))| {
        let AdviceWay {
            interfaces,
            split,
            rates,
            time,
            energy,
            ..
        } = way;
        let name = if split == "100" {
            interfaces.clone()
        } else {
            format!("{interfaces}, split {split} %")
        };
        Dot {
            at: [way.seconds, way.joules],
            whiskers: None,
            look: look(number) + if way.is_best { " ring" } else { "" },
            tip: vec![
                name,
                format!("{time} s · {energy} J"),
                format!("{rates} Mbit/s"),
            ],
            names: vec![format!("{interfaces} · {energy} J"), interfaces.clone()],
            // The best first, then both ends.
            rank: match way.is_best {
                true => 0,
                false if place == 0 || place + 1 == ways.len() => 1,
                false => 2,
            },
        }
    };
    plot.dots = ways.iter().zip(looks(ways)).enumerate().map(dot).collect();
    plot
}

/// An axis around the values, with more room at the end, for names.
fn around(values: impl Iterator<Item = f64> + Clone, most: f64) -> Axis {
    let lo = values.clone().fold(f64::INFINITY, f64::min);
    let hi = values.fold(0.0, f64::max);
    let room = [0.08 * (hi - lo), 0.1 * hi, 1.0]
        .into_iter()
        .find(|&room| room > 0.0)
        .unwrap_or(1.0);
    Axis::between(f64::max(0.0, lo - room), hi + most * room, 6.0)
}

/// Text such as `wifi + lte 71/29 %, 3.00 s, 11.2 J`.
fn in_words(way: &AdviceWay) -> String {
    let split = if way.split == "100" {
        String::new()
    } else {
        format!(" {} %", way.split)
    };
    format!(
        "{}{split}, {} s, {} J",
        way.interfaces, way.time, way.energy
    )
}

/// Data of the template, which escapes text unless it says `safe`.
#[derive(Template)]
#[template(path = "advice.html")]
struct Page<'a> {
    advice: &'a AdvicePage,
    ways: String,
    changes: String,
    paths: String,
    front: String,
    assets: Assets,
}

impl Page<'_> {
    fn best(&self) -> Option<&AdviceWay> {
        self.advice.ways.iter().find(|way| way.is_best)
    }

    /// The fastest plan, if it is not the advice.
    fn fastest(&self) -> Option<&AdviceWay> {
        self.advice.ways.first().filter(|way| !way.is_best)
    }
}
