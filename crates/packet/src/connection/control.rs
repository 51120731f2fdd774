//! Periodic updates for the controllers: energy costs and path prices ([`price`]).

use joulepath_control::allocate::{Seen, Sending, SlotPath};
use joulepath_control::price::{self, TICK};
use joulepath_control::schedule::MAX_SUBFLOWS;
use joulepath_control::select::PathEnergy;
use joulepath_controllers::Own;
use joulepath_model::units::{BitRate, Nanos};

use crate::connection::endpoints::Endpoints;
use crate::path::network::Network;

impl Endpoints<'_> {
    pub(crate) fn control_tick(&mut self) {
        let needs = self.connection.control.needs;
        if needs.energy_cost {
            self.update_energy_costs();
        }
        if needs.path_price {
            self.update_path_prices();
        }
        if self.connection.control.samples_host {
            self.sample_host();
        }
        self.share_again();
        let source = self.cx.config.sources.control(self.cx.connection as usize);
        self.connection
            .control_timer
            .set(self.cx.now_ns + TICK.0, source, &mut self.cx.net.queue);
    }

    /// Samples the host model: throughput and RTT since the last tick.
    fn sample_host(&mut self) {
        let connection = &mut *self.connection;
        let delivered = connection.receiver.data.delivered_bytes;
        let bytes =
            delivered - std::mem::replace(&mut connection.control.delivered_bytes, delivered);
        let rate = BitRate::from_bps(bytes * 8 * (1_000_000_000 / TICK.0));
        // The scheduler's view of the RTT may be stale if there is nothing to schedule.
        let sender = &connection.sender;
        let open = sender
            .views()
            .iter()
            .zip(&sender.cc.subflows)
            .filter(|(view, _)| view.established);
        let (subflows, rtt_us) = open.fold((0, 0), |(n, sum), (_, window)| {
            (n + 1, sum + u64::from(window.srtt_us))
        });
        let mean_rtt = Nanos::from_micros(rtt_us / u64::from(subflows.max(1)));
        let now = self.cx.now();
        if let Some(device) = self
            .cx
            .device()
            .filter(|device| device.finished_ns.is_none())
        {
            device.meter.host_sample(now, rate, mean_rtt, subflows);
        }
    }

    fn share_again(&mut self) {
        let Some((mut sharer, mut observer)) = self.connection.control.sharer.take() else {
            return;
        };
        let (now, demand) = (self.cx.now(), self.demand());
        observer.observe(now, &self.counters(), demand);
        let mss_bytes = self.cx.config.transport.mss.0 as f64;
        let seen = Seen {
            now,
            demand,
            mss_bytes,
            paths: observer.paths(),
        };
        if let Some(shares) = sharer.look(&seen) {
            for (window, share) in self.connection.sender.cc.subflows.iter_mut().zip(shares) {
                window.own.set_target_share(share);
            }
        }
        self.connection.control.sharer = Some((sharer, observer));
    }

    /// Begins a slot of so-MPTCP: decides how much each path may carry in the slot.
    pub(crate) fn slot(&mut self) {
        let packet_bits = self.cx.config.transport.mss.0 as f64 * 8.0;
        let sender = &mut self.connection.sender;
        let backlog = sender.waiting();
        let Some(slots) = &mut self.connection.control.slots else {
            return;
        };
        let slot_s = slots.slot.as_secs_f64();
        let path = |(i, energy): (usize, &PathEnergy)| {
            let view = &sender.views[i];
            let loss = loss(
                self.senders[i].stats.loss_events,
                &sender.cc.subflows[i].own,
            );
            let per_s = f64::from(view.cwnd) * 1e6 / f64::from(view.srtt_us.max(1));
            let usable = view.established && view.srtt_us > 0;
            SlotPath::of(
                energy,
                usable.then_some(Sending {
                    per_s,
                    loss,
                    slot_s,
                    packet_bits,
                }),
            )
        };
        let n = slots.energies.len();
        let mut paths = [SlotPath::default(); MAX_SUBFLOWS];
        for (slot, path) in paths
            .iter_mut()
            .zip(slots.energies.iter().enumerate().map(path))
        {
            *slot = path;
        }
        if let Some(allotted) = slots.allocator.allot(&paths[..n], backlog) {
            sender.scheduler.allot(&allotted[..n]);
        }
        let (at_ns, index) = (self.cx.now_ns + slots.slot.0, self.cx.connection as usize);
        let source = self.cx.config.sources.slot(index);
        self.connection
            .slot_timer
            .set(at_ns, source, &mut self.cx.net.queue);
        self.sender().push();
    }

    fn update_energy_costs(&mut self) {
        let windows = self.connection.sender.cc.subflows.iter_mut();
        let costed = self.connection.control.subflows.iter_mut();
        let ends = self.receivers.iter().zip(self.senders.iter());
        for (((receiver, sender), costed), window) in ends.zip(costed).zip(windows) {
            let seen = receiver.first_copy_bytes;
            let bytes = seen - std::mem::replace(&mut costed.seen_bytes, seen);
            costed.rate_bps = price::smoothed_bps(costed.rate_bps, bytes as f64);
            let loss = loss(sender.stats.loss_events, &window.own);
            window
                .own
                .set_energy_cost(costed.cost.energy_cost(costed.rate_bps, loss));
        }
    }

    fn update_path_prices(&mut self) {
        let windows = self.connection.sender.cc.subflows.iter_mut();
        for (costed, window) in self.connection.control.subflows.iter().zip(windows) {
            let queue = |link| self.cx.net.queue_of(self.cx.now_ns, link);
            window.own.set_path_price(costed.cost.price(queue));
        }
    }
}

/// p_r, from the distances between losses that the controller stores.
fn loss(loss_events: u64, own: &Own) -> f64 {
    let between = f64::from(own.acked_since_loss.max(own.acked_between_losses));
    price::loss_probability(loss_events > 0, between)
}

impl Network {
    /// The queue of a link: packets, bytes.
    fn queue_of(&mut self, now_ns: u64, link: usize) -> (u32, u64) {
        let link = self.link_before(link, now_ns);
        (
            link.queue_packets(Nanos(now_ns)),
            link.queue_bytes(Nanos(now_ns)),
        )
    }
}
