//! The gap as text and as Markdown.

use joulepath_model::units::Nanos;

use super::{Case, FULL, Gap, Quantity, Summary};
use crate::text::{cut, seeds};

/// Longest names of scenarios and policies: the table has 80 columns.
const SCENARIO: usize = 15;
const POLICY: usize = 20;
const PLACE: usize = 27;
/// Below this rate, bit/s, two decimals of Mbit/s say too little.
const SLOW_BPS: f64 = 1e6;

/// For a terminal: 80 columns.
pub fn table(gap: &Gap) -> String {
    let mut text = format!("{}\n{}\n", title(gap), lateness(gap));
    text += &format!(
        "{:SCENARIO$} {:POLICY$} {:>8} {:>8}{:>6}{:>6}{:>6}{:>7}\n",
        "", "", "packet", "kernel", "good", "share", "RTT", "energy"
    );
    text += &format!(
        "{:SCENARIO$} {:POLICY$} {:>8} {:>8}{:>6}{:>6}{:>6}{:>7}\n{}\n",
        "scenario",
        "policy",
        "Mbit/s",
        "Mbit/s",
        "%",
        "pts",
        "%",
        "%",
        "─".repeat(79)
    );
    let mut last = "";
    for case in &gap.cases {
        let scenario = if case.scenario == last { "" } else { &case.scenario };
        let [goodput, share, rtt, energy] = case.differences.map(percent);
        text += &format!(
            "{:SCENARIO$} {:POLICY$} {:>8} {:>8}{goodput:>6}{share:>6}{rtt:>6}{energy:>7}\n",
            cut(scenario, SCENARIO),
            cut(&(case.policy.clone() + if case.full { " =" } else { "" }), POLICY),
            mbps(case, case.packet.goodput_bps),
            mbps(case, case.kernel.goodput_bps),
        );
        last = &case.scenario;
    }
    text += "\n";
    if gap.hard < gap.cases.len() {
        text += &format!("= both engines carry at least {} of all that can be carried\n\n", full());
    }
    text += &format!("{:9} {:>13} {:>13} {:>13}  where\n", "", "median of all", "of hard cells", "worst");
    for summary in &gap.summary {
        text += &format!("{}\n", row(summary));
    }
    text
}

/// For docs/fidelity.md.
pub fn markdown(gap: &Gap) -> String {
    let mut text = format!(
        "{}.\n{}\n| | median of all | of hard ones | worst | where |\n|---|---|---|---|---|\n",
        title(gap),
        lateness(gap)
    );
    for summary in &gap.summary {
        text += &format!(
            "| {} | {} | {} | {} | {}, `{}` |\n",
            summary.quantity.name(),
            with_unit(summary.quantity, summary.median, false),
            of_hard(summary),
            with_unit(summary.quantity, summary.worst, true),
            summary.scenario,
            summary.policy
        );
    }
    text += &format!(
        "\nIn a cell that is full (=) both engines carry at least {} of all that links and application let \
         through; the others are hard.\n",
        full()
    );
    text += "\n| scenario | policy | packet, Mbit/s | kernel, Mbit/s | goodput, % | share, points | mean \
             RTT, % | energy, % |\n";
    text += "|---|---|---:|---:|---:|---:|---:|---:|\n";
    for case in &gap.cases {
        let [goodput, share, rtt, energy] = case.differences.map(percent);
        text += &format!(
            "| {} | `{}`{} | {} | {} | {goodput} | {share} | {rtt} | {energy} |\n",
            case.scenario,
            case.policy,
            if case.full { " =" } else { "" },
            with_spread(case, true),
            with_spread(case, false),
        );
    }
    text
}

fn title(gap: &Gap) -> String {
    let (release, cases, hard) = (&gap.release, gap.cases.len(), gap.hard);
    let most = gap.cases.iter().map(|case| case.packet.runs).max().unwrap_or(0);
    let lossy = if most > gap.seeds as usize { format!(" ({most} with loss)") } else { String::new() };
    let cases = if cases == 1 { "1 case".into() } else { format!("{cases} cases") };
    format!(
        "Kernel {release} against the packet engine.\n{}{lossy}, {cases}, {hard} of them hard",
        seeds(gap.seeds)
    )
}

/// The least part that both engines carry in a full cell.
fn full() -> String {
    format!("{:.0} %", FULL * 100.0)
}

fn of_hard(summary: &Summary) -> String {
    let hard = summary.median_hard.map(|median| with_unit(summary.quantity, median, false));
    hard.unwrap_or_else(|| "–".to_owned())
}

/// A line for the lateness that was allowed.
fn lateness(gap: &Gap) -> String {
    let told = |bound| format!("Emulated links were allowed to be {} late.\n", Nanos::from_secs_f64(bound));
    gap.max_lateness_s.map(told).unwrap_or_default()
}

fn with_spread(case: &Case, packet: bool) -> String {
    let means = if packet { &case.packet } else { &case.kernel };
    match means.runs {
        1 => mbps(case, means.goodput_bps),
        _ if means.deterministic => format!("{}, no chance in it", mbps(case, means.goodput_bps)),
        _ => format!(
            "{} ± {}",
            mbps(case, means.goodput_bps),
            mbps(case, means.goodput_bps * means.goodput_spread)
        ),
    }
}

/// A rate of the case in Mbit/s, with one digit more if it is slow.
fn mbps(case: &Case, bps: f64) -> String {
    let decimals = if case.packet.goodput_bps < SLOW_BPS { 3 } else { 2 };
    format!("{:.decimals$}", bps / 1e6)
}

fn row(summary: &Summary) -> String {
    let place = format!("{}, {}", summary.scenario, summary.policy);
    format!(
        "{:9} {:>13} {:>13} {:>13}  {}",
        summary.quantity.name(),
        with_unit(summary.quantity, summary.median, false),
        of_hard(summary),
        with_unit(summary.quantity, summary.worst, true),
        cut(&place, PLACE)
    )
}

fn with_unit(quantity: Quantity, difference: f64, signed: bool) -> String {
    let unit = if quantity == Quantity::Share { "points" } else { "%" };
    let value = difference * 100.0;
    if signed { format!("{value:+.1} {unit}") } else { format!("{value:.1} {unit}") }
}

fn percent(difference: f64) -> String {
    format!("{:+.1}", difference * 100.0)
}
