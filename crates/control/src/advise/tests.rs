use joulepath_model::energy::{InterfaceModel, RrcModel, Stage, SunkWhile, profile};
use joulepath_model::network::LossSpec;
use joulepath_model::preset::Preset;
use joulepath_model::units::{BitRate, Bytes, JoulesPerBit, Nanos, Probability, Watts};
use proptest::prelude::*;

use super::radio::Radio;
use super::*;
use crate::limit::Capacity;

fn path(name: &str, mbps: f64, energy: InterfaceModel) -> Path {
    Path {
        name: name.to_owned(),
        rate: BitRate::from_bps((mbps * 1e6) as u64),
        // No time for handshakes and slow start.
        rtt: Nanos::ZERO,
        loss: LossSpec::None,
        energy,
    }
}

fn named(name: &str) -> InterfaceModel {
    profile(name).unwrap().model
}

fn wifi_and_lte() -> Question {
    Question {
        paths: vec![
            path("wifi", 20.0, named("wifi-huang2012")),
            path("lte", 10.0, named("lte-huang2012")),
        ],
        size: Bytes(10_000_000),
        within: Within::Whenever,
        delay_price: Watts(0.0),
        base: Watts(0.0),
        capacity: Capacity::TcpFriendly,
        coupling: Coupling::Uncoupled,
    }
}

fn used(plan: &Plan) -> Vec<usize> {
    plan.paths.iter().map(|part| part.path).collect()
}

#[track_caller]
fn assert_close(actual: f64, expected: f64, relative: f64) {
    assert!(
        (actual - expected).abs() <= relative * expected.abs(),
        "{actual} ≠ {expected}"
    );
}

/// 1 W while used, `mw_per_mbps`, no headers: the radio's part of the numbers below.
fn linear(mw_per_mbps: f64, mw: f64) -> InterfaceModel {
    InterfaceModel::Linear {
        down: JoulesPerBit::from_mw_per_mbps(mw_per_mbps),
        up: JoulesPerBit(0.0),
        sunk: Watts(mw * 1e-3),
        sunk_while: SunkWhile::Open,
    }
}

#[test]
fn one_radio_costs_the_published_energy() {
    // 10 MB over WiFi at 10 Mbit/s of payload: 10 · 1500/1460 on the wire, 8 s: promotion 79.1 ms ·
    // 124.4 mW = 9.84 mJ, 8 · 132.86 mW = 1.0629 J, tail 238.1 ms · 119.3 mW = 28.4 mJ, 80 Mbit ·
    // (137.01 · 1500 + 283.17 · 40)/1460 mJ = 11.882 J.
    let mut question = wifi_and_lte();
    question.paths.truncate(1);
    question.paths[0].rate = BitRate::from_bps(10_273_973);
    let advice = advise(&question).unwrap();
    assert_close(
        advice.best.energy_j,
        0.00984 + 1.0629 + 0.0284 + 11.8818,
        1e-4,
    );
    assert_close(advice.best.seconds, 8.0791, 1e-4);
    assert_eq!((advice.front.len(), advice.break_even.len()), (1, 0));
}

/// Two radios without headers, promotions and tails: 80 Mbit take 8 s and 0.8 J over `slow`, 4 s
/// and 3.2 J over `quick`.
fn slow_and_quick() -> Question {
    let mut question = wifi_and_lte();
    question.paths = vec![
        path(
            "slow",
            10.0 * 1500.0 / 1460.0,
            linear(10.0 * 1460.0 / 1500.0, 0.0),
        ),
        path(
            "quick",
            20.0 * 1500.0 / 1460.0,
            linear(40.0 * 1460.0 / 1500.0, 0.0),
        ),
    ];
    question
}

