use microlp::{ComparisonOp, OptimizationDirection, Problem as Lp, SolveOutcome};
use proptest::prelude::*;
use rand_pcg::Pcg64Mcg;

use super::*;

/// The three paths of 000, table 1: b in mW/Mbps, θ in mW, one-way delay in s, loss.
const PAPER: [(f64, f64, f64, f64); 3] = [
    (137.0, 132.9, 0.070, 0.10),
    (52.0, 1288.0, 0.100, 0.02),
    (122.1, 817.9, 0.120, 0.02),
];

/// RTT = 2 × delay.
fn paper_paths(mss_bytes: f64) -> Vec<CostedPath> {
    PAPER
        .iter()
        .map(|&(slope, sunk, delay, loss)| CostedPath {
            slope_j_per_bit: slope * 1e-9,
            sunk_w: sunk * 1e-3,
            capacity_bps: rate::mathis_bps(mss_bytes, 2.0 * delay, loss),
        })
        .collect()
}

fn close(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * b.abs().max(1e-12)
}

#[track_caller]
fn assert_shares(actual: &[f64], expected: [f64; 3]) {
    assert!(
        actual
            .iter()
            .zip(expected)
            .all(|(a, e)| (a - e).abs() < 5e-5),
        "{actual:?} ≠ {expected:?}"
    );
}

#[test]
fn mathis_gives_the_capacities_of_the_papers_paths() {
    // 8 · 1460 / (0.14 √(0.2/3)) = 323.12 kbit/s, and so on.
    for (path, kbps) in paper_paths(1460.0).iter().zip([323.12, 505.76, 421.47]) {
        assert!(close(path.capacity_bps, kbps * 1e3, 2e-5), "{path:?}");
    }
}

#[test]
fn pftk_counts_the_timeouts_of_the_lossy_path() {
    // p = 0.1, τ = 0.14: 0.03615 + 1 · 0.5809 · 0.1 · 1.32 = 0.11283 s per packet.
    for (&(_, _, delay, loss), pps) in PAPER.iter().zip([8.9, 35.3, 30.3]) {
        assert!(
            (pftk(delay, loss) - pps).abs() < 0.06,
            "{} ≠ {pps}",
            pftk(delay, loss)
        );
    }
    fn pftk(delay: f64, loss: f64) -> f64 {
        rate::pftk_pps(2.0 * delay, 1.0, loss, 1.0)
    }
}

#[test]
fn the_readings_give_the_optima_of_the_papers_paths() {
    let paths = paper_paths(1460.0);
    assert!(Problem::of_paper(&paths, Reading::A).solve().is_err());
    // The limits: 1.288 + 52e-9 · 505.76e3 = 1.3143 W; 2.2388 + 137e-9 · 505.76e3 = 2.30809 W.
    assert!(close(
        Problem::of_paper(&paths, Reading::A).max_power_w,
        1.3143,
        1e-5
    ));
    assert!(close(
        Problem::of_paper(&paths, Reading::C).max_power_w,
        2.30809,
        1e-5
    ));
    for (reading, shares, kbit_per_joule) in [
        (Reading::B, [0.2584, 0.4045, 0.3371], 529.62),
        (Reading::C, [0.0, 0.5896, 0.4104], 371.67),
        (Reading::D, [0.4340, 0.0, 0.5660], 711.48),
    ] {
        let solution = Problem::of_paper(&paths, reading).solve().unwrap();
        assert_shares(&solution.shares(), shares);
        assert!(
            close(solution.bits_per_joule(), kbit_per_joule * 1e3, 2e-5),
            "{solution:?}"
        );
    }
}

#[test]
fn the_shares_do_not_depend_on_the_segment_size() {
    for mss in [536.0, 1000.0, 1460.0] {
        let solution = Problem::of_paper(&paper_paths(mss), Reading::C)
            .solve()
            .unwrap();
        assert_shares(&solution.shares(), [0.0, 0.5896, 0.4104]);
    }
}

