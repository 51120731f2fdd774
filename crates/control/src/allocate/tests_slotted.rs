//! so-MPTCP's slots and EEMPTCP online.

use proptest::prelude::*;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use super::so_mptcp::{SlotMeans, energy_j, simulate};
use super::*;
use crate::select::{PathEnergy, PathSnapshot};
use joulepath_model::units::Nanos;

/// 20, 30 and 60 packets per slot at 5, 10 and 20 J per packet.
const PATHS: [(f64, f64); 3] = [(5.0, 20.0), (10.0, 30.0), (20.0, 60.0)];

fn paths() -> [SlotPath; 3] {
    PATHS.map(|(cost_j, capacity)| SlotPath::within(cost_j, capacity))
}

/// A Poisson variate by Knuth's product of uniforms.
fn poisson(random: &mut Pcg64Mcg, mean: f64) -> f64 {
    let (limit, mut product, mut count) = (libm::exp(-mean), 1.0, -1.0);
    while product > limit {
        product *= f64::from(random.next_u32()) / f64::from(u32::MAX);
        count += 1.0;
    }
    count
}

fn run(v: f64, shape: EnergyShape, slots: usize) -> SlotMeans {
    let mut random = Pcg64Mcg::new(7);
    let arrivals: Vec<f64> = (0..slots).map(|_| poisson(&mut random, 35.0)).collect();
    simulate(&mut SoMptcp::new(v, shape), &paths(), arrivals)
}

#[test]
fn a_larger_v_costs_less_energy_and_a_longer_queue() {
    // algorithms.md, 5.12, an independent implementation: V, energy per slot, queue. 003 prints the
    // opposite (003-6).
    for (v, energy, queue) in [
        (0.0, 398.0, 17.0),
        (2.0, 312.0, 22.0),
        (5.0, 254.0, 50.0),
        (10.0, 250.0, 99.0),
        (100.0, 249.0, 998.0),
    ] {
        let found = run(v, EnergyShape::Linear, 100_000);
        assert!(
            (found.energy_j - energy).abs() < 0.04 * energy,
            "V = {v}: {found:?}"
        );
        assert!(
            (found.queue - queue).abs() < 0.02 * queue + 1.0,
            "V = {v}: {found:?}"
        );
    }
}

#[test]
fn the_energy_is_within_b_over_v_of_the_minimum() {
    // Minimum: 20 packets at 5 J and 15 at 10 J. B = ½ (35² + Var + Σ x̄²) bounds the drift;
    // theorem 2 in its standard form (003-7).
    let (least, b) = (
        20.0 * 5.0 + 15.0 * 10.0,
        0.5 * (35.0 * 36.0 + 110.0 * 110.0),
    );
    for v in [1.0, 10.0, 100.0, 1000.0] {
        let found = run(v, EnergyShape::Linear, 50_000);
        assert!(found.energy_j <= least + b / v + 3.0, "V = {v}: {found:?}");
        // Σ x = λ keeps the queue bounded: all arrivals are carried.
        assert!(
            (found.carried - 35.0).abs() < 0.5 + 20.0 * v / 50_000.0,
            "V = {v}: {found:?}"
        );
    }
}

#[test]
fn convex_energy_spreads_the_load() {
    // Marginal costs 5 (1 + x/20), 10 (1 + x/30): equal at 10 for x = 20 and 0; the load of 35
    // needs more from the other paths.
    let found = run(20.0, EnergyShape::Convex, 50_000);
    assert!((found.carried - 35.0).abs() < 0.5, "{found:?}");
    let mut allocator = SoMptcp::new(1.0, EnergyShape::Convex);
    let x = allocator.allocate(&paths(), 12.5, 0.0);
    // Q = 12.5: (12.5 − 5)/(5/20) = 30, bounded by 20; (12.5 − 10)/(10/30) = 7.5; together 27.5 >
    // 12.5 of data: λ with 4 (7.5 − λ) + 3 (2.5 − λ)⁺ = 12.5: λ = 4.375, x = 12.5 and 0.
    assert!(
        (x[0] - 12.5).abs() < 1e-9 && x[1..].iter().all(|&x| x == 0.0),
        "{x:?}"
    );
}

