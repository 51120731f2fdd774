//! The map as text in 80 columns.

use std::fmt::Write;

use super::{Map, Policy, SpotCheck, TIE, Verdict};
use crate::html::map::looks;
use crate::table::{Cell, Column, Decimals, Line, Rank, Table, Tone, View};
use crate::text::{seeds, wrapped};

/// Width of the map's rows, characters.
const WIDTH: usize = 64;
/// Maximum width of a policy's label before it is broken.
const POLICY: usize = 34;
/// Points where all policies tie.
const ALL_TIE: char = '·';
/// Points where no policy has a value.
const NO_VALUE: char = '?';
/// Background colours of policies (256-colour palette), legible under black text.
const COLOURS: [u8; 8] = [74, 208, 78, 175, 220, 117, 141, 248];

/// Letter of a policy: A, B, …
pub(crate) fn letter(policy: usize) -> char {
    char::from_u32('A' as u32 + policy as u32)
        .filter(char::is_ascii_uppercase)
        .unwrap_or('*')
}

/// Text for a terminal. The plane has 80 columns, the notes below it `width`. `color` paints the
/// regions.
pub fn table(map: &Map, width: usize, color: bool) -> String {
    let mut text = format!("{}\n\n", wrapped(&title(map), width, ""));
    text += &plane(map, color);
    text += "\n";
    text += &format!("{}\n\n", legend(map).text(View { width, color }).0);
    for note in notes(map) {
        text += &format!("{}\n", wrapped(&note, width, "  "));
    }
    text
}

fn title(map: &Map) -> String {
    let partial = if map.partial { " · INCOMPLETE" } else { "" };
    let engine = &map.engine;
    format!(
        "{} · {} · {engine} engine{partial}",
        map.title, map.metric.title
    )
}

/// The rows from the highest y, some with labels, and x below.
fn plane(map: &Map, color: bool) -> String {
    let [x, y] = &map.axes;
    let (columns, rows) = (x.numbers.len(), y.numbers.len());
    let wide = (WIDTH / columns).clamp(1, 2);
    let labels = (0..rows).map(|row| y.value(row)).collect::<Vec<_>>();
    let margin = labels
        .iter()
        .map(|label| label.chars().count())
        .max()
        .unwrap_or(0);
    // About six labels.
    let every = rows.div_ceil(6).max(1);
    let mut text = format!("{:>margin$}  {}\n", "", y.title());
    for row in (0..rows).rev() {
        let is_labelled = row % every == 0 || row + 1 == rows;
        let label = if is_labelled {
            labels[row].as_str()
        } else {
            ""
        };
        let _ = write!(
            text,
            "{label:>margin$} {}",
            if is_labelled { '┤' } else { '│' }
        );
        for column in 0..columns {
            text += &cell(
                &map.winners.verdicts[row * columns + column],
                map.values.len(),
                wide,
                color,
            );
        }
        text += "\n";
    }
    let _ = writeln!(text, "{:>margin$} └{}", "", "─".repeat(columns * wide));
    let (first, last) = (x.value(0), x.value(columns - 1));
    let room = (columns * wide)
        .saturating_sub(first.chars().count())
        .max(last.chars().count() + 1);
    let _ = writeln!(text, "{:>margin$}  {first}{last:>room$}", "");
    let _ = writeln!(text, "{:>margin$}  {}", "", x.title());
    text
}

fn cell(verdict: &Verdict, policies: usize, wide: usize, color: bool) -> String {
    let character = match verdict.best {
        None => NO_VALUE,
        Some(_) if verdict.ties.len() == policies && policies > 1 => ALL_TIE,
        Some(best) if verdict.is_clear() => letter(best),
        Some(best) => letter(best).to_ascii_lowercase(),
    };
    let text = character.to_string().repeat(wide);
    match verdict.best {
        Some(best) if color && character != ALL_TIE => painted(&text, best),
        _ => text,
    }
}

fn painted(text: &str, policy: usize) -> String {
    format!(
        "\x1b[30;48;5;{}m{text}\x1b[0m",
        COLOURS[policy % COLOURS.len()]
    )
}

/// Table of the letters, policies and their regions.
fn legend(map: &Map) -> Table {
    let line = |(policy, cells): (usize, [Cell; 4])| {
        let mark = Cell::text(letter(policy)).tone(Tone::On(COLOURS[policy % COLOURS.len()]));
        Line::new([mark].into_iter().chain(cells))
    };
    let columns = [Column::words("")].into_iter().chain(columns());
    Table::new(columns).with(cells(map).enumerate().map(line))
}

/// Table of the regions for a page, with the colours and letters of its map.
pub(super) fn regions(map: &Map) -> Table {
    let best: Vec<Option<usize>> = map
        .winners
        .verdicts
        .iter()
        .map(|verdict| verdict.best)
        .collect();
    let looks = looks(&best, map.policies.len());
    let line = |(policy, cells)| {
        Line::new(cells)
            .swatch(looks[policy])
            .badge(letter(policy).to_string(), true)
    };
    Table::new(columns()).with(cells(map).enumerate().map(line))
}

fn columns() -> [Column; 4] {
    let part = |name, decimals| {
        Column::numbers(name, "%")
            .factor(0.01)
            .decimals(Decimals::Fixed(decimals))
    };
    let policy = Column::words("policy").fold(POLICY).indent(2);
    [
        policy,
        part("best", 0),
        part("tied", 0).hidden(Rank(0)),
        part("behind, at most", 1).hidden(Rank(1)),
    ]
}

/// Policies with the fractions of the points of their regions.
fn cells(map: &Map) -> impl Iterator<Item = [Cell; 4]> {
    let part = |count: usize| Cell::number(count as f64 / map.points() as f64);
    map.policies
        .iter()
        .zip(&map.winners.regions)
        .map(move |(Policy { label, .. }, region)| {
            [
                Cell::text(label),
                part(region.clear),
                part(region.tied),
                Cell::number(region.shortfall),
            ]
        })
}

/// Notes, and the result of the spot check.
pub(super) fn notes(map: &Map) -> Vec<String> {
    let tie = TIE * 100.0;
    let ties = if map
        .winners
        .verdicts
        .iter()
        .any(|verdict| verdict.ties.len() == map.values.len())
    {
        format!("; {ALL_TIE} all within {tie} %")
    } else {
        String::new()
    };
    let reading = format!(
        "Capital: the best by more than {tie} %; small: the best, with others within {tie} %{ties}. Best, \
         tied: % of the points; behind: largest distance from the best policy."
    );
    [reading]
        .into_iter()
        .chain(map.spot.as_ref().map(|spot| spot_note(map, spot)))
        .collect()
}

fn spot_note(map: &Map, spot: &SpotCheck) -> String {
    let all = spot.points.len();
    let mut note = format!(
        "Spot check: at {} of {all} points the packet engine ({}) names the same winner",
        spot.same,
        seeds(map.seeds)
    );
    if spot.ties > 0 {
        let _ = write!(
            note,
            ", and at {} more a winner that ties with it",
            spot.ties
        );
    }
    if let (Some(median), Some((worst, policy, point))) = (spot.median, spot.worst) {
        let (policy, place) = (&map.policies[policy].policy, map.place(point));
        let _ = write!(
            note,
            "; its {} differs by {:.1} % in the median, by {:+.1} % at worst (`{policy}` at {place})",
            map.metric.title,
            median * 100.0,
            worst * 100.0
        );
    }
    note + "."
}
