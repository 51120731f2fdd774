//! Requests that have been seen: a recorded one is refused.

use std::collections::{HashSet, VecDeque};

use crate::frame::{MOST_SKEW, Salt};

/// Salts of requests of the last minute. Only requests with the right key and time get here, so
/// strangers cannot fill it.
#[derive(Default)]
pub(crate) struct Seen {
    salts: HashSet<Salt>,
    order: VecDeque<(u64, Salt)>,
}

impl Seen {
    /// Adds a salt, at `now` in seconds of a clock that never steps back. False if it has been
    /// seen.
    pub(crate) fn is_new(&mut self, salt: Salt, now: u64) -> bool {
        // A request is valid for MOST_SKEW seconds before and after its time.
        while let Some(&(then, old)) = self.order.front() {
            if now.saturating_sub(then) <= 2 * MOST_SKEW {
                break;
            }
            self.order.pop_front();
            self.salts.remove(&old);
        }
        let new = self.salts.insert(salt);
        if new {
            self.order.push_back((now, salt));
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_salt_is_refused_as_long_as_its_request_could_be_valid_and_then_forgotten() {
        let mut seen = Seen::default();
        assert!(seen.is_new([1; 32], 100));
        assert!(!seen.is_new([1; 32], 100));
        assert!(seen.is_new([2; 32], 130));
        assert!(!seen.is_new([1; 32], 100 + 2 * MOST_SKEW));
        assert!(seen.is_new([1; 32], 101 + 2 * MOST_SKEW));
        assert_eq!((seen.salts.len(), seen.order.len()), (2, 2));
    }
}
