//! A scenario of one connection whose paths are given by a few numbers, as asked or as measured.

use std::fmt::Write as _;

use super::document::quoted;
use super::exact::Exact;
use super::{Scenario, ScenarioErrors, load, show, written};
use crate::energy::{DeviceEnergy, InterfaceEnergy};
use crate::history::PathHistory;
use crate::network::LossSpec;
use crate::units::{BitRate, Dbm, Nanos};

/// Known properties of a path.
#[derive(Clone, Debug)]
pub struct KnownPath {
    /// Letters, digits, `-` and `_`.
    pub name: String,
    /// Rate of its link, both directions.
    pub rate: BitRate,
    /// Round-trip time without queueing.
    pub rtt: Nanos,
    /// Random loss.
    pub loss: LossSpec,
    /// Queue, packets; none: the default of a scenario.
    pub queue: Option<u64>,
    /// Energy model, also one without a profile.
    pub energy: InterfaceEnergy,
    /// What earlier visits to its network have shown; empty if nothing is known.
    pub history: PathHistory,
    /// Signal at the device; the power of a radio with tables by signal follows it.
    pub signal: Option<Dbm>,
}

/// Known properties of a connection.
#[derive(Clone, Debug)]
pub struct KnownConnection {
    /// One-line title.
    pub title: String,
    /// Simulated time.
    pub duration: Nanos,
    /// Paths, in the scenario's order.
    pub paths: Vec<KnownPath>,
    /// The keys of `[workload]`, as TOML.
    pub workload: String,
    /// Power of the device besides its interfaces.
    pub device: DeviceEnergy,
    /// Policy to compare with `together` over all paths and with each path alone.
    pub policy: String,
    /// For example `mptcp`.
    pub together: String,
}

impl KnownConnection {
    /// The scenario as TOML with all defaults filled in. It can be loaded again.
    ///
    /// # Errors
    /// Values that a scenario does not allow, each with its position in the text.
    pub fn to_toml(&self) -> Result<String, ScenarioErrors> {
        let no_traces = |name: &str| Err(format!("no trace `{name}` belongs to it"));
        let mut scenario: Scenario = load(&self.page(), &no_traces)?;
        // Set as values: a model may have neither a name nor a short form.
        for (path, known) in scenario.paths.iter_mut().zip(&self.paths) {
            path.energy = known.energy.clone();
            path.history = known.history;
        }
        scenario.device = self.device.clone();
        let text = show(&scenario);
        load(&text, &no_traces).map(|_| text)
    }