#[test]
fn window_targets_follow_from_the_shares() {
    let rtt = [0.14, 0.20, 0.24];
    let loss = [0.1, 0.02, 0.02];
    let round = |targets: Vec<f64>| {
        targets
            .iter()
            .map(|t| (t * 1e3).round() / 1e3)
            .collect::<Vec<_>>()
    };
    let b = [0.2584, 0.4045, 0.3371];
    assert_eq!(
        round(window_shares(&b, &rtt, &loss, |p| 1.0 / p)),
        [0.043, 0.479, 0.479]
    );
    assert_eq!(
        round(window_shares(&b, &rtt, &loss, |p| 1.0 / (1.0 - p))),
        [0.196, 0.402, 0.402]
    );
    let c = [0.0, 0.5896, 0.4104];
    assert_eq!(
        round(window_shares(&c, &rtt, &loss, |p| 1.0 / p)),
        [0.0, 0.545, 0.455]
    );
}

#[test]
fn options_choose_reading_solver_and_capacity() {
    let set = |key: &str, value: &str| Eemptcp::from_options(&[(key.into(), value.into())]);
    assert_eq!(set("reading", "D").unwrap().reading, Reading::D);
    assert_eq!(set("solver", "ga").unwrap().solver, Solver::Genetic);
    assert_eq!(
        set("capacity", "pftk").unwrap().capacity,
        CapacityModel::Pftk
    );
    assert!(
        set("reading", "E")
            .unwrap_err()
            .to_string()
            .contains("`A`, `B`, `C` or `D`")
    );
    assert!(
        set("readings", "A")
            .unwrap_err()
            .to_string()
            .contains("reading, solver, capacity")
    );
}

/// Optimum by the Charnes–Cooper transformation: y = t x, in Mbit/s and W; `None` if infeasible.
fn charnes_cooper(problem: &Problem) -> Option<f64> {
    let sunk: f64 = problem.paths.iter().map(|p| p.sunk_w).sum();
    let mut lp = Lp::new(OptimizationDirection::Maximize);
    let t = lp.add_var(0.0, (0.0, f64::INFINITY));
    let y: Vec<_> = problem
        .paths
        .iter()
        .map(|_| lp.add_var(1.0, (0.0, f64::INFINITY)))
        .collect();
    let mut power = vec![(t, sunk)];
    power.extend(
        y.iter()
            .zip(&problem.paths)
            .map(|(&y, p)| (y, p.slope_j_per_bit * 1e6)),
    );
    lp.add_constraint(power.as_slice(), ComparisonOp::Eq, 1.0);
    for (&y, path) in y.iter().zip(&problem.paths) {
        lp.add_constraint(
            [(y, 1.0), (t, -path.capacity_bps / 1e6)],
            ComparisonOp::Le,
            0.0,
        );
    }
    let mut reach: Vec<_> = y.iter().map(|&y| (y, 1.0)).collect();
    reach.push((t, -problem.required_bps / 1e6));
    lp.add_constraint(reach.as_slice(), ComparisonOp::Ge, 0.0);
    if problem.max_power_w.is_finite() {
        power[0].1 -= problem.max_power_w;
        lp.add_constraint(power.as_slice(), ComparisonOp::Le, 0.0);
    }
    match lp.solve() {
        Ok(SolveOutcome::Solution(solution)) => Some(solution.objective() * 1e6),
        Ok(SolveOutcome::Interrupted(_)) => unreachable!("no limit was set"),
        Err(microlp::Error::Infeasible) => None,
        Err(error) => panic!("{error}"),
    }
}

fn any_path() -> impl Strategy<Value = CostedPath> {
    (1.0..200.0, 10.0..1500.0, 0.05..20.0).prop_map(|(slope, sunk, capacity): (f64, f64, f64)| {
        CostedPath {
            slope_j_per_bit: slope * 1e-9,
            sunk_w: sunk * 1e-3,
            capacity_bps: capacity * 1e6,
        }
    })
}

