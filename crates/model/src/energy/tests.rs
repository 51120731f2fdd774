//! Equations, profiles and presets against worked numbers.

use proptest::prelude::*;

use super::constants::{huang2012, narayanan2021 as n2021};
use super::equations::*;
use super::*;
use crate::units::Bytes;

const MBIT: f64 = 1e6;

fn model(name: &str) -> InterfaceModel {
    profile(name).expect("shipped profile").model
}

fn rrc(name: &str) -> RrcModel {
    match model(name) {
        InterfaceModel::Rrc(rrc) => rrc,
        other => panic!("{name} is {other:?}"),
    }
}

fn slope(mw_per_mbps: f64) -> JoulesPerBit {
    JoulesPerBit::from_mw_per_mbps(mw_per_mbps)
}

#[track_caller]
fn assert_close(actual: f64, expected: f64, tolerance: f64) {
    assert!(
        (actual - expected).abs() <= tolerance,
        "{actual} is not {expected} ± {tolerance}"
    );
}

#[test]
fn ten_megabytes_over_lte_cost_27_joules() {
    let split = isolated_transfer(
        &rrc("lte-huang2012"),
        Bytes(10_000_000),
        10.0 * MBIT,
        Traffic::Down,
    );
    // 80 Mbit at 10 Mbit/s last 8 s.
    assert_close(split.sunk_j, 1.28804 * 8.0, 1e-9); // 10.3043
    assert_close(split.transfer_j, 80.0 * 0.05197, 1e-9); // 4.1576; both: 14.462
    assert_close(split.tail_j, 1.2107 * 0.2601 + 1.060 * 11.576, 1e-9); // 0.315 + 12.271
    assert_close(split.total_j(), 27.047, 1e-3);
}

#[test]
fn ten_megabytes_over_wifi_cost_12_joules() {
    let split = isolated_transfer(
        &rrc("wifi-huang2012"),
        Bytes(10_000_000),
        10.0 * MBIT,
        Traffic::Down,
    );
    // 0.1244 * 0.0791 + (0.13286 + 0.13701 * 10) * 8 + 0.1193 * 0.2381 = 0.010 + 12.024 + 0.028
    assert_close(split.total_j(), 12.062, 1e-3);
}

#[test]
fn ten_megabytes_over_3g_cost_50_joules() {
    let split = isolated_transfer(
        &rrc("3g-huang2012"),
        Bytes(10_000_000),
        2.0 * MBIT,
        Traffic::Down,
    );
    // 0.6594 * 0.5821 + (0.81788 + 0.12212 * 2) * 40 + 0.8039 * 8.088 + 0.6013 * 0.824
    // = 0.384 + 42.485 + 6.502 + 0.495
    assert_close(split.total_j(), 49.866, 1e-3);
}

#[test]
fn table_1_of_000_charges_every_theta_for_the_whole_run() {
    let interfaces = ["wifi-seed000", "lte-seed000", "umts-seed000"].map(model);
    let power = |total_bps: f64, shares: [f64; 3]| -> f64 {
        let parts = interfaces.iter().zip(shares);
        parts
            .map(|(i, share)| i.power(Traffic::Down, share * total_bps).0)
            .sum()
    };
    // Σθ = 132.9 + 1288 + 817.9 = 2238.8 mW.
    // MPTCP: 0.20557 Mbit/s * (0.24 * 137 + 0.39 * 52 + 0.37 * 122.1 = 98.337) = 20.215 mW
    assert_close(power(205.57e3, [0.24, 0.39, 0.37]), 2.2590, 5e-5);
    // EEMPTCP: 0.41566 * (0.18 * 137 + 0.43 * 52 + 0.39 * 122.1 = 94.639) = 39.338 mW
    assert_close(power(415.66e3, [0.18, 0.43, 0.39]), 2.2781, 5e-5);
    // The table's own rates and efficiencies imply 205.57 / 90.99 and 415.66 / 182.46.
    assert_close(power(205.57e3, [0.24, 0.39, 0.37]), 205.57 / 90.99, 5e-4);
    assert_close(power(415.66e3, [0.18, 0.43, 0.39]), 415.66 / 182.46, 5e-4);
}

fn eib(base_w: f64) -> EnergyInformationBase {
    let linear = |name: &str| (model(name).slope(Traffic::Down), model(name).sunk_power());
    let (wifi, cellular) = (linear("wifi-seed000"), linear("lte-seed000"));
    EnergyInformationBase {
        base: Watts(base_w),
        wifi,
        cellular,
    }
}

