//! Every run of the league, and what came out on each scenario.

use joulepath_control::Setup;
use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Workload;
use joulepath_report::league::{Baseline, Cell, Player, ScenarioResult, ScenarioRow, Yardstick, best_single};

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
    lineup: Vec<Result<Setup, String>>,
}

/// By round, place in the lineup and seed: what became of each run.
type Outcomes = Vec<Vec<Vec<Outcome>>>;

impl Season {
    pub(super) fn new(cases: Vec<Case>, field: Vec<Policy>, seeds: Vec<u64>) -> Self {
        let round = |case: Case| {
            let singles = field::single_paths(&case.scenario);
            let prepared =
                |policy| field::prepared(policy, &case.scenario).map_err(|error| error.in_one_line());
            let lineup = field.iter().chain(&singles).map(prepared).collect();
            Round { case, lineup }
        };
        let rounds = cases.into_iter().map(round).collect();
        Season { seeds, rounds, field }
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
        let result =
            |(round, outcomes): (&Round, Vec<Vec<Outcome>>)| self.result(round, outcomes, batch.engine);
        (self.rounds.iter().zip(by_round).map(result).collect(), complete)
    }

    fn result(&self, round: &Round, outcomes: Vec<Vec<Outcome>>, engine: &dyn Engine) -> ScenarioResult {
        let Round { case, .. } = round;
        let runs = round.lineup.iter().zip(outcomes).map(|(setup, outcomes)| match setup {
            Ok(_) => round.complete(outcomes),
            Err(why) => Err(why.clone()),
        });
        let mut policies: Vec<Result<Vec<RunResult>, String>> = runs.collect();
        let singles: Vec<Vec<RunResult>> =
            policies.split_off(self.field.len()).into_iter().flatten().collect();
        let fastest = best_single(&singles, |run| run.goodput_bps).map(|i| singles[i].as_slice());
        let thriftiest = best_single(&singles, |run| run.bits_per_joule).map(|i| singles[i].as_slice());
        let yardstick = Yardstick::of(&case.scenario, &limits_of(&case.scenario, &self.seeds, engine));
        let cell = |runs: &[RunResult]| Cell::of(runs, fastest.unwrap_or_default(), yardstick);
        let of_single =
            |runs: Option<&[RunResult]>| runs.map(cell).ok_or_else(|| "no single path has run".to_owned());
        let baselines = [of_single(thriftiest), of_single(fastest)];
        let of_policies = policies.into_iter().map(|runs| runs.map(|runs| cell(&runs)));
        ScenarioResult {
            row: row(case, yardstick, [thriftiest, fastest]),
            cells: of_policies.chain(baselines).collect(),
        }
    }
}

impl Round {
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

    /// The runs with all seeds, or why some are missing.
    fn complete(&self, outcomes: Vec<Outcome>) -> Result<Vec<RunResult>, String> {
        let mut runs = vec![];
        let mut interrupted = false;
        for outcome in outcomes {
            match outcome {
                Outcome::Run(finished) => runs.push(finished.run),
                Outcome::Failed(error) => return Err(error),
                Outcome::Missing => interrupted = true,
            }
        }
        if interrupted {
            return Err("interrupted before it had run".to_owned());
        }
        let groups = &self.case.scenario.connections;
        let files = groups.iter().all(|group| matches!(group.workload, Workload::File { .. }));
        match runs.iter().filter(|run| files && run.completion_s.is_none()).count() {
            0 => Ok(runs),
            late => Err(format!("{late} of {} runs end before every file is there", runs.len())),
        }
    }
}

fn row(case: &Case, with: Yardstick, [thriftiest, fastest]: [Option<&[RunResult]>; 2]) -> ScenarioRow {
    let policy = |runs: Option<&[RunResult]>| Some(runs?.first()?.policy.clone());
    ScenarioRow {
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
