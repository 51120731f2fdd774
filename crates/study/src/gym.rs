//! Reinforcement learning: an agent steers connections, one step of simulated time after another.
//!
//! ```text
//!   Spec ──► Environment ──reset──► Episode: a packet engine that is stepped
//!              ▲      │                 │
//!         action      └── observation, reward ◄── status: TCP_INFO and the energy meter
//! ```
//! | module | contents |
//! |---|---|
//! | `world` | scenarios of episodes: a fixed one, or random ones of a benchmark family |
//! | `action` | meaning of the numbers from −1 to 1 |
//! | `observation` | values that the agent observes, scaled to 0 to 1 |
//! | `reward` | reward from joules, data and deadlines |
//! | `environment` | a sequence of episodes |
//! | `fleet` | many environments on all cores |
//! | `score` | rewards of classic policies |
//!
//! Equal seeds and actions give the same bytes of observation and reward, on any number of cores.
//! docs/gym.md is the user's guide.

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
