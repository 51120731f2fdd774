//! Rate allocators: what share of the traffic each path should carry.

pub mod eemptcp;
pub mod ga;
pub mod rate;

use crate::options::OptionError;
pub use crate::path::costed_path;
pub use eemptcp::{CostedPath, Infeasible, Problem, Reading, Solution};
pub use ga::Genetic;

/// How the EEMPTCP allocator solves its problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// Greedy, exact.
    #[default]
    Exact,
    /// The genetic algorithm of 000, for comparison.
    Genetic,
}

/// Where the EEMPTCP allocator takes the capacities C_r from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CapacityModel {
    /// Mathis et al. 1997, as 000 does.
    #[default]
    Mathis,
    /// Padhye et al. 1998, which counts timeouts: lower on very lossy paths (defect 000-13).
    Pftk,
}

/// The EEMPTCP allocator of 000, section III.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Eemptcp {
    /// Which reading of problem (4)–(7).
    pub reading: Reading,
    /// Exact or genetic.
    pub solver: Solver,
    /// Mathis or PFTK.
    pub capacity: CapacityModel,
}

/// Names of the allocator's options.
pub const EEMPTCP_OPTIONS: [&str; 3] = ["reading", "solver", "capacity"];

impl Eemptcp {
    /// From options in the order written.
    ///
    /// # Errors
    /// An unknown option, or a value that does not fit.
    pub fn from_options(options: &[(String, String)]) -> Result<Self, OptionError> {
        let mut allocator = Self::default();
        for (key, value) in options {
            allocator.set(key, value)?;
        }
        Ok(allocator)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), OptionError> {
        let bad = |option, expected| Err(OptionError::BadValue { option, value: value.to_owned(), expected });
        match (key, value) {
            ("reading", "A") => self.reading = Reading::A,
            ("reading", "B") => self.reading = Reading::B,
            ("reading", "C") => self.reading = Reading::C,
            ("reading", "D") => self.reading = Reading::D,
            ("reading", _) => return bad("reading", "`A`, `B`, `C` or `D`"),
            ("solver", "exact") => self.solver = Solver::Exact,
            ("solver", "ga") => self.solver = Solver::Genetic,
            ("solver", _) => return bad("solver", "`exact` or `ga`"),
            ("capacity", "mathis") => self.capacity = CapacityModel::Mathis,
            ("capacity", "pftk") => self.capacity = CapacityModel::Pftk,
            ("capacity", _) => return bad("capacity", "`mathis` or `pftk`"),
            _ => return Err(OptionError::unknown_option("eemptcp", key, &EEMPTCP_OPTIONS)),
        }
        Ok(())
    }

    /// The shares α_r (sum 1) for `paths`, with R = max_r C_r as in 000. `random` is used by the genetic solver only.
    ///
    /// # Errors
    /// If the problem in this reading has no feasible point, or the genetic solver found none.
    pub fn shares(
        &self,
        paths: &[CostedPath],
        random: &mut impl rand_core::Rng,
    ) -> Result<Vec<f64>, Infeasible> {
        let problem = Problem::of_paper(paths, self.reading);
        let solution = match self.solver {
            Solver::Exact => problem.solve(),
            Solver::Genetic => Genetic::default().solve(&problem, random),
        };
        Ok(solution?.shares())
    }
}

/// Window targets ω_r / Σω of 000, eq. (9): ω_r = τ_r α_r g(p_r). `g` is 1/p as printed or 1/(1−p) (defect 000-1).
pub fn window_shares(shares: &[f64], rtt_s: &[f64], loss: &[f64], g: impl Fn(f64) -> f64) -> Vec<f64> {
    let weights: Vec<f64> =
        shares.iter().zip(rtt_s).zip(loss).map(|((alpha, tau), &p)| tau * alpha * g(p)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

#[cfg(test)]
mod tests;
