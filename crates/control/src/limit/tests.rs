use joulepath_model::energy::{DeviceEnergy, profile};
use joulepath_model::scenario::load;
use joulepath_model::units::Watts;
use proptest::prelude::*;

use super::*;
use crate::allocate::{CostedPath, Problem};

fn scenario(text: &str) -> Scenario {
    load(text, &|name| Err(format!("no trace {name}"))).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn assert_close(actual: f64, expected: f64, relative: f64) {
    assert!(
        (actual - expected).abs() <= relative * expected.abs(),
        "{actual} ≠ {expected}"
    );
}

/// A linear interface that burns θ while open: slope in mW/Mbps, θ in mW.
fn linear(slope: f64, sunk: f64) -> InterfaceCost {
    InterfaceCost {
        slope_j_per_bit: slope * 1e-9,
        used_w: sunk * 1e-3,
        active_when_used: true,
        ..InterfaceCost::default()
    }
}

/// As `linear`, but θ always burns.
fn always(slope: f64, sunk: f64) -> InterfaceCost {
    InterfaceCost {
        unused_w: sunk * 1e-3,
        active_when_unused: true,
        ..linear(slope, sunk)
    }
}

/// A radio that idles at `idle` mW between uses.
fn radio(slope: f64, used: f64, idle: f64) -> InterfaceCost {
    InterfaceCost {
        unused_w: idle * 1e-3,
        sleeps: true,
        ..linear(slope, used)
    }
}

fn problem<'a>(
    device: &'a DeviceEnergy,
    costs: Vec<InterfaceCost>,
    capacities_mbps: &[f64],
) -> DeviceProblem<'a> {
    let rtts_s = vec![0.05; costs.len()];
    let capacities_bps = capacities_mbps.iter().map(|c| c * 1e6).collect();
    let slots = vec![Slot {
        seconds: 1.0,
        peak: vec![],
        mean: vec![],
        excess: vec![],
    }];
    DeviceProblem {
        costs,
        capacities_bps,
        rtts_s,
        shared: vec![],
        in_order: None,
        start: None,
        slots,
        written: vec![],
        device,
    }
}

const ADDITIVE: DeviceEnergy = DeviceEnergy::additive();

#[test]
fn additive_power_makes_one_interface_the_optimum() {
    // WiFi: 10 / (0.1329 + 1.37) = 6.65 Mbit/J; LTE: 20 / (1.288 + 1.04) = 8.59; a mixture lies
    // between.
    let both = problem(
        &ADDITIVE,
        vec![linear(137.0, 132.9), linear(52.0, 1288.0)],
        &[10.0, 20.0],
    );
    let best = both.solve(Goal::Bulk).unwrap();
    assert_eq!(best.rates_bps[0], 0.0);
    assert_close(best.bits_per_joule(), 20e6 / 2.328, 1e-9);
}

#[test]
fn a_shared_base_makes_both_interfaces_the_optimum() {
    // With 1 W of base: WiFi 5 / (1 + 0.1329 + 0.685) = 2.75; with a cheap second radio at 100 mW
    // both: 10 / (1 + 0.2329 + 1.37).
    let device = DeviceEnergy {
        shared_base: Watts(1.0),
        ..ADDITIVE
    };
    let both = problem(
        &device,
        vec![linear(137.0, 132.9), linear(137.0, 100.0)],
        &[5.0, 5.0],
    );
    assert_close(
        both.solve(Goal::Bulk).unwrap().bits_per_joule(),
        10e6 / 2.6029,
        1e-9,
    );
}

#[test]
fn a_sharing_factor_applies_to_two_active_interfaces_only() {
    let device = DeviceEnergy {
        sharing_factor: 0.8,
        ..ADDITIVE
    };
    let one = problem(&device, vec![linear(100.0, 500.0)], &[5.0]);
    assert_close(one.solve(Goal::Bulk).unwrap().power_w, 1.0, 1e-9);
    // Both: 0.8 · (0.5 + 0.5 + 0.5 + 0.5) W for 10 Mbit/s.
    let two = problem(&device, vec![linear(100.0, 500.0); 2], &[5.0, 5.0]);
    assert_close(
        two.solve(Goal::Bulk).unwrap().bits_per_joule(),
        10e6 / 1.6,
        1e-9,
    );
}

