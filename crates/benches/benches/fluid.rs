//! Equilibria and trajectories per second, on one core.
//!
//! `cargo bench -p joulepath-benches --bench fluid`; one element of criterion's throughput is one
//! of them.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use joulepath_controllers::formula::Law;
use joulepath_controllers::{Connection, Controller};
use joulepath_fluid::{Cost, Dynamics, Link, Network, Price, Route, User, equilibria_of};
use joulepath_model::units::JoulesPerBit;

/// Two paths of fixed loss that varies slightly with `i`; the second costs twice the energy and has
/// a smaller share.
fn two_paths(law: Law, i: u32) -> Network {
    let part = f64::from(i % 1000) / 1000.0;
    let costing = |route: Route, joules_per_bit, share| {
        let slope = JoulesPerBit(joules_per_bit);
        Route {
            cost: Cost {
                slope,
                share,
                relative_energy: joules_per_bit - 1.0,
                ..Cost::default()
            },
            ..route
        }
    };
    let first = costing(Route::fixed(0.001 + 0.002 * part, 0.05), 1.0, 0.7);
    let second = costing(Route::fixed(0.002, 0.1 - 0.05 * part), 2.0, 0.3);
    Network::of_one(law, vec![first, second])
}

/// Two DropTail links; on each a TCP competes with the multipath user.
fn two_links(law: Law) -> Network {
    let link = |capacity_pps| Link {
        capacity_pps,
        price: Price::DropTail {
            knee: 30.0,
            ramp: 50.0,
        },
    };
    Network {
        links: vec![link(800.0), link(1600.0)],
        users: vec![
            User::new(law, vec![Route::over(&[0], 0.04), Route::over(&[1], 0.08)]),
            User::new(Law::Reno, vec![Route::over(&[0], 0.05)]),
            User::new(Law::Reno, vec![Route::over(&[1], 0.05)]),
        ],
    }
}

fn equilibria(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("equilibria of two paths");
    group.throughput(Throughput::Elements(1));
    for controller in Controller::all() {
        let Some(law) = Law::of(controller, &Connection::new(2)) else {
            continue;
        };
        let networks: Vec<Network> = (0..1000).map(|i| two_paths(law, i)).collect();
        let mut next = 0;
        group.bench_function(controller.name(), |bencher| {
            bencher.iter(|| {
                next = (next + 1) % networks.len();
                black_box(networks[next].equilibrium())
            });
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("equilibria of two paths, a thousand at once");
    group.throughput(Throughput::Elements(1000));
    for controller in Controller::all() {
        let Some(law) = Law::of(controller, &Connection::new(2)) else {
            continue;
        };
        let networks: Vec<Network> = (0..1000).map(|i| two_paths(law, i)).collect();
        group.bench_function(controller.name(), |bencher| {
            bencher.iter(|| equilibria_of(&networks).for_each(|found| drop(black_box(found))));
        });
    }
    group.finish();
    let network = two_links(Law::Lia);
    let mut group = criterion.benchmark_group("equilibria of two DropTail links with TCPs");
    group.throughput(Throughput::Elements(1));
    group.bench_function("lia", |bencher| {
        bencher.iter(|| black_box(network.equilibrium()))
    });
    group.finish();
}

fn trajectories(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("trajectories of 60 s");
    group.throughput(Throughput::Elements(1));
    for (name, network) in [
        ("two paths", two_paths(Law::Lia, 0)),
        ("two DropTail links with TCPs", two_links(Law::Lia)),
    ] {
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
