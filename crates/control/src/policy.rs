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

use joulepath_model::policy::Policy;

use crate::allocate::{EEMPTCP_OPTIONS, Eemptcp};
use crate::options::{OptionError, nearest};
use crate::schedule::{SCHEDULERS, Scheduler, SchedulerInfo};

/// A registered bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// As shown in tables.
    pub title: &'static str,
    /// Congestion controller, by its registry name.
    pub cc: &'static str,
    /// Packet scheduler, by its registry name.
    pub scheduler: &'static str,
    /// Whether the EEMPTCP allocator sets the target shares.
    pub allocates: bool,
    /// Where the bundle comes from.
    pub paper: &'static str,
    /// One line for humans.
    pub summary: &'static str,
}

const fn minrtt(
    name: &'static str,
    title: &'static str,
    cc: &'static str,
    paper: &'static str,
    summary: &'static str,
) -> PolicyInfo {
    PolicyInfo { name, title, cc, scheduler: "minrtt", allocates: false, paper, summary }
}

/// Every bundle. `single` takes the path's name: `single:wifi`.
pub const POLICIES: [PolicyInfo; 9] = [
    minrtt("uncoupled", "uncoupled", "reno", "baseline", "NewReno on every subflow"),
    minrtt("mptcp", "MPTCP", "lia", "RFC 6356", "standard MPTCP as the papers use it"),
    PolicyInfo {
        allocates: true,
        ..minrtt("eemptcp", "EEMPTCP", "eemptcp", "000", "LIA drawn towards the most efficient rate split")
    },
    minrtt("dts", "DTS", "dts", "002", "traffic shifts to paths with little queueing delay"),
    minrtt("edts", "extended DTS", "edts", "002", "DTS that also pays for queues and energy in the network"),
    minrtt("cwa", "CWA", "cwa", "004", "LIA that cuts the window of the slowest path"),
    PolicyInfo {
        scheduler: "mainline",
        ..minrtt("linux", "Linux default", "cubic", "Linux 6", "what mainline Linux does: CUBIC, uncoupled")
    },
    minrtt("single", "single", "reno", "baseline", "one path only: `single:wifi`"),
    minrtt("ecmtcp", "ecMTCP", "ecmtcp", "Le et al. 2012", "LIA bounded by the path's energy cost"),
];

/// Which paths carry data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// Every path of the connection.
    All,
    /// One path, by its name.
    Single(String),
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
    /// Which paths carry data. Whoever knows the scenario checks the path's name.
    pub selector: Selector,
    /// Sets the controller's target shares α, if any does.
    pub allocator: Option<Eemptcp>,
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
    /// `selector=` or `allocator=` with a value that does not exist.
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
    /// A scheduler or one of its options, or an option of the allocator.
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
            selector: Selector::All,
            allocator: info.allocates.then(Eemptcp::default),
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
    let (replacing, rest): (Vec<_>, Vec<_>) = policy
        .overrides
        .iter()
        .cloned()
        .partition(|(key, _)| matches!(key.as_str(), "cc" | "scheduler" | "selector" | "allocator"));
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
        ("scheduler", name) => parts.scheduler = scheduler_info(name)?.name.to_owned(),
        ("selector", "all") => parts.selector = Selector::All,
        ("selector", value) => match value.strip_prefix("single:").filter(|path| !path.is_empty()) {
            Some(path) => parts.selector = Selector::Single(path.to_owned()),
            None => return wrong("selector", "`all` or `single:PATH`"),
        },
        ("allocator", "eemptcp") => parts.allocator = Some(Eemptcp::default()),
        ("allocator", "none") => parts.allocator = None,
        _ => return wrong("allocator", "`eemptcp` or `none`"),
    }
    Ok(())
}

/// Gives each remaining key to the part that it belongs to.
fn distribute(
    parts: &mut PolicyParts,
    policy: &Policy,
    rest: Vec<(String, String)>,
) -> Result<(), PolicyError> {
    let info = scheduler_info(&parts.scheduler)?;
    let mut allocator_options = vec![];
    for (key, value) in rest {
        if info.options.contains(&key.as_str()) {
            parts.scheduler_options.push((key, value));
        } else if EEMPTCP_OPTIONS.contains(&key.as_str()) {
            if parts.allocator.is_none() {
                return Err(misplaced(key, policy, "allocator", "eemptcp"));
            }
            allocator_options.push((key, value));
        } else if let Some(owner) = SCHEDULERS.iter().find(|other| other.options.contains(&key.as_str())) {
            return Err(misplaced(key, policy, "scheduler", owner.name));
        } else {
            parts.cc_params.push((key, value));
        }
    }
    if let Some(allocator) = &mut parts.allocator {
        *allocator = Eemptcp::from_options(&allocator_options)?;
    }
    // The segment size does not matter to whether the options are valid.
    Scheduler::by_name(&parts.scheduler, &parts.scheduler_options, 1)?;
    Ok(())
}

fn misplaced(key: String, policy: &Policy, kind: &str, owner: &str) -> PolicyError {
    PolicyError::Misplaced {
        key,
        owner: format!("{kind} {owner}"),
        policy: policy.to_string(),
        mend: format!("{kind}={owner}"),
    }
}

fn scheduler_info(name: &str) -> Result<&'static SchedulerInfo, OptionError> {
    SCHEDULERS
        .iter()
        .find(|info| info.name == name)
        .ok_or_else(|| OptionError::unknown_name("scheduler", name, &SCHEDULERS.map(|info| info.name)))
}

/// The policy for humans: title, overrides, and `(recon.)` if its controller is a reconstruction.
pub fn label(parts: &PolicyParts, is_reconstructed: &dyn Fn(&str) -> bool) -> String {
    let mut label = parts.title.clone();
    if !parts.overrides.is_empty() {
        let pairs: Vec<_> = parts.overrides.iter().map(|(key, value)| format!("{key}={value}")).collect();
        label = format!("{label} [{}]", pairs.join(", "));
    }
    if is_reconstructed(&parts.cc) {
        label.push_str(" (recon.)");
    }
    label
}

impl fmt::Display for PolicyParts {
    /// The parts, as in `lia + minrtt` or `eemptcp + minrtt + eemptcp allocator`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} + {}", self.cc, self.scheduler)?;
        if let Selector::Single(path) = &self.selector {
            write!(f, " on {path}")?;
        }
        if self.allocator.is_some() {
            write!(f, " + eemptcp allocator")?;
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
            assert!(CONTROLLERS.contains(&info.cc) && scheduler_info(info.scheduler).is_ok(), "{info:?}");
            let text = if info.name == "single" { "single:wifi" } else { info.name };
            let found = parts(text).unwrap();
            assert_eq!((found.cc.as_str(), found.allocator.is_some()), (info.cc, info.allocates));
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
        ] {
            assert_eq!(parts(text).unwrap().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn each_key_goes_to_the_part_that_it_belongs_to() {
        let found = parts("eemptcp[g=1/(1-p),reading=D,solver=ga,penalise=off]").unwrap();
        assert_eq!(found.cc_params, [("g".to_owned(), "1/(1-p)".to_owned())]);
        assert_eq!(found.scheduler_options, [("penalise".to_owned(), "off".to_owned())]);
        let allocator = found.allocator.unwrap();
        assert_eq!((allocator.reading, allocator.solver), (Reading::D, Solver::Genetic));
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
            ("mptcp[selector=wifi]", "`all` or `single:PATH`"),
            ("mptcp[allocator=x]", "`eemptcp` or `none`"),
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
    }
}