#[test]
fn a_file_pays_for_each_radio_that_it_wakes() {
    // 10 MB at 10 Mbit/s over LTE of Huang et al.: 0.315 + 14.462 + 12.271 = 27.047 J (energy.md,
    // 1.3); over WiFi 12.062 J.
    let cost = |name: &str| {
        let wire = WireBits { down: 1.0, up: 0.0 };
        let pace = Pace {
            payload_bps: 10e6,
            slowest_bps: 10e6,
            air_bps: 10e6,
            segment_bits: 11_680.0,
        };
        InterfaceCost {
            unused_w: 0.0,
            ..interface_cost(&profile(name).unwrap().model, wire, pace)
        }
    };
    let transfer = Goal::File { bits: 80e6 };
    for (name, joules) in [("lte-huang2012", 27.047), ("wifi-huang2012", 12.062)] {
        let one = problem(&ADDITIVE, vec![cost(name)], &[10.0]);
        assert_close(one.solve(transfer).unwrap().energy_j.unwrap(), joules, 2e-4);
    }
    let both = problem(
        &ADDITIVE,
        vec![cost("lte-huang2012"), cost("wifi-huang2012")],
        &[10.0, 10.0],
    );
    let best = both.solve(transfer).unwrap();
    assert_eq!(best.rates_bps[0], 0.0, "WiFi alone is cheaper");
}

#[test]
fn a_small_rate_takes_turns_between_transfer_and_sleep() {
    // 1 of 10 Mbit/s: a tenth of the time at 1 W, the rest at 0.1 W, and 100 mJ/Mbit: 0.1 + 0.09 +
    // 0.1 = 0.29 W.
    let one = problem(&ADDITIVE, vec![radio(100.0, 1000.0, 100.0)], &[10.0]);
    assert_close(
        one.solve(Goal::Rate { bps: 1e6 }).unwrap().power_w,
        0.29,
        1e-9,
    );
    // An interface that cannot sleep burns 1 W throughout.
    let one = problem(&ADDITIVE, vec![linear(100.0, 1000.0)], &[10.0]);
    assert_close(
        one.solve(Goal::Rate { bps: 1e6 }).unwrap().power_w,
        1.1,
        1e-9,
    );
}

#[test]
fn a_rate_beyond_the_capacity_is_limited_to_it() {
    let two = problem(&ADDITIVE, vec![linear(100.0, 500.0); 2], &[5.0, 3.0]);
    let best = two.solve(Goal::Rate { bps: 20e6 }).unwrap();
    assert_close(best.goodput_bps, 8e6, 1e-6);
    assert_close(best.power_w, 1.8, 1e-6);
}

#[test]
fn eight_radios_are_solved() {
    let costs = (0..8)
        .map(|i| radio(50.0 + f64::from(i), 900.0 - 50.0 * f64::from(i), 20.0))
        .collect();
    let eight = problem(&ADDITIVE, costs, &[2.0; 8]);
    assert!(eight.solve(Goal::Bulk).is_some() && eight.solve(Goal::Rate { bps: 9e6 }).is_some());
}

#[test]
fn the_limits_of_the_papers_first_table() {
    let table1 = scenario(include_str!("../../../../scenarios/papers/000-table1.toml"));
    let [friendly, link] = <[Reference; 2]>::try_from(limits(&table1)).unwrap();
    // All θ always burn, so every path is used to its capacity: 536 B / (0.14 √(0.2/3)) = 118.63
    // kbit/s, 185.68, 154.73. Power 2.2388 W + 576/536 · (137 · 0.11863 + 52 · 0.18568 + 122.1 ·
    // 0.15473) mW = 2.28695 W.
    assert_eq!(
        friendly.label,
        "wifi + lte + umts at 0.12 + 0.19 + 0.15 Mbit/s"
    );
    assert_close(friendly.goodput_bps, 459.04e3, 1e-4);
    assert_close(friendly.power_w, 2.28695, 1e-4);
    assert_close(friendly.bits_per_joule, 200.72e3, 1e-4);
    // 64 KiB in flight: 524.288 kbit = 0.14 x₁ + 0.20 x₂ + 0.24 x₃. WiFi has the shortest RTT, so
    // it takes all.
    assert_close(link.rates_bps[0], 524_288.0 / 0.14, 1e-6);
    assert_eq!(link.paths, ["wifi"]);
    assert!(link.bits_per_joule > friendly.bits_per_joule);
}

const TWO_PATHS: &str = r#"
title = "two paths"
duration = "60 s"

