//! One table for all reports: columns, lines and notes, formatted for a terminal, as Markdown, as
//! HTML, and as CSV or JSON.
//!
//! | module | form | treatment of width |
//! |---|---|---|
//! | `terminal` | text | narrows columns, then hides those with a [`Rank`], and counts them |
//! | `markdown` | a table of a page | none: shows everything |
//! | `page` | HTML | the table scrolls in its box |

mod markdown;
mod page;
mod terminal;
#[cfg(test)]
mod tests;

use crate::machine::Field;
pub use terminal::View;

/// Order in which a narrow terminal gives up columns: lowest rank first, [`Rank::NEVER`] never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub u8);

impl Rank {
    /// Shown at any width.
    pub const NEVER: Rank = Rank(u8::MAX);
}

/// Alignment of a column's cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// Names and sentences.
    #[default]
    Left,
    /// Numbers.
    Right,
}

/// Format of a column's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decimals {
    /// All digits of the number.
    #[default]
    All,
    /// A fixed number of decimals.
    Fixed(usize),
    /// A fixed number of decimals, with a sign: differences.
    Signed(usize),
    /// Three significant digits, with at most this many decimals.
    UpTo(usize),
}

/// Meaning of a line or a cell, shown by its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// No meaning.
    #[default]
    Plain,
    /// The best of the table.
    Best,
    /// As desired.
    Good,
    /// Partly as desired.
    Fair,
    /// Not as desired.
    Bad,
    /// Undecided or irrelevant.
    Note,
    /// For reference: limits, lines without a verdict.
    Dim,
    /// Black on a colour of the palette of 256: regions of a map.
    On(u8),
}

/// One number, name or sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Value for programs; a number is in SI base units.
    field: Field,
    /// 95 % interval, in the number's unit.
    interval: Option<(f64, f64)>,
    /// Text for readers, if it differs from the column's format.
    shown: Option<String>,
    tone: Tone,
}

impl Cell {
    /// A cell that has no meaningful value.
    pub fn empty() -> Self {
        Cell::text("")
    }

    /// An unknown value: `–`, and null for programs.
    pub fn unknown() -> Self {
        Cell {
            field: Field::Number(None),
            interval: None,
            shown: None,
            tone: Tone::Plain,
        }
    }

    /// A name or a sentence. Text between backticks is code. A newline starts a new line.
    pub fn text(text: impl Into<String>) -> Self {
        Cell {
            field: Field::Text(text.into()),
            interval: None,
            shown: None,
            tone: Tone::Plain,
        }
    }

    /// A number in SI base units; unknown if it is not finite.
    pub fn number(value: f64) -> Self {
        Cell {
            field: Field::Number(value.is_finite().then_some(value)),
            ..Cell::unknown()
        }
    }

    /// A count.
    pub fn count(count: u64) -> Self {
        Cell {
            field: Field::Count(Some(count)),
            ..Cell::unknown()
        }
    }

    /// Adds the 95 % interval from `lo` to `hi`, which is shown as ± half of its width.
    pub fn with_interval(self, lo: f64, hi: f64) -> Self {
        Cell {
            interval: Some((lo, hi)),
            ..self
        }
    }

    /// Sets the shown text, whatever the column's format.
    pub fn shown(self, text: impl Into<String>) -> Self {
        Cell {
            shown: Some(text.into()),
            ..self
        }
    }

    /// Sets a colour in the terminal and a class in HTML.
    pub fn tone(self, tone: Tone) -> Self {
        Cell { tone, ..self }
    }

    /// The number, if it is one, for sorting.
    pub(crate) fn value(&self) -> Option<f64> {
        match self.field {
            Field::Number(number) => number,
            Field::Count(count) => count.map(|count| count as f64),
            Field::Text(_) | Field::Flag(_) => None,
        }
    }
}

/// Content and format of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    name: String,
    /// Replaces the name in a terminal, unless empty.
    short: String,
    unit: String,
    align: Align,
    decimals: Decimals,
    /// Size of the unit in SI base units.
    factor: f64,
    /// Ranks for hiding the column and its intervals.
    hidden: Rank,
    plain: Rank,
    /// Maximum width of a cell's lines, and a smaller one from a rank on.
    fold: Option<usize>,
    folds: Vec<(Rank, usize)>,
    /// Spaces before all lines of a cell but the first.
    indent: usize,
    /// Whether a terminal leaves cells empty that equal the cell above.
    once: bool,
}

