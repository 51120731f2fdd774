//! A shared channel compared with Bianchi's fixed point and closed forms, and its properties under
//! any load.

use std::collections::VecDeque;

use joulepath_link::csma::Channel;
use joulepath_model::network::{ChannelSpec, ChannelTiming};
use joulepath_model::units::{BitRate, Nanos, Probability};
use proptest::prelude::*;

fn spec(preset: &str, rate_bps: u64) -> ChannelSpec {
    ChannelSpec {
        name: "under test".into(),
        rate: BitRate::from_bps(rate_bps),
        timing: ChannelTiming::preset(preset).unwrap(),
        queue: 4,
        retry_limit: u32::MAX,
        frame_error: Probability::new(0.0).unwrap(),
    }
}

/// Bianchi's own case: table II, 1 Mbit/s, payload of 8184 bits.
fn fhss() -> (ChannelSpec, u32) {
    (spec("bianchi2000-fhss", 1_000_000), 1023)
}

fn dsss() -> (ChannelSpec, u32) {
    (spec("802.11b", 11_000_000), 1500)
}

fn ofdm() -> (ChannelSpec, u32) {
    (spec("802.11g", 54_000_000), 1500)
}

/// Payload per second, and share of collided transmissions, of `stations` that always have a frame,
/// over this many deliveries.
fn saturated(spec: &ChannelSpec, size: u32, stations: usize, deliveries: u32) -> (f64, f64) {
    let mut channel = Channel::new(spec, stations, 1, 0);
    for station in 0..stations {
        assert!(
            channel.offer(Nanos::ZERO, station, size) && channel.offer(Nanos::ZERO, station, size)
        );
    }
    let (mut now, mut arrived) = (Nanos::ZERO, 0);
    while arrived < deliveries {
        now = channel.next_end().expect("every station has a frame");
        if let Some(arrival) = channel.end() {
            arrived += 1;
            assert!(channel.offer(now, arrival.station, size));
        }
    }
    let counters = channel.counters();
    let bps = f64::from(deliveries) * f64::from(size) * 8.0 / now.as_secs_f64();
    (
        bps,
        counters.collided as f64 / counters.transmissions as f64,
    )
}

/// Saturation throughput, bit/s, and collision probability (Bianchi, IEEE JSAC 18(3), 2000, eqs 7,
/// 9, 13, 14), by bisection: eq. 9 increases in τ, the inverse of eq. 7 decreases.
fn bianchi(spec: &ChannelSpec, size: u32, stations: u32) -> (f64, f64) {
    let timing = &spec.timing;
    let window = f64::from(timing.cw_min + 1);
    let stages = (f64::from(timing.cw_max + 1) / window).log2();
    let others = f64::from(stations - 1);
    let tau_of = |p: f64| {
        2.0 * (1.0 - 2.0 * p)
            / ((1.0 - 2.0 * p) * (window + 1.0) + p * window * (1.0 - (2.0 * p).powf(stages)))
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let p: f64 = (low + high) / 2.0 + 1e-12;
        let implied = 1.0 - (1.0 - tau_of(p)).powf(others);
        if implied > p { low = p } else { high = p }
    }
    let (p, tau) = (low, tau_of(low));
    let some = 1.0 - (1.0 - tau).powf(f64::from(stations));
    let success = f64::from(stations) * tau * (1.0 - tau).powf(others) / some;
    let difs = timing.difs.as_secs_f64();
    let air = spec.airtime(size).as_secs_f64();
    let reply = (timing.sifs.0 + timing.ack.0 + timing.propagation.0) as f64 / 1e9;
    let (good, bad) = (air + reply + difs, air + timing.unread.as_secs_f64() + difs);
    let mean_slot =
        (1.0 - some) * timing.slot.as_secs_f64() + some * (success * good + (1.0 - success) * bad);
    (some * success * f64::from(size) * 8.0 / mean_slot, p)
}

/// Bianchi's counters run during a busy slot; those of the standard do not. This makes a few
/// percent with few stations.
#[test]
fn saturation_throughput_matches_bianchi() {
    for (name, (spec, size)) in [
        ("Bianchi's FHSS", fhss()),
        ("802.11b, 11 Mbit/s", dsss()),
        ("802.11g, 54 Mbit/s", ofdm()),
    ] {
        for stations in [2, 5, 10, 20, 50] {
            let (bps, collided) = saturated(&spec, size, stations as usize, 100_000);
            let (expected_bps, expected) = bianchi(&spec, size, stations);
            let deviation = bps / expected_bps - 1.0;
            println!(
                "{name}, {stations} stations: {:.4} of the rate, Bianchi {:.4}, {:+.2} %; \
                 collided {collided:.4}, Bianchi {expected:.4}",
                bps / spec.rate.bps() as f64,
                expected_bps / spec.rate.bps() as f64,
                deviation * 100.0,
            );
            assert!(
                deviation.abs() < 0.03,
                "{name}, {stations}: {bps} against {expected_bps}"
            );
            assert!(
                (collided - expected).abs() < 0.03,
                "{name}, {stations}: {collided} against {expected}"
            );
        }
    }
}

/// A single station never collides. A frame takes DIFS, CWmin/2 slots on average, the frame, SIFS
/// and the ACK.
#[test]
fn one_station_takes_the_sum_of_the_intervals() {
    for (spec, size) in [fhss(), dsss(), ofdm()] {
        let timing = &spec.timing;
        let backoff_s = f64::from(timing.cw_min) / 2.0 * timing.slot.as_secs_f64();
        let rest = timing.difs.0
            + spec.airtime(size).0
            + timing.sifs.0
            + timing.ack.0
            + timing.propagation.0;
        let expected = f64::from(size) * 8.0 / (rest as f64 / 1e9 + backoff_s);
        let (bps, collided) = saturated(&spec, size, 1, 100_000);
        assert!(
            (bps / expected - 1.0).abs() < 0.002,
            "{bps} against {expected}"
        );
        assert_eq!(collided, 0.0);
    }
}

