//! What a policy's name stands for: congestion controller, packet scheduler, path selector, rate allocator.
//!
//! ```text
//!   mptcp[cc=olia,penalise=off,ell=3]
//!     │      │         │          └── not a key of ours: a parameter of the controller
//!     │      │         └── option of the scheduler
//!     │      └── replaces a part
//!     └── registered bundle, or the name of any controller: that controller with minrtt
//! ```

use std::fmt;

use joulepath_model::energy::Confidence;
use joulepath_model::policy::Policy;

use crate::allocate::{ALLOCATORS, Allocator};
use crate::options::{OptionError, nearest};
use crate::schedule::{self, MAX_SUBFLOWS, SCHEDULERS, Scheduler};
use crate::select::{SELECTORS, SelectorSpec};

mod bundles;
pub use bundles::{POLICIES, PolicyInfo};

/// Which paths carry data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// Every path of the connection.
    All,
    /// One path, by its name.
    Single(String),
    /// As the traffic wants it.
    Dynamic(SelectorSpec),
}

/// The parts of a policy, checked as far as this crate knows them.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyParts {
    /// Congestion controller, by its registry name.
    pub cc: String,
    /// Its parameters; whoever knows the controller checks them.
    pub cc_params: Vec<(String, String)>,
    /// Packet scheduler, by its registry name.
    pub scheduler: String,
    /// Its options, checked.
    pub scheduler_options: Vec<(String, String)>,
    /// Which paths carry data. Whoever knows the scenario checks the paths' names.
    pub selector: Selector,
    /// Sets the controller's target shares, or the scheduler's allotments, if any does.
    pub allocator: Option<Allocator>,
    /// Subflows of each connection in a topology, if the policy says how many.
    pub subflows: Option<u32>,
    /// Title without the overrides.
    title: String,
    /// Overrides as written.
    overrides: Vec<(String, String)>,
}

/// Why a policy cannot be resolved. The message says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Neither a bundle nor a controller.
    #[error(
        "there is no policy `{name}`; did you mean `{nearest}`? Known: {known}, and every controller's name"
    )]
    UnknownPolicy {
        /// As written.
        name: String,
        /// The registered name that looks most like it.
        nearest: String,
        /// All bundles.
        known: String,
    },
    /// `cc=` names no controller.
    #[error("there is no congestion controller `{name}`; `joulepath list` names all of them")]
    UnknownController {
        /// As written.
        name: String,
    },
    /// `single` without a path.
    #[error("`single` needs the path's name; write for example `single:wifi`")]
    NoPath,
    /// A colon behind a name that takes none.
    #[error("`{name}` takes nothing after a colon; only `single:PATH` does")]
    Argument {
        /// The policy's name.
        name: String,
    },
    /// `selector=`, `allocator=` or `subflows=` with a value that does not exist.
    #[error("`{key}={value}`: write {expected}")]
    Part {
        /// The key.
        key: &'static str,
        /// As written.
        value: String,
        /// What fits.
        expected: &'static str,
    },
    /// An option that belongs to a part which the policy does not have.
    #[error("`{key}` is an option of {owner}, which `{policy}` does not use; add `{mend}`")]
    Misplaced {
        /// The key.
        key: String,
        /// `scheduler minrtt`, …
        owner: String,
        /// The policy as written.
        policy: String,
        /// The override that would make it fit.
        mend: String,
    },
    /// A key twice.
    #[error("`{key}` is written twice; keep one")]
    Twice {
        /// The key.
        key: String,
    },
    /// The scheduler waits for what no allocator gives, or the other way round.
    #[error("`{policy}`: scheduler `allotted` and allocator `so-mptcp` belong together; add `{mend}`")]
    Unmatched {
        /// The policy as written.
        policy: String,
        /// The override that would make it fit.
        mend: &'static str,
    },
    /// A scheduler, selector or allocator, or one of its options.
    #[error(transparent)]
    Option(#[from] OptionError),
}

impl PolicyParts {
    fn of(info: &PolicyInfo) -> Self {
        PolicyParts {
            cc: info.cc.to_owned(),
            cc_params: vec![],
            scheduler: info.scheduler.to_owned(),
            scheduler_options: vec![],
            selector: match info.selector {
                "all" => Selector::All,
                name => {
                    Selector::Dynamic(SelectorSpec::by_name(name).expect("bundles name registered selectors"))
                }
            },
            allocator: info
                .allocator
                .map(|name| Allocator::by_name(name, &[]).expect("bundles name registered allocators")),
            subflows: None,
            title: info.title.to_owned(),
            overrides: vec![],
        }
    }
}

