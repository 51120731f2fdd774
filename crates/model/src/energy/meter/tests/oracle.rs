//! An independent check with the whole history at hand: it looks up the power of every millisecond
//! and sums it. All times are whole milliseconds, so the sum is exact.

use proptest::prelude::*;

use super::{ms, simple_radio};
use crate::energy::meter::{DeviceMeter, EnergyReading};
use crate::energy::{DeviceEnergy, InterfaceModel, RrcModel, Stage, SunkWhile, Traffic};
use crate::result::EnergySplit;
use crate::units::{JoulesPerBit, Nanos, Watts};

/// An action; each has its own millisecond.
#[derive(Clone, Copy, Debug)]
enum Action {
    Packet {
        interface: usize,
        bytes: u32,
        direction: Traffic,
        air: u64,
    },
    Open {
        interface: usize,
    },
    Close {
        interface: usize,
    },
    Snapshot,
    BeginMeasurement,
}

type History = Vec<(u64, Action)>;

fn models() -> Vec<InterfaceModel> {
    let stage = |power, millis| Stage {
        power: Watts(power),
        duration: ms(millis),
    };
    let linear = |sunk, sunk_while| InterfaceModel::Linear {
        down: JoulesPerBit(3e-7),
        up: JoulesPerBit(5e-7),
        sunk: Watts(sunk),
        sunk_while,
    };
    // The first real stage of the tail is shorter than the inactivity, and draws more power than a
    // transfer.
    let odd_radio = InterfaceModel::Rrc(RrcModel {
        down: JoulesPerBit(2e-7),
        up: JoulesPerBit(4e-7),
        active: Watts(0.9),
        inactivity: ms(30),
        promotion: stage(0.4, 25),
        tail: vec![stage(0.0, 0), stage(1.1, 12), stage(0.2, 70)],
        idle: Watts(0.05),
    });
    let slotted = InterfaceModel::Slotted {
        transfer: JoulesPerBit(6e-7),
        idle: Watts(0.7),
        slot: ms(40),
    };
    vec![
        simple_radio(),
        odd_radio,
        linear(0.6, SunkWhile::Open),
        linear(0.3, SunkWhile::Always),
        slotted,
    ]
}

/// The states of a radio, computed from the times of its packets.
struct Radio<'a> {
    model: &'a RrcModel,
    tail: Vec<(u64, f64)>,
    /// A gap this long ends ACTIVE.
    limit: u64,
    promotions: Vec<(u64, u64)>,
    /// Times at which packets passed, after any promotion, and the end of their transmission.
    passed: Vec<(u64, u64)>,
}

fn millis(time: Nanos) -> u64 {
    time.0 / 1_000_000
}

impl<'a> Radio<'a> {
    fn new(model: &'a RrcModel, packets: impl Iterator<Item = (u64, Traffic, u64)>) -> Self {
        let tail: Vec<_> = model
            .tail
            .iter()
            .map(|s| (millis(s.duration), s.power.0))
            .collect();
        let whole_tail: u64 = tail.iter().map(|(duration, _)| duration).sum();
        let first_stage = tail
            .iter()
            .map(|(duration, _)| *duration)
            .find(|duration| *duration > 0);
        let limit = millis(model.inactivity).min(first_stage.expect("radios here have a tail"));
        let (mut promotions, mut passed) = (Vec::new(), Vec::<(u64, u64)>::new());
        // A received packet's transmission lies in the past. If the gap before it is charged
        // already, it counts that much later.
        let (mut shift, mut began) = (0, 0);
        for (packet, direction, air) in packets {
            let (received, sent) = if direction == Traffic::Down {
                (air, 0)
            } else {
                (0, air)
            };
            match passed.last_mut() {
                // Waits for the promotion.
                Some((ready, until)) if packet < *ready => {
                    *until = (*until).max(*ready + received).max(packet + sent);
                }
                Some(&mut (_, until)) if packet < until + whole_tail => {
                    if packet >= until + limit {
                        (shift, began) = (0, packet);
                    }
                    let start = packet.saturating_sub(received).min(began);
                    shift += began - start;
                    began = start;
                    passed.push((packet, until.max(packet + shift + sent)));
                }
                _ => {
                    let ready = packet + millis(model.promotion.duration);
                    promotions.push((packet, ready));
                    passed.push((ready, (ready + received).max(packet + sent)));
                    let unforetold = (ready + received - packet, packet.saturating_sub(received));
                    (shift, began) = if received > 0 { unforetold } else { (0, 0) };
                }
            }
        }
        Radio {
            model,
            tail,
            limit,
            promotions,
            passed,
        }
    }

