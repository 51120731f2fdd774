//! What a path can carry, from the scenario alone: no queueing, no dynamics.

use joulepath_model::energy::Traffic;
use joulepath_model::network::{DeliveryTrace, LinkSpec, RateSpec};
use joulepath_model::scenario::{CrossPattern, CrossTraffic, Direction, LinkIndex, PathIndex, Scenario};
use joulepath_model::units::Nanos;

use crate::allocate::rate::{mathis_bps, pftk_pps};
use crate::allocate::{CapacityModel, CostedPath};

/// Part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) from: Nanos,
    pub(crate) until: Nanos,
}

impl Window {
    pub(crate) fn seconds(self) -> f64 {
        self.until.saturating_sub(self.from).as_secs_f64()
    }

    /// The part of it between two instants, s.
    pub(crate) fn overlap_s(self, from: Nanos, until: Nanos) -> f64 {
        until.min(self.until).saturating_sub(from.max(self.from)).as_secs_f64()
    }
}

/// Which links of a path carry the data, and which its ACKs, in order.
pub(crate) fn links_of(
    scenario: &Scenario,
    direction: Direction,
    path: PathIndex,
) -> (&[LinkIndex], &[LinkIndex]) {
    let path = &scenario.paths[path];
    match direction {
        Direction::Download => (&path.down, &path.up),
        Direction::Upload => (&path.up, &path.down),
    }
}

/// Which way the data passes the device's interfaces.
pub(crate) const fn traffic_of(direction: Direction) -> Traffic {
    match direction {
        Direction::Download => Traffic::Down,
        Direction::Upload => Traffic::Up,
    }
}

/// Rate of the slowest link on the way of the data with nobody but cross traffic on it, bit/s of payload.
pub(crate) fn slowest_bps(scenario: &Scenario, direction: Direction, path: PathIndex, window: Window) -> f64 {
    let (data, _) = links_of(scenario, direction, path);
    let slowest =
        data.iter().map(|&link| available_bps(scenario, link, window)).fold(f64::INFINITY, f64::min);
    slowest / wire_per_payload(scenario)
}

/// Propagation there and back, s.
pub(crate) fn base_rtt_s(scenario: &Scenario, path: PathIndex) -> f64 {
    let path = &scenario.paths[path];
    path.down.iter().chain(&path.up).map(|&link| scenario.links[link].delay.as_secs_f64()).sum()
}

/// Π (1 − p) over `links`: what the wires deliver.
pub(crate) fn delivered(scenario: &Scenario, links: &[LinkIndex]) -> f64 {
    links.iter().map(|&link| 1.0 - scenario.links[link].loss.mean()).product()
}

/// Bits on the wire for one bit of payload in full segments.
pub(crate) fn wire_per_payload(scenario: &Scenario) -> f64 {
    let (mss, header) = (scenario.transport.mss.0 as f64, scenario.transport.header.0 as f64);
    (mss + header) / mss
}

/// Mean rate of a link in `window` outside its outages, less the cross traffic that it carries, bit/s on the wire.
pub(crate) fn available_bps(scenario: &Scenario, link: LinkIndex, window: Window) -> f64 {
    let cross: f64 = scenario.cross.iter().filter(|c| c.link == link).map(|c| cross_bps(c, window)).sum();
    (carried_bps(&scenario.links[link], window) - cross).max(0.0)
}

/// Mean rate of cross traffic in `window`, bit/s on the wire.
fn cross_bps(cross: &CrossTraffic, window: Window) -> f64 {
    let while_on = match cross.pattern {
        CrossPattern::Constant { rate } => rate.bps() as f64,
        CrossPattern::Pareto { rate, mean_burst, mean_gap, .. } => {
            rate.bps() as f64 * mean_burst.0 as f64 / (mean_burst.0 + mean_gap.0) as f64
        }
    };
    while_on * window.overlap_s(cross.start, cross.stop) / window.seconds()
}

/// Mean rate of a link in `window`, its outages counting as rate 0, bit/s.
pub(crate) fn carried_bps(link: &LinkSpec, window: Window) -> f64 {
    match &link.rate {
        RateSpec::Unlimited => f64::INFINITY,
        RateSpec::Trace(trace) => {
            let period = *trace.opportunities_ms.last().expect("a trace has at least one line");
            let passes = window.until.0 / Nanos::from_millis(period).0;
            let served = (0..=passes)
                .flat_map(|pass| trace.opportunities_ms.iter().map(move |ms| pass * period + ms))
                .map(Nanos::from_millis)
                .filter(|&at| (window.from..window.until).contains(&at) && !is_out(link, at))
                .count();
            served as f64 * f64::from(DeliveryTrace::OPPORTUNITY_BYTES) * 8.0 / window.seconds()
        }
        _ => {
            let pieces = pieces(link, window);
            pieces.iter().map(|(piece, bps)| bps * piece.seconds()).sum::<f64>() / window.seconds()
        }
    }
}

/// Traces have the rate of this long, at most: shorter bursts cost a radio no less.
const BURST: Nanos = Nanos::from_millis(100);

/// Highest rate of a link in `window`, bit/s; that of a trace over 100 ms.
pub(crate) fn peak_bps(link: &LinkSpec, window: Window) -> f64 {
    match &link.rate {
        RateSpec::Unlimited => f64::INFINITY,
        RateSpec::Trace(trace) => trace_peak_bps(trace, window),
        _ => pieces(link, window).iter().map(|(_, bps)| *bps).fold(0.0, f64::max),
    }
}

