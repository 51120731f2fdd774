//! What a setup means for one connection of a scenario. Every engine asks here, so that all of them fail
//! alike.
//!
//! [`Setup::of`](crate::Setup::of) has checked all of this against its own scenario. Errors are left for a
//! setup that runs on another scenario, and for a genetic allocator that finds no solution with one of the
//! seeds.

use joulepath_controllers::Controller;
use joulepath_model::random::Stream;
use joulepath_model::scenario::{Competitor, ConnectionGroup, Direction, PathIndex, Scenario};

use crate::allocate::{CostedPath, costed_path};
use crate::policy::{PathSelection, controller};
use crate::select::Selector;
use crate::setup::{Setup, SetupError};

/// The solution of an allocator's problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// Share of the traffic that each path shall carry; they add up to 1.
    pub of_paths: Vec<f64>,
    /// Capacity of each path that the problem was solved for, bit/s.
    pub capacities_bps: Vec<f64>,
}

impl Setup {
    /// The `paths` of a connection that the policy uses; `index` says which path of the scenario each of them
    /// is.
    ///
    /// # Errors
    /// [`SetupError::UnusedPath`] if none is left.
    pub fn used<P>(
        &self,
        group: &ConnectionGroup,
        mut paths: Vec<P>,
        index: impl Fn(&P) -> PathIndex,
    ) -> Result<Vec<P>, SetupError> {
        let (Some(only), PathSelection::Single(path)) = (self.only_path(), &self.parts().paths) else {
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

    /// The shares that the policy's allocator gives to `paths`; none if the policy has no allocator of
    /// shares.
    ///
    /// # Errors
    /// [`SetupError::Allocation`] if the allocator's problem has no solution on these paths.
    pub fn shares(
        &self,
        scenario: &Scenario,
        direction: Direction,
        paths: &[PathIndex],
        random: &mut Stream,
    ) -> Result<Option<Shares>, SetupError> {
        let Some(allocator) = self.allocator() else { return Ok(None) };
        let cost = |&path: &PathIndex| costed_path(scenario, direction, path, allocator.capacity);
        let costed: Vec<CostedPath> = paths.iter().map(cost).collect();
        let of_paths = allocator
            .shares(&costed, random)
            .map_err(|error| SetupError::Allocation { policy: self.policy().to_owned(), error })?;
        Ok(Some(Shares { of_paths, capacities_bps: costed.iter().map(|path| path.capacity_bps).collect() }))
    }

    /// The policy's selector for a connection whose paths have these names; none if the policy has no
    /// selector.
    ///
    /// # Errors
    /// [`SetupError::Selector`] if an option names a path that the connection does not have.
    pub fn bound_selector(&self, names: &[&str]) -> Result<Option<Selector>, SetupError> {
        let Some(spec) = self.selector() else { return Ok(None) };
        let bound = spec.bind(names);
        bound.map(Some).map_err(|error| SetupError::Selector { policy: self.policy().to_owned(), error })
    }
}

/// The controller of a competitor.
///
/// # Errors
/// [`SetupError::Competitor`] if there is no controller of that name.
pub fn competitor_controller(competitor: &Competitor) -> Result<Controller, SetupError> {
    controller(&competitor.cc)
        .map_err(|error| SetupError::Competitor { competitor: competitor.name.clone(), error })
}

#[cfg(test)]
mod tests {
    use joulepath_model::random::Domain;
    use joulepath_model::scenario::load;

    use super::*;

    /// Two paths whose energies differ.
    fn scenario(more: &str) -> Scenario {
        let path = |name: &str, energy: &str| {
            format!(
                "[[path]]\nname = \"{name}\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
                 energy = \"{energy}\"\n"
            )
        };
        let (wifi, lte) = (path("wifi", "wifi-huang2012"), path("lte", "lte-huang2012"));
        let text = format!("title = \"t\"\nduration = \"1 s\"\n{wifi}{lte}{more}");
        load(&text, &|name| Err(format!("no trace {name}"))).unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn setup(policy: &str, scenario: &Scenario) -> Setup {
        Setup::of(&policy.parse().unwrap(), scenario).unwrap()
    }

    #[test]
    fn the_only_path_is_all_that_is_used() {
        let both = scenario("[[connection]]\nname = \"video\"\n");
        let group = &both.connections[0];
        assert_eq!(setup("mptcp", &both).used(group, vec![0, 1], |&path| path), Ok(vec![0, 1]));
        assert_eq!(setup("single:lte", &both).used(group, vec![0, 1], |&path| path), Ok(vec![1]));
    }

    #[test]
    fn a_setup_for_another_scenario_leaves_a_connection_without_paths() {
        let both = scenario("[[connection]]\nname = \"video\"\n");
        let wifi = scenario("[[connection]]\nname = \"video\"\npaths = [\"wifi\"]\n");
        let error = setup("single:lte", &both).used(&wifi.connections[0], vec![0], |&path| path).unwrap_err();
        assert_eq!(error.to_string(), "`single:lte`: connection `video` does not use the path `lte`");
    }

    #[test]
    fn shares_add_up_and_other_policies_have_none() {
        let both = scenario("[[connection]]\nname = \"video\"\n");
        let shares = |policy: &str| {
            let mut random = Stream::new(1, Domain::Allocator, 0);
            setup(policy, &both).shares(&both, Direction::Download, &[0, 1], &mut random).unwrap()
        };
        assert_eq!(shares("mptcp"), None);
        let shares = shares("eemptcp").unwrap();
        assert!((shares.of_paths.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
        assert_eq!(shares.capacities_bps.len(), 2);
    }
}
