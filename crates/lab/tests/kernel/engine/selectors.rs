//! Selectors control the kernel's path manager: a closed subflow costs no energy, a reopened
//! subflow works, and no byte is lost.
//!
//! The times are those of the emulated links and of the control loop; the bounds allow for a busy
//! machine.

use joulepath_lab::engine::{self, RunOptions};
use joulepath_model::result::{RunResult, Series};

use super::{in_time, program, scenario, setup};

/// WiFi is cheap. LTE consumes 2 W while it has a subflow, so its energy shows for how long that
/// was.
fn two_paths(seconds: u32, wifi: &str, workload: &str) -> String {
    format!(
        r#"
        title = "two paths"
        duration = "{seconds} s"
        [[path]]
        name = "wifi"
        delay = "10 ms"
        energy = "wifi-huang2012"
        {wifi}
        [[path]]
        name = "lte"
        rate = "10 Mbit/s"
        delay = "30 ms"
        energy = {{ per_mbps = "100 mW", active = "2 W", sunk_while = "open" }}
        {workload}
        "#
    )
}

const TEN: &str = r#"rate = "10 Mbit/s""#;
const BULK: &str = "[workload]\nkind = \"bulk\"";

/// A stream without pauses.
fn stream(mbps: u32) -> String {
    format!(
        "[workload]\nkind = \"stream\"\nrate = \"{mbps} Mbit/s\"\ninterval = \"40 ms\"\n\
         on = \"1 s\"\noff = \"0 s\""
    )
}

fn file(megabytes: u32) -> String {
    format!("[workload]\nkind = \"file\"\nsize = \"{megabytes} MB\"")
}

/// A run with its series.
fn run(text: &str, policy: &str) -> (RunResult, Series) {
    let scenario = scenario(text);
    let setup = setup(policy, &scenario);
    engine::check(&scenario, std::slice::from_ref(&setup)).unwrap();
    let options = RunOptions {
        series: true,
        ..RunOptions::default()
    };
    let mut result = in_time(options, |options| {
        engine::run(&scenario, &setup, 1, options, &program())
    })
    .unwrap();
    let series = result.series.take().unwrap();
    println!("{policy}: {:#?}", result.paths);
    (result, series)
}

/// Megabytes delivered on a path between two times.
fn megabytes(series: &Series, path: usize, from_s: f64, until_s: f64) -> f64 {
    let pieces = series.time_s.windows(2).enumerate();
    let inside = pieces.filter(|(_, piece)| from_s <= piece[0] && piece[1] <= until_s);
    inside
        .map(|(i, piece)| series.goodput_bps[path][i + 1] * (piece[1] - piece[0]))
        .sum::<f64>()
        / 8e6
}

/// Time during which LTE had a subflow, s: it consumes 2 W, and 0.1 J per Mbit.
fn lte_open_s(result: &RunResult) -> f64 {
    let lte = &result.paths[1];
    (lte.energy_j - 0.1 * lte.goodput_bps / 1e6 * result.measured_s) / 2.0
}

#[test(needs(ENGINE))]
fn overflow_uses_the_second_path_only_while_the_first_is_full() {
    // A stream of 4 Mbit/s over WiFi, which has 10 Mbit/s, but only 2 Mbit/s from 2 s to 5 s.
    let dip =
        r#"rate = { steps = [["0 s", "10 Mbit/s"], ["2 s", "2 Mbit/s"], ["5 s", "10 Mbit/s"]] }"#;
    let (result, series) = run(
        &two_paths(12, dip, &stream(4)),
        "overflow[full_after=500 ms,close_after=1 s]",
    );
    // In 3 s WiFi lacks 6 Mbit. LTE starts after 2.5 s at the earliest, and delivers at least half
    // a megabyte of them.
    assert_eq!(megabytes(&series, 1, 0.0, 2.4), 0.0);
    assert!(
        megabytes(&series, 1, 2.5, 7.0) > 0.4,
        "{:?}",
        series.goodput_bps[1]
    );
    // From 5 s on WiFi suffices: 1 s without a queue, a trial of 2 s as a backup, then LTE is
    // closed.
    assert_eq!(megabytes(&series, 1, 10.0, 12.0), 0.0);
    let open_s = lte_open_s(&result);
    assert!((2.0..8.0).contains(&open_s), "LTE was open for {open_s} s");
    // Nothing was lost: 4 Mbit/s for 12 s, less what is in flight at the end.
    assert!(result.goodput_bps > 3.8e6, "{result:#?}");
}

#[test(needs(ENGINE))]
fn a_backup_takes_over_only_during_an_outage() {
    let outage = "rate = \"10 Mbit/s\"\noutages = [[\"1 s\", \"4 s\"]]";
    let (_, series) = run(&two_paths(9, outage, BULK), "backup");
    assert_eq!(megabytes(&series, 1, 0.0, 1.0), 0.0);
    // Timeouts double from 0.2 s on. LTE carries 10 Mbit/s once the kernel has marked WiFi stale.
    assert!(
        megabytes(&series, 1, 1.0, 6.0) > 0.5,
        "{:?}",
        series.goodput_bps[1]
    );
    assert!(
        megabytes(&series, 0, 6.0, 9.0) > 0.5,
        "{:?}",
        series.goodput_bps[0]
    );
    assert!(megabytes(&series, 0, 8.0, 9.0) > 4.0 * megabytes(&series, 1, 8.0, 9.0));
}

