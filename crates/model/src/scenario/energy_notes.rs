//! What the reader of joules must know: estimated profiles, and rates for which no profile was
//! made.

use super::{Direction, Scenario};
use crate::energy::{self, Traffic};

impl Scenario {
    /// A sentence that names the paths with an estimated energy profile, and one for those whose
    /// mean rate, in the direction of their data, exceeds the range of their profile.
    pub fn energy_notes(&self) -> Vec<String> {
        let mut estimated = vec![];
        let mut extrapolated = vec![];
        for (index, path) in self.paths.iter().enumerate() {
            let Some(group) = self
                .connections
                .iter()
                .find(|group| group.paths.contains(&index))
            else {
                continue;
            };
            let (link, traffic) = match group.direction {
                Direction::Download => (path.radio.0, Traffic::Down),
                Direction::Upload => (path.radio.1, Traffic::Up),
            };
            let bps = self.links[link].rate.mean_bps(self.duration);
            let named = |what: String| format!("{} ({what})", path.name);
            estimated.extend(path.energy.estimate().map(named));
            extrapolated.extend(path.energy.beyond(traffic, bps).map(named));
        }
        energy::notes(&estimated, &extrapolated)
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::load;

    fn said(direction: &str, wifi: &str, profile: &str) -> Vec<String> {
        let text = format!(
            "title = \"t\"\nduration = \"1 s\"\n\
             [[path]]\nname = \"wifi\"\nrate = \"{wifi}\"\ndelay = \"5 ms\"\nqueue = \"50 packets\"\n\
             energy = {{ profile = \"{profile}\", idle = \"1 mW\" }}\n[path.up]\nrate = \"11 Mbit/s\"\n\
             [[path]]\nname = \"lte\"\nrate = \"50 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"50 packets\"\n\
             energy = \"lte-2021\"\n[path.up]\nrate = \"25 Mbit/s\"\n\
             [workload]\nkind = \"bulk\"\ndirection = \"{direction}\"\n"
        );
        let scenario =
            load(&text, &|_| Err(String::new())).unwrap_or_else(|errors| panic!("{errors}"));
        scenario.energy_notes()
    }

    #[test]
    fn a_path_above_the_rates_of_its_profile_is_extrapolated_in_the_direction_of_its_data() {
        let said = |direction, wifi| said(direction, wifi, "wifi-huang2012");
        assert_eq!(said("download", "20 Mbit/s"), [""; 0]);
        let down = said("download", "21 Mbit/s");
        assert_eq!(
            down,
            ["Energy extrapolated: wifi (wifi-huang2012 holds up to 20 Mbit/s)."]
        );
        let up = said("upload", "20 Mbit/s");
        assert_eq!(
            up,
            ["Energy extrapolated: wifi (wifi-huang2012 holds up to 10 Mbit/s)."]
        );
    }

    #[test]
    fn an_estimated_profile_is_named_with_its_bounds() {
        let notes = said("download", "20 Mbit/s", "wifi6-2021");
        assert_eq!(
            notes,
            ["Energy estimated: wifi (wifi6-2021, active power 3.7 to 362.6 mW)."]
        );
    }
}
