//! Selectors in the engine: a closed path costs nothing more, a reopened path works, and no byte is
//! lost.

use joulepath_model::result::RunResult;

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
fn an_unselected_path_sends_nothing_and_its_radio_sleeps() {
    let toml = two_paths(TEN, &stream(4));
    let alone = simulate(&toml, "single:wifi[cc=lia]", 1);
    for policy in ["overflow", "single-best"] {
        let result = simulate(&toml, policy, 1);
        assert_eq!(result.paths[1].segments, 0, "{policy}");
        // Idle: 594.3 mW · 43.2 ms / 1.2802 s = 20.05 mW for 60 s, as with one path.
        assert!(
            (result.paths[1].energy_j - 0.02005 * 60.0).abs() < 0.01,
            "{policy}: {:?}",
            result.paths[1]
        );
        assert_eq!(
            result.paths[1].energy_j, alone.paths[1].energy_j,
            "{policy}"
        );
    }
}

#[test]
fn overflow_uses_the_second_path_only_while_the_first_is_too_slow() {
    // 4 Mbit/s; WiFi gives 10, from 10 s to 25 s only 2, then 10 again.
    let dip =
        r#"rate = { steps = [["0 s", "10 Mbit/s"], ["10 s", "2 Mbit/s"], ["25 s", "10 Mbit/s"]] }"#;
    let result = simulate(&two_paths(dip, &stream(4)), "overflow", 1);
    let mptcp = simulate(&two_paths(dip, &stream(4)), "mptcp", 1);
    println!("{:?}", result.paths);
    assert!(result.goodput_bps > 3.9e6, "{}", result.goodput_bps);
    // About 15 of 60 s, with at most 2 of 4 Mbit/s left for WiFi: between 10 and 35 %.
    assert!(
        (0.10..0.35).contains(&result.paths[1].share),
        "{:?}",
        result.paths
    );
    // LTE burns 1.288 W for about 22 s, its tail 1.06 W for 11.6 s; if it were always open: 60 ·
    // 1.288 = 77 J.
    assert!(
        (20.0..55.0).contains(&result.paths[1].energy_j),
        "{:?}",
        result.paths
    );
    assert!(result.energy_j < mptcp.energy_j);
}

#[test]
fn a_backup_carries_data_only_during_an_outage() {
    let outage = r#"rate = "10 Mbit/s"
        outages = [["20 s", "30 s"]]"#;
    let calm = simulate(&two_paths(TEN, BULK), "backup", 1);
    assert_eq!((calm.paths[0].share, calm.paths[1].segments), (1.0, 0));
    let result = simulate(&two_paths(outage, BULK), "backup", 1);
    println!("{:?}", result.paths);
    // 10 of 60 s at the same rate, less the time until the timeout.
    assert!(
        (0.08..0.30).contains(&result.paths[1].share),
        "{:?}",
        result.paths
    );
    assert!(result.goodput_bps > 0.85 * calm.goodput_bps);
    let told = simulate(&two_paths(TEN, BULK), "backup[primary=lte]", 1);
    assert_eq!(told.paths[1].share, 1.0);
}

#[test]
fn a_quota_is_exceeded_only_by_data_in_flight() {
    let result = simulate(&two_paths(TEN, BULK), "quota[bytes=5 MB]", 1);
    let bytes = result.paths[1].goodput_bps * result.measured_s / 8.0;
    // The selector runs every 100 ms, and MP_PRIO takes half an RTT: at 10 Mbit/s at most 0.5 MB.
    assert!((5e6..5.5e6).contains(&bytes), "{bytes}");
    // Last resort: WiFi is out for the second half.
    let gone = r#"rate = "10 Mbit/s"
        outages = [["30 s", "60 s"]]"#;
    let result = simulate(&two_paths(gone, BULK), "quota[bytes=5 MB]", 1);
    assert!(
        result.paths[1].goodput_bps * result.measured_s / 8.0 > 20e6,
        "{:?}",
        result.paths
    );
}

