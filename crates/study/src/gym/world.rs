//! Where episodes happen.

use std::sync::{Arc, OnceLock};

use joulepath_model::result::Limit;
use joulepath_model::scenario::Scenario;
use joulepath_report::benchmark::Kind as FamilyKind;

use crate::benchmark::{Family, Set, random_scenario};
use crate::compare::limits_of;
use crate::engine::{EngineName, EngineOptions, open};
use crate::error::{Error, Result};

/// Most paths of a random scenario: WiFi and up to three cellular ones.
const MOST_PATHS: usize = 4;
/// Scenarios that episodes are taken from unless told otherwise.
const DRAWS: u32 = 4096;

/// Where episodes happen: always in one scenario, or in another random scenario of a family each time.
#[derive(Debug)]
pub struct World(Kind);

#[derive(Debug)]
enum Kind {
    One { name: String, scenario: Arc<Scenario>, limit: OnceLock<Option<Limit>> },
    Family { family: Family, set: Set, draws: u32 },
}

/// A scenario for one episode.
pub(super) struct Place {
    pub(super) name: String,
    pub(super) scenario: Arc<Scenario>,
}

impl World {
    /// One scenario, which messages call `name`.
    pub fn one(name: &str, scenario: Scenario) -> Self {
        World(Kind::One { name: name.to_owned(), scenario: Arc::new(scenario), limit: OnceLock::new() })
    }

    /// The first `draws` scenarios of `set` of a random family of the benchmark; 4096 if none.
    ///
    /// # Errors
    /// If the family is no random one or has connections beside one another, if the set is sealed,
    /// or if there are no draws or too many.
    pub fn family(family: Family, set: Set, draws: Option<u32>) -> Result<Self> {
        if family.kind() != FamilyKind::Random || family == Family::F8Within {
            let names = Family::of_kind(FamilyKind::Random)
                .iter()
                .copied()
                .filter(|known| *known != Family::F8Within);
            let names: Vec<&str> = names.map(Family::name).collect();
            return Err(Error::usage(format!("agents do not learn on the family `{family}`")).with_help(
                format!("those with one connection and scenarios for learning: {}", names.join(", ")),
            ));
        }
        if set == Set::Sealed {
            return Err(Error::usage(
                "sealed scenarios are not for learning: nobody has seen them before they count",
            )
            .with_help("learn on `train`, and try what was learnt on `check`"));
        }
        let draws = draws.unwrap_or(DRAWS);
        if draws == 0 || random_scenario(family, set, draws).is_none() {
            return Err(Error::usage(format!("{draws} scenarios of `{family}`"))
                .with_help("ask for one at least and for 16777215 at most"));
        }
        Ok(World(Kind::Family { family, set, draws }))
    }

    /// Number of paths that an agent has to reckon with.
    pub fn paths(&self) -> usize {
        match &self.0 {
            Kind::One { scenario, .. } => scenario.paths.len(),
            Kind::Family { .. } => MOST_PATHS,
        }
    }

    /// How many draws there are; none if it is always the same scenario.
    pub fn draws(&self) -> Option<u32> {
        match &self.0 {
            Kind::One { .. } => None,
            Kind::Family { draws, .. } => Some(*draws),
        }
    }

    /// The scenario of one draw, counted from 1.
    pub(super) fn place(&self, draw: Option<u32>) -> Result<Place> {
        match (&self.0, draw) {
            (Kind::One { name, scenario, .. }, None) => {
                Ok(Place { name: name.clone(), scenario: Arc::clone(scenario) })
            }
            (Kind::Family { family, set, .. }, Some(draw)) => {
                let loaded = random_scenario(*family, *set, draw);
                let loaded = loaded.ok_or_else(|| Error::usage(format!("`{family}` has no draw {draw}")))?;
                let (name, scenario) = loaded?;
                Ok(Place { name, scenario: Arc::new(scenario) })
            }
            (Kind::One { .. }, Some(draw)) => {
                Err(Error::usage(format!("draw {draw} of one scenario")).with_help("name a family instead"))
            }
            (Kind::Family { family, .. }, None) => {
                Err(Error::usage(format!("no draw of `{family}` is named")).with_help("draws count from 1"))
            }
        }
    }

    /// The best that the links' rates could reach in an episode; none where it has no bound.
    pub(super) fn limit(&self, place: &Place, seed: u64) -> Option<Limit> {
        let find = || {
            let engine = open(EngineName::Packet, &EngineOptions::default()).ok()?;
            let limits = limits_of(&place.scenario, &[seed], &*engine);
            limits.into_iter().find(|limit| limit.kind == joulepath_report::LIMIT_LINK)
        };
        match &self.0 {
            // Rates that are drawn differ from seed to seed.
            Kind::One { scenario, limit, .. } if joulepath_link::realised(scenario, seed).is_none() => {
                limit.get_or_init(find).clone()
            }
            _ => find(),
        }
    }
}
