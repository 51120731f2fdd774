//! Calibration of a real radio with sockets, the clock and a meter.

mod link;
mod pace;
mod protocol;
mod rig;
mod sampler;
mod serve;

pub use link::{Link, Passage, Probe, UdpLink};
pub use rig::{LiveRig, ReadSignal, Switch};
pub use serve::FarEnd;
