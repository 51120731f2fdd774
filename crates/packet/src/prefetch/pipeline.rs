//! What the prefetching stages know of the next events.

use crate::path::hop::Hop;
use crate::path::packet::Heading;

/// What the stages have found out about the events that are three and two places ahead. An event that has
/// been put between them since then makes that a little too early or too late, which does no harm.
#[derive(Clone, Copy)]
pub(crate) struct Pipeline {
    pub(crate) heading: Heading,
    pub(crate) next: NextHop,
}

/// The hop that a packet enters after its present link. If the packet arrives there, the hop means nothing.
#[derive(Clone, Copy)]
pub(crate) struct NextHop {
    pub(crate) heading: Heading,
    pub(crate) hop: Hop,
}

impl Pipeline {
    /// Nothing is known.
    pub(crate) const EMPTY: Self =
        Pipeline { heading: Heading::NONE, next: NextHop { heading: Heading::NONE, hop: Hop::NONE } };
}
