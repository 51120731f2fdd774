//! Controllers that own their window: numbers worked by hand, behaviour on a path over time, and
//! random memory.

use joulepath_controllers::{
    AckFlags, Area, CWND_MAX, Capability, Connection, Controller, Event, Subflow,
};
use proptest::prelude::*;

use crate::pipe::{MSS, Pipe};

fn controller(name: &str) -> Controller {
    Controller::by_name(name).unwrap()
}

const SECOND_US: u64 = 1_000_000;
/// 1000 packets/s and 50 ms: a BDP of 50 packets.
const RATE: u64 = 1_000;
const RTT_US: u64 = 50_000;

/// The same path with a queue of two BDP.
fn pipe(name: &str) -> Pipe {
    Pipe::new(controller(name), RATE, RTT_US, 100)
}

/// Packets/s delivered from `from_s` to `to_s`, and their mean RTT, µs.
fn steady(pipe: &mut Pipe, from_s: u64, to_s: u64) -> (f64, f64) {
    pipe.run(from_s * SECOND_US, |_| {});
    let before = (pipe.delivered(), pipe.rtt_sum_us);
    pipe.run(to_s * SECOND_US, |_| {});
    let packets = f64::from(pipe.delivered() - before.0);
    (
        packets / (to_s - from_s) as f64,
        (pipe.rtt_sum_us - before.1) as f64 / packets,
    )
}

#[track_caller]
fn assert_between(what: &str, value: f64, low: f64, high: f64) {
    assert!(
        (low..=high).contains(&value),
        "{what}: {value} is not between {low} and {high}"
    );
}

/// A rate of 200 packets/s is 3355 in Q24 packets/µs.
const RESOLUTION: f64 = 1.0 / 3355.0;

/// One ACK of a packet with RTT 50 ms: since its departure 50 packets arrived at 1000 packets/s.
fn sample(total_delivered: u32, prior_delivered: u32) -> Event {
    Event {
        acked: 1,
        rtt_us: 50_000,
        flags: AckFlags::CWND_LIMITED,
        prior_in_flight: 51,
        in_flight: 50,
        mss: MSS,
        total_delivered,
        prior_delivered,
        delivered: 50,
        interval_us: 50_000,
        ..Event::default()
    }
}

/// A started subflow with a window of 10 packets and an RTT of 50 ms.
fn started(controller: Controller) -> (Connection, Area) {
    let mut connection = Connection::new(1);
    let flags = Subflow::ESTABLISHED;
    connection.subflows[0] = Subflow {
        cwnd: 10,
        srtt_us: 50_000,
        flags,
        ..Subflow::default()
    };
    controller.init(&mut connection, 0);
    let mut area = Area::default();
    let event = Event {
        flags: AckFlags::STARTS,
        mss: MSS,
        ..Event::default()
    };
    controller.control(&mut connection, 0, &event, &mut area);
    (connection, area)
}

/// Window, packets, and pacing rate, bytes/s, after the start and after each of `acks`.
fn worked(name: &str, acks: &[Event]) -> Vec<(u32, f64)> {
    let controller = controller(name);
    let (mut connection, mut area) = started(controller);
    let mut seen = Vec::new();
    let mut note = |connection: &Connection| {
        let pacing = controller
            .pacing_rate_bytes_per_s(connection, 0)
            .unwrap_or(0);
        seen.push((connection.subflows[0].cwnd, pacing as f64));
    };
    note(&connection);
    for event in acks {
        connection.now_us += 1_000;
        controller.control(&mut connection, 0, event, &mut area);
        note(&connection);
    }
    seen
}

#[track_caller]
fn assert_worked(name: &str, acks: &[Event], want: &[(u32, f64)]) {
    let got = worked(name, acks);
    assert_eq!(got.len(), want.len());
    for (k, (&(cwnd, pacing), &(want_cwnd, want_pacing))) in got.iter().zip(want).enumerate() {
        assert_eq!(cwnd, want_cwnd, "{name}, step {k}: window");
        assert!(
            (pacing / want_pacing - 1.0).abs() < RESOLUTION,
            "{name}, step {k}: {pacing}, not {want_pacing}"
        );
    }
}

