//! Data arrives unchanged under every controller.

use joulepath_controllers::Controller;

use super::{run, scenario};

/// 140 + 140 Mbit/s and half a millisecond: losses hardly slow it, and the emulator keeps its
/// priority. The receiver compares every byte with the sender's pattern.
const LOSSY: &str = r#"
title = "100 MB"
duration = "60 s"
[[path]]
name = "a"
rate = "140 Mbit/s"
delay = "0.2 ms"
loss = "1 %"
energy = "free"
[[path]]
name = "b"
rate = "140 Mbit/s"
delay = "0.2 ms"
loss = "1 %"
energy = "free"
[workload]
kind = "file"
size = "100 MB"
"#;

#[test(needs(LAB, BPF))]
fn a_hundred_megabytes_arrive_under_every_controller_with_one_percent_loss() {
    let scenario = scenario(LOSSY);
    for controller in Controller::all() {
        let name = controller.name();
        let result = run(&scenario, &format!("mptcp[cc={name}]"))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        // A wrong byte would have failed the run.
        assert_eq!(
            (result.goodput_bps * result.measured_s / 8.0).round(),
            100e6,
            "{name}"
        );
        assert!(
            result.completion_s.is_some() && result.paths.iter().all(|path| path.share > 0.0),
            "{name}"
        );
        assert!(result.counters.wire_losses > 0, "{name}");
        eprintln!("{name}: {:.2} s", result.completion_s.unwrap());
    }
}
