//! Paths for `frugal`, `balanced` and `fast`: the advice of [`advise`] for a transfer over the
//! known paths.

use std::collections::BTreeSet;

use joulepath_control::advise::{
    Coupling, Impossible, MOST_PATHS, Path, Plan, Question, Within, advise,
};
use joulepath_control::limit::Capacity;
use joulepath_model::energy::InterfaceModel;
use joulepath_model::energy::radios::RadioTable;
use joulepath_model::live::LiveConfig;
use joulepath_model::network::LossSpec;
use joulepath_model::preset::Preset;
use joulepath_model::units::{BitRate, Dbm, Nanos, Watts};

use crate::reason::Reason;

/// Rate assumed for a path that was never busy.
pub(crate) const UNTRIED_BPS: f64 = 10e6;
/// RTT assumed for a path without subflows.
const UNTRIED_RTT: Nanos = Nanos::from_millis(50);
/// Least relative saving that justifies a switch.
const WORTH: f64 = 0.1;
/// Rates and RTTs are rounded to powers of this factor, so that small changes have no effect.
const STEP: f64 = 1.1;

/// A path that may be used.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) name: String,
    /// `None` if unknown.
    pub(super) rate_bps: Option<f64>,
    pub(super) rtt: Option<Nanos>,
    /// `None` without an energy model.
    pub(super) energy: Option<InterfaceModel>,
    /// The table and the signal of a radio whose power follows its signal; `None` without a
    /// reading.
    pub(super) radio: Option<(&'static RadioTable, Dbm)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) paths: BTreeSet<String>,
    pub(super) reason: Reason,
}

/// The last choice and its input: the choice is made again only if the input changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Frugal {
    asked: Option<(Preset, Vec<Candidate>)>,
    choice: Option<Choice>,
}

impl Frugal {
    /// The paths to use among `candidates`, which are in the order of cost and not empty.
    pub(super) fn choose(
        &mut self,
        config: &LiveConfig,
        preset: Preset,
        candidates: &[Candidate],
    ) -> Choice {
        let asked = Some((preset, candidates.iter().map(rounded).collect::<Vec<_>>()));
        if let Some(choice) = self.choice.as_ref().filter(|_| asked == self.asked) {
            return choice.clone();
        }
        let current = self
            .choice
            .take()
            .map(|choice| choice.paths)
            .unwrap_or_default();
        self.asked = asked;
        let candidates = self
            .asked
            .as_ref()
            .map_or(&[][..], |(_, candidates)| candidates);
        let choice = choose(config, preset, candidates, &current);
        self.choice = Some(choice.clone());
        choice
    }

