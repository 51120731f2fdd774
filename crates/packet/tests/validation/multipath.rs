//! Data over several paths: everything arrives once, backups wait, transfers survive outages.

use joulepath_model::result::{RunResult, Series};

use crate::{assert_between, simulate, simulate_with_series};

const FILE_BYTES: f64 = 20e6;

fn two_paths(first: &str, second: &str, workload: &str) -> String {
    format!(
        r#"
        duration = "120 s"
        [[path]]
        name = "first"
        rate = "12 Mbit/s"
        delay = "20 ms"
        queue = "60 packets"
        energy = "free"
        {first}
        [[path]]
        name = "second"
        rate = "8 Mbit/s"
        delay = "45 ms"
        queue = "60 packets"
        energy = "free"
        {second}
        [workload]
        {workload}
        "#
    )
}

const FILE: &str = "kind = \"file\"\nsize = \"20 MB\"";
const BULK: &str = "kind = \"bulk\"";

/// Bytes delivered to the application, and first copies that arrived over all paths.
fn bytes(result: &RunResult) -> (f64, f64) {
    let delivered = result.goodput_bps * result.measured_s / 8.0;
    let first_copies: f64 = result
        .paths
        .iter()
        .map(|path| path.goodput_bps * result.measured_s / 8.0)
        .sum();
    (delivered, first_copies)
}

#[test]
fn every_byte_of_a_file_arrives_exactly_once_under_loss_outage_and_reinjection() {
    let nets = [
        ("", ""),
        ("loss = \"2 %\"", "loss = \"5 %\""),
        ("outages = [[\"3 s\", \"6 s\"]]", "loss = \"1 %\""),
        (
            "loss = { enter_bad = \"0.5 %\", leave_bad = \"10 %\", loss_bad = \"60 %\" }",
            "jitter = \"5 ms\"",
        ),
        (
            "outages = [[\"2 s\", \"2.5 s\"], [\"4 s\", \"4.3 s\"]]",
            "outages = [[\"4.1 s\", \"9 s\"]]",
        ),
        ("up = { loss = \"20 %\" }", "up = { loss = \"10 %\" }"),
    ];
    let policies = [
        "uncoupled",
        "lia",
        "olia",
        "balia",
        "dts",
        "wvegas",
        "linux",
        "lia[scheduler=round-robin]",
        "lia[scheduler=first-free]",
    ];
    for (first, second) in nets {
        for policy in policies {
            for recovery in ["rack", "sack", "newreno"] {
                let toml = format!(
                    "{}[transport]\nrecovery = \"{recovery}\"\n",
                    two_paths(first, second, FILE)
                );
                let result = simulate(&toml, policy, 3);
                let completed = result.completion_s;
                assert!(
                    completed.is_some(),
                    "{policy} {recovery} on {first} | {second}: not complete"
                );
                let (delivered, first_copies) = bytes(&result);
                assert!(
                    (delivered - FILE_BYTES).abs() < 0.5,
                    "{policy} {recovery}: delivered {delivered}"
                );
                assert!(
                    (first_copies - FILE_BYTES).abs() < 0.5,
                    "{policy} {recovery}: first copies {first_copies}"
                );
                assert!(
                    result.paths.iter().map(|path| path.segments).sum::<u64>() as f64 * 1460.0
                        >= FILE_BYTES
                );
            }
        }
    }
}

#[test]
fn a_backup_path_carries_nothing_until_the_regular_path_fails() {
    let quiet = simulate(&two_paths("", "backup = true", BULK), "lia", 1);
    assert_eq!(quiet.paths[1].segments, 0);
    let toml = two_paths("outages = [[\"40 s\", \"50 s\"]]", "backup = true", BULK);
    let result = simulate_with_series(&toml, "lia", 1);
    let series = result.series.expect("the options ask for a series");
    assert_between(
        "backup before the outage, Mbit/s",
        mean_mbps(&series, 1, 1.0, 39.0),
        0.0,
        0.0,
    );
    // Detected after one RTO of about 0.3 s; then the backup carries its full 7.8 Mbit/s.
    assert_between(
        "backup in the outage, Mbit/s",
        mean_mbps(&series, 1, 41.0, 50.0),
        6.5,
        7.8,
    );
    // Retries at 40.3 s, then with doubled waits, until one gets through after 50 s: before 40 +
    // 0.3 × 63 = 59 s.
    assert_between(
        "backup after the outage, Mbit/s",
        mean_mbps(&series, 1, 65.0, 119.0),
        0.0,
        0.0,
    );
    assert_between(
        "regular path after the outage, Mbit/s",
        mean_mbps(&series, 0, 65.0, 119.0),
        11.0,
        11.7,
    );
}