[[path]]
name = "wifi"
rate = "10 Mbit/s"
delay = "10 ms"
queue = "50 packets"
energy = { per_mbps = "137 mW", up_per_mbps = "283 mW", active = "132.9 mW", sunk_while = "open" }

[[path]]
name = "lte"
rate = "20 Mbit/s"
delay = "30 ms"
queue = "50 packets"
energy = { per_mbps = "52 mW", up_per_mbps = "438 mW", active = "1288 mW", sunk_while = "open" }

[workload]
kind = "bulk"

[receiver]
buffer = "4 MiB"

[transport]
mss = "1460 B"
header = "40 B"
"#;

#[test]
fn headers_and_acks_are_paid_for() {
    let limits = limits(&scenario(TWO_PATHS));
    let link = &limits[1];
    // LTE alone: 20 · 1460/1500 = 19.467 Mbit/s of payload; 20 Mbit/s down; one ACK per 1460 bytes
    // up.
    assert_eq!(link.paths, ["lte"]);
    assert_close(link.goodput_bps, 19.4667e6, 1e-5);
    let ack = scenario(TWO_PATHS).transport.ack_size.0 as f64;
    let per_segment = if scenario(TWO_PATHS).transport.delayed_ack.is_some() {
        0.5
    } else {
        1.0
    };
    let up_mbps = per_segment * 20.0 * ack / 1500.0;
    assert_close(link.power_w, 1.288 + 0.052 * 20.0 + 0.438 * up_mbps, 1e-6);
}

#[test]
fn cross_traffic_takes_its_mean_rate() {
    // 16 Mbit/s for half of the minute: 20 − 8 = 12 Mbit/s on the wire, 12 · 1460/1500 of payload.
    let cross = r#"
[[cross]]
path = "lte"
kind = "constant"
rate = "16 Mbit/s"
start = "10 s"
stop = "40 s"
"#;
    let [friendly, link] =
        <[Reference; 2]>::try_from(limits(&scenario(&format!("{TWO_PATHS}{cross}")))).unwrap();
    // Its delay of 30 ms is without data at the start, and the last 30 ms of the cross traffic's
    // pause do not count.
    assert_close(friendly.capacities_bps[1], 11.68e6, 4e-4);
    // A TCP that fills the queue leaves no room for cross traffic.
    assert_close(link.capacities_bps[1], 20e6 * 1460.0 / 1500.0, 1e-9);
}

#[test]
fn competitors_share_only_the_friendly_limit() {
    let rivals = r#"
[[competitor]]
name = "rival"
path = "lte"
count = 3
"#;
    let limits = limits(&scenario(&format!("{TWO_PATHS}{rivals}")));
    // A quarter of 20 · 1460/1500.
    assert_close(limits[0].capacities_bps[1], 4.866_667e6, 1e-6);
    assert_close(limits[1].capacities_bps[1], 19.466_667e6, 1e-6);
}

/// 20 Mbit/s behind a policer of 5 Mbit/s: 5 Mbit/s plus the bucket, spread over the run.
#[test]
fn a_policer_bounds_what_a_link_carries() {
    let policed = "rate = \"20 Mbit/s\"\npolicer = { rate = \"5 Mbit/s\", burst = \"1 MB\" }";
    let limit = limits(&scenario(
        &TWO_PATHS.replace("rate = \"20 Mbit/s\"", policed),
    ))
    .pop()
    .unwrap();
    // (5 Mbit/s + 8 Mbit / 60 s) · 1460/1500; the first data arrives about ten milliseconds after
    // the start.
    assert_close(limit.capacities_bps[1], 4.996_444e6, 1e-4);
}

#[test]
fn outages_and_steps_count_by_their_time() {
    let outage = TWO_PATHS.replace(
        "rate = \"20 Mbit/s\"",
        "rate = \"20 Mbit/s\"\noutages = [[\"10 s\", \"25 s\"]]",
    );
    let limit = limits(&scenario(&outage)).pop().unwrap();
    assert_close(limit.capacities_bps[1], 0.75 * 19.466_667e6, 1e-6);
}

