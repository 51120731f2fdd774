//! Paths that are faster than the rates for which their energy profiles hold.

use super::{Direction, Scenario};
use crate::energy::Traffic;

impl Scenario {
    /// A sentence that names the paths whose mean rate, in the direction of their data, exceeds the range of
    /// their energy profile; `None` if there are none.
    pub fn extrapolated(&self) -> Option<String> {
        let paths = self.paths.iter().enumerate();
        let beyond: Vec<String> = paths
            .filter_map(|(index, path)| {
                let group = self.connections.iter().find(|group| group.paths.contains(&index))?;
                let (link, traffic) = match group.direction {
                    Direction::Download => (path.radio.0, Traffic::Down),
                    Direction::Upload => (path.radio.1, Traffic::Up),
                };
                let bps = self.links[link].rate.mean_bps(self.duration);
                Some(format!("{} ({})", path.name, path.energy.beyond(traffic, bps)?))
            })
            .collect();
        (!beyond.is_empty()).then(|| format!("Energy extrapolated: {}.", beyond.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::load;

    fn said(direction: &str, wifi: &str) -> Option<String> {
        let text = format!(
            "title = \"t\"\nduration = \"1 s\"\n\
             [[path]]\nname = \"wifi\"\nrate = \"{wifi}\"\ndelay = \"5 ms\"\nqueue = \"50 packets\"\n\
             energy = {{ profile = \"wifi-huang2012\", idle = \"1 mW\" }}\n[path.up]\nrate = \"11 Mbit/s\"\n\
             [[path]]\nname = \"lte\"\nrate = \"50 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"50 packets\"\n\
             energy = \"lte-2021\"\n[path.up]\nrate = \"25 Mbit/s\"\n\
             [workload]\nkind = \"bulk\"\ndirection = \"{direction}\"\n"
        );
        let scenario = load(&text, &|_| Err(String::new())).unwrap_or_else(|errors| panic!("{errors}"));
        scenario.extrapolated()
    }

    #[test]
    fn a_path_above_the_rates_of_its_profile_is_extrapolated_in_the_direction_of_its_data() {
        assert_eq!(said("download", "20 Mbit/s"), None);
        let down = said("download", "21 Mbit/s").unwrap();
        assert_eq!(down, "Energy extrapolated: wifi (wifi-huang2012 holds up to 20 Mbit/s).");
        let up = said("upload", "20 Mbit/s").unwrap();
        assert_eq!(up, "Energy extrapolated: wifi (wifi-huang2012 holds up to 10 Mbit/s).");
    }
}
