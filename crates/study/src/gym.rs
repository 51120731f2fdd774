//! Reinforcement learning: connections that an agent steers, one step of simulated time after the other.
//!
//! ```text
//!   Spec ──► Environment ──reset──► Episode: a packet engine that is stepped
//!              ▲      │                 │
//!         action      └── observation, reward ◄── status: what TCP_INFO and the meter tell
//! ```
//! | module | what |
//! |---|---|
//! | `world` | where episodes happen: a scenario, or random scenarios of a family of the benchmark |
//! | `action` | what numbers from −1 to 1 mean |
//! | `observation` | what an agent sees, scaled to 0 to 1 |
//! | `reward` | joules, data and deadlines |
//! | `environment` | episodes one after the other |
//! | `fleet` | many environments on all cores |
//! | `score` | what classic policies reach by the same reward |
//!
//! Same seed and same actions, same bytes of observation and reward, on any number of cores. What users are
//! told of it is in docs/gym.md.

mod action;
mod environment;
mod fleet;
mod observation;
mod reward;
mod score;
mod world;

pub use action::{Meaning, Steers};
pub use environment::{Environment, Past, Spec, Start, Step, Summary};
pub use fleet::{Fleet, Outcome};
pub use observation::{CONNECTION_FEATURES, PATH_FEATURES};
pub use reward::Reward;
pub use score::{Task, score};
pub use world::World;

#[cfg(test)]
mod tests;
