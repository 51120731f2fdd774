//! Theorems 1 and 2 of 003 in their correct form, on random instances: energy within O(1/V) of the
//! minimum, backlog O(V).

use joulepath_control::allocate::so_mptcp::SlotPath;
use joulepath_model::random::{Domain, Stream};
use proptest::prelude::*;

use crate::theory::{Averages, Slots};

/// An instance: paths (cost, capacity), load relative to the capacity, and a seed for the arrivals.
fn instance() -> impl Strategy<Value = (Vec<SlotPath>, f64, u64)> {
    let path = (1.0..20.0f64, 5.0..50.0f64)
        .prop_map(|(cost_j, capacity)| SlotPath::within(cost_j, capacity));
    (
        proptest::collection::vec(path, 2..=4),
        0.2..0.85f64,
        any::<u64>(),
    )
}

const SLOTS: usize = 40_000;

fn capacity(paths: &[SlotPath]) -> f64 {
    paths.iter().map(|path| path.capacity).sum()
}

/// Arrivals uniform on [0, 2λ].
fn arrivals(rate: f64, seed: u64) -> Vec<f64> {
    let mut random = Stream::new(seed, Domain::Workload, 0);
    (0..SLOTS).map(|_| 2.0 * rate * random.uniform()).collect()
}

/// The smallest V with which a path sends only when the backlog exceeds a slot's capacity.
fn smallest_v(paths: &[SlotPath]) -> f64 {
    capacity(paths)
        / paths
            .iter()
            .map(|path| path.cost_j)
            .fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Theorem 2: Ē ≤ E* + (B̄ + M̄)/V for every sequence; M̄ is the mean of Q (a − λ).
    #[test]
    fn energy_is_within_b_over_v_of_the_minimum((paths, load, seed) in instance(), factor in 1.0..20.0f64) {
        let rate = load * capacity(&paths);
        let slots = Slots { v: factor * smallest_v(&paths), paths };
        let Averages { energy_j: energy, backlog, drift, backlog_arrivals, .. } =
            slots.run(arrivals(rate, seed));
        let bound = slots.least_energy_j(rate) + (drift + backlog_arrivals - backlog * rate) / slots.v;
        prop_assert!(energy <= bound * (1.0 + 1e-9), "energy {energy}, bound {bound}");
        // It is at least the minimum for the data that left.
        let gone = rate.min(arrivals(rate, seed).iter().sum::<f64>() / SLOTS as f64);
        let left = slots.v * 20.0 / SLOTS as f64 + capacity(&slots.paths) / SLOTS as f64;
        prop_assert!(energy >= slots.least_energy_j((gone - left).max(0.0)) * (1.0 - 1e-9));
    }

    /// Theorem 1: with slack ε, Q̄ ≤ (B̄ + M̄ + V (E(λ + ε) − Ē))/ε for every sequence.
    #[test]
    fn the_backlog_is_bounded_by_v_over_the_slack((paths, load, seed) in instance(), factor in 1.0..20.0f64) {
        let rate = load * capacity(&paths);
        let slack = 0.9 * (capacity(&paths) - rate);
        let slots = Slots { v: factor * smallest_v(&paths), paths };
        let Averages { energy_j: energy, backlog, drift, backlog_arrivals, .. } =
            slots.run(arrivals(rate, seed));
        let martingale = backlog_arrivals - backlog * rate;
        let bound = (drift + martingale + slots.v * (slots.least_energy_j(rate + slack) - energy)) / slack;
        prop_assert!(backlog <= bound * (1.0 + 1e-9), "backlog {backlog}, bound {bound}");
    }
}

/// 003-6 and the reference's numbers: three paths of 20, 30, 60 packets per slot at 5, 10, 20 J,
/// Poisson arrivals of mean 35. V = 10 gives 250 J and 99 packets, V = 100 gives 249 J and 998.
/// Here arrivals are uniform on 0 to 70: E* = 20 · 5 + 15 · 10 = 250 J.
#[test]
fn three_paths_at_35_packets_cost_250_joules() {
    let paths = [(5.0, 20.0), (10.0, 30.0), (20.0, 60.0)]
        .map(|(cost_j, capacity)| SlotPath::within(cost_j, capacity))
        .to_vec();
    let at = |v: f64| {
        Slots {
            paths: paths.clone(),
            v,
        }
        .run(arrivals(35.0, 1))
    };
    for (v, queue) in [(10.0, 99.0), (100.0, 998.0)] {
        let averages = at(v);
        println!("V = {v}: {averages:?}");
        assert!(
            (averages.energy_j / 250.0 - 1.0).abs() < 0.03,
            "V = {v}: {averages:?}"
        );
        assert!(
            (averages.backlog / queue - 1.0).abs() < 0.1,
            "V = {v}: {averages:?}"
        );
    }
    // A larger V saves energy and queues more; 003 states the opposite.
    let (small, large) = (at(2.0), at(10.0));
    assert!(
        small.energy_j > 1.2 * large.energy_j && small.backlog < 0.5 * large.backlog,
        "{small:?} {large:?}"
    );
    assert_eq!(Slots { paths, v: 1.0 }.least_energy_j(35.0), 250.0);
}
