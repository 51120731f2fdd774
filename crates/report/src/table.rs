//! The table that `compare` prints.

use comfy_table::{Attribute, Cell, CellAlignment, Color, LineStyle, Table, TableStyle};
use joulepath_model::result::{Comparison, Limit};

use crate::sheet::{Column, Metric, PARTIAL, Sheet, limit_name, notes};

/// What is left out of a table that is too wide, the least important first.
const SACRIFICES: [Sacrifice; 26] = [
    Sacrifice::Interval(Metric::RunEnergy),
    Sacrifice::Interval(Metric::Power),
    Sacrifice::Interval(Metric::Retransmissions),
    Sacrifice::Interval(Metric::Ratio),
    Sacrifice::Interval(Metric::Competitors),
    Sacrifice::Interval(Metric::TcpShare),
    Sacrifice::Interval(Metric::Network),
    Sacrifice::Column(Metric::RunEnergy),
    Sacrifice::Column(Metric::Retransmissions),
    Sacrifice::Interval(Metric::DelayP95),
    Sacrifice::Interval(Metric::Goodput),
    Sacrifice::Column(Metric::OfLinkLimit),
    Sacrifice::LongNames,
    Sacrifice::Interval(Metric::Delay),
    Sacrifice::Column(Metric::Power),
    Sacrifice::Interval(Metric::Completion),
    Sacrifice::Interval(Metric::Energy),
    Sacrifice::Column(Metric::DelayP95),
    Sacrifice::Column(Metric::Shares),
    Sacrifice::Column(Metric::Competitors),
    Sacrifice::Column(Metric::TcpShare),
    Sacrifice::Column(Metric::Network),
    Sacrifice::Column(Metric::OfLimit),
    Sacrifice::Column(Metric::Goodput),
    Sacrifice::Column(Metric::Completed),
    Sacrifice::Interval(Metric::Efficiency),
];

/// One thing that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sacrifice {
    /// A whole column.
    Column(Metric),
    /// Its half-widths only.
    Interval(Metric),
    /// Nothing: names of policies are broken earlier.
    LongNames,
}

/// Widest policy name before it is broken, with and without room.
const NAME_WIDTH: (usize, usize) = (32, 20);
/// Blanks after a cell.
const PADDING: u16 = 1;
/// Blanks between columns: the padding, and the junction that the style draws as a blank.
const GAP: usize = PADDING as usize + 1;
/// Under the header.
const RULE: char = '─';
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

/// Title, table and notes, at most `width` characters wide: columns and half-widths are left out in a fixed
/// order, and the last line says which. `usize::MAX` shows everything. With `color`, the most efficient
/// policy stands out; whether there is a terminal and whether NO_COLOR is set is for the caller to know.
pub fn table(comparison: &Comparison, width: usize, color: bool) -> String {
    table_with(comparison, width, color, "--wide shows all.")
}

/// As [`table`]; where columns are left out, `wider` says how to see them: a sentence.
pub fn table_with(comparison: &Comparison, width: usize, color: bool, wider: &str) -> String {
    let sheet = Sheet::of(comparison);
    let (lines, hidden) = fit(&sheet, width, color);
    let title = wrap(&title(comparison), width);
    let mut blocks = vec![if color { format!("{BOLD}{title}{PLAIN}") } else { title }];
    if comparison.partial {
        blocks.push(wrap(PARTIAL, width));
    }
    blocks.push(lines);
    let mut remarks = remarks(comparison);
    if !hidden.is_empty() {
        remarks.push(format!("Left out at this width: {}. {wider}", hidden.join(", ")));
    }
    blocks.push(remarks.iter().map(|remark| wrap(remark, width)).collect::<Vec<_>>().join("\n"));
    blocks.join("\n\n") + "\n"
}

/// The limits in words, and the notes.
pub(crate) fn remarks(comparison: &Comparison) -> Vec<String> {
    let limit = |limit: &Limit| format!("{}: {}", limit_name(&limit.kind), limit.label);
    comparison.limits.iter().map(limit).chain(notes(comparison)).collect()
}

/// Scenario, engine, seeds, duration.
pub(crate) fn title(comparison: &Comparison) -> String {
    let seeds = if comparison.seeds == 1 { "1 seed".into() } else { format!("{} seeds", comparison.seeds) };
    let scenario = &comparison.scenario;
    format!("{} · {} engine · {seeds} · {} s", scenario.title, comparison.engine, scenario.duration_s)
}

fn wrap(text: &str, width: usize) -> String {
    textwrap::fill(text, textwrap::Options::new(width).subsequent_indent("  "))
}

