//! Radios whose power follows their signal.

use super::{assert_close, ms, secs};
use crate::energy::meter::DeviceMeter;
use crate::energy::radios::{RadioTable, radio};
use crate::energy::{DeviceEnergy, InterfaceModel, Traffic, profile};
use crate::units::{Dbm, Nanos};

fn table() -> &'static RadioTable {
    radio("5g-mmwave-2021").expect("shipped")
}

fn meter(series: &[(Nanos, f64)], device: &DeviceEnergy) -> DeviceMeter {
    let mut meter = DeviceMeter::new(
        &[profile("5g-mmwave-2021").expect("shipped").model],
        device,
        Nanos::ZERO,
    );
    meter.follow(
        0,
        table(),
        series.iter().map(|&(at, dbm)| (at, Dbm(dbm))).collect(),
    );
    meter
}

/// Packets of 1250 B down every `gap`, from one time to another.
fn send(meter: &mut DeviceMeter, from: Nanos, until: Nanos, gap: Nanos) {
    let mut at = from;
    while at < until {
        meter.on_packet(0, at, 1250, Traffic::Down, Nanos::ZERO);
        at += gap;
    }
}

#[test]
fn active_power_is_that_of_the_signal_and_the_rates() {
    // Promotion of 2.025 s; then 10 kbit every 0.1 ms are 100 Mbit/s, 10 s at each signal.
    let device = DeviceEnergy::additive();
    let mut meter = meter(&[(Nanos::ZERO, -80.0), (ms(12_025), -110.0)], &device);
    meter.wake(0, Nanos::ZERO);
    send(&mut meter, ms(2_025), ms(22_025), Nanos::from_micros(100));
    let split = meter.finish(ms(22_025)).interfaces[0];
    let power = |dbm: f64| table().power(Dbm(dbm), 100e6, 0.0).0;
    let expected = 10.0 * (power(-80.0) + power(-110.0));
    assert_close(split.sunk_j + split.transfer_j, expected, 0.01 * expected);
    assert_close(split.tail_j, 1.494 * 2.025, 1e-9);
    assert!(power(-110.0) > 1.25 * power(-80.0));
}

#[test]
fn a_snapshot_never_takes_energy_back() {
    let mut meter = meter(
        &[(Nanos::ZERO, -80.0), (secs(3), -95.0), (secs(5), -70.0)],
        &DeviceEnergy::additive(),
    );
    let mut before = meter.snapshot(Nanos::ZERO).interfaces[0];
    for tenth in 0..200 {
        let from = ms(tenth * 100);
        if tenth % 7 < 4 {
            send(&mut meter, from, from + ms(50), ms(1 + tenth % 5));
        }
        let now = meter.snapshot(from + ms(99)).interfaces[0];
        for (now, before) in [
            (now.sunk_j, before.sunk_j),
            (now.transfer_j, before.transfer_j),
            (now.tail_j, before.tail_j),
        ] {
            assert!(now >= before - 1e-12, "at {tenth}: {now} after {before}");
        }
        before = now;
    }
    let total = meter.snapshot(secs(20)).total_j();
    assert!(meter.finish_with_tails(secs(20)).total_j() >= total);
}

#[test]
fn a_radio_that_sleeps_has_no_windows() {
    let mut meter = meter(&[(Nanos::ZERO, -80.0)], &DeviceEnergy::additive());
    meter.on_packet(0, Nanos::ZERO, 1250, Traffic::Down, Nanos::ZERO);
    // Promotion, the gap limit of 0.1 s from its end, the tail of 10.5 s; then nothing for an hour.
    let reading = meter.finish_with_tails(secs(3_600));
    let split = reading.interfaces[0];
    assert_close(split.tail_j, 1.494 * 2.025 + 1.092 * 10.5, 1e-6);
    // One packet is 0.1 Mbit/s over the least time of 0.1 s.
    let least = table().power(Dbm(-80.0), 1e5, 0.0).0 - table().power(Dbm(-80.0), 0.0, 0.0).0;
    assert_close(split.sunk_j + split.transfer_j, least * 0.1, 1e-9);
}

#[test]
fn only_an_rrc_radio_follows() {
    let mut meter = DeviceMeter::new(
        &[profile("wifi-seed000").expect("shipped").model],
        &DeviceEnergy::additive(),
        Nanos::ZERO,
    );
    let linear = meter.clone();
    meter.follow(0, table(), vec![(Nanos::ZERO, Dbm(-80.0))]);
    assert_eq!(meter.finish(secs(1)), linear.finish(secs(1)));
    assert!(matches!(
        profile("wifi-seed000").expect("shipped").model,
        InterfaceModel::Linear { .. }
    ));
}
