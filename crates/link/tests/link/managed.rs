//! Managed queues compared with RFC 8289, 8290, 8033 and 9332, by hand or in closed form.

use joulepath_link::{Exit, Link, Outcome};
use joulepath_model::aqm::{AqmSpec, CodelSpec, DualPi2Spec, FqCodelSpec, PieSpec};
use joulepath_model::network::{LinkSpec, QueueLimit, RateSpec};
use joulepath_model::units::{BitRate, Bytes, Nanos, Probability};

use crate::common::{ms, with_rate};

pub(crate) const CODEL: CodelSpec = CodelSpec {
    target: Nanos::from_millis(5),
    interval: Nanos::from_millis(100),
    ecn: false,
    ce_threshold: None,
};
pub(crate) const FQ: FqCodelSpec = FqCodelSpec {
    codel: CODEL,
    flows: 1024,
    quantum: Bytes(1514),
    memory_limit: Bytes(32 << 20),
    drop_batch: 64,
};
pub(crate) const PIE: PieSpec = PieSpec {
    target: Nanos::from_millis(15),
    tupdate: Nanos::from_millis(15),
    alpha: 2,
    beta: 20,
    bytemode: false,
    ecn: false,
};
pub(crate) fn dualpi2() -> AqmSpec {
    AqmSpec::DualPi2(DualPi2Spec {
        target: Nanos::from_millis(15),
        tupdate: Nanos::from_millis(16),
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        step_threshold: Nanos::from_millis(1),
        classic_protection: Probability::new(0.1).unwrap(),
    })
}
const PACKET: u32 = 1500;

/// 12 Mbit/s: a packet of 1500 B takes 1 ms.
fn managed(aqm: AqmSpec, limit: u32) -> LinkSpec {
    LinkSpec {
        aqm: Some(aqm),
        queue: QueueLimit::Packets(limit),
        ..with_rate(RateSpec::Constant(BitRate::from_bps(12_000_000)))
    }
}

/// A link and its packets that have left: flow, time of the offer, time of the report, fate.
struct Bench {
    link: Link,
    of: Vec<(u64, Nanos)>,
    now: Nanos,
    exits: Vec<(u64, Nanos, Nanos, Outcome)>,
}

impl Bench {
    fn new(spec: &LinkSpec, seed: u64) -> Self {
        Bench {
            link: Link::new(spec, seed, 0),
            of: vec![],
            now: Nanos::ZERO,
            exits: vec![],
        }
    }

    /// Takes all packets whose fate is known by `now`, each at the time at which it is due.
    fn run_to(&mut self, now: Nanos) {
        while let Some(due) = self.link.due().filter(|due| *due <= now) {
            self.now = self.now.max(due);
            while let Some(Exit { number, outcome }) = self.link.take(self.now) {
                let (flow, offered) = self.of[number as usize];
                self.exits.push((flow, offered, self.now, outcome));
            }
        }
    }

    fn offer(&mut self, now: Nanos, flow: u64, size: u32, capable: bool) {
        self.run_to(now);
        let Outcome::Held(number) = self.link.offer_of(flow, now, size, capable) else {
            panic!("a managed link keeps every packet")
        };
        if self.of.len() <= number as usize {
            self.of.resize(number as usize + 1, (0, Nanos::ZERO));
        }
        self.of[number as usize] = (flow, now);
        self.now = now;
        self.run_to(now);
    }

    fn drops(&self) -> Vec<Nanos> {
        let dropped = self
            .exits
            .iter()
            .filter(|exit| exit.3 == Outcome::QueueDrop);
        dropped.map(|exit| exit.2).collect()
    }

    fn delivered(&self, flow: u64) -> Vec<(Nanos, Nanos)> {
        let of = self.exits.iter().filter(|exit| exit.0 == flow);
        of.filter_map(|exit| match exit.3 {
            Outcome::Delivered { at, .. } => Some((exit.1, at)),
            _ => None,
        })
        .collect()
    }
}