    /// Forgets the last choice after a change of the configuration.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

fn choose(
    config: &LiveConfig,
    preset: Preset,
    candidates: &[Candidate],
    current: &BTreeSet<String>,
) -> Choice {
    let alone = |reason| Choice {
        paths: [candidates[0].name.clone()].into(),
        reason,
    };
    if candidates.len() == 1 {
        return alone(Reason::OnlyPath);
    }
    let paths: Option<Vec<Path>> = candidates.iter().take(MOST_PATHS).map(path).collect();
    let Some(paths) = paths else {
        let nameless = candidates.iter().filter(|path| path.energy.is_none());
        return alone(Reason::EnergyUnknown {
            paths: nameless.map(|path| path.name.clone()).collect(),
        });
    };
    let within = match (config.deadline, config.rate) {
        (Some(deadline), _) => Within::Deadline(deadline),
        (None, Some(rate)) => Within::Rate(rate),
        (None, None) => Within::Whenever,
    };
    let question = Question {
        paths,
        size: config.transfer,
        within,
        delay_price: Watts(0.0),
        base: config.device.shared_base,
        capacity: Capacity::Link,
        coupling: Coupling::Uncoupled,
    }
    .with(preset);
    let paths = &question.paths;
    let cost_j = |plan: &Plan| question.cost_j(plan.energy_j, plan.seconds);
    let advice = match advise(&question) {
        Ok(advice) => advice,
        Err(impossible) => {
            let reason = match impossible {
                Impossible::Degenerate => {
                    return alone(Reason::Cheapest {
                        paths: candidates.len(),
                    });
                }
                Impossible::Deadline { fastest_s } => Reason::DeadlineImpossible {
                    least_time_s: fastest_s,
                },
                Impossible::Rate { most_bps } => Reason::RateImpossible { most_bps },
            };
            return Choice {
                paths: candidates.iter().map(|path| path.name.clone()).collect(),
                reason,
            };
        }
    };
    let transfer_bytes = config.transfer.0;
    let of_current: Vec<Path> = paths
        .iter()
        .filter(|path| current.contains(&path.name))
        .cloned()
        .collect();
    if !current.is_empty() && of_current.len() == current.len() {
        // If the best plan for the current set leaves some of its paths unused, its cost is not the
        // current cost. A longest time in multiples of the fastest path's stays that of all paths.
        let parts = of_current.len();
        if let Ok(stays) = advise(&Question {
            paths: of_current,
            ..question.clone()
        }) && stays.best.paths.len() == parts
            && names(&advice.best, paths) != *current
            && cost_j(&advice.best) > (1.0 - WORTH) * cost_j(&stays.best)
        {
            let reason = Reason::FrugalStays {
                transfer_bytes,
                energy_j: stays.best.energy_j,
                other_paths: names(&advice.best, paths).into_iter().collect(),
                other_energy_j: advice.best.energy_j,
                least_saving_percent: WORTH * 100.0,
            };
            return Choice {
                paths: current.clone(),
                reason,
            };
        }
    }
    let list = |plan: &Plan| names(plan, paths).into_iter().collect();
    let reason = Reason::Frugal {
        transfer_bytes,
        paths: list(&advice.best),
        energy_j: advice.best.energy_j,
        time_s: advice.best.seconds,
        delay_price_w: preset.delay_price_w(),
        next_paths: advice.next_best.as_ref().map(list).unwrap_or_default(),
        next_energy_j: advice.next_best.as_ref().map(|plan| plan.energy_j),
        advice: advice.reason,
    };
    Choice {
        paths: names(&advice.best, paths),
        reason,
    }
}

fn names(plan: &Plan, paths: &[Path]) -> BTreeSet<String> {
    plan.paths
        .iter()
        .map(|part| paths[part.path].name.clone())
        .collect()
}

fn path(candidate: &Candidate) -> Option<Path> {
    let rate_bps = candidate.rate_bps.unwrap_or(UNTRIED_BPS).max(1.0);
    let energy = match (candidate.energy.clone()?, candidate.radio) {
        (model, Some((radio, signal))) => radio.model_at(signal, &model, rate_bps, rate_bps),
        (model, None) => model,
    };
    Some(Path {
        energy,
        name: candidate.name.clone(),
        rate: BitRate::from_bps(rate_bps as u64),
        rtt: candidate.rtt.unwrap_or(UNTRIED_RTT),
        loss: LossSpec::None,
    })
}

fn rounded(candidate: &Candidate) -> Candidate {
    let rtt = candidate
        .rtt
        .map(|rtt| Nanos(step(rtt.0.max(1) as f64) as u64));
    Candidate {
        rate_bps: candidate.rate_bps.map(|bps| step(bps.max(1.0))),
        rtt,
        ..candidate.clone()
    }
}

/// The nearest power of [`STEP`].
fn step(value: f64) -> f64 {
    STEP.powf((value.ln() / STEP.ln()).round())
}

#[cfg(test)]
mod tests {
    use joulepath_model::energy::profile;
    use joulepath_model::scenario::read_live;

    use super::*;

    fn candidate(name: &str, mbps: f64, energy: &str) -> Candidate {
        let energy = profile(energy).map(|profile| profile.model);
        Candidate {
            name: name.into(),
            rate_bps: Some(mbps * 1e6),
            rtt: None,
            energy,
            radio: None,
        }
    }

    fn both(wifi_mbps: f64, lte_mbps: f64) -> [Candidate; 2] {
        [
            candidate("wifi", wifi_mbps, "wifi-huang2012"),
            candidate("lte", lte_mbps, "lte-huang2012"),
        ]
    }

    fn chosen(config: &str, candidates: &[Candidate]) -> (Vec<String>, Reason) {
        let config = read_live(&format!("intent = \"frugal\"\n{config}")).unwrap();
        let choice = Frugal::default().choose(&config, Preset::Saver, candidates);
        (choice.paths.into_iter().collect(), choice.reason)
    }

