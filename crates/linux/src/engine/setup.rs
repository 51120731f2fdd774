//! A policy, as far as this kernel can do it.

use joulepath_control::allocate::{Allocator, Eemptcp, SoMptcpOptions};
use joulepath_control::policy::{self, PolicyParts, Selector};
use joulepath_control::select::SelectorSpec;
use joulepath_controllers::{Connection, Controller};
use joulepath_model::policy::Policy;
use joulepath_model::scenario::{PathIndex, Scenario};

use crate::error::{Error, Result};

/// The kernel's own scheduler, as the registry calls it.
pub(super) const MAINLINE: &str = "mainline";
/// The scheduler of bundles that say nothing about it: it gives way to the kernel's.
const ORDINARY: &str = "minrtt";

/// A policy that the kernel can run.
#[derive(Clone, Debug)]
pub struct Setup {
    policy: String,
    pub(super) controller: Controller,
    /// The controller's parameters, set.
    pub(super) parameters: Connection,
    /// Whether any parameter is not the default.
    pub(super) is_tuned: bool,
    /// Where target shares come from.
    pub(super) allocator: Option<Eemptcp>,
    pub(super) selection: Selection,
    /// so-MPTCP's allotments, as pacing rates and backup flags.
    pub(super) paced: Option<SoMptcpOptions>,
    /// The policy's own scheduler, where the kernel's takes its place.
    pub(super) replaced_scheduler: Option<String>,
}

/// Which paths carry data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    All,
    Only(PathIndex),
    /// As the traffic wants it.
    Dynamic(SelectorSpec),
}

impl Setup {
    /// What `policy` comes to in the kernel.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a scheduler, selector or allocator that mainline Linux does not have; [`Error::Run`] for a
    /// policy that does not exist or does not fit the scenario.
    pub fn of(policy: &Policy, scenario: &Scenario) -> Result<Self> {
        let name = policy.to_string();
        let wrong = |error: &dyn std::fmt::Display| Error::Run(format!("`{name}`: {error}"));
        let exists = |name: &str| Controller::by_name(name).is_ok();
        let parts = policy::resolve(policy, &exists).map_err(|error| wrong(&error))?;
        let controller = Controller::by_name(&parts.cc).map_err(|error| wrong(&error))?;
        let mut parameters = Connection::new(1);
        for (key, value) in &parts.cc_params {
            controller.set_param(&mut parameters, key, value).map_err(|error| wrong(&error))?;
        }
        Ok(Setup {
            controller,
            parameters,
            is_tuned: !parts.cc_params.is_empty(),
            replaced_scheduler: scheduler(policy, &parts)?,
            selection: selection(policy, &parts, scenario)?,
            paced: paced(policy, &parts)?,
            allocator: match parts.allocator {
                Some(Allocator::Eemptcp(allocator)) => Some(allocator),
                Some(Allocator::SoMptcp(_)) | None => None,
            },
            policy: name,
        })
    }

    /// As the user wrote it.
    pub fn policy(&self) -> &str {
        &self.policy
    }
}

/// The scheduler that gives way to the kernel's, if it is another one.
fn scheduler(policy: &Policy, parts: &PolicyParts) -> Result<Option<String>> {
    let is_asked_for = policy.overrides.iter().any(|(key, _)| key == "scheduler");
    if parts.scheduler == MAINLINE {
        return Ok(None);
    }
    // so-MPTCP's own only carries out what its allocator says: see `paced`.
    let gives_way = parts.scheduler == ORDINARY || matches!(parts.allocator, Some(Allocator::SoMptcp(_)));
    if gives_way && !is_asked_for && parts.scheduler_options.is_empty() {
        return Ok(Some(parts.scheduler.clone()));
    }
    Err(Error::Unsupported {
        what: format!("`{policy}` with the scheduler `{}`", parts.scheduler),
        why: "mainline Linux has one packet scheduler of its own and takes no other".into(),
        remedy: "leave the scheduler out, or use `--engine packet`".into(),
    })
}

fn selection(policy: &Policy, parts: &PolicyParts, scenario: &Scenario) -> Result<Selection> {
    match &parts.selector {
        Selector::All => Ok(Selection::All),
        Selector::Single(name) => {
            let path = scenario.paths.iter().position(|path| path.name == *name);
            let unknown = || Error::Run(format!("`{policy}`: the scenario has no path `{name}`"));
            path.map(Selection::Only).ok_or_else(unknown)
        }
        Selector::Dynamic(spec) => Ok(Selection::Dynamic(spec.clone())),
    }
}

/// so-MPTCP sets the same backup flags as a selector would.
fn paced(policy: &Policy, parts: &PolicyParts) -> Result<Option<SoMptcpOptions>> {
    let Some(Allocator::SoMptcp(options)) = parts.allocator else { return Ok(None) };
    match &parts.selector {
        Selector::All | Selector::Single(_) => Ok(Some(options)),
        Selector::Dynamic(spec) => Err(Error::Unsupported {
            what: format!("`{policy}` with the allocator `so-mptcp` and the selector `{}`", spec.name),
            why: "in the kernel engine both would set the backup flags of the same subflows".into(),
            remedy: "leave one of the two out, or use `--engine packet`".into(),
        }),
    }
}
