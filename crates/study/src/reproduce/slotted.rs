//! Runs paper 003's slotted system (docs/models/slotted.md). A run takes a fraction of a second, so
//! runs are not stored.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

use joulepath_model::cancel::Cancel;
use joulepath_model::names::suggest;
use joulepath_model::policy::Policy as Written;
use joulepath_model::units::{Nanos, Probability};
use joulepath_slotted::{Feasible, Params, Policy, RunError, SlottedResult, Windows, run};
use serde::Deserialize;

use crate::event::{Event, Watch};
use crate::parallel::{self, News};

/// "The initial period of 0-30 seconds".
pub(super) const TRANSIENT_S: usize = 30;
/// V of Algorithm 1.
const V: f64 = 100.0;
/// Interval over which the peaks of power are averaged: the resolution of the series.
const PEAKS_OVER: &str = "1 s";
/// Slots of a run with fixed windows.
const FIXED_SLOTS: u64 = 50_000;

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(super) enum System {
    #[serde(rename = "three radios")]
    Radios,
    #[serde(rename = "three radios, lossy")]
    LossyRadios,
    #[serde(rename = "fixed windows")]
    FixedWindows,
}

impl System {
    fn params(self, load: u64) -> Params {
        match self {
            System::Radios => Params::three_radios(load),
            System::LossyRadios => Params::three_radios_lossy(load),
            System::FixedWindows => Params::fixed_windows(FIXED_SLOTS),
        }
    }

    /// Its values for the list of a set-up, without those that [`KEYS`] name.
    pub(super) fn values(self, load: u64) -> Vec<(String, String)> {
        let params = self.params(load);
        let mut values = vec![
            ("load".to_owned(), params.load.to_string()),
            ("mtu".to_owned(), params.mtu.to_string()),
            ("duration".to_owned(), params.duration.to_string()),
            ("warm_up".to_owned(), params.warm_up.to_string()),
        ];
        if let Windows::Controlled(controller) = &params.windows {
            values.push(("controller".to_owned(), controller.name().to_owned()));
        }
        for path in &params.paths {
            let mut push =
                |key: &str, value: String| values.push((format!("{}.{key}", path.name), value));
            push("energy", format!("{} J/Mbit", path.transfer.0 * 1e6));
            push("idle", path.idle.to_string());
            match self {
                System::FixedWindows => {}
                System::Radios => push("rate", path.rate.to_string()),
                System::LossyRadios => {
                    push("rate", path.rate.to_string());
                    push("loss, lossy", format!("{} %", path.loss.get() * 100.0));
                }
            }
        }
        if self != System::FixedWindows {
            values.push(("interval of peaks".to_owned(), PEAKS_OVER.to_owned()));
        }
        if let Windows::Fixed(windows) = &params.windows {
            let windows: Vec<String> = windows.iter().map(f64::to_string).collect();
            values.push((
                "windows".to_owned(),
                format!("{} packets", windows.join(", ")),
            ));
        }
        values
    }
}

/// A system with a policy and several seeds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    system: System,
    /// λ, Mbit/s. Fixed windows have their own load.
    load: u64,
    policy: String,
    /// Keys of [`KEYS`] and their values.
    set: Vec<(String, String)>,
    pub(super) seeds: RangeInclusive<u64>,
}

/// Changes system and policy by a key's text and the number at its start.
type Change = fn(&mut Params, &mut Policy, &str, f64);

