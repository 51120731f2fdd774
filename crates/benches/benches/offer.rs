//! Time per offered packet. One iteration is one offer; the load is 1.2 × the rate, so queues fill
//! and drop.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use joulepath_link::Link;
use joulepath_model::network::{
    DeliveryTrace, JitterSpec, LinkSpec, LossSpec, QueueLimit, RateSpec,
};
use joulepath_model::units::{BitRate, Bytes, Nanos, Probability};

const PACKET_BYTES: u32 = 1500;
const RATE: BitRate = BitRate::from_bps(12_000_000);
/// A packet takes 1 ms to send and is offered every 5/6 ms.
const GAP: Nanos = Nanos(833_333);

fn constant() -> LinkSpec {
    let queue = QueueLimit::Packets(50);
    LinkSpec::new(
        "bench".into(),
        RateSpec::Constant(RATE),
        Nanos::from_millis(20),
        queue,
    )
}

fn probability(p: f64) -> Probability {
    Probability::new(p).expect("in [0, 1]")
}

fn variants() -> Vec<(&'static str, LinkSpec)> {
    let trace = DeliveryTrace {
        source: "every ms".into(),
        opportunities_ms: (1..=1000).collect(),
    };
    let gilbert_elliott = LossSpec::GilbertElliott {
        enter_bad: probability(0.001),
        leave_bad: probability(0.1),
        loss_good: probability(0.0),
        loss_bad: probability(0.5),
    };
    let log_normal = RateSpec::LogNormal {
        mean: RATE,
        deviation: 0.2,
        correlation: Nanos::from_millis(1000),
        interval: Nanos::from_millis(10),
    };
    let jitter = JitterSpec {
        deviation: Nanos::from_millis(2),
        correlation: Nanos::from_millis(100),
    };
    vec![
        ("constant", constant()),
        (
            "ecn",
            LinkSpec {
                ecn_threshold: Some(QueueLimit::Packets(20)),
                ..constant()
            },
        ),
        (
            "bernoulli 1 %",
            LinkSpec {
                loss: LossSpec::Bernoulli(probability(0.01)),
                ..constant()
            },
        ),
        (
            "gilbert-elliott",
            LinkSpec {
                loss: gilbert_elliott,
                ..constant()
            },
        ),
        (
            "bytes",
            LinkSpec {
                queue: QueueLimit::Bytes(Bytes(75_000)),
                ..constant()
            },
        ),
        (
            "trace",
            LinkSpec {
                rate: RateSpec::Trace(Arc::new(trace)),
                ..constant()
            },
        ),
        (
            "log-normal",
            LinkSpec {
                rate: log_normal,
                ..constant()
            },
        ),
        (
            "jitter",
            LinkSpec {
                jitter: Some(jitter),
                ..constant()
            },
        ),
    ]
}

fn offer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("offer");
    for (name, spec) in variants() {
        let mut link = Link::new(&spec, 1, 0);
        let mut now = Nanos::ZERO;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                now += GAP;
                link.offer(now, black_box(PACKET_BYTES), true)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, offer);
criterion_main!(benches);
