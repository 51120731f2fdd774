//! Radios whose power follows their signal, from below.
//!
//! In each window of at most a second the meter charges P(s, 0, 0) for the active time a, and
//! (P(s, d, u) − P(s, 0, 0)) τ for the traffic: s is the signal, d and u are the window's bits over
//! τ, the longer of a and 0.1 s. P is a sum of a function of d and one of u, so with the highest
//! rates D and U
//!
//! ```text
//!   charge  ≥  P(s, 0, 0) a + b_d · bits down + b_u · bits up
//!   b_d = min_{d ≤ D} (P(s, d, 0) − P(s, 0, 0)) / d         b_u = min_{u ≤ U} (P(s, 0, u) − P(s, 0, 0)) / u
//! ```
//! for any rates and any division into windows. A slot with several signals has the least of each
//! number.

use joulepath_model::energy::radios::RadioTable;
use joulepath_model::energy::{InterfaceModel, RrcModel, Traffic};
use joulepath_model::network::RateSpec;
use joulepath_model::scenario::{ConnectionGroup, Direction, LinkIndex, PathIndex, Scenario};
use joulepath_model::signal::signal_at;
use joulepath_model::units::{Dbm, Nanos};

use super::cost::{InterfaceCost, interface_cost};
use super::problem::{Excess, Slot};
use super::route::{pace_in, wire_bits};
use crate::path::{Window, delays, least_over, links_of, peak_bps, traffic_of, wire_per_payload};

/// Packets per second that a highest rate allows beyond the link's: one at each end of the meter's
/// shortest window, and control packets.
const EXTRA_PACKETS_PER_S: f64 = 100.0;

/// A path whose radio follows a signal, or rates, that change.
pub(super) struct Follower<'a> {
    path: PathIndex,
    /// Its place in the group.
    place: usize,
    radio: &'static RadioTable,
    model: &'a RrcModel,
    series: Vec<(Nanos, Dbm)>,
}

/// The paths of `group` whose radio's power changes in `window`. With one signal and one rate the
/// path's own model holds.
pub(super) fn followers<'a>(
    scenario: &'a Scenario,
    group: &ConnectionGroup,
    window: Window,
) -> Vec<Follower<'a>> {
    let follower = |(place, &path): (usize, &PathIndex)| {
        let spec = &scenario.paths[path];
        let (signal, radio) = (spec.signal.as_ref()?, spec.energy.radio()?);
        let InterfaceModel::Rrc(model) = &spec.energy.model else {
            return None;
        };
        let series = signal.spec.expected(scenario.duration);
        let follower = Follower {
            path,
            place,
            radio,
            model,
            series,
        };
        let first = signal_at(&follower.series, window.from);
        let has_one_signal = follower.signals(window).all(|signal| signal == first);
        (!has_one_signal || !has_one_rate(scenario, group, path)).then_some(follower)
    };
    group
        .paths
        .iter()
        .enumerate()
        .filter_map(follower)
        .collect()
}

/// Whether the rate at which the model of a path's radio holds is that of its slowest link at any
/// time.
fn has_one_rate(scenario: &Scenario, group: &ConnectionGroup, path: PathIndex) -> bool {
    let constant = |link: LinkIndex| match scenario.links[link].rate {
        RateSpec::Constant(rate) => Some(rate.bps()),
        RateSpec::Unlimited => Some(u64::MAX),
        RateSpec::Steps(_) | RateSpec::LogNormal { .. } | RateSpec::Trace(_) => None,
    };
    let (down, up) = scenario.paths[path].radio;
    let own = match group.direction {
        Direction::Download => down,
        Direction::Upload => up,
    };
    let least = links_of(scenario, group.direction, path)
        .0
        .iter()
        .map(|&link| constant(link))
        .min();
    let both = [down, up]
        .iter()
        .all(|&link| constant(link).is_some_and(|bps| bps < u64::MAX));
    // `None` sorts before any rate.
    both && least == Some(constant(own))
}

