//! Policies, looked up and checked against a scenario before anything runs.

use joulepath_control::Setup;
use joulepath_model::policy::{Policy, split_list};
use joulepath_model::scenario::Scenario;

use crate::error::{Error, Kind, Result};

/// The policies of a comma-separated list.
///
/// # Errors
/// If one of them is malformed or stands twice, or there is none.
pub fn parse(list: &str) -> Result<Vec<Policy>> {
    let mut policies: Vec<Policy> = Vec::new();
    for text in split_list(list) {
        let policy = text.parse()?;
        if policies.contains(&policy) {
            return Err(Error::usage(format!("`{policy}` stands twice in the list of policies")));
        }
        policies.push(policy);
    }
    if policies.is_empty() {
        return Err(
            Error::usage("the list of policies is empty").with_help("write for example `uncoupled,mptcp`")
        );
    }
    Ok(policies)
}

/// Those that are `asked` for, ready to run on `scenario`; without any, those that the scenario names.
///
/// # Errors
/// The first policy that does not exist or does not fit.
pub fn setups(asked: Option<&[Policy]>, scenario: &Scenario) -> Result<Vec<Setup>> {
    match asked {
        Some(asked) => prepare(asked, scenario, Kind::Usage),
        None => prepare(&scenario.compare.policies, scenario, Kind::Failed),
    }
}

/// `policies`, ready to run on `scenario`. `kind` says whose mistake it is if one does not fit.
///
/// # Errors
/// The first policy that does not exist or does not fit.
pub(crate) fn prepare(policies: &[Policy], scenario: &Scenario, kind: Kind) -> Result<Vec<Setup>> {
    policies.iter().map(|policy| setup(policy, scenario, kind)).collect()
}

/// `policy`, ready to run on `scenario`. `kind` says whose mistake it is if it does not fit.
///
/// # Errors
/// If the policy does not exist or does not fit, or a competitor could not run.
pub fn setup(policy: &Policy, scenario: &Scenario, kind: Kind) -> Result<Setup> {
    Setup::of(policy, scenario).map_err(|error| {
        let kind = if error.is_of_scenario() { Kind::Failed } else { kind };
        Error::Setup { error: Box::new(error), kind }
    })
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
            let prepared = parse(list).and_then(|asked| setups(Some(&asked), &scenario));
            assert_eq!(prepared.expect_err(list).kind(), Kind::Usage, "{list}");
        }
    }
}
