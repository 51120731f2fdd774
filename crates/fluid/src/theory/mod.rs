//! Theorems and claims of the papers as functions: conditions on ψ, fairness, the shape of 000's objective,
//! 003's trade-off.

mod conditions;
mod drift;
mod efficiency;
mod fairness;

pub use conditions::{Friendliness, Utility, friendliness, utility};
pub use drift::{Averages, Slots};
pub use efficiency::EnergyEfficiency;
pub use fairness::{Bottleneck, tcp_shares};