/// 1500 B at 11 Mbit/s: 192 µs + 1536 × 8/11 µs + 1 µs = 1310.091 µs. The channel was idle, so
/// there is no backoff.
#[test]
fn a_frame_that_finds_the_channel_idle_is_sent_at_once() {
    let (spec, size) = dsss();
    let mut channel = Channel::new(&spec, 2, 1, 0);
    assert!(channel.offer(Nanos::from_millis(7), 1, size));
    assert_eq!(channel.next_end(), Some(Nanos(7_000_000 + 1_310_091)));
    assert_eq!(channel.end().map(|arrival| arrival.station), Some(1));
    assert_eq!(
        (channel.next_end(), channel.counters().access_ns),
        (None, 0)
    );
}

/// The other station's frame arrives during the first transmission: it waits for the ACK, DIFS and
/// 0 to 31 slots.
#[test]
fn a_frame_that_finds_the_channel_busy_backs_off() {
    let (spec, size) = dsss();
    let mut slots = vec![];
    for seed in 0..200 {
        let mut channel = Channel::new(&spec, 2, seed, 0);
        channel.offer(Nanos::ZERO, 0, size);
        channel.offer(Nanos(500_000), 1, size);
        assert_eq!(channel.end().map(|arrival| arrival.station), Some(0));
        let first_ns = 1_310_091 + 10_000 + 304_000 + 1_000 + 50_000 + 1_310_091;
        let late_ns = channel.next_end().unwrap().0 - first_ns;
        assert_eq!(late_ns % 20_000, 0);
        slots.push(late_ns / 20_000);
    }
    let mean = slots.iter().sum::<u64>() as f64 / 200.0;
    assert!(
        slots.iter().all(|&slot| slot <= 31) && (13.0..18.0).contains(&mean),
        "{mean}"
    );
}

/// Losses are independent: of 20 000 frames with three tries at 50 %, an eighth is given up.
#[test]
fn a_frame_is_given_up_after_its_last_retry() {
    let (mut spec, size) = dsss();
    spec.frame_error = Probability::new(0.5).unwrap();
    spec.retry_limit = 3;
    let mut channel = Channel::new(&spec, 1, 1, 0);
    let mut now = Nanos::ZERO;
    for _ in 0..20_000 {
        assert!(channel.offer(now, 0, size));
        while let Some(end) = channel.next_end() {
            now = end;
            channel.end();
        }
    }
    let counters = channel.counters();
    assert_eq!(counters.delivered + counters.given_up, 20_000);
    assert!((2350..2650).contains(&counters.given_up), "{counters:?}");
}

#[test]
fn a_full_station_refuses_frames() {
    let (spec, size) = dsss();
    let mut channel = Channel::new(&spec, 2, 1, 0);
    assert!((0..4).all(|_| channel.offer(Nanos::ZERO, 0, size)));
    assert!(!channel.offer(Nanos::ZERO, 0, size) && channel.offer(Nanos::ZERO, 1, size));
    assert_eq!(
        (
            channel.queued(0),
            channel.queued(1),
            channel.counters().queue_drops
        ),
        (4, 1, 1)
    );
}

proptest! {
    /// For any arrivals, frames are conserved, each station sends in order, and a delivery and its
    /// ACK have the channel to themselves.
    #[test]
    fn frames_are_conserved_and_never_overlap_under_any_load(
        offers in prop::collection::vec((0u64..6_000_000, 0usize..5, 1u32..1600), 1..300),
        retry_limit in 1u32..8,
        error in 0.0..0.6f64,
        seed in any::<u64>(),
    ) {
        let mut spec = dsss().0;
        spec.retry_limit = retry_limit;
        spec.frame_error = Probability::new(error).unwrap();
        let mut channel = Channel::new(&spec, 5, seed, 3);
        let mut queues: Vec<VecDeque<u32>> = vec![VecDeque::new(); 5];
        let (mut now, mut free_ns) = (0, 0);
        let (mut accepted, mut refused, mut out) = (0, 0, 0);
        let timing = spec.timing;
        let mut step = |channel: &mut Channel, queues: &mut Vec<VecDeque<u32>>, at: Nanos| {
            if let Some(arrival) = channel.end() {
                let start_ns = at.0 - spec.airtime(arrival.size).0;
                assert!(start_ns >= free_ns, "two transmissions overlap");
                free_ns = at.0 + timing.sifs.0 + timing.ack.0 + timing.difs.0;
                assert_eq!(queues[arrival.station].pop_front(), Some(arrival.size));
                out += 1;
            }
            for &station in channel.given_up() {
                assert!(queues[station].pop_front().is_some());
                out += 1;
            }
        };
        for (gap, station, size) in offers {
            now += gap;
            while let Some(end) = channel.next_end().filter(|end| end.0 <= now) {
                step(&mut channel, &mut queues, end);
            }
            if channel.offer(Nanos(now), station, size) {
                queues[station].push_back(size);
                accepted += 1;
            } else {
                refused += 1;
            }
        }
        while let Some(end) = channel.next_end() {
            step(&mut channel, &mut queues, end);
        }
        prop_assert!(queues.iter().all(VecDeque::is_empty));
        prop_assert_eq!(accepted, out);
        prop_assert_eq!(channel.counters().queue_drops, refused);
        prop_assert_eq!(channel.counters().delivered + channel.counters().given_up, accepted);
    }
}
