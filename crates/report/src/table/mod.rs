//! One table for all reports: columns, lines and notes, written for a terminal, as Markdown, as HTML, and as
//! CSV or JSON for programs.
//!
//! | module | form | what it does about width |
//! |---|---|---|
//! | `terminal` | text | narrows, then hides what has a [`Rank`], and counts what it hid |
//! | `markdown` | a table of a page | nothing: everything is shown |
//! | `page` | HTML | the table scrolls in its box |
//! | `programs` | records, CSV, JSON | every column with a key, in SI base units |

mod markdown;
mod page;
mod programs;
mod terminal;
#[cfg(test)]
mod tests;

use crate::machine::Field;
pub use terminal::View;

/// When something is given up in a narrow terminal: the lowest rank first, [`Rank::NEVER`] never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub u8);

impl Rank {
    /// Shown at any width.
    pub const NEVER: Rank = Rank(u8::MAX);
}

/// How the cells of a column stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// Names and sentences.
    #[default]
    Left,
    /// Numbers.
    Right,
}

/// How the numbers of a column are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decimals {
    /// All digits that the number has.
    #[default]
    All,
    /// So many.
    Fixed(usize),
    /// So many, with a sign: differences.
    Signed(usize),
    /// Three significant digits, with at most so many decimals.
    UpTo(usize),
}

/// What a line or a cell says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing.
    #[default]
    Plain,
    /// The best of the table.
    Best,
    /// As it should be.
    Good,
    /// In part as it should be.
    Fair,
    /// Not as it should be.
    Bad,
    /// Open, or beside the point.
    Note,
    /// For reference: limits, what has no verdict.
    Dim,
    /// Black on a colour of the palette of 256: regions of a map.
    On(u8),
}

/// One number, name or sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// For programs; a number is in SI base units.
    field: Field,
    /// 95 % interval, in the number's unit.
    interval: Option<(f64, f64)>,
    /// What people see, if the column's rule does not say it.
    shown: Option<String>,
    tone: Tone,
}

impl Cell {
    /// Where a value would make no sense.
    pub fn empty() -> Self {
        Cell::text("")
    }

    /// A value that is not known: `–`, and null for programs.
    pub fn unknown() -> Self {
        Cell { field: Field::Number(None), interval: None, shown: None, tone: Tone::Plain }
    }

    /// A name or a sentence. What stands between backticks is code. A new line starts a new line.
    pub fn text(text: impl Into<String>) -> Self {
        Cell { field: Field::Text(text.into()), interval: None, shown: None, tone: Tone::Plain }
    }

    /// In SI base units; unknown if it is not finite.
    pub fn number(value: f64) -> Self {
        Cell { field: Field::Number(value.is_finite().then_some(value)), ..Cell::unknown() }
    }

    /// How many.
    pub fn count(count: u64) -> Self {
        Cell { field: Field::Count(Some(count)), ..Cell::unknown() }
    }

    /// With the 95 % interval from `lo` to `hi`: shown as ± half of its width.
    pub fn with_interval(self, lo: f64, hi: f64) -> Self {
        Cell { interval: Some((lo, hi)), ..self }
    }

    /// Shown as `text`, whatever the column's rule.
    pub fn shown(self, text: impl Into<String>) -> Self {
        Cell { shown: Some(text.into()), ..self }
    }

    /// With a colour in a terminal and a class in HTML.
    pub fn tone(self, tone: Tone) -> Self {
        Cell { tone, ..self }
    }

    /// The number, if it is one: what tables are sorted by.
    pub(crate) fn value(&self) -> Option<f64> {
        match self.field {
            Field::Number(number) => number,
            Field::Count(count) => count.map(|count| count as f64),
            Field::Text(_) | Field::Flag(_) => None,
        }
    }
}

