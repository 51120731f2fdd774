//! so-MPTCP for a stack that schedules packets itself: mean rates and backup flags instead of
//! packets per slot.
//!
//! ```text
//!   x_i of a slot ──mean over a second──► r_i      r_i ≥ x̄_i/Δt, nearly: regular, limited by its window
//!                                                  LEAST ≤ r_i:          regular, paced at r_i
//!                                                  below:                a backup, not paced
//! ```
//! The cheapest path is always regular and unpaced. A backup is unpaced, so its subflow's data can
//! leave: a subflow throttled by its rate would block all later data. For the same reason no rate
//! is below LEAST: Linux gives a subflow up to 64 kB at once.

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::units::Nanos;

use super::allocator::SoMptcpOptions;
use super::so_mptcp::{Sending, SlotPath, SoMptcp};
use crate::select::{Action, Demand, Snapshot, Use, Uses, differences};

/// Time between two decisions: MP_PRIO takes half an RTT, and a mean over a second does not change
/// faster.
const LOOK: Nanos = Nanos::from_millis(100);
/// Time constant of the means, s.
const MEAN_S: f64 = 1.0;
/// Minimum rate of a regular path, bit/s: a burst of 64 kB takes half a second.
const LEAST_BPS: f64 = 1e6;
/// A path that carries at least this part of its window's rate is unpaced.
const FULL: f64 = 0.95;

/// so-MPTCP's allocator by mean rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Paced {
    allocator: SoMptcp,
    slot_s: f64,
    seen: Option<Nanos>,
    /// r_i and x̄_i/Δt, packets/s.
    means: [(f64, f64); MAX_SUBFLOWS],
    uses: Uses,
    /// By path, bit/s; `None`: unpaced.
    limits_bps: [Option<f64>; MAX_SUBFLOWS],
}

impl Paced {
    /// All paths are regular at first.
    pub fn new(options: SoMptcpOptions) -> Self {
        Paced {
            allocator: SoMptcp::new(options.v, options.shape),
            slot_s: options.slot.as_secs_f64(),
            seen: None,
            means: [(0.0, 0.0); MAX_SUBFLOWS],
            uses: [Use::Regular; MAX_SUBFLOWS],
            limits_bps: [None; MAX_SUBFLOWS],
        }
    }

    /// Time until its next decision.
    pub fn period(&self) -> Nanos {
        LOOK
    }

    /// The wanted use of the paths. The snapshot's demand is the data not yet given to a subflow:
    /// Q.
    pub fn want(&mut self, snapshot: &Snapshot) -> Uses {
        let packet_bits = snapshot.mss_bytes * 8.0;
        let backlog = match snapshot.demand {
            Demand::Endless => f64::INFINITY,
            Demand::Bytes(bytes) => bytes / snapshot.mss_bytes,
        };
        let mut slots = [SlotPath::default(); MAX_SUBFLOWS];
        for (slot, path) in slots.iter_mut().zip(snapshot.paths) {
            let is_usable = path.usable && path.srtt_s > 0.0;
            let sending = is_usable.then(|| Sending {
                per_s: path.cwnd / path.srtt_s,
                loss: path.loss,
                slot_s: self.slot_s,
                packet_bits,
            });
            *slot = SlotPath::of(&path.energy, sending);
        }
        let slots = &slots[..snapshot.paths.len()];
        if let Some(allotted) = self.allot(slots, backlog) {
            let elapsed_s = snapshot
                .now
                .saturating_sub(self.seen.unwrap_or(snapshot.now))
                .as_secs_f64();
            self.seen = Some(snapshot.now);
            self.average(slots, &allotted, elapsed_s);
            self.decide(slots, packet_bits);
        }
        self.uses
    }

    /// The actions that lead to the wanted use.
    pub fn decide_on(&mut self, snapshot: &Snapshot) -> Vec<Action> {
        let uses = self.want(snapshot);
        differences(snapshot.paths, &uses)
    }

    /// By path, bit/s of payload; `None`: limited by the window only.
    pub fn limits_bps(&self) -> &[Option<f64>; MAX_SUBFLOWS] {
        &self.limits_bps
    }

    /// With endless data every path that can carry data pays.
    fn allot(&mut self, slots: &[SlotPath], backlog: f64) -> Option<[f64; MAX_SUBFLOWS]> {
        if backlog.is_finite() {
            return self.allocator.allot(slots, backlog);
        }
        let mut all = [0.0; MAX_SUBFLOWS];
        all.iter_mut()
            .zip(slots)
            .for_each(|(x, slot)| *x = slot.capacity);
        all.iter().any(|&x| x > 0.0).then_some(all)
    }