impl Follower<'_> {
    /// Instants at which the signal changes.
    pub(super) fn changes(&self) -> impl Iterator<Item = Nanos> {
        self.series
            .windows(2)
            .filter(|pair| pair[0].1 != pair[1].1)
            .map(|pair| pair[1].0)
    }

    /// The signals in `window`.
    fn signals(&self, window: Window) -> impl Iterator<Item = Dbm> {
        let within = move |at: &Nanos| *at > window.from && *at < window.until;
        let later = self
            .series
            .iter()
            .filter(move |(at, _)| within(at))
            .map(|(_, signal)| *signal);
        [signal_at(&self.series, window.from)]
            .into_iter()
            .chain(later)
    }

    /// The least cost in `window`.
    fn cost(&self, scenario: &Scenario, group: &ConnectionGroup, window: Window) -> InterfaceCost {
        let (data, _) = links_of(scenario, group.direction, self.path);
        // Data arrives at the device after the delays of the links from its bottleneck on. It may
        // leave the device at any time before.
        let seen = |link: LinkIndex| match group.direction {
            Direction::Upload => window,
            Direction::Download => {
                let at = data.iter().position(|&l| l == link);
                let [least, greatest] = delays(scenario, &data[at.unwrap_or(data.len())..]);
                Window {
                    from: window.from.saturating_sub(greatest),
                    until: window.until.saturating_sub(least),
                }
            }
        };
        let pace = pace_in(scenario, group, self.path, &seen);
        let (down_bps, up_bps) = self.most_bps(scenario, group, data, &seen);
        let model = self
            .radio
            .below(self.signals(window), self.model, down_bps, up_bps);
        interface_cost(
            &InterfaceModel::Rrc(model),
            wire_bits(scenario, group, self.path, window),
            pace,
        )
    }

    /// The highest rates through the interface, down and up, bit/s on the wire.
    fn most_bps(
        &self,
        scenario: &Scenario,
        group: &ConnectionGroup,
        data: &[LinkIndex],
        seen: &dyn Fn(LinkIndex) -> Window,
    ) -> (f64, f64) {
        let transport = &scenario.transport;
        let segment_bits = transport.mss.0 as f64 * 8.0 * wire_per_payload(scenario);
        let ack_bits = transport.ack_size.0 as f64 * 8.0;
        let peak = |link: LinkIndex| peak_bps(&scenario.links[link], seen(link));
        // What the first link of an upload drops or delays later has left the device.
        let least_bps = match traffic_of(group.direction) {
            Traffic::Down => least_over(data, peak),
            Traffic::Up => peak(scenario.paths[self.path].radio.1),
        };
        let data_bps = least_bps + EXTRA_PACKETS_PER_S * segment_bits;
        let acks_bps = data_bps / segment_bits * ack_bits;
        match traffic_of(group.direction) {
            Traffic::Down => (data_bps, acks_bps),
            Traffic::Up => (acks_bps, data_bps),
        }
    }
}

/// Lowers the costs of `followers` to their least in any slot, and gives each slot its excess.
pub(super) fn follow(
    scenario: &Scenario,
    group: &ConnectionGroup,
    followers: &[Follower<'_>],
    costs: &mut [InterfaceCost],
    slots: &mut [(Window, Slot)],
) {
    for follower in followers {
        let r = follower.place;
        let in_slots: Vec<InterfaceCost> = slots
            .iter()
            .map(|(window, _)| follower.cost(scenario, group, *window))
            .collect();
        let least =
            |of: fn(&InterfaceCost) -> f64| in_slots.iter().map(of).fold(f64::INFINITY, f64::min);
        let (used_w, slope_j_per_bit) = (
            least(|cost| cost.used_w),
            least(|cost| cost.slope_j_per_bit),
        );
        let paths = costs.len();
        costs[r] = InterfaceCost {
            used_w,
            slope_j_per_bit,
            ..costs[r]
        };
        if in_slots.len() == 1 {
            continue;
        }
        for ((_, slot), cost) in slots.iter_mut().zip(&in_slots) {
            slot.excess.resize(paths, Excess::default());
            slot.excess[r] = Excess {
                used_w: cost.used_w - used_w,
                slope_j_per_bit: cost.slope_j_per_bit - slope_j_per_bit,
            };
        }
    }
}
