//! Every run of the league, and what came out on each scenario.

use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;
use joulepath_report::league::{
    Baseline, Cell, LeftOut, Player, ScenarioResult, ScenarioRow, Singles, Task as Work, Yardstick,
};

use super::cases::Case;
use super::field;
use super::lineup::{Lineup, Played, play};
use crate::batch::Batch;
use crate::compare::limits_of;
use crate::engine::Engine;
use crate::event::Watch;
use crate::stored::StoredRuns;

/// Which policies run on which scenarios.
pub(super) struct Season {
    field: Vec<Policy>,
    seeds: Vec<u64>,
    rounds: Vec<Round>,
}

/// One scenario with its policies, and what they are measured with.
struct Round {
    lineup: Lineup,
    with: Yardstick,
}

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
                Ok(with) => rounds.push(Round { lineup: Lineup::of(case, &field, true), with }),
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

    /// Does every run. Returned is what came out on each scenario, and whether every run is there.
    pub(super) fn play(
        &self,
        batch: &Batch<'_>,
        stored: Option<&mut StoredRuns>,
        watch: Watch<'_>,
    ) -> (Vec<ScenarioResult>, bool) {
        let lineups: Vec<&Lineup> = self.rounds.iter().map(|round| &round.lineup).collect();
        let all = play(&lineups, &self.seeds, batch, stored, watch);
        let results = self.rounds.iter().zip(all.by_lineup);
        (results.map(|(round, played)| self.result(round, played)).collect(), all.complete)
    }

    fn result(&self, round: &Round, mut policies: Played) -> ScenarioResult {
        let Round { lineup, with } = round;
        let alone = policies.split_off(self.field.len()).into_iter().map(Result::ok);
        let singles = Singles::of(alone.collect(), &with.task);
        let cell = |runs: &[RunResult]| Cell::of(runs, &singles, with);
        let baselines = [singles.thriftiest, singles.fastest].map(|path| singles.runs(path));
        let of_single =
            |runs: Option<&[RunResult]>| runs.map(cell).ok_or_else(|| "no single path has run".to_owned());
        let of_policies = policies.into_iter().map(|runs| runs.map(|runs| cell(&runs)));
        ScenarioResult {
            row: row(&lineup.case, with, baselines),
            cells: of_policies.chain(baselines.map(of_single)).collect(),
        }
    }
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
        }
        .into(),
        deadline_s: match with.task {
            Work::Deadline { seconds } => Some(seconds),
            _ => None,
        },
        thriftiest_path: policy(thriftiest),
        fastest_path: policy(fastest),
        competing_tcps: with.tcps(),
    }
}