    /// Power in the millisecond from `t` (sunk, tail), and whether the radio is active. `end`, if
    /// any, is the end of the observation, which closes the last gap.
    fn at(&self, t: u64, end: Option<u64>) -> (f64, f64, bool) {
        if self
            .promotions
            .iter()
            .any(|(from, ready)| (*from..*ready).contains(&t))
        {
            return (0.0, self.model.promotion.power.0, true);
        }
        let Some((_, until)) = self.passed.iter().rev().find(|(passed, _)| *passed <= t) else {
            return (self.model.idle.0, 0.0, false);
        };
        let next = self
            .passed
            .iter()
            .find(|(passed, _)| *passed > t)
            .map(|(passed, _)| *passed);
        if t < *until
            || next
                .or(end)
                .is_some_and(|next| next.saturating_sub(*until) < self.limit)
        {
            return (self.model.active.0, 0.0, true);
        }
        let mut age = t - until;
        for (duration, power) in &self.tail {
            if age < *duration {
                return (0.0, *power, true);
            }
            age -= duration;
        }
        (self.model.idle.0, 0.0, false)
    }
}

/// Power in the millisecond from `t` (sunk, tail), and whether the interface is active.
fn power_at(
    model: &InterfaceModel,
    index: usize,
    history: &History,
    t: u64,
    end: u64,
    tails: bool,
) -> (f64, f64, bool) {
    let own =
        |action: &Action| matches!(action, Action::Packet { interface, .. } if *interface == index);
    let packets = || {
        history
            .iter()
            .filter(|(_, action)| own(action))
            .map(|(at, action)| match action {
                Action::Packet { direction, air, .. } => (*at, *direction, *air),
                _ => unreachable!("only packets are left"),
            })
    };
    match model {
        InterfaceModel::Rrc(rrc) => {
            let (sunk, tail, active) = Radio::new(rrc, packets()).at(t, (!tails).then_some(end));
            (if t < end || active { sunk } else { 0.0 }, tail, active)
        }
        _ if t >= end => (0.0, 0.0, false),
        InterfaceModel::Linear {
            sunk,
            sunk_while: SunkWhile::Always,
            ..
        } => (sunk.0, 0.0, true),
        InterfaceModel::Linear { sunk, .. } => {
            let before = history.iter().filter(|(at, _)| *at <= t);
            let open: i32 = before
                .map(|(_, action)| match action {
                    Action::Open { interface } if *interface == index => 1,
                    Action::Close { interface } if *interface == index => -1,
                    _ => 0,
                })
                .sum();
            if open > 0 {
                (sunk.0, 0.0, true)
            } else {
                (0.0, 0.0, false)
            }
        }
        InterfaceModel::Slotted { idle, slot, .. } => {
            let slot_of = |at: u64| at / millis(*slot);
            let within = |(at, _, air): (u64, _, u64)| {
                (slot_of(at)..=slot_of((at + air).max(at + 1) - 1)).contains(&slot_of(t))
            };
            let used = packets().any(|packet| within(packet) && packet.0 < end);
            let active = packets().any(|packet| within(packet) && packet.0 <= t);
            (if used { 0.0 } else { idle.0 }, 0.0, active)
        }
    }
}

