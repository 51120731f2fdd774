//! The answer as text for a terminal.

use joulepath_control::advise::{
    Advice, BreakEven, Path, Plan, Question, Stalling, Waiting, significant,
};
use joulepath_control::limit::Capacity;
use joulepath_model::energy;

use crate::table::{Cell, Column, Line, Rank, Table, View};
use crate::text::wrapped;

/// What waiting saves, reason, front, break-even sizes, and assumptions. Sentences have at most
/// `width` characters.
pub fn table(
    question: &Question,
    advice: &Advice,
    waiting: Option<Waiting>,
    width: usize,
) -> String {
    let waiting = waiting.map(|waiting| wrapped(&waiting.sentence(question), width, "") + "\n\n");
    let mut text = waiting.unwrap_or_default();
    text += &format!(
        "{}\n\n{}\n\n",
        wrapped(&advice.reason, width, ""),
        plans(question, advice, width)
    );
    for line in break_evens(question, &advice.break_even) {
        text += &format!("{}\n", wrapped(&line, width, "  "));
    }
    text + &format!("{}\n", wrapped(&footing(question), width, ""))
}

/// The front, including the advice.
fn plans(question: &Question, advice: &Advice, width: usize) -> String {
    let columns = [
        Column::words(""),
        Column::words("interfaces"),
        Column::numbers("share", "%").hidden(Rank(0)),
        Column::numbers("rate", "Mbit/s").hidden(Rank(1)),
        Column::numbers("time", "s"),
        Column::numbers("energy", "J"),
    ];
    let lines = rows(advice).into_iter().map(|(plan, is_best)| {
        let best = Cell::text(if is_best { "best" } else { "" });
        Line::new(
            [best]
                .into_iter()
                .chain(cells(question, plan).map(Cell::text)),
        )
    });
    Table::new(columns)
        .with(lines)
        .text(View {
            width,
            color: false,
        })
        .0
}

/// Interfaces, shares in %, rates in Mbit/s, seconds and joules.
pub(super) fn cells(question: &Question, plan: &Plan) -> [String; 5] {
    let numbers = |number: &dyn Fn(f64, f64) -> String| {
        plan.paths
            .iter()
            .map(|part| number(part.share, part.rate_bps))
            .collect::<Vec<_>>()
            .join("/")
    };
    [
        names(question, plan.paths.iter().map(|part| part.path)),
        numbers(&|share, _| significant(100.0 * share)),
        numbers(&|_, rate| significant(rate / 1e6)),
        significant(plan.seconds),
        significant(plan.energy_j),
    ]
}

/// The front by time, with the best plan marked. The best plan is inserted if the deadline lies
/// between two corners.
pub(super) fn rows(advice: &Advice) -> Vec<(&Plan, bool)> {
    let mut rows: Vec<(&Plan, bool)> = advice
        .front
        .iter()
        .map(|plan| (plan, *plan == advice.best))
        .collect();
    if !rows.iter().any(|(_, is_best)| *is_best) {
        rows.push((&advice.best, true));
        rows.sort_by(|a, b| a.0.seconds.total_cmp(&b.0.seconds));
    }
    rows
}

/// Ranges of sizes with their advice, ascending.
pub(super) fn ranges(question: &Question, changes: &[BreakEven]) -> Vec<(String, String)> {
    let names = |paths: &[usize]| names(question, paths.iter().copied());
    let below = |at: &BreakEven| (format!("below {}", size(at.size_bytes)), names(&at.below));
    let above = changes
        .last()
        .map(|last| ("above".to_owned(), names(&last.above)));
    changes.iter().map(below).chain(above).collect()
}

/// One line for each range of sizes.
fn break_evens(question: &Question, changes: &[BreakEven]) -> Vec<String> {
    if changes.is_empty() {
        return vec![format!("{SAME_AT_ANY_SIZE}.")];
    }
    ranges(question, changes)
        .into_iter()
        .map(|(sizes, names)| format!("{sizes}: {names}"))
        .collect()
}

/// Text for the case without a break-even size.
pub(super) const SAME_AT_ANY_SIZE: &str = "The same interfaces at any size up to 100 GB";

/// Text such as `wifi alone` or `wifi + lte`.
pub(super) fn names(question: &Question, paths: impl Iterator<Item = usize>) -> String {
    let names: Vec<&str> = paths
        .map(|path| question.paths[path].name.as_str())
        .collect();
    match names.as_slice() {
        [name] => format!("{name} alone"),
        names => names.join(" + "),
    }
}

/// A size with the prefix that leaves one to three digits before the point.
fn size(bytes: f64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
    let (unit, name) = units
        .into_iter()
        .find(|(unit, _)| bytes >= *unit)
        .unwrap_or((1.0, "B"));
    format!("{} {name}", significant(bytes / unit))
}

/// Meaning of the rates, and the congestion control of several paths.
pub(super) fn footing(question: &Question) -> String {
    let rates = match question.capacity {
        Capacity::TcpFriendly => {
            "what TCP gets with slow start under the path's loss and RTT (Mathis et al. 1997), at most the \
             link's"
        }
        Capacity::Link => "the links', with slow start",
    };
    let coupling = match question.paths.len() {
        1 => String::new(),
        _ => format!(
            " Congestion control of several paths: {}.",
            question.coupling.word()
        ),
    };
    let paths = |of: fn(&Path) -> Option<String>| -> Vec<String> {
        let named = |path: &Path| Some(format!("{} ({})", path.name, of(path)?));
        question.paths.iter().filter_map(named).collect()
    };
    let notes: String = energy::notes(&paths(Path::estimate), &paths(Path::extrapolated))
        .iter()
        .map(|note| format!(" {note}"))
        .collect();
    let stalling = stalling(question);
    format!(
        "Rates: {rates}, without headers.{coupling} Joules are modelled, not \
         measured.{notes}{stalling}"
    )
}

/// Names the paths whose bursts of losses are beyond the formula.
fn stalling(question: &Question) -> String {
    let found = question.stalling();
    let part = |one: &Stalling| {
        format!(
            "{} ({:.0} %)",
            question.paths[one.path].name,
            100.0 * one.part
        )
    };
    let parts: Vec<String> = found.iter().map(part).collect();
    let what = match found.len() {
        0 => return String::new(),
        n if n == question.paths.len() => "Unreliable",
        _ => "Left out",
    };
    format!(
        " {what}, because bursts of losses stop TCP for so much of the time: {}.",
        parts.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        for (bytes, text) in [
            (340_400.0, "340 kB"),
            (2.5e6, "2.50 MB"),
            (12.34e9, "12.3 GB"),
            (0.5, "0.500 B"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
