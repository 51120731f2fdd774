//! Checks a request and fills in its defaults.

use std::num::NonZeroUsize;

use joulepath_control::policy;
use joulepath_model::policy::Policy;
use joulepath_report::benchmark::{Extent, Kind, OracleExtent, Sealed};

use super::family::Family;
use super::field;
use super::oracle;
use super::scenarios;
use super::set::Set;
use crate::error::{Error, Kind as ErrorKind, Result};

/// Seeds of each policy on each scenario. Few, because scenarios differ more than seeds do.
const SEEDS_RANKED: u32 = 3;
const SEEDS_QUICK: u32 = 2;
const SEEDS_RANDOM: u32 = 1;
/// Of random families that judge harm: goodputs beside TCP flows differ between seeds by more than
/// the tenth that counts as harm.
const SEEDS_BESIDE_TCPS: u32 = 3;
/// Scenarios of each random family, enough to measure a change.
const SCENARIOS_RANDOM: u32 = 64;
/// Seed of the published scenarios of ranked families.
const SCENARIO_SEED: u64 = 1;
/// Default policies of random families: uncoupled TCPs, the standard, and the path selectors of the
/// papers.
const POLICIES_RANDOM: [&str; 5] = ["uncoupled", "mptcp", "emptcp", "es-mptcp", "overflow"];

/// Amount of work. The defaults depend on the kind of the families.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// All of one kind: ranked or random. If empty: all random families if `set` is given, else all
    /// ranked ones.
    pub families: Vec<Family>,
    /// Set of the random families; default [`Set::Train`].
    pub set: Option<Set>,
    /// Ranked families: seed of their scenarios; default 1.
    pub scenario_seed: Option<u64>,
    /// Number of the first scenario of each family, from 1; default 1.
    pub first: Option<u32>,
    /// Scenarios of each family except the papers'; default 12 for ranked families, 64 for random
    /// ones.
    pub scenarios: Option<u32>,
    /// Ranked families: run one scenario of each and two of the papers', shortened, with eight
    /// policies.
    pub quick: bool,
    /// The policies; default: the whole registry for ranked families, five policies for random
    /// ones.
    pub policies: Vec<Policy>,
    /// Random families: policies that also run with the path history of an earlier visit: rate, RTT
    /// and loss of each path, the rate known within a factor of 1.3.
    pub warm: Vec<Policy>,
    /// Random families: compare with the best of a portfolio of policies, chosen in hindsight.
    pub oracle: bool,
    /// With `oracle`: search for better schedules of paths, in this many runs per scenario.
    pub search: Option<u32>,
    /// Seeds of each policy on each scenario; default 3, with `quick` 2, for random families
    /// without harm 1.
    pub seeds: Option<u32>,
    /// Runs at a time; default: the number of cores. The results do not depend on it.
    pub jobs: Option<NonZeroUsize>,
}

/// A checked request with every default filled in.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Kind of all families.
    pub kind: Kind,
    /// Set of the random scenarios; `None` for ranked families.
    pub set: Option<Set>,
    /// Number of the first scenario of each family.
    pub first: u32,
    /// Families in the order of the tables.
    pub(super) families: Vec<Family>,
    pub(super) scenario_seed: u64,
    /// Scenarios of each family.
    pub(super) scenarios: u32,
    pub(super) is_quick: bool,
    /// Policies in the order of the request.
    pub(super) policies: Vec<Policy>,
    pub(super) warm: Vec<Policy>,
    pub(super) has_oracle: bool,
    /// Runs of the search on each scenario; 0 without a search.
    pub(super) search: u32,
    /// Seeds of families of this kind; for random families see [`Plan::seeds_of`].
    seeds: u32,
    /// Seeds as requested.
    pub(super) asked_seeds: Option<u32>,
    pub(super) jobs: Option<NonZeroUsize>,
}

