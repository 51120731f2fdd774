//! Formats the table as text of limited width.

use std::collections::BTreeSet;

use super::{Align, Cell, Column, Line, Rank, Table, Tone};

/// Spaces between columns.
const GAP: usize = 2;
/// Line under the head.
const RULE: &str = "─";
const RESET: &str = "\u{1b}[0m";

/// Width and colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Maximum width of a line, characters; `usize::MAX` shows everything.
    pub width: usize,
    /// Whether tones have colours. The caller checks for a terminal and NO_COLOR.
    pub color: bool,
}

/// A reduction for a narrow terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Break cells into lines of at least this many characters.
    Narrow(usize, usize),
    Plain(usize),
    Hidden(usize),
}

impl Table {
    /// Head, rule and lines without a final line break, and a description of the hidden columns: `2
    /// columns and 1 interval hidden`. Reductions happen in the order of ranks; those that later
    /// ones make unnecessary are undone.
    pub fn text(&self, view: View) -> (String, Option<String>) {
        let mut steps: Vec<(Rank, Step)> = self.steps().collect();
        steps.sort();
        let mut given_up = BTreeSet::new();
        let fits = |given_up: &BTreeSet<Step>| self.draft(given_up).width() <= view.width;
        let mut taken = Vec::new();
        for (_, step) in steps {
            if fits(&given_up) {
                break;
            }
            given_up.insert(step);
            taken.push(step);
        }
        for step in taken.into_iter().rev() {
            given_up.remove(&step);
            if !fits(&given_up) {
                given_up.insert(step);
            }
        }
        (
            self.draft(&given_up).widened(view.width).drawn(view.color),
            hidden(&given_up),
        )
    }

    /// The whole table without colours.
    pub fn whole(&self) -> String {
        self.draft(&BTreeSet::new()).drawn(false)
    }

    fn steps(&self) -> impl Iterator<Item = (Rank, Step)> {
        self.columns.iter().enumerate().flat_map(|(place, column)| {
            let has_intervals = self
                .lines
                .iter()
                .any(|line| column.half_width(&line.cells[place]).is_some());
            let narrow = column
                .folds
                .iter()
                .map(move |&(rank, least)| (rank, Step::Narrow(place, least)));
            let plain = has_intervals.then_some((column.plain, Step::Plain(place)));
            let rest = plain
                .into_iter()
                .chain([(column.hidden, Step::Hidden(place))]);
            narrow.chain(rest).filter(|(rank, _)| *rank != Rank::NEVER)
        })
    }

    fn draft(&self, given_up: &BTreeSet<Step>) -> Draft<'_> {
        let shown = |(place, _): &(usize, &Column)| !given_up.contains(&Step::Hidden(*place));
        let columns = self
            .columns
            .iter()
            .enumerate()
            .filter(shown)
            .map(|(place, column)| {
                let narrow = given_up.iter().filter_map(|step| match step {
                    Step::Narrow(of, least) if *of == place => Some(*least),
                    _ => None,
                });
                Drawn::of(
                    self,
                    place,
                    column,
                    narrow.min(),
                    !given_up.contains(&Step::Plain(place)),
                )
            });
        Draft {
            table: self,
            columns: columns.collect(),
        }
    }
}

/// Description of what is hidden. A column counts once, with its intervals.
fn hidden(given_up: &BTreeSet<Step>) -> Option<String> {
    let is_hidden = |place: usize| given_up.contains(&Step::Hidden(place));
    let columns = given_up
        .iter()
        .filter(|step| matches!(step, Step::Hidden(_)))
        .count();
    let plain = |step: &&Step| matches!(step, Step::Plain(place) if !is_hidden(*place));
    let intervals = given_up.iter().filter(plain).count();
    let counted = |n: usize, of: &str| format!("{n} {of}{}", if n == 1 { "" } else { "s" });
    match (counted(columns, "column"), counted(intervals, "interval")) {
        _ if columns + intervals == 0 => None,
        (columns, _) if intervals == 0 => Some(format!("{columns} hidden")),
        (_, intervals) if columns == 0 => Some(format!("{intervals} hidden")),
        (columns, intervals) => Some(format!("{columns} and {intervals} hidden")),
    }
}

/// A column as text, with the width at which its cells are broken.
struct Drawn<'a> {
    column: &'a Column,
    head: Vec<String>,
    /// Text of each line of the table, not broken yet.
    texts: Vec<String>,
    place: usize,
    /// Maximum width of a cell's lines, and the width that it could use.
    fold: Option<usize>,
    wish: usize,
}

impl<'a> Drawn<'a> {
    fn of(
        table: &'a Table,
        place: usize,
        column: &'a Column,
        narrow: Option<usize>,
        with_intervals: bool,
    ) -> Self {
        let name = if column.short.is_empty() {
            &column.name
        } else {
            &column.short
        };
        let units = table.has_units().then_some(&column.unit);
        let head = std::iter::once(name).chain(units).cloned().collect();
        let texts = texts(table, place, column, with_intervals);
        Drawn {
            column,
            head,
            texts,
            place,
            fold: narrow.or(column.fold),
            wish: column.fold.unwrap_or(usize::MAX),
        }
    }

    fn lines_of(&self, text: &str) -> Vec<String> {
        let Some(fold) = self.fold else {
            return text.lines().map(str::to_owned).collect();
        };
        let indent = " ".repeat(self.column.indent);
        let options = textwrap::Options::new(fold)
            .subsequent_indent(&indent)
            .word_separator(textwrap::WordSeparator::Custom(words));
        textwrap::wrap(text, options)
            .into_iter()
            .map(|line| line.replace(KEPT, " "))
            .collect()
    }