#[test]
fn the_energy_information_base_has_the_published_thresholds() {
    // LTE rate, then for P0 = 0, 500, 1000 mW: cellular only below, WiFi only above; all Mbit/s.
    let table = [
        (0.5, [(0.053, 0.053), (0.038, 0.254), (0.030, 0.455)]),
        (1.0, [(0.110, 0.110), (0.078, 0.526), (0.060, 0.942)]),
        (2.0, [(0.238, 0.238), (0.164, 1.132), (0.125, 2.027)]),
        (5.0, [(0.770, 0.770), (0.488, 3.667), (0.357, 6.564)]),
        (10.0, [(3.034, 3.034), (1.417, 14.45), (0.924, 25.87)]),
    ];
    // 10 Mbit/s, P0 = 500: 632.9 * 10 / (1288 - 85 * 10) = 14.450; 132.9 * 10 / (500 + 438) = 1.417
    for (lte, row) in table {
        for (base_w, (below, above)) in [0.0, 0.5, 1.0].into_iter().zip(row) {
            let found = eib(base_w).thresholds(lte * MBIT);
            assert_close(found.cellular_only_below_bps / MBIT, below, 6e-4);
            assert_close(found.wifi_only_above_bps / MBIT, above, 6e-3);
        }
    }
}

#[test]
fn wifi_alone_is_never_cheapest_with_fast_lte() {
    // 1288 - 85 x is negative above 15.15 Mbit/s; with P0 = 500 mW the corresponding bracket is
    // negative above 21.04 Mbit/s.
    assert!(
        eib(0.5)
            .thresholds(15.1 * MBIT)
            .wifi_only_above_bps
            .is_finite()
    );
    assert!(
        eib(0.5)
            .thresholds(15.2 * MBIT)
            .wifi_only_above_bps
            .is_infinite()
    );
    assert!(
        eib(0.5)
            .thresholds(21.0 * MBIT)
            .cellular_only_below_bps
            .is_finite()
    );
    assert!(
        eib(0.5)
            .thresholds(21.1 * MBIT)
            .cellular_only_below_bps
            .is_infinite()
    );
}

#[test]
fn idle_lte_draws_20_milliwatts() {
    // 594.3 * 43.2 / 1280.2 = 20.054 mW; 77.2 * 7.6 / 308.2 = 1.904 mW; 374.2 * 55.4 / 5112 = 4.055
    // mW
    assert_close(rrc("lte-huang2012").idle.0, 20.054e-3, 1e-6);
    assert_close(rrc("wifi-huang2012").idle.0, 1.904e-3, 1e-6);
    assert_close(rrc("3g-huang2012").idle.0, 4.055e-3, 1e-6);
}

#[test]
fn mmwave_is_cheaper_than_lte_above_187_megabits() {
    let line = |b: f64, phone_mw: f64| (slope(b), Watts(phone_mw * 1e-3));
    let crossover = |a, b| crossover_bps(a, b).expect("they cross") / MBIT;
    let mmwave_down = line(n2021::MMWAVE_DOWN, n2021::MMWAVE_DOWN_PHONE_MW);
    let lowband_down = line(n2021::LOWBAND_DOWN, n2021::LOWBAND_DOWN_PHONE_MW);
    let lte_down = line(n2021::LTE_DOWN, n2021::LTE_DOWN_PHONE_MW);
    let mmwave_up = line(n2021::MMWAVE_UP, n2021::MMWAVE_UP_PHONE_MW);
    let lowband_up = line(n2021::LOWBAND_UP, n2021::LOWBAND_UP_PHONE_MW);
    let lte_up = line(n2021::LTE_UP, n2021::LTE_UP_PHONE_MW);
    // (5136 - 2754) / (14.55 - 1.81) = 186.97; (5624 - 2799) / (80.21 - 9.42) = 39.91
    assert_close(crossover(mmwave_down, lte_down), 187.0, 0.5);
    assert_close(crossover(mmwave_up, lte_up), 40.0, 0.5);
    // (5136 - 2925) / (13.52 - 1.81) = 188.81; (5624 - 3204) / (29.15 - 9.42) = 122.66
    assert_close(crossover(mmwave_down, lowband_down), 189.0, 0.5);
    assert_close(crossover(mmwave_up, lowband_up), 123.0, 0.5);
    // Subtracting the phone from both models does not change the crossover.
    let radio = |name| (model(name).slope(Traffic::Down), model(name).sunk_power());
    assert_close(
        crossover(radio("5g-mmwave-2021"), radio("lte-2021")),
        187.0,
        0.5,
    );
}

