//! Page of an advice: the time–energy front as a plot, its points and the break-even sizes as tables.

use askama::Template;
use serde::Serialize;

use super::assets::Assets;
use crate::machine::ReportError;
use crate::table::{Cell, Column, Line, Table, Tone};

/// The page's scripts, each after the scripts that it needs.
const SCRIPTS: [&str; 8] = [
    include_str!("../../assets/js/format.js"),
    include_str!("../../assets/js/theme.js"),
    include_str!("../../assets/js/card.js"),
    include_str!("../../assets/js/scroll.js"),
    include_str!("../../assets/js/tip.js"),
    include_str!("../../assets/js/plot.js"),
    include_str!("../../assets/js/front.js"),
    include_str!("../../assets/js/advice.js"),
];

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
#[derive(Clone, Debug, Serialize)]
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
/// If a number cannot be written as JSON.
pub fn advice_html(advice: &AdvicePage) -> Result<String, ReportError> {
    let drawn = Drawn { ways: &advice.ways, line: &advice.line, deadline_s: advice.deadline_s };
    let page = Page {
        advice,
        ways: ways(&advice.ways).html("ways")?,
        changes: changes(&advice.ranges).html("changes")?,
        paths: advice.paths.labelled_html("The paths")?,
        assets: Assets::new(&[], &SCRIPTS, &drawn)?,
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
    Table::new(columns).with(ways.iter().enumerate().map(|(place, way)| {
        let numbers =
            [Cell::number(way.joules).shown(&way.energy), Cell::number(way.seconds).shown(&way.time)];
        let words = [&way.split, &way.rates].map(Cell::text);
        let cells = [Cell::text(&way.interfaces)].into_iter().chain(numbers).chain(words);
        let line = Line::new(cells).swatch("way", place);
        if way.is_best { line.tone(Tone::Best).badge("best", false) } else { line }
    }))
}

fn changes(ranges: &[AdviceRange]) -> Table {
    let line = |range: &AdviceRange| Line::new([&range.sizes, &range.interfaces].map(Cell::text));
    Table::new([Column::words("size"), Column::words("use")]).with(ranges.iter().map(line))
}

/// Data for the page's scripts.
#[derive(Serialize)]
struct Drawn<'a> {
    ways: &'a [AdviceWay],
    line: &'a [[f64; 2]],
    deadline_s: Option<f64>,
}

/// Data of the template, which escapes text unless it says `safe`.
#[derive(Template)]
#[template(path = "advice.html")]
struct Page<'a> {
    advice: &'a AdvicePage,
    ways: String,
    changes: String,
    paths: String,
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
