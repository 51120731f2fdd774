//! Scenarios with the policies that run on them, and every run of all of them on all cores.

use joulepath_control::Setup;
use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;

use super::cases::Case;
use super::field;
use crate::batch::{Batch, Outcome, Wanted};
use crate::engine::Task;
use crate::event::Watch;
use crate::stored::StoredRuns;

/// One scenario and the policies that run on it: the field, then one for each path; or why one does not.
pub(super) struct Lineup {
    pub(super) case: Case,
    setups: Vec<Result<Setup, String>>,
}

/// What came out: for each policy of the lineup its runs in the order of the seeds, or why some are missing.
pub(super) type Played = Vec<Result<Vec<RunResult>, String>>;

impl Lineup {
    /// The field, and each path alone if `alone`.
    pub(super) fn of(case: Case, field: &[Policy], alone: bool) -> Self {
        let singles = if alone { field::single_paths(&case.scenario) } else { vec![] };
        let prepared = |policy| field::prepared(policy, &case.scenario).map_err(|error| error.in_one_line());
        let setups = field.iter().chain(&singles).map(prepared).collect();
        Lineup { case, setups }
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

/// What all runs of all lineups yielded.
pub(super) struct AllPlayed {
    /// By lineup.
    pub(super) by_lineup: Vec<Played>,
    /// Whether every run is there.
    pub(super) complete: bool,
}

/// Does every run, on all cores: each policy everywhere with the first seed, then with the next.
pub(super) fn play(
    lineups: &[&Lineup],
    seeds: &[u64],
    batch: &Batch<'_>,
    stored: Option<&mut StoredRuns>,
    watch: Watch<'_>,
) -> AllPlayed {
    let (mut places, mut wanted) = (vec![], vec![]);
    for &seed in seeds {
        for (index, lineup) in lineups.iter().enumerate() {
            for (place, setup) in lineup.setups.iter().enumerate() {
                let Ok(setup) = setup else { continue };
                places.push((index, place));
                wanted.push(lineup.wanted(setup, seed));
            }
        }
    }
    let outcomes = batch.run(&wanted, stored, watch);
    let complete = outcomes.iter().all(|outcome| matches!(outcome, Outcome::Run(_)));
    let mut by_place: Vec<Vec<Vec<Outcome>>> =
        lineups.iter().map(|lineup| vec![vec![]; lineup.setups.len()]).collect();
    for ((lineup, place), outcome) in places.into_iter().zip(outcomes) {
        by_place[lineup][place].push(outcome);
    }
    let runs_of = |(lineup, places): (&&Lineup, Vec<Vec<Outcome>>)| {
        let of_policy = |(setup, outcomes): (&Result<Setup, String>, Vec<Outcome>)| match setup {
            Ok(_) => whole(outcomes),
            Err(why) => Err(why.clone()),
        };
        lineup.setups.iter().zip(places).map(of_policy).collect()
    };
    AllPlayed { by_lineup: lineups.iter().zip(by_place).map(runs_of).collect(), complete }
}

/// The runs with all seeds, or why some are missing.
fn whole(outcomes: Vec<Outcome>) -> Result<Vec<RunResult>, String> {
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
