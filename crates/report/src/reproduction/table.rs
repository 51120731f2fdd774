//! The scoreboard for the terminal.

use comfy_table::{Attribute, Cell, CellAlignment, Color, LineStyle, Table, TableStyle};

use super::{Finding, Report, Reproduction, Verdict};

const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";
/// Under the header.
const RULE: char = '─';
/// Right of each column, beside comfy-table's own space.
const PADDING: u16 = 1;
/// Between two columns.
const GAP: usize = PADDING as usize + 1;
/// What is said of a finding takes no more than this, and no less than that.
const WORDS: std::ops::RangeInclusive<usize> = 18..=70;
/// Where what is said of a finding has fewer characters than this, intervals stand on a line of their own.
const NARROW: usize = 40;

/// The finding that decided each experiment. At most `width` characters wide, if that is enough for the
/// identities, the verdicts and the numbers; with `color`, verdicts stand out.
pub fn reproduction_table(all: &Reproduction, width: usize, color: bool) -> String {
    let title = format!("Experiments of the papers · {} · {} runs", all.extent, all.runs);
    let mut text = if color { format!("{BOLD}{title}{PLAIN}\n\n") } else { format!("{title}\n\n") };
    if all.partial {
        text += "PARTIAL: some runs are missing; the same command goes on.\n\n";
    }
    let lines: Vec<BoardRow> = all.experiments.iter().map(|report| BoardRow::of(report, " ")).collect();
    text += &if room_for_words(&lines, width) >= NARROW {
        draw(&lines, width, color)
    } else {
        draw(
            &all.experiments.iter().map(|report| BoardRow::of(report, "\n")).collect::<Vec<_>>(),
            width,
            color,
        )
    };
    let counted = Verdict::ALL.into_iter().filter(|verdict| all.count(*verdict) > 0);
    let counts: Vec<String> = counted
        .map(|verdict| {
            let (rows, causes) = (all.count(verdict), all.causes(verdict));
            let of = if causes == rows { String::new() } else { format!(" (of {causes} causes)") };
            format!("{rows} {}{of}", verdict.name())
        })
        .collect();
    let counts = if counts.is_empty() { "no experiment".to_owned() } else { counts.join(", ") };
    text += &format!("\n\n{}\n", textwrap::fill(&counts, width));
    text
}

/// One experiment.
struct BoardRow {
    /// Its own, for the colour.
    judged: Verdict,
    id: String,
    verdict: String,
    words: String,
    stated: String,
    measured: String,
}

impl BoardRow {
    /// With `apart` between a mean and its interval, and between the kernel and its verdict.
    fn of(report: &Report, apart: &str) -> BoardRow {
        let decided = deciding(report);
        let (words, measured, stated) = decided.map_or_else(
            || (report.reason.clone(), String::new(), String::new()),
            |finding| {
                let shown = finding.shown();
                (described(finding), shown.measured(apart), shown.stated)
            },
        );
        BoardRow {
            judged: report.verdict,
            id: report.id.clone(),
            verdict: short(report, apart),
            words,
            stated,
            measured,
        }
    }
}

const WORDS_HEAD: &str = "what decided";
const HEADS: [&str; 5] = ["experiment", "verdict", WORDS_HEAD, "stated", "measured"];

/// Display width of the widest line of `cells`; every character of ours is one column wide.
fn widest<'a>(cells: impl Iterator<Item = &'a str>) -> usize {
    cells.flat_map(str::lines).map(|line| line.chars().count()).max().unwrap_or(0)
}

/// What the other columns leave to the words.
fn room_for_words(lines: &[BoardRow], width: usize) -> usize {
    let others: [fn(&BoardRow) -> &str; 4] =
        [|line| &line.id, |line| &line.verdict, |line| &line.stated, |line| &line.measured];
    let heads = HEADS.into_iter().filter(|head| *head != WORDS_HEAD);
    let taken: usize =
        heads.zip(others).map(|(head, get)| widest(lines.iter().map(get).chain([head])) + GAP).sum();
    width.saturating_sub(taken).clamp(*WORDS.start(), *WORDS.end())
}

fn draw(lines: &[BoardRow], width: usize, color: bool) -> String {
    let room = room_for_words(lines, width);
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill(RULE).junction(RULE)));
    if color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table.set_header(HEADS);
    for line in lines {
        let verdict = Cell::new(&line.verdict);
        let verdict = if color { paint(verdict, line.judged) } else { verdict };
        let words = textwrap::fill(&line.words, room);
        table.add_row([
            Cell::new(&line.id),
            verdict,
            Cell::new(words),
            Cell::new(&line.stated),
            Cell::new(&line.measured),
        ]);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, PADDING));
        column.set_cell_alignment(if index == 3 { CellAlignment::Right } else { CellAlignment::Left });
    }
    // comfy-table's own rule sticks out by the last column's padding.
    let widths = table.column_max_content_widths();
    let drawn_width =
        widths.iter().map(|&width| usize::from(width)).sum::<usize>() + GAP * (widths.len() - 1);
    let drawn = table.lines().map(|line| match line.starts_with(RULE) {
        true => RULE.to_string().repeat(drawn_width),
        false => line.trim_end().to_owned(),
    });
    drawn.collect::<Vec<_>>().join("\n")
}

/// The verdict, what the real stack says where it differs, and how many runs are missing.
fn short(report: &Report, apart: &str) -> String {
    let kernel = match &report.kernel {
        Some(kernel) => format!("\nkernel:{apart}{}", kernel.agreement.name()),
        None => String::new(),
    };
    let missing = if report.missing > 0 { format!("\n{} missing", report.missing) } else { String::new() };
    format!("{}{kernel}{missing}", report.verdict.name())
}

fn described(finding: &Finding) -> String {
    let what = finding.what_and_where();
    if finding.unit.is_empty() { what } else { format!("{what}, {}", finding.unit) }
}

/// The first finding that has the experiment's verdict; what is only shown decides nothing.
fn deciding(report: &Report) -> Option<&Finding> {
    // A slip shows in a finding that fails.
    let deciding = if report.verdict == Verdict::Erratum { Verdict::NotReproduced } else { report.verdict };
    report.findings.iter().find(|finding| finding.verdict == Some(deciding))
}

fn paint(cell: Cell, verdict: Verdict) -> Cell {
    match verdict {
        Verdict::Reproduced => cell.fg(Color::Green),
        Verdict::DirectionOnly => cell.fg(Color::Yellow),
        Verdict::NotReproduced => cell.fg(Color::Red).add_attribute(Attribute::Bold),
        Verdict::Inconclusive | Verdict::Erratum => cell.fg(Color::Cyan),
        Verdict::CannotBe => cell.add_attribute(Attribute::Dim),
    }
}
