//! Scenarios drawn at random: each a text that anyone can run.
//!
//! | module | what |
//! |---|---|
//! | this one | a draw of each family |
//! | `ranges` | what is drawn, from which ranges |
//! | `dice` | random numbers, rounded to what a reader can take in |
//! | `access` | a radio with its rate, RTT, loss, queue and energy |

mod access;
mod dice;
mod ranges;

use self::access::{Access, SEGMENT_BITS, radios};
use self::dice::Dice;
use self::ranges::{
    CHANGES_S, COMPETITORS, FADING, FILE_LIMIT, LEAST_S, LOAD, MESSAGE_BYTES, MOST_S, PAUSE_S, REQUEST_BYTES,
    THINK_S, WARM_UP_S,
};
use super::family::Family;

pub(super) use self::ranges::DRAWS;

/// Packets of a run without end, about: more make it longer, not truer.
const PACKETS: f64 = 200_000.0;

/// One drawn scenario.
pub(super) struct Draw {
    /// Family, seed and number: `bulk-1-03`.
    pub(super) name: String,
    /// As TOML.
    pub(super) text: String,
}

/// The `number`-th scenario, from 1, that `seed` draws for `family`; none of a family that is not drawn.
pub(super) fn draw(family: Family, seed: u64, number: u32) -> Option<Draw> {
    let mut dice = Dice::new(seed, family, number);
    let body = match family {
        Family::Papers => return None,
        Family::Bulk => bulk(&mut dice),
        Family::Files => files(&mut dice),
        Family::Streams => streams(&mut dice),
        Family::Requests => requests(&mut dice),
        Family::Messages => messages(&mut dice),
        Family::Mobility => mobility(&mut dice),
        Family::Shared => shared(&mut dice),
    };
    let name = format!("{family}-{seed}-{number:02}");
    let Body { title, duration_s, warm_up_s, tables } = body;
    let text = format!(
        "# Draw {number} of the family `{family}`: `joulepath league --family {family} --seed {seed}`.\n\
         title = \"{title}\"\nduration = \"{duration_s} s\"\nwarm_up = \"{warm_up_s} s\"\n{tables}"
    );
    Some(Draw { name, text })
}

/// What is below the head of a scenario, and what the head says.
struct Body {
    title: String,
    duration_s: u32,
    warm_up_s: u32,
    tables: String,
}

/// Measured for so long that the fastest rates make about [`PACKETS`] packets.
fn measured_s(radios: &[Access]) -> u32 {
    let bps: f64 = radios.iter().map(|radio| radio.rate_bps).sum();
    ((PACKETS * SEGMENT_BITS / bps) as u32).clamp(LEAST_S, MOST_S)
}

/// Rates that one TCP each would have on the radios, together, bit/s.
fn friendly_bps(radios: &[Access]) -> f64 {
    radios.iter().map(Access::friendly_bps).sum()
}

fn names(radios: &[Access]) -> String {
    radios.iter().map(|radio| radio.name).collect::<Vec<_>>().join(" + ")
}

/// Paths on links of their own, and `[transport]`.
fn paths(radios: &[Access]) -> String {
    let tables: Vec<String> = radios.iter().map(|radio| radio.path()).collect();
    tables.join("") + &transport(radios)
}

/// ECN is a matter of both ends, so it is on for all or none.
fn transport(radios: &[Access]) -> String {
    let name = radios[0].queue.name;
    let marks = radios.iter().any(|radio| radio.queue.ecn);
    let ecn = if marks { "\n[transport]\necn = true\n" } else { "" };
    format!("\n# Queues: {name}.\n{ecn}")
}

fn bulk(dice: &mut Dice) -> Body {
    let radios = radios(dice);
    Body {
        title: format!("{}, data without end", names(&radios)),
        duration_s: WARM_UP_S + measured_s(&radios),
        warm_up_s: WARM_UP_S,
        tables: paths(&radios) + "\n[workload]\nkind = \"bulk\"\n",
    }
}

fn files(dice: &mut Dice) -> Body {
    let radios = radios(dice);
    let bytes = dice.file_bytes();
    let (workload, duration_s) = file(&radios, bytes);
    let title = format!("{}, a file of {}", names(&radios), size(bytes));
    Body { title, duration_s, warm_up_s: 0, tables: paths(&radios) + &workload }
}

/// A file, and how long it may take: [`FILE_LIMIT`] times what one TCP would need over the fastest path, but
/// a few seconds at least.
fn file(radios: &[Access], bytes: u64) -> (String, u32) {
    let seconds = FILE_LIMIT * alone_s(radios, bytes) + f64::from(LEAST_S);
    (format!("\n[workload]\nkind = \"file\"\nsize = \"{}\"\n", size(bytes)), seconds.ceil() as u32)
}

