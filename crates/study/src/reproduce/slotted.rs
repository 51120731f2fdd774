//! The runs of paper 003's slotted system (docs/models/slotted.md). A run takes a fraction of a second, so
//! none is stored for another session.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

use joulepath_model::cancel::Cancel;
use joulepath_slotted::{Params, Policy, RunError, SlottedResult, run};

use crate::event::{Event, Watch};
use crate::parallel::{self, News};

/// λ of the paper, read as Mbit/s (003-12).
pub(super) const LOADS: [u64; 2] = [35, 45];
/// Algorithm 1.
pub(super) const V: f64 = 100.0;
pub(super) const SWEPT_V: [f64; 9] = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];
/// V of the theorems on fixed windows.
pub(super) const BOUNDED_V: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];
const FIXED_SLOTS: u64 = 50_000;
const SEEDS: u64 = 10;
const SWEEP_SEEDS: u64 = 5;
pub(super) const DURATION_S: f64 = 500.0;
/// "The initial period of 0-30 seconds".
pub(super) const TRANSIENT_S: f64 = 30.0;

/// The paper's three policies, and so-MPTCP with the larger set X.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    So,
    Emptcp,
    Mptcp,
    SoWithinLinks,
}

use Scheme::{Emptcp, Mptcp, So, SoWithinLinks};

pub(super) const FIGURES: [(Scheme, &str); 3] = [(So, "so-MPTCP"), (Emptcp, "eMPTCP"), (Mptcp, "MPTCP")];
const ALL: [Scheme; 4] = [So, Emptcp, Mptcp, SoWithinLinks];

fn policy(scheme: Scheme) -> Policy {
    match scheme {
        So => Policy::so_mptcp(V),
        Emptcp => Policy::Emptcp,
        Mptcp => Policy::Mptcp,
        SoWithinLinks => Policy::so_mptcp_within_links(V),
    }
}

/// Runs of one system and policy, in the order of the seeds.
type Runs = Vec<SlottedResult>;

/// Systems and policies that run together. Experiments share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Batch {
    /// By load and policy.
    Loads,
    /// The same with losses of 1, 0.5 and 2 %.
    LossyLoads,
    /// so-MPTCP over V.
    Sweep,
    /// The same on fixed windows, over the V of the theorems.
    Fixed,
}

impl Batch {
    fn cases(self) -> Vec<(Params, Policy)> {
        match self {
            Batch::Loads => {
                let of_load = |load| ALL.map(move |scheme| (Params::three_radios(load), policy(scheme)));
                LOADS.into_iter().flat_map(of_load).collect()
            }
            Batch::LossyLoads => {
                let of_load =
                    |load| FIGURES.map(move |(scheme, _)| (Params::three_radios_lossy(load), policy(scheme)));
                LOADS.into_iter().flat_map(of_load).collect()
            }
            Batch::Sweep => SWEPT_V.map(|v| (Params::three_radios(LOADS[0]), Policy::so_mptcp(v))).to_vec(),
            Batch::Fixed => {
                BOUNDED_V.map(|v| (Params::fixed_windows(FIXED_SLOTS), Policy::so_mptcp(v))).to_vec()
            }
        }
    }

    fn seeds(self) -> u64 {
        match self {
            Batch::Loads => SEEDS,
            Batch::LossyLoads | Batch::Sweep | Batch::Fixed => SWEEP_SEEDS,
        }
    }
}

/// One system under one policy.
struct Case {
    /// Index of the system among those that run together.
    system: usize,
    batch: Batch,
    /// Index within the batch.
    place: usize,
    params: Params,
    policy: Policy,
    seeds: RangeInclusive<u64>,
}

/// What differs from the usual system, by its number.
pub(super) type Change = (fn(&mut Params, &mut Policy, f64), f64);

/// Batches that run on one system.
pub(super) struct System {
    pub(super) batches: BTreeSet<Batch>,
    pub(super) changes: Vec<Change>,
    /// In place of the batches' own.
    pub(super) seeds: Option<RangeInclusive<u64>>,
}

impl System {
    fn seeds(&self, batch: Batch) -> RangeInclusive<u64> {
        self.seeds.clone().unwrap_or(1..=batch.seeds())
    }

    fn cases(&self, system: usize) -> impl Iterator<Item = Case> {
        let of_batch = move |&batch: &Batch| {
            batch.cases().into_iter().enumerate().map(move |(place, (mut params, mut policy))| {
                for (act, number) in &self.changes {
                    act(&mut params, &mut policy, *number);
                }
                Case { system, batch, place, params, policy, seeds: self.seeds(batch) }
            })
        };
        self.batches.iter().flat_map(of_batch)
    }
}

