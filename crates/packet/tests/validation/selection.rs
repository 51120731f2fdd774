//! Selectors in the engine: what is closed costs nothing more, what is opened again works, and no byte is
//! lost.

use crate::simulate;

fn two_paths(wifi: &str, rest: &str) -> String {
    format!(
        r#"
        duration = "60 s"
        [[path]]
        name = "wifi"
        delay = "10 ms"
        energy = "wifi-huang2012"
        {wifi}
        [[path]]
        name = "lte"
        rate = "10 Mbit/s"
        delay = "30 ms"
        energy = "lte-huang2012"
        {rest}
        "#
    )
}

const TEN: &str = r#"rate = "10 Mbit/s""#;
const BULK: &str = "[workload]\nkind = \"bulk\"";

fn stream(mbps: u32) -> String {
    format!(
        "[workload]\nkind = \"stream\"\nrate = \"{mbps} Mbit/s\"\ninterval = \"40 ms\"\non = \"1 s\"\n\
         off = \"0 s\""
    )
}

fn file(megabytes: u32) -> String {
    format!("[workload]\nkind = \"file\"\nsize = \"{megabytes} MB\"")
}

#[test]
fn a_path_that_is_not_chosen_sends_nothing_and_its_radio_sleeps() {
    let toml = two_paths(TEN, &stream(4));
    let alone = simulate(&toml, "single:wifi[cc=lia]", 1);
    for policy in ["overflow", "single-best"] {
        let result = simulate(&toml, policy, 1);
        assert_eq!(result.paths[1].segments, 0, "{policy}");
        // Idle: 594.3 mW · 43.2 ms / 1.2802 s = 20.05 mW for 60 s, as with one path.
        assert!((result.paths[1].energy_j - 0.02005 * 60.0).abs() < 0.01, "{policy}: {:?}", result.paths[1]);
        assert_eq!(result.paths[1].energy_j, alone.paths[1].energy_j, "{policy}");
    }
}

#[test]
fn overflow_opens_the_second_path_while_the_first_is_too_slow_and_closes_it_afterwards() {
    // 4 Mbit/s; WiFi gives 10, from 10 s to 25 s only 2, then 10 again.
    let dip = r#"rate = { steps = [["0 s", "10 Mbit/s"], ["10 s", "2 Mbit/s"], ["25 s", "10 Mbit/s"]] }"#;
    let result = simulate(&two_paths(dip, &stream(4)), "overflow", 1);
    let mptcp = simulate(&two_paths(dip, &stream(4)), "mptcp", 1);
    println!("{:?}", result.paths);
    assert!(result.goodput_bps > 3.9e6, "{}", result.goodput_bps);
    // Some 15 of 60 s, with at most 2 of 4 Mbit/s left for WiFi: between 10 and 35 %.
    assert!((0.10..0.35).contains(&result.paths[1].share), "{:?}", result.paths);
    // LTE burns 1.288 W for some 22 s, its tail 1.06 W for 11.6 s; open all the time it would be 60 · 1.288 =
    // 77 J.
    assert!((20.0..55.0).contains(&result.paths[1].energy_j), "{:?}", result.paths);
    assert!(result.energy_j < mptcp.energy_j);
}

#[test]
fn a_backup_takes_over_in_an_outage_and_gives_back() {
    let outage = r#"rate = "10 Mbit/s"
        outages = [["20 s", "30 s"]]"#;
    let calm = simulate(&two_paths(TEN, BULK), "backup", 1);
    assert_eq!((calm.paths[0].share, calm.paths[1].segments), (1.0, 0));
    let result = simulate(&two_paths(outage, BULK), "backup", 1);
    println!("{:?}", result.paths);
    // 10 of 60 s at the same rate, less the time until the timeout.
    assert!((0.08..0.30).contains(&result.paths[1].share), "{:?}", result.paths);
    assert!(result.goodput_bps > 0.85 * calm.goodput_bps);
    let told = simulate(&two_paths(TEN, BULK), "backup[primary=lte]", 1);
    assert_eq!(told.paths[1].share, 1.0);
}

