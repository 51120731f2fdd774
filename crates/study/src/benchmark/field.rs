//! Participants: every bundle of the registry, every congestion controller without a bundle, and
//! single paths. paths.

use joulepath_control::Setup;
use joulepath_control::policy::{self, POLICIES, PolicyInfo};
use joulepath_controllers::Controller;
use joulepath_model::policy::Policy;
use joulepath_model::scenario::Scenario;
use joulepath_report::benchmark::{Baseline, Entry};

use crate::error::{Kind, Result};
use crate::policies::setup;

/// Bundle that yields one policy for each path.
const SINGLE: &str = "single";
/// Bundle that lends its scheduler and path selection to controllers without a bundle.
const CARRIER: &str = "mptcp";
/// Number of policies of `--quick`.
const QUICK: usize = 8;

/// Every policy except single paths.
pub(super) fn policies(quick: bool) -> Vec<Policy> {
    let bundles = POLICIES.iter().filter(|bundle| bundle.name != SINGLE);
    let names = bundles.map(|bundle| bundle.name.to_owned());
    // A controller that needs an allocator has a bundle; so does the carrier's own controller.
    let has_bundle = |cc: &str| {
        let alike = |bundle: &&PolicyInfo| {
            bundle.cc == cc && (bundle.allocator.is_some() || is_carrier_like(bundle))
        };
        POLICIES.iter().find(alike).is_some()
    };
    let others = Controller::all()
        .map(|controller| controller.name())
        .filter(|cc| !has_bundle(cc));
    let all = names.chain(others.map(|cc| format!("{CARRIER}[cc={cc}]")));
    let policies = all.map(|text| {
        text.parse()
            .expect("names of the registries are well-formed")
    });
    policies
        .take(if quick { QUICK } else { usize::MAX })
        .collect()
}

/// Whether the bundle equals the carrier except for the controller.
fn is_carrier_like(bundle: &PolicyInfo) -> bool {
    let carrier = POLICIES
        .iter()
        .find(|known| known.name == CARRIER)
        .expect("the carrier is registered");
    let parts = |bundle: &PolicyInfo| (bundle.scheduler, bundle.selector, bundle.allocator);
    parts(bundle) == parts(carrier)
}

/// Display name of a policy, and its parts.
pub(super) fn described(policy: &Policy) -> (String, String) {
    let parts = policy::resolve(policy).expect("policies of the registries resolve");
    (parts.label(), parts.to_string())
}

/// Sets up a policy on a scenario. The error says why it cannot run there.
pub(super) fn prepared(policy: &Policy, scenario: &Scenario) -> Result<Setup> {
    setup(policy, scenario, Kind::Failed)
}

/// Realisable baselines that are not among these policies, which all start cold.
pub(super) fn baselines(policies: &[Policy]) -> Vec<Entry> {
    let is_new = |baseline: &Baseline| {
        policies
            .iter()
            .all(|known| known.to_string() != baseline.policy())
    };
    let entry = |baseline: Baseline| {
        // Its parts are the same on any path.
        let policy: Policy = baseline
            .policy()
            .parse()
            .expect("the policies are well-formed");
        Entry::baseline(baseline, described(&policy).1)
    };
    Baseline::REALISABLE
        .into_iter()
        .filter(is_new)
        .map(entry)
        .collect()
}

/// The policy of an entry on a scenario; `None` for a path chosen in hindsight.
pub(super) fn on(entry: &Entry, scenario: &Scenario) -> Option<Policy> {
    let text = match entry.baseline {
        Some(Baseline::First) => format!("{SINGLE}:{}[cc=cubic]", scenario.paths.first()?.name),
        Some(baseline) if baseline.is_hindsight() => return None,
        _ => entry.policy.clone(),
    };
    Some(text.parse().expect("the policies are well-formed"))
}

/// `single:PATH` for each path of the scenario.
pub(super) fn single_paths(scenario: &Scenario) -> Vec<Policy> {
    let of_path = |name: &String| {
        format!("{SINGLE}:{name}")
            .parse()
            .expect("a path has a plain name")
    };
    scenario
        .paths
        .iter()
        .map(|path| of_path(&path.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_controller_takes_part_and_no_policy_twice() {
        let all: Vec<(String, String)> = policies(false)
            .iter()
            .map(|policy| (policy.to_string(), described(policy).1))
            .collect();
        for controller in Controller::all() {
            let plays =
                |(_, parts): &&(String, String)| parts.split(' ').next() == Some(controller.name());
            assert!(all.iter().find(plays).is_some(), "{}", controller.name());
        }
        for (i, (policy, parts)) in all.iter().enumerate() {
            let twin = all[..i].iter().find(|(_, other)| other == parts);
            assert_eq!(twin, None, "`{policy}` is the same as another");
        }
        assert!(
            all.iter()
                .all(|(policy, _)| policy != "mptcp[cc=lia]" && policy != "single")
        );
    }
}
