//! A policy ready to run on a scenario: looked up and checked once, for all engines.
//!
//! ```text
//!   "mptcp[cc=olia]" ──Policy::from_str──► Policy ──Setup::of(scenario)──► Setup ──► every engine
//! ```
//! [`Setup::of`] checks that the policy exists and fits the scenario. An engine refuses a setup
//! that it does not support with an error of its own.

use joulepath_controllers::{Connection, Controller};
use joulepath_model::names::suggest;
use joulepath_model::policy::Policy;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::scenario::{ConnectionGroup, PathIndex, Scenario};

use crate::allocate::{Allocator, Eemptcp, Infeasible, SoMptcpOptions, costed_path};
use crate::options::OptionError;
use crate::policy::{self, PathSelection, PolicyError, PolicyParts};
use crate::schedule::{MAX_SUBFLOWS, Scheduler};
use crate::select::SelectorSpec;

/// A policy with its parts looked up, checked against its scenario.
#[derive(Clone, Debug)]
pub struct Setup {
    policy: String,
    label: String,
    parts: PolicyParts,
    scheduler: Scheduler,
    only_path: Option<PathIndex>,
}

/// Reason why a policy cannot run on a scenario. [`SetupError::help`] has the next step if the
/// message does not.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SetupError {
    /// The policy, or one of its parts or options, does not exist.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The controller of one of the scenario's competitors does not exist: an error of the
    /// scenario, not of the policy.
    #[error("competitor `{competitor}`: {error}")]
    Competitor {
        /// Name of the competitor.
        competitor: String,
        /// The unknown controller.
        error: PolicyError,
    },
    /// `single:PATH` with a path that the scenario does not have.
    #[error("`{policy}`: the scenario has no path `{path}`")]
    UnknownPath {
        /// The policy as written.
        policy: String,
        /// The path as written.
        path: String,
        /// All paths of the scenario.
        known: Vec<String>,
    },
    /// `single:PATH` with a path that a connection does not use.
    #[error("`{policy}`: connection `{connection}` does not use the path `{path}`")]
    UnusedPath {
        /// The policy as written.
        policy: String,
        /// The path as written.
        path: String,
        /// Name of the connection.
        connection: String,
    },
    /// An option of the selector names a path that a connection does not have.
    #[error("`{policy}`: {error}")]
    Selector {
        /// The policy as written.
        policy: String,
        /// The option.
        error: OptionError,
    },
    /// The allocator's problem has no solution on the paths of a connection.
    #[error("`{policy}`: {error}")]
    Allocation {
        /// The policy as written.
        policy: String,
        /// The reason, and what to change.
        error: Infeasible,
    },
    /// `subflows=` without a topology.
    #[error(
        "`{policy}`: `subflows` chooses routes in a [topology], which this scenario does not have"
    )]
    Subflows {
        /// The policy as written.
        policy: String,
    },
}

impl SetupError {
    /// What to do next, if the message does not say it.
    pub fn help(&self) -> Option<String> {
        match self {
            SetupError::Policy(error) | SetupError::Competitor { error, .. } => error.help(),
            SetupError::UnknownPath { path, known, .. } => Some(suggest(
                path,
                &known.iter().map(String::as_str).collect::<Vec<_>>(),
            )),
            SetupError::UnusedPath { .. } => {
                Some("choose a path that every connection has".to_owned())
            }
            SetupError::Subflows { .. } => {
                Some("leave `subflows` out: there is one subflow on each path".to_owned())
            }
            SetupError::Selector { .. } | SetupError::Allocation { .. } => None,
        }
    }

    /// True if the scenario itself is wrong: no policy could run on it.
    pub fn is_of_scenario(&self) -> bool {
        matches!(self, SetupError::Competitor { .. })
    }
}

