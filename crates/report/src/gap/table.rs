//! The gap as text and as Markdown.

use joulepath_model::metric::STALL;
use joulepath_model::units::Nanos;

use super::{Case, FULL, Gap, Means, Quantity};
use crate::table::{Align, Cell, Column, Decimals, Line, Rank, Table, View};
use crate::text::seeds;

/// Rate below which two decimals of Mbit/s are too few, bit/s.
const SLOW_BPS: f64 = 1e6;
/// Maximum width of names of scenarios and policies before they are broken, with and without room.
const SCENARIO: (usize, usize) = (24, 15);
const POLICY: (usize, usize) = (32, 15);

/// Text for a terminal.
pub fn table(gap: &Gap, view: View) -> String {
    let (cases, _) = cases(gap, false).text(view);
    let mut text = format!("{}\n{}\n{cases}\n\n", title(gap), lateness(gap));
    if gap.hard < gap.cases.len() {
        text += &format!(
            "= both engines carry at least {} of all that can be carried\n\n",
            full()
        );
    }
    text + &summary(gap, Align::Right).text(view).0 + "\n"
}

/// Text for docs/fidelity.md.
pub fn markdown(gap: &Gap) -> String {
    format!(
        "{}.\n{}\n{}\nIn a cell that is full (=) both engines carry at least {} of all that links and \
         application let through; the others are hard.\n\n{}",
        title(gap),
        lateness(gap),
        summary(gap, Align::Left).markdown(),
        full(),
        cases(gap, true).markdown()
    )
}

/// Table of the quantities over all cases.
fn summary(gap: &Gap, align: Align) -> Table {
    let numbers = ["median of all", "of hard ones", "worst"];
    let numbers = numbers.map(|name| Column::numbers(name, "").align(align));
    let place = Column::words("where")
        .fold(POLICY.0)
        .narrow(Rank(0), POLICY.1)
        .indent(2);
    let columns = [Column::words("")]
        .into_iter()
        .chain(numbers)
        .chain([place]);
    Table::new(columns).with(gap.summary.iter().map(|summary| {
        let quantity = summary.quantity;
        let number =
            |value: f64, signed| Cell::number(value).shown(with_unit(quantity, value, signed));
        Line::new([
            Cell::text(quantity.name()),
            number(summary.median, false),
            summary
                .median_hard
                .map_or_else(Cell::unknown, |median| number(median, false)),
            number(summary.worst, true),
            Cell::text(format!("{}, `{}`", summary.scenario, summary.policy)),
        ])
    }))
}

/// Table of all cases, with the spread over the runs if there is room.
fn cases(gap: &Gap, with_spread: bool) -> Table {
    let difference = |name, unit| {
        Column::numbers(name, unit)
            .factor(0.01)
            .decimals(Decimals::Signed(1))
    };
    let columns = [
        Column::words("scenario")
            .once()
            .fold(SCENARIO.0)
            .narrow(Rank(1), SCENARIO.1),
        Column::words("policy")
            .fold(POLICY.0)
            .narrow(Rank(0), POLICY.1)
            .indent(2),
        Column::numbers("packet", "Mbit/s"),
        Column::numbers("kernel", "Mbit/s"),
        difference("goodput", "%"),
        difference("share", "points"),
        difference("mean RTT", "%").short("RTT"),
        difference("energy", "%"),
        Column::numbers("stall", "s")
            .decimals(Decimals::Signed(2))
            .hidden(Rank(0)),
    ];
    let line = |case: &Case| {
        let rate =
            |means: &Means| Cell::number(means.goodput_bps()).shown(rate(case, means, with_spread));
        let policy = format!("`{}`{}", case.policy, if case.full { " =" } else { "" });
        let names = [Cell::text(&case.scenario), Cell::text(policy)];
        let rates = [rate(&case.packet), rate(&case.kernel)];
        let stall = |means: &Means| means.metrics.of(&STALL);
        let stalls = stall(&case.kernel).zip(stall(&case.packet));
        let stall = stalls.map_or_else(Cell::empty, |(kernel, packet)| {
            Cell::number(kernel - packet)
        });
        Line::new(
            names
                .into_iter()
                .chain(rates)
                .chain(case.differences.map(Cell::number))
                .chain([stall]),
        )
    };
    Table::new(columns).with(gap.cases.iter().map(line))
}

fn title(gap: &Gap) -> String {
    let (release, cases, hard) = (&gap.release, gap.cases.len(), gap.hard);
    let most = gap
        .cases
        .iter()
        .map(|case| case.packet.runs)
        .max()
        .unwrap_or(0);
    let lossy = if most > gap.seeds as usize {
        format!(" ({most} with loss)")
    } else {
        String::new()
    };
    let cases = if cases == 1 {
        "1 case".into()
    } else {
        format!("{cases} cases")
    };
    format!(
        "Kernel {release} against the packet engine.\n{}{lossy}, {cases}, {hard} of them hard",
        seeds(gap.seeds)
    )
}

/// Fraction that both engines carry at least in a full case.
fn full() -> String {
    format!("{:.0} %", FULL * 100.0)
}

/// A line with the allowed lateness.
fn lateness(gap: &Gap) -> String {
    let told = |bound| {
        format!(
            "Emulated links were allowed to be {} late.\n",
            Nanos::from_secs_f64(bound)
        )
    };
    gap.max_lateness_s.map(told).unwrap_or_default()
}

fn rate(case: &Case, means: &Means, with_spread: bool) -> String {
    let mean = mbps(case, means.goodput_bps());
    match means.runs {
        _ if !with_spread => mean,
        1 => mean,
        _ if means.deterministic => format!("{mean}, deterministic"),
        _ => format!(
            "{mean} ± {}",
            mbps(case, means.goodput_bps() * means.goodput_spread)
        ),
    }
}

/// A rate in Mbit/s, with one more digit for slow cases.
fn mbps(case: &Case, bps: f64) -> String {
    let decimals = if case.packet.goodput_bps() < SLOW_BPS {
        3
    } else {
        2
    };
    format!("{:.decimals$}", bps / 1e6)
}

fn with_unit(quantity: Quantity, difference: f64, signed: bool) -> String {
    let unit = if quantity == Quantity::Share {
        "points"
    } else {
        "%"
    };
    let value = difference * 100.0;
    if signed {
        format!("{value:+.1} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}
