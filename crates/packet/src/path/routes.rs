//! The routes of subflows over the links.

use std::ops::Range;

use crate::parallel::shared::Shared;
use crate::path::hop::Hop;
use crate::path::packet::Heading;

/// Hops in the order in which packets pass them: a range of the [table](RouteTable)'s list of hops.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Route {
    start: u32,
    len: u8,
}

impl Route {
    fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + usize::from(self.len)
    }

    /// Whether a packet that has passed `hops` hops has arrived.
    #[inline]
    pub(crate) fn is_complete(self, hops: u8) -> bool {
        hops == self.len
    }
}

/// Number of hops that [`Ways`] holds per direction.
const NEAR: usize = 8;

/// The first hops of a subflow's data and ACKs, in one cache line. [`Hop::NONE`] fills a shorter
/// route.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Ways([Hop; 2 * NEAR]);

const _: () = assert!(size_of::<Ways>() == 64);

impl Ways {
    /// The hop after `hops` hops of data or of ACKs; `None` beyond the first [`NEAR`].
    #[inline(always)]
    fn near(&self, is_ack: bool, hops: u8) -> Option<Hop> {
        let at = usize::from(hops);
        (at < NEAR).then(|| self.0[usize::from(is_ack) * NEAR + at])
    }
}

/// The routes of a subflow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routes {
    pub(crate) data: Route,
    pub(crate) acks: Route,
}

/// The routes of all subflows.
#[derive(Default)]
pub(crate) struct RouteTable {
    /// The hops of all routes.
    hops: Shared<Hop>,
    /// The routes of each subflow.
    routes: Shared<Routes>,
    /// Copies of the first hops, which is all that most packets need.
    ways: Shared<Ways>,
}

impl RouteTable {
    /// A view of the table for a part of the network.
    ///
    /// # Safety
    /// See [`Shared::view`], for all lists.
    pub(crate) unsafe fn view(&self) -> Self {
        // SAFETY: the caller guarantees it.
        unsafe {
            RouteTable {
                hops: self.hops.view(),
                routes: self.routes.view(),
                ways: self.ways.view(),
            }
        }
    }

    ///
    /// # Panics
    /// With more than 255 hops.
    pub(crate) fn add(&mut self, hops: &[Hop]) -> Route {
        let start = self.hops.len() as u32;
        let len = u8::try_from(hops.len()).expect("a route has at most 255 hops");
        hops.iter().for_each(|&hop| self.hops.push(hop));
        Route { start, len }
    }

    /// Adds the routes of the next subflow.
    pub(crate) fn add_subflow(&mut self, routes: Routes) {
        let hops = &self.hops;
        let mut ways = Ways([Hop::NONE; 2 * NEAR]);
        for (near, route) in ways.0.chunks_mut(NEAR).zip([routes.data, routes.acks]) {
            near.iter_mut()
                .zip(&hops[route.range()])
                .for_each(|(near, hop)| *near = *hop);
        }
        self.ways.push(ways);
        self.routes.push(routes);
    }

    /// The links of a route.
    pub(crate) fn links(&self, route: Route) -> impl Iterator<Item = usize> + '_ {
        self.hops[route.range()].iter().filter_map(|hop| hop.link())
    }

    /// The routes of a subflow.
    #[inline]
    pub(crate) fn of(&self, subflow: u32) -> &Routes {
        &self.routes[subflow as usize]
    }

    /// The next hop of a subflow's data or ACK after `hops` hops; [`Hop::NONE`] if it has arrived.
    #[inline(always)]
    pub(crate) fn next(&self, subflow: u32, is_ack: bool, hops: u8) -> Hop {
        let near = self.ways[subflow as usize].near(is_ack, hops);
        near.unwrap_or_else(|| self.next_of_many(subflow, is_ack, hops))
    }

    /// [`Self::next`] on a long route.
    #[cold]
    fn next_of_many(&self, subflow: u32, is_ack: bool, hops: u8) -> Hop {
        let Routes { data, acks } = self.routes[subflow as usize];
        let route = if is_ack { acks } else { data };
        if route.is_complete(hops) {
            Hop::NONE
        } else {
            self.hop(route, hops)
        }
    }

    /// The hop that a packet enters after `hops` hops of its route.
    #[inline]
    pub(crate) fn hop(&self, route: Route, hops: u8) -> Hop {
        self.hops[route.start as usize + hops as usize]
    }

    /// The next hop of a segment or an ACK after its present link, if it is among the first
    /// [`NEAR`] of the route. Otherwise an arbitrary hop: only for prefetching.
    #[inline(always)]
    pub(crate) fn near(&self, heading: Heading) -> Hop {
        let at = usize::from(heading.is_ack()) * NEAR + usize::from(heading.hops()) % NEAR;
        self.ways
            .get(heading.subflow as usize)
            .map_or(Hop::NONE, |ways| ways.0[at])
    }
}