/// What a column shows and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    name: String,
    /// In place of the name in a terminal, if it is not empty.
    short: String,
    unit: String,
    /// Name for programs, with the base unit; empty if the column is for people alone.
    key: String,
    align: Align,
    decimals: Decimals,
    /// The unit in SI base units.
    factor: f64,
    /// When the column is hidden, and when its intervals are.
    hidden: Rank,
    plain: Rank,
    /// Most characters of a line of a cell, and fewer from a rank on.
    fold: Option<usize>,
    folds: Vec<(Rank, usize)>,
    /// Before all lines of a cell but the first.
    indent: usize,
    /// A cell that is the same as the one above is left empty in a terminal.
    once: bool,
}

impl Column {
    fn of(name: &str, unit: &str, align: Align) -> Self {
        Column {
            name: name.to_owned(),
            short: String::new(),
            unit: unit.to_owned(),
            key: String::new(),
            align,
            decimals: Decimals::All,
            factor: 1.0,
            hidden: Rank::NEVER,
            plain: Rank::NEVER,
            fold: None,
            folds: Vec::new(),
            indent: 0,
            once: false,
        }
    }

    /// Of names or sentences.
    pub fn words(name: &str) -> Self {
        Column::of(name, "", Align::Left)
    }

    /// Of numbers. `unit` stands below the name, or after a comma.
    pub fn numbers(name: &str, unit: &str) -> Self {
        Column::of(name, unit, Align::Right)
    }

    /// For programs: `key` names the value and its SI base unit.
    pub fn key(self, key: &str) -> Self {
        Column { key: key.to_owned(), ..self }
    }

    /// The name in a terminal.
    pub fn short(self, name: &str) -> Self {
        Column { short: name.to_owned(), ..self }
    }

    /// Against the default of [`Column::words`] and [`Column::numbers`].
    pub fn align(self, align: Align) -> Self {
        Column { align, ..self }
    }

    /// How its numbers are written.
    pub fn decimals(self, decimals: Decimals) -> Self {
        Column { decimals, ..self }
    }

    /// A number of the shown unit is `factor` in SI base units: 1e6 for Mbit/s.
    pub fn factor(self, factor: f64) -> Self {
        Column { factor, ..self }
    }

    /// Hidden in a narrow terminal, in its turn.
    pub fn hidden(self, rank: Rank) -> Self {
        Column { hidden: rank, ..self }
    }

    /// Without intervals in a narrow terminal, in its turn.
    pub fn plain(self, rank: Rank) -> Self {
        Column { plain: rank, ..self }
    }

    /// Cells are broken into lines of at most `most` characters.
    pub fn fold(self, most: usize) -> Self {
        Column { fold: Some(most), ..self }
    }

    /// In its turn, cells are broken into lines of `least` to as many characters as there is room for.
    pub fn narrow(mut self, rank: Rank, least: usize) -> Self {
        self.folds.push((rank, least));
        self
    }

    /// Blanks before all lines of a cell but the first.
    pub fn indent(self, indent: usize) -> Self {
        Column { indent, ..self }
    }

    /// In a terminal a value stands once, above all lines that share it.
    pub fn once(self) -> Self {
        Column { once: true, ..self }
    }

    /// The name with its unit after a comma.
    fn heading(&self) -> String {
        if self.unit.is_empty() { self.name.clone() } else { format!("{}, {}", self.name, self.unit) }
    }

    /// The name, and the unit below it.
    pub(crate) fn titles(&self) -> (String, String) {
        (self.name.clone(), self.unit.clone())
    }

    pub(crate) fn unit(&self) -> &str {
        &self.unit
    }

    /// `175 ±3`.
    pub(crate) fn with_interval(&self, cell: &Cell) -> String {
        let half = self.half_width(cell).map_or_else(String::new, |half| format!(" ±{half}"));
        self.shown(cell) + &half
    }

    /// A value in SI base units as people see it, without its unit.
    fn number(&self, value: f64) -> String {
        let value = value / self.factor;
        match self.decimals {
            Decimals::All => value.to_string(),
            Decimals::Fixed(decimals) => format!("{value:.decimals$}"),
            Decimals::Signed(decimals) => format!("{value:+.decimals$}"),
            Decimals::UpTo(most) => {
                let decimals = match value.abs() {
                    v if v >= 100.0 => 0,
                    v if v >= 10.0 => most.min(1),
                    _ => most,
                };
                format!("{value:.decimals$}")
            }
        }
    }