/// What one TCP would need for a file over the fastest path, s.
fn alone_s(radios: &[Access], bytes: u64) -> f64 {
    bytes as f64 * 8.0 / radios.iter().map(Access::friendly_bps).fold(0.0, f64::max)
}

fn streams(dice: &mut Dice) -> Body {
    let radios = radios(dice);
    let (workload, rate) = stream(dice, &radios);
    Body {
        title: format!("{}, a stream of {rate}", names(&radios)),
        duration_s: WARM_UP_S + MOST_S,
        warm_up_s: WARM_UP_S,
        tables: paths(&radios) + &workload,
    }
}

/// A stream, and its rate. Half of them have pauses.
fn stream(dice: &mut Dice, radios: &[Access]) -> (String, String) {
    let bps = dice.log(LOAD.0, LOAD.1) * friendly_bps(radios);
    let rate = format!("{} kbit/s", dice::significant(bps / 1e3));
    let mut table = format!("\n[workload]\nkind = \"stream\"\nrate = \"{rate}\"\n");
    if dice.chance(0.5) {
        let (on, off) = (dice.log(PAUSE_S.0, PAUSE_S.1), dice.log(PAUSE_S.0, PAUSE_S.1));
        table += &format!("on = \"{on} s\"\noff = \"{off} s\"\n");
    }
    (table, rate)
}

fn requests(dice: &mut Dice) -> Body {
    let radios = radios(dice);
    let bytes = dice.log(REQUEST_BYTES.0, REQUEST_BYTES.1) as u64;
    let think_s = dice.log(THINK_S.0, THINK_S.1);
    Body {
        title: format!("{}, answers of {}", names(&radios), size(bytes)),
        duration_s: WARM_UP_S + MOST_S,
        warm_up_s: WARM_UP_S,
        tables: paths(&radios)
            + &format!(
                "\n[workload]\nkind = \"requests\"\nsize = \"{}\"\nthink = \"{think_s} s\"\n",
                size(bytes)
            ),
    }
}

fn messages(dice: &mut Dice) -> Body {
    let radios = radios(dice);
    let bytes = dice.log(MESSAGE_BYTES.0, MESSAGE_BYTES.1) as u64;
    let load_bps = dice.log(LOAD.0, LOAD.1) * friendly_bps(&radios);
    // At least a hundred a second and one in five seconds, so that there are enough of them and not too many.
    let gap_ms = (bytes as f64 * 8.0 / load_bps * 1e3).clamp(10.0, 5000.0);
    Body {
        title: format!("{}, messages of {}", names(&radios), size(bytes)),
        duration_s: WARM_UP_S + 2 * MOST_S,
        warm_up_s: WARM_UP_S,
        tables: paths(&radios)
            + &format!(
                "\n[workload]\nkind = \"messages\"\nsize = \"{}\"\nmean_gap = \"{} ms\"\n",
                size(bytes),
                dice::significant(gap_ms)
            ),
    }
}

/// The first radio changes, in one of three ways; in a third of the draws the second one fades, too.
fn mobility(dice: &mut Dice) -> Body {
    let mut radios = radios(dice);
    let mut length_s = measured_s(&radios).max(30);
    let mut changes_s = f64::from(length_s);
    let (workload, doing) = match dice.below(3) {
        0 => ("\n[workload]\nkind = \"bulk\"\n".to_owned(), "data without end".to_owned()),
        1 => {
            let (workload, rate) = stream(dice, &radios);
            (workload, format!("a stream of {rate}"))
        }
        _ => {
            let bytes = dice.file_bytes().max(1_000_000);
            let (workload, seconds) = file(&radios, bytes);
            length_s = seconds;
            // What happens after the file is there says nothing.
            changes_s = alone_s(&radios, bytes).max(2.0);
            (workload, format!("a file of {}", size(bytes)))
        }
    };
    let is_file = workload.contains("\"file\"");
    let warm_up_s = if is_file { 0 } else { WARM_UP_S };
    let rate_bps = radios[0].rate_bps;
    let how = match dice.below(3) {
        0 => {
            radios[0].outages = outages(dice, warm_up_s, changes_s);
            "with outages"
        }
        1 => {
            radios[0].varying = Some(fading(dice, rate_bps));
            "fading"
        }
        _ => {
            radios[0].varying = Some(walking(dice, rate_bps, warm_up_s, changes_s));
            "walking away and back"
        }
    };
    if dice.chance(1.0 / 3.0) {
        let rate_bps = radios[1].rate_bps;
        radios[1].varying = Some(fading(dice, rate_bps));
    }
    let title = format!("{}, {how}, {doing}", names(&radios));
    let duration_s = warm_up_s + length_s;
    Body { title, duration_s, warm_up_s, tables: paths(&radios) + &workload }
}