#[test]
fn emptcp_leaves_the_cellular_radio_asleep_for_small_downloads() {
    let small = simulate(
        &two_paths(TEN, "[workload]\nkind = \"file\"\nsize = \"500 kB\""),
        "emptcp",
        1,
    );
    assert_eq!(small.paths[1].segments, 0);
    let mptcp = simulate(
        &two_paths(TEN, "[workload]\nkind = \"file\"\nsize = \"500 kB\""),
        "mptcp",
        1,
    );
    // Promotion and tail alone are 0.3 + 12.3 J.
    assert!(
        small.energy_j < 0.2 * mptcp.energy_j,
        "{} {}",
        small.energy_j,
        mptcp.energy_j
    );
    // 1 Mbit/s over WiFi: after 3 s the cellular subflow opens and takes over.
    let slow = simulate(&two_paths(r#"rate = "1 Mbit/s""#, &file(10)), "emptcp", 1);
    println!("{:?}", slow.paths);
    assert!(
        slow.paths[1].share > 0.8 && slow.completion_s.is_some(),
        "{:?}",
        slow.paths
    );
}

#[test]
fn es_mptcp_closes_the_less_efficient_path() {
    let toml = two_paths(TEN, &file(20));
    let result = simulate(&toml, "es-mptcp", 1);
    let mptcp = simulate(&toml, "mptcp", 1);
    println!("{:?} {:?}", result.paths, mptcp.paths);
    assert!(result.paths[1].share < 0.5 * mptcp.paths[1].share);
    assert!(result.bits_per_joule > mptcp.bits_per_joule);
}

/// Linux cannot take back what it has queued on a subflow, and sends all data that is not
/// DATA_ACKed again when a subflow closes. `minrtt` gives a subflow no more than its window, and
/// sends nothing twice.
#[test]
fn linux_sends_what_is_queued_on_a_closing_subflow_and_then_all_outstanding_data_again() {
    let deep = format!("{TEN}\nqueue = \"1000 packets\"");
    let toml = two_paths(&deep, &file(2));
    let [minrtt, mainline] = ["minrtt", "mainline"]
        .map(|name| simulate(&toml, &format!("es-mptcp[scheduler={name}]"), 1));
    println!("{:?} {:?}", minrtt.paths, mainline.paths);
    let resent = |result: &RunResult| {
        result
            .paths
            .iter()
            .map(|path| path.retransmissions)
            .sum::<u64>()
    };
    assert_eq!(resent(&minrtt), 0);
    // A page more of 32 KiB.
    let [window, queue] = [&minrtt, &mainline].map(|result| result.paths[1].segments);
    assert!(queue >= window + 22, "{window} {queue}");
    // WiFi's window at least.
    assert!(resent(&mainline) > 20, "{:?}", mainline.paths);
}

/// Bursts over a lossy path: the second path opens and closes many times, and everything arrives.
#[test]
fn subflows_that_open_and_close_often_lose_nothing() {
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
            // 12 Mbit/s for half of the time; the last burst may be incomplete.
            assert!(
                result.goodput_bps > 5.4e6,
                "{direction}: {}",
                result.goodput_bps
            );
            assert!(
                result.paths.iter().all(|path| path.share > 0.1),
                "{:?}",
                result.paths
            );
        }
    }
}

#[test]
fn a_connection_starts_on_another_path_when_the_first_does_not_answer() {
    let dead = "rate = \"10 Mbit/s\"\noutages = [[\"0 s\", \"60 s\"]]";
    let result = simulate(&two_paths(dead, &file(2)), "single-best", 1);
    assert_eq!(result.paths[1].share, 1.0);
    // SYNs at 0, 1, 3 s; then on the other path.
    assert!(
        result
            .completion_s
            .is_some_and(|seconds| (3.0..9.0).contains(&seconds)),
        "{result:?}"
    );
}

