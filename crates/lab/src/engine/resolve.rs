//! Solves EEMPTCP's problem again during a run, with estimates from the connections.

use joulepath_control::Setup;
use joulepath_control::allocate::{Resolver, costed_path};
use joulepath_control::price::TICK;
use joulepath_control::select::{Counters, Observer};
use joulepath_model::random::{Domain, Stream};
use joulepath_model::scenario::{Direction, PathIndex, Scenario};
use joulepath_model::units::Nanos;

use super::average::Averages;
use super::control::Share;
use super::plan::{chosen, energies};
use super::view::View;
use crate::error::Result;
use crate::hosts::Tunnel;
use crate::traffic::Spec;

/// One connection.
struct Resolving {
    connection: usize,
    direction: Direction,
    paths: Vec<PathIndex>,
    /// Their places in the traffic's connection: a steered connection may begin with another path.
    places: Vec<usize>,
    observer: Observer,
    resolver: Resolver,
    random: Stream,
    /// The last solution; `None` until the first during the run.
    shares: Option<Vec<f64>>,
}

/// All connections whose shares are solved during a run.
pub(super) struct Resolvers {
    all: Vec<Resolving>,
    mss_bytes: f64,
    due: Nanos,
}

impl Resolvers {
    /// One per connection; empty unless the policy's allocator solves during a run.
    pub(super) fn new(
        scenario: &Scenario,
        setup: &Setup,
        seed: u64,
        traffic: &Spec,
        tunnels: &[Tunnel],
    ) -> Result<Self> {
        let mss_bytes = scenario.transport.mss.0 as f64;
        let mut resolvers = Resolvers {
            all: vec![],
            mss_bytes,
            due: TICK,
        };
        let Some(allocator) = setup.allocator().filter(|allocator| allocator.online) else {
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
                let of_traffic = &traffic.connections[connection].paths;
                let is_on = |path: &PathIndex, tunnel: &usize| tunnels[*tunnel].path == Some(*path);
                let place =
                    |path: &PathIndex| of_traffic.iter().position(|tunnel| is_on(path, tunnel));
                resolvers.all.push(Resolving {
                    connection,
                    direction: group.direction,
                    paths: paths.clone(),
                    places: paths.iter().filter_map(place).collect(),
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

    /// When to call [`Self::act`] next; never if there are no connections.
    pub(super) fn due(&self) -> Option<Nanos> {
        (!self.all.is_empty()).then_some(self.due)
    }

    /// New shares, if any. A path of several connections gets their mean.
    pub(super) fn act(&mut self, now: Nanos, view: impl Fn(usize) -> Option<View>) -> Vec<Share> {
        if now < self.due {
            return vec![];
        }
        // Skips updates that were missed while the machine was suspended or busy.
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
        let mut averages = Averages::default();
        for one in &self.all {
            let shares = one.shares.iter().flatten();
            for (&path, &share) in one.paths.iter().zip(shares) {
                averages.add(path, one.direction, Some(share));
            }
        }
        averages
            .means()
            .filter_map(|(path, direction, mean)| Some((path, direction, mean?)))
            .collect()
    }
}

impl Resolving {
    /// Solves the problem again. Returns true if the shares changed.
    fn solve(&mut self, now: Nanos, view: &View, mss_bytes: f64) -> bool {
        let counters: Vec<Counters> = self
            .places
            .iter()
            .map(|&place| view.paths[place].counters)
            .collect();
        self.observer.observe(now, &counters, view.demand);
        let shares = self
            .resolver
            .solve(now, self.observer.paths(), mss_bytes, &mut self.random);
        let is_new = shares.is_some();
        self.shares = shares.or(self.shares.take());
        is_new
    }
}

#[cfg(test)]
mod tests {
    use joulepath_control::allocate::Eemptcp;
    use joulepath_control::select::{Demand, PathEnergy, PathState};

    use super::super::view::PathView;
    use super::*;
    use joulepath_kernel::mptcp::Token;

    /// Two paths of 10 Mbit/s; the first costs three times as much. The traffic's connection begins
    /// on the second.
    fn resolvers(connections: usize) -> Resolvers {
        let energies = [3e-7, 1e-7].map(|slope_j_per_bit| PathEnergy {
            slope_j_per_bit,
            ..PathEnergy::default()
        });
        let resolving = |connection| Resolving {
            connection,
            direction: Direction::Download,
            paths: vec![4, 7],
            places: vec![1, 0],
            observer: Observer::new(&energies, 1250.0),
            resolver: Resolver::new(Eemptcp::default(), vec![10e6; 2]),
            random: Stream::new(1, Domain::Allocator, connection as u64),
            shares: None,
        };
        Resolvers {
            all: (0..connections).map(resolving).collect(),
            mss_bytes: 1250.0,
            due: TICK,
        }
    }

    /// Both paths have an RTT of 100 ms. Only the cheap path loses packets.
    fn view(packets: u64, losses: u64) -> View {
        let path = |delivered_bytes, loss_events| {
            let counters = Counters {
                state: PathState::Open,
                cwnd: 10,
                delivered_bytes,
                ..Counters::default()
            };
            let counters = Counters {
                srtt: Nanos::from_millis(100),
                loss_events,
                ..counters
            };
            PathView {
                counters,
                ..PathView::default()
            }
        };
        let paths = vec![path(1250 * packets, losses), path(1250 * packets, 0)];
        View {
            token: Token(1),
            demand: Demand::Endless,
            unsent: Demand::Endless,
            paths,
        }
    }

    #[test]
    fn a_falling_capacity_moves_the_shares_to_the_other_path() {
        let mut resolvers = resolvers(1);
        assert_eq!(
            resolvers.act(Nanos::from_millis(50), |_| Some(view(0, 0))),
            []
        );
        // A loss every 600 packets: Mathis gives 1250 · 8/(0.1 √(2/(3 · 600))) = 3 Mbit/s. R = 10:
        // the expensive path carries 7 of 10.
        let shares: Vec<Share> = (1..=30)
            .flat_map(|i| resolvers.act(Nanos::from_millis(100 * i), |_| Some(view(600 * i, i))))
            .collect();
        let last = &shares[shares.len() - 2..];
        assert_eq!((last[0].0, last[1].0), (4, 7));
        assert!(
            (last[0].2 - 0.7).abs() < 0.01 && (last[1].2 - 0.3).abs() < 0.01,
            "{last:?}"
        );
        // Without a change there are no new shares.
        let later = resolvers.act(Nanos::from_secs(5), |_| Some(view(600 * 30, 30)));
        assert_eq!(later, []);
    }

    #[test]
    fn a_path_of_two_connections_gets_the_mean() {
        let mut resolvers = resolvers(2);
        // Only the first connection has lost packets. The second keeps its initial shares, which do
        // not count in the mean.
        let lossy = |i: usize, t: u64| Some(view(600 * t, if i == 0 { t } else { 0 }));
        let shares: Vec<Share> = (1..=30)
            .flat_map(|t| resolvers.act(Nanos::from_millis(100 * t), |i| lossy(i, t)))
            .collect();
        assert!(
            shares.iter().all(|share| share.1 == Direction::Download),
            "{shares:?}"
        );
        let last = shares.last().unwrap();
        assert!(last.0 == 7 && (last.2 - 0.3).abs() < 0.01, "{last:?}");
    }
}
