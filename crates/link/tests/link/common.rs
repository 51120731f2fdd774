//! Links for tests.

use joulepath_link::Outcome;
use joulepath_model::network::{LinkSpec, QueueLimit, RateSpec};
use joulepath_model::units::Nanos;

/// Milliseconds.
pub(crate) fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// No delay, at most 50 waiting packets, no loss on the wire.
pub(crate) fn with_rate(rate: RateSpec) -> LinkSpec {
    let queue = QueueLimit::Packets(50);
    LinkSpec::new("under test".into(), rate, Nanos::ZERO, queue)
}

/// Delivery time of a packet; fails if it is lost.
#[track_caller]
pub(crate) fn delivered_at(outcome: Outcome) -> Nanos {
    match outcome {
        Outcome::Delivered { at, .. } => at,
        lost => panic!("{lost:?}"),
    }
}
