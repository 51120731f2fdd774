//! Random scenarios, each as TOML that anybody can run.
//!
//! | module | what |
//! |---|---|
//! | this one | makes the text from family, seed or set, and number |
//! | `ranked`, `random` | make a scenario of each ranked or random family |
//! | `signal` | makes a scenario with a radio that follows its signal |
//! | `body` | common parts: files, streams, rates that change |
//! | `ranges`, `wide` | ranges of random values: ranked families, random families |
//! | `dice` | random numbers, rounded for readers |
//! | `access` | a radio with its rate, RTT, loss, queue and energy model |

mod access;
mod body;
mod dice;
mod random;
mod ranges;
mod ranked;
mod signal;
mod wide;

use self::body::Body;
use self::dice::Dice;
use self::wide::Queues;
use super::family::Family;
use super::set::Set;
use crate::shipped;
use joulepath_model::scenario::{CrossTraffic, load};
use joulepath_model::units::Probability;

pub(super) use self::ranges::RANKED;
pub(super) use self::wide::GENERATION;

/// Trace of the random family F6: the shipped scenario next to it, and its file name.
const TRACE: (&str, &str) = ("fidelity/trace", "cellular.trace");
/// Part of a link's rate that random cross traffic takes where shares would rest on phase.
const BACKGROUND: f64 = 0.05;
/// Data that one line of a trace delivers, bits.
const OPPORTUNITY_BITS: f64 = 1504.0 * 8.0;

pub(super) struct Random {
    /// Family, seed and number, or family, set and number: `bulk-1-03`, `f1-bulk-train-0003`.
    pub(super) name: String,
    /// Its number in the family.
    pub(super) number: u32,
    /// The scenario as TOML.
    pub(super) text: String,
    /// Name and text of the trace that it uses.
    pub(super) trace: Option<(String, String)>,
}

/// The `number`-th scenario, from 1, of a ranked family with `seed`; `None` for the papers' and for
/// random families.
pub(super) fn of_seed(family: Family, seed: u64, number: u32) -> Option<Random> {
    let mut dice = Dice::new(seed, family, number);
    let body = match family {
        Family::Bulk => ranked::bulk(&mut dice),
        Family::Files => ranked::files(&mut dice),
        Family::Streams => ranked::streams(&mut dice),
        Family::Requests => ranked::requests(&mut dice),
        Family::Messages => ranked::messages(&mut dice),
        Family::Mobility => ranked::mobility(&mut dice),
        Family::Shared => ranked::shared(&mut dice),
        _ => return None,
    };
    let comment = format!(
        "# Scenario {number} of the family `{family}`: `joulepath benchmark --family {family} --seed {seed}`."
    );
    let name = format!("{family}-{seed}-{number:02}");
    Some(Random {
        name,
        number,
        text: text(&comment, family, body),
        trace: None,
    })
}

/// The `index`-th scenario, from 1, of `set` for a random family; `None` for other families and
/// beyond the end of the set.
pub(super) fn of_set(family: Family, set: Set, index: u32) -> Option<Random> {
    let number = set.number(index)?;
    let mut dice = Dice::new(GENERATION, family, number);
    let mut trace = None;
    let body = match family {
        Family::F1Bulk => random::bulk(&mut dice),
        Family::F2File => random::one_file(&mut dice),
        Family::F3Stream => random::offered(&mut dice),
        Family::F4Competitors => random::competitors(&mut dice, Queues::All),
        Family::F5Shared => random::shared(&mut dice),
        Family::F6Mobility => {
            let (body, offset) =
                random::mobility(&mut dice, &|offset| (trace_name(offset), trace_bps()));
            trace = offset.map(|offset| (trace_name(offset), rotated(offset)));
            body
        }
        Family::F7Shallow => random::competitors(&mut dice, Queues::Shallow),
        Family::F8Within => random::within(&mut dice),
        Family::F9Adverse => random::adverse(&mut dice),
        Family::F10Signal => signal::signal(&mut dice),
        Family::F11Alike => random::alike(&mut dice),
        _ => return None,
    };
    let comment = format!(
        "# Scenario {index} of the family `{family}`, set `{set}`, generation {GENERATION}:\n\
         # `joulepath benchmark --family {family} --random {set} --first {index} --scenarios 1`."
    );
    Some(Random {
        name: format!("{family}-{set}-{index:04}"),
        number,
        text: text(&comment, family, body),
        trace,
    })
}

fn text(comment: &str, family: Family, body: Body) -> String {
    let Body {
        title,
        duration_s,
        warm_up_s,
        tables,
    } = body;
    let text = format!(
        "{comment}\ntitle = \"{title}\"\nduration = \"{duration_s} s\"\nwarm_up = \"{warm_up_s} s\"\n{tables}"
    );
    let background = if family.judges_harm() {
        background(&text)
    } else {
        String::new()
    };
    text + &background
}

/// Random cross traffic on the links of a scenario without a trace where shares rest on phase.
fn background(text: &str) -> String {
    let scenario =
        load(text, &|name| Err(format!("no trace {name}"))).expect("the text is a scenario");
    let part = Probability::new(BACKGROUND).expect("a part");
    let Some(with) = scenario.with_background(part) else {
        return String::new();
    };
    let table = |cross: &CrossTraffic| {
        let own = scenario
            .paths
            .iter()
            .find(|path| path.radio.0 == cross.link);
        let place = match own {
            Some(path) => format!("path = \"{}\"", path.name),
            None => format!(
                "link = \"{}\"",
                scenario.links[cross.link].name.trim_end_matches(".down")
            ),
        };
        format!(
            "[[cross]]\n{place}\nkind = \"poisson\"\nrate = \"{:.0} bit/s\"\n",
            cross.pattern.mean_bps()
        )
    };
    with.cross[scenario.cross.len()..]
        .iter()
        .map(table)
        .collect()
}

/// Delivery times of the trace, ms.
fn opportunities() -> Vec<u64> {
    let text = shipped::trace(TRACE.0, TRACE.1).expect("the trace ships");
    text.lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect()
}

fn trace_bps() -> f64 {
    let all = opportunities();
    all.len() as f64 * OPPORTUNITY_BITS / (*all.last().expect("a trace has lines") as f64 / 1e3)
}

/// Index of the trace line at which it starts.
fn place(offset: u64) -> usize {
    (offset % opportunities().len() as u64) as usize
}

fn trace_name(offset: u64) -> String {
    format!("cellular-{}.trace", place(offset))
}

/// The trace from another instant on. It starts right after a delivery time of the original, which
/// keeps its length.
fn rotated(offset: u64) -> String {
    let all = opportunities();
    let (from, period) = (all[place(offset)], *all.last().expect("a trace has lines"));
    let mut moved: Vec<u64> = all
        .iter()
        .map(|&at| {
            if at > from {
                at - from
            } else {
                at + period - from
            }
        })
        .collect();
    moved.sort_unstable();
    moved.iter().map(|at| format!("{at}\n")).collect()
}

#[cfg(test)]
mod tests_random;
#[cfg(test)]
mod tests_ranked;
