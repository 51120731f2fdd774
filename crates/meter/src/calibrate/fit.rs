//! A robust linear fit with bootstrap intervals.
//!
//! y = X β + e, rows weighted by how long they were measured. Rows far off are weighted down (Huber, Annals of
//! Mathematical Statistics 35, 1964, with his constant 1.345). Intervals are symmetric bootstrap-t intervals by the
//! wild bootstrap (Wu, Annals of Statistics 14, 1986; signs after Davidson and Flachaire, Journal of Econometrics
//! 146, 2008): rows keep their design, errors may differ from row to row, and the quantiles are those of the
//! studentised statistic, so that few rows give wide intervals and not confident ones.

use joulepath_model::random::Stream;
use nalgebra::{DMatrix, DVector};

use crate::robust::spread;

/// Resamples: the 95 % quantile of 999 is the 950th value.
pub(super) const RESAMPLES: usize = 999;
/// Share of the resamples that an interval covers.
pub(super) const COVERAGE: f64 = 0.95;
/// Huber's constant: 95 % efficiency on normal errors.
const HUBER: f64 = 1.345;
/// Rounds of reweighting; it has settled long before.
const ROUNDS: usize = 30;

/// A fit.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    /// The coefficients.
    pub(super) beta: DVector<f64>,
    /// (XᵀWX)⁻¹XᵀW: coefficients from a vector of observations.
    solver: DMatrix<f64>,
    design: DMatrix<f64>,
    /// Residuals over (1 − leverage): what the error of each row would be without that row (HC3).
    errors: DVector<f64>,
    /// 1 − leverage of each row.
    freedom: DVector<f64>,
}

/// Fits. None if the rows do not determine the coefficients.
pub(super) fn fit(design: &DMatrix<f64>, observed: &DVector<f64>, weights: &[f64]) -> Option<Fit> {
    let mut huber = vec![1.0; weights.len()];
    let mut fitted = weighted(design, observed, weights)?;
    for _ in 0..ROUNDS {
        let scaled: Vec<f64> = (0..weights.len())
            .map(|row| fitted.residual(row) * (weights[row] / fitted.freedom[row]).sqrt())
            .collect();
        let limit = HUBER * spread(&scaled);
        if limit <= 0.0 {
            break;
        }
        let next: Vec<f64> = scaled.iter().map(|error| (limit / error.abs()).min(1.0)).collect();
        let moved = next.iter().zip(&huber).any(|(a, b)| (a - b).abs() > 1e-6);
        huber = next;
        let both: Vec<f64> = weights.iter().zip(&huber).map(|(weight, huber)| weight * huber).collect();
        fitted = weighted(design, observed, &both)?;
        if !moved {
            break;
        }
    }
    Some(fitted)
}

/// Least squares with given weights.
fn weighted(design: &DMatrix<f64>, observed: &DVector<f64>, weights: &[f64]) -> Option<Fit> {
    let weighted = DMatrix::from_fn(design.nrows(), design.ncols(), |i, j| design[(i, j)] * weights[i]);
    let normal = weighted.transpose() * design;
    // Columns differ by many powers of ten: what counts is how far each is from a mixture of the others.
    let scale = DVector::from_fn(normal.nrows(), |j, _| 1.0 / normal[(j, j)].sqrt());
    if scale.iter().any(|scale| !scale.is_finite()) {
        return None;
    }
    let correlation = DMatrix::from_fn(normal.nrows(), normal.ncols(), |i, j| {
        normal[(i, j)] * scale[i] * scale[j]
    });
    let least = correlation.symmetric_eigenvalues().min();
    if least < 1e-9 {
        return None;
    }
    let inverse = correlation.cholesky()?.inverse();
    let inverse = DMatrix::from_fn(inverse.nrows(), inverse.ncols(), |i, j| {
        inverse[(i, j)] * scale[i] * scale[j]
    });
    let solver = inverse * weighted.transpose();
    let beta = &solver * observed;
    let residuals = observed - design * &beta;
    let freedom = DVector::from_fn(design.nrows(), |i, _| {
        let leverage: f64 = (0..design.ncols()).map(|j| design[(i, j)] * solver[(j, i)]).sum();
        (1.0 - leverage).max(1e-3)
    });
    let errors = residuals.component_div(&freedom);
    Some(Fit { beta, solver, design: design.clone(), errors, freedom })
}

