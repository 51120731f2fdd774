//! Fast paths: segments and ACKs on plain subflows, which is nearly all traffic.
//!
//! A fast path omits the steps of the general path that have no effect in its case. It begins with
//! the conditions of the case: if one fails, it changes nothing, and the general path takes the
//! packet. It uses the parts of the engine directly, without a [`Context`].
//!
//! | file | content |
//! |---|---|
//! | `acks` | the path of an ACK |
//! | `sending` | the sending side of a subflow; departures; pacing |
//! | `segments` | the path of an arriving segment |
//! | `tests` | random scenarios give the same bytes on fast and on general paths |
//!
//! [`Context`]: crate::connection::context::Context

mod acks;
mod segments;
mod sending;

#[cfg(test)]
mod tests;

use crate::connection::device::Interface;
use crate::parallel::shared::Shared;
use crate::run::engine::Engine;

/// The interface of subflow `s` at an end where its radio matters.
#[inline(always)]
fn radio(interfaces: &mut Shared<Interface>, s: usize, has_radio: bool) -> Option<&mut Interface> {
    if has_radio {
        Some(&mut interfaces[s])
    } else {
        None
    }
}

/// Whether the radio may sleep, so that the meter must learn of a packet at once.
#[inline(always)]
fn may_sleep(radio: Option<&Interface>, now_ns: u64) -> bool {
    radio.is_some_and(|interface| !interface.is_awake(now_ns))
}

impl Engine {
    /// True, except in tests that compare with the general path.
    #[cfg(not(test))]
    #[inline(always)]
    fn may_use_fast_paths(&self) -> bool {
        true
    }

    #[cfg(test)]
    fn may_use_fast_paths(&self) -> bool {
        self.uses_fast_paths
    }

    /// Counts, in tests, a packet that took a fast path.
    #[inline(always)]
    pub(super) fn count_fast_path(&mut self) {
        #[cfg(test)]
        {
            self.fast_path_hits += 1;
        }
    }
}
