//! The windows that a receiver whose buffer grows has offered, on their way to the sender.
//!
//! An ACK carries the next DSN expected, and the end of the window follows from it: both change
//! only when data is delivered in order. So an ACK needs no field for the window: the sender looks
//! up the DSN. What a lost ACK would have told, the next one tells.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An offer: the first DSN beyond the window that an ACK for `next` carries.
#[derive(Clone, Copy, Debug)]
struct Offer {
    next: u32,
    end: u32,
}

/// Offers that the sender may not have received, in order. Both ends of a connection have a handle,
/// also where they are simulated by different threads: an entry counts only for an ACK that left
/// after it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offers(Arc<Mutex<VecDeque<Offer>>>);

impl Offers {
    /// Records that ACKs for `next` offer the window up to `end`.
    pub(crate) fn offer(&self, next: u32, end: u32) {
        self.list().push_back(Offer { next, end });
    }

    /// The end of the window that an ACK for `next` carries; `None` if no offer is new.
    pub(crate) fn take(&self, next: u32) -> Option<u32> {
        let mut list = self.list();
        let mut end = None;
        while let Some(offer) = list.front().filter(|offer| offer.next <= next) {
            end = Some(offer.end);
            list.pop_front();
        }
        end
    }

    fn list(&self) -> MutexGuard<'_, VecDeque<Offer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_brings_the_offers_up_to_its_number() {
        let receiver = Offers::default();
        let sender = receiver.clone();
        for (next, end) in [(1, 57), (2, 60), (5, 70)] {
            receiver.offer(next, end);
        }
        assert_eq!(sender.take(0), None);
        assert_eq!(sender.take(2), Some(60), "the ACK for 1 is lost");
        assert_eq!(
            (sender.take(4), sender.take(5), sender.take(9)),
            (None, Some(70), None)
        );
    }
}
