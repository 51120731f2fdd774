//! The meter against worked numbers. `oracle` compares it with an eager integration.

mod follow;
mod oracle;

use crate::energy::meter::{DeviceMeter, EnergyReading, RadioPhase};
use crate::energy::{
    DeviceEnergy, InterfaceModel, RrcModel, Stage, SunkWhile, Traffic, device_preset, profile,
};
use crate::units::{BitRate, JoulesPerBit, Nanos, Watts};

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn secs(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

fn model(name: &str) -> InterfaceModel {
    profile(name).expect("shipped profile").model
}

fn meter(names: &[&str], device: DeviceEnergy) -> DeviceMeter {
    let models: Vec<_> = names.iter().map(|name| model(name)).collect();
    DeviceMeter::new(&models, &device, Nanos::ZERO)
}

fn additive(names: &[&str]) -> DeviceMeter {
    meter(names, DeviceEnergy::additive())
}

/// 0.1 s promotion at 3 W; 2 W active; tail of 1 s at 1 W, then 2 s at 0.5 W; idle at 0.01 W; 1
/// nJ/bit down, 2 nJ/bit up.
fn simple_radio() -> InterfaceModel {
    InterfaceModel::Rrc(RrcModel {
        down: JoulesPerBit(1e-9),
        up: JoulesPerBit(2e-9),
        active: Watts(2.0),
        inactivity: ms(200),
        promotion: Stage {
            power: Watts(3.0),
            duration: ms(100),
        },
        tail: vec![
            Stage {
                power: Watts(1.0),
                duration: secs(1),
            },
            Stage {
                power: Watts(0.5),
                duration: secs(2),
            },
        ],
        idle: Watts(0.01),
    })
}

fn simple_meter() -> DeviceMeter {
    DeviceMeter::new(&[simple_radio()], &DeviceEnergy::additive(), Nanos::ZERO)
}

#[track_caller]
fn assert_close(actual: f64, expected: f64, tolerance: f64) {
    assert!(
        (actual - expected).abs() <= tolerance,
        "{actual} is not {expected} ± {tolerance}"
    );
}

#[track_caller]
fn assert_split(reading: &EnergyReading, sunk: f64, transfer: f64, tail: f64) {
    let split = reading.interfaces[0];
    assert_close(split.sunk_j, sunk, 1e-9);
    assert_close(split.transfer_j, transfer, 1e-9);
    assert_close(split.tail_j, tail, 1e-9);
}

/// 10 MB in packets of 1250 B at `mbps`, from idle to the end of the tail.
fn file_of_10_mb(name: &str, mbps: u64) -> f64 {
    let mut meter = additive(&[name]);
    let ready = meter.wake(0, Nanos::ZERO);
    let packet_time = 10_000_000 / mbps; // 10^4 bit, in ns
    let mut last = ready;
    for packet in 1..=8_000 {
        last = ready + Nanos(packet * packet_time);
        meter.on_packet(0, last, 1250, Traffic::Down, Nanos::ZERO);
    }
    meter.finish_with_tails(last).total_j()
}

#[test]
fn the_energy_of_a_file_matches_the_closed_form() {
    assert_close(file_of_10_mb("lte-huang2012", 10), 27.047, 1e-3);
    assert_close(file_of_10_mb("wifi-huang2012", 10), 12.062, 1e-3);
    assert_close(file_of_10_mb("3g-huang2012", 2), 49.866, 1e-3);
}

#[test]
fn the_meter_reproduces_table_1_of_000() {
    let mut meter = additive(&["wifi-seed000", "lte-seed000", "umts-seed000"]);
    // 120 s at 415.66 kbit/s are 6 234 900 B, shared 0.18 / 0.43 / 0.39, in 100 parts each.
    for (interface, bytes) in [11_222, 26_810, 24_316].into_iter().enumerate() {
        for part in 0..100 {
            meter.on_packet(
                interface,
                ms(1200 * part),
                bytes,
                Traffic::Down,
                Nanos::ZERO,
            );
            meter.on_packet(interface, ms(1200 * part), 40, Traffic::Up, Nanos::ZERO); // ACKs are free in 000
        }
    }
    // 2.2781 W; rounding these shares to bytes does not change it.
    assert_close(meter.finish(secs(120)).total_j() / 120.0, 2.2781, 5e-5);
}

#[test]
fn the_first_packet_waits_for_the_promotion() {
    let mut meter = simple_meter();
    assert_eq!(meter.wake(0, ms(500)), ms(600));
    assert_eq!(
        meter.wake(0, ms(550)),
        ms(600),
        "a second packet waits for the same promotion"
    );
    assert_eq!(meter.wake(0, ms(650)), ms(650));
    // Idle 0.5 s, promotion 0.1 s, active from 0.6 s to 0.65 s, tail 1 s and 2 s.
    let reading = meter.finish_with_tails(ms(650));
    assert_split(
        &reading,
        0.01 * 0.5 + 2.0 * 0.05,
        0.0,
        3.0 * 0.1 + 1.0 * 1.0 + 0.5 * 2.0,
    );
}

#[test]
fn a_packet_ends_the_tail() {
    let mut meter = simple_meter();
    meter.on_packet(0, ms(0), 1000, Traffic::Down, Nanos::ZERO); // ready at 100 ms
    assert_eq!(
        meter.wake(0, ms(1600)),
        ms(1600),
        "no promotion out of a tail"
    );
    meter.on_packet(0, ms(1600), 1000, Traffic::Up, Nanos::ZERO);
    // Tail from 0.1 s: 1 s in the first stage, 0.5 s in the second; then a whole tail.
    let reading = meter.finish_with_tails(ms(1600));
    let bits = 8000.0;
    assert_split(
        &reading,
        0.0,
        bits * 1e-9 + bits * 2e-9,
        3.0 * 0.1 + 1.0 + 0.25 + 1.0 + 1.0,
    );
}

#[test]
fn a_short_gap_is_active_and_a_long_gap_is_tail_from_its_start() {
    let run = |gap| {
        let mut meter = simple_meter();
        meter.on_packet(0, ms(0), 0, Traffic::Down, Nanos::ZERO); // ready at 100 ms
        meter.on_packet(0, ms(100) + gap, 0, Traffic::Down, Nanos::ZERO);
        meter.finish_with_tails(ms(100) + gap)
    };
    assert_split(&run(ms(199)), 2.0 * 0.199, 0.0, 0.3 + 2.0);
    assert_split(&run(ms(200)), 0.0, 0.0, 0.3 + 0.2 * 1.0 + 2.0);
}

#[test]
fn the_radio_is_idle_after_its_tail_and_must_be_promoted_again() {
    let mut meter = simple_meter();
    meter.on_packet(0, ms(0), 0, Traffic::Down, Nanos::ZERO); // tail from 100 ms to 3100 ms
    assert_eq!(meter.wake(0, ms(5100)), ms(5200));
    let reading = meter.finish_with_tails(ms(5100));
    assert_split(&reading, 0.01 * 2.0, 0.0, 2.0 * (0.3 + 2.0));
}

#[test]
fn finishing_during_traffic_cuts_the_tail_and_counts_the_gap_as_active() {
    let mut meter = simple_meter();
    meter.on_packet(0, ms(0), 0, Traffic::Down, Nanos::ZERO);
    assert_split(&meter.clone().finish(ms(50)), 0.0, 0.0, 3.0 * 0.05);
    assert_split(&meter.clone().finish(ms(250)), 2.0 * 0.15, 0.0, 0.3);
    assert_split(&meter.clone().finish(ms(600)), 0.0, 0.0, 0.3 + 0.5);
    assert_split(&meter.clone().finish(ms(4100)), 0.01 * 1.0, 0.0, 0.3 + 2.0);
    // A snapshot leaves the open gap to a later snapshot.
    assert_split(&meter.snapshot(ms(250)), 0.0, 0.0, 0.3);
    assert_split(&meter.snapshot(ms(600)), 0.0, 0.0, 0.3 + 0.5);
}

#[test]
fn a_radio_without_tail_stays_active_for_its_inactivity_time() {
    let InterfaceModel::Rrc(mut rrc) = simple_radio() else {
        unreachable!("it is a radio")
    };
    rrc.tail.clear();
    let mut meter = DeviceMeter::new(
        &[InterfaceModel::Rrc(rrc)],
        &DeviceEnergy::additive(),
        Nanos::ZERO,
    );
    meter.on_packet(0, ms(0), 0, Traffic::Down, Nanos::ZERO);
    assert_split(&meter.finish_with_tails(ms(100)), 0.0, 0.0, 0.3 + 2.0 * 0.2);
}

#[test]
fn the_measurement_can_start_in_any_state() {
    for (begin, sunk, tail) in [
        (50, 2.0 * 0.15, 3.0 * 0.05 + 2.0), // promotion
        (150, 2.0 * 0.1, 2.0),              // gap that becomes transfer at 250 ms
        (300, 0.0, 0.95 + 1.0),             // gap that becomes tail
        (2000, 0.0, 0.5 * 1.25),            // second stage, which ends at 3250 ms
        (3350, 0.0, 0.0),
    ] {
        let mut meter = simple_meter();
        meter.on_packet(0, ms(0), 1000, Traffic::Down, Nanos::ZERO);
        if begin < 250 {
            meter.begin_measurement(ms(begin));
            meter.on_packet(0, ms(250), 0, Traffic::Down, Nanos::ZERO);
        } else {
            meter.on_packet(0, ms(250), 0, Traffic::Down, Nanos::ZERO);
            meter.begin_measurement(ms(begin));
        }
        assert_split(
            &meter.finish_with_tails(ms(begin.max(250))),
            sunk,
            0.0,
            tail,
        );
    }
}

#[test]
fn sunk_power_is_charged_while_any_subflow_is_open() {
    let mut meter = additive(&["wlan-seed001", "wifi-seed000"]);
    meter.open(0, secs(1));
    meter.open(0, secs(2));
    meter.close(0, secs(3));
    meter.close(0, secs(5));
    meter.open(0, secs(8));
    let reading = meter.finish(secs(10));
    // First interface: 1 s to 5 s and 8 s to 10 s. Second interface: always.
    assert_close(reading.interfaces[0].sunk_j, 0.1329 * 6.0, 1e-12);
    assert_close(reading.interfaces[1].sunk_j, 0.1329 * 10.0, 1e-12);
}

#[test]
fn a_burst_reported_late_costs_the_same_as_its_packets() {
    let mut meter = simple_meter();
    let ready = meter.wake(0, Nanos::ZERO);
    meter.on_packet(0, ready, 1000, Traffic::Down, Nanos::ZERO);
    meter.on_burst(0, ms(400), [3000, 500]);
    // Promotion: 0.1 s at 3 W. Active from 0.1 s to 0.4 s at 2 W. 4000 B down at 1 nJ/bit, 500 B up
    // at 2 nJ/bit.
    assert_split(&meter.finish(ms(400)), 0.6, 32e-6 + 8e-6, 0.3);
}

#[test]
fn bursts_may_be_reported_late_only_without_sharing() {
    // The simple radio's gap of 200 ms ends ACTIVE; a linear model has no gaps.
    assert_eq!(simple_meter().patience(0), ms(200));
    assert_eq!(additive(&["wlan-seed001"]).patience(0), Nanos::MAX);
    let sharing = DeviceEnergy {
        sharing_factor: 0.8,
        ..DeviceEnergy::additive()
    };
    assert_eq!(meter(&["wlan-seed001"], sharing).patience(0), Nanos::ZERO);
}

#[test]
fn two_active_interfaces_share_power() {
    let device = DeviceEnergy {
        shared_base: Watts(0.5),
        sharing_factor: 0.8,
        host: None,
    };
    let mut meter = meter(&["wlan-seed001", "3g-seed001"], device);
    meter.open(0, secs(1));
    meter.on_packet(0, secs(2), 125_000, Traffic::Down, Nanos::ZERO); // 1 Mbit alone
    meter.open(1, secs(3));
    meter.on_packet(0, secs(4), 125_000, Traffic::Down, Nanos::ZERO); // 1 Mbit while sharing
    meter.close(0, secs(5));
    let reading = meter.finish(secs(6));
    // WLAN alone 2 s, sharing 2 s; 3G sharing 2 s, alone 1 s; base from 1 s to 6 s.
    assert_close(
        reading.interfaces[0].sunk_j,
        0.1329 * (2.0 + 0.8 * 2.0),
        1e-12,
    );
    assert_close(reading.interfaces[0].transfer_j, 0.137 * (1.0 + 0.8), 1e-12);
    assert_close(
        reading.interfaces[1].sunk_j,
        0.8179 * (0.8 * 2.0 + 1.0),
        1e-12,
    );
    assert_close(reading.base_j, 0.5 * 5.0, 1e-12);
    assert_close(
        reading.total_j(),
        0.1329 * 3.6 + 0.137 * 1.8 + 0.8179 * 2.6 + 2.5,
        1e-12,
    );
}

#[test]
fn a_free_interface_never_counts_as_active() {
    let mut meter = meter(
        &["free", "wlan-seed001"],
        device_preset("phone2015").expect("shipped"),
    );
    meter.open(0, secs(0));
    meter.on_packet(0, secs(1), 1500, Traffic::Down, Nanos::ZERO);
    assert_eq!(meter.snapshot(secs(2)).total_j(), 0.0);
}

#[test]
fn slots_without_traffic_cost_c_e() {
    let slotted = InterfaceModel::Slotted {
        transfer: JoulesPerBit(5e-6),
        idle: Watts(0.25),
        slot: secs(1),
    };
    let mut meter = DeviceMeter::new(&[slotted], &DeviceEnergy::additive(), Nanos::ZERO);
    meter.on_packet(0, ms(2500), 125_000, Traffic::Down, Nanos::ZERO); // slot 2: 1 Mbit, 5 J
    meter.on_packet(0, ms(2900), 125_000, Traffic::Up, Nanos::ZERO); // same slot
    meter.on_packet(0, ms(3000), 125_000, Traffic::Down, Nanos::ZERO); // slot 3
    assert_split(&meter.snapshot(ms(5900)), 0.25 * 3.0, 15.0, 0.0); // slots 0, 1, 4; slot 5 is open
    assert_split(&meter.finish(ms(5900)), 0.25 * 3.9, 15.0, 0.0);
}

#[test]
fn a_host_is_charged_for_sampled_windows() {
    let mut meter = meter(&["free"], device_preset("host-relative").expect("shipped"));
    meter.host_sample(secs(10), BitRate::from_bps(200_000_000), Nanos::ZERO, 1);
    assert_close(meter.snapshot(secs(10)).host.total_j(), 10.0, 1e-9);
    meter.begin_measurement(secs(10));
    meter.host_sample(secs(90), BitRate::from_bps(1_000_000_000), Nanos::ZERO, 1);
    let reading = meter.finish(secs(90));
    // 80 s at 1.15; of that, 1 - 0.15 * 0.25 = 0.9625 is the power without traffic.
    assert_close(reading.host.sunk_j, 80.0 * 0.9625, 1e-9);
    assert_close(reading.total_j(), 80.0 * 1.15, 1e-9);
}

#[test]
fn a_timer_longer_than_the_run_does_not_overflow() {
    let InterfaceModel::Rrc(mut rrc) = simple_radio() else {
        unreachable!("it is a radio")
    };
    rrc.tail[1].duration = Nanos::MAX;
    let mut meter = DeviceMeter::new(
        &[InterfaceModel::Rrc(rrc)],
        &DeviceEnergy::additive(),
        Nanos::ZERO,
    );
    meter.on_packet(0, ms(0), 0, Traffic::Down, Nanos::ZERO);
    assert_split(&meter.finish(ms(2100)), 0.0, 0.0, 0.3 + 1.0 + 0.5);
}

#[test]
fn a_late_call_counts_at_the_current_time() {
    let mut meter = additive(&["wlan-seed001", "3g-seed001"]);
    meter.open(0, secs(2));
    meter.open(1, secs(1));
    let reading = meter.finish(secs(3));
    assert_close(reading.interfaces[1].sunk_j, 0.8179, 1e-12);
}

#[test]
fn sunk_while_open_and_always_differ_only_in_when() {
    let linear = |sunk_while| InterfaceModel::Linear {
        down: JoulesPerBit(1e-9),
        up: JoulesPerBit(2e-9),
        sunk: Watts(1.0),
        sunk_while,
    };
    let models = [linear(SunkWhile::Always), linear(SunkWhile::Open)];
    let mut meter = DeviceMeter::new(&models, &DeviceEnergy::additive(), Nanos::ZERO);
    meter.open(1, Nanos::ZERO);
    for interface in 0..2 {
        assert_eq!(meter.wake(interface, ms(10)), ms(10));
        meter.on_packet(interface, ms(10), 1500, Traffic::Up, Nanos::ZERO);
    }
    let reading = meter.finish(secs(1));
    assert_eq!(reading.interfaces[0], reading.interfaces[1]);
    assert_close(reading.interfaces[0].transfer_j, 12_000.0 * 2e-9, 1e-18);
}

/// The radio of [`simple_radio`] after one packet at 0.5 s: promotion until 0.6 s, then a gap that
/// becomes a tail from 0.6 s on, because no packet follows within 0.2 s.
#[test]
fn a_radio_tells_its_phase_and_when_it_began() {
    let mut meter = simple_meter();
    let at = |meter: &mut DeviceMeter, now: Nanos| {
        meter.snapshot(now);
        let state = meter.states().next().expect("one interface");
        (state.phase, state.since)
    };
    assert_eq!(at(&mut meter, ms(400)), (RadioPhase::Idle, Nanos::ZERO));
    meter.on_packet(0, ms(500), 1500, Traffic::Down, Nanos::ZERO);
    assert_eq!(at(&mut meter, ms(550)), (RadioPhase::Promotion, ms(500)));
    assert_eq!(at(&mut meter, ms(700)), (RadioPhase::Active, ms(600)));
    assert_eq!(at(&mut meter, ms(900)), (RadioPhase::Tail, ms(600)));
    assert_eq!(at(&mut meter, ms(4_000)), (RadioPhase::Idle, ms(3_600)));
}

/// Between the end of traffic and the end of tails, energy grows from what is known then to the
/// final value.
#[test]
fn energy_after_traffic_grows_to_that_with_tails() {
    let mut meter = meter(
        &["wifi-huang2012", "lte-huang2012"],
        DeviceEnergy::additive(),
    );
    for i in 0..20 {
        meter.on_packet(0, ms(100 + 10 * i), 1500, Traffic::Down, Nanos::ZERO);
        meter.on_packet(1, ms(100 + 40 * i), 1500, Traffic::Down, Nanos::ZERO);
    }
    let end = ms(900);
    let whole = meter.clone().finish_with_tails(end);
    let mut before = 0.0;
    for step in 0..140 {
        let (reading, states) = meter.clone().finish_until(end, ms(900 + 100 * step));
        let joules = reading.total_j();
        assert!(
            joules >= before && joules <= whole.total_j(),
            "{step}: {before}, {joules}"
        );
        before = joules;
        let is_idle = states.iter().all(|state| state.phase == RadioPhase::Idle);
        assert_eq!(is_idle, reading == whole, "{step}");
    }
    assert_eq!(before, whole.total_j());
}

/// 20 packets of half a second each, received back to back, and ACKs that the device sends
/// meanwhile: the radio is active for ten seconds and until the last ACK is sent.
#[test]
fn a_radio_is_active_while_its_slow_link_transmits() {
    for ack_ms in [0, 30, 250, 499] {
        let mut meter = simple_meter();
        meter.on_packet(0, ms(0), 0, Traffic::Up, Nanos::ZERO); // ready at 100 ms
        for i in 1..=20 {
            let arrival = 150 + 500 * i;
            meter.on_packet(0, ms(arrival), 1500, Traffic::Down, ms(500));
            meter.on_packet(0, ms(arrival + ack_ms), 40, Traffic::Up, ms(1));
        }
        let reading = meter.finish_with_tails(ms(10_700));
        // The meter learns of the first packet at 650 ms: until then the radio is in its tail.
        let active_j = 2.0 * (10.0 + 1e-3 * (ack_ms + 1) as f64);
        assert_split(
            &reading,
            active_j,
            20.0 * (1500e-9 + 80e-9) * 8.0,
            0.3 + 0.55 + 2.0,
        );
    }
}
