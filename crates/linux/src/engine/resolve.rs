//! EEMPTCP's problem, solved again while the run goes, with estimates taken from the connections.

use joulepath_control::allocate::{Resolver, costed_path};
use joulepath_control::price::TICK;
use joulepath_control::select::{Counters, Observer};
use joulepath_link::random::{Domain, Stream};
use joulepath_model::scenario::{Direction, PathIndex, Scenario};
use joulepath_model::units::Nanos;

use super::control::Share;
use super::plan::{chosen, energies};
use super::setup::Setup;
use super::view::View;
use crate::error::Result;

/// One connection.
struct Resolving {
    connection: usize,
    direction: Direction,
    paths: Vec<PathIndex>,
    observer: Observer,
    resolver: Resolver,
    random: Stream,
    /// The last ones that differ from those at the start.
    shares: Option<Vec<f64>>,
}

/// All connections whose shares are solved on line.
pub(super) struct Resolvers {
    all: Vec<Resolving>,
    mss_bytes: f64,
    due: Nanos,
}

impl Resolvers {
    /// Empty unless the policy's allocator is on line.
    pub(super) fn new(scenario: &Scenario, setup: &Setup, seed: u64) -> Result<Self> {
        let mss_bytes = scenario.transport.mss.0 as f64;
        let mut resolvers = Resolvers { all: vec![], mss_bytes, due: TICK };
        let Some(allocator) = setup.allocator.filter(|allocator| allocator.online) else {
            return Ok(resolvers);
        };
        let mut connection = 0;
        for group in &scenario.connections {
            let paths = chosen(scenario, setup, group)?;
            let energies = energies(scenario, group.direction, &paths);
            let capacity = |&path: &PathIndex| {
                costed_path(scenario, group.direction, path, allocator.capacity).capacity_bps
            };
            let solved_bps: Vec<f64> = paths.iter().map(capacity).collect();
            for _ in 0..group.count {
                resolvers.all.push(Resolving {
                    connection,
                    direction: group.direction,
                    paths: paths.clone(),
                    observer: Observer::new(&energies, mss_bytes),
                    resolver: Resolver::new(allocator, solved_bps.clone()),
                    random: Stream::new(seed, Domain::Allocator, connection as u64),
                    shares: None,
                });
                connection += 1;
            }
        }
        Ok(resolvers)
    }

    /// When it wants to look; never without connections.
    pub(super) fn due(&self) -> Option<Nanos> {
        (!self.all.is_empty()).then_some(self.due)
    }

    /// New shares, if there are any: of a path that several connections use, the mean.
    pub(super) fn act(&mut self, now: Nanos, view: impl Fn(usize) -> Option<View>) -> Vec<Share> {
        if now < self.due {
            return vec![];
        }
        // After a pause of the machine: no burst of looks.
        self.due = self.due.saturating_add(TICK).max(now);
        let mut is_new = false;
        for one in &mut self.all {
            if let Some(view) = view(one.connection) {
                is_new |= one.solve(now, &view, self.mss_bytes);
            }
        }
        if is_new { self.means() } else { vec![] }
    }

    fn means(&self) -> Vec<Share> {
        let mut sums: Vec<(PathIndex, Direction, f64, f64)> = vec![];
        for one in &self.all {
            let shares = one.shares.iter().flatten();
            for (&path, &share) in one.paths.iter().zip(shares) {
                match sums.iter_mut().find(|(p, direction, ..)| (*p, *direction) == (path, one.direction)) {
                    Some((_, _, sum, n)) => (*sum, *n) = (*sum + share, *n + 1.0),
                    None => sums.push((path, one.direction, share, 1.0)),
                }
            }
        }
        sums.into_iter().map(|(path, direction, sum, n)| (path, direction, sum / n)).collect()
    }
}

impl Resolving {
    /// Whether the shares are new.
    fn solve(&mut self, now: Nanos, view: &View, mss_bytes: f64) -> bool {
        let counters: Vec<Counters> = view.paths.iter().map(|path| path.counters).collect();
        self.observer.observe(now, &counters, view.demand);
        let shares = self.resolver.solve(now, self.observer.paths(), mss_bytes, &mut self.random);
        let is_new = shares.is_some();
        self.shares = shares.or(self.shares.take());
        is_new
    }
}
