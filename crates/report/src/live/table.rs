//! Compared cases as text and as Markdown.

use joulepath_model::metric::{COMPLETION, DELAY_P95, EFFICIENCY, ENERGY, GOODPUT, Metric, STALL};

use super::{Case, Chooser, Contender, Judged, OF_BEST, TOLERANCE, Verdict};
use crate::table::{Align, Cell, Column, Decimals, Line, Rank, Table, Tone, View};
use crate::text::{seeds, wrapped};

/// Maximum width of a contender's name before it is broken, with and without room.
const NAME: (usize, usize) = (40, 14);

/// Text for a terminal.
pub fn table(judged: &Judged, view: View) -> String {
    let mut text = title(judged) + "\n";
    for case in &judged.cases {
        let name = Column::words("")
            .fold(NAME.0)
            .narrow(Rank(0), NAME.1)
            .indent(2);
        let bytes = Column::words(&case.paths.join("/")).align(Align::Right);
        let mut table = Table::new([name].into_iter().chain(numbers()).chain([bytes]));
        for one in &case.contenders {
            let line = Line::new(
                [Cell::text(&one.name)]
                    .into_iter()
                    .chain(cells(one))
                    .chain([megabytes(one)]),
            );
            let is_best = case
                .verdict
                .as_ref()
                .is_some_and(|verdict| verdict.best == one.name);
            table.push(if is_best { line.tone(Tone::Best) } else { line });
        }
        if let Some(limit) = case.link_bound_bits_per_joule {
            let of_limit =
                |(metric, ..): (&Metric, _, _, _)| known((*metric == EFFICIENCY).then_some(limit));
            let cells = NUMBERS.into_iter().map(of_limit).chain([Cell::empty()]);
            let name = Cell::text("link bound");
            table.push(Line::new([name].into_iter().chain(cells)).tone(Tone::Dim));
        }
        let heading = format!("{}: {}", case.scenario, case.intent.word());
        let verdict = case
            .verdict
            .as_ref()
            .map_or_else(|| "no verdict: runs are missing".to_owned(), in_words);
        let [heading, title, verdict] =
            [&heading, &case.title, &verdict].map(|text| wrapped(text, view.width, "  "));
        text += &format!("\n{heading}\n{title}\n{}\n{verdict}\n", table.text(view).0);
    }
    text
}

/// Text for docs/live-results.md.
pub fn markdown(judged: &Judged) -> String {
    format!(
        "{}. Joules for each bit relative to plain MPTCP with all endpoints (bound: at most 100 %). Bits for \
         each joule relative to the best contender that does the work (bound: at least {:.0} % for \
         `frugal`). Goodput relative to the best single path (bound: at least 100 % for `interactive` and \
         `aggregate`). Differences up to {:.0} % count as equal.\n\n{}\n{}",
        title(judged),
        OF_BEST * 100.0,
        TOLERANCE * 100.0,
        verdicts(judged).markdown(),
        contenders(judged).markdown()
    )
}

/// Table of the daemon's verdicts.
fn verdicts(judged: &Judged) -> Table {
    let percent = |name| {
        Column::numbers(name, "%")
            .factor(0.01)
            .decimals(Decimals::Fixed(0))
    };
    let columns = [
        Column::words("scenario"),
        Column::words("intent"),
        percent("joules of plain's"),
        percent("of the best"),
        Column::words("best"),
        percent("of link bound"),
        percent("goodput of the best single"),
        Column::words("within bounds"),
    ];
    let line = |(case, verdict): (&Case, &Verdict)| {
        let daemon = case
            .contenders
            .iter()
            .find(|one| one.chooser == Chooser::Daemon);
        let of_limit = case.link_bound_bits_per_joule.zip(daemon);
        let within = match is_within(verdict) {
            true => Cell::text("yes").tone(Tone::Good),
            false => Cell::text("no").tone(Tone::Bad),
        };
        Line::new([
            Cell::text(&case.scenario),
            Cell::text(format!("`{}`", case.intent.word())),
            Cell::number(verdict.energy_of_plain),
            Cell::number(verdict.efficiency_of_best),
            Cell::text(format!("`{}`", verdict.best)),
            known(of_limit.map(|(limit, daemon)| daemon.mean(&EFFICIENCY) / limit)),
            known(verdict.goodput_of_single),
            within,
        ])
    };
    let judged = judged
        .cases
        .iter()
        .filter_map(|case| Some((case, case.verdict.as_ref()?)));
    Table::new(columns).with(judged.map(line))
}

