//! Fast paths: segments and ACKs on a subflow where nothing is unusual, which nearly all are.
//!
//! A fast path leaves out the steps of the general path that have no effect in its case. It begins with the
//! conditions of the case: if one does not hold, it changes nothing, and the general path takes the packet.
//! It works on the parts of the engine directly, without a [`Context`] in between.
//!
//! | file | what |
//! |---|---|
//! | `acks` | which path takes an ACK, and the fast ones |
//! | `sending` | the sending side of a subflow; segments that leave; pacing |
//! | `segments` | segments that arrive |
//! | `tests` | random scenarios by the fast and by the general paths give the same bytes |
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
    if has_radio { Some(&mut interfaces[s]) } else { None }
}

/// Whether it may be asleep, so that its meter has to learn of a packet at once.
#[inline(always)]
fn may_sleep(radio: Option<&Interface>, now_ns: u64) -> bool {
    radio.is_some_and(|interface| !interface.is_awake(now_ns))
}

impl Engine {
    /// Whether fast paths may be taken: always, but in tests that compare them with the general path.
    #[cfg(not(test))]
    #[inline(always)]
    fn may_use_fast_paths(&self) -> bool {
        true
    }

    #[cfg(test)]
    fn may_use_fast_paths(&self) -> bool {
        self.uses_fast_paths
    }

    /// Lets tests know that a packet took a fast path.
    #[inline(always)]
    pub(super) fn count_fast_path(&mut self) {
        #[cfg(test)]
        {
            self.fast_path_hits += 1;
        }
    }
}
