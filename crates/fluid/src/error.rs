//! Features that the engine does not support, and reasons why a run has no result.

use joulepath_control::SetupError;
use joulepath_model::units::Bytes;

use crate::trajectory::Stuck;

/// A feature of a scenario or policy that the fluid engine does not support. The packet engine
/// does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// A part of the policy that affects arrivals and is missing in the equations. Packet
    /// schedulers that send each segment once do not matter where windows limit a connection.
    #[error("`{policy}` uses {part}, which the fluid engine does not support")]
    Policy {
        /// The policy as written.
        policy: String,
        /// The part.
        part: String,
    },
    /// A topology, whose routes are drawn for each seed.
    #[error("the fluid engine does not support [topology]")]
    Topology,
    /// A workload that depends on the packet scheduler and on gaps between writes.
    #[error(
        "connection `{connection}` carries {workload}; the fluid engine supports only bulk data and files"
    )]
    Workload {
        /// Name of the group.
        connection: String,
        /// Its workload.
        workload: &'static str,
    },
    /// A competitor that sends a file.
    #[error(
        "competitor `{competitor}` sends a file; competitors in the fluid engine send without end"
    )]
    ShortCompetitor {
        /// Name of the competitor.
        competitor: String,
    },
    /// A competitor whose controller computes its window from measurements.
    #[error(
        "competitor `{competitor}` has a controller without an increase per ACK; use --engine packet"
    )]
    NoLaw {
        /// Name of the competitor.
        competitor: String,
    },
    /// A controller that weighs paths by their energy per bit, over a link with random losses.
    #[error(
        "`{policy}` weighs the paths of connection `{connection}` by their energy per bit, and link `{link}` \
         loses packets at random: the split depends on how rates vary, and the fluid engine has only their \
         means. Use --engine packet"
    )]
    Feedback {
        /// The policy as written.
        policy: String,
        /// Name of the group.
        connection: String,
        /// Name of the link.
        link: String,
    },
    /// A link that marks packets.
    #[error("link `{link}` marks packets (ECN); the fluid engine's links only lose them")]
    Marking {
        /// Name of the link.
        link: String,
    },
    /// A link with a per-packet feature that is missing in the equations.
    #[error(
        "link `{link}` has {feature}; the fluid engine's links are DropTail queues. Use --engine packet, or \
         take the key `{key}` out"
    )]
    Feature {
        /// Name of the link.
        link: String,
        /// The feature.
        feature: String,
        /// The key of the scenario that sets it.
        key: &'static str,
    },
    /// Bursts of losses that stop a TCP; timeouts are missing in the equations.
    #[error(
        "link `{link}` loses packets in bursts: lost retransmissions would stop a TCP for {percent} % of the \
         time, and the fluid engine has no timeouts. Use --engine packet, or shorten the bursts (`leave_bad` \
         in the link's `loss`)"
    )]
    Bursts {
        /// Name of the link.
        link: String,
        /// Part of the time, %.
        percent: u32,
    },
    /// A connection whose buffer limits it, and does not always go to its fastest path.
    #[error(
        "the {end} buffer ({buffer}) limits connection `{connection}`, so the packet scheduler decides the \
         split between its paths, and the fluid engine has no scheduler. Use --engine packet, or a larger \
         `{end}.buffer`"
    )]
    Split {
        /// Name of the group.
        connection: String,
        /// The end with the smaller buffer: `receiver` or `sender`.
        end: &'static str,
        /// Its buffer.
        buffer: Bytes,
    },
    /// A path over a shared channel; contention is missing in the equations.
    #[error("path `{path}` has a relay; the fluid engine has no shared channels")]
    Relay {
        /// Name of the path.
        path: String,
    },
    /// A connection with only backup paths.
    #[error(
        "connection `{connection}` has backup paths only; the fluid engine does not use backups"
    )]
    BackupsOnly {
        /// Name of the group.
        connection: String,
    },
    /// A backup path in a scenario with links that go down, which may need it.
    #[error(
        "path `{path}` is a backup, and links go down; the fluid engine does not switch between paths"
    )]
    Backup {
        /// Name of the path.
        path: String,
    },
}

/// Reason why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The engine does not support it.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The setup does not fit the scenario: it belongs to another scenario, or its allocator found
    /// no solution with this seed.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The equations could not be integrated.
    #[error(transparent)]
    Stuck(#[from] Stuck),
    /// [`RunOptions::cancel`](crate::RunOptions::cancel) was set before the end.
    #[error("the run was cancelled")]
    Cancelled,
}
