//! A run reports everything that the packet engine reports.

use joulepath_lab::engine::{self, RunOptions};

use super::{TWO_PATHS, at_once, in_time, program, run, run_seed, scenario, setup};

#[test(needs(ENGINE))]
fn a_run_fills_the_whole_result() {
    let scenario = scenario(TWO_PATHS);
    let setup = setup("mptcp", &scenario);
    let options = RunOptions {
        series: true,
        ..RunOptions::default()
    };
    let result = in_time(options, |options| {
        engine::run(&scenario, &setup, 1, options, &program())
    })
    .unwrap();
    assert_eq!((result.policy.as_str(), result.seed), ("mptcp", 1));
    assert!((result.measured_s - 3.0).abs() < 1e-9);
    // 1460 of 1500 bytes are payload: 29.2 of 30 Mbit/s. Queues of one bandwidth-delay product keep
    // links busy. The bounds leave a fifth for the recovery from slow start, and a tenth for data
    // that arrived before the end of the warm-up and was in order only later.
    assert!(
        (0.8 * 29.2e6..1.1 * 29.2e6).contains(&result.goodput_bps),
        "{result:#?}"
    );
    let [wifi, lte] = &result.paths[..] else {
        panic!("{result:#?}")
    };
    assert!(
        (wifi.share + lte.share - 1.0).abs() < 1e-9 && wifi.share > 0.55,
        "{result:#?}"
    );
    for (path, base_rtt_s) in [(wifi, 0.020), (lte, 0.040)] {
        // The RTT is at least the path's, and a full queue adds at most the same again.
        let rtt_s = path.mean_rtt_s.unwrap();
        assert!((base_rtt_s..2.3 * base_rtt_s).contains(&rtt_s), "{path:#?}");
        assert!(path.mean_cwnd > 5.0 && path.segments > 1000, "{path:#?}");
    }
    // Sunk: 1 W and 2 W while the subflows are open, which is all of 3 s. Traffic: 1500 of 1460
    // bytes, at 100 and 50 mJ/Mbit.
    assert!(
        (result.energy_split.sunk_j - 9.0).abs() < 0.1,
        "{result:#?}"
    );
    let megabits =
        |path: &joulepath_model::result::PathResult| path.goodput_bps * 3.0 / 1e6 * 1500.0 / 1460.0;
    let expected_j = 0.1 * megabits(wifi) + 0.05 * megabits(lte);
    assert!(
        (result.energy_split.transfer_j / expected_j - 1.0).abs() < 0.03,
        "{result:#?}"
    );
    assert!((result.power_w - result.energy_j / 3.0).abs() < 1e-9);
    let series = result.series.as_ref().unwrap();
    assert!(series.time_s.len() > 50 && series.time_s.len() <= 1024);
    for all in [
        &series.goodput_bps,
        &series.cwnd,
        &series.rtt_s,
        &series.queue,
        &series.power_w,
    ] {
        assert!(all.len() == 2 && all.iter().all(|one| one.len() == series.time_s.len()));
    }
}

#[test(needs(ENGINE))]
fn a_file_ends_the_run_and_tails_count() {
    let text = TWO_PATHS.replace("4 s", "30 s").replace("1 s\"", "0 s\"")
        + "[workload]\nkind = \"file\"\nsize = \"3 MB\"\n";
    let result = run(&scenario(&text), "mptcp").unwrap();
    let completion_s = result.completion_s.unwrap();
    // 24 Mbit at 29.2 Mbit/s: 0.82 s, and slow start before that.
    assert!((0.85..3.0).contains(&completion_s), "{completion_s} s");
    assert!((result.measured_s - completion_s).abs() < 0.02);
    assert!(
        (result.goodput_bps * result.measured_s - 24e6).abs() < 1.0,
        "{result:#?}"
    );
}

#[test(needs(ENGINE))]
fn a_file_that_arrives_before_its_second_subflow_is_a_valid_run() {
    let text = TWO_PATHS.replace("4 s", "30 s").replace("1 s\"", "0 s\"")
        + "start = \"2 s\"\n[workload]\nkind = \"file\"\nsize = \"200 kB\"\n";
    let result = run(&scenario(&text), "mptcp").unwrap();
    assert!(result.completion_s.unwrap() < 2.0, "{result:#?}");
    assert_eq!(result.paths[1].share, 0.0);
}

#[test(needs(ENGINE))]
fn energy_aware_controllers_follow_the_control_plane() {
    // Light loss lets the controllers determine the windows. LTE costs 20 times as much per bit.
    let text = TWO_PATHS
        .replace("4 s", "5 s")
        .replace(
            "queue = \"33 packets\"",
            "queue = \"33 packets\"\nloss = \"0.5 %\"",
        )
        .replace("per_mbps = \"50 mW\"", "per_mbps = \"2000 mW\"")
        .replace("rate = \"10 Mbit/s\"", "rate = \"20 Mbit/s\"")
        .replace("delay = \"20 ms\"", "delay = \"10 ms\"");
    let scenario = scenario(&text);
    // Equal paths: LIA gives half to each. EEMPTCP's allocator wants everything on WiFi; ecMTCP
    // divides by the costs. Three labs at once.
    let lte = |policy| run_seed(&scenario, policy, 2).unwrap().paths[1].share;
    let [lia, eemptcp, ecmtcp] =
        at_once(["mptcp", "eemptcp", "ecmtcp"].map(|policy| move || lte(policy)));
    assert!((0.3..0.7).contains(&lia), "LIA puts {lia} on LTE");
    assert!(
        eemptcp < 0.75 * lia,
        "EEMPTCP puts {eemptcp} on LTE, LIA {lia}"
    );
    assert!(ecmtcp < 0.9 * lia, "ecMTCP puts {ecmtcp} on LTE, LIA {lia}");
}
