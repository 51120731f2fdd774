//! Equilibria and trajectories per second, on one core.
//!
//! `cargo bench -p joulepath-fluid`; a criterion throughput of 1 element is one of them.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use joulepath_controllers::formula::{Law, Shape};
use joulepath_fluid::{Dynamics, Link, Network, Price, Route, User};

/// Two paths of fixed loss, a little different each time.
fn two_paths(law: Law, i: u32) -> Network {
    let part = f64::from(i % 1000) / 1000.0;
    Network::of_one(
        law,
        vec![Route::fixed(0.001 + 0.002 * part, 0.05), Route::fixed(0.002, 0.1 - 0.05 * part)],
    )
}

/// Two DropTail links, each with a TCP beside the multipath user.
fn two_links(law: Law) -> Network {
    let link = |capacity_pps| Link { capacity_pps, price: Price::DropTail { knee: 30.0, ramp: 50.0 } };
    Network {
        links: vec![link(800.0), link(1600.0)],
        users: vec![
            User::new(law, vec![Route::over(&[0], 0.04), Route::over(&[1], 0.08)]),
            User::new(Law::Reno, vec![Route::over(&[0], 0.05)]),
            User::new(Law::Reno, vec![Route::over(&[1], 0.05)]),
        ],
    }
}

const LAWS: [(&str, Law); 4] = [
    ("reno", Law::Reno),
    ("lia", Law::Lia),
    ("balia", Law::Balia { kernel_quirk: false }),
    ("dts", Law::Dts { c: 1.0, shape: Shape::Sigmoid, latest: false, kappa: 0.0 }),
];

fn equilibria(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("equilibria of two paths");
    group.throughput(Throughput::Elements(1));
    for (name, law) in LAWS {
        let networks: Vec<Network> = (0..1000).map(|i| two_paths(law, i)).collect();
        let mut next = 0;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                next = (next + 1) % networks.len();
                black_box(networks[next].equilibrium())
            });
        });
    }
    group.finish();
    let network = two_links(Law::Lia);
    let mut group = criterion.benchmark_group("equilibria of two DropTail links with TCPs");
    group.throughput(Throughput::Elements(1));
    group.bench_function("lia", |bencher| bencher.iter(|| black_box(network.equilibrium())));
    group.finish();
}

fn trajectories(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("trajectories of 60 s");
    group.throughput(Throughput::Elements(1));
    for (name, network) in
        [("two paths", two_paths(Law::Lia, 0)), ("two DropTail links with TCPs", two_links(Law::Lia))]
    {
        let mut dynamics = Dynamics::with_slow_start(&network);
        let start = dynamics.state(&vec![10.0; network.routes()]);
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(dynamics.trajectory(&start, &[0.0, 60.0])));
        });
    }
    group.finish();
}

criterion_group!(benches, equilibria, trajectories);
criterion_main!(benches);