/// Keys that can be set, named like a scenario's.
const KEYS: [(&str, Change); 6] = [
    ("delays", |params, _, text, _| {
        if text == "20, 50 and 10 ms" {
            for (path, ms) in params.paths.iter_mut().zip([20, 50, 10]) {
                path.rtt = Nanos::from_millis(ms);
            }
        }
    }),
    // WiFi's RTT is 20 ms; the others change in proportion.
    ("rtt", |params, _, _, wifi_ms| {
        for path in &mut params.paths {
            path.rtt = Nanos((path.rtt.0 as f64 * wifi_ms / 20.0) as u64);
        }
    }),
    // WiFi's loss is 0.05 %; the others change in proportion.
    ("loss", |params, _, _, percent| {
        for path in &mut params.paths {
            let scaled = path.loss.get() * percent / 0.05;
            path.loss = Probability::new(scaled.min(0.5)).expect("below 1");
        }
    }),
    ("slot", |params, _, _, slot_ms| {
        params.slot = Nanos((slot_ms * 1e6) as u64)
    }),
    ("V", |_, policy, _, number| {
        // A policy with its own V keeps it.
        if let Policy::SoMptcp { v, .. } = policy
            && *v == V
        {
            *v = number;
        }
    }),
    ("set X", |_, policy, text, _| {
        if let Policy::SoMptcp { feasible, .. } = policy
            && text == "within the window"
        {
            *feasible = Feasible::Window;
        }
    }),
];

/// Parses `so-mptcp`, `so-mptcp[v=10]`, `so-mptcp[x=link]`, `emptcp`, `mptcp` or
/// `mptcp[scheduler=round-robin]`.
///
/// # Errors
/// The mistake and what to write.
fn policy(written: &str) -> Result<Policy, String> {
    let parsed: Written = written.parse().map_err(|error| format!("{error}"))?;
    let mut policy = match parsed.name.as_str() {
        "so-mptcp" => Policy::so_mptcp(V),
        "emptcp" => Policy::Emptcp,
        "mptcp" => Policy::Mptcp,
        name => {
            let known = ["so-mptcp", "emptcp", "mptcp"];
            return Err(format!(
                "the slotted system has no policy `{name}`; {}",
                suggest(name, &known)
            ));
        }
    };
    let kind = policy;
    for (key, value) in &parsed.overrides {
        let wrong = || {
            let known = match kind {
                Policy::SoMptcp { .. } => "there are v=NUMBER and x=link",
                Policy::Mptcp | Policy::RoundRobin => {
                    "there are scheduler=minrtt and scheduler=round-robin"
                }
                Policy::Emptcp => "it has none",
            };
            format!(
                "`{key}={value}` is not an option of `{}`; {known}",
                parsed.name
            )
        };
        match (&mut policy, key.as_str(), value.as_str()) {
            (Policy::SoMptcp { v, .. }, "v", number) => *v = number.parse().map_err(|_| wrong())?,
            (Policy::SoMptcp { feasible, .. }, "x", "link") => *feasible = Feasible::Link,
            (Policy::Mptcp, "scheduler", "minrtt") => {}
            (Policy::Mptcp, "scheduler", "round-robin") => policy = Policy::RoundRobin,
            _ => return Err(wrong()),
        }
    }
    Ok(policy)
}

impl Case {
    /// # Errors
    /// If the system has no such policy or key.
    pub(super) fn new(
        system: System,
        load: u64,
        written: &str,
        set: &[(String, String)],
        seeds: RangeInclusive<u64>,
    ) -> Result<Self, String> {
        policy(written)?;
        if let Some((key, _)) = set
            .iter()
            .find(|(key, _)| KEYS.iter().all(|(known, _)| known != key))
        {
            let known = KEYS.map(|(known, _)| known);
            return Err(format!(
                "the slotted system has no key `{key}`; {}",
                suggest(key, &known)
            ));
        }
        Ok(Case {
            system,
            load,
            policy: written.to_owned(),
            set: set.to_vec(),
            seeds,
        })
    }

    fn parts(&self) -> (Params, Policy) {
        let mut params = self.system.params(self.load);
        let mut policy = policy(&self.policy).expect("`new` has read it");
        for (key, value) in &self.set {
            let number = value
                .split(' ')
                .next()
                .and_then(|number| number.parse().ok())
                .unwrap_or(f64::NAN);
            let (_, change) = KEYS
                .iter()
                .find(|(known, _)| known == key)
                .expect("`new` has found it");
            change(&mut params, &mut policy, value, number);
        }
        (params, policy)
    }
}

