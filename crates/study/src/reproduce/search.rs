//! Finds where the papers' claims hold: searches boxes of the parameters that each paper leaves
//! open.
//!
//! ```text
//! box ─► Latin hypercube ─► run ─► judge ─┬─► border, towards the usual point, best fit ─► run ─► …
//!                                         └─► fresh seeds at the nearest points ─► parts, tree, sentence
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `sample` | chooses the points to run |
//! | `rounds` | runs the points and judges each claim there |
//! | `state` | a claim at a point: holds, fails, undecided |
//! | `tree` | finds the deciding parameters |
//! | `region` | describes where a claim holds, and checks it on new points |
//! | `fit` | finds the point that fits all of a paper's numbers |
//! | `answer` | builds the report |

mod answer;
mod fit;
mod region;
mod rounds;
mod sample;
mod state;
mod tree;

use std::num::NonZeroUsize;
use std::sync::Arc;

use joulepath_model::cancel::Cancel;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::Provenance;
use joulepath_report::search::{Holds, Search};
use joulepath_report::{Finding, Judged, Report, Reproduction};

use self::answer::Answers;
use self::rounds::{Round, Searched};
use self::sample::{Known, hypercube, refine};
use self::state::State;
use super::boxes::ClaimBox;
use super::experiment::{Experiment, Standing};
use super::paper::papers;
use super::space::Point;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::event::{Event, Watch};
use crate::parallel;
use crate::stored::StoredRuns;

/// Rounds of refinement.
const ROUNDS: usize = 3;
/// Points of a box in each round.
const POINTS_OF_ROUND: usize = 8;
/// Maximum number of a claim's nearest points to confirm with fresh seeds.
const CANDIDATES: usize = 3;
/// Offset of the fresh seeds.
const FRESH: u64 = 1000;
/// Factor on the number of fresh seeds.
const MORE_SEEDS: u32 = 2;

/// Extent and options of a search.
#[derive(Clone, Debug)]
pub struct Request {
    /// Points of each hypercube; default: as the box says.
    pub points: Option<u32>,
    /// First seed of all runs, and seed of the choice of points.
    pub seed: u64,
    /// A few points and seeds, for tests.
    pub is_quick: bool,
    /// Runs at a time; default: the number of cores.
    pub jobs: Option<NonZeroUsize>,
}

/// Points of a hypercube with `is_quick`.
const QUICK_POINTS: usize = 4;
/// Seeds at a point with `is_quick`.
const QUICK_SEEDS: u32 = 3;

/// Boxes with their experiments, ready for a search.
pub struct Plan {
    request: Request,
    searched: Vec<Searched>,
    /// Rows without a box.
    open: Vec<Arc<Experiment>>,
    /// Ids in the order of the experiments.
    order: Vec<String>,
    packet: Box<dyn Engine>,
}

impl Plan {
    /// Plans a search of the papers' experiments among `experiments`.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn of(
        request: &Request,
        experiments: Vec<Arc<Experiment>>,
        packet: Box<dyn Engine>,
    ) -> Result<Self> {
        let boxes = &papers()?.boxes;
        let mut searched: Vec<Searched> = boxes
            .iter()
            .map(|of| request.searched(Arc::clone(of)))
            .collect();
        let mut open = vec![];
        let order = experiments
            .iter()
            .map(|experiment| experiment.id.clone())
            .collect();
        for experiment in experiments
            .into_iter()
            .filter(|of| of.standing != Standing::Ours)
        {
            let in_box = experiment
                .in_box
                .as_ref()
                .map(|in_box| in_box.name.as_str());
            match searched
                .iter_mut()
                .find(|of| Some(of.claim_box.name.as_str()) == in_box)
            {
                Some(of) => of.experiments.push(experiment),
                None => open.push(experiment),
            }
        }
        searched.retain(|of| !of.experiments.is_empty());
        if searched.is_empty() && open.is_empty() {
            return Err(
                Error::usage("these statements are this project's, not a paper's")
                    .with_help("`joulepath reproduce` tests them"),
            );
        }
        Ok(Plan {
            request: request.clone(),
            searched,
            open,
            order,
            packet,
        })
    }

    /// Number of claims.
    pub fn claims(&self) -> usize {
        self.open.len()
            + self
                .searched
                .iter()
                .map(|of| of.experiments.len())
                .sum::<usize>()
    }

    /// Number of boxes.
    pub fn boxes(&self) -> usize {
        self.searched.len()
    }
}