/// Two packets per millisecond are offered and one is sent, so the queue keeps growing. The sojourn
/// time reaches the target at t ≈ 5 ms, the first drop follows one interval later, and drop n
/// follows interval/√(n − 1) after the previous drop (RFC 8289, section 3.2). Packets leave once
/// per millisecond, so each drop is at most 1 ms late.
#[test]
fn codel_drops_by_the_control_law() {
    let mut bench = Bench::new(&managed(AqmSpec::Codel(CODEL), 5000), 1);
    for t in 0..2000 {
        bench.offer(ms(t), 0, PACKET, false);
        bench.offer(ms(t), 0, PACKET, false);
    }
    let drops = bench.drops();
    let first = drops[0];
    // The sojourn time is 5 ms at 10 ms (packet 2n waits n ms); the interval ends at 110 ms.
    assert!((ms(110)..=ms(112)).contains(&first), "{first}");
    let mut due_ms = first.0 as f64 / 1e6;
    for (n, at) in drops.iter().enumerate().skip(1) {
        due_ms += 100.0 / (n as f64).sqrt();
        let late_ms = at.0 as f64 / 1e6 - due_ms;
        assert!(
            (-1e-3..=1.001).contains(&late_ms),
            "drop {n} at {at}, {late_ms} ms late"
        );
    }
    assert!(drops.len() > 80, "{}", drops.len());
}

/// With ECN, packets are marked at the same times, and none is lost.
#[test]
fn codel_marks_what_it_would_drop() {
    let marking = AqmSpec::Codel(CodelSpec { ecn: true, ..CODEL });
    let mut bench = Bench::new(&managed(marking, 5000), 1);
    let mut unable = Bench::new(&managed(marking, 5000), 1);
    for t in 0..1000 {
        for _ in 0..2 {
            bench.offer(ms(t), 0, PACKET, true);
            unable.offer(ms(t), 0, PACKET, false);
        }
    }
    let marks = bench
        .exits
        .iter()
        .filter(|exit| matches!(exit.3, Outcome::Delivered { marked: true, .. }));
    let marks = marks.count();
    assert_eq!(bench.drops().len(), 0);
    // The first mark is at 110 ms; then Σ 100 ms/√n ≈ 100 ms (2 √N − 1.46) = 890 ms gives N = 27
    // more.
    assert!((26..=29).contains(&marks), "{marks}");
    assert!(
        unable.drops().len().abs_diff(marks) <= 2,
        "{} drops, {marks} marks",
        unable.drops().len()
    );
}

/// A queue that empties within each interval is no standing queue: bursts of 50 packets every 100
/// ms, which wait up to 49 ms.
#[test]
fn codel_lets_bursts_pass() {
    let mut bench = Bench::new(&managed(AqmSpec::Codel(CODEL), 1000), 1);
    for burst in 0..50 {
        for _ in 0..50 {
            bench.offer(ms(100 * burst), 0, PACKET, false);
        }
    }
    bench.run_to(ms(6000));
    assert_eq!((bench.drops().len(), bench.exits.len()), (0, 2500));
}

#[test]
fn codel_marks_above_its_ce_threshold_and_drops_above_its_limit() {
    let spec = CodelSpec {
        ce_threshold: Some(ms(3)),
        ..CODEL
    };
    let mut bench = Bench::new(&managed(AqmSpec::Codel(spec), 10), 1);
    for _ in 0..20 {
        bench.offer(ms(0), 0, PACKET, true);
    }
    bench.run_to(ms(100));
    // One is in transmission, ten wait; the others find the queue full. Packets that wait 4 to 10
    // ms are marked.
    assert_eq!(bench.drops(), [ms(0); 9]);
    let marked = bench
        .exits
        .iter()
        .filter(|exit| matches!(exit.3, Outcome::Delivered { marked: true, .. }));
    assert_eq!(marked.count(), 7);
}

/// One flow has a backlog, one sends a packet every 20 ms. The sparse flow is always served next,
/// so it waits at most for the packet in transmission (RFC 8290, section 3).
#[test]
fn fq_codel_serves_a_sparse_flow_at_once() {
    let mut bench = Bench::new(&managed(AqmSpec::FqCodel(FQ), 10_240), 1);
    for t in 0..5000 {
        bench.offer(ms(t), 1, PACKET, false);
        if t % 2 == 0 {
            bench.offer(ms(t), 1, PACKET, false);
        }
        if t % 20 == 7 {
            bench.offer(Nanos(ms(t).0 + 300_000), 2, 200, false);
        }
    }
    let sparse = bench.delivered(2);
    assert!(sparse.len() >= 249, "{}", sparse.len());
    // At most 1 ms for the packet in transmission, then 0.134 ms for its own 200 B.
    let worst = sparse
        .iter()
        .map(|(offered, at)| at.0 - offered.0)
        .max()
        .unwrap();
    assert!(worst <= 1_134_000, "{worst} ns");
    let bulk = bench.delivered(1);
    let longest = bulk
        .iter()
        .map(|(offered, at)| at.0 - offered.0)
        .max()
        .unwrap();
    assert!(
        longest > 50_000_000,
        "the bulk flow has a queue of its own: {longest} ns"
    );
}

