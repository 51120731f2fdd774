//! The table of paths: its columns, and which of them fit.

use joulepath_live::status::InterfaceStatus;

use super::state::State;
use crate::figures::{UNKNOWN, bytes, joules, role, short};

/// Bars for the rates of the last minute.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Least and greatest width of the names, characters; the kernel allows 15.
const NAMES: (usize, usize) = (5, 15);

/// A column after the names.
pub(super) struct Column {
    pub(super) head: [&'static str; 2],
    pub(super) width: usize,
    pub(super) left: bool,
    /// If not all columns fit, those of lower rank are shown.
    rank: u8,
    pub(super) cell: fn(&InterfaceStatus, &State) -> String,
    /// The cell of the sum row.
    pub(super) sum: Option<fn(&[&InterfaceStatus]) -> String>,
}

const COLUMNS: [Column; 13] = [
    Column {
        head: ["used", "as"],
        width: 7,
        left: true,
        rank: 0,
        cell: |one, _| role(one.role).to_owned(),
        sum: None,
    },
    Column {
        head: ["down", "Mbit/s"],
        width: 6,
        left: false,
        rank: 1,
        cell: |one, _| short(one.received_bps / 1e6),
        sum: Some(|all| short(all.iter().map(|one| one.received_bps).sum::<f64>() / 1e6)),
    },
    Column {
        head: ["up", "Mbit/s"],
        width: 6,
        left: false,
        rank: 2,
        cell: |one, _| short(one.sent_bps / 1e6),
        sum: Some(|all| short(all.iter().map(|one| one.sent_bps).sum::<f64>() / 1e6)),
    },
    Column {
        head: ["RTT", "ms"],
        width: 5,
        left: false,
        rank: 4,
        cell: |one, _| one.rtt_s.map_or(UNKNOWN.into(), |s| short(s * 1e3)),
        sum: None,
    },
    Column {
        head: ["sub-", "flows"],
        width: 5,
        left: false,
        rank: 6,
        cell: |one, _| one.subflows.to_string(),
        sum: Some(|all| {
            all.iter()
                .map(|one| one.subflows)
                .sum::<usize>()
                .to_string()
        }),
    },
    Column {
        head: ["back-", "ups"],
        width: 5,
        left: false,
        rank: 10,
        cell: |one, _| one.backup_subflows.to_string(),
        sum: Some(|all| {
            all.iter()
                .map(|one| one.backup_subflows)
                .sum::<usize>()
                .to_string()
        }),
    },
    Column {
        head: ["power", "W"],
        width: 5,
        left: false,
        rank: 3,
        cell: |one, _| watts(one.power_w),
        sum: Some(|all| watts(all.iter().map(|one| one.power_w).sum())),
    },
    Column {
        head: ["today", "J"],
        width: 6,
        left: false,
        rank: 7,
        cell: |one, _| joules(&one.today, 1.0),
        sum: Some(|all| {
            let sum: Option<f64> = all.iter().map(|one| one.today.energy_j).sum();
            sum.map_or(UNKNOWN.into(), short)
        }),
    },
    Column {
        head: ["today", "MB"],
        width: 6,
        left: false,
        rank: 8,
        cell: |one, _| bytes(&one.today, 1e6),
        sum: None,
    },
    Column {
        head: ["month", "kJ"],
        width: 6,
        left: false,
        rank: 11,
        cell: |one, _| joules(&one.month, 1e3),
        sum: None,
    },
    Column {
        head: ["month", "GB"],
        width: 6,
        left: false,
        rank: 9,
        cell: |one, _| bytes(&one.month, 1e9),
        sum: None,
    },
    Column {
        head: ["intent", ""],
        width: 11,
        left: true,
        rank: 13,
        cell: |one, _| one.intent.word().to_owned(),
        sum: None,
    },
    Column {
        head: ["last half minute,", "down + up"],
        width: 30,
        left: true,
        rank: 12,
        cell: |one, state| bars(one, state),
        sum: None,
    },
];

/// Follows the RTT if some path has a signal.
const SIGNAL: Column = Column {
    head: ["signal", "dBm"],
    width: 6,
    left: false,
    rank: 5,
    cell: |one, _| {
        one.signal_strength
            .as_ref()
            .map_or(UNKNOWN.into(), |one| format!("{:.0}", one.dbm))
    },
    sum: None,
};
const AFTER_RTT: usize = 4;

/// Width of the names, and the columns that fit.
pub(super) fn columns(state: &State, width: usize) -> (usize, Vec<&'static Column>) {
    static ALL: [Column; 13] = COLUMNS;
    static OF_SIGNAL: Column = SIGNAL;
    let mut all: Vec<&'static Column> = ALL.iter().collect();
    if state
        .interfaces()
        .iter()
        .any(|one| one.signal_strength.is_some())
    {
        all.insert(AFTER_RTT, &OF_SIGNAL);
    }
    let longest = state
        .interfaces()
        .iter()
        .map(|one| one.name.chars().count())
        .max()
        .unwrap_or(0);
    let names = longest.clamp(NAMES.0, NAMES.1);
    let mut by_rank = all.clone();
    by_rank.sort_by_key(|column| column.rank);
    let mut left = width.saturating_sub(names);
    let mut ranks = vec![];
    for column in by_rank {
        // Stop at the first column that does not fit: a gap in the ranks would be odd.
        let Some(rest) = left.checked_sub(column.width + 1) else {
            break;
        };
        left = rest;
        ranks.push(column.rank);
    }
    all.retain(|column| ranks.contains(&column.rank));
    (names, all)
}

fn watts(power_w: Option<f64>) -> String {
    match power_w {
        None => UNKNOWN.into(),
        Some(watts) if watts < 0.995 => format!("{watts:.2}"),
        Some(watts) => short(watts),
    }
}

/// The latest rates, relative to the highest of the last minute.
fn bars(one: &InterfaceStatus, state: &State) -> String {
    let Some(rates) = state.rates(&one.name) else {
        return String::new();
    };
    let highest = rates.iter().copied().fold(0.0, f64::max);
    let bar = |&rate: &f64| {
        let share = if highest > 0.0 { rate / highest } else { 0.0 };
        BARS[((share * 8.0).round() as usize).min(8)]
    };
    let shown = rates.len().saturating_sub(30);
    rates.iter().skip(shown).map(bar).collect()
}