/// Sums power over all milliseconds from the start of the measurement.
fn integrate(
    models: &[InterfaceModel],
    device: &DeviceEnergy,
    history: &History,
    end: u64,
    tails: bool,
) -> EnergyReading {
    const TAIL_HORIZON_MS: u64 = 4_000;
    let begins = history
        .iter()
        .filter(|(_, action)| matches!(action, Action::BeginMeasurement));
    let begin = begins.map(|(at, _)| *at).next_back().unwrap_or(0);
    let mut reading = EnergyReading {
        interfaces: vec![EnergySplit::default(); models.len()],
        ..Default::default()
    };
    for t in begin..end + if tails { TAIL_HORIZON_MS } else { 0 } {
        let powers: Vec<_> = models
            .iter()
            .enumerate()
            .map(|(i, model)| power_at(model, i, history, t, end, tails))
            .collect();
        let active = powers.iter().filter(|(_, _, active)| *active).count();
        let factor = if active >= 2 {
            device.sharing_factor
        } else {
            1.0
        };
        if active >= 1 {
            reading.base_j += device.shared_base.0 * 1e-3;
        }
        for (split, (sunk, tail, _)) in reading.interfaces.iter_mut().zip(powers) {
            split.sunk_j += factor * sunk * 1e-3;
            split.tail_j += factor * tail * 1e-3;
        }
        for (at, action) in history {
            if let Action::Packet {
                interface,
                bytes,
                direction,
                ..
            } = action
                && *at == t
            {
                let joules = f64::from(*bytes) * 8.0 * models[*interface].slope(*direction).0;
                reading.interfaces[*interface].transfer_j += factor * joules;
            }
        }
    }
    reading
}

/// Plays the history. Every part of every snapshot must be at least that of the previous snapshot.
fn play(
    models: &[InterfaceModel],
    device: &DeviceEnergy,
    history: &History,
) -> (DeviceMeter, EnergyReading) {
    let mut meter = DeviceMeter::new(models, device, Nanos::ZERO);
    let mut before = meter.snapshot(Nanos::ZERO);
    for (at, action) in history {
        let now = ms(*at);
        match *action {
            Action::Packet {
                interface,
                bytes,
                direction,
                air,
            } => {
                assert!(meter.on_packet(interface, now, bytes, direction, ms(air)) >= now);
            }
            Action::Open { interface } => meter.open(interface, now),
            Action::Close { interface } => meter.close(interface, now),
            Action::BeginMeasurement => {
                meter.begin_measurement(now);
                before = meter.snapshot(now);
                assert_eq!(before.total_j(), 0.0);
            }
            Action::Snapshot => {
                let snapshot = meter.snapshot(now);
                assert_never_less(&snapshot, &before);
                before = snapshot;
            }
        }
    }
    (meter, before)
}

fn assert_never_less(later: &EnergyReading, earlier: &EnergyReading) {
    assert!(later.base_j >= earlier.base_j);
    for (later, earlier) in later.interfaces.iter().zip(&earlier.interfaces) {
        assert!(
            later.sunk_j >= earlier.sunk_j,
            "{later:?} after {earlier:?}"
        );
        assert!(
            later.transfer_j >= earlier.transfer_j,
            "{later:?} after {earlier:?}"
        );
        assert!(
            later.tail_j >= earlier.tail_j,
            "{later:?} after {earlier:?}"
        );
    }
}

fn assert_same(meter: &EnergyReading, oracle: &EnergyReading) {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
    assert!(
        close(meter.base_j, oracle.base_j),
        "base: {} against {}",
        meter.base_j,
        oracle.base_j
    );
    for (i, (a, b)) in meter.interfaces.iter().zip(&oracle.interfaces).enumerate() {
        let same = close(a.sunk_j, b.sunk_j)
            && close(a.transfer_j, b.transfer_j)
            && close(a.tail_j, b.tail_j);
        assert!(same, "interface {i}: meter {a:?}, oracle {b:?}");
    }
    assert!(close(meter.total_j(), oracle.total_j()));
}