/// One or two periods in which nothing comes through, each within its half of `length_s` after the warm-up.
fn outages(dice: &mut Dice, warm_up_s: u32, length_s: f64) -> String {
    let half = length_s / 2.0;
    let count = 1 + dice.below(2);
    let mut one = |index: u64| {
        let length = dice.log(CHANGES_S.0, CHANGES_S.1).min(dice::significant(0.6 * half));
        let from = f64::from(warm_up_s) + half * index as f64 + dice.between(0.0, 1.0) * (half - length);
        // Rounded down, so that two periods do not meet.
        let [from, until] = [from, from + length].map(|at| (at * 100.0).floor() / 100.0);
        format!("[\"{from:.2} s\", \"{until:.2} s\"]")
    };
    let all: Vec<String> = (0..count).map(&mut one).collect();
    format!("[{}]", all.join(", "))
}

/// A rate whose logarithm wanders.
fn fading(dice: &mut Dice, rate_bps: f64) -> String {
    let (deviation, correlation) = (dice.between(FADING.0, FADING.1), dice.log(CHANGES_S.0, CHANGES_S.1));
    format!(
        "{{ mean = \"{} Mbit/s\", deviation = \"{deviation:.0} %\", correlation = \"{correlation} s\" }}",
        dice::significant(rate_bps / 1e6)
    )
}

/// The rate falls in steps to a twentieth to a third, and comes back.
fn walking(dice: &mut Dice, rate_bps: f64, warm_up_s: u32, length_s: f64) -> String {
    let least = dice.log(0.05, 0.33);
    let step = |part: f64, of_rate: f64| {
        let at = if part == 0.0 { 0.0 } else { f64::from(warm_up_s) + part * length_s };
        format!("[\"{at:.2} s\", \"{} Mbit/s\"]", dice::significant(of_rate * rate_bps / 1e6))
    };
    let middle = libm::sqrt(least);
    let steps = [(0.0, 1.0), (0.2, middle), (0.3, least), (0.6, middle), (0.7, 1.0)];
    let steps: Vec<String> = steps.into_iter().map(|(part, of_rate)| step(part, of_rate)).collect();
    format!("{{ steps = [{}] }}", steps.join(", "))
}

/// Both radios through one bottleneck with TCPs; a bottleneck with TCPs before each; or TCPs on one radio.
fn shared(dice: &mut Dice) -> Body {
    let mut radios = radios(dice);
    radios.truncate(2);
    let cc = if dice.chance(0.5) { "reno" } else { "cubic" };
    let tcps = 1 + dice.below(COMPETITORS) as u32;
    let competitor = |name: &str, at: &str| {
        format!(
            "\n[[competitor]]\nname = \"{name}\"\ncount = {tcps}\n{at}\ncc = \"{cc}\"\nspread = \"1 s\"\n"
        )
    };
    let (tables, rate_bps, where_they_are) = match dice.below(3) {
        0 => {
            let rate_bps = radios[0].rate_bps;
            let link = radios[0].link("bottleneck", rate_bps);
            let far = |radio: &Access| radio.far_path("bottleneck", dice.between(0.0, 0.5));
            let tables = link + &radios.iter().map(far).collect::<String>();
            (tables + &competitor("tcp", "via = [\"bottleneck\"]"), rate_bps, "one shared bottleneck")
        }
        1 => {
            let links: String =
                radios.iter().map(|radio| radio.link(radio.bottleneck(), radio.rate_bps)).collect();
            let far: String = radios.iter().map(|radio| radio.far_path(radio.bottleneck(), 0.0)).collect();
            let tcps: String = radios
                .iter()
                .map(|radio| {
                    let at = format!("via = [\"{}\"]", radio.bottleneck());
                    competitor(&format!("tcp-{}", radio.name), &at)
                })
                .collect();
            let rate_bps = radios.iter().map(|radio| radio.rate_bps).sum();
            (links + &far + &tcps, rate_bps, "two shared bottlenecks")
        }
        _ => {
            let on = dice.below(2) as usize;
            let at = format!("path = \"{}\"", radios[on].name);
            let own: String = radios.iter().map(Access::path).collect();
            let rate_bps = radios.iter().map(|radio| radio.rate_bps).sum();
            (own + &competitor("tcp", &at), rate_bps, "TCPs on one path")
        }
    };
    let measured_s = ((PACKETS * SEGMENT_BITS / rate_bps) as u32).clamp(LEAST_S, MOST_S);
    Body {
        title: format!("{}, {where_they_are}, {tcps} {cc} each", names(&radios)),
        duration_s: 2 * WARM_UP_S + measured_s,
        warm_up_s: 2 * WARM_UP_S,
        tables: tables + &transport(&radios) + "\n[workload]\nkind = \"bulk\"\n",
    }
}

/// `10 kB`, `3.4 MB`.
fn size(bytes: u64) -> String {
    match bytes {
        1_000_000.. => format!("{} MB", dice::significant(bytes as f64 / 1e6)),
        1_000.. => format!("{} kB", dice::significant(bytes as f64 / 1e3)),
        _ => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests;