impl Request {
    fn searched(&self, claim_box: Arc<ClaimBox>) -> Searched {
        let count = match self.points {
            _ if claim_box.parameters.is_empty() => 0,
            Some(points) => points as usize,
            None if self.is_quick => QUICK_POINTS,
            None => claim_box.points,
        };
        let seeds = if self.is_quick {
            QUICK_SEEDS
        } else {
            claim_box.seeds
        };
        // Each box has its own random points, whatever else is searched.
        let index = claim_box
            .name
            .bytes()
            .fold(7, |sum: u64, byte| sum.wrapping_mul(31) + u64::from(byte));
        let mut points = vec![Point::usual(&claim_box.parameters)];
        points.extend(hypercube(&claim_box.parameters, count, self.seed, index));
        if count > 0 {
            points.extend(claim_box.printed.iter().cloned());
        }
        let random = Stream::new(self.seed, Domain::Placement, index.wrapping_add(1));
        let (experiments, judged) = (vec![], vec![]);
        Searched {
            claim_box,
            experiments,
            points,
            judged,
            hypercube: count,
            seeds,
            random,
        }
    }

    fn rounds(&self) -> usize {
        if self.is_quick { 1 } else { ROUNDS }
    }
}

/// Does every run that `stored` lacks, and finds where each claim holds. Reports failed runs and
/// counts them as missing.
///
/// # Errors
/// If a box names a scenario, key or policy that does not exist.
pub fn search(
    mut plan: Plan,
    stored: &mut StoredRuns,
    by: &Provenance,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Result<Search> {
    if let Some(note) = stored.note() {
        watch(Event::Note(note));
    }
    let (jobs, seed) = (plan.request.jobs, plan.request.seed);
    let mut round = Round {
        engine: &*plan.packet,
        jobs,
        first_seed: seed,
        stored,
        cancel,
        tally: (0, 0.0),
        lacks: 0,
    };
    round.run(&mut plan.searched, watch)?;
    for _ in 0..plan.request.rounds() {
        for of in plan.searched.iter_mut().filter(|of| of.hypercube > 0) {
            let states = of.states();
            let fitting = fit::best(of);
            let known = Known {
                parameters: &of.claim_box.parameters,
                points: &of.points,
                states: &states,
                fitting: &fitting,
            };
            let new = refine(&known, POINTS_OF_ROUND, &mut of.random);
            of.points.extend(new);
        }
        round.run(&mut plan.searched, watch)?;
    }
    let mut nearest = confirm(&plan.searched, &mut round, watch)?;
    describe(&plan.searched, &mut nearest, &mut round, watch)?;
    let (tally, lacks) = (round.tally, round.lacks);
    let answers = Answers {
        searched: &plan.searched,
        nearest: &nearest,
        seed,
        by,
        is_quick: plan.request.is_quick,
    };
    let mut claims = answers.of_boxes();
    let of_rows: Vec<_> = plan
        .open
        .iter()
        .map(|experiment| answer::of_rows(experiment, &claims, by))
        .collect();
    claims.extend(of_rows);
    claims.sort_by_key(|claim| plan.order.iter().position(|id| *id == claim.id));
    Ok(Search {
        counts: Search::count(&claims),
        claims,
        boxes: plan.searched.iter().map(answer::described).collect(),
        fits: plan.searched.iter().filter_map(fit::of).collect(),
        version: by.version.clone(),
        commit: by.commit.clone(),
        command: by.command.clone(),
        seed,
        runs: tally.0,
        run_s: tally.1,
        cores: parallel::cores(None).get() as u32,
        partial: cancel.is_set() || lacks > 0,
        merged: false,
        left_out: vec![],
    })
}

/// By box and claim, the nearest point where the claim holds with fresh seeds too. Among many
/// points some hold by chance.
fn confirm(
    searched: &[Searched],
    round: &mut Round<'_>,
    watch: Watch<'_>,
) -> Result<Vec<Vec<answer::Nearest>>> {
    let mut found: Vec<Vec<answer::Nearest>> = searched
        .iter()
        .map(|of| {
            of.experiments
                .iter()
                .map(|_| answer::Nearest::default())
                .collect()
        })
        .collect();
    for candidate in 0..CANDIDATES {
        let mut again: Vec<Searched> = vec![];
        let mut asked = vec![];
        for (at, of) in searched.iter().enumerate() {
            for (claim, nearest) in found[at].iter().enumerate() {
                let holding = of.holding(claim);
                if let Some(&point) = holding.get(candidate).filter(|_| nearest.at.is_none()) {
                    asked.push((at, claim, point));
                    again.push(of.again(claim, point, MORE_SEEDS));
                }
            }
        }
        if again.is_empty() {
            break;
        }
        round.first_seed += FRESH;
        round.run(&mut again, watch)?;
        round.first_seed -= FRESH;
        for ((at, claim, point), of) in asked.into_iter().zip(&again) {
            let Some(judged) = of.judged.first().and_then(|of_point| of_point.first()) else {
                continue;
            };
            let nearest = &mut found[at][claim];
            match judged.state {
                State::Holds => (nearest.at, nearest.judged) = (Some(point), Some(judged.clone())),
                State::Fails | State::Undecided => nearest.not_again.push(point),
            }
        }
    }
    Ok(found)
}

/// Describes where each claim holds that does so in a part of its box.
fn describe(
    searched: &[Searched],
    nearest: &mut [Vec<answer::Nearest>],
    round: &mut Round<'_>,
    watch: Watch<'_>,
) -> Result<()> {
    for (of, of_box) in searched.iter().zip(nearest) {
        for (claim, nearest) in of_box.iter_mut().enumerate() {
            let states = nearest.states(of, claim);
            if answer::verdict(&states, nearest) != Holds::When || round.cancel.is_set() {
                continue;
            }
            let mut judge = |points: &[Point]| -> Result<Vec<State>> {
                let mut new = [Searched {
                    points: points.to_vec(),
                    experiments: vec![Arc::new(of.experiments[claim].with_deciding_runs())],
                    ..of.again(claim, 0, 1)
                }];
                round.run(&mut new, watch)?;
                Ok(new[0].states().swap_remove(0))
            };
            let columns = region::Columns::of(&of.claim_box.parameters);
            let mut random = of.random.clone();
            nearest.region =
                region::describe(&columns, of.points.clone(), states, &mut random, &mut judge)?;
        }
    }
    Ok(())
}

/// Runs experiments at one point of their box with the seeds that confirmed it, for a claim's
/// command.
///
/// # Errors
/// If the experiments have several boxes or none, or the box has no such key or value.
pub(super) fn at(
    request: &Request,
    experiments: Vec<Arc<Experiment>>,
    at: &[(String, String)],
    packet: Box<dyn Engine>,
    by: &Provenance,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Result<Reproduction> {
    let plan = Plan::of(request, experiments, packet)?;
    if plan.searched.len() != 1 || !plan.open.is_empty() {
        return Err(
            Error::usage("these experiments do not share a box, so --at has no meaning")
                .with_help("name experiments of one set-up, such as `004-fig9`"),
        );
    }
    let mut searched = plan.searched;
    let of = &mut searched[0];
    of.points = vec![Point::parse(&of.claim_box.parameters, at)?];
    of.hypercube = 0;
    of.seeds *= MORE_SEEDS;
    let mut stored = StoredRuns::default();
    let mut round = Round {
        engine: &*plan.packet,
        jobs: request.jobs,
        first_seed: request.seed + FRESH,
        stored: &mut stored,
        cancel,
        tally: (0, 0.0),
        lacks: 0,
    };
    round.run(&mut searched, watch)?;
    let ((runs, run_s), lacks) = (round.tally, round.lacks);
    let of = &searched[0];
    let where_to = of.where_to(0);
    let report = |(claim, experiment): (usize, &Arc<Experiment>)| {
        let findings = at_values(
            of.judged[0][claim].findings.clone(),
            experiment,
            where_to.as_deref(),
        );
        let Judged {
            verdict,
            reading,
            reason,
        } = experiment.judged(&findings);
        Report {
            id: experiment.id.clone(),
            title: experiment.title.clone(),
            source: experiment.source.clone(),
            claim: experiment.claim.clone(),
            verdict,
            reading: reading.or_else(|| where_to.clone()),
            reason,
            cause: experiment.cause.clone(),
            is_ours: false,
            values_of: experiment.set_up_of_its_paper().map(str::to_owned),
            set_up: of.commands(claim, 0),
            engines: vec![],
            findings,
            kernel: None,
            figures: vec![],
            missing: lacks,
            not_in_kernel: None,
            made: None,
        }
    };
    Ok(Reproduction {
        extent: "one point".to_owned(),
        version: by.version.clone(),
        commit: by.commit.clone(),
        command: by.command.clone(),
        run_s,
        runs,
        cores: parallel::cores(None).get() as u32,
        partial: lacks > 0,
        merged: false,
        left_out: vec![],
        papers: vec![],
        set_ups: vec![],
        experiments: of.experiments.iter().enumerate().map(report).collect(),
    })
}

/// Findings of the reading that counts, named after the values that are set: a study's own label,
/// such as `sink of 100 segments`, is wrong where the point sets another value.
fn at_values(
    findings: Vec<Finding>,
    experiment: &Experiment,
    values: Option<&str>,
) -> Vec<Finding> {
    let Some(values) = values else {
        return findings;
    };
    let counts = experiment.judged(&findings).reading;
    let is_other = |of: &Finding| counts.is_some() && of.reading.is_some() && of.reading != counts;
    let named = |of: Finding| match of.reading {
        Some(_) => of.under(values),
        None => of,
    };
    findings
        .into_iter()
        .filter(|of| !is_other(of))
        .map(named)
        .collect()
}

#[cfg(test)]
mod tests;