/// A radio whose link is out for the whole measured time carries nothing: the limits are the other
/// path's, plus the idle radio's power.
#[test]
fn a_dead_path_leaves_the_limits_of_the_others() {
    let radios = |outage: &str, workload: &str| {
        let lte = "{ per_mbps = \"52 mW\", up_per_mbps = \"438 mW\", active = \"1288 mW\", \
                   sunk_while = \"open\" }";
        let outage = format!("\"lte-huang2012\"\n{outage}");
        let text = TWO_PATHS
            .replace(lte, &outage)
            .replace("kind = \"bulk\"", workload);
        // A file has no limits if it starts before the warm-up ends.
        let warm_up = if workload.contains("file") {
            "0 s"
        } else {
            "5 s"
        };
        let limits = limits(&scenario(&format!("warm_up = \"{warm_up}\"\n{text}")));
        assert_eq!(limits.len(), 2, "{workload}");
        limits
    };
    let one_path = {
        let end = TWO_PATHS.find("[[path]]\nname = \"lte\"").unwrap();
        let rest = TWO_PATHS.find("[workload]").unwrap();
        limits(&scenario(&format!(
            "warm_up = \"5 s\"\n{}{}",
            &TWO_PATHS[..end],
            &TWO_PATHS[rest..]
        )))
    };
    let idle_w = match &profile("lte-huang2012").unwrap().model {
        joulepath_model::energy::InterfaceModel::Rrc(rrc) => rrc.idle.0,
        other => panic!("{other:?}"),
    };
    let dead = "outages = [[\"4 s\", \"60 s\"]]";
    for (limit, alone) in radios(dead, "kind = \"bulk\"").iter().zip(&one_path) {
        assert_eq!(limit.paths, ["wifi"]);
        assert_close(limit.goodput_bps, alone.goodput_bps, 1e-9);
        assert_close(limit.power_w, alone.power_w + idle_w, 1e-9);
    }
    // Transfers are measured from their start, so the link must be out from then on.
    let dead = "outages = [[\"0 s\", \"60 s\"]]";
    let stream = "kind = \"stream\"\nrate = \"4 Mbit/s\"\ninterval = \"20 ms\"";
    for workload in [
        "kind = \"file\"\nsize = \"1 MB\"",
        "kind = \"requests\"\nsize = \"1 MB\"",
        stream,
    ] {
        for limit in radios(dead, workload) {
            assert_eq!(limit.paths, ["wifi"], "{workload}");
            assert!(
                limit.power_w.is_finite() && limit.power_w > 0.0,
                "{limit:?}"
            );
            assert!(
                limit.rates_bps[1] == 0.0 && limit.capacities_bps[1] == 0.0,
                "{limit:?}"
            );
        }
    }
    // One second of service makes the path count.
    let limit = radios("outages = [[\"4 s\", \"59 s\"]]", "kind = \"bulk\"")
        .pop()
        .unwrap();
    assert_close(limit.capacities_bps[1], 19.466_667e6 / 55.0, 0.04);
}

#[test]
fn uploads_pay_for_lost_packets() {
    let lossy = TWO_PATHS.replace("kind = \"bulk\"", "kind = \"bulk\"\ndirection = \"upload\"");
    let lossy = lossy.replace(
        "queue = \"50 packets\"",
        "queue = \"50 packets\"\nup = { loss = \"20 %\" }",
    );
    let scenario = scenario(&lossy);
    let problem = device_problem(&scenario, &scenario.connections[0], Capacity::Link);
    // 10 Mbit/s carry 10 · 0.8 · 1460/1500; a delivered bit is sent 1.25 · 1500/1460 times at 283
    // nJ. Its ACK arrives 10 ms later, at 137 nJ.
    assert_close(problem.alone_bps(0), 7.786_667e6, 1e-6);
    let per_segment = if scenario.transport.delayed_ack.is_some() {
        0.5
    } else {
        1.0
    };
    let measured_s = (scenario.duration - scenario.warm_up).as_secs_f64();
    let in_time = 1.0 - 0.01 / measured_s;
    let acks = per_segment * scenario.transport.ack_size.0 as f64 / 1460.0 * in_time;
    assert_close(
        problem.costs[0].slope_j_per_bit,
        283e-9 * 1.25 * 1500.0 / 1460.0 + 137e-9 * acks,
        1e-9,
    );
}

