//! Policies: a name stands for a congestion controller, packet scheduler, path selector and rate
//! allocator.
//!
//! ```text
//!   mptcp[cc=olia,penalise=off,ell=3]
//!     │      │         │          └── any other key: a parameter of the controller
//!     │      │         └── option of the scheduler
//!     │      └── replaces a part
//!     └── registered bundle, or the name of any controller: that controller with minrtt
//! ```
//!
//! [`crate::Setup`] checks whether a policy fits a scenario.

use std::fmt;

use joulepath_controllers::{self as controllers, Capability, Connection, Controller, ParamError};
use joulepath_model::energy::Confidence;
use joulepath_model::names::{nearest, suggest};
use joulepath_model::policy::{Policy, PolicySyntax};

use crate::allocate::{ALLOCATORS, Allocator};
use crate::options::OptionError;
use crate::schedule::{self, MAX_SUBFLOWS, SCHEDULERS, Scheduler};
use crate::select::{SELECTORS, SelectorSpec};

mod bundles;
pub use bundles::{POLICIES, PolicyInfo};

/// The paths that carry data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathSelection {
    /// Every path of the connection.
    All,
    /// One path, by its name.
    Single(String),
    /// The selector chooses.
    Dynamic(SelectorSpec),
}

/// The parts of a policy, checked without a scenario. Created by [`resolve`].
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyParts {
    /// Congestion controller of every subflow.
    pub controller: Controller,
    /// The controller's parameters, set in a connection of one subflow.
    pub parameters: Connection,
    /// Packet scheduler, by its registry name.
    pub scheduler: &'static str,
    /// The scheduler's options.
    pub scheduler_options: Vec<(String, String)>,
    /// The paths that carry data. [`crate::Setup::of`] checks path names against a scenario.
    pub paths: PathSelection,
    /// Sets the controller's target shares, or the scheduler's allotments, if the policy has an
    /// allocator.
    pub allocator: Option<Allocator>,
    /// Subflows of each connection in a topology, if the policy sets their number.
    pub subflows: Option<u32>,
    /// Title without the overrides.
    title: String,
    /// Overrides as written.
    overrides: Vec<(String, String)>,
}

/// Reason why a policy cannot be resolved. [`PolicyError::help`] says what to write instead if the
/// message does not.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PolicyError {
    /// Neither a bundle nor a controller.
    #[error("there is no policy `{name}`")]
    UnknownPolicy {
        /// As written.
        name: String,
    },
    /// No controller has this name.
    #[error("there is no congestion controller `{name}`")]
    UnknownController {
        /// As written.
        name: String,
    },
    /// A parameter that the controller does not have, or an invalid value.
    #[error(transparent)]
    Parameter {
        /// The error.
        #[from]
        error: ParamError,
    },
    /// `single` without a path.
    #[error("`single` needs the path's name; write for example `single:wifi`")]
    NoPath,
    /// A colon after a name that takes none.
    #[error("`{name}` takes nothing after a colon; only `single:PATH` does")]
    Argument {
        /// The policy's name.
        name: String,
    },
    /// `selector=`, `allocator=` or `subflows=` with an unknown value.
    #[error("`{key}={value}`: write {expected}")]
    Part {
        /// The key.
        key: &'static str,
        /// As written.
        value: String,
        /// Valid values.
        expected: &'static str,
    },
    /// An option of a part that the policy does not have.
    #[error("`{key}` is an option of {owner}, which `{policy}` does not use; add `{fix}`")]
    Misplaced {
        /// The key.
        key: String,
        /// `scheduler minrtt`, …
        owner: String,
        /// The policy as written.
        policy: String,
        /// The override that makes it fit.
        fix: String,
    },
    /// A key is written twice.
    #[error("`{key}` is written twice; keep one")]
    Twice {
        /// The key.
        key: String,
    },
    /// The scheduler waits for allotments that no allocator provides, or the reverse.
    #[error(
        "`{policy}`: scheduler `allotted` and allocator `so-mptcp` belong together; add `{fix}`"
    )]
    Unmatched {
        /// The policy as written.
        policy: String,
        /// The override that makes it fit.
        fix: &'static str,
    },
    /// An allocator sets target shares that the controller does not read.
    #[error(
        "`{policy}`: the controller {controller} reads no target shares, which `{allocator}` sets; \
         add `cc=eemptcp`"
    )]
    Unread {
        /// The policy as written.
        policy: String,
        /// The controller.
        controller: &'static str,
        /// The allocator.
        allocator: &'static str,
    },
    /// A scheduler, selector or allocator, or one of its options.
    #[error(transparent)]
    Option(#[from] OptionError),
}

