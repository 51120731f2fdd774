//! Simulated runs as captures, as a device or a server would record them.
//!
//! ```text
//!   packet::trace ──► Flows: subflows, keys, bytes ──► packets of one end ──► pcapng, qlog
//! ```
//! [`Capture::pcapng`] writes IPv4, TCP and MPTCP headers (RFC 9293, 7323, 2018, 3168, 8684), as a capture
//! that keeps headers only; payload counts in the lengths. What the simulator knows besides stands
//! in comments: drops, phases of radios, joules. [`Capture::qlog`] writes the same packets with windows,
//! radios and joules as events.
//!
//! Keys, nonces and initial sequence numbers depend on the numbers of paths and subflows alone, so
//! equal runs give equal files.

mod capture;
mod flows;
mod keys;
mod packets;
mod pcapng;
mod qlog;
mod radios;
mod segment;

use joulepath_model::scenario::{Direction, Scenario};
use joulepath_model::units::Nanos;
use joulepath_packet::TraceLimits;

pub use capture::Capture;

/// Bounds of the traces that become captures: an hour, and about a gigabyte of memory.
pub const LIMITS: TraceLimits = TraceLimits {
    time: Nanos::from_secs(3600),
    packets: 5_000_000,
    samples: 360_000,
};

/// Where a capture is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The device with the radios, which opens the subflows.
    Client,
    /// The other end.
    Server,
}

impl End {
    /// Both.
    pub const ALL: [End; 2] = [End::Client, End::Server];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            End::Client => "client",
            End::Server => "server",
        }
    }
}

/// A scenario whose packets have no capture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Several connections under test.
    #[error(
        "a capture has one connection, and this scenario has {0}: use a scenario without `count` and \
         further [[connection]]s"
    )]
    Connections(u32),
    /// A relay or a shared channel.
    #[error("path `{0}` has a relay, whose packets have no capture: remove `relay`")]
    Relay(String),
    /// A path over a channel that it shares.
    #[error("path `{0}` is on a shared channel, whose packets have no capture: use links")]
    Channel(String),
}

/// Whether the runs of `scenario` can be captured.
///
/// # Errors
/// What has no capture.
pub fn check(scenario: &Scenario) -> Result<(), Refusal> {
    let connections = scenario.connections.iter().map(|group| group.count).sum();
    if connections != 1 {
        return Err(Refusal::Connections(connections));
    }
    for path in &scenario.paths {
        if path.relay.is_some() {
            return Err(Refusal::Relay(path.name.clone()));
        }
        if path.down.is_empty() || path.up.is_empty() {
            return Err(Refusal::Channel(path.name.clone()));
        }
    }
    Ok(())
}

/// The end that sends the data.
fn sender(scenario: &Scenario) -> End {
    match scenario.connections[0].direction {
        Direction::Download => End::Server,
        Direction::Upload => End::Client,
    }
}