/// What `policy` is made of.
///
/// # Errors
/// An unknown policy, part or option, each with the nearest name or with what would fit. Keys that belong to neither
/// scheduler nor allocator are handed over in [`PolicyParts::cc_params`]: the controllers' registry checks them.
pub fn resolve(policy: &Policy, known_controller: &dyn Fn(&str) -> bool) -> Result<PolicyParts, PolicyError> {
    let mut parts = base(policy, known_controller)?;
    let (replacing, rest): (Vec<_>, Vec<_>) = policy.overrides.iter().cloned().partition(|(key, _)| {
        matches!(key.as_str(), "cc" | "scheduler" | "selector" | "allocator" | "subflows")
    });
    for (i, (key, _)) in policy.overrides.iter().enumerate() {
        if policy.overrides[..i].iter().any(|(earlier, _)| earlier == key) {
            return Err(PolicyError::Twice { key: key.clone() });
        }
    }
    for (key, value) in &replacing {
        replace(&mut parts, key, value, known_controller)?;
    }
    distribute(&mut parts, policy, rest)?;
    parts.overrides = policy.overrides.clone();
    Ok(parts)
}

/// The bundle or the controller that the policy's name stands for, with its argument.
fn base(policy: &Policy, known_controller: &dyn Fn(&str) -> bool) -> Result<PolicyParts, PolicyError> {
    let name = policy.name.as_str();
    let mut parts = match POLICIES.iter().find(|info| info.name == name) {
        Some(info) => PolicyParts::of(info),
        None if known_controller(name) => {
            PolicyParts { cc: name.to_owned(), title: name.to_owned(), ..PolicyParts::of(&POLICIES[0]) }
        }
        None => {
            let known = POLICIES.map(|info| info.name);
            let nearest = nearest(name, &known).to_owned();
            return Err(PolicyError::UnknownPolicy {
                name: name.to_owned(),
                nearest,
                known: known.join(", "),
            });
        }
    };
    match (name, &policy.argument) {
        ("single", Some(path)) => {
            parts.selector = Selector::Single(path.clone());
            parts.title = format!("{path} only");
        }
        ("single", None) => return Err(PolicyError::NoPath),
        (_, Some(_)) => return Err(PolicyError::Argument { name: name.to_owned() }),
        (_, None) => {}
    }
    Ok(parts)
}