/// A subflow that closes amid losses takes its SACKed segments with it, and the next subflow on its
/// path may carry them again.
#[test]
fn data_of_a_closed_subflow_moves_to_another() {
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

/// WiFi at 1 Mbit/s takes 137 + 133 mJ/Mbit, LTE at 10 takes 52 + 129. A remembered rate saves the
/// trial.
#[test]
fn joule_uses_remembered_rates_and_tries_unknown_paths() {
    let slow = r#"rate = "1 Mbit/s""#;
    let known = |mbps: u32| format!("history = {{ rate = \"{mbps} Mbit/s\" }}");
    let two_minutes = |toml: String| toml.replace("60 s", "120 s");
    let cold = two_minutes(two_paths(slow, BULK));
    let warm = two_minutes(two_paths(
        &format!("{slow}\n{}", known(1)),
        &format!("{}\n{BULK}", known(10)),
    ));
    let run = |toml: &str, policy: &str| simulate(toml, policy, 1);
    let (cold_run, warm_run) = (run(&cold, "joule"), run(&warm, "joule"));
    let (wifi, lte) = (run(&cold, "single:wifi"), run(&cold, "single:lte"));
    println!("{:?} {:?}", cold_run.paths, warm_run.paths);
    assert_eq!(warm_run.paths[0].segments, 0);
    assert!(warm_run.bits_per_joule > 0.99 * lte.bits_per_joule);
    // The trial comes after 80 s of WiFi's.
    assert!(
        cold_run.paths.iter().all(|path| path.share > 0.0),
        "{:?}",
        cold_run.paths
    );
    assert!(
        cold_run.bits_per_joule > wifi.bits_per_joule
            && cold_run.bits_per_joule < lte.bits_per_joule
    );
    // An unused history is the same as none.
    assert_eq!(run(&warm, "joule[history=off]").energy_j, cold_run.energy_j);
}

/// With rates and RTTs known, `saver` finds the radio that takes the least energy for a file,
/// whatever the device burns while any radio is awake: that power lasts until the last tail ends.
#[test]
fn saver_takes_no_more_for_a_file_than_the_best_radio_alone() {
    let path = |name: &str, mbps: u32, delay_ms: u32, energy: &str| {
        format!(
            "[[path]]\nname = \"{name}\"\nrate = \"{mbps} Mbit/s\"\ndelay = \"{delay_ms} ms\"\n\
             queue = \"300 packets\"\nenergy = \"{energy}\"\n\
             history = {{ rate = \"{mbps} Mbit/s\", rtt = \"{} ms\" }}\n",
            2 * delay_ms
        )
    };
    let cellular = [
        ("lte-2021", 20),
        ("lte-huang2012", 60),
        ("5g-sa-2021", 100),
        ("3g-huang2012", 3),
    ];
    let cases = [0.0, 0.5, 2.0, 4.0].into_iter().flat_map(|base_w| {
        let radios = cellular.into_iter().map(move |radio| (base_w, radio));
        radios.flat_map(|(base_w, radio)| {
            [300, 4_000, 30_000].map(|kilobytes| (base_w, radio, kilobytes))
        })
    });
    for (base_w, (energy, mbps), kilobytes) in cases {
        let toml = format!(
            "duration = \"300 s\"\n{}{}[device]\nshared_base = \"{base_w} W\"\n\
             [workload]\nkind = \"file\"\nsize = \"{kilobytes} kB\"",
            path("wifi", 30, 10, "wifi-huang2012"),
            path("cellular", mbps, 25, energy),
        );
        let joules = |policy| simulate(&toml, policy, 1).energy_j;
        let best = joules("single:wifi[cc=hybrid]").min(joules("single:cellular[cc=hybrid]"));
        let found = joules("joule[preset=saver]");
        assert!(
            found <= 1.05 * best,
            "{base_w} W, {energy}, {kilobytes} kB: {found} J, the best radio {best} J"
        );
    }
}

/// Waking LTE and letting it sleep again takes 12.6 J; a megabyte over WiFi at 10 Mbit/s takes 1.2
/// J.
#[test]
fn joule_wakes_no_second_radio_for_a_small_file() {
    for size in ["known", "unknown"] {
        let result = simulate(&two_paths(TEN, &file(1)), &format!("joule[size={size}]"), 1);
        assert_eq!(result.paths[1].segments, 0, "{size}");
        assert!(
            result.completion_s.is_some_and(|seconds| seconds < 1.5),
            "{size}: {:?}",
            result.completion_s
        );
    }
}

/// WiFi carries each message of two segments, the second of them short, within 0.1 s.
#[test]
fn joule_wakes_no_second_radio_for_short_messages() {
    let rest = "[workload]\nkind = \"messages\"\nmean_gap = \"20 s\"\nsize = \"2 kB\"";
    for direction in ["download", "upload"] {
        let toml = two_paths(TEN, &format!("{rest}\ndirection = \"{direction}\""));
        let toml = toml.replace("60 s", "1800 s");
        let [joule, wifi] =
            ["joule", "single:wifi[cc=hybrid]"].map(|policy| simulate(&toml, policy, 1));
        assert_eq!(joule.paths[1].segments, 0, "{direction}");
        assert!(
            joule.energy_j < 1.01 * wifi.energy_j,
            "{direction}: {} J, {}",
            joule.energy_j,
            wifi.energy_j
        );
    }
}

/// Messages at 4 Mbit/s fit WiFi; 14 Mbit/s do not, and justify waking LTE.
#[test]
fn joule_opens_a_second_radio_for_messages_when_one_is_too_slow() {
    let messages = |gap_ms: u32| {
        let gap = format!(
            "[workload]\nkind = \"messages\"\nmean_gap = \"{gap_ms} ms\"\nsize = \"100 kB\""
        );
        two_paths(TEN, &gap)
    };
    let calm = simulate(&messages(200), "joule", 1);
    assert_eq!(calm.paths[1].segments, 0);
    let busy = simulate(&messages(57), "joule", 1);
    println!("{:?} {:?}", busy.delay, busy.paths);
    assert!(
        busy.paths[1].share > 0.1 && busy.goodput_bps > 13e6,
        "{:?}",
        busy.paths
    );
}

/// Two radios of one kind, and a device that burns 1 W with any: both are worth their power, but
/// not behind one link, where the second one adds nothing.
#[test]
fn joule_closes_one_of_two_paths_only_if_they_share_a_bottleneck() {
    let path = |name: &str, link: &str| {
        format!(
            "[[path]]\nname = \"{name}\"\n{link}\ndelay = \"15 ms\"\nenergy = \"wifi-huang2012-linear\"\n"
        )
    };
    let run = |paths: String, policy: &str| {
        let rest = "[workload]\nkind = \"bulk\"\n[device]\nshared_base = \"1 W\"\n";
        simulate(&format!("duration = \"90 s\"\n{paths}{rest}"), policy, 2)
    };
    let link =
        "[[link]]\nname = \"l\"\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"60 packets\"\n";
    let shared = || {
        format!(
            "{link}{}{}",
            path("a", "via = [\"l\"]"),
            path("b", "via = [\"l\"]")
        )
    };
    let (found, blind) = (
        run(shared(), "joule"),
        run(shared(), "joule[bottlenecks=off]"),
    );
    println!("{:?} {:?}", found.paths, blind.paths);
    let least = |paths: &[joulepath_model::result::PathResult]| paths[0].share.min(paths[1].share);
    assert!(
        least(&found.paths) < 0.3 && least(&blind.paths) > 0.35,
        "{:?}",
        found.paths
    );
    assert!(found.goodput_bps > 0.95 * blind.goodput_bps && found.energy_j < 0.99 * blind.energy_j);
    let own = "rate = \"8 Mbit/s\"\nqueue = \"40 packets\"";
    let twins = run(format!("{}{}", path("a", own), path("b", own)), "joule");
    assert!(
        least(&twins.paths) > 0.4 && twins.goodput_bps > 14e6,
        "{:?}",
        twins.paths
    );
}

/// The subflow closes in Loss during the outage; its path is used again afterwards.
#[test]
fn joule_returns_to_the_cheap_path_after_an_outage() {
    let outage = r#"rate = "10 Mbit/s"
        outages = [["10 s", "20 s"]]"#;
    let result = simulate(&two_paths(outage, &stream(4)), "joule", 1);
    println!("{:?}", result.paths);
    assert!(result.paths[0].share > 0.6, "{:?}", result.paths);
}

/// Each message is delivered before the selector runs, so it never sees waiting data: the path is
/// not silent.
#[test]
fn joule_keeps_a_path_on_which_nothing_waits() {
    let toml = two_paths(TEN, &stream(1));
    let [joule, wifi] = ["joule", "single:wifi"].map(|policy| simulate(&toml, policy, 1));
    assert_eq!(joule.paths[1].segments, 0, "{:?}", joule.paths);
    assert!(joule.energy_j < 1.01 * wifi.energy_j);
}

/// 20 MB take 53 s and 29 J over WiFi at 3 Mbit/s; LTE saves 37 s and costs about 12 J more.
#[test]
fn joule_opens_a_second_radio_for_a_file_at_a_high_price_of_delay() {
    let toml = two_paths(r#"rate = "3 Mbit/s""#, &file(20)).replace("60 s", "120 s");
    let run = |price: &str| simulate(&toml, &format!("joule[delay_price={price}]"), 1);
    let [free, dear] = ["0 W", "1 W"].map(run);
    assert_eq!(free.paths[1].segments, 0, "{:?}", free.paths);
    assert!(
        dear.completion_s < free.completion_s.map(|s| 0.7 * s),
        "{dear:?}"
    );
    assert!(free.energy_j < dear.energy_j);
}

/// 20 MB take 53 s over WiFi at 3 Mbit/s and a third of that over LTE. With `slowest` the file
/// keeps to that multiple of LTE's time.
#[test]
fn joule_carries_a_file_within_the_multiple_of_the_fastest_path() {
    let toml = two_paths(r#"rate = "3 Mbit/s""#, &file(20)).replace("60 s", "120 s");
    let fastest = simulate(&toml, "single:lte", 1);
    let fastest_s = fastest.completion_s.expect("the file arrives");
    let run = |policy: &str| simulate(&toml, policy, 1);
    let free = run("joule[preset=saver]");
    assert!(free.completion_s > Some(2.5 * fastest_s), "{free:?}");
    for multiple in [1.5, 2.0] {
        let limited = run(&format!("joule[slowest={multiple}]"));
        assert!(
            limited.completion_s < Some(multiple * fastest_s),
            "{multiple}: {limited:?}"
        );
        assert!(limited.energy_j > free.energy_j, "{multiple}");
    }
}