/// Lowest rate above 0 of a link in `window`, bit/s; none if the link is a trace's: then it is a matter of bursts.
pub(crate) fn trough_bps(link: &LinkSpec, window: Window) -> Option<f64> {
    let pieces = match &link.rate {
        RateSpec::Unlimited => return Some(f64::INFINITY),
        RateSpec::Trace(_) => return None,
        _ => pieces(link, window),
    };
    Some(pieces.iter().map(|(_, bps)| *bps).filter(|bps| *bps > 0.0).fold(f64::INFINITY, f64::min))
}

/// The most opportunities of any [`BURST`] that begins in `window`, or just before it.
fn trace_peak_bps(trace: &DeliveryTrace, window: Window) -> f64 {
    let lines = &trace.opportunities_ms;
    let (period, burst) = (lines[lines.len() - 1], BURST.0 / 1_000_000);
    let (from, until) = ((window.from.0 / 1_000_000).saturating_sub(burst), window.until.0 / 1_000_000);
    let until = until.min(from + period + burst);
    // The lines of this pass and of those that a window may reach into.
    let at = |index: u64| {
        let line = (index % lines.len() as u64) as usize;
        index / lines.len() as u64 * period + lines[line]
    };
    let pass = from.saturating_sub(1) / period;
    let mut first = pass * lines.len() as u64 + lines.partition_point(|&ms| ms < from - pass * period) as u64;
    let (mut end, mut most) = (first, 0);
    while at(first) <= until {
        end = end.max(first);
        while at(end) < at(first) + burst {
            end += 1;
        }
        most = most.max(end - first);
        first += 1;
    }
    most as f64 * f64::from(DeliveryTrace::OPPORTUNITY_BYTES) * 8.0 / BURST.as_secs_f64()
}

fn is_out(link: &LinkSpec, at: Nanos) -> bool {
    link.outages.iter().any(|outage| (outage.from..outage.until).contains(&at))
}

/// `window` in pieces of constant rate, bit/s, outages counting as 0; a random rate has its mean.
fn pieces(link: &LinkSpec, window: Window) -> Vec<(Window, f64)> {
    let steps: Vec<(Nanos, f64)> = match &link.rate {
        RateSpec::Constant(rate) | RateSpec::LogNormal { mean: rate, .. } => {
            vec![(Nanos::ZERO, rate.bps() as f64)]
        }
        RateSpec::Steps(steps) => steps.iter().map(|&(at, rate)| (at, rate.bps() as f64)).collect(),
        RateSpec::Unlimited | RateSpec::Trace(_) => vec![],
    };
    let within = |at: &Nanos| *at > window.from && *at < window.until;
    let outages = link.outages.iter().flat_map(|outage| [outage.from, outage.until]);
    let mut cuts: Vec<Nanos> = steps.iter().map(|&(at, _)| at).chain(outages).filter(within).collect();
    cuts.extend([window.from, window.until]);
    cuts.sort();
    let rate_at = |at: Nanos| match steps.partition_point(|(from, _)| *from <= at) {
        0 => 0.0,
        after => steps[after - 1].1,
    };
    let piece = |pair: &[Nanos]| {
        let bps = if is_out(link, pair[0]) { 0.0 } else { rate_at(pair[0]) };
        (Window { from: pair[0], until: pair[1] }, bps)
    };
    cuts.windows(2).map(piece).collect()
}

/// b, θ and C of one path, as the EEMPTCP allocator wants them: C is the closed form of `capacity` with the path's random
/// loss and propagation RTT, or the slowest link's payload rate where that is less.
pub fn costed_path(
    scenario: &Scenario,
    direction: Direction,
    path: PathIndex,
    capacity: CapacityModel,
) -> CostedPath {
    let window = Window { from: Nanos::ZERO, until: scenario.duration };
    let model = &scenario.paths[path].energy.model;
    let tcp = tcp_bps(scenario, direction, path, capacity);
    CostedPath {
        slope_j_per_bit: model.slope(traffic_of(direction)).0,
        sunk_w: model.sunk_power().0,
        capacity_bps: tcp.min(slowest_bps(scenario, direction, path, window)),
    }
}

/// Rate of one TCP connection under the path's random loss alone, bit/s of payload; infinite without loss.
pub(crate) fn tcp_bps(
    scenario: &Scenario,
    direction: Direction,
    path: PathIndex,
    capacity: CapacityModel,
) -> f64 {
    let (data, _) = links_of(scenario, direction, path);
    let (loss, rtt_s) = (1.0 - delivered(scenario, data), base_rtt_s(scenario, path));
    let mss = scenario.transport.mss.0 as f64;
    match capacity {
        _ if loss <= 0.0 => f64::INFINITY,
        CapacityModel::Mathis => mathis_bps(mss, rtt_s, loss),
        CapacityModel::Pftk => {
            let timeout_s = rtt_s.max(scenario.transport.rto_min.as_secs_f64());
            let per_ack = if scenario.transport.delayed_ack.is_some() { 2.0 } else { 1.0 };
            pftk_pps(rtt_s, timeout_s, loss, per_ack) * mss * 8.0
        }
    }
}