/// The table with as much as fits, and the names of what does not.
fn fit(sheet: &Sheet, width: usize, color: bool) -> (String, Vec<String>) {
    let fits = |left_out: &[Sacrifice]| widest_line(&draw(sheet, left_out, false)) <= width;
    let mut left_out = Vec::new();
    for sacrifice in SACRIFICES.into_iter().filter(|sacrifice| shows(sheet, *sacrifice)) {
        if fits(&left_out) {
            break;
        }
        left_out.push(sacrifice);
    }
    // The last sacrifice may have made room for an earlier one.
    for candidate in left_out.clone().into_iter().rev() {
        let without: Vec<_> = left_out.iter().copied().filter(|sacrifice| *sacrifice != candidate).collect();
        if fits(&without) {
            left_out = without;
        }
    }
    let hidden = left_out.iter().filter_map(|sacrifice| describe(sheet, *sacrifice, &left_out)).collect();
    (draw(sheet, &left_out, color), hidden)
}

/// Whether the full table has what would be left out.
fn shows(sheet: &Sheet, sacrifice: Sacrifice) -> bool {
    sheet.columns.iter().any(|column| match sacrifice {
        Sacrifice::Column(metric) => column.metric == metric,
        Sacrifice::Interval(metric) => column.metric == metric && has_intervals(column),
        Sacrifice::LongNames => true,
    })
}

fn describe(sheet: &Sheet, sacrifice: Sacrifice, all: &[Sacrifice]) -> Option<String> {
    let name = |metric| match metric {
        Metric::Shares => {
            sheet.columns.iter().find(|column| column.metric == metric).map_or("", |c| &c.title)
        }
        _ => metric.name(),
    };
    match sacrifice {
        Sacrifice::LongNames => None,
        Sacrifice::Column(metric) => Some(name(metric).trim_end_matches('.').to_owned()),
        // Its column is named already.
        Sacrifice::Interval(metric) if all.contains(&Sacrifice::Column(metric)) => None,
        Sacrifice::Interval(metric) => Some(format!("± of {}", name(metric).trim_end_matches('.'))),
    }
}

fn widest_line(text: &str) -> usize {
    text.lines().map(textwrap::core::display_width).max().unwrap_or(0)
}

fn has_intervals(column: &Column) -> bool {
    column.cells.iter().any(|cell| cell.half_width.is_some())
}

fn draw(sheet: &Sheet, left_out: &[Sacrifice], color: bool) -> String {
    let columns: Vec<&Column> =
        sheet.columns.iter().filter(|column| !left_out.contains(&Sacrifice::Column(column.metric))).collect();
    let texts: Vec<Vec<String>> = columns
        .iter()
        .map(|column| texts(column, !left_out.contains(&Sacrifice::Interval(column.metric))))
        .collect();
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill(RULE).junction(RULE)));
    if color {
        table.enforce_styling()
    } else {
        table.force_no_tty()
    };
    let head = columns.iter().map(|column| format!("{}\n{}", column.title, column.unit));
    table.set_header(std::iter::once("policy".to_owned()).chain(head));
    let name_width = if left_out.contains(&Sacrifice::LongNames) { NAME_WIDTH.1 } else { NAME_WIDTH.0 };
    for (line, name) in sheet.lines.iter().enumerate() {
        let name = textwrap::fill(name, textwrap::Options::new(name_width).subsequent_indent("  "));
        let cells = std::iter::once(name).chain(texts.iter().map(|column| column[line].clone()));
        table.add_row(cells.map(|text| emphasise(Cell::new_owned(text), sheet, line)));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, PADDING));
        column.set_cell_alignment(if index == 0 { CellAlignment::Left } else { CellAlignment::Right });
    }
    // comfy-table's own rule sticks out by the last column's padding.
    let widths = table.column_max_content_widths();
    let width = widths.iter().map(|&width| usize::from(width)).sum::<usize>() + GAP * (widths.len() - 1);
    let lines = table.lines().map(|line| match line.starts_with(RULE) {
        true => RULE.to_string().repeat(width),
        false => line.trim_end().to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The column's cells, half-widths aligned.
fn texts(column: &Column, with_intervals: bool) -> Vec<String> {
    let widths =
        column.cells.iter().filter_map(|cell| cell.half_width.as_ref()).map(|half| half.chars().count());
    let widest = widths.max().filter(|_| with_intervals);
    let text = |cell: &crate::sheet::Cell| match (widest, &cell.half_width) {
        (None, _) => cell.text.clone(),
        (Some(widest), Some(half)) => format!("{} ±{half:<widest$}", cell.text),
        (Some(widest), None) => format!("{}{}", cell.text, " ".repeat(widest + 2)),
    };
    column.cells.iter().map(text).collect()
}

/// The best policy stands out, limits stand back; colour is only how it is said again.
fn emphasise(cell: Cell, sheet: &Sheet, line: usize) -> Cell {
    if Some(line) == sheet.best {
        cell.fg(Color::Green).add_attribute(Attribute::Bold)
    } else if line >= sheet.policies {
        cell.add_attribute(Attribute::Dim)
    } else {
        cell
    }
}