/// 10 packets in 50 ms are 200 000 bytes/s; times 739/256 = 2.88672 and 0.99: 571 570. With a
/// sample of 1000 packets/s the first ACK paces at 1 000 000 · 2.88672 · 0.99 = 2 857 852; the
/// window grows by each ACK.
#[test]
fn bbr1_computes_the_worked_numbers() {
    let ack = sample(51, 1);
    assert_worked(
        "bbr1",
        &[ack, ack],
        &[(10, 571_570.3), (11, 2_857_851.6), (12, 2_857_851.6)],
    );
    // a rate that does not grow for 3 rounds after the first: full. 1000 · 50 ms = 50 packets are
    // in flight, so DRAIN ends at once; the target window is 2 · 50 packets and 3 bursts
    let rounds: Vec<Event> = (1..=4)
        .map(|round| sample(51 * round, 51 * (round - 1)))
        .collect();
    let (cwnd, pacing) = *worked("bbr1", &rounds).last().unwrap();
    assert_eq!(cwnd, 14, "one packet per ACK");
    let cycle = [1.25, 0.75, 1.0].map(|gain| gain * 990_000.0);
    assert!(
        cycle
            .iter()
            .any(|rate| (pacing / rate - 1.0).abs() < RESOLUTION),
        "{pacing} is not one of {cycle:?}"
    );
}

/// 200 000 bytes/s · 709/256 = 2.76953 · 0.99 = 548 367; then 1 000 000 · 2.76953 · 0.99.
#[test]
fn bbr3_computes_the_worked_numbers() {
    let ack = sample(51, 1);
    assert_worked(
        "bbr3",
        &[ack, ack],
        &[(10, 548_367.2), (11, 2_741_835.9), (12, 2_741_835.9)],
    );
    let rounds: Vec<Event> = (1..=4)
        .map(|round| sample(51 * round, 51 * (round - 1)))
        .collect();
    let (_, pacing) = *worked("bbr3", &rounds).last().unwrap();
    // full and drained, so in DOWN: 230/256 of the rate; then in CRUISE at once, as 50 are in
    // flight
    let wanted = [230.0 / 256.0, 1.0].map(|gain| gain * 990_000.0);
    assert!(
        wanted
            .iter()
            .any(|rate| (pacing / rate - 1.0).abs() < RESOLUTION),
        "{pacing} is not one of {wanted:?}"
    );
}

/// No queue: the target rate is unbounded, and slow start adds one packet per ACK. The pacing rate
/// is 2 w/RTT: 2 · 11 · 1000 bytes / 50 ms = 440 000 bytes/s.
///
/// With an RTT of 100 ms after the standing RTT of 50 ms has expired (25 ms are half of the
/// smoothed RTT), d = 50 ms: the rate exceeds 1/(δ d) = 40 packets/s once w > 4. Slow start ends,
/// and an ACK removes v/(δ w) = 2/12 packet.
#[test]
fn copa_computes_the_worked_numbers() {
    let ack = sample(51, 1);
    assert_worked(
        "copa",
        &[ack, ack],
        &[(10, 400_000.0), (11, 440_000.0), (12, 480_000.0)],
    );
    let copa = controller("copa");
    let (mut connection, mut area) = started(copa);
    for event in [ack, ack] {
        copa.control(&mut connection, 0, &event, &mut area);
    }
    let mut window = 12.0;
    for _ in 0..9 {
        connection.now_us += 30_000;
        copa.control(
            &mut connection,
            0,
            &Event {
                rtt_us: 100_000,
                ..sample(51, 1)
            },
            &mut area,
        );
        window -= 2.0 / f64::floor(window);
    }
    // 12 − 2/12 − 8 · 2/11 = 10.4: v is 1 for three rounds, and each ACK above is a round of its
    // own
    assert_between(
        "window",
        f64::from(connection.subflows[0].cwnd),
        8.0,
        f64::floor(window),
    );
}