/// Three flows that offer 3, 2 and 1 packets per millisecond to a link for one get a third each.
#[test]
fn fq_codel_shares_equally_whatever_is_offered() {
    let mut bench = Bench::new(&managed(AqmSpec::FqCodel(FQ), 10_240), 1);
    for t in 0..6000 {
        for flow in 1..=3 {
            for _ in 0..flow {
                bench.offer(ms(t), flow, PACKET, false);
            }
        }
    }
    let counts: Vec<usize> = (1..=3).map(|flow| bench.delivered(flow).len()).collect();
    let all: usize = counts.iter().sum();
    assert!((5990..=6000).contains(&all), "{counts:?}");
    // The quantum of 1514 B is 14 B more than a packet, so turns differ by one packet at most.
    assert!(
        counts.iter().all(|count| count.abs_diff(all / 3) <= 2),
        "{counts:?}"
    );
}

/// On overflow FQ-CoDel drops half of the longest queue, at most one batch.
#[test]
fn fq_codel_drops_from_the_longest_queue() {
    let mut bench = Bench::new(&managed(AqmSpec::FqCodel(FQ), 100), 1);
    for _ in 0..98 {
        bench.offer(ms(0), 1, PACKET, false);
    }
    for _ in 0..4 {
        bench.offer(ms(0), 2, PACKET, false);
    }
    // 98 + 4 packets, one in transmission: 101 wait. Half of the 97 packets of flow 1, rounded up,
    // are dropped.
    let dropped: Vec<u64> = bench
        .exits
        .iter()
        .filter(|exit| exit.3 == Outcome::QueueDrop)
        .map(|exit| exit.0)
        .collect();
    assert_eq!(dropped, vec![1; 49]);
    assert_eq!(bench.link.queue_packets(ms(0)), 52);
    let bytes = FqCodelSpec {
        memory_limit: Bytes(15_000),
        drop_batch: 3,
        ..FQ
    };
    let mut bench = Bench::new(&managed(AqmSpec::FqCodel(bytes), 100), 1);
    for _ in 0..12 {
        bench.offer(ms(0), 1, PACKET, false);
    }
    // One is in transmission. Ten packets of 1500 B are allowed; the eleventh costs a batch of
    // three.
    assert_eq!(
        (bench.drops().len(), bench.link.queue_packets(ms(0))),
        (3, 8)
    );
}

/// A CBR load of 1.25 times the rate. In equilibrium PIE drops a fifth, and the delay is the target
/// (RFC 8033, section 4: the integral part leaves no steady error).
#[test]
fn pie_holds_its_target_under_a_steady_load() {
    let mut bench = Bench::new(&managed(AqmSpec::Pie(PIE), 1000), 3);
    let step_ns = 800_000;
    for n in 0..125_000_u64 {
        bench.offer(Nanos(n * step_ns), 0, PACKET, false);
    }
    let from = ms(50_000);
    let late: Vec<f64> = bench
        .delivered(0)
        .iter()
        .filter(|(offered, _)| *offered > from)
        .map(|(offered, at)| (at.0 - offered.0) as f64 / 1e6 - 1.0)
        .collect();
    let mean_ms = late.iter().sum::<f64>() / late.len() as f64;
    assert!((13.0..17.0).contains(&mean_ms), "{mean_ms} ms");
    let drops = bench.drops().iter().filter(|at| **at > from).count() as f64;
    let share = drops / (50e9 / step_ns as f64);
    assert!((share - 0.2).abs() < 0.01, "{share}");
}

/// Twice the rate for 150 ms, the burst allowance; and forever slightly less than the rate.
#[test]
fn pie_passes_a_burst_and_never_drops_below_the_rate() {
    let mut bench = Bench::new(&managed(AqmSpec::Pie(PIE), 1000), 3);
    // 150 ms at twice the rate: no drops within the burst allowance.
    for n in 0..298 {
        bench.offer(Nanos(n * 500_000), 0, PACKET, false);
    }
    assert_eq!(bench.drops().len(), 0);
    // Below the rate there are never drops.
    let mut calm = Bench::new(&managed(AqmSpec::Pie(PIE), 1000), 3);
    for n in 0..20_000 {
        calm.offer(Nanos(n * 1_010_000), 0, PACKET, false);
    }
    assert_eq!(calm.drops().len(), 0);
}