impl Setup {
    /// `policy`, ready to run on `scenario`.
    ///
    /// # Errors
    /// If the policy does not exist or does not fit the scenario, or if a competitor's controller
    /// does not exist.
    pub fn of(policy: &Policy, scenario: &Scenario) -> Result<Self, SetupError> {
        check_competitors(scenario)?;
        let parts = policy::resolve(policy)?;
        let text = policy.to_string();
        let check = Check {
            policy: &text,
            scenario,
        };
        let only_path = check.paths(&parts.paths)?;
        check.allocation(&parts, only_path)?;
        check.subflows(&parts)?;
        // A full segment fits 32 bits.
        let mss_bytes = scenario.transport.mss.0 as u32;
        let scheduler = Scheduler::by_name(parts.scheduler, &parts.scheduler_options, mss_bytes)
            .expect("a resolved policy has a scheduler whose options fit");
        Ok(Setup {
            label: parts.label(),
            policy: text,
            parts,
            scheduler,
            only_path,
        })
    }

    /// The setup with [`Controller::commanded`] instead of the policy's controller and allocator:
    /// windows and rates follow commands.
    #[must_use]
    pub fn commanded(mut self) -> Self {
        self.policy = format!("{} (steered)", self.policy);
        self.label = format!("{} (steered)", self.label);
        self.parts.controller = Controller::commanded();
        self.parts.parameters = Connection::new(1);
        self.parts.allocator = None;
        self
    }

    /// The policy as the user wrote it, as stored in results.
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// Label of the policy.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Its parts by name; printed as `lia + minrtt`.
    pub fn parts(&self) -> &PolicyParts {
        &self.parts
    }

    /// True if the host program implements a part of it.
    pub fn is_hosted(&self) -> bool {
        self.has_hosted_hooks() || matches!(self.parts.allocator, Some(Allocator::Hosted(_)))
    }

    /// True if the host program implements a part that acts on single packets and ACKs: any part
    /// except the allocator, which the equation engines also support.
    pub fn has_hosted_hooks(&self) -> bool {
        let selects = self.selector().is_some_and(SelectorSpec::is_hosted);
        self.controller().is_hosted() || matches!(self.scheduler, Scheduler::Hosted(_)) || selects
    }

    /// Congestion controller of every subflow.
    pub fn controller(&self) -> Controller {
        self.parts.controller
    }

    /// The controller's state for a connection of `n` subflows, with the policy's parameters set.
    ///
    /// # Panics
    /// If `n` exceeds [`MAX_SUBFLOWS`].
    pub fn connection(&self, n: usize) -> Connection {
        assert!(
            n <= MAX_SUBFLOWS,
            "a connection has at most {MAX_SUBFLOWS} subflows, not {n}"
        );
        let mut connection = self.parts.parameters;
        connection.n = n as u32;
        connection
    }

    /// Packet scheduler in its initial state.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Source of the controller's target shares, if EEMPTCP's problem gives them.
    pub fn allocator(&self) -> Option<Eemptcp> {
        match self.parts.allocator {
            Some(Allocator::Eemptcp(allocator)) => Some(allocator),
            Some(Allocator::SoMptcp(_) | Allocator::Hosted(_)) | None => None,
        }
    }

    /// Source of the allotments for the scheduler `allotted`.
    pub fn slots(&self) -> Option<SoMptcpOptions> {
        match self.parts.allocator {
            Some(Allocator::SoMptcp(options)) => Some(options),
            Some(Allocator::Eemptcp(_) | Allocator::Hosted(_)) | None => None,
        }
    }

    /// The selector that opens and closes subflows during the run. Without it the policy uses all
    /// paths, or its only one.
    pub fn selector(&self) -> Option<&SelectorSpec> {
        match &self.parts.paths {
            PathSelection::Dynamic(selector) => Some(selector),
            PathSelection::All | PathSelection::Single(_) => None,
        }
    }

    /// The only path, for `single:PATH`.
    pub fn only_path(&self) -> Option<PathIndex> {
        self.only_path
    }

    /// Subflows of each connection in a topology; `None`: the topology's number.
    pub fn subflows(&self) -> Option<u32> {
        self.parts.subflows
    }
}