#[test]
fn a_file_and_a_stream_have_limits_of_their_own() {
    let file = TWO_PATHS.replace("kind = \"bulk\"", "kind = \"file\"\nsize = \"1 MB\"");
    let limit = limits(&scenario(&file)).pop().unwrap();
    assert_close(limit.energy_j.unwrap(), 8e6 / limit.bits_per_joule, 1e-12);
    let stream = TWO_PATHS.replace(
        "kind = \"bulk\"",
        "kind = \"stream\"\nrate = \"4 Mbit/s\"\ninterval = \"20 ms\"",
    );
    let limit = limits(&scenario(&stream)).pop().unwrap();
    // WiFi alone: 132.9 + 4 · (137 · 1500/1460 + ACKs) mW. Cheaper: LTE for 4/19.467 of the time,
    // with 1288 + 52 · 20 mW and one ACK of 40 bytes per segment at 438 mW/Mbps, and for the rest
    // only an open subflow over WiFi.
    assert_eq!(limit.paths, ["lte"]);
    assert_close(limit.goodput_bps, 4e6, 1e-9);
    let part = 4.0 / (20.0 * 1460.0 / 1500.0);
    let acks = 0.438 * 20.0 * 40.0 / 1500.0;
    assert_close(
        limit.power_w,
        part * (1.288 + 1.04 + acks) + (1.0 - part) * 0.1329,
        1e-3,
    );
}

#[test]
fn connections_that_may_each_fill_a_link_carry_no_more_than_it_together() {
    for workload in ["kind = \"bulk\"", "kind = \"file\"\nsize = \"1 MB\""] {
        let one = TWO_PATHS.replace("kind = \"bulk\"", workload);
        let two =
            format!("{one}\n[[connection]]\nname = \"first\"\n[[connection]]\nname = \"second\"\n");
        let [one, two] = [one, two].map(|text| limits(&scenario(&text)).pop().unwrap());
        assert_close(two.goodput_bps, one.goodput_bps, 1e-9);
        assert_close(two.power_w, one.power_w, 1e-9);
        assert_eq!(two.capacities_bps, one.capacities_bps);
    }
    // Streams that fit together do not wait for each other.
    let stream = "kind = \"stream\"\nrate = \"4 Mbit/s\"\ninterval = \"20 ms\"";
    let streams = format!(
        "{}\n[[connection]]\nname = \"both\"\ncount = 2\n",
        TWO_PATHS.replace("kind = \"bulk\"", stream)
    );
    assert_close(
        limits(&scenario(&streams)).pop().unwrap().goodput_bps,
        8e6,
        1e-9,
    );
}

#[test]
fn a_stream_counts_only_the_periods_within_the_run() {
    // On from 0 to 2, 22 to 24 and 44 to 46 s of 60 s: 4 Mbit/s · 6/60.
    let on_off = "kind = \"stream\"\nrate = \"4 Mbit/s\"\ninterval = \"40 ms\"\non = \"2 s\"\noff = \"20 s\"";
    let limit = limits(&scenario(&TWO_PATHS.replace("kind = \"bulk\"", on_off)))
        .pop()
        .unwrap();
    assert_close(limit.goodput_bps, 0.4e6, 1e-9);
}

#[test]
fn n_answers_have_n_minus_one_waits() {
    // 1 s of transfer at 1 W, then 3 s at 0.1 W, for 21 s: n = (21 + 3) / (1 + 3) = 6, so 6 · 1 W·s
    // + 5 · 3 s · 0.1 W = 7.5 J.
    let one = problem(&ADDITIVE, vec![radio(0.0, 1000.0, 100.0)], &[10.0]);
    let goal = Goal::Requests {
        bits: 10e6,
        waiting_s: 3.0,
        think_s: 0.0,
        repeated_s: 21.0,
    };
    assert_close(one.solve(goal).unwrap().bits_per_joule(), 60e6 / 7.5, 1e-9);
}

fn any_cost() -> impl Strategy<Value = InterfaceCost> {
    (1.0..200.0, 10.0..1500.0, 0.0..50.0, 0..3).prop_map(|(slope, sunk, idle, kind)| match kind {
        0 => linear(slope, sunk),
        1 => always(slope, sunk),
        _ => radio(slope, sunk, idle),
    })
}

fn any_device() -> impl Strategy<Value = DeviceEnergy> {
    (0.0..1.0, 0.7..=1.0).prop_map(|(base, sharing_factor)| DeviceEnergy {
        shared_base: Watts(base),
        sharing_factor,
        ..ADDITIVE
    })
}