#[test]
fn a_price_of_time_pays_for_a_faster_radio() {
    // Both until 80/30 s: 26.7 · 0.01 + 53.3 · 0.04 = 2.4 J. It saves 5.33 s for 1.6 J: 0.3 W.
    let best = |price_w: f64| {
        let advice = advise(&Question {
            delay_price: Watts(price_w),
            ..slow_and_quick()
        })
        .unwrap();
        (used(&advice.best), advice)
    };
    assert_eq!((best(0.0).0, best(0.29).0), (vec![0], vec![0]));
    let (both, advice) = best(0.31);
    assert_eq!(both, [0, 1]);
    assert_close(advice.best.energy_j, 2.4, 1e-4);
    assert_close(advice.best.seconds, 80.0 / 30.0, 1e-4);
    let said = "Use slow and quick together: 2.40 J in 2.67 s; slow alone would cost 0.800 J, but take \
                8.00 s, and a second of waiting is worth 0.31 J";
    assert!(advice.reason.starts_with(said), "{}", advice.reason);
    // The front does not depend on the price.
    assert_eq!(best(0.0).1.front, advice.front);
    // A stream is no faster on a faster radio.
    let within = Within::Rate(BitRate::from_bps(4_000_000));
    let stream = Question {
        within,
        delay_price: Watts(100.0),
        ..slow_and_quick()
    };
    assert_eq!(used(&advise(&stream).unwrap().best), [0]);
}

#[test]
fn presets_are_prices_and_the_fastest_one_has_a_longest_time() {
    let best = |preset| advise(&slow_and_quick().with(preset)).unwrap().best;
    assert_eq!(used(&best(Preset::Saver)), [0]);
    assert_eq!(best(Preset::Saver), advise(&slow_and_quick()).unwrap().best);
    let mut even = slow_and_quick();
    even.paths[1].energy = linear(30.0 * 1460.0 / 1500.0, 0.0);
    // 53.3 · 0.02 J more than `slow` alone for 5.33 s: 0.2 W.
    assert_eq!(
        used(&advise(&even.with(Preset::Balanced)).unwrap().best),
        [0, 1]
    );
    // 800 mW/Mbps cost 42 J more for 5.33 s, and 5 s are 1.25 times 4 s: `quick` carries 30 of 80
    // Mbit.
    let mut costly = slow_and_quick();
    costly.paths[1].energy = linear(800.0 * 1460.0 / 1500.0, 0.0);
    let fast = advise(&costly.with(Preset::Fast)).unwrap().best;
    assert_close(fast.seconds, 5.0, 1e-3);
    assert_close(fast.paths[1].share, 30.0 / 80.0, 1e-3);
}

/// A radio that wakes for 2 J in 1 s. It needs 10 mJ/Mbit, and nothing for being awake.
fn waking() -> InterfaceModel {
    InterfaceModel::Rrc(RrcModel {
        down: JoulesPerBit::from_mw_per_mbps(10.0),
        up: JoulesPerBit(0.0),
        active: Watts(0.0),
        inactivity: Nanos::from_millis(100),
        promotion: Stage {
            power: Watts(2.0),
            duration: Nanos::from_secs(1),
        },
        tail: vec![],
        idle: Watts(0.0),
    })
}

#[test]
fn a_price_of_time_moves_the_size_at_which_the_advice_changes() {
    // `radio` wakes for 2 J in 1 s and then has 10 Mbit/s; `open` has 1 Mbit/s. A bit costs the
    // same on both. Both end at T + 10 (T − 1) = N. With a price of 1 W: N = 2 + T, so N = 3.2
    // Mbit.
    let mut question = Question {
        delay_price: Watts(1.0),
        ..wifi_and_lte()
    };
    question.paths = vec![
        path("open", 1500.0 / 1460.0, linear(10.0, 0.0)),
        path("radio", 10.0 * 1500.0 / 1460.0, waking()),
    ];
    let change = advise(&question).unwrap().break_even;
    assert_eq!(
        (change[0].below.as_slice(), change[0].above.as_slice()),
        (&[0][..], &[0, 1][..])
    );
    assert_close(change[0].size_bytes * 8.0, 3.2e6, 1e-3);
    let priceless = advise(&Question {
        delay_price: Watts(0.0),
        ..question.clone()
    })
    .unwrap()
    .break_even;
    assert_eq!(priceless.len(), 0, "without a price the radio never pays");
    // The advice itself changes there, too.
    for change in &change {
        let at = |factor: f64| {
            let size = Bytes((change.size_bytes * factor) as u64);
            used(
                &advise(&Question {
                    size,
                    ..question.clone()
                })
                .unwrap()
                .best,
            )
        };
        assert_eq!(
            (at(0.99), at(1.01)),
            (change.below.clone(), change.above.clone())
        );
    }
}