/// 10 packets of 1000 bytes in 50 ms: 1600 kbit/s, 200 000 bytes/s; window: 2 · 200 000 bytes/s ·
/// 50 ms = 20 packets, plus 10 spare ones.
#[test]
fn vivace_computes_the_worked_numbers() {
    assert_worked(
        "vivace",
        &[sample(51, 1)],
        &[(30, 200_000.0), (30, 200_000.0)],
    );
}

#[test]
fn each_owner_alone_fills_a_path_and_keeps_the_queue_short() {
    // 1000 packets/s; min RTT 50 ms plus the packet's own 1 ms. BBRv1 and v3: at most 1 BDP queued;
    // Copa: 2.5/δ = 5 packets at the top of its oscillation (section 3 of the paper); Vivace: an
    // RTT slope stops it.
    for (name, least, longest_us) in [
        ("bbr1", 0.97, 76_000.0),
        ("bbr3", 0.95, 76_000.0),
        ("copa", 0.97, 57_000.0),
        ("vivace", 0.88, 76_000.0),
    ] {
        let (rate, rtt_us) = steady(&mut pipe(name), 10, 60);
        assert_between(
            &format!("{name}: rate"),
            rate,
            least * RATE as f64,
            1.001 * RATE as f64,
        );
        assert_between(&format!("{name}: RTT"), rtt_us, 51_000.0, longest_us);
    }
}

/// 5/4, 3/4 and six times 1, each for one RTT of 51 ms or more (draft, section 4.3.4.3).
#[test]
fn bbr1_has_eight_phases() {
    let mut phases: Vec<(u64, u64)> = Vec::new();
    let mut pipe = pipe("bbr1");
    pipe.run(4 * SECOND_US, |_| {});
    pipe.run(8 * SECOND_US, |pipe| {
        let pace = pipe.pacing_bytes_per_s();
        // the measured rate itself varies by a packet or two of 51
        if phases
            .last()
            .is_none_or(|&(_, last)| pace.abs_diff(last) > 100_000)
        {
            phases.push((pipe.connection.now_us, pace));
        }
    });
    let ups: Vec<u64> = phases
        .iter()
        .filter(|phase| phase.1 > 1_150_000)
        .map(|phase| phase.0)
        .collect();
    let downs = phases.iter().filter(|phase| phase.1 < 850_000).count();
    assert!(
        ups.len() >= 7 && downs.abs_diff(ups.len()) <= 1,
        "{} ups, {downs} downs",
        ups.len()
    );
    for pair in ups.windows(2) {
        assert_between(
            "a cycle, RTTs",
            (pair[1] - pair[0]) as f64 / 51_000.0,
            6.5,
            10.5,
        );
    }
}

/// A window of 4 packets for 200 ms and a round, every 10 s (draft, section 4.3.5).
#[test]
fn bbr1_probes_the_min_rtt_every_ten_seconds() {
    let mut starts: Vec<u64> = Vec::new();
    let mut least = u32::MAX;
    let mut pipe = pipe("bbr1");
    pipe.run(3 * SECOND_US, |_| {});
    pipe.run(60 * SECOND_US, |pipe| {
        let cwnd = pipe.connection.subflows[0].cwnd;
        least = least.min(cwnd);
        if cwnd == 4
            && starts
                .last()
                .is_none_or(|&last| pipe.connection.now_us - last > SECOND_US)
        {
            starts.push(pipe.connection.now_us);
        }
    });
    assert_eq!(least, 4);
    assert_between("probes in a minute", starts.len() as f64, 4.0, 6.0);
    for pair in starts.windows(2) {
        assert_between(
            "seconds between probes",
            (pair[1] - pair[0]) as f64 / 1e6,
            9.9,
            12.5,
        );
    }
}