/// Power of a set by definition, restated for the test: W for given rates in Mbit/s.
fn power_w(device: &DeviceEnergy, costs: &[InterfaceCost], used: u32, rates_mbps: &[f64]) -> f64 {
    let is_used = |r: usize| used >> r & 1 == 1;
    let active = (0..costs.len())
        .filter(|&r| is_used(r) || costs[r].active_when_unused)
        .count();
    let interfaces: f64 = costs
        .iter()
        .enumerate()
        .map(|(r, c)| {
            if is_used(r) {
                c.used_w + c.slope_j_per_bit * 1e6 * rates_mbps[r]
            } else {
                c.unused_w
            }
        })
        .sum();
    let base = if active >= 1 {
        device.shared_base.0
    } else {
        0.0
    };
    base + interfaces
        * if active >= 2 {
            device.sharing_factor
        } else {
            1.0
        }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Two paths that share a link of `link` Mbit/s: a grid of 60 × 60 rates and all sets.
    #[test]
    fn the_best_point_of_a_grid_is_the_bulk_limit(
        device in any_device(),
        costs in prop::collection::vec(any_cost(), 2),
        c in prop::array::uniform2(0.5..20.0),
        link in 0.5..30.0,
    ) {
        let mut limit = problem(&device, costs.clone(), &c);
        limit.shared.push(Shared::always(vec![1.0, 1.3], link * 1e6));
        let best = limit.solve(Goal::Bulk).unwrap().bits_per_joule();
        let mut found: f64 = 0.0;
        for k in 0..61 * 61 * 6 {
            let (i, j, used, first) = (k % 61, k / 61 % 61, (k / 3721 % 3 + 1) as u32, k / 11_163);
            // One path takes its part of the shared link first, the other gets the rest: so the
            // corners are on the grid.
            let (second, weights) = (1 - first, [1.0, 1.3]);
            let mut x: [f64; 2] = [c[0] * i as f64 / 60.0, c[1] * j as f64 / 60.0];
            x[first] = x[first].min(link / weights[first]);
            x[second] = x[second].min(f64::max(link - weights[first] * x[first], 0.0) / weights[second]);
            if (used & 1 == 0 && x[0] > 0.0) || (used & 2 == 0 && x[1] > 0.0) || x[0] + x[1] == 0.0 {
                continue;
            }
            found = found.max((x[0] + x[1]) * 1e6 / power_w(&device, &costs, used, &x));
        }
        prop_assert!((found / best - 1.0).abs() < 1e-6, "{found} {best}");
    }

    /// Any schedule of the four modes of two interfaces that carries the rate.
    #[test]
    fn no_schedule_beats_the_limit_at_a_given_rate(
        device in any_device(),
        costs in prop::collection::vec(any_cost(), 2),
        c in prop::array::uniform2(0.5..20.0),
        schedule in prop::array::uniform4((0.0..1.0f64, 0.0..=1.0f64, 0.0..=1.0f64)),
    ) {
        let whole: f64 = schedule.iter().map(|part| part.0).sum();
        // An interface that cannot sleep is used all the time or never.
        let fixed = (0..2).filter(|&r| !costs[r].sleeps).fold(0, |mask, r| mask | 1 << r);
        let (mut rate, mut power) = (0.0, 0.0);
        for (used, (time, a, b)) in (0u32..).zip(schedule) {
            let used = used | fixed;
            let x = [a * c[0], b * c[1]];
            let x = [0, 1].map(|r| if used >> r & 1 == 1 { x[r] } else { 0.0 });
            rate += time / whole * (x[0] + x[1]);
            power += time / whole * power_w(&device, &costs, used, &x);
        }
        let best = problem(&device, costs, &c).solve(Goal::Rate { bps: rate * 1e6 }).unwrap();
        prop_assert!(best.power_w <= power * (1.0 + 1e-6), "{} > {power}", best.power_w);
    }

    /// Without sharing and sleep: a fine grid over the split of the rate comes within its step of
    /// the limit.
    #[test]
    fn a_fine_grid_reaches_the_limit_at_a_given_rate(
        costs in prop::collection::vec((1.0..200.0, 10.0..1500.0).prop_map(|(b, t)| linear(b, t)), 2),
        c in prop::array::uniform2(0.5..20.0),
        load in 0.05..0.95,
    ) {
        let rate: f64 = load * (c[0] + c[1]);
        let goal = Goal::Rate { bps: rate * 1e6 };
        let best = problem(&ADDITIVE, costs.clone(), &c).solve(goal).unwrap().power_w;
        let ends = [(rate - c[1]).max(0.0), rate.min(c[0])];
        let grid = (0..=2000).map(|k| ends[0] + (ends[1] - ends[0]) * f64::from(k) / 2000.0);
        let found = grid
            .map(|x| {
                let used = u32::from(x > 0.0) | u32::from(rate - x > 1e-12) << 1;
                power_w(&ADDITIVE, &costs, used, &[x, rate - x])
            })
            .fold(f64::INFINITY, f64::min);
        prop_assert!((found / best - 1.0).abs() < 1e-6, "{found} {best}");
    }

    /// On disjoint paths the linear programme and the allocator's greedy solution compute the same
    /// number.
    #[test]
    fn the_bulk_limit_equals_the_greedy_allocation(
        costs in prop::collection::vec((1.0..200.0, 10.0..1500.0), 1..6),
        c in prop::array::uniform5(0.5..20.0),
    ) {
        let n = costs.len();
        let limit = problem(&ADDITIVE, costs.iter().map(|&(b, t)| linear(b, t)).collect(), &c[..n]);
        let paths = costs.iter().zip(c).map(|(&(b, t), c)| CostedPath {
            slope_j_per_bit: b * 1e-9,
            sunk_w: t * 1e-3,
            capacity_bps: c * 1e6,
        });
        let greedy = Problem {
            paths: paths.collect(),
            required_bps: 0.0,
            max_power_w: f64::INFINITY,
            unused_sleep: true,
        };
        let lp = limit.solve(Goal::Bulk).unwrap().bits_per_joule();
        let greedy = greedy.solve().unwrap().bits_per_joule();
        prop_assert!((lp / greedy - 1.0).abs() < 1e-6, "{lp} {greedy}");
    }
}

