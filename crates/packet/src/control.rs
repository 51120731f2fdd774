//! What the control plane tells the controllers: energy costs and path prices, several times a second.
//!
//! Sources: energy per delivered bit `e_r = (b_r + θ_r/x_r)/(1 − p_r)` of ecMTCP and emReno; price
//! `U_r = Σ_l (Q_l − Q̄_l)⁺/Q̄_l + ρ_r` of extended DTS (002, section V-C, with the queue excess normalised).

use joulepath_model::energy::{InterfaceModel, Traffic, equations};
use joulepath_model::network::QueueLimit;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::{BitRate, Bytes, JoulesPerBit, Nanos, Watts};

use crate::engine::Engine;

/// Time between two looks.
const TICK: Nanos = Nanos::from_millis(100);
/// Weight of the latest rate in its moving average: a time constant of about a second.
const RATE_WEIGHT: f64 = 0.1;

/// What a connection's controller has to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    EnergyCost,
    PathPrice,
}

impl Needs {
    /// By the controller's name.
    pub(crate) fn of(controller: &str) -> Self {
        match controller {
            "ecmtcp" | "emreno" => Needs::EnergyCost,
            "edts" => Needs::PathPrice,
            _ => Needs::Nothing,
        }
    }
}

/// One subflow as the control plane knows it.
pub(crate) struct PathCost {
    /// b_r in the direction of the data.
    marginal: JoulesPerBit,
    /// θ_r.
    sunk: Watts,
    /// Links of the data's route with the queue length above which they cost, in the unit of their limit.
    links: Vec<(u32, QueueLimit)>,
    /// ρ_r: energy per bit at the link's rate, relative to the cheapest path.
    relative_energy: f64,
    /// x_r, smoothed, bit/s.
    rate_bps: f64,
    seen_bytes: u64,
}

/// The control plane of one connection.
pub(crate) struct ControlPlane {
    needs: Needs,
    /// The device has a host model, which wants rate and RTT.
    samples_host: bool,
    paths: Vec<PathCost>,
    /// Delivered at the last tick, bytes.
    delivered_bytes: u64,
}

impl ControlPlane {
    /// A connection whose controller needs nothing.
    pub(crate) fn idle() -> Self {
        ControlPlane { needs: Needs::Nothing, samples_host: false, paths: vec![], delivered_bytes: 0 }
    }

    /// `paths`: energy model and links of the data's route, by subflow.
    pub(crate) fn new(
        needs: Needs,
        scenario: &Scenario,
        paths: &[(&InterfaceModel, &[usize])],
        traffic: Traffic,
    ) -> Self {
        let links = &scenario.links;
        let energy_per_bit = |model: &InterfaceModel, route: &[usize]| {
            let rates = route.iter().map(|&l| links[l].rate.mean_bps(scenario.duration));
            model.slope(traffic).0 + model.sunk_power().0 / rates.fold(f64::INFINITY, f64::min)
        };
        let cheapest = paths.iter().map(|(model, route)| energy_per_bit(model, route)).fold(f64::INFINITY, f64::min);
        let paths = paths
            .iter()
            .map(|&(model, route)| PathCost {
                marginal: model.slope(traffic),
                sunk: model.sunk_power(),
                links: route.iter().map(|&l| (l as u32, half(links[l].queue))).collect(),
                relative_energy: if cheapest > 0.0 { energy_per_bit(model, route) / cheapest } else { 1.0 },
                rate_bps: 0.0,
                seen_bytes: 0,
            })
            .collect();
        ControlPlane { needs, samples_host: scenario.device.host.is_some(), paths, delivered_bytes: 0 }
    }

    /// Whether it wants to be called.
    pub(crate) fn period(&self) -> Option<Nanos> {
        (self.needs != Needs::Nothing || self.samples_host).then_some(TICK)
    }
}

/// Q̄: half of the buffer (energy.md leaves it open).
fn half(queue: QueueLimit) -> QueueLimit {
    match queue {
        QueueLimit::Packets(packets) => QueueLimit::Packets((packets / 2).max(1)),
        QueueLimit::Bytes(bytes) => QueueLimit::Bytes(Bytes((bytes.0 / 2).max(1))),
    }
}

impl Engine {
    pub(crate) fn control_tick(&mut self, c: usize) {
        match self.connections[c].control.needs {
            Needs::Nothing => {}
            Needs::EnergyCost => self.update_energy_costs(c),
            Needs::PathPrice => self.update_path_prices(c),
        }
        if self.connections[c].control.samples_host {
            self.sample_host(c);
        }
        let (at_ns, source) = (self.now_ns + TICK.0, self.sources.control(c));
        self.connections[c].control_timer.set(at_ns, source, &mut self.net.queue);
    }

    /// Tells the host model how fast the device was since the last tick.
    fn sample_host(&mut self, c: usize) {
        let connection = &mut self.connections[c];
        let delivered = connection.receiver.delivered_bytes;
        let bytes = delivered - std::mem::replace(&mut connection.control.delivered_bytes, delivered);
        let rate = BitRate::from_bps(bytes * 8 * (1_000_000_000 / TICK.0));
        let open = connection.views[..connection.n].iter().filter(|view| view.established);
        let (subflows, rtt_us) = open.fold((0, 0), |(n, sum), view| (n + 1, sum + u64::from(view.srtt_us)));
        let mean_rtt = Nanos::from_micros(rtt_us / u64::from(subflows.max(1)));
        if let Some(device) = connection.device.as_mut().filter(|device| device.finished_ns.is_none()) {
            device.meter.host_sample(Nanos(self.now_ns), rate, mean_rtt, subflows);
        }
    }

    fn update_energy_costs(&mut self, c: usize) {
        let connection = &mut self.connections[c];
        for local in 0..connection.n {
            let subflow = &self.subflows[connection.first as usize + local];
            let path = &mut connection.control.paths[local];
            let bytes = subflow.stats.first_copy_bytes - std::mem::replace(&mut path.seen_bytes, subflow.stats.first_copy_bytes);
            let rate_bps = bytes as f64 * 8.0 / TICK.as_secs_f64();
            path.rate_bps += RATE_WEIGHT * (rate_bps - path.rate_bps);
            let own = &mut connection.cc.subflows[local].own;
            let between_losses = own.acked_since_loss.max(own.acked_between_losses).max(1);
            // A path that has never lost a packet has acknowledged all that it was given.
            let loss = if subflow.stats.loss_events == 0 { 0.0 } else { 1.0 / f64::from(between_losses).max(2.0) };
            let cost = equations::energy_per_delivered_bit(path.marginal, path.sunk, path.rate_bps, loss);
            own.set_energy_cost(cost.mw_per_mbps());
        }
    }

    fn update_path_prices(&mut self, c: usize) {
        let now = Nanos(self.now_ns);
        let connection = &mut self.connections[c];
        for (local, path) in connection.control.paths.iter().enumerate() {
            let excess: f64 = path
                .links
                .iter()
                .map(|&(l, target)| {
                    let link = &mut self.net.wires[l as usize].link;
                    let (queue, target) = match target {
                        QueueLimit::Packets(packets) => (f64::from(link.queue_packets(now)), f64::from(packets)),
                        QueueLimit::Bytes(bytes) => (link.queue_bytes(now) as f64, bytes.0 as f64),
                    };
                    (queue / target - 1.0).max(0.0)
                })
                .sum();
            connection.cc.subflows[local].own.set_path_price(excess + path.relative_energy);
        }
    }
}
