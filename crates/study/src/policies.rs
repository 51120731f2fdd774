//! Looks policies up and checks them against a scenario before anything runs.

use joulepath_control::Setup;
use joulepath_control::policy::named;
use joulepath_model::policy::{Policy, split_list};
use joulepath_model::scenario::Scenario;

use crate::engine::Engine;
use crate::error::{Error, Kind, Result};

/// Parses a comma-separated list of policies, by names or by the labels of tables.
///
/// # Errors
/// If a policy is malformed or occurs twice, or the list is empty.
pub fn parse(list: &str) -> Result<Vec<Policy>> {
    let mut policies: Vec<Policy> = Vec::new();
    for text in split_list(list) {
        let policy = named(text)?;
        if policies.contains(&policy) {
            return Err(Error::usage(format!(
                "`{policy}` occurs twice in the list of policies"
            )));
        }
        policies.push(policy);
    }
    if policies.is_empty() {
        return Err(Error::usage("the list of policies is empty")
            .with_help("write for example `uncoupled,mptcp`"));
    }
    Ok(policies)
}

/// The policies named by `scenario` that all `engines` can run, and a note for each of the others.
/// One file serves several engines, and the user did not ask for these policies.
///
/// # Errors
/// If a policy does not exist or does not fit, or the engines can run none of them.
pub(crate) fn runnable(
    scenario: &Scenario,
    engines: &[&dyn Engine],
) -> Result<(Vec<Policy>, Vec<String>)> {
    let named = &scenario.compare.policies;
    let setups = prepare(named, scenario, Kind::Failed)?;
    let check = |setups: &[Setup]| {
        engines
            .iter()
            .try_for_each(|engine| engine.check(scenario, setups))
    };
    let Err(error) = check(&setups) else {
        return Ok((named.clone(), vec![]));
    };
    let (mut kept, mut notes) = (vec![], vec![]);
    for (policy, setup) in named.iter().zip(&setups) {
        match check(std::slice::from_ref(setup)) {
            Ok(()) => kept.push(policy.clone()),
            Err(reason) => notes.push(format!("Left out: {reason}.")),
        }
    }
    if kept.is_empty() {
        Err(error)
    } else {
        Ok((kept, notes))
    }
}

/// Prepares `policies` to run on `scenario`. `kind` classifies the error if one does not fit.
///
/// # Errors
/// The first policy that does not exist or does not fit.
pub(crate) fn prepare(policies: &[Policy], scenario: &Scenario, kind: Kind) -> Result<Vec<Setup>> {
    policies
        .iter()
        .map(|policy| setup(policy, scenario, kind))
        .collect()
}

/// Prepares `policy` to run on `scenario`. `kind` classifies the error if it does not fit.
///
/// # Errors
/// If the policy does not exist or does not fit, or a competitor cannot run.
pub fn setup(policy: &Policy, scenario: &Scenario, kind: Kind) -> Result<Setup> {
    Setup::of(policy, scenario).map_err(|error| {
        let kind = if error.is_of_scenario() {
            Kind::Failed
        } else {
            kind
        };
        Error::Setup {
            error: Box::new(error),
            kind,
        }
    })
}

/// Refuses parts that belong to the program that uses this library, such as Python classes; `why`
/// is the reason.
///
/// # Errors
/// The first policy with such a part.
pub(crate) fn refuse_hosted(setups: &[Setup], why: &str) -> Result<()> {
    match setups.iter().find(|setup| setup.is_hosted()) {
        None => Ok(()),
        Some(setup) => {
            let message = format!("`{}` has a part of your own program: {why}", setup.policy());
            Err(Error::Unsupported {
                message,
                help: "compare it in a loop, or write it as a C header".to_owned(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::scenario;

    use super::*;

    #[test]
    fn a_policy_that_does_not_fit_is_a_usage_error() {
        let text = crate::shipped::find("quick").unwrap().1;
        let scenario = scenario::load(text, &|_| Err("no traces".to_owned())).unwrap();
        for list in [
            "mtpcp",
            "mptcp[cc=oila]",
            "single:wfi",
            "dts[shpe=intended]",
            "mptcp[",
            "",
            "linux[penalise=off]",
        ] {
            let prepared = parse(list).and_then(|asked| prepare(&asked, &scenario, Kind::Usage));
            assert_eq!(prepared.expect_err(list).kind(), Kind::Usage, "{list}");
        }
    }
}
