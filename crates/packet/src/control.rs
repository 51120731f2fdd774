//! What the control plane tells the controllers: energy costs and path prices ([`price`]), several times a second.

use joulepath_control::allocate::{Resolver, SlotPath, SoMptcp};
use joulepath_control::price::{self, Needs, TICK};
use joulepath_control::schedule::MAX_SUBFLOWS;
use joulepath_control::select::{Observer, PathEnergy};
use joulepath_link::random::Stream;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::{BitRate, Nanos};

use crate::lane::Lane;
use crate::network::Network;
use crate::select::counters;

/// One subflow as the control plane knows it.
pub(crate) struct PathCost {
    cost: price::PathCost,
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
    /// EEMPTCP's problem on line, what it sees, and what its genetic solver draws.
    pub(crate) resolver: Option<(Resolver, Observer, Stream)>,
    /// so-MPTCP's slots.
    pub(crate) slots: Option<Slots>,
}

/// so-MPTCP's allocator in a connection.
pub(crate) struct Slots {
    pub(crate) allocator: SoMptcp,
    /// Δt.
    pub(crate) slot: Nanos,
    /// b and θ of each path.
    pub(crate) energies: Vec<PathEnergy>,
}

impl ControlPlane {
    /// A connection whose controller needs nothing.
    pub(crate) fn idle() -> Self {
        ControlPlane {
            needs: Needs::Nothing,
            samples_host: false,
            paths: vec![],
            delivered_bytes: 0,
            resolver: None,
            slots: None,
        }
    }

    /// Of a connection whose subflows cost so much.
    pub(crate) fn new(needs: Needs, scenario: &Scenario, costs: Vec<price::PathCost>) -> Self {
        let paths = costs.into_iter().map(|cost| PathCost { cost, rate_bps: 0.0, seen_bytes: 0 }).collect();
        ControlPlane { needs, samples_host: scenario.device.host.is_some(), paths, ..Self::idle() }
    }

    /// Whether it wants to be called.
    pub(crate) fn period(&self) -> Option<Nanos> {
        (self.needs != Needs::Nothing || self.samples_host || self.resolver.is_some()).then_some(TICK)
    }
}

impl Lane<'_> {
    pub(crate) fn control_tick(&mut self) {
        match self.connection.control.needs {
            Needs::Nothing => {}
            Needs::EnergyCost => self.update_energy_costs(),
            Needs::PathPrice => self.update_path_prices(),
        }
        if self.connection.control.samples_host {
            self.sample_host();
        }
        self.solve_again();
        let (at_ns, source) = (self.now_ns + TICK.0, self.common.sources.control(self.index));
        self.connection.control_timer.set(at_ns, source, &mut self.net.queue);
    }

    /// Tells the host model how fast the device was since the last tick.
    fn sample_host(&mut self) {
        let connection = &mut *self.connection;
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

    /// New target shares, if EEMPTCP's problem is solved on line and its estimates have moved.
    fn solve_again(&mut self) {
        let Some((mut resolver, mut observer, mut random)) = self.connection.control.resolver.take() else {
            return;
        };
        observer.observe(self.now(), &counters(self.connection, self.subflows), self.demand());
        let mss_bytes = self.common.transport.mss.0 as f64;
        if let Some(shares) = resolver.solve(self.now(), observer.paths(), mss_bytes, &mut random) {
            for (window, share) in self.connection.cc.subflows.iter_mut().zip(shares) {
                window.own.set_target_share(share);
            }
        }
        self.connection.control.resolver = Some((resolver, observer, random));
    }

    /// A slot of so-MPTCP begins: how much each path may carry in it.
    pub(crate) fn slot(&mut self) {
        let packet_bits = self.common.transport.mss.0 as f64 * 8.0;
        let backlog = self.connection.waiting();
        let Some(slots) = &mut self.connection.control.slots else { return };
        let slot_s = slots.slot.as_secs_f64();
        let path = |(i, energy): (usize, &PathEnergy)| {
            let (view, own) = (&self.connection.views[i], &self.connection.cc.subflows[i].own);
            let between = f64::from(own.acked_since_loss.max(own.acked_between_losses));
            let loss = price::loss_probability(self.subflows[i].stats.loss_events > 0, between);
            let per_s = f64::from(view.cwnd) * 1e6 / f64::from(view.srtt_us.max(1));
            let usable = view.established && view.srtt_us > 0;
            SlotPath::of(energy, usable, per_s, loss, slot_s, packet_bits)
        };
        let n = slots.energies.len();
        let mut paths = [SlotPath::default(); MAX_SUBFLOWS];
        for (slot, path) in paths.iter_mut().zip(slots.energies.iter().enumerate().map(path)) {
            *slot = path;
        }
        let paths = &paths[..n];
        if let Some(allotted) = slots.allocator.allot(paths, backlog) {
            self.connection.scheduler.allot(&allotted[..n]);
        }
        let at_ns = self.now_ns + slots.slot.0;
        let source = self.common.sources.slot(self.index);
        self.connection.slot_timer.set(at_ns, source, &mut self.net.queue);
        self.push();
    }

    fn update_energy_costs(&mut self) {
        let connection = &mut *self.connection;
        let windows = connection.cc.subflows.iter_mut();
        for ((subflow, path), window) in self.subflows.iter().zip(&mut connection.control.paths).zip(windows)
        {
            let seen = subflow.stats.first_copy_bytes;
            let bytes = seen - std::mem::replace(&mut path.seen_bytes, seen);
            path.rate_bps = price::smoothed_bps(path.rate_bps, bytes as f64);
            let own = &mut window.own;
            let between = f64::from(own.acked_since_loss.max(own.acked_between_losses));
            let loss = price::loss_probability(subflow.stats.loss_events > 0, between);
            own.set_energy_cost(path.cost.energy_cost(path.rate_bps, loss));
        }
    }

    fn update_path_prices(&mut self) {
        let connection = &mut *self.connection;
        for (path, window) in connection.control.paths.iter().zip(&mut connection.cc.subflows) {
            window.own.set_path_price(path.cost.price(|link| self.net.queue_of(self.now_ns, link)));
        }
    }
}

impl Network {
    /// What waits in a link: packets, bytes.
    fn queue_of(&self, now_ns: u64, link: usize) -> (u32, u64) {
        let link = &self.wires[link].link;
        (link.queue_packets(Nanos(now_ns)), link.queue_bytes(Nanos(now_ns)))
    }
}