/// ECN-capable packets are marked up to a probability of 10 %, and dropped above.
#[test]
fn pie_marks_up_to_a_tenth() {
    let run = |step_ns: u64| {
        let mut bench = Bench::new(
            &managed(AqmSpec::Pie(PieSpec { ecn: true, ..PIE }), 5000),
            3,
        );
        for n in 0..40_000_000_000 / step_ns {
            bench.offer(Nanos(n * step_ns), 0, PACKET, true);
        }
        let marks = bench
            .exits
            .iter()
            .filter(|exit| matches!(exit.3, Outcome::Delivered { marked: true, .. }));
        (marks.count(), bench.drops().len())
    };
    // Marks do not reduce this load, so the probability rises above 10 %. Drops of more than 10 %
    // then empty the queue faster than the excess of 3 % fills it, and the probability falls again,
    // forever.
    let (marks, drops) = run(970_000);
    assert!(marks > 800 && drops > 1000, "{marks} marks, {drops} drops");
    // The drops are the excess: 3 % of 41,237 packets.
    assert!((1137..1337).contains(&drops), "{drops}");
    // Below the rate there are no marks or drops.
    assert_eq!(run(1_010_000), (0, 0));
}

/// Every packet leaves exactly once: delivered, dropped or lost; with small packets, pauses and
/// holds.
#[test]
fn every_packet_of_a_managed_link_comes_out_once() {
    let steps = [
        (ms(0), 12_000_000),
        (ms(300), 0),
        (ms(500), 3_000_000),
        (ms(900), 50_000_000),
    ];
    let steps: Vec<_> = steps
        .into_iter()
        .map(|(at, rate)| (at, BitRate::from_bps(rate)))
        .collect();
    for aqm in [
        AqmSpec::Codel(CODEL),
        AqmSpec::FqCodel(FQ),
        AqmSpec::Pie(PIE),
        dualpi2(),
    ] {
        let spec = LinkSpec {
            rate: RateSpec::Steps(steps.clone()),
            delay: ms(7),
            ..managed(aqm, 120)
        };
        let mut bench = Bench::new(&spec, 9);
        let mut state = 1u64;
        let mut now = Nanos::ZERO;
        for n in 0..4000u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            now += Nanos((state >> 33) % 900_000);
            if n % 500 == 499 {
                bench.run_to(now);
                bench.link.hold_until(now + ms(20));
            }
            bench.offer(
                now,
                state >> 60,
                40 + (state >> 40) as u32 % 1460,
                n % 2 == 0,
            );
        }
        bench.run_to(ms(100_000));
        assert_eq!(bench.exits.len(), 4000, "{aqm:?}");
        assert_eq!(
            (
                bench.link.queue_packets(now),
                bench.link.queue_bytes(now),
                bench.link.due()
            ),
            (0, 0, None)
        );
        assert!(!bench.drops().is_empty(), "{aqm:?}");
        let told = bench.exits.windows(2).all(|pair| pair[0].2 <= pair[1].2);
        assert!(told, "{aqm:?}: not in the order of time");
    }
}

/// A managed queue before a recorded link: packets leave at the opportunities, as with DropTail.
#[test]
fn a_managed_queue_uses_the_same_opportunities_as_droptail() {
    use joulepath_model::network::DeliveryTrace;
    let opportunities_ms = vec![3, 5, 5, 9, 20];
    let trace = std::sync::Arc::new(DeliveryTrace {
        source: "t".into(),
        opportunities_ms,
    });
    let plain = LinkSpec {
        queue: QueueLimit::Packets(1000),
        ..with_rate(RateSpec::Trace(trace))
    };
    let spec = LinkSpec {
        aqm: Some(AqmSpec::Codel(CodelSpec {
            target: ms(4000),
            ..CODEL
        })),
        ..plain.clone()
    };
    let (mut bench, mut tail) = (Bench::new(&spec, 1), Link::new(&plain, 1, 0));
    let mut expected = vec![];
    for n in 0..300_u64 {
        let now = Nanos(n * 3_700_000);
        let size = 300 + (n as u32 * 97) % 1200;
        bench.offer(now, 0, size, false);
        if let Outcome::Delivered { at, .. } = tail.offer(now, size, false) {
            expected.push((now, at));
        }
    }
    bench.run_to(ms(100_000));
    assert_eq!(bench.delivered(0), expected);
}