#[test]
fn a_free_path_has_no_limit() {
    // For any goal the free path alone carries everything for 0 W: a more expensive set does not
    // bound it.
    let free = problem(
        &ADDITIVE,
        vec![linear(0.0, 0.0), linear(137.0, 132.9)],
        &[5.0, 10.0],
    );
    let transfer = Goal::File { bits: 1e6 };
    for goal in [Goal::Bulk, Goal::Rate { bps: 1e6 }, transfer] {
        assert_eq!(free.solve(goal), None, "{goal:?}");
    }
    // If it is too slow for the rate, the rest has a price.
    assert_close(
        free.solve(Goal::Rate { bps: 8e6 }).unwrap().power_w,
        0.1329 + 3.0 * 0.137,
        1e-6,
    );
}

/// A file over TWO_PATHS with the radios of Huang et al. as a question for `advise`, and the
/// scenario's limit.
fn as_question(
    energies: [&str; 2],
    size: &str,
    base_w: f64,
) -> (crate::advise::Question, Reference) {
    let energy = |text: &str, k: usize| {
        let from = [
            "{ per_mbps = \"137 mW\", up_per_mbps = \"283 mW\", active = \"132.9 mW\", \
             sunk_while = \"open\" }",
            "{ per_mbps = \"52 mW\", up_per_mbps = \"438 mW\", active = \"1288 mW\", sunk_while = \"open\" }",
        ][k];
        text.replace(from, &format!("\"{}\"", energies[k]))
    };
    let file = format!("kind = \"file\"\nsize = \"{size}\"");
    let text = energy(&energy(TWO_PATHS, 0), 1).replace("kind = \"bulk\"", &file);
    let text = format!("{text}\n[device]\nshared_base = \"{base_w} W\"\n");
    let scenario = scenario(&text);
    let paths = scenario
        .paths
        .iter()
        .zip([10, 20])
        .map(|(path, mbps)| crate::advise::Path {
            name: path.name.clone(),
            rate: joulepath_model::units::BitRate::from_bps(mbps * 1_000_000),
            // The limits of comparisons have neither handshakes nor slow start.
            rtt: Nanos::ZERO,
            loss: joulepath_model::network::LossSpec::None,
            energy: path.energy.model.clone(),
        });
    let question = crate::advise::Question {
        paths: paths.collect(),
        size: size.parse().unwrap(),
        within: crate::advise::Within::Whenever,
        delay_price: Watts(0.0),
        base: Watts(base_w),
        capacity: Capacity::Link,
        coupling: crate::advise::Coupling::Uncoupled,
    };
    (question, limits(&scenario).pop().unwrap())
}

