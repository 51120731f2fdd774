//! Prepares scenarios with the policies that can run on them, does every run and collects the
//! results.

use joulepath_control::Setup;
use joulepath_control::limit::{Terms, attainable, mean_attainable};
use joulepath_model::policy::Policy;
use joulepath_model::result::{Reference, RunResult};
use joulepath_model::scenario::Scenario;
use joulepath_report::benchmark::{
    Baseline, Cell, Entry, FamilyRow, Kind, LeftOut, Measured, Metric, ScenarioResult, ScenarioRow,
    Singles, Start, Yardstick,
};

use super::cases::{Case, cases};
use super::family::Family;
use super::field;
use super::oracle::{Hindsight, Known};
use super::plan::Plan;
use super::round::{Round, Runs, policies, whole};
use super::search::search;
use crate::batch::{Batch, Row, is_complete};
use crate::compare::{limits_of, of_first};
use crate::engine::Engine;
use crate::error::Result;
use crate::event::Watch;
use crate::seeds::seeds;
use crate::stored::StoredRuns;

/// The policy whose times others are compared with.
const MPTCP: &str = "mptcp";

pub(super) struct Rounds {
    families: Vec<FamilyRow>,
    /// Policies with a cold start, policies with a warm start, realisable baselines, then single
    /// paths in hindsight.
    entries: Vec<Entry>,
    rounds: Vec<Round>,
    left_out: Vec<LeftOut>,
}

impl Rounds {
    /// Leaves out scenarios on which policies cannot be compared.
    ///
    /// # Errors
    /// If a scenario cannot be loaded.
    pub(super) fn of(plan: &Plan, engine: &dyn Engine) -> Result<Self> {
        let entry = |(policy, start): (&Policy, Start)| {
            let (label, parts) = field::described(policy);
            Entry {
                policy: policy.to_string(),
                label,
                parts,
                start,
                baseline: None,
            }
        };
        let baselines = field::baselines(&plan.policies)
            .into_iter()
            .chain(Entry::hindsight(plan.kind));
        let entries: Vec<Entry> = policies(plan).map(entry).chain(baselines).collect();
        let (cases, mut left_out) = cases(plan)?;
        let mut rounds = vec![];
        for case in cases {
            let seeds = seeds(1, plan.seeds_of(case.family))?;
            match yardstick(&case, &seeds, engine) {
                Ok(with) => rounds.push(Round::of(plan.has_oracle, &entries, case, with, seeds)),
                Err(why) => left_out.push(LeftOut {
                    scenario: case.name,
                    why,
                }),
            }
        }
        let added = [
            (Metric::Oracle, plan.has_oracle),
            (Metric::Searched, plan.search > 0),
        ];
        let added = added
            .into_iter()
            .filter_map(|(metric, is_added)| is_added.then_some(metric));
        let family = |family: &Family| {
            let mut row = family.row();
            row.columns.extend(added.clone());
            row
        };
        let families = plan.families.iter().map(family).collect();
        Ok(Rounds {
            families,
            entries,
            rounds,
            left_out,
        })
    }