impl PolicyError {
    /// What to write instead, if the message does not say it: the most similar name, or where all
    /// names are listed.
    pub fn help(&self) -> Option<String> {
        let controllers = || Controller::known().map(|controller| controller.name());
        match self {
            PolicyError::UnknownPolicy { name } => {
                let bundles = POLICIES.iter().map(|info| info.name);
                let mut known: Vec<&str> = bundles.chain(controllers()).collect();
                known.sort_unstable();
                known.dedup();
                Some(suggest(name, &known))
            }
            PolicyError::UnknownController { name } => {
                let bundle = POLICIES.iter().find(|info| info.name == name);
                if let Some(PolicyInfo { cc, .. }) = bundle {
                    return Some(format!("`{name}` is a policy; its controller is `{cc}`"));
                }
                Some(suggest(name, &controllers().collect::<Vec<_>>()))
            }
            PolicyError::Parameter { error } => parameter_help(error),
            _ => Some(
                "`joulepath list policies` and `joulepath list schedulers` show the valid names"
                    .into(),
            ),
        }
    }
}

/// What to do about a parameter that could not be set, if the message does not say it.
pub fn parameter_help(error: &ParamError) -> Option<String> {
    let ParamError::Unknown {
        controller, name, ..
    } = error
    else {
        return None;
    };
    let known = Controller::known().find(|known| known.name() == *controller);
    let params = known
        .iter()
        .flat_map(|controller| controller.params().map(|param| param.name()));
    let parts = ["cc", "scheduler", "selector", "allocator", "subflows"];
    Some(match nearest(name, params.chain(parts)) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "`joulepath list controllers` names every controller's parameters".to_owned(),
    })
}

impl PolicyParts {
    fn of(info: &PolicyInfo) -> Self {
        PolicyParts {
            controller: Controller::by_name(info.cc).expect("bundles name registered controllers"),
            parameters: Connection::new(1),
            scheduler: info.scheduler,
            scheduler_options: vec![],
            paths: match info.selector {
                "all" => PathSelection::All,
                name => PathSelection::Dynamic(
                    SelectorSpec::by_name(name).expect("bundles name registered selectors"),
                ),
            },
            allocator: info.allocator.map(|name| {
                Allocator::by_name(name, &[]).expect("bundles name registered allocators")
            }),
            subflows: None,
            title: info.title.to_owned(),
            overrides: vec![],
        }
    }

    /// True if the policy changes a parameter of its controller.
    pub fn is_tuned(&self) -> bool {
        self.parameters
            .parameters()
            .iter()
            .any(|distance| *distance != 0)
    }

    /// True if the policy itself names its scheduler or sets one of its options. A scheduler
    /// inherited from a bundle may be replaced if there is no choice.
    pub fn insists_on_scheduler(&self) -> bool {
        !self.scheduler_options.is_empty()
            || self.overrides.iter().any(|(key, _)| key == "scheduler")
    }

    /// Reliability of the definitions of its scheduler and selector: the lower one.
    pub fn confidence(&self) -> Confidence {
        let scheduler = schedule::info(self.scheduler)
            .ok()
            .map(|info| info.confidence);
        let selector = match &self.paths {
            PathSelection::Dynamic(spec) => Some(spec.info().confidence),
            PathSelection::All | PathSelection::Single(_) => None,
        };
        let of_both = scheduler.into_iter().chain(selector);
        of_both
            .max_by_key(|&confidence| confidence as u8)
            .unwrap_or(Confidence::Verified)
    }

