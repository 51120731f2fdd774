use joulepath_model::energy::DeviceEnergy;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::scenario::load;

use super::*;

const ADDITIVE: DeviceEnergy = DeviceEnergy::additive();

fn scenario(text: &str) -> Scenario {
    load(text, &|name| Err(format!("no trace {name}")))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[track_caller]
fn assert_close(actual: f64, expected: f64, relative: f64) {
    assert!(
        (actual - expected).abs() <= relative * expected.abs(),
        "{actual} ≠ {expected}"
    );
}

/// A radio that sleeps, with this power while used, and this cost per bit.
fn radio(used_w: f64, slope: f64) -> InterfaceCost {
    InterfaceCost {
        used_w,
        slope_j_per_bit: slope * 1e-9,
        sleeps: true,
        active_when_used: true,
        ..InterfaceCost::default()
    }
}

/// Slots of one second in which each path has these capacities, Mbit/s.
fn varying<'a>(costs: Vec<InterfaceCost>, capacities: &[Vec<f64>]) -> DeviceProblem<'a> {
    let n = costs.len();
    let alone = |r: usize, mbps: f64| {
        let weights = (0..n).map(|i| f64::from(u8::from(i == r))).collect();
        Shared::always(weights, mbps * 1e6)
    };
    let slot = |mbps: &Vec<f64>| Slot {
        seconds: 1.0,
        peak: mbps
            .iter()
            .enumerate()
            .map(|(r, &mbps)| alone(r, mbps))
            .collect(),
        mean: vec![],
        excess: vec![],
    };
    DeviceProblem {
        rtts_s: vec![0.05; n],
        capacities_bps: vec![f64::INFINITY; n],
        costs,
        shared: vec![],
        in_order: None,
        start: None,
        slots: capacities.iter().map(slot).collect(),
        written: vec![],
        device: &ADDITIVE,
    }
}

/// A radio of 1 W with 9 and then 1 Mbit/s: the limit sleeps through the second half, 9 Mbit/J.
/// Always on it carries 10 Mbit in 2 s: 5 Mbit/J, and no other set carries as much.
#[test]
fn an_always_on_radio_does_not_sleep_through_bad_times() {
    let problem = varying(vec![radio(1.0, 0.0)], &[vec![9.0], vec![1.0]]);
    assert_close(
        problem.solve(Goal::Bulk).unwrap().bits_per_joule(),
        9e6,
        1e-6,
    );
    let found = problem.always_on().unwrap();
    assert_close(found.bits_per_joule(), 5e6, 1e-6);
    assert_close(found.goodput_bps, 5e6, 1e-6);
}

/// A second radio of 0.5 W with 1 Mbit/s: the best fixed set is still the first alone (5 Mbit/J;
/// the second alone 2, both 4). The cheapest way to carry its 10 Mbit switches radios: 9 Mbit for 1
/// J, 1 Mbit for 0.5 J.
#[test]
fn always_on_schedules_may_switch_radios() {
    let problem = varying(
        vec![radio(1.0, 0.0), radio(0.5, 0.0)],
        &[vec![9.0, 1.0], vec![1.0, 1.0]],
    );
    assert_close(
        problem.always_on().unwrap().bits_per_joule(),
        10e6 / 1.5,
        1e-6,
    );
}

#[test]
fn with_constant_capacities_always_on_equals_the_limit() {
    let problem = varying(vec![radio(1.0, 100.0), radio(0.5, 30.0)], &[vec![9.0, 2.0]]);
    assert_eq!(problem.always_on(), problem.solve(Goal::Bulk));
}

/// Random capacities of two radios in three slots. A random schedule, with any part of each
/// capacity in each mode, is better only if it carries less than the best fixed set. The limit lies
/// between that set and the optimum with foresight.
#[test]
fn no_schedule_that_carries_as_much_is_better_than_always_on() {
    let mut draws = Stream::new(3, Domain::Workload, 9);
    let mut between = |least: f64, most: f64| least + (most - least) * draws.uniform();
    let (mut tried, mut near) = (0, 0);
    for _ in 0..100 {
        let costs = [0, 1]
            .map(|_| radio(between(0.1, 2.0), between(0.0, 200.0)))
            .to_vec();
        let capacities: Vec<Vec<f64>> = (0..3)
            .map(|_| vec![between(0.1, 20.0), between(0.1, 20.0)])
            .collect();
        let problem = varying(costs.clone(), &capacities);
        let found = problem.always_on().unwrap();
        let foresight = problem.solve(Goal::Bulk).unwrap();
        let fixed = (1..4u32).map(|mask| {
            let on = |r: usize| mask >> r & 1 == 1;
            let bits: f64 = capacities
                .iter()
                .map(|c| (0..2).filter(|&r| on(r)).map(|r| c[r]).sum::<f64>())
                .sum();
            let joules: f64 = (0..2)
                .filter(|&r| on(r))
                .map(|r| {
                    3.0 * costs[r].used_w
                        + capacities.iter().map(|c| c[r] * 1e6).sum::<f64>()
                            * costs[r].slope_j_per_bit
                })
                .sum();
            (bits * 1e6 / joules, bits * 1e6 / 3.0)
        });
        let fixed = fixed.reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap();
        assert!(found.bits_per_joule() >= fixed.0 * (1.0 - 1e-6));
        assert!(found.bits_per_joule() <= foresight.bits_per_joule() * (1.0 + 1e-6));
        for _ in 0..300 {
            let (mut bits, mut joules) = (0.0, 0.0);
            for capacity in &capacities {
                // Mostly one mode at full rate, like good schedules.
                let mut left = 1.0;
                for mode in 0..4 {
                    let first = between(0.0, 4.0) as u32;
                    let time = if mode == 3 {
                        left
                    } else {
                        left * between(0.0, 1.0).powi(4)
                    };
                    left -= time;
                    let mask = (mode + first) % 4;
                    for r in (0..2).filter(|r| mask >> r & 1 == 1) {
                        let carried = time * capacity[r] * 1e6 * between(0.6, 1.4).min(1.0);
                        bits += carried;
                        joules += time * costs[r].used_w + carried * costs[r].slope_j_per_bit;
                    }
                }
            }
            if bits >= 3.0 * fixed.1 {
                tried += 1;
                let share = bits / joules / found.bits_per_joule();
                assert!(
                    share <= 1.0 + 1e-6,
                    "{share} of {found:?}: {capacities:?} {costs:?}"
                );
                near += u32::from(share > 0.95);
            }
        }
    }
    assert!(
        tried > 1000 && near > 20,
        "{tried} schedules carry enough, {near} come near the limit"
    );
}

fn one_path(keys: &str, more: &str) -> Scenario {
    scenario(&format!(
        "title = \"t\"\nduration = \"20 s\"\n[[path]]\nname = \"a\"\nrate = \"10 Mbit/s\"\ndelay = \"40 \
        ms\"\n\
         energy = {{ per_mbps = \"100 mW\", active = \"500 mW\" }}\n{keys}\n{more}"
    ))
}

fn goodputs(scenario: &Scenario, terms: &Terms) -> [f64; 2] {
    let found = attainable(scenario, terms);
    [found[0].goodput_bps, found[1].goodput_bps]
}

/// 64 KiB hold 44 whole segments of 1460 B: 513 920 bits, once per 80 ms of propagation, 1.2 ms of
/// a segment and 32 µs of an ACK: 6.3284 Mbit/s. Without the term 524 288 bits per 80 ms: 6.5536.
#[test]
fn windows_hold_whole_segments_and_segments_take_time() {
    let scenario = one_path("", "[receiver]\nbuffer = \"64 KiB\"");
    let terms = Terms {
        whole_segments: true,
        ..Terms::default()
    };
    assert_close(goodputs(&scenario, &Terms::default())[1], 6.5536e6, 1e-6);
    assert_close(goodputs(&scenario, &terms)[1], 513_920.0 / 0.081_232, 1e-6);
}

/// An endless competing TCP takes half of the link. If 5 % are lost it takes Mathis' rate: 11 680
/// bits / 80 ms · √(1.5/0.05) = 799.7 kbit/s, and the rest of the payload rate, (10 Mbit/s − 0.8
/// Mbit/s) · 1460/1500 · 0.95, is ours. Competitors with files take nothing.
#[test]
fn competitors_get_an_equal_share_or_their_loss_limited_rate() {
    let terms = Terms {
        others_share: true,
        ..Terms::default()
    };
    let tcp = "[[competitor]]\nname = \"c\"\npath = \"a\"\n";
    let payload = 1460.0 / 1500.0;
    assert_close(goodputs(&one_path("", tcp), &terms)[1], 5e6 * payload, 1e-6);
    assert_close(
        goodputs(&one_path("", tcp), &Terms::default())[1],
        10e6 * payload,
        1e-6,
    );
    let mathis = 11_680.0 / 0.08 * (1.5f64 / 0.05).sqrt();
    let lossy = one_path("loss = \"5 %\"", tcp);
    assert_close(
        goodputs(&lossy, &terms)[1],
        (10e6 - mathis) * payload * 0.95,
        1e-6,
    );
    let web = one_path("", &format!("{tcp}size = \"1 MB\""));
    assert_close(goodputs(&web, &terms)[1], 10e6 * payload, 1e-6);
    let cross = one_path(
        "",
        "[[cross]]\npath = \"a\"\nkind = \"constant\"\nrate = \"4 Mbit/s\"",
    );
    assert_close(goodputs(&cross, &terms)[1], 6e6 * payload, 1e-6);
}

/// The receive window of 000, table 1, on one path: without the term the window is always full.
#[test]
fn a_window_that_waits_for_lost_segments_carries_less() {
    let scenario = one_path("loss = \"10 %\"", "[receiver]\nbuffer = \"64 KiB\"");
    let terms = Terms {
        in_order: true,
        ..Terms::default()
    };
    let [_, full] = goodputs(&scenario, &Terms::default());
    let [_, waiting] = goodputs(&scenario, &terms);
    assert!(
        waiting < 0.7 * full && waiting > 0.4 * full,
        "{waiting} of {full}"
    );
    // Bursty losses are not independent, and give no bound.
    let bursts = one_path(
        "loss = { enter_bad = \"1 %\", leave_bad = \"10 %\", loss_bad = \"50 %\" }",
        "[receiver]\nbuffer = \"64 KiB\"",
    );
    assert_eq!(
        goodputs(&bursts, &terms),
        goodputs(&bursts, &Terms::default())
    );
}

/// 10 Mbit/s, 80 ms, 500 mW while a subflow is open and 100 mW per Mbit/s, times 1500/1460 without
/// ACKs. 14,600 B are ten segments: two round trips and 12 ms of the link at 500 mW, 86 mJ; 116,800
/// bits at 100 nJ, 12 mJ. Without the term only the link's 12 ms burn.
#[test]
fn a_short_file_pays_for_its_round_trips() {
    let scenario = one_path("", "[workload]\nkind = \"file\"\nsize = \"14600 B\"");
    let found = |terms: &Terms| attainable(&scenario, terms)[1].energy_j.unwrap();
    let bits_j = 120_000.0 * 100e-9;
    assert_close(found(&Terms::default()), 0.5 * 0.012 + bits_j, 1e-6);
    let terms = Terms {
        slow_start: true,
        ..Terms::default()
    };
    assert_close(found(&terms), 0.5 * (0.160 + 0.012) + bits_j, 1e-6);
}

/// A stream with writes every 100 ms and a deadline of 200 ms keeps an LTE radio with a tail of
/// 11.6 s awake: at least 1.06 W. Without the deadline it may sleep between few bursts.
#[test]
fn a_stream_with_a_deadline_keeps_the_radio_awake() {
    let text = "title = \"t\"\nduration = \"60 s\"\n[[path]]\nname = \"a\"\nrate = \"10 Mbit/s\"\n\
                delay = \"40 ms\"\nenergy = \"lte-huang2012\"\n[workload]\nkind = \"stream\"\n\
                rate = \"100 kbit/s\"\n";
    let scenario = scenario(text);
    let free = &attainable(&scenario, &Terms::default())[1];
    let bound = &attainable(
        &scenario,
        &Terms {
            deadline_s: Some(0.2),
            ..Terms::default()
        },
    )[1];
    // One on-period of 60 s, less the 0.3 s of its last gap.
    assert!(
        bound.power_w > 1.06 * 0.99 && bound.power_w < 1.2,
        "{}",
        bound.power_w
    );
    assert!(
        free.power_w < 0.3 * bound.power_w,
        "{} {}",
        free.power_w,
        bound.power_w
    );
}

/// Ten random messages a second, each with a deadline of 200 ms: no gap lasts 11.6 s, so LTE stays
/// awake except for at most 2/λ + d = 0.4 s. With one message in 100 s it may sleep: e^{−λx} (1 + λ
/// (x + d)) = 1, x = 6.26 s, so each gap has at least 6.46 s of its tail.
#[test]
fn random_messages_with_a_deadline_keep_the_radio_awake() {
    let text = |gap: &str| {
        format!(
            "title = \"t\"\nduration = \"3600 s\"\n[[path]]\nname = \"a\"\nrate = \"10 Mbit/s\"\n\
             delay = \"40 ms\"\nenergy = \"lte-huang2012\"\n[workload]\nkind = \"messages\"\n\
             size = \"1 kB\"\nmean_gap = \"{gap}\"\n"
        )
    };
    let power_w = |gap: &str, terms: &Terms| attainable(&scenario(&text(gap)), terms)[1].power_w;
    let bound = Terms {
        deadline_s: Some(0.2),
        ..Terms::default()
    };
    let awake_w = power_w("100 ms", &bound);
    assert!(awake_w > 1.06 * 0.99 && awake_w < 1.2, "{awake_w}");
    assert!(power_w("100 ms", &Terms::default()) < 0.3 * awake_w);
    // At least 6.46 s of tail at 1.04 W above idle in each of 0.0094 gaps a second, in all but 200
    // s; at most the whole tail of 11.6 s for each of 0.01 messages.
    let asleep_w = power_w("100 s", &bound);
    assert!(
        asleep_w > 0.020 + 0.059 && asleep_w < 0.020 + 0.121 + 0.001,
        "{asleep_w}"
    );
}

/// For any scenario, each term lowers the limit or leaves it unchanged.
#[test]
fn no_term_raises_a_limit() {
    let mut draws = Stream::new(11, Domain::Workload, 2);
    let mut between = |least: f64, most: f64| least + (most - least) * draws.uniform();
    let mut lower = [0; 7];
    for _ in 0..60 {
        let mut text = "title = \"t\"\nduration = \"30 s\"\n".to_owned();
        for name in ["a", "b"] {
            let mbps = between(1.0, 40.0);
            let energy = ["wifi-huang2012", "lte-huang2012"][between(0.0, 2.0) as usize];
            let (at, later) = (between(1.0, 29.0), mbps * between(0.05, 3.0));
            let rate = match between(0.0, 2.0) < 1.0 {
                true => format!("\"{mbps:.2} Mbit/s\""),
                false => format!(
                    "{{ steps = [[\"0 s\", \"{mbps:.2} Mbit/s\"], [\"{at:.1} s\", \"{later:.2} Mbit/s\"]] }}"
                ),
            };
            text += &format!(
                "[[path]]\nname = \"{name}\"\nrate = {rate}\ndelay = \"{:.1} ms\"\nloss = \"{:.2} %\"\n\
                 energy = \"{energy}\"\n",
                between(5.0, 80.0),
                between(0.0, 5.0)
            );
        }
        text += [
            "",
            "[workload]\nkind = \"file\"\nsize = \"3 MB\"\n",
            "[workload]\nkind = \"stream\"\nrate = \"200 kbit/s\"\non = \"3 s\"\noff = \"4 s\"\n",
        ][between(0.0, 3.0) as usize];
        text += &format!("[receiver]\nbuffer = \"{:.0} KiB\"\n", between(16.0, 512.0));
        if between(0.0, 1.0) < 0.5 {
            text += "[[competitor]]\nname = \"c\"\npath = \"a\"\ncount = 2\n";
        }
        let scenario = scenario(&text);
        let free = attainable(&scenario, &Terms::default());
        let one = |terms: Terms| attainable(&scenario, &terms);
        let all = [
            Terms {
                always_on: true,
                ..Terms::default()
            },
            Terms {
                in_order: true,
                ..Terms::default()
            },
            Terms {
                whole_segments: true,
                ..Terms::default()
            },
            Terms {
                slow_start: true,
                ..Terms::default()
            },
            Terms {
                others_share: true,
                ..Terms::default()
            },
            Terms {
                deadline_s: Some(0.5),
                ..Terms::default()
            },
            Terms::all(Some(0.5)),
        ];
        for (terms, lower) in all.into_iter().zip(&mut lower) {
            let found = one(terms);
            assert_eq!(found.len(), free.len(), "{terms:?}\n{text}");
            for (found, free) in found.iter().zip(&free) {
                let share = found.bits_per_joule / free.bits_per_joule;
                assert!(share <= 1.0 + 1e-6, "{share} {terms:?}\n{text}");
                *lower += u32::from(share < 0.995);
            }
        }
    }
    assert!(lower.iter().all(|count| *count > 1), "{lower:?}");
}