/// Until another subflow carries data, each packet of `hybrid` leaves when CUBIC's would.
#[test]
fn on_one_path_hybrid_is_cubic() {
    let first = "loss = \"0.1 %\"";
    for (second, policy) in [("", "single:first[cc=@]"), ("backup = true", "@")] {
        let toml = two_paths(first, second, BULK);
        let [hybrid, cubic] =
            ["hybrid", "cubic"].map(|cc| simulate(&toml, &policy.replace('@', cc), 1));
        assert_eq!(
            (hybrid.goodput_bps, hybrid.paths),
            (cubic.goodput_bps, cubic.paths),
            "{policy}"
        );
    }
}

fn mean_mbps(series: &Series, path: usize, from_s: f64, until_s: f64) -> f64 {
    let within = |t: &f64| (from_s..until_s).contains(t);
    let rates: Vec<f64> = series
        .time_s
        .iter()
        .zip(&series.goodput_bps[path])
        .filter(|(t, _)| within(t))
        .map(|(_, &rate)| rate)
        .collect();
    rates.iter().sum::<f64>() / rates.len() as f64 / 1e6
}

#[test]
fn an_outage_moves_data_to_the_other_path_and_back() {
    let toml = two_paths("outages = [[\"40 s\", \"50 s\"]]", "", BULK);
    let series = simulate_with_series(&toml, "uncoupled", 1)
        .series
        .expect("the options ask for a series");
    assert_between(
        "first path before, Mbit/s",
        mean_mbps(&series, 0, 5.0, 40.0),
        10.5,
        11.7,
    );
    assert_between(
        "first path in the outage, Mbit/s",
        mean_mbps(&series, 0, 41.0, 50.0),
        0.0,
        0.0,
    );
    assert_between(
        "second path in the outage, Mbit/s",
        mean_mbps(&series, 1, 42.0, 50.0),
        6.5,
        7.8,
    );
    assert_between(
        "first path afterwards, Mbit/s",
        mean_mbps(&series, 0, 65.0, 119.0),
        10.5,
        11.7,
    );
}

#[test]
fn a_file_completes_although_a_path_dies() {
    // With 3 retries the subflow is given up after 0.3 × (1 + 2 + 4 + 8) s; with 15 it stays, but
    // its data still moves to the other path.
    for retries in [3, 15] {
        let toml = two_paths("outages = [[\"3 s\", \"120 s\"]]", "", FILE)
            + &format!("[transport]\nmax_retries = {retries}\n");
        let result = simulate(&toml, "uncoupled", 1);
        // Until 3 s at most 19.5 Mbit/s: 7 MB; the other 13 MB at 7.8 Mbit/s take 13.6 s plus the
        // detection.
        assert_between(
            "completion, s",
            result.completion_s.expect("complete"),
            15.0,
            20.0,
        );
        assert_eq!(bytes(&result).0.round(), FILE_BYTES);
        assert!(result.retransmission_ratio > 0.0);
    }
}

#[test]
fn two_paths_carry_the_sum_of_their_rates() {
    // 20 Mbit/s together, less headers; sawtooths of queues of 1 and 0.8 BDP.
    let result = simulate(&two_paths("", "", BULK), "uncoupled", 1);
    assert_between(
        "both paths, Mbit/s",
        result.goodput_bps / 1e6,
        18.5,
        20.0 * 1460.0 / 1500.0,
    );
}

#[test]
fn a_single_path_policy_sends_nothing_on_the_other_path() {
    let result = simulate(&two_paths("", "", BULK), "single:second", 1);
    assert_eq!(result.paths[0].segments, 0);
    assert_between(
        "second path alone, Mbit/s",
        result.goodput_bps / 1e6,
        7.2,
        7.79,
    );
}

/// The first path loses nothing, so it has no retransmissions of its own. Mainline's connection
/// stalls after each loss on the second path, and the idle first path then repeats the page of 32
/// KiB that blocks it.
#[test]
fn an_idle_subflow_retransmits_the_page_that_blocks_the_connection() {
    let toml = r#"
        duration = "60 s"
        [[path]]
        name = "first"
        rate = "10 Mbit/s"
        delay = "30 ms"
        queue = "500 packets"
        energy = "free"
        [[path]]
        name = "second"
        rate = "10 Mbit/s"
        delay = "50 ms"
        loss = "2 %"
        queue = "500 packets"
        energy = "free"
        [workload]
        kind = "bulk"
        [receiver]
        buffer = "150 kB"
    "#;
    let again = |policy: &str| {
        let result = simulate(toml, policy, 1);
        println!(
            "{policy}: {} timeouts, {} again",
            result.paths[1].timeouts, result.paths[0].retransmissions
        );
        result.paths[0].retransmissions
    };
    // Pages of 22 or 23 segments of 1460 bytes. With twice the buffer the first subflow is rarely
    // idle: it gets what a window admits, even in the middle of a page.
    assert!(again("mptcp[scheduler=mainline]") >= 22);
    assert_eq!(again("mptcp[scheduler=first-free]"), 0);
}