    /// The policy as shown to users: title, overrides, and `(recon.)` if one of its parts is a
    /// reconstruction.
    pub fn label(&self) -> String {
        let mut label = self.title.clone();
        if !self.overrides.is_empty() {
            let pairs: Vec<_> = self
                .overrides
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            label = format!("{label} [{}]", pairs.join(", "));
        }
        let controller = self.controller.confidence() == controllers::Confidence::Reconstructed
            && !self.controller.is_adopted();
        if controller || self.confidence() == Confidence::Reconstruction {
            label.push_str(" (recon.)");
        }
        label
    }
}

/// The controller of this name. `bbr` is BBRv1, as in Linux.
fn registered(name: &str) -> Result<Controller, controllers::UnknownController> {
    let found = Controller::by_name(name);
    if found.is_err() && name == "bbr" {
        Controller::by_name("bbr1")
    } else {
        found
    }
}

/// The congestion controller called `name`.
///
/// # Errors
/// [`PolicyError::UnknownController`] if there is none.
pub fn controller(name: &str) -> Result<Controller, PolicyError> {
    registered(name).map_err(|unknown| PolicyError::UnknownController { name: unknown.name })
}

/// The policy that `text` names by the grammar of [`Policy`], or by its
/// [label](PolicyParts::label).
///
/// # Errors
/// If it is neither.
pub fn named(text: &str) -> Result<Policy, PolicySyntax> {
    let label = text.trim().trim_end_matches(" (recon.)");
    if let Some(path) = label.strip_suffix(" only") {
        return format!("single:{path}").parse();
    }
    let (title, overrides) = label.split_at(label.find('[').unwrap_or(label.len()));
    match POLICIES.iter().find(|info| info.title == title.trim_end()) {
        Some(info) => format!("{}{overrides}", info.name).parse(),
        None => format!("{}{overrides}", title.trim_end()).parse(),
    }
}

/// The parts of `policy`.
///
/// # Errors
/// An unknown policy, part, option or parameter. [`PolicyError::help`] has the nearest name.
pub fn resolve(policy: &Policy) -> Result<PolicyParts, PolicyError> {
    let mut parts = base(policy)?;
    let (replacing, rest): (Vec<_>, Vec<_>) =
        policy.overrides.iter().cloned().partition(|(key, _)| {
            matches!(
                key.as_str(),
                "cc" | "scheduler" | "selector" | "allocator" | "subflows"
            )
        });
    for (i, (key, _)) in policy.overrides.iter().enumerate() {
        if policy.overrides[..i]
            .iter()
            .any(|(earlier, _)| earlier == key)
        {
            return Err(PolicyError::Twice { key: key.clone() });
        }
    }
    for (key, value) in &replacing {
        replace(&mut parts, key, value)?;
    }
    distribute(&mut parts, policy, rest)?;
    parts.overrides = policy.overrides.clone();
    Ok(parts)
}

/// The bundle or the controller that the policy's name denotes, with its argument.
fn base(policy: &Policy) -> Result<PolicyParts, PolicyError> {
    let name = policy.name.as_str();
    let mut parts = match (
        POLICIES.iter().find(|info| info.name == name),
        registered(name),
    ) {
        (Some(info), _) => PolicyParts::of(info),
        (None, Ok(controller)) => PolicyParts {
            controller,
            title: name.to_owned(),
            ..PolicyParts::of(&POLICIES[0])
        },
        (None, Err(_)) => {
            return Err(PolicyError::UnknownPolicy {
                name: name.to_owned(),
            });
        }
    };
    match (name, &policy.argument) {
        ("single", Some(path)) => {
            parts.paths = PathSelection::Single(path.clone());
            parts.title = format!("{path} only");
        }
        ("single", None) => return Err(PolicyError::NoPath),
        (_, Some(_)) => {
            return Err(PolicyError::Argument {
                name: name.to_owned(),
            });
        }
        (_, None) => {}
    }
    Ok(parts)
}

