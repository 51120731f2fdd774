//! Values for controllers while they run: energy costs and path prices, several times a second.
//!
//! Sources: energy per delivered bit e_r = (b_r + θ_r/x_r)/(1 − p_r) of ecMTCP and emReno; price
//! U_r = Σ_l (Q_l − Q̄_l)⁺/Q̄_l + ρ_r of extended DTS (002, section V-C, with normalised queue
//! excess). The packet engine and the kernel engine share the arithmetic and differ in the source
//! of rates, losses and queues.

use joulepath_controllers::{Capability, Controller};
use joulepath_model::energy::equations;
use joulepath_model::network::{LinkSpec, QueueLimit};
use joulepath_model::scenario::{Direction, LinkIndex, PathIndex, Scenario};
use joulepath_model::units::{Bytes, JoulesPerBit, Nanos, Watts};

use crate::path::{energy_per_bit, links_of, traffic_of};

/// Update interval.
pub const TICK: Nanos = Nanos::from_millis(100);
/// Weight of the latest rate in its moving average: a time constant of about a second.
const RATE_WEIGHT: f64 = 0.1;
/// An estimated loss probability is at most one half.
const LEAST_BETWEEN_LOSSES: f64 = 2.0;

/// The values that a controller reads while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// e_r of each subflow.
    pub energy_cost: bool,
    /// U_r of each subflow.
    pub path_price: bool,
}

impl Needs {
    /// The control-plane values that `controller` reads while it runs.
    pub fn of(controller: Controller) -> Self {
        Needs {
            energy_cost: controller.has(Capability::ReadsEnergyCost),
            path_price: controller.has(Capability::ReadsPathPrice),
        }
    }

    /// True if it reads any.
    pub fn any(self) -> bool {
        self.energy_cost || self.path_price
    }
}

/// Cost of a path, from the scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct PathCost {
    /// b_r in the data's direction.
    pub marginal: JoulesPerBit,
    /// θ_r.
    pub sunk: Watts,
    /// Links of the data's route, each with Q̄: queues above it cost, in the unit of the link's
    /// limit.
    pub links: Vec<(LinkIndex, QueueLimit)>,
    /// ρ_r: energy per bit at the link's rate, relative to the cheapest path.
    pub relative_energy: f64,
}

impl PathCost {
    /// The costs of the paths that one connection uses.
    pub fn of(scenario: &Scenario, direction: Direction, paths: &[PathIndex]) -> Vec<Self> {
        let traffic = traffic_of(direction);
        let model = |path: PathIndex| &scenario.paths[path].energy.model;
        let route = |path: PathIndex| links_of(scenario, direction, path).0;
        let per_bit = |path: PathIndex| energy_per_bit(scenario, direction, path);
        let cheapest = paths
            .iter()
            .map(|&path| per_bit(path))
            .fold(f64::INFINITY, f64::min);
        let target = |&link: &LinkIndex| (link, target(&scenario.links[link], scenario.duration));
        let cost = |&path: &PathIndex| PathCost {
            marginal: model(path).slope(traffic),
            sunk: model(path).sunk_power(),
            links: route(path).iter().map(target).collect(),
            relative_energy: if cheapest > 0.0 {
                per_bit(path) / cheapest
            } else {
                1.0
            },
        };
        paths.iter().map(cost).collect()
    }

    /// Cost of a subflow in a topology, on `path` of the device and across `between`, the
    /// switch-to-switch links of its data's route (L' of 002; without links of hosts). Ports of
    /// switches burn equally and these links have one rate, so each is the cheapest: ρ is 1 per
    /// link.
    pub fn in_topology(
        scenario: &Scenario,
        direction: Direction,
        path: PathIndex,
        between: impl Iterator<Item = LinkIndex>,
        links: &[LinkSpec],
    ) -> Self {
        let model = &scenario.paths[path].energy.model;
        let links: Vec<_> = between
            .map(|link| (link, half(links[link].queue)))
            .collect();
        PathCost {
            marginal: model.slope(traffic_of(direction)),
            sunk: model.sunk_power(),
            relative_energy: links.len() as f64,
            links,
        }
    }

    /// e_r at a rate of x_r bit/s with a loss probability p_r, mW per Mbit/s.
    pub fn energy_cost(&self, rate_bps: f64, loss: f64) -> f64 {
        equations::energy_per_delivered_bit(self.marginal, self.sunk, rate_bps, loss).mw_per_mbps()
    }

    /// U_r, given each link's queue in packets and bytes.
    pub fn price(&self, mut queue: impl FnMut(LinkIndex) -> (u32, u64)) -> f64 {
        let excess = |&(link, target): &(LinkIndex, QueueLimit)| excess(queue(link), target);
        self.links.iter().map(excess).sum::<f64>() + self.relative_energy
    }
}

