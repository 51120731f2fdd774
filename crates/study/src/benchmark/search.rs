//! Search for the best schedule of paths on a scenario: an evolution of plans with up to four
//! segments.
//!
//! It starts from the fixed sets of the portfolio. Each generation changes the best plans so far at
//! random: the paths of a segment, its time, the number of segments, the controller. The random
//! numbers of a scenario depend only on its SHA-256, so that the same command finds the same plans.

use std::collections::BTreeSet;

use joulepath_control::Setup;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::RunResult;
use joulepath_report::benchmark::{Start, share_of_limit};

use super::field;
use super::oracle::{Control, Found, Known, chosen, written};
use super::round::{Round, whole};
use crate::batch::{Batch, Outcome, Row};
use crate::engine::Engine;
use crate::event::Watch;
use crate::stored::StoredRuns;

/// Maximum number of segments of a plan.
const MOST_SEGMENTS: usize = 4;
/// Plans of a generation.
const WIDTH: usize = 16;
/// Plans that a generation is made from.
const PARENTS: usize = 6;
/// Earliest time of a second segment, in units of [`TICKS_PER_S`].
const LEAST_TICKS: u64 = 5;
/// Resolution of times.
const TICKS_PER_S: f64 = 100.0;
/// Attempts at a plan that has not run yet.
const ATTEMPTS: usize = 50;

/// A schedule of paths under a controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Schedule {
    /// Whether the controller `joule` runs; else NewReno.
    is_joule: bool,
    /// Times, rising from 0, each with the bits of the paths from then on.
    segments: Vec<(u64, u32)>,
}

impl Schedule {
    /// Sorts the segments, and removes those without effect.
    fn tidy(mut self) -> Self {
        self.segments.sort_by_key(|(ticks, _)| *ticks);
        self.segments.dedup_by_key(|(ticks, _)| *ticks);
        self.segments.dedup_by_key(|(_, set)| *set);
        self.segments.truncate(MOST_SEGMENTS);
        self
    }

    fn policy(&self, names: &[&str]) -> String {
        let segment = |(ticks, set): &(u64, u32)| {
            format!("{}:{}", *ticks as f64 / TICKS_PER_S, chosen(names, *set))
        };
        let plan: Vec<String> = self.segments.iter().map(segment).collect();
        let control = if self.is_joule {
            Control::Joule
        } else {
            Control::Reno
        };
        control.under(&format!("schedule,plan={}", plan.join(";")))
    }
}

/// The search on one scenario.
struct Walk<'a> {
    round: &'a Round,
    names: Vec<&'a str>,
    stream: Stream,
    /// End of the work under the portfolio's best, in ticks.
    end: u64,
    /// Plans with their values, best first.
    ranked: Vec<(f64, Schedule)>,
    tried: BTreeSet<Schedule>,
    /// Plans that may still run.
    left: usize,
    found: Found,
}