/// Replaces one part.
fn replace(parts: &mut PolicyParts, key: &str, value: &str) -> Result<(), PolicyError> {
    let wrong = |key, expected| {
        Err(PolicyError::Part {
            key,
            value: value.to_owned(),
            expected,
        })
    };
    match (key, value) {
        ("cc", name) => parts.controller = controller(name)?,
        ("scheduler", name) => parts.scheduler = schedule::info(name)?.name,
        ("selector", "all") => parts.paths = PathSelection::All,
        ("selector", "single") => return wrong("selector", "the path, too: `single:PATH`"),
        ("selector", value) => {
            parts.paths = match value
                .strip_prefix("single:")
                .filter(|path| !path.is_empty())
            {
                Some(path) => PathSelection::Single(path.to_owned()),
                None => PathSelection::Dynamic(selector_spec(value)?),
            }
        }
        ("subflows", value) => match value.parse() {
            Ok(n) if (1..=MAX_SUBFLOWS as u32).contains(&n) => parts.subflows = Some(n),
            _ => return wrong("subflows", "a number from 1 to 8"),
        },
        ("allocator", "none") => parts.allocator = None,
        _ => parts.allocator = Some(Allocator::by_name(value, &[])?),
    }
    Ok(())
}

/// The selector called `name`; the error also lists the selectors outside the registry.
fn selector_spec(name: &str) -> Result<SelectorSpec, OptionError> {
    SelectorSpec::by_name(name).map_err(|_| {
        let known: Vec<&str> = ["all", "single:PATH"]
            .into_iter()
            .chain(SELECTORS.iter().map(|info| info.name))
            .collect();
        OptionError::unknown_name("selector", name, &known)
    })
}

/// Gives each remaining key to its part.
fn distribute(
    parts: &mut PolicyParts,
    policy: &Policy,
    rest: Vec<(String, String)>,
) -> Result<(), PolicyError> {
    let info = schedule::info(parts.scheduler)?;
    let allocator = parts.allocator.map(|allocator| allocator.name());
    let (mut allocator_options, mut parameters) = (vec![], vec![]);
    for (key, value) in rest {
        let accepts = |options: &[&str]| options.contains(&key.as_str());
        if accepts(info.options) {
            parts.scheduler_options.push((key, value));
        } else if let PathSelection::Dynamic(selector) = &mut parts.paths
            && accepts(selector.info().options)
        {
            selector.options.push((key, value));
        } else if allocator.is_some_and(|name| accepts(Allocator::option_names(name))) {
            allocator_options.push((key, value));
        } else if let Some((kind, owner)) = owner_of(&key) {
            return Err(misplaced(key, policy, kind, owner));
        } else {
            parameters.push((key, value));
        }
    }
    if let Some(name) = allocator {
        parts.allocator = Some(Allocator::by_name(name, &allocator_options)?);
    }
    if let PathSelection::Dynamic(selector) = &parts.paths {
        selector.check()?;
    }
    // The segment size does not affect whether the options are valid.
    let scheduler = Scheduler::by_name(parts.scheduler, &parts.scheduler_options, 1)?;
    let unmatched = |fix| {
        Err(PolicyError::Unmatched {
            policy: policy.to_string(),
            fix,
        })
    };
    match (
        scheduler.features().wants_allotment,
        matches!(parts.allocator, Some(Allocator::SoMptcp(_))),
    ) {
        (true, false) => return unmatched("allocator=so-mptcp"),
        (false, true) => return unmatched("scheduler=allotted"),
        _ => {}
    }
    if let Some(allocator) = parts.allocator.filter(Allocator::shares)
        && policy.overrides.iter().any(|(key, _)| key == "allocator")
        && !parts.controller.has(Capability::ReadsTargetShare)
    {
        let (controller, allocator) = (parts.controller.name(), allocator.name());
        return Err(PolicyError::Unread {
            policy: policy.to_string(),
            controller,
            allocator,
        });
    }
    for (name, value) in &parameters {
        parts
            .controller
            .set_param(&mut parts.parameters, name, value)?;
    }
    Ok(())
}

