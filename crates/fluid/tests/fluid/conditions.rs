//! Conditions 1 and 2 of 002, and the gradient and Hessian of 000.

use joulepath_controllers::formula::{Law, Path};
use joulepath_fluid::{Form, Network, Route};
use proptest::prelude::*;

use crate::theory::{EnergyEfficiency, friendliness, utility};
use crate::{DTS, ECMTCP, assert_near, law, pair, path};

/// (name, law, Condition 1 on the reference's pair of paths). On that pair the best path is also
/// the fastest.
///
/// 002 states that all are friendly except EWTCP with 1/√n and DTS with c = 1; this agrees.
/// Uncoupled Reno has ψ = X²/x² > 1. Balia's ψ_h is 1 for α_h = 1. Classic Coupled takes W/2 per
/// loss, β_h = W/(2 w_h), which is ½ once the other path is empty.
#[test]
fn condition_1_holds_for_the_friendly_and_fails_for_the_others() {
    let cases = [
        ("reno", law("reno", &[]), false),
        ("ewtcp", law("ewtcp", &[]), true),
        (
            "ewtcp 1/sqrt(n)",
            law("ewtcp", &[("a", "1/sqrt(n)")]),
            false,
        ),
        (
            "coupled as in 002",
            law("coupled", &[("epsilon", "seed")]),
            true,
        ),
        (
            "semicoupled",
            law("coupled", &[("epsilon", "semicoupled")]),
            false,
        ),
        ("lia", Law::Lia, true),
        ("olia", Law::Olia, true),
        ("balia", law("balia", &[]), true),
        ("dwc", law("dwc", &[("groups", "all")]), true),
        ("ecmtcp", ECMTCP, true),
        ("dts", DTS, false),
        ("dts, c = 1/2", law("dts", &[("c", "0.5")]), true),
    ];
    println!("| controller | ψ_h | β_h | φ_h | TCP shares | Condition 1 |");
    for (name, law, holds) in cases {
        let network = Network::of_one(law, pair());
        let found = friendliness(&network, 0, &network.equilibrium().expect(name));
        let verdict = found.holds(1e-3);
        println!(
            "| {name} | {:.3} | {:.3} | {:.3} | {:.3} | {verdict} |",
            found.psi, found.beta, found.phi, found.tcp_shares
        );
        assert_eq!(verdict, holds, "{name}: {found:?}");
        // With β = ½ and φ = 0: X = √(2 ψ_h/λ_h)/τ_h, so the user is √ψ_h TCPs on h.
        assert_near(name, found.tcp_shares, found.psi.sqrt(), 1e-3);
    }
}

/// Condition 1 is sufficient, not necessary: it concerns the fastest path h, friendliness concerns
/// the path of the best TCP. LIA on p = (0.0004, 0.01), τ = (0.2, 0.05): TCPs of 353.6 and 282.8; w
/// ∝ 1/p, x ∝ (12500, 2000): h is the first path. w/τ² is largest on the first path unless
/// 2500/0.04 < 100/0.0025. p = (0.002, 0.01) reverses this: w/τ² ∝ 12500 and 40000.
#[test]
fn lia_may_violate_condition_1_and_still_be_friendly() {
    let network = Network::of_one(
        Law::Lia,
        vec![Route::fixed(0.002, 0.2), Route::fixed(0.01, 0.045)],
    );
    let found = friendliness(&network, 0, &network.equilibrium().expect("an equilibrium"));
    assert!(found.psi > 1.5 && !found.holds(1e-3), "{found:?}");
    assert!(found.tcp_shares <= 1.0 + 1e-6, "{found:?}");
}

/// Points with coordinates from 50 to 500 packets/s, evenly distributed.
fn points(n: usize) -> Vec<Vec<f64>> {
    let coordinate = |i: usize, r: usize| {
        50.0 + 450.0 * ((i * 7919 + r * 104_729 + i * r * 31) % 1000) as f64 / 1000.0
    };
    (0..40)
        .map(|i| (0..n).map(|r| coordinate(i, r)).collect())
        .collect()
}