impl Column {
    fn of(name: &str, unit: &str, align: Align) -> Self {
        Column {
            name: name.to_owned(),
            short: String::new(),
            unit: unit.to_owned(),
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

    /// A column of names or sentences.
    pub fn words(name: &str) -> Self {
        Column::of(name, "", Align::Left)
    }

    /// A column of numbers. `unit` stands below the name or after a comma.
    pub fn numbers(name: &str, unit: &str) -> Self {
        Column::of(name, unit, Align::Right)
    }

    /// Sets a short name for terminals.
    pub fn short(self, name: &str) -> Self {
        Column {
            short: name.to_owned(),
            ..self
        }
    }

    /// Overrides the default of [`Column::words`] and [`Column::numbers`].
    pub fn align(self, align: Align) -> Self {
        Column { align, ..self }
    }

    /// Sets the format of its numbers.
    pub fn decimals(self, decimals: Decimals) -> Self {
        Column { decimals, ..self }
    }

    /// Sets the size of the shown unit in SI base units: 1e6 for Mbit/s.
    pub fn factor(self, factor: f64) -> Self {
        Column { factor, ..self }
    }

    /// Hides the column in a narrow terminal, in the order of ranks.
    pub fn hidden(self, rank: Rank) -> Self {
        Column {
            hidden: rank,
            ..self
        }
    }

    /// Hides the intervals in a narrow terminal, in the order of ranks.
    pub fn plain(self, rank: Rank) -> Self {
        Column {
            plain: rank,
            ..self
        }
    }

    /// Ranks for hiding the column and its intervals.
    pub(crate) fn ranks(&self) -> (Rank, Rank) {
        (self.hidden, self.plain)
    }

    /// Breaks cells into lines of at most `most` characters.
    pub fn fold(self, most: usize) -> Self {
        Column {
            fold: Some(most),
            ..self
        }
    }

    /// In the order of ranks, breaks cells into lines of at least `least` characters, more if there
    /// is room.
    pub fn narrow(mut self, rank: Rank, least: usize) -> Self {
        self.folds.push((rank, least));
        self
    }

    /// Sets the number of spaces before all lines of a cell but the first.
    pub fn indent(self, indent: usize) -> Self {
        Column { indent, ..self }
    }

    /// In a terminal, shows a value only in the first of the lines that share it.
    pub fn once(self) -> Self {
        Column { once: true, ..self }
    }

    /// The name with its unit after a comma.
    fn heading(&self) -> String {
        if self.unit.is_empty() {
            self.name.clone()
        } else {
            format!("{}, {}", self.name, self.unit)
        }
    }

    /// The name, and the unit below it.
    pub(crate) fn titles(&self) -> (String, String) {
        (self.name.clone(), self.unit.clone())
    }

    pub(crate) fn unit(&self) -> &str {
        &self.unit
    }

    /// Such as `175 ±3`.
    pub(crate) fn with_interval(&self, cell: &Cell) -> String {
        let half = self
            .half_width(cell)
            .map_or_else(String::new, |half| format!(" ±{half}"));
        self.shown(cell) + &half
    }

    /// A value in SI base units, formatted without its unit.
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

    /// Text of a cell without its interval.
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
        let half = cell
            .interval
            .map(|(lo, hi)| (hi - lo) / 2.0)
            .filter(|half| half.is_finite())?;
        cell.value().map(|_| self.number(half))
    }
}

/// Text of an unknown value.
const UNKNOWN: &str = "–";

/// A line of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    cells: Vec<Cell>,
    tone: Tone,
    /// Whether a blank line precedes it in a terminal, to start a group.
    apart: bool,
    /// Tooltip in HTML.
    hint: String,
    /// Badges after the name in HTML.
    badges: Vec<Badge>,
    /// Classes of a coloured square before the name in HTML.
    swatch: Option<String>,
}

/// A badge after the name in HTML.
#[derive(Clone, Debug, PartialEq)]
struct Badge {
    word: String,
    stands_back: bool,
}

impl Line {
    /// A line with one cell for each column.
    pub fn new(cells: impl IntoIterator<Item = Cell>) -> Self {
        Line {
            cells: cells.into_iter().collect(),
            ..Line::default()
        }
    }

    /// Sets the tone of all its cells.
    pub fn tone(self, tone: Tone) -> Self {
        Line { tone, ..self }
    }

    /// Marks the first line of a group.
    pub fn apart(self, apart: bool) -> Self {
        Line { apart, ..self }
    }

    /// Sets the tooltip in HTML.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Line {
            hint: hint.into(),
            ..self
        }
    }

    /// Adds a badge after the name in HTML, dimmed if `stands_back`.
    pub fn badge(mut self, word: impl Into<String>, stands_back: bool) -> Self {
        self.badges.push(Badge {
            word: word.into(),
            stands_back,
        });
        self
    }

    /// Adds a square before the name in HTML, in the colour of a chart's policy number `look`.
    pub fn swatch(self, look: usize) -> Self {
        Line {
            swatch: Some(crate::chart::look(look)),
            ..self
        }
    }
}

/// Columns and lines. The first column has the names of the lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    lines: Vec<Line>,
}

impl Table {
    /// A table without lines.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Table {
            columns: columns.into_iter().collect(),
            lines: Vec::new(),
        }
    }

    /// Adds a line.
    ///
    /// # Panics
    /// If the line does not have one cell for each column.
    pub fn push(&mut self, line: Line) {
        assert_eq!(
            line.cells.len(),
            self.columns.len(),
            "a line has a cell for each column"
        );
        self.lines.push(line);
    }

    /// Adds all `lines`.
    ///
    /// # Panics
    /// Like [`Table::push`].
    pub fn with(mut self, lines: impl IntoIterator<Item = Line>) -> Self {
        lines.into_iter().for_each(|line| self.push(line));
        self
    }

    /// The table with its lines in the order of `places`.
    pub(crate) fn ordered(self, places: impl IntoIterator<Item = usize>) -> Self {
        let lines = places
            .into_iter()
            .map(|place| self.lines[place].clone())
            .collect();
        Table { lines, ..self }
    }

    /// Whether any column has a unit.
    fn has_units(&self) -> bool {
        self.columns.iter().any(|column| !column.unit.is_empty())
    }
}
