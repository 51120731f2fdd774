//! The page of an advice: the time–energy front as a plot, its points and the break-even sizes as tables.

use askama::Template;
use serde::Serialize;

use super::assets::Assets;
use crate::machine::ReportError;
use crate::table::{Cell, Column, Line, Table, Tone};

/// The page's scripts, in the order in which they need each other.
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
    /// What is asked, for the heading.
    pub title: String,
    /// Deadline, device and the like, one each.
    pub chips: Vec<String>,
    /// Why, in one sentence.
    pub reason: String,
    /// The corners of the front by time, with the advice among them.
    pub ways: Vec<AdviceWay>,
    /// The front as a line: seconds and joules.
    pub line: Vec<[f64; 2]>,
    /// By when it must be done, s.
    pub deadline_s: Option<f64>,
    /// Ranges of sizes, ascending.
    pub ranges: Vec<AdviceRange>,
    /// What was asked of each path.
    pub paths: Table,
    /// What the numbers rest on.
    pub notes: Vec<String>,
    /// The command line.
    pub command: String,
    /// Of Joulepath.
    pub version: String,
    /// That it was built from.
    pub commit: String,
}

/// One way to do it.
#[derive(Clone, Debug, Serialize)]
pub struct AdviceWay {
    /// `wifi + lte`.
    pub interfaces: String,
    /// `71/29`, %.
    pub split: String,
    /// `19.5/9.7`, Mbit/s of payload while it flows.
    pub rates: String,
    /// Time, with its digits, s.
    pub time: String,
    /// Energy, with its digits, J.
    pub energy: String,
    /// Time, s.
    pub seconds: f64,
    /// Energy, J.
    pub joules: f64,
    /// Whether it is the advice.
    pub is_best: bool,
}

/// What is advised for a range of sizes.
#[derive(Clone, Debug)]
pub struct AdviceRange {
    /// `below 340 kB`.
    pub sizes: String,
    /// `wifi alone`.
    pub interfaces: String,
}

/// One self-contained page, as [`crate::html`].
///
/// # Errors
/// If a number fits no JSON.
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

/// The corners of the front, with the colours of the plot.
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

/// What the page's scripts draw.
#[derive(Serialize)]
struct Drawn<'a> {
    ways: &'a [AdviceWay],
    line: &'a [[f64; 2]],
    deadline_s: Option<f64>,
}

/// What the template shows. Text is escaped by the template unless it says `safe`.
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

    /// The fastest, if that is not the advice.
    fn fastest(&self) -> Option<&AdviceWay> {
        self.advice.ways.first().filter(|way| !way.is_best)
    }
}