prop_compose! {
    /// R up to 1.1 times the capacity; E_max from slightly too low to ample.
    fn any_problem()(
        paths in prop::collection::vec(any_path(), 1..6),
        load in 0.0..1.1,
        power in prop::option::of(0.9..1.6),
    ) -> Problem {
        let capacity: f64 = paths.iter().map(|p| p.capacity_bps).sum();
        let sunk: f64 = paths.iter().map(|p| p.sunk_w).sum();
        let max_power_w = power.map_or(f64::INFINITY, |factor| factor * sunk);
        Problem { paths, required_bps: load * capacity, max_power_w, unused_sleep: false }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn greedy_equals_the_linear_program(problem in any_problem()) {
        match (problem.solve(), charnes_cooper(&problem)) {
            (Ok(greedy), Some(lp)) => {
                prop_assert!(close(greedy.bits_per_joule(), lp, 1e-6), "{greedy:?} {lp}");
            }
            (Err(_), None) => {}
            (greedy, lp) => prop_assert!(false, "only one is feasible: {greedy:?} {lp:?}"),
        }
    }

    #[test]
    fn no_random_split_beats_the_optimum(
        problem in any_problem(),
        parts in prop::collection::vec(0.0..=1.0, 6),
    ) {
        for unused_sleep in [false, true] {
            let problem = Problem { unused_sleep, ..problem.clone() };
            let paths = problem.paths.iter().zip(&parts);
            let rates: Vec<f64> = paths.map(|(path, part): (_, &f64)| part * path.capacity_bps).collect();
            if let Some(found) = problem.evaluate(&rates) {
                prop_assert!(found <= problem.solve().unwrap().bits_per_joule() * (1.0 + 1e-9));
            }
        }
    }
}

/// Mean relative gap between the GA and the exact optimum over 20 seeds; a run without a feasible
/// individual counts as 1.
fn mean_gap(reading: Reading, population: usize, generations: usize) -> f64 {
    let problem = Problem::of_paper(&paper_paths(1460.0), reading);
    let exact = problem.solve().unwrap().bits_per_joule();
    let genetic = Genetic {
        population,
        generations,
        ..Genetic::default()
    };
    let gap = |seed| {
        genetic
            .solve(&problem, &mut Pcg64Mcg::new(seed))
            .map_or(1.0, |solution| 1.0 - solution.bits_per_joule() / exact)
    };
    (1..=20).map(gap).sum::<f64>() / 20.0
}

#[test]
fn the_genetic_algorithm_stays_below_the_exact_optimum() {
    // Bands around an independent implementation: B 3.2, 1.2, 0.7 %; C 2.8, 2.0, 1.8 %; D 39, 5.8,
    // 2.0 %. Measured here: B 3.1, 1.1, 0.8 %; C 2.3, 1.8, 1.7 %; D 32.8, 7.2, 4.0 %.
    for (reading, bands) in [
        (Reading::B, [0.020..0.050, 0.007..0.020, 0.003..0.013]),
        (Reading::C, [0.015..0.045, 0.012..0.030, 0.010..0.025]),
        (Reading::D, [0.200..0.550, 0.030..0.120, 0.010..0.060]),
    ] {
        for ((population, generations), band) in
            [(50, 100), (100, 200), (200, 500)].into_iter().zip(bands)
        {
            let gap = mean_gap(reading, population, generations);
            assert!(
                band.contains(&gap),
                "{reading:?}, M = {population}, gn = {generations}: {gap}"
            );
        }
    }
}

#[test]
fn the_genetic_algorithm_leaves_traffic_on_the_path_that_the_optimum_avoids() {
    let allocator = Eemptcp {
        solver: Solver::Genetic,
        ..Eemptcp::default()
    };
    let paths = paper_paths(1460.0);
    let wifi = |seed| allocator.shares(&paths, &mut Pcg64Mcg::new(seed)).unwrap()[0];
    // The optimum has 0; runs differ, 0.05 to 0.10 on average.
    let mean = (1..=20).map(wifi).sum::<f64>() / 20.0;
    assert!((0.03..0.13).contains(&mean), "{mean}");
}
