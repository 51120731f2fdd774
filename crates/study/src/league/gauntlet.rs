//! The gauntlet: policies on the draws of a range, each beside the best single path and the TCPs there.

use std::num::NonZeroUsize;

use joulepath_control::limit::{Terms, attainable, mean_attainable};
use joulepath_control::policy;
use joulepath_model::cancel::Cancel;
use joulepath_model::policy::Policy;
use joulepath_model::result::{Limit, Provenance};
use joulepath_model::scenario::Scenario;
use joulepath_report::gauntlet::{
    Contender, DrawResult, DrawRow, FamilyRow, Gauntlet, Measures, Metric, Played, Seal, Start, Yardstick,
};
use joulepath_report::league::{LeftOut, Singles, Task};

use super::cases::{self, Case};
use super::family::Family;
use super::field;
use super::lineup::{Lineup, Played as Runs, play};
use super::range::Range;
use crate::batch::Batch;
use crate::compare::limits_of;
use crate::engine::Engine;
use crate::error::{Error, Kind, Result};
use crate::event::Watch;
use crate::seeds::seeds;
use crate::stored::StoredRuns;

/// Draws of each family that judge a change, and that make a published table.
pub const DRAWS_CHECK: u32 = 64;
/// See above.
pub const DRAWS_RELEASE: u32 = 512;
/// Seeds of each policy in each draw: what differs between draws outweighs what differs between seeds.
const SEEDS: u32 = 1;
/// Who takes part unless others are named: TCPs side by side, the standard, and the selectors of the papers.
pub const CONTENDERS: [&str; 5] = ["uncoupled", "mptcp", "emptcp", "es-mptcp", "overflow"];

/// How much is run.
#[derive(Clone, Debug)]
pub struct Request {
    /// The families, of the gauntlet; all of them if empty.
    pub families: Vec<Family>,
    /// What the draws are for.
    pub range: Range,
    /// The first draw's number within the range, from 1.
    pub first: u32,
    /// Draws of each family.
    pub draws: u32,
    /// The policies; [`CONTENDERS`] if empty.
    pub policies: Vec<Policy>,
    /// Those that run once more with what a device knows that has been there before: rate, RTT and loss of
    /// each path, the rate within a factor of 1.3.
    pub warm: Vec<Policy>,
    /// Seeds of each policy in each draw; 1 if none.
    pub seeds: Option<u32>,
    /// Runs at a time; as many as there are cores if none. The results do not depend on it.
    pub jobs: Option<NonZeroUsize>,
}

impl Request {
    /// The numbers of the draws within the range.
    pub(super) fn numbers(&self) -> std::ops::Range<u32> {
        self.first..self.first.saturating_add(self.draws)
    }

    /// The families, in the order of the tables.
    pub(super) fn families(&self) -> Vec<Family> {
        let asked = |family: &Family| self.families.is_empty() || self.families.contains(family);
        Family::GAUNTLET.into_iter().filter(asked).collect()
    }

    /// The policies, in the order in which they were asked for.
    pub fn policies(&self) -> Vec<Policy> {
        let known = |name: &str| name.parse().expect("the contenders are well-formed");
        match self.policies.is_empty() {
            true => CONTENDERS.iter().map(|name| known(name)).collect(),
            false => self.policies.clone(),
        }
    }
}

/// A draw, those who start warm in it, and what policies are measured with.
struct Round {
    lineup: Lineup,
    warm: Option<Lineup>,
    with: Yardstick,
}

