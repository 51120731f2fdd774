//! Applies a setup to one connection of a scenario. Every engine uses this, so all fail the same
//! way.
//!
//! [`Setup::of`](crate::Setup::of) has checked the setup for its own scenario. An error occurs only
//! if the setup runs on another scenario, or if a genetic allocator finds no solution with a seed.

use joulepath_controllers::Controller;
use joulepath_model::random::Stream;
use joulepath_model::scenario::{Competitor, ConnectionGroup, PathIndex, Scenario};
use joulepath_model::units::Nanos;

use crate::allocate::hosted::{AllocatorHost, Hosted, KnownPath, Seen};
use crate::allocate::{
    Allocator, CapacityModel, CostedPath, Eemptcp, Infeasible, Resolver, Sharer, costed_path,
};
use crate::energy::PathEnergy;
use crate::path::traffic_of;
use crate::policy::{PathSelection, controller};
use crate::select::{Demand, Observer, Selector};
use crate::setup::{Setup, SetupError};

/// How a connection's traffic is divided among its paths.
#[derive(Debug)]
pub struct Sharing {
    /// Initial share of the traffic for each path; sum 1, or all 0 while none is known.
    pub of_paths: Vec<f64>,
    /// Changes the shares during the connection; `None`: they stay.
    pub sharer: Option<Sharer>,
}

impl Setup {
    /// The `paths` of a connection that the policy uses; `index` maps each to its path of the
    /// scenario.
    ///
    /// # Errors
    /// [`SetupError::UnusedPath`] if none is left.
    pub fn used<P>(
        &self,
        group: &ConnectionGroup,
        mut paths: Vec<P>,
        index: impl Fn(&P) -> PathIndex,
    ) -> Result<Vec<P>, SetupError> {
        let (Some(only), PathSelection::Single(path)) = (self.only_path(), &self.parts().paths)
        else {
            return Ok(paths);
        };
        paths.retain(|path| index(path) == only);
        if paths.is_empty() {
            return Err(SetupError::UnusedPath {
                policy: self.policy().to_owned(),
                path: path.clone(),
                connection: group.name.clone(),
            });
        }
        Ok(paths)
    }

    /// The allocator's initial shares for `paths` of a connection; `None` if the policy has no
    /// allocator of shares. `random` serves the genetic solver.
    ///
    /// # Errors
    /// [`SetupError::Allocation`] if the allocator's problem has no solution on these paths.
    pub fn sharing(
        &self,
        scenario: &Scenario,
        group: &ConnectionGroup,
        paths: &[PathIndex],
        random: Stream,
    ) -> Result<Option<Sharing>, SetupError> {
        let of = OfConnection {
            scenario,
            group,
            paths,
        };
        match self.parts().allocator {
            Some(Allocator::Eemptcp(allocator)) => {
                let solved = of.solved(allocator, random);
                solved.map(Some).map_err(|error| SetupError::Allocation {
                    policy: self.policy().to_owned(),
                    error,
                })
            }
            Some(Allocator::Hosted(host)) => Ok(Some(of.hosted(host))),
            Some(Allocator::SoMptcp(_)) | None => Ok(None),
        }
    }

    /// The policy's selector for a connection with paths of these names; `None` if the policy has
    /// no selector.
    ///
    /// # Errors
    /// [`SetupError::Selector`] if an option names a path that the connection does not have.
    pub fn bound_selector(&self, names: &[&str]) -> Result<Option<Selector>, SetupError> {
        let Some(spec) = self.selector() else {
            return Ok(None);
        };
        let bound = spec.bind(names);
        bound.map(Some).map_err(|error| SetupError::Selector {
            policy: self.policy().to_owned(),
            error,
        })
    }
}

/// The paths that a connection uses, and their scenario.
struct OfConnection<'a> {
    scenario: &'a Scenario,
    group: &'a ConnectionGroup,
    paths: &'a [PathIndex],
}

impl OfConnection<'_> {
    fn costed(&self, capacity: CapacityModel) -> Vec<CostedPath> {
        let cost =
            |&path: &PathIndex| costed_path(self.scenario, self.group.direction, path, capacity);
        self.paths.iter().map(cost).collect()
    }

    fn solved(&self, allocator: Eemptcp, mut random: Stream) -> Result<Sharing, Infeasible> {
        let costed = self.costed(allocator.capacity);
        let of_paths = allocator.shares(&costed, &mut random)?;
        let capacities_bps = costed.iter().map(|path| path.capacity_bps).collect();
        let sharer = || Sharer::Eemptcp(Resolver::new(allocator, capacities_bps), random);
        Ok(Sharing {
            of_paths,
            sharer: allocator.online.then(sharer),
        })
    }

    /// The first answer of a hosted allocator, from the scenario alone.
    fn hosted(&self, host: &'static AllocatorHost) -> Sharing {
        let known = |(&path, costed): (&PathIndex, CostedPath)| KnownPath {
            name: self.scenario.paths[path].name.clone(),
            expected_bps: costed.capacity_bps,
        };
        let known = self
            .paths
            .iter()
            .zip(self.costed(CapacityModel::Mathis))
            .map(known)
            .collect();
        let traffic = traffic_of(self.group.direction);
        let energy =
            |&path: &PathIndex| PathEnergy::of(&self.scenario.paths[path].energy.model, traffic);
        let energies: Vec<PathEnergy> = self.paths.iter().map(energy).collect();
        let mss_bytes = self.scenario.transport.mss.0 as f64;
        let mut hosted = Hosted::of(host, known);
        let of_paths = hosted.ask(&Seen {
            now: Nanos::ZERO,
            demand: Demand::before(self.group.workload),
            mss_bytes,
            paths: Observer::new(&energies, mss_bytes).paths(),
        });
        let of_paths = of_paths.unwrap_or_else(|| vec![0.0; self.paths.len()]);
        Sharing {
            of_paths,
            sharer: Some(Sharer::Hosted(hosted)),
        }
    }
}

