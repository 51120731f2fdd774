//! Allocators as parts of a policy: their names and options.

use joulepath_model::units::Nanos;

use super::capacity::CapacityModel;
use super::eemptcp::{CostedPath, Infeasible, Problem, Reading};
use super::ga::Genetic;
use super::hosted::{self, AllocatorHost};
use super::so_mptcp::EnergyShape;
use crate::options::{self, OptionError};

/// How the EEMPTCP allocator solves its problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// Greedy, exact.
    #[default]
    Exact,
    /// The genetic algorithm of 000, for comparison.
    Genetic,
}

/// The EEMPTCP allocator of 000, section III.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eemptcp {
    /// The reading of problem (4)–(7).
    pub reading: Reading,
    /// Exact or genetic.
    pub solver: Solver,
    /// Mathis or PFTK.
    pub capacity: CapacityModel,
    /// Whether to solve again when the estimates change. 000 solves once, before the transfer:
    /// `solve=once`.
    pub online: bool,
}

impl Default for Eemptcp {
    fn default() -> Self {
        Eemptcp {
            reading: Reading::default(),
            solver: Solver::default(),
            capacity: CapacityModel::default(),
            online: true,
        }
    }
}

/// Names of the options of `eemptcp`.
pub const EEMPTCP_OPTIONS: [&str; 4] = ["reading", "solver", "capacity", "solve"];

/// Options of the so-MPTCP allocator of 003.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoMptcpOptions {
    /// V, packets per joule-per-packet: see [`super::so_mptcp`].
    pub v: f64,
    /// Δt.
    pub slot: Nanos,
    /// Shape of the energy.
    pub shape: EnergyShape,
}

/// Names of the options of `so-mptcp`.
pub const SO_MPTCP_OPTIONS: [&str; 3] = ["V", "slot", "energy"];

impl Default for SoMptcpOptions {
    /// V = 100 as in the paper's initialisation; the paper gives no slot length.
    fn default() -> Self {
        SoMptcpOptions {
            v: 100.0,
            slot: Nanos::from_millis(10),
            shape: EnergyShape::Linear,
        }
    }
}

impl SoMptcpOptions {
    fn set(&mut self, key: &str, value: &str) -> Result<(), OptionError> {
        let bad = |option, expected| {
            Err(OptionError::BadValue {
                option,
                value: value.to_owned(),
                expected,
            })
        };
        match (key, value) {
            ("V", _) => {
                let v = value
                    .parse::<f64>()
                    .ok()
                    .filter(|v| (0.0..1e12).contains(v));
                self.v = match v {
                    Some(v) => v,
                    None => return bad("V", "a number, 0 or more"),
                };
            }
            ("slot", _) => self.slot = options::time("slot", value)?.max(Nanos::from_millis(1)),
            ("energy", "linear") => self.shape = EnergyShape::Linear,
            ("energy", "convex") => self.shape = EnergyShape::Convex,
            ("energy", _) => return bad("energy", "`linear` or `convex`"),
            _ => {
                return Err(OptionError::unknown_option(
                    "so-mptcp",
                    key,
                    &SO_MPTCP_OPTIONS,
                ));
            }
        }
        Ok(())
    }
}

/// A rate allocator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allocator {
    /// Target shares for the controller `eemptcp`.
    Eemptcp(Eemptcp),
    /// Packets per slot for the scheduler `allotted`.
    SoMptcp(SoMptcpOptions),
    /// Target shares by an allocator of the host program.
    Hosted(&'static AllocatorHost),
}

/// Names of the allocators.
pub const ALLOCATORS: [&str; 2] = ["eemptcp", "so-mptcp"];

impl Allocator {
    /// The allocator called `name`, with `options` in the order written.
    ///
    /// # Errors
    /// An unknown name or option, or an invalid value.
    pub fn by_name(name: &str, options: &[(String, String)]) -> Result<Self, OptionError> {
        match name {
            "eemptcp" => Ok(Allocator::Eemptcp(Eemptcp::from_options(options)?)),
            "so-mptcp" => {
                let mut allocator = SoMptcpOptions::default();
                for (key, value) in options {
                    allocator.set(key, value)?;
                }
                Ok(Allocator::SoMptcp(allocator))
            }
            _ => match (hosted::find(name), options) {
                (None, _) => Err(OptionError::unknown_name("allocator", name, &ALLOCATORS)),
                (Some(host), []) => Ok(Allocator::Hosted(host)),
                (Some(host), [(key, _), ..]) => {
                    Err(OptionError::unknown_option(host.name(), key, &[]))
                }
            },
        }
    }

    /// Its name in the registry.
    pub fn name(&self) -> &'static str {
        match self {
            Allocator::Eemptcp(_) => "eemptcp",
            Allocator::SoMptcp(_) => "so-mptcp",
            Allocator::Hosted(host) => host.name(),
        }
    }

    /// True if it sets target shares, false if it sets packets per slot.
    pub fn shares(&self) -> bool {
        !matches!(self, Allocator::SoMptcp(_))
    }

    /// Option names of the allocator `name`.
    pub fn option_names(name: &str) -> &'static [&'static str] {
        match name {
            "eemptcp" => &EEMPTCP_OPTIONS,
            "so-mptcp" => &SO_MPTCP_OPTIONS,
            _ => &[],
        }
    }
}

impl Eemptcp {
    /// Builds it from options in the order written.
    ///
    /// # Errors
    /// An unknown option, or an invalid value.
    pub fn from_options(options: &[(String, String)]) -> Result<Self, OptionError> {
        let mut allocator = Self::default();
        for (key, value) in options {
            allocator.set(key, value)?;
        }
        Ok(allocator)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), OptionError> {
        let bad = |option, expected| {
            Err(OptionError::BadValue {
                option,
                value: value.to_owned(),
                expected,
            })
        };
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
            ("solve", "once") => self.online = false,
            ("solve", "online") => self.online = true,
            ("solve", _) => return bad("solve", "`once` or `online`"),
            _ => {
                return Err(OptionError::unknown_option(
                    "eemptcp",
                    key,
                    &EEMPTCP_OPTIONS,
                ));
            }
        }
        Ok(())
    }

    /// The shares α_r (sum 1) for `paths`, with R = max_r C_r as in 000. Only the genetic solver
    /// uses `random`.
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

/// Window targets ω_r / Σω of 000, eq. (9): ω_r = τ_r α_r g(p_r). `g` is 1/p as printed, or 1/(1−p)
/// (defect 000-1).
pub fn window_shares(
    shares: &[f64],
    rtt_s: &[f64],
    loss: &[f64],
    g: impl Fn(f64) -> f64,
) -> Vec<f64> {
    let weights: Vec<f64> = shares
        .iter()
        .zip(rtt_s)
        .zip(loss)
        .map(|((alpha, tau), &p)| tau * alpha * g(p))
        .collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}
