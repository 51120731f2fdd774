//! The gap as text and as Markdown.

use joulepath_model::units::Nanos;

use super::{Case, Gap, Quantity, Summary};
use crate::text::{cut, seeds};

/// Longest names of scenarios and policies: the table has 80 columns.
const SCENARIO: usize = 15;
const POLICY: usize = 20;

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
            "{:SCENARIO$} {:POLICY$} {:>8.2} {:>8.2}{goodput:>6}{share:>6}{rtt:>6}{energy:>7}\n",
            cut(scenario, SCENARIO),
            cut(&case.policy, POLICY),
            case.packet.goodput_bps / 1e6,
            case.kernel.goodput_bps / 1e6,
        );
        last = &case.scenario;
    }
    text += "\n";
    for summary in &gap.summary {
        text += &format!("{}\n", sentence(summary));
    }
    text
}

/// For docs/fidelity.md.
pub fn markdown(gap: &Gap) -> String {
    let mut text =
        format!("{}.\n{}\n| | median | worst | where |\n|---|---|---|---|\n", title(gap), lateness(gap));
    for summary in &gap.summary {
        text += &format!(
            "| {} | {} | {} | {}, `{}` |\n",
            summary.quantity.name(),
            with_unit(summary.quantity, summary.median, false),
            with_unit(summary.quantity, summary.worst, true),
            summary.scenario,
            summary.policy
        );
    }
    text += "\n| scenario | policy | packet, Mbit/s | kernel, Mbit/s | goodput, % | share, points | mean \
             RTT, % | energy, % |\n";
    text += "|---|---|---:|---:|---:|---:|---:|---:|\n";
    for case in &gap.cases {
        let [goodput, share, rtt, energy] = case.differences.map(percent);
        text += &format!(
            "| {} | `{}` | {} | {} | {goodput} | {share} | {rtt} | {energy} |\n",
            case.scenario,
            case.policy,
            with_spread(case, true),
            with_spread(case, false),
        );
    }
    text
}

fn title(gap: &Gap) -> String {
    let (release, cases) = (&gap.release, gap.cases.len());
    format!("Kernel {release} against the packet engine, {}, {cases} cases", seeds(gap.seeds))
}

/// A line for the lateness that was allowed.
fn lateness(gap: &Gap) -> String {
    let told = |bound| format!("Emulated links were allowed to be {} late.\n", Nanos::from_secs_f64(bound));
    gap.max_lateness_s.map(told).unwrap_or_default()
}

fn with_spread(case: &Case, packet: bool) -> String {
    let means = if packet { &case.packet } else { &case.kernel };
    let mbps = means.goodput_bps / 1e6;
    match means.runs {
        1 => format!("{mbps:.2}"),
        _ if means.deterministic => format!("{mbps:.2}, no chance in it"),
        _ => format!("{mbps:.2} ± {:.2}", mbps * means.goodput_spread),
    }
}

fn sentence(summary: &Summary) -> String {
    format!(
        "{:9} median {:>7}, worst {:>8} ({}, {})",
        summary.quantity.name(),
        with_unit(summary.quantity, summary.median, false),
        with_unit(summary.quantity, summary.worst, true),
        summary.scenario,
        summary.policy
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