#[test]
fn interfaces_with_equal_slopes_have_no_crossover() {
    assert_eq!(
        crossover_bps((slope(1.0), Watts(1.0)), (slope(1.0), Watts(2.0))),
        None
    );
    assert_eq!(
        crossover_bps((slope(1.0), Watts(1.0)), (slope(2.0), Watts(2.0))),
        None
    );
}

#[test]
fn energy_per_delivered_bit_counts_the_lost_bits() {
    // (137 + 132.9 / 2) / 0.9 = 226.056 mJ/Mbit
    let e = energy_per_delivered_bit(slope(137.0), Watts(0.1329), 2.0 * MBIT, 0.1);
    assert_close(e.mw_per_mbps(), 226.056, 1e-3);
    // Below 0.01 Mbit/s: 137 + 132.9 / 0.01 = 13427
    let floor = energy_per_delivered_bit(slope(137.0), Watts(0.1329), 0.0, 0.0);
    assert_close(floor.mw_per_mbps(), 13_427.0, 1e-6);
    assert!(
        energy_per_delivered_bit(slope(137.0), Watts(0.1329), MBIT, 1.0)
            .0
            .is_infinite()
    );
}

#[test]
fn an_interface_without_traffic_needs_no_power() {
    assert_eq!(linear_power(slope(137.0), Watts(0.1329), 0.0), Watts(0.0));
    assert_close(
        linear_power(slope(137.0), Watts(0.1329), 10.0 * MBIT).0,
        1.5029,
        1e-12,
    );
}

#[test]
fn a_wired_host_draws_15_percent_more_at_a_gigabit() {
    let wired = HostCurve::Wired { exponent: 1.0 };
    assert_close(wired.relative_power(200.0 * MBIT), 1.0, 1e-12);
    assert_close(wired.relative_power(1000.0 * MBIT), 1.15, 1e-12);
    assert_close(wired.relative_power(0.0), 1.0 - 0.15 * 0.25, 1e-12);
    // 10 GB = 80 Gbit: 400 s at 1 against 80 s at 1.15: 4.35.
    let ratio =
        400.0 * wired.relative_power(200.0 * MBIT) / (80.0 * wired.relative_power(1000.0 * MBIT));
    assert_close(ratio, 4.35, 5e-3);
    // Concave: halfway, 0.5^0.7 = 0.6156.
    let concave = HostCurve::Wired { exponent: 0.7 }.relative_power(600.0 * MBIT);
    assert_close(concave, 1.0 + 0.15 * 0.6156, 1e-5);
}

#[test]
fn a_wifi_host_draws_90_percent_more_at_fifty_megabits() {
    // a + b R with a = 34.4 b: 44.4 b at 10, 84.4 b at 50 Mbit/s.
    assert_close(HostCurve::Wifi.relative_power(10.0 * MBIT), 1.0, 1e-12);
    assert_close(HostCurve::Wifi.relative_power(50.0 * MBIT), 1.9, 1e-12);
    assert_close(HostCurve::Wifi.relative_power(0.0), 34.4 / 44.4, 5e-4);
}

#[test]
fn a_host_draws_more_with_delay_and_subflows() {
    let device = device_preset("host-relative").expect("shipped preset");
    let host = device.host.expect("it has a host");
    // RTT 30 ms: log2(4) = 2, so 1 + 0.01 * 2 + 0.03 * (3 - 1) = 1.08
    assert_close(
        host.power(200.0 * MBIT, Nanos::from_millis(30), 3).0,
        1.08,
        1e-12,
    );
    assert_eq!(host.power(0.0, Nanos::ZERO, 0), host.idle_power());
}

#[test]
fn every_profile_is_found_by_its_name() {
    let names: Vec<_> = profile_names().collect();
    for name in &names {
        assert_eq!(profile(name).expect("listed").profile, *name);
        assert_eq!(nearest(name), Some(*name));
        assert_eq!(
            names.iter().filter(|other| *other == name).count(),
            1,
            "{name} is listed twice"
        );
    }
    assert_eq!(profile("wifi"), None);
}

