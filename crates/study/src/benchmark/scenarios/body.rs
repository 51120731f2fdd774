//! Common parts of scenarios of several families.

use super::access::{Access, SEGMENT_BITS, rate_text};
use super::dice::{Dice, significant};
use super::ranges::{CHANGES_S, FADING, FILE_LIMIT, LEAST_S, MOST_S, PAUSE_S};
use super::wide::MOST_BPS;

/// Approximate packets of an endless run. More take time and add no accuracy.
pub(super) const PACKETS: f64 = 200_000.0;

/// Tables of a scenario and the values for its head.
pub(super) struct Body {
    pub(super) title: String,
    pub(super) duration_s: u32,
    pub(super) warm_up_s: u32,
    pub(super) tables: String,
}

/// Measured time in which the highest rates send about [`PACKETS`] packets, s.
pub(super) fn measured_s(radios: &[Access]) -> u32 {
    let bps: f64 = radios.iter().map(|radio| radio.rate_bps).sum();
    ((PACKETS * SEGMENT_BITS / bps) as u32).clamp(LEAST_S, MOST_S)
}

/// Sum of the rates that one TCP flow would have on each radio, bit/s.
pub(super) fn friendly_bps(radios: &[Access]) -> f64 {
    radios.iter().map(Access::friendly_bps).sum()
}

pub(super) fn names(radios: &[Access]) -> String {
    radios
        .iter()
        .map(|radio| radio.name)
        .collect::<Vec<_>>()
        .join(" + ")
}

/// Paths on separate links, and `[transport]`.
pub(super) fn paths(radios: &[Access]) -> String {
    let tables: Vec<String> = radios.iter().map(|radio| radio.path()).collect();
    tables.join("") + &transport(radios)
}

/// ECN depends on both ends, so it is on for all radios or for none.
pub(super) fn transport(radios: &[Access]) -> String {
    let name = radios[0].queue.name;
    let marks = radios.iter().any(|radio| radio.queue.ecn);
    let ecn = if marks {
        "\n[transport]\necn = true\n"
    } else {
        ""
    };
    format!("\n# Queues: {name}.\n{ecn}")
}

/// A file and its time limit, s: [`FILE_LIMIT`] times the time of one TCP flow over the fastest
/// path, and at least a few seconds.
pub(super) fn file(radios: &[Access], bytes: u64) -> (String, u32) {
    let seconds = FILE_LIMIT * alone_s(radios, bytes) + f64::from(LEAST_S);
    (
        format!(
            "\n[workload]\nkind = \"file\"\nsize = \"{}\"\n",
            size(bytes)
        ),
        seconds.ceil() as u32,
    )
}

/// Time of one TCP flow for a file over the fastest path, s.
pub(super) fn alone_s(radios: &[Access], bytes: u64) -> f64 {
    bytes as f64 * 8.0 / radios.iter().map(Access::friendly_bps).fold(0.0, f64::max)
}

/// A stream of this rate, and the rate as text. Half of the streams pause.
pub(super) fn stream(dice: &mut Dice, bps: f64) -> (String, String) {
    let rate = format!("{} kbit/s", significant(bps / 1e3));
    let mut table = format!("\n[workload]\nkind = \"stream\"\nrate = \"{rate}\"\n");
    if dice.chance(0.5) {
        let (on, off) = (
            dice.log(PAUSE_S.0, PAUSE_S.1),
            dice.log(PAUSE_S.0, PAUSE_S.1),
        );
        table += &format!("on = \"{on} s\"\noff = \"{off} s\"\n");
    }
    (table, rate)
}

/// One or two outages, each within its half of `length_s` after the warm-up.
pub(super) fn outages(dice: &mut Dice, warm_up_s: u32, length_s: f64) -> String {
    let half = length_s / 2.0;
    let count = 1 + dice.below(2);
    let mut one = |index: u64| {
        let length = dice
            .log(CHANGES_S.0, CHANGES_S.1)
            .min(significant(0.6 * half));
        let from =
            f64::from(warm_up_s) + half * index as f64 + dice.between(0.0, 1.0) * (half - length);
        // Rounded down, so that two outages do not touch.
        let [from, until] = [from, from + length].map(|at| (at * 100.0).floor() / 100.0);
        format!("[\"{from:.2} s\", \"{until:.2} s\"]")
    };
    let all: Vec<String> = (0..count).map(&mut one).collect();
    format!("[{}]", all.join(", "))
}

/// A rate whose logarithm varies randomly.
pub(super) fn fading(dice: &mut Dice, rate_bps: f64) -> String {
    let (deviation, correlation) = (
        dice.between(FADING.0, FADING.1),
        dice.log(CHANGES_S.0, CHANGES_S.1),
    );
    format!(
        "{{ mean = \"{} Mbit/s\", deviation = \"{deviation:.0} %\", correlation = \"{correlation} s\" }}",
        significant(rate_bps / 1e6)
    )
}

/// The rate falls in steps to between a twentieth and a third, and recovers.
pub(super) fn walking(dice: &mut Dice, rate_bps: f64, warm_up_s: u32, length_s: f64) -> String {
    let least = dice.log(0.05, 0.33);
    let step = |part: f64, of_rate: f64| {
        let at = if part == 0.0 {
            0.0
        } else {
            f64::from(warm_up_s) + part * length_s
        };
        format!(
            "[\"{at:.2} s\", \"{} Mbit/s\"]",
            significant(of_rate * rate_bps / 1e6)
        )
    };
    let middle = libm::sqrt(least);
    let steps = [
        (0.0, 1.0),
        (0.2, middle),
        (0.3, least),
        (0.6, middle),
        (0.7, 1.0),
    ];
    let steps: Vec<String> = steps
        .into_iter()
        .map(|(part, of_rate)| step(part, of_rate))
        .collect();
    format!("{{ steps = [{}] }}", steps.join(", "))
}

/// Size as text: `10 kB`, `3.4 MB`.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        1_000_000.. => format!("{} MB", significant(bytes as f64 / 1e6)),
        1_000.. => format!("{} kB", significant(bytes as f64 / 1e3)),
        _ => format!("{bytes} B"),
    }
}

/// The rate jumps two to five times, each time by a factor of 2 to 10 up or down, and stays between
/// a hundredth and ten times the original, below [`MOST_BPS`].
pub(super) fn stepping(dice: &mut Dice, rate_bps: f64, length_s: f64) -> String {
    let count = 2 + dice.below(4);
    let mut steps = vec![format!("[\"0 s\", {}]", rate_text(rate_bps))];
    let mut times = 1.0;
    for index in 1..=count {
        let factor = dice.log(2.0, 10.0);
        let falls = dice.chance(0.5);
        times = if falls {
            times / factor
        } else {
            times * factor
        };
        times = times.clamp(0.01, (MOST_BPS / rate_bps).min(10.0));
        let at = length_s * (index as f64 - dice.between(0.0, 0.9)) / (count as f64 + 1.0);
        steps.push(format!("[\"{at:.2} s\", {}]", rate_text(times * rate_bps)));
    }
    format!("{{ steps = [{}] }}", steps.join(", "))
}
