//! Every run of the league, and what came out on each scenario.

use joulepath_control::Setup;
use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;
use joulepath_report::league::{
    Baseline, Cell, LeftOut, Player, ScenarioResult, ScenarioRow, Singles, Task as Work, Yardstick,
};

use super::cases::Case;
use super::field;
use crate::batch::{Batch, Outcome, Wanted};
use crate::compare::limits_of;
use crate::engine::{Engine, Task};
use crate::event::Watch;
use crate::stored::StoredRuns;

/// Which policies run on which scenarios.
pub(super) struct Season {
    field: Vec<Policy>,
    seeds: Vec<u64>,
    rounds: Vec<Round>,
}

/// One scenario and the policies that run on it: the field, then one for each path; or why one does not.
struct Round {
    case: Case,
    with: Yardstick,
    lineup: Vec<Result<Setup, String>>,
}

/// By round, place in the lineup and seed: what became of each run.
type Outcomes = Vec<Vec<Vec<Outcome>>>;

impl Season {
    /// The season, and the scenarios on which policies cannot be compared.
    pub(super) fn new(
        cases: Vec<Case>,
        field: Vec<Policy>,
        seeds: Vec<u64>,
        engine: &dyn Engine,
    ) -> (Self, Vec<LeftOut>) {
        let (mut rounds, mut left_out) = (vec![], vec![]);
        for case in cases {
            match Yardstick::of(&case.scenario, &limits_of(&case.scenario, &seeds, engine)) {
                Ok(with) => rounds.push(Round::of(case, with, &field)),
                Err(why) => left_out.push(LeftOut { scenario: case.name, why }),
            }
        }
        (Season { seeds, rounds, field }, left_out)
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

    /// Does every run, on all cores: each policy everywhere with the first seed, then with the next. Returned
    /// is what came out on each scenario, and whether every run is there.
    pub(super) fn play(
        &self,
        batch: &Batch<'_>,
        stored: Option<&mut StoredRuns>,
        watch: Watch<'_>,
    ) -> (Vec<ScenarioResult>, bool) {
        let (mut places, mut wanted) = (vec![], vec![]);
        for &seed in &self.seeds {
            for (index, round) in self.rounds.iter().enumerate() {
                for (place, setup) in round.lineup.iter().enumerate() {
                    let Ok(setup) = setup else { continue };
                    places.push((index, place));
                    wanted.push(round.wanted(setup, seed));
                }
            }
        }
        let outcomes = batch.run(&wanted, stored, watch);
        let complete = outcomes.iter().all(|outcome| matches!(outcome, Outcome::Run(_)));
        let mut by_round: Outcomes =
            self.rounds.iter().map(|round| vec![vec![]; round.lineup.len()]).collect();
        for ((round, place), outcome) in places.into_iter().zip(outcomes) {
            by_round[round][place].push(outcome);
        }
        let results = self.rounds.iter().zip(by_round);
        (results.map(|(round, outcomes)| self.result(round, outcomes)).collect(), complete)
    }

    fn result(&self, round: &Round, outcomes: Vec<Vec<Outcome>>) -> ScenarioResult {
        let Round { case, with, .. } = round;
        let runs = round.lineup.iter().zip(outcomes).map(|(setup, outcomes)| match setup {
            Ok(_) => complete(outcomes),
            Err(why) => Err(why.clone()),
        });
        let mut policies: Vec<Result<Vec<RunResult>, String>> = runs.collect();
        let alone = policies.split_off(self.field.len()).into_iter().map(Result::ok);
        let singles = Singles::of(alone.collect(), &with.task);
        let cell = |runs: &[RunResult]| Cell::of(runs, &singles, with);
        let baselines = [singles.thriftiest, singles.fastest].map(|path| singles.runs(path));
        let of_single =
            |runs: Option<&[RunResult]>| runs.map(cell).ok_or_else(|| "no single path has run".to_owned());
        let of_policies = policies.into_iter().map(|runs| runs.map(|runs| cell(&runs)));
        ScenarioResult {
            row: row(case, with, baselines),
            cells: of_policies.chain(baselines.map(of_single)).collect(),
        }
    }
}

impl Round {
    fn of(case: Case, with: Yardstick, field: &[Policy]) -> Self {
        let singles = field::single_paths(&case.scenario);
        let prepared = |policy| field::prepared(policy, &case.scenario).map_err(|error| error.in_one_line());
        let lineup = field.iter().chain(&singles).map(prepared).collect();
        Round { case, with, lineup }
    }

    fn wanted<'a>(&'a self, setup: &'a Setup, seed: u64) -> Wanted<'a> {
        let case = &self.case;
        Wanted {
            name: &case.name,
            scenario: &case.scenario,
            setup,
            task: Task { seed, series: false },
            identity: (&case.sha256, &case.overrides),
        }
    }
}

/// The runs with all seeds, or why some are missing.
fn complete(outcomes: Vec<Outcome>) -> Result<Vec<RunResult>, String> {
    let mut runs = vec![];
    let mut interrupted = false;
    for outcome in outcomes {
        match outcome {
            Outcome::Run(finished) => runs.push(finished.run),
            Outcome::Failed(error) => return Err(error),
            Outcome::Missing => interrupted = true,
        }
    }
    if interrupted { Err("interrupted before it had run".to_owned()) } else { Ok(runs) }
}

fn row(case: &Case, with: &Yardstick, [thriftiest, fastest]: [Option<&[RunResult]>; 2]) -> ScenarioRow {
    let policy = |runs: Option<&[RunResult]>| Some(runs?.first()?.policy.clone());
    ScenarioRow {
        name: case.name.clone(),
        family: case.family.name().to_owned(),
        title: case.scenario.title.clone(),
        source: case.scenario.source.clone(),
        sha256: case.sha256.clone(),
        set: case.overrides.iter().cloned().collect(),
        limit_bits_per_joule: with.limit,
        limit_kind: with.limit_kind.clone(),
        work: match with.task {
            Work::Endless { .. } => "endless",
            Work::Files { .. } => "files",
            Work::Requests => "requests",
            Work::Deadline { .. } => "deadline",
        },
        deadline_s: match with.task {
            Work::Deadline { seconds } => Some(seconds),
            _ => None,
        },
        thriftiest_path: policy(thriftiest),
        fastest_path: policy(fastest),
        competing_tcps: with.tcps(),
    }
}