/// What has run, by batch and case; a case that lacks a run has none.
#[derive(Default)]
pub(super) struct SlottedRuns {
    done: BTreeMap<Batch, Vec<Runs>>,
}

impl SlottedRuns {
    /// Every case of `batches` with every seed, on the usual system.
    pub(super) fn of(
        batches: &BTreeSet<Batch>,
        jobs: Option<NonZeroUsize>,
        watch: Watch<'_>,
        cancel: &Cancel,
    ) -> Self {
        let system = System { batches: batches.clone(), changes: vec![], seeds: None };
        Self::many(&[system], jobs, watch, cancel).pop().expect("one for each system")
    }

    /// Every case of every system with every seed, on `jobs` cores; after a cancellation no more begins. A
    /// case that the cancellation keeps from having all its runs has none: its mean would be of other seeds.
    /// One for each system, in their order.
    pub(super) fn many(
        systems: &[System],
        jobs: Option<NonZeroUsize>,
        watch: Watch<'_>,
        cancel: &Cancel,
    ) -> Vec<Self> {
        let cases: Vec<Case> =
            systems.iter().enumerate().flat_map(|(index, system)| system.cases(index)).collect();
        let tasks: Vec<(&Case, u64)> =
            cases.iter().flat_map(|case| case.seeds.clone().map(move |seed| (case, seed))).collect();
        if !tasks.is_empty() {
            watch(Event::Begin { runs: tasks.len(), takes: None });
        }
        let work =
            |&(case, seed): &(&Case, u64), _: &dyn Fn(())| run(&case.params, case.policy, seed, cancel);
        let outcomes = parallel::run(&tasks, parallel::cores(jobs), cancel, work, |_, news| {
            if let News::Done(_) = news {
                watch(Event::Step);
            }
        });
        let empty = |&batch: &Batch| (batch, vec![vec![]; batch.cases().len()]);
        let mut all: Vec<BTreeMap<Batch, Vec<Runs>>> =
            systems.iter().map(|system| system.batches.iter().map(empty).collect()).collect();
        for (index, outcome) in outcomes {
            let Case { system, batch, place, .. } = tasks[index].0;
            match outcome.unwrap_or_else(|panic| panic!("{panic}")) {
                Ok(result) => all[*system].get_mut(batch).expect("one of the batches")[*place].push(result),
                Err(RunError::Cancelled) => {}
                Err(RunError::Params(error)) => unreachable!("constants that fit: {error}"),
            }
        }
        for (system, done) in systems.iter().zip(&mut all) {
            for (batch, cases) in done {
                let wanted = system.seeds(*batch).count();
                cases.iter_mut().filter(|runs| runs.len() < wanted).for_each(Runs::clear);
            }
        }
        all.into_iter().map(|done| SlottedRuns { done }).collect()
    }

    /// How many runs of a batch there should be and are not.
    pub(super) fn missing(&self, batch: Batch) -> u64 {
        let there: usize = self.cases(batch).map(<[_]>::len).sum();
        batch.cases().len() as u64 * batch.seeds() - there as u64
    }

    /// The runs of a case; all of them, or none.
    pub(super) fn case(&self, batch: Batch, case: usize) -> &[SlottedResult] {
        self.done.get(&batch).map_or(&[], |cases| &cases[case])
    }

    /// Case by case.
    pub(super) fn cases(&self, batch: Batch) -> impl Iterator<Item = &[SlottedResult]> {
        (0..batch.cases().len()).map(move |case| self.case(batch, case))
    }

    /// The runs of a policy at one of the loads.
    pub(super) fn runs(&self, load: u64, scheme: Scheme) -> &[SlottedResult] {
        let scheme = ALL.iter().position(|&known| known == scheme).expect("one of the policies");
        self.case(Batch::Loads, place(load) * ALL.len() + scheme)
    }

    /// With losses, in the order of [`FIGURES`].
    pub(super) fn lossy(&self, load: u64) -> [&[SlottedResult]; FIGURES.len()] {
        std::array::from_fn(|scheme| self.case(Batch::LossyLoads, place(load) * FIGURES.len() + scheme))
    }
}

/// Index of a load.
fn place(load: u64) -> usize {
    LOADS.iter().position(|&known| known == load).expect("one of the paper's loads")
}
