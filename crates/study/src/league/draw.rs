//! Scenarios drawn at random: each a text that anyone can run.
//!
//! | module | what |
//! |---|---|
//! | this one | from family, seed and number to a text |
//! | `league` | a draw of each of the league's families |
//! | `gauntlet` | a draw of each of the gauntlet's |
//! | `body` | what families have in common: files, streams, rates that change |
//! | `ranges`, `wide` | what is drawn, from which ranges: of the league, of the gauntlet |
//! | `dice` | random numbers, rounded to what a reader can take in |
//! | `access` | a radio with its rate, RTT, loss, queue and energy |

mod access;
mod body;
mod dice;
mod gauntlet;
mod league;
mod ranges;
mod wide;

use self::body::Body;
use self::dice::Dice;
use self::wide::{GENERATION, Queues};
use super::family::Family;
use super::range::Range;
use crate::shipped;

pub(super) use self::ranges::DRAWS;

/// The trace of the gauntlet's family F6: the shipped scenario beside which it stands, and its name there.
const TRACE: (&str, &str) = ("fidelity/trace", "cellular.trace");
/// What one line of a trace lets through, bits.
const OPPORTUNITY_BITS: f64 = 1504.0 * 8.0;

/// One drawn scenario.
pub(super) struct Draw {
    /// Family, seed and number, or range and number: `bulk-1-03`, `f1-bulk-train-0003`.
    pub(super) name: String,
    /// As TOML.
    pub(super) text: String,
    /// The trace that it names, and its text.
    pub(super) trace: Option<(String, String)>,
}

/// The `number`-th scenario, from 1, that `seed` draws for `family`; none of a family that is not drawn by
/// seeds.
pub(super) fn draw(family: Family, seed: u64, number: u32) -> Option<Draw> {
    let mut dice = Dice::new(seed, family, number);
    let body = match family {
        Family::Bulk => league::bulk(&mut dice),
        Family::Files => league::files(&mut dice),
        Family::Streams => league::streams(&mut dice),
        Family::Requests => league::requests(&mut dice),
        Family::Messages => league::messages(&mut dice),
        Family::Mobility => league::mobility(&mut dice),
        Family::Shared => league::shared(&mut dice),
        _ => return None,
    };
    let comment = format!(
        "# Draw {number} of the family `{family}`: `joulepath league --family {family} --seed {seed}`."
    );
    Some(Draw { name: format!("{family}-{seed}-{number:02}"), text: text(&comment, body), trace: None })
}

/// The `index`-th scenario, from 1, of `range` for a family of the gauntlet; none for other families, and
/// beyond the end of the range.
pub(super) fn draw_of(family: Family, range: Range, index: u32) -> Option<Draw> {
    let mut dice = Dice::new(GENERATION, family, range.number(index)?);
    let mut trace = None;
    let body = match family {
        Family::F1Bulk => gauntlet::bulk(&mut dice),
        Family::F2File => gauntlet::one_file(&mut dice),
        Family::F3Stream => gauntlet::offered(&mut dice),
        Family::F4Competitors => gauntlet::competitors(&mut dice, Queues::All),
        Family::F5Shared => gauntlet::shared(&mut dice),
        Family::F6Mobility => {
            let (body, offset) = gauntlet::mobility(&mut dice, &|offset| (trace_name(offset), trace_bps()));
            trace = offset.map(|offset| (trace_name(offset), rotated(offset)));
            body
        }
        Family::F7Shallow => gauntlet::competitors(&mut dice, Queues::Shallow),
        Family::F8Within => gauntlet::within(&mut dice),
        Family::F9Adverse => gauntlet::adverse(&mut dice),
        _ => return None,
    };
    let comment = format!(
        "# Draw {index} of the family `{family}`, range `{range}`, generation {GENERATION} of the gauntlet:\n\
         # `joulepath league --family {family} --range {range} --draws {index}`."
    );
    Some(Draw { name: format!("{family}-{range}-{index:04}"), text: text(&comment, body), trace })
}

fn text(comment: &str, body: Body) -> String {
    let Body { title, duration_s, warm_up_s, tables } = body;
    format!(
        "{comment}\ntitle = \"{title}\"\nduration = \"{duration_s} s\"\nwarm_up = \"{warm_up_s} s\"\n{tables}"
    )
}

/// Opportunities of the trace, ms.
fn opportunities() -> Vec<u64> {
    let text = shipped::trace(TRACE.0, TRACE.1).expect("the trace ships");
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

fn trace_bps() -> f64 {
    let all = opportunities();
    all.len() as f64 * OPPORTUNITY_BITS / (*all.last().expect("a trace has lines") as f64 / 1e3)
}

/// The place among the trace's lines at which it begins.
fn place(offset: u64) -> usize {
    (offset % opportunities().len() as u64) as usize
}

fn trace_name(offset: u64) -> String {
    format!("cellular-{}.trace", place(offset))
}

/// The trace from another instant on. It begins right after one of its own opportunities, so that it keeps
/// its length.
fn rotated(offset: u64) -> String {
    let all = opportunities();
    let (from, period) = (all[place(offset)], *all.last().expect("a trace has lines"));
    let mut moved: Vec<u64> =
        all.iter().map(|&at| if at > from { at - from } else { at + period - from }).collect();
    moved.sort_unstable();
    moved.iter().map(|at| format!("{at}\n")).collect()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_gauntlet;