    /// Does every run, on all cores: each policy on every scenario with the first seed, then with
    /// the next. Returns the result of each scenario, and whether every run succeeded.
    pub(super) fn run<'a>(
        &'a self,
        plan: &Plan,
        engine: &'a dyn Engine,
        batch: &Batch<'_>,
        mut stored: Option<&mut StoredRuns>,
        watch: Watch<'_>,
    ) -> (Vec<ScenarioResult>, bool) {
        let of_round = |round: &'a Round| {
            let row = |(start, setup): &'a (Start, std::result::Result<Setup, String>)| {
                Some(round.row(engine, *start, setup.as_ref().ok()?))
            };
            round.setups.iter().filter_map(row)
        };
        let rows: Vec<Row<'_>> = self.rounds.iter().flat_map(of_round).collect();
        let table = batch.table(&rows, stored.as_deref_mut(), &mut *watch);
        let complete = is_complete(&table);
        let mut table = table.into_iter();
        let mut of_policy = |(_, setup): &(Start, std::result::Result<Setup, String>)| {
            setup.as_ref().map_err(String::clone)?;
            whole(table.next().expect("each prepared policy has a row"))
        };
        let mut of_round =
            |round: &Round| -> Vec<Runs> { round.setups.iter().map(&mut of_policy).collect() };
        let runs: Vec<Vec<Runs>> = self.rounds.iter().map(&mut of_round).collect();
        let known: Vec<Vec<Known<'_>>> = self
            .rounds
            .iter()
            .zip(&runs)
            .map(|(round, runs)| round.known(runs))
            .collect();
        let searched = search(
            plan.search,
            &self.rounds,
            &known,
            engine,
            batch,
            stored,
            watch,
        );
        let hindsight: Vec<Option<Hindsight>> = known
            .iter()
            .zip(searched)
            .map(|(known, searched)| Hindsight::of(known, searched))
            .collect();
        let results = self.rounds.iter().zip(runs).zip(hindsight);
        let results =
            results.map(|((round, runs), hindsight)| self.result(round, runs, hindsight.as_ref()));
        (results.collect(), complete)
    }

    /// Combines the runs of all policies with the runs of each path alone.
    fn result(
        &self,
        round: &Round,
        mut runs: Vec<Runs>,
        hindsight: Option<&Hindsight>,
    ) -> ScenarioResult {
        let Round { case, with, .. } = round;
        let hindsight_of =
            |entry: &Entry| entry.baseline.filter(|baseline| baseline.is_hindsight());
        let (in_hindsight, run): (Vec<&Entry>, Vec<&Entry>) = self
            .entries
            .iter()
            .partition(|entry| hindsight_of(entry).is_some());
        let alone = runs.split_off(run.len());
        let singles = alone
            .into_iter()
            .take(round.singles)
            .map(Runs::ok)
            .collect();
        let singles = Singles::of(singles, with);
        let is_mptcp = |entry: &&Entry| entry.policy == MPTCP && entry.start == Start::Cold;
        let mptcp = run
            .iter()
            .position(is_mptcp)
            .and_then(|place| runs[place].clone().ok());
        let cell = |runs: &[RunResult]| {
            let cell = Cell::of(runs, &singles, with).timed(
                runs,
                mptcp.as_deref().unwrap_or_default(),
                &with.task,
            );
            match hindsight {
                Some(hindsight) => hindsight.beside(cell, runs, with),
                None => cell,
            }
        };
        let baselines = in_hindsight
            .into_iter()
            .filter_map(hindsight_of)
            .map(|baseline| match baseline {
                Baseline::Thriftiest => singles.thriftiest,
                Baseline::Fastest => singles.fastest,
                Baseline::First | Baseline::SingleBest | Baseline::Linux | Baseline::Best => {
                    singles.best
                }
            });
        let baselines: Vec<Option<&[RunResult]>> =
            baselines.map(|path| singles.runs(path)).collect();
        let of_single = |runs: &Option<&[RunResult]>| match runs {
            Some(runs) => Ok(cell(runs)),
            // Connections with separate paths share no single path.
            None if singles.is_empty() => Ok(Cell::default()),
            None => Err("no single path has run".to_owned()),
        };
        let of_run = |(entry, runs): (&Entry, Runs)| match entry.baseline {
            Some(Baseline::First) if singles.is_empty() => Ok(Cell::default()),
            _ => runs.map(|runs| cell(&runs)),
        };
        let of_policies = run.into_iter().zip(runs).map(of_run);
        let policy = |runs: &Option<&[RunResult]>| Some((*runs)?.first()?.policy.clone());
        let row = ScenarioRow {
            name: case.name.clone(),
            family: case.family.name().to_owned(),
            title: case.cold.scenario.title.clone(),
            source: case.cold.scenario.source.clone(),
            sha256: case.cold.sha256.clone(),
            changed: case.cold.overrides.iter().cloned().collect(),
            reference_bits_per_joule: with.limit,
            reference_kind: with.reference_kind.clone(),
            link_bound_bits_per_joule: with.link_bound,
            work: with.task.name().into(),
            deadline_s: with.deadline_s(),
            baselines: baselines.iter().map(policy).collect(),
            competing_tcps: with.tcps(),
            oracle: hindsight.and_then(|hindsight| hindsight.row(with)),
        };
        ScenarioResult {
            row,
            cells: of_policies.chain(baselines.iter().map(of_single)).collect(),
        }
    }

    /// Data for the report.
    pub(super) fn measured<'a>(&'a self, results: &'a [ScenarioResult]) -> Measured<'a> {
        let (families, left_out) = (self.families.clone(), self.left_out.clone());
        Measured {
            families,
            entries: &self.entries,
            results,
            left_out,
        }
    }
}

fn yardstick(
    case: &Case,
    seeds: &[u64],
    engine: &dyn Engine,
) -> std::result::Result<Yardstick, String> {
    let scenario = &case.cold.scenario;
    let limits = limits_of(scenario, seeds, engine);
    match case.family.kind() {
        Kind::Ranked => Yardstick::of(scenario, &limits),
        Kind::Random => Yardstick::of_random(scenario, &limits, |deadline_s| {
            attainable_of(scenario, seeds, engine, &Terms::all(deadline_s))
        }),
    }
}

/// Limits under `terms`. With random rates or signals: means over those of each seed.
fn attainable_of(
    scenario: &Scenario,
    seeds: &[u64],
    engine: &dyn Engine,
    terms: &Terms,
) -> Vec<Reference> {
    let met = |&seed: &u64| joulepath_link::realised(scenario, seed);
    let met: Option<Vec<Scenario>> = seeds.iter().map(met).collect();
    match met.filter(|_| engine.draws()) {
        Some(met) => mean_attainable(&met, terms),
        None => attainable(&of_first(scenario, seeds), terms),
    }
}