#[test]
fn a_deadline_uses_the_expensive_path_as_little_as_possible() {
    // In 3 s WiFi carries 20 · 1460/1500 · (3 − 0.0791) = 56.86 of 80 Mbit; LTE carries the other
    // 28.9 %.
    let question = Question {
        within: Within::Deadline(Nanos::from_secs(3)),
        ..wifi_and_lte()
    };
    let advice = advise(&question).unwrap();
    assert_eq!(used(&advice.best), [0, 1]);
    assert_close(advice.best.seconds, 3.0, 1e-6);
    assert_close(advice.best.paths[0].share, 0.7107, 1e-3);
    assert!(
        advice.reason.contains("deadline of 3 s"),
        "{}",
        advice.reason
    );
    let late = Question {
        within: Within::Deadline(Nanos::from_secs(1)),
        ..wifi_and_lte()
    };
    // LTE joins when WiFi has an answer. Both until t: 19.467 (t − 0.0791) + 9.733 (t − 0.3392) =
    // 80.
    let fastest_s = (80.0 + 19.4667 * 0.0791 + 9.7333 * (0.0791 + 0.2601)) / 29.2;
    match advise(&late) {
        Err(Impossible::Deadline { fastest_s: said }) => assert_close(said, fastest_s, 1e-5),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_advice_changes_when_a_saved_second_pays_for_a_promotion() {
    // θ = 0.1 W and 10 mJ/Mbit at 1 Mbit/s, against a radio with a promotion of 2 J, β = 0 and
    // equal slope s: N (0.1 + s) = 2 + N s, so 0.1 N = 2 and N = 20 Mbit of payload = 2.5 MB.
    let mut question = wifi_and_lte();
    question.paths = vec![
        path("open", 1500.0 / 1460.0, linear(10.0, 100.0)),
        path("radio", 5.0, waking()),
    ];
    let advice = advise(&question).unwrap();
    let [change] = advice.break_even.as_slice() else {
        panic!("{:?}", advice.break_even)
    };
    assert_close(change.size_bytes, 2.5e6, 1e-5);
    assert_eq!(
        (change.below.as_slice(), change.above.as_slice()),
        ([0].as_slice(), [1].as_slice())
    );
}

#[test]
fn the_line_of_the_front_passes_its_corners_and_never_rises() {
    let mut question = wifi_and_lte();
    question
        .paths
        .push(path("5g", 80.0, named("5g-lowband-2021")));
    let Advice { front, line, .. } = advise(&question).unwrap();
    assert!(
        line.is_sorted_by(|a, b| a[0] <= b[0] && a[1] >= b[1]),
        "{line:?}"
    );
    let corners: Vec<[f64; 2]> = front
        .iter()
        .map(|plan| [plan.seconds, plan.energy_j])
        .collect();
    for corner in &corners {
        let on_it = line.iter().any(|at| {
            (at[0] / corner[0] - 1.0).abs() < 1e-9 && (at[1] / corner[1] - 1.0).abs() < 1e-9
        });
        assert!(on_it, "{corner:?} is not on {line:?}");
    }
    // Every other point is vertically above a corner: another set joins there.
    let drops = line
        .windows(2)
        .filter(|pair| pair[0][0] == pair[1][0])
        .count();
    assert_eq!(line.len(), corners.len() + drops);
    assert!(drops > 0 && line[0] == corners[0] && line.last() == corners.last());
}

#[test]
fn a_shared_base_makes_two_radios_cheaper_than_one() {
    let mut question = Question {
        base: Watts(2.0),
        ..wifi_and_lte()
    };
    question.paths = vec![
        path("a", 10.0, linear(50.0, 100.0)),
        path("b", 10.0, linear(50.0, 100.0)),
    ];
    let advice = advise(&question).unwrap();
    // 80 Mbit at 2 · 9.733 Mbit/s take 4.1096 s: (2 + 0.2) W, and 50 · 1500/1460 mJ/Mbit.
    assert_close(
        advice.best.energy_j,
        4.109_59 * 2.2 + 80.0 * 0.05 * 1500.0 / 1460.0,
        1e-5,
    );
    assert_close(advice.best.paths[1].share, 0.5, 1e-6);
}

#[test]
fn a_stream_takes_its_rate_and_no_more() {
    let question = Question {
        within: Within::Rate(BitRate::from_bps(4_000_000)),
        ..wifi_and_lte()
    };
    let advice = advise(&question).unwrap();
    assert_eq!(used(&advice.best), [0]);
    assert_close(advice.best.paths[0].rate_bps, 4e6, 1e-9);
    assert_close(advice.best.seconds, 20.0791, 1e-6);
    let much = Question {
        within: Within::Rate(BitRate::from_bps(60_000_000)),
        ..wifi_and_lte()
    };
    assert!(matches!(advise(&much), Err(Impossible::Rate { .. })));
}

#[test]
fn loss_bounds_the_rate_unless_link_rates_are_requested() {
    // Mathis: 1460 · 8 / (0.03 √(2 · 0.005 / 3)) = 6.743 Mbit/s; the link: 20 · 0.995 · 1460/1500.
    let mut question = Question {
        within: Within::Rate(BitRate::from_bps(60_000_000)),
        ..wifi_and_lte()
    };
    question.paths.truncate(1);
    question.paths[0].loss = LossSpec::Bernoulli(Probability::new(0.005).unwrap());
    question.paths[0].rtt = Nanos::from_millis(30);
    let most_bps = |capacity| match advise(&Question {
        capacity,
        ..question.clone()
    }) {
        Err(Impossible::Rate { most_bps }) => most_bps,
        other => panic!("{other:?}"),
    };
    assert_close(most_bps(Capacity::TcpFriendly), 6.7433e6, 1e-4);
    assert_close(most_bps(Capacity::Link), 19.3693e6, 1e-4);
}

fn any_energy() -> impl Strategy<Value = InterfaceModel> {
    let wakes = (
        0.0..400.0,
        0.0..2.0,
        0.0..2.0,
        0u64..3000,
        0.0..1.0,
        0u64..12_000,
        0.0..0.2,
    );
    (wakes, 0..3).prop_map(
        |((slope, watts, promotion_w, promotion_ms, tail_w, tail_ms, idle), kind)| {
            let down = JoulesPerBit::from_mw_per_mbps(slope);
            let stage = |w: f64, ms| Stage {
                power: Watts(w),
                duration: Nanos::from_millis(ms),
            };
            match kind {
                0 => linear(slope, watts * 1e3),
                1 => InterfaceModel::Linear {
                    down,
                    up: JoulesPerBit(0.0),
                    sunk: Watts(watts),
                    sunk_while: SunkWhile::Always,
                },
                _ => InterfaceModel::Rrc(RrcModel {
                    down,
                    up: down,
                    active: Watts(watts),
                    inactivity: Nanos::from_millis(100),
                    promotion: stage(promotion_w, promotion_ms),
                    tail: vec![stage(tail_w + idle, tail_ms)],
                    idle: Watts(idle),
                }),
            }
        },
    )
}

fn any_question(paths: usize) -> impl Strategy<Value = Question> {
    let path = (any_energy(), 1.0..50.0).prop_map(|(energy, mbps)| path("p", mbps, energy));
    (
        prop::collection::vec(path, paths),
        10_000u64..20_000_000,
        0.0..2.0,
    )
        .prop_map(|(paths, size, base)| Question {
            paths,
            size: Bytes(size),
            base: Watts(base),
            ..wifi_and_lte()
        })
}

/// Minimum of (J, s) over a grid of splits of all sets that end in time.
fn brute_force(question: &Question, most_s: f64, steps: u32) -> f64 {
    let bits = question.size.0 as f64 * 8.0;
    let devices = Devices::of(question, bits);
    let n = question.paths.len();
    let mut least = f64::INFINITY;
    let mut ticks = vec![0; n];
    loop {
        if ticks.iter().sum::<u32>() == steps {
            let set = ticks
                .iter()
                .enumerate()
                .fold(0, |set, (r, &k)| set | u32::from(k > 0) << r);
            let device = devices.using(set);
            let load = |(&k, radio): (&u32, &Radio)| {
                let bits = bits * f64::from(k) / f64::from(steps);
                Load {
                    bits,
                    busy_s: if k > 0 { bits / radio.rate_bps } else { 0.0 },
                }
            };
            let loads: Vec<Load> = ticks.iter().zip(&device.radios).map(load).collect();
            if device.seconds(set, &loads) <= most_s {
                least = least.min(device.joules(set, &loads));
            }
        }
        let Some(r) = (0..n).find(|&r| ticks[r] < steps) else {
            return least;
        };
        ticks[..r].fill(0);
        ticks[r] += 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// No split on a grid beats the advice, and the grid comes near it: power is at most 2 · 2 + 2
    /// + … W, so a step of 1/400 of the data costs at most that part of the time and of the slopes.
    #[test]
    fn the_advice_for_two_paths_is_the_best_of_a_fine_grid(question in any_question(2), slack in 1.0..4.0) {
        let unbound = advise(&question).unwrap();
        let fastest_s = unbound.front[0].seconds;
        let cases = [(f64::INFINITY, unbound.best.energy_j), {
            let within = Within::Deadline(Nanos::from_secs_f64(fastest_s * slack) + Nanos(1));
            let best = advise(&Question { within, ..question.clone() }).unwrap().best;
            (fastest_s * slack, best.energy_j)
        }];
        for (most_s, best) in cases {
            let grid = brute_force(&question, most_s, 400);
            prop_assert!(best <= grid * (1.0 + 2e-7), "{best} > {grid}");
            // With a deadline near the minimum, possibly no grid point is in time.
            let coarse = brute_force(&question, most_s, 200);
            prop_assert!(!grid.is_finite() || coarse < grid || best >= grid * 0.97, "{best} {grid}");
        }
    }

    #[test]
    fn nothing_on_a_grid_beats_the_advice_for_three_paths(question in any_question(3)) {
        let best = advise(&question).unwrap().best.energy_j;
        let grid = brute_force(&question, f64::INFINITY, 30);
        prop_assert!(best <= grid * (1.0 + 2e-7) && best >= 0.7 * grid, "{best} {grid}");
    }

    /// Each point of the front costs the grid's minimum for its time; later points cost less.
    #[test]
    fn the_front_falls_and_nothing_lies_below_it(question in any_question(2)) {
        let front = advise(&question).unwrap().front;
        for pair in front.windows(2) {
            prop_assert!(pair[1].seconds > pair[0].seconds && pair[1].energy_j < pair[0].energy_j);
        }
        for point in &front {
            let grid = brute_force(&question, point.seconds * (1.0 - 1e-9), 300);
            prop_assert!(point.energy_j <= grid * (1.0 + 2e-7), "{point:?} {grid}");
        }
    }

    /// The advice just below and just above a break-even uses the paths that the break-even names.
    #[test]
    fn break_even_sizes_are_where_the_advice_changes(question in any_question(2)) {
        let said = advise(&question).unwrap().break_even;
        let mut ends: Vec<f64> = said.iter().map(|change| change.size_bytes).collect();
        ends.insert(0, 1e3);
        ends.push(1e10);
        for (k, pair) in ends.windows(2).enumerate().filter(|(_, pair)| pair[1] > 1.02 * pair[0]) {
            let size = Bytes(((pair[0] * pair[1]).sqrt()) as u64);
            let at = advise(&Question { size, ..question.clone() }).unwrap().best;
            let paths = if k == 0 { said.first().map(|c| &c.below) } else { Some(&said[k - 1].above) };
            if let Some(paths) = paths {
                prop_assert_eq!(&used(&at), paths, "{} {:?} {:?}", size, said, at);
            }
        }
    }
}

#[test]
fn five_paths_have_an_answer() {
    let mut question = wifi_and_lte();
    for (k, name) in ["3g-huang2012", "5g-lowband-2021", "lte-2021"]
        .iter()
        .enumerate()
    {
        question
            .paths
            .push(path(name, 15.0 + k as f64, named(name)));
    }
    (question.base, question.size) = (Watts(0.5), Bytes(100_000_000));
    let advice = advise(&question).unwrap();
    assert_eq!(
        used(&advice.front[0]).len(),
        5,
        "the fastest plan uses all paths"
    );
    question.paths.push(path("sixth", 1.0, linear(1.0, 1.0)));
    assert_eq!(advise(&question), Err(Impossible::Degenerate));
}