/// Up to 40 actions. Only open subflows are closed, and the measurement starts at most a few times.
fn histories(interfaces: usize) -> impl Strategy<Value = (History, u64)> {
    let direction = prop_oneof![Just(Traffic::Down), Just(Traffic::Up)];
    // Links are mostly fast.
    let air = prop_oneof![2 => Just(0u64), 1 => 1..60u64, 1 => 1..600u64];
    let action = (0..interfaces, 0..20u32, 0..1500u32, direction, air).prop_map(
        |(interface, kind, bytes, direction, air)| match kind {
            0..=12 => Action::Packet {
                interface,
                bytes,
                direction,
                air,
            },
            13..=14 => Action::Open { interface },
            15..=16 => Action::Close { interface },
            17..=18 => Action::Snapshot,
            _ => Action::BeginMeasurement,
        },
    );
    // Gaps are mostly within a transfer, sometimes within a tail, rarely longer.
    let gap = prop_oneof![6 => 1..40u64, 2 => 1..400u64, 1 => 1..3_500u64];
    let steps = prop::collection::vec((gap, action), 0..40);
    (steps, 1..300u64).prop_map(move |(steps, rest)| {
        let (mut now, mut open, mut history) = (0, vec![0; interfaces], History::new());
        for (gap, action) in steps {
            now += gap;
            match action {
                Action::Open { interface } => open[interface] += 1,
                Action::Close { interface } if open[interface] > 0 => open[interface] -= 1,
                Action::Close { .. } => continue,
                Action::Packet { .. } | Action::Snapshot | Action::BeginMeasurement => {}
            }
            history.push((now, action));
        }
        (history, now + rest)
    })
}

fn devices() -> impl Strategy<Value = DeviceEnergy> {
    let factor = prop_oneof![Just(1.0), Just(0.8), 0.1..1.0];
    let base = prop_oneof![Just(0.0), Just(0.5)];
    (factor, base).prop_map(|(sharing_factor, base)| DeviceEnergy {
        shared_base: Watts(base),
        sharing_factor,
        host: None,
    })
}

/// Two or three of the models.
fn choices() -> impl Strategy<Value = Vec<InterfaceModel>> {
    prop::sample::subsequence(models(), 2..=3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_meter_agrees_with_an_eager_integration(
        (models, (history, end), device) in choices()
            .prop_flat_map(|models| (Just(models.clone()), histories(models.len()), devices())),
    ) {
        let (meter, before) = play(&models, &device, &history);
        let cut = meter.clone().finish(ms(end));
        assert_same(&cut, &integrate(&models, &device, &history, end, false));
        assert_never_less(&cut, &before);
        let with_tails = meter.finish_with_tails(ms(end));
        assert_same(&with_tails, &integrate(&models, &device, &history, end, true));
        prop_assert!(with_tails.interfaces.iter().all(|split| split.total_j() >= 0.0));
    }

    /// Without sharing, interfaces are independent.
    #[test]
    fn additive_devices_are_the_sum_of_their_interfaces(
        (models, (history, end)) in choices()
            .prop_flat_map(|models| (Just(models.clone()), histories(models.len()))),
    ) {
        let device = DeviceEnergy::additive();
        let together = play(&models, &device, &history).0.finish(ms(end));
        for (i, model) in models.iter().enumerate() {
            let own = history.iter().filter_map(|(at, action)| {
                let mine = match *action {
                    Action::Packet { interface, bytes, direction, air } if interface == i => {
                        Action::Packet { interface: 0, bytes, direction, air }
                    }
                    Action::Open { interface } if interface == i => Action::Open { interface: 0 },
                    Action::Close { interface } if interface == i => Action::Close { interface: 0 },
                    Action::BeginMeasurement => Action::BeginMeasurement,
                    _ => return None,
                };
                Some((*at, mine))
            });
            let alone = play(std::slice::from_ref(model), &device, &own.collect()).0.finish(ms(end));
            prop_assert_eq!(alone.interfaces[0], together.interfaces[i]);
        }
    }
}
