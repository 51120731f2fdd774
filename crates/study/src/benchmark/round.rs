//! A scenario of the benchmark with its policies, and the tasks that they need.

use joulepath_control::Setup;
use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;
use joulepath_report::benchmark::{Entry, Start, Yardstick, share_of_limit};

use super::cases::Case;
use super::family::Family;
use super::field;
use super::oracle::{Known, Member, portfolio};
use super::plan::Plan;
use crate::batch::{Loaded, Outcome, Row};
use crate::engine::Engine;

/// A scenario with its policies and baselines.
pub(super) struct Round {
    pub(super) case: Case,
    /// Every entry that is not chosen in hindsight, each path alone, then the rest of the
    /// portfolio; the error says why one cannot run.
    pub(super) setups: Vec<(Start, std::result::Result<Setup, String>)>,
    /// Number of single paths.
    pub(super) singles: usize,
    /// The portfolio, each member with its place in `setups`; empty without an oracle.
    members: Vec<(Member, usize)>,
    pub(super) with: Yardstick,
    pub(super) seeds: Vec<u64>,
}

/// Runs of a policy in the order of the seeds. The error says why some are missing.
pub(super) type Runs = std::result::Result<Vec<RunResult>, String>;

impl Case {
    pub(super) fn variant(&self, start: Start) -> &Loaded {
        self.warm
            .as_ref()
            .filter(|_| start == Start::Warm)
            .unwrap_or(&self.cold)
    }
}

impl Round {
    /// `entries` are the rows of the tables. Each starts from all `seeds`.
    pub(super) fn of(
        has_oracle: bool,
        entries: &[Entry],
        case: Case,
        with: Yardstick,
        seeds: Vec<u64>,
    ) -> Self {
        let scenario = &case.cold.scenario;
        let has_singles = case.family != Family::F8Within;
        let singles = if has_singles {
            field::single_paths(scenario)
        } else {
            vec![]
        };
        let of_entry = |entry: &Entry| Some((field::on(entry, scenario)?, entry.start));
        let mut starts: Vec<(Policy, Start)> = entries.iter().filter_map(of_entry).collect();
        starts.extend(singles.iter().map(|policy| (policy.clone(), Start::Cold)));
        let mut members = vec![];
        for member in if has_oracle {
            portfolio(scenario)
        } else {
            vec![]
        } {
            let is_it = |known: &(Policy, Start)| *known == (member.policy.clone(), Start::Cold);
            let place = starts.iter().position(is_it).unwrap_or(starts.len());
            if place == starts.len() {
                starts.push((member.policy.clone(), Start::Cold));
            }
            members.push((member, place));
        }
        let prepared = |(policy, start): &(Policy, Start)| {
            let setup = field::prepared(policy, &case.variant(*start).scenario);
            (*start, setup.map_err(|error| error.in_one_line()))
        };
        let setups = starts.iter().map(prepared).collect();
        Round {
            setups,
            singles: singles.len(),
            members,
            with,
            seeds,
            case,
        }
    }

    /// Runs of a policy with each seed.
    pub(super) fn row<'a>(
        &'a self,
        engine: &'a dyn Engine,
        start: Start,
        setup: &'a Setup,
    ) -> Row<'a> {
        self.case.variant(start).row(engine, setup, &self.seeds)
    }

    /// Members of the portfolio that ran, with their values.
    pub(super) fn known<'a>(&'a self, runs: &'a [Runs]) -> Vec<Known<'a>> {
        let of = |(member, place): &'a (Member, usize)| {
            let runs = runs[*place].as_deref().ok()?;
            let value = share_of_limit(runs, &self.with, self.with.limit)?;
            Some(Known {
                member,
                runs,
                value,
            })
        };
        self.members.iter().filter_map(of).collect()
    }
}

pub(super) fn policies(plan: &Plan) -> impl Iterator<Item = (&Policy, Start)> {
    let cold = plan.policies.iter().map(|policy| (policy, Start::Cold));
    cold.chain(plan.warm.iter().map(|policy| (policy, Start::Warm)))
}

/// The runs with all seeds. The error says why some are missing.
pub(super) fn whole(outcomes: Vec<Outcome>) -> Runs {
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
        Err("interrupted before it ran".to_owned())
    } else {
        Ok(runs)
    }
}