#[test]
fn the_nearest_profile_is_suggested_for_a_misspelt_name() {
    assert_eq!(nearest("wifi-huang2021"), Some("wifi-huang2012"));
    assert_eq!(nearest("LTE-seed000"), Some("lte-seed000"));
    assert_eq!(nearest("5g-mmwave"), Some("5g-mmwave-2021"));
    assert_eq!(nearest("wifi-sed000"), Some("wifi-seed000"));
    assert_eq!(nearest("wifi-2021"), Some("wifi6-2021"));
    assert_eq!(nearest("zzz"), None);
}

#[test]
fn presets_name_existing_profiles() {
    for preset in device_presets() {
        assert_eq!(device_preset(preset.name), Some(preset.device()));
        for interface in preset.interfaces {
            assert!(profile(interface).is_some(), "{}: {interface}", preset.name);
        }
    }
    assert_eq!(
        device_preset("phone2015").expect("shipped").shared_base,
        Watts(0.5)
    );
    assert_eq!(
        device_preset("5g2021").expect("shipped").shared_base,
        Watts(2.0)
    );
    assert_eq!(
        device_preset("seed000").expect("shipped"),
        DeviceEnergy::default()
    );
}

#[test]
fn all_profiles_have_plausible_powers_and_times() {
    for profile in profiles() {
        let InterfaceModel::Rrc(rrc) = profile.model() else {
            continue;
        };
        let name = profile.name;
        assert!(
            rrc.active.0 > 0.1 && rrc.active.0 < 4.0,
            "{name}: {}",
            rrc.active
        );
        assert!(rrc.idle.0 < 0.03, "{name}: {}", rrc.idle);
        assert!(rrc.promotion.duration < Nanos::from_secs(3), "{name}");
        assert!(
            rrc.tail.iter().all(|s| s.power.0 <= rrc.active.0),
            "{name}: the tail burns more than traffic"
        );
        assert_eq!(
            rrc.inactivity,
            Nanos::from_micros(huang2012::INACTIVITY_US),
            "{name}"
        );
    }
}

#[test]
fn kinds_of_radio_have_profiles_that_hold_at_their_rates() {
    for kind in &RADIO_KINDS {
        assert_eq!(radio_kind(kind.name), Some(kind));
        assert!(profile(kind.default_profile()).is_some(), "{}", kind.name);
        for &name in kind.profiles {
            let energy = profile(name).unwrap_or_else(|| panic!("{}: {name}", kind.name));
            let validity = energy
                .validity()
                .expect("today's profiles know their rates");
            for traffic in [Traffic::Down, Traffic::Up] {
                let [least, most] = kind.rates.of(traffic);
                assert!(least < most, "{}", kind.name);
                assert!(
                    !validity.rates.are_exceeded(traffic, most * MBIT),
                    "{name}: {most} Mbit/s"
                );
            }
        }
    }
}

#[test]
fn profiles_by_signal_hold_up_to_the_fastest_rates_of_their_tables() {
    for name in ["5g-sa-2021", "5g-nsa-2021"] {
        let (table, energy) = (radios::radio(name).unwrap(), profile(name).unwrap());
        for (traffic, up) in [(Traffic::Down, false), (Traffic::Up, true)] {
            let fastest = table
                .fastest(up)
                .iter()
                .map(|(_, rate)| rate.bps())
                .max()
                .unwrap() as f64;
            assert_close(
                energy.validity().unwrap().rates.of(traffic)[1],
                fastest / MBIT,
                1e-6,
            );
        }
    }
}

#[test]
fn a_changed_profile_keeps_the_range_of_rates_of_its_profile() {
    let lte = profile("lte-2021").unwrap();
    let changed = InterfaceEnergy {
        profile: format!("{}, changed", lte.profile),
        ..lte
    };
    let rates = changed.validity().unwrap().rates;
    assert!(
        !rates.are_exceeded(Traffic::Down, 50.0 * MBIT)
            && rates.are_exceeded(Traffic::Down, 51.0 * MBIT)
    );
    assert!(
        !rates.are_exceeded(Traffic::Up, 25.0 * MBIT)
            && rates.are_exceeded(Traffic::Up, 26.0 * MBIT)
    );
    assert_eq!(profile("free").unwrap().validity(), None);
}

#[test]
fn estimates_lie_within_their_bounds() {
    let mut estimates = 0;
    for shipped in profiles() {
        let Some(bounds) = shipped.bounds else {
            continue;
        };
        estimates += 1;
        assert_eq!(
            shipped.confidence,
            Confidence::Reconstruction,
            "{}",
            shipped.name
        );
        let rrc = rrc(shipped.name);
        let mw_per_mbps = |slope: JoulesPerBit| slope.0 * 1e9;
        for (value, [least, most]) in [
            (rrc.active.0 * 1e3, bounds.active_mw),
            (mw_per_mbps(rrc.down), bounds.down_mw_per_mbps),
            (mw_per_mbps(rrc.up), bounds.up_mw_per_mbps),
        ] {
            assert!(
                least <= value && value <= most,
                "{}: {value} in {least}..{most}",
                shipped.name
            );
        }
    }
    assert_eq!(estimates, 6);
}

