//! A scenario of one connection whose paths are known by a few numbers: those of a question, or measured.

use std::fmt::Write as _;

use super::document::quoted;
use super::exact::Exact;
use super::{Scenario, ScenarioErrors, load, show};
use crate::energy::{DeviceEnergy, InterfaceEnergy};
use crate::units::{BitRate, Nanos, Probability};

/// A path as far as it is known.
#[derive(Clone, Debug)]
pub struct KnownPath {
    /// Letters, digits, `-` and `_`.
    pub name: String,
    /// Of its link, both ways.
    pub rate: BitRate,
    /// Without queues.
    pub rtt: Nanos,
    /// Random loss, of each packet.
    pub loss: Probability,
    /// Of its queue, packets; none: what a scenario that does not say it gets.
    pub queue: Option<u64>,
    /// Also one that no profile names.
    pub energy: InterfaceEnergy,
}

/// What is known of a connection.
#[derive(Clone, Debug)]
pub struct KnownConnection {
    /// One line for people.
    pub title: String,
    /// Simulated time.
    pub duration: Nanos,
    /// In the order of the scenario.
    pub paths: Vec<KnownPath>,
    /// The keys of `[workload]`, as TOML.
    pub workload: String,
    /// What the device burns besides its interfaces.
    pub device: DeviceEnergy,
    /// The policy that is compared with all paths by LIA and with each path alone.
    pub policy: String,
}

impl KnownConnection {
    /// The scenario as TOML: every default filled in. It loads again.
    ///
    /// # Errors
    /// Everything that a scenario does not allow, at its place in the text.
    pub fn to_toml(&self) -> Result<String, ScenarioErrors> {
        let no_traces = |name: &str| Err(format!("no trace `{name}` belongs to it"));
        let mut scenario: Scenario = load(&self.page(), &no_traces)?;
        // As values: they may have no name, and no short form.
        for (path, known) in scenario.paths.iter_mut().zip(&self.paths) {
            path.energy = known.energy.clone();
        }
        scenario.device = self.device.clone();
        let text = show(&scenario);
        load(&text, &no_traces).map(|_| text)
    }

    fn page(&self) -> String {
        let mut text = format!("title = {}\nduration = {}\n", quoted(&self.title), self.duration.exact());
        for KnownPath { name, rate, rtt, loss, queue, .. } in &self.paths {
            let (name, rate, delay) = (quoted(name), rate.exact(), Nanos(rtt.0 / 2).exact());
            let _ = write!(
                text,
                "\n[[path]]\nname = {name}\nrate = {rate}\ndelay = {delay}\nloss = {}\nenergy = \"free\"\n",
                loss.exact()
            );
            if let Some(packets) = queue {
                let _ = writeln!(text, "queue = \"{packets} packets\"");
            }
        }
        let singles = self.paths.iter().map(|path| format!("single:{}", path.name));
        let several = (self.paths.len() > 1).then(|| "mptcp".to_owned());
        let policies: Vec<String> = [self.policy.clone()]
            .into_iter()
            .chain(several)
            .chain(singles)
            .map(|policy| quoted(&policy))
            .collect();
        let policies = policies.join(", ");
        text + &format!("\n[workload]\n{}\n\n[compare]\npolicies = [{policies}]\nseeds = 5\n", self.workload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::profile;
    use crate::network::LossSpec;
    use crate::units::Watts;

    fn known() -> KnownConnection {
        let path = |name: &str, profile_name: &str| KnownPath {
            name: name.into(),
            rate: BitRate::from_bps(20_000_001),
            rtt: Nanos(30_000_002),
            loss: Probability::new(0.0123).unwrap(),
            queue: Some(50),
            energy: InterfaceEnergy {
                profile: profile_name.into(),
                model: profile(profile_name).unwrap().model.clone(),
            },
        };
        KnownConnection {
            title: "A \"title\"".into(),
            duration: Nanos::from_secs(60),
            paths: vec![path("wifi", "wifi-huang2012"), path("lte", "lte-huang2012")],
            workload: "kind = \"file\"\nsize = \"10 MB\"".into(),
            device: DeviceEnergy { shared_base: Watts(0.7), ..DeviceEnergy::additive() },
            policy: "joule[deadline=8 s]".into(),
        }
    }

    fn loaded(known: &KnownConnection) -> Scenario {
        load(&known.to_toml().unwrap(), &|_| Err(String::new())).unwrap()
    }

    #[test]
    fn nothing_that_is_known_is_rounded() {
        let (known, scenario) = (known(), loaded(&known()));
        assert_eq!((&scenario.title, scenario.duration), (&known.title, known.duration));
        assert_eq!(scenario.device, known.device);
        for (path, known) in scenario.paths.iter().zip(&known.paths) {
            let link = &scenario.links[path.radio.0];
            assert_eq!((&path.name, &path.energy.model), (&known.name, &known.energy.model));
            assert_eq!((link.delay.0 * 2, link.loss), (known.rtt.0, LossSpec::Bernoulli(known.loss)));
        }
    }

    #[test]
    fn a_single_path_is_compared_with_itself_alone() {
        let mut one = known();
        one.paths.truncate(1);
        let policies =
            |known| loaded(known).compare.policies.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(policies(&one), ["joule[deadline=8 s]", "single:wifi"]);
        assert_eq!(policies(&known()), ["joule[deadline=8 s]", "mptcp", "single:wifi", "single:lte"]);
    }

    #[test]
    fn what_no_scenario_allows_is_told() {
        let mut wrong = known();
        wrong.paths[0].name = "my wifi".into();
        let errors = wrong.to_toml().unwrap_err().to_string();
        assert!(errors.contains("my wifi"), "{errors}");
    }
}
