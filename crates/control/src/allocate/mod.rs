//! Rate allocators: the share of the traffic for each path.

mod allocator;
mod capacity;
pub mod eemptcp;
pub mod ga;
pub mod hosted;
pub mod online;
pub mod paced;
pub mod rate;
mod sharer;
pub mod so_mptcp;

pub use allocator::{
    ALLOCATORS, Allocator, EEMPTCP_OPTIONS, Eemptcp, SO_MPTCP_OPTIONS, SoMptcpOptions, Solver,
    window_shares,
};
pub use capacity::{CapacityModel, costed_path};
pub(crate) use capacity::{head_start, tcp_bps};
pub use eemptcp::{CostedPath, Infeasible, Problem, Reading, Solution};
pub use ga::Genetic;
pub use hosted::{AllocatorHooks, AllocatorHost, KnownPath, OpenAllocator, Seen};
pub use online::Resolver;
pub use paced::Paced;
pub(crate) use rate::mathis_bps;
pub use sharer::Sharer;
pub use so_mptcp::{EnergyShape, Sending, SlotPath, SoMptcp};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_slotted;
