//! Theorems and claims of the papers as functions: conditions on ψ, fairness, the shape of 000's
//! objective, 003's trade-off.

mod conditions;
mod drift;
mod efficiency;
mod fairness;

pub(crate) use conditions::{friendliness, utility};
pub(crate) use drift::{Averages, Slots};
pub(crate) use efficiency::EnergyEfficiency;
pub(crate) use fairness::{Bottleneck, tcp_shares};
