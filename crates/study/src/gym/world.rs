//! Scenarios of episodes.

use std::sync::{Arc, OnceLock};

use joulepath_model::result::Reference;
use joulepath_model::scenario::Scenario;
use joulepath_report::benchmark::Kind as FamilyKind;

use crate::benchmark::{Family, Set, random_scenario};
use crate::compare::limits_of;
use crate::engine::{EngineName, EngineOptions, open};
use crate::error::{Error, Result};

/// Maximum number of paths of a random scenario: WiFi and up to three cellular ones.
const MOST_PATHS: usize = 4;
/// Default number of scenarios for episodes.
const DRAWS: u32 = 4096;

/// Scenarios of episodes: always the same one, or random ones of a family.
#[derive(Debug)]
pub struct World(Kind);

#[derive(Debug)]
enum Kind {
    One {
        name: String,
        scenario: Arc<Scenario>,
        limit: OnceLock<Option<Box<Reference>>>,
    },
    Family {
        family: Family,
        set: Set,
        draws: u32,
    },
}

/// The scenario of an episode.
pub(super) struct Place {
    pub(super) name: String,
    pub(super) scenario: Arc<Scenario>,
}

impl World {
    /// A single scenario, called `name` in messages.
    pub fn one(name: &str, scenario: Scenario) -> Self {
        World(Kind::One {
            name: name.to_owned(),
            scenario: Arc::new(scenario),
            limit: OnceLock::new(),
        })
    }

    /// The first `draws` scenarios of `set` of a random family of the benchmark; default 4096.
    ///
    /// # Errors
    /// If the family is not random or has several connections, if the set is sealed, or if `draws`
    /// is 0 or too large.
    pub fn family(family: Family, set: Set, draws: Option<u32>) -> Result<Self> {
        if family.kind() != FamilyKind::Random || family == Family::F8Within {
            let names = Family::of_kind(FamilyKind::Random)
                .iter()
                .copied()
                .filter(|known| *known != Family::F8Within);
            let names: Vec<&str> = names.map(Family::name).collect();
            return Err(
                Error::usage(format!("agents do not learn on the family `{family}`"))
                    .with_help(format!("families for learning: {}", names.join(", "))),
            );
        }
        if set == Set::Sealed {
            return Err(Error::usage(
                "sealed scenarios are not for learning: they must stay unseen",
            )
            .with_help("learn on `train` and evaluate on `check`"));
        }
        let draws = draws.unwrap_or(DRAWS);
        if draws == 0 || random_scenario(family, set, draws).is_none() {
            return Err(Error::usage(format!("{draws} scenarios of `{family}`"))
                .with_help("use 1 to 16777215"));
        }
        Ok(World(Kind::Family { family, set, draws }))
    }

    /// Maximum number of paths.
    pub fn paths(&self) -> usize {
        match &self.0 {
            Kind::One { scenario, .. } => scenario.paths.len(),
            Kind::Family { .. } => MOST_PATHS,
        }
    }

    /// Number of draws; `None` for a single scenario.
    pub fn draws(&self) -> Option<u32> {
        match &self.0 {
            Kind::One { .. } => None,
            Kind::Family { draws, .. } => Some(*draws),
        }
    }

    /// Scenario of a draw, from 1.
    pub(super) fn place(&self, draw: Option<u32>) -> Result<Place> {
        match (&self.0, draw) {
            (Kind::One { name, scenario, .. }, None) => Ok(Place {
                name: name.clone(),
                scenario: Arc::clone(scenario),
            }),
            (Kind::Family { family, set, .. }, Some(draw)) => {
                let loaded = random_scenario(*family, *set, draw);
                let loaded =
                    loaded.ok_or_else(|| Error::usage(format!("`{family}` has no draw {draw}")))?;
                let (name, scenario) = loaded?;
                Ok(Place {
                    name,
                    scenario: Arc::new(scenario),
                })
            }
            (Kind::One { .. }, Some(draw)) => {
                Err(Error::usage(format!("draw {draw} of one scenario"))
                    .with_help("name a family instead"))
            }
            (Kind::Family { family, .. }, None) => {
                Err(Error::usage(format!("no draw of `{family}` is given"))
                    .with_help("draws count from 1"))
            }
        }
    }

    /// Limit of the links' rates in an episode; `None` without a bound.
    pub(super) fn limit(&self, place: &Place, seed: u64) -> Option<Reference> {
        let find = || {
            let engine = open(EngineName::Packet, &EngineOptions::default()).ok()?;
            let limits = limits_of(&place.scenario, &[seed], &*engine);
            limits
                .into_iter()
                .find(|limit| limit.kind == joulepath_report::LINK_BOUND)
        };
        match &self.0 {
            // Random rates differ from seed to seed.
            Kind::One {
                scenario, limit, ..
            } if joulepath_link::realised(scenario, seed).is_none() => limit
                .get_or_init(|| find().map(Box::new))
                .as_deref()
                .cloned(),
            _ => find(),
        }
    }
}
