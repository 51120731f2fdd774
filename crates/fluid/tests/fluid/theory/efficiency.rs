//! Energy efficiency of 000, eq. (4), with its gradient and Hessian.
//!
//! ```text
//!                X                                    ∂ee    D − b_r X
//!   ee(x) = ───────────      D = Σ (θ_r + b_r x_r)    ──── = ─────────                                  (10)
//!                D                                    ∂x_r       D²
//!
//!     ∂²ee       −(b_r + b_s) D + 2 b_r b_s X
//!   ───────── =  ────────────────────────────                                           (11), (12)
//!   ∂x_r ∂x_s                D³
//! ```
//! Deviation: eq. (12) as printed has the minus in front of both terms; finite differences agree
//! with the form above.

use nalgebra::DMatrix;

/// A set of active interfaces.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EnergyEfficiency {
    /// b_r, J/bit.
    pub(crate) slope_j_per_bit: Vec<f64>,
    /// θ_r, W.
    pub(crate) sunk_w: Vec<f64>,
}

impl EnergyEfficiency {
    /// D, W.
    fn power_w(&self, rates_bps: &[f64]) -> f64 {
        let transfer: f64 = self
            .slope_j_per_bit
            .iter()
            .zip(rates_bps)
            .map(|(b, x)| b * x)
            .sum();
        self.sunk_w.iter().sum::<f64>() + transfer
    }

    /// ee at these rates (bit/s), bit/J.
    pub(crate) fn at(&self, rates_bps: &[f64]) -> f64 {
        rates_bps.iter().sum::<f64>() / self.power_w(rates_bps)
    }

    /// Gradient, s/J (bit/J per bit/s).
    pub(crate) fn gradient(&self, rates_bps: &[f64]) -> Vec<f64> {
        let (total, power) = (rates_bps.iter().sum::<f64>(), self.power_w(rates_bps));
        self.slope_j_per_bit
            .iter()
            .map(|b| (power - b * total) / (power * power))
            .collect()
    }

    /// Hessian, s²/(bit J).
    pub(crate) fn hessian(&self, rates_bps: &[f64]) -> DMatrix<f64> {
        let (total, power) = (rates_bps.iter().sum::<f64>(), self.power_w(rates_bps));
        let b = &self.slope_j_per_bit;
        DMatrix::from_fn(b.len(), b.len(), |r, s| {
            (2.0 * b[r] * b[s] * total - (b[r] + b[s]) * power) / (power * power * power)
        })
    }
}