/// (name, law, Condition 2 with equal RTTs, with unequal RTTs and some step sizes, with unequal
/// RTTs as printed).
///
/// Separable ψ (Reno, EWTCP) always have a utility. For OLIA ∂U/∂x_r = 1/(τ_r² X²) is a gradient
/// only with equal RTTs, or with steps c_r ∝ 1/τ_r². Coupled in 002's form has 1/W², c_r ∝ 1/τ_r.
/// DTS at fixed u is like OLIA. The maxima of LIA and Balia, and ecMTCP, are no gradients: hence
/// 002's claim that of the four controllers in its figure 6 only OLIA is Pareto-optimal.
#[test]
fn condition_2_holds_for_controllers_that_climb_a_utility() {
    let cases = [
        ("reno", law("reno", &[]), [true, true, true]),
        ("ewtcp", law("ewtcp", &[]), [true, true, true]),
        (
            "coupled as in 002",
            law("coupled", &[("epsilon", "seed")]),
            [true, true, false],
        ),
        ("olia", Law::Olia, [true, true, false]),
        ("emreno", Law::Emreno, [true, true, false]),
        ("dts", DTS, [true, true, false]),
        (
            "semicoupled",
            law("coupled", &[("epsilon", "semicoupled")]),
            [false, false, false],
        ),
        ("lia", Law::Lia, [false, false, false]),
        ("balia", law("balia", &[]), [false, false, false]),
        ("ecmtcp", ECMTCP, [false, false, false]),
        (
            "dwc",
            law("dwc", &[("groups", "all")]),
            [false, false, false],
        ),
    ];
    let with = |taus: [f64; 3]| -> Vec<Path> {
        taus.iter().map(|&tau| path(1.0, tau, 0.001, 0.8)).collect()
    };
    let (even, uneven) = (with([0.1; 3]), with([0.05, 0.1, 0.3]));
    println!("| controller | equal RTTs | unequal RTTs | as printed | asymmetry |");
    for (name, law, [equal, unequal, printed]) in cases {
        let alike = utility(Form::from(law), &even, &points(3));
        let mixed = utility(Form::from(law), &uneven, &points(3));
        let found = [
            alike.exists(1e-4),
            mixed.exists(1e-4),
            mixed.exists_as_printed(1e-4),
        ];
        println!(
            "| {name} | {} | {} | {} | {:.1e} |",
            found[0], found[1], found[2], mixed.asymmetry
        );
        assert_eq!(
            found,
            [equal, unequal, printed],
            "{name}: {alike:?} {mixed:?}"
        );
    }
}

/// c_r of OLIA: 1/τ_r², relative to the first of 0.05, 0.1, 0.3 s.
#[test]
fn olia_climbs_in_steps_of_the_inverse_square_of_the_rtt() {
    let paths: Vec<Path> = [0.05, 0.1, 0.3]
        .iter()
        .map(|&tau| path(1.0, tau, 0.001, 1.0))
        .collect();
    let steps = utility(Form::from(Law::Olia), &paths, &points(3)).steps;
    assert_near("second", steps[1], 0.25, 1e-6);
    assert_near("third", steps[2], 1.0 / 36.0, 1e-6);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Rates in Mbit/s, slopes in J/Mbit. Central differences of width 1e-4 are accurate to 1e-6 of
    /// the largest entry.
    #[test]
    fn gradient_and_hessian_of_the_efficiency_are_its_derivatives(
        interfaces in proptest::collection::vec((0.05..0.3f64, 0.1..2.0f64, 0.1..5.0f64), 2..=5),
    ) {
        let (slopes, rest): (Vec<f64>, Vec<(f64, f64)>) =
            interfaces.iter().map(|&(b, theta, x)| (b, (theta, x))).unzip();
        let (sunk, rates): (Vec<f64>, Vec<f64>) = rest.into_iter().unzip();
        let model = EnergyEfficiency { slope_j_per_bit: slopes, sunk_w: sunk };
        let width = 1e-4;
        let moved = |r: usize, by: f64| {
            let mut nearby = rates.clone();
            nearby[r] += by;
            nearby
        };
        let (gradient, hessian) = (model.gradient(&rates), model.hessian(&rates));
        let largest = hessian.amax();
        for r in 0..rates.len() {
            let slope = (model.at(&moved(r, width)) - model.at(&moved(r, -width))) / (2.0 * width);
            prop_assert!(
                (slope - gradient[r]).abs() <= 1e-6 * (1.0 + slope.abs()),
                "∂{r}: {slope}, formula {}",
                gradient[r]
            );
            let (above, below) = (model.gradient(&moved(r, width)), model.gradient(&moved(r, -width)));
            for s in 0..rates.len() {
                let bend = (above[s] - below[s]) / (2.0 * width);
                prop_assert!(
                    (bend - hessian[(r, s)]).abs() <= 1e-6 * largest,
                    "∂{r}∂{s}: {bend}, formula {}",
                    hessian[(r, s)]
                );
            }
        }
    }
}