impl Fit {
    fn residual(&self, row: usize) -> f64 {
        self.errors[row] * self.freedom[row]
    }

    /// What the same weights make of another design.
    pub(super) fn with_design(&self, design: &DMatrix<f64>, observed: &DVector<f64>) -> Option<DVector<f64>> {
        // solver = (XᵀWX)⁻¹XᵀW, so W is lost; but X'Sᵀ… is not: solve the normal equations of the instruments S.
        // β' = (S X')⁻¹ S y, the instrumental-variable estimate, equal to the weighted one at X' = X.
        (&self.solver * design).lu().solve(&(&self.solver * observed))
    }

    /// Deviations of combinations of the coefficients (rows of `combine`) from their estimates, as they could have
    /// been: studentised by the resample, scaled by the estimate. One vector for each combination.
    pub(super) fn deviations(&self, combine: &DMatrix<f64>, stream: &mut Stream) -> Vec<Vec<f64>> {
        let influence = combine * &self.solver;
        let scale = |errors: &DVector<f64>, combination: usize| {
            let row = influence.row(combination);
            row.iter().zip(errors.iter()).map(|(a, e)| (a * e) * (a * e)).sum::<f64>().sqrt()
        };
        let scales: Vec<f64> = (0..combine.nrows()).map(|k| scale(&self.errors, k)).collect();
        let mut deviations = vec![Vec::with_capacity(RESAMPLES); combine.nrows()];
        let mut errors = self.errors.clone();
        for _ in 0..RESAMPLES {
            let mut signs = 0;
            for row in 0..errors.len() {
                if row % 64 == 0 {
                    signs = stream.bits();
                }
                let sign = if signs >> (row % 64) & 1 == 1 { 1.0 } else { -1.0 };
                errors[row] = sign * self.errors[row];
            }
            let moved = &self.solver * &errors;
            let left = (&errors - &self.design * &moved).component_div(&self.freedom);
            let shifts = combine * &moved;
            for (combination, draws) in deviations.iter_mut().enumerate() {
                let own = scale(&left, combination);
                let studentised = if own > 0.0 { shifts[combination] / own } else { 0.0 };
                draws.push(studentised * scales[combination]);
            }
        }
        deviations
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::random::Domain;

    use super::*;
    use crate::robust::quantile;

    /// y = 2 + 3 x with an error of sd 0.1, or 0.4 where x > 0.5.
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
        let mut draws = fit.deviations(combine, &mut Stream::new(seed, Domain::Calibration, 1)).remove(0);
        draws.iter_mut().for_each(|draw| *draw = draw.abs());
        quantile(&mut draws, COVERAGE)
    }

    #[test]
    fn an_interval_covers_the_truth_as_often_as_it_says_also_with_few_unequal_rows() {
        let combine = DMatrix::from_row_slice(1, 2, &[1.0, 0.5]);
        let covered = (0..400).filter(|&seed| {
            let (design, observed) = draw(seed, 12);
            let fit = fit(&design, &observed, &[1.0; 12]).unwrap();
            let error = fit.beta[0] + 0.5 * fit.beta[1] - 3.5;
            error.abs() < half_width(&fit, &combine, seed)
        });
        // 95 % of 400 is 380, with a standard error of 4.4.
        let covered = covered.count();
        assert!((366..=394).contains(&covered), "{covered} of 400");
    }

    #[test]
    fn a_few_wild_rows_hardly_move_it() {
        let (design, mut observed) = draw(1, 40);
        let before = fit(&design, &observed, &[1.0; 40]).unwrap().beta;
        for row in [3, 17, 30] {
            observed[row] += 50.0;
        }
        let after = fit(&design, &observed, &[1.0; 40]).unwrap().beta;
        assert!((before - after).norm() < 0.5);
    }

    #[test]
    fn columns_that_mix_into_one_another_are_no_fit() {
        let design = DMatrix::from_fn(8, 2, |i, j| (i + 1) as f64 * (j + 1) as f64);
        assert!(fit(&design, &DVector::from_element(8, 1.0), &[1.0; 8]).is_none());
    }
}