#[test]
fn a_path_is_used_when_the_queue_exceeds_v_times_its_cost() {
    let used = |queue: f64| {
        SoMptcp::new(2.0, EnergyShape::Linear)
            .allocate(&paths(), queue, 1000.0)
            .map(|x| x > 0.0)
    };
    assert_eq!(used(10.0)[..3], [false; 3]);
    assert_eq!(used(10.1)[..3], [true, false, false]);
    assert_eq!(used(20.1)[..3], [true, true, false]);
    assert_eq!(used(40.1)[..3], [true; 3]);
}

fn any_path() -> impl Strategy<Value = SlotPath> {
    (1u8..10, 0u8..8).prop_map(|(cost, capacity)| SlotPath::within(cost.into(), capacity.into()))
}

proptest! {
    #[test]
    fn no_other_allocation_is_better(
        paths in prop::collection::vec(any_path(), 2..4),
        v in 0u8..4,
        queue in 0u8..30,
        arrivals in 0u8..10,
        convex in any::<bool>(),
        other in prop::array::uniform3(0.0..1.0f64),
    ) {
        let shape = if convex { EnergyShape::Convex } else { EnergyShape::Linear };
        let (queue, arrivals) = (f64::from(queue), f64::from(arrivals));
        let mut allocator = SoMptcp::new(v.into(), shape);
        let before = allocator.clone();
        let x = allocator.allocate(&paths, queue, arrivals);
        let n = paths.len();
        let most = queue + arrivals;
        prop_assert!(x[..n].iter().sum::<f64>() <= most + 1e-9);
        prop_assert!(x[..n].iter().zip(&paths).all(|(x, path)| (0.0..=path.capacity).contains(x)));
        // Any other point of X.
        let y: Vec<f64> = other.iter().zip(&paths).map(|(part, path)| part * path.capacity).collect();
        let scale = (most / y.iter().sum::<f64>()).min(1.0);
        let y: Vec<f64> = y.iter().map(|y| if scale.is_finite() { y * scale } else { 0.0 }).collect();
        let value = |x: &[f64]| before.objective(&paths, queue, arrivals, x);
        prop_assert!(value(&x[..n]) <= value(&y) + 1e-6, "{:?} {:?}", x, y);
    }

    #[test]
    fn energy_is_the_sum_over_slots(x in 0.0..10.0f64) {
        let path = SlotPath { idle_j: 0.5, ..SlotPath::within(3.0, 10.0) };
        prop_assert_eq!(energy_j(&path, EnergyShape::Linear, 0.0), 0.5);
        prop_assert!(energy_j(&path, EnergyShape::Convex, x) >= energy_j(&path, EnergyShape::Linear, x));
    }
}

#[test]
fn eemptcp_is_solved_again_when_a_capacity_has_changed_by_ten_percent() {
    let energy = |slope: f64, sunk_w| PathEnergy {
        slope_j_per_bit: slope * 1e-9,
        sunk_w,
        ..PathEnergy::default()
    };
    let path = |energy, srtt_s, loss| PathSnapshot {
        energy,
        srtt_s,
        loss,
        ..PathSnapshot::default()
    };
    let (wifi, lte, umts) = (
        energy(137.0, 0.1329),
        energy(52.0, 1.288),
        energy(122.1, 0.8179),
    );
    let mut paths = [
        path(wifi, 0.14, 0.1),
        path(lte, 0.2, 0.02),
        path(umts, 0.24, 0.02),
    ];
    // The capacities of the paper's paths, kbit/s: 323.12, 505.76, 421.47.
    let solved = vec![323.12e3, 505.76e3, 421.47e3];
    let mut resolver = Resolver::new(
        Eemptcp {
            online: true,
            ..Eemptcp::default()
        },
        solved,
    );
    let mut random = Pcg64Mcg::new(1);
    let mut solve = |seconds, paths: &[PathSnapshot]| {
        resolver.solve(Nanos::from_secs(seconds), paths, 1460.0, &mut random)
    };
    assert_eq!(solve(1, &paths), None);
    // C is proportional to 1/√p: 21 % more loss is 9 % less capacity, 25 % more loss 10.6 % less.
    paths[1].loss = 0.0242;
    assert_eq!(solve(2, &paths), None);
    paths[1].loss = 0.025;
    let shares = solve(3, &paths).unwrap();
    assert!(
        (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9 && shares[1] < 0.5896,
        "{shares:?}"
    );
    // At most once a second, and only after a change.
    paths[1].loss = 0.05;
    assert_eq!(solve(3, &paths), None);
    assert!(solve(4, &paths).is_some());
    assert_eq!(solve(5, &paths), None);
}
