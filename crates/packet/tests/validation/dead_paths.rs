//! Paths that become silent: their data moves to the paths that work.

use joulepath_model::result::RunResult;

use crate::{assert_between, simulate};

fn path(name: &str, rate: &str, delay: &str, rest: &str) -> String {
    format!(
        "[[path]]\nname = \"{name}\"\nrate = \"{rate}\"\ndelay = \"{delay}\"\nenergy = \"free\"\n{rest}\n"
    )
}

/// 178,280 B take 24.4 s at 60 kbit/s; the second path, which dies at 5 s, carries some of them.
/// Its queue holds 10 packets, so some of its lost segments lie below segments that arrived. Linux
/// takes 30 s.
fn over_a_path_that_dies(policy: &str, recovery: &str) -> RunResult {
    let slow = path("lives", "60 kbit/s", "7 ms", "queue = \"1000 packets\"");
    let dead = path(
        "dies",
        "70 kbit/s",
        "44 ms",
        "queue = \"10 packets\"\noutages = [[\"5 s\", \"1800 s\"]]",
    );
    let toml = format!(
        "duration = \"30 min\"\n{slow}{dead}[workload]\nkind = \"file\"\nsize = \"178280 B\"\n\
         [transport]\nrecovery = \"{recovery}\""
    );
    simulate(&toml, policy, 1)
}

/// After a timeout of a subflow, everything without a DATA_ACK is reinjected (RFC 8684, section
/// 3.3.6). SACKed segments wait at the receiver for the holes below them, which a dead path never
/// fills.
#[test]
fn data_after_a_hole_on_a_dead_path_moves_to_the_other_path() {
    for (policy, recovery) in [
        ("mptcp", "rack"),
        ("mptcp", "sack"),
        ("mptcp", "newreno"),
        ("linux", "rack"),
        ("joule", "rack"),
    ] {
        let result = over_a_path_that_dies(policy, recovery);
        let completion = result.completion_s.expect("the file arrives");
        assert_between(&format!("{policy}, {recovery}: s"), completion, 20.0, 30.0);
    }
}

/// WiFi disappears for a minute after 1 s of a 3 MB file over WiFi and LTE. LTE alone takes 5 s.
#[test]
fn a_file_does_not_wait_for_a_radio_in_an_outage() {
    let lte = path("lte", "5 Mbit/s", "30 ms", "queue = \"100 packets\"");
    let rest = "queue = \"50 packets\"\nloss = \"10 %\"\noutages = [[\"1 s\", \"61 s\"]]";
    let wifi = path("wifi", "10 Mbit/s", "10 ms", rest);
    let toml =
        format!("duration = \"200 s\"\n{lte}{wifi}[workload]\nkind = \"file\"\nsize = \"3 MB\"\n");
    for policy in ["mptcp", "linux", "joule"] {
        for seed in 1..=20 {
            let completion = simulate(&toml, policy, seed)
                .completion_s
                .expect("the file arrives");
            assert!(completion < 6.0, "{policy}, seed {seed}: {completion} s");
        }
    }
}

/// Linux assigns new data to no stale subflow, and to a backup while no regular subflow is left
/// (`mptcp_pm_subflow_chk_stale`). For 50 of 60 s only the backup's 5 Mbit/s are available.
#[test]
fn a_backup_takes_over_from_a_stale_subflow() {
    let outage = "queue = \"50 packets\"\noutages = [[\"5 s\", \"55 s\"]]";
    let wifi = path("wifi", "10 Mbit/s", "10 ms", outage);
    let lte = path("lte", "5 Mbit/s", "30 ms", "queue = \"100 packets\"");
    let toml = format!("duration = \"60 s\"\n{wifi}{lte}");
    for policy in ["backup", "backup[scheduler=mainline]"] {
        let result = simulate(&toml, policy, 1);
        let backup_mbps = result.paths[1].goodput_bps / 1e6;
        assert_between(
            &format!("{policy}: the backup, Mbit/s"),
            backup_mbps,
            4.0 * 50.0 / 60.0,
            5.0,
        );
    }
}

fn longest_stall_s(rest: &str, workload: &str) -> f64 {
    let only = path("only", "10 Mbit/s", "10 ms", rest);
    let toml = format!("duration = \"20 s\"\nwarm_up = \"1 s\"\n{only}[workload]\n{workload}");
    simulate(&toml, "uncoupled", 1)
        .longest_stall_s
        .expect("the engine reports it")
}

/// The link is out for 3 s. The retransmission that ends the stall leaves at the first timeout
/// after it: timeouts double, so that the stall lasts at most twice as long, and a round trip.
#[test]
fn a_stall_lasts_as_long_as_the_outage_and_until_the_next_timeout() {
    let outage = "outages = [[\"5 s\", \"8 s\"]]";
    for workload in [
        "kind = \"bulk\"",
        "kind = \"stream\"\nrate = \"1 Mbit/s\"",
        "kind = \"file\"\nsize = \"9 MB\"",
    ] {
        assert_between(
            &format!("{workload}: s"),
            longest_stall_s(outage, workload),
            2.9,
            6.2,
        );
    }
    // The outage is over before the measured interval begins.
    let early = longest_stall_s("outages = [[\"0.1 s\", \"0.7 s\"]]", "kind = \"bulk\"");
    assert_between("bulk, after an outage in the warm-up: s", early, 0.0, 0.25);
    // It lasts until the end, which is 15 s later.
    let last = longest_stall_s("outages = [[\"5 s\", \"40 s\"]]", "kind = \"bulk\"");
    assert_between("bulk, until the end: s", last, 14.9, 15.1);
}

/// A message needs 10 ms on the wire, 0.8 ms at the rate of the link, and the time of the hosts;
/// between two messages nothing waits.
#[test]
fn a_pause_of_the_application_is_no_stall() {
    let workload = "kind = \"messages\"\nsize = \"1000 B\"\nmean_gap = \"3 s\"";
    assert_between("s", longest_stall_s("", workload), 0.010, 0.015);
}