/// Runs every case with every seed on `jobs` cores; starts no more after a cancellation. A case
/// with a missing run has no results: its mean would use different seeds.
pub(super) fn run_all(
    cases: &[Case],
    jobs: Option<NonZeroUsize>,
    watch: Watch<'_>,
    cancel: &Cancel,
) -> Vec<Vec<SlottedResult>> {
    let parts: Vec<(Params, Policy)> = cases.iter().map(Case::parts).collect();
    let seeds = |(place, case): (usize, &Case)| case.seeds.clone().map(move |seed| (place, seed));
    let tasks: Vec<(usize, u64)> = cases.iter().enumerate().flat_map(seeds).collect();
    if !tasks.is_empty() {
        watch(Event::Begin {
            runs: tasks.len(),
            takes: None,
        });
    }
    let work = |&(place, seed): &(usize, u64), _: &dyn Fn(())| {
        let (params, policy) = &parts[place];
        run(params, *policy, seed, cancel)
    };
    let outcomes = parallel::run(&tasks, parallel::cores(jobs), cancel, work, |_, news| {
        if let News::Done(_) = news {
            watch(Event::Step);
        }
    });
    let mut done = vec![vec![]; cases.len()];
    for (index, outcome) in outcomes {
        match outcome.unwrap_or_else(|panic| panic!("{panic}")) {
            Ok(result) => done[tasks[index].0].push(result),
            Err(RunError::Cancelled) => {}
            Err(RunError::Params(error)) => unreachable!("constants that fit: {error}"),
        }
    }
    for (case, runs) in cases.iter().zip(&mut done) {
        if runs.len() < case.seeds.clone().count() {
            runs.clear();
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_policies_and_keys_are_refused_with_a_suggestion() {
        let case = |policy: &str, key: &str| {
            let set = [(key.to_owned(), "5 ms".to_owned())];
            Case::new(System::Radios, 35, policy, &set, 1..=2).map(|case| case.parts())
        };
        assert!(
            case("so-mtcp", "slot")
                .unwrap_err()
                .contains("did you mean `so-mptcp`")
        );
        assert!(
            case("mptcp[v=3]", "slot")
                .unwrap_err()
                .contains("not an option of `mptcp`")
        );
        assert!(
            case("so-mptcp", "rt")
                .unwrap_err()
                .contains("did you mean `rtt`")
        );
        assert!(
            case("mptcp[scheduler=sttf]", "slot")
                .unwrap_err()
                .contains("scheduler=round-robin")
        );
        assert_eq!(
            case("mptcp[scheduler=round-robin]", "slot").unwrap().1,
            Policy::RoundRobin
        );
        let (params, policy) = case("so-mptcp[v=7,x=link]", "slot").unwrap();
        assert_eq!(
            (params.slot, policy),
            (Nanos(5_000_000), Policy::so_mptcp_within_links(7.0))
        );
        let (_, kept) = case("so-mptcp[v=7]", "V").unwrap();
        assert_eq!(
            kept,
            Policy::so_mptcp(7.0),
            "a policy with its own V keeps it"
        );
    }

    #[test]
    fn delays_and_the_set_x_follow_table_1_unless_the_box_says_otherwise() {
        let at = |key: &str, value: &str| {
            let set = [(key.to_owned(), value.to_owned())];
            Case::new(System::Radios, 35, "so-mptcp[x=link]", &set, 1..=2)
                .unwrap()
                .parts()
        };
        let rtts = |(params, _): (Params, Policy)| -> Vec<u64> {
            params
                .paths
                .iter()
                .map(|path| path.rtt.0 / 1_000_000)
                .collect()
        };
        // 300, 600 and 2000 Mbit/s: C τ is the same for all.
        assert_eq!(rtts(at("delays", "∝ 1/bandwidth")), [20, 10, 3]);
        assert_eq!(rtts(at("delays", "20, 50 and 10 ms")), [20, 50, 10]);
        assert_eq!(rtts(at("rtt", "40 ms")), [40, 20, 6]);
        assert_eq!(
            at("set X", "within the link").1,
            Policy::so_mptcp_within_links(V)
        );
        assert_eq!(at("set X", "within the window").1, Policy::so_mptcp(V));
    }
}
