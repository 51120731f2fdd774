//! Utilisation, queues and energy of a topology's switches.

use joulepath_model::network::{QueueLimit, RateSpec};
use joulepath_model::result::{LayerResult, NetworkResult};
use joulepath_model::topology::{SwitchPower, TopologySpec};
use joulepath_model::units::Nanos;
use joulepath_topology::Network as Topology;

use crate::path::network::{Network, Wire};

/// Interval between two samples of the queues.
pub(crate) const TICK: Nanos = Nanos::from_millis(10);

/// The switches and links, and their samples.
pub(crate) struct Fabric {
    power: SwitchPower,
    links: Vec<FabricLink>,
    layers: Vec<String>,
    /// When the measurement began.
    since: Nanos,
    /// Sum over the samples of Σ (Q − Q̄)⁺, packets.
    excess_packets: f64,
    looks: u32,
}

/// One direction of a cable.
struct FabricLink {
    rate_bps: f64,
    layer: usize,
    /// How many of its ends are ports of switches.
    ports: u32,
    /// Q̄ of a link between switches, packets; `None` for a link of a host.
    target_packets: Option<f64>,
    /// Bytes sent before the measurement began.
    before: u64,
}

impl Fabric {
    pub(crate) fn new(topology: &Topology, spec: &TopologySpec) -> Self {
        let link = |index: usize| FabricLink {
            rate_bps: match &topology.links[index].rate {
                RateSpec::Constant(rate) => rate.bps() as f64,
                _ => unreachable!("links of a topology have constant rates"),
            },
            layer: topology.arcs()[index].layer,
            ports: topology.switch_ports(index),
            target_packets: topology
                .is_between_switches(index)
                .then(|| half_packets(spec.queue)),
            before: 0,
        };
        Fabric {
            power: spec.switch,
            links: (0..topology.links.len()).map(link).collect(),
            layers: topology.layers.clone(),
            since: Nanos::ZERO,
            excess_packets: 0.0,
            looks: 0,
        }
    }

    pub(crate) fn begin_measurement(&mut self, now: Nanos, net: &Network) {
        self.since = now;
        for (link, wire) in self.links.iter_mut().zip(&net.wires) {
            link.before = wire.link.sent_bytes(now);
        }
    }

    /// Adds the present Σ (Q − Q̄)⁺ over links between switches.
    pub(crate) fn look(&mut self, now: Nanos, net: &Network) {
        let pairs = self.links.iter().zip(&net.wires);
        let excess = pairs.filter_map(|(link, wire)| {
            let target = link.target_packets?;
            Some((f64::from(wire.link.queue_packets(now)) - target).max(0.0))
        });
        self.excess_packets += excess.sum::<f64>();
        self.looks += 1;
    }

    pub(crate) fn result(&self, now: Nanos, net: &Network) -> NetworkResult {
        let time_s = now.saturating_sub(self.since).as_secs_f64();
        let utilisation = |(link, wire): (&FabricLink, &Wire)| {
            let bits = wire.link.sent_bytes(now).wrapping_sub(link.before) as f64 * 8.0;
            // A packet that is in transmission at the end counts in full.
            if time_s > 0.0 {
                (bits / link.rate_bps / time_s).min(1.0)
            } else {
                0.0
            }
        };
        let used: Vec<f64> = self.links.iter().zip(&net.wires).map(utilisation).collect();
        let ports = || {
            self.links
                .iter()
                .map(|link| f64::from(link.ports))
                .zip(&used)
        };
        let (port, idle) = (self.power.port.0, self.power.idle.get());
        let layer = |(index, name): (usize, &String)| {
            let of_layer = self
                .links
                .iter()
                .zip(&used)
                .filter(|(link, _)| link.layer == index);
            let used: Vec<f64> = of_layer.map(|(_, used)| *used).collect();
            LayerResult {
                name: name.clone(),
                links: used.len() as u32,
                utilisation: used.iter().sum::<f64>() / used.len().max(1) as f64,
                busiest: used.iter().copied().fold(0.0, f64::max),
            }
        };
        NetworkResult {
            idle_j: ports()
                .map(|(ports, _)| direction_power(port, ports) * idle)
                .sum::<f64>()
                * time_s,
            traffic_j: ports()
                .map(|(ports, used)| direction_power(port, ports) * (1.0 - idle) * used)
                .sum::<f64>()
                * time_s,
            price_packets: self.excess_packets / f64::from(self.looks.max(1)) + self.load(&used),
            layers: self.layers.iter().enumerate().map(layer).collect(),
        }
    }

    /// ρ Σ y over links between switches, where ρ y is 1 packet on the slowest of these links at
    /// full load.
    fn load(&self, used: &[f64]) -> f64 {
        let between = || {
            self.links
                .iter()
                .zip(used)
                .filter(|(link, _)| link.target_packets.is_some())
        };
        let slowest = between()
            .map(|(link, _)| link.rate_bps)
            .fold(f64::INFINITY, f64::min);
        between()
            .map(|(link, used)| used * link.rate_bps / slowest)
            .sum()
    }
}

/// Power of one direction of a cable: a port sends and receives, so each direction is half of the
/// port at either end.
fn direction_power(port_w: f64, ports: f64) -> f64 {
    port_w * ports / 2.0
}

/// Q̄: half of the buffer, in full Ethernet packets.
fn half_packets(queue: QueueLimit) -> f64 {
    const FULL_PACKET_BYTES: f64 = 1500.0;
    match queue {
        QueueLimit::Packets(packets) => f64::from(packets) / 2.0,
        QueueLimit::Bytes(bytes) => bytes.0 as f64 / FULL_PACKET_BYTES / 2.0,
    }
}