/// One packet in 20 is lost, far more than 2 %: BBRv3 reduces its window, BBRv1 does not.
#[test]
fn bbr3_yields_to_losses_above_two_percent_and_bbr1_does_not() {
    let of = |name: &str, every: u64| steady(&mut pipe(name).losing(every), 5, 30).0 / RATE as f64;
    assert_between("BBRv3 at 1 in 200", of("bbr3", 200), 0.5, 1.0);
    assert_between("BBRv3 at 1 in 10", of("bbr3", 10), 0.0, 0.35);
    assert_between("BBRv1 at 1 in 200", of("bbr1", 200), 0.9, 1.0);
}

/// A smaller δ makes Copa queue more: at most 2.5/δ packets (paper, section 3), so about 12 instead
/// of 5.
#[test]
fn copa_queues_by_its_delta() {
    let queue = |delta: &str| {
        let mut pipe = pipe("copa").set("delta", delta).set("competitive", "off");
        steady(&mut pipe, 10, 30).1 / 1_000.0 - 51.0
    };
    let (short, long) = (queue("0.5"), queue("0.2"));
    assert_between("packets queued at 0.5", short, 0.5, 5.0);
    assert_between(
        "packets queued at 0.2 and 0.5, ratio",
        long / short,
        1.7,
        3.5,
    );
}

/// γ > 0 while L < 0.9 r^−0.1/c. At 160 Mbit/s, r^−0.1 = 0.6: 72 % with c = 0.75, 0.5 % with c =
/// 100. An interval has 1000 packets, so a loss of 5 % measures 5 ± 0.7 %; a slow path would
/// measure noise.
#[test]
fn vivace_tolerates_the_losses_that_its_parameter_allows() {
    let of = |c: &str| {
        let fast = Pipe::new(controller("vivace"), 20 * RATE, RTT_US, 2_000);
        steady(&mut fast.losing(20).set("c", c), 20, 40).0 / (20 * RATE) as f64
    };
    assert_between("5 % lost, c = 0.75", of("0.75"), 0.85, 1.0);
    assert_between("5 % lost, c = 100", of("100"), 0.0, 0.7);
}

/// Prague in congestion avoidance with a window of 53.1 packets, and what it does on an ACK 25 ms
/// later.
fn prague(srtt_us: u32) -> (Connection, impl FnMut(&mut Connection, u32, u32) -> u32) {
    let prague = controller("prague");
    let (mut connection, mut area) = started(prague);
    let mut ack = move |connection: &mut Connection, acked, marked| {
        connection.now_us += 25_000;
        connection.subflows[0].srtt_us = srtt_us;
        let event = Event {
            acked,
            marked,
            flags: AckFlags::CWND_LIMITED,
            mss: 1460,
            ..Event::default()
        };
        prague.control(connection, 0, &event, &mut area);
        connection.subflows[0].cwnd
    };
    assert_eq!(ack(&mut connection, 90, 0), 100, "slow start");
    // alpha was 1 and is 15/16: 100 (1 − 15/32)
    assert_eq!(ack(&mut connection, 1, 1), 53);
    (connection, ack)
}

/// alpha follows the marks with 1/16 per 25 ms: it is 0.941 after a marked ACK and 0.941 (15/16)²⁰ =
/// 0.259 after 20 others, so the next mark leaves 1 − 0.259/2 of 53.1 + 20/53 packets: 46.6.
#[test]
fn prague_answers_the_share_of_marks() {
    let (mut connection, mut ack) = prague(25_000);
    for _ in 0..20 {
        ack(&mut connection, 1, 0);
    }
    assert_eq!(ack(&mut connection, 1, 1), 46);
}

/// Below 25 ms it grows by (R/25 ms)² packets per RTT: at 10 ms by 0.16.
#[test]
fn prague_grows_below_25_ms_as_if_the_rtt_were_25_ms() {
    let rounds = |srtt_us| {
        let (mut connection, mut ack) = prague(srtt_us);
        (1..1000)
            .find(|_| ack(&mut connection, 50, 0) == 56)
            .unwrap()
    };
    assert_eq!((rounds(25_000), rounds(10_000)), (4, 20));
}

