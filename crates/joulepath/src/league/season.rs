//! Every run of the league, and what came out on each scenario.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Workload;

use super::cases::Case;
use super::field;
use super::measure::{Cell, Yardstick, best_single};
use super::standing::{Baseline, Player, ScenarioLine};
use crate::cli::LeagueOptions;
use crate::compare::limits_of;
use crate::contenders::Contender;
use crate::engine::{self, Runner};
use crate::kept::{Kept, Key};
use crate::progress::Progress;
use crate::study::{self, Task};
use crate::terminal;

/// Who plays where.
pub(super) struct Season<'a> {
    engine: &'a dyn Runner,
    field: Vec<Policy>,
    seeds: Vec<u64>,
    rounds: Vec<Round>,
}

/// One scenario and who is ready to run on it: the field, then one for each path; or why somebody is not.
struct Round {
    case: Case,
    lineup: Vec<Result<Contender, String>>,
}

/// One run.
#[derive(Clone, Copy)]
struct Match {
    round: usize,
    /// Index into the lineup.
    place: usize,
    seed: u64,
}

/// The first error of a place in a lineup, by round.
pub(super) type Failures = BTreeMap<(usize, usize), String>;

/// What came out on one scenario: for each of [`Season::players`] a cell, or why there is none.
pub(super) struct RoundResult {
    pub(super) line: ScenarioLine,
    pub(super) cells: Vec<Result<Cell, String>>,
}

impl<'a> Season<'a> {
    pub(super) fn new(cases: Vec<Case>, field: Vec<Policy>, seeds: u32, engine: &'a dyn Runner) -> Self {
        let round = |case: Case| {
            let singles = field::single_paths(&case.scenario);
            let prepared = |policy| field::prepared(policy, &case.scenario).map_err(|failure| failure.text());
            let lineup = field.iter().chain(&singles).map(prepared).collect();
            Round { case, lineup }
        };
        let rounds = cases.into_iter().map(round).collect();
        Season { engine, seeds: (1..=u64::from(seeds)).collect(), rounds, field }
    }

    /// The field, then what single paths would have done.
    pub(super) fn players(&self) -> Vec<Player> {
        let of_policy = |policy: &Policy| {
            let (label, parts) = field::described(policy);
            Player { policy: policy.to_string(), label, parts, baseline: None }
        };
        let baselines = [Baseline::Thriftiest, Baseline::Fastest].map(Player::of_baseline);
        self.field.iter().map(of_policy).chain(baselines).collect()
    }

    /// Does every run that is not kept yet, on all cores: each policy everywhere with the first seed, then with the next.
    pub(super) fn play(&self, options: &LeagueOptions, stop: &AtomicBool, kept: &mut Kept) -> Failures {
        let mut matches = vec![];
        for &seed in &self.seeds {
            for (round, Round { lineup, .. }) in self.rounds.iter().enumerate() {
                matches.extend((0..lineup.len()).map(|place| Match { round, place, seed }));
            }
        }
        matches.retain(|m| self.key(m).is_some_and(|key| kept.find(&key).is_none()));
        let mut progress = Progress::new(matches.len(), None, options.quiet);
        let mut failures = Failures::new();
        let work = |m: &Match| {
            let Round { case, lineup } = &self.rounds[m.round];
            let contender = lineup[m.place].as_ref().map_err(Clone::clone)?;
            let task = Task { policy: m.place, seed: m.seed, series: false };
            engine::attempt(self.engine, &case.scenario, contender, &task, stop, |_| {})
        };
        study::run(&matches, study::cores(options.jobs), stop, work, |m, outcome| {
            progress.advance();
            let Some(key) = self.key(m) else { return };
            match outcome {
                Ok((run, took)) => kept.add(&key, run, *took),
                Err(error) => {
                    let case = &self.rounds[m.round].case.name;
                    terminal::tell(&format!("error: {case}, `{}`, seed {}: {error}", key.policy, m.seed));
                    failures.entry((m.round, m.place)).or_insert_with(|| error.clone());
                }
            }
        });
        progress.finish();
        failures
    }

