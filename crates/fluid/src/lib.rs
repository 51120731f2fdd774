//! The fluid engine.
mod dynamics;
mod equilibrium;
mod form;
mod network;

pub use dynamics::{Dynamics, Flow};
pub use equilibrium::{Certificate, Equilibrium, NotFound};
pub use form::{Forces, Form};
pub use network::{Cost, LEAST_WINDOW, Link, LinkIndex, Network, Price, Route, User};
