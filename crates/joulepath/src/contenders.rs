//! Policies, looked up and checked against a scenario before anything runs.

use joulepath_control::allocate::{Allocator, costed_path};
use joulepath_control::policy::{self, POLICIES, PolicyError, PolicyParts, Selector};
use joulepath_control::schedule::Scheduler;
use joulepath_control::select::SelectorSpec;
use joulepath_controllers::{Connection, Controller, ParamError};
use joulepath_link::random::{Domain, Stream};
use joulepath_model::policy::{Policy, split_list};
use joulepath_model::scenario::{ConnectionGroup, PathIndex, Scenario};
use joulepath_packet::Setup;

use crate::failure::{Exit, Failure};
use crate::nearest::{nearest, suggest};

/// A policy that is ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    /// As the user wrote it.
    pub(crate) policy: String,
    /// For humans.
    pub(crate) label: String,
    /// What it is made of.
    pub(crate) parts: String,
    /// For the engine.
    pub(crate) setup: Setup,
}

/// The policies of a comma-separated list.
///
/// # Errors
/// If one of them is malformed or stands twice, or there is none.
pub(crate) fn parse(list: &str) -> Result<Vec<Policy>, Failure> {
    let mut policies: Vec<Policy> = Vec::new();
    for text in split_list(list) {
        let policy = text.parse().map_err(Failure::usage)?;
        if policies.contains(&policy) {
            return Err(Failure::usage(format!("`{policy}` stands twice in the list of policies")));
        }
        policies.push(policy);
    }
    if policies.is_empty() {
        return Err(
            Failure::usage("the list of policies is empty").help("write for example `uncoupled,mptcp`")
        );
    }
    Ok(policies)
}

/// What `policy` is made of.
///
/// # Errors
/// If it does not exist, or names a part that does not.
pub(crate) fn resolve(policy: &Policy) -> Result<PolicyParts, PolicyError> {
    policy::resolve(policy, &|name| Controller::by_name(name).is_ok())
}

/// How a policy of these parts is shown.
pub(crate) fn label(parts: &PolicyParts) -> String {
    let is_reconstructed =
        |name: &str| Controller::by_name(name).is_ok_and(|c| c.display_name().ends_with("(recon.)"));
    policy::label(parts, &is_reconstructed)
}

/// Every policy, ready to run on `scenario`. `wrong` is the exit code if one does not fit: who wrote it?
///
/// # Errors
/// The first policy that does not exist or does not fit, or a competitor that could not run.
pub(crate) fn prepare(
    policies: &[Policy],
    scenario: &Scenario,
    wrong: Exit,
) -> Result<Vec<Contender>, Failure> {
    for competitor in &scenario.competitors {
        controller(&competitor.cc, Exit::Failed)?;
    }
    policies.iter().map(|policy| Check { policy, scenario, wrong }.contender()).collect()
}

/// The congestion controller called `name`.
///
/// # Errors
/// If there is none.
pub(crate) fn controller(name: &str, wrong: Exit) -> Result<Controller, Failure> {
    Controller::by_name(name).map_err(|error| {
        let names: Vec<&str> = Controller::all().map(|controller| controller.name()).collect();
        Failure::message(wrong, format!("there is no congestion controller `{}`", error.name))
            .help(suggest(name, &names))
    })
}

/// What to do about a parameter that could not be set.
pub(crate) fn parameter_failure(controller: Controller, error: &ParamError, wrong: Exit) -> Failure {
    let failure = Failure::message(wrong, error);
    let ParamError::Unknown { name, .. } = error else { return failure };
    let known: Vec<&str> = controller.params().map(|param| param.name()).collect();
    match nearest(name, known) {
        Some(nearest) => failure.help(format!("did you mean `{nearest}`?")),
        None => failure.help("`joulepath list controllers` names every controller's parameters"),
    }
}

/// One policy and what it is checked against.
struct Check<'a> {
    policy: &'a Policy,
    scenario: &'a Scenario,
    wrong: Exit,
}

