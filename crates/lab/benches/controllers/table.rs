//! The table of all controllers, and the page that contains it.

use std::fs;
use std::path::Path;

use joulepath_controllers::{Capability, Controller};
use joulepath_model::quantile;

use crate::Asked;
use crate::acks::{Acks, PerAck};
use crate::bulk::Bulk;

const BEGIN: &str = "<!-- kernel: begin -->";
const END: &str = "<!-- kernel: end -->";
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/performance.md");
const NONE: &str = "–";

/// The median with its 95 % interval from order statistics, which assumes no distribution.
fn median(values: &[f64]) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let middle = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
    // How many values may lie outside the interval on each side, given that each is above the
    // median with probability 1/2.
    let (mut outside, mut below, mut term) = (0, 0.0, 0.5_f64.powi(n as i32));
    while outside < n / 2 && below + term <= 0.025 {
        below += term;
        term *= (n - outside) as f64 / (outside + 1) as f64;
        outside += 1;
    }
    // With fewer than six values no interval between two of them has 95 %.
    let first = outside.saturating_sub(1);
    format!(
        "{middle:.3} ({:.3}–{:.3})",
        sorted[first],
        sorted[n - 1 - first]
    )
}

/// Load average over the last minute.
pub(crate) fn load() -> f64 {
    let said = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    said.split(' ')
        .next()
        .and_then(|load| load.parse().ok())
        .unwrap_or(f64::NAN)
}

fn kind(controller: Controller) -> &'static str {
    match (
        controller.has(Capability::OwnsWindow),
        controller.has(Capability::Uncoupled),
    ) {
        (true, true) => "owns its window",
        (true, false) => "owns its window, coupled",
        (false, true) => "uncoupled",
        (false, false) => "coupled",
    }
}

fn ns(value: Option<f64>) -> String {
    value.map_or(NONE.into(), |value| format!("{value:.0}"))
}

/// The value in ns and as a multiple of the yardstick's.
fn against(value: Option<f64>, yardstick: Option<f64>) -> [String; 2] {
    let times = value
        .zip(yardstick)
        .map_or(NONE.into(), |(value, yardstick)| {
            format!("{:.2}", value / yardstick)
        });
    [ns(value), times]
}

fn per_ack(of: [Option<PerAck>; 2], yardstick: [Option<PerAck>; 2]) -> Vec<String> {
    let ack = |row: Option<PerAck>| row.and_then(|row| row.ack);
    let [one, two] = [0, 1].map(|k| against(ack(of[k]), ack(yardstick[k])));
    [&one[..], &two[..], &[ns(of[1].and_then(|row| row.loss))]].concat()
}

pub(crate) fn lines(
    asked: &Asked,
    controllers: &[Controller],
    acks: Option<&Acks>,
    bulk: Option<&[Bulk]>,
    load: [f64; 2],
) -> Vec<String> {
    let row = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let mut lines = vec![
        "| controller | kind | one subflow, ns per ACK | times the yardstick | two subflows, ns per ACK \
         | times the yardstick | ns per loss | bulk against | Gbit per CPU second | ratio, CPU \
         | ratio, clock |"
            .into(),
        format!("|---|---|{}---|{}", "---:|".repeat(5), "---:|".repeat(3)),
    ];
    let yardstick = [0, 1].map(|k| acks.map(|acks| acks.yardstick[k]));
    if let Some(acks) = acks {
        let rest = vec![NONE.to_owned(); 4];
        let nothing = acks.nothing.map(|ack| Some(PerAck { ack, loss: None }));
        for (title, of) in [
            ("*a program that does nothing*", nothing),
            ("*the kernel's Reno: yardstick*", yardstick),
        ] {
            lines.push(row(&[
                vec![title.into(), NONE.into()],
                per_ack(of, yardstick),
                rest.clone(),
            ]
            .concat()));
        }
    }
    for (index, &controller) in controllers.iter().enumerate() {
        let of = [0, 1].map(|k| acks.map(|acks| acks.controllers[k][index]));
        let bulk = bulk.map_or_else(
            || vec![NONE.to_owned(); 4],
            |bulk| {
                let Bulk {
                    against,
                    with_ecn,
                    per_cpu,
                    rates,
                    per_clock,
                } = &bulk[index];
                let against = format!("{against}{}", if *with_ecn { ", ECN" } else { "" });
                let rate = quantile::median(rates.iter().copied())
                    .map_or(NONE.into(), |rate| format!("{rate:.1}"));
                vec![against, rate, median(per_cpu), median(per_clock)]
            },
        );
        let title = vec![format!("`{}`", controller.name()), kind(controller).into()];
        lines.push(row(&[title, per_ack(of, yardstick), bulk].concat()));
    }
    let machine = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = machine
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or_default();
    let cores = machine
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    lines.push(String::new());
    lines.push(format!(
        "{}, {cores} cores, Linux {}; {} rounds of ACKs, {} of bulk transfers{}; load {:.0} to {:.0} on the \
         machine meanwhile.",
        model.trim_start_matches([' ', '\t', ':']),
        rustix::system::uname().release().to_string_lossy(),
        asked.acks_rounds,
        asked.bulk_rounds,
        asked.window.map_or(String::new(), |packets| format!(" in windows of {packets} packets at most")),
        load[0].min(load[1]),
        load[0].max(load[1]),
    ));
    lines
}

/// Writes the table between the two markers of the page.
pub(crate) fn write(lines: &[String]) {
    let page = Path::new(PAGE);
    let text = fs::read_to_string(page).unwrap();
    let (before, rest) = text
        .split_once(BEGIN)
        .expect("the page has the first marker");
    let (_, after) = rest
        .split_once(END)
        .expect("the page has the second marker");
    let table = lines.join("\n");
    fs::write(page, format!("{before}{BEGIN}\n\n{table}\n\n{END}{after}")).unwrap();
}
