//! Energy of a run, by arithmetic.

use crate::{assert_near, exact, simulate, simulate_with_series};

/// 100 kB over 12 Mbit/s down, 3.2 Mbit/s up, 20 ms each way.
fn file(energy: &str) -> String {
    format!(
        r#"
        duration = "60 s"
        [[path]]
        name = "only"
        rate = "12 Mbit/s"
        delay = "20 ms"
        queue = "200 packets"
        energy = {energy}
        up = {{ rate = "3.2 Mbit/s" }}
        [workload]
        kind = "file"
        size = "100 kB"
        "#
    )
}

#[test]
fn transfer_energy_is_the_slope_times_the_bytes_on_the_wire() {
    let linear = "{ per_mbps = \"100 mW\", up_per_mbps = \"300 mW\", active = \"2 W\", \
        sunk_while = \"open\" }";
    let result = simulate(&file(linear), "uncoupled", 1);
    // Down: 69 segments with 40 bytes of headers each, and the SYN/ACK. Up: SYN, third packet, 69
    // ACKs.
    let down_bits = (100_000.0 + 69.0 * 40.0 + 40.0) * 8.0;
    let up_bits = 71.0 * 40.0 * 8.0;
    assert_near(
        "transfer energy, J",
        result.energy_split.transfer_j,
        down_bits * 100e-9 + up_bits * 300e-9,
        1e-9,
    );
    let seconds = result.completion_s.expect("complete");
    assert_near(
        "sunk energy, J",
        result.energy_split.sunk_j,
        2.0 * seconds,
        1e-9,
    );
    assert_near(
        "efficiency, bit/J",
        result.bits_per_joule,
        800_000.0 / result.energy_j,
        1e-9,
    );
    assert_near("power, W", result.power_w, result.energy_j / seconds, 1e-9);
}

#[test]
fn a_radio_promotion_delays_the_first_packet_by_its_duration() {
    let plain = simulate(&file("\"free\""), "uncoupled", 1)
        .completion_s
        .expect("complete");
    // lte-huang2012: 260.1 ms; then the radio stays awake.
    let lte = simulate(&file("\"lte-huang2012\""), "uncoupled", 1)
        .completion_s
        .expect("complete");
    assert_near(
        "delay by the promotion, ms",
        (lte - plain) * 1e3,
        260.1,
        1e-6,
    );
}

#[test]
fn a_sleeping_radio_delays_an_answer_and_an_awake_one_does_not() {
    let delay_ms = |think: &str| {
        let requests =
            format!("kind = \"requests\"\n        size = \"1460 B\"\n        think = \"{think}\"");
        let toml = file("\"lte-huang2012\"")
            .replace("kind = \"file\"\n        size = \"100 kB\"", &requests);
        let toml = toml.replace(
            "duration = \"60 s\"",
            "duration = \"600 s\"\nwarm_up = \"1 s\"",
        );
        simulate(&exact(&toml), "uncoupled", 1)
            .delay
            .expect("there are responses")
            .p50_s
            * 1e3
    };
    // The tail is 11.576 s: after it the request waits for a promotion. Otherwise 41.1 ms
    // (workloads.rs).
    assert_near("response time after 5 s, ms", delay_ms("5 s"), 41.1, 1e-5);
    assert_near(
        "response time after 20 s, ms",
        delay_ms("20 s"),
        41.1 + 260.1,
        1e-5,
    );
}

#[test]
fn energy_never_falls_along_the_series() {
    let toml = r#"
        duration = "60 s"
        [[path]]
        name = "wifi"
        rate = "12 Mbit/s"
        delay = "10 ms"
        loss = "1 %"
        outages = [["10 s", "20 s"]]
        energy = "wifi-huang2012"
        [[path]]
        name = "lte"
        rate = "6 Mbit/s"
        delay = "30 ms"
        energy = "lte-huang2012"
        [workload]
        kind = "stream"
        rate = "2 Mbit/s"
        on = "5 s"
        off = "15 s"
    "#;
    let result = simulate_with_series(toml, "lia", 1);
    let series = result.series.expect("the options ask for a series");
    assert!(series.power_w.iter().flatten().all(|&watts| watts >= 0.0));
    // The samples' energy is the run's, except after the last sample.
    let interval_s = series.time_s[1] - series.time_s[0];
    let joules: f64 = series.power_w.iter().flatten().sum::<f64>() * interval_s;
    assert_near("energy of the series, J", joules, result.energy_j, 0.01);
}
