//! Results of the prefetching stages for the next events.

use crate::path::hop::Hop;
use crate::path::packet::Heading;

/// Results for the events three and two places ahead. An event inserted between them makes a
/// prefetch slightly too early or too late, which is harmless.
#[derive(Clone, Copy)]
pub(crate) struct Pipeline {
    pub(crate) heading: Heading,
    pub(crate) next: NextHop,
}

/// The hop that a packet enters after its present link; meaningless if the packet arrives there.
#[derive(Clone, Copy)]
pub(crate) struct NextHop {
    pub(crate) heading: Heading,
    pub(crate) hop: Hop,
}

impl Pipeline {
    /// Nothing is known.
    pub(crate) const EMPTY: Self = Pipeline {
        heading: Heading::NONE,
        next: NextHop {
            heading: Heading::NONE,
            hop: Hop::NONE,
        },
    };
}