/// Table of all contenders of all cases.
fn contenders(judged: &Judged) -> Table {
    let names = [Column::words("scenario"), Column::words("who chooses")];
    let columns = names
        .into_iter()
        .chain(numbers())
        .chain([Column::words("MB by path")]);
    let lines = judged.cases.iter().flat_map(|case| {
        case.contenders.iter().enumerate().map(move |(place, one)| {
            let scenario = if place == 0 {
                Cell::text(&case.scenario)
            } else {
                Cell::empty()
            };
            let names = [scenario, Cell::text(format!("`{}`", one.name))];
            Line::new(
                names
                    .into_iter()
                    .chain(cells(one))
                    .chain([by_path(case, one)]),
            )
        })
    });
    Table::new(columns).with(lines)
}

/// Columns of every contender: a metric, its name and short name with the unit, and the unit's size.
const NUMBERS: [(&Metric, &str, &str, f64); 6] = [
    (&ENERGY, "J", "", 1.0),
    (&EFFICIENCY, "Mbit/J", "", 1e6),
    (&GOODPUT, "Mbit/s", "", 1e6),
    (&COMPLETION, "done, s", "", 1.0),
    (&DELAY_P95, "delay p95, ms", "p95, ms", 1e-3),
    (&STALL, "longest stall, s", "stall, s", 1.0),
];

/// The columns of [`NUMBERS`]; narrow tables hide the stalls.
fn numbers() -> impl Iterator<Item = Column> {
    NUMBERS.into_iter().map(|(metric, name, short, factor)| {
        let column = Column::numbers(name, "")
            .factor(factor)
            .decimals(Decimals::UpTo(2))
            .short(short);
        if *metric == STALL {
            column.hidden(Rank(0))
        } else {
            column
        }
    })
}

/// Cells of the columns of [`NUMBERS`].
fn cells(one: &Contender) -> impl Iterator<Item = Cell> {
    NUMBERS
        .into_iter()
        .map(|(metric, ..)| known(one.metrics.of(metric)))
}

fn known(value: Option<f64>) -> Cell {
    value.map_or_else(Cell::empty, Cell::number)
}

fn title(judged: &Judged) -> String {
    format!(
        "Kernel {}, {} of each contender",
        judged.release,
        seeds(judged.seeds)
    )
}

/// True if every bound of the intent is met.
fn is_within(verdict: &Verdict) -> bool {
    verdict.saves && verdict.near_best != Some(false) && verdict.as_fast != Some(false)
}

fn in_words(verdict: &Verdict) -> String {
    let mut parts = vec![
        format!(
            "{} of plain's joules for each bit",
            percent_sign(verdict.energy_of_plain)
        ),
        format!(
            "{} of the bits for each joule of {}",
            percent_sign(verdict.efficiency_of_best),
            verdict.best
        ),
    ];
    if let Some(goodput) = verdict.goodput_of_single {
        parts.push(format!(
            "{} of the best single path's goodput",
            percent_sign(goodput)
        ));
    }
    let within = if is_within(verdict) {
        "within bounds"
    } else {
        "out of bounds"
    };
    format!("{within}: {}", parts.join("; "))
}

fn percent_sign(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// Three significant digits.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

fn megabytes(one: &Contender) -> Cell {
    Cell::text(
        one.bytes
            .iter()
            .map(|bytes| number(bytes / 1e6))
            .collect::<Vec<_>>()
            .join("/"),
    )
}

fn by_path(case: &Case, one: &Contender) -> Cell {
    let part = |(name, bytes): (&String, &f64)| format!("{name} {}", number(bytes / 1e6));
    Cell::text(
        case.paths
            .iter()
            .zip(&one.bytes)
            .map(part)
            .collect::<Vec<_>>()
            .join(", "),
    )
}