#[test]
fn a_quota_is_kept_but_for_what_is_on_its_way() {
    let result = simulate(&two_paths(TEN, BULK), "quota[bytes=5 MB]", 1);
    let bytes = result.paths[1].goodput_bps * result.measured_s / 8.0;
    // A look every 100 ms and half an RTT for MP_PRIO: at 10 Mbit/s not more than 0.5 MB.
    assert!((5e6..5.5e6).contains(&bytes), "{bytes}");
    // Last resort: WiFi is gone for the second half.
    let gone = r#"rate = "10 Mbit/s"
        outages = [["30 s", "60 s"]]"#;
    let result = simulate(&two_paths(gone, BULK), "quota[bytes=5 MB]", 1);
    assert!(result.paths[1].goodput_bps * result.measured_s / 8.0 > 20e6, "{:?}", result.paths);
}

#[test]
fn emptcp_spares_small_downloads_the_cellular_radio() {
    let small = simulate(&two_paths(TEN, "[workload]\nkind = \"file\"\nsize = \"500 kB\""), "emptcp", 1);
    assert_eq!(small.paths[1].segments, 0);
    let mptcp = simulate(&two_paths(TEN, "[workload]\nkind = \"file\"\nsize = \"500 kB\""), "mptcp", 1);
    // Promotion and tail alone are 0.3 + 12.3 J.
    assert!(small.energy_j < 0.2 * mptcp.energy_j, "{} {}", small.energy_j, mptcp.energy_j);
    // 1 Mbit/s over WiFi: after 3 s the cellular subflow opens and takes over.
    let slow = simulate(&two_paths(r#"rate = "1 Mbit/s""#, &file(10)), "emptcp", 1);
    println!("{:?}", slow.paths);
    assert!(slow.paths[1].share > 0.8 && slow.completion_s.is_some(), "{:?}", slow.paths);
}

#[test]
fn es_mptcp_closes_the_path_that_does_not_pay() {
    let toml = two_paths(TEN, &file(20));
    let result = simulate(&toml, "es-mptcp", 1);
    let mptcp = simulate(&toml, "mptcp", 1);
    println!("{:?} {:?}", result.paths, mptcp.paths);
    assert!(result.paths[1].share < 0.5 * mptcp.paths[1].share);
    assert!(result.bits_per_joule > mptcp.bits_per_joule);
}

/// Bursts over a path that varies: the second path opens and closes many times, and everything arrives.
#[test]
fn subflows_that_come_and_go_lose_nothing() {
    let flapping = "overflow[full_after=100 ms,close_after=300 ms]";
    for direction in ["download", "upload"] {
        let bursts = format!(
            r#"
            [workload]
            kind = "stream"
            rate = "12 Mbit/s"
            interval = "40 ms"
            on = "2 s"
            off = "2 s"
            direction = "{direction}"
            [[connection]]
            name = "lossy"
            "#
        );
        let wifi = "rate = \"6 Mbit/s\"\nloss = \"1 %\"";
        let toml = two_paths(wifi, &bursts);
        for seed in 1..=3 {
            let result = simulate(&toml, flapping, seed);
            println!("{direction}: {:?} {:?}", result.delay, result.paths);
            // 12 Mbit/s for half of the time; the last burst may still be under way.
            assert!(result.goodput_bps > 5.4e6, "{direction}: {}", result.goodput_bps);
            assert!(result.paths.iter().all(|path| path.share > 0.1), "{:?}", result.paths);
        }
    }
}

#[test]
fn a_connection_starts_on_another_path_when_the_first_does_not_answer() {
    let dead = "rate = \"10 Mbit/s\"\noutages = [[\"0 s\", \"60 s\"]]";
    let result = simulate(&two_paths(dead, &file(2)), "single-best", 1);
    assert_eq!(result.paths[1].share, 1.0);
    // SYNs at 0, 1, 3 s; then the other one.
    assert!(result.completion_s.is_some_and(|seconds| (3.0..9.0).contains(&seconds)), "{result:?}");
}

/// A subflow that is closed amid losses takes with it what it has SACKed, and its path's next subflow may
/// carry what it has carried.
#[test]
fn what_a_closed_subflow_had_not_delivered_travels_on() {
    let wlan = |name: &str| {
        format!(
            "[[path]]\nname = \"{name}\"\nrate = \"25 Mbit/s\"\ndelay = \"12.5 ms\"\nloss = \"4 %\"\n\
             energy = \"wlan-seed001\"\n"
        )
    };
    let toml = format!("duration = \"60 s\"\n{}{}{}", wlan("a"), wlan("b"), file(2));
    for seed in 1..=60 {
        let result = simulate(&toml, "es-mptcp", seed);
        assert!(result.completion_s.is_some(), "seed {seed}: {result:?}");
    }
}
