//! A robust linear fit with bootstrap intervals.
//!
//! y = X β + e, rows weighted by measuring time. Outliers get less weight (Huber, Annals of
//! Mathematical Statistics 35, 1964, with his constant 1.345). Intervals are symmetric bootstrap-t
//! intervals from the wild bootstrap (Wu, Annals of Statistics 14, 1986; signs after Davidson and
//! Flachaire, Journal of Econometrics 146, 2008). Rows keep their design, their errors may have
//! different variances, and the quantiles are those of the studentised statistic, so few rows give
//! wide intervals.

use joulepath_model::random::Stream;
use nalgebra::{DMatrix, DVector};

use crate::robust::spread;

/// Resamples: the 95 % quantile of 999 is the 950th value.
pub(super) const RESAMPLES: usize = 999;
/// Coverage of the intervals.
pub(super) const COVERAGE: f64 = 0.95;
/// Huber's constant: 95 % efficiency on normal errors.
const HUBER: f64 = 1.345;
/// Slope that a row beyond Huber's limit adds to the estimating equations, so that they stay
/// solvable.
const LEAST_SLOPE: f64 = 0.1;
/// Most rounds of reweighting; it converges in fewer.
const ROUNDS: usize = 30;
/// Smallest eigenvalue of the columns' correlations. Below it a column is a combination of the
/// others.
const LEAST_EIGENVALUE: f64 = 1e-7;

#[derive(Clone, Debug)]
pub(super) struct Fit {
    pub(super) beta: DVector<f64>,
    /// (XᵀWX)⁻¹XᵀW with Huber's weights: maps observations to coefficients.
    solver: DMatrix<f64>,
    /// (XᵀW₀Ψ'X)⁻¹XᵀW₀: maps small changes of the observations to changes of the coefficients.
    influence: DMatrix<f64>,
    design: DMatrix<f64>,
    residuals: DVector<f64>,
    /// Limit at which the residual of each row is clipped.
    limits: DVector<f64>,
    /// 1 − leverage of each row. Residuals are divided by it (HC3): the error of each row without
    /// that row.
    freedom: DVector<f64>,
}

/// Fits the model. `None` if the rows do not determine the coefficients.
pub(super) fn fit(design: &DMatrix<f64>, observed: &DVector<f64>, weights: &[f64]) -> Option<Fit> {
    let prior = DVector::from_column_slice(weights);
    let plain = solver(design, &prior, &prior)?;
    let freedom = DVector::from_fn(design.nrows(), |i, _| {
        (1.0 - (design.row(i) * plain.column(i))[0]).max(1e-3)
    });
    let mut huber = DVector::from_element(weights.len(), 1.0);
    let mut solver_now = plain;
    let (mut beta, mut residuals, mut limits);
    let mut round = 0;
    loop {
        beta = &solver_now * observed;
        residuals = observed - design * &beta;
        let unit = DVector::from_fn(weights.len(), |i, _| (freedom[i] / prior[i]).sqrt());
        let scaled: Vec<f64> = residuals
            .iter()
            .zip(&unit)
            .map(|(error, unit)| error / unit)
            .collect();
        let limit = HUBER * spread(&scaled);
        limits = if limit > 0.0 {
            unit * limit
        } else {
            DVector::from_element(weights.len(), f64::INFINITY)
        };
        let next = DVector::from_fn(weights.len(), |i, _| {
            (limits[i] / residuals[i].abs()).min(1.0)
        });
        let moved = (&next - &huber).amax();
        round += 1;
        if moved < 1e-6 || round > ROUNDS {
            break;
        }
        huber = next;
        let both = prior.component_mul(&huber);
        solver_now = solver(design, &both, &both)?;
    }
    let slopes = DVector::from_fn(weights.len(), |i, _| {
        prior[i]
            * if residuals[i].abs() < limits[i] {
                1.0
            } else {
                LEAST_SLOPE
            }
    });
    let influence = solver(design, &slopes, &prior)?;
    Some(Fit {
        beta,
        solver: solver_now,
        influence,
        design: design.clone(),
        residuals,
        limits,
        freedom,
    })
}

/// (Xᵀ A X)⁻¹ Xᵀ B for diagonal A and B.
fn solver(design: &DMatrix<f64>, a: &DVector<f64>, b: &DVector<f64>) -> Option<DMatrix<f64>> {
    let times = |weights: &DVector<f64>| {
        DMatrix::from_fn(design.nrows(), design.ncols(), |i, j| {
            design[(i, j)] * weights[i]
        })
    };
    let normal = times(a).transpose() * design;
    // Columns differ by many powers of ten, so they are scaled to unit length.
    let scale = DVector::from_fn(normal.nrows(), |j, _| 1.0 / normal[(j, j)].sqrt());
    if scale.iter().any(|scale| !scale.is_finite()) {
        return None;
    }
    let scaled = |matrix: &DMatrix<f64>| {
        DMatrix::from_fn(matrix.nrows(), matrix.ncols(), |i, j| {
            matrix[(i, j)] * scale[i] * scale[j]
        })
    };
    let correlation = scaled(&normal);
    if correlation.symmetric_eigenvalues().min() < LEAST_EIGENVALUE {
        return None;
    }
    Some(scaled(&correlation.cholesky()?.inverse()) * times(b).transpose())
}