    fn width(&self) -> usize {
        let cells = self.texts.iter().flat_map(|text| self.lines_of(text));
        cells
            .chain(self.head.iter().cloned())
            .map(|line| display_width(&line))
            .max()
            .unwrap_or(0)
    }
}

/// Parts of a line between which it may be broken: at spaces, and after commas between letters.
fn words(line: &str) -> Box<dyn Iterator<Item = textwrap::core::Word<'_>> + '_> {
    let mut rest = line;
    Box::new(std::iter::from_fn(move || {
        let breaks = rest.char_indices().find(|&(at, letter)| {
            letter == ' ' || (letter == ',' && !rest[at + 1..].starts_with(KEPT))
        });
        let end = breaks.map_or(rest.len(), |(at, _)| at + 1);
        let end = rest.len() - rest[end..].trim_start_matches(' ').len();
        let (word, after) = rest.split_at(end);
        rest = after;
        (!word.is_empty()).then(|| textwrap::core::Word::from(word))
    }))
}

/// A space at which no line is broken.
const KEPT: char = '\u{a0}';

struct Draft<'a> {
    table: &'a Table,
    columns: Vec<Drawn<'a>>,
}

impl Draft<'_> {
    fn width(&self) -> usize {
        let columns: usize = self.columns.iter().map(Drawn::width).sum();
        columns + GAP * self.columns.len().saturating_sub(1)
    }

    /// Distributes the rest of `width` among broken columns, the first ones first.
    fn widened(mut self, width: usize) -> Self {
        for place in 0..self.columns.len() {
            let Some(fold) = self.columns[place].fold else {
                continue;
            };
            let (own, all) = (self.columns[place].width(), self.width());
            let room = width.saturating_sub(all.saturating_sub(own));
            let column = &mut self.columns[place];
            column.fold = Some(room.min(column.wish).max(fold));
        }
        self
    }

    fn drawn(&self, color: bool) -> String {
        let widths: Vec<usize> = self.columns.iter().map(Drawn::width).collect();
        let mut lines = Vec::new();
        let heads = if self.table.has_units() { 2 } else { 1 };
        let of_head = |line: usize| {
            self.columns
                .iter()
                .map(|column| column.head[line].as_str())
                .collect()
        };
        lines.extend(
            (0..heads).map(|line| self.joined(&widths, of_head(line), |_| Tone::Plain, color)),
        );
        lines
            .push(RULE.repeat(widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)));
        for (place, line) in self.table.lines.iter().enumerate() {
            if line.apart {
                lines.push(String::new());
            }
            lines.extend(self.line(&widths, place, line, color));
        }
        lines.join("\n")
    }

    fn line(&self, widths: &[usize], place: usize, line: &Line, color: bool) -> Vec<String> {
        let cells: Vec<Vec<String>> = self
            .columns
            .iter()
            .map(|column| column.lines_of(&column.texts[place]))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let tone = |column: usize| match line.cells[self.columns[column].place].tone {
            Tone::Plain => line.tone,
            tone => tone,
        };
        let part = |at: usize| {
            cells
                .iter()
                .map(|cell| cell.get(at).map_or("", String::as_str))
                .collect()
        };
        (0..height)
            .map(|at| self.joined(widths, part(at), tone, color))
            .collect()
    }

    /// One line of text. Colours surround texts and do not add to the width.
    fn joined(
        &self,
        widths: &[usize],
        cells: Vec<&str>,
        tone: impl Fn(usize) -> Tone,
        color: bool,
    ) -> String {
        let mut line = String::new();
        let mut blanks = 0;
        for (place, text) in cells.into_iter().enumerate() {
            let fill = widths[place] - display_width(text);
            let (before, after) = match self.columns[place].column.align {
                Align::Left => (0, fill),
                Align::Right => (fill, 0),
            };
            let (shown, end) = (
                text.trim_end(),
                display_width(text) - display_width(text.trim_end()),
            );
            blanks += before;
            if !shown.is_empty() {
                line += &" ".repeat(blanks);
                line += &painted(shown, if color { tone(place) } else { Tone::Plain });
                blanks = 0;
            }
            blanks += end + after + GAP;
        }
        line
    }
}

fn painted(text: &str, tone: Tone) -> String {
    let code = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Best => "\u{1b}[1m\u{1b}[32m",
        Tone::Good => "\u{1b}[32m",
        Tone::Fair => "\u{1b}[33m",
        Tone::Bad => "\u{1b}[1m\u{1b}[31m",
        Tone::Note => "\u{1b}[36m",
        Tone::Dim => "\u{1b}[2m",
        Tone::On(color) => return format!("\u{1b}[30;48;5;{color}m{text}{RESET}"),
    };
    format!("{code}{text}{RESET}")
}

fn display_width(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// Cells of the column, with ± aligned.
fn texts(table: &Table, place: usize, column: &Column, with_intervals: bool) -> Vec<String> {
    let cells = || table.lines.iter().map(|line| &line.cells[place]);
    let halves: Vec<Option<String>> = cells().map(|cell| column.half_width(cell)).collect();
    let widest = halves
        .iter()
        .flatten()
        .map(|half| display_width(half))
        .max()
        .filter(|_| with_intervals);
    let text = |(cell, half): (&Cell, &Option<String>)| {
        let text = column.shown(cell).replace('`', "");
        match (widest, half) {
            (None, _) => text,
            (Some(widest), Some(half)) => format!("{text} ±{half:<widest$}"),
            (Some(widest), None) => format!("{text}{}", " ".repeat(widest + 2)),
        }
    };
    let mut texts: Vec<String> = cells().zip(&halves).map(text).collect();
    if column.once {
        for line in (1..texts.len()).rev() {
            if texts[line] == texts[line - 1] {
                texts[line].clear();
            }
        }
    }
    texts
}
