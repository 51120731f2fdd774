//! The last listings of connections, from which another crate explains what holds a connection
//! back. Keeping them costs no processor time; they are examined only when a client asks, at most
//! every 10 s.

use std::collections::{BTreeMap, VecDeque};

use joulepath_kernel::counters;
use joulepath_kernel::mptcp::diag::Listing;
use joulepath_model::units::Nanos;

use crate::status::{Hindrance, Status};

/// How long a listing is kept.
const KEPT: Nanos = Nanos::from_secs(24);
/// Least time between two kept listings.
const APART: Nanos = Nanos::from_millis(900);
/// Time between two readings of the counters.
const COUNTED: Nanos = Nanos::from_secs(10);
/// A listing with more sockets is not kept.
const MOST_SOCKETS: usize = 500;
/// Fewer listings, or a shorter time, explain nothing.
const LEAST: usize = 5;
const LEAST_TIME: Nanos = Nanos::from_secs(6);
/// An explanation is repeated this long.
const REPEATED: Nanos = Nanos::from_secs(10);

/// The connections at one instant.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// When, on the monotonic clock.
    pub at: Nanos,
    /// Connections with their statistics.
    pub listing: Listing,
    /// Counters of TCP and MPTCP; empty in most listings.
    pub counters: BTreeMap<String, u64>,
}

/// Explains what holds connections back: from at least two listings, the first and the last with
/// counters, and from what the daemon has decided.
pub type Explain<'a> = &'a dyn Fn(&[Kept], &Status) -> Vec<Hindrance>;

/// Reads the counters; none if that fails.
fn read_counters() -> BTreeMap<String, u64> {
    counters::read().unwrap_or_default()
}

pub(crate) struct Listings<'a> {
    explain: Explain<'a>,
    count: fn() -> BTreeMap<String, u64>,
    all: VecDeque<Kept>,
    counted: Option<Nanos>,
    explained: Option<(Nanos, Vec<Hindrance>)>,
}

impl<'a> Listings<'a> {
    pub(crate) fn new(explain: Explain<'a>) -> Self {
        Listings {
            explain,
            count: read_counters,
            all: VecDeque::new(),
            counted: None,
            explained: None,
        }
    }

    /// Keeps a new listing; `None` if this poll made none.
    pub(crate) fn keep(&mut self, now: Nanos, listing: Option<Listing>) {
        while self
            .all
            .front()
            .is_some_and(|kept| now.saturating_sub(kept.at) > KEPT)
        {
            self.all.pop_front();
        }
        let Some(listing) = listing else { return };
        if sockets(&listing) > MOST_SOCKETS {
            self.all.clear();
            return;
        }
        if self
            .all
            .back()
            .is_some_and(|kept| now.saturating_sub(kept.at) < APART)
        {
            return;
        }
        let is_due = self
            .counted
            .is_none_or(|at| now.saturating_sub(at) >= COUNTED);
        let counters = if is_due {
            (self.count)()
        } else {
            BTreeMap::new()
        };
        if is_due {
            self.counted = Some(now);
        }
        self.all.push_back(Kept {
            at: now,
            listing,
            counters,
        });
    }

    /// What holds connections back, the costliest first; `None` without enough listings.
    pub(crate) fn explain(&mut self, now: Nanos, status: &Status) -> Option<Vec<Hindrance>> {
        if let Some((at, known)) = &self.explained
            && now.saturating_sub(*at) < REPEATED
        {
            return Some(known.clone());
        }
        self.keep(now, None);
        let first = self
            .all
            .iter()
            .position(|kept| !kept.counters.is_empty())
            .unwrap_or(0);
        let all = &mut self.all.make_contiguous()[first..];
        let length = all.last()?.at.saturating_sub(all.first()?.at);
        if all.len() < LEAST || length < LEAST_TIME {
            return None;
        }
        all.last_mut()?.counters = (self.count)();
        self.counted = Some(now);
        let found = (self.explain)(all, status);
        self.explained = Some((now, found.clone()));
        Some(found)
    }
}

fn sockets(listing: &Listing) -> usize {
    let subflows: usize = listing
        .connections
        .iter()
        .map(|connection| connection.subflows.len())
        .sum();
    subflows + listing.plain.len() + listing.orphans.len()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::samples::{self, subflow};

    const S: fn(u64) -> Nanos = Nanos::from_secs;

    fn one(verdict: &str) -> Vec<Hindrance> {
        vec![Hindrance {
            verdict: verdict.into(),
            ..Hindrance::default()
        }]
    }

    fn listings<'a>(explain: Explain<'a>) -> Listings<'a> {
        Listings {
            count: || [("TcpExtTCPTimeouts".to_owned(), 1)].into(),
            ..Listings::new(explain)
        }
    }

    #[test]
    fn listings_of_six_seconds_are_explained_once_in_ten() {
        let calls = Cell::new(0);
        let status = samples::status(vec![]);
        let explain = |all: &[Kept], _: &Status| {
            calls.set(calls.get() + 1);
            assert!(!all[0].counters.is_empty() && !all[all.len() - 1].counters.is_empty());
            assert!(all[1].counters.is_empty(), "counters are read every 10 s");
            one(&all.len().to_string())
        };
        let mut kept = listings(&explain);
        for at in [0, 2, 4].map(S) {
            kept.keep(at, Some(Listing::default()));
            // A poll without a listing adds none, and neither does one that follows at once.
            kept.keep(at + Nanos::from_millis(100), None);
            kept.keep(at + Nanos::from_millis(200), Some(Listing::default()));
        }
        assert_eq!(kept.explain(S(5), &status), None);
        for at in [6, 8].map(S) {
            kept.keep(at, Some(Listing::default()));
        }
        assert_eq!(kept.explain(S(9), &status), Some(one("5")));
        kept.keep(S(10), Some(Listing::default()));
        assert_eq!(kept.explain(S(11), &status), Some(one("5")));
        assert_eq!(calls.get(), 1);
        assert_eq!(kept.explain(S(19), &status), Some(one("6")));
        // All listings are older than 24 s.
        assert_eq!(kept.explain(S(60), &status), None);
    }

    #[test]
    fn a_host_with_many_sockets_is_not_examined() {
        let status = samples::status(vec![]);
        let explain = |_: &[Kept], _: &Status| -> Vec<Hindrance> { panic!("it must not be asked") };
        let mut kept = listings(&explain);
        let socket = subflow(1, [192, 0, 2, 1].into(), 1);
        for at in (0..20).step_by(2).map(S) {
            let plain = vec![socket.clone(); if at == S(18) { MOST_SOCKETS + 1 } else { 3 }];
            kept.keep(
                at,
                Some(Listing {
                    plain,
                    ..Listing::default()
                }),
            );
        }
        assert_eq!(kept.explain(S(18), &status), None);
    }
}