    /// What people see of a cell, without its interval.
    fn shown(&self, cell: &Cell) -> String {
        match (&cell.shown, &cell.field) {
            (Some(text), _) | (None, Field::Text(text)) => text.clone(),
            (None, Field::Flag(flag)) => if *flag { "yes" } else { "no" }.to_owned(),
            (None, Field::Count(Some(count))) => count.to_string(),
            (None, Field::Number(Some(value))) => self.number(*value),
            (None, Field::Count(None) | Field::Number(None)) => UNKNOWN.to_owned(),
        }
    }

    /// Half of the interval's width, without sign and unit.
    fn half_width(&self, cell: &Cell) -> Option<String> {
        let half = cell.interval.map(|(lo, hi)| (hi - lo) / 2.0).filter(|half| half.is_finite())?;
        cell.value().map(|_| self.number(half))
    }
}

/// For a value that is not known.
const UNKNOWN: &str = "–";

/// A line of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    cells: Vec<Cell>,
    tone: Tone,
    /// A blank line stands before it in a terminal: a new group.
    apart: bool,
    /// Shown on hovering in HTML.
    hint: String,
    /// Words after the name in HTML.
    badges: Vec<Badge>,
    /// A data attribute of a coloured square before the name in HTML, and its value.
    swatch: Option<(&'static str, usize)>,
}

/// A word after a name in HTML.
#[derive(Clone, Debug, PartialEq)]
struct Badge {
    word: &'static str,
    stands_back: bool,
    data: Option<(&'static str, usize)>,
}

impl Line {
    /// One cell for each column.
    pub fn new(cells: impl IntoIterator<Item = Cell>) -> Self {
        Line { cells: cells.into_iter().collect(), ..Line::default() }
    }

    /// Of all its cells.
    pub fn tone(self, tone: Tone) -> Self {
        Line { tone, ..self }
    }

    /// The first of a group.
    pub fn apart(self, apart: bool) -> Self {
        Line { apart, ..self }
    }

    /// Shown on hovering in HTML.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Line { hint: hint.into(), ..self }
    }

    /// A word after the name in HTML; `dim` if it stands back.
    pub fn badge(mut self, word: &'static str, stands_back: bool) -> Self {
        self.badges.push(Badge { word, stands_back, data: None });
        self
    }

    /// An empty mark after the name in HTML, which a script fills: `data-NAME="VALUE"`.
    pub fn mark(mut self, name: &'static str, value: usize) -> Self {
        self.badges.push(Badge { word: "", stands_back: true, data: Some((name, value)) });
        self
    }

    /// A coloured square before the name in HTML: `data-NAME="VALUE"` tells a script its colour.
    pub fn swatch(self, name: &'static str, value: usize) -> Self {
        Line { swatch: Some((name, value)), ..self }
    }
}

/// Columns and the lines below them. The first column has the names of the lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    lines: Vec<Line>,
}

impl Table {
    /// Without lines.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Table { columns: columns.into_iter().collect(), lines: Vec::new() }
    }

    /// Adds a line.
    ///
    /// # Panics
    /// If it has not one cell for each column.
    pub fn push(&mut self, line: Line) {
        assert_eq!(line.cells.len(), self.columns.len(), "a line has a cell for each column");
        self.lines.push(line);
    }

    /// With all of `lines`.
    ///
    /// # Panics
    /// As [`Table::push`].
    pub fn with(mut self, lines: impl IntoIterator<Item = Line>) -> Self {
        lines.into_iter().for_each(|line| self.push(line));
        self
    }

    /// With its lines in the order of `places`.
    pub(crate) fn ordered(self, places: impl IntoIterator<Item = usize>) -> Self {
        let lines = places.into_iter().map(|place| self.lines[place].clone()).collect();
        Table { lines, ..self }
    }

    /// Whether any column has a unit.
    fn has_units(&self) -> bool {
        self.columns.iter().any(|column| !column.unit.is_empty())
    }
}