/// Replaces one part.
fn replace(
    parts: &mut PolicyParts,
    key: &str,
    value: &str,
    known_controller: &dyn Fn(&str) -> bool,
) -> Result<(), PolicyError> {
    let wrong = |key, expected| Err(PolicyError::Part { key, value: value.to_owned(), expected });
    match (key, value) {
        ("cc", name) if !known_controller(name) => {
            return Err(PolicyError::UnknownController { name: name.to_owned() });
        }
        ("cc", name) => parts.cc = name.to_owned(),
        ("scheduler", name) => parts.scheduler = schedule::info(name)?.name.to_owned(),
        ("selector", "all") => parts.selector = Selector::All,
        ("selector", "single") => return wrong("selector", "the path, too: `single:PATH`"),
        ("selector", value) => {
            parts.selector = match value.strip_prefix("single:").filter(|path| !path.is_empty()) {
                Some(path) => Selector::Single(path.to_owned()),
                None => Selector::Dynamic(selector_spec(value)?),
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

/// The selector called `name`, or an error that knows the ones without registry, too.
fn selector_spec(name: &str) -> Result<SelectorSpec, OptionError> {
    SelectorSpec::by_name(name).map_err(|_| {
        let known: Vec<&str> =
            ["all", "single:PATH"].into_iter().chain(SELECTORS.iter().map(|info| info.name)).collect();
        OptionError::unknown_name("selector", name, &known)
    })
}

/// Gives each remaining key to the part that it belongs to.
fn distribute(
    parts: &mut PolicyParts,
    policy: &Policy,
    rest: Vec<(String, String)>,
) -> Result<(), PolicyError> {
    let info = schedule::info(&parts.scheduler)?;
    let allocator = parts.allocator.map(|allocator| allocator.name());
    let mut allocator_options = vec![];
    for (key, value) in rest {
        let accepts = |options: &[&str]| options.contains(&key.as_str());
        if accepts(info.options) {
            parts.scheduler_options.push((key, value));
        } else if let Selector::Dynamic(selector) = &mut parts.selector
            && accepts(selector.info().options)
        {
            selector.options.push((key, value));
        } else if allocator.is_some_and(|name| accepts(Allocator::option_names(name))) {
            allocator_options.push((key, value));
        } else if let Some((kind, owner)) = owner_of(&key) {
            return Err(misplaced(key, policy, kind, owner));
        } else {
            parts.cc_params.push((key, value));
        }
    }
    if let Some(name) = allocator {
        parts.allocator = Some(Allocator::by_name(name, &allocator_options)?);
    }
    if let Selector::Dynamic(selector) = &parts.selector {
        selector.check()?;
    }
    // The segment size does not matter to whether the options are valid.
    let scheduler = Scheduler::by_name(&parts.scheduler, &parts.scheduler_options, 1)?;
    match (scheduler.wants_allotment(), matches!(parts.allocator, Some(Allocator::SoMptcp(_)))) {
        (true, false) => {
            Err(PolicyError::Unmatched { policy: policy.to_string(), mend: "allocator=so-mptcp" })
        }
        (false, true) => {
            Err(PolicyError::Unmatched { policy: policy.to_string(), mend: "scheduler=allotted" })
        }
        _ => Ok(()),
    }
}

/// A part that has an option of this name.
fn owner_of(key: &str) -> Option<(&'static str, &'static str)> {
    let scheduler = SCHEDULERS.iter().find(|info| info.options.contains(&key));
    let selector = SELECTORS.iter().find(|info| info.options.contains(&key));
    let allocator = ALLOCATORS.into_iter().find(|name| Allocator::option_names(name).contains(&key));
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
        mend: format!("{kind}={owner}"),
    }
}

/// How sure the definition of its scheduler and selector is: that of the less sure one.
pub fn weakest(parts: &PolicyParts) -> Confidence {
    let scheduler = schedule::info(&parts.scheduler).ok().map(|info| info.confidence);
    let selector = match &parts.selector {
        Selector::Dynamic(spec) => Some(spec.info().confidence),
        Selector::All | Selector::Single(_) => None,
    };
    let of_both = scheduler.into_iter().chain(selector);
    of_both.max_by_key(|&confidence| confidence as u8).unwrap_or(Confidence::Verified)
}

/// The policy for humans: title, overrides, and `(recon.)` if one of its parts is a reconstruction.
pub fn label(parts: &PolicyParts, is_reconstructed: &dyn Fn(&str) -> bool) -> String {
    let mut label = parts.title.clone();
    if !parts.overrides.is_empty() {
        let pairs: Vec<_> = parts.overrides.iter().map(|(key, value)| format!("{key}={value}")).collect();
        label = format!("{label} [{}]", pairs.join(", "));
    }
    if is_reconstructed(&parts.cc) || weakest(parts) == Confidence::Reconstruction {
        label.push_str(" (recon.)");
    }
    label
}

impl fmt::Display for PolicyParts {
    /// The parts, as in `lia + minrtt` or `eemptcp + minrtt + eemptcp allocator`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} + {}", self.cc, self.scheduler)?;
        match &self.selector {
            Selector::All => {}
            Selector::Single(path) => write!(f, " on {path}")?,
            Selector::Dynamic(selector) => write!(f, " + {} selector", selector.name)?,
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

    const CONTROLLERS: [&str; 9] =
        ["reno", "lia", "olia", "eemptcp", "dts", "edts", "cwa", "cubic", "ecmtcp"];

    fn parts(text: &str) -> Result<PolicyParts, PolicyError> {
        resolve(&text.parse().unwrap(), &|name| CONTROLLERS.contains(&name))
    }

    fn error(text: &str) -> String {
        parts(text).unwrap_err().to_string()
    }

    #[test]
    fn every_bundle_is_made_of_registered_parts() {
        for info in POLICIES {
            assert!(CONTROLLERS.contains(&info.cc) && schedule::info(info.scheduler).is_ok(), "{info:?}");
            let text = if info.name == "single" { "single:wifi" } else { info.name };
            let found = parts(text).unwrap();
            let allocator = found.allocator.map(|allocator| allocator.name());
            assert_eq!((found.cc.as_str(), allocator), (info.cc, info.allocator));
        }
    }

    #[test]
    fn parts_are_printed_as_they_are_put_together() {
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
            ("linux[selector=backup]", "cubic + mainline + backup selector"),
        ] {
            assert_eq!(parts(text).unwrap().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn each_key_goes_to_the_part_that_it_belongs_to() {
        let found = parts("eemptcp[g=1/(1-p),reading=D,solver=ga,penalise=off]").unwrap();
        assert_eq!(found.cc_params, [("g".to_owned(), "1/(1-p)".to_owned())]);
        assert_eq!(found.scheduler_options, [("penalise".to_owned(), "off".to_owned())]);
        let Some(Allocator::Eemptcp(allocator)) = found.allocator else { panic!("{found:?}") };
        assert_eq!((allocator.reading, allocator.solver), (Reading::D, Solver::Genetic));
        let found = parts("es-mptcp[mu=2,penalise=off,objective=literal_W,cc=olia]").unwrap();
        let Selector::Dynamic(selector) = found.selector else { panic!("{found:?}") };
        assert_eq!((selector.name, selector.options.len()), ("es-mptcp", 2));
        assert_eq!((found.cc.as_str(), found.scheduler_options.len()), ("olia", 1));
        // `period` is a parameter of CWA, whatever selectors exist.
        assert_eq!(parts("cwa[period=1]").unwrap().cc_params.len(), 1);
        // The order of keys does not matter: the scheduler is replaced before its options are read.
        let found = parts("mptcp[num_segments=4,scheduler=round-robin]").unwrap();
        assert_eq!(found.scheduler_options.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_told_what_would_be_right() {
        for (text, hint) in [
            ("mtcp", "did you mean `mptcp`"),
            ("mptcp[cc=foo]", "no congestion controller `foo`"),
            ("mptcp[scheduler=min-rtt]", "did you mean `minrtt`"),
            ("mptcp[penalise=maybe]", "`on` or `off`"),
            ("mptcp[reading=B]", "add `allocator=eemptcp`"),
            ("linux[penalise=off]", "add `scheduler=minrtt`"),
            ("eemptcp[reading=Z]", "`A`, `B`, `C` or `D`"),
            ("mptcp[selector=wifi]", "all, single:PATH, single-best"),
            ("mptcp[selector=single]", "`single:PATH`"),
            ("mptcp[allocator=x]", "Known: eemptcp, so-mptcp"),
            ("mptcp[unused=close]", "add `selector=es-mptcp`"),
            ("mptcp[V=1]", "add `allocator=so-mptcp`"),
            ("so-mptcp[V=-1]", "a number from 0 on"),
            ("so-mptcp[scheduler=minrtt]", "add `scheduler=allotted`"),
            ("mptcp[scheduler=allotted]", "add `allocator=so-mptcp`"),
            ("emptcp[check=yes]", "`on` or `off`"),
            ("mptcp[cc=olia,cc=lia]", "twice"),
            ("single", "single:wifi"),
            ("mptcp:wifi", "nothing after a colon"),
        ] {
            let message = error(text);
            assert!(message.contains(hint), "{text}: {message}");
        }
    }

    #[test]
    fn a_reconstruction_says_so() {
        let recon = |name: &str| name == "ecmtcp";
        assert_eq!(label(&parts("ecmtcp").unwrap(), &recon), "ecMTCP (recon.)");
        assert_eq!(label(&parts("mptcp[cc=ecmtcp]").unwrap(), &recon), "MPTCP [cc=ecmtcp] (recon.)");
        assert_eq!(label(&parts("single:wifi").unwrap(), &recon), "wifi only");
        assert_eq!(label(&parts("emtcp").unwrap(), &recon), "eMTCP (recon.)");
        assert_eq!(label(&parts("pluntke").unwrap(), &recon), "Pluntke (recon.)");
        assert_eq!(
            label(&parts("mptcp[scheduler=emtcp]").unwrap(), &recon),
            "MPTCP [scheduler=emtcp] (recon.)"
        );
        assert_eq!(label(&parts("emptcp").unwrap(), &recon), "eMPTCP");
    }
}