    fn page(&self) -> String {
        let mut text = format!(
            "title = {}\nduration = {}\n",
            quoted(&self.title),
            self.duration.exact()
        );
        for KnownPath {
            name,
            rate,
            rtt,
            loss,
            queue,
            signal,
            ..
        } in &self.paths
        {
            let (name, rate, delay) = (quoted(name), rate.exact(), Nanos(rtt.0 / 2).exact());
            let _ = write!(
                text,
                "\n[[path]]\nname = {name}\nrate = {rate}\ndelay = {delay}\nloss = {}\nenergy = \"free\"\n",
                written::loss(loss)
            );
            if let Some(signal) = signal {
                let _ = writeln!(text, "signal = {}", signal.exact());
            }
            if let Some(packets) = queue {
                let _ = writeln!(text, "queue = \"{packets} packets\"");
            }
        }
        let singles = self
            .paths
            .iter()
            .map(|path| format!("single:{}", path.name));
        let several = (self.paths.len() > 1).then(|| self.together.clone());
        let policies: Vec<String> = [self.policy.clone()]
            .into_iter()
            .chain(several)
            .chain(singles)
            .map(|policy| quoted(&policy))
            .collect();
        let policies = policies.join(", ");
        text + &format!(
            "\n[workload]\n{}\n\n[compare]\npolicies = [{policies}]\nseeds = 5\n",
            self.workload
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::profile;
    use crate::history::Estimate;
    use crate::units::{Probability, Watts};

    fn known() -> KnownConnection {
        let path = |name: &str, profile_name: &str| KnownPath {
            name: name.into(),
            rate: BitRate::from_bps(20_000_001),
            rtt: Nanos(30_000_002),
            loss: LossSpec::Bernoulli(Probability::new(0.0123).unwrap()),
            queue: Some(50),
            energy: InterfaceEnergy {
                profile: profile_name.into(),
                model: profile(profile_name).unwrap().model.clone(),
            },
            history: PathHistory {
                rtt_s: Some(Estimate {
                    median: 0.03,
                    spread: 1.25,
                }),
                ..PathHistory::default()
            },
            signal: None,
        };
        KnownConnection {
            title: "A \"title\"".into(),
            duration: Nanos::from_secs(60),
            paths: vec![path("wifi", "wifi-huang2012"), path("lte", "lte-huang2012")],
            workload: "kind = \"file\"\nsize = \"10 MB\"".into(),
            device: DeviceEnergy {
                shared_base: Watts(0.7),
                ..DeviceEnergy::additive()
            },
            policy: "joule[deadline=8 s]".into(),
            together: "mptcp".into(),
        }
    }

    fn loaded(known: &KnownConnection) -> Scenario {
        load(&known.to_toml().unwrap(), &|_| Err(String::new())).unwrap()
    }

    #[test]
    fn known_values_are_not_rounded() {
        let (known, scenario) = (known(), loaded(&known()));
        assert_eq!(
            (&scenario.title, scenario.duration),
            (&known.title, known.duration)
        );
        assert_eq!(scenario.device, known.device);
        for (path, known) in scenario.paths.iter().zip(&known.paths) {
            let link = &scenario.links[path.radio.0];
            assert_eq!(
                (&path.name, &path.energy.model),
                (&known.name, &known.energy.model)
            );
            assert_eq!((link.delay.0 * 2, link.loss), (known.rtt.0, known.loss));
        }
    }

    #[test]
    fn a_single_path_is_not_compared_with_mptcp() {
        let mut one = known();
        one.paths.truncate(1);
        let policies = |known| {
            loaded(known)
                .compare
                .policies
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(policies(&one), ["joule[deadline=8 s]", "single:wifi"]);
        assert_eq!(
            policies(&known()),
            ["joule[deadline=8 s]", "mptcp", "single:wifi", "single:lte"]
        );
    }

    #[test]
    fn invalid_values_are_refused() {
        let mut wrong = known();
        wrong.paths[0].name = "my wifi".into();
        let errors = wrong.to_toml().unwrap_err().to_string();
        assert!(errors.contains("my wifi"), "{errors}");
    }

    #[test]
    fn a_signal_sets_the_power_of_its_radio() {
        let mut known = known();
        let name = "5g-mmwave-2021";
        known.paths[1].energy = InterfaceEnergy {
            profile: name.into(),
            model: profile(name).unwrap().model.clone(),
        };
        known.paths[1].rate = BitRate::from_bps(400_000_000);
        let active = |known: &KnownConnection| {
            let text = known.to_toml().unwrap_or_else(|errors| panic!("{errors}"));
            let scenario = load(&text, &|_| Err("no traces".into())).unwrap();
            let model = &scenario.paths[1].energy.model;
            let slope = model.slope(crate::energy::Traffic::Down).0;
            let crate::energy::InterfaceModel::Rrc(rrc) = model else {
                panic!("a radio")
            };
            rrc.active.0 + slope * 400e6
        };
        known.paths[1].signal = Some(Dbm(-80.0));
        let strong = active(&known);
        known.paths[1].signal = Some(Dbm(-115.0));
        // docs/models/energy.md: 1.6 times at 400 Mbit/s.
        assert!(
            (active(&known) / strong - 1.6).abs() < 0.1,
            "{strong} W, {} W",
            active(&known)
        );
    }
}
