//! Cost of a set of paths: per bit, for the rest of a file, per second at an offered load.
//!
//! ```text
//!   P(S, x) = κ (Σ_S (θ + b x) + Σ_rest idle) + P₀ + host(Σx, RTT, |S|)     κ while two or more are active
//!   bulk    P(S, x)/Σx                                                                         J/bit
//!   file    P(S, x) N/Σx + P(S, 0) (T − N/Σx) + Σ_S (tail + promotion if closed) + Σ_open∉S tail + P₀ A   J
//!           T: time until N bits have arrived, with handshakes and slow start of closed paths
//!           A: time in which a radio is awake before or after T
//!   load    P at the offered rate, radios and P₀ asleep in pauses, + π λ D(S)                  W
//! ```
//! All sets are enumerated, so the optimum is exact. `tests` compare the enumeration with a search.

use joulepath_model::energy::DeviceEnergy;
use joulepath_model::units::Nanos;

use crate::energy::PathEnergy;
use crate::schedule::members;
use crate::slow_start::{self, OPENING_RTTS};

/// A set of paths: bit `i` is path `i`.
pub(super) type Set = u8;

/// Slow start of unknown paths, round trips.
const START_RTTS: f64 = 4.0;
/// Cost of a bit that a set cannot carry, J: more than on a slow radio. The wait that follows has
/// its own price.
const UNSERVED_J_PER_BIT: f64 = 1e-6;
/// Cost of a second beyond the deadline, J: more than any radio.
const LATE_J_PER_S: f64 = 1e4;
/// Costs within this relative difference are equal; the faster set is better.
const EQUAL: f64 = 1e-9;
/// Upper bound on a message's time in multiples of its time alone: estimates of the load are
/// inexact.
const MOST_QUEUEING: f64 = 20.0;

/// One path for the cost computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Radio {
    pub(super) energy: PathEnergy,
    /// Its capacity, bit/s; above 0.
    pub(super) rate_bps: f64,
    /// Round-trip time, s.
    pub(super) rtt_s: f64,
    /// Whether its rate was measured or is remembered.
    pub(super) is_known: bool,
    /// Whether its subflow is open or opening, so its tail is due in any case.
    pub(super) is_open: bool,
    /// Paths with equal numbers other than 0 share a bottleneck: together they carry the best one's
    /// rate.
    pub(super) group: u8,
}

/// Messages that come at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    /// λ, messages per second.
    pub(super) per_s: f64,
    /// Mean size, bits.
    pub(super) bits: f64,
    /// Part of the time in which data comes without a pause.
    pub(super) steady: f64,
    /// Pauses per second.
    pub(super) pauses_per_s: f64,
    /// Variance of the arriving data over its mean, bits: the mean message size for random
    /// arrivals.
    pub(super) burst_bits: f64,
    /// π, price of a second in which a message waits, W.
    pub(super) price_w: f64,
    /// Deadline of a message, s.
    pub(super) deadline_s: Option<f64>,
}

/// The paths and the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs<'a> {
    pub(super) device: &'a DeviceEnergy,
    pub(super) radios: &'a [Radio],
    /// Initial window of a subflow, bits.
    pub(super) window_bits: f64,
    /// Receive buffer that the paths share, bits.
    pub(super) buffer_bits: f64,
}

