//! A bill for a terminal.

use joulepath_bill::{Later, Manner, Party, Statement};
use joulepath_control::advise::significant;
use joulepath_model::units::Nanos;

use crate::table::{Cell, Column, Line, Rank, Table, View};
use crate::text::wrapped;

/// Hosts and requests that a terminal shows.
const MOST: usize = 10;
/// Other radios that a terminal shows for each interface.
const MOST_RADIOS: usize = 3;

/// Joules by interface, host and request, and what other times and radios would need. Lines have at
/// most `width` characters.
pub fn table(statement: &Statement, width: usize) -> String {
    let view = View {
        width,
        color: false,
    };
    let heading = format!(
        "{} · {} s · {} J\n\n",
        statement.file,
        significant(statement.recording.duration().as_secs_f64()),
        significant(statement.bill.total_j()),
    );
    let mut text = heading;
    let count = statement.bill.causes.len();
    for (table, all) in [
        (interfaces(statement), 0),
        (hosts(statement, MOST), statement.bill.hosts.len()),
        (requests(statement, MOST), count),
        (otherwise(statement, MOST_RADIOS), 0),
    ] {
        text += &format!("{}\n", table.text(view).0.trim_end());
        if all > MOST {
            text += &format!("{} more: --csv, --json or --report\n", all - MOST);
        }
        text.push('\n');
    }
    for note in notes(statement) {
        text += &format!("{}\n", wrapped(&note, width, "  "));
    }
    text
}

/// Columns of joules by phase.
fn joules() -> [Column; 4] {
    [
        Column::numbers("promotion", "J").hidden(Rank(2)),
        Column::numbers("transfer", "J").hidden(Rank(3)),
        Column::numbers("tail", "J").hidden(Rank(4)),
        Column::numbers("energy", "J"),
    ]
}

fn amounts() -> [Column; 3] {
    [
        Column::numbers("down", "MB"),
        Column::numbers("up", "MB").hidden(Rank(1)),
        Column::numbers("wakes", "").hidden(Rank(5)),
    ]
}

fn cells(used: &Party) -> impl Iterator<Item = Cell> {
    let number = |value: f64| Cell::number(value).shown(significant(value));
    let megabytes = [used.down_bytes, used.up_bytes].map(|bytes| bytes as f64 / 1e6);
    let joules = &used.joules;
    let [down, up] = megabytes.map(number);
    [down, up, Cell::count(used.wakes)].into_iter().chain(
        [
            joules.promotion_j,
            joules.transfer_j,
            joules.tail_j,
            joules.total_j(),
        ]
        .map(number),
    )
}

/// What each interface used.
pub(super) fn interfaces(statement: &Statement) -> Table {
    let columns = [Column::words("interface"), Column::words("radio")];
    let names = statement
        .recording
        .interfaces
        .iter()
        .zip(&statement.device.names);
    let lines = names
        .zip(&statement.bill.radios)
        .map(|((interface, radio), billed)| {
            let names = [Cell::text(interface), Cell::text(radio)];
            Line::new(names.into_iter().chain(cells(&billed.used)))
        });
    Table::new(columns.into_iter().chain(amounts()).chain(joules())).with(lines)
}

/// What each host used.
pub(super) fn hosts(statement: &Statement, most: usize) -> Table {
    let columns = [Column::words("host").fold(40)];
    let lines = statement
        .bill
        .hosts
        .iter()
        .take(most)
        .map(|(host, used)| Line::new([Cell::text(host)].into_iter().chain(cells(used))));
    Table::new(columns.into_iter().chain(amounts()).chain(joules())).with(lines)
}

/// The requests with the most joules.
pub(super) fn requests(statement: &Statement, most: usize) -> Table {
    let columns = [
        Column::words("request").fold(30),
        Column::words("of").fold(24).hidden(Rank(6)),
        Column::numbers("at", "s"),
    ];
    let causes = &statement.bill.causes;
    let order = statement.bill.by_energy();
    let lines = order.into_iter().take(most).map(|place| {
        let (cause, used) = (&statement.recording.causes[place], &causes[place]);
        let at = Cell::number(used.from_s).shown(significant(used.from_s));
        let words = [Cell::text(&cause.request), Cell::text(&cause.host), at];
        Line::new(words.into_iter().chain(cells(used)))
    });
    Table::new(columns.into_iter().chain(amounts()).chain(joules())).with(lines)
}

/// The bill at other times and over other radios, the cheapest `most` for each interface.
pub(super) fn otherwise(statement: &Statement, most: usize) -> Table {
    let columns = [
        Column::words("instead").fold(44),
        Column::numbers("energy", "J"),
        Column::numbers("saved", "%"),
        Column::numbers("mean delay", "s"),
    ];
    let total = statement.bill.total_j();
    let line = |words: String, energy_j: f64, delay_s: Option<f64>| {
        let saved = 100.0 * (1.0 - energy_j / total);
        let delay = delay_s.map_or_else(Cell::unknown, |delay| {
            Cell::number(delay).shown(significant(delay))
        });
        Line::new([
            Cell::text(words),
            Cell::number(energy_j).shown(significant(energy_j)),
            Cell::number(saved).shown(format!("{saved:.0}")),
            delay,
        ])
    };
    let later = statement
        .later
        .iter()
        .map(|later| line(in_words(later), later.energy_j, Some(later.mean_delay_s)));
    let interfaces = statement.recording.interfaces.len();
    let elsewhere = (0..interfaces).flat_map(|interface| {
        let here = statement
            .elsewhere
            .iter()
            .filter(move |other| other.interface == interface);
        here.take(most)
    });
    let elsewhere = elsewhere.map(|other| {
        let interface = &statement.recording.interfaces[other.interface];
        line(
            format!("{interface} over {}", other.radio),
            other.energy_j,
            None,
        )
    });
    Table::new(columns).with(later.chain(elsewhere))
}

fn in_words(later: &Later) -> String {
    let time = Nanos::from_secs_f64(later.longest_s);
    match later.manner {
        Manner::Wait => format!("wait for others, at most {time}"),
        Manner::Batch => format!("start every {time}"),
    }
}

/// What the numbers contain.
pub(super) fn notes(statement: &Statement) -> Vec<String> {
    let mut notes = vec![
        "Until a radio's next packet, its joules are those of the last one's request: the first packet of a \
         burst pays the promotion, the last one the tail. Instead: the same bytes; times and rates as \
         recorded."
            .to_owned(),
    ];
    let base: f64 = statement
        .bill
        .causes
        .iter()
        .map(|cause| cause.joules.base_j)
        .sum();
    if base > 0.0 {
        notes.push(format!(
            "{} J are of the device while a radio is awake; requests and hosts have them in their energy, \
             interfaces do not.",
            significant(base)
        ));
    }
    let idle = statement.bill.idle_j();
    if idle > 0.0 {
        notes.push(format!("Idle radios used {} J more.", significant(idle)));
    }
    notes.extend(statement.recording.notes.iter().cloned());
    notes
}