#[test]
fn no_parameter_of_an_owner_is_ignored() {
    let settings = [
        ("bbr1", "margin", "10"),
        ("bbr3", "loss", "0.3"),
        ("bbr3", "beta", "0.3"),
        ("bbr3", "headroom", "0.6"),
        ("copa", "delta", "0.1"),
        ("copa", "competitive", "off"),
        ("vivace", "b", "0"),
        ("vivace", "c", "0"),
        ("prague", "rtt", "200000"),
    ];
    let trace = |mut pipe: Pipe| {
        let mut windows = Vec::new();
        pipe.run(20 * SECOND_US, |pipe| {
            windows.push((pipe.connection.subflows[0].cwnd, pipe.pacing_bytes_per_s()));
        });
        windows
    };
    for (name, param, value) in settings {
        // a short queue, a loss in 150, and other flows that keep 20 ms of queue from 3 s on
        let short = || Pipe::new(controller(name), RATE, RTT_US, 30).losing(150);
        let pipe = || short().with_others(3 * SECOND_US, 20_000);
        assert!(
            trace(pipe()) != trace(pipe().set(param, value)),
            "{name} ignores {param}"
        );
    }
    for controller in Controller::all().filter(|controller| controller.has(Capability::OwnsWindow))
    {
        for param in controller.params() {
            let told = settings
                .iter()
                .any(|row| row.0 == controller.name() && row.1 == param.name());
            assert!(
                told || controller.name() == "joule",
                "{controller}: {} is untested",
                param.name()
            );
        }
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    let small = prop_oneof![0u32..100, any::<u32>()];
    (proptest::collection::vec(small, 11), 0u32..512).prop_map(|(word, flags)| Event {
        acked: word[0],
        rtt_us: word[1],
        flags: [
            AckFlags::ECE,
            AckFlags::CWND_LIMITED,
            AckFlags::ROUND_END,
            AckFlags::APP_LIMITED,
            AckFlags::STARTS,
            AckFlags::EPISODE,
            AckFlags::TIMED_OUT,
            AckFlags::RESTARTS,
            AckFlags::IN_VAIN,
        ]
        .into_iter()
        .enumerate()
        .fold(AckFlags::NONE, |all, (k, flag)| {
            all.with(flag, flags >> k & 1 == 1)
        }),
        lost: word[2],
        marked: word[3],
        prior_in_flight: word[4],
        in_flight: word[5],
        mss: word[6],
        total_delivered: word[7],
        prior_delivered: word[8],
        delivered: word[9],
        interval_us: word[10],
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any memory and any event a controller returns, and its window is in bounds. The C code
    /// traps on undefined behaviour.
    #[test]
    fn any_memory_and_any_event_give_a_window_in_bounds(
        words in any::<[u64; 16]>(),
        state in (any::<u32>(), any::<u32>(), any::<u32>(), 0u32..8),
        events in proptest::collection::vec((any_event(), 0u64..2_000_000), 1..20),
    ) {
        for controller in Controller::all().filter(|controller| controller.has(Capability::OwnsWindow)) {
            let (mut connection, _) = started(controller);
            let (cwnd, ssthresh, srtt_us, flags) = state;
            let own = connection.subflows[0].own;
            connection.subflows[0] = Subflow { cwnd, ssthresh, srtt_us, flags, own };
            let mut area = Area::of(words);
            for (event, after_us) in &events {
                connection.now_us += after_us;
                controller.control(&mut connection, 0, event, &mut area);
                let cwnd = connection.subflows[0].cwnd;
                prop_assert!((1..=CWND_MAX).contains(&cwnd), "{controller}: window {cwnd}");
                prop_assert!(connection.subflows[0].ssthresh >= 1, "{controller}");
                if let Some(shown) = controller.show(&connection, 0, area) {
                    prop_assert_eq!(shown.values.len(), controller.value_names().count());
                }
            }
        }
    }
}
