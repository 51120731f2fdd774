//! Paths that go silent: what they hold travels on the paths that live.

use joulepath_model::result::RunResult;

use crate::{assert_between, simulate};

fn path(name: &str, rate: &str, delay: &str, rest: &str) -> String {
    format!(
        "[[path]]\nname = \"{name}\"\nrate = \"{rate}\"\ndelay = \"{delay}\"\nenergy = \"free\"\n{rest}\n"
    )
}

/// 178280 B need 24.4 s at 60 kbit/s; the second path, which dies at 5 s, has carried some of them. It has a
/// queue of 10 packets, so segments that it lost lie below segments that have arrived. Linux takes 30 s.
fn over_a_path_that_dies(policy: &str, recovery: &str) -> RunResult {
    let slow = path("lives", "60 kbit/s", "7 ms", "queue = \"1000 packets\"");
    let dead =
        path("dies", "70 kbit/s", "44 ms", "queue = \"10 packets\"\noutages = [[\"5 s\", \"1800 s\"]]");
    let toml = format!(
        "duration = \"30 min\"\n{slow}{dead}[workload]\nkind = \"file\"\nsize = \"178280 B\"\n\
         [transport]\nrecovery = \"{recovery}\""
    );
    simulate(&toml, policy, 1)
}

/// A timeout of a subflow lets everything travel elsewhere that has no DATA_ACK (RFC 8684, section 3.3.6).
/// SACKed segments wait at the receiver for the holes below them, which a dead path never fills.
#[test]
fn data_behind_a_hole_of_a_dead_path_travels_on_the_other() {
    for (policy, recovery) in
        [("mptcp", "rack"), ("mptcp", "sack"), ("mptcp", "newreno"), ("linux", "rack"), ("joule", "rack")]
    {
        let result = over_a_path_that_dies(policy, recovery);
        let completion = result.completion_s.expect("the file arrives");
        assert_between(&format!("{policy}, {recovery}: s"), completion, 20.0, 30.0);
    }
}

/// Of 3 MB over WiFi and LTE, WiFi vanishes after 1 s for a minute. LTE alone needs 5 s.
#[test]
fn no_file_waits_for_a_radio_that_has_vanished() {
    let lte = path("lte", "5 Mbit/s", "30 ms", "queue = \"100 packets\"");
    let rest = "queue = \"50 packets\"\nloss = \"10 %\"\noutages = [[\"1 s\", \"61 s\"]]";
    let wifi = path("wifi", "10 Mbit/s", "10 ms", rest);
    let toml = format!("duration = \"200 s\"\n{lte}{wifi}[workload]\nkind = \"file\"\nsize = \"3 MB\"\n");
    for policy in ["mptcp", "linux", "joule"] {
        for seed in 1..=20 {
            let completion = simulate(&toml, policy, seed).completion_s.expect("the file arrives");
            assert!(completion < 6.0, "{policy}, seed {seed}: {completion} s");
        }
    }
}

/// Linux hands new data to no subflow that is stale, and to a backup while no regular one is left
/// (`mptcp_pm_subflow_chk_stale`). In 50 of 60 s the backup's 5 Mbit/s are all that there is.
#[test]
fn a_backup_takes_over_from_a_stale_subflow() {
    let outage = "queue = \"50 packets\"\noutages = [[\"5 s\", \"55 s\"]]";
    let wifi = path("wifi", "10 Mbit/s", "10 ms", outage);
    let lte = path("lte", "5 Mbit/s", "30 ms", "queue = \"100 packets\"");
    let toml = format!("duration = \"60 s\"\n{wifi}{lte}");
    for policy in ["backup", "backup[scheduler=mainline]"] {
        let result = simulate(&toml, policy, 1);
        let backup_mbps = result.paths[1].goodput_bps / 1e6;
        assert_between(&format!("{policy}: the backup, Mbit/s"), backup_mbps, 4.0 * 50.0 / 60.0, 5.0);
    }
}