/// The part that has an option of this name.
fn owner_of(key: &str) -> Option<(&'static str, &'static str)> {
    let scheduler = SCHEDULERS.iter().find(|info| info.options.contains(&key));
    let selector = SELECTORS.iter().find(|info| info.options.contains(&key));
    let allocator = ALLOCATORS
        .into_iter()
        .find(|name| Allocator::option_names(name).contains(&key));
    scheduler
        .map(|info| ("scheduler", info.name))
        .or(selector.map(|info| ("selector", info.name)))
        .or(allocator.map(|name| ("allocator", name)))
}

fn misplaced(key: String, policy: &Policy, kind: &str, owner: &str) -> PolicyError {
    PolicyError::Misplaced {
        key,
        owner: format!("{kind} {owner}"),
        policy: policy.to_string(),
        fix: format!("{kind}={owner}"),
    }
}

impl fmt::Display for PolicyParts {
    /// The parts, as in `lia + minrtt` or `eemptcp + minrtt + eemptcp allocator`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} + {}", self.controller.name(), self.scheduler)?;
        match &self.paths {
            PathSelection::All => {}
            PathSelection::Single(path) => write!(f, " on {path}")?,
            PathSelection::Dynamic(selector) => write!(f, " + {} selector", selector.name)?,
        }
        if let Some(allocator) = &self.allocator {
            write!(f, " + {} allocator", allocator.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocate::{Reading, Solver};

    fn parts(text: &str) -> Result<PolicyParts, PolicyError> {
        resolve(&text.parse().unwrap())
    }

    /// The value of a parameter of the policy's controller.
    fn parameter(parts: &PolicyParts, name: &str) -> String {
        parts
            .controller
            .param_value(&parts.parameters, name)
            .unwrap()
            .to_string()
    }

    #[test]
    fn every_bundle_is_made_of_registered_parts() {
        for info in POLICIES {
            assert!(
                controller(info.cc).is_ok() && schedule::info(info.scheduler).is_ok(),
                "{info:?}"
            );
            let text = if info.name == "single" {
                "single:wifi"
            } else {
                info.name
            };
            let found = parts(text).unwrap();
            let allocator = found.allocator.map(|allocator| allocator.name());
            assert_eq!(
                (found.controller.name(), allocator),
                (info.cc, info.allocator)
            );
        }
    }

    #[test]
    fn parts_are_printed_in_the_order_of_the_policy() {
        for (text, expected) in [
            ("mptcp", "lia + minrtt"),
            ("uncoupled", "reno + minrtt"),
            ("linux", "cubic + mainline"),
            ("eemptcp", "eemptcp + minrtt + eemptcp allocator"),
            ("single:lte", "reno + minrtt on lte"),
            ("olia", "olia + minrtt"),
            ("mptcp[cc=olia,scheduler=round-robin]", "olia + round-robin"),
            ("mptcp[selector=single:umts]", "lia + minrtt on umts"),
            ("es-mptcp", "lia + minrtt + es-mptcp selector"),
            ("so-mptcp", "lia + allotted + so-mptcp allocator"),
            ("cwa-proactive", "cwa + proactive"),
            (
                "linux[selector=backup]",
                "cubic + mainline + backup selector",
            ),
        ] {
            assert_eq!(parts(text).unwrap().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn each_key_goes_to_its_part() {
        let found = parts("eemptcp[g=inv_delivery,reading=D,solver=ga,penalise=off]").unwrap();
        assert_eq!(
            (parameter(&found, "g").as_str(), found.is_tuned()),
            ("inv_delivery", true)
        );
        assert_eq!(
            found.scheduler_options,
            [("penalise".to_owned(), "off".to_owned())]
        );
        let Some(Allocator::Eemptcp(allocator)) = found.allocator else {
            panic!("{found:?}")
        };
        assert_eq!(
            (allocator.reading, allocator.solver),
            (Reading::D, Solver::Genetic)
        );
        let found = parts("es-mptcp[mu=2,penalise=off,objective=literal_W,cc=olia]").unwrap();
        let PathSelection::Dynamic(selector) = found.paths else {
            panic!("{found:?}")
        };
        assert_eq!((selector.name, selector.options.len()), ("es-mptcp", 2));
        assert_eq!(
            (found.controller.name(), found.scheduler_options.len()),
            ("olia", 1)
        );
        // `period` is a parameter of CWA, whatever selectors exist.
        assert_eq!(parameter(&parts("cwa[period=1]").unwrap(), "period"), "1");
        // The order of keys does not matter: the scheduler is replaced before its options are read.
        let found = parts("mptcp[num_segments=4,scheduler=round-robin]").unwrap();
        assert_eq!(found.scheduler_options.len(), 1);
    }

    #[test]
    fn errors_say_what_to_write_instead() {
        for (text, hint) in [
            ("mtcp", "did you mean `mptcp`"),
            ("mptcp[cc=foo]", "no congestion controller `foo`"),
            ("mptcp[cc=oila]", "did you mean `olia`?"),
            ("dts[shpe=intended]", "did you mean `shape`?"),
            ("dts[shape=round]", "is no value of dts's `shape`"),
            ("mptcp[scheduler=min-rtt]", "did you mean `minrtt`"),
            ("mptcp[penalise=maybe]", "`on` or `off`"),
            ("mptcp[reading=B]", "add `allocator=eemptcp`"),
            ("linux[penalise=off]", "add `scheduler=minrtt`"),
            ("eemptcp[reading=Z]", "`A`, `B`, `C` or `D`"),
            ("mptcp[selector=wifi]", "all, single:PATH, single-best"),
            ("mptcp[selector=single]", "`single:PATH`"),
            ("mptcp[allocator=x]", "Known: eemptcp, so-mptcp"),
            (
                "mptcp[allocator=eemptcp]",
                "reads no target shares, which `eemptcp` sets; add `cc=eemptcp`",
            ),
            ("mptcp[unused=close]", "add `selector=es-mptcp`"),
            ("mptcp[V=1]", "add `allocator=so-mptcp`"),
            ("so-mptcp[V=-1]", "a number, 0 or more"),
            ("so-mptcp[scheduler=minrtt]", "add `scheduler=allotted`"),
            ("mptcp[scheduler=allotted]", "add `allocator=so-mptcp`"),
            ("emptcp[check=yes]", "`on` or `off`"),
            ("mptcp[cc=olia,cc=lia]", "twice"),
            ("single", "single:wifi"),
            ("mptcp:wifi", "nothing after a colon"),
        ] {
            let error = parts(text).unwrap_err();
            let message = format!("{error}; {}", error.help().unwrap_or_default());
            assert!(message.contains(hint), "{text}: {message}");
        }
    }

    #[test]
    fn the_label_of_a_table_names_its_policy() {
        let policies = POLICIES
            .iter()
            .map(|info| info.name)
            .filter(|&name| name != "single");
        for text in policies.chain([
            "single:wifi",
            "mptcp[cc=olia,scheduler=blest]",
            "linux[cc=dts]",
            "dts",
        ]) {
            let policy: Policy = text.parse().unwrap();
            let label = resolve(&policy).unwrap().label();
            assert_eq!(named(text).unwrap(), policy);
            assert_eq!(named(&label).unwrap(), policy, "{label}");
        }
    }

    #[test]
    fn a_reconstruction_is_labelled() {
        let label = |text: &str| parts(text).unwrap().label();
        assert_eq!(label("ecmtcp"), "ecMTCP (recon.)");
        assert_eq!(label("mptcp[cc=ecmtcp]"), "MPTCP [cc=ecmtcp] (recon.)");
        assert_eq!(label("single:wifi"), "wifi only");
        assert_eq!(label("emtcp"), "eMTCP (recon.)");
        assert_eq!(label("pluntke"), "Pluntke (recon.)");
        assert_eq!(
            label("mptcp[scheduler=emtcp]"),
            "MPTCP [scheduler=emtcp] (recon.)"
        );
        assert_eq!(label("emptcp"), "eMPTCP");
    }
}