/// The controller of a competitor.
///
/// # Errors
/// [`SetupError::Competitor`] if its controller is unknown.
pub fn competitor_controller(competitor: &Competitor) -> Result<Controller, SetupError> {
    controller(&competitor.cc).map_err(|error| SetupError::Competitor {
        competitor: competitor.name.clone(),
        error,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use joulepath_model::random::Domain;
    use joulepath_model::scenario::load;

    use super::*;
    use crate::allocate::AllocatorHooks;

    /// Two paths with different energies.
    fn scenario(more: &str) -> Scenario {
        let path = |name: &str, energy: &str| {
            format!(
                "[[path]]\nname = \"{name}\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
                 energy = \"{energy}\"\n"
            )
        };
        let (wifi, lte) = (path("wifi", "wifi-huang2012"), path("lte", "lte-huang2012"));
        let text = format!("title = \"t\"\nduration = \"1 s\"\n{wifi}{lte}{more}");
        load(&text, &|name| Err(format!("no trace {name}")))
            .unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn setup(policy: &str, scenario: &Scenario) -> Setup {
        Setup::of(&policy.parse().unwrap(), scenario).unwrap()
    }

    #[test]
    fn a_single_path_policy_uses_only_its_path() {
        let both = scenario("[[connection]]\nname = \"video\"\n");
        let group = &both.connections[0];
        assert_eq!(
            setup("mptcp", &both).used(group, vec![0, 1], |&path| path),
            Ok(vec![0, 1])
        );
        assert_eq!(
            setup("single:lte", &both).used(group, vec![0, 1], |&path| path),
            Ok(vec![1])
        );
    }

    #[test]
    fn a_setup_of_another_scenario_reports_a_connection_without_paths() {
        let both = scenario("[[connection]]\nname = \"video\"\n");
        let wifi = scenario("[[connection]]\nname = \"video\"\npaths = [\"wifi\"]\n");
        let error = setup("single:lte", &both)
            .used(&wifi.connections[0], vec![0], |&path| path)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "`single:lte`: connection `video` does not use the path `lte`"
        );
    }

    fn sharing(policy: &str, scenario: &Scenario) -> Option<Sharing> {
        let random = Stream::new(1, Domain::Allocator, 0);
        setup(policy, scenario)
            .sharing(scenario, &scenario.connections[0], &[0, 1], random)
            .unwrap()
    }

    #[test]
    fn shares_add_up_to_one_and_policies_without_allocator_have_none() {
        let both = scenario("[[connection]]\nname = \"video\"\n");
        assert!(sharing("mptcp", &both).is_none() && sharing("so-mptcp", &both).is_none());
        let online = sharing("eemptcp", &both).unwrap();
        assert!(
            (online.of_paths.iter().sum::<f64>() - 1.0).abs() < 1e-9,
            "{online:?}"
        );
        let once = sharing("eemptcp[solve=once]", &both).unwrap();
        assert_eq!(
            (&once.of_paths, online.sharer.is_some()),
            (&online.of_paths, true)
        );
        assert!(once.sharer.is_none());
    }

    /// Time and paths of each call of the allocator.
    type Questions = Arc<Mutex<Vec<(Nanos, Vec<KnownPath>)>>>;

    /// Answers `[1/4, 3/4]` at the first call, and `[3/4, 1/4]` afterwards.
    struct Turns(Questions, Vec<KnownPath>);

    impl AllocatorHooks for Turns {
        fn shares(&mut self, seen: &Seen) -> Option<Vec<f64>> {
            let mut asked = self.0.lock().unwrap();
            asked.push((seen.now, self.1.clone()));
            Some(if asked.len() == 1 {
                vec![0.25, 0.75]
            } else {
                vec![0.75, 0.25]
            })
        }
    }

    #[test]
    fn a_hosted_allocator_is_called_before_the_start_and_then_once_per_period() {
        let asked = Questions::default();
        let told = Arc::clone(&asked);
        let open = move |paths: &[KnownPath]| -> Box<dyn AllocatorHooks> {
            Box::new(Turns(Arc::clone(&told), paths.to_vec()))
        };
        AllocatorHost::adopt(
            "turns",
            "takes turns",
            Nanos::from_millis(300),
            Box::new(open),
        );
        let both = scenario("[[connection]]\nname = \"video\"\n");
        assert!(setup("eemptcp[allocator=turns]", &both).is_hosted());
        let Sharing { of_paths, sharer } = sharing("eemptcp[allocator=turns]", &both).unwrap();
        assert_eq!(of_paths, [0.25, 0.75]);
        let mut sharer = sharer.unwrap();
        let answers: Vec<u64> = (1..=9)
            .filter(|tenths| {
                let now = Nanos::from_millis(100 * tenths);
                let seen = Seen {
                    now,
                    demand: Demand::Endless,
                    mss_bytes: 1460.0,
                    paths: &[],
                };
                sharer.look(&seen).is_some()
            })
            .collect();
        assert_eq!(answers, [3, 6, 9]);
        let asked = asked.lock().unwrap();
        assert_eq!(
            asked
                .iter()
                .map(|(now, _)| now.0 / 100_000_000)
                .collect::<Vec<_>>(),
            [0, 3, 6, 9]
        );
        // No loss: the rate of the link, less headers of 40 bytes per 1460.
        let known: Vec<(&str, f64)> = asked[0]
            .1
            .iter()
            .map(|path| (path.name.as_str(), path.expected_bps.round()))
            .collect();
        assert_eq!(known, [("wifi", 9_733_333.0), ("lte", 9_733_333.0)]);
    }
}