/// Does every run that `stored` does not have, and measures every policy in every draw. A run that fails is
/// told, and its policy is missing in that draw.
///
/// # Errors
/// If `request` has no draws, or policies that do not exist; if draws are sealed and there is no `seal`.
pub fn gauntlet(
    request: &Request,
    seal: Option<Seal>,
    engine: &dyn Engine,
    stored: Option<&mut StoredRuns>,
    by: &Provenance,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Result<Gauntlet> {
    if (request.range == Range::Sealed) != seal.is_some() {
        return Err(Error::usage("sealed draws are run with an entry in their log, and no others are")
            .with_help("name the log: --sealed-log FILE"));
    }
    if request.draws == 0 {
        return Err(Error::usage("there is no draw").with_help("ask for at least one: --draws 1"));
    }
    let (families, policies) = (request.families(), request.policies());
    for policy in policies.iter().chain(&request.warm) {
        policy::resolve(policy)
            .map_err(|error| Error::Setup { error: Box::new(error.into()), kind: Kind::Usage })?;
    }
    let count = request.seeds.unwrap_or(SEEDS);
    let seeds = seeds(1, count)?;
    let (mut rounds, mut left_out) = (vec![], vec![]);
    for &family in &families {
        let drawn = cases::gauntlet(family, request.range, request.numbers(), !request.warm.is_empty())?;
        for (case, warm) in drawn {
            match yardstick(&case, &seeds, engine) {
                // Connections that have paths of their own have no path in common.
                Ok(with) => {
                    let lineup = Lineup::of(case, &policies, family != Family::F8Within);
                    let warm = warm.map(|case| Lineup::of(case, &request.warm, false));
                    rounds.push(Round { lineup, warm, with });
                }
                Err(why) => left_out.push(LeftOut { scenario: case.name, why }),
            }
        }
    }
    let lineups: Vec<&Lineup> =
        rounds.iter().flat_map(|round| [&round.lineup].into_iter().chain(&round.warm)).collect();
    let all = play(&lineups, &seeds, &Batch { engine, jobs: request.jobs, cancel }, stored, watch);
    let mut runs = all.by_lineup.into_iter();
    let mut next = || runs.next().expect("every lineup has its runs");
    let mut results: Vec<DrawResult> = vec![];
    for round in &rounds {
        let mut cold = next();
        let alone = cold.split_off(policies.len());
        let warm = round.warm.as_ref().map_or(vec![], |_| next());
        results.push(result(round, cold.into_iter().chain(warm).collect(), alone));
    }
    let cold = policies.iter().map(|policy| contender(policy, Start::Cold));
    let warm = request.warm.iter().map(|policy| contender(policy, Start::Warm));
    let played = Played {
        engine: engine.name(),
        range: request.range.name(),
        first_draw: request.first,
        draws: request.draws,
        seeds: count,
        seal,
        families: families.into_iter().map(family_row).collect(),
        contenders: &cold.chain(warm).chain([Contender::best_path()]).collect::<Vec<_>>(),
        results: &results,
        left_out,
        partial: !all.complete || cancel.is_set(),
    };
    Ok(Gauntlet::of(by.clone(), played))
}

fn contender(policy: &Policy, start: Start) -> Contender {
    let (label, parts) = field::described(policy);
    Contender { policy: policy.to_string(), label, parts, start, is_single: false }
}

fn family_row(family: Family) -> FamilyRow {
    FamilyRow {
        name: family.name().to_owned(),
        what: family.what().to_owned(),
        judged_by: judged_by(family).to_vec(),
    }
}

/// What a family is judged by, the first above all.
fn judged_by(family: Family) -> &'static [Metric] {
    match family {
        Family::F1Bulk | Family::F6Mobility => &[Metric::Limit, Metric::Link, Metric::Single],
        Family::F2File | Family::F3Stream => &[Metric::Limit, Metric::Single, Metric::Time],
        Family::F4Competitors | Family::F7Shallow => &[Metric::Kept, Metric::Share, Metric::Limit],
        Family::F5Shared => &[Metric::Limit, Metric::Kept, Metric::Share],
        Family::F8Within => &[Metric::Jain],
        _ => &[Metric::Goodput, Metric::Kept, Metric::Share],
    }
}

fn yardstick(case: &Case, seeds: &[u64], engine: &dyn Engine) -> std::result::Result<Yardstick, String> {
    let limits = limits_of(&case.scenario, seeds, engine);
    Yardstick::of(&case.scenario, &limits, |deadline_s| {
        attainable_of(&case.scenario, seeds, engine, &Terms::all(deadline_s))
    })
}

/// The limits under `terms`; where the engine draws random rates, the means over those of each seed.
fn attainable_of(scenario: &Scenario, seeds: &[u64], engine: &dyn Engine, terms: &Terms) -> Vec<Limit> {
    let met = |&seed: &u64| joulepath_link::realised(scenario, seed);
    let met: Option<Vec<Scenario>> = seeds.iter().map(met).collect();
    match met.filter(|_| engine.draws()) {
        Some(met) => mean_attainable(&met, terms),
        None => attainable(scenario, terms),
    }
}

/// Of the runs of all policies, cold and warm, and of those of each path alone.
fn result(round: &Round, runs: Runs, alone: Runs) -> DrawResult {
    let Round { lineup, with, .. } = round;
    let alone: Vec<_> = alone.into_iter().map(|runs| runs.ok()).collect();
    // Connections that have paths of their own have no path alone to be set beside.
    let has_single = !alone.is_empty();
    let alone = Singles::of(alone, &with.equal.task);
    let best = with.best_path(&alone);
    let best_runs = alone.runs(best).map(|runs| Measures::of(runs, &alone, with));
    let best_path = alone.runs(best).and_then(|runs| Some(runs.first()?.policy.clone()));
    let best_runs = match best_runs {
        Some(measures) => Ok(measures),
        None if has_single => Err("no single path has run".to_owned()),
        None => Ok(Measures::default()),
    };
    let cells = runs.into_iter().map(|runs| runs.map(|runs| Measures::of(&runs, &alone, with)));
    let case = &lineup.case;
    DrawResult {
        row: DrawRow {
            name: case.name.clone(),
            family: case.family.name().to_owned(),
            title: case.scenario.title.clone(),
            sha256: case.sha256.clone(),
            limit_bits_per_joule: with.equal.limit,
            link_limit_bits_per_joule: with.link,
            deadline_s: match with.equal.task {
                Task::Deadline { seconds } => Some(seconds),
                _ => None,
            },
            best_path,
            competing_tcps: with.equal.tcps(),
        },
        cells: cells.chain([best_runs]).collect(),
    }
}
