//! Checks a request and fills in its defaults.

use std::num::NonZeroUsize;

use joulepath_control::policy;
use joulepath_model::policy::Policy;
use joulepath_report::benchmark::{Extent, Kind, OracleExtent, Sealed};
use serde::{Deserialize, Serialize};

use super::family::Family;
use super::field;
use super::oracle;
use super::scenarios;
use super::set::Set;
use crate::error::{Error, Kind as ErrorKind, Result};
use crate::policies;

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

/// A benchmark as users ask for it. The fields are the options of the command, with their help, and
/// the arguments in Python.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Only these families, separated by commas: ranked or random ones; all ranked ones if absent.
    #[cfg_attr(feature = "clap", arg(long = "family", value_name = "NAME"))]
    #[cfg_attr(feature = "clap", arg(value_delimiter = ',', num_args = 1..))]
    pub families: Vec<String>,
    /// Random families: scenarios of `train` (if absent), `check` or `sealed`. Without --family:
    /// all of them.
    #[cfg_attr(feature = "clap", arg(long, value_name = "SET"))]
    pub random: Option<String>,
    /// Scenarios of each family; 12 of ranked families, 64 of random ones if absent.
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    #[cfg_attr(feature = "clap", arg(value_parser = clap::value_parser!(u32).range(1..=100_000)))]
    pub scenarios: Option<u32>,
    /// Number of the first scenario of each family; 1 if absent.
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    #[cfg_attr(feature = "clap", arg(value_parser = clap::value_parser!(u32).range(1..=10_000_000)))]
    pub first: Option<u32>,
    /// Ranked families: seed of the scenarios, 1 if absent.
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub seed: Option<u64>,
    /// Ranked families: one scenario of each and two of the papers', cut short, under eight
    /// policies.
    #[cfg_attr(feature = "clap", arg(long))]
    pub quick: bool,
    /// These policies, separated by commas. If absent: all in ranked families; uncoupled, mptcp,
    /// emptcp, es-mptcp, overflow in random ones.
    #[cfg_attr(feature = "clap", arg(long, value_name = "LIST"))]
    pub policies: Option<String>,
    /// Random families: run these policies a second time, knowing the rate (within a factor of
    /// 1.3), RTT and loss of each path from an earlier visit.
    #[cfg_attr(feature = "clap", arg(long, value_name = "LIST"))]
    pub warm: Option<String>,
    /// Random families: compare with the oracle, the best of a portfolio of policies, chosen in
    /// hindsight on each scenario.
    #[cfg_attr(feature = "clap", arg(long))]
    pub oracle: bool,
    /// Search for schedules of paths that beat the oracle, in N runs per scenario.
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", requires = "oracle"))]
    #[cfg_attr(feature = "clap", arg(value_parser = clap::value_parser!(u32).range(1..=100_000)))]
    pub search: Option<u32>,
    /// Number of seeds of each policy on each scenario. If absent: 3, or 2 with --quick; random
    /// families without competing TCP flows: 1.
    #[cfg_attr(feature = "clap", arg(short = 'n', long, value_name = "N"))]
    #[cfg_attr(feature = "clap", arg(value_parser = crate::seeds::parser()))]
    pub seeds: Option<u32>,
    /// Number of cores, for runs at a time; all if absent. The results do not depend on it.
    #[cfg_attr(feature = "clap", arg(short, long, value_name = "N"))]
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
    pub fn of(request: &Request) -> Result<Self> {
        let named = request.families.iter().map(|name| name.parse());
        let named: Vec<Family> = named.collect::<Result<_>>()?;
        let set: Option<Set> = request.random.as_deref().map(str::parse).transpose()?;
        let listed = |list: &Option<String>| list.as_deref().map_or(Ok(vec![]), policies::parse);
        let (asked_policies, warm) = (listed(&request.policies)?, listed(&request.warm)?);
        let kind = kind(&named, set)?;
        refuse_of_other_kind(kind, request)?;
        let asked = |family: &Family| named.is_empty() || named.contains(family);
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
        let policies = if asked_policies.is_empty() {
            policies
        } else {
            asked_policies
        };
        for policy in policies.iter().chain(&warm) {
            policy::resolve(policy).map_err(|error| Error::Setup {
                error: Box::new(error.into()),
                kind: ErrorKind::Usage,
            })?;
        }
        Ok(Plan {
            kind,
            set: (kind == Kind::Random).then_some(set.unwrap_or(Set::Train)),
            first: request.first.unwrap_or(1),
            families,
            scenario_seed: request.seed.unwrap_or(SCENARIO_SEED),
            scenarios: request.scenarios.unwrap_or(scenarios),
            is_quick: request.quick,
            policies,
            warm,
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

fn kind(families: &[Family], set: Option<Set>) -> Result<Kind> {
    let random = families
        .iter()
        .filter(|family| family.kind() == Kind::Random)
        .count();
    match (random, families.len()) {
        (0, 0) if set.is_some() => Ok(Kind::Random),
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
            request.seed.is_some(),
            "random families have sets: train, check or sealed",
        ),
    ];
    let random = [
        (
            "a set",
            request.random.is_some(),
            "leave the families out, or name random ones, such as f1-bulk",
        ),
        (
            "warm",
            request.warm.is_some(),
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
