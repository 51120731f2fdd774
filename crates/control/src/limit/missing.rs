//! Scenarios without reference values.

use joulepath_model::scenario::{ConnectionGroup, PathIndex, Scenario, Workload};

use crate::allocate::head_start;

/// Largest part by which a TCP may carry more in the run than in the long run because it starts
/// without a stall. Above it, few stalls decide a run, and rates are 0.4 to 8.6 times those of the
/// packet engine.
const MOST_HEAD_START: f64 = 0.05;

/// Why `scenario`, which has no topology, has no reference values.
pub fn missing(scenario: &Scenario) -> Option<String> {
    if starts_too_early(scenario) {
        return Some(
            "No reference values: they are for whole files, and a file starts before the warm-up ends."
                .to_owned(),
        );
    }
    let path = &scenario.paths[stalling(scenario)?];
    Some(format!(
        "No reference values: bursts of losses on path `{}` stop a TCP for so long that few stalls decide a \
         run. They need a longer `duration`, or shorter bursts (`leave_bad` in the link's `loss`).",
        path.name
    ))
}

/// True if a file starts before the warm-up ends: the measured interval has only a part of its data
/// and energy, and the limits are for whole files.
fn starts_too_early(scenario: &Scenario) -> bool {
    scenario.connections.iter().any(|group| {
        matches!(group.workload, Workload::File { .. }) && group.start < scenario.warm_up
    })
}

/// A path on which the run is too short for the mean of a TCP's stalls.
fn stalling(scenario: &Scenario) -> Option<PathIndex> {
    let of_group = |group: &ConnectionGroup| {
        let stalls =
            |&path: &PathIndex| head_start(scenario, group.direction, path) > MOST_HEAD_START;
        group.paths.iter().copied().find(stalls)
    };
    scenario.connections.iter().find_map(of_group)
}

#[cfg(test)]
mod tests {
    use joulepath_model::scenario::load;

    use super::super::limits;
    use super::*;

    /// 20 Mbit/s, 70 ms.
    fn under(seconds: u32, loss: &str) -> Scenario {
        let text = format!(
            "title = \"t\"\nduration = \"{seconds} s\"\nwarm_up = \"10 s\"\n[[path]]\nname = \"p\"\nrate = \
             \"20 Mbit/s\"\ndelay = \"35 ms\"\nqueue = \"200 packets\"\nloss = {loss}\nenergy = \
             \"wifi-huang2012\"\n"
        );
        load(&text, &|_| Err(String::new())).unwrap()
    }

    /// NewReno in the packet engine, 16 to 40 seeds: the reference would be 0.43, 8.6, 1.6 and 1.4
    /// times its goodput, and is within 4 % of it in the second list.
    #[test]
    fn stalls_that_take_a_large_part_of_the_run_leave_no_value() {
        let bursts = |enter: &str, leave: &str| {
            format!("{{ enter_bad = \"{enter}\", leave_bad = \"{leave}\", loss_bad = \"100 %\" }}")
        };
        for (seconds, enter, leave) in [
            (1000, "0.005 %", "2 %"),
            (3000, "0.2 %", "2 %"),
            (3000, "0.05 %", "10 %"),
            (300, "0.2 %", "10 %"),
        ] {
            let scenario = under(seconds, &bursts(enter, leave));
            let why = missing(&scenario).unwrap();
            assert!(why.contains("path `p`"), "{why}");
            assert!(limits(&scenario).is_empty(), "{seconds} {enter} {leave}");
        }
        for (seconds, enter, leave) in [
            (60, "0.05 %", "10 %"),
            (300, "0.005 %", "10 %"),
            (300, "0.2 %", "30 %"),
        ] {
            let scenario = under(seconds, &bursts(enter, leave));
            assert_eq!(missing(&scenario), None, "{seconds} {enter} {leave}");
            assert!(!limits(&scenario).is_empty());
        }
        assert_eq!(missing(&under(60, "\"3 %\"")), None);
    }
}
