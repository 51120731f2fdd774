//! Conditions 1 and 2 of 002, section V-A.

use joulepath_controllers::formula::Path;
use joulepath_fluid::{Equilibrium, Form, Network};
use nalgebra::DMatrix;

/// Terms of Condition 1: one user at an equilibrium, on the route h with its largest rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Friendliness {
    /// h, the user's route with the largest rate.
    pub(crate) best: usize,
    /// ψ_h.
    pub(crate) psi: f64,
    /// β_h.
    pub(crate) beta: f64,
    /// φ_h, packets/s².
    pub(crate) phi: f64,
    /// X divided by the rate √(2/λ)/τ of a TCP on the route where that rate is largest. This ratio
    /// defines friendliness (RFC 6356).
    pub(crate) tcp_shares: f64,
}

impl Friendliness {
    /// True if Condition 1 holds: ψ_h ≤ 1, β_h = ½, φ_h = 0, up to `tolerance`.
    pub(crate) fn holds(&self, tolerance: f64) -> bool {
        self.psi <= 1.0 + tolerance && (self.beta - 0.5).abs() <= tolerance && self.phi == 0.0
    }
}

/// Condition 1 for user `u` of `network` at `equilibrium`.
pub(crate) fn friendliness(network: &Network, u: usize, equilibrium: &Equilibrium) -> Friendliness {
    let paths = equilibrium.paths(network, u);
    let form = network.users[u].form;
    let by = |of: &dyn Fn(&Path) -> f64| {
        (0..paths.len())
            .max_by(|&a, &b| of(&paths[a]).total_cmp(&of(&paths[b])))
            .unwrap_or(0)
    };
    let tcp = |path: &Path| (2.0 / path.p).sqrt() / path.tau;
    let best = by(&Path::x);
    let total: f64 = paths.iter().map(Path::x).sum();
    Friendliness {
        best,
        psi: form.psi(&paths, best),
        beta: form.forces(&paths, best).decrease,
        phi: form.forces(&paths, best).drain * paths[best].x() / paths[best].tau,
        tcp_shares: total / tcp(&paths[by(&tcp)]),
    }
}

/// Terms of Condition 2: whether the increase is the gradient of a concave utility, tested at some
/// points.
///
/// With θ_r = c_r x_r² and losses β x² λ the dynamics climb U(x) − ½ Σ ∫ p if ∂U/∂x_r = f_r/c_r,
/// f_r = ψ_r/(2 β_r τ_r² X²). Such a U exists if the Jacobian of f/c is symmetric; U is concave if
/// this Jacobian has no positive eigenvalue. 002 sets c = 1. A controller with another c is
/// Pareto-optimal for prices weighted by 1/c_r.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Utility {
    /// c_r relative to the first route's.
    pub(crate) steps: Vec<f64>,
    /// Largest |J_rk − J_kr| at any point, relative to the largest entry.
    pub(crate) asymmetry: f64,
    /// Largest eigenvalue of the symmetric part at any point, relative to the largest entry.
    pub(crate) curvature: f64,
    /// Smallest f_r relative to the largest. It must be positive, since a utility increases.
    pub(crate) least: f64,
}

impl Utility {
    /// True if Condition 2 holds with some constant step sizes.
    pub(crate) fn exists(&self, tolerance: f64) -> bool {
        self.steps.iter().all(|step| *step > 0.0)
            && self.asymmetry <= tolerance
            && self.curvature <= tolerance
            && self.least > 0.0
    }

    /// True if Condition 2 holds as printed: θ_r = x_r².
    pub(crate) fn exists_as_printed(&self, tolerance: f64) -> bool {
        self.exists(tolerance)
            && self
                .steps
                .iter()
                .all(|step| (step - 1.0).abs() <= tolerance)
    }
}

/// Relative step of the differences that approximate the derivatives.
const DIFFERENCE: f64 = 1e-5;

/// Tests whether `form` climbs a utility on `paths`, at each of `points` (rates, packets/s).
/// Losses, RTTs, costs and shares of `paths` stay constant.
pub(crate) fn utility(form: Form, paths: &[Path], points: &[Vec<f64>]) -> Utility {
    let jacobians: Vec<DMatrix<f64>> = points
        .iter()
        .map(|rates| jacobian(form, paths, rates))
        .collect();
    let steps = match jacobians.first() {
        Some(first) => (0..paths.len()).map(|r| step(first, r)).collect(),
        None => vec![1.0; paths.len()],
    };
    let mut found = Utility {
        steps,
        asymmetry: 0.0,
        curvature: f64::NEG_INFINITY,
        least: f64::INFINITY,
    };
    for (matrix, rates) in jacobians.into_iter().zip(points) {
        found.look_at(matrix, &field(form, paths, rates));
    }
    found
}

impl Utility {
    fn look_at(&mut self, mut matrix: DMatrix<f64>, field: &[f64]) {
        for (mut row, step) in matrix.row_iter_mut().zip(&self.steps) {
            row /= *step;
        }
        let scale = matrix.amax();
        let transposed = matrix.transpose();
        self.asymmetry = self.asymmetry.max((&matrix - &transposed).amax() / scale);
        let symmetric = (matrix + transposed) / 2.0;
        self.curvature = self
            .curvature
            .max(symmetric.symmetric_eigenvalues().max() / scale);
        let most = field.iter().copied().fold(0.0, f64::max);
        self.least = field.iter().map(|f| f / most).fold(self.least, f64::min);
    }
}

/// The c_r/c_0 that makes the entries (0, r) and (r, 0) equal. It is 1 if both are zero, and not
/// positive if no c_r/c_0 does.
fn step(jacobian: &DMatrix<f64>, r: usize) -> f64 {
    let (down, across) = (jacobian[(r, 0)], jacobian[(0, r)]);
    let negligible = 1e-6 * jacobian.amax();
    match (down.abs() <= negligible, across.abs() <= negligible) {
        (true, true) => 1.0,
        (false, false) => down / across,
        _ => 0.0,
    }
}

/// f_r = ψ_r/(2 β_r τ_r² X²), s².
fn field(form: Form, paths: &[Path], rates: &[f64]) -> Vec<f64> {
    let moved: Vec<Path> = paths
        .iter()
        .zip(rates)
        .map(|(path, x)| Path {
            w: x * path.tau,
            ..*path
        })
        .collect();
    let total: f64 = rates.iter().sum();
    let of = |r: usize| {
        let beta = form.forces(&moved, r).decrease;
        form.psi(&moved, r) / (2.0 * beta * moved[r].tau * moved[r].tau * total * total)
    };
    (0..paths.len()).map(of).collect()
}

fn jacobian(form: Form, paths: &[Path], rates: &[f64]) -> DMatrix<f64> {
    let n = rates.len();
    let mut matrix = DMatrix::zeros(n, n);
    for k in 0..n {
        let width = DIFFERENCE * rates[k];
        let at = |x: f64| {
            let mut nearby = rates.to_vec();
            nearby[k] = x;
            field(form, paths, &nearby)
        };
        let (above, below) = (at(rates[k] + width), at(rates[k] - width));
        for r in 0..n {
            matrix[(r, k)] = (above[r] - below[r]) / (2.0 * width);
        }
    }
    matrix
}
