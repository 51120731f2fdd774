//! Who changes the shares of a connection while it goes on.

use joulepath_model::random::Stream;

use super::hosted::{Hosted, Seen};
use super::online::Resolver;

/// An allocator of shares at work in one connection.
#[derive(Debug)]
pub enum Sharer {
    /// EEMPTCP's problem, solved on line, with the random numbers of its genetic solver.
    Eemptcp(Resolver, Stream),
    /// One of the program that holds this library.
    Hosted(Hosted),
}

impl Sharer {
    /// New shares if there are any, one for each path. It is asked ten times a second, and answers less
    /// often.
    pub fn look(&mut self, seen: &Seen) -> Option<Vec<f64>> {
        match self {
            Sharer::Eemptcp(resolver, random) => resolver.solve(seen.now, seen.paths, seen.mss_bytes, random),
            Sharer::Hosted(hosted) => hosted.look(seen),
        }
    }
}