impl Check<'_> {
    fn contender(&self) -> Result<Contender, Failure> {
        let parts = resolve(self.policy).map_err(|error| self.unresolved(error))?;
        let controller = controller(&parts.cc, self.wrong)?;
        self.check_parameters(controller, &parts)?;
        let only_path = self.only_path(&parts.selector)?;
        self.check_allocation(&parts, only_path)?;
        self.check_subflows(&parts)?;
        // The parameters' validity was part of resolving; a full segment fits 32 bits.
        let mss_bytes = self.scenario.transport.mss.0 as u32;
        let scheduler = Scheduler::by_name(&parts.scheduler, &parts.scheduler_options, mss_bytes)
            .map_err(|error| Failure::message(self.wrong, error))?;
        let policy = self.policy.to_string();
        Ok(Contender {
            label: label(&parts),
            parts: parts.to_string(),
            setup: Setup::new(&policy, parts, controller, scheduler, only_path),
            policy,
        })
    }

    /// The registry of policies does not know the controllers: both are searched for what was meant.
    fn unresolved(&self, error: PolicyError) -> Failure {
        match error {
            PolicyError::UnknownPolicy { name, .. } => {
                let controllers = Controller::all().map(|controller| controller.name());
                let bundles = POLICIES.iter().map(|info| info.name);
                let mut known: Vec<&str> = bundles.chain(controllers).collect();
                known.sort_unstable();
                known.dedup();
                Failure::message(self.wrong, format!("there is no policy `{name}`"))
                    .help(suggest(&name, &known))
            }
            PolicyError::UnknownController { name } => match controller(&name, self.wrong) {
                Err(failure) => failure,
                Ok(_) => Failure::message(self.wrong, PolicyError::UnknownController { name }),
            },
            other => Failure::message(self.wrong, other)
                .help("`joulepath list policies` and `joulepath list schedulers` show what can be written"),
        }
    }

    fn check_parameters(&self, controller: Controller, parts: &PolicyParts) -> Result<(), Failure> {
        let mut connection = Connection::new(1);
        for (name, value) in &parts.cc_params {
            controller
                .set_param(&mut connection, name, value)
                .map_err(|error| parameter_failure(controller, &error, self.wrong))?;
        }
        Ok(())
    }

    /// The path of `single:PATH`, which every connection must have.
    fn only_path(&self, selector: &Selector) -> Result<Option<PathIndex>, Failure> {
        let name = match selector {
            Selector::All => return Ok(None),
            Selector::Dynamic(spec) => return self.check_selector(spec).map(|()| None),
            Selector::Single(name) => name,
        };
        let names: Vec<&str> = self.scenario.paths.iter().map(|path| path.name.as_str()).collect();
        let unknown = || {
            Failure::message(self.wrong, format!("`{}`: the scenario has no path `{name}`", self.policy))
                .help(suggest(name, &names))
        };
        let index = names.iter().position(|known| known == name).ok_or_else(unknown)?;
        let lacks = |group: &&ConnectionGroup| !group.paths.contains(&index);
        match self.scenario.connections.iter().find(lacks) {
            Some(group) => Err(Failure::message(
                self.wrong,
                format!("`{}`: connection `{}` does not use the path `{name}`", self.policy, group.name),
            )
            .help("choose a path that every connection has")),
            None => Ok(Some(index)),
        }
    }

    /// Whether every connection has the paths that the selector's options name.
    fn check_selector(&self, spec: &SelectorSpec) -> Result<(), Failure> {
        for group in &self.scenario.connections {
            let names: Vec<&str> =
                group.paths.iter().map(|&path| self.scenario.paths[path].name.as_str()).collect();
            spec.bind(&names)
                .map_err(|error| Failure::message(self.wrong, format!("`{}`: {error}", self.policy)))?;
        }
        Ok(())
    }

    /// How many subflows there are is for paths to say, or for a topology.
    fn check_subflows(&self, parts: &PolicyParts) -> Result<(), Failure> {
        if parts.subflows.is_none() || self.scenario.topology.is_some() {
            return Ok(());
        }
        let message = format!(
            "`{}`: `subflows` chooses routes in a [topology], which this scenario has not",
            self.policy
        );
        Err(Failure::message(self.wrong, message)
            .help("leave `subflows` out: there is one subflow on each path"))
    }

    /// Whether the allocator's problem has a solution on every connection's paths.
    fn check_allocation(&self, parts: &PolicyParts, only_path: Option<PathIndex>) -> Result<(), Failure> {
        let Some(Allocator::Eemptcp(allocator)) = &parts.allocator else { return Ok(()) };
        for group in &self.scenario.connections {
            let used = group.paths.iter().copied().filter(|path| only_path.is_none_or(|only| only == *path));
            let costed: Vec<_> = used
                .map(|path| costed_path(self.scenario, group.direction, path, allocator.capacity))
                .collect();
            // Only the genetic solver draws, and what it finds on one stream says enough about the problem.
            let mut random = Stream::new(0, Domain::Allocator, 0);
            allocator
                .shares(&costed, &mut random)
                .map_err(|error| Failure::message(self.wrong, format!("`{}`: {error}", self.policy)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::scenario;

    use super::*;

    fn prepared(policies: &str) -> Result<Vec<Contender>, Failure> {
        let text = crate::shipped::find("quick").unwrap().1;
        let scenario = scenario::load(text, &|_| Err("no traces".to_owned())).unwrap();
        prepare(&parse(policies)?, &scenario, Exit::Usage)
    }

    #[test]
    fn every_controller_is_a_policy() {
        let names: Vec<&str> = Controller::all().map(|controller| controller.name()).collect();
        assert_eq!(prepared(&names.join(",")).unwrap().len(), names.len());
    }

    #[test]
    fn a_single_path_is_found_by_its_name() {
        let contenders = prepared("single:lte,mptcp").unwrap();
        assert_eq!(contenders[0].setup.only_path, Some(1));
        assert_eq!(contenders[1].setup.only_path, None);
    }

    #[test]
    fn a_policy_that_does_not_fit_is_a_usage_error() {
        for list in [
            "mtpcp",
            "mptcp[cc=oila]",
            "single:wfi",
            "dts[shpe=intended]",
            "mptcp[",
            "",
            "linux[penalise=off]",
        ] {
            assert_eq!(prepared(list).expect_err(list).exit(), Exit::Usage, "{list}");
        }
    }
}