/// docu/POWERCONSUMPTION.md of boaks/zephyr-coaps-client: 400 bytes to the server, 40 back. LTE-M
/// without RAI needs 12 s at 9 mA and 5 V, NB-IoT with RAI 3.3 s at 31 mA and 5 V.
#[test]
fn modules_need_the_measured_energy_and_time_of_a_message() {
    let message = |name: &str, up_mbps: f64, measured_j: f64, measured_s: f64| {
        let rrc = rrc(name);
        let energy = isolated_transfer(&rrc, Bytes(400), up_mbps * MBIT, Traffic::Up).total_j();
        let tail: f64 = rrc
            .tail
            .iter()
            .map(|stage| stage.duration.as_secs_f64())
            .sum();
        let time = rrc.promotion.duration.as_secs_f64() + 3_200.0 / (up_mbps * MBIT) + tail;
        assert_close(energy / measured_j, 1.0, 0.1);
        assert_close(time / measured_s, 1.0, 0.05);
    };
    message("lte-m-2022", 0.18, 0.54, 12.0);
    message("nb-iot-rai-2022", 0.02, 0.5115, 3.3);
    for (early, late) in [
        ("lte-m-rai-2022", "lte-m-2022"),
        ("nb-iot-rai-2022", "nb-iot-2022"),
    ] {
        let tail = |name: &str| isolated_transfer(&rrc(name), Bytes(0), MBIT, Traffic::Up).tail_j;
        assert!(
            tail(early) < tail(late),
            "{early} is released later than {late}"
        );
    }
}

/// Pixel 4 at 20 Mbit/s: 303.4 mW + 20 · (159.1 / 500 + 0.905) mW; the radio of 2012 needs 2.87 W.
#[test]
fn wifi_of_today_needs_a_ninth_of_that_of_2012_at_20_mbps() {
    let power = |name: &str| model(name).power(Traffic::Down, 20.0 * MBIT).0;
    assert_close(power("wifi5-2019"), 0.32787, 1e-4);
    assert!(power("wifi-huang2012") > 8.5 * power("wifi5-2019"));
}

proptest! {
    /// Mediant lemma: under an additive model the cost of both interfaces lies between the costs of
    /// each.
    #[test]
    fn both_interfaces_never_beat_the_better_one(
        (b_w, theta_w, x_w) in (0.0..500.0, 0.0..3.0, 0.01..1000.0),
        (b_c, theta_c, x_c) in (0.0..500.0, 0.0..3.0, 0.01..1000.0),
    ) {
        let eib = EnergyInformationBase {
            base: Watts(0.0),
            wifi: (slope(b_w), Watts(theta_w)),
            cellular: (slope(b_c), Watts(theta_c)),
        };
        let (w, c) = (eib.wifi_cost(x_w * MBIT).0, eib.cellular_cost(x_c * MBIT).0);
        let both = eib.both_cost(x_w * MBIT, x_c * MBIT).0;
        let rounding = 1.0 + 1e-12;
        prop_assert!(both * rounding >= w.min(c) && both <= w.max(c) * rounding);
    }

    /// The closed-form thresholds agree with the costs.
    #[test]
    fn thresholds_separate_the_cheapest_choices(base_w in 0.0..2.0, x_w in 0.01..50.0, x_c in 0.01..50.0) {
        let eib = eib(base_w);
        let (x_w, x_c): (f64, f64) = (x_w * MBIT, x_c * MBIT);
        let thresholds: EibThresholds = eib.thresholds(x_c);
        let (below, above) = (thresholds.cellular_only_below_bps, thresholds.wifi_only_above_bps);
        let apart = |bound: f64| (x_w / bound - 1.0).abs() > 1e-9;
        prop_assume!(apart(below) && apart(above));
        let (w, c, both) = (eib.wifi_cost(x_w).0, eib.cellular_cost(x_c).0, eib.both_cost(x_w, x_c).0);
        prop_assert_eq!(x_w > above, w < both);
        prop_assert_eq!(x_w < below, c < both);
    }
}
