//! What the engine cannot represent, and why a run has no result.

use joulepath_control::SetupError;

use crate::trajectory::Stuck;

/// What the fluid engine cannot represent of a scenario or a policy. The packet engine can.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// A part of the policy that decides what arrives and that the equations do not have. Packet schedulers
    /// that send each segment once do not matter to the equations: with enough data every window is used.
    #[error("`{policy}` uses {part}, which the fluid engine does not know")]
    Policy {
        /// The policy as written.
        policy: String,
        /// The part.
        part: String,
    },
    /// A topology, whose routes are drawn for each seed.
    #[error("the fluid engine knows paths, not a [topology]")]
    Topology,
    /// A workload that depends on the packet scheduler and on gaps between writes.
    #[error("connection `{connection}` carries {workload}; the fluid engine knows bulk data and files")]
    Workload {
        /// Name of the group.
        connection: String,
        /// What it carries.
        workload: &'static str,
    },
    /// A competitor that sends a file.
    #[error("competitor `{competitor}` sends a file; in the fluid engine competitors have data without end")]
    ShortCompetitor {
        /// Name of the competitor.
        competitor: String,
    },
    /// A competitor whose controller sets its window by what it has measured.
    #[error(
        "competitor `{competitor}` has a controller without an increase for each ACK; use --engine packet"
    )]
    NoLaw {
        /// Name of the competitor.
        competitor: String,
    },
    /// A link that marks packets.
    #[error("link `{link}` marks packets (ECN); the fluid engine's links only lose them")]
    Marking {
        /// Name of the link.
        link: String,
    },
    /// A link whose treatment of single packets the equations do not have.
    #[error(
        "link `{link}` has {feature}; the fluid engine's links are DropTail queues. Use --engine packet, or \
         take the key `{key}` out"
    )]
    Feature {
        /// Name of the link.
        link: String,
        /// What it has.
        feature: String,
        /// The key of the scenario that says so.
        key: &'static str,
    },
    /// A path over a shared channel, whose contention the equations do not have.
    #[error("path `{path}` has a relay; the fluid engine has no shared channels")]
    Relay {
        /// Name of the path.
        path: String,
    },
    /// A connection all of whose paths are backups.
    #[error("connection `{connection}` has backup paths only; the fluid engine does not use backups")]
    BackupsOnly {
        /// Name of the group.
        connection: String,
    },
    /// A backup path in a scenario whose links go down: it may be needed.
    #[error("path `{path}` is a backup, and links go down; the fluid engine does not switch between paths")]
    Backup {
        /// Name of the path.
        path: String,
    },
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The engine has no equations for it.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The setup does not fit the scenario: it was made for another one, or its allocator found no solution
    /// with this seed.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The equations could not be integrated.
    #[error(transparent)]
    Stuck(#[from] Stuck),
    /// [`RunOptions::cancel`](crate::RunOptions::cancel) was set before the end.
    #[error("the run was cancelled")]
    Cancelled,
}