impl Plan {
    /// Checks `request`.
    ///
    /// # Errors
    /// If families are of both kinds, an option belongs to the other kind, there are no scenarios,
    /// or a policy does not exist.
    pub fn of(request: Request) -> Result<Self> {
        let kind = kind(&request)?;
        refuse_of_other_kind(kind, &request)?;
        let asked =
            |family: &Family| request.families.is_empty() || request.families.contains(family);
        let families = Family::of_kind(kind)
            .iter()
            .copied()
            .filter(asked)
            .collect();
        let known = |name: &str| name.parse().expect("the policies are well-formed");
        let (seeds, scenarios, policies) = match kind {
            Kind::Ranked if request.quick => (SEEDS_QUICK, 1, field::policies(true)),
            Kind::Ranked => (SEEDS_RANKED, scenarios::RANKED, field::policies(false)),
            Kind::Random => (
                SEEDS_RANDOM,
                SCENARIOS_RANDOM,
                POLICIES_RANDOM.map(known).to_vec(),
            ),
        };
        let policies = if request.policies.is_empty() {
            policies
        } else {
            request.policies
        };
        for policy in policies.iter().chain(&request.warm) {
            policy::resolve(policy).map_err(|error| Error::Setup {
                error: Box::new(error.into()),
                kind: ErrorKind::Usage,
            })?;
        }
        Ok(Plan {
            kind,
            set: (kind == Kind::Random).then_some(request.set.unwrap_or(Set::Train)),
            first: request.first.unwrap_or(1),
            families,
            scenario_seed: request.scenario_seed.unwrap_or(SCENARIO_SEED),
            scenarios: request.scenarios.unwrap_or(scenarios),
            is_quick: request.quick,
            policies,
            warm: request.warm,
            has_oracle: request.oracle,
            search: request.search.unwrap_or(0),
            seeds: request.seeds.unwrap_or(seeds),
            asked_seeds: request.seeds,
            jobs: request.jobs,
        })
    }

    /// Whether the scenarios are sealed.
    pub fn is_sealed(&self) -> bool {
        self.set == Some(Set::Sealed)
    }

    /// Seeds of each policy on each scenario of a family.
    pub(super) fn seeds_of(&self, family: Family) -> u32 {
        let beside_tcps =
            (self.kind == Kind::Random && family.judges_harm()).then_some(SEEDS_BESIDE_TCPS);
        self.asked_seeds.or(beside_tcps).unwrap_or(self.seeds)
    }

    pub(super) fn extent(&self, engine: &str, sealed: Option<Sealed>) -> Extent {
        Extent {
            kind: self.kind,
            engine: engine.to_owned(),
            seeds: self.seeds,
            seeds_beside_tcps: (self.families.iter().map(|&family| self.seeds_of(family)))
                .find(|&seeds| seeds != self.seeds),
            scenario_seed: (self.kind == Kind::Ranked).then_some(self.scenario_seed),
            random_set: self.set.map(|set| set.name().to_owned()),
            first: self.first,
            scenarios_of_each: self.scenarios,
            sealed,
            partial: false,
            oracle: self.has_oracle.then(|| OracleExtent {
                portfolio: oracle::PORTFOLIO.to_owned(),
                search_runs: (self.search > 0).then_some(self.search),
            }),
        }
    }
}

fn kind(request: &Request) -> Result<Kind> {
    let random = request
        .families
        .iter()
        .filter(|family| family.kind() == Kind::Random)
        .count();
    match (random, request.families.len()) {
        (0, 0) if request.set.is_some() => Ok(Kind::Random),
        (0, _) => Ok(Kind::Ranked),
        (random, all) if random == all => Ok(Kind::Random),
        _ => Err(
            Error::usage("ranked and random families are measured in different ways")
                .with_help("run them one after the other"),
        ),
    }
}

/// Refuses options that do not apply to families of `kind`.
fn refuse_of_other_kind(kind: Kind, request: &Request) -> Result<()> {
    let ranked = [
        (
            "quick",
            request.quick,
            "two scenarios of each family are quick",
        ),
        (
            "a seed of scenarios",
            request.scenario_seed.is_some(),
            "random families have sets: train, check or sealed",
        ),
    ];
    let random = [
        (
            "a set",
            request.set.is_some(),
            "leave the families out, or name random ones, such as f1-bulk",
        ),
        (
            "warm",
            !request.warm.is_empty(),
            "name random families, such as f1-bulk",
        ),
        (
            "an oracle",
            request.oracle,
            "name random families, such as f1-bulk",
        ),
    ];
    let (given, other): (&[_], _) = if kind == Kind::Ranked {
        (&random, "random")
    } else {
        (&ranked, "ranked")
    };
    if request.scenarios == Some(0) {
        return Err(Error::usage("there is no scenario").with_help("ask for at least one"));
    }
    if request.search.is_some() && !request.oracle {
        return Err(
            Error::usage("a search starts from the oracle").with_help("ask for the oracle too")
        );
    }
    match given.iter().find(|(_, given, _)| *given) {
        None => Ok(()),
        Some((what, _, help)) => {
            Err(Error::usage(format!("{what} is for {other} families")).with_help(*help))
        }
    }
}