impl Fit {
    /// The coefficients for another design with the same weights: an estimate with the old design
    /// as instruments.
    pub(super) fn with_design(
        &self,
        design: &DMatrix<f64>,
        observed: &DVector<f64>,
    ) -> Option<DVector<f64>> {
        (&self.solver * design)
            .lu()
            .solve(&(&self.solver * observed))
    }

    /// Clipped residuals as errors of the rows.
    fn errors(&self, residuals: &DVector<f64>) -> DVector<f64> {
        DVector::from_fn(residuals.len(), |i, _| {
            residuals[i].clamp(-self.limits[i], self.limits[i]) / self.freedom[i]
        })
    }

    /// Bootstrap deviations of combinations of the coefficients (rows of `combine`) from their
    /// estimates: studentised by the resample, scaled by the estimate. One vector per combination.
    pub(super) fn deviations(&self, combine: &DMatrix<f64>, stream: &mut Stream) -> Vec<Vec<f64>> {
        let influence = combine * &self.influence;
        let scale = |errors: &DVector<f64>, combination: usize| {
            let row = influence.row(combination);
            row.iter()
                .zip(errors.iter())
                .map(|(a, e)| (a * e) * (a * e))
                .sum::<f64>()
                .sqrt()
        };
        let errors = self.errors(&self.residuals);
        let scales: Vec<f64> = (0..combine.nrows()).map(|k| scale(&errors, k)).collect();
        let mut deviations = vec![Vec::with_capacity(RESAMPLES); combine.nrows()];
        let mut signed = errors.clone();
        for _ in 0..RESAMPLES {
            let mut signs = 0;
            for row in 0..signed.len() {
                if row % 64 == 0 {
                    signs = stream.bits();
                }
                signed[row] = if signs >> (row % 64) & 1 == 1 {
                    errors[row]
                } else {
                    -errors[row]
                };
            }
            let moved = &self.influence * &signed;
            let left = self.errors(&(&signed - &self.design * &moved));
            let shifts = combine * &moved;
            for (combination, draws) in deviations.iter_mut().enumerate() {
                let own = scale(&left, combination);
                let studentised = if own > 0.0 {
                    shifts[combination] / own
                } else {
                    0.0
                };
                draws.push(studentised * scales[combination]);
            }
        }
        deviations
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::quantile::linear_unsorted;
    use joulepath_model::random::Domain;

    use super::*;

    /// y = 2 + 3 x; the error has a standard deviation of 0.1, or 0.4 for x > 0.5.
    fn draw(seed: u64, rows: usize) -> (DMatrix<f64>, DVector<f64>) {
        let mut stream = Stream::new(seed, Domain::Calibration, 0);
        let x = |i: usize| (i as f64 + 0.5) / rows as f64;
        let design = DMatrix::from_fn(rows, 2, |i, j| if j == 0 { 1.0 } else { x(i) });
        let observed = DVector::from_fn(rows, |i, _| {
            2.0 + 3.0 * x(i) + stream.normal() * if x(i) > 0.5 { 0.4 } else { 0.1 }
        });
        (design, observed)
    }

    fn half_width(fit: &Fit, combine: &DMatrix<f64>, seed: u64) -> f64 {
        let mut draws = fit
            .deviations(combine, &mut Stream::new(seed, Domain::Calibration, 1))
            .remove(0);
        draws.iter_mut().for_each(|draw| *draw = draw.abs());
        linear_unsorted(&mut draws, COVERAGE)
    }

    #[test]
    fn intervals_have_their_coverage_even_with_few_unequal_rows() {
        let combine = DMatrix::from_row_slice(1, 2, &[1.0, 0.5]);
        let covered = (0..400).filter(|&seed| {
            let (design, observed) = draw(seed, 24);
            let fit = fit(&design, &observed, &[1.0; 24]).unwrap();
            let error = fit.beta[0] + 0.5 * fit.beta[1] - 3.5;
            error.abs() < half_width(&fit, &combine, seed)
        });
        // 95 % of 400 is 380, with a standard error of 4.4.
        let covered = covered.count();
        assert!((366..=394).contains(&covered), "{covered} of 400");
    }

    #[test]
    fn a_few_outliers_hardly_change_the_fit() {
        let (design, mut observed) = draw(1, 40);
        let before = fit(&design, &observed, &[1.0; 40]).unwrap().beta;
        for row in [3, 17, 30] {
            observed[row] += 50.0;
        }
        let after = fit(&design, &observed, &[1.0; 40]).unwrap().beta;
        assert!((before - after).norm() < 0.5);
    }

    #[test]
    fn linearly_dependent_columns_give_no_fit() {
        let design = DMatrix::from_fn(8, 2, |i, j| (i + 1) as f64 * (j + 1) as f64);
        assert!(fit(&design, &DVector::from_element(8, 1.0), &[1.0; 8]).is_none());
    }
}