#[test(needs(ENGINE))]
fn a_quota_is_exceeded_only_by_data_in_flight() {
    let (result, series) = run(&two_paths(4, TEN, BULK), "quota[on=lte,bytes=1 MB]");
    // Data given to the subflow before MP_PRIO stays on it: a megabyte at 10 Mbit/s. Without a
    // quota it would be 4.5 MB.
    let carried = megabytes(&series, 1, 0.0, 4.0);
    assert!((0.9..3.0).contains(&carried), "{carried} MB over LTE");
    // LTE stays open as the last resort.
    let open_s = lte_open_s(&result);
    assert!(open_s > 3.2, "LTE was open for {open_s} s");
    assert!(
        megabytes(&series, 0, 3.0, 4.0) > 0.7,
        "{:?}",
        series.goodput_bps[0]
    );
}

#[test(needs(ENGINE))]
fn emptcp_opens_the_cellular_subflow_after_a_megabyte_or_three_seconds() {
    // A small file never opens LTE, so there is no SYN to pay for.
    let small = "[workload]\nkind = \"file\"\nsize = \"500 kB\"";
    let (result, _) = run(&two_paths(20, TEN, small), "emptcp");
    assert_eq!(
        (result.paths[1].segments, result.paths[1].energy_j),
        (0, 0.0)
    );
    // τ: 0.5 Mbit/s deliver 0.2 MB in 3 s. WiFi alone is worth it from 0.13 · 10 / (2 − 0.37) = 0.8
    // Mbit/s on. LTE is open at the end.
    let (result, series) = run(&two_paths(6, r#"rate = "0.5 Mbit/s""#, BULK), "emptcp");
    assert_eq!(megabytes(&series, 1, 0.0, 2.9), 0.0);
    let open_s = lte_open_s(&result);
    assert!((1.5..3.1).contains(&open_s), "LTE was open for {open_s} s");
    assert!(result.paths[1].share > 0.3, "{result:#?}");
}

#[test(needs(ENGINE))]
fn es_mptcp_keeps_the_same_paths_as_in_the_packet_engine() {
    // LTE carries 0.4 % of the file: data delivered before the first round showed that LTE does not
    // pay.
    let dear = two_paths(30, TEN, &file(4));
    let (result, _) = run(&dear, "es-mptcp");
    assert!(result.paths[1].share < 0.1, "{:#?}", result.paths);
    let open_s = lte_open_s(&result);
    assert!(
        open_s < 0.5 * result.completion_s.unwrap(),
        "LTE was open for {open_s} s"
    );
    // With cheap LTE, which carries 95 %, the closing subflow is the first one.
    let cheap = dear.replace(
        r#"per_mbps = "100 mW", active = "2 W""#,
        r#"per_mbps = "20 mW", active = "100 mW""#,
    );
    let (result, _) = run(&cheap, "es-mptcp");
    assert!(result.paths[1].share > 0.75, "{:#?}", result.paths);
}

#[test(needs(ENGINE))]
fn opening_and_closing_subflows_loses_no_data() {
    // WiFi carries half of each burst.
    let bursts = stream(12).replace("off = \"0 s\"", "off = \"1 s\"");
    for direction in ["download", "upload"] {
        let workload = format!("{bursts}\ndirection = \"{direction}\"");
        let text = two_paths(6, "rate = \"6 Mbit/s\"\nloss = \"1 %\"", &workload);
        let (result, _) = run(&text, "overflow[full_after=100 ms,close_after=200 ms]");
        // The reader compares every byte. 12 Mbit/s for half of the time, less the end of the last
        // burst.
        assert!(result.goodput_bps > 3.5e6, "{direction}: {result:#?}");
        assert!(
            result.paths.iter().all(|path| path.share > 0.02),
            "{direction}: {:#?}",
            result.paths
        );
    }
}

#[test(needs(ENGINE))]
fn so_mptcp_delays_and_paces_the_expensive_path() {
    // WiFi alone can carry 5 Mbit/s: LTE is open, and a backup from the first look on.
    let (result, series) = run(&two_paths(6, TEN, &stream(5)), "so-mptcp[V=1000]");
    assert!(
        megabytes(&series, 1, 3.0, 6.0) < 0.1,
        "{:?}",
        series.goodput_bps[1]
    );
    assert!(result.goodput_bps > 4.5e6, "{result:#?}");
    // WiFi alone cannot carry 14 Mbit/s: with a queue of V (c_LTE − c_WiFi), some 150 packets or
    // 0.2 MB, LTE pays. It then carries the remaining 4 of 14.
    let (result, series) = run(&two_paths(8, TEN, &stream(14)), "so-mptcp[V=1000]");
    assert!(
        megabytes(&series, 1, 3.0, 8.0) > 1.0,
        "{:?}",
        series.goodput_bps[1]
    );
    assert!(result.goodput_bps > 10.5e6, "{result:#?}");
}