/// x_r after the bytes of the last [`TICK`], bit/s.
pub fn smoothed_bps(before_bps: f64, bytes: f64) -> f64 {
    let rate_bps = bytes * 8.0 / TICK.as_secs_f64();
    before_bps + RATE_WEIGHT * (rate_bps - before_bps)
}

/// p_r for losses this many packets apart; 0 for a path without a loss so far.
pub fn loss_probability(has_lost: bool, packets_between: f64) -> f64 {
    if has_lost {
        1.0 / packets_between.max(LEAST_BETWEEN_LOSSES)
    } else {
        0.0
    }
}

/// Q̄ of a link: half of its buffer, or the data that drains within the target of its managed
/// queue.
fn target(link: &LinkSpec, duration: Nanos) -> QueueLimit {
    let Some(aqm) = &link.aqm else {
        return half(link.queue);
    };
    let bytes = link.rate.mean_bps(duration) * aqm.target().as_secs_f64() / 8.0;
    QueueLimit::Bytes(Bytes((bytes as u64).max(1)))
}

/// Q̄: half of the buffer (002 leaves it open).
fn half(queue: QueueLimit) -> QueueLimit {
    match queue {
        QueueLimit::Packets(packets) => QueueLimit::Packets((packets / 2).max(1)),
        QueueLimit::Bytes(bytes) => QueueLimit::Bytes(Bytes((bytes.0 / 2).max(1))),
    }
}

/// (Q − Q̄)⁺/Q̄ of a link with this many packets and bytes in its queue.
fn excess((packets, bytes): (u32, u64), target: QueueLimit) -> f64 {
    let (queue, target) = match target {
        QueueLimit::Packets(target) => (f64::from(packets), f64::from(target)),
        QueueLimit::Bytes(target) => (bytes as f64, target.0 as f64),
    };
    (queue / target - 1.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use joulepath_model::scenario::load;

    use super::*;

    /// A managed queue never reaches half of its limit of 1000 packets: 5 ms at 12 Mbit/s are 7500
    /// B.
    #[test]
    fn a_managed_queue_costs_its_excess_over_the_target() {
        let path = |aqm: &str| {
            format!(
                "title = \"t\"\nduration = \"10 s\"\n[[path]]\nname = \"p\"\nrate = \"12 Mbit/s\"\n\
                 delay = \"5 ms\"\nqueue = \"40 packets\"\n{aqm}energy = \"free\"\n"
            )
        };
        let targets = |aqm: &str| {
            let scenario = load(&path(aqm), &|_| Err("no traces".into())).unwrap();
            PathCost::of(&scenario, Direction::Download, &[0])
                .remove(0)
                .links
        };
        assert_eq!(targets(""), [(0, QueueLimit::Packets(20))]);
        assert_eq!(
            targets("aqm = \"codel\"\n"),
            [(0, QueueLimit::Bytes(Bytes(7500)))]
        );
    }

    #[test]
    fn a_queue_costs_its_excess_over_half_of_the_buffer() {
        // Buffers of 40 packets and 3000 bytes: 30 against 20 packets, 1000 against 1500 bytes.
        assert_eq!(excess((30, 0), half(QueueLimit::Packets(40))), 0.5);
        assert_eq!(excess((9, 1000), half(QueueLimit::Bytes(Bytes(3000)))), 0.0);
        // Half of a buffer is at least one packet.
        assert_eq!(half(QueueLimit::Packets(1)), QueueLimit::Packets(1));
    }

    #[test]
    fn a_price_is_the_sum_of_queues_and_energy() {
        let cost = PathCost {
            marginal: JoulesPerBit(1e-7),
            sunk: Watts(1.0),
            links: vec![(0, QueueLimit::Packets(10)), (3, QueueLimit::Packets(20))],
            relative_energy: 1.5,
        };
        // 15 against 10 and 30 against 20 packets: 0.5 + 0.5 + 1.5.
        assert_eq!(
            cost.price(|link| if link == 0 { (15, 0) } else { (30, 0) }),
            2.5
        );
        // 100 mW per Mbit/s and 1 W at 10 Mbit/s; half is lost: (100 + 100)/0.5.
        assert!((cost.energy_cost(10e6, 0.5) - 400.0).abs() < 1e-9);
    }

    #[test]
    fn rates_are_smoothed_and_losses_bounded() {
        // 125 000 bytes in 0.1 s: 10 Mbit/s, weighted by a tenth.
        assert!((smoothed_bps(0.0, 125_000.0) - 1e6).abs() < 1e-6);
        assert_eq!(loss_probability(false, 1.0), 0.0);
        assert_eq!(
            [1.0, 50.0].map(|between| loss_probability(true, between)),
            [0.5, 0.02]
        );
    }
}