#[test]
fn the_limit_of_a_file_matches_advise() {
    // Huang's radios cost at least the limit, alone or together, and exactly the limit if one radio
    // is best.
    for (size, base_w) in [
        ("100 kB", 0.0),
        ("1 MB", 0.5),
        ("20 MB", 0.5),
        ("20 MB", 3.0),
        ("500 MB", 1.0),
    ] {
        let (question, limit) = as_question(["wifi-huang2012", "lte-huang2012"], size, base_w);
        let advice = crate::advise::advise(&question).unwrap().best;
        let (limit_j, advised_j) = (limit.energy_j.unwrap(), advice.energy_j);
        assert!(
            limit_j <= advised_j * (1.0 + 1e-6),
            "{size}: {limit_j} > {advised_j}"
        );
        let close = if advice.paths.len() == 1 { 1e-6 } else { 0.05 };
        assert_close(limit_j, advised_j, close);
    }
}

#[test]
fn a_sleeping_radio_uses_the_better_part_of_a_varying_rate() {
    // β = 1 W; tail power is 0 here; 10 mJ/Mbit; idle at 0.1 W. 10 Mbit/s for 20 s, then 1 Mbit/s
    // for 40 s. The good part alone: 200 Mbit for 20 · 1 + 40 · 0.1 + 2 = 26 J; all: 240 Mbit for
    // 60 + 2.4 J, fewer bits per joule.
    let mut one = problem(
        &ADDITIVE,
        vec![radio(10.0, 1000.0, 100.0)],
        &[f64::INFINITY],
    );
    let slot = |seconds: f64, mbps: f64| Slot {
        seconds,
        peak: vec![Shared::always(vec![1.0], mbps * 1e6)],
        mean: vec![],
        excess: vec![],
    };
    one.slots = vec![slot(20.0, 10.0), slot(40.0, 1.0)];
    let best = one.solve(Goal::Bulk).unwrap();
    assert_close(best.bits_per_joule(), 200e6 / 26.0, 1e-9);
    // 3 Mbit/s are 180 Mbit, all in the good part: 18 s at 1 W, 42 s at 0.1 W, 1.8 J.
    let best = one.solve(Goal::Rate { bps: 3e6 }).unwrap();
    assert_close(best.power_w, (18.0 + 4.2 + 1.8) / 60.0, 1e-9);
    // A file of 210 Mbit also needs the bad part: 10 Mbit more at 1 Mbit/s. In total 30 s at 1 W,
    // and 2.1 J.
    let file = Goal::File { bits: 210e6 };
    assert_close(one.solve(file).unwrap().energy_j.unwrap(), 32.1, 1e-9);
    // A file that waits for a good part idles meanwhile: its 10 Mbit come after 20 s of almost
    // nothing.
    one.slots = vec![slot(20.0, 1e-6), slot(40.0, 10.0)];
    let file = Goal::File { bits: 10e6 };
    assert_close(one.solve(file).unwrap().energy_j.unwrap(), 1.1, 1e-4);
}

#[test]
fn a_mean_below_the_peak_bounds_the_whole_slot() {
    // At most 10 Mbit/s at any instant, 2 on average: a fifth of the time at 1 W, 10 mJ/Mbit, idle
    // at 0.1 W.
    let mut one = problem(
        &ADDITIVE,
        vec![radio(10.0, 1000.0, 100.0)],
        &[f64::INFINITY],
    );
    let bound = |mbps: f64| vec![Shared::always(vec![1.0], mbps * 1e6)];
    one.slots = vec![Slot {
        seconds: 5.0,
        peak: bound(10.0),
        mean: bound(2.0),
        excess: vec![],
    }];
    assert_close(
        one.solve(Goal::Bulk).unwrap().bits_per_joule(),
        2e6 / (0.2 + 0.08 + 0.02),
        1e-9,
    );
}

#[test]
fn a_trace_is_averaged_over_hundredths_of_the_run() {
    // 3 opportunities at 10 ms, repeated: 3.6 Mbit/s on the wire on average, in bursts of no
    // length.
    let text = TWO_PATHS.replace("rate = \"20 Mbit/s\"", "rate = { trace = \"t\" }");
    let trace = |_: &str| {
        Ok(joulepath_model::network::DeliveryTrace {
            source: "t".into(),
            opportunities_ms: vec![10, 10, 10],
        })
    };
    let scenario = load(&text, &trace).unwrap();
    let problem = device_problem(&scenario, &scenario.connections[0], Capacity::Link);
    assert!(
        problem.slots.len() > 90 && problem.slots.len() <= 100,
        "{}",
        problem.slots.len()
    );
    assert_close(problem.alone_bps(1), 3.6e6 * 1460.0 / 1500.0, 1e-3);
}