/// The best schedule on each scenario, in at most `runs` runs on each; `None` if `runs` is 0.
pub(super) fn search(
    runs: u32,
    rounds: &[Round],
    known: &[Vec<Known<'_>>],
    engine: &dyn Engine,
    batch: &Batch<'_>,
    mut stored: Option<&mut StoredRuns>,
    watch: Watch<'_>,
) -> Vec<Option<Found>> {
    if runs == 0 {
        return rounds.iter().map(|_| None).collect();
    }
    let walks = rounds
        .iter()
        .zip(known)
        .map(|(round, known)| Walk::of(round, known, runs));
    let mut walks: Vec<Walk<'_>> = walks.collect();
    loop {
        let proposed: Vec<(usize, Schedule)> = walks
            .iter_mut()
            .enumerate()
            .flat_map(|(index, walk)| walk.generation().into_iter().map(move |plan| (index, plan)))
            .collect();
        if proposed.is_empty() || batch.cancel.is_set() {
            break;
        }
        let prepared = proposed.into_iter().filter_map(|(index, schedule)| {
            let setup = walks[index].setup(&schedule)?;
            Some((index, schedule, setup))
        });
        let prepared: Vec<(usize, Schedule, Setup)> = prepared.collect();
        let rows = prepared
            .iter()
            .map(|(index, _, setup)| walks[*index].round.row(engine, Start::Cold, setup));
        let rows: Vec<Row<'_>> = rows.collect();
        let table = batch.table(&rows, stored.as_deref_mut(), &mut *watch);
        for ((index, schedule, _), outcomes) in prepared.into_iter().zip(table) {
            walks[index].add(schedule, outcomes);
        }
    }
    walks.into_iter().map(|walk| Some(walk.found)).collect()
}

impl<'a> Walk<'a> {
    fn of(round: &'a Round, known: &[Known<'_>], runs: u32) -> Self {
        let scenario = &round.case.cold.scenario;
        let of_sha = u64::from_str_radix(&round.case.cold.sha256[..16], 16)
            .expect("a SHA-256 is hexadecimal");
        // The scenario itself and its path histories use other indices.
        let stream = Stream::new(0, Domain::Benchmark, of_sha >> 2 | 1 << 62);
        let seconds = |run: &RunResult| run.completion_s.unwrap_or(scenario.duration.as_secs_f64());
        let best = super::oracle::best(known);
        let end_s = best.map_or(0.0, |best| {
            best.runs.iter().map(seconds).fold(0.0, f64::max)
        });
        let mut ranked: Vec<(f64, Schedule)> = known.iter().filter_map(of_member).collect();
        rank(&mut ranked);
        Walk {
            round,
            names: scenario
                .paths
                .iter()
                .map(|path| path.name.as_str())
                .collect(),
            stream,
            end: (end_s * TICKS_PER_S) as u64,
            tried: ranked
                .iter()
                .map(|(_, schedule)| schedule.clone())
                .collect(),
            ranked,
            left: runs as usize / round.seeds.len(),
            found: Found::default(),
        }
    }

    fn setup(&self, schedule: &Schedule) -> Option<Setup> {
        let policy = written(&schedule.policy(&self.names));
        field::prepared(&policy, &self.round.case.cold.scenario).ok()
    }

    /// The next plans to run; none at the end of the search.
    fn generation(&mut self) -> Vec<Schedule> {
        let mut plans = vec![];
        if self.ranked.is_empty() || self.end <= LEAST_TICKS {
            return plans;
        }
        for _ in 0..ATTEMPTS {
            if plans.len() == WIDTH.min(self.left) {
                break;
            }
            let plan = self.changed();
            if self.tried.insert(plan.clone()) {
                plans.push(plan);
            }
        }
        self.left -= plans.len();
        plans
    }

    /// One of the best plans, changed once or twice.
    fn changed(&mut self) -> Schedule {
        let parents = self.ranked.len().min(PARENTS) as u64;
        // The better of two at random.
        let place = self.stream.below(parents).min(self.stream.below(parents));
        let mut plan = self.ranked[place as usize].1.clone();
        for _ in 0..1 + self.stream.below(2) {
            self.change(&mut plan);
        }
        plan.tidy()
    }

    fn change(&mut self, plan: &mut Schedule) {
        let segments = plan.segments.len() as u64;
        let place = self.stream.below(segments) as usize;
        let paths = self.names.len() as u64;
        match self.stream.below(8) {
            0 => plan.is_joule = !plan.is_joule,
            1 if place > 0 => drop(plan.segments.remove(place)),
            2 | 3 if place > 0 => {
                let factor = libm::exp(self.stream.uniform() - 0.5);
                let ticks = plan.segments[place].0 as f64 * factor;
                plan.segments[place].0 = (ticks as u64).clamp(LEAST_TICKS, self.end);
            }
            4 | 5 => {
                let set = plan.segments[place].1 ^ 1 << self.stream.below(paths);
                // At least one path.
                plan.segments[place].1 = if set == 0 { (1 << paths) - 1 } else { set };
            }
            _ => {
                let time = self.time();
                let set = 1 + self.stream.below((1 << paths) - 1) as u32;
                plan.segments.push((time, set));
            }
        }
    }

    /// A time before the end: uniform, or uniform in its logarithm.
    fn time(&mut self) -> u64 {
        let [least, end] = [LEAST_TICKS, self.end].map(|ticks| ticks as f64);
        let place = self.stream.uniform();
        let ticks = match self.stream.below(2) {
            0 => least + place * (end - least),
            _ => least * libm::exp(place * libm::log(end / least)),
        };
        ticks as u64
    }

    fn add(&mut self, schedule: Schedule, outcomes: Vec<Outcome>) {
        let with = &self.round.with;
        let Ok(runs) = whole(outcomes) else { return };
        let Some(value) = share_of_limit(&runs, with, with.limit) else {
            return;
        };
        if self
            .found
            .best
            .as_ref()
            .is_none_or(|(best, ..)| value > *best)
        {
            self.found.best = Some((value, schedule.policy(&self.names), runs));
        }
        self.ranked.push((value, schedule));
        rank(&mut self.ranked);
    }
}

/// Best first; of equal plans the first found.
fn rank(plans: &mut [(f64, Schedule)]) {
    plans.sort_by(|(a, _), (b, _)| b.total_cmp(a));
}

/// A fixed set of the portfolio as a plan.
fn of_member(known: &Known<'_>) -> Option<(f64, Schedule)> {
    let (set, control) = known.member.set?;
    let is_joule = match control {
        Control::Reno => false,
        Control::Joule => true,
        Control::Lia => return None,
    };
    Some((
        known.value,
        Schedule {
            is_joule,
            segments: vec![(0, set)],
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_written_as_the_selector_reads_it() {
        let segments = vec![(0, 1), (950, 2), (250, 3), (300, 3), (0, 2)];
        let plan = Schedule {
            is_joule: true,
            segments,
        }
        .tidy();
        let policy = plan.policy(&["wifi", "lte"]);
        assert_eq!(
            policy,
            "mptcp[cc=joule,selector=schedule,plan=0:wifi;2.5:wifi+lte;9.5:lte]"
        );
        assert!(joulepath_control::policy::resolve(&written(&policy)).is_ok());
    }
}
