//! What is known of the packets whose events come soon (see `ahead`).

use crate::hop::Hop;
use crate::packet::Heading;

/// What the last look has found out about the events that are now three and two steps ahead. An event that
/// has been put between them since then makes that a little too early or too late, which does no harm.
#[derive(Clone, Copy)]
pub(crate) struct Ahead {
    pub(crate) heading: Heading,
    pub(crate) goal: Goal,
}

/// What a packet enters after its present link. If it arrives there, the hop means nothing.
#[derive(Clone, Copy)]
pub(crate) struct Goal {
    pub(crate) heading: Heading,
    pub(crate) hop: Hop,
}

impl Ahead {
    /// Nothing is known.
    pub(crate) const NOTHING: Self =
        Ahead { heading: Heading::NONE, goal: Goal { heading: Heading::NONE, hop: Hop::NONE } };
}