    #[test]
    fn frugal_follows_the_advice_to_use_the_cheapest_radio() {
        let (paths, reason) = chosen("", &both(20.0, 20.0));
        assert_eq!(paths, ["wifi"]);
        let Reason::Frugal {
            transfer_bytes,
            paths,
            energy_j,
            next_paths,
            next_energy_j,
            advice,
            ..
        } = reason
        else {
            panic!("{reason}")
        };
        assert!(next_paths == ["lte"] && next_energy_j.is_some_and(|next_j| next_j > energy_j));
        assert!((transfer_bytes, &paths[..]) == (10_000_000, &["wifi".into()]) && energy_j > 1.0);
        assert!(advice.starts_with("Use wifi alone: "), "{advice}");
    }

    #[test]
    fn a_deadline_that_one_path_misses_uses_both_paths() {
        // 10 MB are 80 Mbit: at 20 Mbit/s at least 4 s.
        let (paths, reason) = chosen("deadline = \"3 s\"", &both(20.0, 20.0));
        assert_eq!(paths, ["lte", "wifi"], "{reason}");
        let (paths, reason) = chosen("deadline = \"100 ms\"", &both(20.0, 20.0));
        assert!(
            paths.len() == 2 && matches!(reason, Reason::DeadlineImpossible { .. }),
            "{reason}"
        );
    }

    /// 10 MB over WiFi at 4 Mbit/s take 20 s and 14 J, over LTE at 40 Mbit/s 2 s and 21 J.
    #[test]
    fn the_price_of_time_decides_between_a_thrifty_and_a_fast_radio() {
        let config = read_live("intent = \"frugal\"").unwrap();
        let mut frugal = Frugal::default();
        let mut names = |preset| {
            let choice = frugal.choose(&config, preset, &both(4.0, 40.0));
            choice.paths.into_iter().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(Preset::Saver), "wifi");
        assert!(names(Preset::Fast).contains("lte"));
        assert_eq!(names(Preset::Saver), "wifi", "another intent asks again");
    }

    #[test]
    fn without_an_energy_model_the_order_of_cost_decides() {
        let mut candidates = both(20.0, 20.0);
        candidates.reverse();
        candidates[1].energy = None;
        let (paths, reason) = chosen("", &candidates);
        assert_eq!(paths, ["lte"]);
        assert_eq!(
            reason,
            Reason::EnergyUnknown {
                paths: vec!["wifi".into()]
            }
        );
    }

    #[test]
    fn small_differences_of_rates_have_no_effect() {
        let config = read_live("intent = \"frugal\"").unwrap();
        let mut frugal = Frugal::default();
        let mut after = |mbps: f64, rtt_ms: u64| {
            let rtt = Some(Nanos::from_millis(rtt_ms));
            frugal.choose(
                &config,
                Preset::Saver,
                &both(mbps, mbps).map(|path| Candidate { rtt, ..path }),
            );
            frugal.clone()
        };
        let first = after(20.0, 200);
        // Steps are powers of 1.1: 19.6 and 20 Mbit/s round to 1.1^176 bit/s = 19.3 Mbit/s; 200 and
        // 204 ms round to 1.1^201 ns = 208.9 ms.
        assert_eq!(after(19.6, 200), first);
        assert_eq!(after(20.0, 204), first);
        assert_ne!(after(18.0, 200), first);
        assert_ne!(after(20.0, 240), first);
    }

    #[test]
    fn a_small_saving_changes_nothing() {
        let config = read_live("intent = \"frugal\"").unwrap();
        let pair = |second: f64| {
            [
                candidate("a", 20.0, "lte-huang2012"),
                candidate("b", second, "lte-huang2012"),
            ]
        };
        let mut frugal = Frugal::default();
        assert!(
            frugal
                .choose(&config, Preset::Saver, &pair(10.0))
                .paths
                .contains("a")
        );
        let stays = frugal.choose(&config, Preset::Saver, &pair(23.5));
        assert!(
            stays.paths.contains("a") && matches!(stays.reason, Reason::FrugalStays { .. }),
            "{stays:?}"
        );
        assert!(
            frugal
                .choose(&config, Preset::Saver, &pair(60.0))
                .paths
                .contains("b")
        );
    }
}