    /// What a run is kept under; none if nobody is ready there.
    fn key(&self, m: &Match) -> Option<Key<'_>> {
        let Round { case, lineup } = &self.rounds[m.round];
        Some(Key {
            scenario: &case.sha256,
            overrides: &case.overrides,
            engine: self.engine.name(),
            policy: &lineup[m.place].as_ref().ok()?.policy,
            seed: m.seed,
        })
    }

    pub(super) fn results(&self, kept: &Kept, failures: &Failures) -> Vec<RoundResult> {
        (0..self.rounds.len()).map(|round| self.result(round, kept, failures)).collect()
    }

    fn result(&self, round: usize, kept: &Kept, failures: &Failures) -> RoundResult {
        let Round { case, lineup } = &self.rounds[round];
        let runs = |place: usize| self.runs(round, place, kept, failures);
        let (policies, paths) = (0..self.field.len(), self.field.len()..lineup.len());
        let singles: Vec<Vec<RunResult>> = paths.filter_map(|place| runs(place).ok()).collect();
        let fastest = best_single(&singles, |run| run.goodput_bps).map(|i| singles[i].as_slice());
        let thriftiest = best_single(&singles, |run| run.bits_per_joule).map(|i| singles[i].as_slice());
        let yardstick = Yardstick::of(&case.scenario, &limits_of(&case.scenario, &self.seeds, self.engine));
        let cell = |runs: &[RunResult]| Cell::of(runs, fastest.unwrap_or_default(), yardstick);
        let of_single =
            |runs: Option<&[RunResult]>| runs.map(cell).ok_or_else(|| "no single path has run".to_owned());
        let baselines = [of_single(thriftiest), of_single(fastest)];
        RoundResult {
            line: line(case, yardstick, [thriftiest, fastest]),
            cells: policies.map(|place| runs(place).map(|runs| cell(&runs))).chain(baselines).collect(),
        }
    }

    /// The runs with all seeds, or why some are missing.
    fn runs(
        &self,
        round: usize,
        place: usize,
        kept: &Kept,
        failures: &Failures,
    ) -> Result<Vec<RunResult>, String> {
        let Round { case, lineup } = &self.rounds[round];
        if let Err(why) = &lineup[place] {
            return Err(why.clone());
        }
        if let Some(error) = failures.get(&(round, place)) {
            return Err(error.clone());
        }
        let found = |&seed: &u64| Some(kept.find(&self.key(&Match { round, place, seed })?)?.run.clone());
        let runs: Option<Vec<RunResult>> = self.seeds.iter().map(found).collect();
        let runs = runs.ok_or("interrupted before it had run")?;
        let files = case.scenario.connections.iter().all(|g| matches!(g.workload, Workload::File { .. }));
        match runs.iter().filter(|run| files && run.completion_s.is_none()).count() {
            0 => Ok(runs),
            late => Err(format!("{late} of {} runs end before every file is there", runs.len())),
        }
    }
}

fn line(case: &Case, with: Yardstick, [thriftiest, fastest]: [Option<&[RunResult]>; 2]) -> ScenarioLine {
    let policy = |runs: Option<&[RunResult]>| Some(runs?.first()?.policy.clone());
    ScenarioLine {
        name: case.name.clone(),
        title: case.scenario.title.clone(),
        source: case.scenario.source.clone(),
        sha256: case.sha256.clone(),
        set: case.overrides.iter().cloned().collect(),
        tcp_friendly_limit_bits_per_joule: with.tcp_friendly,
        link_limit_bits_per_joule: with.link,
        thriftiest_path: policy(thriftiest),
        fastest_path: policy(fastest),
        competing_tcps: with.tcps,
    }
}
