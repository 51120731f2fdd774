//! Capacity of a path, from the scenario alone: no queueing, no dynamics.

use joulepath_model::energy::Traffic;
use joulepath_model::network::{DeliveryTrace, LinkSpec, RateSpec};
use joulepath_model::scenario::{CrossTraffic, Direction, LinkIndex, PathIndex, Scenario};
use joulepath_model::units::Nanos;

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
        until
            .min(self.until)
            .saturating_sub(from.max(self.from))
            .as_secs_f64()
    }
}

/// The links of a path that carry the data, and the links of its ACKs, in order.
pub fn links_of(
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

/// Least and greatest propagation delay of these links together, without jitter.
pub(crate) fn delays(scenario: &Scenario, links: &[LinkIndex]) -> [Nanos; 2] {
    let all = |delay: fn(&LinkSpec) -> Nanos| {
        Nanos(
            links
                .iter()
                .map(|&link| delay(&scenario.links[link]).0)
                .sum(),
        )
    };
    [all(|link| link.delay), all(LinkSpec::greatest_delay)]
}

/// Direction in which data passes the device's interfaces.
pub const fn traffic_of(direction: Direction) -> Traffic {
    match direction {
        Direction::Download => Traffic::Down,
        Direction::Upload => Traffic::Up,
    }
}

/// The link with the lowest mean rate over the whole run, the first on a tie; `None` without links.
pub fn slowest_link(
    scenario: &Scenario,
    links: impl IntoIterator<Item = LinkIndex>,
) -> Option<LinkIndex> {
    let rate = |link: LinkIndex| {
        let link = &scenario.links[link];
        link.policed_bps(link.rate.mean_bps(scenario.duration))
    };
    links
        .into_iter()
        .min_by(|&a, &b| rate(a).total_cmp(&rate(b)))
}

/// The minimum of a rate over `links`; infinite without links.
pub(crate) fn least_over(links: &[LinkIndex], rate: impl Fn(LinkIndex) -> f64) -> f64 {
    links
        .iter()
        .map(|&link| rate(link))
        .fold(f64::INFINITY, f64::min)
}

/// Energy per bit on `path` at the mean rate of its slowest link, b + θ/x, J/bit.
pub fn energy_per_bit(scenario: &Scenario, direction: Direction, path: PathIndex) -> f64 {
    let (data, _) = links_of(scenario, direction, path);
    let model = &scenario.paths[path].energy.model;
    let rate_bps = least_over(data, |link| {
        scenario.links[link].rate.mean_bps(scenario.duration)
    });
    model.slope(traffic_of(direction)).0 + model.sunk_power().0 / rate_bps
}

/// Capacity of the slowest link of the data's route in `window` with only cross traffic on it,
/// bit/s of payload.
pub(crate) fn slowest_bps(
    scenario: &Scenario,
    direction: Direction,
    path: PathIndex,
    window: Window,
) -> f64 {
    let (data, _) = links_of(scenario, direction, path);
    least_over(data, |link| available_bps(scenario, link, window)) / wire_per_payload(scenario)
}

/// Propagation RTT, s.
pub fn base_rtt_s(scenario: &Scenario, path: PathIndex) -> f64 {
    let path = &scenario.paths[path];
    path.down
        .iter()
        .chain(&path.up)
        .map(|&link| scenario.links[link].delay.as_secs_f64())
        .sum()
}

/// Π (1 − p) over `links`: the part that arrives.
pub(crate) fn delivered(scenario: &Scenario, links: &[LinkIndex]) -> f64 {
    links
        .iter()
        .map(|&link| 1.0 - scenario.links[link].loss.mean())
        .product()
}

/// Bits on the wire per bit of payload in full segments.
pub(crate) fn wire_per_payload(scenario: &Scenario) -> f64 {
    let (mss, header) = (
        scenario.transport.mss.0 as f64,
        scenario.transport.header.0 as f64,
    );
    (mss + header) / mss
}

/// Mean rate of a link in `window`, with rate 0 in outages, less its cross traffic, bit/s on the
/// wire.
pub(crate) fn available_bps(scenario: &Scenario, link: LinkIndex, window: Window) -> f64 {
    let cross: f64 = scenario
        .cross
        .iter()
        .filter(|c| c.link == link)
        .map(|c| cross_bps(c, window))
        .sum();
    (carried_bps(&scenario.links[link], window) - cross).max(0.0)
}

/// Mean rate of cross traffic in `window`, bit/s on the wire.
fn cross_bps(cross: &CrossTraffic, window: Window) -> f64 {
    cross.pattern.mean_bps() * window.overlap_s(cross.start, cross.stop) / window.seconds()
}

/// Mean rate of a link in `window`, with rate 0 in outages, limited to what its policer passes in
/// that time including the burst, bit/s.
pub(crate) fn carried_bps(link: &LinkSpec, window: Window) -> f64 {
    let policed_bps = link.policer.map_or(f64::INFINITY, |policer| {
        policer.rate.bps() as f64 + policer.burst.0 as f64 * 8.0 / window.seconds()
    });
    transmitted_bps(link, window).min(policed_bps)
}

/// Mean rate of a link's transmitter in `window`, with rate 0 in outages, bit/s.
fn transmitted_bps(link: &LinkSpec, window: Window) -> f64 {
    match &link.rate {
        RateSpec::Unlimited => f64::INFINITY,
        RateSpec::Trace(trace) => {
            let period = *trace
                .opportunities_ms
                .last()
                .expect("a trace has at least one line");
            let passes = window.until.0 / Nanos::from_millis(period).0;
            let served = (0..=passes)
                .flat_map(|pass| {
                    trace
                        .opportunities_ms
                        .iter()
                        .map(move |ms| pass * period + ms)
                })
                .map(Nanos::from_millis)
                .filter(|&at| (window.from..window.until).contains(&at) && !is_out(link, at))
                .count();
            served as f64 * f64::from(DeliveryTrace::OPPORTUNITY_BYTES) * 8.0 / window.seconds()
        }
        _ => {
            let pieces = pieces(link, window);
            pieces
                .iter()
                .map(|(piece, bps)| bps * piece.seconds())
                .sum::<f64>()
                / window.seconds()
        }
    }
}

/// A trace's peak rate is over this time: shorter bursts save a radio no energy.
const BURST: Nanos = Nanos::from_millis(100);

/// Highest rate of a link in `window`, bit/s; for a trace over 100 ms.
pub(crate) fn peak_bps(link: &LinkSpec, window: Window) -> f64 {
    match &link.rate {
        RateSpec::Unlimited => f64::INFINITY,
        RateSpec::Trace(trace) => trace_peak_bps(trace, window),
        _ => pieces(link, window)
            .iter()
            .map(|(_, bps)| *bps)
            .fold(0.0, f64::max),
    }
}

/// Lowest rate above 0 of a link in `window`, bit/s; `None` for a trace, whose rate depends on
/// bursts.
pub(crate) fn trough_bps(link: &LinkSpec, window: Window) -> Option<f64> {
    let pieces = match &link.rate {
        RateSpec::Unlimited => return Some(f64::INFINITY),
        RateSpec::Trace(_) => return None,
        _ => pieces(link, window),
    };
    Some(
        pieces
            .iter()
            .map(|(_, bps)| *bps)
            .filter(|bps| *bps > 0.0)
            .fold(f64::INFINITY, f64::min),
    )
}

/// The most opportunities of any [`BURST`] that begins in `window`, or just before it.
fn trace_peak_bps(trace: &DeliveryTrace, window: Window) -> f64 {
    let lines = &trace.opportunities_ms;
    let (period, burst) = (lines[lines.len() - 1], BURST.0 / 1_000_000);
    let (from, until) = (
        (window.from.0 / 1_000_000).saturating_sub(burst),
        window.until.0 / 1_000_000,
    );
    let until = until.min(from + period + burst);
    // The lines of this pass and of the passes that a window may reach into.
    let at = |index: u64| {
        let line = (index % lines.len() as u64) as usize;
        index / lines.len() as u64 * period + lines[line]
    };
    let pass = from.saturating_sub(1) / period;
    let mut first =
        pass * lines.len() as u64 + lines.partition_point(|&ms| ms < from - pass * period) as u64;
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
    link.outages
        .iter()
        .any(|outage| (outage.from..outage.until).contains(&at))
}

/// `window` in pieces of constant rate, bit/s, with 0 in outages; a random rate counts with its
/// mean.
fn pieces(link: &LinkSpec, window: Window) -> Vec<(Window, f64)> {
    let steps: Vec<(Nanos, f64)> = match &link.rate {
        RateSpec::Constant(rate) | RateSpec::LogNormal { mean: rate, .. } => {
            vec![(Nanos::ZERO, rate.bps() as f64)]
        }
        RateSpec::Steps(steps) => steps
            .iter()
            .map(|&(at, rate)| (at, rate.bps() as f64))
            .collect(),
        RateSpec::Unlimited | RateSpec::Trace(_) => vec![],
    };
    let within = |at: &Nanos| *at > window.from && *at < window.until;
    let outages = link
        .outages
        .iter()
        .flat_map(|outage| [outage.from, outage.until]);
    let mut cuts: Vec<Nanos> = steps
        .iter()
        .map(|&(at, _)| at)
        .chain(outages)
        .filter(within)
        .collect();
    cuts.extend([window.from, window.until]);
    cuts.sort();
    let rate_at = |at: Nanos| match steps.partition_point(|(from, _)| *from <= at) {
        0 => 0.0,
        after => steps[after - 1].1,
    };
    let piece = |pair: &[Nanos]| {
        let bps = if is_out(link, pair[0]) {
            0.0
        } else {
            rate_at(pair[0])
        };
        (
            Window {
                from: pair[0],
                until: pair[1],
            },
            bps,
        )
    };
    cuts.windows(2).map(piece).collect()
}