impl Costs<'_> {
    /// True if the rates of all its paths were measured or are remembered.
    pub(super) fn knows(&self, set: Set) -> bool {
        members(set).all(|i| self.radios[i].is_known)
    }

    /// What the set carries, bit/s: what its paths carry, and no more than a receive buffer in the
    /// longest of their RTTs. Data behind a segment on the slowest path waits in that buffer.
    pub(super) fn rate_bps(&self, set: Set) -> f64 {
        self.paths_bps(set).min(self.buffer_bps(set))
    }

    fn paths_bps(&self, set: Set) -> f64 {
        members(set).map(|i| self.unbound_bps(set, i)).sum()
    }

    fn buffer_bps(&self, set: Set) -> f64 {
        self.buffer_bits
            / members(set)
                .map(|i| self.radios[i].rtt_s)
                .fold(0.0, f64::max)
    }

    /// What path `i` carries in the set.
    fn share_bps(&self, set: Set, i: usize) -> f64 {
        let bound = (self.buffer_bps(set) / self.paths_bps(set)).min(1.0);
        self.unbound_bps(set, i) * bound
    }

    /// What path `i` carries in the set if the receive buffer is large enough: members of one
    /// bottleneck divide what the best of them carries.
    fn unbound_bps(&self, set: Set, i: usize) -> f64 {
        let Radio {
            rate_bps, group, ..
        } = self.radios[i];
        if group == 0 {
            return rate_bps;
        }
        let same = members(set)
            .map(|k| &self.radios[k])
            .filter(|radio| radio.group == group);
        let (count, most) = same.fold((0.0, 0.0), |(n, most), r| {
            (n + 1.0, f64::max(most, r.rate_bps))
        });
        most / count
    }

    fn rtt_s(&self, set: Set) -> f64 {
        members(set)
            .map(|i| self.radios[i].rtt_s)
            .fold(f64::INFINITY, f64::min)
    }

    /// Power of the device if interface `i` burns `watts(i)`, and the paths in `set` are used and
    /// carry `rate_bps` together.
    fn device_w(&self, set: Set, rate_bps: f64, watts: impl Fn(usize) -> f64) -> f64 {
        let is_active = |i: usize| {
            let PathEnergy {
                slope_j_per_bit,
                sunk_w,
                ..
            } = self.radios[i].energy;
            let costs = slope_j_per_bit > 0.0 || sunk_w > 0.0;
            costs && (set & 1 << i != 0 || self.radios[i].energy.burns_always())
        };
        let active = (0..self.radios.len()).filter(|&i| is_active(i)).count();
        let interfaces: f64 = (0..self.radios.len()).map(watts).sum();
        let shared = if active >= 2 {
            self.device.sharing_factor
        } else {
            1.0
        };
        let base_w = if active > 0 {
            self.device.shared_base.0
        } else {
            0.0
        };
        let host = self.device.host.as_ref().map_or(0.0, |host| {
            host.power(
                rate_bps,
                Nanos::from_secs_f64(self.rtt_s(set).min(1e3)),
                set.count_ones(),
            )
            .0
        });
        shared * interfaces + base_w + host
    }

    /// Power while every path of the set is full, W.
    pub(super) fn full_w(&self, set: Set) -> f64 {
        self.device_w(set, self.rate_bps(set), |i| {
            let energy = &self.radios[i].energy;
            if set & 1 << i != 0 {
                energy.power_w(self.share_bps(set, i))
            } else {
                energy.idle_w
            }
        })
    }

    /// Cost of endless data, J/bit.
    pub(super) fn bulk(&self, set: Set) -> f64 {
        self.full_w(set) / self.rate_bps(set)
    }

    /// Cost of the rest of a file, J. `price_w` is the price of each second until its end.
    pub(super) fn file(&self, set: Set, bits: f64, price_w: f64, deadline_s: Option<f64>) -> f64 {
        let carrying_s = bits / self.rate_bps(set);
        let whole_s = self.until_carried_s(set, bits);
        let late_s = deadline_s.map_or(0.0, |deadline| (whole_s - deadline).max(0.0));
        let standing_w = self.device_w(set, 0.0, |i| {
            let energy = &self.radios[i].energy;
            if set & 1 << i != 0 {
                energy.sunk_w
            } else {
                energy.idle_w
            }
        });
        let switching = |i: usize| {
            let Radio {
                energy, is_open, ..
            } = &self.radios[i];
            match (set & 1 << i != 0, is_open) {
                (true, false) => energy.switch_j(),
                (_, true) => energy.tail_j(),
                (false, false) => 0.0,
            }
        };
        let switching_j: f64 = (0..self.radios.len()).map(switching).sum();
        self.full_w(set) * carrying_s
            + standing_w * (whole_s - carrying_s)
            + switching_j
            + self.device.shared_base.0 * self.awake_beside_s(set, whole_s)
            + price_w * whole_s
            + LATE_J_PER_S * late_s
    }

    /// True if a radio is always awake, and with it the shared base.
    fn never_sleeps(&self) -> bool {
        self.radios.iter().any(|radio| radio.energy.burns_always())
    }

    /// Time for which radios are awake apart from a transfer of `whole_s` over the set, s: the
    /// first promotion, and what the last tail lasts beyond the transfer. 0 if a radio is always
    /// awake.
    fn awake_beside_s(&self, set: Set, whole_s: f64) -> f64 {
        if self.never_sleeps() {
            return 0.0;
        }
        let sleeps_at_s = |i: usize| match (set & 1 << i != 0, self.radios[i].is_open) {
            (true, _) => whole_s + self.radios[i].energy.tail_s,
            (false, true) => self.radios[i].energy.tail_s,
            (false, false) => 0.0,
        };
        let last_s = (0..self.radios.len())
            .map(sleeps_at_s)
            .fold(whole_s, f64::max);
        let wakes = !self.radios.iter().any(|radio| radio.is_open);
        let wake_s = members(set)
            .map(|i| self.radios[i].energy.wake_s)
            .fold(0.0, f64::max);
        last_s - whole_s + if wakes { wake_s } else { 0.0 }
    }

    /// Time until the set has carried `bits`, s, including handshakes and slow start of closed
    /// paths. If all are closed, the path with the least RTT opens first, and the others after its
    /// reply.
    pub(super) fn until_carried_s(&self, set: Set, bits: f64) -> f64 {
        let full_s = bits / self.rate_bps(set);
        if members(set).all(|i| self.radios[i].is_open) {
            return full_s;
        }
        // The start of the second of two unknown paths matters less than the risk that one of them
        // is slow: two paths are a hedge.
        if !self.knows(set) {
            return full_s + START_RTTS * self.rtt_s(set);
        }
        let by_rtt = |&i: &usize, &j: &usize| self.radios[i].rtt_s.total_cmp(&self.radios[j].rtt_s);
        let connected = self.radios.iter().any(|radio| radio.is_open);
        let first = members(set).min_by(by_rtt).filter(|_| !connected);
        // The search below asks for the same shares many times.
        let mut shares_bps = [0.0; Set::BITS as usize];
        members(set).for_each(|i| shares_bps[i] = self.share_bps(set, i));
        let carried_bits = |i: usize, after_s: f64| {
            let (Radio { rtt_s, is_open, .. }, share_bps) = (self.radios[i], shares_bps[i]);
            if is_open {
                return share_bps * after_s;
            }
            let waits_s = first
                .filter(|&first| first != i)
                .map_or(0.0, |first| self.radios[first].rtt_s);
            let since_s = after_s - waits_s - OPENING_RTTS * rtt_s;
            slow_start::carried_bits(self.window_bits, rtt_s, share_bps, since_s)
        };
        let carried = |after_s: f64| members(set).map(|i| carried_bits(i, after_s)).sum::<f64>();
        let enough_s = (0..)
            .map(|k| full_s * f64::from(1 << k))
            .find(|&s| carried(s) >= bits);
        enough_s.map_or(full_s, |enough_s| {
            slow_start::time_s(bits, enough_s, carried)
        })
    }

    /// Cost at an offered load, W.
    pub(super) fn load(&self, set: Set, load: &Load) -> f64 {
        self.load_after(set, load, 0.0)
    }

    /// As [`Self::load`] if messages over `set` take `excess_s` longer than its rate, RTT and queue
    /// explain.
    pub(super) fn load_after(&self, set: Set, load: &Load, excess_s: f64) -> f64 {
        let (capacity_bps, offered_bps) = (self.rate_bps(set), load.per_s * load.bits);
        let carried_bps = offered_bps.min(capacity_bps);
        let loads = self.divided(set, carried_bps);
        let watts = self.device_w(set, carried_bps, |i| {
            let energy = &self.radios[i].energy;
            if set & 1 << i == 0 {
                return energy.idle_w;
            }
            energy.slope_j_per_bit * loads[i]
                + between_messages(energy, loads[i] / self.share_bps(set, i), load)
        });
        let asleep_w = self.asleep(set, &loads, load) * self.device.shared_base.0;
        let delay_s = self.delay_s(set, load) + excess_s;
        let late_s = load
            .deadline_s
            .map_or(0.0, |deadline| (delay_s - deadline).max(0.0));
        watts - asleep_w
            + load.price_w * load.per_s * delay_s
            + LATE_J_PER_S * load.per_s * late_s
            + UNSERVED_J_PER_BIT * (offered_bps - carried_bps)
    }

    /// Rate of each path at a total of `bps`: the least RTT fills first, as in the kernel's
    /// scheduler.
    fn divided(&self, set: Set, bps: f64) -> [f64; Set::BITS as usize] {
        let mut order = [0; Set::BITS as usize];
        let n = members(set).fold(0, |n, i| {
            order[n] = i;
            n + 1
        });
        order[..n].sort_by(|&i, &j| self.radios[i].rtt_s.total_cmp(&self.radios[j].rtt_s));
        let (mut left_bps, mut loads) = (bps, [0.0; Set::BITS as usize]);
        for &i in &order[..n] {
            loads[i] = self.share_bps(set, i).min(left_bps);
            left_bps -= loads[i];
        }
        loads
    }

    /// Part of the time in which every radio sleeps, and with them the shared base: the complement
    /// of the longest awake radio, because all wake for the same messages.
    fn asleep(&self, set: Set, loads: &[f64; Set::BITS as usize], load: &Load) -> f64 {
        if self.never_sleeps() {
            return 0.0;
        }
        let awake = |i: usize| {
            let energy = &self.radios[i].energy;
            let busy = loads[i] / self.share_bps(set, i);
            let costs = energy.sunk_w > 0.0 || energy.slope_j_per_bit > 0.0;
            match energy.sleeps {
                true => states(energy, busy, load).iter().sum(),
                false => f64::from(u8::from(costs)),
            }
        };
        1.0 - members(set).map(awake).fold(0.0, f64::max)
    }

    /// Mean time from a message's begin to its end: a round trip, its transmission, and the mean
    /// wait for what came before it, ρ I / (2 (1 − ρ)), where I is the dispersion of what comes.
    /// Messages of one size at random have I of one message, as M/D/1; what comes evenly does not
    /// wait (Kingman 1961).
    pub(super) fn delay_s(&self, set: Set, load: &Load) -> f64 {
        let rate_bps = self.rate_bps(set);
        let alone_s = load.bits / rate_bps;
        let busy = load.per_s * alone_s;
        let idle = (1.0 - busy).max(1.0 / MOST_QUEUEING);
        self.rtt_s(set) + alone_s + busy.min(1.0) * load.burst_bits / rate_bps / (2.0 * idle)
    }

    /// Energy to open the paths of `to` that are not in `from`, J, and of the shared base in a
    /// longer tail. Closing is free: a tail is paid for when its radio opens.
    pub(super) fn opening_j(&self, from: Set, to: Set) -> f64 {
        let longest_s = |set| {
            members(set)
                .map(|i| self.radios[i].energy.tail_s)
                .fold(0.0, f64::max)
        };
        let longer_s = if self.never_sleeps() {
            0.0
        } else {
            (longest_s(to) - longest_s(from)).max(0.0)
        };
        members(to & !from)
            .map(|i| self.radios[i].energy.switch_j())
            .sum::<f64>()
            + self.device.shared_base.0 * longer_s
    }

    /// The cheapest single path of `allowed`, by the same rules as [`Self::cheapest`].
    pub(super) fn cheapest_alone(&self, allowed: Set, cost: impl Fn(Set) -> f64) -> Set {
        let sets = members(allowed).map(|i| 1 << i);
        self.cheapest_of(sets, cost).unwrap_or(allowed)
    }

    /// The cheapest set within `allowed` by `cost`; on a tie the fastest, then the first. `allowed`
    /// is not empty.
    pub(super) fn cheapest(&self, allowed: Set, cost: impl Fn(Set) -> f64) -> Set {
        let sets = (1..=allowed).filter(|set| set & !allowed == 0);
        self.cheapest_of(sets, cost).unwrap_or(allowed)
    }

    fn cheapest_of(
        &self,
        sets: impl Iterator<Item = Set>,
        cost: impl Fn(Set) -> f64,
    ) -> Option<Set> {
        let mut best: Option<(Set, f64)> = None;
        for set in sets {
            let this = cost(set);
            let is_better = best.is_none_or(|(known, least)| {
                let equal = EQUAL * least.abs();
                this < least - equal
                    || (this <= least + equal && self.rate_bps(set) > self.rate_bps(known))
            });
            if is_better {
                best = Some((set, this));
            }
        }
        best.map(|(set, _)| set)
    }
}

/// Mean power of an interface apart from its bits, while its subflow is open and carries messages
/// for the part `busy` of the time, W: active, in its tail, and promoted again if the tail ends
/// before the next message.
fn between_messages(energy: &PathEnergy, busy: f64, load: &Load) -> f64 {
    if !energy.sleeps {
        return energy.sunk_w;
    }
    let [active, tail] = states(energy, busy, load);
    let asleep = 1.0 - active - tail;
    let wakes_per_s = if asleep > 0.0 { load.pauses_per_s } else { 0.0 };
    active * energy.sunk_w
        + tail * energy.tail_w
        + asleep * energy.idle_w
        + wakes_per_s * energy.wake_j
}

/// Parts of the time in which a radio that sleeps is active, and in its tail.
fn states(energy: &PathEnergy, busy: f64, load: &Load) -> [f64; 2] {
    let active = busy.max(load.steady).min(1.0);
    [
        active,
        (load.pauses_per_s * energy.tail_s).min(1.0 - active),
    ]
}
