//! Run time of one complete answer: best plan, front, break-even sizes, reason.
//!
//! `cargo bench -p joulepath-benches --bench advise`; for 2 to [`MOST_PATHS`] radios with a shared
//! base, with and without a deadline.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use joulepath_control::advise::{Coupling, MOST_PATHS, Path, Question, Within, advise};
use joulepath_control::limit::Capacity;
use joulepath_model::energy::profile;
use joulepath_model::network::LossSpec;
use joulepath_model::units::{BitRate, Bytes, Nanos, Watts};

/// Rate in Mbit/s, RTT in ms and energy of the radios, in the order of their use.
const RADIOS: [(u64, u64, &str); MOST_PATHS] = [
    (20, 30, "wifi-huang2012"),
    (40, 50, "lte-huang2012"),
    (5, 80, "3g-huang2012"),
    (200, 25, "5g-lowband-2021"),
    (10, 20, "wifi-huang2012-linear"),
];

fn question(paths: usize, within: Within) -> Question {
    let path = |&(mbps, ms, energy): &(u64, u64, &str)| Path {
        name: energy.to_owned(),
        rate: BitRate::from_bps(mbps * 1_000_000),
        rtt: Nanos::from_millis(ms),
        loss: LossSpec::None,
        energy: profile(energy).expect("the profile is shipped").model,
    };
    Question {
        paths: RADIOS[..paths].iter().map(path).collect(),
        size: Bytes(10_000_000),
        within,
        delay_price: Watts(0.0),
        base: Watts(0.5),
        capacity: Capacity::TcpFriendly,
        coupling: Coupling::Uncoupled,
    }
}

fn answers(criterion: &mut Criterion) {
    let kinds = [
        ("free in time", Within::Whenever),
        ("deadline", Within::Deadline(Nanos::from_secs(5))),
    ];
    for (name, within) in kinds {
        let mut group = criterion.benchmark_group(format!("advice, {name}"));
        for paths in 2..=MOST_PATHS {
            let question = question(paths, within);
            group.bench_function(BenchmarkId::from_parameter(paths), |bencher| {
                bencher.iter(|| black_box(advise(black_box(&question))));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, answers);
criterion_main!(benches);