    fn average(&mut self, slots: &[SlotPath], allotted: &[f64; MAX_SUBFLOWS], elapsed_s: f64) {
        // The first measurement counts fully.
        let weight = if elapsed_s > 0.0 {
            elapsed_s / (elapsed_s + MEAN_S)
        } else {
            1.0
        };
        for (((rate, most), slot), x) in self.means.iter_mut().zip(slots).zip(allotted) {
            *rate += weight * (x / self.slot_s - *rate);
            *most += weight * (slot.capacity / self.slot_s - *most);
        }
    }

    /// The cheapest path is never limited: data that pays nowhere else waits for it, and with an
    /// empty queue nothing is allotted at all.
    fn decide(&mut self, slots: &[SlotPath], packet_bits: f64) {
        let cheaper = |a: usize, b: usize| {
            if slots[b].cost_j < slots[a].cost_j {
                b
            } else {
                a
            }
        };
        let cheapest = (0..slots.len()).fold(0, cheaper);
        for (i, &(rate, most)) in self.means[..slots.len()].iter().enumerate() {
            let is_used = i == cheapest || rate * packet_bits >= LEAST_BPS;
            let is_paced = is_used && i != cheapest && rate < FULL * most;
            self.uses[i] = if is_used { Use::Regular } else { Use::Backup };
            self.limits_bps[i] = is_paced.then_some(rate * packet_bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::energy::DeviceEnergy;

    use super::*;
    use crate::allocate::EnergyShape;
    use crate::select::{PathEnergy, PathSnapshot, PathState};

    /// 1000 packets/s of 1000 bytes each: 8 Mbit/s. 1 and 5 J/Mbit.
    fn paths() -> [PathSnapshot; 2] {
        [1.0, 5.0].map(|joules_per_mbit| PathSnapshot {
            state: PathState::Open,
            usable: true,
            srtt_s: 0.1,
            cwnd: 100.0,
            energy: PathEnergy {
                slope_j_per_bit: joules_per_mbit * 1e-6,
                ..PathEnergy::default()
            },
            ..PathSnapshot::default()
        })
    }

    /// The wanted use of both paths when this many packets wait at each decision.
    fn wanted(shape: EnergyShape, backlogs: &[f64]) -> (Uses, [Option<f64>; 2]) {
        let mut paced = Paced::new(SoMptcpOptions {
            shape,
            ..SoMptcpOptions::default()
        });
        let (paths, mut uses) = (paths(), [Use::Closed; MAX_SUBFLOWS]);
        for (i, &packets) in backlogs.iter().enumerate() {
            uses = paced.want(&Snapshot {
                now: Nanos::from_millis(100 * i as u64),
                mss_bytes: 1000.0,
                initial_window: 10.0,
                receive_window: f64::INFINITY,
                device: &DeviceEnergy::ADDITIVE,
                demand: if packets.is_finite() {
                    Demand::Bytes(1000.0 * packets)
                } else {
                    Demand::Endless
                },
                paths: &paths,
            });
        }
        (uses, [paced.limits_bps()[0], paced.limits_bps()[1]])
    }

    #[test]
    fn the_expensive_path_stays_a_backup_until_the_queue_pays_for_it() {
        // V = 100: thresholds of 100 and 500 packets; the place-holder adds the 100.
        for packets in [0.0, 50.0] {
            let (uses, limits) = wanted(EnergyShape::Linear, &[packets]);
            assert_eq!(
                (uses[0], uses[1], limits),
                (Use::Regular, Use::Backup, [None, None]),
                "{packets}"
            );
        }
        let (uses, limits) = wanted(EnergyShape::Linear, &[450.0]);
        assert_eq!(
            (uses[0], uses[1], limits),
            (Use::Regular, Use::Regular, [None, None])
        );
        let (uses, _) = wanted(EnergyShape::Linear, &[f64::INFINITY]);
        assert_eq!(uses[..2], [Use::Regular, Use::Regular]);
    }

    #[test]
    fn a_path_that_pays_half_of_the_time_is_paced_at_half_its_rate() {
        let backlogs: Vec<f64> = (0..100)
            .map(|i| if i % 2 == 0 { 450.0 } else { 50.0 })
            .collect();
        let (uses, [cheap, dear]) = wanted(EnergyShape::Linear, &backlogs);
        assert_eq!(
            (uses[0], uses[1], cheap),
            (Use::Regular, Use::Regular, None)
        );
        // 4 Mbit/s, plus or minus the ripple of a mean over a second.
        assert!(
            dear.is_some_and(|bps| (3.6e6..4.4e6).contains(&bps)),
            "{dear:?}"
        );
    }

    #[test]
    fn convex_energy_paces_a_partly_used_path() {
        // x = (Q + 100 − 500) x̄/(V c) = 100/500 of x̄ with Q = 500: 1.6 Mbit/s.
        let (uses, [_, dear]) = wanted(EnergyShape::Convex, &[500.0]);
        assert_eq!(uses[1], Use::Regular);
        assert!(
            dear.is_some_and(|bps| (bps - 1.6e6).abs() < 1.0),
            "{dear:?}"
        );
    }
}