fn check_competitors(scenario: &Scenario) -> Result<(), SetupError> {
    for competitor in &scenario.competitors {
        policy::controller(&competitor.cc).map_err(|error| SetupError::Competitor {
            competitor: competitor.name.clone(),
            error,
        })?;
    }
    Ok(())
}

/// A policy and the scenario to check it against.
struct Check<'a> {
    policy: &'a str,
    scenario: &'a Scenario,
}

impl Check<'_> {
    /// Checks the path of `single:PATH`, which every connection must have, or the paths that a
    /// selector's options name.
    fn paths(&self, selection: &PathSelection) -> Result<Option<PathIndex>, SetupError> {
        let path = match selection {
            PathSelection::All => return Ok(None),
            PathSelection::Dynamic(spec) => return self.selector(spec).map(|()| None),
            PathSelection::Single(path) => path,
        };
        let (policy, scenario) = (self.policy.to_owned(), self.scenario);
        let Some(index) = scenario.paths.iter().position(|known| known.name == *path) else {
            let known = scenario
                .paths
                .iter()
                .map(|path| path.name.clone())
                .collect();
            return Err(SetupError::UnknownPath {
                policy,
                path: path.clone(),
                known,
            });
        };
        let lacks = |group: &&ConnectionGroup| !group.paths.contains(&index);
        match scenario.connections.iter().find(lacks) {
            Some(group) => {
                let connection = group.name.clone();
                Err(SetupError::UnusedPath {
                    policy,
                    path: path.clone(),
                    connection,
                })
            }
            None => Ok(Some(index)),
        }
    }

    fn selector(&self, spec: &SelectorSpec) -> Result<(), SetupError> {
        for group in &self.scenario.connections {
            let names: Vec<&str> = group
                .paths
                .iter()
                .map(|&path| self.scenario.paths[path].name.as_str())
                .collect();
            spec.bind(&names).map_err(|error| SetupError::Selector {
                policy: self.policy.to_owned(),
                error,
            })?;
        }
        Ok(())
    }

    /// The paths determine the number of subflows, or a topology does.
    fn subflows(&self, parts: &PolicyParts) -> Result<(), SetupError> {
        match parts.subflows {
            Some(_) if self.scenario.topology.is_none() => Err(SetupError::Subflows {
                policy: self.policy.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Checks that the allocator's problem has a solution on every connection's paths.
    fn allocation(
        &self,
        parts: &PolicyParts,
        only_path: Option<PathIndex>,
    ) -> Result<(), SetupError> {
        let Some(Allocator::Eemptcp(allocator)) = &parts.allocator else {
            return Ok(());
        };
        for group in &self.scenario.connections {
            let used = group
                .paths
                .iter()
                .copied()
                .filter(|path| only_path.is_none_or(|only| only == *path));
            let costed: Vec<_> = used
                .map(|path| costed_path(self.scenario, group.direction, path, allocator.capacity))
                .collect();
            // Only the genetic solver draws random numbers; one stream is representative of the
            // problem.
            let mut random = Stream::new(0, Domain::Allocator, 0);
            allocator
                .shares(&costed, &mut random)
                .map_err(|error| SetupError::Allocation {
                    policy: self.policy.to_owned(),
                    error,
                })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::scenario::load;

    use super::*;
    use crate::policy::POLICIES;

    const TWO_PATHS: &str = r#"
        title = "two paths"
        duration = "10 s"
        [[path]]
        name = "wifi"
        rate = "20 Mbit/s"
        delay = "20 ms"
        queue = "50 packets"
        energy = "wifi-seed000"
        [[path]]
        name = "lte"
        rate = "10 Mbit/s"
        delay = "20 ms"
        queue = "50 packets"
        energy = "wifi-seed000"
        [[connection]]
        name = "video"
        [[connection]]
        name = "backup"
        paths = ["lte"]
    "#;

    fn scenario(text: &str) -> Scenario {
        load(text, &|name| Err(format!("no trace {name}")))
            .unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn setup(policy: &str) -> Result<Setup, SetupError> {
        Setup::of(&policy.parse().unwrap(), &scenario(TWO_PATHS))
    }

    #[test]
    fn every_controller_is_a_policy_unless_a_bundle_has_its_name() {
        for controller in Controller::all() {
            let name = controller.name();
            let bundle = POLICIES.iter().find(|bundle| bundle.name == name);
            let own = setup(name).unwrap();
            let expected = (name, bundle.map_or(name, |bundle| bundle.cc));
            assert_eq!((own.policy(), own.controller().name()), expected);
            assert_eq!(
                setup(&format!("mptcp[cc={name}]")).unwrap().controller(),
                controller
            );
        }
    }

    #[test]
    fn a_single_path_is_found_by_its_name() {
        assert_eq!(setup("single:lte").unwrap().only_path(), Some(1));
        assert_eq!(setup("mptcp").unwrap().only_path(), None);
    }

    #[test]
    fn each_engine_finds_the_parts_that_it_needs() {
        let one = setup("mptcp[cc=ewtcp,a=0.5,scheduler=mainline]").unwrap();
        let connection = one.connection(2);
        assert_eq!(
            (connection.n, connection.subflows[1].ssthresh),
            (2, 0x7fff_ffff)
        );
        assert_eq!(
            one.controller()
                .param_value(&connection, "a")
                .unwrap()
                .to_string(),
            "0.5"
        );
        assert!(one.parts().is_tuned() && one.parts().insists_on_scheduler());
        assert!(matches!(one.scheduler(), Scheduler::Mainline(_)));
        assert_eq!(one.parts().to_string(), "ewtcp + mainline");
        let plain = setup("mptcp").unwrap();
        assert!(!plain.parts().is_tuned() && !plain.parts().insists_on_scheduler());
        assert!(
            setup("mptcp[penalise=off]")
                .unwrap()
                .parts()
                .insists_on_scheduler()
        );
        assert!(
            setup("eemptcp")
                .unwrap()
                .allocator()
                .is_some_and(|allocator| allocator.online)
        );
        assert_eq!(
            setup("so-mptcp[V=7]")
                .unwrap()
                .slots()
                .map(|options| options.v),
            Some(7.0)
        );
        assert_eq!(
            setup("overflow").unwrap().selector().map(|spec| spec.name),
            Some("overflow")
        );
    }

    #[test]
    fn a_policy_that_does_not_fit_the_scenario_has_an_error_with_help() {
        for (policy, message, help) in [
            (
                "mtpcp",
                "there is no policy `mtpcp`",
                "did you mean `mptcp`?",
            ),
            (
                "single:wfi",
                "`single:wfi`: the scenario has no path `wfi`",
                "did you mean `wifi`?",
            ),
            (
                "single:wifi",
                "connection `backup` does not use the path `wifi`",
                "every connection has",
            ),
            (
                "mptcp[subflows=2]",
                "which this scenario does not have",
                "leave `subflows` out",
            ),
            (
                "backup[primary=umts]",
                "`backup[primary=umts]`: `primary=umts`: the connection has no path",
                "",
            ),
            (
                "eemptcp[reading=A]",
                "`eemptcp[reading=A]`: no split reaches",
                "",
            ),
        ] {
            let error = setup(policy).expect_err(policy);
            let (said, next) = (error.to_string(), error.help().unwrap_or_default());
            assert!(
                said.contains(message) && next.contains(help),
                "{policy}: {said}; {next}"
            );
            assert!(!error.is_of_scenario(), "{policy}");
        }
    }

    #[test]
    fn an_unknown_controller_of_a_competitor_is_a_scenario_error() {
        let rival = "[[competitor]]\nname = \"tcp\"\npath = \"lte\"\ncc = \"oila\"\n";
        let scenario = scenario(&format!("{TWO_PATHS}{rival}"));
        let error = Setup::of(&"mptcp".parse().unwrap(), &scenario).unwrap_err();
        assert_eq!(
            error.to_string(),
            "competitor `tcp`: there is no congestion controller `oila`"
        );
        assert!(error.help().unwrap().contains("did you mean `olia`?") && error.is_of_scenario());
    }
}
