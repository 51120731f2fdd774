//! Allocators that change the shares of a running connection.

use joulepath_model::random::Stream;

use super::hosted::{Hosted, Seen};
use super::online::Resolver;

/// An allocator of shares in one connection.
#[derive(Debug)]
pub enum Sharer {
    /// EEMPTCP's problem, solved online, with the random numbers of its genetic solver.
    Eemptcp(Resolver, Stream),
    /// An allocator of the host program.
    Hosted(Hosted),
}

impl Sharer {
    /// New shares, one per path, if there are any. Called ten times a second; it answers less
    /// often.
    pub fn look(&mut self, seen: &Seen) -> Option<Vec<f64>> {
        match self {
            Sharer::Eemptcp(resolver, random) => {
                resolver.solve(seen.now, seen.paths, seen.mss_bytes, random)
            }
            Sharer::Hosted(hosted) => hosted.look(seen),
        }
    }
}
